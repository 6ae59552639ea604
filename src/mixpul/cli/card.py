"""`mixpul card`: a model card in Markdown."""

from pathlib import Path
from typing import Annotated

import typer

from mixpul.cli.options import ForceOption, ModelArgument

__all__ = ["card"]


def card(
    model: ModelArgument,
    *,
    out: Annotated[
        str, typer.Option("-o", "--out", help="The Markdown file to write; - is standard output.")
    ] = "-",
    name: Annotated[
        str | None, typer.Option(help="What to call the model; by default the name of the file.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a model card: what the model is, its data, figures, thresholds, columns and limits.

    Example: [bold]mixpul card model.mixpul -o card.md[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul._util.files import write_whole
    from mixpul.cli._outputs import check_outputs, explain_full_disk
    from mixpul.deploy import make_card

    if out != "-":
        check_outputs([Path(out)], [str(model)], force)
    page = make_card(model, name=name)
    if out == "-":
        print(page, end="")
        return
    with explain_full_disk(repr(out)):
        write_whole(out, page.encode())
    print(f"Card: {out}")
