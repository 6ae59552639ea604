"""The files that pages are made of: templates, style sheets and scripts."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mixpul.pages
from mixpul.pages.charts import N_SERIES

FOLDER = Path(mixpul.pages.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").rglob("*.html.j2"))
STYLES = sorted((FOLDER / "static").glob("*.css"))
SCRIPTS = sorted((FOLDER / "static").glob("*.js"))


def names(paths):
    return [path.name for path in paths]


def read_all(paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def without_comments(style):
    return re.sub(r"/\*.*?\*/", "", style, flags=re.S)


def test_pages_of_users_need_nothing_of_the_paper_and_nothing_heavy():
    program = "import sys, mixpul.pages; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    assert "mixpul.pages.fit" in loaded
    heavy = ("mixpul.paper", "torch", "sklearn", "pandas", "numpy")
    assert [name for name in loaded if name in heavy or name.startswith("mixpul.paper.")] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_a_template_is_two_screens_at_most(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.parametrize("path", SCRIPTS, ids=names(SCRIPTS))
def test_node_can_read_a_script(path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = subprocess.run([node, "--check", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [*STYLES, *SCRIPTS], ids=names([*STYLES, *SCRIPTS]))
def test_a_file_can_stand_inside_a_page_and_loads_nothing(path):
    text = path.read_text(encoding="utf-8")
    # "</" would end the element that the file stands in.
    for word in (
        "</",
        "<!--",
        "{{",
        "{%",
        "url(",
        "@import",
        "http:",
        "https:",
        "fetch(",
        "import(",
    ):
        assert word not in text


def test_scripts_round_nothing_unless_a_user_types_the_class_prior():
    words = ("toFixed", "toPrecision", "Math.round", "Math.floor", "Math.ceil", "Intl.")
    others = read_all(path for path in SCRIPTS if path.name != "fit.js")
    assert [word for word in (*words, "toLocaleString") if word in others] == []
    # Shares, counts and costs; a test of the fit page compares them with those of Python.
    text = (FOLDER / "static" / "fit.js").read_text(encoding="utf-8")
    assert text.count("toLocaleString") == 2
    assert [word for word in words if word in text] == ["toFixed", "Math.floor"]


@pytest.mark.parametrize("path", STYLES, ids=names(STYLES))
def test_a_style_sheet_closes_what_it_opens(path):
    depth = 0
    for character in without_comments(path.read_text(encoding="utf-8")):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert 0 <= depth <= 2
    assert depth == 0


def test_colours_are_defined_in_the_theme_and_used():
    theme = (FOLDER / "static" / "theme.css").read_text(encoding="utf-8")
    defined = set(re.findall(r"(--[\w-]+):", theme))
    assert defined == set(re.findall(r"var\((--[\w-]+)\)", read_all(STYLES)))
    others = read_all(path for path in STYLES if path.name != "theme.css")
    assert re.findall(r"#[0-9a-f]{3,6}\b", others) == []


def test_dark_colours_replace_light_ones():
    theme = (FOLDER / "static" / "theme.css").read_text(encoding="utf-8")
    light, dark, printed = (
        set(re.findall(r"(--[\w-]+): [#.]", part)) for part in theme.split("@media")
    )
    assert light == dark
    assert printed < light


def test_every_style_has_something_to_style():
    selectors = re.findall(r"([^{}]+)\{", without_comments(read_all(STYLES)))
    styled = {name for s in selectors if "@" not in s for name in re.findall(r"\.([a-z][\w-]*)", s)}
    places = read_all(TEMPLATES) + read_all([FOLDER / "charts.py", FOLDER / "fit.py"])
    used = set(re.findall(r"[a-z][\w-]*", places)) | {f"series-{n}" for n in range(N_SERIES)}
    assert styled - used == set()


def test_ids_that_scripts_look_for_are_in_the_templates():
    wanted = set(re.findall(r'find\("([\w-]+)"\)', read_all(SCRIPTS)))
    there = set(re.findall(r'id="([\w-]+)"', read_all(TEMPLATES)))
    assert len(wanted) > 10
    assert wanted - there == set()
