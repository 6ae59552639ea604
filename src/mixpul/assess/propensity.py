"""Weights for labeled positives of which some kinds were labeled more often than others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixpul._util.errors import MixpulError
from mixpul.assess.checks.label_odds import LEAST_OF_A_KIND, split_in_two
from mixpul.priors import Subtype, prior_by_subtype, propensity_weights
from mixpul.tables import TableInput
from mixpul.tables.names import check_present

__all__ = ["Propensity", "weigh_by_columns"]

OTHERS = "all others"


class Propensity(NamedTuple):
    """How often the kinds of positives were labeled, by columns that decide on labels.

    Attributes
    ----------
    columns : list of str
    weights : ndarray of shape (n,)
        1 for rows without a label, for labeled positives 1 on average.
    parts : list of Subtype
    """

    columns: list[str]
    weights: NDArray[np.float64]
    parts: list[Subtype]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns and the kinds of rows as plain values."""
        total = sum(part.n_labeled / part.label_frequency for part in self.parts)
        mean = total / sum(part.n_labeled for part in self.parts)
        return {
            "columns": self.columns,
            "kinds": [
                {
                    "name": part.name,
                    "labeled": part.n_labeled,
                    "unlabeled": part.n_unlabeled,
                    "label_frequency": part.label_frequency,
                    "weight": 1 / part.label_frequency / mean,
                }
                for part in self.parts
            ],
        }


def weigh_by_columns(
    table: TableInput,
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    columns: Sequence[str],
) -> Propensity:
    """Weigh labeled positives by how rarely their kind is labeled.

    A kind is a category of a column, or one side of a number, of several columns at once. Within
    each the class prior is estimated from out-of-fold scores, and so the share of its positives
    that are labeled.

    Parameters
    ----------
    table : TableInput
        Fitted.
    rows : ndarray of shape (n, n_features)
        What `table` has made of the rows.
    is_positive : ndarray of bool of shape (n,)
    scores : ndarray of shape (n,)
        Of rows left out of training.
    columns : sequence of str

    Returns
    -------
    Propensity
    """
    check_present(columns, list(table.kinds_), "Among the columns that are learned from, the table")
    named = [_name_kinds(table, rows, is_positive, column) for column in dict.fromkeys(columns)]
    kinds = _join_rare([", ".join(one) for one in zip(*named, strict=True)], is_positive)
    if len(set(kinds)) < 2:
        raise MixpulError(
            f"No two kinds of rows by {', '.join(map(repr, columns))} have {LEAST_OF_A_KIND} "
            "labeled positives each, so it is not known how often each is labeled; name another "
            "column, or label more rows."
        )
    _, parts = prior_by_subtype(scores, is_positive, kinds)
    return Propensity(list(columns), propensity_weights(is_positive, kinds, parts), parts)


def _name_kinds(
    table: TableInput, rows: NDArray, is_positive: NDArray[np.bool_], column: str
) -> list[str]:
    """Say of each row what it is by one column: its category, or on which side it lies."""
    start = 0
    for plan in table.plan_:
        stop = start + len(plan["endings"])
        if plan["column"] == column:
            return _name_rows(plan, rows[:, start:stop], is_positive)
        start = stop
    raise KeyError(column)


def _name_rows(
    plan: Mapping[str, Any], features: NDArray, is_positive: NDArray[np.bool_]
) -> list[str]:
    column = plan["column"]
    if plan["kind"] == "text":
        # One feature for each category; a row without any is none of the frequent ones.
        words = [f"{column} is {ending.removeprefix('=')}" for ending in plan["endings"]]
        words.append(f"{column} is another")
        has_none = ~(features > 0).any(axis=1)
        return [words[k] for k in np.where(has_none, len(words) - 1, features.argmax(axis=1))]
    upper = split_in_two(features[:, 0], is_positive)
    if upper is None:
        return [f"{column} is any"] * len(features)
    high, low = {"boolean": ("true", "false"), "date": ("late", "early")}.get(
        plan["kind"], ("high", "low")
    )
    return [f"{column} is {high if one else low}" for one in upper]


def _join_rare(kinds: Sequence[str], is_positive: NDArray[np.bool_]) -> NDArray:
    """Join kinds with few labeled positives; if they are few together, with the rarest of all."""
    labeled = Counter(kind for kind, is_one in zip(kinds, is_positive, strict=True) if is_one)
    often = [kind for kind, n in labeled.most_common() if n >= LEAST_OF_A_KIND]
    rest = sum(n for kind, n in labeled.items() if kind not in often)
    if often and rest < LEAST_OF_A_KIND and len(often) < len(set(kinds)):
        often.pop()
    return np.array([kind if kind in often else OTHERS for kind in kinds])
