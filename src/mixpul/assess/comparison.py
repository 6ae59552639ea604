"""Which of several methods is best on a user's own PU data."""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
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
from mixpul.assess.out_of_fold import N_FOLDS, cross_validate
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
    records = _run_methods(chosen, rows, labeled, is_negative, folds, keeper, key, verbose)
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
) -> list[dict[str, Any]]:
    """Fit each method on the folds, or read its scores of an earlier run."""
    n_parts = int(folds.max()) + 1
    records = []
    with progress_bar(len(chosen) * n_parts, "methods", verbose, unit="fits") as advance:
        for name, classifier in chosen.items():
            key = f"{key_of_rows} {write_recipe(classifier)}"
            record = keeper.read(name, key, len(rows)) if keeper else None
            if record is not None:
                # A bar that skips what is there already would look stuck, then jump.
                for _ in range(n_parts):
                    advance({})
            else:
                result = _try_method(classifier, rows, is_positive, is_negative, folds, advance)
                record = {"method": name, "key": key, **result}
                if keeper:
                    keeper.write(name, record)
            records.append(record)
    return records


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


def _try_method(
    classifier: Any,
    rows: NDArray,
    is_positive: NDArray[np.bool_],
    is_negative: NDArray[np.bool_],
    folds: NDArray[np.int32],
    advance: Callable[[dict[str, float]], None],
) -> dict[str, Any]:
    """Return out-of-fold scores and the seconds of one fit; or the reason why there are none."""
    start = time.perf_counter()
    try:
        scores, parts = cross_validate(
            classifier,
            rows,
            is_positive.astype(int),
            folds,
            negative=is_negative if is_negative.any() else None,
            advance=advance,
        )
        # As the file keeps them: a comparison that is taken up again ranks the same numbers.
        kept = scores.astype(np.float32)
        if not np.isfinite(kept).all():
            raise TrainingDiverged("Some scores are NaN or infinite.")
    # Whatever one method runs into, the others go on.
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    seconds = (time.perf_counter() - start) / len(parts)
    return {"seconds": round(seconds, 3), "scores": kept.tolist()}


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
