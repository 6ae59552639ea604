"""Text from files and tables, made safe to print."""

__all__ = ["make_printable", "shorten"]


def make_printable(text: str) -> str:
    r"""Return text with everything that is not a visible character written as an escape.

    A terminal obeys control codes, and some marks turn the direction of what follows.

    >>> make_printable("caf\u00e9 \x1b[31m\n")
    'café \\x1b[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def shorten(text: str, most: int = 60) -> str:
    """Return the start of a text, for a sentence that quotes it; a cell may be as long as a book.

    >>> shorten("Zanzibar", 3)
    'Zan...'
    """
    return text if len(text) <= most else f"{text[:most]}..."
