"""A model as a table is scored with it: which id is kept, which threshold, how files are read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.pipeline import Pipeline

from mixpul._util.errors import MissingColumn
from mixpul.cli._inputs import load_table_model
from mixpul.cli._thresholds import find_threshold
from mixpul.cli.options import Reading, ScoreOutputs
from mixpul.tables import score_stream, stream_table
from mixpul.tables.formats import WRITTEN, split_suffixes
from mixpul.tables.ids import cast_ids, find_id_type
from mixpul.tables.opening import is_stream
from mixpul.tables.scoring import make_calibrator, make_scored_batch

__all__ = ["Scorer", "make_scorer"]

# Scores of 0 and 1 have no logits.
SMALLEST = 1e-7


def make_scorer(
    model: Path, id_column: str | None, outputs: ScoreOutputs, reading: Reading
) -> "Scorer":
    """Load a model and find out all that scoring needs, apart from the table."""
    pipeline, info = load_table_model(model)
    asked = outputs.threshold
    return Scorer(
        pipeline,
        info,
        None if asked is None else find_threshold(asked, info),
        reading.fill_from(info.get("reading", {})).to_arguments(),
        id_column,
        outputs,
    )


@dataclass(frozen=True)
class Scorer:
    """A model, and how the tables to score are read."""

    pipeline: Pipeline
    info: Mapping[str, Any]
    threshold: float | None
    style: Mapping[str, Any]
    id_column: str | None
    outputs: ScoreOutputs
    n_workers: int | None = None  # by default as many as there are cores

    def score(self, table: Any) -> Iterator[Any]:
        """Yield record batches with the id and the scores, in the order of the rows."""
        keep = self._choose_id(table)
        # As it is, so that an id such as 007 keeps its zeros, also if the model uses it.
        kinds = self.pipeline[0].kinds_ | {name: "any" for name in keep}
        rows = stream_table(table, kinds=kinds, **self.style)
        return self._keep_types(
            table,
            keep,
            score_stream(
                self.pipeline,
                rows,
                keep=keep,
                threshold=self.threshold,
                probability=self.outputs.probability,
                prior=self.outputs.prior,
                n_workers=self.n_workers,
            ),
        )

    def make_empty(self) -> Any:
        """Return a record batch with the same columns and no rows."""
        import pyarrow as pa

        name = self.id_column or self.info.get("id")
        kept = {} if name is None else {name: pa.array([], pa.string())}
        nothing = np.empty(0, dtype=np.float32)
        calibrate = (lambda logits: logits) if self.outputs.probability else None
        return make_scored_batch(kept, nothing, self.threshold, calibrate)

    def attach(self, table: Any, scores: NDArray[np.float32]) -> Iterator[Any]:
        """Yield the same columns with scores that are known, one per row of the table."""
        keep = self._choose_id(table)
        # A column to count the rows by, if there is no id.
        kinds = dict.fromkeys(keep or [next(iter(self.pipeline[0].kinds_))], "any")
        return self._keep_types(table, keep, self._join(table, kinds, keep, scores))

    def _join(
        self, table: Any, kinds: Mapping[str, str], keep: list[str], scores: NDArray[np.float32]
    ) -> Iterator[Any]:
        outputs = self.outputs
        calibrate = (
            make_calibrator(self.pipeline[-1], outputs.prior) if outputs.probability else None
        )
        logits = logit(np.clip(scores, SMALLEST, 1 - SMALLEST)).astype(np.float32)
        start = 0
        for batch in stream_table(table, kinds=kinds, **self.style):
            of_rows = slice(start, start + batch.num_rows)
            start += batch.num_rows
            if start > len(scores):
                break
            kept = {name: batch.column(name) for name in keep}
            yield make_scored_batch(kept, logits[of_rows], self.threshold, calibrate)
        if start != len(scores):
            raise ValueError(
                f"The model file has out-of-fold scores of {len(scores):,} rows, but the table has "
                "another number of rows; fit the model again with `mixpul fit`."
            )

    def _choose_id(self, table: Any) -> list[str]:
        """Return the id column asked for, or that of the fit if the table has it."""
        if self.id_column is not None:
            return [self.id_column]
        of_fit = self.info.get("id")
        if of_fit is None or is_stream(str(table)):  # which cannot be looked at twice
            return []
        try:
            next(stream_table(table, kinds={of_fit: "any"}, **self.style))
        except MissingColumn:
            return []
        return [of_fit]

    def _keep_types(self, table: Any, keep: list[str], batches: Iterator[Any]) -> Iterator[Any]:
        """Give ids that come as text their type, if it is that of all of them."""
        if not keep:
            return batches
        if is_stream(str(table)):
            has_types = WRITTEN.get(split_suffixes(self.outputs.out)[0], "CSV") != "CSV"
            return cast_ids(batches, keep[0], None) if has_types else batches
        ids = stream_table(table, kinds={keep[0]: "any"}, **self.style)
        wanted = find_id_type(batch.column(0) for batch in ids)
        return cast_ids(batches, keep[0], wanted)
