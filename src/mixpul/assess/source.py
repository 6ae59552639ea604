"""Where the rows come from, as the page and the model file tell it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixpul.images import FileFacts, NearCopy, Skipped

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """What is known about where the rows come from; `assess` takes it and passes it on.

    Attributes
    ----------
    name : str, optional
        Of the file or the folders.
    label, positive, id : str, optional
        Of a table: the label column, its value that means labeled positive, the column of names.
    fingerprint : str, optional
        Of the content, such as ``"sha256:..."``.
    command : str, optional
        How to do it again.
    warnings : sequence of str
        What is known to be doubtful before anything is fitted.
    sample : dict, optional
        Of a table of which a random sample was taken: the numbers of all ``"rows"``,
        ``"positives"``, ``"negatives"`` and ``"unlabeled"`` rows, and the ``"share"`` of the
        unlabeled rows that was drawn.
    odd : str, optional
        Of images: what was done with those of another size, 'resize' or 'skip'.
    n_resized : int, optional
        Of images: how many were resized.
    twins : sequence of str
        Unlabeled images that were left out because they are among the positives, too.
    skipped : sequence of Skipped
        Images that were left out, and why.
    copies : sequence of NearCopy
        Unlabeled images that are near copies of labeled positives.
    files : sequence of FileFacts
        How each image was taken and saved, in the order of the rows.
    """

    name: str | None = None
    label: str | None = None
    positive: str | None = None
    id: str | None = None
    fingerprint: str | None = None
    command: str | None = None
    warnings: Sequence[str] = ()
    sample: Mapping[str, Any] | None = None
    odd: str | None = None
    n_resized: int | None = None
    twins: Sequence[str] = ()
    skipped: Sequence[Skipped] = ()
    copies: Sequence[NearCopy] = ()
    files: Sequence[FileFacts] = ()
