"""`mixpul predict`: score a table of any size."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixpul.cli.options import (
    IdOption,
    ModelArgument,
    Reading,
    SchedulerOption,
    ScoreOutputs,
    TableArgument,
)

if TYPE_CHECKING:
    from mixpul.cli._scoring import Scorer

__all__ = ["predict"]


def predict(
    model: ModelArgument,
    table: TableArgument,
    *,
    id_column: IdOption = None,
    out_of_fold: Annotated[
        bool,
        typer.Option(
            "--out-of-fold",
            help="For the table of the fit: write the scores of models that did not see the row.",
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="With -o FOLDER/: leave out the parts whose scores are there already."
        ),
    ] = False,
    scheduler: SchedulerOption = None,
    outputs: ScoreOutputs,
    reading: Reading,
) -> None:
    """Score a table of any size: columns `score` and `predicted`, in the order of the rows.

    With --probability also `probability`, of being positive. A score only ranks rows. With a
    folder as output, each part of a table in many files gets a file of scores.

    Example: [bold]mixpul predict model.mixpul new.csv -o scores.csv --threshold recall=0.9[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.cli._scores import check_score_outputs, write_scores
    from mixpul.cli._scoring import make_scorer

    is_folder = outputs.out.endswith(("/", "\\")) or Path(outputs.out).is_dir()
    if is_folder:
        _check_parts(table, outputs, resume, out_of_fold)
    elif resume or scheduler is not None:
        option = "--resume" if resume else "--scheduler"
        raise typer.BadParameter(f"{option} goes with a folder as output, such as -o scores/.")
    else:
        check_score_outputs(outputs, [table, str(model)])
    if is_folder:
        _score_into_folder(model, table, id_column, outputs, reading, resume, scheduler)
        return
    scorer = make_scorer(model, id_column, outputs, reading)
    batches = (
        _score_out_of_fold(model, table, scorer)
        if out_of_fold
        else _score_with_warning(table, scorer)
    )
    write_scores(batches, outputs, threshold=scorer.threshold, unit="row", key="rows")


def _score_into_folder(
    model: Path,
    table: Any,
    id_column: str | None,
    outputs: ScoreOutputs,
    reading: Reading,
    resume: bool,
    scheduler: str | None,
) -> None:
    """Score each part of a table, here or on a cluster."""
    from mixpul.cli._parts import score_parts
    from mixpul.cli._parts_on_cluster import use_workers
    from mixpul.cli._scoring import make_scorer
    from mixpul.persistence import describe

    # First: an address that is wrong should not cost the loading of a model.
    with use_workers(scheduler, model) as perform:
        scorer = make_scorer(model, id_column, outputs, reading)
        score_parts(table, scorer, describe(model)["checksum"], resume, perform)


def _check_parts(table: Any, outputs: ScoreOutputs, resume: bool, out_of_fold: bool) -> None:
    """Refuse before any work what cannot be written into a folder."""
    from mixpul.cli._parts import check_folder
    from mixpul.tables.opening import is_stream

    if outputs.prior is not None and not outputs.probability:
        raise typer.BadParameter("--prior has a meaning with --probability only; add that.")
    if out_of_fold or is_stream(table):
        what = "--out-of-fold writes" if out_of_fold else "A stream is scored into"
        raise typer.BadParameter(f"{what} one file; name a file, such as -o scores.parquet.")
    if resume and outputs.force:
        raise typer.BadParameter("--resume keeps what is there and --force replaces it; use one.")
    out = Path(outputs.out).resolve()
    for one in [table] if isinstance(table, str) else table:
        if Path(one).is_dir() and out.is_relative_to(Path(one).resolve()):
            raise typer.BadParameter(
                f"The scores would lie among the parts of {one!r}; name a folder beside it."
            )
    check_folder(outputs.out, outputs.force, resume)


def _score_with_warning(table: str, scorer: "Scorer") -> Iterator[Any]:
    """Score by the model; say it if the model knows the rows."""
    from mixpul.cli._inputs import digest_table

    known = scorer.info.get("fingerprint")
    if known and known == digest_table(table):
        warnings.warn(
            "The model was fitted on this very table: it has learned which rows are labeled, so "
            "these scores flatter it. --out-of-fold writes the honest ones.",
            UserWarning,
            stacklevel=2,
        )
    yield from scorer.score(table)


def _score_out_of_fold(model: Path, table: str, scorer: "Scorer") -> Iterator[Any]:
    """Put the out-of-fold scores of the model file beside the ids of the training rows."""
    from mixpul.cli._inputs import digest_table
    from mixpul.persistence import read_scores
    from mixpul.persistence.samples import find_sample

    if sample := find_sample(scorer.info):
        raise ValueError(
            f"The model was fitted on a sample of {sample['max_rows']:,} of {sample['rows']:,} "
            "rows and has out-of-fold scores of these only; leave --out-of-fold out: of most rows "
            "the model has learned nothing."
        )
    _check_known(digest_table(table), scorer.info)
    yield from scorer.attach(table, read_scores(model))


def _check_known(fingerprint: str | None, info: Mapping[str, Any]) -> None:
    if fingerprint is None or fingerprint != info.get("fingerprint"):
        raise ValueError(
            "This is not the table that the model was fitted on, or the file has changed since, so "
            "there are no out-of-fold scores of its rows; leave --out-of-fold out."
        )
