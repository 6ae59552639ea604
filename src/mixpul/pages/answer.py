"""The answer in words, and what no number can tell."""

import math
from collections.abc import Mapping

from markupsafe import Markup

from mixpul.pages.numbers import Assessment, count, percent, readout, span

__all__ = ["answer", "unknown"]

# The share of pairs in which a positive comes before a negative, and what to call it.
GRADES = ((0.9, "very well"), (0.75, "well"), (0.6, "only fairly well"), (-math.inf, "poorly"))

GIVES_AWAY = {"row": "a column", "image": "where images come from"}


def answer(a: Assessment, start: int) -> list[Markup]:
    """How well it ranks, how many positives there are, what the first cut gives."""
    return [_ranking(a), _positives(a), _first_cut(a, start)]


def _ranking(a: Assessment) -> Markup:
    pu_auc, corrected, unit = a["pu_auc"], a["corrected_auc"], a["data"]["unit"]
    quality = (corrected or pu_auc)["value"]
    if quality > 1:
        grade = "too well to be true"
    elif pu_auc["low"] is not None and pu_auc["low"] <= 0.5:
        grade = "no better than chance, as far as these data can tell"
    else:
        grade = next(word for least, word in GRADES if quality >= least)
    text = Markup(
        "It ranks <strong>{}</strong>: a known positive it was not trained on scores above an "
        "unlabeled {} in {} of pairs ({})"
    ).format(grade, unit, percent(pu_auc["value"]), span(pu_auc["low"], pu_auc["high"]))
    if not corrected:
        return text + "."
    low, high = corrected["low"], corrected["high"]
    if quality > 1:
        return text + (
            f". Against truly negative {unit}s that would make {percent(quality)}, which cannot "
            f"be: {GIVES_AWAY[unit]} may give the label away, or the share of positives is "
            "estimated too high."
        )
    # An interval that reaches beyond 100 % has an end that says nothing.
    around = f"at least {percent(low)}" if low is not None and (high or 0) > 1 else span(low, high)
    return text + f", and above a truly negative {unit} in about {percent(quality)} ({around})."


def _positives(a: Assessment) -> Markup:
    prior, n, unit = a["prior"], a["data"]["unlabeled"], a["data"]["unit"]
    estimate = prior.get(prior["from"])
    text = Markup("Of the {} unlabeled {}s about <strong>{}</strong> are probably positive").format(
        count(n), unit, count(prior["used"] * n)
    )
    if not isinstance(estimate, Mapping) or estimate["low"] is None:
        return text + f" ({percent(prior['used'])}, as given)."
    low, high = (count(estimate[end] * n) for end in ("low", "high"))
    return text + f" ({percent(prior['used'])}; {low} to {high} {unit}s)."


def _first_cut(a: Assessment, place: int) -> Markup:
    now = readout(a, place)
    where = "the default of " if a["suggested"].get("default") is not None else ""
    return Markup(
        "Cut at {}, it flags <strong>{}</strong> of them; expect <strong>{}</strong> of the "
        "flagged to be positive ({}), and <strong>{}</strong> of all positives to be found ({})."
    ).format(
        where + now["cut"], now["flagged"], now["precision"], now["precision_span"],
        now["recall"], now["recall_span"],
    )  # fmt: skip


def unknown(a: Assessment) -> list[str]:
    """What no number on the page can tell."""
    prior, unit = a["prior"], a["data"]["unit"]
    known = {name: prior[name] for name in ("bbe", "dedpul") if prior.get(name)}
    estimates = ", ".join(
        f"{percent(one['value'])} by {name.upper()} ({span(one['low'], one['high'])})"
        for name, one in known.items()
    )
    shares = f" It was estimated as {estimates}." if estimates else ""
    return [
        f"No {unit} is known to be negative. Ranking and recall are measured on known positives "
        "that were held out; precision, F1 and the number of positives also rest on the share of "
        f"positives among the unlabeled {unit}s.{shares}",
        "Whether the known positives are typical. If easy cases were labeled first, fewer of the "
        "others are found than it says here.",
        f"Which flagged {unit}s are right. Check some of them by hand, drawn at random: a hundred "
        "tell the precision to within ten percentage points.",
    ]
