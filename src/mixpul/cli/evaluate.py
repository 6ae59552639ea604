"""`mixpul evaluate`: judge a model on a table it has not seen."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table

from mixpul.cli._messages import (
    format_auc,
    format_interval,
    format_prior,
    print_json,
    say,
    speak_warnings,
)
from mixpul.cli.options import (
    FilledLabel,
    JsonOption,
    KnownPrior,
    LabelOptions,
    ModelArgument,
    Reading,
    SeedOption,
    TableArgument,
    ThresholdOption,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mixpul.tables.labels import Label

__all__ = ["evaluate"]

TITLES = {
    "pu_auc": "PU-AUC",
    "corrected_auc": "AUC against negatives",
    "recall": "recall",
    "flagged_share": "flagged share",
    "lee_liu": "Lee-Liu score",
    "precision": "precision",
    "f1": "F1",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "matthews_corrcoef": "Matthews correlation",
    "false_positive_rate": "false positive rate",
    "zero_one_risk": "error rate",
}


class TruthOptions(NamedTuple):
    """The column of the true classes, where they are known."""

    truth: Annotated[
        str | None,
        typer.Option(
            help="Column of the true classes, to compare with; empty where the truth is not known."
        ),
    ] = None
    truth_positive: Annotated[str | None, typer.Option(help="Its value that means positive.")] = (
        None
    )


def evaluate(
    model: ModelArgument,
    table: TableArgument,
    *,
    labels: LabelOptions,
    truth: TruthOptions,
    reading: Reading,
    known: KnownPrior,
    threshold: ThresholdOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Judge a model on a table it has not seen, without negatives or with known true classes.

    With --truth alone the table needs no PU labels: it is an ordinary test table.

    Example: [bold]mixpul evaluate model.mixpul later.csv --label bought --truth interested[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul._util.json_values import to_plain
    from mixpul.cli._inputs import load_table_model
    from mixpul.cli._thresholds import find_threshold

    pipeline, info = load_table_model(model)
    used_threshold = find_threshold(0.5 if threshold is None else threshold, info)
    with speak_warnings() as spoken:
        style = reading.fill_from(info.get("reading", {}))
        if _is_plain(table, labels, truth, info, style):
            frame, answers = _read_plain(table, pipeline[0].kinds_, truth, style)
            logits = pipeline.decision_function(frame)
            content = _report_plain(answers, logits, used_threshold)
        else:
            label = labels.fill_from(info)
            data, known_answers = _read(table, pipeline[0].kinds_, label, truth, style)
            logits = pipeline.decision_function(data.X)
            content = _report(data.is_positive, logits, used_threshold, known, seed)
            if known_answers is not None:
                content["truth"] = _measure_truth(
                    known_answers, data.is_positive, logits, used_threshold
                )
                _warn_of_contradictions(known_answers, data.is_positive)
        if not _warn_of_known_table(table, info):
            _warn_of_known_rows(content, info)
    content["warnings"] = spoken
    if as_json:
        print_json(to_plain(content))
    else:
        _show(to_plain(content))


# -- reading --------------------------------------------------------------------------------


class Truth(NamedTuple):
    """The true classes, as far as they are known."""

    is_true: "NDArray[np.bool_]"
    is_known: "NDArray[np.bool_]"


def _read(
    table: str,
    kinds: Mapping[str, str],
    label: FilledLabel,
    truth: TruthOptions,
    style: Reading,
) -> "tuple[Label, Truth | None]":
    """Read the columns of the model, its label and the truth, if there is one."""
    from mixpul.tables import read_table, split_label
    from mixpul.tables.labels import means

    kinds = {**kinds, label.column: label.kind}
    if truth.truth is not None:
        # As text, so that it can be compared with what --truth-positive says.
        kinds[truth.truth] = "text"
    frame = read_table(table, kinds=kinds, **style.to_arguments())
    if label.negative is not None:
        # Neither positive nor unlabeled: figures of both kinds leave them out.
        is_kept = [not means(value, label.negative) for value in frame[label.column]]
        frame = frame[is_kept].reset_index(drop=True)
    data = split_label(
        frame,
        label.column,
        positive=label.positive,
        missing_is_unlabeled=label.missing_is_unlabeled,
    )
    if truth.truth is None:
        return data, None
    return data, _split_truth(frame[truth.truth], truth)


def _is_plain(
    table: str,
    labels: LabelOptions,
    truth: TruthOptions,
    info: Mapping[str, Any],
    style: Reading,
) -> bool:
    """Whether the table is an ordinary test table: its truth is named, and it has no PU labels."""
    from mixpul.tables import stream_table
    from mixpul.tables.opening import is_stream

    if truth.truth is None or labels.label is not None:
        return False
    of_fit = info.get("label")
    # Who calls the label column of the fit the truth says that it is known of every row.
    if of_fit is None or of_fit == truth.truth:
        return True
    if is_stream(table):  # which cannot be looked at twice
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they come again below
        return of_fit not in next(stream_table(table, **style.to_arguments())).schema.names


def _read_plain(
    table: str, kinds: Mapping[str, str], truth: TruthOptions, style: Reading
) -> "tuple[Any, Truth]":
    """Read the columns of the model and the truth."""
    from mixpul.tables import read_table

    kinds = {**kinds, str(truth.truth): "text"}
    frame = read_table(table, kinds=kinds, **style.to_arguments())
    return frame, _split_truth(frame[truth.truth], truth)


def _split_truth(column: Any, options: TruthOptions) -> Truth:
    from mixpul.tables.labels import find_positive

    is_known = column.notna().to_numpy()
    values = list(column[is_known].unique())
    where = f"The truth column {options.truth!r}"
    if not values or (len(values) > 2 and options.truth_positive is None):
        raise ValueError(
            f"{where} has {len(values)} values; two were expected, one of them for positives, and "
            "gaps where the truth is not known. Of more values name the positive one with "
            "--truth-positive."
        )
    value = find_positive(where, values, options.truth_positive, "--truth-positive")
    # A comparison with pandas' NA is NA, which has no place in a mask.
    return Truth((column == value).fillna(False).to_numpy(dtype=bool), is_known)


# -- judging --------------------------------------------------------------------------------


def _report(
    is_positive: "NDArray[np.bool_]",
    logits: "NDArray[np.float32]",
    threshold: float,
    known: KnownPrior,
    seed: int,
) -> dict[str, Any]:
    """Return metrics that need no negatives; those that rest on an unknown prior are bounds."""
    import numpy as np
    from scipy.special import expit

    from mixpul.assess.priors import estimate_priors
    from mixpul.metrics import pu_report

    prior = estimate_priors(logits.astype(np.float64), is_positive, **known._asdict())
    is_known = prior["source"] != "estimated"
    content = pu_report(
        is_positive,
        expit(logits),
        threshold=threshold,
        prior=prior["value"] if is_known else None,
        prior_se=_find_error(prior),
        random_state=seed,
    )
    del content["prior_se"]
    content["prior"] = prior
    metrics = content["metrics"] | _bound_metrics(content)
    content["metrics"] = {name: metrics[name] for name in TITLES if name in metrics}
    for sentence in content["warnings"]:
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return content


def _report_plain(truth: Truth, logits: "NDArray[np.float32]", threshold: float) -> dict[str, Any]:
    """Return ordinary metrics of the rows whose truth is known."""
    import numpy as np

    return {
        "n_rows": len(logits),
        "threshold": threshold,
        "truth": _measure_truth(truth, np.zeros(len(logits), dtype=bool), logits, threshold),
    }


def _find_error(prior: Mapping[str, Any]) -> float:
    """Return the standard error of a class prior whose 95 % interval was given; else 0."""
    if prior["low"] is None:
        return 0.0
    spread = (prior["high"] - prior["low"]) / (2 * 1.96)
    # A share cannot vary more than that.
    return float(min(spread, 0.99 * (prior["value"] * (1 - prior["value"])) ** 0.5))


def _bound_metrics(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what rests on the class prior, as the page of the fit has it."""
    import numpy as np

    from mixpul.assess.figures import bound_auc, bound_f1, bound_precision
    from mixpul.metrics import Estimate

    found = content["metrics"]
    shares = (np.array([found[name]["value"]]) for name in ("recall", "flagged_share"))
    n_rows = (content["n_positive"], content["n_unlabeled"])
    rates = (content["prior"], *shares, *n_rows)
    curves = {"precision": bound_precision(*rates), "f1": bound_f1(*rates)}
    auc = bound_auc(content["prior"], Estimate(**found["pu_auc"]), *n_rows)
    return {"corrected_auc": auc} | {
        name: {part: own if part == "kind" else own[0] for part, own in curve.items()}
        for name, curve in curves.items()
    }


def _measure_truth(
    truth: Truth,
    is_positive: "NDArray[np.bool_]",
    logits: "NDArray[np.float32]",
    threshold: float,
) -> dict[str, Any]:
    """Return metrics of the unlabeled rows whose truth is known, named as those from PU labels.

    None where they are not defined: there is no recall without positives.
    """
    from scipy.special import expit
    from sklearn import metrics

    # Labeled rows are left out: precision and prior from PU labels concern unlabeled rows.
    is_judged = truth.is_known & ~is_positive
    scores, is_true = expit(logits[is_judged]), truth.is_true[is_judged]
    is_flagged = scores > threshold
    n_rows, n_true = len(is_true), int(is_true.sum())
    found: dict[str, Any] = {name: None for name in TITLES if name not in ("pu_auc", "lee_liu")}
    found |= {"n_rows": n_rows, "n_positive": n_true, "prior": None}
    found["n_unknown"] = int((~truth.is_known & ~is_positive).sum())
    if n_rows:
        found |= {
            "flagged_share": is_flagged.mean(),
            "accuracy": metrics.accuracy_score(is_true, is_flagged),
            "zero_one_risk": metrics.zero_one_loss(is_true, is_flagged),
            "prior": is_true.mean(),
        }
    if is_flagged.any():
        found["precision"] = is_true[is_flagged].mean()
    if n_true:
        found["recall"] = is_flagged[is_true].mean()
        found["f1"] = metrics.f1_score(is_true, is_flagged)
    if 0 < n_true < n_rows:
        found |= {
            "corrected_auc": metrics.roc_auc_score(is_true, scores),
            "balanced_accuracy": metrics.balanced_accuracy_score(is_true, is_flagged),
            "matthews_corrcoef": metrics.matthews_corrcoef(is_true, is_flagged),
            "false_positive_rate": is_flagged[~is_true].mean(),
        }
    return found


def _warn_of_contradictions(truth: Truth, is_positive: "NDArray[np.bool_]") -> None:
    if n_wrong := int((is_positive & truth.is_known & ~truth.is_true).sum()):
        warnings.warn(
            f"{n_wrong:,} of the labeled positives are negative by the truth.",
            UserWarning,
            stacklevel=2,
        )


def _warn_of_known_table(table: str, info: Mapping[str, Any]) -> bool:
    from mixpul.cli._inputs import digest_table

    is_known = bool(info.get("fingerprint")) and info["fingerprint"] == digest_table(table)
    if is_known:
        warnings.warn(
            "The model was fitted on this very table, so these numbers flatter it; "
            "those of `mixpul inspect` are out of fold.",
            UserWarning,
            stacklevel=2,
        )
    return is_known


def _warn_of_known_rows(content: Mapping[str, Any], info: Mapping[str, Any]) -> None:
    """Say it if labeled rows rank better than the fit leads to expect: it may have seen them.

    The file of a table tells nothing of its rows once it was saved anew, cut or joined.
    """
    from mixpul.cli._noted import is_noted_by_fit

    if "metrics" not in content or not is_noted_by_fit(info):
        return
    here, of_fit = content["metrics"]["pu_auc"], info["assessment"]["pu_auc"]
    if None not in (here["low"], of_fit["high"]) and here["low"] > of_fit["high"]:
        warnings.warn(
            f"The labeled positives rank far better here (PU-AUC {here['value']:.3f}) than out of "
            f"fold when the model was fitted ({of_fit['value']:.3f}). If rows of that fit are in "
            "this table, the numbers flatter the model.",
            UserWarning,
            stacklevel=2,
        )


# -- showing --------------------------------------------------------------------------------


def _show_plain(content: Mapping[str, Any]) -> None:
    truth = content["truth"]
    say(
        f"{truth['n_rows']:,} rows whose truth is known, {truth['n_positive']:,} of them positive; "
        f"threshold {content['threshold']:.4g}"
    )
    if truth["n_unknown"]:
        say(f"The truth of {truth['n_unknown']:,} rows is missing; they are left out.")
    shown = Table()
    shown.add_column("")
    shown.add_column("from the truth", justify="right")
    for name, title in TITLES.items():
        if truth.get(name) is not None:
            shown.add_row(title, f"{truth[name]:.3f}")
    say(shown)


def _show(content: Mapping[str, Any]) -> None:
    truth = content.get("truth")
    if "metrics" not in content:
        _show_plain(content)
        return
    say(
        f"{content['n_positive']:,} labeled positives, {content['n_unlabeled']:,} unlabeled rows; "
        f"threshold {content['threshold']:.4g}"
    )
    say(f"Positives among the unlabeled rows: {format_prior(content['prior'])}")
    if truth is not None and truth["n_rows"]:
        say(
            f"The truth is known of {truth['n_rows']:,} of the unlabeled rows: a share of "
            f"{truth['prior']:.3g} is positive"
        )
    if truth is not None and truth["n_unknown"]:
        say(f"The truth of {truth['n_unknown']:,} unlabeled rows is missing; they are left out.")
    shown = Table()
    shown.add_column("")
    shown.add_column("from PU labels (95 %)", justify="right")
    if truth is not None:
        shown.add_column("from the truth", justify="right")
    for name, estimate in content["metrics"].items():
        cells = [TITLES[name], _format_metric(name, estimate)]
        if truth is not None:
            value = truth.get(name)
            cells.append("" if value is None else f"{value:.3f}")
        shown.add_row(*cells)
    say(shown)
    if content["prior"]["source"] == "estimated":
        say("With --prior there are estimates instead of bounds, and more metrics.")


def _format_metric(name: str, estimate: Mapping[str, Any]) -> str:
    if name == "corrected_auc":
        return format_auc(estimate)
    if estimate.get("kind") == "at most":
        return "-" if estimate["value"] is None else f"at most {estimate['value']:.3f}"
    return format_interval(estimate)
