"""Templates filled in."""

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

__all__ = ["render", "terms"]


def render(template: str, **context: Any) -> str:
    """Fill in one of the package's templates."""
    environment = Environment(
        loader=PackageLoader("mixpul.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["terms"] = terms
    return environment.get_template(template).render(**context)


def terms(text: str) -> Markup:
    """Names of loss terms as in formulas: L_U with a subscript."""
    return Markup(re.sub(r"\bL_([A-Z]+)", r"<i>L</i><sub>\1</sub>", str(escape(text))))
