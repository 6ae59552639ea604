"""Errors that a user can do something about; the command line prints them as one sentence."""

from mixpul._util.printable import make_printable

__all__ = [
    "DamagedFile",
    "EmptyTable",
    "MissingColumn",
    "MissingTable",
    "MixpulError",
    "RankLost",
    "TableError",
    "TrainingDiverged",
]


class MixpulError(ValueError):
    """Input or settings that cannot work; the message names the way out."""


class TableError(MixpulError):
    """A file that is not a table, or that cannot be read as it is."""


class MissingColumn(MixpulError):
    """A table without a column that is asked for."""


class MissingTable(TableError, FileNotFoundError):
    """A table that is not where it should be."""


class EmptyTable(TableError):
    """A table with column names, and nothing else."""


class TrainingDiverged(MixpulError, FloatingPointError):
    """The loss or the scores became NaN or infinite."""


class RankLost(MixpulError):
    """Another process of the same training has ended or is out of reach."""


class DamagedFile(MixpulError):
    """A file that is damaged, forged, or not what it should be; nothing of it was used."""

    def __init__(self, sentence: str) -> None:
        # It may quote the file, which may hold codes that change what a terminal shows.
        super().__init__(make_printable(sentence))
