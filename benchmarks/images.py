"""What a MixPUL step on images costs beside a plain supervised step of the same network.

    python benchmarks/images.py [--net small-conv] [--batch 64] [--threads 2] [--rounds 8]
    python benchmarks/images.py --memory       # peak memory of a fit on 50,000 images

Passes are counted in units of one forward pass of one image; a backward pass is two. A MixPUL
step on B positives, B negatives and B unlabeled images puts 2 B mixed, B positive, B unlabeled
and B mixed unlabeled ones through the student, forward and backward, and B through the teacher,
forward. A supervised step puts each of its images through once, forward and backward. So the
bound on the ratio of images per second is 3 / ((5 * 3 + 1) / 3) = 0.56. Both steps fetch bytes,
put them on one scale, and flip and shift them. The last line says which precision is the faster.
"""

import argparse
import resource
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from mixpul import MixPULClassifier
from mixpul.augment import make_augment
from mixpul.losses import consistency
from mixpul.training import as_rows, is_faster_in_bfloat16, make_optimizer
from step import make_objective, measure_seconds

FORWARD, BACKWARD = 1, 2
# Pictures through the networks, in units of the batch size, for three batches of fresh images.
MIXPUL_UNITS = (2 + 1 + 1 + 1) * (FORWARD + BACKWARD) + 1 * FORWARD
SUPERVISED_UNITS = FORWARD + BACKWARD  # for one
BOUND = SUPERVISED_UNITS / (MIXPUL_UNITS / 3)
AUGMENT = ("flip", "shift")


def draw_images(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 3, 32, 32), dtype=np.uint8)


def make_mixpul_step(net: str, batch: int) -> Callable[[], None]:
    X = draw_images(20 * batch)
    model = MixPULClassifier(net=net, batch_size=batch, augment=AUGMENT, warmup=0.0)
    objective = make_objective(model, X, 2 * batch)
    member = objective.member
    optimizer = make_optimizer(member.net, "sgd", 1e-3, 0.9, 1e-4)
    member.net.train()

    def batches() -> Iterator:
        while True:
            yield from member.batches

    source = batches()

    def step() -> None:
        loss = sum(objective.terms(next(source), 0.5).values())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        objective.after_step()

    return step


def make_supervised_step(net: str, batch: int) -> Callable[[], None]:
    X = draw_images(20 * batch)
    rows, augment = as_rows(X, torch.device("cpu")), make_augment(AUGMENT)
    student = make_objective(MixPULClassifier(net=net), X, batch).member.net.train()
    optimizer = make_optimizer(student, "sgd", 1e-3, 0.9, 1e-4)
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(batch) % 2

    def step() -> None:
        some = torch.randint(len(X), (batch,), generator=generator)
        loss = consistency(student(augment(rows(some), generator)), y.float())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def compare_steps(net: str, batch: int, threads: int, rounds: int) -> None:
    torch.set_num_threads(threads)
    # As many images in one pass as the student has: passes of one size cost the same each.
    mixpul, supervised = make_mixpul_step(net, batch), make_supervised_step(net, 5 * batch)
    with FlopCounterMode(display=False) as counter:
        mixpul()
    supervised()
    a, b = torch.randn(2, 2048, 2048)
    times: dict[str, list[float]] = {"mixpul": [], "supervised": [], "product": []}
    for _ in range(rounds):  # in turns: the machine's mood hits all alike
        times["mixpul"].append(measure_seconds(mixpul))
        times["supervised"].append(measure_seconds(supervised))
        times["product"].append(measure_seconds(lambda: a @ b))
    # The fastest round of each: what is slower is other work on the machine.
    best = {name: min(values) for name, values in times.items()}
    rates = {"mixpul": 3 * batch / best["mixpul"], "supervised": 5 * batch / best["supervised"]}
    ratio = rates["mixpul"] / rates["supervised"]
    print(f"{net}, batches of {batch}, {threads} threads")
    print(
        f"units of a forward pass: MixPUL {MIXPUL_UNITS} x B for 3 x B images, "
        f"supervised {SUPERVISED_UNITS} x B for B"
    )
    print(f"MixPUL {rates['mixpul']:.0f}, supervised {rates['supervised']:.0f} images per second")
    print(f"ratio {ratio:.3f}, bound {BOUND:.3f}: {ratio / BOUND:.2f} of it (at least 0.9 wanted)")
    share = (counter.get_total_flops() / best["mixpul"]) / (2 * 2048**3 / best["product"])
    print(f"share of the rate of a matrix product: {share:.2f}")


def compare_precision(net: str, batch: int, threads: int) -> None:
    torch.set_num_threads(threads)
    X = draw_images(batch)
    student = make_objective(MixPULClassifier(net=net), X, 2).member.net
    rows = as_rows(X, torch.device("cpu"))
    faster = is_faster_in_bfloat16(student, rows(torch.arange(batch)), times=2)
    print(f"precision='auto' takes {'bfloat16' if faster else 'float32'} here")


def measure_memory(net: str) -> None:
    """Print the megabytes that a fit and a prediction need on top of the images and the library."""
    torch.set_num_threads(1)
    X = draw_images(50_000)
    s = np.arange(len(X)) % 50 == 0
    small = MixPULClassifier(
        net=net, batch_size=64, augment=AUGMENT, n_epochs=1, max_steps=2, cross_fitting=None
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    small.fit(X, s).predict(X[:10_000])
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{X.nbytes / 2**20:.0f} MB of images, {more / 1024:.0f} MB on top (at most 1500 wanted)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--net", default="small-conv")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--memory", action="store_true")
    args = parser.parse_args()
    if args.memory:
        measure_memory(args.net)
        return
    compare_steps(args.net, args.batch, args.threads, args.rounds)
    compare_precision(args.net, args.batch, args.threads)


if __name__ == "__main__":
    main()
