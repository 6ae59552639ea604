"""How the candidates of a portfolio, or the settings of MixPUL, were weighed."""

from typing import Any, NamedTuple

from mixpul.pages.numbers import format_percent, format_thousandths
from mixpul.pages.texts import explain_agreement
from mixpul.pages.thresholds import AssessmentData

__all__ = ["Candidate", "Network", "describe_weighing"]

# The length of the longest bar, in the unit of the style sheet (rem).
LONGEST = 6.0


class Candidate(NamedTuple):
    """A row of the leaderboard as the page shows it."""

    name: str
    pu_auc: str
    error: str
    difference: str
    difference_error: str
    weight: str
    length: float
    seconds: str
    is_kept: bool


class Network(NamedTuple):
    """A setting of MixPUL as the page shows it."""

    net: str
    weight_decay: str
    weight: str
    length: float
    is_kept: bool


def describe_weighing(assessment: AssessmentData) -> dict[str, Any]:
    """Collect what the page says of weights; assessments of earlier versions have none."""
    leaderboard = assessment.get("leaderboard", [])
    networks = assessment.get("networks", [])
    longest = max((one["weight"] for one in leaderboard), default=1.0)
    candidates = [
        Candidate(
            name=one["candidate"],
            pu_auc=format_thousandths(one["pu_auc"]),
            error=format_thousandths(one["standard_error"]),
            # The best one has no difference to itself.
            difference=format_thousandths(one["difference"]) if rank else "",
            difference_error=format_thousandths(one["difference_error"]) if rank else "",
            weight=_format_weight(one["weight"]),
            length=_measure(one["weight"], longest),
            seconds=f"{one['seconds']:.1f}",
            is_kept=one["weight"] > 0,
        )
        for rank, one in enumerate(leaderboard)
    ]
    return {
        "candidates": candidates,
        "what_was_lost": explain_agreement(assessment.get("agreement")),
        "n_left_out": sum(not one.is_kept for one in candidates),
        # By candidate: a portfolio may have more than one MixPUL.
        "networks": {
            name: _list_networks([one for one in networks if one["candidate"] == name])
            for name in dict.fromkeys(one["candidate"] for one in networks)
        },
    }


def _list_networks(entries: list[dict[str, Any]]) -> list[Network]:
    longest = max(one["weight"] for one in entries)
    return [
        Network(
            net=str(one["net"]),
            weight_decay=f"{one['weight_decay']:.2g}",
            weight=_format_weight(one["weight"]),
            length=_measure(one["weight"], longest),
            is_kept=one["weight"] > 0,
        )
        for one in entries
    ]


def _format_weight(weight: float) -> str:
    return format_percent(weight) if weight > 0 else "left out"


def _measure(weight: float, longest: float) -> float:
    """Return the length of a bar."""
    return round(LONGEST * weight / longest, 2) if longest > 0 else 0.0
