"""
Class priors and their bounds
=============================

How many of the unlabeled rows are positive? Estimators assume that some region has hardly any
negatives. Where the classes overlap that is wrong, and the estimates are too high, even if they
agree. An upper limit needs no such assumption.
"""

# %%
# Three tables: one whose classes hardly overlap, one in between, and one where they overlap a
# lot. All three have the same class prior, 0.2.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict

from mixpul import LogisticPUClassifier
from mixpul.priors import BBEPrior, DEDPULPrior, ElkanNotoPrior, TIcEPrior, largest_prior


def draw(distance, seed):
    """100 labeled positives, and 1,500 unlabeled rows of which a fifth are positive."""
    random = np.random.default_rng(seed)
    truth = np.repeat([1, 1, 0], [100, 300, 1200])
    X = random.normal(size=(1600, 4))
    X[:, :2] += distance * truth[:, None]
    return X, np.repeat([1, 0], [100, 1500])


distances = {"well apart": 2.5, "some overlap": 1.2, "much overlap": 0.5}

# %%
# Four estimators and the 95 % upper limit, which is computed from out-of-fold scores.
estimators = {
    "BBE": BBEPrior,
    "DEDPUL": DEDPULPrior,
    "Elkan-Noto": ElkanNotoPrior,
    "TIcE": TIcEPrior,
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for axis, (name, distance) in zip(axes, distances.items(), strict=True):
    X, s = draw(distance, seed=0)
    for row, (label, estimator) in enumerate(estimators.items()):
        found = estimator(n_bootstrap=30, random_state=0).fit(X, s)
        low, high = found.interval_
        axis.plot([low, high], [row, row], color="#3b7dd8", linewidth=2)
        axis.plot(found.prior_, row, "o", color="#3b7dd8")
        print(f"{name:13} {label:11} {found.prior_:.2f} ({low:.2f} to {high:.2f})")
    scores = cross_val_predict(LogisticPUClassifier(C=0.1), X, s, method="decision_function")
    limit = largest_prior(scores[s == 1], scores[s == 0])
    axis.plot([0, limit], [4, 4], color="#5b8c3e", linewidth=2)
    axis.plot(limit, 4, "<", color="#5b8c3e", markersize=9)
    print(f"{name:13} at most     {limit:.2f}")
    axis.axvline(0.2, color="#d9822b", linestyle="--", label="truth")
    axis.set(title=f"Classes {name}", xlim=(0, 1), xlabel="class prior")
axes[0].set_yticks(range(5), [*estimators, "at most (95 %)"])
axes[0].set_ylim(4.5, -0.5)
axes[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
# With much overlap all four intervals miss the truth. The limit stays honest: it says little,
# because little can be known. Checking some dozen rows settles it; see the example of an audit.
