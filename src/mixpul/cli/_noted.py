"""What a model file may note of its fit, for those who show it.

Apart from `inspect`, because the validator needs numpy, which `--help` should not wait for.
"""

from typing import Any

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import (
    Anything,
    ListOf,
    MapOf,
    Maybe,
    Number,
    Record,
    Spec,
    Text,
    check_value,
)
from mixpul.persistence.notes import COUNT, ESTIMATE, PRIOR
from mixpul.persistence.samples import SAMPLE

__all__ = ["is_leaderboard", "is_noted_by_fit", "is_of_images"]

OF_FIT = Record(
    {
        "assessment": Record(
            {"rows": COUNT, "positives": COUNT, "pu_auc": ESTIMATE, "prior": PRIOR},
            {"negatives": COUNT},
        ),
        "seed": Anything(),
        "thresholds": Record({"suggested": MapOf(Number())}),
        "fingerprint": Maybe(Text()),
    },
    {"sample": SAMPLE, "pictures": Maybe(Record({"size": COUNT, "odd": Text()}))},
)
LEADERBOARD = ListOf(
    Record(
        {"candidate": Text()}
        | dict.fromkeys(
            ("pu_auc", "standard_error", "difference", "difference_error", "weight"), Number()
        )
    )
)


def is_noted_by_fit(info: Any) -> bool:
    """Whether all is there that `mixpul fit` notes, and is what it should be."""
    return _is_like(info, OF_FIT)


def is_of_images(info: Any) -> bool:
    """Whether a model was fitted on folders of images."""
    return _is_like(info, Record({"pictures": Record({"size": COUNT, "odd": Text()})}))


def is_leaderboard(found: Any) -> bool:
    """Whether a value is the leaderboard of a portfolio."""
    return _is_like(found, LEADERBOARD)


def _is_like(value: Any, spec: Spec) -> bool:
    try:
        check_value(value, spec)
    except DamagedFile:
        return False
    return True
