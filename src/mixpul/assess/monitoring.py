"""Has the world moved since the fit? A later table against what the model file keeps of the first.

An alarm needs two things: a difference that chance does not explain, after a correction for the
number of columns, and one that is large enough to matter. So neither many columns nor a million
rows raise alarms by themselves.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from mixpul.assess.drift import (
    adjust_p_values,
    compare_counts,
    compare_scores,
    estimate_share_change,
)
from mixpul.tables import TableInput
from mixpul.tables.summaries import Tally, name_bins, summarise_table

__all__ = ["Watch", "find_scores", "summarise_fit"]

# The largest p-value of an alarm, corrected for all that is looked at.
LEVEL = 0.01
# Of a change of the share of positives, which rests on more than counts of rows.
LEVEL_OF_SHARE = 0.001
# The smallest population stability index without noise; by a common rule, 0.1 is a small change.
LEAST_PSI = 0.1
# The smallest share of values that were never there.
LEAST_NEW = 0.01
# The smallest change of the share of negatives, as a ratio.
LEAST_RATIO = 0.1
# Bins of equal width from 0 to 1.
N_SCORE_BINS = 200
# The smallest distance of scores without noise, in their standard deviations.
LEAST_DISTANCE = 0.15


def find_scores(
    classifier: Any, shares: NDArray, folds: NDArray[np.int32]
) -> tuple[NDArray, NDArray[np.int32]]:
    """Return the scores to compare with, of rows left out, and which model scored each.

    Trees have scores out of bag, by the very trees that score new rows. Others have those of the
    assessment, by one model for each fold.
    """
    if hasattr(classifier, "oob_scores_"):
        return expit(classifier.oob_scores_), np.zeros_like(folds)
    return shares, folds


def summarise_fit(
    table: TableInput,
    X: Any,
    is_positive: NDArray[np.bool_],
    scores: NDArray,
    folds: NDArray[np.int32],
) -> dict[str, Any]:
    """Return what to keep of the rows of a fit.

    `scores` are out-of-fold ones from 0 to 1, `folds` say which of several models scored each row.
    """
    unlabeled = [
        _count_scores(scores[~is_positive & (folds == k)]).tolist()
        for k in range(int(folds.max()) + 1)
    ]
    return {
        "rows": {"unlabeled": int((~is_positive).sum()), "all": len(is_positive)},
        "columns": summarise_table(table, X, is_positive),
        "scores": {"folds": unlabeled, "positive": _count_scores(scores[is_positive]).tolist()},
    }


def _count_scores(scores: NDArray) -> NDArray[np.int64]:
    bins = np.minimum((scores * N_SCORE_BINS).astype(np.int64), N_SCORE_BINS - 1)
    return np.bincount(bins, minlength=N_SCORE_BINS)


class Watch:
    """Compares a table, batch by batch, with the one of a fit.

    Parameters
    ----------
    model : Pipeline
        A `TableInput` and a classifier.
    summary : dict
        What `summarise_fit` returned.
    against : {'unlabeled', 'all'}, default='unlabeled'
        Whether new rows should be like the unlabeled rows of the fit, or like all of them.
    missing : sequence of str
        Columns that the new table does not have. Without them rows have no scores.
    """

    def __init__(
        self,
        model: Any,
        summary: Mapping[str, Any],
        against: str = "unlabeled",
        missing: Iterable[str] = (),
    ) -> None:
        self.model = model
        self.against = against
        self.missing = list(missing)
        self.summary = _check_summary(summary)
        columns = self.summary["columns"]
        self.layout = {name: own for name, own in columns.items() if name not in self.missing}
        self.tally = Tally(model[0], self.layout)
        self.scores = np.zeros(N_SCORE_BINS, dtype=np.int64)

    def add(self, batch: Any) -> None:
        """Count the rows of a batch."""
        self.tally.add(batch)
        if not self.missing:
            shares = expit(self.model.decision_function(batch))
            self.scores += _count_scores(shares)

    def conclude(self, prior: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what has moved, as plain values; `prior` is what is known of the class prior."""
        columns = [self._compare_column(name, own) for name, own in self.layout.items()]
        _correct(columns)
        for entry in columns:
            entry["findings"] = _list_findings(entry)
        scores = None if self.missing else self._compare_scores()
        share = None if self.missing else self._compare_share(prior)
        columns.sort(key=lambda entry: (not entry["findings"], -entry["effect"]))
        moved = (
            bool(self.missing)
            or any(entry["findings"] for entry in columns)
            or bool(scores and scores["moved"])
            or bool(share and share["moved"])
        )
        return {
            "moved": moved,
            "rows": self.tally.n_rows,
            "rows_at_fit": self.summary["rows"][self.against],
            "against": self.against,
            "missing_columns": self.missing,
            "columns": columns,
            "scores": scores,
            "positives": share,
        }

    def _compare_column(self, name: str, own: Mapping[str, Any]) -> dict[str, Any]:
        before, after = np.array(own[self.against]), self.tally.counts[name]
        distance = compare_counts(before, after)
        n_before, n_after = max(before.sum(), 1), max(after.sum(), 1)
        # What the fit hardly saw, with one more row of it: none seen does not mean none there.
        unseen = after[-2] if own["kind"] == "text" else self.tally.outside[name]
        usual = (before[-2] + 1 if own["kind"] == "text" else 2) / (n_before + 1)
        shares = [(counts / counts.sum()).tolist() for counts in (before, after) if counts.sum()]
        return {
            "column": name,
            "kind": own["kind"],
            "psi": distance.psi,
            "noise": distance.noise,
            "effect": distance.effect,
            "p": distance.p,
            "missing": {"before": float(before[-1] / n_before), "now": float(after[-1] / n_after)},
            "unseen": {
                "share": float(unseen / n_after),
                "usual": float(min(usual, 1.0)),
                "p": float(stats.binom.sf(unseen - 1, n_after, min(usual, 1.0))),
                "examples": self.tally.examples[name],
            },
            "bins": {"names": name_bins(dict(own)), "before": shares[0], "now": shares[-1]},
        }

    def _list_scores(self) -> tuple[NDArray, NDArray, NDArray]:
        """Return the counts of scores to compare with, of positives, and of each fold."""
        folds = np.array(self.summary["scores"]["folds"])
        positive = np.array(self.summary["scores"]["positive"])
        before = folds.sum(axis=0)
        return before + positive if self.against == "all" else before, positive, folds

    def _compare_scores(self) -> dict[str, Any]:
        before, _, folds = self._list_scores()
        found = compare_scores(before, self.scores, folds)
        # Twenty bins are enough to look at.
        old, new = (counts.reshape(20, -1).sum(axis=1) for counts in (before, self.scores))
        return {
            "distance": found.distance,
            "noise": found.noise,
            "effect": found.effect,
            "p": found.p,
            "moved": found.p < LEVEL and found.effect >= LEAST_DISTANCE,
            "before": (old / max(old.sum(), 1)).tolist(),
            "now": (new / max(new.sum(), 1)).tolist(),
        }

    def _compare_share(self, prior: Mapping[str, Any] | None) -> dict[str, Any] | None:
        before, positive, folds = self._list_scores()
        found = estimate_share_change(before, positive, self.scores, folds)
        if found is None:
            return None
        is_large = abs(np.log(max(found.ratio, 1e-9))) >= np.log(1 + LEAST_RATIO)
        return {
            "negatives_ratio": found._asdict(),
            "moved": bool(found.p < LEVEL_OF_SHARE and is_large),
            **_find_new_share(found.ratio, found.low, found.high, prior, self.against),
        }


def _find_new_share(
    ratio: float, low: float, high: float, prior: Mapping[str, Any] | None, against: str
) -> dict[str, Any]:
    """Return the share of positives now: an estimate if it was known, else its bounds."""
    if prior is None or against == "all" or prior.get("value") is None:
        return {"prior": None, "now": None}
    if prior.get("source") in ("given", "audited"):
        known = float(prior["value"])
        now = [min(max(1 - r * (1 - known), 0.0), 1.0) for r in (ratio, high, low)]
        return {"prior": known, "now": dict(zip(("value", "low", "high"), now, strict=True))}
    # The prior lies between 0 and its limit, and the new share grows with it.
    upper = float(prior.get("upper") or prior["value"])
    ends = [min(max(1 - r * (1 - p), 0.0), 1.0) for r, p in ((high, 0.0), (low, upper))]
    return {"prior": None, "now": {"value": None, "low": ends[0], "high": ends[1]}}


def _correct(columns: list[dict[str, Any]]) -> None:
    """Replace p-values by those that are corrected for their number."""
    tests = [entry for entry in columns] + [entry["unseen"] for entry in columns]
    if tests:
        for test, p in zip(tests, adjust_p_values([test["p"] for test in tests]), strict=True):
            test["p"] = p


def _list_findings(entry: Mapping[str, Any]) -> list[str]:
    """Say what has moved in a column, in words."""
    findings = []
    missing, unseen = entry["missing"], entry["unseen"]
    if entry["p"] < LEVEL and entry["effect"] >= LEAST_PSI:
        gap = missing["now"] - missing["before"]
        findings.append(
            f"{missing['now']:.1%} are missing, {missing['before']:.1%} at the fit"
            if abs(gap) >= 0.05
            else "its values are spread in another way"
        )
    rise = unseen["share"] - unseen["usual"]
    if unseen["p"] < LEVEL and rise >= LEAST_NEW:
        if entry["kind"] == "text":
            named = ", ".join(repr(text[:40]) for text in unseen["examples"][:3])
            findings.append(f"{unseen['share']:.1%} are in rare or new categories, such as {named}")
        else:
            findings.append(f"{unseen['share']:.1%} lie outside of the range at the fit")
    return findings


def _check_summary(summary: Any) -> dict[str, Any]:
    """Return a summary if its parts fit together; a file may hold anything."""
    try:
        for name, own in summary["columns"].items():
            size = len(name_bins(own))
            for key in ("unlabeled", "all"):
                counts = np.array(own[key], dtype=np.int64)
                if counts.shape != (size,) or (counts < 0).any():
                    raise ValueError(name)
        scores = summary["scores"]
        for counts in (*scores["folds"], scores["positive"]):
            numbers = np.array(counts, dtype=np.int64)
            if numbers.shape != (N_SCORE_BINS,) or (numbers < 0).any():
                raise ValueError("scores")
        if not scores["folds"]:
            raise ValueError("scores")
        for key in ("unlabeled", "all"):
            int(summary["rows"][key])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"The summaries in the model file are broken ({error}).") from error
    return summary
