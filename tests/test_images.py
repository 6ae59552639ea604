"""Pictures: bytes, augmentation, convolutional networks, checkpoints."""

import os
import signal
import subprocess
import sys
import time
import warnings
from textwrap import dedent

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score
from torch import nn

from mixpul import MixPULClassifier, NNPUClassifier, UPUClassifier, VPUClassifier, load, save
from mixpul.augment import AUGMENTATIONS, cutout, flip, flips, make_augment, shift
from mixpul.nets import NETS, SmallConv, Whitening
from mixpul.training import as_rows, is_faster_in_bfloat16

QUICK = {
    "net": "small-conv",
    "n_epochs": 2,
    "batch_size": 16,
    "max_steps": None,
    "min_steps": None,
    "cross_fitting": None,
}


@pytest.fixture(scope="module")
def pictures():
    """Bytes and PU labels: positives have a bright top, the others a bright left side."""
    random = np.random.default_rng(0)
    X = random.integers(0, 120, (120, 3, 12, 12), dtype=np.uint8)
    y = np.arange(120) % 2
    X[y == 1, :, :6] += 100
    X[y == 0, :, :, :6] += 100
    s = np.where((y == 1) & (random.random(120) < 0.6), 1, 0)
    return X, s, y


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# -- augmentation -----------------------------------------------------------------------------


@pytest.mark.parametrize("change", AUGMENTATIONS.values(), ids=AUGMENTATIONS)
def test_changes_are_seeded_and_differ_between_pictures(change):
    x = torch.rand(1, 3, 16, 16).add(1.0).expand(40, -1, -1, -1)
    once, again = change(x, generator()), change(x, generator())
    assert once.shape == x.shape
    assert torch.equal(once, again)
    assert not torch.equal(once, change(x, generator(1)))
    assert len({picture.numpy().tobytes() for picture in once.contiguous()}) > 1


def test_flip_mirrors_about_half_and_leaves_the_rest():
    x = torch.arange(2 * 3 * 4, dtype=torch.float32).reshape(1, 2, 3, 4).expand(400, -1, -1, -1)
    flipped = flip(x, generator())
    mirrored = [torch.equal(picture, x[0].flip(-1)) for picture in flipped]
    same = [torch.equal(picture, x[0]) for picture in flipped]
    assert sum(mirrored) + sum(same) == 400
    assert 150 < sum(mirrored) < 250


def test_shift_moves_by_whole_pixels_and_mirrors_the_edge():
    x = torch.arange(64, dtype=torch.float32).reshape(1, 1, 8, 8).expand(200, -1, -1, -1)
    moved = shift(x, generator(), share=0.25)  # by up to two pixels
    offsets = {(picture[0, 2, 2] - 18).item() for picture in moved}
    assert offsets == {8 * down + right for down in range(-2, 3) for right in range(-2, 3)}
    one_down = next(picture[0] for picture in moved if picture[0, 2, 2] == 10)
    assert_array_equal(one_down[1:], x[0, 0, :-1])
    assert_array_equal(one_down[0], x[0, 0, 1])  # mirrored at the first row
    assert torch.equal(shift(x, generator(), share=0.0), x)


def test_cutout_blanks_a_square_of_the_size_asked_for():
    x = torch.ones(300, 2, 16, 16)
    blank = cutout(x, generator(), share=0.25) == 0
    assert torch.equal(blank[:, 0], blank[:, 1])  # in all channels
    for picture in blank[:, 0]:
        rows, columns = picture.any(1).sum(), picture.any(0).sum()
        assert picture.sum() == rows * columns
        assert 2 <= rows <= 4
        assert 2 <= columns <= 4  # half of it may stick out


def test_names_are_applied_in_turn_and_unknown_ones_refused():
    x = torch.rand(5, 3, 8, 8)
    both, draws = make_augment(["flip", "cutout"]), generator()
    assert torch.equal(both(x, generator()), cutout(flip(x, draws), draws))
    assert make_augment(None) is None
    assert make_augment(flip) is flip
    with pytest.raises(ValueError, match=r"among flip, shift, cutout.*got \['turn'\]"):
        make_augment(["turn"])


# -- bytes ------------------------------------------------------------------------------------


def test_bytes_stay_bytes_until_they_are_in_a_batch(pictures):
    X = pictures[0]
    rows = as_rows(X, torch.device("cpu"))
    batch = rows(torch.tensor([3, 5]))
    assert batch.dtype == torch.float32
    assert batch.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(batch.numpy(), (X[[3, 5]].astype(np.float32) - 127.5) / 64)


def test_fit_keeps_no_float_copy_of_the_pictures():
    """Peak memory of a fit on 60 MB of bytes: far from the 240 MB of floats."""
    program = dedent("""
        import resource
        import numpy as np
        from mixpul import MixPULClassifier

        X = np.random.default_rng(0).integers(0, 256, (20_000, 3, 32, 32), dtype=np.uint8)
        s = np.arange(len(X)) % 4 == 0
        model = MixPULClassifier(
            net="linear", n_epochs=1, max_steps=2, cross_fitting=None, random_state=0
        )
        model.fit(X[:64], s[:64])  # what torch needs to get going
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model.fit(X, s)
        model.predict(X)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100_000  # kilobytes


def test_bytes_and_floats_do_not_mix(pictures):
    X, s, _ = pictures
    model = MixPULClassifier(**QUICK, random_state=0).fit(X, s)
    with pytest.raises(ValueError, match=r"X holds float32.* fitted on uint8.*bytes.*in both"):
        model.predict(X / 255)
    with pytest.raises(ValueError, match=r"rows of shape \(3, 12, 10\)"):
        model.predict(X[..., :10])


def test_tables_of_bytes_are_tables():
    X = np.random.default_rng(0).integers(0, 2, (60, 5), dtype=np.uint8)
    s = np.arange(60) % 3 == 0
    settings = {"n_epochs": 1, "cross_fitting": None, "random_state": 0}
    with_bytes = MixPULClassifier(**settings).fit(X, s)
    with_floats = MixPULClassifier(**settings).fit(X.astype(float), s)
    assert_array_equal(with_bytes.decision_function(X), with_floats.decision_function(X))


# -- networks and methods ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 8, 9), (4, 40, 24)])
@pytest.mark.parametrize("net", ["small-conv", "plain-conv"])
def test_small_conv_takes_pictures_of_any_size(net, shape):
    assert NETS[net](shape)(torch.randn(5, *shape)).shape == (5,)


@pytest.mark.parametrize("net", ["small-conv", "plain-conv"])
def test_small_conv_says_what_it_cannot_take(net):
    with pytest.raises(ValueError, match=f"net='{net}' takes images"):
        NETS[net]((12,))
    with pytest.raises(ValueError, match="from 8 x 8 on; got 6 x 32"):
        NETS[net]((3, 6, 32))


def test_whitened_patches_have_no_correlation():
    # Neighbouring pixels are much alike, as in photographs.
    images = torch.randn(400, 3, 16, 16, generator=generator()).cumsum(2).cumsum(3)
    layer = Whitening(3)
    layer.learn(images)
    with torch.no_grad():
        patches = images.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5)
        seen = torch.einsum("nhwcij,kcij->nhwk", patches, layer.filters).flatten(0, 2)
    correlations = torch.corrcoef(seen[:, :24].T)
    assert (correlations - torch.eye(24)).abs().max() < 1e-3
    # Main directions have a variance of 1, less where they hardly occur.
    assert seen[:, 0].var() == pytest.approx(1.0, abs=0.01)
    assert seen[:, :24].var(0).max() < 1.01
    assert torch.equal(layer.filters[24:], -layer.filters[:24])


def test_whitening_takes_pictures_of_one_colour():
    layer = Whitening(3)
    before = layer.filters.clone()
    layer.learn(torch.ones(20, 3, 16, 16))
    assert torch.equal(layer.filters, before)


def test_no_filter_is_blind_on_grey_pictures():
    images = torch.randn(200, 1, 16, 16, generator=generator()).expand(-1, 3, -1, -1)
    layer = Whitening(3)
    layer.learn(images)
    seen = nn.functional.conv2d(images, layer.filters, stride=4)
    # Three equal channels have 16 directions, so that 8 of them come twice.
    assert seen.var((0, 2, 3)).min() > 0.5
    assert torch.equal(layer.filters[:8], layer.filters[16:24])


def test_weights_stay_small_on_grey_pictures():
    random = np.random.default_rng(0)
    X = np.repeat(random.integers(0, 120, (60, 1, 16, 16), dtype=np.uint8), 3, axis=1)
    X[::3, :, :8] += 100
    settings = QUICK | {"n_epochs": 4, "learning_rate": 0.04}
    model = MixPULClassifier(**settings, random_state=0).fit(X, np.arange(60) % 6 == 0)
    assert max(float(p.abs().max()) for p in model.net_.parameters()) < 10


def test_convolutions_start_as_the_identity():
    net = SmallConv((3, 16, 16))
    x = torch.rand(2, 48, 8, 8)
    first = net.features[0]
    with torch.no_grad():
        assert_allclose((first(x) - first.bias[:, None, None])[:, :48], x, atol=1e-6)


def test_all_networks_learn_the_same_filters_and_keep_them(pictures):
    X, s, _ = pictures
    model = MixPULClassifier(**QUICK | {"cross_fitting": 2}, random_state=0).fit(X, s)
    first, second = [m.filters for m in model.net_.modules() if isinstance(m, Whitening)]
    assert torch.equal(first, second)
    assert not torch.equal(first, Whitening(3).filters)


def test_earlier_files_of_small_conv_are_read(pictures, tmp_path):
    X, s, _ = pictures
    model = MixPULClassifier(**QUICK | {"net": "plain-conv"}, random_state=0).fit(X, s)
    # As a file has it that was written when the name stood for that network.
    model.net = "small-conv"
    save(model, tmp_path / "model.mixpul")
    again = load(tmp_path / "model.mixpul")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    save(again, tmp_path / "once-more.mixpul")
    twice = load(tmp_path / "once-more.mixpul")
    assert_array_equal(twice.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    "model",
    [
        MixPULClassifier(**QUICK | {"n_epochs": 6}),
        NNPUClassifier(**QUICK | {"n_epochs": 6}, prior=0.3),
        UPUClassifier(**QUICK | {"n_epochs": 6}, prior=0.3, model="mlp", loss="logistic"),
        VPUClassifier(**QUICK | {"n_epochs": 6}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_neural_methods_learn_from_pictures_and_can_be_stored(model, pictures, tmp_path):
    X, s, y = pictures
    model.set_params(augment="shift", random_state=0).fit(X, s)
    scores = model.decision_function(X)
    assert roc_auc_score(y[s == 0], scores[s == 0]) > 0.95
    assert_array_equal(model.set_params(random_state=0).fit(X, s).decision_function(X), scores)
    save(model, tmp_path / "m.mixpul")
    assert_array_equal(load(tmp_path / "m.mixpul").decision_function(X), scores)
    with pytest.raises(ValueError, match="fitted on uint8"):
        load(tmp_path / "m.mixpul").predict(X / 255)


def test_augmentation_reaches_the_training_and_nothing_else(pictures):
    X, s, _ = pictures
    seen = []

    def watched(x, generator):
        seen.append(x)
        return x

    plain = MixPULClassifier(**QUICK, random_state=0).fit(X, s).decision_function(X)
    model = MixPULClassifier(**QUICK, random_state=0, augment=watched).fit(X, s)
    n_steps = len(seen)
    assert n_steps > 0
    assert_array_equal(model.decision_function(X), plain)  # it changed nothing
    assert len(seen) == n_steps
    changed = MixPULClassifier(**QUICK, random_state=0, augment="cutout").fit(X, s)
    assert not np.array_equal(changed.decision_function(X), plain)


@pytest.mark.parametrize("folds", [None, 2])
def test_what_was_mirrored_in_training_is_scored_from_both_sides(folds, pictures, tmp_path):
    X, s, _ = pictures
    settings = QUICK | {"cross_fitting": folds, "random_state": 0}
    model = MixPULClassifier(**settings, augment=("shift", "flip")).fit(X, s)
    scores = model.decision_function(X)
    assert_allclose(model.decision_function(X[..., ::-1].copy()), scores, atol=1e-5)
    save(model, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), scores)
    one_sided = MixPULClassifier(**settings, augment="shift").fit(X, s)
    other_side = one_sided.decision_function(X[..., ::-1].copy())
    assert not np.allclose(other_side, one_sided.decision_function(X), atol=1e-3)
    assert not flips(flip)  # a function may be undone by the next one: only names count


def test_the_cut_is_set_on_held_out_rows_of_a_single_network(pictures):
    X, s, _ = pictures
    model = MixPULClassifier(**QUICK, random_state=0).fit(X, s)
    assert model.threshold_ != 0
    model.set_params(early_stopping=False).fit(X, s)
    assert model.threshold_ == 0


def test_without_patience_held_out_rows_set_the_cut_and_nothing_else(pictures):
    X, s, _ = pictures
    model = MixPULClassifier(**QUICK | {"n_epochs": 4}, patience=None, random_state=0).fit(X, s)
    assert model.n_epochs_ == len(model.history_) == 4
    assert model.threshold_ != 0
    # The network is the one after the last epoch: an average with earlier ones would differ.
    weights = model.net_.state_dict()
    judged = MixPULClassifier(**QUICK | {"n_epochs": 4}, patience=9, random_state=0).fit(X, s)
    assert any(not torch.equal(weights[k], v) for k, v in judged.net_.state_dict().items())


# -- mixed precision --------------------------------------------------------------------------


def test_bfloat16_trains_and_keeps_weights_in_float32(pictures):
    X, s, y = pictures
    model = MixPULClassifier(**QUICK | {"n_epochs": 6}, precision="bfloat16", random_state=0)
    model.fit(X, s)
    plain = MixPULClassifier(**QUICK | {"n_epochs": 6}, random_state=0).fit(X, s)
    assert {p.dtype for p in model.net_.parameters()} == {torch.float32}
    assert not np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert roc_auc_score(y, model.decision_function(X)) > 0.97


def test_automatic_precision_is_measured(monkeypatch):
    """A network that is slow in one of the two: the other is taken."""

    class Slow(nn.Module):
        def __init__(self, slow_dtype):
            super().__init__()
            self.linear, self.slow_dtype = nn.Linear(4, 1), slow_dtype

        def forward(self, x):
            out = self.linear(x)
            if out.dtype == self.slow_dtype:
                time.sleep(0.02)
            return out.squeeze(-1)

    x = torch.randn(8, 4)
    assert is_faster_in_bfloat16(Slow(torch.float32), x)
    assert not is_faster_in_bfloat16(Slow(torch.bfloat16), x)


# -- checkpoints ------------------------------------------------------------------------------

PROGRAM = dedent("""
    import sys, time
    import numpy as np
    from mixpul import MixPULClassifier, NNPUClassifier, save

    name, checkpoint, out, slow = sys.argv[1:]
    random = np.random.default_rng(0)
    X = random.integers(0, 256, (90, 3, 8, 8), dtype=np.uint8)
    s = np.arange(90) % 3 == 0

    def slowly(x, generator):
        time.sleep(float(slow))
        return x

    common = dict(net="small-conv", n_epochs=4, batch_size=8, random_state=0, augment=slowly)
    common["min_steps"] = None
    model = {
        "mixpul": MixPULClassifier(**common, cross_fitting=2),
        "adam": NNPUClassifier(**common, cross_fitting=None, prior=0.3),
    }[name].set_params(checkpoint=checkpoint or None)
    save(model.fit(X, s).set_params(checkpoint=None, augment=None), out)
""")


@pytest.mark.parametrize("name", ["mixpul", pytest.param("adam", marks=pytest.mark.slow)])
def test_a_killed_training_goes_on_to_the_same_weights(name, tmp_path):
    whole, resumed = tmp_path / "whole.mixpul", tmp_path / "resumed.mixpul"
    checkpoint = tmp_path / "half.checkpoint"

    def command(*arguments):
        return [sys.executable, "-c", PROGRAM, name, *map(str, arguments)]

    subprocess.run(command("", whole, 0), check=True)
    process = subprocess.Popen(command(checkpoint, resumed, 0.04))
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)  # into the next epoch, which takes half a second at least
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert checkpoint.exists()
    assert not resumed.exists()
    subprocess.run(command(checkpoint, resumed, 0), check=True)
    first, second = load(whole), load(resumed)
    assert_states_equal(first.net_, second.net_)
    assert first.history_ == second.history_
    assert not checkpoint.exists()  # done with


def assert_states_equal(first, second):
    for (name, value), other in zip(
        first.state_dict().items(), second.state_dict().values(), strict=True
    ):
        assert torch.equal(value, other), name


def interrupted(model, X, s, path, after):
    """Fit with a checkpoint, and stop with an error in the epoch after `after`."""
    calls = []

    class Stop(Exception):
        pass

    def augment(x, generator):
        calls.append(None)
        if path.exists() and len(calls) > after:
            raise Stop
        return x

    with pytest.raises(Stop):
        model.set_params(checkpoint=path, augment=augment).fit(X, s)
    return model.set_params(augment=lambda x, generator: x)


def test_a_checkpoint_of_another_training_is_refused(pictures, tmp_path):
    X, s, _ = pictures
    path = tmp_path / "c"
    model = interrupted(MixPULClassifier(**QUICK, random_state=0), X, s, path, 0)
    other = MixPULClassifier(**QUICK, random_state=1, checkpoint=path)
    with pytest.raises(ValueError, match=r"other parameters or other data\. Remove it"):
        other.fit(X, s)
    with pytest.raises(ValueError, match="other parameters or other data"):
        model.set_params(augment=None).fit(X[::-1], s[::-1])
    path.write_bytes(b"something else")
    with pytest.raises(
        ValueError, match="not a checkpoint of a training; name another file, or remove it"
    ):
        model.fit(X, s)
    assert path.read_bytes() == b"something else"


def test_a_checkpoint_needs_a_number_as_seed(pictures, tmp_path):
    X, s, _ = pictures
    with pytest.raises(ValueError, match="random_state must be a number; got None"):
        MixPULClassifier(**QUICK, checkpoint=tmp_path / "c").fit(X, s)


def test_a_checkpoint_after_the_last_epoch_trains_no_more(pictures, tmp_path, monkeypatch):
    X, s, _ = pictures
    path = tmp_path / "c"
    model = MixPULClassifier(**QUICK, random_state=0, checkpoint=path)
    monkeypatch.setattr("mixpul.methods.neural.checkpoint.Checkpoint.remove", lambda self: None)
    scores = model.fit(X, s).decision_function(X)
    again = model.fit(X, s)
    assert len(again.history_) == 2
    assert_array_equal(again.decision_function(X), scores)


def test_no_warnings_on_pictures(pictures):
    X, s, _ = pictures
    X.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MixPULClassifier(**QUICK, random_state=0).fit(X, s).predict(X)
