"""The rows to learn from, those of a table or images: how each kind is prepared and described."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mixpul._util.arrays import is_images
from mixpul._util.errors import MixpulError
from mixpul.assess.evidence import TableEvidence, gather_evidence
from mixpul.assess.models import (
    choose_feature_pipeline,
    choose_image_classifier,
    choose_pipeline,
)
from mixpul.assess.out_of_fold import OutOfFold
from mixpul.assess.propensity import Propensity, weigh_by_columns
from mixpul.assess.source import Source
from mixpul.assess.top_rows import find_doubtful, list_rows, sort_unlabeled, write_cells
from mixpul.base import PUClassifier
from mixpul.images import ImageFeatures
from mixpul.tables.frames import as_frame

__all__ = ["Rows", "check_rows", "prepare_rows"]

N_TOP_ROWS, N_COLUMNS_SHOWN = 50, 6
N_DOUBTFUL = 24
N_IMAGES = 24  # of the highest-scored ones, and of the lowest-scored ones


class Extremes(NamedTuple):
    """Rows to look at: names and scores, and of tables some columns.

    Attributes
    ----------
    top, bottom : list of dict
        The highest-scored unlabeled rows, and the lowest-scored ones of images.
    doubtful : list of dict
        Labeled positives with the lowest scores: their labels look wrong.
    """

    top: list[dict[str, Any]]
    bottom: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]


def prepare_rows(
    model: str | BaseEstimator | None, X: Any, is_positive: NDArray[np.bool_], seed: int
) -> "Rows":
    """Prepare rows of a table or images, and an unfitted classifier for them."""
    if isinstance(model, Pipeline) and isinstance(model[0], ImageFeatures):
        return _FeatureRows(model, X, is_positive, seed)
    kind = _ImageRows if is_images(X) else _TableRows
    return kind(model, X, is_positive, seed)


def check_rows(rows: Any, is_positive: NDArray[np.bool_]) -> None:
    """Refuse labels of another length, and too few rows to hold any out."""
    if len(rows) != len(is_positive):
        raise MixpulError(
            f"X and is_positive must have one entry per row; got {len(rows)} rows and "
            f"{len(is_positive)} labels."
        )
    n_positive = int(is_positive.sum())
    if min(n_positive, len(rows) - n_positive) < 2:
        raise MixpulError(
            "To hold some rows out, at least 2 labeled positives and 2 unlabeled rows are needed; "
            f"got {n_positive} and {len(rows) - n_positive}."
        )


class Rows(ABC):
    """Rows that are ready to learn from, and the classifier that is to learn.

    Attributes
    ----------
    unit : str
        What one of them is called.
    values : ndarray of shape (n, ...)
        What the classifier takes.
    classifier : PUClassifier
    model : Pipeline or PUClassifier
        What a user keeps: the classifier with whatever prepares its rows.
    has_columns : bool
        Whether they are rows of a table.
    n_steps : int
        How often `gather_evidence` advances a progress bar.
    """

    unit: str
    values: NDArray
    classifier: PUClassifier
    model: Pipeline | PUClassifier
    n_steps = 0
    has_columns = False

    def take(self, numbers: NDArray[np.intp]) -> Self:
        """Return some of the rows, with the same model."""
        some = copy.copy(self)
        some.values = self.values[numbers]
        return some

    def gather_evidence(
        self,
        is_positive: NDArray[np.bool_],
        fitted: OutOfFold,
        random: np.random.Generator,
        advance: Callable[[dict[str, float]], None],
    ) -> TableEvidence | None:
        """Return what the columns tell of the fitted model; None where there are no columns."""
        return None

    def weigh_by_columns(
        self, is_positive: NDArray[np.bool_], scores: NDArray, columns: Sequence[str]
    ) -> Propensity:
        """Weigh labeled positives by how rarely their kind is labeled, if there are columns."""
        raise NotImplementedError

    @abstractmethod
    def describe(self, source: Source) -> dict[str, Any]:
        """Return what `Assessment.data` says of this kind of rows."""

    @abstractmethod
    def list_extremes(
        self,
        is_positive: NDArray[np.bool_],
        fitted: OutOfFold,
        ids: Sequence[Any] | None,
        importance: list[dict[str, Any]],
    ) -> Extremes:
        """Return the rows that are worth a look."""


class _TableRows(Rows):
    unit = "row"
    has_columns = True

    def __init__(
        self, model: str | BaseEstimator | None, X: Any, is_positive: NDArray[np.bool_], seed: int
    ) -> None:
        frame = as_frame(X, least_rows=2)
        check_rows(frame, is_positive)
        self.model = choose_pipeline(model, seed)
        self.table, self.classifier = self.model
        # `TableInput` learns nothing from labels: it is fitted once, not once for each fold.
        self.values = self.table.fit_transform(frame)
        # One for each used column, one for leaks, one for the simple method.
        self.n_steps = len(self.table.plan_) + 2
        # Columns may be named by numbers; whatever is shown names them by text.
        self.frame = frame.set_axis([str(name) for name in frame.columns], axis=1)

    def take(self, numbers: NDArray[np.intp]) -> Self:
        some = super().take(numbers)
        some.frame = self.frame.iloc[numbers].reset_index(drop=True)
        return some

    def gather_evidence(
        self,
        is_positive: NDArray[np.bool_],
        fitted: OutOfFold,
        random: np.random.Generator,
        advance: Callable[[dict[str, float]], None],
    ) -> TableEvidence:
        return gather_evidence(
            self.table, self.frame, self.values, is_positive, fitted, random, advance
        )

    def weigh_by_columns(
        self, is_positive: NDArray[np.bool_], scores: NDArray, columns: Sequence[str]
    ) -> Propensity:
        return weigh_by_columns(self.table, self.values, is_positive, scores, columns)

    def describe(self, source: Source) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "label": source.label,
            "positive": source.positive,
            "id": source.id,
            "columns": self.table.report_,
            "features": self.values.shape[1],
        }

    def list_extremes(
        self,
        is_positive: NDArray[np.bool_],
        fitted: OutOfFold,
        ids: Sequence[Any] | None,
        importance: list[dict[str, Any]],
    ) -> Extremes:
        columns = [entry["column"] for entry in importance[:N_COLUMNS_SHOWN]]

        def show(numbers: NDArray[np.intp]) -> list[dict[str, Any]]:
            cells = write_cells(self.frame, numbers, columns)
            rows = list_rows(fitted, numbers, ids)
            return [row | {"values": own} for row, own in zip(rows, cells, strict=True)]

        top = sort_unlabeled(fitted, is_positive)[:N_TOP_ROWS]
        doubtful = find_doubtful(fitted, is_positive)[:N_DOUBTFUL]
        return Extremes(show(top), [], show(doubtful))


class _ImageRows(Rows):
    unit = "image"

    def __init__(
        self,
        model: str | BaseEstimator | None,
        X: NDArray,
        is_positive: NDArray[np.bool_],
        seed: int,
    ) -> None:
        check_rows(X, is_positive)
        self.values = X
        self.classifier = choose_image_classifier(model, seed, int((~is_positive).sum()))
        self.model = self.classifier

    def describe(self, source: Source) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "shape": list(self.values.shape[1:]),
            "odd": source.odd,
            "resized": source.n_resized,
            "twins": list(source.twins),
            "skipped": [one._asdict() for one in source.skipped],
            "copies": [one._asdict() for one in source.copies],
            "extractor": None,
        }

    def list_extremes(
        self,
        is_positive: NDArray[np.bool_],
        fitted: OutOfFold,
        ids: Sequence[Any] | None,
        importance: list[dict[str, Any]],
    ) -> Extremes:
        order = sort_unlabeled(fitted, is_positive)
        # Of a few images half are the highest and half the lowest: none is shown twice.
        n_top, n_bottom = min(N_IMAGES, -(-len(order) // 2)), min(N_IMAGES, len(order) // 2)
        doubtful = find_doubtful(fitted, is_positive)[:N_DOUBTFUL]
        kinds = (order[:n_top], order[::-1][:n_bottom], doubtful)
        return Extremes(*(list_rows(fitted, numbers, ids) for numbers in kinds))


class _FeatureRows(_ImageRows):
    """Images as features, computed here or before."""

    def __init__(
        self, model: Pipeline, X: NDArray, is_positive: NDArray[np.bool_], seed: int
    ) -> None:
        check_rows(X, is_positive)
        self.model = choose_feature_pipeline(model, seed)
        self.features, self.classifier = self.model
        found = self.features.extract(X) if is_images(X) else X
        # It learns nothing from labels: fitted once, not once for each fold.
        self.values = self.features.fit_features(found).transform_features(found)

    def describe(self, source: Source) -> dict[str, Any]:
        size = self.features.size
        extractor = self.features.find_extractor()
        return super().describe(source) | {
            "shape": [3, size, size],
            "extractor": {
                "name": extractor.name or "one of your own",
                "checksum": extractor.checksum,
                "features": len(self.features.centre_),
                "components": self.values.shape[1],
            },
        }
