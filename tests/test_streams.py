"""Whatever a command runs into is one sentence, whatever its standard streams are."""

import errno
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.errors import MarkupError

from mixpul._util.printable import make_printable
from mixpul.cli._messages import escape, note, say

APP = importlib.import_module("mixpul.cli.app")

RAISED = {
    "ValueError": ValueError("A sentence."),
    "MemoryError": MemoryError(),
    "numpy's MemoryError": np._core._exceptions._ArrayMemoryError((10**9,), np.dtype("f8")),
    "RecursionError": RecursionError("maximum recursion depth exceeded"),
    "OSError": OSError(errno.EIO, "Input/output error", "table.csv"),
    "no file": FileNotFoundError(errno.ENOENT, "No such file or directory", "table.csv"),
    "long name": OSError(errno.ENAMETOOLONG, "File name too long", "table.csv"),
    "full disk": OSError(errno.ENOSPC, "No space left on device", "table.csv"),
    "no network": ConnectionError("OpenML did not return a usable answer."),
    "UnicodeError": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "KeyError": KeyError("column"),
    "AssertionError": AssertionError(),
    "MarkupError": MarkupError("closing tag '[/x]' doesn't match any open tag"),
    "escapes": ValueError("The column '\x1b[2J\x1b]0;title\x07' is\nmissing."),
    "many lines": RuntimeError("one\n\n  two\nthree"),
}


def run_main(monkeypatch, capsys, error, *words, environment=None):
    """Run the command line with an app that raises; return the exit code and what was said."""

    def fail():
        raise error

    monkeypatch.setattr(APP, "app", fail)
    monkeypatch.setattr(sys, "argv", ["mixpul", *words])
    for name in ("stdout", "stdin", "stderr"):  # put back at the end
        monkeypatch.setattr(sys, name, getattr(sys, name))
    for name, value in (environment or {}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stopped:
        APP.main()
    return stopped.value.code, capsys.readouterr().err


# What another input would mend; the rest failed for reasons of the machine, or of ours.
BAD_INPUT = ("ValueError", "RecursionError", "UnicodeError", "escapes", "no file", "long name")


@pytest.mark.parametrize("name", RAISED)
def test_any_exception_is_one_sentence(monkeypatch, capsys, name):
    code, said = run_main(monkeypatch, capsys, RAISED[name])
    assert code == (2 if name in BAD_INPUT else 1)
    assert said.startswith("mixpul: ")
    assert said.count("\n") == 1
    assert said.endswith("\n")
    assert said.rstrip().endswith((".", "'", "byte"))
    assert "Traceback" not in said
    assert "\x1b" not in said


def test_ctrl_c_ends_as_shells_expect(monkeypatch, capsys):
    assert run_main(monkeypatch, capsys, KeyboardInterrupt()) == (130, "")


def test_a_full_disk_is_named_and_not_blamed_on_standard_output(monkeypatch, capsys):
    full = OSError(errno.ENOSPC, "No space left on device", "model.mixpul")
    assert "'model.mixpul' was not written: No space" in run_main(monkeypatch, capsys, full)[1]
    unnamed = OSError(errno.ENOSPC, "No space left on device")
    said = run_main(monkeypatch, capsys, unnamed)[1]
    assert "No space" in said
    assert "tandard output" not in said


@pytest.mark.parametrize(
    ("words", "environment"),
    [(["--debug", "fit"], {}), (["fit", "x", "--debug"], {}), (["fit"], {"MIXPUL_DEBUG": "1"})],
)
def test_debug_shows_where_an_error_comes_from(monkeypatch, capsys, words, environment):
    with pytest.raises(KeyError, match="column"):
        run_main(monkeypatch, capsys, KeyError("column"), *words, environment=environment)


def start(*words, **options):
    """Run `python -m mixpul`; return the exit code and what was said on standard error."""
    arguments = [sys.executable, "-m", "mixpul", *words]
    done = subprocess.run(arguments, stderr=subprocess.PIPE, check=False, timeout=300, **options)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("closed", [(1,), (0, 1), (2,), (0, 1, 2)])
def test_closed_streams(closed):
    redirections = " ".join(f"{number}>&-" if number else "<&-" for number in closed)
    command = f'exec "{sys.executable}" -m mixpul --version {redirections}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=300)
    if 1 in closed:
        assert done.returncode == 1
        expected = b"" if 2 in closed else b"mixpul: Standard output is closed, so that nothing"
        assert done.stderr.startswith(expected)
        assert done.stderr.count(b"\n") == (2 not in closed)
    else:
        assert done.returncode == 0
        assert done.stdout.strip()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output_is_named():
    with open("/dev/full", "wb") as full:
        code, said = start("--version", stdout=full)
    assert code == 1
    assert said == "mixpul: Standard output cannot be written: No space left on device.\n"


def test_a_reader_that_has_gone_is_not_complained_about():
    readable, writable = os.pipe()
    os.close(readable)
    code, said = start("--version", stdout=writable)
    os.close(writable)
    assert code in (1, -signal.SIGPIPE)
    assert said == ""


def test_letters_that_a_terminal_does_not_know_do_not_stop_a_command(tmp_path):
    missing = tmp_path / "größe ≤ 3"
    code, said = start(
        "inspect",
        missing,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert code in (1, 2)
    assert "Traceback" not in said
    assert "gr\\xf6" in said


def test_what_comes_from_users_is_printed_as_it_is(capsys):
    say(escape("[/bold] a [red]b[/] \x1b[2J"))
    note("\x1b]0;title\x07 name")
    said = capsys.readouterr()
    assert said.out == "[/bold] a [red]b[/] \\x1b[2J\n"
    assert said.err == "mixpul: \\x1b]0;title\\x07 name\n"
    # Right-to-left marks make one name look like another.
    assert make_printable("a\u202eb") == "a\\u202eb"


def test_a_warning_of_any_command_is_a_sentence_and_those_for_programmers_are_not_shown(capfd):
    APP.show_warning("Look \x1b[2Jhere.", UserWarning, "file.py", 3)
    APP.show_warning("Soon gone.", DeprecationWarning, "file.py", 3)
    assert capfd.readouterr().err == "mixpul: warning: Look \\x1b[2Jhere.\n"
