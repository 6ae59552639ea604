"""Values of options: what was typed becomes what is meant, or is refused."""

import typer

__all__ = ["check_prior_option", "parse_interval", "parse_threshold"]


def parse_threshold(text: str) -> float | str:
    """Return a number, or a name such as 'prior' or 'recall>=0.9' without its spaces.

    >>> parse_threshold("0.5"), parse_threshold("recall >= 0.90")
    (0.5, 'recall>=0.90')
    """
    typed = "".join(text.split())
    name, sign, number = typed.partition("=")
    try:
        if typed in ("prior", "f1"):
            return typed
        if sign and name in ("recall", "recall>"):
            share = float(number)
            # No number of positives promises that none is missed.
            if 0 < share < 1 or (share == 1 and name == "recall"):
                return typed
        # NaN is refused as well: no comparison with it holds.
        elif 0 <= float(typed) <= 1:
            return float(typed)
    except ValueError:
        pass
    raise typer.BadParameter(
        "A threshold is a number from 0 to 1, prior, f1, recall>=SHARE such as recall>=0.9, or "
        f"recall=SHARE; got {text!r}."
    )


def check_prior_option(prior: float | None) -> float | None:
    """Refuse a class prior that leaves one class empty."""
    if prior is not None and not 0 < prior < 1:
        raise typer.BadParameter(f"A class prior lies between 0 and 1; got {prior}.")
    return prior


def parse_interval(text: str) -> tuple[float, float] | None:
    """Return the two ends of an interval of the class prior.

    >>> parse_interval("0.03, 0.06")
    (0.03, 0.06)
    """
    if not text:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 < low <= high < 1:
        raise typer.BadParameter(
            "An interval of the class prior is two shares between 0 and 1, the smaller one first, "
            f"such as 0.03,0.06; got {text!r}."
        )
    return low, high
