"""What a model file notes of the table if the fit took a sample of its rows."""

from collections.abc import Mapping
from typing import Any

from mixpul._util.errors import DamagedFile
from mixpul._util.schema import Number, Record, check_value

__all__ = ["SAMPLE", "find_sample"]

COUNT = Number(0, whole=True)
SAMPLE = Record(
    {name: COUNT for name in ("rows", "positives", "negatives", "unlabeled", "max_rows", "seed")}
    | {"share": Number(0, 1)}
)


def find_sample(info: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is noted, or None if the fit took all rows; refuse what `fit` does not note."""
    sample: dict[str, Any] | None = info.get("sample")
    if sample is not None:
        try:
            check_value(sample, SAMPLE)
        except DamagedFile as error:
            raise DamagedFile(
                f"What the model file notes of its sample of rows is not what `mixpul fit` notes: "
                f"{error} Fit the model again."
            ) from error
    return sample
