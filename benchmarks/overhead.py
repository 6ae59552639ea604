"""What `fit` costs beyond a bare loop of the same arithmetic.

python benchmarks/overhead.py
"""

import copy

import numpy as np
import torch
from torch import nn

from mixpul import MixPULClassifier
from step import measure_seconds

N_ROWS, N_FEATURES, N_POSITIVE, BATCH, EPOCHS, ROUNDS = 6_000, 50, 500, 128, 5, 7


def run_bare_loop(X: np.ndarray, y: np.ndarray) -> None:
    """Train MixPUL in the plainest PyTorch: no checks, no records, nothing reusable."""
    X = torch.from_numpy(X)
    positive, unlabeled = (torch.from_numpy(np.flatnonzero(y == value)) for value in (1, 0))
    net = nn.Sequential(
        nn.Linear(N_FEATURES, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)
    )
    teacher = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.SGD(
        net.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True
    )
    pairs = list(teacher.parameters()), list(net.parameters())
    target = torch.cat([torch.ones(BATCH), torch.zeros(BATCH)])
    rng, step = np.random.default_rng(), 0
    for _ in range(EPOCHS):
        for u in unlabeled[torch.randperm(len(unlabeled))].split(BATCH):
            n = len(u)
            x_p = X[positive[torch.randint(len(positive), (n,))]]
            x_n = X[unlabeled[torch.randint(len(unlabeled), (n,))]]
            x_u = X[u]
            x = torch.cat([x_p, x_n])
            y_pn = target if n == BATCH else torch.cat([target[:n], target[BATCH : BATCH + n]])
            weight, order = rng.beta(1, 1), torch.randperm(2 * n)
            x_pn = torch.lerp(x[order], x, weight)
            y_pn = torch.lerp(y_pn[order], y_pn, weight)
            with torch.no_grad():
                y_u = torch.sigmoid(teacher(x_u)[:, 0])
            weight, order = rng.beta(1, 1), torch.randperm(n)
            x_uu = torch.lerp(x_u[order], x_u, weight)
            y_uu = torch.lerp(y_u[order], y_u, weight)
            f = torch.sigmoid(net(torch.cat([x_pn, x_p, x_u, x_uu]))[:, 0])
            f_pn, f_p, f_u, f_uu = f.split([2 * n, n, n, n])
            loss = nn.functional.mse_loss(f_pn, y_pn) + nn.functional.mse_loss(f_uu, y_uu)
            loss = loss + 1 + f_u.mean() - f_p.mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            with torch.no_grad():
                torch._foreach_lerp_(*pairs, max(1 / (step + 1), 1e-3))


def main() -> None:
    torch.set_num_threads(1)
    X = np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    y = (np.arange(N_ROWS) < N_POSITIVE).astype(int)
    model = MixPULClassifier(
        net=(256, 256), n_epochs=EPOCHS, batch_size=BATCH, warmup=0.0, learning_rate=1e-3,
        cross_fitting=None, early_stopping=False, max_steps=None,
    )  # fmt: skip
    model.fit(X, y)
    run_bare_loop(X, y)
    ratios = []
    for _ in range(ROUNDS):  # in turns: the machine's mood hits both alike
        bare = measure_seconds(lambda: run_bare_loop(X, y))
        ratios.append(measure_seconds(lambda: model.fit(X, y)) / bare)
    print(f"fit takes {np.median(ratios):.2f} times a bare loop (at most 1.15 wanted)")


if __name__ == "__main__":
    main()
