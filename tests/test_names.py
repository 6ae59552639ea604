"""The registry: one place for each name, and nothing heavy behind it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mixpul import _names, datasets
from mixpul._names import METHODS, MINERS, NETS, PRIORS

ROOT = Path(__file__).parents[1]


def run(code, *args, source=ROOT / "src"):
    """Run Python in a process of its own on the package in `source`."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(
        [sys.executable, *(["-c", code] if code else ["-m", "mixpul"]), *map(str, args)],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("registry", [METHODS, PRIORS, MINERS, NETS])
def test_every_name_leads_to_something_that_can_be_called(registry):
    assert all(callable(found) for found in registry.values())


def test_the_public_names_are_those_of_the_registry():
    import mixpul

    assert set(METHODS.list_class_names()) <= set(mixpul.__all__)
    assert all(getattr(mixpul, name) in METHODS.values() for name in METHODS.list_class_names())


def test_looking_at_names_imports_nothing_heavy():
    code = (
        "import sys, mixpul; from mixpul._names import METHODS; list(METHODS)\n"
        "mixpul.__all__; print([m for m in ('torch', 'sklearn', 'numpy') if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("former", "names"),
    [
        ("experiments", "Trial, plan, read_results, run"),
        ("protocol", "perform, make_trial"),
        ("pictures", "label_pictures, read_pictures, stream_pictures, thumbnails"),
        ("paper", "TARGETS, trials_of"),
        ("report", "paper_markdown, quality_markdown, write_report"),
        ("base", "NeuralPUClassifier, PUClassifier"),
    ],
)
def test_modules_are_found_under_their_former_names(former, names):
    done = run(f"from mixpul.{former} import {names}")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def house_with_a_new_method(tmp_path):
    """A copy of the package with one new file and one new line: what CONTRIBUTING shows."""
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (line,) = re.findall(r'^    +("softplus": .*,)$', text, flags=re.MULTILINE)
    (tmp_path / "src/mixpul/methods/softplus.py").write_text(code)
    registry = tmp_path / "src/mixpul/_names.py"
    last = '"bagging": "mixpul.methods.bagging:BaggingPUClassifier",'
    assert last in registry.read_text()
    registry.write_text(registry.read_text().replace(last, f"{last}\n        {line}"))
    return tmp_path / "src"


def test_a_new_method_is_one_file_and_one_line(house_with_a_new_method, tmp_path):
    pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    table = tmp_path / "table.csv"
    rows = [",".join(map(str, [*x, int(s)])) for x, s in zip(pu.X[:400], pu.s[:400], strict=True)]
    table.write_text("\n".join(["a,b,c,label", *rows]))
    source, model = house_with_a_new_method, tmp_path / "model.mixpul"

    fit = ["fit", table, "--label", "label", "--method", "softplus", "--set", "n_epochs=2"]
    done = run(None, *fit, "-o", model, source=source)
    assert done.returncode == 0, done.stderr
    assert "SoftplusPUClassifier" in done.stdout

    done = run(
        "import sys, mixpul; from mixpul.assess import METHODS; assert 'softplus' in METHODS;"
        "print(type(mixpul.load(sys.argv[1])[-1]) is mixpul.SoftplusPUClassifier)",
        model,
        source=source,
    )
    assert done.stdout.strip() == "True", done.stderr
    done = run(None, "compare", "--help", source=source)
    assert "softplus" in done.stdout


def test_the_common_checks_take_their_classifiers_from_the_registry():
    from test_common import ESTIMATORS

    assert {type(one) for one in ESTIMATORS} == set(METHODS.values())
    assert _names.METHODS is METHODS
