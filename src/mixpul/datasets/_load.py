"""Every data set of the experiments by its name: bundled, or from a data folder."""

import io
import os
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from mixpul._util.files import write_whole
from mixpul.datasets._about import ABOUT
from mixpul.datasets._files import (
    CIFAR10_ARCHIVE,
    CIFAR10_BATCHES,
    DataNotAvailable,
    read_cifar10_records,
    read_idx,
    read_matlab,
    read_npz,
)
from mixpul.datasets._openml import OPENML, fetch_arrays

__all__ = ["BUNDLED", "cifar10_vehicles", "load", "mnist_pair"]

PathLike = str | os.PathLike
FOLDER_VARIABLE = "MIXPUL_DATA"
BUNDLED = ("krvskp", "titanic", "spambase")


class _Table(NamedTuple):
    n_rows: tuple[int, ...]  # any of these
    n_columns: int
    positive: str = "1"  # in files that name their classes


class _Images(NamedTuple):
    n_train: int
    n_test: int
    shape: tuple[int, ...]
    files: str


_TABLES = {
    "mushroom": _Table((8124,), 22),
    "satimage": _Table((6435, 6430), 36),
    "texture": _Table((5500,), 40, positive="2"),
    "twonorm": _Table((7400,), 20),
    "ethn": _Table((2630,), 30),
}

_IMAGES = {
    "mnist": _Images(
        60_000,
        10_000,
        (28, 28),
        "mnist.npz (X_train, y_train, X_test, y_test) or the four original files "
        "(train-images-idx3-ubyte and so on, plain or .gz)",
    ),
    "cifar10": _Images(
        50_000,
        10_000,
        (3, 32, 32),
        "cifar10.npz (X_train, y_train, X_test, y_test), cifar-10-binary.tar.gz or the *.bin files "
        "in it",
    ),
}


def load(
    name: str,
    *,
    data: PathLike | None = None,
    download: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Load a data set of the experiments with its true classes.

    Parameters
    ----------
    name : str
        'krvskp', 'titanic', 'spambase', which are bundled; or 'mushroom', 'satimage', 'texture',
        'twonorm', 'ethn', 'mnist', 'cifar10', which are read from a data folder.
    data : path, optional
        The data folder; by default the one that the environment variable MIXPUL_DATA names, or
        the folder 'mixpul' in scikit-learn's data folder.
    download : bool, default=False
        Get what the folder lacks from openml.org and put it there. This needs pandas, and for
        'cifar10' some gigabytes of memory. 'ethn' is not published.
    return_X_y : bool, default=False
        Return the pair ``(X, y)`` of a table instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch
        Of a table: `X` (float32), `y` (1 = positive, 0 = negative) and `feature_names`, None
        where unknown. Of images: `X_train`, `y_train`, `X_test`, `y_test`, all uint8; images have
        the shape (n, 28, 28) or (n, 3, 32, 32), labels are 0 to 9. Both: `name`, `description`
        (which says what positive means), `citation` and `licence`.

    Raises
    ------
    DataNotAvailable
        The folder has no file of this data set; the message says which to put there.
    ValueError
        There is a file, but it does not hold what it should.

    Examples
    --------
    >>> from mixpul import datasets
    >>> titanic = datasets.load("titanic")
    >>> titanic.X.shape, int(titanic.y.sum())
    ((2201, 3), 711)
    >>> titanic.feature_names
    ['class', 'age', 'sex']
    """
    if name not in ABOUT:
        raise ValueError(f"No data set is called {name!r}; there are: {', '.join(ABOUT)}.")
    if name in _IMAGES and return_X_y:
        raise ValueError(f"return_X_y is for tables; {name} has a training and a test part.")
    if name in BUNDLED:
        arrays = _read_bundled(name)
    else:
        arrays = _load_from_folder(name, _find_folder(data), download)
    if return_X_y:
        return arrays["X"], arrays["y"]
    return Bunch(**arrays, name=name, **ABOUT[name]._asdict())


def mnist_pair(
    digit: int, *, data: PathLike | None = None, download: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Load MNIST as a task of two classes: 0, which is positive, against another digit.

    Parameters
    ----------
    digit : int from 1 to 9
        The negative class.
    data, download
        As for `load`.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Images as float32 rows of 784 values between 0 and 1; 1 = positive, 0 = negative.

    Examples
    --------
    >>> from mixpul import datasets
    >>> X_train, y_train, X_test, y_test = datasets.mnist_pair(3)  # doctest: +SKIP
    >>> X_train.shape, X_test.shape  # doctest: +SKIP
    ((12054, 784), (1990, 784))
    """
    if digit not in range(1, 10):
        raise ValueError(f"digit must be an integer from 1 to 9, to set against 0; got {digit!r}.")
    mnist = load("mnist", data=data, download=download)
    train, test = (np.isin(y, (0, digit)) for y in (mnist.y_train, mnist.y_test))
    return (
        _scale_pixels(mnist.X_train[train].reshape(-1, 784)),
        (mnist.y_train[train] == 0).astype(np.int64),
        _scale_pixels(mnist.X_test[test].reshape(-1, 784)),
        (mnist.y_test[test] == 0).astype(np.int64),
    )


def cifar10_vehicles(
    *, data: PathLike | None = None, download: bool = False
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Load CIFAR-10 as a task of two classes: vehicles, which are positive, against animals.

    Vehicles are airplane, automobile, ship and truck, the labels 0, 1, 8 and 9.

    Parameters
    ----------
    data, download
        As for `load`.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Images in bytes, uint8 of shape (n, 3, 32, 32), as classifiers take them; 1 = positive,
        0 = negative.

    Examples
    --------
    >>> from mixpul import datasets
    >>> X_train, y_train, X_test, y_test = datasets.cifar10_vehicles()  # doctest: +SKIP
    >>> X_train.shape, y_train.sum()  # doctest: +SKIP
    ((50000, 3, 32, 32), 20000)
    """
    cifar10 = load("cifar10", data=data, download=download)
    y_train, y_test = (
        np.isin(y, (0, 1, 8, 9)).astype(np.int64) for y in (cifar10.y_train, cifar10.y_test)
    )
    return cifar10.X_train, y_train, cifar10.X_test, y_test


def _scale_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return pixels between 0 and 1, in single precision throughout: images take much memory."""
    return np.divide(pixels, 255, dtype=np.float32)


def _read_bundled(name: str) -> dict[str, Any]:
    source = resources.files("mixpul.datasets") / "data" / f"{name}.npz"
    with source.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {
            "X": arrays["X"].astype(np.float32),
            "y": arrays["y"].astype(np.int64),
            "feature_names": arrays["feature_names"].tolist(),
        }


# -- the folder -----------------------------------------------------------------------------


def _find_folder(data: PathLike | None) -> Path:
    """Return the data folder: the one given, that of the variable, or the default."""
    named = data or os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named).expanduser()
    # Not sklearn.datasets.get_data_home, which creates the folder that we only look into.
    home = os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
    return Path(home, "mixpul").expanduser()


def _load_from_folder(name: str, folder: Path, download: bool) -> dict[str, Any]:
    """Read a data set from the folder; put it there first if it may be downloaded."""
    read = _read_images if name in _IMAGES else _read_table
    arrays = read(name, folder)
    if arrays is None and download and name in OPENML:
        _download_into(folder, name)
        arrays = read(name, folder)
    if arrays is None:
        online = f"; or allow download=True, which writes {name}.npz from OpenML"
        raise DataNotAvailable(
            f"{_explain_how_to_get(name, folder)}{online if name in OPENML else ''}."
        )
    return arrays


def _download_into(folder: Path, name: str) -> None:
    """Write a data set of OpenML into the folder, which is created if need be."""
    try:
        arrays = fetch_arrays(name)
    except ConnectionError as error:
        raise DataNotAvailable(f"{_explain_how_to_get(name, folder)}; {error}.") from error
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    # Only now, so that a failed download leaves no empty folder.
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{name}.npz", content.getvalue())


def _explain_how_to_get(name: str, folder: Path) -> str:
    """Say which files to put where."""
    place = f"the data folder {str(folder)!r}{'' if folder.is_dir() else ' (which does not exist)'}"
    elsewhere = f"or name another folder with data= or {FOLDER_VARIABLE}"
    if name == "ethn":
        return (
            "ethn, the MSU ethnicity faces of Lu and Jain (2630 rows of 30 features, balanced), is "
            "not published: if you have it, put it as ethn.npz or ethn.mat with X and y (1 = "
            f"positive) into {place}, {elsewhere}"
        )
    if name in _IMAGES:
        files = _IMAGES[name].files
    else:
        extra = ", feature_names, categories" if name == "mushroom" else ""
        files = f"{name}.npz (X, y{extra})"
    return f"{name} is not in {place}: put {files} there, {elsewhere}"


# -- tables ---------------------------------------------------------------------------------


def _read_table(name: str, folder: Path) -> dict[str, Any] | None:
    """Read a table and check it against what it should be; None if the folder lacks it."""
    path, matlab = folder / f"{name}.npz", folder / f"{name}.mat"
    if path.is_file():
        arrays = read_npz(path, ("X", "y"), ("feature_names", "class_names", "categories"))
    elif name == "ethn" and matlab.is_file():
        path, arrays = matlab, read_matlab(matlab, ("X", "y"))
    else:
        return None
    table = _TABLES[name]
    X = _check_rows(path, arrays["X"], table)
    y = _find_positive(path, np.ravel(arrays["y"]), arrays.get("class_names"), table.positive)
    if len(X) != len(y):
        raise ValueError(f"{path} must hold one y per row; X has {len(X)} rows, y has {len(y)}.")
    names = arrays["feature_names"].tolist() if "feature_names" in arrays else None
    if name == "mushroom":
        X, names = _encode_one_hot(path, X, names, arrays.get("categories"))
    return {"X": X.astype(np.float32), "y": y.astype(np.int64), "feature_names": names}


def _check_rows(path: Path, X: Any, table: _Table) -> NDArray:
    """Refuse rows of another shape, and values that are not finite numbers."""
    shapes = [(n_rows, table.n_columns) for n_rows in table.n_rows]
    # A sparse matrix or a cell of MATLAB does not come as an array of numbers.
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or X.shape not in shapes:
        raise ValueError(
            f"{path} must hold X as numbers of shape {' or '.join(map(str, shapes))}; "
            f"it is a {type(X).__name__} of {X.dtype}, of shape {X.shape}."
        )
    if not np.isfinite(X).all():
        raise ValueError(f"{path} must hold X without missing or infinite values; it has some.")
    return X


def _find_positive(
    path: Path, y: NDArray, class_names: NDArray | None, positive: str
) -> NDArray[np.bool_]:
    """Return where y is positive: 1 against 0, -1 or 2, or the place of `positive` in a list.

    A file that has the list, `class_names`, stores each class as its place in it.
    """
    values = np.unique(y).tolist()
    if class_names is None:
        if values not in ([0, 1], [-1, 1], [1, 2]):
            raise ValueError(
                f"{path} must hold y as 1 for positive and 0, -1 or 2 for negative, or as places "
                f"in class_names, from 0; y has {len(values)} values: {values[:10]}."
            )
        return np.asarray(y == 1)
    if not set(values) <= set(range(len(class_names))) or positive not in class_names:
        raise ValueError(
            f"{path} must hold class_names with {positive!r} among them and y as places in it, "
            f"from 0; class_names are {class_names.tolist()}, y has {values[:10]}."
        )
    return np.asarray(class_names[y.astype(int)] == positive)


def _encode_one_hot(
    path: Path, codes: NDArray, names: list[str] | None, categories: NDArray | None
) -> tuple[NDArray, list[str]]:
    """Make one column per property and category, in the order of the file."""
    if names is None or categories is None or not len(names) == len(categories) == codes.shape[1]:
        raise ValueError(
            f"{path} must hold codes with feature_names and categories for {codes.shape[1]} "
            "columns; a code is the place of its letter in the entry of categories."
        )
    columns, encoded = [], []
    for column, name, letters in zip(codes.T, names, categories, strict=True):
        if not np.isin(column, range(len(letters))).all():
            raise ValueError(
                f"{path} must hold codes from 0 to {len(letters) - 1} for {name!r}, whose "
                f"categories are {str(letters)!r}; it holds {np.unique(column).tolist()}."
            )
        columns += [column == code for code in range(len(letters))]
        encoded += [f"{name}={letter}" for letter in letters]
    return np.column_stack(columns), encoded


# -- images ---------------------------------------------------------------------------------


def _read_images(name: str, folder: Path) -> dict[str, Any] | None:
    """Read images and check them against what they should be; None if the folder lacks them."""
    path = folder / f"{name}.npz"
    if path.is_file():
        arrays = read_npz(path, ("X_train", "y_train", "X_test", "y_test"))
    else:
        original = _read_mnist(folder) if name == "mnist" else _read_cifar10(folder)
        if original is None:
            return None
        path, arrays = original
    images = _IMAGES[name]
    for part, n in (("train", images.n_train), ("test", images.n_test)):
        arrays[f"X_{part}"] = _check_images(path, arrays[f"X_{part}"], (n, *images.shape))
        arrays[f"y_{part}"] = _check_digits(path, np.ravel(arrays[f"y_{part}"]), n)
    return arrays


def _read_mnist(folder: Path) -> tuple[Path, dict[str, NDArray]] | None:
    """Read the four files of the original, under the names that are in use for them."""
    n_train, n_test, image, _ = _IMAGES["mnist"]
    arrays, missing = {}, []
    for part, prefix, n in (("train", "train", n_train), ("test", "t10k", n_test)):
        for key, kind, shape in (("X", "images", (n, *image)), ("y", "labels", (n,))):
            stems = (f"{prefix}-{kind}{dot}idx{len(shape)}-ubyte" for dot in "-.")
            paths = [folder / f"{stem}{end}" for stem in stems for end in ("", ".gz")]
            path = next((path for path in paths if path.is_file()), None)
            if path is None:
                missing.append(paths[0].name)
            else:
                arrays[f"{key}_{part}"] = read_idx(path, shape)
    if not arrays:
        return None
    if missing:
        raise DataNotAvailable(
            f"The folder {str(folder)!r} has some of MNIST's four files, but not "
            f"{', '.join(missing)} (plain or .gz); put them there too."
        )
    return folder, arrays


def _read_cifar10(folder: Path) -> tuple[Path, dict[str, NDArray]] | None:
    """Read the binary version: its folder, its files, or its archive."""
    for place in (folder / "cifar-10-batches-bin", folder, folder / CIFAR10_ARCHIVE):
        if place.is_file() or any((place / batch).is_file() for batch in CIFAR10_BATCHES):
            X, y = read_cifar10_records(place)
            n = _IMAGES["cifar10"].n_train
            return place, {"X_train": X[:n], "y_train": y[:n], "X_test": X[n:], "y_test": y[n:]}
    for pickles in ("data_batch_1", "cifar-10-batches-py", "cifar-10-python.tar.gz"):
        if (folder / pickles).exists():
            raise DataNotAvailable(
                f"{folder / pickles} is CIFAR-10's version for Python, made of pickles, which can "
                f"run any code when read; take the binary version, {CIFAR10_ARCHIVE}, instead."
            )
    return None


def _check_images(path: Path, X: NDArray, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return images with channels first; refuse other shapes and types."""
    if len(shape) == 4 and X.shape == (shape[0], *shape[2:], shape[1]):
        X = np.ascontiguousarray(X.transpose(0, 3, 1, 2))  # channels came last
    if X.shape != shape or X.dtype != np.uint8:
        raise ValueError(
            f"{path} must hold images as uint8 of shape {shape}; it has {X.dtype} of shape "
            f"{X.shape}."
        )
    return X


def _check_digits(path: Path, y: NDArray, n: int) -> NDArray[np.uint8]:
    """Refuse labels that are not digits, or not as many as there are images."""
    if y.shape != (n,) or not np.isin(y, range(10)).all():
        raise ValueError(
            f"{path} must hold {n} labels from 0 to 9; it has {len(y)}, "
            f"with the values {np.unique(y)[:12].tolist()}."
        )
    return y.astype(np.uint8)
