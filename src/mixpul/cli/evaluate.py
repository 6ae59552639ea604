"""`mixpul evaluate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table
from scipy.special import expit

from mixpul._util.json_values import to_plain
from mixpul.assess.priors import estimate_priors
from mixpul.cli._inputs import fingerprint, load_model, merged_reading
from mixpul.cli._thresholds import found_cut, parsed_threshold
from mixpul.cli._words import interval, note, print_json, say, spoken_warnings
from mixpul.metrics import pu_report
from mixpul.metrics.checks import check_prior
from mixpul.tables import read_table, split_label
from mixpul.tables.labels import which_is_positive

__all__ = ["evaluate"]

TITLES = {
    "pu_auc": "PU-AUC",
    "corrected_auc": "AUC against negatives",
    "recall": "recall",
    "flagged_share": "flagged share",
    "lee_liu": "Lee-Liu score",
    "precision": "precision",
    "f1": "F1",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "matthews_corrcoef": "Matthews correlation",
    "false_positive_rate": "false positive rate",
    "zero_one_risk": "error rate",
}


def evaluate(
    model: Path,
    table: str,
    *,
    label: str | None,
    positive: str | None,
    missing_is_unlabeled: bool,
    truth: str | None,
    truth_positive: str | None,
    prior: float | None,
    threshold: str | None,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Judge a model by rows it has not seen."""
    asked = 0.5 if threshold is None else parsed_threshold(threshold)
    if prior is not None:
        try:
            check_prior(prior)
        except ValueError as error:
            raise typer.BadParameter(f"--prior: {error}") from None
    pipeline, info = load_model(model)
    cut = found_cut(asked, info)
    label = label or info.get("label")
    if label is None:
        raise typer.BadParameter("The model file names no label column; give --label.")
    # What was said of the label at fit need not be said again.
    of_fit = info if label == info.get("label") else {}
    kinds = pipeline[0].kinds_ | {label: _kind_of_label(of_fit.get("positive"))}
    if truth is not None:
        kinds[truth] = "text"
    with spoken_warnings() as spoken:
        frame = read_table(table, kinds=kinds, **merged_reading(info, reading))
        data = split_label(
            frame,
            label,
            positive=of_fit.get("positive") if positive is None else positive,
            missing_is_unlabeled=missing_is_unlabeled or of_fit.get("missing_is_unlabeled", False),
        )
        known = None if truth is None else _truth(frame, truth, truth_positive)
        logits = pipeline.decision_function(data.X)
        scores, prior_se = expit(logits), 0.0
        if prior is None:
            random = np.random.default_rng(seed)
            estimates = estimate_priors(logits.astype(np.float64), data.is_positive, random)
            prior, prior_se = estimates["used"], estimates[estimates["from"]].se
        content = pu_report(
            data.is_positive,
            scores,
            threshold=cut,
            prior=prior,
            prior_se=min(prior_se, 0.99 * (prior * (1 - prior)) ** 0.5),
            random_state=seed,
        )
    if known is not None:
        content["truth"] = _ordinary(known, data.is_positive, scores, cut)
        if wrong := int((data.is_positive & known.is_known & ~known.is_true).sum()):
            spoken.append(f"{wrong:,} of the labeled positives are negative by the truth.")
            note(f"warning: {spoken[-1]}")
    if info.get("fingerprint") and info["fingerprint"] == fingerprint(table):
        spoken.append(
            "The model was fitted on this very table, so these numbers flatter it; "
            "those of `mixpul inspect` are out of fold."
        )
        note(f"warning: {spoken[-1]}")
    for sentence in content["warnings"]:
        if sentence not in spoken:
            note(f"warning: {sentence}")
    content["warnings"] += spoken
    content = to_plain(content)
    if as_json:
        print_json(content)
    else:
        _show(content)


def _kind_of_label(positive: Any) -> str:
    if isinstance(positive, bool):
        return "boolean"
    return "number" if isinstance(positive, int | float) else "text"


class Truth(NamedTuple):
    """The true classes, as far as they are known."""

    is_true: NDArray[np.bool_]
    is_known: NDArray[np.bool_]


def _truth(frame: Any, column: str, positive: str | None) -> Truth:
    is_known = frame[column].notna().to_numpy()
    values = list(frame[column][is_known].unique())
    where = f"The truth column {column!r}"
    if not values or len(values) > 2:
        raise ValueError(
            f"{where} has {len(values)} values; two were expected, one of them for positives, and "
            "gaps where the truth is not known."
        )
    value = which_is_positive(where, values, positive, "--truth-positive")
    return Truth((frame[column] == value).fillna(False).to_numpy(dtype=bool), is_known)


def _ordinary(
    truth: Truth, is_positive: NDArray[np.bool_], scores: NDArray, cut: float
) -> dict[str, Any]:
    """Metrics of the unlabeled rows whose truth is known, named as those from PU labels are.

    None where they are not defined: there is no recall without positives.
    """
    from sklearn import metrics

    judged = truth.is_known & ~is_positive
    hidden, flagged = truth.is_true[judged], scores[judged] > cut
    n_rows, n_true, n_flagged = len(hidden), int(hidden.sum()), int(flagged.sum())
    found: dict[str, Any] = {name: None for name in TITLES if name not in ("pu_auc", "lee_liu")}
    found |= {"n_rows": n_rows, "prior": None}
    if n_rows:
        found |= {
            "flagged_share": flagged.mean(),
            "accuracy": metrics.accuracy_score(hidden, flagged),
            "zero_one_risk": metrics.zero_one_loss(hidden, flagged),
            "prior": hidden.mean(),
        }
    if n_flagged:
        found["precision"] = hidden[flagged].mean()
    if n_true:
        found["recall"] = flagged[hidden].mean()
        found["f1"] = metrics.f1_score(hidden, flagged)
    if 0 < n_true < n_rows:
        found |= {
            "corrected_auc": metrics.roc_auc_score(hidden, scores[judged]),
            "balanced_accuracy": metrics.balanced_accuracy_score(hidden, flagged),
            "matthews_corrcoef": metrics.matthews_corrcoef(hidden, flagged),
            "false_positive_rate": flagged[~hidden].mean(),
        }
    return found


def _show(content: Mapping[str, Any]) -> None:
    truth = content.get("truth")
    say(
        f"{content['n_positive']:,} labeled positives, {content['n_unlabeled']:,} unlabeled rows; "
        f"cut at {content['threshold']:.4g}, share of positives among the unlabeled rows "
        f"{content['prior']:.3g} ± {content['prior_se']:.2g}"
    )
    if truth is not None and truth["n_rows"]:
        say(
            f"The truth is known of {truth['n_rows']:,} of the unlabeled rows: a share of "
            f"{truth['prior']:.3g} is positive"
        )
    shown = Table()
    shown.add_column("")
    shown.add_column("from PU labels (95 %)", justify="right")
    if truth is not None:
        shown.add_column("from the truth", justify="right")
    for name, estimate in content["metrics"].items():
        cells = [TITLES[name], interval(estimate)]
        if truth is not None:
            value = truth.get(name)
            cells.append("" if value is None else f"{value:.3f}")
        shown.add_row(*cells)
    say(shown)
