"""A progress bar over epochs, rows or images; shown only with `verbose`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    total: int, label: str, verbose: int, unit: str = "epochs"
) -> Iterator[Callable[[dict[str, float]], None]]:
    """Yield a function that advances the bar by one `unit` and shows its record."""
    if not verbose:
        yield lambda record: None
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
            names = {"loss": "loss", "pu_auc": "PU-AUC"}
            text = [
                f"{shown} {record[name]:.3f}" for name, shown in names.items() if name in record
            ]
            bar.update(task, advance=1, record="  ".join(text))

        yield show
        # Early stopping leaves epochs undone; the bar should not look broken off.
        bar.update(task, total=bar.tasks[task].completed)
