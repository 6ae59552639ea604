"""A progress bar over epochs, rows or images; shown only with `verbose`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

# Of the bar in a notebook: its characters, and the seconds between two drawings.
WIDTH, SECONDS_BETWEEN = 30, 0.2


@contextmanager
def progress_bar(
    total: int, label: str, verbose: int, unit: str = "epochs"
) -> Iterator[Callable[[dict[str, float]], None]]:
    """Yield a function that advances the bar by one `unit` and shows its record."""
    if not verbose:
        yield lambda record: None
        return
    if _is_notebook():
        with _show_in_notebook(total, label, unit) as show:
            yield show
        return

    # Imported here: a fit that shows nothing does without.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit + "  {task.fields[record]}"),
        TimeRemainingColumn(compact=True),
    )
    # Standard output is for results.
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, record="")

        def show(record: dict[str, float]) -> None:
            bar.update(task, advance=1, record=_write_record(record))

        yield show
        # Early stopping leaves epochs undone; the bar should not look broken off.
        bar.update(task, total=bar.tasks[task].completed)


def _write_record(record: dict[str, float]) -> str:
    names = {"loss": "loss", "pu_auc": "PU-AUC"}
    return "  ".join(f"{shown} {record[k]:.3f}" for k, shown in names.items() if k in record)


def _is_notebook() -> bool:
    """Whether a Jupyter kernel runs this; IPython is there already, or it is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _show_in_notebook(
    total: int, label: str, unit: str
) -> Iterator[Callable[[dict[str, float]], None]]:
    """Show a line of text that is rewritten.

    Not by rich: it needs ipywidgets there, and warns without.
    """
    from IPython.display import display

    start, done, last = time.monotonic(), 0, 0.0

    def write(record: str, end: int) -> dict[str, str]:
        filled = WIDTH * done // max(end, 1)
        left = (time.monotonic() - start) * (end - done) / max(done, 1)
        rest = f"  {left:.0f} s left" if 0 < done < end else ""
        bar = "━" * filled + "─" * (WIDTH - filled)
        return {"text/plain": f"{label} {bar} {done}/{end} {unit}  {record}{rest}".rstrip()}

    shown = display(write("", total), raw=True, display_id=True)

    def show(record: dict[str, float]) -> None:
        nonlocal done, last
        done += 1
        # A browser needs no more than some lines a second.
        if time.monotonic() - last > SECONDS_BETWEEN:
            last = time.monotonic()
            shown.update(write(_write_record(record), total), raw=True)

    yield show
    # Early stopping leaves epochs undone; the bar should not look broken off.
    shown.update(write("", done), raw=True)
