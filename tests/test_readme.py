"""The README and docs/results.md say what the committed results say."""

import importlib.util
from pathlib import Path

import mixpul

ROOT = Path(__file__).parents[1]


def quality():
    spec = importlib.util.spec_from_file_location("quality", ROOT / "benchmarks" / "quality.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_generated_from_the_committed_results_is_current():
    """If not: python benchmarks/quality.py --write"""
    for path, text in quality().generated().items():
        assert path.read_text() == text, path


def test_the_changelog_names_the_version():
    assert f"## {mixpul.__version__} " in (ROOT / "CHANGELOG.md").read_text()
