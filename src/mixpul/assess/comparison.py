"""Which of several methods is best on a user's own PU data."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr
from sklearn.base import clone

from mixpul import __version__
from mixpul._util.files import write_whole
from mixpul._util.json_values import to_plain
from mixpul._util.progress import progress_bar
from mixpul._util.validation import split_labels
from mixpul.assess._scores import (
    LEVEL,
    N_FOLDS,
    auc_difference,
    check_rows,
    chosen_methods,
    fitted_per_fold,
    make_folds,
    plain_settings,
)
from mixpul.base import PUClassifier
from mixpul.metrics import Estimate
from mixpul.metrics.ranking import delong
from mixpul.tables import TableInput
from mixpul.tables.frames import as_frame


@dataclass
class Comparison:
    """Methods on the same folds, the best first.

    Attributes
    ----------
    methods : list of dict
        Per method its name, the PU-AUC of its out-of-fold scores (`pu_auc`), how far it is
        `behind` the best one (Estimates), and the `seconds` of one fit; or its `failure`.
    recommended : str or None
        The method with the highest PU-AUC; None if all failed.
    sure : float or None
        How probable it is that it is really better than the next one.
    text : str
        The same in words.
    folds, seed : int
    """

    methods: list[dict[str, Any]]
    recommended: str | None
    sure: float | None
    text: str
    folds: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for `json.dumps`."""
        return {field.name: to_plain(getattr(self, field.name)) for field in fields(self)}


def compare(
    X: Any,
    is_positive: ArrayLike,
    methods: Sequence[str] | Mapping[str, PUClassifier] | None = None,
    *,
    table: TableInput | None = None,
    folder: str | os.PathLike | None = None,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Fit several methods on the same folds and rank them by out-of-fold PU-AUC.

    Every method is fitted once per fold, also those with out-of-fold scores of their own, so that
    none chooses anything by the rows it is judged by. Differences are paired: the same rows are
    ranked by both.

    Parameters
    ----------
    X : data frame, Arrow table or array
    is_positive : array of shape (n,)
        PU labels: two values, of which the larger means labeled positive.
    methods : sequence of names in `METHODS`, mapping of names to classifiers, or None
        None takes all.
    table : TableInput, optional
        How columns are prepared; a copy is fitted.
    folder : path, optional
        Where to keep the scores of each method, one file per method. A comparison that was
        stopped goes on where it stopped; a method that failed is tried again.
    n_folds : int, default=5
    random_state : int, default=0
        Seed of the folds and of the methods.
    verbose : int, default=0
        1 shows a progress bar.

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
    _, positive = split_labels(is_positive)
    check_rows(frame, positive)
    chosen = chosen_methods(methods, random_state)
    rows = clone(table or TableInput()).fit_transform(frame)
    folds = make_folds(positive, n_folds, random_state)
    digest = hashlib.sha256(rows.tobytes() + positive.tobytes() + folds.tobytes()).hexdigest()
    place = None if folder is None else Path(folder)
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    n_parts = int(folds.max()) + 1
    records = []
    with progress_bar(len(chosen) * n_parts, "methods", verbose, unit="fits") as advance:
        for name, classifier in chosen.items():
            key = f"{__version__} {digest} {_recipe(classifier)}"
            record = _kept(place, name, key)
            if record is not None:
                for _ in range(n_parts):
                    advance({})
            else:
                tried = _tried(classifier, rows, positive, folds, advance)
                record = {"method": name, "key": key, **tried}
                if place is not None:
                    write_whole(place / f"{name}.json", json.dumps(record).encode())
            records.append(record)
    return _ranked(records, positive, n_parts, random_state)


def _recipe(classifier: Any) -> str:
    return f"{type(classifier).__name__} {sorted(plain_settings(classifier).items())}"


def _kept(folder: Path | None, name: str, key: str) -> dict[str, Any] | None:
    """The result of an earlier run of the same method on the same rows, if it did not fail."""
    path = None if folder is None else folder / f"{name}.json"
    if path is None or not path.exists():
        return None
    try:
        record = json.loads(path.read_text())
        return record if record["key"] == key and "failure" not in record else None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{str(path)!r} is no result of a comparison; move it away.") from None


def _tried(
    classifier: Any,
    rows: NDArray,
    is_positive: NDArray[np.bool_],
    folds: NDArray[np.int32],
    advance: Callable[[dict[str, float]], None],
) -> dict[str, Any]:
    """Out-of-fold scores and the seconds of one fit; or the reason why there are none."""
    scores = np.empty(len(rows), dtype=np.float32)
    start = time.perf_counter()
    try:
        fitted = fitted_per_fold(classifier, rows, is_positive.astype(int), folds)
        for k, part in enumerate(fitted):
            scores[folds == k] = part.decision_function(rows[folds == k])
            advance({})
        if not np.isfinite(scores).all():
            raise ValueError("it gave scores that are NaN or infinite.")
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    seconds = (time.perf_counter() - start) / (int(folds.max()) + 1)
    return {"seconds": round(seconds, 3), "scores": scores.tolist()}


def _ranked(
    records: list[dict[str, Any]], is_positive: NDArray[np.bool_], n_folds: int, seed: int
) -> Comparison:
    done = {r["method"]: np.array(r["scores"]) for r in records if "failure" not in r}
    aucs = {name: delong(is_positive, s, 0.0, 0.0, LEVEL) for name, s in done.items()}
    order = sorted(done, key=lambda name: -aucs[name].value)
    seconds = {r["method"]: r["seconds"] for r in records if r["method"] in done}
    behind = {name: auc_difference(is_positive, done[order[0]], done[name]) for name in order[1:]}
    entries: list[dict[str, Any]] = [
        {
            "method": name,
            "pu_auc": aucs[name],
            "behind": behind.get(name),
            "seconds": seconds[name],
            "failure": None,
        }
        for name in order
    ]
    entries += [
        {"method": r["method"], "pu_auc": None, "behind": None, "seconds": None} | r
        for r in ({k: r[k] for k in ("method", "failure")} for r in records if "failure" in r)
    ]
    sure, text = _advice(order, behind, seconds)
    return Comparison(entries, order[0] if order else None, sure, text, n_folds, seed)


def _advice(
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
    close = [name for name in order[1:] if behind[name].low <= 0]
    numbers = f"{gap.value:.3f} PU-AUC ahead of {order[1]}, {100 * sure:.0f} % sure to be better"
    if not close:
        return sure, f"Use {best}: clearly the best on these rows ({numbers})."
    quickest = min([best, *close], key=lambda name: seconds[name])
    text = f"Use {best} ({numbers}), but these rows cannot tell it from {', '.join(close)} for sure"
    return sure, text + (f"; {quickest} is the quickest of them." if quickest != best else ".")
