"""A model as a function for Spark's `DataFrame.mapInArrow`, with the schema of what it returns.

Its place in imports is `mixpul.spark`. Spark is not imported here: the function takes and returns
Arrow's record batches, so other engines that hand out such batches can call it as well.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

import mixpul
from mixpul._util.errors import MixpulError
from mixpul.persistence.contents import load_content
from mixpul.tables import TableInput, score_stream
from mixpul.tables.frames import import_tables
from mixpul.tables.names import as_texts, check_present
from mixpul.tables.scoring import make_calibrator

__all__ = ["BatchScorer", "score"]


def score(
    model_path: str | os.PathLike,
    frame: Any = None,
    *,
    keep: Sequence[str] | None = None,
    threshold: float | None = None,
    probability: bool = False,
    prior: float | None = None,
) -> "BatchScorer":
    """Return a function for `DataFrame.mapInArrow` that scores rows by a model file.

    The model travels with the function, so only this process needs to see the file.

    Parameters
    ----------
    model_path : str or path-like
        A file of `mixpul fit`, or of `mixpul.save` with a pipeline that starts with a
        `tables.TableInput`.
    frame : DataFrame or StructType, optional
        The rows to score, or their schema: kept columns have their types of it. Without it they
        become text.
    keep : sequence of str, optional
        Columns to hand on, such as an id. By default the id of the fit, if there is one.
    threshold : float, optional
        Score above which a row is predicted positive; by default as `predict` decides.
    probability : bool, default=False
        Whether to add a column `probability`.
    prior : float, optional
        The class prior for probabilities; by default the one that the model has.

    Returns
    -------
    BatchScorer
        To be called by Spark, with the `schema` of its results and the `columns` that it needs.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd, pyarrow as pa
    >>> from sklearn.pipeline import make_pipeline
    >>> import mixpul.spark
    >>> from mixpul import LogisticPUClassifier, save
    >>> from mixpul.tables import TableInput
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0] * 10, "name": ["a", "b"] * 20})
    >>> model = make_pipeline(TableInput(drop=["name"]), LogisticPUClassifier(random_state=0))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.mixpul"
    >>> save(model.fit(table, table["size"] == 9), path)
    >>> score = mixpul.spark.score(path, keep=["name"])
    >>> score.schema
    '`name` string, `score` float, `predicted` boolean'
    >>> score.columns
    ['size', 'name']
    >>> next(score(pa.Table.from_pandas(table).to_batches())).num_rows
    40
    """
    import_tables()
    content = Path(model_path).read_bytes()
    model, info = load_content(content)
    if not isinstance(model, Pipeline) or not isinstance(model[0], TableInput):
        raise MixpulError(
            f"{os.fspath(model_path)!r} does not hold a model of a table; fit one with `mixpul "
            "fit`, or save a Pipeline of a TableInput and a classifier."
        )
    if probability:
        make_calibrator(model[-1], prior)  # which warns or refuses now, not on a worker
    types = _find_types(frame)
    if keep is None:
        of_fit = [info["id"]] if info.get("id") is not None else []
        keep = [name for name in of_fit if types is None or name in types]
    keep = as_texts(keep)
    if types is not None:
        check_present([*keep, *model[0].kinds_], list(types), "The frame")
    return BatchScorer(
        content,
        {name: None if types is None else types[name] for name in keep},
        threshold,
        probability,
        prior,
    )


def _find_types(frame: Any) -> dict[str, str] | None:
    """Return the types of the columns of a data frame or schema of Spark, as its SQL has them."""
    if frame is None:
        return None
    schema = getattr(frame, "schema", frame)
    return {field.name: field.dataType.simpleString() for field in schema}


@dataclass(frozen=True)
class BatchScorer:
    """A function of an iterator of record batches: `mixpul.spark.score` makes it.

    Attributes
    ----------
    content : bytes
        The model file.
    kept : dict of str to str or None
        Columns that are handed on, and their types in Spark; None is text.
    threshold, probability, prior
        As for `mixpul.spark.score`.
    version : str
        Of mixpul, which workers must have, too.
    """

    content: bytes
    kept: dict[str, str | None]
    threshold: float | None = None
    probability: bool = False
    prior: float | None = None
    version: str = mixpul.__version__

    @property
    def columns(self) -> list[str]:
        """The columns that are needed: select them, and Spark does not read the others."""
        return list(dict.fromkeys([*load_content(self.content)[0][0].kinds_, *self.kept]))

    @property
    def schema(self) -> str:
        """The columns that are returned, as Spark's SQL writes a schema."""
        types = {name: kind or "string" for name, kind in self.kept.items()}
        types |= {"score": "float", "predicted": "boolean"}
        types |= {"probability": "float"} if self.probability else {}
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items())

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield record batches of the kept columns and the scores, in the order of the rows."""
        if self.version != mixpul.__version__:
            raise MixpulError(
                f"This worker has mixpul {mixpul.__version__}, and the function was made by "
                f"{self.version}; install the same version everywhere."
            )
        model, _ = load_content(self.content)
        scored = score_stream(
            model,
            batches,
            keep=list(self.kept),
            threshold=self.threshold,
            probability=self.probability,
            prior=self.prior,
            n_workers=1,  # engines start a process for each core
        )
        return map(self._make_texts, scored)

    def _make_texts(self, batch: Any) -> Any:
        """Turn kept columns of unknown types into text."""
        import pyarrow as pa

        for name, kind in self.kept.items():
            if kind is None:
                place = batch.schema.get_field_index(name)
                texts = batch.column(place).cast(pa.string())
                batch = batch.set_column(place, pa.field(name, pa.string()), texts)
        return batch
