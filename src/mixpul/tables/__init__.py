"""A user's own table: read it, turn it into model input, score it in a stream.

Files are read and written through pyarrow, tables in memory are pandas data frames:
``pip install 'mixpul[tables]'``.
"""

from mixpul.tables._input import TableInput
from mixpul.tables._leaks import Leak, leaks
from mixpul.tables._reading import read_table, stream_table
from mixpul.tables.labels import Label, find_negatives, split_label
from mixpul.tables.scoring import score_stream, write_table
from mixpul.tables.verdicts import Verdicts, read_verdicts

__all__ = [
    "Label",
    "Leak",
    "TableInput",
    "Verdicts",
    "find_negatives",
    "leaks",
    "read_table",
    "read_verdicts",
    "score_stream",
    "split_label",
    "stream_table",
    "write_table",
]
