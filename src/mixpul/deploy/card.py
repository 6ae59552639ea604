"""A model card: one Markdown page on what a model file is, how good it is, and its limits."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mixpul._util.errors import MixpulError
from mixpul.pages.texts import explain_agreement
from mixpul.persistence import describe
from mixpul.persistence.samples import find_sample

__all__ = ["make_card"]

About = Mapping[str, Any]


def make_card(path: str | os.PathLike, *, name: str | None = None) -> str:
    """Write a model card from what a model file holds; nothing from the file is run.

    The page starts with the metadata that model hubs read. Figures that rest on an unknown class
    prior are marked as bounds.

    Parameters
    ----------
    path : str or path-like
        A file written by `mixpul fit`, `mixpul fit-images` or `save`.
    name : str, optional
        What to call the model; by default the name of the file.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mixpul import MixPULClassifier, datasets, save
    >>> from mixpul.deploy import make_card
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.1, random_state=0)
    >>> model = MixPULClassifier(n_epochs=2, random_state=0).fit(pu.X, pu.s)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "titanic.mixpul"
    >>> save(model, path)
    >>> make_card(path).splitlines()[0]
    '---'
    """
    about = describe(path)
    title = Path(path).stem if name is None else name
    try:
        sections = [
            _write_metadata(about, title),
            f"# {_escape(title)}\n\n{_describe_model(about)}",
            _describe_use(about),
            _describe_data(about),
            _describe_figures(about),
            _describe_loss(about),
            _describe_thresholds(about),
            _describe_checks(about),
            _describe_candidates(about),
            _describe_columns(about),
            _describe_limits(about),
            _describe_making(about, Path(path).name),
        ]
    # Anyone can write a file whose parts do not fit together.
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise MixpulError(
            f"{os.fspath(path)!r} is not a whole mixpul model file: what it says of its fit cannot "
            f"be read ({type(error).__name__})."
        ) from error
    return "\n\n".join(section for section in sections if section) + "\n"


# -- words ------------------------------------------------------------------------------------


def _escape(value: Any) -> str:
    """Return text that Markdown shows as it is, on one line."""
    line = " ".join(str(value).split())
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", line)


def _write_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _name_rows(about: About) -> str:
    return "images" if "pictures" in about["info"] else "rows"


def _format_estimate(estimate: Mapping[str, Any]) -> str:
    value, low, high = (estimate.get(key) for key in ("value", "low", "high"))
    if value is None:
        return "not known"
    interval = "" if low is None or high is None else f" (95 % interval {low:.3f} to {high:.3f})"
    return f"{value:.3f}{interval}"


# -- sections ---------------------------------------------------------------------------------


def _write_metadata(about: About, title: str) -> str:
    """Return the block that model hubs read; JSON is YAML, and quotes whatever needs it."""
    task = "image-classification" if "pictures" in about["info"] else "tabular-classification"
    lines = [
        "library_name: mixpul",
        f"pipeline_tag: {task}",
        'tags: ["positive-unlabeled-learning", "mixpul"]',
    ]
    if assessment := about["info"].get("assessment"):
        result = {
            "task": {"type": task},
            "dataset": {"name": "training rows, out of fold", "type": "private"},
            "metrics": [
                {"type": "pu_auc", "name": "PU-AUC", "value": assessment["pu_auc"]["value"]}
            ],
        }
        index = json.dumps([{"name": title, "results": [result]}], ensure_ascii=False)
        lines.append(f"model-index: {index}")
    return "\n".join(["---", *lines, "---"])


def _describe_model(about: About) -> str:
    info, members = about["info"], about["members"]
    target = ""
    if "label" in info:
        target = (
            f" It looks for rows where {_escape(info['label'])} is {_escape(info['positive'])}."
        )
    parts = f" of {len(members)} members" if members else ""
    return (
        f"A positive-unlabeled classifier, {_escape(about['class'])}{parts}, made by mixpul "
        f"{_escape(about['version'])}. It learned from {_name_rows(about)} labeled positive and "
        f"unlabeled ones, without negative labels.{target}"
    )


def _describe_use(about: About) -> str:
    units = _name_rows(about)
    return (
        "## Intended use\n\n"
        f"To rank {units} by how likely they are positive, and to pick those worth a look.\n\n"
        f"- A score lies between 0 and 1 and ranks {units}. It is not a probability.\n"
        "- Probabilities need the class prior, the share of positives among the unlabeled "
        f"{units}.\n"
        f"- Not meant for {units} that are unlike those of the fit, nor as the only ground for a "
        "decision about a person."
    )


def _describe_data(about: About) -> str:
    info = about["info"]
    assessment = info.get("assessment")
    if assessment is None:
        return "## Data\n\nThe file does not say what the model was fitted on."
    units = _name_rows(about)
    lines = [
        f"- {assessment['rows']:,} {units}: {assessment['positives']:,} labeled positive, "
        f"{assessment['unlabeled']:,} unlabeled"
    ]
    if n_negative := assessment.get("negatives", 0):
        lines[0] += f", {n_negative:,} verified negatives"
    if sample := find_sample(info):
        lines.append(
            f"- They are a random sample of {sample['rows']:,} rows, "
            f"{sample['positives']:,} of them labeled positive"
        )
    if images := info.get("pictures"):
        lines.append(f"- Images of {images['size']} x {images['size']} pixels")
        if images.get("features"):
            lines.append(f"- Learned from features by {images['features']}, trained on ImageNet")
    lines.append(f"- Fingerprint of the file: `{info.get('fingerprint') or 'none, a stream'}`")
    lines.append(f"- The {units} themselves are not in the model file.")
    return "## Data\n\n" + "\n".join(lines)


def _describe_figures(about: About) -> str:
    assessment = about["info"].get("assessment")
    if assessment is None:
        return (
            "## How good it is\n\nNot assessed. `mixpul fit` assesses what it fits, and `mixpul "
            "evaluate` judges a model on other rows."
        )
    prior, auc = assessment["prior"], assessment["corrected_auc"]
    is_known = prior.get("source") != "estimated"
    units = _name_rows(about)
    rows = [
        [
            "PU-AUC: labeled positives against unlabeled " + units,
            _format_estimate(assessment["pu_auc"]),
            f"measured on {units} left out of the fit",
        ],
        [
            f"Positives among the unlabeled {units}",
            _format_estimate(prior) if is_known else _format_upper(prior),
            _escape(prior.get("source", "estimated")) if is_known else "an upper bound",
        ],
        [
            "AUC: positives against negatives",
            f"{auc['low']:.3f} to {auc['value']:.3f}"
            if auc.get("kind") == "at most"
            else _format_estimate(auc),
            "bounds, by the unknown class prior"
            if auc.get("kind") == "at most"
            else "estimated, by the class prior",
        ],
    ]
    table = _write_table(["figure", "value", "what it is"], rows)
    warned = "".join(f"\n- Warning: {_escape(one)}" for one in assessment.get("warnings", []))
    folds = assessment.get("folds")
    return (
        f"## How good it is\n\n{table}\n\n"
        f"All of it comes from scores of {units} by fits that had not seen them ({folds} folds). "
        f"Labels alone bound the class prior from above only.{chr(10) * bool(warned)}{warned}"
    )


def _describe_loss(about: About) -> str:
    lost = explain_agreement(about["learned"].get("agreement_"))
    return f"## What one network has lost\n\n{lost}" if lost else ""


def _format_upper(prior: Mapping[str, Any]) -> str:
    # Files of earlier versions have no bound.
    return f"at most {prior['upper']:.3f} (95 % confidence)" if "upper" in prior else "not known"


def _describe_thresholds(about: About) -> str:
    curve = about["info"].get("thresholds")
    if not curve:
        return ""
    meanings = {"prior": "flags as many as there are positives", "f1": "the best F1"}
    rows = []
    for name, threshold in sorted(curve["suggested"].items(), key=lambda item: item[1]):
        k = min(
            range(len(curve["threshold"])), key=lambda j: abs(curve["threshold"][j] - threshold)
        )
        found = [curve[key][k] for key in ("recall", "flagged")]
        shares = ["-" if share is None else f"{share:.2f}" for share in found]
        promise = "finds at least that share, with 95 % confidence" if ">=" in name else ""
        rows.append([f"`{name}`", f"{threshold:.4g}", *shares, meanings.get(name, promise)])
    titles = ["threshold", "score above", "recall", "share flagged", "meaning"]
    return (
        f"## Thresholds\n\n{_write_table(titles, rows)}\n\n"
        "Recall is estimated from labeled positives that were left out. Flagged is the share of "
        "the unlabeled rows above the threshold."
    )


def _describe_checks(about: About) -> str:
    checks = about["info"].get("assessment", {}).get("checks")
    if not checks:
        return ""
    rows = [[_escape(name), _escape(verdict)] for name, verdict in checks.items()]
    return f"## Checks\n\n{_write_table(['check', 'verdict'], rows)}"


def _describe_candidates(about: About) -> str:
    leaderboard = about["learned"].get("leaderboard_")
    if not leaderboard:
        return ""
    rows = [
        [_escape(one["candidate"]), f"{one['pu_auc']:.3f}", f"{one['weight']:.2f}"]
        for one in leaderboard
    ]
    return f"## Candidates\n\n{_write_table(['candidate', 'PU-AUC', 'weight'], rows)}"


def _describe_columns(about: About) -> str:
    if not about["table"]:
        return ""
    order = {name: k for k, name in enumerate(about["info"].get("columns", []))}
    report = sorted(about["table"]["report"], key=lambda one: order.get(one["column"], len(order)))
    rows = [
        [
            _escape(one["column"]),
            _escape(one["kind"]),
            "yes" if one["used"] else "no",
            f"{one['missing']:.0%}",
            _escape(one["note"]),
        ]
        for one in report
    ]
    table = _write_table(["column", "kind", "used", "missing", "how, or why not"], rows)
    first = "Those that matter most come first." if order else ""
    return f"## Columns\n\n{table}" + (f"\n\n{first}" if first else "")


def _describe_limits(about: About) -> str:
    units = _name_rows(about)
    return (
        "## Limits\n\n"
        f"- Labeled positives are taken for a random draw of all positives. If some kinds of them "
        f"are labeled more often, the model ranks those higher.\n"
        f"- Figures hold for {units} drawn like those of the fit. When the world moves, judge the "
        "model again.\n"
        "- Whether the model treats groups of people alike was not examined.\n"
        "- A check of some dozen rows by people turns bounds into estimates (`mixpul review`, "
        "`mixpul audit`)."
    )


def _describe_making(about: About, name: str) -> str:
    info = about["info"]
    versions = info.get("versions") or {"mixpul": about["version"]}
    made = ", ".join(f"{_escape(tool)} {_escape(number)}" for tool, number in versions.items())
    seed = f", seed {info['seed']}" if "seed" in info else ""
    settings = json.dumps(about["params"], ensure_ascii=False, sort_keys=True)
    # A fence longer than any run of backticks inside cannot be closed by a value.
    longest = max((len(run) for run in re.findall("`+", settings)), default=0)
    fence = "`" * max(3, longest + 1)
    return (
        f"## How it was made\n\nWith {made}{seed}. The settings:\n\n"
        f"{fence}json\n{settings}\n{fence}\n\n"
        f"The content of the file {_escape(name)} has the SHA-256 checksum "
        f"`{about['checksum']}`. Loading it runs no code from it."
    )
