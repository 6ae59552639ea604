"""`mixpul inspect`."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from mixpul.persistence import describe
from mixpul.table_commands._words import interval, print_json, say

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
        say(
            f"Fitted on {known['rows']:,} rows, {known['positives']:,} of them labeled positive "
            f"({escape(repr(info['label']))} is {escape(repr(info['positive']))}), seed "
            f"{info['seed']}"
        )
        say(f"PU-AUC out of fold {interval(known['pu_auc'])}")
        by = known["prior"]["from"]
        say(f"Share of positives among the unlabeled rows {interval(known['prior'][by])}, {by}")
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
