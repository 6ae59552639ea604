"""Tables and queries of SQLite and DuckDB files, which are only ever read."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mixpul._util.errors import TableError
from mixpul._util.validation import list_values
from mixpul.tables._cells import ROWS_PER_CHUNK, Chunk
from mixpul.tables.names import check_unique, choose_columns
from mixpul.tables.opening import is_remote

__all__ = ["read_sqlite", "stream_duckdb"]

LARGEST_CELL = 64 * 2**20
QUERY = re.compile(r"\s*(select|with|values|from)\b", re.IGNORECASE)
# What a query may do: look at rows and compute. Not: write, attach, change settings, load code.
ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
SAFE: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # Otherwise a query could read variables of this program.
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}


def read_sqlite(name: str, place: str | None) -> Iterator[Chunk]:
    """Yield the rows of a table or of a query in chunks."""
    path = _find_local(name)
    with (
        _explain(name, "SQLite", sqlite3.Error),
        closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as database,
    ):
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_CELL)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        # Functions that a file itself defines in a view may not do more than compute.
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA query_only = ON")
        found = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
        )
        query = _make_query(name, place, [row[0] for row in found])
        database.set_authorizer(_authorise)
        cursor = database.execute(query)
        names = [column[0] for column in cursor.description]
        check_unique(names, repr(name))
        while rows := cursor.fetchmany(ROWS_PER_CHUNK):
            yield {n: list(cells) for n, cells in zip(names, zip(*rows, strict=True), strict=True)}


def _authorise(action: int, _first: Any, second: Any, *_others: Any) -> int:
    is_fine = action in ALLOWED and not (
        action == sqlite3.SQLITE_FUNCTION and str(second).lower() == "load_extension"
    )
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


def stream_duckdb(
    name: str, place: str | None, kinds: Mapping[str, str] | None, n_rows: int
) -> Iterator[Any]:
    """Yield the rows of a table or of a query as record batches."""
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "DuckDB files are read through duckdb: pip install 'mixpul[database]'."
        ) from error
    path = _find_local(name)
    with (
        _explain(name, "DuckDB", duckdb.Error),
        duckdb.connect(path, read_only=True, config=SAFE) as database,
    ):
        found = database.execute(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        ).fetchall()
        tables = [table if schema == "main" else f"{schema}.{table}" for schema, table in found]
        query = _make_query(name, place, tables)
        statements = database.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableError(f"{name!r} is only read; write one query that begins with SELECT.")
        result = database.sql(query)
        reader = getattr(result, "to_arrow_reader", result.fetch_arrow_reader)(n_rows)
        columns = choose_columns(kinds, reader.schema.names, repr(name))
        for batch in reader:
            yield batch.select(columns)


def _find_local(name: str) -> str:
    if is_remote(name):
        raise TableError(f"{name!r} is a database, which is read from a local file; copy it first.")
    return str(Path(name).resolve())


def _make_query(name: str, place: str | None, tables: list[str]) -> str:
    """Return a query: the one that was asked for, or that of all rows of the table."""
    if not place:
        if len(tables) == 1:
            return f"SELECT * FROM {_quote(tables[0])}"
        held = f"the tables {list_values(tables)}" if tables else "no tables"
        raise TableError(
            f"{name!r} has {held}; name one as '{name}::{tables[0] if tables else 'TABLE'}', or "
            f"write a query as '{name}::SELECT ...'."
        )
    if place in tables:
        return f"SELECT * FROM {_quote(place)}"
    if QUERY.match(place):
        return place
    near = get_close_matches(place, tables, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {list_values(tables) or 'none'}."
    raise TableError(f"{name!r} has no table {place!r}; {hint}")


def _quote(table: str) -> str:
    return ".".join(f'"{part}"' for part in table.replace('"', '""').split(".", 1))


@contextmanager
def _explain(name: str, form: str, errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TableError:
        raise
    # SQLite says so of a text with two queries, which Python calls a warning, or with zeros.
    except (errors, sqlite3.Warning, ValueError, OverflowError, UnicodeError) as error:
        message = " ".join(str(error).split())[:300].rstrip(".")
        if "not authorized" in message or "prohibited" in message:
            message = "a query may only read the tables of this file"
        raise TableError(f"{name!r} cannot be read as {form}: {message}.") from error
