"""Does anything but what images show tell the folders apart?"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.checks.verdicts import Check, Question
from mixpul.images import FileFacts
from mixpul.tables import Leak, leaks

__all__ = ["QUESTION", "check_file_facts", "list_leaks"]

QUESTION = Question(
    "files of one source", "Does the way images were taken or saved give the label away?"
)
# What a fact is called in a sentence; the surest ones to come from another source first.
NAMES = {
    "format": "format",
    "camera": "camera",
    "colours": "colour mode",
    "compression": "JPEG compression",
    "width": "width",
    "height": "height",
}


def check_file_facts(files: Sequence[FileFacts], is_positive: NDArray[np.bool_]) -> Check:
    """Name what labeled images have and unlabeled ones have not, besides their content.

    The rules are those for columns of a table (`mixpul.tables.leaks`).
    """
    import pandas as pd

    facts = pd.DataFrame(files, columns=FileFacts._fields)[list(NAMES)]
    leaking = leaks(facts.rename(columns=NAMES), is_positive)
    if leaking:
        return QUESTION.answer("bad", _describe(leaking))
    return QUESTION.answer(
        "good",
        "Neither the format, the camera, the colour mode, the JPEG compression nor the size of the "
        "files tells labeled from unlabeled images.",
    )


def list_leaks(checks: Sequence[Check]) -> list[str]:
    """Return what a bad answer to this question says, as a warning."""
    own = [check for check in checks if check["name"] == QUESTION.name]
    return [check["text"] for check in own if check["verdict"] == "bad"]


def _describe(leaking: Sequence[Leak]) -> str:
    first, *others = leaking
    also = f" The same goes for: {', '.join(leak.column for leak in others)}." if others else ""
    if first.pattern is None:
        found = f"alone tells labeled from unlabeled images (PU-AUC {first.pu_auc:.3f})"
    else:
        text, n_labeled, n_unlabeled = first.pattern
        found = (
            f"{text} for {n_labeled:,} of {first.n_labeled:,} labeled images and for "
            f"{n_unlabeled:,} of {first.n_unlabeled:,} unlabeled ones"
        )
    return (
        f"The {first.column} {found}.{also} If a classifier learns such a difference, it "
        "looks better than it is, and all figures here, the share of positives too, mean nothing. "
        "Take both folders from one source. If you cannot, save all images of both folders anew, "
        "in one size and as JPEG of one quality, which hides some of the difference."
    )
