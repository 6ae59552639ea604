"""`mixpul fit`."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table
from sklearn.pipeline import make_pipeline

from mixpul import save
from mixpul._files import write_whole
from mixpul.assess import METHODS, Assessment, assess
from mixpul.assess._scores import plain_values
from mixpul.table_commands._inputs import (
    LabeledTable,
    check_among,
    command_line,
    fingerprint,
    read_labeled,
    source_name,
)
from mixpul.table_commands._outputs import check_outputs, told_if_full
from mixpul.table_commands._words import interval, print_json, say, shows_progress, spoken_warnings
from mixpul.table_report import table_page

__all__ = ["fit"]

VERDICTS = {"good": "[green]good   [/]", "caution": "[yellow]caution[/]", "bad": "[red]bad    [/]"}
SET_OTHERWISE = {
    "random_state": "use --seed",
    "pos_label": "use --positive",
    "verbose": "progress is shown on a terminal anyway",
}


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
    classifier = _made_classifier(method, settings or (), seed)
    check_outputs([out, *([report] if report else [])], [table], force)
    with spoken_warnings() as spoken:
        data = read_labeled(table, label, **source)
        found = assess(
            make_pipeline(data.input, classifier),
            data.X,
            data.is_positive,
            ids=data.ids,
            random_state=seed,
            verbose=shows_progress(),
        )
    found.warnings += [sentence for sentence in spoken if sentence not in found.warnings]
    found.data |= {
        "source": source_name(table),
        "label": label,
        "positive": str(data.positive),
        "id": data.id_column,
        "fingerprint": fingerprint(table),
    }
    found.made["command"] = command_line()
    content = found.to_dict()
    page = table_page(content) if report else ""
    with told_if_full(repr(str(out))):
        save(found.model, out, info=_info(content, data))
    if report:
        way_out = f"The model {str(out)!r} is; make room and run the command again with --force."
        with told_if_full(repr(str(report)), way_out):
            write_whole(report, page.encode())
    if as_json:
        print_json(content)
        return
    _show(found)
    say(f"Model: {escape(str(out))}")
    if report:
        say(f"Page: {escape(str(report))}")


def _made_classifier(method: str, settings: Sequence[str], seed: int) -> Any:
    known = METHODS[method]().get_params()
    values: dict[str, Any] = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE, such as n_epochs=10; got {setting}.")
        if name in SET_OTHERWISE:
            raise typer.BadParameter(f"--set {name}: {SET_OTHERWISE[name]}.")
        check_among(name, known, f"--set: {method}", "setting")
        try:
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[name] = text
    classifier = METHODS[method](**values, random_state=seed)
    try:
        classifier._validate_params()
    except ValueError as error:
        raise typer.BadParameter(f"--set: {error}") from None
    return classifier


def _info(content: Mapping[str, Any], data: LabeledTable) -> dict[str, Any]:
    """What the model file should know; no date and no path: equal models give equal files."""
    positive = data.positive
    curves = content["thresholds"]
    return {
        "label": content["data"]["label"],
        "positive": positive if isinstance(positive, bool | int | float | str) else str(positive),
        "missing_is_unlabeled": data.missing_is_unlabeled,
        "id": content["data"]["id"],
        "dropped": list(data.input.drop),
        "reading": plain_values(data.reading),
        "thresholds": {
            "suggested": content["suggested"],
            "threshold": curves["threshold"],
            "recall": curves["recall"]["value"],
            "flagged": curves["flagged"]["value"],
        },
        "fingerprint": content["data"]["fingerprint"],
        "seed": content["seed"],
        "versions": {k: content["made"][k] for k in ("mixpul", "python", "torch", "scikit-learn")},
        "assessment": {
            **{k: content["data"][k] for k in ("rows", "positives", "unlabeled")},
            **{k: content[k] for k in ("folds", "pu_auc", "prior", "corrected_auc", "warnings")},
            "checks": {check["name"]: check["verdict"] for check in content["checks"]},
        },
    }


def _show(found: Assessment) -> None:
    data, prior = found.data, found.prior
    say(
        f"{data['positives']:,} labeled positives and {data['unlabeled']:,} unlabeled rows, "
        f"{sum(entry['used'] for entry in data['columns'])} of {len(data['columns'])} columns "
        f"used; {found.method}, {found.folds} folds, {found.made['seconds']:.0f} s"
    )
    say(f"PU-AUC out of fold                    {interval(found.pu_auc)}")
    say(f"Positives among the unlabeled rows    {interval(prior[prior['from']])}")
    if found.corrected_auc:
        say(f"AUC against negatives                 {interval(found.corrected_auc)}")
    shown = Table()
    for title in ("cut", "at", "recall", "precision", "F1", "rows flagged"):
        shown.add_column(title, justify="left" if title == "cut" else "right")
    curves = found.thresholds
    for name, cut in sorted(found.suggested.items(), key=lambda item: item[1]):
        k = int(np.argmin(np.abs(np.array(curves["threshold"]) - cut)))
        cells = [f"{curves[curve]['value'][k]:.2f}" for curve in ("recall", "precision", "f1")]
        flagged = round(curves["flagged"]["value"][k] * data["unlabeled"])
        shown.add_row(name.replace("_90", " 0.9"), f"{cut:.4g}", *cells, f"{flagged:,}")
    say(shown)
    for check in found.checks:
        say(f"{VERDICTS[check['verdict']]} {escape(check['name'])}: {escape(check['text'])}")
