"""
What mixup does
===============

MixPUL asks the network to be consistent: at a mixture of two rows it should predict the mixture
of its predictions. This example switches that off and on, on two moons, where one can look at the
whole surface.
"""

# %%
# The upper moon is positive. Twelve of its points are labeled.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score

from mixpul import MixPULClassifier, datasets

X, moon = make_moons(700, noise=0.18, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0)
truth = 1 - moon
pu = datasets.make_pu(X, truth, n_positive=12, random_state=1)
X_new, moon_new = make_moons(2000, noise=0.18, random_state=1)
X_new = (X_new - X_new.mean(axis=0)) / X_new.std(axis=0)

# %%
# ``alpha`` says how evenly rows are mixed: the weights come from Beta(alpha, alpha). With 0.001
# they are nearly always 0 or 1, which is no mixing at all. ``beta`` is the weight of the term
# that mixes pairs of unlabeled rows.
settings = {
    "no mixing": {"alpha": 0.001, "beta": 0.0},
    "mixing, positives only": {"alpha": 1.0, "beta": 0.0},
    "mixing, unlabeled rows too": {"alpha": 1.0, "beta": 1.0},
}
grid = np.stack(np.meshgrid(np.linspace(-2.6, 2.6, 120), np.linspace(-2.6, 2.6, 120)), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), sharey=True, layout="constrained")
for axis, (name, setting) in zip(axes, settings.items(), strict=True):
    model = MixPULClassifier(
        net=(64, 64),
        early_stopping=False,
        cross_fitting=None,
        weight_decay=0.0,
        n_epochs=40,
        random_state=0,
        **setting,
    ).fit(pu.X, pu.s)
    auc = roc_auc_score(1 - moon_new, model.decision_function(X_new))
    surface = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(120, 120)
    shades = axis.contourf(
        grid[..., 0], grid[..., 1], surface, levels=np.linspace(0, 1, 21), cmap="RdBu_r"
    )
    axis.scatter(*pu.X[pu.s == 0].T, s=5, color="#333", alpha=0.35, label="unlabeled")
    axis.scatter(*pu.X[pu.s == 1].T, s=45, color="gold", edgecolor="black", label="labeled")
    axis.set(title=f"{name}\nAUC {auc:.3f}", xticks=[], yticks=[])
axes[0].legend(loc="lower left", framealpha=0.9)
figure.colorbar(shades, ax=axes, label="score")
plt.show()

# %%
# Without mixing the network memorises: it is sure of itself everywhere, with islands around
# labeled points. Mixing makes the way from one row to another a slope.
