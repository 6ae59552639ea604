"""What to think of a model, in plain words: one file for each question.

This is the list of checks, and the order in which they are shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixpul.assess.checks import (
    class_prior,
    enough_positives,
    file_facts,
    leaks,
    random_draw,
    ranking,
    simple_method,
)
from mixpul.assess.checks.random_draw import Remedy
from mixpul.assess.checks.verdicts import VERDICTS, Check, Question, Verdict
from mixpul.assess.evidence import TableEvidence
from mixpul.assess.out_of_fold import OutOfFold
from mixpul.images import FileFacts

__all__ = ["QUESTIONS", "VERDICTS", "Check", "Question", "Remedy", "Verdict", "run_checks"]

CHECKS = (enough_positives, ranking, class_prior, random_draw, simple_method, leaks)
QUESTIONS: tuple[Question, ...] = tuple(check.QUESTION for check in CHECKS)


def run_checks(
    is_positive: NDArray[np.bool_],
    fitted: OutOfFold,
    prior: Mapping[str, Any],
    evidence: TableEvidence | None,
    unit: str,
    remedy: Remedy,
    files: Sequence[FileFacts] = (),
) -> list[Check]:
    """Ask everything that can be asked: some questions are for columns, one is for files."""
    checks = [
        enough_positives.check_enough_positives(is_positive),
        ranking.check_better_than_chance(is_positive, fitted.shares, unit),
        class_prior.check_class_prior(prior, unit),
    ]
    if evidence is None:
        of_files = [file_facts.check_file_facts(files, is_positive)] if files else []
        return [*checks, random_draw.answer_without_columns(), *of_files]
    scores = fitted.scores.astype(np.float64)
    return [
        *checks,
        random_draw.check_random_draw(evidence.table, evidence.shuffled, remedy),
        simple_method.check_simple_method(
            is_positive, scores, evidence.simple_scores, fitted.classifier
        ),
        leaks.check_leaks(evidence.leaks),
    ]
