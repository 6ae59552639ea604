"""
A table of your own
===================

A data frame goes in as it comes: numbers, text, dates, gaps. Out come scores, the thresholds to
choose from and the columns that matter. On the command line, ``mixpul fit`` does the same and
writes a page.
"""

# %%
# Two thousand people. A quarter of them would buy, and 150 of those are known.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mixpul.assess import assess

random = np.random.default_rng(0)
n = 2000
would_buy = random.random(n) < 0.25
leads = pd.DataFrame(
    {
        "age": np.round(random.normal(50, 12, n) - 12 * would_buy),
        "income": np.round(np.exp(random.normal(10, 0.7, n) + 0.7 * would_buy)),
        "city": random.choice(["Oslo", "Rome", "Paris"], n),
        "visits": random.poisson(2 + 2 * would_buy),
        "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 700, n), "D"),
    }
)
leads.loc[random.random(n) < 0.05, "income"] = np.nan
is_positive = np.zeros(n, dtype=bool)
is_positive[np.flatnonzero(would_buy)[:150]] = True
leads.head()

# %%
# Fit on all rows, and judge by rows that were left out of the training. Balanced trees are quick.
# ``None`` instead of the name takes the portfolio.
found = assess("bagging", leads, is_positive)
for check in found.checks:
    print(f"{check['verdict']:8}{check['text']}")

# %%
# Recall and the number of flagged rows need no assumption about the share of positives. Precision
# does, so it is only an upper limit. The vertical lines are two of the thresholds that a report
# suggests.
curves = found.thresholds
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[3, 2])
for name, label, colour in [
    ("recall", "recall", "#d9822b"),
    ("flagged", "share of rows flagged", "#3b7dd8"),
    ("precision", "precision, at most", "#5b8c3e"),
]:
    values = curves[name]
    axes[0].plot(curves["threshold"], values["value"], color=colour, label=label)
    if name != "precision":
        axes[0].fill_between(
            curves["threshold"], values["low"], values["high"], color=colour, alpha=0.2
        )
for name, style in {"recall>=0.9": "--", "f1": ":"}.items():
    axes[0].axvline(found.suggested[name], color="#555", linestyle=style, label=f"threshold {name}")
axes[0].set(xlabel="threshold", ylim=(0, 1), xlim=(0, 1))
axes[0].set_title("What a threshold buys")
axes[0].legend(frameon=False, fontsize=9)

columns = found.importance[::-1]
axes[1].barh(
    [entry["column"] for entry in columns],
    [entry["drop"] for entry in columns],
    xerr=[entry["se"] for entry in columns],
    color="#3b7dd8",
)
axes[1].set(xlabel="PU-AUC lost when the column is shuffled")
axes[1].set_title("Columns that matter")
plt.show()
