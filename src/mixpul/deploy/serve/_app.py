"""The web application: scores, health, metrics and what the model takes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.pipeline import Pipeline

import mixpul
from mixpul.deploy.serve._metrics import Counts
from mixpul.deploy.serve._rows import BadRequest, Limits, describe_request, make_frame, read_rows
from mixpul.tables.scoring import make_calibrator

__all__ = ["import_server", "make_app"]

PATHS = ("/score", "/health", "/metrics", "/model")
# A client that sends its rows more slowly than this keeps a place that others need.
SECONDS_TO_SEND = 30
SENTENCE = {
    "type": "object",
    "properties": {"detail": {"type": "string"}},
    "required": ["detail"],
}


def import_server() -> tuple[Any, Any]:
    """Return the packages fastapi and uvicorn, or say how to get them."""
    try:
        import fastapi
        import prometheus_client  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise ImportError(
            "Models are served by FastAPI and uvicorn: pip install 'mixpul[serve]'."
        ) from error
    return fastapi, uvicorn


def make_app(
    model: Pipeline,
    *,
    name: str = "model",
    checksum: str = "",
    threshold: float | None = None,
    probability: bool = False,
    prior: float | None = None,
    limits: Limits | None = None,
) -> Any:
    """Make a web application that scores rows: `POST /score`, `/model`, `/health` and `/metrics`.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline of `tables.TableInput` and a classifier.
    name, checksum : str
        What to call the model, and the checksum of its file; health and metrics show them.
    threshold : float, optional
        Score above which a row is predicted positive; by default as `predict` decides.
    probability : bool, default=False
        Whether to add probabilities.
    prior : float, optional
        The class prior for probabilities; by default the one that the model has.
    limits : Limits, optional
        How much a request may hold: bytes, rows, and characters of a cell.

    Returns
    -------
    fastapi.FastAPI

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from mixpul import LogisticPUClassifier
    >>> from mixpul.deploy import make_app
    >>> from mixpul.tables import TableInput
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0] * 10})
    >>> model = make_pipeline(TableInput(), LogisticPUClassifier(random_state=0))
    >>> app = make_app(model.fit(table, table["size"] == 9))
    >>> "/score" in app.openapi()["paths"]
    True
    """
    fastapi, _ = import_server()
    limits = limits or Limits()
    calibrate = make_calibrator(model[-1], prior) if probability else None
    about = _describe_model(model, name, checksum, threshold, probability, limits)
    counts = Counts({"name": name, "checksum": checksum, "version": mixpul.__version__})
    pool = _make_pool()

    @asynccontextmanager
    async def close_pool(_: Any) -> AsyncIterator[None]:
        yield
        pool.shutdown(wait=True)

    app = fastapi.FastAPI(
        title=f"mixpul: {name}",
        version=mixpul.__version__,
        # Those pages would load scripts from elsewhere; /openapi.json is for tools.
        docs_url=None,
        redoc_url=None,
        lifespan=close_pool,
    )
    _count_requests(app, counts)
    _add_state(app, fastapi, about, counts)

    def score(body: bytes) -> dict[str, Any]:
        return _score_body(model, body, limits, threshold, calibrate, counts)

    async def answer(request: Any) -> Any:
        content, status = await _answer(request, limits, pool, score)
        return fastapi.responses.JSONResponse(content, status)

    # FastAPI finds the request by its type, which is not known before the import.
    answer.__annotations__ = {"request": fastapi.Request}
    app.post("/score", **_document_score(model, limits, probability))(answer)
    return app


async def _answer(
    request: Any, limits: Limits, pool: ThreadPoolExecutor, score: Callable[[bytes], dict[str, Any]]
) -> tuple[dict[str, Any], int]:
    """Return the content of an answer and its status."""
    try:
        body = await asyncio.wait_for(_read_body(request, limits), SECONDS_TO_SEND)
        return await asyncio.get_running_loop().run_in_executor(pool, score, body), 200
    except TimeoutError:
        return {"detail": "The rows took too long to arrive."}, 408
    except BadRequest as error:
        return {"detail": str(error)}, error.status


def _make_pool() -> ThreadPoolExecutor:
    """Make one thread for each core, in which torch uses no further ones."""
    import torch

    return ThreadPoolExecutor(cpu_count(), "score", torch.set_num_threads, (1,))


def _describe_model(
    model: Pipeline,
    name: str,
    checksum: str,
    threshold: float | None,
    probability: bool,
    limits: Limits,
) -> dict[str, Any]:
    return {
        "name": name,
        "class": type(model[-1]).__name__,
        "checksum": checksum,
        "version": mixpul.__version__,
        "threshold": 0.5 if threshold is None else threshold,
        "probability": probability,
        "columns": [{"name": plan["column"], "kind": plan["kind"]} for plan in model[0].plan_],
        "limits": limits._asdict(),
    }


def _count_requests(app: Any, counts: Counts) -> None:
    async def count(request: Any, proceed: Callable[[Any], Any]) -> Any:
        response = await proceed(request)
        path = request.url.path
        # Not the path as it was asked for: each would be a counter of its own.
        counts.count_request(path if path in PATHS else "other", response.status_code)
        return response

    app.middleware("http")(count)


def _add_state(app: Any, fastapi: Any, about: dict[str, Any], counts: Counts) -> None:
    """Add what tells the state of the server and the model."""

    async def health() -> dict[str, str]:
        return {"status": "ok", "model": about["name"], "checksum": about["checksum"]}

    async def show_model() -> dict[str, Any]:
        return about

    async def metrics() -> Any:
        content, kind = counts.write()
        return fastapi.Response(content, headers={"content-type": kind})

    app.get("/health", summary="Whether rows can be scored")(health)
    app.get("/model", summary="What the model is, and the columns it takes")(show_model)
    text = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    plain = fastapi.responses.PlainTextResponse
    describe = {"summary": "Counters for Prometheus", "responses": text, "response_class": plain}
    app.get("/metrics", **describe)(metrics)


async def _read_body(request: Any, limits: Limits) -> bytes:
    """Read a body up to the limit, whatever its header says of its length."""
    pieces, n_bytes = [], 0
    async for piece in request.stream():
        n_bytes += len(piece)
        if n_bytes > limits.bytes:
            raise BadRequest(
                f"The body is larger than {limits.bytes:,} bytes; send fewer rows at a time.", 413
            )
        pieces.append(piece)
    return b"".join(pieces)


def _score_body(
    model: Pipeline,
    body: bytes,
    limits: Limits,
    threshold: float | None,
    calibrate: Callable[[NDArray], NDArray] | None,
    counts: Counts,
) -> dict[str, Any]:
    """Score the rows of a body; what is wrong with them is one sentence."""
    frame = make_frame(read_rows(body, limits), model[0].plan_, limits)
    try:
        with counts.time_scoring():
            logits = model.decision_function(frame)
    # What a column holds is checked by the model, too: dates, say, and numbers in a style.
    except ValueError as error:
        raise BadRequest(str(error)) from error
    scores = expit(logits)
    predicted = np.asarray(logits > 0 if threshold is None else scores > threshold)
    counts.count_rows(scores, predicted)
    columns = {"score": scores.tolist(), "predicted": predicted.tolist()}
    if calibrate is not None:
        columns["probability"] = calibrate(logits).tolist()
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return {"rows": rows}


def _document_score(model: Pipeline, limits: Limits, probability: bool) -> dict[str, Any]:
    """Return what OpenAPI should say of `POST /score`."""
    share = {"type": "number", "minimum": 0, "maximum": 1}
    columns = {"score": share, "predicted": {"type": "boolean"}}
    columns |= {"probability": share} if probability else {}
    row = {"type": "object", "properties": columns, "required": list(columns)}
    scored = {"type": "array", "items": row}
    answer = {"type": "object", "properties": {"rows": scored}, "required": ["rows"]}
    request = {"application/json": {"schema": describe_request(model[0].plan_, limits)}}

    def tell(about: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"description": about, "content": {"application/json": {"schema": schema}}}

    return {
        "summary": "Score rows",
        "description": "Columns that the model does not use are ignored.",
        "responses": {
            200: tell("One entry for each row, in the same order", answer),
            408: tell("The rows took too long to arrive", SENTENCE),
            413: tell(f"More than {limits.bytes:,} bytes", SENTENCE),
            422: tell("Rows that cannot be scored; the sentence says why", SENTENCE),
        },
        "openapi_extra": {"requestBody": {"required": True, "content": request}},
    }
