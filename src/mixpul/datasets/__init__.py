"""Bundled data sets, and the protocols that turn labeled data into PU data."""

from mixpul.datasets._bundled import load
from mixpul.datasets._protocols import (
    PUData,
    label_frequency,
    make_pu,
    paper_split,
    population_prior,
    unlabeled_prior,
)

__all__ = [
    "PUData",
    "label_frequency",
    "load",
    "make_pu",
    "paper_split",
    "population_prior",
    "unlabeled_prior",
]
