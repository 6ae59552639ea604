"""Tables and images as nobody should write them: the same number makes the same file.

`make_table` makes a file of a format from strange names, cells and types; `damage.damage` spoils
the bytes of a sound one. `make_image` makes a damaged image.
"""

import io
import json
import random
import sqlite3
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa

from damage import damage

CELLS = [
    *(
        "",
        " ",
        "NA",
        "nan",
        "NaN",
        "null",
        "None",
        "?",
        "-",
        "unknown",
        "true",
        "False",
        "Yes",
        "no",
    ),
    *("0", "1", "-1", "+5", "-0", ".5", "5.", "1e", "1e308", "1e309", "-1e400", "3.5e38", "1e-400"),
    *("Infinity", "-inf", "0x1F", "1_000", "1,5", "1.234,56", "1 234", "$5", "5 %", "12 kg", "٣"),
    *("½", "00012", "9223372036854775808", "18446744073709551616", "1" * 400, "1e99999999999"),
    *("2024-01-01", "31.12.2024", "12/31/2024", "0000-00-00", "9999-12-31", "1677-09-20", "12:30"),
    *("292278994-01-01", "2024-02-30", "2024-01-01T25:61:61Z", "1h 3m", "-3 days", "20240101"),
    *("=1+1", "@SUM(A1)", "\0", "\x1b[31m", "\u202e", "😀", "\ufeff", 'quo"te', '"', "'", "a,b"),
    *("a;b", "a\tb", "line\nbreak", "cr\rcr", "[bold]", "[/]", "{{7*7}}", "<script>", "Zürich"),
    *("\u2028", "\x85", "ǅ", "ß", "İ", "a b c d e f g", "%s", "${x}", "\\", "\\N", "#", "--"),
]
NAMES = [
    *(
        "a",
        "b",
        "c",
        "A",
        "",
        " ",
        "a.b",
        "1",
        "é",
        "=x",
        "\n",
        "score",
        "label",
        "[bold]x",
        "\x1b",
    ),
    *("name" * 500, "id", "prediction", "index", "__index_level_0__", "a,b", '"', "\0", "None"),
]
SENSIBLE = [
    lambda chance: str(chance.randrange(10**6)),
    lambda chance: f"{chance.gauss(0, 1):.3f}",
    lambda chance: chance.choice(["red", "green", "blue"]),
    lambda chance: f"2024-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
    lambda chance: chance.choice(["yes", "no"]),
    lambda chance: f"{chance.randrange(100)} %",
]
VALUES = [
    *(None, True, False, 0, -1, 2**53 + 1, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), "", "x", "1", "\ud800", "\0", "😀", [], [1, [2]], {}, {"b": {}}),
    *({"a": {"a": {"a": {"a": {"a": 1}}}}}, [{"x": None}], "x" * 10_000),
]
TYPES = [
    *(pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string()),
    *(pa.large_string(), pa.binary(), pa.binary(3), pa.date32(), pa.date64(), pa.time32("s")),
    *(pa.time64("ns"), pa.duration("ns"), pa.decimal128(38, 3), pa.decimal256(70, 5), pa.null()),
    *(
        pa.timestamp("s"),
        pa.timestamp("ns"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("s", "+24:30"),
    ),
    *(pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.float64())),
    *(pa.string_view(), pa.list_(pa.string_view()), pa.list_view(pa.int8()), pa.uuid()),
    *(pa.dictionary(pa.int8(), pa.string_view()), pa.run_end_encoded(pa.int32(), pa.int64())),
    *(pa.month_day_nano_interval(), pa.bool8(), pa.list_(pa.float32(), 2)),
]
LIMITS = {"s": 2**62, "ns": 2**63 - 1, "us": 2**62}


class Chance(random.Random):
    """What is drawn; a table with labels has a column c0 of 0 and 1, so that it can be fitted."""

    has_labels = False


def make_table(form, seed, has_labels=False):
    """Return the content of a strange table."""
    chance = Chance(seed)
    chance.has_labels = has_labels
    content = MAKERS[form](chance)
    # Half of them are damaged as well, where this does not only break a checksum.
    if form in ("csv", "tsv", "json") and not has_labels and chance.random() < 0.5:
        content = damage(content, seed)
    return content


def draw_names(chance, n):
    plain = chance.random() < 0.5 or chance.has_labels
    names = [f"c{j}" if plain else chance.choice(NAMES) for j in range(n)]
    # Twice the same name is one reason to refuse a file; others should be seen, too.
    return names if chance.random() < 0.1 else list(dict.fromkeys(names))


def draw_cells(chance, n):
    """Return the cells of a column: sensible ones, strange ones, or some of both."""
    strangeness = chance.choice([0, 0.03, 0.1, 1])
    make, pool = chance.choice(SENSIBLE), chance.sample(CELLS, chance.choice([1, 2, 5]))
    if chance.random() < 0.02:
        pool = ["x" * 150_000]
    return [
        chance.choice(pool) if chance.random() < strangeness else make(chance) for _ in range(n)
    ]


def draw_columns(chance, n, names, draw=draw_cells):
    """Return the cells of all columns."""
    columns = [draw(chance, n) for _ in names]
    if chance.has_labels:
        columns[0] = [str(int(k % 3 == 0)) for k in range(n)]
    return columns


def draw_sizes(chance):
    if chance.has_labels:
        return 60, 5
    return chance.choice([0, 1, 2, 12, 30]), chance.choice([1, 2, 4, 7])


def make_text(chance, delimiter=None):
    n, m = draw_sizes(chance)
    delimiter = delimiter or chance.choice([",", ",", ";", "\t", "|", " ", "::"])
    quoting = chance.choice(["needed", "all", "none", "wrong"])
    names = draw_names(chance, m)
    columns = draw_columns(chance, n, names)
    rows = [names, *zip(*columns, strict=True)] if columns else [names]
    lines = []
    for row in rows:
        cells = [_quote(cell, delimiter, quoting, chance) for cell in row]
        if chance.random() < 0.01:
            cells = cells[:-1] if chance.random() < 0.5 else [*cells, "more"]
        lines.append(delimiter.join(cells))
    end = chance.choice(["\n", "\n", "\r\n", "\r", "\n\n"])
    text = end.join(lines) + chance.choice([end, end, ""])
    encoding = chance.choice(["utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16", "latin-1"])
    return text.encode(encoding, errors="replace")


def _quote(cell, delimiter, quoting, chance):
    if quoting == "none" or (quoting == "wrong" and chance.random() < 0.9):
        return cell
    if quoting == "wrong":
        return f'"{cell}'
    if quoting == "all" or any(sign in cell for sign in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def make_json(chance):
    n, m = draw_sizes(chance)
    names = draw_names(chance, m)
    columns = draw_columns(chance, n, names, _draw_values)
    lines = []
    for row in zip(*columns, strict=True):
        pairs = dict(zip(names, row, strict=True))
        if chance.random() < 0.1:
            pairs.pop(names[-1])
        lines.append(json.dumps(pairs, ensure_ascii=chance.random() < 0.9))
    if chance.random() < 0.05:
        depth = chance.choice([100, 100_000])
        lines.append('{"a":' + "[" * depth + "]" * depth + "}")
    return "\n".join(lines).encode(errors="surrogatepass")


def _draw_values(chance, n):
    if chance.random() < 0.4:
        return draw_cells(chance, n)
    pool = chance.sample(VALUES, chance.choice([1, 2, 5]))
    return [chance.choice(pool) for _ in range(n)]


def make_arrow(chance):
    """Return a table of strange types."""
    n, m = draw_sizes(chance)
    names = draw_names(chance, m)
    arrays = [_make_array(chance, n) for _ in names]
    if chance.has_labels:
        arrays[0] = pa.array([int(k % 3 == 0) for k in range(n)])
    return pa.Table.from_arrays(arrays, names=names)


def _make_array(chance, n):
    wanted = chance.choice(TYPES)
    if chance.random() < 0.3:
        return pa.array(draw_cells(chance, n), pa.string())
    if pa.types.is_dictionary(wanted):
        words = [f"{k}" for k in range(3)]
        values = pa.array(words if "string" in str(wanted) else [0, 1, 2], wanted.value_type)
        codes = pa.array([chance.choice([0, 1, 2, None]) for _ in range(n)], wanted.index_type)
        return pa.DictionaryArray.from_arrays(codes, values)
    if pa.types.is_run_end_encoded(wanted):
        runs = pa.array([k + 1 for k in range(n)], wanted.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(runs, pa.array(range(n), wanted.value_type))
    values = [None if chance.random() < 0.2 else _make_value(wanted, chance) for _ in range(n)]
    try:
        return pa.array(values, wanted)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # As numbers, which any moment within the limits of the type can be.
        return pa.array(draw_cells(chance, n), pa.string())


def _make_value(wanted, chance):
    unit = getattr(wanted, "unit", None)
    if pa.types.is_timestamp(wanted) or pa.types.is_duration(wanted):
        return chance.choice([0, 1, LIMITS[unit], -LIMITS[unit], chance.randrange(10**9)])
    kinds = {
        pa.types.is_date: [
            date(1, 1, 1),
            date(9999, 12, 31),
            date(2024, 1, chance.randrange(1, 28)),
        ],
        pa.types.is_time: [time(0, 0), time(23, 59, 59)],
        pa.types.is_decimal: [Decimal("1.5"), Decimal(10) ** 34, Decimal(0)],
        pa.types.is_boolean: [True, False],
        pa.types.is_floating: [0.0, float("inf"), float("nan"), 6e4, chance.random()],
        pa.types.is_integer: [0, 1, 127, chance.randrange(100)],
        pa.types.is_list: [[], [1, 2]],
        pa.types.is_struct: [{"a": 1}],
        pa.types.is_map: [[("k", 1)]],
    }
    kinds_by_name = {
        "extension<arrow.uuid>": [b"0123456789abcdef"],
        "extension<arrow.bool8>": [0, 1],
        "month_day_nano_interval": [(1, 2, 3)],
        "fixed_size_list<item: float>[2]": [[1, 2]],
        "list_view<item: int8>": [[], [1, 2]],
        "list<item: string_view>": [[], ["a"]],
    }
    if str(wanted) in kinds_by_name:
        return chance.choice(kinds_by_name[str(wanted)])
    for is_kind, values in kinds.items():
        if is_kind(wanted):
            return chance.choice(values)
    return (
        chance.choice([b"abc", b"\xff\xfe\0"]) if "binary" in str(wanted) else chance.choice(CELLS)
    )


def make_parquet(chance):
    import pyarrow.parquet as pq

    out = io.BytesIO()
    try:
        pq.write_table(make_arrow(chance), out, compression=chance.choice(["none", "zstd"]))
    except (pa.ArrowException, ValueError):  # what Parquet has no type for
        out = io.BytesIO()
        pq.write_table(pa.table({"a": draw_cells(chance, 5)}), out)
    return out.getvalue()


def make_feather(chance):
    table, out = make_arrow(chance), io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write(table)
    return out.getvalue()


def make_excel(chance):
    import openpyxl
    from openpyxl.utils.exceptions import IllegalCharacterError

    more = [
        datetime(1899, 12, 31),
        datetime(9999, 12, 31, 23, 59),
        time(1, 2),
        timedelta(days=9**6),
    ]
    n, m = draw_sizes(chance)
    book = openpyxl.Workbook()
    names = draw_names(chance, m)
    for row in [names, *zip(*draw_columns(chance, n, names), strict=True)]:
        typed = [chance.choice([*more, 1e308, True]) if chance.random() < 0.1 else c for c in row]
        typed[0] = row[0] if chance.has_labels else typed[0]
        try:
            book.active.append(typed)
        except (IllegalCharacterError, ValueError):
            book.active.append(["#REF!", 1, None])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def make_sqlite(chance):
    n, m = draw_sizes(chance)
    database = sqlite3.connect(":memory:")
    types = ["TEXT", "INTEGER", "REAL", "BLOB", "", "DATE", "BOOLEAN"]
    names = [name.replace("\0", "") for name in draw_names(chance, m)]
    # Names that differ only in their case are the same to SQLite.
    names = list({name.lower(): name for name in names}.values())
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    columns = ", ".join(f"{name} {chance.choice(types)}" for name in quoted)
    database.execute(f"CREATE TABLE t ({columns})")
    for k in range(n):
        row = [chance.choice([b"\xff", 2**62, 1e308, None, *draw_cells(chance, 1)]) for _ in names]
        if chance.has_labels:
            row[0] = int(k % 3 == 0)
        database.execute(f"INSERT INTO t VALUES ({','.join('?' * len(row))})", row)
    if n and not chance.has_labels and chance.random() < 0.2:
        # Text that is not UTF-8.
        database.execute(f"UPDATE t SET {quoted[0]} = CAST(x'80ff' AS TEXT)")
    database.commit()
    content = database.serialize()
    database.close()
    return content


MAKERS = {
    "csv": make_text,
    "tsv": lambda chance: make_text(chance, "\t"),
    "json": make_json,
    "parquet": make_parquet,
    "feather": make_feather,
    "xlsx": make_excel,
    "sqlite": make_sqlite,
}


def make_image(form, seed):
    """Return the content of an image, damaged or of a strange kind."""
    from PIL import Image

    chance = random.Random(seed)
    mode = chance.choice(
        ["RGB", "L", "CMYK"] if form == "JPEG" else ["RGB", "RGBA", "P", "1", "I;16"]
    )
    size = chance.choice([(1, 1), (8, 8), (40, 30), (3000, 1)])
    image, out = Image.new(mode, size), io.BytesIO()
    if mode in ("RGB", "L"):
        image.putdata(
            [
                (chance.randrange(256),) * 3 if mode == "RGB" else k % 256
                for k in range(size[0] * size[1])
            ]
        )
    image.save(out, form)
    return damage(out.getvalue(), seed)
