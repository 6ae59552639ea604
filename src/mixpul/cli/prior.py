"""`mixpul prior`: estimate the class prior in several ways."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rich.table import Table

from mixpul._names import PRIORS
from mixpul.cli._columns import describe_columns
from mixpul.cli._messages import (
    choose_verbosity,
    count_sample,
    escape,
    format_interval,
    print_json,
    say,
    speak_warnings,
)
from mixpul.cli.options import (
    JsonOption,
    MaxRowsOption,
    Reading,
    SeedOption,
    TableArgument,
    TableOptions,
    choices_option,
)

__all__ = ["judge_agreement", "prior"]


def prior(
    table: TableArgument,
    *,
    options: TableOptions,
    reading: Reading,
    estimators: Annotated[Any, choices_option(PRIORS)] = "all",
    max_rows: MaxRowsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Estimate the share of positives among the unlabeled rows in several ways.

    Example: [bold]mixpul prior leads.csv --label bought --estimators bbe,dedpul[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul._util.json_values import to_plain
    from mixpul.cli._inputs import Limit, read_labeled_table
    from mixpul.cli._sampling import describe_sample

    with speak_warnings():
        data = read_labeled_table(table, options, reading, limit=Limit(max_rows, seed))
        rows = data.input.fit_transform(data.X)
        estimates = _estimate(estimators, rows, data.is_positive, seed)
    done = {name: entry for name, entry in estimates.items() if "failure" not in entry}
    if not done:
        name, entry = next(iter(estimates.items()))
        raise ValueError(f"Every estimator failed; {name}: {entry['failure']}")
    agree, text = judge_agreement({name: entry["value"] for name, entry in done.items()})
    uppers = [entry["upper"] for entry in done.values() if entry["upper"] is not None]
    # Of the first that has scores: the least of several limits would hold less often.
    upper = uppers[0] if uppers else None
    sample = describe_sample(data.sample, data.design)
    found = {"upper": upper, "estimates": estimates, "agree": agree, "text": text}
    content = to_plain(found | {"sample": sample})
    if as_json:
        print_json(content)
    else:
        if sample is not None:
            n_positive = int(data.is_positive.sum())
            n_unlabeled = len(data.is_positive) - n_positive - int(data.is_negative.sum())
            say(f"Estimated on {count_sample(n_positive, n_unlabeled, sample)}")
        _show(content)
        for sentence in describe_columns(data.input.report_):
            say(escape(sentence))


def _estimate(
    names: Sequence[str], rows: Any, is_positive: Any, seed: int
) -> dict[str, dict[str, Any]]:
    """Return what each estimator found, or why it failed."""
    from mixpul._util.progress import progress_bar

    found: dict[str, dict[str, Any]] = {}
    with progress_bar(len(names), "estimators", choose_verbosity(), unit="done") as advance:
        for name in names:
            try:
                fitted = PRIORS[name](random_state=seed).fit(rows, is_positive)
                low, high = fitted.interval_
                found[name] = {"value": fitted.prior_, "se": None, "low": low, "high": high}
                found[name]["upper"] = _bound(fitted, is_positive)
            # Whatever one estimator runs into, the others go on.
            except Exception as error:
                found[name] = {"failure": str(error) or type(error).__name__}
            advance({})
    return found


def _bound(fitted: Any, is_positive: Any) -> float | None:
    """Return the upper limit of the class prior by the scores of an estimator, if it has any."""
    from mixpul.priors import largest_prior

    scores = getattr(fitted, "scores_", None)
    return None if scores is None else largest_prior(scores[is_positive], scores[~is_positive])


def judge_agreement(priors: Mapping[str, float]) -> tuple[bool | None, str]:
    """Return whether the priors by their estimators agree, None if unknown, and say it in words.

    Examples
    --------
    >>> judge_agreement({"bbe": 0.2, "dedpul": 0.25})
    (True, 'They agree: from 0.2 (bbe) to 0.25 (dedpul). All may be too high together...')
    """
    from statistics import median

    if len(priors) < 2:
        return None, "Two estimates are needed to see whether they agree."
    lowest, *_, highest = sorted(priors, key=lambda name: priors[name])
    low, high = priors[lowest], priors[highest]
    span = f"from {low:.3g} ({lowest}) to {high:.3g} ({highest})"
    # For small shares a factor would be too strict, for large ones a difference.
    if high - low <= 0.05 or high <= 1.5 * low:
        return True, (
            f"They agree: {span}. All may be too high together, where positives and negatives "
            "overlap everywhere."
        )
    return False, (
        f"They disagree: {span}, the middle is {median(priors.values()):.3g}. Most of them are too "
        "high where positives and negatives overlap everywhere; in our tests DEDPUL was the most "
        "accurate."
    )


def _show(content: Mapping[str, Any]) -> None:
    say("Share of positives among the unlabeled rows:")
    shown = Table()
    shown.add_column("estimator")
    shown.add_column("estimate (95 %)", justify="right")
    for name, entry in content["estimates"].items():
        shown.add_row(name, "failed" if "failure" in entry else format_interval(entry))
    say(shown)
    for name, entry in content["estimates"].items():
        if "failure" in entry:
            say(f"{name} failed: {escape(entry['failure'])}")
    say(content["text"])
    if content["upper"] is not None:
        say(
            f"At most {content['upper']:.3g} of the unlabeled rows are positive (95 % confidence); "
            "a lower limit cannot be had without checking rows."
        )
