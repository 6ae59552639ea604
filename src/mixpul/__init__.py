"""Positive-unlabeled learning: learn from some rows labeled positive and many unlabeled ones."""

from mixpul.methods.mixpul import MixPULClassifier
from mixpul.persistence import load, save

__version__ = "0.1.0"

__all__ = ["MixPULClassifier", "__version__", "load", "save"]
