"""Supervised baseline: boosted trees that take unlabeled rows for negatives."""

from numbers import Integral
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score

from mixpul._util.arrays import dense_blocks, flatten_rows
from mixpul._util.progress import progress_bar
from mixpul._util.random import RandomStateLike, as_generator, draw_seed, hold_out
from mixpul._util.schema import ListOf, MapOf, Number, Spec
from mixpul._util.validation import Interval, StrOptions
from mixpul.base import PUClassifier
from mixpul.methods._lightgbm import drop_tiny, read_trees
from mixpul.methods._trees import (
    Trees,
    check_trees,
    describe_trees,
    make_predictor,
    sum_trees,
)

__all__ = ["SupervisedClassifier"]

# LightGBM's default for the fewest rows in a leaf.
MIN_ROWS = 20
# With fewer positives in each half of the search no trial can be judged.
LEAST_POSITIVES = 100


class SupervisedClassifier(PUClassifier):
    """Gradient-boosted trees that take unlabeled rows for negatives ("Supervised").

    LightGBM with settings found by a search with tree-structured Parzen estimators (hyperopt), as
    in the code that the authors of MixPUL published: each trial learns from one half of the rows
    and is judged by the PU-AUC on the other; the best settings then learn from nine tenths of the
    rows and stop by the last tenth. Needs ``pip install 'mixpul[supervised]'``.

    Scores are log odds of being labeled, so with few labels few rows are predicted positive: this
    is a baseline for ranking. With few positives LightGBM's own limits on the size of leaves, kept
    by ``min_leaf='default'``, can forbid every split, and then all rows get the same score; so can
    a penalty `reg_alpha` above the number of positives, which is part of the search.

    Parameters
    ----------
    n_evals : int, default=20
        Trials of the search.
    min_leaf : {'default', 'scaled'}, default='default'
        'default' needs 20 rows in a leaf, and the sum of their p (1 - p) to be at least a number
        from 0.5 to 10 that is searched for. 'scaled' needs as many rows as a tenth of the
        positives, at most 20, and multiplies that number by 4 s (1 - s), where s is the
        share of labeled rows, so that it asks for as many rows as it would with balanced classes.
    n_rounds : int, default=500
        Most trees of the classifier; trials grow at most 300.
    patience : int, default=30
        Trees without progress on the rows left out after which boosting stops.
    max_rows : int, default=30000
        Most rows the search looks at. Where a share of the rows would hold fewer than 100
        positives, all positives are among them.
    pos_label : label or None, default=None
        The label of labeled positives; by default the larger one.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        1 shows a progress bar over trials.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The label of unlabeled rows, then that of positives.
    params_ : dict
        Settings of LightGBM that the search found.
    trials_ : list of float
        PU-AUC of each trial on the rows it left out.
    tree_roots_ : ndarray of shape (n_trees,)
        The first node of each tree in the arrays below.
    tree_children_ : ndarray of shape (n_nodes, 2)
        The next node if a value is up to the threshold, and if it is above; a leaf is its own.
    tree_feature_ : ndarray of shape (n_nodes,)
    tree_threshold_ : ndarray of shape (n_nodes,)
    tree_value_ : ndarray of shape (n_nodes,)
        What a tree adds to the score.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X is a data frame

    Examples
    --------
    >>> from mixpul import datasets
    >>> from mixpul import SupervisedClassifier
    >>> X, y = datasets.load("titanic", return_X_y=True)
    >>> pu = datasets.make_pu(X, y, c=0.2, random_state=0)
    >>> model = SupervisedClassifier(n_evals=2, n_rounds=20, random_state=0).fit(pu.X, pu.s)
    >>> len(model.trials_)
    2
    """

    _parameter_constraints: dict = {
        "n_evals": [Interval(Integral, 1, None, closed="left")],
        "min_leaf": [StrOptions({"default", "scaled"})],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, 4, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    params_: dict[str, Any]
    trials_: list[float]

    def __init__(
        self,
        *,
        n_evals: int = 20,
        min_leaf: str = "default",
        n_rounds: int = 500,
        patience: int = 30,
        max_rows: int = 30000,
        pos_label: Any = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_evals = n_evals
        self.min_leaf = min_leaf
        self.n_rounds = n_rounds
        self.patience = patience
        self.max_rows = max_rows
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    # It takes every row without a label for a negative, verified ones among them.
    _uses_negatives = True
    _uses_weights = True

    def _fit(self, X: Any, is_positive: NDArray[np.bool_]) -> None:
        lightgbm, hyperopt = _import_optional("lightgbm"), _import_optional("hyperopt")
        random = as_generator(self.random_state)
        X = _as_matrix(X)
        self.params_, self.trials_ = {}, []
        if min(is_positive.sum(), (~is_positive).sum()) >= 2:
            self._search(X, is_positive, lightgbm, hyperopt, random)
        seen, held_out = _split(is_positive, 0.1, random)
        params = self._make_settings(self.params_, is_positive, random)
        data = (X, is_positive, self._weights)
        booster = self._boost(lightgbm, data, seen, held_out, params, self.n_rounds)
        trees = read_trees(booster.model_to_string(num_iteration=booster.best_iteration))
        self._set_trees(trees)

    def _set_trees(self, trees: Trees) -> None:
        for name, array in trees._asdict().items():
            setattr(self, f"tree_{name}_", array)

    def _get_trees(self) -> Trees:
        return Trees(*(getattr(self, name) for name in self._list_needed()))

    def _list_needed(self) -> tuple[str, ...]:
        return tuple(f"tree_{name}_" for name in Trees._fields)

    def _describe_learned(self) -> dict[str, Spec]:
        return super()._describe_learned() | {
            **describe_trees(),
            "params_": MapOf(Number()),
            "trials_": ListOf(Number(0, 1)),
        }

    def _check_learned(self) -> None:
        # Earlier files have LightGBM's text, which is read here and never given to its own parser.
        if hasattr(self, "model_text_"):
            self._set_trees(read_trees(self.model_text_))
            del self.model_text_
        super()._check_learned()
        check_trees(self._get_trees(), int(np.prod(self._row_shape)))

    def _scores(self, X: Any) -> NDArray[np.float32]:
        predict = make_predictor(self._get_trees(), int(np.prod(self._row_shape)))
        blocks = (drop_tiny(rows.astype(np.float32)) for _, rows in dense_blocks(X))
        return np.concatenate([sum_trees(predict, rows) for rows in blocks]).astype(np.float32)

    def _search(
        self,
        X: Any,
        is_positive: NDArray[np.bool_],
        lightgbm: ModuleType,
        hyperopt: ModuleType,
        random: np.random.Generator,
    ) -> None:
        rows = np.arange(len(is_positive))
        if len(rows) > self.max_rows:
            rows = self._draw_rows(is_positive, random)
        X, is_positive = X[rows], is_positive[rows]
        weights = None if self._weights is None else self._weights[rows]
        data = (X, is_positive, weights)
        # Half and half: with few positives a smaller part could not tell settings apart.
        seen, held_out = _split(is_positive, 0.5, random)
        fixed = self._make_settings({}, is_positive, random)

        def lost(choice: dict[str, Any]) -> float:
            params = fixed | self._scale_leaf_weight(choice, is_positive)
            booster = self._boost(lightgbm, data, seen, held_out, params, n_rounds=300)
            scores, own = booster.predict(X[held_out]), _take(weights, held_out)
            auc = roc_auc_score(is_positive[held_out], scores, sample_weight=own)
            self.trials_.append(float(auc))
            show({"pu_auc": max(self.trials_)})
            return -float(auc)

        space = _make_search_space(hyperopt.hp)
        with progress_bar(self.n_evals, "Supervised", self.verbose, "trials") as show:
            best = hyperopt.fmin(
                lost,
                space,
                algo=hyperopt.tpe.suggest,
                max_evals=self.n_evals,
                rstate=np.random.default_rng(draw_seed(random)),
                show_progressbar=False,
                verbose=False,
            )
        found = hyperopt.space_eval(space, best)
        self.params_ = {name: float(value) for name, value in found.items()}
        # LightGBM wants whole numbers here.
        for name in ("max_depth", "num_leaves", "bagging_freq"):
            self.params_[name] = int(self.params_[name])

    def _draw_rows(
        self, is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> NDArray[np.intp]:
        """Draw the rows that the search looks at: `max_rows`, in the shares of all rows.

        Where that would leave few positives or none, every one of them is kept, up to half.
        """
        rows, _ = _split(is_positive, 1 - self.max_rows / len(is_positive), random)
        if is_positive[rows].sum() >= LEAST_POSITIVES:
            return rows
        positive, others = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
        n_kept = min(len(positive), self.max_rows // 2)
        positive = random.choice(positive, n_kept, replace=False)
        n_others = min(len(others), self.max_rows - n_kept)
        return np.sort(np.concatenate([positive, random.choice(others, n_others, replace=False)]))

    def _make_settings(
        self, found: dict[str, Any], is_positive: NDArray[np.bool_], random: np.random.Generator
    ) -> dict[str, Any]:
        """Return what is not searched for, with what was found on top."""
        n_positive = int(is_positive.sum())
        scaled = int(np.clip(n_positive // 10, 1, MIN_ROWS))
        return {
            "objective": "binary",
            "metric": "auc",
            "min_child_samples": scaled if self.min_leaf == "scaled" else MIN_ROWS,
            # The same seed gives the same trees; with several threads sums would come in any order.
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
            "seed": draw_seed(random),
            "verbosity": -1,
        } | self._scale_leaf_weight(found, is_positive)

    def _scale_leaf_weight(
        self, found: dict[str, Any], is_positive: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Return the settings found, with the least weight of a leaf as `min_leaf` wants it."""
        if self.min_leaf == "default" or "min_child_weight" not in found:
            return found
        share = is_positive.mean()
        return found | {"min_child_weight": found["min_child_weight"] * 4 * share * (1 - share)}

    def _boost(
        self,
        lightgbm: ModuleType,
        data: tuple[Any, NDArray[np.bool_], NDArray[np.float64] | None],
        seen: NDArray[np.intp],
        held_out: NDArray[np.intp],
        params: dict[str, Any],
        n_rounds: int,
    ) -> Any:
        X, is_positive, weights = data
        label = is_positive.astype(float)
        train = lightgbm.Dataset(X[seen], label=label[seen], weight=_take(weights, seen))
        if not len(held_out):
            return lightgbm.train(params, train, num_boost_round=n_rounds)
        test = lightgbm.Dataset(
            X[held_out], label=label[held_out], weight=_take(weights, held_out), reference=train
        )
        stop = lightgbm.early_stopping(self.patience, verbose=False)
        return lightgbm.train(
            params, train, num_boost_round=n_rounds, valid_sets=[test], callbacks=[stop]
        )


def _take(weights: NDArray[np.float64] | None, rows: NDArray[np.intp]) -> NDArray | None:
    return None if weights is None else weights[rows]


def _make_search_space(hp: Any) -> dict[str, Any]:
    """Return the space that the authors of MixPUL searched."""
    shares = [round(0.1 * k, 1) for k in range(5, 11)]
    return {
        "learning_rate": hp.uniform("learning_rate", 0.01, 0.05),
        "max_depth": hp.choice("max_depth", [-1, 2, 3, 4, 5, 6]),
        "num_leaves": hp.choice("num_leaves", np.linspace(10, 200, 50).astype(int).tolist()),
        "feature_fraction": hp.choice("feature_fraction", shares),
        "bagging_fraction": hp.choice("bagging_fraction", shares),
        "bagging_freq": hp.choice("bagging_freq", np.linspace(0, 50, 10).astype(int).tolist()),
        "reg_alpha": hp.uniform("reg_alpha", 0, 30),
        "reg_lambda": hp.uniform("reg_lambda", 0, 30),
        "min_child_weight": hp.uniform("min_child_weight", 0.5, 10),
    }


def _import_optional(name: str) -> ModuleType:
    """Import a package of the extra `supervised`."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"SupervisedClassifier needs {name}: pip install 'mixpul[supervised]'."
        ) from error


def _as_matrix(X: Any) -> Any:
    """Return rows as LightGBM takes them: flat, or a CSR matrix."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else flatten_rows(X)


def _split(
    is_positive: NDArray[np.bool_], fraction: float, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows seen and rows held out, both kinds in both; none held out if that cannot be."""
    held_out = hold_out(is_positive, fraction, random)
    return np.setdiff1d(np.arange(len(is_positive)), held_out), held_out
