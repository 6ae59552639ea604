"""Cells of a CSV file, read as text, as the numbers and booleans that a fit had."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixpul.tables._numerals import PLAIN
from mixpul.tables._recognising import read_texts
from mixpul.tables._words import TRUE_FALSE

__all__ = ["cast_cells"]


def cast_cells(
    table: Any, kinds: Mapping[Any, str] | None, names: Sequence[str], decimal: str
) -> Any:
    """Convert the columns of a table, read as text, to what `kinds` says; `names` are the file's.

    pyarrow reads fewer cells as numbers when told to than when it finds out itself: 0x1F is one of
    these. Nor does it know words for gaps. So numbers are cast from text and, where that fails,
    read cell by cell.
    """
    import pyarrow as pa

    for name, kind in (kinds or {}).items():
        if kind in CONVERTERS:
            place = table.schema.names.index(str(name))
            cells = CONVERTERS[kind](table.column(place), decimal, names.index(str(name)))
            table = table.set_column(place, pa.field(str(name), cells.type), cells)
    return table


def _read_numbers(cells: Any, decimal: str, place: int) -> Any:
    import pyarrow as pa
    from pyarrow import compute as pc

    written = cells if decimal == "." else pc.replace_substring(cells, decimal, ".")
    try:
        return pc.cast(written, pa.float64())
    except pa.ArrowInvalid:
        values = _read_each(cells, PLAIN | {"decimal": decimal}, place, "double")
        return pa.array(values, from_pandas=True)  # NaN is a gap


def _read_booleans(cells: Any, decimal: str, place: int) -> Any:
    import pyarrow as pa

    values = _read_each(cells, TRUE_FALSE, place, "bool")
    return pa.array(values == 1, mask=np.isnan(values))


def _read_each(cells: Any, style: Mapping[str, Any], place: int, arrow_type: str) -> Any:
    """Read text in a style, each of its texts once."""
    import pyarrow as pa

    coded = cells.dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    texts = coded.dictionary.to_pylist()
    values, is_bad = read_texts(texts, style)
    if is_bad.any():
        bad = texts[int(is_bad.argmax())]
        # As pyarrow says it: `explain_errors` makes a sentence of either.
        raise pa.ArrowInvalid(
            f"In CSV column #{place}: CSV conversion error to {arrow_type}: invalid value '{bad}'"
        )
    codes = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return np.append(values, np.nan)[codes]


CONVERTERS = {"number": _read_numbers, "boolean": _read_booleans}
