"""`mixpul fit`: learn from a user's own table."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli._columns import describe_columns
from mixpul.cli._messages import speak_warnings
from mixpul.cli._outputs import check_outputs
from mixpul.cli.options import (
    FitOutputs,
    KnownPrior,
    MaxRowsOption,
    Method,
    Reading,
    SchedulerOption,
    SeedOption,
    SetOption,
    TableArgument,
    TableOptions,
    Weighing,
)

if TYPE_CHECKING:
    from mixpul.assess import Assessment, Source
    from mixpul.cli._inputs import LabeledTable

__all__ = ["fit"]


def fit(
    table: TableArgument,
    *,
    options: TableOptions,
    reading: Reading,
    method: Annotated[Method, typer.Option(help="How to learn.")] = Method["auto"],
    settings: SetOption = None,
    known: KnownPrior,
    weighing: Weighing,
    max_rows: MaxRowsOption = None,
    seed: SeedOption = 0,
    scheduler: SchedulerOption = None,
    outputs: FitOutputs,
) -> None:
    """Learn from a table of known positives and unlabeled rows; say how good it is.

    Example: [bold]mixpul fit leads.csv --label bought --id customer --report leads.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from sklearn.pipeline import make_pipeline

    from mixpul._util.cluster import use_cluster
    from mixpul.cli._inputs import Limit, read_labeled_table
    from mixpul.cli._results import assess_and_save
    from mixpul.cli._settings import make_classifier

    set_otherwise = {"pos_label": "use --positive"}
    classifier = make_classifier(method, settings, seed, defaults={}, set_otherwise=set_otherwise)
    # Before the table is read: a fit may take long, and its result must have a place.
    check_outputs(outputs.list_files(), [table, *(options.verdicts or ())], outputs.force)
    _check_weighing(weighing, classifier)
    # Candidates, folds and parts of a large table are what its workers get.
    with use_cluster(scheduler):
        with speak_warnings() as spoken:
            data = read_labeled_table(table, options, reading, weighing, Limit(max_rows, seed))
        found = assess_and_save(
            make_pipeline(data.input, classifier),
            data.X,
            data.is_positive,
            negative=data.is_negative,
            ids=data.ids,
            source=_describe_source(table, data, spoken),
            known=known,
            weights=data.weights,
            propensity=weighing.propensity,
            seed=seed,
            path=outputs.model,
            info=_describe_table(data, reading, weighing),
            ranges={} if data.sample is None else data.sample.ranges,
        )
    _show(found, outputs)


def _show(found: "Assessment", outputs: FitOutputs) -> None:
    """Print what was found, and write the page if it is asked for."""
    from mixpul.cli._results import show_results, write_page
    from mixpul.pages import render_fit_page

    columns = found.data["columns"]
    n_used = sum(entry["used"] for entry in columns)
    inputs = f"{n_used} of {len(columns)} columns used"
    show_results(found, outputs, inputs, describe_columns(columns))
    if outputs.report is not None:
        write_page(lambda: render_fit_page(found.to_dict()), outputs)


def _check_weighing(weighing: Weighing, classifier: Any) -> None:
    """Refuse weights that the method would not use, before anything is read."""
    asked = [f"--{name}" for name, value in weighing._asdict().items() if value]
    if asked and not classifier._uses_weights:
        raise typer.BadParameter(
            f"{type(classifier).__name__} with these settings cannot weigh rows; leave out "
            f"{' and '.join(asked)}, or take another --method, such as auto."
        )


def _describe_source(table: str, data: "LabeledTable", warnings: list[str]) -> "Source":
    """Return what the page should know about the table."""
    from mixpul.assess import Source
    from mixpul.cli._inputs import digest_table, name_table, quote_command
    from mixpul.cli._sampling import describe_sample

    return Source(
        name=name_table(table),
        label=data.options.label,
        positive=str(data.positive),
        id=data.options.id_column,
        fingerprint=digest_table(table),
        command=quote_command(),
        warnings=warnings,
        sample=describe_sample(data.sample, data.design),
    )


def _describe_table(data: "LabeledTable", reading: Reading, weighing: Weighing) -> dict[str, Any]:
    """Return what the model file should know about the table."""
    from mixpul.cli._sampling import describe_sample

    positive, options = data.positive, data.options
    sample = describe_sample(data.sample, data.design)
    return {
        "label": options.label,
        "positive": positive if isinstance(positive, bool | int | float | str) else str(positive),
        # Only if it was said: files of other fits stay as they were.
        **({} if options.negative is None else {"negative": options.negative}),
        **{name: value for name, value in weighing._asdict().items() if value},
        **({} if sample is None else {"sample": sample}),
        "missing_is_unlabeled": options.missing_is_unlabeled,
        "id": options.id_column,
        "dropped": list(data.input.drop),
        "reading": reading.to_arguments(),
    }
