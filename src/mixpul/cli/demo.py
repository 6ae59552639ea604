"""`mixpul demo`: six classifiers on a bundled PU data set, a leaderboard, a chart, a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from mixpul.cli._messages import escape, format_weights

if TYPE_CHECKING:
    from mixpul.cli._demo_rivals import Mails, Portfolio, Result

__all__ = ["demo"]

TWO_AUCS = (
    "AUC needs the true labels of the test mails, which a user of PU learning does not have. "
    "PU-AUC ranks labeled positives against unlabeled rows, out of fold: it is what a user "
    "sees. Both put the methods in the same order when the labeled positives are a random "
    "draw of all positives."
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the chart and the report.")] = Path(
        "mixpul-demo"
    ),
    c: Annotated[
        float, typer.Option(help="Share of the positives that are labeled, in (0, 1].")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the training.")] = 0,
) -> None:
    """Compare the portfolio, MixPUL and rivals on a bundled spam data set, and write a report.

    Example: [bold]mixpul demo --c 0.01 --out /tmp/spam[/bold]
    """
    # Imported here: torch and scikit-learn take seconds, --help should not.
    from mixpul.cli import _demo_rivals as rivals

    console = Console()
    mails = rivals.load_mails(c, seed)
    out.mkdir(parents=True, exist_ok=True)  # better to fail before the work than after
    console.print(_describe(mails))
    portfolio = rivals.fit_portfolio(mails, seed)
    others = rivals.make_models(seed).items()
    results = [rivals.judge(name, model, mails, seed) for name, model in others]
    console.print(_draw_leaderboard([portfolio.result, *results]))
    if portfolio.assessment:
        console.print(f"AutoPU weighed: {format_weights(portfolio.assessment.leaderboard)}")
    console.print(TWO_AUCS)
    console.print(_write_report(portfolio, out / "report.html"))
    console.print(_write_chart(portfolio, mails, out / "demo.png"))


def _describe(mails: "Mails") -> str:
    pu = mails.pu
    return (
        f"[bold]spambase[/bold]: {pu.s.sum()} mails labeled spam, {(pu.s == 0).sum()} unlabeled "
        f"of which {pu.prior:.0%} are spam too; {len(mails.y_test)} mails to test on."
    )


def _draw_leaderboard(results: "list[Result]") -> Table:
    table = Table(title="Leaderboard")
    table.add_column("method")
    table.add_column("AUC\nhidden truth", justify="right")
    table.add_column("PU-AUC\nout of fold", justify="right")
    table.add_column("seconds", justify="right")
    # The portfolio comes first, it is what we advise; then the others, the best first.
    portfolio, *others = results
    ranked = [portfolio, *sorted(others, key=lambda result: -result.auc)]
    for result in ranked:
        table.add_row(
            result.method,
            f"{result.auc:.3f}",
            f"{result.pu_auc.value:.3f} ± {result.pu_auc.se:.3f}",
            f"{result.seconds:.1f}",
            style="bold" if result is ranked[0] else None,
        )
    return table


def _write_chart(portfolio: "Portfolio", mails: "Mails", path: Path) -> str:
    """Write the chart; return a line that says where it is, or how to get one."""
    from mixpul._util.files import write_whole
    from mixpul.cli._demo_chart import draw_chart

    try:
        chart = draw_chart(portfolio, mails)
    except ImportError:
        return escape("No chart: it needs matplotlib; pip install 'mixpul[plots]'.")
    write_whole(path, chart)
    return f"Chart: {escape(path)}"


def _write_report(portfolio: "Portfolio", path: Path) -> str:
    """Write the page of `mixpul fit` for these mails, as if they were a user's own table."""
    if portfolio.assessment is None:
        return escape("No report: it needs pandas; pip install 'mixpul[tables]'.")
    from mixpul._util.files import write_whole
    from mixpul.pages import render_fit_page

    write_whole(path, render_fit_page(portfolio.assessment.to_dict()).encode())
    return f"Report, with a threshold to move: {escape(path)}"
