import re
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest
import typer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from typer.main import get_command
from typer.testing import CliRunner

import mixpul
from mixpul import AutoPUClassifier, MixPULClassifier, VPUClassifier, cli, datasets
from mixpul._util.errors import TrainingDiverged
from mixpul.cli import _demo_rivals as rivals
from mixpul.cli._messages import speak_warnings
from mixpul.cli.demo import demo
from mixpul.cli.options import expand_groups
from mixpul.metrics import Estimate

PNG = b"\x89PNG\r\n\x1a\n"


def typed(*arguments):
    """Run `mixpul` as from a shell."""
    return subprocess.run(
        [sys.executable, "-c", "from mixpul.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def parsed(command, *arguments):
    """Read the arguments of a command as typed, without running it."""
    return get_command(cli.app).commands[command].make_context(command, list(arguments)).params


@pytest.fixture
def called(monkeypatch, capsys):
    """Run `main` in this process; give its exit code, output and errors."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mixpul", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, *capsys.readouterr()

    return call


def assert_one_sentence(errors):
    assert errors.startswith("mixpul: ")
    assert errors.count("\n") == 1
    assert errors.endswith("\n")


# -- words ----------------------------------------------------------------------------------


def test_help_lists_the_commands():
    result = CliRunner().invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.stdout
    assert "--version" in result.stdout


def test_nothing_at_all_shows_the_help():
    result = CliRunner().invoke(cli.app, [])
    assert "Usage" in result.output
    assert "demo" in result.output


def test_the_version_is_the_version_of_the_package():
    result = CliRunner().invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"{mixpul.__version__}\n"


def test_the_help_of_the_demo_shows_an_example_that_is_accepted():
    result = CliRunner().invoke(cli.app, ["demo", "--help"])
    assert result.exit_code == 0
    example = re.search(r"Example: mixpul (demo .*\S)", result.stdout)[1]
    assert parsed(*example.split()) == {"out": Path("/tmp/spam"), "c": 0.01, "seed": 0}


def test_the_help_of_every_command_imports_nothing_that_takes_seconds():
    script = (
        "import sys; from typer.testing import CliRunner; from mixpul import cli\n"
        "for name in (*sys.argv[1:], ''):\n"
        "    assert CliRunner().invoke(cli.app, [*name.split(), '--help']).exit_code == 0, name\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    commands = get_command(cli.app).commands
    assert len(commands) == 18
    done = subprocess.run(
        [sys.executable, "-c", script, *commands], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "torch", "sklearn", "scipy", "pandas", "pyarrow"} & {*done.stdout.split()}


# -- groups of options ----------------------------------------------------------------------


class Greeting(NamedTuple):
    """Two options."""

    name: Annotated[str, typer.Option()]
    times: Annotated[int, typer.Option(min=1)] = 1


def test_a_command_gets_its_groups_whole_and_the_help_shows_their_fields():
    asked = []

    def greet(place: str, greeting: Greeting, loud: bool = False) -> None:
        asked.append((place, greeting, loud))

    app = typer.Typer(add_completion=False)
    app.command()(expand_groups(greet))
    words = ["here", "--name", "Ada", "--times", "2"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert asked == [("here", Greeting("Ada", 2), False)]
    shown = CliRunner().invoke(app, ["--help"]).output
    assert [option for option in ("--name", "--times", "--loud") if option not in shown] == []
    assert "--greeting" not in shown


def test_two_groups_with_the_same_option_are_refused():
    def greet(one: Greeting, other: Greeting) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'name'"):
        expand_groups(greet)


# -- exit codes -----------------------------------------------------------------------------


def test_bad_input_is_one_sentence_and_exit_code_two():
    result = typed("demo", "--c", "2")
    assert result.returncode == 2
    assert result.stdout == ""
    assert_one_sentence(result.stderr)
    assert re.search(r"c must be .* got 2\.0", result.stderr)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [(["nonsense"], "nonsense"), (["demo", "--c", "much"], "--c"), (["demo", "--no"], "--no")],
)
def test_a_command_line_that_makes_no_sense_has_exit_code_two(called, arguments, culprit):
    code, output, errors = called(*arguments)
    assert code == 2
    assert output == ""
    assert culprit in errors
    assert "Traceback" not in errors


def test_an_interruption_has_exit_code_130_and_no_traceback(called, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(rivals, "load_mails", interrupted)
    code, _, errors = called("demo")
    assert code == 130
    assert "Traceback" not in errors


@pytest.mark.parametrize("what", ["in a file", "a file"])
def test_a_folder_that_cannot_be_made_is_reported_before_any_work(
    called, monkeypatch, tmp_path, what
):
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "folder" if what == "in a file" else tmp_path / "file"
    monkeypatch.setattr(rivals, "judge", lambda *args: pytest.fail("the work began"))
    code, _, errors = called("demo", "--out", out)
    assert code == 2
    assert_one_sentence(errors)
    assert str(out) in errors


@pytest.mark.parametrize(
    "error",
    [
        ImportError("No module named 'nothing'"),
        FloatingPointError("overflow"),
        TrainingDiverged("The loss is NaN."),
    ],
)
def test_an_error_that_a_user_can_do_something_about_is_one_sentence(called, monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(rivals, "load_mails", fail)
    code, _, errors = called("demo")
    assert code == 2
    assert_one_sentence(errors)


def test_warnings_are_said_once_and_also_when_the_work_fails(capsys):
    def work():
        for _ in range(2):
            warnings.warn("Few rows.", UserWarning, stacklevel=1)
        warnings.warn("For programmers.", ConvergenceWarning, stacklevel=1)
        raise ValueError("no luck")

    with pytest.raises(ValueError, match="no luck"), speak_warnings() as spoken:
        work()
    assert spoken == ["Few rows."]
    assert capsys.readouterr().err == "mixpul: warning: Few rows.\n"


# -- the demo -------------------------------------------------------------------------------


class Brief(MixPULClassifier):
    """The demo's classifier, cut short; still one of its kind for isinstance."""

    def __init__(self, *, n_epochs=2, cross_fitting=2, net=(8,), random_state=None, verbose=0):
        super().__init__(
            n_epochs=n_epochs,
            cross_fitting=cross_fitting,
            net=net,
            random_state=random_state,
            verbose=verbose,
        )


class Few(AutoPUClassifier):
    """The demo's portfolio with two candidates, in one process."""

    def __init__(self, *, n_jobs=None, random_state=None, verbose=0):
        super().__init__(
            candidates=["trees", "logistic-0.1"], random_state=random_state, verbose=verbose
        )


@pytest.fixture
def cheap(monkeypatch):
    """Some of the mails, two candidates, two epochs, five trees."""
    mails = datasets.load("spambase")
    mails.X, mails.y = mails.X[::8], mails.y[::8]
    monkeypatch.setattr(rivals.datasets, "load", lambda name: mails)
    monkeypatch.setattr(rivals, "AutoPUClassifier", Few)
    monkeypatch.setattr(rivals, "MixPULClassifier", Brief)
    monkeypatch.setattr(
        rivals, "VPUClassifier", partial(VPUClassifier, n_epochs=2, cross_fitting=2, net=(8,))
    )
    monkeypatch.setattr(
        rivals,
        "HistGradientBoostingClassifier",
        partial(HistGradientBoostingClassifier, max_iter=5),
    )


@pytest.mark.usefixtures("cheap")
def test_the_demo_prints_a_leaderboard_draws_a_chart_and_writes_a_report(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "120")
    out = tmp_path / "new" / "folder"
    demo(out, c=0.5, seed=0)
    output = capsys.readouterr().out
    lines = {
        name: next(line for line in output.splitlines() if name in line and "±" in line)
        for name in (
            "AutoPU",
            "MixPUL",
            "VPU",
            "extra trees",
            "logistic regression",
            "gradient boosting",
        )
    }
    for line in lines.values():
        auc, pu_auc, se, _ = map(float, re.findall(r"\d+\.\d+", line))
        assert 0.5 < auc <= 1
        assert 0.5 < pu_auc <= 1
        assert 0 < se < 0.2
    # The portfolio, then the others, best first by the hidden truth.
    table = [line for line in output.splitlines() if "±" in line]
    aucs = [float(re.search(r"\d\.\d{3}", line)[0]) for line in table]
    assert len(table) == 6
    assert "AutoPU" in table[0]
    assert aucs[1:] == sorted(aucs[1:], reverse=True)
    assert re.search(r"AutoPU weighed: (trees|logistic)", output)
    assert "Chart:" in output
    assert (out / "demo.png").read_bytes().startswith(PNG)
    page = (out / "report.html").read_text()
    assert "How good is the model, and where do you set the threshold?" in page
    assert "How the methods were weighed" in page
    assert sorted(path.name for path in out.iterdir()) == ["demo.png", "report.html"]


@pytest.mark.usefixtures("cheap")
def test_the_demo_without_matplotlib_says_how_to_get_a_chart(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        rivals,
        "judge",
        lambda name, model, *rest: rivals.Result(name, 0.9, Estimate(0.8, 0.1, 0.7, 0.9), 1.0),
    )
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    demo(tmp_path / "folder", c=0.5, seed=0)
    output = " ".join(capsys.readouterr().out.split())
    assert "pip install 'mixpul[plots]'" in output
    assert "pip install 'mixpul[tables]'" in output
    assert not list((tmp_path / "folder").iterdir())
