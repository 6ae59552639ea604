"""`mixpul distill`: one fast network from a model and rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli.options import (
    ForceOption,
    JsonOption,
    ModelArgument,
    Reading,
    SeedOption,
    TableArgument,
)

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

__all__ = ["distill"]

# More rows would not change what a small network learns.
MOST_ROWS = 100_000


def distill(
    model: ModelArgument,
    table: TableArgument,
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="The model file to write.")],
    reading: Reading,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train one small network to rank rows as a model does, many times as fast.

    The table has rows like those to score; labels are not needed.

    Example: [bold]mixpul distill leads.mixpul leads.csv -o small.mixpul[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from sklearn.pipeline import make_pipeline

    from mixpul import DistilledPUClassifier, save
    from mixpul.cli._inputs import load_table_model
    from mixpul.cli._messages import choose_verbosity, escape, print_json, say
    from mixpul.cli._outputs import check_outputs, explain_full_disk
    from mixpul.pages.texts import explain_agreement
    from mixpul.persistence import describe
    from mixpul.tables import stream_table

    check_outputs([out], [table, str(model)], force)
    pipeline, info = load_table_model(model)
    style = reading.fill_from(info.get("reading", {})).to_arguments()
    batches = stream_table(table, kinds=pipeline[0].kinds_, **style)
    rows = _take_rows(pipeline, batches, seed)
    student = DistilledPUClassifier(random_state=seed, verbose=choose_verbosity())
    student.learn_from(pipeline[-1], rows)
    # How loud the training was is not a setting to keep.
    student.set_params(verbose=0)
    told = {"teacher": type(pipeline[-1]).__name__, "checksum": describe(model)["checksum"]}
    told |= student.agreement_
    with explain_full_disk(repr(str(out))):
        save(make_pipeline(pipeline[0], student), out, info=info | {"distilled": told})
    if as_json:
        print_json({**told, "output": str(out)})
        return
    say(explain_agreement(told))
    say(f"Model: {escape(str(out))}")


def _take_rows(pipeline: "Pipeline", batches: Iterable[Any], seed: int) -> "NDArray[float32]":
    """Return encoded rows of a table, or a random draw of them where there are many."""
    import numpy as np

    random = np.random.default_rng(seed)
    keys, parts = np.empty(0), [np.empty((0, pipeline[-1].n_features_in_), dtype=np.float32)]
    for batch in batches:
        parts.append(pipeline[0].transform(batch))
        keys = np.append(keys, random.random(len(parts[-1])))
        # Twice as many before some are dropped, so that it is not done at every batch.
        if len(keys) > 2 * MOST_ROWS:
            keys, parts = _keep_smallest(keys, parts)
    if not len(keys):
        raise ValueError("The table has no rows; a network learns from hundreds at least.")
    keys, parts = _keep_smallest(keys, parts)
    return parts[0]


def _keep_smallest(
    keys: "NDArray", parts: "list[NDArray[float32]]"
) -> "tuple[NDArray, list[NDArray[float32]]]":
    """Keep the rows with the smallest keys, in their order: a random draw of those so far."""
    import numpy as np

    rows = np.concatenate(parts)
    if len(keys) <= MOST_ROWS:
        return keys, [rows]
    kept = np.sort(np.argpartition(keys, MOST_ROWS)[:MOST_ROWS])
    return keys[kept], [rows[kept]]
