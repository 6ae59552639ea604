"""Folders of pictures: what is read, `mixpul fit-images` and `predict-images`, and their page."""

import base64
import io
import json
import os
import re
import shlex
import zlib
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from browser import contrast
from mixpul import MixPULClassifier, cli, load, save
from mixpul._names import IMAGE_METHODS
from mixpul.assess import Source, assess
from mixpul.assess.checks.file_facts import check_file_facts
from mixpul.assess.models import choose_image_classifier
from mixpul.cli.options import ImageNet
from mixpul.images import (
    FileFacts,
    Skipped,
    label_images,
    make_thumbnails,
    read_images,
    stream_images,
)
from mixpul.images.defaults import SETTINGS_BY_METHOD, count_image_epochs
from mixpul.images.reading import LEAST_SIZE
from mixpul.nets import NETS
from mixpul.pages import render_fit_page
from mixpul.pages.numbers import format_score
from mixpul.persistence import describe
from mixpul.tables import read_table
from test_cli import assert_one_sentence, parsed
from test_table_cli import run, typed

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

# Networks that are trained here; tests/test_image_features.py has the others.
NETWORK = ["--features", "none"]
SETTINGS = NETWORK + [word for one in ("n_epochs=2", "cross_fitting=2", "batch_size=16")
                      for word in ("--set", one)]  # fmt: skip


def picture(colour=(200, 30, 30), size=(12, 12), mode="RGB"):
    return Image.new("RGB", size, colour).convert(mode)


def noisy(random, *, positive, size=12):
    """Positives have a bright top, the others a bright left side."""
    pixels = random.integers(0, 120, (size, size, 3), dtype=np.uint8)
    if positive:
        pixels[: size // 2] += 100
    else:
        pixels[:, : size // 2] += 100
    return Image.fromarray(pixels)


def fill(folder, n_positive, n_other, seed, size=12):
    """A folder of noise whose names tell nothing; gives which are positive."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    is_positive = random.permutation(np.arange(n_positive + n_other) < n_positive)
    for number, positive in enumerate(is_positive):
        noisy(random, positive=positive, size=size).save(folder / f"{number:03d}.png")
    return is_positive


def fit(folder, out, *more, settings=SETTINGS):
    return run(
        "fit-images", folder / "known", folder / "unlabeled", "--size", 12, *settings,
        "-o", out, *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Two folders to learn from, one to score, and a model with its page."""
    folder = tmp_path_factory.mktemp("pictures")
    fill(folder / "known", 23, 0, seed=0)
    fill(folder / "unlabeled", 20, 40, seed=1)
    fill(folder / "new", 10, 15, seed=2)
    (folder / "unlabeled" / "broken.png").write_bytes(b"no picture")
    (folder / "unlabeled" / "deeper").mkdir()
    picture(size=(30, 18)).save(folder / "unlabeled" / "deeper" / "wide.JPG")
    (folder / "unlabeled" / "notes.txt").write_text("not a picture by its name")
    picture(size=(20, 20)).save(folder / "known" / "twin.png")
    (folder / "unlabeled" / "twin.png").write_bytes((folder / "known" / "twin.png").read_bytes())
    result = fit(folder, folder / "model.mixpul", "--report", folder / "page.html", "--json")
    assert result.code == 0, result.err
    (folder / "fit.json").write_text(result.out)
    (folder / "fit.err").write_text(result.err)
    return folder


@pytest.fixture(scope="module")
def content(work):
    return json.loads((work / "fit.json").read_text())


# -- one file -------------------------------------------------------------------------------


def read_one(folder, **options):
    (only,) = read_images(folder, **({"size": 12} | options)).pixels
    return only


def test_a_picture_of_the_right_size_is_read_as_it_is(tmp_path):
    original = noisy(np.random.default_rng(0), positive=True)
    original.save(tmp_path / "a.png")
    assert_array_equal(read_one(tmp_path), np.asarray(original).transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("mode", "name"),
    [("L", "a.png"), ("P", "a.gif"), ("P", "a.png"), ("CMYK", "a.tif"), ("CMYK", "a.jpg"),
     ("1", "a.tiff"), ("RGB", "a.bmp"), ("RGB", "a.webp"), ("LA", "a.png"), ("YCbCr", "a.jpeg")],
)  # fmt: skip
def test_every_kind_of_pixels_becomes_red_green_and_blue(tmp_path, mode, name):
    light = picture((255, 255, 255), mode=mode)
    light.paste(picture((0, 0, 0), (12, 6), mode=mode), (0, 0))
    light.save(tmp_path / name)
    found = read_one(tmp_path)
    assert found.shape == (3, 12, 12)
    # Six rows of black, then six of white; JPEG rings a little.
    assert_array_equal(found < 90, np.broadcast_to(np.arange(12)[:, None] < 6, (3, 12, 12)))
    assert found[:, -1].min() > 200


def test_a_palette_may_have_a_transparent_colour_and_transparent_is_white(tmp_path):
    colour = picture((0, 0, 200), mode="RGBA")
    colour.putalpha(Image.fromarray(np.repeat([[0], [255]], [6, 6], 0).repeat(12, 1).astype("u1")))
    colour.save(tmp_path / "a.png")
    found = read_one(tmp_path)
    assert_array_equal(found[:, :6], np.full((3, 6, 12), 255))
    assert_array_equal(found[:, 6:].reshape(3, -1).max(1), [0, 0, 200])
    palette = Image.new("P", (12, 12), 0)
    palette.putpalette([0, 0, 200, 10, 10, 10])
    palette.save(tmp_path / "a.png", transparency=0)
    assert_array_equal(read_one(tmp_path), np.full((3, 12, 12), 255))


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_sixteen_bits_are_scaled_to_eight(tmp_path, name):
    Image.fromarray(np.full((12, 12), 40_000, dtype=np.uint16)).save(tmp_path / name)
    assert_array_equal(read_one(tmp_path), np.full((3, 12, 12), 40_000 // 256))


def test_numbers_without_a_range_are_refused_rather_than_guessed(tmp_path):
    Image.fromarray(np.ones((12, 12), dtype=np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(ValueError, match=r"'a.tif', .*save it with 8 or 16 bits"):
        read_images(tmp_path, size=12)


def test_the_side_that_the_camera_calls_up_is_up(tmp_path):
    lying = picture((0, 0, 0))
    lying.paste((255, 255, 255), (0, 0, 6, 12))  # bright on the left
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise: left becomes top
    lying.save(tmp_path / "a.png", exif=exif)
    assert_array_equal(read_one(tmp_path)[0, :, 0] > 128, np.arange(12) < 6)


def test_of_an_animation_the_first_frame_is_taken(tmp_path):
    frames = [picture((255, 0, 0)), picture((0, 0, 255))]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert_array_equal(read_one(tmp_path)[:, 0, 0], [255, 0, 0])


def test_another_size_is_resized_from_the_square_in_the_middle(tmp_path):
    wide = picture((255, 0, 0), (96, 48))
    wide.paste((0, 255, 0), (24, 0, 72, 48))
    wide.paste((0, 0, 255), (36, 12, 60, 36))  # half of the square, in the middle of it
    wide.save(tmp_path / "a.png")
    found = read_images(tmp_path, size=12)
    assert found.is_resized == [True]
    assert found.pixels[0, 0].max() < 20  # nothing is left of the red sides
    blue = found.pixels[0, 2] > 128
    assert_array_equal(blue.sum(0), np.where((np.arange(12) >= 3) & (np.arange(12) < 9), 6, 0))
    assert_array_equal(blue, blue.T)  # not distorted


def test_a_large_jpeg_is_the_same_whether_decoded_small_or_not(tmp_path):
    random = np.random.default_rng(0)
    smooth = Image.fromarray(random.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    smooth = smooth.resize((640, 640), Image.Resampling.BICUBIC)
    for name in ("a.jpg", "b.png"):
        smooth.save(tmp_path / name)
    small, full = read_images(tmp_path, size=16).pixels.astype(int)
    assert abs(small - full).max() <= 6


def test_odd_pictures_can_be_skipped(tmp_path):
    picture().save(tmp_path / "a.png")
    picture(size=(12, 14)).save(tmp_path / "b.png")
    found = read_images(tmp_path, size=12, odd="skip")
    assert found.names == ["a.png"]
    assert found.skipped == [Skipped("b.png", "is 12 x 14, not 12 x 12")]


def bomb():
    """A PNG header that promises 900 million pixels."""
    file = io.BytesIO()
    picture().save(file, "PNG")
    content = bytearray(file.getvalue())
    content[16:24] = (30_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    return bytes(content)


def jpeg():
    file = io.BytesIO()
    noisy(np.random.default_rng(0), positive=True, size=64).save(file, "JPEG")
    return file.getvalue()


BROKEN = {
    "empty": (lambda: b"", "is empty"),
    "text": (lambda: b"hello, I am no picture", "is not an image that can be read"),
    "truncated": (lambda: jpeg()[:-400], "is broken or cannot be read .*truncated"),
    "no-body": (lambda: jpeg()[:30], "is broken or cannot be read"),
    "bomb": (bomb, "too large"),
    "postscript": (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n", "is not an image that can be read"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_cannot_be_read_is_skipped_with_the_reason(tmp_path, what):
    make, reason = BROKEN[what]
    (tmp_path / "bad.jpg").write_bytes(make())
    picture().save(tmp_path / "good.png")
    found = read_images(tmp_path, size=12)
    assert found.names == ["good.png"]
    (skipped,) = found.skipped
    assert skipped.picture == "bad.jpg"
    assert re.search(reason, skipped.reason)


def test_skipped_files_of_the_folder_one_is_in_have_its_name(tmp_path, monkeypatch):
    for folder in ("known", "all"):
        (tmp_path / folder).mkdir()
        Image.new("RGB", (16, 16), "red" if folder == "all" else "blue").save(
            tmp_path / folder / "a.png"
        )
    (tmp_path / "all" / "b.png").write_bytes(b"")
    monkeypatch.chdir(tmp_path / "all")
    (skipped,) = label_images(tmp_path / "known", ".", size=16).skipped
    assert skipped.picture == "all/b.png"


def test_what_is_no_file_and_what_may_not_be_read_is_skipped(tmp_path):
    picture().save(tmp_path / "good.png")
    (tmp_path / "broken-link.png").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.png")  # reading it would never end
    (tmp_path / "phone.HEIC").write_bytes(b"..")
    found = read_images(tmp_path, size=12)
    assert found.names == ["good.png"]
    reasons = dict(found.skipped)
    assert set(reasons) == {"broken-link.png", "pipe.png", "phone.HEIC"}
    assert reasons["pipe.png"] == reasons["broken-link.png"]
    assert "save it as PNG or JPEG" in reasons["phone.HEIC"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into everything")
def test_a_folder_that_may_not_be_looked_into_is_named(tmp_path):
    picture().save(tmp_path / "good.png")
    (tmp_path / "closed").mkdir(mode=0o000)
    assert read_images(tmp_path, size=12).skipped[0].picture == "closed"


# -- folders --------------------------------------------------------------------------------


def test_folders_are_read_to_the_bottom_in_the_order_of_the_paths(tmp_path):
    names = ["Z.png", "a.PNG", "b/a.png", "b/c/x.jpg", "b.png"]
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        picture((10 * number,) * 3).save(tmp_path / name)
    (tmp_path / "readme.md").write_text("not looked at")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    found = read_images(tmp_path, size=12)
    assert found.names == sorted(names) == ["Z.png", "a.PNG", "b.png", "b/a.png", "b/c/x.jpg"]
    assert found.skipped == []


def test_a_name_that_is_no_text_is_written_out(tmp_path):
    picture().save(os.fsencode(tmp_path) + b"/caf\xe9.png", "PNG")
    (name,) = read_images(tmp_path, size=12).names
    assert name == "caf\\xe9.png"


def test_parts_have_as_many_pictures_as_a_network_scores_at_once(tmp_path, monkeypatch):
    fill(tmp_path / "a", 0, 10, seed=0)
    (tmp_path / "a" / "0000.png").write_bytes(b"")
    monkeypatch.setattr("mixpul.images.reading.IMAGES_PER_PASS", 4)
    parts = list(stream_images(tmp_path / "a", size=12))
    assert [len(part.names) for part in parts] == [4, 4, 2]
    assert [len(part.skipped) for part in parts] == [1, 0, 0]
    whole = read_images(tmp_path / "a", size=12)
    assert_array_equal(np.concatenate([part.pixels for part in parts]), whole.pixels)
    assert whole.names == [f"{number:03d}.png" for number in range(10)]


def test_a_file_in_both_folders_is_positive_only_and_folders_may_be_nested(tmp_path):
    fill(tmp_path / "all", 2, 3, seed=0)
    known = tmp_path / "all" / "known"
    known.mkdir()
    (known / "mine.png").write_bytes((tmp_path / "all" / "001.png").read_bytes())
    found = label_images(known, tmp_path / "all", size=12)
    assert found.names == ["mine.png", "000.png", "002.png", "003.png", "004.png"]
    assert found.is_positive.tolist() == [True, False, False, False, False]
    assert found.twins == ["001.png", "known/mine.png"]
    with pytest.raises(ValueError, match=r"Every image of .*known' is also in"):
        label_images(tmp_path / "all", known, size=12)


def test_copies_within_a_folder_are_counted(tmp_path):
    fill(tmp_path / "known", 2, 0, seed=0)
    fill(tmp_path / "unlabeled", 0, 3, seed=1)
    copy = (tmp_path / "unlabeled" / "000.png").read_bytes()
    (tmp_path / "unlabeled" / "copy.png").write_bytes(copy)
    assert label_images(tmp_path / "known", tmp_path / "unlabeled", size=12).n_repeated == 1


def test_copies_are_warned_about(tmp_path):
    fill(tmp_path / "known", 2, 0, seed=0)
    fill(tmp_path / "unlabeled", 0, 3, seed=1)
    images = label_images(tmp_path / "known", tmp_path / "unlabeled", size=12)
    assert images.warnings == []
    (sentence,) = images._replace(n_repeated=1).warnings
    assert sentence.startswith("Some images are there more than once (copies: 1).")


def test_the_old_module_has_the_old_names():
    from mixpul import images, pictures

    assert pictures.label_pictures is images.label_images
    assert pictures.read_pictures is images.read_images
    assert pictures.stream_pictures is images.stream_images
    assert pictures.thumbnails is images.make_thumbnails
    assert (pictures.Pictures, pictures.LabeledPictures, pictures.Skipped) == (
        images.Images, images.LabeledImages, images.Skipped
    )  # fmt: skip


def test_the_fingerprint_is_of_the_content_and_not_of_the_names(tmp_path):
    fill(tmp_path / "known", 2, 0, seed=0)
    fill(tmp_path / "unlabeled", 0, 3, seed=1)

    def fingerprint():
        return label_images(tmp_path / "known", tmp_path / "unlabeled", size=12).fingerprint

    before = fingerprint()
    (tmp_path / "known" / "000.png").rename(tmp_path / "known" / "z.png")
    assert fingerprint() == before
    (tmp_path / "known" / "z.png").rename(tmp_path / "unlabeled" / "z.png")
    assert fingerprint() != before


@pytest.mark.parametrize(
    ("options", "words"), [({"size": 7}, "at least 8; got 7"), ({"odd": "crop"}, "got 'crop'")]
)
def test_what_cannot_be_wanted_is_refused(tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        read_images(tmp_path, **options)


def test_the_least_size_is_that_of_the_network():
    NETS["small-conv"]((3, LEAST_SIZE, LEAST_SIZE))
    with pytest.raises(ValueError, match="from 8 x 8 on"):
        NETS["small-conv"]((3, LEAST_SIZE - 1, LEAST_SIZE - 1))


def test_thumbnails_show_the_pictures(tmp_path):
    original = noisy(np.random.default_rng(0), positive=True, size=64)
    original.save(tmp_path / "a.png")
    shown, none = make_thumbnails([tmp_path / "a.png", tmp_path / "gone.png"])
    assert none is None
    assert_array_equal(decoded(shown), np.asarray(original))


def decoded(address):
    kind, _, content = address.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))


# -- judging --------------------------------------------------------------------------------


def test_assess_takes_pictures_and_asks_them_what_they_can_tell(work):
    data = label_images(work / "known", work / "unlabeled", size=12)
    model = MixPULClassifier(net="small-conv", n_epochs=1, cross_fitting=2, random_state=0)
    found = assess(model, data.pixels, data.is_positive, ids=data.names)
    assert isinstance(found.model, MixPULClassifier)
    assert [check["name"] for check in found.checks] == [
        "labeled positives", "ranking", "class prior", "random draw of positives",
    ]  # fmt: skip
    assert found.checks[-1]["verdict"] == "note"
    assert "images have none" in found.checks[-1]["text"]
    assert found.importance == []
    scores = dict(zip(data.names, found.scores.tolist(), strict=True))
    unlabeled = [name for name, p in zip(data.names, data.is_positive, strict=True) if not p]
    by_score = sorted(unlabeled, key=lambda name: -scores[name])
    assert len(found.top) == len(found.bottom) == 24
    assert {entry["id"] for entry in found.top} == set(by_score[:24])
    assert {entry["id"] for entry in found.bottom} == set(by_score[-24:])
    assert found.bottom[0]["score"] == min(scores[name] for name in unlabeled)
    assert "Where to set the threshold" in render_fit_page(
        found.to_dict()
    )  # without thumbnails, too


# -- files that give the label away -----------------------------------------------------------


def save_all(folder, n, *, size=(12, 12), **how):
    """Images of noise, all saved in one way; return how they were saved, as it is read back."""
    folder.mkdir()
    random = np.random.default_rng(len(folder.name))
    for k in range(n):
        pixels = random.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{k}.{how.get('format', 'png')}", **how)
    return read_images(folder, size=12).facts


def ask_files(known, others):
    return check_file_facts([*known, *others], np.arange(len(known) + len(others)) < len(known))


def test_facts_of_a_file_are_those_of_its_head(tmp_path):
    notes = Image.Exif()
    notes[0x0110] = "Box Brownie"
    picture(size=(30, 18)).save(tmp_path / "a.jpg", exif=notes, quality=30)
    picture(size=(12, 12), mode="L").save(tmp_path / "b.png")
    jpeg, png = read_images(tmp_path, size=12).facts
    assert jpeg[:4] == ("JPEG", "RGB", 30, 18)
    assert jpeg.camera == "Box Brownie"
    assert jpeg.compression > 20
    assert png == FileFacts("PNG", "L", 12, 12, None, None)


@pytest.mark.parametrize(
    ("known", "others", "words"),
    [
        ({"format": "png"}, {"format": "jpeg"}, "The format is 'PNG' for 40 of 40 labeled images "
         "and for 0 of 60 unlabeled ones. The same goes for: JPEG compression."),
        ({"format": "jpeg", "quality": 95}, {"format": "jpeg", "quality": 70},
         "The JPEG compression is "),
        ({"size": (16, 12)}, {"size": (12, 12)}, "The width is 16 for 40 of 40 labeled images"),
    ],
)  # fmt: skip
def test_folders_that_were_saved_in_different_ways_are_told(tmp_path, known, others, words):
    check = ask_files(
        save_all(tmp_path / "known", 40, **known), save_all(tmp_path / "others", 60, **others)
    )
    assert check["verdict"] == "bad"
    assert check["text"].startswith(words)
    assert "Take both folders from one source." in check["text"]


def test_folders_of_one_source_are_not_accused(tmp_path):
    facts = save_all(tmp_path / "jpeg", 60, format="jpeg") + save_all(tmp_path / "png", 60)
    random = np.random.default_rng(0)
    for _ in range(50):
        order = random.permutation(len(facts))
        mixed = [facts[k] for k in order]
        assert ask_files(mixed[:30], mixed[30:])["verdict"] == "good"


def test_a_damaged_note_of_a_camera_leaves_the_image_readable(tmp_path):
    file = io.BytesIO()
    picture().save(file, "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    (tmp_path / "a.jpg").write_bytes(file.getvalue())
    (only,) = read_images(tmp_path, size=12).facts
    assert (only.format, only.camera) == ("JPEG", None)


def test_what_files_give_away_is_a_warning_on_the_page(tmp_path):
    known, others = save_all(tmp_path / "a", 20), save_all(tmp_path / "b", 30, format="jpeg")
    data = label_images(tmp_path / "a", tmp_path / "b", size=12)
    model = MixPULClassifier(net="small-conv", n_epochs=1, cross_fitting=2, random_state=0)
    source = Source(files=[*known, *others])
    found = assess(model, data.pixels, data.is_positive, source=source)
    assert found.checks[-1]["verdict"] == "bad"
    assert found.warnings[0] == found.checks[-1]["text"]
    assert "Before you trust this" in render_fit_page(found.to_dict())


def test_the_fit_asks_the_files(content, work):
    assert content["checks"][-1]["name"] == "files of one source"
    assert content["checks"][-1]["verdict"] == "good"
    assert "files of one source" in (work / "page.html").read_text()


def test_of_a_few_pictures_none_is_both_high_and_low():
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (11, 3, 8, 8), dtype=np.uint8)
    model = MixPULClassifier(net=(4,), n_epochs=1, cross_fitting=2, random_state=0)
    found = assess(model, pixels, np.arange(11) < 6)
    assert sorted(entry["id"] for entry in found.top + found.bottom) == [7, 8, 9, 10, 11]
    assert len(found.top) == 3


def test_methods_for_pictures_are_named_and_others_refused():
    pixels = np.zeros((10, 3, 8, 8), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"one of mixpul, nnpu, upu, vpu, or .*; got 'wsvm'"):
        assess("wsvm", pixels, np.arange(10) < 5)
    assert list(IMAGE_METHODS) == list(SETTINGS_BY_METHOD)
    assert {net.value for net in ImageNet} < set(NETS)


# -- fit-images -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fit-images", "predict-images"])
def test_the_help_shows_an_example_that_is_accepted(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = CliRunner().invoke(cli.app, [command, "--help"])
    assert shown.exit_code == 0
    example = re.search(rf"Example: mixpul ({command} .*\S)", shown.output)[1]
    assert parsed(*shlex.split(example))


def test_fit_says_how_good_it_is_and_writes_model_and_page(work, tmp_path):
    out = tmp_path / "model"
    result = fit(work, out, "--report", tmp_path / "page.html", "--odd", "skip")
    assert result.code == 0, result.err
    assert "23 labeled positives and 60 unlabeled images, 12 x 12 pixels" in result.out
    for words in (
        "PU-AUC out of fold",
        "from 29 labeled positives on; there are 23",
        "flagged",
        str(out),
    ):
        assert words in result.out
    assert "skipped: unlabeled/deeper/wide.JPG is 30 x 18, not 12 x 12." in result.err
    assert describe(out)["info"]["pictures"] == {"size": 12, "odd": "skip"}


def test_what_was_skipped_resized_or_twice_there_is_told(work, content):
    told = (work / "fit.err").read_text()
    assert "mixpul: skipped: unlabeled/broken.png is not an image that can be read" in told
    assert "mixpul: In both folders, so taken as positive only: twin.png.\n" in told
    data = content["data"]
    assert data["twins"] == ["twin.png"]
    assert [one["picture"] for one in data["skipped"]] == ["unlabeled/broken.png"]
    assert (data["resized"], data["odd"], data["shape"]) == (2, "resize", [3, 12, 12])
    assert (data["positives"], data["unlabeled"]) == (24, 61)
    assert "thumbnail" not in json.dumps(content)
    assert "data:image" not in json.dumps(content)


def test_copies_are_a_reason_for_doubt(work, tmp_path):
    for kind in ("known", "unlabeled"):
        (tmp_path / kind).mkdir()
        for path in sorted((work / kind).glob("00*.png")):
            (tmp_path / kind / path.name).write_bytes(path.read_bytes())
    (tmp_path / "known" / "copy.png").write_bytes((work / "known" / "003.png").read_bytes())
    result = fit(tmp_path, tmp_path / "model", "--json")
    assert result.code == 0, result.err
    assert "warning: Some images are there more than once (copies: 1)." in result.err
    assert "more than once" in json.loads(result.out)["warnings"][0]


def test_the_same_pictures_and_seed_give_the_same_model_to_the_bit(work, tmp_path):
    assert fit(work, tmp_path / "again").code == 0
    assert (tmp_path / "again").read_bytes() == (work / "model.mixpul").read_bytes()
    assert fit(work, tmp_path / "other", "--seed", 1).code == 0
    assert (tmp_path / "other").read_bytes() != (work / "model.mixpul").read_bytes()


@pytest.mark.parametrize("method", sorted(set(SETTINGS_BY_METHOD) - {"mixpul"}))
def test_other_methods_can_be_fitted(work, tmp_path, method):
    more = ["--set", "prior=0.3"] if method == "upu" else []  # nnpu estimates it
    result = fit(work, tmp_path / "model", "--method", method, *more)
    assert result.code == 0, result.err
    model = load(tmp_path / "model")
    assert (model.net, model._row_shape) == ("small-conv", (3, 12, 12))
    result = run("predict-images", tmp_path / "model", work / "new", "-o", tmp_path / "s.csv")
    assert result.code == 0, result.err


def test_settings_for_pictures_can_be_changed_and_the_rest_has_defaults(work):
    model = load(work / "model.mixpul")
    assert (model.n_epochs, model.batch_size, model.cross_fitting) == (2, 16, 2)
    assert tuple(model.augment) == ("flip", "shift")


def test_few_pictures_are_gone_through_often_and_many_three_times():
    # Two thirds of 480 are five batches of 64: twelve epochs make sixty steps.
    assert [count_image_epochs(n) for n in (10, 480, 1_000_000)] == [60, 12, 3]


def test_the_number_of_epochs_follows_the_batch_size_and_the_folds():
    # Half of 480 are 15 batches of 16: four epochs make sixty steps.
    assert count_image_epochs(480, batch_size=16, cross_fitting=2) == 4
    # One network alone sees all of them: 30 batches.
    assert count_image_epochs(480, batch_size=16, cross_fitting=None) == 3
    assert count_image_epochs(480, batch_size=240, cross_fitting=None) == 30


def test_the_number_of_epochs_follows_the_number_of_pictures_unless_given(
    work, tmp_path, monkeypatch
):
    counted = []
    monkeypatch.setattr(
        "mixpul.images.defaults.count_image_epochs",
        lambda n, **settings: counted.append((n, settings)) or 3,
    )
    fewer = [*NETWORK, "--set", "cross_fitting=2", "--set", "batch_size=16"]
    assert fit(work, tmp_path / "model", settings=fewer).code == 0
    assert load(tmp_path / "model").n_epochs == 3
    assert counted == [(61, {"batch_size": 16, "cross_fitting": 2})]
    by_name = choose_image_classifier("upu", seed=5, n_unlabeled=61)
    assert (by_name.n_epochs, by_name.model, by_name.random_state) == (
        count_image_epochs(61),
        "mlp",
        5,
    )


def test_the_model_is_there_if_its_assessment_or_its_page_fails(work, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise ValueError("no luck")

    for name, what in (
        ("bare", "mixpul.assess.assessment.make_claims"),
        ("whole", "mixpul.pages.render_fit_page"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(what, fail)
            result = fit(work, tmp_path / name, "--report", tmp_path / f"{name}.html")
        assert result.code == 2
        assert result.err.endswith("mixpul: no luck\n")
        assert not (tmp_path / f"{name}.html").exists()
    assert describe(tmp_path / "bare")["info"].keys() == {"pictures", "fingerprint", "seed"}
    assert (tmp_path / "whole").read_bytes() == (work / "model.mixpul").read_bytes()
    result = run("predict-images", tmp_path / "bare", work / "new", "-o", tmp_path / "s.csv")
    assert result.code == 0, result.err


# -- predict-images -------------------------------------------------------------------------


def test_scores_of_another_process_are_those_of_the_python_api(work, tmp_path):
    scores = tmp_path / "scores.csv"
    done = typed("predict-images", work / "model.mixpul", work / "new", "-o", scores)
    assert done.returncode == 0, done.stderr
    data = label_images(work / "known", work / "unlabeled", size=12)
    mine = MixPULClassifier(
        **(SETTINGS_BY_METHOD["mixpul"] | {"n_epochs": 2, "cross_fitting": 2, "batch_size": 16}),
        random_state=0,
    ).fit(data.pixels, data.is_positive)
    new = read_images(work / "new", size=12)
    table = read_table(scores)
    assert table.columns.tolist() == ["picture", "score", "predicted"]
    assert table["picture"].tolist() == new.names
    expected = mine.predict_proba(new.pixels)[:, 1]
    # Printed in as few digits as tell it from its neighbours.
    assert_array_equal(table["score"].to_numpy().astype(np.float32), expected)
    assert_array_equal(table["predicted"], mine.predict(new.pixels).astype(bool))


def test_pictures_are_prepared_for_prediction_as_they_were_for_the_fit(work, tmp_path):
    assert fit(work, tmp_path / "skips", "--odd", "skip").code == 0
    folder = tmp_path / "odd"
    fill(folder, 1, 1, seed=3)
    picture(size=(40, 20)).save(folder / "wide.png")
    for model, n in ((work / "model.mixpul", 3), (tmp_path / "skips", 2)):
        result = run("predict-images", model, folder, "-o", tmp_path / f"{n}.parquet")
        assert result.code == 0, result.err
        assert len(read_table(tmp_path / f"{n}.parquet")) == n
    assert "skipped: wide.png is 40 x 20, not 12 x 12." in result.err


def test_more_pictures_than_fit_into_one_pass_have_the_same_scores(work, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    assert run("predict-images", work / "model.mixpul", work / "new", "-o", whole).code == 0
    monkeypatch.setattr("mixpul.images.reading.IMAGES_PER_PASS", 10)
    assert run("predict-images", work / "model.mixpul", work / "new", "-o", parts).code == 0
    one, other = (read_table(path) for path in (whole, parts))
    assert one["picture"].tolist() == other["picture"].tolist()
    np.testing.assert_allclose(one["score"], other["score"], rtol=1e-5)


def test_the_cut_comes_from_the_curve_of_the_fit(work, tmp_path, content):
    scores = tmp_path / "scores.parquet"
    result = run(
        "predict-images", work / "model.mixpul", work / "new", "-o", scores, "--threshold", "prior",
        "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    told, table = json.loads(result.out), read_table(scores)
    assert told["threshold"] == content["suggested"]["prior"]
    assert (told["pictures"], told["skipped"]) == (25, [])
    assert_array_equal(table["predicted"], table["score"] > told["threshold"])
    assert told["flagged"] == table["predicted"].sum()


def test_unreadable_pictures_are_listed_and_left_out(work, tmp_path):
    folder = tmp_path / "some"
    fill(folder, 1, 1, seed=3)
    (folder / "000.png").write_bytes(b"")
    result = run("predict-images", work / "model.mixpul", folder, "-o", tmp_path / "scores.csv")
    assert result.code == 0, result.err
    assert "mixpul: skipped: 000.png is empty.\n" in result.err
    assert read_table(tmp_path / "scores.csv")["picture"].tolist() == ["001.png"]


def test_a_model_saved_in_python_scores_folders_too(work, tmp_path):
    data = label_images(work / "known", work / "unlabeled", size=12)
    quick = MixPULClassifier(net=(4,), n_epochs=1, cross_fitting=None, random_state=0)
    save(quick.fit(data.pixels, data.is_positive), tmp_path / "mine")
    scores = tmp_path / "scores.csv"
    result = run("predict-images", tmp_path / "mine", work / "new", "-o", scores)
    assert result.code == 0, result.err
    assert len(read_table(scores)) == 25


def test_inspect_shows_a_model_of_pictures(work):
    result = run("inspect", work / "model.mixpul")
    assert result.code == 0, result.err
    assert "Fitted on 85 images, 24 of them labeled positive (12 x 12 pixels" in result.out
    assert "among the unlabeled images" in result.out
    assert json.loads(run("inspect", work / "model.mixpul", "--json").out)["table"] is None


# -- refusals -------------------------------------------------------------------------------


@pytest.fixture
def bad(work, tmp_path):
    """Folders to go wrong with."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "notes.txt").write_text("nothing to see")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.png").write_bytes(b"")
    (tmp_path / "file").write_text("no folder")
    return tmp_path


@pytest.mark.parametrize(
    ("positive", "unlabeled", "words"),
    [
        ("known", "nowhere", "There is no folder .*nowhere'; check the path"),
        ("nowhere", "unlabeled", "There is no folder"),
        ("file", "unlabeled", "is a file; name the folder that holds the images"),
        ("known", "known", "both as the folder of positives and as that of unlabeled images"),
        ("known", "../known/../known", "both as the folder"),
        ("bare", "unlabeled", "There is no image in .*bare'; mixpul reads files named .jpg, .jpeg"),
        ("known", "broken", "None of the 1 images in .*broken' can be used; .*'a.png', is empty"),
    ],
)
def test_folders_to_learn_from_are_refused_in_one_sentence(work, bad, positive, unlabeled, words):
    known = {"known": work / "known", "unlabeled": work / "unlabeled"}
    known["../known/../known"] = work / "known" / ".." / "known"
    folders = [known.get(name, bad / name) for name in (positive, unlabeled)]
    result = run("fit-images", *folders, *NETWORK, "-o", bad / "model")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert re.search(words, result.err)
    assert not (bad / "model").exists()


@pytest.mark.parametrize("name", ["bare", "broken", "file", "nowhere"])
def test_a_folder_to_score_is_refused_in_one_sentence(work, bad, name):
    result = run("predict-images", work / "model.mixpul", bad / name, "-o", bad / "scores.csv")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert not (bad / "scores.csv").exists()


@pytest.mark.parametrize("which", ["-o", "--report"])
def test_an_output_that_exists_is_refused_before_any_work(work, tmp_path, which, monkeypatch):
    (tmp_path / "there").write_text("mine")
    monkeypatch.setattr("mixpul.images.label_images", None)
    result = fit(work, tmp_path / "model", which, tmp_path / "there")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "exists; pass --force" in result.err
    assert (tmp_path / "there").read_text() == "mine"


def test_scores_that_exist_are_replaced_with_force_only(work, tmp_path):
    out = tmp_path / "scores.csv"
    out.write_text("mine")
    words = ["predict-images", work / "model.mixpul", work / "new", "-o", out]
    refused = run(*words)
    assert (refused.code, out.read_text()) == (2, "mine")
    assert_one_sentence(refused.err)
    assert run(*words, "--force").code == 0
    assert len(read_table(out)) == 25


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "net=mlp"], "use --net"),
        (["--set", "model=kernel"], "networks only"),
        (["--set", "random_state=1"], "use --seed"),
        (["--set", "n_epoch=3"], "did you mean n_epochs"),
        (["--size", "7"], "8"),
        (["--method", "wsvm"], "wsvm"),
        (["--odd", "crop"], "crop"),
    ],
)
def test_usage_errors_have_exit_code_two(work, tmp_path, more, words):
    result = fit(work, tmp_path / "model", *more)
    assert result.code == 2
    assert words in re.sub(r"[│\s]+", " ", result.err)


def test_models_of_tables_and_of_pictures_are_told_apart(work, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{n % 7},{int(n < 9)}\n" for n in range(40)))
    words = [
        "--method",
        "mixpul",
        "--set",
        "net=(2,)",
        "--set",
        "n_epochs=1",
        "--set",
        "cross_fitting=2",
    ]
    assert run("fit", table, "--label", "b", *words, "-o", tmp_path / "m").code == 0
    for model, command, source, way_out in (
        (tmp_path / "m", "predict-images", work / "new", "`mixpul predict`"),
        (work / "model.mixpul", "predict", table, "`mixpul predict-images`"),
        (work / "model.mixpul", "evaluate", table, "`mixpul predict-images`"),
    ):
        out = [] if command == "evaluate" else ["-o", tmp_path / "scores.csv"]
        result = run(command, model, source, *out)
        assert result.code == 2
        assert_one_sentence(result.err)
        assert way_out in result.err


def test_a_model_of_plain_numbers_is_refused(work, tmp_path, pu, quick):
    save(quick().fit(pu.X, pu.y), tmp_path / "m")
    result = run("predict-images", tmp_path / "m", work / "new", "-o", tmp_path / "s.csv")
    assert result.code == 2
    assert_one_sentence(result.err)
    assert "fit one with `mixpul fit-images`" in result.err


def test_without_pillow_the_way_to_get_it_is_named(work, tmp_path):
    (tmp_path / "PIL.py").write_text("raise ImportError('blocked')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = typed(
        "fit-images", work / "known", work / "unlabeled", *NETWORK, "-o", tmp_path / "m",
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 2
    assert_one_sentence(done.stderr.decode())
    assert 'pip install "mixpul[images]"' in done.stderr.decode()


# -- the page -------------------------------------------------------------------------------


def test_the_page_holds_what_json_says(work, content):
    page = (work / "page.html").read_text()
    (text,) = re.findall(r'<script type="application/json" id="assessment">(.*?)</script>', page)
    assert json.loads(text) == content
    for gone in ('id="importance"', "Which columns matter", "unlabeled row", "predict MODEL TABLE"):
        assert gone not in page
    for there in ("predict-images MODEL FOLDER", "61 unlabeled images", "known and unlabeled"):
        assert there in page


def shown_tiles(page, section):
    part = re.search(rf'<section id="{section}">(.*?)</section>', page, re.S)[1]
    tile = r'<li><img src="([^"]+)".*?<span class="number">([^<]+)</span><bdi title="([^"]+)">'
    return re.findall(tile, part)


@pytest.mark.parametrize("section", ["top", "bottom"])
def test_the_page_shows_the_pictures_it_names(work, content, section):
    tiles = shown_tiles((work / "page.html").read_text(), section)
    assert [name for _, _, name in tiles] == [entry["id"] for entry in content[section]]
    for (address, score, name), entry in zip(tiles, content[section], strict=True):
        assert score == str(escape(format_score(entry["score"])))
        with Image.open(work / "unlabeled" / name) as original:
            if original.size != (12, 12):
                continue
            enlarged = original.convert("RGB").resize((64, 64), Image.Resampling.BICUBIC)
        assert_array_equal(decoded(address), np.asarray(enlarged))


def test_the_page_says_what_was_left_out_and_names_are_inert(content):
    changed = json.loads(json.dumps(content))
    attack = "<script>alert(1)</script>.png"
    changed["data"]["skipped"].append({"picture": attack, "reason": "is empty"})
    changed["data"]["twins"].append(attack)
    changed["top"][0]["id"] = attack
    page = render_fit_page(changed, thumbnails={})
    assert "unlabeled/broken.png" in page
    assert attack not in page
    assert page.count("<script") == 3
    assert "<img" not in page


def test_a_long_path_keeps_its_end(content):
    changed = json.loads(json.dumps(content))
    changed["top"][0]["id"] = "folder/" * 20 + "name.png"
    page = render_fit_page(changed)
    shown = re.search(r'<bdi title="(?:folder/)+name.png">([^<]+)</bdi>', page)[1]
    assert len(shown) <= 44
    assert shown.startswith("…")
    assert shown.endswith("/name.png")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_in_a_browser_the_pictures_are_there_and_nothing_sticks_out(work, browser, width, dark):
    browser.open(work / "page.html", width, dark=dark)
    assert browser.overflow() <= 0
    assert browser.complaints() == []
    assert [address for address in browser.loaded() if not address.startswith("data:")] == []
    widths = browser.run(
        "[...document.querySelectorAll('#top img, #bottom img')].map(i => i.naturalWidth)"
    )
    assert widths == [64] * 48
    boxes = browser.run(
        "[...document.querySelectorAll('.tiles img')].map(i => i.getBoundingClientRect())"
        ".map(b => [b.width, b.height])"
    )
    assert all(width >= 56 and abs(width - height) < 1 for width, height in boxes)
    colour = "getComputedStyle(document.querySelector('.tiles bdi')).color"
    assert contrast(browser.run(colour), browser.background()) >= 4.5


# -- the page of the documentation ----------------------------------------------------------

ROOT = Path(__file__).parents[1]


def test_the_commands_of_the_how_to_run(tmp_path, monkeypatch):
    page = ROOT / "docs" / "how-to" / "images.md"
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = {
        kind: re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S) for kind in ("python", "sh")
    }
    exec(compile(blocks["python"][0], str(page), "exec"), {"__name__": "page"})
    for line in "".join(blocks["sh"]).splitlines():
        command, _, file = line.partition(" > ")
        words = shlex.split(command)[1:]
        # As it is typed, but for the time it takes.
        result = run(*words, *(SETTINGS if words[0] == "fit-images" else []))
        assert result.code == 0, f"{line}\n{result.err}"
        if file:
            Path(file).write_text(result.out)
    assert len(read_table("scores.parquet")) == 30
    assert json.loads(Path("predict.json").read_text())["pictures"] == 30
    assert json.loads(Path("fit.json").read_text())["data"]["unlabeled"] == 100
