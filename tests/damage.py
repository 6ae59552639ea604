"""Damaged tables, read in a process of its own with limits of memory and time.

``python tests/damage.py FOLDER FORMAT FIRST LAST`` reads the files with these numbers. It prints
what was refused with something else than one sentence; a signal or a hang is seen by whoever
started it. The same numbers make the same files.
"""

import faulthandler
import gzip
import random
import resource
import signal
import sqlite3
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from mixpul._util.errors import TableError
from mixpul.tables import TableInput, read_table, stream_table
from mixpul.tables.frames import as_frame

BYTES, SECONDS_PER_FILE = 3 * 2**30, 20
KINDS = {"n": "number", "x": "number", "city": "text", "flag": "boolean", "day": "date"}
SUFFIXES = {
    "csv": ".csv",
    "gzip": ".csv.gz",
    "zstd": ".csv.zst",
    "parquet": ".parquet",
    "feather": ".feather",
    "packed-feather": ".arrow",
    "xlsx": ".xlsx",
    "json": ".jsonl",
    "sqlite": ".db",
    "duckdb": ".duckdb",
}


def make_frame():
    rng = np.random.default_rng(0)
    n = 300
    return pd.DataFrame(
        {
            "n": np.arange(n),
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "city": rng.choice(["Oslo", 'Zü"rich', "a, b", "line\nbreak"], n),
            "flag": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
        }
    )


def write_sound(path, form):
    """Write a sound table to be damaged."""
    frame = make_frame()
    table = pa.Table.from_pandas(frame)
    table = table.set_column(2, "city", table.column("city").dictionary_encode())
    text = frame.to_csv(index=False).encode()
    if form in ("csv", "gzip", "zstd"):
        pack = {"gzip": gzip.compress, "zstd": lambda t: pa.compress(t, "zstd", asbytes=True)}
        path.write_bytes(pack.get(form, bytes)(text))
    elif form == "parquet":
        pa.parquet.write_table(table, path, row_group_size=100)
    elif form in ("feather", "packed-feather"):
        options = pa.ipc.IpcWriteOptions(compression=None if form == "feather" else "lz4")
        with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
            writer.write(table)
    elif form == "xlsx":
        frame.to_excel(path, index=False)
    elif form == "json":
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    elif form == "sqlite":
        with sqlite3.connect(path) as database:
            frame.to_sql("t", database, index=False)
        database.close()
    else:
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.register("frame", frame)
            database.execute("CREATE TABLE t AS SELECT * FROM frame")


def damage(content, seed):
    """Flip, overwrite, cut, repeat or insert some bytes."""
    chance, content = random.Random(seed), bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        if not content:
            break
        place, n = chance.randrange(len(content)), chance.choice([1, 2, 4, 8, 64])
        match chance.randrange(7):
            case 0:
                content[place] ^= 1 << chance.randrange(8)
            case 1:
                content[place : place + n] = chance.randbytes(len(content[place : place + n]))
            case 2:
                edge = chance.choice([b"\0", b"\xff", b"\x7f", b"\x80"])
                content[place : place + n] = edge * len(content[place : place + n])
            case 3:
                del content[place : place + n]
            case 4:
                content[place:place] = chance.choice([b'"', b"\r", b"\n", b",", b"\0", b"\xe9"]) * n
            case 5:
                content[place:place] = content[place : place + n]
            case _:
                if chance.random() < 0.2:
                    del content[place:]
    return bytes(content)


def use(path):
    """Read in both ways, and prepare what comes out."""
    TableInput().fit(read_table(path))
    for batch in stream_table(path, kinds=KINDS):
        as_frame(batch).to_csv()  # looks at every cell


def main(folder, forms, first, last):
    import pyarrow.parquet  # noqa: F401, which writes the sound file

    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    n_refused = 0
    for form in forms.split(","):
        print(form, file=sys.stderr, flush=True)  # what was read if a signal ends the process
        n_refused += read_all(folder, form, first, last)
    print(f"refused {n_refused}")


def read_all(folder, form, first, last):
    """Read damaged files of one format; return how many were refused in a sentence."""
    sound = Path(folder) / f"sound{SUFFIXES[form]}"
    write_sound(sound, form)
    content, path = sound.read_bytes(), Path(folder) / f"damaged{SUFFIXES[form]}"
    use(sound)
    n_refused = 0
    for seed in range(int(first), int(last)):
        path.write_bytes(damage(content, seed))
        signal.alarm(SECONDS_PER_FILE)
        try:
            use(path)
        # What TableInput says of the rows is a ValueError.
        except (TableError, ValueError) as error:
            n_refused += 1
            if "\n" in str(error):
                print(f"{form} {seed}: more than a sentence: {error}")
        except BaseException as error:
            print(f"{form} {seed}: {type(error).__name__}: {error}")
        signal.alarm(0)
    return n_refused


if __name__ == "__main__":
    main(*sys.argv[1:])
