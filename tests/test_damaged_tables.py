"""Damaged files of every format: a table or one sentence, never a signal or another error."""

import subprocess
import sys
from pathlib import Path

import pytest

from damage import SUFFIXES

# Native readers are tried on more files; the rest are slow to open.
N_FILES = {"xlsx": 15, "duckdb": 15, "feather": 80, "packed-feather": 40, "parquet": 60}


def read_damaged(folder, form, first, last):
    program = Path(__file__).with_name("damage.py")
    done = subprocess.run(
        [sys.executable, program, folder, form, str(first), str(last)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, f"{form}: {done.returncode}\n{done.stderr[-2000:]}"
    *strange, last_line = done.stdout.splitlines()
    assert strange == []
    return int(last_line.removeprefix("refused "))


def test_a_damaged_file_is_read_or_refused_in_a_sentence(tmp_path):
    # In one process, which takes seconds to start.
    assert read_damaged(tmp_path, ",".join(SUFFIXES), 0, 25) > 100


@pytest.mark.slow
@pytest.mark.parametrize("form", SUFFIXES)
def test_thousands_of_damaged_files_are_read_or_refused(tmp_path, form):
    read_damaged(tmp_path, form, 1000, 1000 + 25 * N_FILES.get(form, 30))
