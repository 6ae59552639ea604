"""`mixpul inspect`: show what is in a model file."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from mixpul.cli._messages import escape, format_interval, format_prior, print_json, say
from mixpul.cli.options import JsonOption, ModelArgument

__all__ = ["inspect"]

# Of one value; `--json` shows all of it.
MOST_SHOWN = 5000


def inspect(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what is in a model file, without running anything from it.

    Example: [bold]mixpul inspect model.mixpul --json[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._noted import is_leaderboard, is_noted_by_fit
    from mixpul.persistence import describe

    about = describe(model)
    if as_json:
        print_json(about)
        return
    say(f"[bold]{_quote(about['class'])}[/], written by mixpul {_quote(about['version'])}")
    if about["n_parameters"]:
        say(f"{about['n_parameters']:,} weights in its networks")
    leaderboard = about["learned"].get("leaderboard_")
    # Whoever saves a model may note anything: what is not as `mixpul fit` notes it is not shown.
    if is_noted_by_fit(about["info"]):
        _show_fit(about["info"])
    if leaderboard and is_leaderboard(leaderboard):
        _show_candidates(leaderboard)
    for step in about["steps"] or ():
        if "extractor" in step:
            say(
                f"Features of images by {_quote(step['extractor'])}, {step['size']} x "
                f"{step['size']} pixels, weights sha256:{_quote(step['checksum'])}"
            )
    if about["table"]:
        _show_columns(about["table"]["report"])
    settings = ", ".join(f"{name}={value!r}" for name, value in about["params"].items())
    say(f"Settings: {_quote(settings)}")


def _quote(value: Any) -> str:
    """Return what a file says so that it is printed as it is, and a terminal obeys none of it."""
    text = str(value)
    shown = (
        text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ... ({len(text):,} characters)"
    )
    return escape(shown)


def _show_fit(info: Mapping[str, Any]) -> None:
    known = info["assessment"]
    units, how = _describe_rows(info)
    # Files from before there were any do not say.
    n_negative = known.get("negatives", 0)
    negatives = f", {n_negative:,} verified negatives" if n_negative else ""
    say(
        f"Fitted on {known['rows']:,} {units}, {known['positives']:,} of them labeled positive "
        f"({_quote(how)}){negatives}, seed {_quote(info['seed'])}"
    )
    if sample := info.get("sample"):
        say(f"They are a random sample of {sample['rows']:,} rows")
    say(f"PU-AUC out of fold {format_interval(known['pu_auc'])}")
    # Files of earlier versions have an estimate, which pretended to know more than it did.
    if {"source", "upper"} <= known["prior"].keys():
        say(f"Positives among the unlabeled {units} {_quote(format_prior(known['prior']))}")
    for name, threshold in info["thresholds"]["suggested"].items():
        say(f"Threshold {_quote(name)}: {threshold:.4g}")
    say(f"Data: {_quote(info['fingerprint'] or 'from a stream')}")


def _describe_rows(info: Mapping[str, Any]) -> tuple[str, str]:
    """Return what the rows are called, and which of them are positive or how they were read."""
    if images := info.get("pictures"):
        size, done = images["size"], "skipped" if images["odd"] == "skip" else "resized"
        # Files from before there were any do not say.
        by = f", features by {images['features']}" if images.get("features") else ""
        return "images", f"{size} x {size} pixels, others are {done}{by}"
    return "rows", f"{info.get('label')!r} is {info.get('positive')!r}"


def _show_candidates(leaderboard: list[dict[str, Any]]) -> None:
    """Show what a portfolio was made of; members are the candidates with a weight."""
    candidates = Table(title="Candidates")
    for title in ("candidate", "PU-AUC", "difference", "weight"):
        candidates.add_column(title, justify="left" if title == "candidate" else "right")
    for rank, entry in enumerate(leaderboard):
        is_member = entry["weight"] > 0
        candidates.add_row(
            _quote(entry["candidate"]),
            f"{entry['pu_auc']:.3f} ± {entry['standard_error']:.3f}",
            # Zero is added to what rounds to -0.0.
            f"{round(entry['difference'], 3) + 0.0:.3f} ± {entry['difference_error']:.3f}"
            if rank
            else "best",
            f"{entry['weight']:.2f}" if is_member else "left out",
            style=None if is_member else "dim",
        )
    say(candidates)


def _show_columns(report: list[dict[str, Any]]) -> None:
    columns = Table(title="Columns")
    for title in ("column", "kind", "used", "how"):
        columns.add_column(title)
    for entry in report:
        used = "yes" if entry["used"] else "no"
        cells = (_quote(entry["column"]), _quote(entry["kind"]), used)
        columns.add_row(*cells, _quote(entry.get("note", "")))
    say(columns)
