"""What `fit` and `fit-images` share: a classifier from its settings, and what becomes of a fit."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from mixpul import save
from mixpul._util.files import write_whole
from mixpul.assess import METHODS, Assessment
from mixpul.cli._inputs import check_among
from mixpul.cli._outputs import told_if_full
from mixpul.cli._words import interval, print_json, say

__all__ = ["info_of_fit", "made_classifier", "write_fit"]

VERDICTS = {"good": "[green]good   [/]", "caution": "[yellow]caution[/]", "bad": "[red]bad    [/]"}
SET_OTHERWISE = {
    "random_state": "use --seed",
    "verbose": "progress is shown on a terminal anyway",
}


def made_classifier(
    method: str,
    settings: Sequence[str] | None,
    seed: int,
    *,
    defaults: Mapping[str, Any],
    set_otherwise: Mapping[str, str],
) -> Any:
    """The method with what was said by --set; `set_otherwise` has another way to say it."""
    known = METHODS[method]().get_params()
    values: dict[str, Any] = {}
    for setting in settings or ():
        name, sign, text = setting.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE, such as n_epochs=10; got {setting}.")
        if way := (SET_OTHERWISE | dict(set_otherwise)).get(name):
            raise typer.BadParameter(f"--set {name}: {way}.")
        check_among(name, known, f"--set: {method}", "setting")
        try:
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[name] = text
    classifier = METHODS[method](**(dict(defaults) | values), random_state=seed)
    try:
        classifier._validate_params()
    except ValueError as error:
        raise typer.BadParameter(f"--set: {error}") from None
    return classifier


def info_of_fit(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the model file should know; no date and no path: equal models give equal files."""
    curves = content["thresholds"]
    return {
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


def write_fit(
    found: Assessment,
    content: Mapping[str, Any],
    *,
    info: dict[str, Any],
    page: str,
    out: Path,
    report: Path | None,
    as_json: bool,
    inputs: str,
) -> None:
    """Write the model and the page; print the JSON, or say what was found, `inputs` first."""
    with told_if_full(repr(str(out))):
        save(found.model, out, info=info)
    if report:
        way_out = f"The model {str(out)!r} is; make room and run the command again with --force."
        with told_if_full(repr(str(report)), way_out):
            write_whole(report, page.encode())
    if as_json:
        print_json(content)
        return
    _show(found, inputs)
    say(f"Model: {escape(str(out))}")
    if report:
        say(f"Page: {escape(str(report))}")


def _show(found: Assessment, inputs: str) -> None:
    data, prior = found.data, found.prior
    units = f"{data['unit']}s"
    say(
        f"{data['positives']:,} labeled positives and {data['unlabeled']:,} unlabeled {units}, "
        f"{inputs}; {found.method}, {found.folds} folds, {found.made['seconds']:.0f} s"
    )
    positives = f"Positives among the unlabeled {units}    "
    say(f"{'PU-AUC out of fold':<{len(positives)}}{interval(found.pu_auc)}")
    say(f"{positives}{interval(prior[prior['from']])}")
    if found.corrected_auc:
        say(f"{'AUC against negatives':<{len(positives)}}{interval(found.corrected_auc)}")
    shown = Table()
    for title in ("cut", "at", "recall", "precision", "F1", f"{units} flagged"):
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
