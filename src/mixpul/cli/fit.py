"""`mixpul fit`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.pipeline import make_pipeline

from mixpul._util.json_values import to_plain
from mixpul.assess import Source, assess
from mixpul.cli._fitted import info_of_fit, made_classifier, write_fit
from mixpul.cli._inputs import (
    LabeledTable,
    command_line,
    fingerprint,
    read_labeled,
    source_name,
)
from mixpul.cli._outputs import check_outputs
from mixpul.cli._words import shows_progress, spoken_warnings
from mixpul.pages import table_page

__all__ = ["fit"]


def fit(
    table: str,
    label: str,
    *,
    method: str,
    settings: Sequence[str] | None,
    seed: int,
    out: Path,
    report: Path | None,
    force: bool,
    as_json: bool,
    **source: Any,
) -> None:
    """Learn from a table, judge what was learned, write the model and the page."""
    set_otherwise = {"pos_label": "use --positive"}
    classifier = made_classifier(method, settings, seed, defaults={}, set_otherwise=set_otherwise)
    check_outputs([out, *([report] if report else [])], [table], force)
    with spoken_warnings() as spoken:
        data = read_labeled(table, label, **source)
    with spoken_warnings():
        found = assess(
            make_pipeline(data.input, classifier),
            data.X,
            data.is_positive,
            source=Source(
                name=source_name(table),
                label=label,
                positive=str(data.positive),
                id=data.id_column,
                fingerprint=fingerprint(table),
                command=command_line(),
                warnings=spoken,
            ),
            ids=data.ids,
            random_state=seed,
            verbose=shows_progress(),
        )
    content = found.to_dict()
    columns = found.data["columns"]
    n_used = sum(entry["used"] for entry in columns)
    write_fit(
        found,
        content,
        info=_info_of_table(data, label) | info_of_fit(content),
        page=table_page(content) if report else "",
        out=out,
        report=report,
        as_json=as_json,
        inputs=f"{n_used} of {len(columns)} columns used",
    )


def _info_of_table(data: LabeledTable, label: str) -> dict[str, Any]:
    positive = data.positive
    return {
        "label": label,
        "positive": positive if isinstance(positive, bool | int | float | str) else str(positive),
        "missing_is_unlabeled": data.missing_is_unlabeled,
        "id": data.id_column,
        "dropped": list(data.input.drop),
        "reading": to_plain(data.reading),
    }
