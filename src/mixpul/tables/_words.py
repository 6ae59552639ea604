"""Words that stand for something else: for a gap, for yes or for no."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["TRUE_FALSE", "find_yes_no", "is_gap", "is_yes"]

# What people write where a number or a date is not known. In a column of categories these words
# stay categories: there "none" may be an answer, and a column of its own tells as much as a mark.
GAP_WORDS = """
    - -- --- – — ? ?? ??? . .. ... n/a na n.a. n.a n/d nd n.d. n/k nan nat null none nil unknown
    unk unbekannt k.a. k.a k.a.. fehlt missing n.v.t. inconnu inconnue desconocido desconocida
    sconosciuto desconhecido onbekend s/d tbd tba #n/a #na #value! #ref! #div/0! #name? #null!
    #num! <na> (null) (none) [null]
"""
GAPS = frozenset(GAP_WORDS.split()) | {
    "",
    "not available",
    "not applicable",
    "not known",
    "keine angabe",
    "k. a.",
    "no data",
}
GAPS |= {"nicht bekannt", "non disponible", "no disponible"}

# How cells of a column of booleans are read where they come as text.
TRUE_FALSE: dict[str, Any] = {"as": "yes/no", "yes": ["true"], "no": ["false"]}

# The words for yes and those for no that may come together: a code of three letters such as
# t, f and n should not lose one of them.
PAIRS = (
    ("yes y", "no n"),
    ("true t", "false f"),
    ("on", "off"),
    ("ja j", "nein n"),
    ("ja j", "nee n"),
    ("ja j", "nej n"),
    ("wahr w", "falsch f"),
    ("oui o", "non n"),
    ("vrai v", "faux f"),
    ("si sí sì s", "no n"),
    ("sim s", "não nao n"),
    ("да", "нет"),
    ("tak t", "nie n"),
    ("evet e", "hayır hayir h"),
    ("kyllä", "ei"),
    ("ano a", "ne n"),
)


def is_gap(text: str) -> bool:
    """Whether a cell among numbers or dates says that there is no value."""
    return text.strip().lower() in GAPS


def find_yes_no(texts: Iterable[str]) -> dict[str, list[str]] | None:
    """Return the words for yes and for no if a column has both and, but for gaps, nothing else."""
    words = {text.strip().lower() for text in texts}
    words = {word for word in words if word not in GAPS}
    for yes, no in PAIRS:
        yes_words, no_words = set(yes.split()), set(no.split())
        if words <= yes_words | no_words and words & yes_words and words & no_words:
            return {"yes": sorted(yes_words), "no": sorted(no_words)}
    return None


def is_yes(text: str, style: Mapping[str, Any]) -> float | None:
    """Return 1 for yes, 0 for no, None for anything else."""
    word = text.strip().lower()
    if word in style["yes"] or word in ("true", "1", "1.0"):
        return 1.0
    return 0.0 if word in style["no"] or word in ("false", "0", "0.0") else None
