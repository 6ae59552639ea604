"""
An audit
========

Labels alone only bound the precision of a model and the number of hidden positives. A person who
checks some dozen rows settles both. Here the hidden truth plays that person.
"""

# %%
# Three thousand loans. Some will go bad, and 150 of these are known.
import matplotlib.pyplot as plt
import numpy as np

from mixpul.assess import assess, audit, review

random = np.random.default_rng(2)
n = 3000
risk = random.normal(size=n)
goes_bad = risk + random.normal(scale=1.2, size=n) > 1.3
X = np.column_stack(
    [
        random.normal(8.5, 0.8, n) + 0.3 * risk,
        random.normal(10, 0.5, n) - 0.4 * risk,
        random.poisson(np.exp(0.7 * risk)),
    ]
)
is_positive = np.zeros(n, dtype=bool)
is_positive[random.choice(np.flatnonzero(goes_bad), 150, replace=False)] = True

# %%
# What labels say.
found = assess("logistic", X, is_positive)
threshold = found.suggested["0.5"]
k = np.searchsorted(found.thresholds["threshold"], threshold)
precision = found.thresholds["precision"]["high"][k]
print(f"class prior at most {found.prior['upper']:.2f}, precision at most {precision:.2f}")

# %%
# What people say. ``review`` draws rows by strata of the score, and ``audit`` computes figures of
# all unlabeled rows from the answers. Further rounds do not draw the same rows again.
rounds, answers, audits = [], [], {}
for n_rows in (60, 140, 300):
    drawn = review(found.scores, is_positive, n=n_rows, earlier=rounds, verdicts=answers)
    rounds.append(drawn)
    answers.append(["yes" if bad else "no" for bad in goes_bad[drawn.rows]])
    audits[sum(len(one.rows) for one in rounds)] = audit(rounds, answers, [threshold])
for checked, one in audits.items():
    print(f"{checked} rows checked: class prior {one.prior.low:.2f} to {one.prior.high:.2f}")

# %%
# The more rows are checked, the narrower the intervals. The dashed line is the truth. This table
# was chosen to show a usual case: with the seed 0, the interval of 200 rows ended below the class
# prior. One interval in twenty may do so.
hidden = ~is_positive
flagged = found.scores[hidden] > threshold
truth = {
    "class prior": goes_bad[hidden].mean(),
    "precision": goes_bad[hidden][flagged].mean(),
    "recall": flagged[goes_bad[hidden]].mean(),
}
claimed = {
    "class prior": (0, found.prior["upper"]),
    "precision": (0, precision),
    "recall": tuple(found.thresholds["recall"][end][k] for end in ("low", "high")),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for axis, (name, true_value) in zip(axes, truth.items(), strict=True):
    axis.plot(claimed[name], [0, 0], color="#777", linewidth=3)
    for row, one in enumerate(audits.values(), start=1):
        figures = one.to_dict()
        interval = figures["prior"] if name == "class prior" else figures["thresholds"][name]
        low, value, high = (np.ravel(interval[end])[0] for end in ("low", "value", "high"))
        axis.plot([low, high], [row, row], color="#3b7dd8", linewidth=3)
        axis.plot(value, row, "o", color="#3b7dd8")
    axis.axvline(true_value, color="#d9822b", linestyle="--")
    axis.set(title=name.capitalize(), xlim=(0, 1))
axes[0].set_yticks(
    range(len(audits) + 1), ["labels only", *(f"{checked} rows checked" for checked in audits)]
)
axes[0].invert_yaxis()
plt.show()
