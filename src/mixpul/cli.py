"""The command line: `mixpul --help`."""

import os
import sys
from enum import StrEnum
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
        print(f"mixpul: {error}", file=sys.stderr)
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
    from mixpul.demo import run

    run(out, c, seed)


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
) -> None:
    """Run a table or figure of the paper; stopped at any moment, it goes on where it stopped.

    Example: [bold]mixpul reproduce uci --only dataset=titanic --runs 3 --jobs 2[/bold]
    """
    from mixpul.reproduce import reproduce as run

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
    from mixpul.report import write_report

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
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Written by `mixpul fit`.")]
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
DropOption = Annotated[str, typer.Option(metavar="A,B", help="Columns to leave out.")]
KeepOption = Annotated[
    str, typer.Option(metavar="A,B", help="Columns to use even if they look like ids.")
]
CategoricalOption = Annotated[
    str, typer.Option(metavar="A,B", help="Columns of numbers that are codes.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on standard output.")
]
ThresholdOption = Annotated[
    str | None,
    typer.Option(
        metavar="CUT",
        help="Score above which a row is called positive: a number, prior (as many rows as there "
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


def reading(
    delimiter: str | None, encoding: str | None, decimal: str | None, missing: list[str] | None
) -> dict[str, Any]:
    return {
        "delimiter": delimiter, "encoding": encoding, "decimal": decimal, "missing": missing or []
    }  # fmt: skip


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@app.command()
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
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method."),
    ] = None,
    seed: SeedOption = 0,
    out: Annotated[Path, typer.Option("-o", "--out", help="The model file to write.")] = Path(
        "model.mixpul"
    ),
    report: Annotated[
        Path | None, typer.Option(help="Also write a page (HTML) to look at and to show.")
    ] = None,
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
    from mixpul import table_commands

    table_commands.fit(
        table,
        label,
        positive=positive,
        missing_is_unlabeled=missing_is_unlabeled,
        id_column=id_column,
        drop=names(drop),
        keep=names(keep),
        categorical=names(categorical),
        method=method.value,
        settings=settings or [],
        seed=seed,
        out=out,
        report=report,
        force=force,
        reading=reading(delimiter, encoding, decimal, missing),
        as_json=as_json,
    )


@app.command()
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
    methods: Annotated[
        str, typer.Option(metavar="A,B", help=f"Some of {', '.join(Method)}; or all.")
    ] = "all",
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
    from mixpul import table_commands

    table_commands.compare(
        table,
        label,
        positive=positive,
        missing_is_unlabeled=missing_is_unlabeled,
        id_column=id_column,
        drop=names(drop),
        keep=names(keep),
        categorical=names(categorical),
        methods=names(methods),
        n_folds=folds,
        seed=seed,
        out=out,
        reading=reading(delimiter, encoding, decimal, missing),
        as_json=as_json,
    )


@app.command()
def predict(
    model: ModelArgument,
    table: TableArgument,
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", help="File to write (.parquet, .feather, .csv); - is standard output."
        ),
    ],
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
    from mixpul import table_commands

    table_commands.predict(
        model,
        table,
        out=out,
        id_column=id_column,
        threshold=threshold,
        force=force,
        reading=reading(delimiter, encoding, decimal, missing),
        as_json=as_json,
    )


@app.command()
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
        str | None, typer.Option(help="Column of the true classes, to compare with.")
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
    from mixpul import table_commands

    table_commands.evaluate(
        model,
        table,
        label=label,
        positive=positive,
        missing_is_unlabeled=missing_is_unlabeled,
        truth=truth,
        truth_positive=truth_positive,
        prior=prior,
        threshold=threshold,
        seed=seed,
        reading=reading(delimiter, encoding, decimal, missing),
        as_json=as_json,
    )


@app.command()
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
        str, typer.Option(metavar="A,B", help="Some of bbe, dedpul, tice, km, pen-l1, elkan-noto.")
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
    from mixpul import table_commands

    table_commands.prior(
        table,
        label,
        positive=positive,
        missing_is_unlabeled=missing_is_unlabeled,
        id_column=id_column,
        drop=names(drop),
        keep=names(keep),
        categorical=names(categorical),
        estimators=names(estimators),
        seed=seed,
        reading=reading(delimiter, encoding, decimal, missing),
        as_json=as_json,
    )


@app.command()
def inspect(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what is in a model file, without running anything from it.

    Example: [bold]mixpul inspect model.mixpul --json[/bold]
    """
    from mixpul import table_commands

    table_commands.inspect(model, as_json=as_json)
