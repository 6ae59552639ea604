"""What `mixpul fit`, `compare`, `predict`, `evaluate`, `prior` and `inspect` do."""

import ast
import errno
import hashlib
import json
import os
import shlex
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.special import expit
from sklearn.pipeline import Pipeline, make_pipeline

from mixpul import load, save
from mixpul._files import write_whole
from mixpul._progress import progress_bar
from mixpul.assess import METHODS, Assessment, assess
from mixpul.assess import compare as compare_methods
from mixpul.assess._curves import prior_estimates
from mixpul.assess._scores import plain_values
from mixpul.metrics import Estimate, pu_report
from mixpul.metrics._checks import check_prior
from mixpul.persistence import describe
from mixpul.priors import PRIORS
from mixpul.table_report import comparison_page, table_page
from mixpul.tables import (
    Label,
    TableInput,
    read_table,
    score_stream,
    split_label,
    stream_table,
    write_table,
)
from mixpul.tables._reading import check_present

__all__ = ["compare", "evaluate", "fit", "inspect", "predict", "prior"]

VERDICTS = {"good": "[green]good   [/]", "caution": "[yellow]caution[/]", "bad": "[red]bad    [/]"}
SET_OTHERWISE = {
    "random_state": "use --seed",
    "pos_label": "use --positive",
    "verbose": "progress is shown on a terminal anyway",
}
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


def fit(
    table: str,
    label: str,
    *,
    positive: str | None,
    missing_is_unlabeled: bool,
    id_column: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    categorical: Sequence[str],
    method: str,
    settings: Sequence[str],
    seed: int,
    out: Path,
    report: Path | None,
    force: bool,
    reading: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Learn from a table, judge what was learned, write the model and the page."""
    classifier = METHODS[method](**_parsed_settings(method, settings), random_state=seed)
    _check_settings(classifier)
    _check_outputs([out, *([report] if report else [])], [table], force)
    with _spoken_warnings() as spoken:
        data = _read_labeled(table, label, positive, missing_is_unlabeled, reading)
        input_ = _table_input(data, id_column, drop, keep, categorical)
        ids = None if id_column is None else data.X[id_column].tolist()
        found = assess(
            make_pipeline(input_, classifier),
            data.X,
            data.is_positive,
            ids=ids,
            random_state=seed,
            verbose=_shows_progress(),
        )
    found.warnings += [sentence for sentence in spoken if sentence not in found.warnings]
    found.data |= {
        "source": _source(table),
        "label": label,
        "positive": str(data.positive),
        "id": id_column,
        "fingerprint": _fingerprint(table),
    }
    found.made["command"] = _command()
    content = found.to_dict()
    info = _info(content, data, input_, reading, missing_is_unlabeled)
    page = table_page(content) if report else ""
    with _told_if_full(out):
        save(found.model, out, info=info)
    if report:
        with _told_if_full(report):
            write_whole(report, page.encode())
    if as_json:
        _print_json(content)
        return
    _show_assessment(found)
    _say(f"Model: {escape(str(out))}")
    if report:
        _say(f"Page: {escape(str(report))}")


def compare(
    table: str,
    label: str,
    *,
    positive: str | None,
    missing_is_unlabeled: bool,
    id_column: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    categorical: Sequence[str],
    methods: Sequence[str],
    n_folds: int,
    seed: int,
    out: Path,
    reading: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Fit methods on the same folds, rank them, recommend one."""
    names = list(METHODS) if list(methods) == ["all"] else list(methods)
    for name in names:
        _check_among(name, METHODS, "--methods")
    _check_folder(out)
    with _spoken_warnings():
        data = _read_labeled(table, label, positive, missing_is_unlabeled, reading)
        input_ = _table_input(data, id_column, drop, keep, categorical)
        try:
            with _told_if_full(out):
                found = compare_methods(
                    data.X,
                    data.is_positive,
                    names,
                    table=input_,
                    folder=out,
                    n_folds=n_folds,
                    random_state=seed,
                    verbose=_shows_progress(),
                )
        except KeyboardInterrupt:
            _note("Stopped. The same command goes on where it stopped.")
            raise
    content = found.to_dict()
    page = comparison_page(content, source=_source(table), command=_command())
    with _told_if_full(out):
        write_whole(out / "comparison.json", (json.dumps(content, indent=1) + "\n").encode())
        write_whole(out / "comparison.html", page.encode())
    if as_json:
        _print_json(content)
    else:
        leaderboard = Table(title=f"Out-of-fold PU-AUC, {found.folds} folds")
        for title in ("method", "PU-AUC (95 %)", "behind the best", "seconds"):
            leaderboard.add_column(
                title, justify="left" if title == "method" else "right", no_wrap=True
            )
        for entry in found.methods:
            leaderboard.add_row(
                entry["method"],
                _interval(entry["pu_auc"]) if entry["pu_auc"] else "failed",
                _interval(entry["behind"]) if entry["behind"] else "",
                "" if entry["seconds"] is None else f"{entry['seconds']:.1f}",
            )
        _say(leaderboard)
        for entry in found.methods:
            if entry["failure"]:
                _say(f"{entry['method']} failed: {escape(entry['failure'])}")
        _say(escape(found.text))
        _say(f"Page: {escape(str(out / 'comparison.html'))}")
        if found.recommended:
            words = ["mixpul", "fit", table, "--label", label, "--method", found.recommended]
            words += [] if id_column is None else ["--id", id_column]
            _say(escape(f"Next: {shlex.join(words)}"))
    if found.recommended is None:
        raise typer.Exit(1)


def predict(
    model: Path,
    table: str,
    *,
    out: str,
    id_column: str | None,
    threshold: str | None,
    force: bool,
    reading: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Score a table of any size, row by row."""
    if as_json and out == "-":
        raise typer.BadParameter("--json and -o - both want standard output.")
    asked = None if threshold is None else _parsed_threshold(threshold)
    if out != "-":
        _check_outputs([Path(out)], [table, str(model)], force)
    pipeline, info = _loaded(model)
    cut = None if asked is None else _cut(asked, info)
    reading = _merged_reading(info, reading)
    keep = _kept_id(table, id_column, info, reading)
    kinds = {name: "text" for name in keep} | pipeline[0].kinds_
    scored = score_stream(
        pipeline, stream_table(table, kinds=kinds, **reading), keep=keep, threshold=cut
    )
    counts = {"rows": 0, "flagged": 0}
    with _told_if_full(out):
        write_table(_counted(scored, counts), out)
    shown = 0.5 if cut is None else cut
    if as_json:
        _print_json({**counts, "threshold": shown, "output": out})
    else:
        _note(
            f"{counts['rows']:,} rows scored, {counts['flagged']:,} above {shown:.4g}"
            + ("." if out == "-" else f": {out}")
        )


def evaluate(
    model: Path,
    table: str,
    *,
    label: str | None,
    positive: str | None,
    missing_is_unlabeled: bool,
    truth: str | None,
    truth_positive: str | None,
    prior: float | None,
    threshold: str | None,
    seed: int,
    reading: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Judge a model by rows it has not seen."""
    asked = 0.5 if threshold is None else _parsed_threshold(threshold)
    if prior is not None:
        check_prior(prior)
    pipeline, info = _loaded(model)
    label = label or info.get("label")
    if label is None:
        raise typer.BadParameter("The model file names no label column; give --label.")
    cut = _cut(asked, info)
    same = label == info.get("label")
    if same and positive is None:
        positive = info.get("positive")
    kinds = pipeline[0].kinds_ | {label: _kind_of_label(info.get("positive") if same else None)}
    if truth is not None:
        kinds[truth] = "text"
    with _spoken_warnings() as spoken:
        frame = read_table(table, kinds=kinds, **_merged_reading(info, reading))
        data = split_label(
            frame, label, positive=positive, missing_is_unlabeled=missing_is_unlabeled
        )
        logits = pipeline.decision_function(data.X)
        scores, prior_se = expit(logits), 0.0
        if prior is None:
            random = np.random.default_rng(seed)
            estimates = prior_estimates(logits.astype(np.float64), data.is_positive, random)
            prior, prior_se = estimates["used"], estimates[estimates["from"]].se
        content = pu_report(
            data.is_positive,
            scores,
            threshold=cut,
            prior=prior,
            prior_se=min(prior_se, 0.99 * (prior * (1 - prior)) ** 0.5),
            random_state=seed,
        )
        if truth is not None:
            is_true = split_label(frame, truth, positive=truth_positive).is_positive
            content["truth"] = _ordinary(is_true, data.is_positive, scores, cut)
    if table != "-" and info.get("fingerprint") == _fingerprint(table):
        spoken.append(
            "The model was fitted on this very table, so these numbers flatter it; "
            "those of `mixpul inspect` are out of fold."
        )
        _note(f"warning: {spoken[-1]}")
    content["warnings"] += spoken
    if as_json:
        _print_json(plain_values(content))
        return
    _say(
        f"{content['n_positive']:,} labeled positives, {content['n_unlabeled']:,} unlabeled rows; "
        f"cut at {cut:.4g}, share of positives among the unlabeled rows {prior:.3g} ± "
        f"{prior_se:.2g}"
    )
    shown = Table()
    shown.add_column("")
    shown.add_column("from PU labels (95 %)", justify="right")
    if truth is not None:
        shown.add_column("from the truth", justify="right")
    for name, estimate in content["metrics"].items():
        cells = [TITLES[name], _interval(estimate)]
        if truth is not None:
            value = content["truth"].get(name)
            cells.append("" if value is None else f"{value:.3f}")
        shown.add_row(*cells)
    _say(shown)
    for sentence in content["warnings"]:
        if sentence not in spoken:
            _note(f"warning: {sentence}")


def prior(
    table: str,
    label: str,
    *,
    positive: str | None,
    missing_is_unlabeled: bool,
    id_column: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    categorical: Sequence[str],
    estimators: Sequence[str],
    seed: int,
    reading: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Ask estimators of the share of positives among the unlabeled rows, and whether they agree."""
    names = list(PRIORS) if list(estimators) == ["all"] else list(estimators)
    for name in names:
        _check_among(name, PRIORS, "--estimators")
    found: dict[str, Any] = {}
    with _spoken_warnings():
        data = _read_labeled(table, label, positive, missing_is_unlabeled, reading)
        rows = _table_input(data, id_column, drop, keep, categorical).fit_transform(data.X)
        with progress_bar(len(names), "estimators", _shows_progress(), unit="done") as advance:
            for name in names:
                try:
                    fitted = PRIORS[name](random_state=seed).fit(rows, data.is_positive)
                    low, high = fitted.interval_
                    found[name] = {"value": fitted.prior_, "se": None, "low": low, "high": high}
                except (ValueError, ImportError) as error:
                    found[name] = {"failure": str(error)}
                advance({})
    done = {name: entry for name, entry in found.items() if "failure" not in entry}
    if not done:
        raise ValueError(f"Every estimator failed; {names[0]}: {found[names[0]]['failure']}")
    agree, text = _agreement(done)
    content = plain_values({"estimates": found, "agree": agree, "text": text})
    if as_json:
        _print_json(content)
        return
    shown = Table(title="Share of positives among the unlabeled rows")
    shown.add_column("estimator")
    shown.add_column("estimate (95 %)", justify="right")
    for name, entry in content["estimates"].items():
        shown.add_row(name, _interval(entry) if "failure" not in entry else "failed")
    _say(shown)
    for name, entry in content["estimates"].items():
        if "failure" in entry:
            _say(f"{name} failed: {escape(entry['failure'])}")
    _say(text)


def inspect(model: Path, *, as_json: bool) -> None:
    """Show what is in a model file; nothing from it is run."""
    about = describe(model)
    if as_json:
        _print_json(about)
        return
    info = about["info"]
    _say(f"[bold]{escape(about['class'])}[/], written by mixpul {escape(about['version'])}")
    if about["n_parameters"]:
        _say(f"{about['n_parameters']:,} numbers in its networks")
    if known := info.get("assessment"):
        _say(
            f"Fitted on {known['rows']:,} rows, {known['positives']:,} of them labeled positive "
            f"({escape(repr(info['label']))} is {escape(repr(info['positive']))}), seed "
            f"{info['seed']}"
        )
        _say(f"PU-AUC out of fold {_interval(known['pu_auc'])}")
        by = known["prior"]["from"]
        _say(f"Share of positives among the unlabeled rows {_interval(known['prior'][by])}, {by}")
        for name, cut in info["thresholds"]["suggested"].items():
            _say(f"Cut {name}: {cut:.4g}")
        _say(f"Data: {info['fingerprint'] or 'from standard input'}")
    if about["table"]:
        columns = Table(title="Columns")
        for title in ("column", "kind", "used", "how"):
            columns.add_column(title)
        for entry in about["table"]["report"]:
            used = "yes" if entry["used"] else "no"
            columns.add_row(
                escape(entry["column"]), entry["kind"], used, escape(str(entry["note"]))
            )
        _say(columns)
    settings = ", ".join(f"{name}={value!r}" for name, value in about["params"].items())
    _say(f"Settings: {escape(settings)}")


# -- what comes in --------------------------------------------------------------------------


def _parsed_settings(method: str, settings: Sequence[str]) -> dict[str, Any]:
    known = METHODS[method]().get_params()
    found = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE, such as n_epochs=10; got {setting}.")
        if name in SET_OTHERWISE:
            raise typer.BadParameter(f"--set {name}: {SET_OTHERWISE[name]}.")
        _check_among(name, known, f"--set: {method}", "setting")
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            found[name] = text
    return found


def _check_among(name: str, known: Iterable[str], where: str, kind: str = "choice") -> None:
    names = list(known)
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}."
        raise typer.BadParameter(f"{where} has no {kind} {name!r}; {hint}")


def _check_settings(classifier: Any) -> None:
    try:
        classifier._validate_params()
    except ValueError as error:
        raise typer.BadParameter(f"--set: {error}") from None


def _read_labeled(
    table: str,
    label: str,
    positive: str | None,
    missing_is_unlabeled: bool,
    reading: Mapping[str, Any],
) -> Label:
    frame = read_table(table, **_given(reading))
    return split_label(frame, label, positive=positive, missing_is_unlabeled=missing_is_unlabeled)


def _given(reading: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reading.items() if value}


def _table_input(
    data: Label,
    id_column: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    categorical: Sequence[str],
) -> TableInput:
    left_out = [*([id_column] if id_column is not None else []), *drop]
    check_present([*left_out, *keep, *categorical], list(map(str, data.X.columns)), "The table")
    return TableInput(drop=left_out, keep=list(keep), categorical=list(categorical))


def _source(table: str) -> str:
    return "standard input" if table == "-" else Path(table).name


def _command() -> str:
    return f"mixpul {shlex.join(sys.argv[1:])}"


def _fingerprint(table: str) -> str | None:
    if table == "-":
        return None
    with open(table, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _loaded(model: Path) -> tuple[Pipeline, dict[str, Any]]:
    pipeline = load(model)
    if not isinstance(pipeline, Pipeline):
        raise ValueError(
            f"{str(model)!r} holds a {type(pipeline).__name__} that takes rows of numbers, not "
            "tables; fit one with `mixpul fit`, or save a Pipeline of a TableInput and a "
            "classifier."
        )
    return pipeline, describe(model)["info"]


def _merged_reading(info: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """As the table of the fit was read, unless told otherwise."""
    return _given({**info.get("reading", {}), **_given(reading)})


def _kept_id(
    table: str, id_column: str | None, info: Mapping[str, Any], reading: Mapping[str, Any]
) -> list[str]:
    """The id column asked for, or that of the fit if the table has it."""
    if id_column is not None:
        return [id_column]
    of_fit = info.get("id")
    if of_fit is None or table == "-":  # a stream cannot be looked at twice
        return []
    return [of_fit] if of_fit in next(stream_table(table, **reading)).schema.names else []


def _kind_of_label(positive: Any) -> str:
    if isinstance(positive, bool):
        return "boolean"
    return "number" if isinstance(positive, int | float) else "text"


# -- cuts -----------------------------------------------------------------------------------


def _parsed_threshold(text: str) -> float | str:
    """A number, 'prior' or 'recall=0.9'."""
    name, sign, number = text.partition("=")
    try:
        if text == "prior" or (name == "recall" and sign and 0 < float(number) <= 1):
            return text
        if 0 <= float(text) <= 1:
            return float(text)
    except ValueError:
        pass
    raise typer.BadParameter(
        f"--threshold is a number from 0 to 1, prior, or recall=SHARE such as recall=0.9; got "
        f"{text!r}."
    )


def _cut(asked: float | str, info: Mapping[str, Any]) -> float:
    """The cut itself; by name it is read from the curve that was measured at fit."""
    if isinstance(asked, float):
        return asked
    curve = info.get("thresholds")
    if curve is None:
        raise ValueError(
            f"The model file has no curve to find the cut for {asked!r} in; give a number, or "
            "fit the model with `mixpul fit`."
        )
    if asked == "prior":
        return float(curve["suggested"]["prior"])
    wanted = float(asked.removeprefix("recall="))
    if wanted == 0.9:  # the cut that the report offers, not a near one of the curve
        return float(curve["suggested"]["recall_90"])
    enough = [t for t, r in zip(curve["threshold"], curve["recall"], strict=True) if r >= wanted]
    return float(max(enough, default=0.0))


# -- what goes out --------------------------------------------------------------------------


def _check_outputs(paths: Sequence[Path], inputs: Sequence[str], force: bool) -> None:
    """Refuse before any work what could not be written after it."""
    for path in paths:
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"There is no folder {str(path.parent)!r} to write {path.name!r} into; create it "
                "first."
            )
        if any(os.path.exists(other) and _same_file(path, other) for other in inputs):
            raise ValueError(f"{str(path)!r} is to be read and to be written; name another file.")
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise ValueError(f"{str(path)!r} is a folder or a device; name a file to write.")
        if path.exists() and not force:
            raise FileExistsError(f"{str(path)!r} exists; pass --force to replace it.")
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(f"The folder {str(path.parent)!r} may not be written into.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise typer.BadParameter("The model and the page cannot be the same file.")


def _same_file(path: Path, other: str) -> bool:
    return path.exists() and path.samefile(other)


def _check_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{str(path)!r} is a file; name a folder for the results.")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.resolve().parent)!r} to make {path.name!r} in; create "
            "it first."
        )


@contextmanager
def _told_if_full(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise OSError(
                f"{str(path)!r} was not written: {os.strerror(error.errno)}. Nothing is left of "
                "it; make room and run the command again."
            ) from error
        raise


def _counted(batches: Iterable[Any], counts: dict[str, int]) -> Iterator[Any]:
    with Console(stderr=True).status("Scoring") as status:
        for batch in batches:
            counts["rows"] += batch.num_rows
            counts["flagged"] += int(batch.column("predicted").true_count)
            status.update(f"{counts['rows']:,} rows")
            yield batch


def _info(
    content: Mapping[str, Any],
    data: Label,
    table: TableInput,
    reading: Mapping[str, Any],
    missing_is_unlabeled: bool,
) -> dict[str, Any]:
    """What the model file should know; no date and no path: equal models give equal files."""
    positive = data.positive
    curves = content["thresholds"]
    return {
        "label": content["data"]["label"],
        "positive": positive if isinstance(positive, bool | int | float | str) else str(positive),
        "missing_is_unlabeled": missing_is_unlabeled,
        "id": content["data"]["id"],
        "dropped": list(table.drop),
        "reading": plain_values(_given(reading)),
        "thresholds": {
            "suggested": content["suggested"],
            "threshold": curves["threshold"],
            "recall": curves["recall"]["value"],
            "flagged": curves["flagged"]["value"],
        },
        "fingerprint": content["data"]["fingerprint"],
        "seed": content["seed"],
        "versions": {k: content["made"][k] for k in ("mixpul", "python", "torch", "scikit-learn")},
        "assessment": {
            **{k: content["data"][k] for k in ("rows", "positives", "unlabeled")},
            **{k: content[k] for k in ("folds", "pu_auc", "prior", "corrected_auc", "warnings")},
            "checks": {check["name"]: check["verdict"] for check in content["checks"]},
        },
    }


def _ordinary(is_true: Any, is_positive: Any, scores: Any, cut: float) -> dict[str, float | None]:
    """Metrics by the truth of the unlabeled rows, under the names they have from PU labels."""
    from sklearn import metrics

    hidden, flagged = is_true[~is_positive], scores[~is_positive] > cut
    found: dict[str, Any] = {
        "recall": metrics.recall_score(hidden, flagged, zero_division=0),
        "flagged_share": flagged.mean(),
        "precision": metrics.precision_score(hidden, flagged, zero_division=0),
        "f1": metrics.f1_score(hidden, flagged, zero_division=0),
        "accuracy": metrics.accuracy_score(hidden, flagged),
        "zero_one_risk": metrics.zero_one_loss(hidden, flagged),
        "prior": hidden.mean(),
    }
    if 0 < hidden.mean() < 1:
        found |= {
            "corrected_auc": metrics.roc_auc_score(hidden, scores[~is_positive]),
            "balanced_accuracy": metrics.balanced_accuracy_score(hidden, flagged),
            "matthews_corrcoef": metrics.matthews_corrcoef(hidden, flagged),
            "false_positive_rate": flagged[~hidden].mean(),
        }
    return {name: float(value) for name, value in found.items()}


def _agreement(found: Mapping[str, Mapping[str, Any]]) -> tuple[bool | None, str]:
    if len(found) < 2:
        return None, "Two estimates are needed to see whether they agree."
    ordered = sorted(found, key=lambda name: found[name]["value"])
    low, high = found[ordered[0]]["value"], found[ordered[-1]]["value"]
    span = f"from {low:.3g} ({ordered[0]}) to {high:.3g} ({ordered[-1]})"
    if high - low <= 0.05 or high <= 1.5 * low:
        return True, f"They agree: {span}."
    middle = float(np.median([entry["value"] for entry in found.values()]))
    return False, (
        f"They disagree: {span}, the middle is {middle:.3g}. Most of them err upward where "
        "positives and negatives overlap everywhere; of ours DEDPUL was the most accurate."
    )


# -- words ----------------------------------------------------------------------------------


def _show_assessment(found: Assessment) -> None:
    data, prior = found.data, found.prior
    _say(
        f"{data['positives']:,} labeled positives and {data['unlabeled']:,} unlabeled rows, "
        f"{sum(entry['used'] for entry in data['columns'])} of {len(data['columns'])} columns "
        f"used; {found.method}, {found.folds} folds, {found.made['seconds']:.0f} s"
    )
    _say(f"PU-AUC out of fold                    {_interval(found.pu_auc)}")
    _say(f"Positives among the unlabeled rows    {_interval(prior[prior['from']])}")
    if found.corrected_auc:
        _say(f"AUC against negatives                 {_interval(found.corrected_auc)}")
    shown = Table()
    for title in ("cut", "at", "recall", "precision", "F1", "rows flagged"):
        shown.add_column(title, justify="left" if title == "cut" else "right")
    curves = found.thresholds
    for name, cut in found.suggested.items():
        k = int(np.argmin(np.abs(np.array(curves["threshold"]) - cut)))
        cells = [f"{curves[curve]['value'][k]:.2f}" for curve in ("recall", "precision", "f1")]
        flagged = round(curves["flagged"]["value"][k] * data["unlabeled"])
        shown.add_row(name.replace("_90", " 0.9"), f"{cut:.4g}", *cells, f"{flagged:,}")
    _say(shown)
    for check in found.checks:
        _say(f"{VERDICTS[check['verdict']]} {escape(check['name'])}: {escape(check['text'])}")


def _interval(estimate: Estimate | Mapping[str, Any]) -> str:
    numbers = estimate._asdict() if isinstance(estimate, Estimate) else estimate
    value, low, high = (
        "-" if numbers[name] is None else f"{numbers[name]:.3f}"
        for name in ("value", "low", "high")
    )
    return f"{value} ({low} to {high})"


def _say(text: Any) -> None:
    Console(highlight=False, soft_wrap=isinstance(text, str)).print(text)


def _note(sentence: str) -> None:
    print(f"mixpul: {sentence}", file=sys.stderr)


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, allow_nan=False))


def _shows_progress() -> int:
    return int(sys.stderr.isatty())


@contextmanager
def _spoken_warnings() -> Iterator[list[str]]:
    """Collect warnings meant for users and say each of them once, as a sentence."""
    spoken: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield spoken
    for warning in caught:
        sentence = str(warning.message)
        # Subclasses, such as those on convergence, are for programmers.
        if warning.category is UserWarning and sentence not in spoken:
            spoken.append(sentence)
            _note(f"warning: {sentence}")
