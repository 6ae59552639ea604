"""
Big tables
==========

Learn from a sample, then score a file that may be larger than memory. It is read, scored and
written in pieces, on all cores. ``mixpul predict`` does the same.
"""

# %%
# A CSV file of 500,000 rows; a tenth of them are positive. This stands for the file that does not
# fit into memory.
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.pipeline import make_pipeline

from mixpul import BaggingPUClassifier
from mixpul.tables import TableInput, score_stream, stream_table, write_table

random = np.random.default_rng(0)
n = 500_000
truth = random.random(n) < 0.1
table = pd.DataFrame(
    {
        "id": np.arange(n),
        "amount": np.round(np.exp(random.normal(4, 1, n) + 0.9 * truth), 2),
        "hour": (random.normal(14, 4, n) - 5 * truth).round(1) % 24,
        "country": np.where(
            random.random(n) < 0.3 * truth, "elsewhere", random.choice(["at", "fr", "jp"], n)
        ),
    }
)
path = Path(mkdtemp()) / "payments.csv"
table.to_csv(path, index=False)
in_memory = table.memory_usage(deep=True).sum() / 1e6

# %%
# Fit on a sample: 200 known positives and 3,000 other rows.
known = random.choice(np.flatnonzero(truth), 200, replace=False)
others = random.choice(np.setdiff1d(np.arange(n), known), 3000, replace=False)
sample = table.iloc[np.concatenate([known, others])]
labels = np.repeat([1, 0], [200, 3000])
model = make_pipeline(TableInput(drop=["id"]), BaggingPUClassifier(n_estimators=60, random_state=0))
model.fit(sample, labels)

# %%
# Score the file in a stream. Along the way, note how much memory Arrow holds.
held = []


def watch(batches):
    for batch in batches:
        held.append((batch.num_rows, pa.total_allocated_bytes() / 1e6))
        yield batch


out = path.with_name("scores.parquet")
batches = score_stream(model, stream_table(path), keep=["id"])
n_rows = write_table(watch(batches), out)
print(f"{n_rows:,} rows scored in {len(held)} pieces")

# %%
# On the left, memory does not grow with the number of rows. On the right, what the scores are
# worth: if people can look at 5 % of the rows, they should look at these.
scored = pq.read_table(out).to_pandas()
found = truth[scored["id"].to_numpy()][np.argsort(-scored["score"].to_numpy())].cumsum()
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
rows = np.cumsum([batch_rows for batch_rows, _ in held])
axes[0].plot(rows, [size for _, size in held], color="#3b7dd8", label="held in memory")
axes[0].axhline(in_memory, color="#777", linestyle="--", label="the table as a data frame")
axes[0].set(title="Memory while scoring", xlabel="rows scored", ylabel="MB", ylim=(0, None))
axes[0].legend(frameon=False)
axes[1].plot(np.arange(1, n + 1) / n, found / truth.sum(), color="#d9822b", label="by score")
axes[1].plot([0, 1], [0, 1], color="#777", linestyle="--", label="at random")
axes[1].axvline(0.05, color="#bbb", linewidth=1)
axes[1].set(
    title="Positives found", xlabel="share of rows looked at", ylabel="share of positives found"
)
axes[1].legend(frameon=False, loc="lower right")
plt.show()
