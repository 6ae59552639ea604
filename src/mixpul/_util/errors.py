"""Errors that a user can do something about; the command line prints them as one sentence."""

__all__ = ["MixpulError", "TrainingDiverged"]


class MixpulError(ValueError):
    """Input or settings that cannot work; the message names the way out."""


class TrainingDiverged(MixpulError, FloatingPointError):
    """The loss or the scores became NaN or infinite."""
