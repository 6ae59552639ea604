"""The algebra of predictions without negatives, written once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from mixpul._util.validation import check_length, list_values, split_labels
from mixpul.metrics.checks import MEANING_OF_PRIOR, check_prior_range

Numbers = float | NDArray[np.float64]


@dataclass(frozen=True)
class PURates:
    r"""Rates at which a classifier says "positive", and all that follows from them.

    With recall :math:`\gamma`, the flagged share q of the unlabeled rows and the prior
    :math:`\pi`, the unlabeled rows satisfy :math:`q = \pi\gamma + (1-\pi) FPR`. This gives
    the false positive rate, and with it every score of a two by two table. It holds on average
    if the labeled positives are a random sample of all positives. Nothing is clipped.

    Parameters
    ----------
    recall : float or array
        Share of the labeled positives that are predicted positive.
    flagged : float or array
        Share of the unlabeled rows that are predicted positive.
    prior : float or array, optional
        Share of positives among the unlabeled rows, in (0, 1). `recall`, `flagged` and
        `lee_liu` do without.

    Examples
    --------
    >>> from mixpul.metrics import PURates
    >>> rates = PURates(recall=40 / 50, flagged=70 / 200, prior=0.3)
    >>> print(f"{rates.precision:.4f} {rates.f1:.4f} {rates.accuracy:.4f}")
    0.6857 0.7385 0.8300
    >>> print(f"{rates.cleaned(purity=0.95).recall:.4f}")
    0.8346
    """

    recall: Numbers
    flagged: Numbers
    prior: Numbers | None = None

    def __post_init__(self) -> None:
        # Arrays are resampled around a prior that was checked.
        if self.prior is not None and np.ndim(self.prior) == 0:
            check_prior_range(float(self.prior))

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        prior: float | None = None,
        *,
        pos_label: Any = None,
    ) -> "PURates":
        """Count them: `y_true` are PU labels, `y_pred` predictions of the same rows."""
        return cls.from_masks(*read_predictions(y_true, y_pred, pos_label), prior)

    @classmethod
    def from_masks(
        cls,
        is_positive: NDArray[np.bool_],
        is_flagged: NDArray[np.bool_],
        prior: float | None = None,
    ) -> "PURates":
        """Count them from masks of the labeled positives and of the rows predicted positive."""
        return cls(
            float(is_flagged[is_positive].mean()), float(is_flagged[~is_positive].mean()), prior
        )

    @property
    def false_positive_rate(self) -> Numbers:
        """Share of the negatives that are predicted positive, (q - pi recall) / (1 - pi)."""
        prior = self._require_prior()
        return (self.flagged - prior * self.recall) / (1 - prior)

    @property
    def precision(self) -> Numbers:
        """Share of positives among the unlabeled rows predicted positive, pi recall / q."""
        return _ratio(self._require_prior() * self.recall, self.flagged)

    @property
    def f1(self) -> Numbers:
        """Harmonic mean of precision and recall, 2 pi recall / (pi + q)."""
        prior = self._require_prior()
        return 2 * prior * self.recall / (prior + self.flagged)

    @property
    def accuracy(self) -> Numbers:
        """Share of right answers on unlabeled rows, 1 - zero_one_risk."""
        return 1 - self.zero_one_risk

    @property
    def balanced_accuracy(self) -> Numbers:
        """Mean of recall and specificity, (recall + 1 - FPR) / 2."""
        return (self.recall + 1 - self.false_positive_rate) / 2

    @property
    def matthews_corrcoef(self) -> Numbers:
        """Correlation of truth and prediction, sqrt(pi (1 - pi) / (q (1 - q))) (recall - FPR)."""
        prior = self._require_prior()
        # recall - FPR is (recall - q) / (1 - pi), which is exactly 0 if all or no rows are flagged.
        spread = np.sqrt(self.flagged * (1 - self.flagged))
        return _ratio((self.recall - self.flagged) * np.sqrt(prior / (1 - prior)), spread)

    @property
    def zero_one_risk(self) -> Numbers:
        """Share of wrong answers on unlabeled rows, 2 pi (1 - recall) + q - pi."""
        prior = self._require_prior()
        return 2 * prior * (1 - self.recall) + self.flagged - prior

    @property
    def lee_liu(self) -> Numbers:
        """recall^2 / q = precision recall / pi (Lee and Liu 2003), q over the unlabeled rows."""
        return _ratio(self.recall * self.recall, self.flagged)

    def cleaned(self, purity: float) -> "PURates":
        r"""Return the rates without label noise, if a share `purity` of the labeled is positive.

        Solves :math:`\gamma_{seen} = b\gamma + (1-b) FPR` and :math:`q = \pi\gamma + (1-\pi) FPR`
        (Jain et al. 2017; Ramola et al. 2019). The purity b must exceed the prior.
        """
        prior = self._require_prior()
        if not (np.all(purity > prior) and purity <= 1):
            raise ValueError(
                "purity must be the share of true positives among the labeled ones, above the "
                f"prior and up to 1; got {purity!r} with prior {prior!r}."
            )
        recall = ((1 - prior) * self.recall - (1 - purity) * self.flagged) / (purity - prior)
        return replace(self, recall=recall)

    def _require_prior(self) -> Numbers:
        """Return the prior, or say which rates do without."""
        if self.prior is None:
            raise ValueError(
                f"{MEANING_OF_PRIOR}, above 0 and below 1; got None. recall, flagged_share and "
                "lee_liu do without."
            )
        return self.prior


def _ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return the quotient with 0 / 0 = 0, as scikit-learn does for predictors that flag nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.equal(numerator, 0), 0.0, np.divide(numerator, denominator))
    return ratio if ratio.ndim else float(ratio)


class Metric(NamedTuple):
    """A quantity of `PURates`, what it is called in a sentence, and the values it can have."""

    of: Callable[[PURates], Numbers]
    title: str
    low: float = 0.0
    high: float = 1.0
    needs_prior: bool = True
    is_loss: bool = False


METRICS = {
    "recall": Metric(attrgetter("recall"), "recall", needs_prior=False),
    "flagged_share": Metric(attrgetter("flagged"), "flagged share", needs_prior=False),
    "lee_liu": Metric(attrgetter("lee_liu"), "Lee-Liu score", high=np.inf, needs_prior=False),
    "precision": Metric(attrgetter("precision"), "precision"),
    "f1": Metric(attrgetter("f1"), "F1"),
    "accuracy": Metric(attrgetter("accuracy"), "accuracy"),
    "balanced_accuracy": Metric(attrgetter("balanced_accuracy"), "balanced accuracy"),
    "matthews_corrcoef": Metric(attrgetter("matthews_corrcoef"), "Matthews correlation", low=-1.0),
    "false_positive_rate": Metric(
        attrgetter("false_positive_rate"), "false positive rate", is_loss=True
    ),
    "zero_one_risk": Metric(attrgetter("zero_one_risk"), "zero-one risk", is_loss=True),
}
MetricLike = str | Callable[[PURates], Numbers]


def find_metric(metric: MetricLike, prior: float | None, also: tuple[str, ...] = ()) -> Metric:
    """Look up a metric of predictions, or wrap a function of `PURates`; check its prior."""
    if callable(metric):
        # Nothing is known of the range of a user's function, nor whether it asks for the prior.
        found = Metric(metric, "metric", low=-np.inf, high=np.inf, needs_prior=False)
    elif metric in METRICS:
        found = METRICS[metric]
    else:
        names = ", ".join(map(repr, (*METRICS, *also)))
        raise ValueError(
            f"metric must be one of {names}, or a function of PURates; got {metric!r}."
        )
    if prior is not None:
        check_prior_range(prior)
    elif found.needs_prior:
        raise ValueError(f"{MEANING_OF_PRIOR}; {metric!r} cannot do without. Got None.")
    return found


def read_predictions(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the masks of labeled positives and of rows predicted positive.

    Predictions are the two labels themselves, or 0 and 1.
    """
    values, is_positive = split_labels(y_true, pos_label)
    predicted: NDArray = column_or_1d(y_pred)
    if predicted.dtype == object:
        predicted = np.array(predicted.tolist())
    check_length(predicted, is_positive, "predictions")
    seen = set(predicted.tolist())
    # A mask of rows predicted positive is not compared with labels: False and True equal 0 and 1.
    is_mask = predicted.dtype == bool and values.dtype != bool
    if not is_mask and seen <= set(values.tolist()):
        return is_positive, np.asarray(predicted == values[1])
    if seen <= {0, 1}:
        return is_positive, np.asarray(predicted == 1)
    raise ValueError(
        f"Predictions must be the labels {values.tolist()} or 0 and 1; "
        f"got {list_values(sorted(seen, key=str))}. "
        "If these are scores, compare them with a threshold first: scores > threshold."
    )
