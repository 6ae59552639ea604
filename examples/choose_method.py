"""
How to choose a method
======================

No method is the best on every table. Fit several on the same folds, and look at paired
differences: two intervals may overlap although one method is clearly ahead on each fold.
"""

# %%
# Chess endgames of the bundled set krvskp; 80 of the won ones are labeled.
import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

from mixpul import (
    BaggingPUClassifier,
    LogisticPUClassifier,
    MixPULClassifier,
    VPUClassifier,
    WeightedSVMClassifier,
    datasets,
)
from mixpul.assess import compare

X, y = datasets.load("krvskp", return_X_y=True)
pu = datasets.make_pu(X, y, n_positive=80, n_unlabeled=1500, random_state=0)

# %%
# Classifiers of scikit-learn take part, too. The networks train for a few epochs only, to keep
# this page quick.
methods = {
    "trees": BaggingPUClassifier(),
    "logistic regression": LogisticPUClassifier(),
    "weighted SVM": WeightedSVMClassifier(),
    "MixPUL": MixPULClassifier(net="skip-mlp", n_epochs=3, random_state=0),
    "VPU": VPUClassifier(n_epochs=6, random_state=0),
    "boosted trees of scikit-learn": HistGradientBoostingClassifier(max_iter=30),
}
found = compare(pu.X, pu.s, methods, n_folds=3)
print(found.text)

# %%
# On the left is the PU-AUC of each method. On the right is how far it is behind the best, on the
# same rows. Where that interval reaches 0, these rows cannot tell the two apart: take the quicker
# or the simpler one, or the portfolio, which weighs them all.
entries = found.methods[::-1]
names = [entry["method"] for entry in entries]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for row, entry in enumerate(entries):
    for axis, figures in zip(axes, (entry["pu_auc"], entry["behind"]), strict=True):
        if figures is None:
            axis.plot(0, row, "o", color="#d9822b")
            continue
        axis.plot([figures.low, figures.high], [row, row], color="#3b7dd8", linewidth=2)
        axis.plot(figures.value, row, "o", color="#3b7dd8")
axes[0].set_yticks(range(len(names)), names)
axes[0].set(title="PU-AUC, 95 % interval", xlabel="PU-AUC")
axes[1].set(title="Behind the best", xlabel="paired difference of PU-AUC")
axes[1].axvline(0, color="#777", linestyle="--", linewidth=1)
plt.show()
