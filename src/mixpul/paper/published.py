"""The numbers in the paper, as `mixpul report` sets them beside ours.

A row of a table is a text with its numbers from left to right, 'mean' or 'mean±sd'.
"""

from collections.abc import Mapping
from typing import NamedTuple

from mixpul.paper.names import (
    CIFAR10,
    DIST,
    ETHN,
    KRVSKP,
    MIXPUL,
    NNPU,
    NTC,
    PNU,
    RAMP,
    RAND,
    SPAMBASE,
    SUPERVISED,
    TITANIC,
    UPU,
    WSVM,
    name_digit_pair,
)

__all__ = [
    "CIFAR10_ERRORS",
    "FREQUENCIES",
    "MINING_AUC",
    "MNIST_ERRORS",
    "N_IMAGES",
    "N_PERSONS",
    "N_ZEROS",
    "UCI_AUC",
    "Published",
    "PublishedCells",
]


class Published(NamedTuple):
    """A number in the paper; many have no standard deviation."""

    mean: float
    sd: float | None = None


# From (data set, method, value of what varies) to the number.
PublishedCells = dict[tuple[str, str, float], Published]


def _read_table(
    values: tuple[float, ...], rows: Mapping[str, Mapping[str, str]], scale: float = 1.0
) -> PublishedCells:
    """Read a table whose columns are `values`; `rows` are by data set, then by method."""
    cells = {}
    for dataset, methods in rows.items():
        for method, row in methods.items():
            for value, text in zip(values, row.split(), strict=True):
                mean, _, sd = text.partition("±")
                spread = float(sd) * scale if sd else None
                # Rounded: 8.87 * 0.01 is not 0.0887.
                cells[dataset, method, value] = Published(round(float(mean) * scale, 6), spread)
    return cells


# The paper has errors in percent, we have shares.
_PERCENT = 0.01

# Shares of the positives that are labeled, and numbers of labeled positives: the columns.
FREQUENCIES = (0.01, 0.05, 0.1, 0.2, 0.4)
N_ZEROS = (1200, 2400, 3600)
N_IMAGES = (100, 500, 1000, 2000, 4000, 10_000)
N_PERSONS = (5, 25, 50, 100)

UCI_AUC = _read_table(
    FREQUENCIES,
    {
        ETHN: {
            SUPERVISED: "0.50±0.00 0.69±0.10 0.89±0.02 0.92±0.01 0.96±0.00",
            WSVM: "0.56±0.20 0.96±0.01 0.98±0.00 0.99±0.00 0.99±0.00",
            UPU: "0.66±0.07 0.84±0.04 0.94±0.01 0.96±0.00 0.97±0.00",
            NNPU: "0.63±0.07 0.80±0.09 0.82±0.03 0.86±0.03 0.86±0.01",
            PNU: "0.71±0.04 0.92±0.01 0.94±0.01 0.95±0.01 0.97±0.00",
            MIXPUL: "0.73±0.04 0.92±0.01 0.97±0.00 0.98±0.00 0.94±0.00",
        },
        KRVSKP: {
            SUPERVISED: "0.50±0.00 0.81±0.06 0.87±0.07 0.97±0.01 0.98±0.00",
            WSVM: "0.61±0.07 0.77±0.06 0.81±0.05 0.85±0.04 0.88±0.05",
            UPU: "0.72±0.08 0.85±0.06 0.89±0.04 0.95±0.02 0.96±0.02",
            NNPU: "0.62±0.09 0.78±0.03 0.82±0.06 0.84±0.02 0.88±0.04",
            PNU: "0.72±0.07 0.88±0.03 0.91±0.03 0.95±0.09 0.96±0.00",
            MIXPUL: "0.70±0.08 0.90±0.03 0.93±0.02 0.96±0.00 0.97±0.00",
        },
        TITANIC: {
            SUPERVISED: "0.50±0.00 0.50±0.00 0.69±0.02 0.72±0.01 0.71±0.00",
            WSVM: "0.35±0.04 0.68±0.05 0.73±0.01 0.73±0.02 0.71±0.02",
            UPU: "0.64±0.09 0.70±0.01 0.71±0.00 0.71±0.00 0.71±0.00",
            NNPU: "0.63±0.05 0.70±0.03 0.70±0.02 0.71±0.01 0.71±0.02",
            PNU: "0.63±0.08 0.69±0.00 0.70±0.02 0.70±0.00 0.70±0.00",
            MIXPUL: "0.67±0.01 0.68±0.01 0.70±0.01 0.71±0.01 0.71±0.00",
        },
        SPAMBASE: {
            SUPERVISED: "0.50±0.00 0.89±0.02 0.90±0.01 0.93±0.02 0.95±0.01",
            WSVM: "0.36±0.01 0.58±0.00 0.72±0.00 0.79±0.00 0.85±0.00",
            UPU: "0.87±0.05 0.91±0.01 0.93±0.00 0.93±0.01 0.94±0.00",
            NNPU: "0.77±0.07 0.87±0.01 0.90±0.00 0.91±0.01 0.92±0.00",
            PNU: "0.76±0.07 0.87±0.01 0.91±0.01 0.93±0.00 0.94±0.00",
            MIXPUL: "0.89±0.01 0.92±0.01 0.94±0.01 0.94±0.01 0.96±0.00",
        },
    },
)
MNIST_ERRORS = _read_table(
    N_ZEROS,
    {
        name_digit_pair(1): {RAMP: "3.36 4.85 5.48", MIXPUL: "0.24 0.33 0.33"},
        name_digit_pair(2): {RAMP: "5.15 6.96 7.22", MIXPUL: "4.57 2.83 2.14"},
        name_digit_pair(3): {RAMP: "3.49 4.72 5.02", MIXPUL: "3.02 2.41 2.46"},
        name_digit_pair(4): {RAMP: "1.68 2.05 2.21", MIXPUL: "0.76 0.66 0.46"},
        name_digit_pair(5): {RAMP: "5.21 7.22 7.46", MIXPUL: "1.60 3.63 9.62"},
        name_digit_pair(6): {RAMP: "11.47 19.87 22.58", MIXPUL: "8.57 5.31 3.51"},
        name_digit_pair(7): {RAMP: "1.89 2.55 2.64", MIXPUL: "1.64 1.20 1.15"},
        name_digit_pair(8): {RAMP: "3.98 4.81 4.75", MIXPUL: "3.58 2.81 2.41"},
        name_digit_pair(9): {RAMP: "1.22 1.60 1.73", MIXPUL: "1.21 0.96 3.02"},
    },
    _PERCENT,
)
CIFAR10_ERRORS = _read_table(
    N_IMAGES,
    {
        CIFAR10: {
            NNPU: "40.00 15.55 13.32 11.32 9.90 8.87",
            UPU: "40.00 26.01 19.95 14.38 12.08 9.90",
            MIXPUL: "22.63 14.00 12.21 11.10 9.77 8.88",
        }
    },
    _PERCENT,
)
MINING_AUC = _read_table(
    N_PERSONS,
    {
        TITANIC: {
            RAND: "0.67±0.01 0.68±0.01 0.70±0.01 0.71±0.01",
            DIST: "0.48±0.14 0.53±0.16 0.66±0.01 0.47±0.15",
            NTC: "0.56±0.11 0.68±0.02 0.70±0.01 0.69±0.00",
        }
    },
)
