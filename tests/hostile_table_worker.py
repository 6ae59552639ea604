"""Read strange and damaged tables and images, in a process that may die of it.

As `hostile_worker.py`, for what users bring. `read` and `refused` are good, all else is a failure:
another exception, more than one sentence, features that are not finite, a table that is refused or
encoded otherwise when the same file is read a second time, piece by piece.
"""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.parquet  # noqa: F401 (what writes sound files needs it)

from damage import SUFFIXES, damage, write_sound
from hostile_tables import make_image, make_table
from hostile_worker import answer_tasks
from mixpul import cli
from mixpul._util.errors import MixpulError
from mixpul.images import read_images
from mixpul.tables import TableInput, read_table, stream_table
from mixpul.tables.frames import as_frame

SOUND: dict = {}
MOST_LETTERS = 9000  # of a sentence: it may quote names as long as a page


def read_anything(task):
    """Make a file, as the task says, and use it."""
    path = Path(task["path"])
    if task["what"] not in ("kept", "notes"):
        path.write_bytes(make_content(task, path))
    if path.suffix in (".png", ".jpeg"):
        return read_image_file(path)
    if task["command"]:
        return run_command([word.replace("{table}", str(path)) for word in task["command"]])
    return read_table_file(path)


def make_content(task, path):
    """Return the bytes of a file."""
    form, seed = task["form"], task["seed"]
    if task["what"] == "strange":
        return make_table(form, seed, has_labels="fit" in task["command"])
    if task["what"] == "image":
        return make_image(form, seed)
    if form not in SOUND:
        sound = path.with_name(f"sound-{form}{SUFFIXES[form]}")
        if not sound.exists():  # another reader may have been here before
            write_sound(sound, form)
        SOUND[form] = sound.read_bytes()
    return damage(SOUND[form], seed)


def read_table_file(path):
    """Read a table in both ways, and encode it."""
    try:
        frame = read_table(path)
    except MixpulError as error:
        return judge_sentence(str(error))
    try:
        encoder = TableInput().fit(frame)
        features = encoder.transform(frame)
    # What is wrong with rows is a plain ValueError, as in scikit-learn.
    except ValueError as error:
        return judge_sentence(str(error))
    if not np.isfinite(features).all():
        return "not finite", ""
    # What was learned can be scored, and means the same.
    batches = [as_frame(batch) for batch in stream_table(path, kinds=encoder.kinds_)]
    again = np.concatenate([encoder.transform(batch) for batch in batches])
    if not np.array_equal(features, again):
        wrong = (
            np.flatnonzero((features != again).any(axis=0)) if len(features) == len(again) else []
        )
        names = [str(encoder.get_feature_names_out()[j]) for j in wrong]
        return "silently different", f"{len(features)} and {len(again)} rows, {names}"
    return "read", ""


def read_image_file(path):
    try:
        found = read_images(path.parent, size=8)
    except ValueError as error:
        return judge_sentence(str(error))
    return ("read" if found.pixels.shape[1:] == (3, 8, 8) else "wrong shape"), ""


def judge_sentence(said):
    """Refused, if that was said in one sentence that a terminal shows as it is."""
    if not said or "\n" in said or len(said) > MOST_LETTERS:
        return "no sentence", said
    return "refused", said


def run_command(words):
    """Run `mixpul` with these words; refused is exit code 2 and one sentence on standard error."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        mock.patch.object(sys, "argv", ["mixpul", *words]),
        mock.patch.dict(os.environ, {"COLUMNS": "200"}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as stopped:
            code = stopped.code or 0
    return judge_command(code, out.getvalue(), err.getvalue())


def judge_command(code, out, err):
    """Return a word for what a command did."""
    if "Traceback" in err or "Please report it" in err:
        return "traceback", err[-300:]
    codes = set(map(ord, out + err))
    if codes & ({*range(32)} - {9, 10, 13}):
        return "control codes", repr((out + err)[-300:])
    if code in (0, 3):
        return "read", ""
    sentences = [line for line in err.splitlines() if not line.startswith("mixpul: warning:")]
    if code != 2 or not sentences:
        return f"exit code {code}", err[-300:]
    return "refused", err[-300:]


if __name__ == "__main__":
    answer_tasks(read_anything)
