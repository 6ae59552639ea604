"""The README says what the committed results say."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[1]


def quality():
    spec = importlib.util.spec_from_file_location("quality", ROOT / "benchmarks" / "quality.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_the_one_of_the_committed_results():
    module = quality()
    trials = json.loads(module.RESULTS.read_text())["trials"]
    assert len(trials) == 15 * 10
    assert module.with_table(module.README.read_text(), trials) == module.README.read_text()


def test_the_changelog_names_the_version():
    import mixpul

    assert f"## {mixpul.__version__} " in (ROOT / "CHANGELOG.md").read_text()
