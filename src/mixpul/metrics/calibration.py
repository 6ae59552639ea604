"""Probabilities from scores: how much denser positives are than unlabeled rows, times the prior."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import isotonic_regression

from mixpul._util.validation import split_labels
from mixpul.metrics.checks import check_prior_range

__all__ = [
    "ProbabilityLine",
    "average_ratios",
    "calibration_error",
    "density_ratio",
    "find_probability_line",
    "learn_density_ratio",
    "to_probabilities",
]

# Isotonic regression is a step function whose ends follow single rows; the mean over resamples is
# smooth. More resamples changed nothing.
N_RESAMPLES = 30
# Knots of a table, one for each such share of the unlabeled rows.
N_KNOTS = 200
# Of more rows than this of one kind, quantiles stand for all of them.
MOST_ROWS = 10_000
# Logarithms of slopes of the sigmoid, per standard deviation of the scores: from nearly flat to a
# step.
LOG_SLOPES = (-3.0, 3.5)
# How far, in nats per positive, a sigmoid may be from the table: at this distance the table alone
# counts, at half of it both do. How it was chosen: docs/explanation/decisions.md.
MOST_MISFIT = 0.12
# No row is surely labeled: keeps ratios finite.
MOST_SHARE = 1 - 1e-6


def density_ratio(labeled_share: ArrayLike, n_positive: int, n_unlabeled: int) -> NDArray:
    r"""Compute :math:`p_P / p_U = \frac{q}{1 - q} \frac{n_U}{n_P}`, q the share of labeled rows.

    `labeled_share` (n,) is that among all rows with the same score.

    Examples
    --------
    >>> from mixpul.metrics.calibration import density_ratio
    >>> density_ratio([0.02, 0.1, 0.3], 50, 950).round(3).tolist()
    [0.388, 2.111, 8.143]
    """
    share = np.minimum(np.asarray(labeled_share, dtype=np.float64), MOST_SHARE)
    return share / (1 - share) * n_unlabeled / n_positive


def learn_density_ratio(y: ArrayLike, scores: ArrayLike) -> NDArray[np.float64]:
    """Learn how the density ratio of positives to unlabeled rows grows with the score.

    The share of labeled rows is an isotonic regression on the score, averaged over resamples of the
    rows. The resamples are the same in every call. Where they differ much, because few positives
    lie there, the ratio is drawn towards 1, its mean over unlabeled rows.

    Parameters
    ----------
    y : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    scores : array of shape (n,)
        Scores of rows left out of training.

    Returns
    -------
    ndarray of shape (2, n_knots)
        Scores and ratios, both ascending. The scores are quantiles of the unlabeled rows at equal
        steps, so the mean over knots is a mean over unlabeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.metrics.calibration import learn_density_ratio, to_probabilities
    >>> labels = np.repeat([1, 0, 0], 100)
    >>> scores = np.concatenate([np.full(100, 3.0), np.full(100, 3.0), np.zeros(100)])
    >>> table = learn_density_ratio(labels, scores)
    >>> to_probabilities([0.0, 3.0], table, prior=0.25).round(2).tolist()
    [0.0, 0.5]
    """
    _, is_positive = split_labels(y)
    scores = np.asarray(scores, dtype=np.float64)
    kinds = (is_positive, ~is_positive)
    n_positive, n_unlabeled = (int(kind.sum()) for kind in kinds)
    positive, unlabeled = (_thin(scores[kind]) for kind in kinds)
    values = np.unique(np.concatenate([positive, unlabeled]))
    counts = [
        np.bincount(np.searchsorted(values, own), minlength=len(values))
        for own in (positive, unlabeled)
    ]
    # Each thinned row stands for several.
    weight = np.array([n_positive / len(positive), n_unlabeled / len(unlabeled)])
    knots = np.quantile(unlabeled, (np.arange(N_KNOTS) + 0.5) / N_KNOTS)
    random = np.random.default_rng(0)
    shares = np.empty((N_RESAMPLES, N_KNOTS))
    for own in shares:
        drawn = np.stack([random.multinomial(n.sum(), n / n.sum()) for n in counts])
        n_labeled, n_other = drawn * weight[:, None]
        n_rows = n_labeled + n_other
        seen = n_rows > 0
        share = isotonic_regression(n_labeled[seen] / n_rows[seen], sample_weight=n_rows[seen])
        own[:] = np.interp(knots, values[seen], share)
    ratios = average_ratios(shares, n_positive, n_unlabeled)
    return np.stack([knots, ratios])


def average_ratios(
    shares: NDArray[np.float64], n_positive: int, n_unlabeled: int
) -> NDArray[np.float64]:
    r"""Return the density ratio at each knot, as far as resamples agree on it.

    Before anything is seen, a ratio is taken for a draw of a gamma distribution. Its mean is 1, as
    over unlabeled rows, and its variance t is that of the ratios over unlabeled rows, or 1 if that
    is less: as if one positive had been seen where one was expected. A ratio r that is known with
    the variance v then becomes :math:`(t r^2 + v) / (t r + v)`. Ratios near 0 stay there: a place
    with many rows and no positive says enough.

    Parameters
    ----------
    shares : ndarray of shape (n_resamples, n_knots)
        Of labeled rows, ascending with the knots.
    n_positive, n_unlabeled : int

    Returns
    -------
    ndarray of shape (n_knots,)
        Ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.metrics.calibration import average_ratios
    >>> average_ratios(np.array([[0.5, 0.6], [0.5, 0.9]]), 50, 50).round(3).tolist()
    [1.0, 1.413]
    """
    share = np.minimum(shares.mean(axis=0), MOST_SHARE)
    ratio = density_ratio(share, n_positive, n_unlabeled)
    # Variances by the derivative of the ratio: ratios of single resamples may be beyond all bounds.
    slope = n_unlabeled / n_positive / (1 - share) ** 2
    noise = slope**2 * shares.var(axis=0, ddof=1) / max(1.0, ratio.var())
    total = ratio + noise
    drawn = np.divide(ratio**2 + noise, total, out=np.zeros_like(total), where=total > 0)
    # The next knot may be less certain, and so nearer to 1.
    return np.maximum.accumulate(drawn)


def _thin(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most `MOST_ROWS` quantiles of the scores."""
    if len(scores) <= MOST_ROWS:
        return scores
    return np.quantile(scores, (np.arange(MOST_ROWS) + 0.5) / MOST_ROWS, method="nearest")


def to_probabilities(
    scores: ArrayLike, table: NDArray, prior: float, *, smooth: bool = False
) -> NDArray[np.float64]:
    r"""Compute P(y = 1 | x) of rows like the unlabeled ones: :math:`\min(1, k \pi r)`.

    r is the density ratio at the score, from the table of `learn_density_ratio`, and :math:`\pi`
    the class prior. k is near 1 and such that the probabilities of the unlabeled rows have
    the mean :math:`\pi`, which the limit of 1 would otherwise lower.

    With `smooth` they are drawn towards a sigmoid of the score, the more the better it agrees with
    the table. With some dozens of labeled positives the table is rough; given the prior, the
    sigmoid has only its slope to be learned.
    """
    line = find_probability_line(table, prior, smooth=smooth)
    values = np.asarray(scores, dtype=np.float64)
    found = np.minimum(1.0, np.interp(values, table[0], line.expected))
    if line.share == 0:
        return found
    return (1 - line.share) * found + line.share * expit(line.slope * values + line.offset)


class ProbabilityLine(NamedTuple):
    """What probabilities are made of.

    Attributes
    ----------
    expected : ndarray of shape (n_knots,)
        k times prior times ratio at the knots; it may exceed 1, and is limited between knots.
    share : float
        How much of a probability comes from the sigmoid.
    slope, offset : float
        Of the sigmoid.
    """

    expected: NDArray[np.float64]
    share: float = 0.0
    slope: float = 0.0
    offset: float = 0.0


def find_probability_line(table: NDArray, prior: float, *, smooth: bool) -> ProbabilityLine:
    """Find what `to_probabilities` makes probabilities of."""
    check_prior_range(prior)
    knots, ratios = table
    expected = prior * _rescale(ratios, prior) * ratios
    if not smooth or knots[0] == knots[-1]:
        return ProbabilityLine(expected)
    slope, offset = _fit_sigmoid(knots, ratios, prior)
    at_knots = np.minimum(1.0, expected)
    # Of how positives lie by the table, and by the sigmoid: Kullback and Leibler's distance.
    seen = at_knots > 0
    log_ratio = np.log(at_knots[seen]) - log_expit(slope * knots[seen] + offset)
    misfit = float((at_knots[seen] * log_ratio).sum() / (prior * len(knots)))
    share = float(np.clip(1 - misfit / MOST_MISFIT, 0.0, 1.0))
    return ProbabilityLine(expected, share, slope, offset)


def _fit_sigmoid(
    knots: NDArray[np.float64], ratios: NDArray[np.float64], prior: float
) -> tuple[float, float]:
    """Return slope and offset of the sigmoid whose mean is the prior and which fits positives best.

    Positives lie by the ratios; unlabeled rows are equally many at all knots.
    """
    centre, spread = knots.mean(), knots.std()
    z = (knots - centre) / spread

    def find_offset(slope: float) -> float:
        # Steep or flat, beyond this all rows are on one side.
        reach = abs(logit(prior)) + slope * np.abs(z).max() + 1
        return brentq(lambda offset: expit(slope * z + offset).mean() - prior, -reach, reach)

    def lose(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return -float((ratios * log_expit(slope * z + find_offset(slope))).mean())

    slope = float(np.exp(minimize_scalar(lose, bounds=LOG_SLOPES, method="bounded").x))
    return slope / spread, find_offset(slope) - slope * centre / spread


def _rescale(ratios: NDArray[np.float64], prior: float) -> float:
    """Find k such that the mean of min(1, k * prior * ratio) is the prior."""
    highest_first = np.sort(ratios)[::-1]
    n = len(ratios)
    # With the j highest at 1, the others share what is left.
    rest = np.cumsum(highest_first[::-1])[::-1]
    left = prior * n - np.arange(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = left / (prior * rest)
        fits = (left > 0) & (rest > 0) & (factors * prior * highest_first <= 1)
    return float(factors[np.argmax(fits)]) if fits.any() else 1.0


def calibration_error(y: Any, probabilities: ArrayLike, *, n_bins: int = 10) -> float:
    """Compute the expected calibration error, which needs the true classes.

    The mean over rows of the difference between the mean probability and the share of positives
    in the row's bin; bins are equally wide.

    Parameters
    ----------
    y : array of shape (n,)
        True classes, 1 or 0, or a mask of the positives.
    probabilities : array of shape (n,)
        Of being positive.
    n_bins : int, default=10

    Returns
    -------
    float

    Examples
    --------
    >>> from mixpul.metrics import calibration_error
    >>> round(calibration_error([1, 0, 0, 0], [0.95, 0.15, 0.15, 0.15]), 3)
    0.125
    """
    truth, p = np.asarray(y, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    excess = np.bincount(bins, weights=p - truth, minlength=n_bins)
    return float(np.abs(excess).sum() / len(p))
