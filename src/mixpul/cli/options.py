"""Options that several commands share, each declared once, and groups of them.

A group is a NamedTuple whose fields are options. A command takes the whole group as one
parameter and passes it on as it is; `expand_groups` shows the fields to Typer as options.

Nothing heavy is imported here, and groups are not dataclasses, which take longer to define:
`mixpul --help` waits for it.
"""

import csv
import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mixpul._names import EXTRACTORS, IMAGE_NETS, METHODS, PRESETS
from mixpul.cli._parsing import check_prior_option, parse_interval, parse_threshold

__all__ = [
    "DateOrder",
    "Features",
    "FilledLabel",
    "FitOutputs",
    "ForceOption",
    "IdOption",
    "ImageNet",
    "JsonOption",
    "KnownPrior",
    "LabelOption",
    "LabelOptions",
    "MaxRowsOption",
    "Method",
    "MissingLabelOption",
    "ModelArgument",
    "PositiveOption",
    "Preset",
    "Reading",
    "SchedulerOption",
    "ScoreOutputs",
    "SeedOption",
    "SetOption",
    "TableArgument",
    "TableOptions",
    "ThresholdOption",
    "Weighing",
    "check_choice",
    "choices_option",
    "expand_groups",
    "names_option",
    "parse_names",
    "parse_threshold",
]

# -- values ---------------------------------------------------------------------------------

# From the registry, so that nothing is listed twice; a type checker does not know the members.
Method = StrEnum("Method", {name: name for name in METHODS})  # type: ignore[misc]
Features = StrEnum("Features", {name: name for name in (*EXTRACTORS, "none")})  # type: ignore[misc]
ImageNet = StrEnum("ImageNet", {name: name for name in IMAGE_NETS})  # type: ignore[misc]
Preset = StrEnum("Preset", {name: name for name in PRESETS})  # type: ignore[misc]


class DateOrder(StrEnum):
    """What comes first in a date of three numbers."""

    DAY = "day-first"
    MONTH = "month-first"
    YEAR = "year-first"


def parse_names(text: str) -> list[str]:
    """Split names at commas; a name that holds a comma goes in double quotes."""
    cells = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in cells if name.strip()]


def names_option(about: str) -> Any:
    """Declare an option that takes a list of any names."""
    return typer.Option(metavar="A,B", parser=parse_names, help=about)


def column_option(about: str) -> Any:
    """Declare an option that takes the name of one column, and may be given several times."""
    return typer.Option(
        metavar="COLUMN", help=f"{about}; may be given several times.", rich_help_panel=COLUMNS
    )


def choices_option(known: Iterable[str]) -> Any:
    """Declare an option that takes some of the `known` names, or 'all' of them."""
    known = list(known)

    def parse_choices(text: str) -> list[str]:
        names = parse_names(text)
        if names == ["all"]:
            return known
        if not names:
            raise typer.BadParameter(f"The list is empty; name some of {', '.join(known)}, or all.")
        for name in names:
            check_choice(name, known, "choice")
        # A name given twice is run once.
        return list(dict.fromkeys(names))

    about = f"Some of {', '.join(known)}; or all."
    return typer.Option(metavar="A,B", parser=parse_choices, help=about)


def check_choice(name: str, known: Iterable[str], kind: str) -> None:
    """Refuse a name that is not among the `known` ones; suggest the nearest."""
    from difflib import get_close_matches

    known = list(known)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
        raise typer.BadParameter(f"There is no {kind} {name!r}; {hint}")


COLUMNS = "What columns hold"

# -- single options -------------------------------------------------------------------------

# Commands get the one file that was named as it is, several as a list (`expand_groups`).
TableArgument: Any = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="CSV, Parquet, Feather, JSON Lines or Excel file (file.xlsx::Sheet), SQLite or DuckDB "
        "table or query (file.db::TABLE); also several files, a folder or a URL. - is standard "
        "input.",
    ),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="File written by `mixpul fit` or `mixpul fit-images`."),
]
LabelOption = Annotated[str, typer.Option(help="Column that says which rows are known positives.")]
PositiveOption = Annotated[
    str | None,
    typer.Option(
        help="Its value that means labeled positive; by default 1, true, yes and the like."
    ),
]
MissingLabelOption = Annotated[
    bool, typer.Option("--missing-is-unlabeled", help="A missing label means unlabeled.")
]
IdOption = Annotated[str | None, typer.Option("--id", help="Column that names the rows.")]
MaxRowsOption = Annotated[
    int | None,
    typer.Option(
        min=100,
        help="Most rows to learn from; of a larger table a random sample is taken. By default "
        "250,000, and fewer if there are more than 100 columns.",
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on standard output.")
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Dask scheduler whose workers do the work, such as tcp://10.0.0.1:8786.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the method, such as n_jobs=2 or candidates=trees,logistic-0.1; may be "
        "given several times.",
    ),
]
# Any, here and below: a parser turns the text of the default into a value of another type.
ThresholdOption = Annotated[
    Any,
    typer.Option(
        metavar="THRESHOLD",
        parser=parse_threshold,
        help="Score above which a row counts as positive: a number, prior (flags as many rows as "
        "there are positives, by the class prior), f1 (the best F1), recall>=0.9 (finds at least "
        "90 % of the positives, with 95 % confidence), or recall=0.9 (finds about 90 %).",
    ),
]

# -- groups ---------------------------------------------------------------------------------


class TableOptions(NamedTuple):
    """The columns of a table to learn from: the label, the name of a row, and the others."""

    label: LabelOption
    positive: PositiveOption = None
    negative: Annotated[
        str | None,
        typer.Option(help="Its value that means verified negative, if it has one."),
    ] = None
    missing_is_unlabeled: MissingLabelOption = False
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUEUE",
            help="Queue of `mixpul review` with verdicts: rows answered no are verified negatives; "
            "may be given several times.",
        ),
    ] = None
    id_column: IdOption = None
    drop: Annotated[Any, names_option("Columns to leave out.")] = ""
    keep: Annotated[Any, names_option("Columns to use even if they look like ids.")] = ""
    categorical: Annotated[Any, names_option("The former --category, for a list of columns.")] = ""
    number: Annotated[list[str] | None, column_option("Column to take as numbers")] = None
    category: Annotated[
        list[str] | None, column_option("Column to take as categories, such as codes")
    ] = None
    date: Annotated[list[str] | None, column_option("Column to take as dates")] = None
    text: Annotated[list[str] | None, column_option("Column to take as free text")] = None
    date_order: Annotated[
        DateOrder | None,
        typer.Option(
            help="How dates such as 04/03/2018 are written; by default each column tells.",
            rich_help_panel=COLUMNS,
        ),
    ] = None

    def list_kinds(self) -> dict[str, list[str]]:
        """Return the columns that are asked to be something, by what they are to be."""
        return {
            kind: list(getattr(self, kind) or ()) for kind in ("number", "category", "date", "text")
        }


class Weighing(NamedTuple):
    """How much rows count."""

    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says how much each row counts among labeled positives, or among "
            "unlabeled rows; it is not learned from.",
        ),
    ] = None
    propensity: Annotated[
        Any,
        names_option(
            "Columns that decide which positives get labeled: the rarer its kind is labeled, the "
            "more a labeled positive counts."
        ),
    ] = ""


class KnownPrior(NamedTuple):
    """The class prior, where a user knows it."""

    prior: Annotated[
        float | None,
        typer.Option(
            help="Share of positives among the unlabeled, if you know it: bounds become estimates.",
            callback=check_prior_option,
        ),
    ] = None
    prior_interval: Annotated[
        Any,
        typer.Option(
            metavar="LOW,HIGH",
            parser=parse_interval,
            help="Shares between which it lies, such as 0.03,0.06.",
        ),
    ] = ""


class LabelOptions(NamedTuple):
    """The label column of the table; what was said at the fit need not be said again."""

    label: Annotated[
        str | None, typer.Option(help="Column of known positives; by default that of the fit.")
    ] = None
    positive: PositiveOption = None
    missing_is_unlabeled: MissingLabelOption = False

    def fill_from(self, info: Mapping[str, Any]) -> "FilledLabel":
        """Take what was not said from the label column of the fit, if it is the same one."""
        label = self.label or info.get("label")
        if label is None:
            raise typer.BadParameter("The model file does not name a label column; give --label.")
        # Another column may mark its positives by another value.
        of_fit = info if label == info.get("label") else {}
        return FilledLabel(
            label,
            of_fit.get("positive") if self.positive is None else self.positive,
            self.missing_is_unlabeled or of_fit.get("missing_is_unlabeled", False),
            _find_kind(of_fit.get("positive")),
            of_fit.get("negative"),
        )


class FilledLabel(NamedTuple):
    """The label column, its values, and how to read it; verified negatives may have one, too."""

    column: str
    positive: Any
    missing_is_unlabeled: bool
    kind: str
    negative: Any = None


def _find_kind(positive: Any) -> str:
    """Return what kind of column has this value for labeled positives."""
    # Before numbers: in Python a bool is an int.
    if isinstance(positive, bool):
        return "boolean"
    return "number" if isinstance(positive, int | float) else "text"


READING = "How CSV files are written"


class Reading(NamedTuple):
    """How CSV files are written, as far as the user has said it."""

    delimiter: Annotated[
        str | None,
        typer.Option(
            help="What separates the cells; detected by default.", rich_help_panel=READING
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Text encoding; guessed by default.", rich_help_panel=READING)
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="Decimal sign, by default a point.", rich_help_panel=READING)
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="A cell that stands for a missing value; may be given several times.",
            rich_help_panel=READING,
        ),
    ] = None

    def to_arguments(self) -> dict[str, Any]:
        """Return what was said, as arguments of `read_table` and `stream_table`."""
        return {name: value for name, value in self._asdict().items() if value}

    def fill_from(self, fitted: Mapping[str, Any]) -> "Reading":
        """Take what was not said from the way the table of the fit was read."""
        known = {name: fitted[name] for name in self._fields if name in fitted}
        return Reading(**{**known, **self.to_arguments()})


class FitOutputs(NamedTuple):
    """What becomes of a fit."""

    model: Annotated[Path, typer.Option("-o", "--out", help="The model file to write.")] = Path(
        "model.mixpul"
    )
    report: Annotated[Path | None, typer.Option(help="Also write a report: one HTML page.")] = None
    force: ForceOption = False
    as_json: JsonOption = False

    def list_files(self) -> list[Path]:
        """Return the files to write."""
        return [self.model] if self.report is None else [self.model, self.report]


class ScoreOutputs(NamedTuple):
    """What becomes of scores."""

    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", help="File to write (.parquet, .feather, .csv); - is standard output."
        ),
    ]
    threshold: ThresholdOption = None
    probability: Annotated[
        bool,
        typer.Option(
            "--probability",
            help="Add a column with the probability of being positive, by the class prior.",
        ),
    ] = False
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="For --probability: share of positives among the unlabeled rows; by default that "
            "of the model.",
        ),
    ] = None
    force: ForceOption = False
    as_json: JsonOption = False


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its groups as options of their own.

    Examples
    --------
    >>> def show(table: str, reading: Reading) -> None: ...
    >>> list(inspect.signature(expand_groups(show)).parameters)
    ['table', 'delimiter', 'encoding', 'decimal', 'missing']
    """
    declared = inspect.signature(command).parameters
    # NamedTuple is not a real base class, so `issubclass` cannot ask for it; `_fields` can.
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in declared.items()
        if hasattr(parameter.annotation, "_fields")
    }
    options: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        if name in groups:
            options += inspect.signature(groups[name]).parameters.values()
        else:
            options.append(parameter)

    @wraps(command)
    def run(**typed: Any) -> None:
        if isinstance(typed.get("table"), list) and len(typed["table"]) == 1:
            (typed["table"],) = typed["table"]
        for name, group in groups.items():
            typed[name] = group(**{field: typed.pop(field) for field in group._fields})
        command(**typed)

    # By keyword, so that those without a default may follow those with one.
    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    # Typer reads these as well, and `wraps` has copied those of the command, with its groups.
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run
