"""Score tables that are larger than memory, and write what comes out."""

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.special import expit

from mixpul._util.files import open_whole
from mixpul._util.spreadsheets import disarm_formula
from mixpul.tables._reading import choose_batch_rows
from mixpul.tables.formats import WRITTEN, find_delimiter, split_suffixes
from mixpul.tables.frames import import_tables, use_plain_types
from mixpul.tables.names import as_texts, check_present

__all__ = ["make_calibrator", "make_scored_batch", "score_stream", "write_table"]

# Batches beside those that are scored: no worker is idle while the next one is read. They take
# memory.
AHEAD = 1


def score_stream(
    model: Any,
    batches: Iterable[Any],
    *,
    keep: Sequence[str] = (),
    threshold: float | None = None,
    probability: bool = False,
    prior: float | None = None,
    n_workers: int | None = None,
) -> Iterator[Any]:
    """Score record batches as they come, in order, on all cores.

    The scores are those of `predict_proba` on the whole table, to the bit.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline of `TableInput` and a classifier.
    batches : iterable of pyarrow.RecordBatch
        E.g. of `stream_table`; of any sizes.
    keep : sequence of str, default=()
        Columns to hand on as they are, such as an id.
    threshold : float, optional
        Score above which a row is predicted positive; by default as `predict` decides.
    probability : bool, default=False
        Whether to add a column `probability`, as ``predict_proba(calibrated=True)`` returns it.
    prior : float, optional
        The class prior for probabilities; by default the one that the model has.
    n_workers : int, optional
        Batches scored at the same time; by default as many as there are cores.

    Yields
    ------
    pyarrow.RecordBatch
        The kept columns, `score` (float32, from 0 to 1), `predicted` (bool) and, if asked for,
        `probability` (float32).

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> from sklearn.pipeline import make_pipeline
    >>> from mixpul import MixPULClassifier
    >>> from mixpul.tables import TableInput, score_stream
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0] * 10})
    >>> model = make_pipeline(TableInput(), MixPULClassifier(n_epochs=2, random_state=0))
    >>> batches = pa.Table.from_pandas(table).to_batches()
    >>> scored = score_stream(model.fit(table, table["size"] == 9), batches, keep=["size"])
    >>> next(scored).schema.names
    ['size', 'score', 'predicted']
    """
    import_tables()
    keep = as_texts(keep)
    calibrate = make_calibrator(model[-1], prior) if probability else None

    def score(batch: Any) -> Any:
        kept = {name: batch.column(name) for name in keep}
        return make_scored_batch(kept, model.decision_function(batch), threshold, calibrate)

    if clash := {"score", "predicted", *["probability"] * probability} & set(keep):
        raise ValueError(
            f"The column {min(clash)!r} cannot be kept beside the one of that name to be added; "
            "rename it in the table, or keep another."
        )
    n_workers = n_workers or cpu_count()
    waiting: deque[Future] = deque()
    # One thread per batch: for small matrices this is faster than all threads on one batch.
    with _limit_torch() as limit, ThreadPoolExecutor(n_workers, "score", limit) as pool:
        try:
            for batch in _make_even(batches):
                check_present(keep, batch.schema.names, "The table")
                waiting.append(pool.submit(score, batch))
                if len(waiting) > n_workers + AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def _limit_torch() -> Iterator[Callable[[], None]]:
    """Yield what lets a thread of a pool use one thread of torch; put their number back.

    Where torch was not imported, no network is asked, and to import it would take seconds.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield lambda: None
        return
    n_threads = torch.get_num_threads()
    try:
        yield lambda: torch.set_num_threads(1)
    finally:
        torch.set_num_threads(n_threads)


def make_calibrator(classifier: Any, prior: float | None) -> Callable[[NDArray], NDArray]:
    """Return what turns logits into probabilities; warn or refuse before any row is scored."""
    return partial(classifier.calibrate, prior=classifier.find_class_prior(prior))


def make_scored_batch(
    kept: dict[str, Any],
    logits: NDArray,
    threshold: float | None,
    calibrate: Callable[[NDArray], NDArray] | None = None,
) -> Any:
    """Make a record batch of the kept columns, the scores, predictions and probabilities."""
    import pyarrow as pa

    scores = expit(logits)
    predicted = logits > 0 if threshold is None else scores > threshold
    columns = kept | {"score": pa.array(scores), "predicted": pa.array(np.asarray(predicted))}
    if calibrate is not None:
        columns["probability"] = pa.array(calibrate(logits))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _make_even(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the same rows in batches of one size, except for the last one.

    A row's score may differ in the last bit with its place in a batch; in even batches, a multiple
    of the classifier's own passes, every row has the place it has in the whole table.
    """
    import pyarrow as pa

    held: list[Any] = []
    n_held = 0
    for batch in batches:
        # Parts of a table may differ in types that mean the same to a model.
        if held and held[0].schema != batch.schema:
            yield _join(pa, held)
            held, n_held = [], 0
        n_rows = choose_batch_rows(batch.num_columns)
        while batch.num_rows:
            piece = batch.slice(0, n_rows - n_held)
            batch = batch.slice(piece.num_rows)
            held.append(piece)
            n_held += piece.num_rows
            if n_held == n_rows:
                yield _join(pa, held)
                held, n_held = [], 0
    if held:
        yield _join(pa, held)


def _join(pa: Any, batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    # Each batch may number its categories in its own way.
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    return table.to_batches()[0]


def write_table(batches: Iterable[Any], path: str | os.PathLike) -> int:
    """Write record batches to a CSV, Parquet or Feather file, whole or not at all.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        At least one, all with the same columns.
    path : str or path-like
        The suffix decides the format; .tsv and .tab files have tabs. CSV files may also end in .gz
        or .zst. '-' is standard output, as CSV.

    Returns
    -------
    int
        Number of rows written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from mixpul.tables import read_table, write_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.parquet"
    >>> write_table(pa.table({"score": [0.5, 0.25]}).to_batches(), path)
    2
    >>> read_table(path)["score"].tolist()
    [0.5, 0.25]
    """
    import_tables()
    name = os.fspath(path)
    if name == "-":
        return _write(batches, sys.stdout.buffer, "CSV", None, ",")
    suffix, compression = split_suffixes(name)
    form = WRITTEN.get(suffix)
    if form is None or (compression and form != "CSV"):
        raise ValueError(
            f"{name!r} does not say what to write; let it end in .parquet, .feather or .csv."
        )
    with open_whole(name) as file:
        return _write(batches, file, form, compression, find_delimiter(name) or ",")


def _write(
    batches: Iterable[Any], file: Any, form: str, compression: str | None, delimiter: str
) -> int:
    """Write record batches to an open file, and return the number of rows."""
    import pyarrow as pa

    if compression:
        # It closes what it writes to, so it gets a handle of its own.
        handle = os.fdopen(os.dup(file.fileno()), "wb")
        sink = pa.CompressedOutputStream(pa.PythonFile(handle, mode="w"), compression)
    else:
        sink = pa.PythonFile(file, mode="w")
    writer: Any = None
    n_rows = 0
    try:
        for batch in _disarm(batches) if form == "CSV" else batches:
            writer = writer or _open_writer(sink, batch.schema, form, delimiter)
            writer.write(pa.Table.from_batches([batch]))
            n_rows += batch.num_rows
    except BaseException:
        # What is there will be thrown away, so no second complaint about it.
        for opened in [writer] * (writer is not None) + [sink] * (compression is not None):
            with suppress(Exception):
                opened.close()
        raise
    if writer is None:
        raise ValueError("There are no rows to write.")
    writer.close()
    if compression:
        sink.close()
    return n_rows


def _open_writer(sink: Any, schema: Any, form: str, delimiter: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv, parquet

    if form == "Parquet":
        # Hardly any number comes twice: a dictionary of scores costs time and space.
        texts = [field.name for field in schema if _is_text(field.type)]
        return parquet.ParquetWriter(sink, schema, use_dictionary=texts)
    if form == "Feather":
        return pa.ipc.new_file(sink, schema)
    return csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(delimiter=delimiter))


def _is_text(arrow_type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def _disarm(batches: Iterable[Any]) -> Iterator[Any]:
    """Put an apostrophe before each text that a spreadsheet would run, and say so once."""
    import pyarrow as pa
    from pyarrow import compute as pc

    is_said = False
    for batch in map(_spell_out, batches):
        for j, field in enumerate(batch.schema):
            if not _is_text(field.type):
                continue
            suspects = pc.match_substring_regex(batch.column(j), "^[=+@\t\r-]")
            if not pc.any(suspects).as_py():
                continue
            before = batch.column(j).to_pylist()
            after = [None if text is None else disarm_formula(text) for text in before]
            if after == before:
                continue
            batch = batch.set_column(j, field, pa.array(after, field.type))
            if not is_said:
                is_said = True
                warnings.warn(
                    f"Some cells of {field.name!r} begin like a formula, which a spreadsheet would "
                    "run; in the CSV file they begin with an apostrophe. Parquet and Feather files "
                    "keep them as they are.",
                    UserWarning,
                    stacklevel=2,
                )
        yield batch


def _spell_out(batch: Any) -> Any:
    """Return a record batch whose texts are all text: codes of categories and bytes become it."""
    import pyarrow as pa

    batch = use_plain_types(batch)
    for j, field in enumerate(batch.schema):
        column = batch.column(j)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            cells = column.to_pylist()
            texts = [None if cell is None else cell.decode(errors="replace") for cell in cells]
            column = pa.array(texts, pa.string())
        if column.type != field.type:
            batch = batch.set_column(j, pa.field(field.name, column.type), column)
    return batch
