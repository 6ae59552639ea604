"""The data sets of the experiments, and the protocols that turn labeled data into PU data."""

from mixpul.datasets._files import DataNotAvailable
from mixpul.datasets._load import BUNDLED, cifar10_vehicles, load, mnist_pair
from mixpul.datasets._protocols import (
    PUData,
    label_frequency,
    make_pu,
    paper_split,
    population_prior,
    unlabeled_prior,
)

__all__ = [
    "BUNDLED",
    "DataNotAvailable",
    "PUData",
    "cifar10_vehicles",
    "label_frequency",
    "load",
    "make_pu",
    "mnist_pair",
    "paper_split",
    "population_prior",
    "unlabeled_prior",
]
