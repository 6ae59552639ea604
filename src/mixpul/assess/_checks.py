"""What to think of an assessment, in plain words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess._columns import Shuffled
from mixpul.assess._scar import splits
from mixpul.assess._scores import auc_difference
from mixpul.metrics import pu_report
from mixpul.metrics.checks import explain_few_positives
from mixpul.tables import TableInput

# Positives above which a check is content, or at least not alarmed.
ENOUGH_POSITIVES, FEW_POSITIVES, HARDLY_ANY_POSITIVES = 100, 20, 5
# The SCAR hint looks at the columns that matter most; it is content if it can tell of this share.
COLUMNS_OF_HINT, ENOUGH_TOLD = 10, 2 / 3
RANDOM_DRAW = "positives look like a random draw"


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


def check_ranking(
    is_positive: NDArray[np.bool_], scores: NDArray, unit: str = "row"
) -> dict[str, str]:
    report = pu_report(is_positive, scores, threshold=0.5, n_bootstrap=2)
    doubts = [
        sentence
        for sentence in report["warnings"]
        if sentence != explain_few_positives(is_positive)
    ]
    if doubts:
        return _check("ranks better than chance", "bad", " ".join(doubts))
    auc = report["metrics"]["pu_auc"]["value"]
    return _check(
        "ranks better than chance",
        "good",
        f"A labeled positive outranks an unlabeled {unit} in {100 * auc:.0f} % of the pairs "
        f"(PU-AUC {auc:.3f}); by chance it would be 50 %.",
    )


def check_prior(prior: Mapping[str, Any], unit: str = "row") -> dict[str, str]:
    one, other = prior["bbe"], prior["dedpul"]
    small, large = sorted((one.value, other.value))
    used = prior[prior["from"]]
    agree = large - small <= 0.03 or large <= 1.5 * small
    sharp = used.high - used.low <= max(0.05, used.value)
    text = (
        f"Best bin estimation puts the share of positives among the unlabeled {unit}s at "
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
    table: TableInput, shuffled: Shuffled, importance: list[dict[str, Any]]
) -> dict[str, str]:
    """Are both halves of the rows, by each of the columns that matter, labeled equally often?

    Measured on krvskp, spambase and a made table, with 10 and 30 % of the positives labeled:
    of 54 labelings that favoured one side of some column nine to one, 43 were noticed, each by the
    right column, and one was taken for even; of 54 random ones one raised an alarm. Columns that
    tell most of the class escape most easily: without them few rows are surely positive. Measure
    anew with `python benchmarks/scar.py`.
    """
    ask = (
        "Columns that the score hardly uses were not checked, and kinds of positives that never "
        "get labeled look like negatives to any method. Ask how the labels came about."
    )
    columns = [entry["column"] for entry in importance[:COLUMNS_OF_HINT]]
    n_positive = int(shuffled.is_positive.sum())
    found = splits(table, shuffled, set(columns)) if n_positive >= FEW_POSITIVES else []
    if uneven := [split for split in found if split.is_uneven]:
        worst = max(uneven, key=lambda split: abs(np.log(split.ratio)))
        times = max(worst.ratio, 1 / worst.ratio)
        often = f"{times:.0f} times" if times < 20 else "more than 20 times"
        more = "as often as" if worst.ratio > 1 else "less often than"
        others = sorted({split.column for split in uneven} - {worst.column})
        also = f" The same goes for {_quoted(others)}." if others else ""
        return _check(
            RANDOM_DRAW,
            "caution",
            f"Rows where {worst.side} seem to be labeled about {often} {more} others that "
            f"look just as positive.{also} Then recall is that of the kinds that get labeled, and "
            f"the share of positives is estimated too low. {ask}",
        )
    told = {split.column for split in found if split.is_even}
    told -= {split.column for split in found if not split.is_even}
    open_ = [column for column in columns if column not in told]
    if len(told) < ENOUGH_TOLD * len(columns):
        return _check(
            RANDOM_DRAW,
            "caution",
            f"This could not be judged: only for {len(told)} of the {len(columns)} columns that "
            "matter most would the data show it if rows on one side were labeled three times as "
            f"often as others that look just as positive. {ask}",
        )
    left = f" For {_quoted(open_)} that cannot be told." if open_ else ""
    return _check(
        RANDOM_DRAW,
        "good",
        "Rows that look equally positive are labeled about equally often (less than three to one) "
        f"on both sides of {len(told)} of the {len(columns)} columns that matter most.{left} {ask}",
    )


def scar_is_open() -> dict[str, str]:
    """What there is to say where no columns tell kinds of positives apart."""
    return _check(
        RANDOM_DRAW,
        "caution",
        "This could not be judged: it is looked for column by column, and pictures have none. "
        "Kinds of positives that never get labeled look like negatives to any method. Ask how the "
        "labels came about, and whether labeled and unlabeled pictures come from the same source.",
    )


def check_simple(
    is_positive: NDArray[np.bool_], scores: NDArray, simple: NDArray, classifier: Any
) -> dict[str, str]:
    name = "better than a simple method"
    gain = auc_difference(is_positive, scores, simple)
    # Zero is added to what rounds to -0.0.
    value, low, high = (f"{round(x, 3) + 0.0:+.3f}" for x in (gain.value, gain.low, gain.high))
    numbers = f"{value} PU-AUC, {low} to {high}"
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


def _quoted(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
