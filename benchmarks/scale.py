"""What a table costs by its size: time, processor time and memory of reading, fit and predict.

    python benchmarks/scale.py [--rows 30000000] [--folder /tmp/scale] [--only read fit] [--nice 10]
    python benchmarks/scale.py --folder /tmp/scale --rate 5

Writes Parquet parts of a million rows of numbers, and measures each step in a process of its own,
from its start to its end. --rate reads the parts and scores them by the distilled network, in turn
and so many times; of each the quickest run counts, because other work only adds time.
A step that has been measured stands in benchmarks/results/scale.json with the hardware, and is left
out of the next run, as are parts that are there; --again measures all steps. At the end the parts
are deleted, unless --folder names a place to keep them in. Prints ratios of these steps.
"""

import argparse
import io
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixpul._util.files import write_whole
from mixpul.tables import stream_table

RESULTS = Path(__file__).parent / "results" / "scale.json"
ROWS_PER_PART, N_COLUMNS = 1_000_000, 30
# Time against rows and against columns, beside the one large table.
ROWS, COLUMNS, ROWS_OF_COLUMNS = (10_000, 100_000, 1_000_000), (10, 100), 100_000
FITS = ("fit-logistic", "fit")
# Endings of the model files, one of which a step takes.
NEEDED = {
    "distill": ("", ".logistic"),
    "predict": ("",),
    "predict-logistic": (".logistic",),
    "predict-distilled": (".small",),
}
LIMITS = {
    "fit": 2000,
    "fit-logistic": 2000,
    "predict": 1000,
    "predict-logistic": 1000,
    "predict-distilled": 1000,
}


# -- the table ------------------------------------------------------------------------------


def make_parts(folder: Path, n_rows: int, n_columns: int) -> Path:
    """Write the parts that are missing: a tenth is positive, two in a hundred of these labeled."""
    lake = folder / f"rows-{n_rows}-columns-{n_columns}"
    lake.mkdir(parents=True, exist_ok=True)
    for k, start in enumerate(range(0, n_rows, ROWS_PER_PART)):
        path = lake / f"part-{k:04}.parquet"
        if not path.exists():
            sink = pa.BufferOutputStream()
            rows = draw_rows(k, min(ROWS_PER_PART, n_rows - start), n_columns)
            pq.write_table(rows, sink, use_dictionary=False)  # no number comes twice
            write_whole(path, sink.getvalue())
    return lake


def draw_rows(seed: int, n_rows: int, n_columns: int) -> pa.Table:
    """Draw half of the columns normal and half lognormal; three of them tell the class."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_columns, n_rows), dtype=np.float32)
    noise = rng.standard_normal(n_rows, dtype=np.float32)
    is_true = X[0] + X[1] * X[2] + noise > 2
    np.exp(X[::2], out=X[::2])
    columns = {f"column_{j}": X[j] for j in range(n_columns)}
    labels = is_true & (rng.random(n_rows) < 0.02)
    return pa.table({"id": seed * ROWS_PER_PART + np.arange(n_rows), **columns, "label": labels})


# -- steps, each in a process of its own ----------------------------------------------------


def read(lake: str, model: str) -> None:
    for _ in stream_table(lake):
        pass


def fit(lake: str, model: str) -> None:
    run("fit", lake, "--label", "label", "--id", "id", "-o", model, "--force", "--json")


def fit_logistic(lake: str, model: str) -> None:
    words = ("--label", "label", "--id", "id", "--method", "logistic", "--force", "--json")
    run("fit", lake, *words, "-o", f"{model}.logistic")


def distill(lake: str, model: str) -> None:
    # The network has one size, whatever it learns from.
    known = model if Path(model).exists() else f"{model}.logistic"
    run("distill", known, lake, "-o", f"{model}.small", "--force")


def predict(lake: str, model: str) -> None:
    run("predict", model, lake, "-o", f"{lake}.scores/", "--force")
    shutil.rmtree(f"{lake}.scores")


def predict_logistic(lake: str, model: str) -> None:
    predict(lake, f"{model}.logistic")


def predict_distilled(lake: str, model: str) -> None:
    predict(lake, f"{model}.small")


def run(*words: str) -> None:
    from mixpul.cli import app

    with redirect_stdout(io.StringIO()):
        app(list(words), standalone_mode=False)


STEPS: dict[str, Callable[[str, str], None]] = {
    "read": read,
    "fit-logistic": fit_logistic,
    "fit": fit,
    "distill": distill,
    "predict-logistic": predict_logistic,
    "predict-distilled": predict_distilled,
    "predict": predict,
}


def measure_here(step: str, lake: str, model: str) -> None:
    """In a process of its own: print the processor seconds and the peak in megabytes."""
    STEPS[step](lake, model)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    # Not of getrusage: its peak counts the process that started this one.
    status = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    found = {
        "processor_seconds": round(sum(one.ru_utime + one.ru_stime for one in used), 2),
        "megabytes": round(kilobytes / 1024),
    }
    print(json.dumps(found))


def measure(step: str, lake: Path, model: Path, cores: int | None, nice: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", step, str(lake), str(model)]
    if cores is not None:
        command = ["taskset", "-c", ",".join(map(str, range(cores))), *command]
    start = time.perf_counter()
    printed = subprocess.check_output(["nice", "-n", str(nice), *command], text=True)
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found | {"seconds": round(time.perf_counter() - start, 2)}


def measure_rates(folder: Path, n_rows: int, times: int) -> None:
    """Read all parts, score them by the distilled network, in turn; keep the quickest of each."""
    model = prepare_model(folder)
    lake = make_parts(folder, n_rows, N_COLUMNS)
    best: dict[str, dict[str, float]] = {}
    for _ in range(times):
        for step in ("read", "predict-distilled"):
            found = measure(step, lake, model, None, 0)
            print(step, found, flush=True)
            best[step] = min(best.get(step, found), found, key=lambda one: one["seconds"])
    for step, found in best.items():
        remember(name_result(step, n_rows, N_COLUMNS, None), found | {"best_of": times})


def prepare_model(folder: Path) -> Path:
    """Return where the distilled network is; make what is missing."""
    model = folder / f"{ROWS[-1]}-{N_COLUMNS}.mixpul"
    lake = make_parts(folder, ROWS[-1], N_COLUMNS)
    wanted = {"distill": f"{model}.small"}
    if not model.exists():
        wanted = {"fit-logistic": f"{model}.logistic", **wanted}
    for step, file in wanted.items():
        if not Path(file).exists():
            measure(step, lake, model, None, 0)
    return model


# -- results --------------------------------------------------------------------------------


def read_results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def describe_hardware() -> dict[str, object]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
    # Other work on the machine: wall time means little beside it, processor time a bit more.
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


def remember(key: str, found: dict[str, float]) -> None:
    results = read_results() | {key: found | {"hardware": describe_hardware()}}
    write_whole(RESULTS, (json.dumps(results, indent=1, sort_keys=True) + "\n").encode())


def name_result(step: str, n_rows: int, n_columns: int, cores: int | None) -> str:
    return f"{step} {n_rows} x {n_columns}" + ("" if cores is None else f" on {cores}")


def list_plan(n_rows: int) -> list[tuple[str, int, int, int | None]]:
    """Return the steps to measure: the name, rows, columns, and cores if they are limited."""
    plan = [(step, n, N_COLUMNS, None) for n in ROWS for step in ("read", *FITS)]
    plan += [("fit", ROWS_OF_COLUMNS, n, None) for n in COLUMNS]
    plan += [("distill", ROWS[-1], N_COLUMNS, None)]
    plan += [("predict-distilled", ROWS[-1], N_COLUMNS, cores) for cores in (1, 2)]
    plan += [("predict", ROWS[-1], N_COLUMNS, cores) for cores in (1, 2)]
    large = [(step, n_rows, N_COLUMNS, None) for step in STEPS if step != "distill"]
    return list(dict.fromkeys([*large[:3], *plan, *large[3:]]))


def show(results: dict[str, dict], n_rows: int) -> None:
    print(f"\n{'step':34} {'s':>8} {'processor s':>12} {'rows per processor s':>21} {'MB':>6}")
    for key, found in results.items():
        rows = int(key.split()[1])
        rate = rows / found["processor_seconds"]
        print(
            f"{key:34} {found['seconds']:8.1f} {found['processor_seconds']:12.1f} {rate:21,.0f} "
            f"{found['megabytes']:6,.0f}"
        )

    def get(step: str, rows: int = n_rows, cores: int | None = None) -> dict | None:
        return results.get(name_result(step, rows, N_COLUMNS, cores))

    once = get("read")
    for step in FITS:
        whole, million = get(step), get(step, ROWS[-1])
        if whole and once and million:
            wanted = once["processor_seconds"] + million["processor_seconds"]
            ratio = whole["processor_seconds"] / wanted
            print(f"{step} over reading once plus {step} on a million rows: {ratio:.2f}")
    for step, limit in LIMITS.items():
        if found := get(step):
            print(f"peak of {step}: {found['megabytes']:,} MB (less than {limit} wanted)")
    if once and (small := get("predict-distilled")):
        ratio = once["seconds"] / small["seconds"]
        print(f"rate of the distilled model over that of reading: {ratio:.2f} (0.5 at least)")
        ratio = once["processor_seconds"] / small["processor_seconds"]
        print(f"the same in processor time, of all cores together: {ratio:.2f}")
    for step in ("predict-distilled", "predict"):
        one, two = (get(step, ROWS[-1], cores) for cores in (1, 2))
        if one and two:
            print(f"{step} with two cores: {one['seconds'] / two['seconds']:.2f} times as fast")


# -- the run --------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=30 * ROWS_PER_PART)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--at", nargs="+", type=int, help="only tables of so many rows")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--rate", type=int, metavar="TIMES", help="compare scoring with reading")
    parser.add_argument("--make", action="store_true", help="write the parts, and stop")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        if arguments.make:
            make_parts(folder, arguments.rows, N_COLUMNS)
        elif arguments.rate:
            measure_rates(folder, arguments.rows, arguments.rate)
        else:
            measure_all(folder, arguments)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder)
    show(read_results(), arguments.rows)


def measure_all(folder: Path, arguments: argparse.Namespace) -> None:
    for step, n_rows, n_columns, cores in list_plan(arguments.rows):
        key = name_result(step, n_rows, n_columns, cores)
        if arguments.at and n_rows not in arguments.at:
            continue
        if step not in arguments.only or (key in read_results() and not arguments.again):
            continue
        lake = make_parts(folder, n_rows, n_columns)
        # Scoring does not depend on what the rows of the fit were.
        rows_of_model = n_rows if step in ("read", *FITS) else ROWS[-1]
        model = folder / f"{rows_of_model}-{n_columns}.mixpul"
        if (before := NEEDED.get(step)) and not any(
            Path(f"{model}{end}").exists() for end in before
        ):
            print(f"{key}: its model is not there yet; measure the steps before it", flush=True)
            continue
        found = measure(step, lake, model, cores, arguments.nice)
        remember(key, found)
        print(key, found, flush=True)


if __name__ == "__main__":
    if "--step" in sys.argv:
        measure_here(*sys.argv[2:])
    else:
        main()
