"""The command line: `mixpul --help`."""

import csv
import errno
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Learn from rows labeled positive and unlabeled rows.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; bad input is one sentence on standard error, never a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone, as `head` does; Python would complain again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, OSError, ImportError) as error:
        # Files of ours that do not fit are named where they are written.
        is_full = getattr(error, "errno", None) == errno.ENOSPC
        sentence = "Standard output cannot be written: no space is left." if is_full else error
        print(f"mixpul: {sentence}", file=sys.stderr)
        sys.exit(1)


def show_version(asked: bool) -> None:
    if asked:
        from mixpul import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn from rows labeled positive and unlabeled rows."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the report.")] = Path(
        "mixpul-demo"
    ),
    c: Annotated[
        float, typer.Option(help="Share of the positives that are labeled, in (0, 1].")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the training.")] = 0,
) -> None:
    """Compare MixPUL with rivals on a bundled spam data set, and write a report.

    Example: [bold]mixpul demo --c 0.01 --out /tmp/spam[/bold]
    """
    # Imported here: torch and scikit-learn take seconds, --help should not.
    from mixpul.cli.demo import run

    run(out, c, seed)


class Preset(StrEnum):
    """Keys of `paper.PRESETS`."""

    paper = "paper"
    cpu = "cpu"


@app.command()
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="uci, mnist, cifar10, rn-mining, prior-error, mixup-ablation, margin-ablation "
            "or all."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path("results"),
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of runs, each with a seed of its own.", show_default=False
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    only: Annotated[
        str, typer.Option(help="Trials to keep, such as method=nnPU,method=MixPUL,c=0.1")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data sets that are not bundled.",
            envvar="MIXPUL_DATA",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many trials are done and left; run none.")
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler to run the trials on.", show_default=False),
    ] = None,
    pack: Annotated[
        bool, typer.Option("--pack", help="Gather the results into one file per target at the end.")
    ] = False,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="How CIFAR-10 is learned: paper, as published, for a GPU; cpu, a small network, "
            "for minutes. By default whichever the machine is made for.",
            show_default=False,
        ),
    ] = None,
    subset: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Train and test on so many rows only; no report counts it.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Train so long only; no report counts it.", show_default=False),
    ] = None,
) -> None:
    """Run a table or figure of the paper; stopped at any moment, it goes on where it stopped.

    Example: [bold]mixpul reproduce uci --only dataset=titanic --runs 3 --jobs 2[/bold]
    """
    from mixpul.paper.reproduce import reproduce as run

    failures = run(
        target,
        out,
        runs=runs,
        jobs=jobs,
        only=only,
        data=data,
        dry_run=dry_run,
        scheduler=scheduler,
        pack=pack,
        preset=preset and preset.value,
        shortened={k: v for k, v in {"subset": subset, "epochs": epochs}.items() if v is not None},
    )
    if failures:
        raise typer.Exit(1)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="Folder of results of `mixpul reproduce`.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write.")] = Path(
        "report.html"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables as Markdown.", show_default=False)
    ] = None,
) -> None:
    """Turn results into one page: the paper's tables and figures, our numbers beside them.

    Example: [bold]mixpul report results -o report.html[/bold]
    """
    from mixpul.paper.results import write_report

    write_report(results, out, markdown)
    print(f"Page: {out}")


# -- a user's own table ---------------------------------------------------------------------


class Method(StrEnum):
    """Names of the methods; those of `assess.METHODS`, which take seconds to import."""

    mixpul = "mixpul"
    nnpu = "nnpu"
    upu = "upu"
    ramp = "ramp"
    pnu = "pnu"
    wsvm = "wsvm"
    supervised = "supervised"
    vpu = "vpu"
    bagging = "bagging"


TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="CSV, Parquet or Feather file; - is standard input.")
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Written by `mixpul fit` or `mixpul fit-images`.")
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


def names(text: str) -> list[str]:
    """Names with commas between them; one that holds a comma goes in double quotes."""
    cells = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in cells if name.strip()]


def names_option(about: str) -> Any:
    return typer.Option(metavar="A,B", parser=names, help=about)


# Any: the parser takes the default, which is text, and gives a list.
DropOption = Annotated[Any, names_option("Columns to leave out.")]
KeepOption = Annotated[Any, names_option("Columns to use even if they look like ids.")]
CategoricalOption = Annotated[Any, names_option("Columns of numbers that are codes.")]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on standard output.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the method, such as n_epochs=10; may be given several times.",
    ),
]
ModelOption = Annotated[Path, typer.Option("-o", "--out", help="The model file to write.")]
ReportOption = Annotated[
    Path | None, typer.Option(help="Also write a page (HTML) to look at and to show.")
]
ScoresOption = Annotated[
    str,
    typer.Option(
        "-o", "--out", help="File to write (.parquet, .feather, .csv); - is standard output."
    ),
]
ThresholdOption = Annotated[
    str | None,
    typer.Option(
        metavar="CUT",
        help="Score above which one is called positive: a number, prior (as many as there "
        "should be positives), or recall=0.9.",
    ),
]
READING = "How CSV files are written"
DelimiterOption = Annotated[
    str | None, typer.Option(help="Found out by default.", rich_help_panel=READING)
]
EncodingOption = Annotated[
    str | None, typer.Option(help="By default utf-8.", rich_help_panel=READING)
]
DecimalOption = Annotated[
    str | None, typer.Option(help="Decimal sign, by default a point.", rich_help_panel=READING)
]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A cell that stands for a missing value; may be given several times.",
        rich_help_panel=READING,
    ),
]


def own_module(declared: Callable[..., None]) -> Callable[..., None]:
    """Run the function of the same name in the module of that name with what was typed."""

    @wraps(declared)
    def run(**typed: Any) -> None:
        # Imported here: it takes seconds, --help should not.
        name = declared.__name__
        getattr(import_module(f"mixpul.cli.{name}"), name)(**typed)

    return run


@app.command()
@own_module
def fit(
    table: TableArgument,
    label: LabelOption,
    positive: PositiveOption = None,
    missing_is_unlabeled: MissingLabelOption = False,
    id_column: IdOption = None,
    drop: DropOption = "",
    keep: KeepOption = "",
    categorical: CategoricalOption = "",
    method: Annotated[Method, typer.Option(help="How to learn.")] = Method.mixpul,
    settings: SetOption = None,
    seed: SeedOption = 0,
    out: ModelOption = Path("model.mixpul"),
    report: ReportOption = None,
    force: ForceOption = False,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from a table of known positives and unlabeled rows; say how good it is.

    Example: [bold]mixpul fit leads.csv --label bought --id customer --report leads.html[/bold]
    """


@app.command()
@own_module
def compare(
    table: TableArgument,
    label: LabelOption,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder of results; a stopped run goes on there.")
    ],
    positive: PositiveOption = None,
    missing_is_unlabeled: MissingLabelOption = False,
    id_column: IdOption = None,
    drop: DropOption = "",
    keep: KeepOption = "",
    categorical: CategoricalOption = "",
    methods: Annotated[Any, names_option(f"Some of {', '.join(Method)}; or all.")] = "all",
    folds: Annotated[int, typer.Option(min=2, help="Every method is fitted once per fold.")] = 5,
    seed: SeedOption = 0,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rank methods on the same folds of a table; recommend one and say how sure that is.

    Example: [bold]mixpul compare leads.csv --label bought --methods mixpul,nnpu -o methods[/bold]
    """


@app.command()
@own_module
def predict(
    model: ModelArgument,
    table: TableArgument,
    out: ScoresOption,
    id_column: IdOption = None,
    threshold: ThresholdOption = None,
    force: ForceOption = False,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a table of any size: columns `score` and `predicted`, in the order of the rows.

    Example: [bold]mixpul predict model.mixpul new.csv -o scores.csv --threshold recall=0.9[/bold]
    """


@app.command()
@own_module
def evaluate(
    model: ModelArgument,
    table: TableArgument,
    label: Annotated[
        str | None,
        typer.Option(help="Column of known positives; by default that of the fit."),
    ] = None,
    positive: PositiveOption = None,
    missing_is_unlabeled: MissingLabelOption = False,
    truth: Annotated[
        str | None,
        typer.Option(help="Column of the true classes, to compare with; gaps are not known."),
    ] = None,
    truth_positive: Annotated[
        str | None, typer.Option(help="Its value that means positive.")
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Share of positives among the unlabeled rows; by default estimated."),
    ] = None,
    threshold: ThresholdOption = None,
    seed: SeedOption = 0,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a model by a table it has not seen, without negatives or with the truth.

    Example: [bold]mixpul evaluate model.mixpul later.csv --label bought --truth interested[/bold]
    """


@app.command()
@own_module
def prior(
    table: TableArgument,
    label: LabelOption,
    positive: PositiveOption = None,
    missing_is_unlabeled: MissingLabelOption = False,
    id_column: IdOption = None,
    drop: DropOption = "",
    keep: KeepOption = "",
    categorical: CategoricalOption = "",
    estimators: Annotated[
        Any, names_option("Some of bbe, dedpul, tice, km, pen-l1, elkan-noto; or all.")
    ] = "all",
    seed: SeedOption = 0,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the share of positives among the unlabeled rows in several ways.

    Example: [bold]mixpul prior leads.csv --label bought --estimators bbe,dedpul[/bold]
    """


@app.command()
@own_module
def inspect(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what is in a model file, without running anything from it.

    Example: [bold]mixpul inspect model.mixpul --json[/bold]
    """


# -- a user's own pictures ------------------------------------------------------------------


class PictureMethod(StrEnum):
    """Names of the methods; those of `assess._scores.PICTURE_METHODS`."""

    mixpul = "mixpul"
    nnpu = "nnpu"
    upu = "upu"
    vpu = "vpu"


class PictureNet(StrEnum):
    """Convolutional networks in `nets.NETS`."""

    small_conv = "small-conv"
    allconv13 = "allconv13"


class Odd(StrEnum):
    """What to do with pictures of another size."""

    resize = "resize"
    skip = "skip"


@app.command()
@own_module
def fit_images(
    positive: Annotated[
        Path, typer.Argument(metavar="POSITIVE", help="Folder of pictures known to be positive.")
    ],
    unlabeled: Annotated[
        Path, typer.Argument(metavar="UNLABELED", help="Folder of pictures nobody has labeled.")
    ],
    size: Annotated[
        int, typer.Option(min=8, help="Height and width in pixels to learn from.")
    ] = 32,
    odd: Annotated[
        Odd, typer.Option(help="What to do with pictures of another size.")
    ] = Odd.resize,
    method: Annotated[PictureMethod, typer.Option(help="How to learn.")] = PictureMethod.mixpul,
    net: Annotated[
        PictureNet, typer.Option(help="Network; allconv13 is large, made for a GPU.")
    ] = PictureNet.small_conv,
    settings: SetOption = None,
    seed: SeedOption = 0,
    out: ModelOption = Path("model.mixpul"),
    report: ReportOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn from a folder of known positives and one of unlabeled pictures; say how good it is.

    Example: [bold]mixpul fit-images cats photos -o cats.mixpul --report cats.html[/bold]
    """


@app.command()
@own_module
def predict_images(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Pictures to score.")],
    out: ScoresOption,
    threshold: ThresholdOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score a folder of pictures of any size: columns `picture`, `score` and `predicted`.

    Example: [bold]mixpul predict-images cats.mixpul more -o scores.csv --threshold prior[/bold]
    """
