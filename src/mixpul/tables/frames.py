"""Data frames from whatever holds a table."""

from typing import Any, NoReturn

from scipy import sparse
from sklearn.utils.validation import check_array

from mixpul._util.errors import TableError
from mixpul._util.validation import list_values
from mixpul.tables._dates import check_years

__all__ = ["as_frame", "from_arrow", "import_tables"]


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


def from_arrow(table: Any, *, views: bool) -> Any:
    """Make a data frame of an Arrow table or record batch; `views` are quick but read-only."""
    import pandas as pd
    import pyarrow as pa

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
