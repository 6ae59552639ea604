"""What to think of an assessment, in plain words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess._scores import LEVEL, N_FOLDS, auc_difference, make_folds, simple_scores
from mixpul.metrics import Estimate, PURates, pu_report
from mixpul.metrics._checks import few_positives
from mixpul.metrics._ranking import delong

# Positives above which a check is content, or at least not alarmed.
ENOUGH_POSITIVES, FEW_POSITIVES, HARDLY_ANY_POSITIVES = 100, 20, 5
# Of the rows compared by the SCAR hint, at least this share should be positive.
PURITY_OF_HINT = 0.75
ROWS_OF_HINT = 3_000  # of each kind


def _check(name: str, verdict: str, text: str) -> dict[str, str]:
    return {"name": name, "verdict": verdict, "text": text}


def check_positives(is_positive: NDArray[np.bool_]) -> dict[str, str]:
    n = int(is_positive.sum())
    name = "enough positives"
    if n < HARDLY_ANY_POSITIVES:
        return _check(name, "bad", f"{n} labeled positives are too few to learn from or to judge.")
    if n < FEW_POSITIVES:
        return _check(
            name,
            "bad",
            f"{n} labeled positives: results depend on which ones they are. Label at least "
            f"{FEW_POSITIVES}, better {ENOUGH_POSITIVES}.",
        )
    if n < ENOUGH_POSITIVES:
        return _check(
            name,
            "caution",
            f"{n} labeled positives are enough to start; with {ENOUGH_POSITIVES} the intervals "
            "would be clearly narrower.",
        )
    return _check(name, "good", f"{n} labeled positives are enough.")


def check_ranking(is_positive: NDArray[np.bool_], scores: NDArray) -> dict[str, str]:
    report = pu_report(is_positive, scores, threshold=0.5, n_bootstrap=2)
    doubts = [sentence for sentence in report["warnings"] if sentence != few_positives(is_positive)]
    if doubts:
        return _check("ranks better than chance", "bad", " ".join(doubts))
    auc = report["metrics"]["pu_auc"]["value"]
    return _check(
        "ranks better than chance",
        "good",
        f"A labeled positive outranks an unlabeled row in {100 * auc:.0f} % of the pairs (PU-AUC "
        f"{auc:.3f}); by chance it would be 50 %.",
    )


def check_prior(prior: Mapping[str, Any]) -> dict[str, str]:
    one, other = prior["bbe"], prior["dedpul"]
    small, large = sorted((one.value, other.value))
    used = prior[prior["from"]]
    agree = large - small <= 0.03 or large <= 1.5 * small
    sharp = used.high - used.low <= max(0.05, used.value)
    text = (
        f"Best bin estimation puts the share of positives among the unlabeled rows at "
        f"{_percent(one.value)} ({_percent(one.low)} to {_percent(one.high)}), DEDPUL at "
        f"{_percent(other.value)} ({_percent(other.low)} to {_percent(other.high)}). "
    )
    name = "class prior is stable"
    if not 0.0 < used.value < 1.0:
        text += "That leaves one class empty: precision and F1 mean nothing here."
        return _check(name, "bad", text)
    if agree and sharp:
        text += "They agree. Both assume that some region of the data has hardly any negatives."
        return _check(name, "good", text)
    if agree:
        text += "They agree, but the interval is wide: so are the bands of precision and F1."
        return _check(name, "caution", text)
    text += (
        "They disagree: precision and F1, which depend on it, are rough. PU-AUC, recall and the "
        "flagged share do not."
    )
    verdict = "caution" if large <= 2.5 * small else "bad"
    return _check(name, verdict, text)


def check_scar(
    rows: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    prior: Estimate,
    random: np.random.Generator,
) -> dict[str, str]:
    """Can labeled positives be told from unlabeled rows where nearly all are positive?

    Above the median score of the positives, a share `purity` of the unlabeled rows is positive.
    If the labeled positives are a random draw, only the others can be told from them, and no
    classifier reaches an AUC above 1 - purity / 2.

    A hint with little power. Positives of a kind that is labeled less often score lower if the
    model can tell the kind, and then they are not among the rows compared: labels given nine times
    as often above the median of one column of spambase went unnoticed. No method can do better
    without an assumption, for such positives look like negatives.
    """
    name = "positives look like a random draw"
    zone = scores > np.median(scores[is_positive])
    inside = {kind: np.flatnonzero(zone & (is_positive == kind)) for kind in (True, False)}
    if min(map(len, inside.values())) < FEW_POSITIVES:
        return _check(
            name,
            "caution",
            "Too few rows score high to compare labeled positives with unlabeled rows there: "
            "whether the positives are a random draw is for you to know.",
        )
    rates = PURates.from_masks(is_positive, zone)
    purity = min(1.0, max(prior.low, 0.0) * float(rates.recall) / float(rates.flagged))
    if purity < PURITY_OF_HINT:
        return _check(
            name,
            "caution",
            f"This cannot be judged here: even among the highest-scored unlabeled rows only "
            f"{_percent(purity)} are surely positive. Ask how the labels came about: were some "
            "kinds of positives more likely to be found?",
        )
    some = np.concatenate([random.permutation(part)[:ROWS_OF_HINT] for part in inside.values()])
    labels = is_positive[some]
    folds = make_folds(labels, N_FOLDS, int(random.integers(2**31)))
    told = simple_scores(rows[some], labels, folds, random)
    auc = delong(labels, told, 0.0, 0.0, LEVEL)
    most = 1 - purity / 2
    numbers = (
        f"Among the highest-scored rows a logistic regression tells labeled from unlabeled ones "
        f"with an AUC of {auc.value:.2f} ({auc.low:.2f} to {auc.high:.2f}); up to {most:.2f} is "
        "to be expected"
    )
    if auc.low > most:
        return _check(
            name,
            "caution",
            f"{numbers}. So some kinds of positives seem to be labeled more often than others, "
            "or even the highest scores hold negatives. Then recall is that of the kinds that "
            "get labeled, and the class prior is off.",
        )
    return _check(
        name,
        "good",
        f"{numbers}: no sign that some kinds of positives are labeled more often. This is a weak "
        "hint and no proof: kinds that hardly ever get labeled look like negatives, here as "
        "everywhere. Ask how the labels came about.",
    )


def check_simple(
    is_positive: NDArray[np.bool_], scores: NDArray, simple: NDArray, classifier: Any
) -> dict[str, str]:
    name = "better than a simple method"
    gain = auc_difference(is_positive, scores, simple)
    numbers = f"{gain.value:+.3f} PU-AUC, {gain.low:+.3f} to {gain.high:+.3f}"
    title = type(classifier).__name__.removesuffix("Classifier")
    if gain.low > 0:
        return _check(
            name, "good", f"{title} ranks better than a balanced logistic regression ({numbers})."
        )
    if gain.high < 0:
        return _check(
            name,
            "bad",
            f"A balanced logistic regression on the same columns ranks better ({title} has "
            f"{numbers}): use that, or look for what hinders {title} with `mixpul compare`.",
        )
    return _check(
        name,
        "caution",
        f"A balanced logistic regression on the same columns ranks as well, as far as these rows "
        f"can tell ({title} has {numbers}). It is easier to explain.",
    )


def check_leaks(leaking: list[Any]) -> dict[str, str]:
    name = "no column gives the label away"
    if leaking:
        return _check(name, "bad", " ".join(map(str, leaking)))
    return _check(name, "good", "No single column tells labeled from unlabeled rows.")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
