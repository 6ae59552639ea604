"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from html import escape

from docutils import nodes
from latex2mathml.converter import convert

# What the converter does not know, in words that it knows.
SPELLINGS = {r"\tfrac": r"\frac", r"\lVert": r"\Vert", r"\rVert": r"\Vert"}


def write_formula(latex: str, display: str) -> str:
    """Return a formula as a `<math>` element that also keeps its LaTeX, for who copies it."""
    label = escape(latex.strip())
    for unknown, known in SPELLINGS.items():
        latex = latex.replace(unknown, known)
    mathml = convert(latex, display=display)
    return mathml.replace("<math ", f'<math aria-label="{label}" ', 1)


def visit_inline(writer, node):
    writer.body.append(write_formula(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(writer, node):
    writer.body.append(f'<div class="formula">{write_formula(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
