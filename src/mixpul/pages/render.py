"""Templates filled in, with the style sheets and scripts inside the page."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

__all__ = ["embed_json", "inline_static", "render", "typeset_terms"]


def render(template: str, **context: Any) -> str:
    """Fill in one of the package's templates.

    Templates call ``static("base.css")`` for the content of a file in `static`, and the filter
    ``terms`` for names of loss terms.
    """
    return _environment().get_template(template).render(**context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("mixpul.pages"),
        autoescape=True,
        # A misspelt name fails instead of leaving a gap in the page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["terms"] = typeset_terms
    environment.globals["static"] = inline_static
    return environment


def inline_static(name: str) -> Markup:
    """Return a style sheet or a script as it is, to stand inside the page."""
    return Markup(files("mixpul.pages").joinpath("static", name).read_text(encoding="utf-8"))


def embed_json(content: Mapping[str, Any]) -> Markup:
    """Write compact JSON that is safe within <script>: no <, > or & is left as it is."""
    compact = (",", ":")
    return htmlsafe_json_dumps(content, allow_nan=False, sort_keys=False, separators=compact)


def typeset_terms(text: str) -> Markup:
    """Write names of loss terms as in formulas: L_U with a subscript."""
    # Escaped first: only the tags added here are markup, whatever the text holds.
    return Markup(re.sub(r"\bL_([A-Z]+)", r"<i>L</i><sub>\1</sub>", str(escape(text))))
