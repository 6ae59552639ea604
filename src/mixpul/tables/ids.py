"""The type of ids that come as text: numbers and dates only if nothing is lost."""

from collections.abc import Iterable, Iterator
from typing import Any

from mixpul._util.errors import TableError

__all__ = ["cast_ids", "find_id_type"]

# Zeros in front, a plus sign or a space belong to an id; nineteen digits may not fit.
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def find_id_type(columns: Iterable[Any]) -> Any:
    """Return the Arrow type that keeps all ids as they are written: int64, date32 or their own.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mixpul.tables.ids import find_id_type
    >>> find_id_type([pa.array(["9007199254740993", None, "7"])])
    DataType(int64)
    >>> find_id_type([pa.array(["7"]), pa.array(["007"])])
    DataType(string)
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    own: Any = pa.string()
    possible = {WHOLE: pa.int64(), DAY: pa.date32()}
    n_values = 0
    for column in columns:
        own = column.type
        if not possible or not pa.types.is_string(own):
            return own
        n_values += len(column) - column.null_count
        for pattern, wanted in list(possible.items()):
            is_such = pc.match_substring_regex(column, pattern)
            if not pc.all(is_such, min_count=0).as_py() or not _can_cast(column, wanted):
                del possible[pattern]
    return next(iter(possible.values())) if possible and n_values else own


def _can_cast(column: Any, wanted: Any) -> bool:
    import pyarrow as pa

    try:
        column.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def cast_ids(batches: Iterable[Any], column: str, wanted: Any) -> Iterator[Any]:
    """Yield record batches whose ids have the type `wanted`; None takes that of the first batch."""
    import pyarrow as pa

    for batch in batches:
        place = batch.schema.get_field_index(column)
        ids = batch.column(place)
        if wanted is None:
            wanted = find_id_type([ids])
        if ids.type != wanted:
            try:
                ids = ids.cast(wanted)
            except pa.ArrowInvalid as error:
                raise TableError(
                    f"Ids in {column!r} look like {wanted} at first, but not later on; write the "
                    "input to a file, or the scores to a CSV file."
                ) from error
        yield batch.set_column(place, pa.field(column, wanted), ids)
