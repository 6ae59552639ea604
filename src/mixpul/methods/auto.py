"""The portfolio: candidates fitted on the same folds, weighed without a single negative label."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mixpul._util.errors import MixpulError
from mixpul._util.progress import progress_bar
from mixpul._util.random import RandomStateLike, as_generator, count_folds, draw_seed, number_folds
from mixpul._util.schema import Array, ListOf, MapOf, Number, Record, Spec, Text
from mixpul._util.validation import Interval
from mixpul.base import HeldOut, PUClassifier
from mixpul.methods._candidates import Fitted, Labels, list_candidates, plan_fits, score_with
from mixpul.methods._distilling import distill_scores
from mixpul.methods._portfolio import (
    compare_with_best,
    drop_small,
    extend_score_table,
    make_score_table,
    to_normal_scores,
    weigh,
)
from mixpul.methods._scaling import Scaling
from mixpul.methods._student import (
    N_STEPS,
    Student,
    describe_student,
    score_by_student,
)
from mixpul.metrics import balanced_threshold

__all__ = ["AutoPUClassifier"]

# A candidate that counts less than this would cost time at every row and change hardly any rank.
LEAST_WEIGHT = 0.05
# Logits per normal score: most unlabeled rows then score between -2 and 2.
STEEPNESS = 2.0


class AutoPUClassifier(PUClassifier):
    r"""Portfolio of classifiers, weighed by what each says of rows it has not seen.

    No method is best on every table. This one fits several on the same folds and compares their
    out-of-fold PU-AUC, positive by positive. A candidate that is worse than the best by z standard
    errors of the paired difference weighs :math:`\rho \exp(-z^2)`, where :math:`\rho` is how far
    it is trusted before any row is seen. So with a dozen positives nearly all candidates count,
    with hundreds only the good ones. Scores are combined as normal scores,
    and the decision is where the combined out-of-fold scores are best balanced.

    Columns are standardised inside; those with heavy tails pass through a logarithm first. Verified
    negatives and `sample_weight` go to the candidates that can use them; rows also count by their
    weight when candidates are compared.

    Parameters
    ----------
    candidates : sequence of str or estimators, mapping of them by name, or None, default=None
        What to fit. Names are those of the default portfolio ('mixpul', 'vpu', 'trees', 'forest',
        'logistic-0.001', 'logistic-0.1', 'logistic-10', 'kernel-narrow', 'kernel-wide') and of
        all methods ('boosting', 'nnpu', 'wsvm', ...). An estimator is a classifier of
        mixpul or of scikit-learn with `decision_function` or `predict_proba`. None is the default
        portfolio for tables, and the networks among it for images.
    n_folds : int, default=5
        Number of folds; fewer where there are fewer labeled positives.
    n_jobs : int or None, default=None
        Candidates fitted at the same time, by joblib. The scores do not depend on it.
    time_limit : float or None, default=None
        Seconds after which no further candidate is begun and networks stop training. Simple
        candidates come first. The result then depends on the speed of the machine.
    distill : bool or None, default=None
        Whether one network learns the combined scores and takes the place of the members. It
        scores rows many times as fast; `agreement_` tells how much was lost. Tables only.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        1 shows a progress bar for each candidate.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    leaderboard_ : list of dict
        One entry for each candidate that was fitted, the best first: `candidate`, `pu_auc` and its
        `standard_error`, `difference` to the best and `difference_error`, both paired, `weight`
        and `seconds`. ``pandas.DataFrame(model.leaderboard_)`` makes a table of it.
    weights_ : dict of str to float
        The weight of each candidate; they add up to 1.
    members_ : dict of str to estimator
        The fitted candidates that count. Those below a weight of 0.05 are not kept, and with
        `distill` none is.
    student_, agreement_ : dict
        With `distill` only: as those of `DistilledPUClassifier`.
    oof_scores_ : ndarray of shape (n_samples,)
        Combined score of each row by fits that have not seen it, on the scale of
        `decision_function`.
    oof_folds_ : ndarray of shape (n_samples,)
        The fold that each row was left out in.
    score_tables_ : dict of str to ndarray of shape (2, n_knots)
        For each member its scores and their normal scores.
    threshold_ : float
        Combined score that became the score 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    Examples
    --------
    >>> from mixpul import AutoPUClassifier, datasets
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = AutoPUClassifier(candidates=["trees", "logistic-0.1"], random_state=0)
    >>> model.fit(pu.X, pu.s).predict_proba(pu.X).shape
    (2201, 2)
    >>> sorted(model.weights_)
    ['logistic-0.1', 'trees']
    """

    _parameter_constraints: dict = {
        "candidates": ["array-like", Mapping, None],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "distill": ["boolean", None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    # Experiments set it to 0, to look at all candidates.
    _least_weight = LEAST_WEIGHT

    members_: dict[str, Any]
    student_: Student
    weights_: dict[str, float]

    def __init__(
        self,
        *,
        candidates: Sequence[str | BaseEstimator] | Mapping[str, BaseEstimator] | None = None,
        n_folds: int = 5,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        distill: bool | None = None,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.distill = distill
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    # -- fit ------------------------------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.candidates is not None:
            # Names are known before any row is: a wrong one should not cost the reading of a table.
            list_candidates(self.candidates, None)

    _uses_negatives = True
    _uses_weights = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> HeldOut | None:
        random = as_generator(self.random_state)
        fold_seed, seed = draw_seed(random), draw_seed(random)
        scaling = Scaling.learn(X)
        self.column_centre_, self.column_scale_, self.is_heavy_ = scaling
        has_folds = count_folds(is_positive[~self._is_negative], self.n_folds) >= 2
        folds = (
            number_folds(is_positive, self.n_folds, fold_seed, self._is_negative)
            if has_folds
            else np.zeros(len(is_positive), dtype=np.int32)
        )
        chosen = list_candidates(self.candidates, X)
        labels = Labels(is_positive, self._is_negative, self._weights)
        plans = plan_fits(chosen, scaling.apply(X), labels, folds, seed, self._find_deadline())
        fitted = self._run(plans, [candidate.name for candidate in chosen])
        beliefs = {candidate.name: candidate.belief for candidate in chosen}
        held_out = self._combine(fitted, beliefs, is_positive, folds, has_folds)
        if self.distill:
            self._distill(X, self._choose_threshold(X, is_positive, held_out), random)
        return held_out

    def _distill(self, X: Any, threshold: float, random: np.random.Generator) -> None:
        """Let one network learn the combined scores, and take the place of the members."""

        def score(rows: NDArray[np.float32]) -> NDArray[np.float32]:
            return self._combine_scores(self.score_by_member(rows))

        self.student_, agreement = distill_scores(
            score, X, threshold, random, n_steps=N_STEPS, verbose=self.verbose
        )
        self.agreement_ = agreement._asdict()
        # In memory only: reports still ask them about rows that were left out.
        self._teachers, self.members_ = self.members_, {}

    def _find_deadline(self) -> float | None:
        # By the clock of the wall: workers may be other processes.
        return None if self.time_limit is None else time.time() + self.time_limit

    def _run(self, plans: list[Callable[[int], Fitted]], names: list[str]) -> list[Fitted]:
        """Fit all candidates; leave out those that fail, with a warning."""
        if effective_n_jobs(self.n_jobs) == 1:
            # One after the other, each with a bar of its own.
            results = [plan(self.verbose) for plan in plans]
        else:
            pool = Parallel(n_jobs=self.n_jobs, return_as="generator")
            with progress_bar(len(plans), "AutoPU", self.verbose, "candidates") as advance:
                results = []
                for result in pool(delayed(plan)(0) for plan in plans):
                    advance({})
                    results.append(result)
        for result in results:
            if result.failure:
                warnings.warn(
                    f"Candidate {result.name!r} is left out: {result.failure}",
                    UserWarning,
                    stacklevel=2,
                )
        whole = [result for result in results if not result.failure]
        if not whole:
            raise MixpulError(
                f"None of the candidates could be fitted ({', '.join(names)}); "
                f"the first said: {results[0].failure}"
            )
        return whole

    def _combine(
        self,
        fitted: list[Fitted],
        beliefs: dict[str, float],
        is_positive: NDArray[np.bool_],
        folds: NDArray[np.int32],
        has_folds: bool,
    ) -> HeldOut | None:
        """Weigh the candidates; keep those that count, and what combines their scores."""
        scores = np.stack([one.scores for one in fitted])
        # By unlabeled rows, a draw of all rows: those that were looked at may be of one kind.
        judged = ~self._is_negative
        counts = None if self._weights is None else self._weights[judged]
        compared = compare_with_best(is_positive[judged], scores[:, judged], weights=counts)
        # Scores of rows that were learned from prove nothing: beliefs decide alone.
        z = compared.z if has_folds else np.zeros(len(fitted))
        weights = weigh(z, np.array([beliefs[one.name] for one in fitted]))
        weights = drop_small(weights, self._least_weight)
        self.leaderboard_ = [
            {
                "candidate": fitted[k].name,
                "pu_auc": float(compared.pu_auc[k]),
                "standard_error": float(compared.own_error[k]),
                "difference": float(compared.pu_auc[k] - compared.pu_auc.max()),
                "difference_error": float(compared.standard_error[k]),
                "weight": float(weights[k]),
                "seconds": round(fitted[k].seconds, 3),
            }
            for k in np.argsort(-compared.pu_auc, kind="stable")
        ]
        self.weights_ = {one.name: float(w) for one, w in zip(fitted, weights, strict=True)}
        kept = [one for one in fitted if self.weights_[one.name] > 0 or not self._least_weight]
        self.members_ = {one.name: one.model for one in kept}
        self.score_tables_ = {one.name: make_score_table(one.scores) for one in kept}
        combined = sum(self._weigh_scores(one.name, one.scores) for one in kept)
        if not has_folds:
            return None
        # In memory only: reports look at what changes when rows that were left out are changed.
        self._parts = {one.name: one.parts for one in kept}
        self._scores_left_out = {one.name: one.scores for one in kept}
        self.oof_scores_ = np.asarray(combined, dtype=np.float32)
        self.oof_folds_ = folds
        return HeldOut(self.oof_scores_.copy(), np.ones(len(is_positive), dtype=bool))

    def _choose_threshold(
        self, X: Any, is_positive: NDArray[np.bool_], held_out: HeldOut | None
    ) -> float:
        if held_out is None:
            return 0.0
        is_known = held_out.is_known
        return balanced_threshold(is_positive[is_known], held_out.scores[is_known])

    # -- prediction -----------------------------------------------------------------------------

    def _list_needed(self) -> tuple[str, ...]:
        return ("student_",) if self.distill else ("members_", "weights_", "score_tables_")

    def _describe_learned(self) -> dict[str, Spec]:
        knots = Array("float", (2, None))
        return super()._describe_learned() | {
            "weights_": MapOf(Number(0, 1)),
            "score_tables_": MapOf(knots),
            "leaderboard_": ListOf(Record({"candidate": Text(), "weight": Number(0, 1)})),
            **describe_student(getattr(self, "student_", None)),
        }

    @property
    def _scores_by_column(self) -> bool:  # type: ignore[override]
        return bool(self.distill)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        if self.distill:
            return score_by_student(self.student_, X)
        return self._combine_scores(self.score_by_member(X))

    def score_by_member(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Score rows by each member, on its own scale."""
        rows = self._scale_rows(X)
        return {name: score_with(member, rows) for name, member in self.members_.items()}

    def score_left_out(self, X: Any, fold: int, numbers: NDArray[np.intp]) -> NDArray[np.float32]:
        """Score rows of a fold, perhaps changed ones, by fits that have not seen them.

        `numbers` are the places of the rows in the fit. Only right after `fit`: a saved classifier
        has no fits of single folds.
        """
        rows = self._scale_rows(X)
        scores = {}
        for name, parts in self._parts.items():
            member = (self.members_ or self._teachers)[name]
            if parts is not None:
                scores[name] = score_with(parts[fold], rows)
            else:
                raw = member.score_out_of_bag(rows, member._was_seen[numbers])
                scores[name] = raw - member.threshold_
        return self._combine_scores(scores) - np.float32(self.threshold_)

    def list_score_lines(self) -> dict[str, tuple[float, NDArray, NDArray]]:
        """Return what combines the scores of members: of each its factor, and knots of a line.

        The combined score is the sum over members of the factor times the value of the line at
        the member's score: straight between knots, constant beyond them.
        """
        return {
            name: (STEEPNESS * self.weights_[name], *extend_score_table(table))
            for name, table in self.score_tables_.items()
        }

    def _scale_rows(self, X: Any) -> Any:
        return Scaling(self.column_centre_, self.column_scale_, self.is_heavy_).apply(X)

    def _combine_scores(self, scores: dict[str, NDArray]) -> NDArray[np.float32]:
        combined = sum(self._weigh_scores(name, own) for name, own in scores.items())
        return np.asarray(combined, dtype=np.float32)

    def _weigh_scores(self, name: str, scores: NDArray) -> NDArray[np.float64]:
        normal = to_normal_scores(scores, self.score_tables_[name])
        return STEEPNESS * self.weights_[name] * normal
