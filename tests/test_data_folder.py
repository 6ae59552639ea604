"""Data sets that do not come with the package: files as they are found in the wild."""

import gzip
import hashlib
import io
import json
import shutil
import tarfile

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from mixpul import datasets
from mixpul.datasets._openml import as_images, as_table

CIFAR10_BATCHES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
BATCH_BYTES = 30_730_000


@pytest.fixture(autouse=True)
def no_folder_but_the_given_one(tmp_path, monkeypatch):
    monkeypatch.delenv("MIXPUL_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit-learn"))
    yield
    shutil.rmtree(tmp_path)  # files of full size: pytest would keep those of three runs


def random_table(n, n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_columns)).astype(np.float32)


# -- where data is looked for ---------------------------------------------------------------


def write_texture(folder):
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / "texture.npz", X=random_table(5500, 40), y=np.arange(5500) % 11 == 4
    )


def test_the_folder_is_the_argument_else_the_variable_else_beside_scikit_learns(
    tmp_path, monkeypatch
):
    with pytest.raises(datasets.DataNotAvailable, match=r"scikit-learn.mixpul'.*does not exist"):
        datasets.load("texture")
    write_texture(tmp_path / "scikit-learn" / "mixpul")
    assert datasets.load("texture").X.shape == (5500, 40)

    monkeypatch.setenv("MIXPUL_DATA", str(tmp_path / "variable"))
    with pytest.raises(datasets.DataNotAvailable, match="variable"):
        datasets.load("texture")
    write_texture(tmp_path / "variable")
    assert datasets.load("texture").X.shape == (5500, 40)

    with pytest.raises(datasets.DataNotAvailable, match="argument"):
        datasets.load("texture", data=tmp_path / "argument")


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("mushroom", r"mushroom\.npz \(X, y, feature_names, categories\)"),
        ("satimage", r"satimage\.npz \(X, y\)"),
        ("mnist", r"mnist\.npz .* or the four original files"),
        ("cifar10", r"cifar10\.npz .*, cifar-10-binary\.tar\.gz or"),
    ],
)
def test_absent_data_is_answered_with_the_files_to_put_there(tmp_path, name, files):
    with pytest.raises(datasets.DataNotAvailable, match=f"{files}.*MIXPUL_DATA.*download=True"):
        datasets.load(name, data=tmp_path)


def test_absence_is_a_missing_file_and_broken_data_is_not(tmp_path):
    assert issubclass(datasets.DataNotAvailable, FileNotFoundError)
    (tmp_path / "texture.npz").write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match=r"texture\.npz is not a whole npz file \(14 bytes\)"):
        datasets.load("texture", data=tmp_path)


def test_images_have_no_pair(tmp_path):
    with pytest.raises(ValueError, match="mnist has a training and a test part"):
        datasets.load("mnist", data=tmp_path, return_X_y=True)


# -- tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "class_names", "positive"),
    [
        ("satimage", (6435, 36), list("123457"), 0),
        ("texture", (5500, 40), ["10", "12", "13", "14", *"2346789"], 4),
        ("twonorm", (7400, 20), list("01"), 1),
    ],
)
def test_one_named_class_is_positive_against_the_rest(tmp_path, name, shape, class_names, positive):
    X, y = random_table(*shape), np.arange(shape[0]) % len(class_names)
    np.savez_compressed(tmp_path / f"{name}.npz", X=X, y=y, class_names=class_names)
    table = datasets.load(name, data=tmp_path)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y == positive)
    assert (table.X.dtype, table.y.dtype) == (np.float32, np.int64)
    assert (table.name, table.feature_names) == (name, None)
    assert "positive means" in table.description
    assert table.citation
    assert table.licence
    pair = datasets.load(name, data=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(pair[1], table.y)


def mushroom_arrays():
    """8124 rows of 22 properties: the first has the categories ?, b and c, the others p and q."""
    generator = np.random.default_rng(0)
    codes = np.c_[
        generator.integers(3, size=(8124, 1)), generator.integers(2, size=(8124, 21))
    ].astype(np.uint8)
    return {
        "X": codes,
        "y": generator.integers(2, size=8124).astype(np.int8),
        "feature_names": np.array([f"f{i}" for i in range(22)]),
        "categories": np.array(["?bc", *["pq"] * 21]),
    }


def test_mushroom_codes_become_one_column_per_category(tmp_path):
    arrays = mushroom_arrays()
    np.savez_compressed(tmp_path / "mushroom.npz", **arrays)
    mushroom = datasets.load("mushroom", data=tmp_path)
    assert mushroom.X.shape == (8124, 3 + 21 * 2)
    assert mushroom.feature_names[:5] == ["f0=?", "f0=b", "f0=c", "f1=p", "f1=q"]
    np.testing.assert_array_equal(mushroom.X.sum(axis=1), 22)
    np.testing.assert_array_equal(mushroom.X[:, :3].argmax(axis=1), arrays["X"][:, 0])
    np.testing.assert_array_equal(mushroom.X[:, 4], arrays["X"][:, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full((8124, 22), 3)}, r"codes from 0 to 2 for 'f0', whose categories are '\?bc'"),
        ({"categories": np.array(["pq"] * 21)}, "for 22 columns"),
        ({"X": np.zeros((8124, 21))}, r"shape \(8124, 22\); it is a ndarray of float64.*21\)"),
        ({"X": np.full((8124, 22), np.nan)}, "without missing or infinite"),
        ({"y": np.ones(8000)}, r"y has 1 values: \[1\.0\]"),
        ({"y": np.arange(8000) % 2}, "X has 8124 rows, y has 8000"),
        ({"y": np.arange(8124) % 3}, r"y has 3 values: \[0, 1, 2\]"),
        (
            {"y": np.arange(8124) % 3, "class_names": ["0", "1"]},
            r"are \['0', '1'\], y has \[0, 1, 2",
        ),
        ({"class_names": ["e", "p"]}, "class_names with '1' among them"),
        ({"X": np.full((8124, 22), None)}, r"mushroom\.npz cannot be read.*without Python objects"),
    ],
)
def test_a_table_says_what_is_wrong_with_it(tmp_path, change, message):
    np.savez(tmp_path / "mushroom.npz", **mushroom_arrays() | change)
    with pytest.raises(ValueError, match=message):
        datasets.load("mushroom", data=tmp_path)


def test_missing_arrays_are_named(tmp_path):
    np.savez(tmp_path / "texture.npz", features=np.zeros(3), y=np.zeros(3))
    with pytest.raises(ValueError, match="must hold the arrays X, y; it holds features, y"):
        datasets.load("texture", data=tmp_path)


# -- ethn -----------------------------------------------------------------------------------


def test_ethn_without_a_file_says_what_it_is_and_that_nobody_publishes_it(tmp_path):
    with pytest.raises(
        datasets.DataNotAvailable, match=r"Lu and Jain.*not published.*ethn\.mat"
    ) as info:
        datasets.load("ethn", data=tmp_path, download=True)
    assert "download" not in str(info.value)


@pytest.mark.parametrize("negative", [-1, 0, 2])
@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_ethn_is_the_users_own_file_and_its_1_is_positive(tmp_path, negative, kind):
    X, y = random_table(2630, 30), np.where(np.arange(2630) % 2, 1, negative)
    if kind == "npz":
        np.savez(tmp_path / "ethn.npz", X=X, y=y)
    else:
        savemat(tmp_path / "ethn.mat", {"X": X.astype(float), "y": y[:, None].astype(float)})
    ethn = datasets.load("ethn", data=tmp_path)
    np.testing.assert_array_equal(ethn.X, X)
    np.testing.assert_array_equal(ethn.y, np.arange(2630) % 2)
    assert ethn.y.shape == (2630,)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"X": random_table(2630, 30)}, "must hold the variables X, y; it holds X"),
        ({"X": random_table(30, 2630), "y": np.ones(9)}, r"shape \(2630, 30\).*\(30, 2630\)"),
        ({"X": csc_matrix(random_table(2630, 30)), "y": np.ones(9)}, "it is a csc_"),
        ({"X": random_table(2630, 30), "y": np.arange(2630) % 2 + 2}, r"2 values: \[2, 3\]"),
    ],
)
def test_a_matlab_file_says_what_is_wrong_with_it(tmp_path, variables, message):
    savemat(tmp_path / "ethn.mat", variables)
    with pytest.raises(ValueError, match=message):
        datasets.load("ethn", data=tmp_path)


def test_a_matlab_file_of_version_7_3_is_told_from_a_broken_one(tmp_path):
    path = tmp_path / "ethn.mat"
    # The header MATLAB writes: 116 bytes of text, 8 of offset, the version, the byte order.
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM" + bytes(512))
    with pytest.raises(ValueError, match=r"version 7\.3.*'-v7'"):
        datasets.load("ethn", data=tmp_path)
    savemat(path, {"X": random_table(2630, 30), "y": np.ones(2630)})
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"ethn\.mat cannot be read as a MATLAB file"):
        datasets.load("ethn", data=tmp_path)


# -- MNIST ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mnist():
    """Blank images but for the first row of each, which counts them; labels in turn."""
    arrays = {}
    for part, n in (("train", 60_000), ("test", 10_000)):
        X = np.zeros((n, 28, 28), np.uint8)
        X[:, 0, :2] = np.arange(n)[:, None] // (1, 256) % 256
        arrays |= {f"X_{part}": X, f"y_{part}": (np.arange(n) % 10).astype(np.uint8)}
    return arrays


def idx(array):
    return np.array([0x800 + array.ndim, *array.shape], ">i4").tobytes() + array.tobytes()


def write_idx(folder, arrays, *, dot="-", gz=False):
    for part, prefix in (("train", "train"), ("test", "t10k")):
        for key, kind in (("X", "images"), ("y", "labels")):
            array = arrays[f"{key}_{part}"]
            path = folder / f"{prefix}-{kind}{dot}idx{array.ndim}-ubyte{'.gz' if gz else ''}"
            path.write_bytes(gzip.compress(idx(array), 1) if gz else idx(array))


def assert_same_arrays(found, expected):
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array)
        assert found[key].dtype == np.uint8


@pytest.mark.parametrize(("dot", "gz"), [("-", True), (".", False)])
def test_mnist_is_read_from_the_original_files(tmp_path, mnist, dot, gz):
    write_idx(tmp_path, mnist, dot=dot, gz=gz)
    assert_same_arrays(datasets.load("mnist", data=tmp_path), mnist)


def test_mnist_is_read_from_one_file_also_with_lower_case_names(tmp_path, mnist):
    lower = {key.lower(): array for key, array in mnist.items()}
    np.savez(tmp_path / "mnist.npz", **lower | {"y_train": mnist["y_train"][:, None].astype(int)})
    found = datasets.load("mnist", data=tmp_path)
    assert_same_arrays(found, mnist)
    assert found.name == "mnist"
    assert found.description


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "must hold 10008 bytes .*; it has only 10007"),
        (lambda content: content + b"\0", "must hold 10008 bytes .*; it has more"),
        (
            lambda content: content[:6],
            "starts with the bytes 00000801 0000; expected 00000801 0000",
        ),
        (lambda content: b"\0\0\x0d\x01" + content[4:], "starts with the bytes 00000d01 00002710"),
    ],
)
def test_an_idx_file_says_what_is_wrong_with_it(tmp_path, mnist, change, message):
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(change(idx(mnist["y_test"])))
    with pytest.raises(ValueError, match=message):
        datasets.load("mnist", data=tmp_path)


def test_half_of_mnist_is_not_mnist(tmp_path, mnist):
    write_idx(tmp_path, mnist, gz=True)
    path = tmp_path / "train-labels-idx1-ubyte.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"train-labels-idx1-ubyte\.gz breaks off.*60008 bytes"):
        datasets.load("mnist", data=tmp_path)
    path.unlink()
    with pytest.raises(datasets.DataNotAvailable, match="but not train-labels-idx1-ubyte"):
        datasets.load("mnist", data=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"X_train": np.zeros((59_999, 28, 28), np.uint8)},
            r"\(60000, 28, 28\); it has .*\(59999, ",
        ),
        ({"X_train": np.zeros((60_000, 28, 28), bool)}, r"images as uint8 .*; it has bool"),
        ({"y_train": np.arange(60_000) % 11}, r"60000 labels from 0 to 9; .* 8, 9, 10\]"),
        ({"y_train": np.zeros(59_999, np.uint8)}, "60000 labels from 0 to 9; it has 59999"),
    ],
)
def test_an_image_file_says_what_is_wrong_with_it(tmp_path, mnist, change, message):
    np.savez(tmp_path / "mnist.npz", **mnist | change)
    with pytest.raises(ValueError, match=message):
        datasets.load("mnist", data=tmp_path)


def test_a_pair_of_digits_is_a_task_with_0_positive(tmp_path, mnist):
    np.savez(tmp_path / "mnist.npz", **mnist)
    X, y, X_test, y_test = datasets.mnist_pair(3, data=tmp_path)
    assert (X.shape, X_test.shape, X.dtype) == ((12_000, 784), (2000, 784), np.float32)
    np.testing.assert_array_equal(y, np.arange(12_000) % 2 == 0)
    np.testing.assert_array_equal(y_test, np.arange(2000) % 2 == 0)
    # The second image kept is the fourth: its number, 3, is its first pixel.
    assert X[1, 0] == np.float32(3 / 255)
    assert 0 <= X.min() < X.max() <= 1
    with pytest.raises(ValueError, match="from 1 to 9, to set against 0; got 0"):
        datasets.mnist_pair(0, data=tmp_path)


# -- CIFAR-10 -------------------------------------------------------------------------------


def write_batches(folder):
    """Six sparse files of the true size; only the last record of each is filled."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(CIFAR10_BATCHES):
        with (folder / name).open("wb") as file:
            file.truncate(BATCH_BYTES)
            file.seek(-3073, io.SEEK_END)
            planes = (bytes([10 * number + colour]) * 1024 for colour in (1, 2, 3))
            file.write(bytes([number]) + b"".join(planes))


def assert_batches(cifar10):
    assert cifar10.X_train.shape == (50_000, 3, 32, 32)
    assert cifar10.X_test.shape == (10_000, 3, 32, 32)
    assert cifar10.X_train.dtype == cifar10.y_train.dtype == np.uint8
    np.testing.assert_array_equal(cifar10.y_train[9999::10_000], range(5))
    np.testing.assert_array_equal(np.unique(cifar10.X_train[29_999, 1]), 22)
    assert (cifar10.y_test[-1], cifar10.X_test[-1, 2, 31, 31]) == (5, 53)
    assert not cifar10.X_test[:-1].any()


@pytest.mark.parametrize("place", ["cifar-10-batches-bin", "."])
def test_cifar10_is_read_from_the_binary_files(tmp_path, place):
    write_batches(tmp_path / place)
    assert_batches(datasets.load("cifar10", data=tmp_path))


def test_cifar10_is_read_from_the_archive_without_unpacking_it(tmp_path):
    write_batches(tmp_path / "source")
    folder = tmp_path / "data"
    folder.mkdir()
    archive = folder / "cifar-10-binary.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for name in reversed(CIFAR10_BATCHES):
            tar.add(tmp_path / "source" / name, f"../cifar-10-batches-bin/{name}")
    assert_batches(datasets.load("cifar10", data=folder))
    assert list(folder.iterdir()) == [archive]
    assert {path.name for path in tmp_path.iterdir()} == {"source", "data"}

    archive.write_bytes(archive.read_bytes()[:100_000])
    with pytest.raises(ValueError, match=r"cifar-10-binary\.tar\.gz breaks off"):
        datasets.load("cifar10", data=folder)
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(tmp_path / "source" / "test_batch.bin", "test_batch.bin")
    with pytest.raises(ValueError, match=r"lacks data_batch_1\.bin, data_batch_2\.bin"):
        datasets.load("cifar10", data=folder)


def test_cifar10_says_what_is_wrong_with_its_files(tmp_path):
    write_batches(tmp_path)
    with (tmp_path / "data_batch_2.bin").open("r+b") as file:
        file.truncate(BATCH_BYTES - 3073)
    with pytest.raises(ValueError, match=r"data_batch_2\.bin must hold 30730000 .* has 30726927"):
        datasets.load("cifar10", data=tmp_path)
    (tmp_path / "data_batch_2.bin").unlink()
    with pytest.raises(datasets.DataNotAvailable, match=r"data_batch_2\.bin is missing"):
        datasets.load("cifar10", data=tmp_path)


@pytest.mark.parametrize("name", ["data_batch_1", "cifar-10-python.tar.gz"])
def test_cifar10_is_never_unpickled(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x80\x04.")
    with pytest.raises(
        datasets.DataNotAvailable, match=r"pickles.*take .*cifar-10-binary\.tar\.gz"
    ):
        datasets.load("cifar10", data=tmp_path)


def test_channels_may_come_last_and_vehicles_are_four_of_the_ten_classes(tmp_path):
    arrays = {}
    for part, n in (("train", 50_000), ("test", 10_000)):
        X = np.zeros((n, 32, 32, 3), np.uint8)
        X[0, 1, 2] = 51, 102, 255
        arrays |= {f"X_{part}": X, f"y_{part}": np.arange(n) % 10}
    np.savez_compressed(tmp_path / "cifar10.npz", **arrays)
    X, y, X_test, y_test = datasets.cifar10_vehicles(data=tmp_path)
    assert (X.shape, X.dtype) == ((50_000, 3, 32, 32), np.uint8)
    assert X_test[0, :, 1, 2].tolist() == [51, 102, 255]
    assert y[:10].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1, 1]
    assert (y.sum(), y_test.sum()) == (20_000, 4000)


# -- OpenML ---------------------------------------------------------------------------------


def fill_openml_cache(home, data_id, frame, declared):
    """Put into scikit-learn's cache what OpenML would answer; the last column is the class."""
    lines = ["@RELATION table"]
    lines += [f"@ATTRIBUTE {column} {declared[column]}" for column in frame.columns]
    arff = "\n".join([*lines, "@DATA", frame.to_csv(header=False, index=False)]).encode()
    features = [
        {
            "index": str(index),
            "name": column,
            "data_type": "numeric" if declared[column] == "NUMERIC" else "nominal",
            "is_target": str(column == frame.columns[-1]).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, column in enumerate(frame.columns)
    ]
    description = {
        "id": str(data_id),
        "name": "table",
        "version": "1",
        "description": "",
        "format": "ARFF",
        "status": "active",
        "url": "https://www.openml.org/data/v1/download/1/table.arff",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    api = "api/v1/json/data"
    answers = {
        f"{api}/{data_id}": {"data_set_description": description},
        f"{api}/features/{data_id}": {"data_features": {"feature": features}},
        f"{api}/qualities/{data_id}": {"data_qualities": {"quality": []}},
    }
    for path, answer in {k: json.dumps(v).encode() for k, v in answers.items()}.items():
        write_gzip(home / "openml" / "openml.org" / f"{path}.gz", answer)
    write_gzip(home / "openml" / "openml.org" / "data/v1/download/1/table.arff.gz", arff)


def write_gzip(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content))


@pytest.mark.parametrize(
    ("name", "data_id", "shape", "labels", "positive"),
    [
        ("satimage", 182, (6430, 36), ["1.", "2.", "7."], "1."),
        ("satimage", 182, (6430, 36), ["'1'", "'2'", "'7'"], "'1'"),
        ("texture", 40499, (5500, 40), ["10", "2", "12"], "2"),
        ("twonorm", 1507, (7400, 20), ["1", "2"], "2"),
    ],
)
def test_a_table_comes_from_openml_and_stays_in_the_folder(
    tmp_path, name, data_id, shape, labels, positive
):
    classes = np.array(labels)[np.arange(shape[0]) % len(labels)]
    X = random_table(*shape) + np.where(classes == positive, -0.4, 0.4)[:, None]
    X = X.round(3).astype(np.float32)
    columns = [f"v{i}" for i in range(shape[1])]
    frame = pd.DataFrame(X, columns=columns).assign(Class=classes)
    declared = dict.fromkeys(columns, "NUMERIC") | {"Class": f"{{{','.join(labels)}}}"}
    fill_openml_cache(tmp_path / "scikit-learn", data_id, frame, declared)

    with pytest.raises(datasets.DataNotAvailable):
        datasets.load(name, data=tmp_path / "new")
    table = datasets.load(name, data=tmp_path / "new", download=True)
    np.testing.assert_allclose(table.X, X, atol=1e-6)
    np.testing.assert_array_equal(table.y, classes == positive)
    assert table.feature_names == columns
    again = datasets.load(name, data=tmp_path / "new")
    np.testing.assert_array_equal(again.X, table.X)
    assert [path.name for path in (tmp_path / "new").iterdir()] == [f"{name}.npz"]


def test_mushroom_from_openml_equals_mushroom_from_the_file(tmp_path):
    arrays = mushroom_arrays()
    letters = np.column_stack(
        [
            np.array(list(c))[codes]
            for c, codes in zip(arrays["categories"], arrays["X"].T, strict=True)
        ]
    )
    names = arrays["feature_names"].tolist()
    frame = pd.DataFrame(letters, columns=names).assign(kind=np.array(["e", "p"])[arrays["y"]])
    frame = frame.rename(columns={"f3": "f3%3F"})
    # OpenML declares categories that never occur, and marks the unknown ones as missing.
    declared = dict.fromkeys(frame.columns, "{q,p,x}") | {"f0": "{c,b,z}", "kind": "{e,p}"}
    fill_openml_cache(tmp_path / "scikit-learn", 24, frame, declared)
    found = datasets.load("mushroom", data=tmp_path / "openml", download=True)

    np.savez(tmp_path / "mushroom.npz", **arrays)
    expected = datasets.load("mushroom", data=tmp_path)
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.feature_names == expected.feature_names


def test_without_an_answer_from_openml_the_way_out_is_a_file(tmp_path, monkeypatch):
    # A proxy that nobody answers for is as good as no network.
    for variable in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(
        datasets.DataNotAvailable, match=r"put texture\.npz.*not return a usable answer"
    ):
        datasets.load("texture", data=tmp_path, download=True)
    assert not list(tmp_path.glob("*.npz"))


def openml_images(n, n_pixels, labels, n_train, corner):
    pixels, target = np.zeros((n, n_pixels), np.uint8), np.zeros(n, int)
    pixels[0, :3] = corner
    target[:10], target[n_train : n_train + 10] = labels
    return pd.DataFrame(pixels), pd.Series(target.astype(str), dtype="category")


def test_images_of_openml_are_split_only_if_they_begin_as_the_original(tmp_path):
    mnist_labels = [5, 0, 4, 1, 9, 2, 1, 3, 1, 4], [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    frame, target = openml_images(70_000, 784, mnist_labels, 60_000, [0, 0, 0])
    arrays = as_images("mnist", frame, target)
    np.savez(tmp_path / "mnist.npz", **arrays)
    found = datasets.load("mnist", data=tmp_path)
    assert found.y_train[:10].tolist() == mnist_labels[0]
    assert found.y_test[:10].tolist() == mnist_labels[1]

    with pytest.raises(ValueError, match="mnist does not begin as the original"):
        as_images("mnist", frame, target.iloc[::-1])
    cifar_labels = [6, 9, 9, 4, 1, 1, 2, 7, 8, 3], [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    # Red, green and blue of one pixel, where three reds should stand.
    frame, target = openml_images(50_010, 3072, cifar_labels, 50_000, [59, 62, 63])
    with pytest.raises(ValueError, match="cifar10 does not begin as the original"):
        as_images("cifar10", frame, target)
    frame.iloc[0, :3] = [59, 43, 50]
    assert as_images("cifar10", frame, target)["X_test"].shape == (10, 3, 32, 32)


def test_classes_that_openml_writes_as_numbers_are_understood():
    frame = pd.DataFrame({"a": [0.5, 1.5], "b": [1, 2]})
    for labels in (pd.Series([1, 2]), pd.Series(["1.", "2."]), pd.Series([1, 2], dtype="category")):
        assert as_table("satimage", frame, labels)["y"].tolist() == [1, 0]
        assert as_table("texture", frame, labels)["y"].tolist() == [0, 1]
        assert as_table("twonorm", frame, labels)["y"].tolist() == [1, 0]
