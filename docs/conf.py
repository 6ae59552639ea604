"""Settings of the documentation site. `make docs` builds it through `docs/build_site.py`."""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer

ROOT = Path(__file__).resolve().parents[1]
# The extensions of our own, and the package of this very folder.
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "src")]

import mixpul  # noqa: E402

project = "mixpul"
author = "the mixpul developers"
release = version = mixpul.__version__

extensions = [
    "mathml",  # beside this file
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
nitpicky = True
suppress_warnings = ["myst.header"]  # a page may leave out a level of headings
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]

# -- pages in Markdown -------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4  # the same names that GitHub gives to headings
copybutton_exclude = ".linenos, .gp, .go"

# -- pages from docstrings ---------------------------------------------------------------------

toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # types stand in the docstrings
autodoc_inherit_docstrings = False  # what scikit-learn or torch says links to their pages
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
templates_path = [str(ROOT / "docs" / "_templates")]
# Names of other packages: their pages cannot be reached while building.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|np|torch|scipy|pandas|pd|pyarrow)\..*")]

# -- the gallery -------------------------------------------------------------------------------

# In this order; an example that is not listed comes last.
EXAMPLES = [
    "first_fit.py",
    "own_table.py",
    "choose_method.py",
    "mixup.py",
    "margin.py",
    "priors_and_bounds.py",
    "audit.py",
    "images.py",
    "big_tables.py",
]


def order_example(name: str) -> tuple[int, str]:
    """Return what examples are sorted by."""
    return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), name)


sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "conf.order_example",
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "parallel": True,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "first_notebook_cell": "# Needs mixpul with its extra `all`.\n%matplotlib inline",
}

# -- how it looks ------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "mixpul"
html_static_path = [str(ROOT / "docs" / "_static")]
html_css_files = ["site.css"]
html_favicon = str(ROOT / "docs" / "_static" / "logo.svg")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "image_light": str(ROOT / "docs" / "_static" / "logo.svg"),
        "image_dark": str(ROOT / "docs" / "_static" / "logo.svg"),
        "text": "mixpul",
        "alt_text": "mixpul, to the first page",
    },
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}
html_sidebars = {"index": []}
project_copyright = "the mixpul developers, BSD-3-Clause"


def skip_foreign_member(app, what, name, member, skip, options):
    """Leave out what classes inherit from other packages, such as scikit-learn's `set_params`."""
    member = getattr(member, "fget", None) or getattr(member, "func", None) or member
    module = getattr(member, "__module__", None)
    # scikit-learn writes methods such as `set_fit_request` into each class.
    return True if name.endswith("_request") or (module and "mixpul" not in module) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign_member)
    app.add_lexer("output", TextLexer)
