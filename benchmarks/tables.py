"""How fast a table larger than memory is scored, and in how much memory; and `mixpul fit`.

    python benchmarks/tables.py [--rows 10000000] [--fit-rows 100000]

Runs `mixpul fit` with a report on a Parquet file of mixed types. Then writes a Parquet file of
numbers to a temporary folder, and in processes of their own: reads it alone; and reads it, prepares
it, scores it with a default MixPULClassifier (five networks), and writes the scores. Prints rows
per second, the ratio of the two, the number of cores each kept busy (less than there are: other
work on the machine had a part of them), the processor time per row, and the peak memory of each.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.pipeline import make_pipeline

from mixpul import MixPULClassifier, load, save
from mixpul.cli import app
from mixpul.tables import TableInput, score_stream, stream_table, write_table

N_COLUMNS, N_TRAINING_ROWS, ROWS_PER_PIECE = 30, 5_000, 100_000
NAMES = [f"column_{j}" for j in range(N_COLUMNS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--fit-rows", type=int, default=100_000)
    arguments = parser.parse_args()
    n_rows = arguments.rows
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "mixed.parquet", Path(folder) / "mixed.mixpul"
        make_mixed_table(table, arguments.fit_rows)
        seconds, cpu_seconds, megabytes = measure_apart("fit", model, table)
        print(
            f"fit      {arguments.fit_rows:,} rows x {N_COLUMNS} columns with a report: "
            f"{seconds:.0f} s on {cpu_seconds / seconds:.2f} cores, peak {megabytes:.0f} MB "
            "(less than 180 s and 2000 MB wanted)",
            flush=True,
        )
        table, model = Path(folder) / "table.parquet", Path(folder) / "model.mixpul"
        make_table(table, n_rows)
        make_model(table, model)
        gigabytes = table.stat().st_size / 1e9
        print(f"{n_rows:,} rows x {N_COLUMNS} numbers, {gigabytes:.2f} GB of Parquet:", flush=True)
        rates = {}
        for part in ("read", "prepare", "score"):
            seconds, cpu_seconds, megabytes = measure_apart(part, model, table)
            rates[part] = n_rows / seconds
            print(
                f"{part:8} {rates[part]:>12,.0f} rows/s on {cpu_seconds / seconds:.2f} cores, "
                f"{1e6 * cpu_seconds / n_rows:.2f} processor microseconds per row, "
                f"peak {megabytes:.0f} MB",
                flush=True,
            )
        print(
            f"scoring over reading: {rates['score'] / rates['read']:.3f} "
            "(at least 300,000 rows/s and less than 1000 MB wanted)"
        )


def measure_apart(part: str, model: Path, table: Path) -> tuple[float, float, float]:
    """Run a part in a process of its own; return seconds, processor seconds, megabytes."""
    command = [sys.executable, __file__, "--part", part, str(model), str(table)]
    seconds, cpu_seconds, megabytes = map(float, subprocess.check_output(command).split())
    return seconds, cpu_seconds, megabytes


def make_mixed_table(path: Path, n_rows: int) -> None:
    """Write numbers, text, booleans, dates, gaps; a fifth is positive, a tenth of it labeled."""
    rng = np.random.default_rng(0)
    is_true = rng.random(n_rows) < 0.2
    table = pd.DataFrame({"id": np.arange(n_rows)})
    for j in range(14):
        table[f"number_{j}"] = rng.normal(size=n_rows) + 0.4 * is_true * (j % 3 == 0)
    for j in range(6):
        table[f"amount_{j}"] = np.exp(1.5 * rng.normal(size=n_rows) + 0.5 * is_true * (j % 2))
    for j in range(4):
        table[f"text_{j}"] = rng.choice([f"category {k}" for k in range(12)], n_rows)
    for j in range(3):
        table[f"flag_{j}"] = rng.random(n_rows) < np.where(is_true, 0.5, 0.3)
    for j in range(2):
        seconds = rng.integers(0, 900 * 86_400, n_rows)
        table[f"date_{j}"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(seconds, unit="s")
    for name in ("number_1", "amount_1", "text_1"):
        table.loc[rng.random(n_rows) < 0.1, name] = None
    table["label"] = is_true & (rng.random(n_rows) < 0.1)
    table.to_parquet(path)


def make_table(path: Path, n_rows: int) -> None:
    piece = pa.table(dict(zip(NAMES, draw_numbers(ROWS_PER_PIECE).T, strict=True)))
    with pq.ParquetWriter(path, piece.schema) as writer:
        for start in range(0, n_rows, ROWS_PER_PIECE):
            writer.write(piece.slice(0, n_rows - start))


def draw_numbers(n_rows: int) -> np.ndarray:
    """Draw half of the columns normal, half of them lognormal, of all sizes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X[:, ::2] = np.exp(X[:, ::2])
    return X * 10.0 ** rng.integers(-2, 4, size=N_COLUMNS)


def make_model(table: Path, path: Path) -> None:
    X = next(stream_table(table)).slice(0, N_TRAINING_ROWS).to_pandas()
    labels = X["column_1"].rank(pct=True) + np.random.default_rng(1).random(len(X)) > 1.8
    model = make_pipeline(TableInput(), MixPULClassifier(n_epochs=3, random_state=0))
    save(model.fit(pd.DataFrame(X), labels), path)


def read(model: str, table: str) -> None:
    for _ in stream_table(table):
        pass


def prepare(model: str, table: str) -> None:
    table_input = load(model)[0]
    for batch in stream_table(table, kinds=table_input.kinds_):
        table_input.transform(batch)


def score(model: str, table: str) -> None:
    pipeline = load(model)
    batches = stream_table(table, kinds=pipeline[0].kinds_)
    write_table(score_stream(pipeline, batches), Path(table).with_name("scores.parquet"))


def fit(model: str, table: str) -> None:
    report = str(Path(model).with_suffix(".html"))
    words = ["fit", table, "--label", "label", "--id", "id", "-o", model, "--report", report]
    with redirect_stdout(io.StringIO()):
        app(words, standalone_mode=False)


PARTS: dict[str, Callable[[str, str], None]] = {
    "read": read, "prepare": prepare, "score": score, "fit": fit
}  # fmt: skip


def measure(part: str, model: str, table: str) -> None:
    """In a process of its own: print seconds, CPU seconds and the peak memory in megabytes."""
    start, cpu_start = time.perf_counter(), time.process_time()
    PARTS[part](model, table)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    # Not of getrusage: its peak counts the process that started this one.
    status = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    print(seconds, cpu_seconds, int(kilobytes) / 1024)


if __name__ == "__main__":
    if "--part" in sys.argv:
        measure(*sys.argv[2:])
    else:
        main()
