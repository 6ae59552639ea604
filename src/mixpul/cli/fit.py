"""`mixpul fit`: learn from a user's own table."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli._messages import speak_warnings
from mixpul.cli._outputs import check_outputs
from mixpul.cli.options import (
    FitOutputs,
    Method,
    Reading,
    SeedOption,
    SetOption,
    TableArgument,
    TableOptions,
)

if TYPE_CHECKING:
    from mixpul.cli._inputs import LabeledTable

__all__ = ["fit"]


def fit(
    table: TableArgument,
    options: TableOptions,
    outputs: FitOutputs,
    reading: Reading,
    method: Annotated[Method, typer.Option(help="How to learn.")] = Method("mixpul"),
    settings: SetOption = None,
    seed: SeedOption = 0,
) -> None:
    """Learn from a table of known positives and unlabeled rows; say how good it is.

    Example: [bold]mixpul fit leads.csv --label bought --id customer --report leads.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from sklearn.pipeline import make_pipeline

    from mixpul.assess import Source
    from mixpul.cli._inputs import (
        digest_table,
        name_table,
        quote_command_line,
        read_labeled_table,
    )
    from mixpul.cli._results import PUData, assess_and_save, show_results, write_page
    from mixpul.cli._settings import make_classifier
    from mixpul.pages import table_page

    set_otherwise = {"pos_label": "use --positive"}
    classifier = make_classifier(method, settings, seed, defaults={}, set_otherwise=set_otherwise)
    check_outputs(outputs.list_files(), [table], outputs.force)
    with speak_warnings() as spoken:
        data = read_labeled_table(table, options, reading)
    source = Source(
        name=name_table(table),
        label=options.label,
        positive=str(data.positive),
        id=options.id_column,
        fingerprint=digest_table(table),
        command=quote_command_line(),
        warnings=spoken,
    )
    result = assess_and_save(
        make_pipeline(data.input, classifier),
        PUData(data.X, data.is_positive, data.ids, source),
        seed,
        outputs.model,
        _describe_table(data, options, reading),
    )
    if outputs.report is not None:
        write_page(table_page(result.content), outputs.report, outputs.model)
    columns = result.content["data"]["columns"]
    n_used = sum(entry["used"] for entry in columns)
    show_results(result, outputs, f"{n_used} of {len(columns)} columns used")


def _describe_table(
    data: "LabeledTable", options: TableOptions, reading: Reading
) -> dict[str, Any]:
    """Return what the model file should know about its table."""
    positive = data.positive
    return {
        "label": options.label,
        "positive": positive if isinstance(positive, bool | int | float | str) else str(positive),
        "missing_is_unlabeled": options.missing_is_unlabeled,
        "id": options.id_column,
        "dropped": list(data.input.drop),
        "reading": reading.to_arguments(),
    }
