"""The README and docs/results.md say what the committed results say."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import mixpul

ROOT = Path(__file__).parents[1]


def load_benchmark(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_generated_from_the_committed_results_is_current():
    """If not: python benchmarks/quality.py --write"""
    for path, text in load_benchmark("quality").generated().items():
        assert path.read_text() == text, path


def cells(line):
    return [cell.strip(" *") for cell in line.strip("|").split("|")]


def rows(text, heading):
    """The lines of the first table below a line with these words, by their first cell."""
    table = re.search(r"(?:^\|.*\n)+", text[text.index(heading) :], re.M)[0]
    return {cells(line)[0]: cells(line)[1:] for line in table.splitlines()}


def test_the_means_of_15_and_35_settings_are_those_of_the_results():
    readme = (ROOT / "README.md").read_text()
    of_15 = rows(readme, "<!-- quality:")
    methods = [re.sub("<br>", " ", name) for name in of_15["data"]]
    mean, rank = (dict(zip(methods, of_15[name], strict=True)) for name in ("mean", "mean rank"))
    of_35 = rows((ROOT / "docs" / "results.md").read_text(), "Over the 35 settings")
    shown = rows(readme, "### Where MixPUL loses")
    assert {"MixPUL", "VPU", "nnPU †", "uPU †"} < set(shown)
    for method in set(shown) - {"method", "---"}:
        assert shown[method][1:] == [mean[method], rank[method], *of_35[method][:2]], method


def test_the_errors_on_images_are_those_of_the_results():
    readme, results = (ROOT / "README.md").read_text(), (ROOT / "docs" / "results.md").read_text()
    shown = rows(readme, "| CIFAR-10, vehicles")
    found = rows(results, "| cifar10 |")
    heads = next(cells for name, cells in shown.items() if name.startswith("CIFAR-10"))
    columns = [found["cifar10"].index(f"{head} labeled") for head in heads]
    for row, method, pattern in [
        ("MixPUL", "MixPUL", r"^\**([\d.]+)"),
        ("nnPU †", "nnPU †", r"^\**([\d.]+)"),
        ("uPU †", "uPU †", r"^\**([\d.]+)"),
        ("MixPUL in the paper", "MixPUL", r"\(([\d.]+)\)"),
        ("nnPU in the paper", "nnPU †", r"\(([\d.]+)\)"),
    ]:
        numbers = [float(re.search(pattern, found[method][column])[1]) for column in columns]
        assert all(
            abs(float(cell) - number) < 0.0501
            for cell, number in zip(shown[row], numbers, strict=True)
        ), row
    of_27 = rows(results, "Over the 27 settings")
    mnist = rows(readme, "| MNIST, zeros")
    trials = map(json.loads, (ROOT / "results" / "mnist.jsonl").read_text().splitlines())
    seeds = {(trial["method"], trial["seed"]) for trial in trials}
    for row, method in [
        ("MixPUL", "MixPUL"),
        ("MixPUL with the published settings", "MixPUL as published"),
        ("Ramp †", "Ramp"),
    ]:
        mean = next(cells[0] for name, cells in of_27.items() if name.removesuffix(" †") == method)
        runs = sum(of == method for of, _ in seeds)
        assert mnist[row] == [mean, str(runs)], row
    of_mnist = next(line for line in results.splitlines() if "Error on MNIST" in line)
    assert mnist["MixPUL in the paper"][0] in re.findall(r"\d+\.\d+", of_mnist)


def test_the_changelog_and_the_citation_name_the_version():
    assert f"## {mixpul.__version__} " in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {mixpul.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_ci_runs_on_every_python_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert f"python: {named}".replace("'", '"') in workflow
    assert named[0] == project["requires-python"].removeprefix(">=")


def test_the_table_of_the_suite_is_that_of_its_results():
    suite = load_benchmark("suite")
    readme = (ROOT / "README.md").read_text()
    found = rows(suite.summarise(suite.read_records()), "| method")
    shown = rows(readme, "`benchmarks/suite.py`")
    assert {"Auto", "MixPUL", "VPU", "pulearn bagging"} <= shown.keys()
    for name in shown.keys() - {"---"}:
        assert shown[name] == found[name][:4], name
