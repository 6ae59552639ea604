"""Data sets from openml.org, turned into the arrays that a data folder holds."""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OPENML", "as_images", "as_table", "fetch_arrays"]

OPENML = {
    "mushroom": 24,
    "satimage": 182,
    "texture": 40499,
    "twonorm": 1507,
    "mnist": 554,
    "cifar10": 40927,
}

# Images are told apart from shuffled or transposed copies by how the originals begin: the rows of
# the training part, its first labels, those of the test part, and a corner of the first image.
_BEGINNINGS = {
    "mnist": (60_000, (28, 28), "5041921314", "7210414959", [0, 0, 0]),
    "cifar10": (50_000, (3, 32, 32), "6994112783", "3880661631", [59, 43, 50]),
}
_SECONDS_WITHOUT_ANSWER = 20


def fetch_arrays(name: str) -> dict[str, NDArray]:
    """Fetch a data set with scikit-learn, which keeps a copy in its own cache.

    Raises ConnectionError if OpenML does not return a usable answer.
    """
    from sklearn.datasets import fetch_openml

    try:
        with _limit_patience():
            X, target = fetch_openml(
                data_id=OPENML[name],
                return_X_y=True,
                as_frame=True,
                parser="pandas",
                n_retries=1,
                # Plain columns: scikit-learn trips over categories that pandas >= 3.1 reads as
                # numbers.
                read_csv_kwargs={"dtype": None},
            )
    except (OSError, ValueError) as error:
        raise ConnectionError(f"OpenML did not return a usable answer ({error})") from error
    return as_images(name, X, target) if name in _BEGINNINGS else as_table(name, X, target)


def as_table(name: str, frame: Any, target: Any) -> dict[str, NDArray]:
    """Return the arrays of a table: `X`, `y` (1 = positive, 0 = negative) and column names."""
    # OpenML escapes the question mark of the column 'bruises?'.
    feature_names = np.array([str(column).removesuffix("%3F") for column in frame.columns])
    if name == "mushroom":
        columns = [np.unique(_read_texts(frame[c]), return_inverse=True) for c in frame.columns]
        return {
            "X": np.column_stack([codes for _, codes in columns]).astype(np.uint8),
            "y": (_read_texts(target) == "p").astype(np.uint8),
            "feature_names": feature_names,
            "categories": np.array(["".join(letters) for letters, _ in columns]),
        }
    X = frame.to_numpy(np.float32)
    classes = _read_texts(target).astype(np.float64)  # some are written '1.'
    if name == "twonorm":
        # OpenML numbers the classes 1 and 2, the file of KEEL 0 and 1: go by the distributions.
        positive = min(np.unique(classes), key=lambda value: float(X[classes == value].mean()))
    else:
        positive = {"satimage": 1, "texture": 2}[name]
    return {"X": X, "y": (classes == positive).astype(np.uint8), "feature_names": feature_names}


def as_images(name: str, frame: Any, target: Any) -> dict[str, NDArray]:
    """Return the arrays of an image set, split as the original is."""
    n_train, shape, train_labels, test_labels, corner = _BEGINNINGS[name]
    X = frame.to_numpy(np.uint8)
    y = _read_texts(target).astype(np.uint8)
    begins = ("".join(map(str, y[rows : rows + 10])) for rows in (0, n_train))
    if (*begins, *X[0, :3]) != (train_labels, test_labels, *corner):
        raise ValueError(
            f"OpenML's {name} does not begin as the original does, so it cannot be split into its "
            "training and test part; take the original files."
        )
    X = X.reshape(-1, *shape)
    return {
        "X_train": X[:n_train],
        "y_train": y[:n_train],
        "X_test": X[n_train:],
        "y_test": y[n_train:],
    }


def _read_texts(column: Any) -> NDArray:
    """Return a column as text without quotes; '?' in the file was read as missing."""
    texts = column.astype(object).where(column.notna(), "?").astype(str)
    return np.array(texts.str.strip("'").tolist())


@contextmanager
def _limit_patience() -> Iterator[None]:
    """Give up on a silent server, and raise one error instead of a warning per attempt."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS_WITHOUT_ANSWER)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred")
            yield
    finally:
        socket.setdefaulttimeout(before)
