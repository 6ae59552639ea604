"""Which of several methods is best on a user's own PU data."""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr
from sklearn.base import clone

from mixpul import __version__
from mixpul._util.errors import DamagedFile, TrainingDiverged
from mixpul._util.files import remove_partials, write_whole
from mixpul._util.json_values import hash_json, read_json, to_plain
from mixpul._util.progress import progress_bar
from mixpul._util.random import number_folds
from mixpul._util.schema import ListOf, Number, Record, Text, check_value
from mixpul._util.validation import check_negative, split_labels, write_recipe
from mixpul.assess.figures import bound_auc
from mixpul.assess.intervals import estimate_auc, estimate_auc_difference
from mixpul.assess.models import choose_methods, hand_on_prior
from mixpul.assess.out_of_fold import N_FOLDS
from mixpul.assess.priors import Interval, check_given_prior, estimate_priors
from mixpul.assess.rows import check_rows
from mixpul.base import PUClassifier
from mixpul.metrics import Estimate
from mixpul.tables import TableInput
from mixpul.tables.frames import as_frame

__all__ = ["Comparison", "compare"]

# What is kept of a method: scores, or the reason why there are none.
KEPT = Record(
    {"method": Text(), "key": Text()},
    {
        "seconds": Number(0),
        "scores": ListOf(Number()),
        "failure": Text(),
        "sha256": Text(),
    },
)


@dataclass(frozen=True)
class Comparison:
    """Methods on the same folds, the best first.

    Attributes
    ----------
    methods : list of dict
        For each method its name, the PU-AUC of its out-of-fold scores (`pu_auc`), how far it is
        `behind` the best one (Estimates), and the `seconds` of one fit; or its `failure`. With a
        known prior also its AUC against negatives (`corrected_auc`, as in `Assessment`).
    recommended : str or None
        The method with the highest PU-AUC; None if all failed.
    sure : float or None
        The probability that it is really better than the next one.
    text : str
        The recommendation in words.
    folds, seed : int
    prior : dict or None
        The class prior that was given, as in `Assessment`.
    """

    methods: list[dict[str, Any]]
    recommended: str | None
    sure: float | None
    text: str
    folds: int
    seed: int
    prior: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for `json.dumps`."""
        return {field.name: to_plain(getattr(self, field.name)) for field in fields(self)}


def compare(
    X: Any,
    is_positive: ArrayLike,
    methods: Sequence[str] | Mapping[str, PUClassifier] | None = None,
    *,
    table: TableInput | None = None,
    folder: str | os.PathLike | None = None,
    prior: float | None = None,
    prior_interval: Interval | None = None,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    verbose: int = 0,
    negative: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Fit several methods on the same folds and rank them by out-of-fold PU-AUC.

    Every method is fitted once per fold, also those with out-of-fold scores of their own: no method
    chooses anything by the rows that judge it. Differences are paired: both methods rank the same
    rows.

    Parameters
    ----------
    X : data frame, Arrow table or array
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    methods : sequence of names in `METHODS`, mapping of names to classifiers, or None
        None means all.
    table : TableInput, optional
        How columns are prepared; a copy is fitted.
    folder : path, optional
        Where to keep the scores of each method, one file per method. A comparison that was
        stopped goes on where it stopped, and a method that failed is tried again. A network given
        as a function is known by the name of the function: delete the file if you change its body.
    prior, prior_interval : optional
        The class prior, where it is known, as in `assess`: methods that take a prior get it.
    n_folds : int, default=5
    random_state : int, default=0
        Seed of the folds, and of the methods that have none.
    verbose : int, default=0
        1 shows a progress bar.
    negative : array-like of bool of shape (n,), optional
        Verified negatives, for the methods that can learn from them. Methods are ranked by
        positives and unlabeled rows.
    n_jobs : int or None, default=None
        How many fits, of any methods and folds, run at the same time; -1 is all cores. The scores
        do not depend on it.

    Returns
    -------
    Comparison
        A method that fails is listed with the reason; the others go on.

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul.assess import compare
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    >>> found = compare(pu.X, pu.s, ["pnu", "upu"], n_folds=2)
    >>> found.methods[0]["method"] == found.recommended
    True
    """
    frame = as_frame(X, least_rows=2)
    _, labeled = split_labels(is_positive)
    check_rows(frame, labeled)
    is_negative = check_negative(negative, labeled)
    others = ~is_negative
    check_rows(labeled[others], labeled[others])
    chosen = choose_methods(methods, random_state)
    for classifier in chosen.values():
        hand_on_prior(classifier, prior, prior_interval)
    rows = clone(table or TableInput()).fit_transform(frame)
    folds = number_folds(labeled, n_folds, random_state, is_negative)
    # Whatever the scores depend on besides the method: rows as prepared, labels, folds.
    parts = [rows, labeled, folds, *([is_negative] if is_negative.any() else [])]
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    keeper = None if folder is None else _Keeper(Path(folder))
    key = f"{__version__} {digest}"
    records = _run_methods(chosen, rows, labeled, is_negative, folds, keeper, key, verbose, n_jobs)
    ranked = _rank_methods(records, labeled, others, int(folds.max()) + 1, random_state)
    if ranked.recommended is None or check_given_prior(prior, prior_interval) is None:
        return ranked
    scores = {r["method"]: r["scores"] for r in records if "failure" not in r}
    # The best method's scores rule out most: they are what the prior is compared with.
    best = np.array(scores[ranked.recommended])[others]
    known = estimate_priors(best, labeled[others], prior=prior, prior_interval=prior_interval)
    n_positive = int(labeled[others].sum())
    n_rows = (n_positive, len(best) - n_positive)
    for entry in ranked.methods:
        if entry["pu_auc"] is not None:
            entry["corrected_auc"] = bound_auc(known, entry["pu_auc"], *n_rows)
    return replace(ranked, prior=known)


def _run_methods(
    chosen: Mapping[str, PUClassifier],
    rows: NDArray,
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
    folds: NDArray[np.int32],
    keeper: "_Keeper | None",
    key_of_rows: str,
    verbose: int,
    n_jobs: int | None,
) -> list[dict[str, Any]]:
    """Fit each method on the folds, or read its scores of an earlier run."""
    n_parts = int(folds.max()) + 1
    keys = {name: f"{key_of_rows} {write_recipe(one)}" for name, one in chosen.items()}
    records: dict[str, dict[str, Any]] = {}
    if keeper:
        read = {name: keeper.read(name, keys[name], len(rows)) for name in chosen}
        records = {name: record for name, record in read.items() if record is not None}
    left = {name: _Scores(len(rows), n_parts) for name in chosen if name not in records}
    labels = is_positive.astype(int)
    negative = is_negative if is_negative.any() else None

    def list_fits() -> Iterator[Any]:
        for name, scores in left.items():
            for k in range(n_parts):
                # One fold without scores is enough to know that there are none of the whole.
                if not scores.failure:
                    yield delayed(_try_fold)(name, chosen[name], rows, labels, folds, k, negative)

    with progress_bar(len(chosen) * n_parts, "methods", verbose, unit="fits") as advance:
        # A bar that skips what is there already would look stuck, then jump.
        for _ in range(len(records) * n_parts):
            advance({})
        pool = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
        for name, k, result in pool(list_fits()):
            advance({})
            left[name].add(folds == k, result)
            if left[name].is_whole and name not in records:
                records[name] = {"method": name, "key": keys[name], **left[name].to_dict()}
                if keeper:
                    keeper.write(name, records[name])
    return [records[name] for name in chosen]


class _FoldScores(NamedTuple):
    """The scores of one fold, and the seconds of its fit; or the reason why there are none."""

    scores: NDArray[np.float32] | None
    seconds: float
    failure: str = ""


class _Scores:
    """The scores of one method, fold by fold, as they come."""

    def __init__(self, n_rows: int, n_folds: int) -> None:
        self.scores = np.empty(n_rows, dtype=np.float32)
        self.seconds: list[float] = []
        self.n_folds, self.failure = n_folds, ""

    def add(self, is_left_out: NDArray[np.bool_], result: _FoldScores) -> None:
        """Take the scores of a fold."""
        if result.scores is None:
            self.failure = self.failure or result.failure
        else:
            self.scores[is_left_out] = result.scores
            self.seconds.append(result.seconds)

    @property
    def is_whole(self) -> bool:
        """Whether all is known that will be."""
        return bool(self.failure) or len(self.seconds) == self.n_folds

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and the seconds of one fit; or the reason why there are none."""
        if self.failure:
            return {"failure": self.failure}
        return {
            "seconds": round(sum(self.seconds) / self.n_folds, 3),
            "scores": self.scores.tolist(),
        }


class _Keeper:
    """A folder with one result per method, which a later run of the same comparison reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        remove_partials(folder)

    def read(self, name: str, key: str, n_rows: int) -> dict[str, Any] | None:
        """Return the result of the same method on the same rows, unless it failed."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        try:
            record = read_json(path.read_bytes())
            check_value(record, KEPT)
        except DamagedFile:
            raise DamagedFile(
                f"{str(path)!r} is not a result of a comparison, or it is damaged; move it away, "
                "and the method is fitted again."
            ) from None
        checksum = record.pop("sha256", None)
        if checksum != hash_json(record):
            warnings.warn(
                f"{str(path)!r} is damaged: its content does not match its checksum. The method "
                "is fitted again.",
                UserWarning,
                stacklevel=2,
            )
            return None
        is_same = record["key"] == key and len(record.get("scores", [])) == n_rows
        return record if is_same else None

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Keep a result."""
        whole = {**record, "sha256": hash_json(record)}
        write_whole(self.folder / f"{name}.json", json.dumps(whole).encode())


def _try_fold(
    name: str,
    classifier: Any,
    rows: NDArray,
    labels: NDArray,
    folds: NDArray[np.int32],
    k: int,
    negative: NDArray[np.bool_] | None,
) -> tuple[str, int, _FoldScores]:
    """Fit a copy without a fold and score the fold; a worker of a cluster may do this."""
    is_seen = folds != k
    more = {} if negative is None else {"negative": negative[is_seen]}
    start = time.perf_counter()
    try:
        part = clone(classifier).fit(rows[is_seen], labels[is_seen], **more)
        # As the file keeps them: a comparison that is taken up again ranks the same numbers.
        scores = np.asarray(part.decision_function(rows[~is_seen]), dtype=np.float32)
        if not np.isfinite(scores).all():
            raise TrainingDiverged("Some scores are NaN or infinite.")
    # Whatever one method runs into, the others go on.
    except Exception as error:
        return name, k, _FoldScores(None, 0.0, f"{type(error).__name__}: {error}")
    return name, k, _FoldScores(scores, time.perf_counter() - start)


def _rank_methods(
    records: list[dict[str, Any]],
    is_positive: NDArray[np.bool_],
    judged: NDArray[np.bool_],
    n_folds: int,
    seed: int,
) -> Comparison:
    is_positive = is_positive[judged]
    scores = {r["method"]: np.array(r["scores"])[judged] for r in records if "failure" not in r}
    aucs = {name: estimate_auc(is_positive, own) for name, own in scores.items()}
    order = sorted(scores, key=lambda name: -aucs[name].value)
    seconds = {r["method"]: r["seconds"] for r in records if r["method"] in scores}
    behind = {
        name: estimate_auc_difference(is_positive, scores[order[0]], scores[name])
        for name in order[1:]
    }
    entries: list[dict[str, Any]] = [
        {
            "method": name,
            "pu_auc": aucs[name],
            "behind": behind.get(name),
            "corrected_auc": None,
            "seconds": seconds[name],
            "failure": None,
        }
        for name in order
    ]
    entries += [
        dict.fromkeys(("method", "pu_auc", "behind", "corrected_auc", "seconds")) | r
        for r in ({k: r[k] for k in ("method", "failure")} for r in records if "failure" in r)
    ]
    sure, text = _advise(order, behind, seconds)
    return Comparison(entries, order[0] if order else None, sure, text, n_folds, seed)


def _advise(
    order: list[str], behind: Mapping[str, Estimate], seconds: Mapping[str, float]
) -> tuple[float | None, str]:
    if not order:
        return None, "Every method failed; nothing can be recommended."
    best = order[0]
    if not behind:
        return None, f"Only {best} was fitted: there is nothing to compare it with."
    gap = behind[order[1]]
    # Differences of exactly 0 have no standard error: equal scores are a toss-up.
    sure = float(ndtr(gap.value / gap.se)) if gap.se > 0 else 0.5
    # Those whose interval includes no difference at all.
    close = [name for name in order[1:] if behind[name].low <= 0]
    numbers = f"{gap.value:.3f} PU-AUC ahead of {order[1]}, {100 * sure:.0f} % sure to be better"
    if not close:
        return sure, f"Use {best}: clearly the best on these rows ({numbers})."
    quickest = min([best, *close], key=lambda name: seconds[name])
    text = f"Use {best} ({numbers}), but these rows cannot tell it from {', '.join(close)} for sure"
    return sure, text + (f"; {quickest} is the quickest of them." if quickest != best else ".")
