"""The names of the paper's experiments, each written once.

Result files hold these names and file names are made of them: a name that changes leaves the
results under its old name behind.
"""

from mixpul._names import PRESETS, PRIORS

# Targets: what `mixpul reproduce` can run. Those of images are called like their data.
UCI = "uci"
MNIST = "mnist"
CIFAR10 = PRESETS["paper"]
CIFAR10_CPU = PRESETS["cpu"]
RN_MINING = "rn-mining"
PRIOR_ERROR = "prior-error"
MIXUP_ABLATION = "mixup-ablation"
MARGIN_ABLATION = "margin-ablation"
EVERY_TARGET = "all"

# Data sets.
ETHN = "ethn"
KRVSKP = "krvskp"
TITANIC = "titanic"
SPAMBASE = "spambase"
IMAGE_SOURCES = (MNIST, CIFAR10)

# Methods: the columns of the paper's tables ...
SUPERVISED = "Supervised"
WSVM = "WSVM"
UPU = "uPU"
NNPU = "nnPU"
PNU = "PNU"
MIXPUL = "MixPUL"
RAMP = "Ramp"
RAND = "Rand"
DIST = "Dist"
NTC = "NTC"
WITH_ALL_TERMS = "with L_U and L_PU"
WITHOUT_L_U = "without L_U"
WITHOUT_L_PU = "without L_PU"
# ... and ours.
AUTO = "Auto"
VPU = "VPU"
BAGGING = "Bagging"
LOGISTIC_REGRESSION = "logistic regression"
CLASS_MEANS = "class means"
AS_PUBLISHED = " as published"
MIXPUL_AS_PUBLISHED = MIXPUL + AS_PUBLISHED
# nnPU by the estimator that it takes its class prior from.
NNPU_WITH = {prior: f"{NNPU}, {prior} prior" for prior in PRIORS}
# The same, by estimators that read scores: here those of the portfolio, out of fold.
NNPU_WITH_AUTO = {prior: f"{NNPU}, {prior} prior by {AUTO}" for prior in ("bbe", "dedpul")}
# How the recipe of a trial ends whose method is given the true class prior.
TOLD = ", true prior"

# What varies in a target: the share of the positives that are labeled, or their number.
SHARE_LABELED = "c"
N_LABELED = "n_positive"
# Settings of shortened trials: rows to use, epochs to train for.
SUBSET = "subset"
EPOCHS = "epochs"

# What is measured on the test rows.
AUC = "auc"
ERROR = "error"


def name_digit_pair(digit: int) -> str:
    """Name the data set of zeros against another digit of MNIST."""
    return f"{MNIST}-0v{digit}"


def find_digit(dataset: str) -> int:
    """Return the digit that zeros are told apart from."""
    return int(dataset[-1])


def find_source(dataset: str) -> str:
    """Return the name under which the data of a trial are stored: 'mnist' for 'mnist-0v3'."""
    return dataset.partition("-")[0]
