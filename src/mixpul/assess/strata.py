"""Rows to check by hand: strata of the score, and how many rows are drawn from each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixpul._util.errors import MixpulError
from mixpul.assess.verdicts import YES, check_verdicts

__all__ = ["LEAST_DRAWN", "Review", "allocate_rows", "guess_probabilities", "review"]

# Fewer rows say next to nothing of a stratum.
LEAST_DRAWN = 3
# About one stratum for so many rows to check, within these limits.
ROWS_PER_STRATUM, FEWEST_STRATA, MOST_STRATA = 12, 3, 5
# A guess is never sure: rows that look certain are checked, too.
LEAST_GUESS = 0.05


class Review(NamedTuple):
    """Rows drawn for people to check, in the order in which they should be checked.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Places in the table, from 0.
    scores : ndarray of shape (n,)
    ranks : ndarray of shape (n,)
        The place of each row among the unlabeled rows by score; the highest one has rank 1.
    strata : ndarray of shape (n,)
        The stratum that each row was drawn from. 0 has the highest scores.
    sizes : ndarray of shape (n_strata,)
        How many unlabeled rows each stratum has.
    seed : int
        Breaks ties of the scores, the same in all rounds, and draws the rows.
    number : int
        The number of the round, from 1.
    """

    rows: NDArray[np.intp]
    scores: NDArray[np.float64]
    ranks: NDArray[np.intp]
    strata: NDArray[np.intp]
    sizes: NDArray[np.intp]
    seed: int
    number: int


def review(
    scores: ArrayLike,
    is_positive: ArrayLike | None = None,
    *,
    n: int = 60,
    prior: float = 0.2,
    earlier: Sequence[Review] = (),
    verdicts: Sequence[ArrayLike] = (),
    random_state: int = 0,
) -> Review:
    """Draw unlabeled rows for people to check, more of them where answers vary most.

    Unlabeled rows are sorted by score and divided into strata. Rows are drawn at random from each.
    A stratum gets more of them the larger it is and the less its class is known in advance. Any
    first part of the queue is a random draw from the strata, too.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        By models that were not trained on the rows, from 0 to 1.
    is_positive : array of bool, shape (n_rows,), optional
        Rows labeled positive, which are not drawn. By default all rows are unlabeled.
    n : int, default=60
        How many rows to draw. All rows are drawn if there are fewer.
    prior : float, default=0.2
        A rough guess of the share of positives among the unlabeled rows. It steers how many rows
        come from which stratum; the audit is right whatever it is.
    earlier : sequence of Review, default=()
        Rounds of the same rows. Their rows are not drawn again, and their strata are kept.
    verdicts : sequence of arrays, default=()
        The answers of each earlier round; with them less is left to the guess.
    random_state : int, default=0
        Seed; of a further round the one of the first round is used.

    Returns
    -------
    Review

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess import review
    >>> scores = np.linspace(0, 1, 500)
    >>> drawn = review(scores, scores > 0.95, n=30)
    >>> len(drawn.rows), drawn.sizes.sum(), bool((drawn.scores <= 0.95).all())
    (30, np.int64(475), True)
    """
    shares = np.asarray(scores, dtype=np.float64)
    labeled = np.zeros(len(shares), bool) if is_positive is None else np.asarray(is_positive, bool)
    _check(shares, labeled, n, prior)
    first = earlier[0] if earlier else None
    seed = random_state if first is None else first.seed
    order = _sort_unlabeled(shares, labeled, seed)
    guess = guess_probabilities(shares, labeled, prior)[order]
    if first is None:
        sizes = cut_strata(guess, choose_n_strata(n, len(order)))
    else:
        _check_rounds(earlier, len(order))
        sizes = first.sizes
    strata = np.repeat(np.arange(len(sizes)), sizes)
    is_free = ~np.isin(order, np.concatenate([np.empty(0, np.intp), *(e.rows for e in earlier)]))
    spread = _guess_spread(guess, strata, len(sizes), earlier, verdicts)
    drawn = allocate_rows(sizes, spread, n, np.bincount(strata[is_free], minlength=len(sizes)))
    number = 1 + max((one.number for one in earlier), default=0)
    places = _draw_places(strata, is_free, drawn, np.random.default_rng([seed, number]))
    rows = order[places]
    return Review(rows, shares[rows], places + 1, strata[places], sizes, seed, number)


def _check(
    scores: NDArray[np.float64], is_positive: NDArray[np.bool_], n: int, prior: float
) -> None:
    if scores.ndim != 1 or scores.shape != is_positive.shape:
        raise MixpulError(
            f"scores and is_positive must have one entry per row; got the shapes {scores.shape} "
            f"and {is_positive.shape}."
        )
    if not np.isfinite(scores).all():
        raise MixpulError("scores must be numbers; some are NaN or infinite.")
    if is_positive.all():
        raise MixpulError("There is no unlabeled row to draw.")
    if not 0 < prior < 1:
        raise MixpulError(f"prior must lie between 0 and 1; got {prior}.")
    if n < 1:
        raise MixpulError(f"n must be at least 1; got {n}.")


def _check_rounds(earlier: Sequence[Review], n_unlabeled: int) -> None:
    sizes = earlier[0].sizes
    if any(not np.array_equal(one.sizes, sizes) for one in earlier):
        raise MixpulError(
            "The earlier rounds have different strata; name the rounds of one series only."
        )
    if sizes.sum() != n_unlabeled:
        raise MixpulError(
            f"The earlier rounds were drawn from {sizes.sum():,} unlabeled rows, but there are "
            f"{n_unlabeled:,} now; use the same table and labels."
        )


def _sort_unlabeled(
    scores: NDArray[np.float64], is_positive: NDArray[np.bool_], seed: int
) -> NDArray[np.intp]:
    """Return the unlabeled rows, the highest-scored first, ties in an order of chance."""
    unlabeled = np.random.default_rng([seed, 0]).permutation(np.flatnonzero(~is_positive))
    return unlabeled[np.argsort(-scores[unlabeled], kind="stable")]


def guess_probabilities(
    scores: NDArray[np.float64], is_positive: NDArray[np.bool_], prior: float
) -> NDArray[np.float64]:
    r"""Guess P(y=1 | x unlabeled) as :math:`\min(1, \pi r(s))`, with r from labeled shares.

    q(s) is the share of labeled rows at score s by isotonic regression, and
    :math:`r = q / (1 - q) \cdot n_U / n_P` the ratio of densities. Without labeled rows the score
    itself is the guess.
    """
    n_positive = int(is_positive.sum())
    if not n_positive:
        return np.clip(scores, LEAST_GUESS, 1 - LEAST_GUESS)
    from sklearn.isotonic import IsotonicRegression

    share = IsotonicRegression(y_min=0, y_max=1).fit_transform(scores, is_positive.astype(float))
    odds = share / np.maximum(1 - share, 1e-9)
    ratio = odds * (len(scores) - n_positive) / n_positive
    return np.clip(prior * ratio, LEAST_GUESS, 1 - LEAST_GUESS)


def choose_n_strata(n: int, n_rows: int) -> int:
    """Return how many strata suit `n` rows to check out of `n_rows`."""
    wanted = int(np.clip(round(n / ROWS_PER_STRATUM), FEWEST_STRATA, MOST_STRATA))
    # With fewer rows than that a stratum could not have its least number of rows.
    return max(1, min(wanted, n // LEAST_DRAWN, n_rows // LEAST_DRAWN))


def cut_strata(guess: NDArray[np.float64], n_strata: int) -> NDArray[np.intp]:
    r"""Return sizes of strata with equal sums of :math:`\sqrt{p (1 - p)}`.

    `guess` holds the probabilities of the rows, the highest-scored first. With such strata the
    allocation draws about as many rows from each, and strata are small where answers vary.
    """
    reached = np.cumsum(np.sqrt(guess * (1 - guess)))
    ends = np.searchsorted(reached, reached[-1] * np.arange(1, n_strata) / n_strata)
    # At least one row in each, whatever the guess is.
    ends = np.maximum(ends, np.arange(1, n_strata))
    ends = np.minimum(ends, len(guess) - n_strata + np.arange(1, n_strata))
    return np.diff(np.concatenate([[0], ends, [len(guess)]]))


def _guess_spread(
    guess: NDArray[np.float64],
    strata: NDArray[np.intp],
    n_strata: int,
    earlier: Sequence[Review],
    verdicts: Sequence[ArrayLike],
) -> NDArray[np.float64]:
    """Return the standard deviation of an answer in each stratum, by verdicts if there are any."""
    share = np.bincount(strata, guess, n_strata) / np.bincount(strata, minlength=n_strata)
    if len(verdicts):
        words = np.concatenate([check_verdicts(own) for own in verdicts])
        of_round = np.concatenate([one.strata for one in earlier])
        is_answered = words != ""
        n_answers = np.bincount(of_round[is_answered], minlength=n_strata)
        n_yes = np.bincount(of_round[words == YES], minlength=n_strata)
        # The guess counts as two answers.
        share = (n_yes + 2 * share) / (n_answers + 2)
    return np.sqrt(share * (1 - share))


def allocate_rows(
    sizes: NDArray[np.intp],
    spread: NDArray[np.float64],
    n: int,
    free: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    r"""Return how many rows to draw from each stratum: :math:`n_h \propto N_h S_h` (Neyman).

    Parameters
    ----------
    sizes : ndarray of shape (n_strata,)
        Rows of each stratum, N_h.
    spread : ndarray of shape (n_strata,)
        Standard deviation of an answer in each, S_h.
    n : int
        Rows to draw in all.
    free : ndarray of shape (n_strata,), optional
        Rows of each that can be drawn; by default all.

    Returns
    -------
    ndarray of shape (n_strata,)
        At least 3 each, if there are as many, and never more than there are.

    Examples
    --------
    >>> import numpy as np
    >>> from mixpul.assess.strata import allocate_rows
    >>> allocate_rows(np.array([100, 300, 600]), np.array([0.3, 0.5, 0.1]), 60)
    array([ 8, 37, 15])
    """
    most = sizes if free is None else free
    n = min(n, int(most.sum()))
    least = np.minimum(LEAST_DRAWN, most)
    drawn = least.copy() if least.sum() <= n else np.zeros_like(least)
    need = sizes * np.maximum(spread, 1e-9)
    for _ in range(n - int(drawn.sum())):
        # Each row goes where it lowers the variance most: Neyman's rule in whole rows.
        gain = np.where(drawn < most, need / np.sqrt(np.maximum(drawn, 0.1) * (drawn + 1)), -1.0)
        drawn[int(gain.argmax())] += 1
    return drawn


def _draw_places(
    strata: NDArray[np.intp],
    is_free: NDArray[np.bool_],
    drawn: NDArray[np.intp],
    random: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw places from each stratum, and mix the strata so that each is spread over the queue."""
    places, keys = [], []
    for h, n_rows in enumerate(drawn):
        free = np.flatnonzero(is_free & (strata == h))
        places.append(random.choice(free, n_rows, replace=False))
        # Row j of n_h comes at about j / n_h of the queue: a queue that is not answered to its
        # end is still a draw from all strata.
        keys.append((np.arange(n_rows) + random.random()) / max(n_rows, 1))
    return np.concatenate(places)[np.argsort(np.concatenate(keys), kind="stable")]
