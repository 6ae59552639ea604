"""`mixpul prior`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from mixpul._util.json_values import to_plain
from mixpul._util.progress import progress_bar
from mixpul.cli._inputs import chosen, read_labeled
from mixpul.cli._words import interval, print_json, say, shows_progress, spoken_warnings
from mixpul.priors import PRIORS

__all__ = ["prior"]


def prior(
    table: str, label: str, *, estimators: Sequence[str], seed: int, as_json: bool, **source: Any
) -> None:
    """Ask estimators of the share of positives among the unlabeled rows, and whether they agree."""
    names = chosen(estimators, PRIORS, "--estimators")
    found: dict[str, Any] = {}
    with spoken_warnings():
        data = read_labeled(table, label, **source)
        rows = data.input.fit_transform(data.X)
        with progress_bar(len(names), "estimators", shows_progress(), unit="done") as advance:
            for name in names:
                try:
                    fitted = PRIORS[name](random_state=seed).fit(rows, data.is_positive)
                    low, high = fitted.interval_
                    found[name] = {"value": fitted.prior_, "se": None, "low": low, "high": high}
                except (ValueError, ImportError) as error:
                    found[name] = {"failure": str(error)}
                advance({})
    done = {name: entry for name, entry in found.items() if "failure" not in entry}
    if not done:
        raise ValueError(f"Every estimator failed; {names[0]}: {found[names[0]]['failure']}")
    agree, text = agreement(done)
    content = to_plain({"estimates": found, "agree": agree, "text": text})
    if as_json:
        print_json(content)
        return
    say("Share of positives among the unlabeled rows:")
    shown = Table()
    shown.add_column("estimator")
    shown.add_column("estimate (95 %)", justify="right")
    for name, entry in content["estimates"].items():
        shown.add_row(name, interval(entry) if "failure" not in entry else "failed")
    say(shown)
    for name, entry in content["estimates"].items():
        if "failure" in entry:
            say(f"{name} failed: {escape(entry['failure'])}")
    say(text)


def agreement(found: Mapping[str, Mapping[str, Any]]) -> tuple[bool | None, str]:
    if len(found) < 2:
        return None, "Two estimates are needed to see whether they agree."
    ordered = sorted(found, key=lambda name: found[name]["value"])
    low, high = found[ordered[0]]["value"], found[ordered[-1]]["value"]
    span = f"from {low:.3g} ({ordered[0]}) to {high:.3g} ({ordered[-1]})"
    if high - low <= 0.05 or high <= 1.5 * low:
        return True, f"They agree: {span}."
    middle = float(np.median([entry["value"] for entry in found.values()]))
    return False, (
        f"They disagree: {span}, the middle is {middle:.3g}. Most of them err upward where "
        "positives and negatives overlap everywhere; of ours DEDPUL was the most accurate."
    )
