"""Everything that can be said of a classifier without negatives, and what is doubtful about it."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mixpul._util.json_values import to_plain
from mixpul._util.random import RandomStateLike, as_generator
from mixpul._util.validation import check_scores, split_labels
from mixpul.metrics._rates import METRICS, PURates
from mixpul.metrics.checks import (
    check_enough_rows,
    check_level,
    check_prior_range,
    check_prior_se,
    describe_outside,
    explain_few_positives,
    explain_prior_too_large,
)
from mixpul.metrics.intervals import RANKING, check_bootstrap, percentile_estimate, resample_rates
from mixpul.metrics.ranking import Estimate, delong


def pu_report(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    threshold: float = 0.0,
    prior: float | None = None,
    prior_se: float = 0.0,
    posterior: ArrayLike | None = None,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    pos_label: Any = None,
    random_state: RandomStateLike = 0,
) -> dict[str, Any]:
    """Compute all metrics of held-out scores with their intervals, and say what is doubtful.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive. At least two rows
        of each.
    scores : array of shape (n,)
        Larger means more likely positive. Use held-out scores.
    threshold : float, default=0.0
        Rows that score above it are predicted positive: 0 for `decision_function`, 0.5 for
        `predict_proba`.
    prior : float in (0, 1), optional
        Share of positives among the unlabeled rows (not among all rows). Without it the report
        has the PU-AUC, recall, flagged share and Lee and Liu's score only.
    prior_se : float, default=0.0
        Standard error of `prior`, if it was estimated.
    posterior : array of shape (n,), optional
        Estimates of P(y = 1 | x) among the unlabeled rows, to be checked against `prior`. This
        is not `predict_proba` of a PU classifier: from :math:`g = p_+ / (p_+ + p_u)` it is
        ``prior * g / (1 - g)``.
    n_bootstrap : int, default=1000
        Number of resamples for all intervals but those of the AUCs, which are DeLong's.
    level : float in (0, 1), default=0.95
        Coverage of the intervals.
    pos_label : optional
        The value of `y` that means labeled positive.
    random_state : int, RandomState, Generator or None, default=0
        The same int gives the same report.

    Returns
    -------
    dict
        Ready for `json.dumps`. ``'metrics'`` maps names to ``{'value', 'se', 'low', 'high'}``,
        kept within the values that a metric can have (``'warnings'`` says where one was not).
        The precision is None where no unlabeled row is flagged. ``'calibration'`` has the three
        checks that need no negatives; ``'warnings'`` is a list of sentences, empty if
        nothing is wrong.

    Examples
    --------
    >>> from mixpul.metrics import pu_report
    >>> labels, scores = [1] * 12 + [0] * 6, [5, 4, 3, 2] * 3 + [4.5, -1, -2, -3, -4, -5]
    >>> report = pu_report(labels, scores, prior=0.2)
    >>> report["n_positive"], round(report["metrics"]["recall"]["value"], 2)
    (12, 1.0)
    >>> pu_report(labels, [0.3] * 18)["warnings"][0]
    'All scores are the same, 0.3: nothing is ranked.'
    """
    _, is_positive = split_labels(y, pos_label)
    scores = check_scores(scores, is_positive)
    check_enough_rows(is_positive)
    check_level(level)
    check_bootstrap(n_bootstrap)
    _check_prior_settings(prior, prior_se, posterior)
    rates = PURates.from_masks(is_positive, scores > threshold, prior)
    resampled = resample_rates(
        rates, is_positive, prior_se, n_bootstrap, as_generator(random_state)
    )
    estimates = _estimate_aucs(is_positive, scores, prior, prior_se, level)
    estimates |= _estimate_metrics(rates, resampled, level)
    # Doubts on the calibration come last: they concern the posterior, not the scores.
    calibration, miscalibrated = _check_calibration(is_positive, posterior, prior, prior_se, level)
    content = {
        "n_positive": int(is_positive.sum()),
        "n_unlabeled": int((~is_positive).sum()),
        "threshold": float(threshold),
        "prior": None if prior is None else float(prior),
        "prior_se": float(prior_se),
        "level": float(level),
        "n_bootstrap": int(n_bootstrap),
        "metrics": _keep_possible(estimates, is_any_flagged=bool(rates.flagged)),
        "calibration": calibration,
        "warnings": [
            *_doubt_ranking(scores, estimates["pu_auc"]),
            *_doubt_threshold(scores, rates, threshold),
            *filter(None, [explain_few_positives(is_positive)]),
            *_doubt_ranges(estimates, prior),
            *miscalibrated,
        ],
    }
    return dict(to_plain(content))


def _check_prior_settings(prior: float | None, prior_se: float, posterior: Any) -> None:
    if prior is not None:
        check_prior_range(prior)
    elif prior_se or posterior is not None:
        raise ValueError("prior_se and posterior can only be used with a prior; got none.")
    check_prior_se(prior_se, prior)


def _estimate_aucs(
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    prior: float | None,
    prior_se: float,
    level: float,
) -> dict[str, Estimate]:
    """Estimate the PU-AUC, and with a prior the AUC against negatives."""
    aucs = {"pu_auc": delong(is_positive, scores, 0.0, 0.0, level)}
    if prior is not None:
        aucs["corrected_auc"] = delong(is_positive, scores, prior, prior_se, level)
    return aucs


def _estimate_metrics(rates: PURates, resampled: PURates, level: float) -> dict[str, Estimate]:
    """Estimate every metric of predictions that the rates allow."""
    return {
        name: percentile_estimate(float(metric.of(rates)), metric.of(resampled), level)
        for name, metric in METRICS.items()
        if rates.prior is not None or not metric.needs_prior
    }


def _doubt_ranking(scores: NDArray[np.float64], auc: Estimate) -> Iterator[str]:
    """Yield what makes the order of the rows doubtful."""
    interval = f"{auc.value:.3g}, from {auc.low:.3g} to {auc.high:.3g}"
    if scores.min() == scores.max():
        yield f"All scores are the same, {scores[0]:g}: nothing is ranked."
    elif auc.low <= 0.5 <= auc.high:
        yield f"It ranks no better than chance: the interval of the PU-AUC ({interval}) holds 0.5."
    elif auc.high < 0.5:
        yield (
            f"It ranks worse than chance: the PU-AUC is {interval}. Are the scores or the labels "
            "upside down?"
        )
    elif auc.value == 1:
        yield (
            "Every labeled positive outranks every unlabeled row, as if none of those were "
            "positive. Were these rows used in training, or labeled by what the model sees?"
        )


def _doubt_threshold(
    scores: NDArray[np.float64], rates: PURates, threshold: float
) -> Iterator[str]:
    """Yield what makes the predictions doubtful: all of them are alike."""
    if rates.recall == rates.flagged == 1:
        looks_like_shares = threshold == 0 and scores.max() <= 1
        yield f"It calls every row positive: all scores are above the threshold {threshold:g}." + (
            " If they are probabilities, use the threshold 0.5." if looks_like_shares else ""
        )
    elif rates.recall == rates.flagged == 0:
        yield f"It calls no row positive: no score is above the threshold {threshold:g}."


def _doubt_ranges(estimates: dict[str, Estimate], prior: float | None) -> Iterator[str]:
    """Yield one sentence on all impossible values: each of them, and once what they mean."""
    sentences = (
        describe_outside(title, estimates[name].value, low, high)
        for name, (title, low, high) in _find_ranges(estimates).items()
    )
    if outside := list(filter(None, sentences)):
        yield " ".join([*outside, explain_prior_too_large(prior)])


def _find_ranges(names: Iterable[str]) -> dict[str, tuple[str, float, float]]:
    """Return for each metric what it is called in a sentence, and the ends of its range."""
    aucs = {name: (title, 0.0, 1.0) for name, title in RANKING.items()}
    others = {name: (metric.title, metric.low, metric.high) for name, metric in METRICS.items()}
    return {name: (aucs | others)[name] for name in names}


def _keep_possible(
    estimates: dict[str, Estimate], *, is_any_flagged: bool
) -> dict[str, Estimate | dict[str, None]]:
    """Keep values and ends within the range of their metric; no rows have no precision."""
    kept: dict[str, Estimate | dict[str, None]] = {}
    for name, (_, least, most) in _find_ranges(estimates).items():
        value, se, low, high = estimates[name]
        ends = (float(np.clip(number, least, most)) for number in (value, low, high))
        kept[name] = Estimate(next(ends), se, *ends)
    if not is_any_flagged and "precision" in kept:
        kept["precision"] = dict.fromkeys(Estimate._fields)
    return kept


def _check_calibration(
    is_positive: NDArray[np.bool_],
    posterior: ArrayLike | None,
    prior: float | None,
    prior_se: float,
    level: float,
) -> tuple[dict[str, Any], list[str]]:
    """Check what must hold of P(y = 1 | x) = prior * r over the unlabeled rows, r = p+ / p_u.

    Its mean is the prior, so that r has mean 1, and it is a probability, so that r is at most
    1 / prior. Returns the numbers, and a sentence for each check that failed.
    """
    if prior is None or posterior is None:
        needs = (
            "These checks need prior= and posterior=, estimates of P(y = 1 | x) among the "
            "unlabeled rows; scores that only rank cannot be calibrated."
        )
        return {"checked": False, "needs": needs}, []
    posterior = check_scores(posterior, is_positive, "posterior")
    unlabeled = posterior[~is_positive]
    mean, se = float(unlabeled.mean()), float(unlabeled.std(ddof=1) / np.sqrt(len(unlabeled)))
    margin = float(ndtri((1 + level) / 2)) * np.hypot(se, prior_se) + 1e-9
    n_impossible = int(((posterior < 0) | (posterior > 1 + 1e-9)).sum())
    numbers = {
        "checked": True,
        "mean_posterior": mean,
        "mean_posterior_se": se,
        "mean_ratio": mean / prior,
        "largest_ratio": float(posterior.max() / prior),
        "largest_possible_ratio": float(1 / prior),
        "n_impossible": n_impossible,
    }
    doubts = []
    if not abs(mean - prior) <= margin:  # "not", so that a mean of NaN is doubted, too
        doubts.append(
            f"The posterior has mean {mean:.3g} +- {se:.2g} over the unlabeled rows where the "
            f"prior says {prior:.3g} (so the density ratio has mean {mean / prior:.3g}, not 1): it "
            "is not calibrated, or the prior is wrong."
        )
    if n_impossible:
        doubts.append(
            f"The posterior is outside [0, 1] in {n_impossible} of {len(posterior)} rows: the "
            f"density ratio goes up to {posterior.max() / prior:.3g}, where 1 / prior = "
            f"{1 / prior:.3g} is the most there can be."
        )
    return numbers, doubts
