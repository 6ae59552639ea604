"""Scores, intervals and thresholds that need no labeled negatives.

All of them compare labeled positives with unlabeled rows. Compute them on held-out rows: a model
that has memorised its positives ranks those first whatever else it does.
"""

from mixpul.metrics._predictions import (
    flagged_share,
    lee_liu_score,
    pu_accuracy_score,
    pu_balanced_accuracy_score,
    pu_f1_score,
    pu_false_positive_rate,
    pu_matthews_corrcoef,
    pu_precision_score,
    pu_recall_score,
    pu_zero_one_risk,
)
from mixpul.metrics._rates import PURates
from mixpul.metrics._report import pu_report
from mixpul.metrics._scorers import pu_auc_scorer, pu_scorer
from mixpul.metrics.calibration import calibration_error, learn_density_ratio, to_probabilities
from mixpul.metrics.displays import (
    PURecallFlaggedDisplay,
    ScoreHistogramDisplay,
    TrainingCurveDisplay,
)
from mixpul.metrics.intervals import pu_interval
from mixpul.metrics.ranking import Estimate, auc_interval, corrected_auc_score, pu_auc_score
from mixpul.metrics.thresholds import (
    accuracy_threshold,
    balanced_threshold,
    best_threshold,
    prior_threshold,
    recall_threshold,
)

__all__ = [
    "Estimate",
    "PURates",
    "PURecallFlaggedDisplay",
    "ScoreHistogramDisplay",
    "TrainingCurveDisplay",
    "accuracy_threshold",
    "auc_interval",
    "balanced_threshold",
    "best_threshold",
    "calibration_error",
    "corrected_auc_score",
    "flagged_share",
    "learn_density_ratio",
    "lee_liu_score",
    "prior_threshold",
    "pu_accuracy_score",
    "pu_auc_score",
    "pu_auc_scorer",
    "pu_balanced_accuracy_score",
    "pu_f1_score",
    "pu_false_positive_rate",
    "pu_interval",
    "pu_matthews_corrcoef",
    "pu_precision_score",
    "pu_recall_score",
    "pu_report",
    "pu_scorer",
    "pu_zero_one_risk",
    "recall_threshold",
    "to_probabilities",
]
