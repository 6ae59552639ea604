"""The documentation site: every page is in it, every name has a page, nothing leads nowhere."""

import ast
import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import mixpul
from test_readme import load_benchmark, rows

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# What the design promises under `from mixpul import ...`.
PROMISED = {
    *("AutoPUClassifier", "MixPULClassifier", "UPUClassifier", "NNPUClassifier", "RampClassifier"),
    *("PUAUCClassifier", "WeightedSVMClassifier", "SupervisedClassifier", "VPUClassifier"),
    *("BaggingPUClassifier", "save", "load"),
}


def load_module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = load_module("build_site")


# -- pages --------------------------------------------------------------------------------------


def test_the_settings_of_the_site_can_be_read(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    settings = runpy.run_path(str(DOCS / "conf.py"))
    assert settings["release"] == mixpul.__version__
    assert settings["sphinx_gallery_conf"]["abort_on_example_error"]
    for path in settings["html_static_path"] + settings["templates_path"]:
        assert Path(path).is_dir()


def test_every_public_name_gets_a_page(tmp_path):
    site.write_reference(tmp_path)
    listed = (tmp_path / "reference" / "mixpul.rst").read_text().split()
    assert set(listed) >= PROMISED
    for module, names in site.list_public_names().items():
        listed = (tmp_path / "reference" / f"{module}.rst").read_text().split()
        assert set(names) <= set(listed)
        assert module in (tmp_path / "reference" / "modules.md").read_text().split()


def test_every_page_is_in_the_navigation(tmp_path):
    site.copy_pages(tmp_path)
    trees = re.findall(
        r"```\{toctree\}\n:hidden:\n\n(.*?)```",
        "".join(page.read_text() for page in tmp_path.glob("*.md")),
        re.S,
    )
    entries = set("\n".join(trees).split())
    pages = {
        page.relative_to(tmp_path).with_suffix("").as_posix() for page in tmp_path.rglob("*.md")
    }
    copied = {page for page in pages if not page.startswith("files/")}
    assert copied - entries == {"index"}
    assert "gallery/index" in entries


def test_links_that_leave_the_docs_fit_the_site(tmp_path):
    page = DOCS / "how-to" / "save-and-load.md"
    text = (
        "[a](../../SECURITY.md#reporting) [b](../../examples/images.py) [c](../results.md)"
        " [d](../../CITATION.cff) [e](https://example.org/x.md) [f](#here)\n"
        "```python\nx = y[0](../../SECURITY.md)\n```\n"
    )
    turned = site.turn_links(text, page, "how-to/save-and-load.md", site.list_pages(), tmp_path)
    assert turned == (
        "[a](../project/security.md#reporting) [b](../gallery/images.rst) [c](../results.md)"
        " [d](../files/CITATION.cff) [e](https://example.org/x.md) [f](#here)\n"
        "```python\nx = y[0](../../SECURITY.md)\n```\n"
    )
    assert (tmp_path / "files" / "CITATION.cff").read_bytes() == (
        ROOT / "CITATION.cff"
    ).read_bytes()


def test_a_page_that_is_gone_leaves_the_site(tmp_path):
    stale = tmp_path / "source" / "how-to" / "gone.md"
    site.write(stale, b"# Gone\n")
    site.remove_old_pages(tmp_path / "source")
    assert not stale.exists()


# -- links of the built pages --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">b</a>', None),
        ('<a href="b.html#there">b</a>', None),
        ('<a href="https://example.org/nobody-looks">b</a>', None),
        ('<a href="#top">b</a><p id="top">', None),
        ('<img src="i.png" alt="a curve">', None),
        ('<a href="c.html">b</a>', "a.html: c.html leads nowhere"),
        ('<a href="b.html#here">b</a>', "a.html: b.html#here leads nowhere"),
        ('<a href="#nowhere">b</a>', "a.html: #nowhere leads nowhere"),
        ('<img src="j.png" alt="a curve">', "a.html: j.png leads nowhere"),
        ('<img src="i.png" alt="">', "a.html: no words for i.png"),
        ('<img src="i.png">', "a.html: no words for i.png"),
        (
            '<script src="https://example.org/x.js"></script>',
            "a.html: loads https://example.org/x.js from elsewhere",
        ),
        (
            '<link rel="stylesheet" href="//example.org/x.css">',
            "a.html: loads //example.org/x.css from elsewhere",
        ),
    ],
)
def test_faults_of_built_pages_are_found(tmp_path, body, fault):
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    (tmp_path / "i.png").write_bytes(b"")
    assert site.find_faults(tmp_path) == ([fault] if fault else [])


# -- formulas -------------------------------------------------------------------------------------


def test_every_formula_of_the_docs_becomes_mathml():
    mathml = load_module("mathml")
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, re.S):
            written = mathml.write_formula(block or inline, "block" if block else "inline")
            shown = re.sub(r"<[^>]*>", "", written)
            assert written.startswith("<math ")
            assert "\\" not in shown, f"{page.name}: {block or inline}"


# -- examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_a_title_cells_and_a_plot_and_is_on_the_map(path):
    text = path.read_text()
    title, line = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert line == "=" * len(title)
    assert text.count("\n# %%\n") >= 2
    assert any("plt.show()" in cell for cell in text.split("# %%\n")[-2:])
    assert f"(../examples/{path.name})" in (DOCS / "index.md").read_text()


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 8


# -- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["how-to/which-method.md", "explanation/other-packages.md"])
def test_tables_of_the_suite_on_pages_are_those_of_its_results(page):
    suite = load_benchmark("suite")
    found = rows(suite.summarise(suite.read_records()), "| method")
    text = (DOCS / page).read_text()
    shown = rows(text, "| method | all")
    assert {"Auto", "MixPUL"} < shown.keys()
    for name in shown.keys() - {"---"}:
        expected = [*found[name][:4], *found[name][-1:]]
        assert shown[name] == expected[: len(shown[name])], name
    # What the prose quotes is in a table of the page.
    in_tables = set(re.findall(r"\| (0\.\d{3}) (?=\|)", text))
    assert set(re.findall(r"\b0\.\d{3}\b", text)) == in_tables


def test_the_means_of_35_settings_are_those_of_the_results():
    shown = rows((DOCS / "how-to" / "which-method.md").read_text(), "| method | mean AUC")
    found = rows((DOCS / "results.md").read_text(), "Over the 35 settings")
    for name in shown.keys() - {"method", "---"}:
        assert shown[name] == found[name][:2], name


# -- the whole ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_its_search_knows_the_classifier(tmp_path):
    """Without running the examples, which `make docs` does."""
    from selenium.webdriver.support.ui import WebDriverWait

    from browser import Browser

    # In a process of its own: Sphinx warns of its own future, and warnings are errors here.
    program = [sys.executable, DOCS / "build_site.py", tmp_path, "-D", "plot_gallery=0"]
    built = subprocess.run(program, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    html = tmp_path / "html"
    assert '"MixPULClassifier"' in (html / "searchindex.js").read_text()
    assert "fit(" in (html / "reference" / "api" / "mixpul.MixPULClassifier.html").read_text()

    browser = Browser(tmp_path / "profile")
    try:
        browser.driver.get((html / "search.html").as_uri() + "?q=MixPULClassifier")
        found = WebDriverWait(browser.driver, 20).until(
            lambda _: browser.texts("#search-results li a")
        )
        assert "mixpul.MixPULClassifier" in " ".join(found)
    finally:
        browser.driver.quit()
