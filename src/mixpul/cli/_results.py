"""What `fit` and `fit-images` share: fit, save and assess a model, and show the results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mixpul import save
from mixpul._util.files import write_whole
from mixpul._util.random import number_folds
from mixpul.assess import Assessment, Source, assess
from mixpul.assess.checks import VERDICTS, Verdict
from mixpul.assess.monitoring import summarise_fit
from mixpul.assess.out_of_fold import N_FOLDS
from mixpul.assess.thresholds import PROMISE, PROMISED_RECALL, list_lowest_positives
from mixpul.cli._messages import (
    choose_verbosity,
    escape,
    format_auc,
    format_interval,
    format_prior,
    format_propensity,
    format_sample,
    format_weights,
    note,
    print_json,
    say,
    speak_warnings,
)
from mixpul.cli._outputs import explain_full_disk
from mixpul.cli.options import FitOutputs, KnownPrior
from mixpul.metrics.thresholds import explain_few_for_recall
from mixpul.pages.texts import explain_agreement
from mixpul.pages.thresholds import count_unlabeled, find_nearest
from mixpul.tables.ranges import Range
from mixpul.tables.summaries import widen_layout

__all__ = ["assess_and_save", "show_results", "write_page"]

MOST_NAMED = 5  # labels that look wrong
COLOURS: dict[Verdict, str] = {"good": "green", "note": "dim", "caution": "yellow", "bad": "red"}


def assess_and_save(
    model: BaseEstimator,
    X: Any,
    is_positive: NDArray[np.bool_],
    *,
    negative: NDArray[np.bool_] | None = None,
    ids: Sequence[Any] | None,
    source: Source,
    known: KnownPrior,
    seed: int,
    path: Path | None,
    info: dict[str, Any],
    weights: NDArray[np.float64] | None = None,
    propensity: Sequence[str] = (),
    ranges: Mapping[str, Range] | None = None,
) -> Assessment:
    """Fit, save and assess the model; `info` is what the file should know about its input.

    The file is written as soon as the model is fitted, and again with what the assessment found:
    whatever fails after the training, the model is there. Without a path no file is written: of
    several processes that train together, one does it.
    """
    saved = False

    def save_at_once(fitted: Any) -> None:
        nonlocal saved
        assert path is not None
        with explain_full_disk(repr(str(path))):
            save(fitted, path, info={**info, "fingerprint": source.fingerprint, "seed": seed})
        saved = True

    try:
        with speak_warnings():
            found = assess(
                model,
                X,
                is_positive,
                source=source,
                ids=ids,
                **known._asdict(),
                random_state=seed,
                verbose=choose_verbosity(),
                on_fitted=save_at_once if path else None,
                negative=negative,
                sample_weight=weights,
                propensity=propensity,
            )
        if path:
            summary = _summarise(found, X, is_positive, negative, seed, ranges or {})
            _save_again(found, path, info, summary, is_positive)
    # Ctrl-C included: whoever stops the assessment should know that the model is there.
    except BaseException:
        if saved:
            note(f"The model {str(path)!r} is written, but without an assessment.")
        raise
    return found


def _save_again(
    found: Assessment,
    path: Path,
    info: dict[str, Any],
    summary: dict[str, Any],
    is_positive: NDArray[np.bool_],
) -> None:
    """Replace the file by one that knows the assessment."""
    with explain_full_disk(f"The assessment in {str(path)!r}", "Make room."):
        whole = info | _describe_fit(found, is_positive) | summary
        save(found.model, path, info=whole, scores=found.scores)


def _describe_fit(found: Assessment, is_positive: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what the model file should know.

    There is no date and no path in it, so that equal models have equal files.
    """
    content = found.to_dict()
    curves = content["thresholds"]
    return {
        "thresholds": {
            "suggested": content["suggested"],
            "threshold": curves["threshold"],
            "recall": curves["recall"]["value"],
            "flagged": curves["flagged"]["value"],
            "lowest": list_lowest_positives(is_positive, found.scores),
        },
        "fingerprint": content["data"]["fingerprint"],
        "seed": content["seed"],
        # Those that matter most come first: people who check rows see these.
        "columns": [entry["column"] for entry in content["importance"]],
        "versions": {k: content["made"][k] for k in ("mixpul", "python", "torch", "scikit-learn")},
        "assessment": {
            **{k: content["data"][k] for k in ("rows", "positives", "unlabeled", "negatives")},
            **{k: content[k] for k in ("folds", "pu_auc", "prior", "corrected_auc", "warnings")},
            "checks": {check["name"]: check["verdict"] for check in content["checks"]},
        },
    }


def _summarise(
    found: Assessment,
    X: Any,
    is_positive: NDArray[np.bool_],
    negative: NDArray[np.bool_] | None,
    seed: int,
    ranges: Mapping[str, Range],
) -> dict[str, Any]:
    """Return what `mixpul monitor` compares later tables with; images have no columns.

    `ranges` are those of all rows if `X` is a sample.
    """
    if not isinstance(found.model, Pipeline) or found.data["unit"] == "image":
        return {}
    verified = negative if negative is not None and negative.any() else None
    folds = getattr(found.model[-1], "oof_folds_", None)
    if folds is None:  # those of the assessment
        folds = number_folds(is_positive, N_FOLDS, seed, verified)
    # Rows that were looked at are not a draw of the others.
    rows = np.arange(len(is_positive)) if verified is None else np.flatnonzero(~verified)
    own = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    summary = summarise_fit(found.model[0], own, is_positive[rows], found.scores[rows], folds[rows])
    widen_layout(summary["columns"], ranges)
    return {"summary": summary}


def write_page(render: Callable[[], str], outputs: FitOutputs) -> None:
    """Write the page that was asked for, after all that it only decorates."""
    way_out = (
        f"The model {str(outputs.model)!r} is; make room and run the command again with --force."
    )
    with explain_full_disk(repr(str(outputs.report)), way_out):
        write_whole(str(outputs.report), render().encode())
    if not outputs.as_json:
        say(f"Page: {escape(str(outputs.report))}")


def show_results(
    found: Assessment, outputs: FitOutputs, inputs: str, details: Sequence[str] = ()
) -> None:
    """Print the assessment as JSON, or say it in words.

    `inputs` says what was learned from, `details` are further sentences about it.
    """
    if outputs.as_json:
        print_json(found.to_dict())
        return
    _show_numbers(found, inputs, details)
    say(_draw_thresholds(found))
    if PROMISE not in found.suggested:
        say(explain_few_for_recall(found.data["positives"], PROMISED_RECALL))
    width = max(map(len, VERDICTS))
    for check in found.checks:
        verdict = f"[{COLOURS[check['verdict']]}]{check['verdict']:<{width}}[/]"
        say(f"{verdict} {escape(check['name'])}: {escape(check['text'])}")
    if found.doubtful:
        say(escape(_tell_doubtful(found)))
    say(f"Model: {escape(str(outputs.model))}")


def _show_numbers(found: Assessment, inputs: str, details: Sequence[str]) -> None:
    data, prior = found.data, found.prior
    units = f"{data['unit']}s"
    negatives = f", {data['negatives']:,} verified negatives" if data["negatives"] else ""
    say(
        f"{data['positives']:,} labeled positives and {data['unlabeled']:,} unlabeled {units}"
        f"{negatives}, {inputs}; {found.method}, {found.folds} folds, {found.made['seconds']:.0f} s"
    )
    if data["sample"]:
        say(f"  {format_sample(data)}")
    for sentence in details:
        say(f"  {escape(sentence)}")
    titles = (
        "PU-AUC out of fold",
        f"Positives among the unlabeled {units}",
        "AUC against negatives",
    )
    numbers = (format_interval(found.pu_auc), format_prior(prior), format_auc(found.corrected_auc))
    width = max(map(len, titles)) + 4
    for title, number in zip(titles, numbers, strict=True):
        say(f"{title:<{width}}{number}")
    if data["propensity"]:
        say(escape(format_propensity(data["propensity"])))
    if found.leaderboard:
        say(f"{'Weighed':<{width}}{escape(format_weights(found.leaderboard))}")
    if found.agreement:
        say(explain_agreement(found.agreement))


def _tell_doubtful(found: Assessment) -> str:
    """Name labeled positives whose labels look wrong."""
    names = [str(one["id"]) for one in found.doubtful]
    shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    unit = found.data["unit"] if found.data.get("id") is None else found.data["id"]
    return (
        f"Labels that look wrong, because these known positives score below half of the unlabeled "
        f"{found.data['unit']}s: {unit} {shown}"
    )


def _draw_thresholds(found: Assessment) -> Table:
    """Return the suggested thresholds, and what is known or expected at each of them."""
    shown = Table()
    curves, n = found.thresholds, count_unlabeled(found.data)
    # The same for all figures that rest on the class prior.
    kind = " ≤" if curves["precision"]["kind"] == "at most" else ""
    for title in (
        "threshold", "at", "recall", f"{found.data['unit']}s\nflagged",
        f"positive{kind}", f"precision{kind}", f"F1{kind}",
    ):  # fmt: skip
        # Whole, because a name can be typed; all columns fit into 80 characters.
        shown.add_column(title, justify="left" if title == "threshold" else "right", no_wrap=True)
    for name, threshold in sorted(found.suggested.items(), key=lambda item: item[1]):
        k = find_nearest(curves["threshold"], threshold)
        recall, flagged, precision, f1 = (
            curves[curve]["value"][k] for curve in ("recall", "flagged", "precision", "f1")
        )
        n_found = "-" if precision is None else f"{round(precision * flagged * n):,}"
        rates = ("-" if rate is None else f"{rate:.2f}" for rate in (precision, f1))
        counts = (f"{round(flagged * n):,}", n_found)
        shown.add_row(name, f"{threshold:.4g}", f"{recall:.2f}", *counts, *rates)
    return shown
