"""The pages of the documentation run, link and quote signatures as they should."""

import inspect
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import mixpul

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
# What people have written; the rest is generated from results.
WRITTEN = [
    *(page for page in PAGES if page.name != "results.md"),
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
]
API = ROOT / "docs" / "reference" / "api.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def only(page, language):
    """The page with every line emptied that is not in a fenced block of this language."""
    lines, inside = [], None
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        lines.append(line if inside == language and not fence else "")
        if fence:
            inside = None if inside is not None else line.removeprefix("```").strip()
    return "\n".join(lines)


def names(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


# -- programs -------------------------------------------------------------------------------

PROGRAMS = [page for page in PAGES if only(page, "python").strip()]
# They train for a minute and more; that of the README fits a whole portfolio.
LONG_PROGRAMS = (
    "README.md",
    "docs/how-to/choose-settings.md",
    "docs/how-to/images.md",
    "docs/tutorials/your-own-table.md",
)
# They start Spark and Ray, which warn of what they have not been tested with.
OF_ENGINES = ("docs/how-to/spark.md",)


def mark_long(page):
    name = str(page.relative_to(ROOT))
    if name in OF_ENGINES:
        return pytest.param(page, marks=[pytest.mark.spark, pytest.mark.filterwarnings("ignore")])
    return pytest.param(page, marks=pytest.mark.slow) if name in LONG_PROGRAMS else page


@pytest.mark.parametrize("page", [mark_long(page) for page in PROGRAMS], ids=names(PROGRAMS))
def test_the_python_blocks_of_a_page_run_as_one_program(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    # The emptied lines keep the numbers right: a traceback names the line of the page.
    program = compile(only(page, "python"), str(page), "exec")
    with redirect_stdout(printed):
        exec(program, {"__name__": "page"})
    if expected := shown(page):
        lines = [line for line in printed.getvalue().splitlines() if line.strip()]
        assert len(lines) == len(expected), printed.getvalue()
        for line, (expected_line, tolerance) in zip(lines, expected, strict=True):
            assert_alike(line, expected_line, tolerance)


def shown(page):
    """What the page says it prints, line by line, and how closely it is to be taken."""
    lines = [
        (number, line, tolerance)
        for language, tolerance in {"output": 0, "output about": 0.03}.items()
        for number, line in enumerate(only(page, language).splitlines())
        if line.strip()
    ]
    return [(line, tolerance) for _, line, tolerance in sorted(lines)]


def assert_alike(line, expected, tolerance):
    """The same words and, where a network was trained, nearly the same numbers."""
    assert NUMBER.sub("#", line).split() == NUMBER.sub("#", expected).split()
    numbers, expected_numbers = ([float(n) for n in NUMBER.findall(x)] for x in (line, expected))
    assert numbers == pytest.approx(expected_numbers, rel=0, abs=tolerance), line


# -- links ----------------------------------------------------------------------------------


def links(page):
    """Path and anchor of each relative link outside code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target.partition("#")[::2] for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKING = [*PAGES, *(page for page in WRITTEN if page not in PAGES)]


@pytest.mark.parametrize("page", LINKING, ids=names(LINKING))
def test_relative_links_lead_somewhere(page):
    for path, anchor in links(page):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_every_page_is_on_the_map():
    docs = ROOT / "docs"
    linked = {(docs / path).resolve() for path, _ in links(docs / "index.md")}
    assert set(docs.rglob("*.md")) - linked == {docs / "index.md"}


# -- the reference --------------------------------------------------------------------------

# A heading such as "### `datasets.load(name, *, return_X_y=False)`".
SIGNATURES = dict(re.findall(r"^#+ `([\w.]+)(\(.*\))`$", API.read_text("utf-8"), re.M))
# A row such as "| `alpha` | `1.0` | meaning |".
DEFAULTS = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", API.read_text("utf-8"), re.M))


def found(name):
    thing = mixpul
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def plain(signature):
    """A signature without types and without self."""
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


@pytest.mark.parametrize("name", SIGNATURES)
def test_documented_signatures_are_the_real_ones(name):
    assert SIGNATURES[name] == plain(inspect.signature(found(name)))


def test_documented_defaults_of_mixpul_are_those_of_the_signature():
    parameters = inspect.signature(mixpul.MixPULClassifier).parameters.values()
    assert {p.name: repr(p.default) for p in parameters} == DEFAULTS


def test_every_public_name_is_in_the_reference():
    public = [name for name in mixpul.__all__ if not inspect.ismodule(getattr(mixpul, name))]
    for name in set(mixpul.__all__) - set(public):
        public += [f"{name}.{member}" for member in getattr(mixpul, name).__all__]
    text = API.read_text(encoding="utf-8")
    assert [name for name in public if not re.search(rf"`{re.escape(name)}[`(]", text)] == []


# -- the map of the house ---------------------------------------------------------------------

SOURCE = ROOT / "src" / "mixpul"


def paths_on_the_map():
    """Modules and folders in the second column of the table of CONTRIBUTING."""
    text = CONTRIBUTING.read_text(encoding="utf-8").split("## Where do I find")[1].split("\n## ")[0]
    answers = re.findall(r"^\|[^|]+\|(.+)\|$", text, re.M)
    code = re.findall(r"`([\w./]+)`", " ".join(answers))
    return {path for path in code if "/" in path or path.endswith(".py")}


def test_the_map_leads_somewhere():
    assert [path for path in sorted(paths_on_the_map()) if not (SOURCE / path).exists()] == []


def test_every_room_is_on_the_map():
    rooms = {path.name for path in SOURCE.iterdir() if not path.name.startswith("__")}
    on_the_map = {path.split("/")[0] for path in paths_on_the_map()}
    assert rooms - {"py.typed"} == on_the_map


# -- words ------------------------------------------------------------------------------------

LONGEST_SENTENCE = 40
# Words that have another name here, outside code.
FORMER_WORDS = re.compile(r"\b(pictures?|cuts?|by heart|is no (?:file|model))\b", re.I)


def prose(page):
    """Paragraphs, items and cells of a page; code and formulas count as one word."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^(?:```.*?^```|<!--.*?-->|\|[-: |]+\|$)", "", text, flags=re.M | re.S)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.M)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]*`", "code", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) ?)", text)
    return [cell for block in blocks for cell in block.split("|")]


@pytest.mark.parametrize("page", WRITTEN, ids=names(WRITTEN))
def test_sentences_are_short_and_words_are_ours(page):
    sentences = [
        " ".join(sentence.split())
        for block in prose(page)
        for sentence in re.split(r"(?<=[.!?])[)*\"\s]+", block)
    ]
    assert [s for s in sentences if len(s.split()) > LONGEST_SENTENCE] == []
    if page != CONTRIBUTING:  # says which words are not
        assert [s for s in sentences if FORMER_WORDS.search(s)] == []
