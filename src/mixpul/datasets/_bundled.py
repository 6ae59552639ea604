"""The data sets that come with the package."""

from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch


class _About(NamedTuple):
    description: str
    citation: str
    licence: str


_BUNDLED = {
    "krvskp": _About(
        "Chess positions of king and rook against king and pawn (on a7, one step from "
        "queening), White to move. A row is a position, described by 36 properties; positive "
        "means that White can win. All columns hold codes: 35 are binary (f/t, g/l or n/t as "
        "0/1), 'katri' has three categories (b, n, w as 0, 1, 2) and should be one-hot encoded.",
        "Alen Shapiro: Chess (King-Rook vs. King-Pawn). UCI Machine Learning Repository. "
        "DOI 10.24432/C5DK5C.",
        "CC BY 4.0",
    ),
    "titanic": _About(
        "People aboard the Titanic. A row is a person, described by class (first, second, third, "
        "crew), age (adult, child) and sex, each coded as numbers and standardised; positive means "
        "that the person survived. There are only 14 distinct rows, so no classifier is right on "
        "more than 79.05 % of all people.",
        "Robert J. MacG. Dawson: The 'Unusual Episode' Data Revisited. Journal of Statistics "
        "Education 3(3), 1995.",
        "Published counts, as in R's Titanic table; the source states no licence.",
    ),
    "spambase": _About(
        "E-mail messages. A row is a message, described by the frequencies (in percent) of 48 "
        "words and 6 characters and by the average, longest and total length of its runs of "
        "capitals; positive means spam. The columns are raw and heavily skewed: take "
        "numpy.log1p, then standardise. The rows come spam first, and 391 of them repeat "
        "another one: shuffle before splitting.",
        "Mark Hopkins, Erik Reeber, George Forman, Jaap Suermondt: Spambase. UCI Machine Learning "
        "Repository, 1999. DOI 10.24432/C53G6X.",
        "CC BY 4.0",
    ),
}


def load(name: str, *, return_X_y: bool = False) -> Any:
    """Load a bundled data set with its true classes.

    Parameters
    ----------
    name : {'krvskp', 'titanic', 'spambase'}
        Which data set.
    return_X_y : bool, default=False
        Return the pair ``(X, y)`` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch
        `X` (float32), `y` (1 = positive, 0 = negative), `feature_names`, `name`,
        `description`, `citation` and `licence`.

    Examples
    --------
    >>> from mixpul import datasets
    >>> titanic = datasets.load("titanic")
    >>> titanic.X.shape, int(titanic.y.sum())
    ((2201, 3), 711)
    >>> titanic.feature_names
    ['class', 'age', 'sex']
    """
    if name not in _BUNDLED:
        raise ValueError(
            f"No bundled data set is called {name!r}; there are: {', '.join(_BUNDLED)}."
        )
    source = resources.files("mixpul.datasets") / "data" / f"{name}.npz"
    with source.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        X = arrays["X"].astype(np.float32)
        y = arrays["y"].astype(np.int64)
        feature_names = arrays["feature_names"].tolist()
    if return_X_y:
        return X, y
    return Bunch(X=X, y=y, feature_names=feature_names, name=name, **_BUNDLED[name]._asdict())
