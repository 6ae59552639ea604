"""Build the documentation site: copy the pages, run Sphinx, check every link.

    python docs/build_site.py [FOLDER [-D NAME=VALUE ...]]

The pages are those of `docs/`, which are also read as plain Markdown. They are copied to a folder
of their own, where links that lead out of `docs/` are turned to pages of the site, and where pages
that only the site has are written: one per section of `docs/index.md`, and one per public module.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import mixpul

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GALLERY = "gallery"
# Pages of the repository that the site shows, too, and where.
PROJECT = {
    ROOT / "CHANGELOG.md": "project/changes.md",
    ROOT / "CONTRIBUTING.md": "project/contributing.md",
    ROOT / "SECURITY.md": "project/security.md",
}
# Sections whose pages are written elsewhere, and pages that only the site has.
SECTION_PAGES = {"Examples": f"{GALLERY}/index"}
ONLY_HERE = {"Reference": ["reference/modules"]}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```.*?^```)", re.M | re.S)


# -- the pages ---------------------------------------------------------------------------------


def list_pages() -> dict[Path, str]:
    """Map each page of the repository to its path on the site."""
    pages = {page: page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md"))}
    examples = {
        example: f"{GALLERY}/{example.stem}.rst" for example in (ROOT / "examples").glob("*.py")
    }
    return pages | PROJECT | examples | {ROOT / "examples": f"{GALLERY}/index.rst"}


def turn_links(text: str, page: Path, place: str, pages: dict[Path, str], source: Path) -> str:
    """Return a page's text with links that fit its place on the site.

    A link to a file that is not a page becomes a download: the file is copied to the site.
    """

    def turn(match: re.Match) -> str:
        path, hash_, anchor = match[2].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        target = (page.parent / path).resolve()
        if target not in pages and target.is_file():
            pages[target] = f"files/{target.relative_to(ROOT).as_posix()}"
            write(source / pages[target], target.read_bytes())
        if target not in pages:
            return match[0]  # Sphinx will complain
        link = os.path.relpath(pages[target], Path(place).parent)
        return f"{match[1]}{Path(link).as_posix()}{hash_}{anchor}{match[3]}"

    parts = FENCE.split(text)
    return "".join(part if FENCE.match(part) else LINK.sub(turn, part) for part in parts)


def copy_pages(source: Path) -> None:
    """Write all pages to the folder that Sphinx reads."""
    pages = list_pages()
    for page, place in list(pages.items()):
        if page.suffix == ".md":
            text = turn_links(page.read_text(encoding="utf-8"), page, place, pages, source)
            write(source / place, text.encode())
    index = source / "index.md"
    sections = split_sections(index.read_text(encoding="utf-8"))
    for title, text in sections.items():
        if title not in SECTION_PAGES:
            write(source / f"{name_section(title)}.md", make_section(title, text).encode())
    tree = make_toctree([name_section(title) for title in sections])
    write(index, (index.read_text(encoding="utf-8") + tree).encode())


def split_sections(index: str) -> dict[str, str]:
    """Return the sections of the first page that are lists of pages, by their headings."""
    parts = re.split(r"^## (.+)\n", index, flags=re.M)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    return {title: text for title, text in sections.items() if list_targets(text)}


def name_section(title: str) -> str:
    return SECTION_PAGES.get(title, title.lower().replace(" ", "-"))


def list_targets(text: str) -> list[str]:
    """Return the pages that a list of a section names, in order: the first link of each item."""
    items = re.findall(r"^- [^\]]*\]\(([^)#]+)\)", text, re.M)
    return [item for item in items if not re.match(r"[a-z]+:", item)]


def make_section(title: str, text: str) -> str:
    """Return the page of a section: the same list, and its place in the navigation."""
    targets = [target.rpartition(".")[0] for target in list_targets(text)]
    return f"# {title}\n{text}{make_toctree(targets + ONLY_HERE.get(title, []))}"


def make_toctree(targets: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", "", *targets, "```", ""])


# -- pages from docstrings ---------------------------------------------------------------------


def list_public_names() -> dict[str, list[str]]:
    """Return the public classes and functions of each public module."""
    modules = {"mixpul": [name for name in mixpul.__all__ if callable(getattr(mixpul, name))]}
    for name in sorted(set(mixpul.__all__) - set(modules["mixpul"]) - {"__version__"}):
        module = import_module(f"mixpul.{name}")
        modules[module.__name__] = [n for n in module.__all__ if callable(getattr(module, n))]
    return modules


def write_reference(source: Path) -> None:
    """Write one page per public module; autosummary writes one per name from these."""
    for module, names in list_public_names().items():
        lines = [
            module,
            "=" * len(module),
            "",
            f".. automodule:: {module}",
            "   :no-members:",
            "",
            f".. currentmodule:: {module}",
            "",
            ".. autosummary::",
            "   :toctree: api",
            "   :nosignatures:",
            "",
            *(f"   {name}" for name in names),
            "",
        ]
        write(source / "reference" / f"{module}.rst", "\n".join(lines).encode())
    modules = list(list_public_names())
    lines = [
        "# Python modules",
        "",
        "Every public class and function has a page of its own, from its docstring.",
        "",
        "```{eval-rst}",
        ".. autosummary::",
        "",
        *(f"   {module}" for module in modules),
        "```",
        make_toctree(modules),
    ]
    write(source / "reference" / "modules.md", "\n".join(lines).encode())


# -- links -------------------------------------------------------------------------------------


@dataclass
class Page(HTMLParser):
    """What a page of the site links to, loads, and can be linked to by."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    without_alt: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(values["href"])
        if tag in ("script", "img", "iframe", "source") and "src" in values:
            self.loaded.append(values["src"])
        # Beside a small image of the gallery stands its title.
        source = values.get("src", "")
        if tag == "img" and not values.get("alt") and not source.endswith("_thumb.png"):
            self.without_alt.append(source)


def find_faults(folder: Path) -> list[str]:
    """Return what is wrong with a site: dead links, foreign resources, images without words."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        if "_static" in path.parts:  # parts of the theme, not pages
            continue
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        faults += [f"{name}: no words for {image}" for image in page.without_alt]
        faults += [f"{name}: loads {url} from elsewhere" for url in page.loaded if is_foreign(url)]
        own = [url for url in page.links + page.loaded if not is_foreign(url)]
        faults += [f"{name}: {url} leads nowhere" for url in own if is_dead(url, path, pages)]
    return faults


def find_missing_names(folder: Path) -> list[str]:
    """Return the public names that have no page, or that the search does not know."""
    known = (folder / "searchindex.js").read_text(encoding="utf-8")
    faults = []
    for module, names in list_public_names().items():
        for name in names:
            if not (folder / "reference" / "api" / f"{module}.{name}.html").is_file():
                faults.append(f"{module}.{name} has no page")
            elif f'"{name}"' not in known:
                faults.append(f"the search does not know {module}.{name}")
    return faults


def is_foreign(url: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//|mailto:", url))


def is_dead(url: str, page: Path, pages: dict[Path, Page]) -> bool:
    """Tell whether a link of a page leads to no file or to no place in it."""
    if re.match(r"(data|javascript):", url):
        return False
    path, _, anchor = url.partition("#")
    path = unquote(path.partition("?")[0])
    target = Path(os.path.normpath(page.parent / path)) if path else page
    if not target.is_file():
        return True
    return bool(anchor) and target in pages and unquote(anchor) not in pages[target].anchors


# -- all together ------------------------------------------------------------------------------


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def remove_old_pages(source: Path) -> None:
    """Remove the pages of an earlier build: one that is gone should leave the site."""
    for old in [*source.rglob("*.md"), *source.glob("reference/**/*.rst")]:
        old.unlink()


def build(folder: Path, *settings: str) -> int:
    """Build the site in a folder and return the exit code; `settings` go to Sphinx."""
    from sphinx.cmd.build import build_main

    source, html = folder / "source", folder / "html"
    remove_old_pages(source)
    copy_pages(source)
    shutil.copytree(DOCS / "images", source / "images", dirs_exist_ok=True)
    write_reference(source)
    options = ["-W", "--keep-going", "-n", "-j", "2", "-q", "-c", str(DOCS)]
    trees = ["-d", str(folder / "doctrees")]
    if code := build_main([*options, *trees, *settings, "-b", "html", str(source), str(html)]):
        return code
    faults = find_faults(html) + find_missing_names(html)
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    print(f"{len(list(html.rglob('*.html')))} pages, {len(faults)} faults: {html / 'index.html'}")
    return bool(faults)


if __name__ == "__main__":
    folder, *settings = sys.argv[1:] or [ROOT / "build" / "docs"]
    sys.exit(build(Path(folder).resolve(), *settings))
