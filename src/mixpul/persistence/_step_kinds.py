"""The steps of scikit-learn that a file may name: what each has learned, and when that adds up.

A check returns how many columns the step hands on. It is made when a step is saved and again when
it is loaded, so whatever `save` writes can be read, and a forged file cannot make a step read
beyond its arrays, run for ages or ask for more memory than its rows do.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import decomposition, feature_selection, impute, preprocessing
from sklearn.base import BaseEstimator

from mixpul.persistence._step_categories import (
    check_bins,
    check_one_hot,
    check_ordinal,
    derive_bins,
    derive_one_hot,
    derive_ordinal,
)
from mixpul.persistence._step_checks import (
    check_array,
    check_count,
    check_indices,
    check_optional,
    check_width,
)

__all__ = ["KINDS", "Kind"]

# Higher ones are nobody's, and a loop runs over them.
HIGHEST_DEGREE = 100


class Kind(NamedTuple):
    """A class of steps, the attributes to store, and what checks them."""

    cls: type[BaseEstimator]
    learned: tuple[str, ...]
    # The step and its number of columns in; the number of columns out.
    check: Callable[[Any, int], int]
    # What follows from the other attributes, and is set after they were checked.
    derive: Callable[[Any], None] = lambda step: None


# -- scalers ----------------------------------------------------------------------------------


def _check_standard_scaler(step: Any, n: int) -> int:
    needed = {"mean_": step.with_mean, "scale_": step.with_std}
    for name, is_needed in needed.items():
        if is_needed:
            check_array(step, name, (n,), with_gaps=True)
    for name in ("mean_", "var_", "scale_"):
        check_optional(step, name, n)
    seen = step.n_samples_seen_
    if isinstance(seen, np.ndarray):
        check_array(step, "n_samples_seen_", (n,), kinds="iuf")
    elif isinstance(seen, bool) or not isinstance(seen, int | float) or not math.isfinite(seen):
        raise ValueError("its n_samples_seen_ is not a number.")
    return n


def _check_min_max_scaler(step: Any, n: int) -> int:
    for name in ("min_", "scale_", "data_min_", "data_max_", "data_range_"):
        check_array(step, name, (n,), with_gaps=True)
    low, high = step.feature_range
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("its feature_range is not finite.")
    check_count(step.n_samples_seen_, "n_samples_seen_")
    return n


def _check_max_abs_scaler(step: Any, n: int) -> int:
    for name in ("max_abs_", "scale_"):
        check_array(step, name, (n,), with_gaps=True)
    check_count(step.n_samples_seen_, "n_samples_seen_")
    return n


def _check_robust_scaler(step: Any, n: int) -> int:
    for name, is_needed in {"center_": step.with_centering, "scale_": step.with_scaling}.items():
        if is_needed:
            check_array(step, name, (n,), with_gaps=True)
        else:
            check_optional(step, name, n)
    return n


def _check_nothing(step: Any, n: int) -> int:
    return n


def _check_function(step: Any, n: int) -> int:
    for name in ("kw_args", "inv_kw_args"):
        if getattr(step, name):
            raise ValueError(f"its {name} cannot be stored.")
    if not (step.feature_names_out is None or step.feature_names_out == "one-to-one"):
        raise ValueError("its feature_names_out cannot be stored.")
    for function in (step.func, step.inverse_func):
        if function is not None and not isinstance(function, np.ufunc):
            raise ValueError("its function does not map numbers to numbers.")
    return n


def _check_quantiles(step: Any, n: int) -> int:
    q = check_count(step.n_quantiles_, "n_quantiles_", least=1)
    check_array(step, "quantiles_", (q, n), with_gaps=True)
    check_array(step, "references_", (q,))
    return n


def _check_power(step: Any, n: int) -> int:
    check_array(step, "lambdas_", (n,), with_gaps=True)
    if step.standardize:
        scaler: Any = getattr(step, "_scaler", None)
        if type(scaler) is not preprocessing.StandardScaler or scaler.n_features_in_ != n:
            raise ValueError("its scaler is not one of its columns.")
    return n


# -- gaps -------------------------------------------------------------------------------------


def _check_imputer(step: Any, n: int) -> int:
    statistics = step.statistics_
    if not isinstance(statistics, np.ndarray) or statistics.shape != (n,):
        raise ValueError("its statistics_ are not those of its columns.")
    if statistics.dtype.kind not in "biufO":
        raise ValueError("its statistics_ are neither text nor numbers.")
    is_gap = [isinstance(own, float) and math.isnan(own) for own in statistics.tolist()]
    width = n if step.keep_empty_features else n - sum(is_gap)
    for name in ("_fit_dtype", "_fill_dtype"):
        if not isinstance(getattr(step, name, np.dtype(float)), np.dtype):
            raise ValueError("the type of its values is not one.")
    if (step.indicator_ is None) == bool(step.add_indicator):
        raise ValueError("its indicator_ does not fit add_indicator.")
    if step.indicator_ is None:
        return width
    if type(step.indicator_) is not impute.MissingIndicator or not step.indicator_._precomputed:
        raise ValueError("its indicator_ is not one.")
    if step.indicator_.n_features_in_ != n:
        raise ValueError("its indicator_ is one of other columns.")
    return width + _check_indicator(step.indicator_, n)


def _check_indicator(step: Any, n: int) -> int:
    places = check_indices(step.features_, "features_", n)
    if not isinstance(step._precomputed, bool):
        raise ValueError("its _precomputed is not true or false.")
    return len(places) if step.features == "missing-only" else n


def _derive_indicator(step: Any) -> None:
    step._n_features = step.n_features_in_


# -- columns into others ----------------------------------------------------------------------


def _check_polynomial(step: Any, n: int) -> int:
    degrees = step.degree if isinstance(step.degree, list | tuple) else (0, step.degree)
    if len(degrees) != 2 or not 0 <= degrees[0] <= degrees[1] <= HIGHEST_DEGREE:
        raise ValueError(f"its degree is above {HIGHEST_DEGREE}.")
    # Lower degrees are computed, too, and left out.
    check_width(_count_terms(step, n, 0, degrees[1]))
    return check_width(_count_terms(step, n, *degrees))


def _count_terms(step: Any, n: int, lowest: int, highest: int) -> int:
    if step.interaction_only:
        terms = sum(math.comb(n, d) for d in range(max(lowest, 1), min(highest, n) + 1))
    else:
        below = math.comb(n + lowest - 1, lowest - 1) if lowest > 0 else 1
        terms = math.comb(n + highest, highest) - below
    return terms + bool(step.include_bias)


def _derive_polynomial(step: Any) -> None:
    degrees = step.degree if isinstance(step.degree, list | tuple) else (0, step.degree)
    step._min_degree, step._max_degree = degrees
    step.n_output_features_ = _count_terms(step, step.n_features_in_, *degrees)
    step._n_out_full = _count_terms(step, step.n_features_in_, 0, degrees[1])


def _check_pca(step: Any, n: int) -> int:
    k = check_count(step.n_components_, "n_components_", least=1)
    check_array(step, "components_", (k, n))
    check_array(step, "mean_", (n,))
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        # The share of a variance of zero is not a number.
        check_array(step, name, (k,), with_gaps=name == "explained_variance_ratio_")
    return check_width(k)


def _check_svd(step: Any, n: int) -> int:
    k = len(np.atleast_2d(step.components_))
    check_array(step, "components_", (k, n))
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        check_array(step, name, (k,), with_gaps=True)
    return check_width(k)


def _check_variances(step: Any, n: int) -> int:
    check_array(step, "variances_", (n,), with_gaps=True)
    return int(step.get_support().sum())


def _check_selection(step: Any, n: int) -> int:
    for name in ("scores_", "pvalues_"):
        own = getattr(step, name)
        # Infinite where a column tells the labels apart by itself.
        if (own is None and name == "pvalues_") or (
            isinstance(own, np.ndarray) and own.dtype.kind == "f" and own.shape == (n,)
        ):
            continue
        raise ValueError(f"its {name} are not those of its columns.")
    return int(step.get_support().sum())


_SCALED = ("scale_", "n_samples_seen_")
_REDUCED = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
)

KINDS: dict[str, Kind] = {
    kind.cls.__name__: kind
    for kind in (
        Kind(preprocessing.StandardScaler, ("mean_", "var_", *_SCALED), _check_standard_scaler),
        Kind(
            preprocessing.MinMaxScaler,
            ("min_", "data_min_", "data_max_", "data_range_", *_SCALED),
            _check_min_max_scaler,
        ),
        Kind(preprocessing.MaxAbsScaler, ("max_abs_", *_SCALED), _check_max_abs_scaler),
        Kind(preprocessing.RobustScaler, ("center_", "scale_"), _check_robust_scaler),
        Kind(preprocessing.Normalizer, (), _check_nothing),
        Kind(preprocessing.Binarizer, (), _check_nothing),
        Kind(preprocessing.FunctionTransformer, (), _check_function),
        Kind(
            preprocessing.QuantileTransformer,
            ("n_quantiles_", "quantiles_", "references_"),
            _check_quantiles,
        ),
        Kind(preprocessing.PowerTransformer, ("lambdas_", "_scaler"), _check_power),
        Kind(
            preprocessing.OneHotEncoder,
            ("categories_", "drop_idx_", "_drop_idx_after_grouping", "_infrequent_indices"),
            check_one_hot,
            derive_one_hot,
        ),
        Kind(
            preprocessing.OrdinalEncoder,
            ("categories_", "_infrequent_indices"),
            check_ordinal,
            derive_ordinal,
        ),
        Kind(preprocessing.KBinsDiscretizer, ("bin_edges_", "n_bins_"), check_bins, derive_bins),
        Kind(preprocessing.PolynomialFeatures, (), _check_polynomial, _derive_polynomial),
        Kind(
            impute.SimpleImputer,
            ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype"),
            _check_imputer,
        ),
        Kind(
            impute.MissingIndicator,
            ("features_", "_precomputed"),
            _check_indicator,
            _derive_indicator,
        ),
        Kind(
            decomposition.PCA,
            ("mean_", "n_components_", "n_samples_", "noise_variance_", *_REDUCED),
            _check_pca,
        ),
        Kind(decomposition.TruncatedSVD, _REDUCED, _check_svd),
        Kind(feature_selection.VarianceThreshold, ("variances_",), _check_variances),
        Kind(feature_selection.SelectKBest, ("scores_", "pvalues_"), _check_selection),
        Kind(feature_selection.SelectPercentile, ("scores_", "pvalues_"), _check_selection),
    )
}
