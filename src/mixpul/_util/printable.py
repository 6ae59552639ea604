"""Text from files and tables, made safe to print."""

__all__ = ["make_printable"]


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
