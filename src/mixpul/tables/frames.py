"""Data frames from whatever holds a table."""

from typing import Any, NoReturn

from scipy import sparse
from sklearn.utils.validation import check_array

from mixpul._util.errors import TableError
from mixpul._util.validation import list_values
from mixpul.tables._dates import check_years

__all__ = ["as_frame", "from_arrow", "import_tables", "take_numbers", "use_plain_types"]

# Types that Arrow reads and hardly computes with, and those that hold the same.
PLAIN_TYPES = {"string_view": "string", "binary_view": "binary", "halffloat": "float"}


def import_tables() -> Any:
    """Return pyarrow if pandas is installed, too; otherwise say how to get them."""
    try:
        import pandas  # noqa: F401
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "Tables are read through pandas and pyarrow: pip install 'mixpul[tables]'."
        ) from error
    return pyarrow


def use_plain_types(table: Any) -> Any:
    """Return a table or record batch of types that Arrow and pandas can work with.

    There are no views, of which no rows can be taken, no run lengths, no numbers of half precision,
    which have no smallest, and no types of extensions.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for j, field in enumerate(table.schema):
        column = table.column(j)
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        if isinstance(column.type, pa.BaseExtensionType):
            is_boolean = str(column.type) == "extension<arrow.bool8>"
            column = column.cast(column.type.storage_type)
            column = column.cast(pa.bool_()) if is_boolean else column
        wanted = _find_plain_type(column.type)
        if wanted != field.type:
            table = table.set_column(j, pa.field(field.name, wanted), _cast(column, wanted))
    return table


def _cast(column: Any, wanted: Any) -> Any:
    """Return a column as another type that holds the same."""
    import pyarrow as pa

    if "list_view<" in str(column.type):
        # Arrow 26 forgets the last offset of the lists, and reads beyond their memory later.
        return pa.array(column.to_pylist(), wanted)
    return column.cast(wanted)


def _find_plain_type(found: Any) -> Any:
    """Return the type that holds the same as another one, and can be worked with."""
    import pyarrow as pa

    if str(found) in PLAIN_TYPES:
        return pa.type_for_alias(PLAIN_TYPES[str(found)])
    if pa.types.is_dictionary(found):
        return pa.dictionary(found.index_type, _find_plain_type(found.value_type), found.ordered)
    if pa.types.is_struct(found):
        return pa.struct([field.with_type(_find_plain_type(field.type)) for field in found])
    if pa.types.is_list(found) or str(found).startswith(("list_view<", "large_list_view<")):
        return pa.list_(found.value_field.with_type(_find_plain_type(found.value_type)))
    return found


def from_arrow(table: Any, *, views: bool) -> Any:
    """Make a data frame of an Arrow table or record batch; `views` are quick but read-only."""
    import pandas as pd
    import pyarrow as pa

    table = use_plain_types(table)
    for j, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):  # it would become a Python object per cell
            numbers = table.column(j).cast(pa.float64())
            table = table.set_column(j, pa.field(field.name, pa.float64()), numbers)
    options: dict[str, Any] = {
        # By default objects if some are missing.
        "types_mapper": {pa.bool_(): pd.BooleanDtype()}.get,
        "date_as_object": False,
        "ignore_metadata": True,  # a stored index is a column like the others
        # A block per column can stay in Arrow's memory; joined blocks are copies.
        "split_blocks": views,
    }
    try:
        # Without the notes of pandas: they are parsed, even where they are not used.
        frame = table.replace_schema_metadata(None).to_pandas(**options)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        _name_column(table, options, error)
    for name, column in frame.items():
        if getattr(column.dtype, "kind", "O") == "M":
            check_years(column, name)
    return frame


def _name_column(table: Any, options: dict[str, Any], error: Exception) -> NoReturn:
    """Say which column cannot become one of a data frame."""
    import pyarrow as pa

    for field in table.schema:
        try:
            table.select([field.name]).replace_schema_metadata(None).to_pandas(**options)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            raise TableError(
                f"Column {list_values([field.name])} has the type {field.type} and cannot be "
                "read; write it as text, numbers or dates."
            ) from error
    raise TableError(f"The table cannot be read: {' '.join(str(error).split())[:200]}") from error


def take_numbers(X: Any) -> dict[str, Any]:
    """Return the columns of numbers of a record batch as arrays, NaN where there is none.

    Of what is not a record batch with rows, nothing.
    """
    pa = import_tables()
    if not isinstance(X, pa.RecordBatch) or not X.num_rows:
        return {}
    pairs = zip(X.schema, X.columns, strict=True)
    return {
        field.name: column.to_numpy(zero_copy_only=False)
        for field, column in pairs
        if pa.types.is_integer(field.type)
        or pa.types.is_float32(field.type)
        or pa.types.is_float64(field.type)
    }


def as_frame(X: Any, least_rows: int = 1) -> Any:
    """Return a data frame of whatever holds a table."""
    pa = import_tables()
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        frame = X
    elif isinstance(X, pa.RecordBatch | pa.Table):
        frame = from_arrow(X, views=True)
    elif hasattr(X, "__arrow_c_stream__"):
        frame = from_arrow(pa.table(X), views=True)
    elif sparse.issparse(X):
        raise TypeError("TableInput takes tables, not sparse matrices; those need no preparation.")
    else:
        array = check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=least_rows, input_name="X"
        )
        frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
    if len(frame) < least_rows:
        raise ValueError(
            f"X has {len(frame)} sample(s); a minimum of {least_rows} is required by TableInput."
        )
    return frame
