"""
First fit
=========

Sixty of some thousand mails are known to be spam. The others have no label. A classifier ranks
all mails, and because this data set has hidden labels we can look at how well that went.
"""

# %%
# A bundled data set, most of whose labels we hide. ``s`` is 1 for the mails that stay labeled.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from mixpul import AutoPUClassifier, datasets
from mixpul.metrics import auc_interval

X, y = datasets.load("spambase", return_X_y=True)
X_train, X_test, y_train, y_test = datasets.paper_split(X, y, random_state=0)
pu = datasets.make_pu(X_train, y_train, c=0.05, random_state=0)
print(pu)

# %%
# The portfolio fits several candidates on the same folds and weighs them by how well they rank
# rows that were left out. Here are three quick ones; leave ``candidates`` out for real work.
model = AutoPUClassifier(candidates=["trees", "logistic-0.1", "kernel-narrow"], random_state=0)
model.fit(pu.X, pu.s)
print({name: round(weight, 2) for name, weight in model.weights_.items()})

# %%
# What can be known without negatives: PU-AUC, the share of pairs of a labeled and an unlabeled
# mail in which the labeled one scores higher. Each mail is scored by models that have not seen
# it.
seen = auc_interval(pu.s, model.oof_scores_)
print(f"PU-AUC {seen.value:.3f}, from {seen.low:.3f} to {seen.high:.3f}")

# %%
# What you usually cannot know: the AUC against true negatives, on mails that were put aside.
auc = roc_auc_score(y_test, model.decision_function(X_test))
print(f"AUC on test mails {auc:.3f}")

# %%
# On the left is what you see, on the right what is true. The bump of high-scoring unlabeled mails
# is spam that nobody has reported.
known, truth = pu.s == 1, pu.y == 1
bins = np.linspace(model.oof_scores_.min(), model.oof_scores_.max(), 40)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for axis, title, groups in [
    (axes[0], "What you see", {"unlabeled": ~known, "labeled spam": known}),
    (axes[1], "What is true", {"other mail": ~truth, "spam": truth}),
]:
    for (name, rows), colour in zip(groups.items(), ["#3b7dd8", "#d9822b"], strict=True):
        axis.hist(model.oof_scores_[rows], bins, density=True, alpha=0.6, color=colour, label=name)
    axis.set(title=title, xlabel="out-of-fold score")
    axis.axvline(0, color="#555", linewidth=1, linestyle="--")
    axis.legend(frameon=False)
axes[0].set_ylabel("density")
figure.suptitle("Scores of mails, from labels of a few")
plt.show()
