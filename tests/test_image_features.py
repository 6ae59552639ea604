"""Features of images by networks trained on other images: numbers, store, model file, commands."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline

from mixpul import LogisticPUClassifier, load, save
from mixpul._util.errors import DamagedFile, MixpulError
from mixpul.assess import assess
from mixpul.images import (
    ImageFeatures,
    extractors,
    featured,
    find_near_copies,
    label_images,
    read_features,
    read_images,
    stream_features,
)
from mixpul.images.feature_store import FeatureStore, Stored
from mixpul.nets import EfficientNetLite0
from mixpul.persistence import describe
from test_image_folders import fill
from test_persistence import rewrite
from test_review_cli import press
from test_table_cli import run

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
has_weights = pytest.mark.skipif(
    not extractors.is_installed("efficientnet-lite0"), reason="the weights are not installed"
)


class Blocks(torch.nn.Module):
    """A network of the user's own: means over 2 x 2 blocks, times weights."""

    def __init__(self, seed=0):
        super().__init__()
        start = torch.rand(12, generator=torch.Generator().manual_seed(seed)) + 0.5
        self.weights = torch.nn.Parameter(start)

    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x, 2).flatten(1) * self.weights


@pytest.fixture
def folders(tmp_path):
    fill(tmp_path / "known", 16, 0, seed=0)
    fill(tmp_path / "unlabeled", 14, 26, seed=1)
    return tmp_path / "known", tmp_path / "unlabeled"


# -- the network ----------------------------------------------------------------------------


@has_weights
def test_features_are_those_of_the_reference_implementation():
    # By efficientnet_lite_pytorch 0.1.0 in double precision, before its last layer.
    pixels = (np.arange(3 * 64 * 64) * 7919 % 256).astype(np.uint8).reshape(1, 3, 64, 64)
    found = extractors.find_extractor("efficientnet-lite0").compute(torch.from_numpy(pixels))
    row = found[0].numpy()
    expected = {
        0: 0.6560031921158246,
        1: 0.0,
        2: 3.8297259245728625,
        7: 2.798127429910263,
        11: 4.019609819124573,
        15: 3.006814243145972,
    }
    assert row.shape == (1984,)
    # The last layer comes first.
    row = row[:1280]
    # What is left is the rounding of single precision over fifty layers.
    assert_allclose(row[list(expected)], list(expected.values()), rtol=1e-5, atol=1e-5)
    assert row.sum() == pytest.approx(849.0282239538758, rel=1e-5)
    assert (row.argmax(), row.max()) == (14, 6.0)


def test_the_last_stages_follow_the_last_layer():
    net = EfficientNetLite0().eval()
    outputs = []
    for stage in net.stages:
        stage.register_forward_hook(lambda module, taken, given: outputs.append(given))
    pixels = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        row = net(pixels)
    assert [one.shape[1] for one in outputs] == [16, 24, 40, 80, 112, 192, 320]
    expected = torch.cat([one.mean((2, 3)) for one in outputs[3:]], dim=1)
    assert_array_equal(row[:, 1280:], expected)
    assert row.shape[1] == net.n_features


@has_weights
def test_an_image_has_the_same_features_in_any_company():
    pixels = np.random.default_rng(0).integers(0, 256, (19, 3, 32, 32), dtype=np.uint8)
    features = ImageFeatures(size=32)
    whole = features.extract(pixels)
    assert_array_equal(features.extract(pixels[17:]), whole[17:])
    assert_array_equal(features.extract(pixels[:1]), whole[:1])


@has_weights
def test_weights_that_are_not_the_known_ones_are_never_parsed(monkeypatch):
    monkeypatch.setattr(extractors, "LITE0_CHECKSUM", "0" * 64)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(DamagedFile, match="not those that mixpul knows"):
        extractors.load_efficientnet_lite0.__wrapped__()


def test_without_the_weights_the_way_to_get_them_is_named(monkeypatch):
    monkeypatch.setattr(extractors, "LITE0_PACKAGE", "no-such-package")
    with pytest.raises(ImportError, match=r"mixpul\[pretrained\]"):
        extractors.load_efficientnet_lite0.__wrapped__()


@pytest.mark.parametrize(
    ("extractor", "words"),
    [
        ("resnet", "There are no features 'resnet'; there are efficientnet-lite0"),
        (3, "a torch.nn.Module or a callable; got int"),
        (lambda x: x, "one row of numbers for each image"),
        (lambda x: x.mean((-1, -2)) / 0 * 0, "NaN or infinite"),
    ],
)
def test_what_cannot_extract_is_refused(extractor, words):
    pixels = np.zeros((3, 3, 8, 8), dtype=np.uint8)
    with pytest.raises(MixpulError, match=words):
        ImageFeatures(extractor, size=8).fit(pixels)


def test_main_directions_of_standardised_features_are_kept():
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (200, 3, 8, 8), dtype=np.uint8)
    pixels[:, 0] = 7  # tells nothing
    step = ImageFeatures(lambda x: x.mean((-1, -2)), size=8)
    rows = step.fit_transform(pixels)
    assert rows.dtype == np.float32
    assert rows.shape == (200, 2)
    assert_allclose(rows.mean(0), 0, atol=1e-5)
    # Columns are uncorrelated, the widest first, and 1 wide on average.
    spread = np.cov(rows.T, bias=True)
    assert_allclose(spread[0, 1], 0, atol=1e-4)
    assert spread[0, 0] >= spread[1, 1]
    assert_allclose(np.trace(spread), 2, atol=1e-3)
    # The same as scikit-learn finds, but for signs and that one scale.
    features = step.extract(pixels).astype(float)[:, 1:]
    expected = PCA().fit_transform((features - features.mean(0)) / features.std(0))
    assert_allclose(np.abs(rows), np.abs(expected), atol=1e-3)
    assert ImageFeatures(step.extractor, size=8, n_components=1).fit_transform(pixels).shape[1] == 1
    assert_allclose(step.transform(pixels[5:6]), rows[5:6], rtol=1e-6)


# -- the store ------------------------------------------------------------------------------


def test_each_image_is_computed_once_also_under_another_name(folders, tmp_path, monkeypatch):
    counted = []
    compute = featured.compute_features
    monkeypatch.setattr(
        featured, "compute_features", lambda e, p: (counted.append(len(p)), compute(e, p))[1]
    )
    features, cache = ImageFeatures(Blocks(), size=12), tmp_path / "cache"
    first = label_images(*folders, features=features, cache=cache)
    assert sum(counted) == 56
    (folders[1] / "000.png").rename(folders[1] / "moved.png")
    again = label_images(*folders, features=features, cache=cache)
    assert sum(counted) == 56
    assert dict(zip(again.digests, again.features.tolist(), strict=True)) == dict(
        zip(first.digests, first.features.tolist(), strict=True)
    )
    # Other weights are other features.
    label_images(*folders, features=ImageFeatures(Blocks(1), size=12), cache=cache)
    assert sum(counted) == 112


@has_weights
def test_features_kept_by_earlier_versions_are_let_be(folders, tmp_path):
    digests = read_images(folders[0], size=32).digests
    # They were of the last layer only, under the checksum of the weights alone.
    kept = Stored(np.zeros((16, 1280), np.float16), np.zeros((16, 3, 8, 8), np.uint8))
    FeatureStore(tmp_path / "cache", extractors.LITE0_CHECKSUM, 32).add(digests, kept)
    found = read_features(folders[0], ImageFeatures(size=32), cache=tmp_path / "cache")
    assert found.features.shape == (16, 1984)
    assert found.features.any(1).all()
    assert len(list((tmp_path / "cache").glob("*.features"))) == 2


def test_the_features_of_a_network_of_ones_own_are_kept_under_its_checksum():
    own = extractors.find_extractor(Blocks())
    assert own.key == own.checksum
    assert extractors.find_extractor(len).key is None


def test_features_of_a_folder_are_those_of_its_pixels(folders):
    features = ImageFeatures(Blocks(), size=12)
    found = read_features(folders[1], features)
    assert_array_equal(found.features, features.extract(read_images(folders[1], size=12).pixels))
    assert found.pixels.shape == (40, 3, 0, 0)


def test_features_of_many_images_are_not_in_memory(folders, monkeypatch):
    monkeypatch.setattr("mixpul.images.labels.ROWS_AT_A_TIME", 7)
    features = ImageFeatures(Blocks(), size=12)
    labeled = label_images(*folders, features=features)
    known, others = (read_features(folder, features) for folder in folders)
    for one in (known, others, labeled):
        assert isinstance(one.features.base, np.memmap)
    is_new = ~np.isin(others.digests, known.digests)
    assert_array_equal(labeled.features, np.r_[known.features, others.features[is_new]])


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_stream_of_features_has_those_of_the_whole_folder(
    folders, tmp_path, monkeypatch, is_kept
):
    monkeypatch.setattr(featured, "IMAGES_PER_PASS", 7)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    shutil.copytree(folders[0], folders[1] / "again")  # twins of each other, in other parts
    shutil.copytree(folders[0], folders[1] / "more")
    (folders[1] / "zero.png").write_bytes(b"")
    features = ImageFeatures(Blocks(), size=16)
    cache = tmp_path / "cache" if is_kept else None
    kept, parts = [], []
    for part in stream_features(folders[1], features, cache=cache):
        kept.append(len(list(tmp_path.glob("**/*.features"))))
        parts.append(part)
    whole = read_features(folders[1], features)
    assert [name for part in parts for name in part.names] == whole.names
    assert [one for part in parts for one in part.skipped] == whole.skipped
    for name in ("features", "thumbnails"):
        found = [getattr(part, name) for part in parts if part.names]
        assert_array_equal(np.concatenate(found), getattr(whole, name))
    # Without a cache there is never more than one part on disk.
    assert max(kept) == (len(list(cache.glob("*.features"))) if is_kept else 1)


def test_a_damaged_part_is_computed_again(folders, tmp_path):
    features, cache = ImageFeatures(Blocks(), size=12), tmp_path / "cache"
    first = read_features(folders[0], features, cache=cache)
    (part,) = cache.glob("*.features")
    content = bytearray(part.read_bytes())
    content[-1] ^= 1
    part.write_bytes(content)
    assert_array_equal(read_features(folders[0], features, cache=cache).features, first.features)
    assert len(FeatureStore(cache, features.find_extractor().checksum, 12).places) == 16


@pytest.mark.parametrize("features", [np.full((2, 3), np.nan, np.float16), np.zeros((1, 3))])
def test_forged_parts_are_not_taken(tmp_path, features):
    store = FeatureStore(tmp_path, "abc", 8)
    store.add(["a", "b"], Stored(features, np.zeros((2, 3, 8, 8), np.uint8)))
    assert "a" not in FeatureStore(tmp_path, "abc", 8)


def test_a_callable_is_not_kept_on_disk(folders, tmp_path):
    features = ImageFeatures(lambda x: x.mean((-1, -2)), size=12)
    with pytest.raises(MixpulError, match="leave the cache out"):
        read_features(folders[0], features, cache=tmp_path / "cache")


# -- near copies ----------------------------------------------------------------------------


def test_resized_and_compressed_copies_are_found_and_nothing_else(tmp_path):
    random = np.random.default_rng(0)
    for kind in ("known", "unlabeled"):
        (tmp_path / kind).mkdir()
        for k in range(30):
            coarse = Image.fromarray(random.integers(0, 256, (5, 5, 3), dtype=np.uint8))
            coarse.resize((80, 80), Image.Resampling.BICUBIC).save(tmp_path / kind / f"{k}.png")
    with Image.open(tmp_path / "known" / "3.png") as original:
        original.resize((64, 64)).save(tmp_path / "unlabeled" / "small.jpg", quality=60)
    # Images of one colour are alike without being copies, unless they are the same.
    Image.new("RGB", (80, 80), (90, 90, 90)).save(tmp_path / "known" / "grey.png")
    Image.new("RGB", (80, 80), (94, 94, 94)).save(tmp_path / "unlabeled" / "other.png")
    data = label_images(tmp_path / "known", tmp_path / "unlabeled", size=32)
    copies = find_near_copies(data.names, data.thumbnails, data.is_positive)
    assert [(one.id, one.positive) for one in copies] == [("small.jpg", "3.png")]
    # Features that disagree rule a copy out.
    opposite = np.where(data.is_positive, 1.0, -1.0)[:, None]
    assert find_near_copies(data.names, data.thumbnails, data.is_positive, opposite) == []


def make_scenes(n, seed=0):
    """Thumbnails of images that differ as photos do."""
    return np.random.default_rng(seed).integers(30, 200, (n, 3, 8, 8)).astype(np.uint8)


def test_a_brighter_copy_is_found():
    known, others = make_scenes(30), make_scenes(30, seed=1)
    copy = np.clip(known[7] * 1.15, 0, 255).astype(np.uint8)
    names = [f"known {k}" for k in range(30)] + [f"other {k}" for k in range(30)] + ["copy"]
    copies = find_near_copies(names, np.concatenate([known, others, [copy]]), np.arange(61) < 30)
    assert [(one.id, one.positive) for one in copies] == [("copy", "known 7")]


def test_images_that_all_look_alike_are_not_copies_but_for_the_one_that_is():
    random = np.random.default_rng(0)
    # As digits do: one scene, and small differences that would pass for those of a copy.
    alike = np.clip(make_scenes(1) + random.normal(0, 7, (60, 3, 8, 8)), 0, 255).astype(np.uint8)
    copy = np.clip(alike[4] + random.normal(0, 1, (3, 8, 8)), 0, 255).astype(np.uint8)
    names = [f"{k}" for k in range(60)] + ["copy"]
    copies = find_near_copies(names, np.concatenate([alike, [copy]]), np.arange(61) < 30)
    assert [(one.id, one.positive) for one in copies] == [("copy", "4")]


# -- a model and its file -------------------------------------------------------------------


@pytest.fixture
def model(folders):
    pipeline = make_pipeline(ImageFeatures(Blocks(), size=12), LogisticPUClassifier(C=1.0))
    data = label_images(*folders, size=12)
    return assess(pipeline, data.pixels, data.is_positive, ids=data.names)


def test_assess_takes_images_or_their_features(model, folders):
    features = ImageFeatures(Blocks(), size=12)
    data = label_images(*folders, features=features)
    pipeline = make_pipeline(features, LogisticPUClassifier(C=1.0))
    again = assess(pipeline, data.features, data.is_positive, ids=data.names)
    assert_array_equal(again.scores, model.scores)
    assert again.data["unit"] == "image"
    assert again.data["extractor"]["features"] == 12
    assert type(again.model) is Pipeline
    # Bright tops are told from bright left sides.
    assert again.pu_auc.value > 0.6


def test_a_model_with_an_extractor_of_ones_own_needs_it_again(model, folders, tmp_path):
    path = tmp_path / "m"
    save(model.model, path)
    pixels = read_images(folders[1], size=12).pixels
    with pytest.raises(MixpulError, match=r"load\(path, extractor=\.\.\.\)"):
        load(path)
    with pytest.raises(MixpulError, match="another checksum"):
        load(path, extractor=Blocks(1))
    again = load(path, extractor=Blocks())
    assert_array_equal(again.predict_proba(pixels), model.model.predict_proba(pixels))
    assert describe(path)["steps"][0]["extractor"] == "one of the user's own"


PARAMS = {"extractor": "efficientnet-lite0", "size": 12, "n_components": 128}


def store_named(path, folders):
    """A model whose file names the extractor; the weights are not needed for that."""
    pixels = read_images(folders[0], size=12).pixels
    step = ImageFeatures(Blocks(), size=12)
    rows = step.fit_transform(pixels)
    step.extractor, step.checksum_ = "efficientnet-lite0", extractors.LITE0_CHECKSUM
    classifier = LogisticPUClassifier(C=1.0).fit(rows, np.arange(len(rows)) % 2)
    save(make_pipeline(step, classifier), path)
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"params": PARAMS | {"extractor": "os.system"}}, "expected one of 'efficientnet-lite0'"),
        ({"params": PARAMS | {"extractor": ["x"]}}, "expected one of"),
        ({"params": PARAMS | {"size": 10**9}}, "'params.size'"),
        ({"params": PARAMS | {"n_components": "all"}}, "'params.n_components'"),
        ({"checksum": "0" * 64}, "not that of its weights"),
        ({"checksum": 3}, "expected text"),
        ({"learned": dict.fromkeys(("centre_", "scale_", "components_"), 3)}, "centre_"),
        ({"learned": {}}, "learned.centre_"),
    ],
)
def test_forged_extractors_are_refused(folders, tmp_path, change, words):
    path = store_named(tmp_path / "m", folders)
    assert describe(path)["steps"][0]["extractor"] == "efficientnet-lite0"
    load(path)

    def forge(tensors, description):
        description["steps"]["parts"][0]["of"] |= change

    rewrite(path, forge)
    with pytest.raises(DamagedFile, match=re.escape(words)):
        load(path)


@has_weights
def test_a_model_that_knows_the_last_layer_only_still_predicts(folders, tmp_path):
    data = label_images(*folders, size=32)
    step, classifier = ImageFeatures(size=32), LogisticPUClassifier(C=1.0, random_state=0)
    # As versions did that had no other features.
    last = step.extract(data.pixels)[:, :1280]
    rows = step.fit_features(last).transform_features(last)
    save(Pipeline([("features", step), ("classifier", classifier.fit(rows, data.is_positive))]),
         tmp_path / "m")  # fmt: skip
    found = load(tmp_path / "m").predict_proba(data.pixels)
    assert_allclose(found, classifier.predict_proba(rows), atol=1e-6)


# -- commands -------------------------------------------------------------------------------

QUICK = ["--features", "efficientnet-lite0", "--size", 32, "--method", "logistic"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Two folders, a model of their features, its page and what was said."""
    folder = tmp_path_factory.mktemp("features")
    fill(folder / "known", 30, 0, seed=0, size=32)
    fill(folder / "unlabeled", 14, 26, seed=1, size=32)
    with Image.open(folder / "known" / "000.png") as original:
        original.save(folder / "unlabeled" / "copy.bmp")
    (folder / "unlabeled" / "broken.png").write_bytes(b"no picture")
    result = run(
        "fit-images", folder / "known", folder / "unlabeled", *QUICK,
        "-o", folder / "m.mixpul", "--report", folder / "page.html", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    (folder / "fit.json").write_text(result.out)
    (folder / "fit.err").write_text(result.err)
    return folder


@has_weights
def test_the_command_says_what_it_learned_from(fitted):
    told = (fitted / "fit.err").read_text()
    assert "Features by efficientnet-lite0, trained on ImageNet, 32 x 32 pixels" in told
    assert "near copies of labeled positives: 1, such as copy.bmp of 000.png" in told
    content = json.loads((fitted / "fit.json").read_text())
    assert content["data"]["extractor"] == {
        "name": "efficientnet-lite0",
        "checksum": extractors.LITE0_CHECKSUM,
        "features": 1984,
        "components": content["data"]["extractor"]["components"],
    }
    assert 1 < content["data"]["extractor"]["components"] <= 71
    assert [one["id"] for one in content["data"]["copies"]] == ["copy.bmp"]
    page = (fitted / "page.html").read_text()
    assert " components of 1,984 features by efficientnet-lite0" in page
    assert "Near copies of known positives" in page
    assert "unlabeled/broken.png" in page
    shown = run("inspect", fitted / "m.mixpul")
    assert f"weights sha256:{extractors.LITE0_CHECKSUM}" in shown.out
    assert "features by efficientnet-lite0" in shown.out


@has_weights
def test_a_folder_is_scored_as_in_python(fitted, tmp_path):
    result = run("predict-images", fitted / "m.mixpul", fitted / "known", "-o", tmp_path / "s.csv")
    assert result.code == 0, result.err
    lines = (tmp_path / "s.csv").read_text().splitlines()[1:]
    pixels = read_images(fitted / "known", size=32).pixels
    expected = load(fitted / "m.mixpul").predict_proba(pixels)[:, 1]
    assert_allclose([float(line.split(",")[1]) for line in lines], expected, atol=1e-6)


@has_weights
@pytest.mark.parametrize("further", [[], ["--cache", "kept"]])
def test_scores_take_features_that_are_known(fitted, tmp_path, monkeypatch, further):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "m.mixpul"
    model.write_bytes((fitted / "m.mixpul").read_bytes())
    fill(tmp_path / "new", 4, 6, seed=7, size=32)
    (tmp_path / "new" / "broken.png").write_bytes(b"no picture")
    words = ["predict-images", model, tmp_path / "new", *further]
    if not further:
        (tmp_path / "m.mixpul.features").mkdir()
    result = run(*words, "-o", tmp_path / "first.csv")
    assert result.code == 0, result.err
    assert "broken.png is not an image" in result.err
    computed = []

    def compute(extractor, pixels):
        computed.append(len(pixels))
        return extractors.compute_features(extractor, pixels)

    monkeypatch.setattr(featured, "compute_features", compute)
    fill(tmp_path / "new" / "later", 1, 1, seed=8, size=32)
    assert run(*words, "-o", tmp_path / "second.csv").code == 0
    assert computed == [2]
    first, second = ((tmp_path / f"{name}.csv").read_text() for name in ("first", "second"))
    assert set(first.splitlines()) < set(second.splitlines())
    assert len(second.splitlines()) == 13
    result = run("review", model, tmp_path / "new", "--unseen", "-n", 4, "-o", tmp_path / "q.csv")
    assert result.code == 0, result.err
    # Without a folder beside the model nothing is kept, and nothing is left behind.
    assert computed == ([2] if not further else [2, 12])
    assert (tmp_path / "m.mixpul.features").is_dir() == (not further)


@has_weights
def test_a_model_of_pixels_has_no_features_to_keep(folders, tmp_path, quick):
    data = label_images(*folders, size=8)
    save(quick(net="small-conv").fit(data.pixels, data.is_positive), tmp_path / "m")
    words = ["--cache", tmp_path / "kept", "-o", tmp_path / "s.csv"]
    result = run("predict-images", tmp_path / "m", folders[1], *words)
    assert result.code == 2
    assert "learned from pixels and has no features to keep; leave --cache out" in result.err
    assert not (tmp_path / "kept").exists()


@has_weights
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--features", "efficientnet-lite0", "--net", "small-conv"], "leave one of them out"),
        (["--features", "efficientnet-lite0", "--size", 16], "from --size 32 on"),
        (["--features", "none", "--method", "auto"], "does not learn from pixels"),
        (["--features", "resnet"], "efficientnet-lite0"),
    ],
)
def test_what_does_not_go_together_is_refused(fitted, tmp_path, words, sentence):
    result = run("fit-images", fitted / "known", fitted / "unlabeled", *words, "-o", tmp_path / "m")
    assert result.code == 2
    assert sentence in re.sub(r"[\s│]+", " ", result.err)
    assert not any(tmp_path.iterdir())


@has_weights
def test_images_are_drawn_for_review_and_verdicts_counted(fitted, tmp_path):
    model, folders = fitted / "m.mixpul", (fitted / "known", fitted / "unlabeled")
    result = run("review", model, *folders, "-n", 10, "-o", tmp_path / "queue.csv")
    assert result.code == 0, result.err
    text = (tmp_path / "queue.csv").read_text(encoding="utf-8-sig")
    header, *lines = text.splitlines()
    place = header.split(",").index("image")
    assert len(lines) == 10
    assert {line.split(",")[place] for line in lines} <= {
        path.name for path in folders[1].iterdir()
    }
    at = header.split(",").index("verdict")
    answered = [line.split(",") for line in lines]
    for k, cells in enumerate(answered):
        cells[at] = "yes" if k % 2 else "no"
    (tmp_path / "answered.csv").write_text(
        "\n".join([header, *(",".join(cells) for cells in answered)])
    )
    result = run("audit", model, tmp_path / "answered.csv", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert (found["answers"]["yes"], found["answers"]["no"]) == (5, 5)
    again = "mixpul fit-images POSITIVE UNLABELED --size 32 --features efficientnet-lite0 --prior-i"
    assert found["next"].startswith(again)
    page = tmp_path / "audit.html"
    result = run("audit", model, tmp_path / "answered.csv", "--report", page)
    assert "10 images answered: 5 yes, 5 no" in result.out
    assert "more images would halve" in result.out
    assert not re.search(r"\brows\b", result.out)
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page.read_text(), flags=re.DOTALL)
    assert "10 images were checked by people" in shown
    assert "Images flagged" in shown
    assert not re.search(r"\b[Rr]ows\b", shown)


@has_weights
def test_an_audit_shows_the_images_that_people_and_scores_disagree_on(fitted, browser, tmp_path):
    model, others = fitted / "m.mixpul", tmp_path / "unlabeled"
    shutil.copytree(fitted / "unlabeled", others)
    queue = tmp_path / "queue.csv"
    assert run("review", model, fitted / "known", others, "-n", 10, "-o", queue).code == 0
    lines = list(csv.DictReader(queue.read_text(encoding="utf-8-sig").splitlines()))
    lines.sort(key=lambda line: float(line["mixpul_score"]))
    for k, line in enumerate(lines):
        line["verdict"] = "yes" if (k in (0, 1)) != (float(line["mixpul_score"]) > 0.5) else "no"
    lines[-1]["verdict"] = "no"
    with (tmp_path / "answered.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    # A file that has changed since it was drawn is not what people have seen.
    Image.new("RGB", (32, 32)).save(others / lines[1]["image"])
    page = tmp_path / "audit.html"
    words = ["audit", model, tmp_path / "answered.csv", "--report", page, "--json"]
    result = run(*words, "--images", others)
    assert result.code == 0, result.err
    found = json.loads(result.out)["disagreements"]
    assert [one["id"] for one in found["missed"]] == [line["image"] for line in lines[:2]]
    assert [one["id"] for one in found["false_alarms"]] == [lines[-1]["image"]]
    browser.open(page, 400)
    assert browser.overflow() <= 0
    assert browser.complaints() == []
    count = "document.querySelectorAll('#disagreements {}').length"
    assert browser.run(count.format("li")) == 3
    assert browser.run(count.format("img[src^=data]")) == 2
    assert browser.run(count.format(".blank")) == 1
    assert run(*words, "--force").code == 0
    text = page.read_text()
    assert "<img" not in text
    assert "mixpul audit --images FOLDER" in text


@has_weights
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--images", "nowhere", "--report", "audit.html"], "There is no folder 'nowhere'"),
        (["--images", "."], "add --report PAGE"),
    ],
)
def test_images_that_cannot_be_shown_are_refused(fitted, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    model, folders = fitted / "m.mixpul", (fitted / "known", fitted / "unlabeled")
    assert run("review", model, *folders, "-n", 4, "-o", "queue.csv").code == 0
    text = (tmp_path / "queue.csv").read_text(encoding="utf-8-sig")
    (tmp_path / "queue.csv").write_text(text.replace(",,", ",yes,", 1), encoding="utf-8")
    result = run("audit", model, "queue.csv", *words)
    assert result.code == 2
    assert sentence in re.sub(r"[\s│]+", " ", result.err)
    assert not (tmp_path / "audit.html").exists()


@has_weights
def test_changed_files_and_other_folders_are_not_drawn_from(fitted, tmp_path):
    model, out = fitted / "m.mixpul", tmp_path / "queue.csv"
    other = tmp_path / "other"
    fill(other, 3, 3, seed=5, size=32)
    for folders, words in (
        ([fitted / "known", other], "or files have changed since"),
        ([fitted / "unlabeled"], "name the two folders of the fit"),
    ):
        result = run("review", model, *folders, "-o", out)
        assert result.code > 0
        assert words in re.sub(r"[\s│]+", " ", result.err)
        assert not out.exists()
    result = run("review", model, other, "--unseen", "-n", 4, "-o", out)
    assert result.code == 0, result.err
    assert len(out.read_text().splitlines()) == 5


@has_weights
@pytest.mark.parametrize("width", [400, 1200])
def test_in_a_browser_images_are_answered_by_keys(fitted, browser, tmp_path, width):
    page = tmp_path / "review.html"
    folders = (fitted / "known", fitted / "unlabeled")
    # A queue of its own: the browser keeps the answers of each.
    words = ["-n", 4, "--seed", width, "-o", page]
    assert run("review", fitted / "m.mixpul", *folders, *words).code == 0
    browser.open(page, width)
    assert browser.overflow() <= 0
    assert browser.texts("h1") == ["Is this image positive?"]
    first = browser.run("document.getElementById('image').src")
    assert first.startswith("data:image/jpeg")
    assert browser.run("document.getElementById('image').decode().then(() => true)")
    assert browser.run("document.getElementById('image').naturalWidth") == 320
    for key in "ynu":
        press(browser, key)
    assert "image 4 of 4, 3 answered" in browser.texts("#progress")[0]
    assert browser.run("document.getElementById('image').src") != first
    assert browser.complaints() == []
    assert [one for one in browser.loaded() if not one.startswith("data:")] == []


# -- long runs ------------------------------------------------------------------------------


def kill_at_parts(command, cache, n):
    """Start a command and kill it when the cache has so many parts; return when each was made."""
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    while child.poll() is None and len(list(cache.glob("*.features"))) < n:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    kept = {path: path.stat().st_mtime_ns for path in cache.glob("*.features")}
    assert len(kept) >= n
    return kept


@has_weights
@pytest.mark.slow
def test_a_killed_fit_goes_on_where_it_stopped(tmp_path):
    fill(tmp_path / "known", 40, 0, seed=0, size=32)
    fill(tmp_path / "unlabeled", 500, 1200, seed=1, size=32)
    words = ["fit-images", tmp_path / "known", tmp_path / "unlabeled", *QUICK]
    command = [sys.executable, "-m", "mixpul", *map(str, words), "-o", str(tmp_path / "m")]
    cache = tmp_path / "m.features"
    # Two parts: that of the known images, and the first one of the others.
    kept = kill_at_parts(command, cache, 2)
    assert not (tmp_path / "m").exists()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    # The same as without a kill.
    assert run(*words, "-o", tmp_path / "again").code == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert not list(cache.glob(".*.partial"))


@has_weights
@pytest.mark.slow
def test_killed_scores_go_on_where_they_stopped(fitted, tmp_path):
    fill(tmp_path / "new", 500, 1200, seed=1, size=32)
    cache, out = tmp_path / "kept", tmp_path / "s.csv"
    words = ["predict-images", fitted / "m.mixpul", tmp_path / "new", "--cache", cache]
    command = [sys.executable, "-m", "mixpul", *map(str, words), "-o", str(out)]
    kept = kill_at_parts(command, cache, 1)
    assert not out.exists()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(cache.glob("*.features"))) == 4
    assert run(*words[:3], "-o", tmp_path / "whole.csv").code == 0
    assert (tmp_path / "whole.csv").read_text() == out.read_text()


GROWTH = """
import resource, sys
from test_image_features import Blocks
from mixpul.images import ImageFeatures, read_features

peaks = []
for folder in sys.argv[1:]:
    found = read_features(folder, ImageFeatures(Blocks(), size=128))
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(len(found.names), peaks[1] - peaks[0])
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_folder(tmp_path):
    random = np.random.default_rng(0)
    for name, n in (("few", 1100), ("many", 6000)):
        (tmp_path / name).mkdir()
        for k in range(n):
            pixels = random.integers(0, 256, (4, 4, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{k}.bmp")
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, tmp_path / "few", tmp_path / "many"],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    n, growth = map(float, done.stdout.split())
    assert n == 6000
    # The pixels of 6,000 images take 280 megabytes.
    assert growth < 60


@has_weights
def test_images_too_small_for_the_network_are_refused_in_a_sentence():
    pixels = np.zeros((3, 3, 8, 8), dtype=np.uint8)
    with pytest.raises(MixpulError, match=r"images of 8 x 8 pixels: .* take a larger one"):
        ImageFeatures(size=8).fit(pixels)
