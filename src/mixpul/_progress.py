"""A progress bar over epochs; nothing at all when not asked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    total: int, label: str, verbose: int
) -> Iterator[Callable[[dict[str, float]], None]]:
    """Give a function that advances the bar by one epoch and shows that epoch's record."""
    if not verbose:
        yield lambda record: None
        return

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
        TextColumn("epochs  {task.fields[record]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns) as bar:
        task = bar.add_task(label, total=total, record="")

        def show(record: dict[str, float]) -> None:
            text = f"loss {record['loss']:.3f}"
            if "pu_auc" in record:
                text += f"  PU-AUC {record['pu_auc']:.3f}"
            bar.update(task, advance=1, record=text)

        yield show
        # Early stopping leaves epochs undone; the bar should not look broken off.
        bar.update(task, total=bar.tasks[task].completed)
