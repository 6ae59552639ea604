"""`mixpul review`: draw rows for people to check."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mixpul.cli._messages import note, print_json, speak_warnings
from mixpul.cli._outputs import check_outputs, explain_full_disk
from mixpul.cli.options import (
    ForceOption,
    IdOption,
    JsonOption,
    LabelOptions,
    ModelArgument,
    Reading,
    SeedOption,
    TableArgument,
    names_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mixpul.assess import Review
    from mixpul.assess.queues import Queue

__all__ = ["review"]

# Columns that people see unless they ask for others; longer cells are shortened.
N_SHOWN, LONGEST_CELL = 10, 500
ENDINGS = (".csv", ".html", ".json")
# A rough guess where the model file has none; it steers the draw and is no part of any figure.
USUAL_PRIOR = 0.2


class Choice(NamedTuple):
    """Which rows to draw, and what people see of them."""

    id_column: IdOption = None
    n: Annotated[int, typer.Option("-n", min=1, help="How many rows to draw.")] = 60
    show: Annotated[
        Any, names_option("Further columns that help to judge a row, such as a description.")
    ] = ""
    after: Annotated[
        list[Path] | None,
        typer.Option(
            help="An earlier queue, answered or not: its rows are not drawn again. May be given "
            "several times."
        ),
    ] = None
    unseen: Annotated[
        bool,
        typer.Option(
            "--unseen", help="The table is another one than that of the fit, all of its rows new."
        ),
    ] = False


def review(
    model: ModelArgument,
    table: TableArgument,
    *,
    labels: LabelOptions,
    choice: Choice,
    reading: Reading,
    seed: SeedOption = 0,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="Queue to write: .csv for a spreadsheet, .html for a page to answer in a browser, "
            ".json for Label Studio.",
        ),
    ],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw unlabeled rows for people to check; `mixpul audit` then says how good the model is.

    For a model of images name its two folders: [bold]mixpul review cats.mixpul cats photos -o
    review.html[/bold]

    Example: [bold]mixpul review model.mixpul leads.csv --id customer -n 60 -o review.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul._util.files import write_whole
    from mixpul.assess.queues import write_csv, write_tasks

    if out.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"-o names a file that ends in {', '.join(ENDINGS)}; got {out}.")
    others = [str(model), *map(str, choice.after or ())]
    check_outputs([out], others if _is_of_images(model, table) else [table, *others], force)
    with speak_warnings():
        queue, images = _draw_any(model, table, labels, choice, reading, seed)
    if out.suffix.lower() == ".html":
        from mixpul.cli._inputs import name_table
        from mixpul.pages import render_review_page

        source = name_table(table) if images is None else Path(_list_places(table)[-1]).name
        content = render_review_page(queue._asdict(), source=source, images=images).encode()
    else:
        content = (write_tasks if out.suffix.lower() == ".json" else write_csv)(queue)
    with explain_full_disk(repr(str(out))):
        write_whole(out, content)
    if as_json:
        print_json({"rows": len(queue.lines), "shown": queue.shown, "output": str(out)})
        return
    how = "open it in a browser" if out.suffix.lower() == ".html" else "fill in the column verdict"
    if out.suffix.lower() == ".json":
        how = "import it into Label Studio"
    note(f"{len(queue.lines)} {'rows' if images is None else 'images'} to check: {out}")
    note(f"next: {how} (yes, no or unsure), then `mixpul audit {model} ANSWERED`.")


def _list_places(table: "str | Sequence[str]") -> list[str]:
    return [table] if isinstance(table, str) else list(table)


def _is_of_images(model: Path, table: "str | Sequence[str]") -> bool:
    """Whether folders are given to a model of images; others may hold tables."""
    if not all(Path(place).is_dir() for place in _list_places(table)):
        return False
    from mixpul.cli._noted import is_of_images
    from mixpul.persistence import describe

    return is_of_images(describe(model)["info"])


def _draw_any(
    model: Path,
    table: str,
    labels: LabelOptions,
    choice: Choice,
    reading: Reading,
    seed: int,
) -> "tuple[Queue, list[str | None] | None]":
    """Draw rows of a table, or images, which come with what to show of them."""
    if not _is_of_images(model, table):
        return _draw_queue(model, table, labels, choice, reading, seed), None
    from mixpul.assess.answered import read_answers
    from mixpul.cli._review_images import draw_images
    from mixpul.persistence import describe
    from mixpul.persistence.notes import check_notes

    about = describe(model)
    info = check_notes(about["info"])
    return draw_images(
        model,
        about["checksum"],
        info,
        table,
        n=choice.n,
        prior=_find_prior(info),
        is_unseen=choice.unseen,
        rounds=read_answers(choice.after, about["checksum"]) if choice.after else None,
        seed=seed,
    )


class _Drawable(NamedTuple):
    """A table to draw from."""

    frame: Any
    is_known: "NDArray[np.bool_]"
    scores: "NDArray[np.float64]"
    fingerprint: str


def _draw_queue(
    model: Path,
    table: str,
    labels: LabelOptions,
    choice: Choice,
    reading: Reading,
    seed: int,
) -> "Queue":
    from mixpul.assess import review as draw_rows
    from mixpul.assess.answered import read_answers
    from mixpul.cli._inputs import load_table_model
    from mixpul.persistence import describe

    pipeline, info = load_table_model(model)
    checksum = describe(model)["checksum"]
    columns = _choose_columns(table, pipeline, info, choice, reading)
    rows = _read_rows(model, table, pipeline, info, labels, columns, choice.unseen, reading)
    rounds = read_answers(choice.after, checksum) if choice.after else None
    if rounds is not None and rounds.table != rows.fingerprint:
        raise ValueError("The earlier queue was drawn from another table; draw from the same one.")
    drawn = draw_rows(
        rows.scores,
        rows.is_known,
        n=choice.n,
        prior=_find_prior(info),
        earlier=rounds.reviews if rounds else (),
        verdicts=rounds.verdicts if rounds else (),
        random_state=seed,
    )
    if not len(drawn.rows):
        raise ValueError("All unlabeled rows were drawn before; there is none left to check.")
    return _make_queue(drawn, rows, columns, pipeline[0].kinds_, checksum[:16])


class _Columns(NamedTuple):
    id_column: str | None
    shown: list[str]


def _choose_columns(
    table: str, pipeline: Any, info: Mapping[str, Any], choice: Choice, reading: Reading
) -> _Columns:
    """Return the id column and the columns to show: those that matter most, and those asked for."""
    from mixpul.assess.queues import CHECK, DESIGN, ROW, VERDICT
    from mixpul.tables import stream_table
    from mixpul.tables.names import check_present
    from mixpul.tables.opening import is_stream

    if is_stream(table):
        raise typer.BadParameter(
            "The table is looked at twice, which a stream does not allow; write it to a file."
        )
    style = reading.fill_from(info.get("reading", {})).to_arguments()
    names = list(next(stream_table(table, **style)).schema.names)
    check_present([choice.id_column or names[0], *choice.show], names, "The table")
    id_column = choice.id_column or (info.get("id") if info.get("id") in names else None)
    by_weight = info.get("columns") or list(pipeline[0].kinds_)
    shown = [*by_weight[:N_SHOWN], *choice.show]
    reserved = {ROW, VERDICT, *DESIGN, CHECK}
    if id_column in reserved:
        raise typer.BadParameter(f"The queue has a column {id_column!r} of its own; name another.")
    left_out = reserved | {id_column, info.get("label")}
    return _Columns(id_column, [name for name in dict.fromkeys(shown) if name not in left_out])


def _read_rows(
    model: Path,
    table: str,
    pipeline: Any,
    info: Mapping[str, Any],
    labels: LabelOptions,
    columns: _Columns,
    is_unseen: bool,
    reading: Reading,
) -> _Drawable:
    """Read the rows with their scores: out of fold for the table of the fit, else by the model."""
    import numpy as np

    from mixpul.cli._inputs import digest_table
    from mixpul.cli._sampling import draw_again
    from mixpul.tables import find_negatives, read_table, split_label

    fingerprint = digest_table(table) or ""
    _check_table(fingerprint, info, is_unseen)
    # As text, so that people see what the table has.
    kinds = dict.fromkeys([*columns.shown, columns.id_column or columns.shown[0]], "text")
    kinds |= pipeline[0].kinds_
    # All rows of a new table are unlabeled unless its label column is named.
    label = None if is_unseen and labels.label is None else labels.fill_from(info)
    if label is not None:
        kinds[label.column] = label.kind
    style = reading.fill_from(info.get("reading", {})).to_arguments()
    # Of a large table only the sampled rows have scores of models that did not see them.
    frame = None if is_unseen else draw_again(table, info, style)
    frame = read_table(table, kinds=kinds, **style) if frame is None else frame
    is_known = np.zeros(len(frame), dtype=bool)
    if label is not None:
        is_known = split_label(
            frame,
            label.column,
            positive=label.positive,
            negative=label.negative,
            missing_is_unlabeled=label.missing_is_unlabeled,
        ).is_positive
    if label is not None and label.negative is not None:
        # Verified negatives are known, too: they are not drawn.
        is_known = is_known | find_negatives(frame, label.column, label.negative)
    if is_unseen:
        scores = pipeline.predict_proba(frame)[:, 1]
    else:
        from mixpul.persistence import read_scores

        scores = read_scores(model)
    return _Drawable(frame, is_known, scores, fingerprint.removeprefix("sha256:")[:16])


def _check_table(fingerprint: str, info: Mapping[str, Any], is_unseen: bool) -> None:
    """Refuse a table whose rows the model may have seen, unless it is that of the fit."""
    is_known = fingerprint == info.get("fingerprint")
    if is_unseen and is_known:
        raise ValueError(
            "The model was fitted on this very table, so its rows are not unseen; leave --unseen "
            "out."
        )
    if not is_unseen and not is_known:
        raise ValueError(
            "This is not the table that the model was fitted on, or the file has changed since. "
            "Name that table; or, if the model has seen none of these rows, pass --unseen."
        )


def _find_prior(info: Mapping[str, Any]) -> float:
    """Return the class prior that the fit has found."""
    known = info.get("assessment", {}).get("prior", {})
    prior = known.get("value", USUAL_PRIOR)
    return float(min(max(prior, 0.01), 0.99))


def _make_queue(
    drawn: "Review",
    rows: _Drawable,
    columns: _Columns,
    kinds: Mapping[str, str],
    model: str,
) -> "Queue":
    from mixpul.assess.queues import make_queue
    from mixpul.assess.top_rows import write_cells
    from mixpul.tables.content import hash_rows

    of_drawn = rows.frame.iloc[drawn.rows]
    id_column = columns.id_column
    ids: Sequence[Any] | None = None if id_column is None else of_drawn[id_column].tolist()
    return make_queue(
        drawn,
        ids=ids,
        id_column=id_column,
        cells=write_cells(rows.frame, drawn.rows, columns.shown, LONGEST_CELL),
        contents=hash_rows(of_drawn, kinds),
        model=model,
        table=rows.fingerprint,
    )
