"""What a model file may note of its fit: whoever goes on with it can rely on the types.

Files by `mixpul.save` may note anything else as well; that is let be.
"""

from typing import Any

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import (
    Anything,
    Flag,
    ListOf,
    MapOf,
    Maybe,
    Number,
    Record,
    Scalar,
    Text,
    check_value,
)

__all__ = ["COUNT", "ESTIMATE", "PRIOR", "check_notes"]

COUNT, NUMBER = Number(0, whole=True), Maybe(Number())
NUMBERS = ListOf(Number(), least=1)
ESTIMATE = Record({"value": NUMBER, "low": NUMBER, "high": NUMBER})
# Files of earlier versions have an estimate.
PRIOR = Record(
    {},
    {"source": Text(), "upper": Number(), "value": Number(), "low": NUMBER, "high": NUMBER},
)
ASSESSMENT = Record(
    {"rows": COUNT, "positives": COUNT, "pu_auc": ESTIMATE, "prior": PRIOR},
    {
        "unlabeled": COUNT,
        "negatives": COUNT,
        "corrected_auc": Record({"value": Number()}, {"kind": Text(), "low": NUMBER}),
        "checks": MapOf(Text()),
        "warnings": ListOf(Text()),
    },
)
THRESHOLDS = Record(
    {
        "suggested": MapOf(Number()),
        "threshold": NUMBERS,
        "recall": NUMBERS,
        "flagged": NUMBERS,
    },
    {"lowest": Record({"positives": COUNT, "depth": ListOf(COUNT), "score": ListOf(Number())})},
)
NOTES = Record(
    {},
    {
        "label": Maybe(Text()),
        "positive": Maybe(Scalar()),
        "negative": Maybe(Scalar()),
        "missing_is_unlabeled": Flag(),
        "weight": Maybe(Text()),
        "id": Maybe(Text()),
        "dropped": ListOf(Text()),
        "columns": ListOf(Text()),
        "reading": Record(
            {},
            {
                "delimiter": Maybe(Text()),
                "encoding": Maybe(Text()),
                "decimal": Text(),
                "missing": ListOf(Text()),
            },
        ),
        "fingerprint": Maybe(Text()),
        "seed": Maybe(Number(whole=True)),
        "versions": MapOf(Text()),
        "assessment": ASSESSMENT,
        "thresholds": THRESHOLDS,
        "pictures": Record({"size": Number(1, whole=True), "odd": Text()}, {"features": Text()}),
        # Both are checked where they are used.
        "sample": MapOf(Anything()),
        "summary": MapOf(Anything()),
    },
)


# Of a fit that tells bounds from estimates, and of one that took a sample of the rows.
WITH_SOURCE = Record(
    {
        "unlabeled": COUNT,
        "prior": Record({"value": Number(), "upper": Number()}),
        "corrected_auc": Record({"kind": Text(), "value": Number()}),
    }
)
OF_SAMPLE = Record({"label": Text(), "positive": Scalar(), "missing_is_unlabeled": Flag()})


def check_notes(info: dict[str, Any]) -> dict[str, Any]:
    """Return what a model file notes of its fit; raise `DamagedFile` if no fit notes this."""
    try:
        check_value(info, NOTES)
        if "source" in info.get("assessment", {}).get("prior", {}):
            check_value(info["assessment"], WITH_SOURCE, "assessment")
        if "sample" in info:
            check_value(info, OF_SAMPLE)
        curves: dict[str, Any] = info.get("thresholds", {})
        _check_lengths(curves, "threshold", "recall", "flagged")
        _check_lengths(curves.get("lowest", {}), "depth", "score")
    except DamagedFile as error:
        raise DamagedFile(
            f"What the model file notes of its fit is not what `mixpul fit` notes: {error} Fit the "
            "model again."
        ) from error
    return info


def _check_lengths(curves: dict[str, Any], *names: str) -> None:
    if len({len(curves[name]) for name in names if name in curves}) > 1:
        raise DamagedFile(f"its lists of {' and '.join(names)} are not of one length.")
