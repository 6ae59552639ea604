"""A classifier from `--method`, `--set` and `--seed`."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from mixpul._names import METHODS
from mixpul.cli.options import check_choice, parse_names

__all__ = ["make_classifier"]

# Settings that have an option of their own, or need none; a command may have more of them.
SET_OTHERWISE = {
    "random_state": "use --seed",
    "verbose": "progress is shown on a terminal anyway",
}
# Settings that take several names.
LISTS_OF_NAMES = ("candidates",)


def make_classifier(
    method: str,
    settings: Sequence[str] | None,
    seed: int,
    *,
    defaults: Mapping[str, Any],
    set_otherwise: Mapping[str, str],
) -> Any:
    """Return the method with its `defaults`, overridden by what --set says.

    A setting in `set_otherwise` is refused with the sentence it has there.
    """
    refused = SET_OTHERWISE | dict(set_otherwise)
    values = parse_settings(settings or (), METHODS[method]().get_params(), refused)
    classifier = METHODS[method](**(dict(defaults) | values), random_state=seed)
    try:
        # Now, not at the fit: a wrong value should not cost the reading of a large table.
        classifier._validate_params()
    except ValueError as error:
        raise typer.BadParameter(f"--set: {error}") from None
    return classifier


def parse_settings(
    settings: Sequence[str], known: Mapping[str, Any], refused: Mapping[str, str]
) -> dict[str, Any]:
    """Return NAME=VALUE as names and values; a value that is not Python's is text.

    >>> parse_settings(["candidates=trees,logistic-0.1"], {"candidates": None}, {})
    {'candidates': ['trees', 'logistic-0.1']}
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE, such as n_epochs=10; got {setting}.")
        if name in refused:
            raise typer.BadParameter(f"--set {name}: {refused[name]}.")
        check_choice(name, known, "setting")
        try:
            # Literals only: nothing that is typed here is ever run.
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[name] = parse_names(text) if name in LISTS_OF_NAMES else text
    return values
