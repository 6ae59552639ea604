"""`mixpul inspect`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from mixpul.cli._words import interval, print_json, say
from mixpul.persistence import describe

__all__ = ["inspect"]


def inspect(model: Path, *, as_json: bool) -> None:
    """Show what is in a model file; nothing from it is run."""
    about = describe(model)
    if as_json:
        print_json(about)
        return
    info = about["info"]
    say(f"[bold]{escape(about['class'])}[/], written by mixpul {escape(about['version'])}")
    if about["n_parameters"]:
        say(f"{about['n_parameters']:,} numbers in its networks")
    if known := info.get("assessment"):
        units, how = _learned_from(info)
        say(
            f"Fitted on {known['rows']:,} {units}, {known['positives']:,} of them labeled positive "
            f"({escape(how)}), seed {info['seed']}"
        )
        say(f"PU-AUC out of fold {interval(known['pu_auc'])}")
        by = known["prior"]["from"]
        say(f"Share of positives among the unlabeled {units} {interval(known['prior'][by])}, {by}")
        for name, cut in info["thresholds"]["suggested"].items():
            say(f"Cut {name}: {cut:.4g}")
        say(f"Data: {info['fingerprint'] or 'from a stream'}")
    if about["table"]:
        columns = Table(title="Columns")
        for title in ("column", "kind", "used", "how"):
            columns.add_column(title)
        for entry in about["table"]["report"]:
            used = "yes" if entry["used"] else "no"
            columns.add_row(
                escape(entry["column"]), entry["kind"], used, escape(str(entry["note"]))
            )
        say(columns)
    settings = ", ".join(f"{name}={value!r}" for name, value in about["params"].items())
    say(f"Settings: {escape(settings)}")


def _learned_from(info: Mapping[str, Any]) -> tuple[str, str]:
    """What the rows are called, and how they came to be what they are."""
    if pictures := info.get("pictures"):
        size, does = pictures["size"], {"resize": "resized", "skip": "skipped"}[pictures["odd"]]
        return "pictures", f"{size} x {size} pixels, others are {does}"
    return "rows", f"{info['label']!r} is {info['positive']!r}"
