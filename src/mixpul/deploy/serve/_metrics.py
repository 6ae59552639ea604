"""What a server counts, for Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Counts"]

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
SCORES = tuple(k / 10 for k in range(1, 11))


class Counts:
    """Counters of one server; they hold no values of rows but their scores."""

    def __init__(self, model: dict[str, str]) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        # Of its own: two servers in one process would count together.
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self._requests = Counter(
            "mixpul_requests", "Requests by path and status code.", ["path", "status"], **own
        )
        self._rows = Counter("mixpul_rows", "Rows that were scored.", **own)
        self._flagged = Counter("mixpul_flagged", "Rows above the threshold.", **own)
        self._seconds = Histogram(
            "mixpul_scoring_seconds", "Seconds to score a request.", buckets=SECONDS, **own
        )
        self._scores = Histogram("mixpul_scores", "Scores of rows.", buckets=SCORES, **own)
        gauge = Gauge("mixpul_model_info", "The model that is served.", list(model), **own)
        gauge.labels(**model).set(1)

    def count_request(self, path: str, status: int) -> None:
        """Count a request; `path` is one of those that are served, or 'other'."""
        self._requests.labels(path=path, status=str(status)).inc()

    def count_rows(self, scores: Any, predicted: Any) -> None:
        """Count rows that were scored."""
        self._rows.inc(len(scores))
        self._flagged.inc(int(predicted.sum()))
        for score in scores.tolist():
            self._scores.observe(score)

    @contextmanager
    def time_scoring(self) -> Iterator[None]:
        """Measure how long the block takes."""
        with self._seconds.time():
            yield

    def write(self) -> tuple[bytes, str]:
        """Return all counts as text, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self.registry), CONTENT_TYPE_LATEST
