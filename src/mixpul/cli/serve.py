"""`mixpul serve`: score rows over HTTP."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mixpul.cli.options import ModelArgument, ThresholdOption

__all__ = ["serve"]


class Most(NamedTuple):
    """How much a request may hold."""

    max_bytes: Annotated[int, typer.Option(min=1, help="Most bytes of a request.")] = 10_000_000
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows of a request.")] = 10_000
    max_cell: Annotated[int, typer.Option(min=1, help="Most characters of a text.")] = 10_000


def serve(
    model: ModelArgument,
    *,
    host: Annotated[
        str, typer.Option(help="Address to serve at; by default only this machine reaches it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    threshold: ThresholdOption = None,
    probability: Annotated[
        bool, typer.Option("--probability", help="Add the probability of being positive.")
    ] = False,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="For --probability: share of positives among the unlabeled rows; by default that "
            "of the model.",
        ),
    ] = None,
    most: Most,
) -> None:
    """Serve a model over HTTP: POST /score takes rows in JSON, /openapi.json says how.

    /health, /metrics (Prometheus) and /model tell the state. Ctrl-C stops it.

    Example: [bold]mixpul serve model.mixpul --port 8000 --threshold recall=0.9[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from threadpoolctl import threadpool_limits

    from mixpul.cli._messages import note
    from mixpul.deploy.serve import import_server, is_local, open_socket, run_server

    if prior is not None and not probability:
        raise typer.BadParameter("--prior has a meaning with --probability only; add that.")
    import_server()
    # The port first: a model may take seconds to load.
    with open_socket(host, port) as opened, threadpool_limits(1):
        app = _load_app(model, threshold, probability, prior, most)
        if not is_local(host):
            note(
                "warning: Others can reach this server, and it asks nobody for a password; put it "
                "behind a proxy that does, with TLS."
            )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{opened.getsockname()[1]}"
        run_server(app, opened, lambda: print(f"Serving {model} at {address}", flush=True))
    print("Stopped.", flush=True)


def _load_app(
    model: Path, threshold: float | str | None, probability: bool, prior: float | None, most: Most
) -> Any:
    """Return the web application of a model file."""
    from mixpul.cli._inputs import load_table_model
    from mixpul.cli._messages import speak_warnings
    from mixpul.cli._thresholds import find_threshold
    from mixpul.deploy.serve import Limits, make_app
    from mixpul.persistence import describe

    pipeline, info = load_table_model(model)
    with speak_warnings():
        return make_app(
            pipeline,
            name=model.stem,
            checksum=describe(model)["checksum"] or "",
            threshold=None if threshold is None else find_threshold(threshold, info),
            probability=probability,
            prior=prior,
            limits=Limits(*most),
        )
