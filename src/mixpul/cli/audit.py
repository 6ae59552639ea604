"""`mixpul audit`: what verdicts say of a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from mixpul.cli._messages import escape, format_interval, print_json, say
from mixpul.cli._outputs import check_outputs, explain_full_disk
from mixpul.cli.options import ForceOption, JsonOption, ModelArgument, Reading

if TYPE_CHECKING:
    from mixpul.assess.answered import Answered
    from mixpul.assess.disagreements import Disagreement

__all__ = ["audit"]

TITLES = {"precision": "precision", "recall": "recall", "f1": "F1"}


def audit(
    model: ModelArgument,
    queues: Annotated[
        list[Path],
        typer.Argument(
            metavar="QUEUE...",
            help="Answered queues of `mixpul review`: CSV files, or JSON exported by Label Studio.",
        ),
    ],
    report: Annotated[Path | None, typer.Option(help="Also write a report: one HTML page.")] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder that the images were drawn from: the report then shows those on which "
            "people and scores disagree."
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how good a model is, from rows that people have checked.

    Example: [bold]mixpul audit model.mixpul queue.csv --report audit.html[/bold]
    """
    # Imported here: it takes seconds, --help should not.
    from mixpul.assess.answered import read_answers
    from mixpul.cli._inputs import load_table_model
    from mixpul.cli._noted import is_of_images
    from mixpul.persistence import describe
    from mixpul.persistence.notes import check_notes

    if report is not None:
        check_outputs([report], [str(model), *map(str, queues)], force)
    about = describe(model)
    info, checksum = check_notes(about["info"]), about["checksum"]
    if not is_of_images(info):
        load_table_model(model)  # which refuses what is not of a table
    _check_images(images, is_of_images(info), report)
    answered = read_answers(queues, checksum)
    content = _audit(answered, info) | {"model": checksum, "queues": [q.name for q in queues]}
    content["unit"] = "image" if is_of_images(info) else "row"
    suggest = _suggest_image_fit if is_of_images(info) else _suggest_fit
    content["next"] = suggest(content["prior"], info, queues)
    content["sample"] = _find_sample(answered, info)
    content["disagreements"] = _list_disagreements(answered, info)
    # First: a page that fails must not take the figures along.
    if as_json:
        print_json(content)
    else:
        _show(content)
    if report is not None:
        _write_report(report, content, images)
        if not as_json:
            say(f"Page: {escape(report)}")


def _write_report(report: Path, content: Mapping[str, Any], images: Path | None) -> None:
    from mixpul._util.files import write_whole
    from mixpul.pages import render_audit_page

    page = render_audit_page(content, thumbnails=_show_images(images, content))
    with explain_full_disk(repr(str(report))):
        write_whole(report, page.encode())


def _audit(answered: "Answered", info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the audited figures, and beside them what was claimed without verdicts."""
    from mixpul.assess import audit as audit_rows

    known = info.get("thresholds", {"threshold": [0.5], "suggested": {"0.5": 0.5}})
    flagged = None
    n_unlabeled = info.get("assessment", {}).get("unlabeled")
    # Of other rows the number above a threshold follows from the rows drawn.
    is_of_fit = (info.get("fingerprint") or "").startswith(f"sha256:{answered.table}")
    if is_of_fit and n_unlabeled == int(answered.reviews[0].sizes.sum()):
        flagged = [round(share * n_unlabeled) for share in known["flagged"]]
    found = audit_rows(
        answered.reviews, answered.verdicts, known["threshold"], flagged=flagged
    ).to_dict()
    curves = found["thresholds"]
    found["prior"] |= {"source": "audited"}
    suggested = {
        name: {"at": at, **_pick(curves, _find_place(curves["threshold"], at))}
        for name, at in sorted(known["suggested"].items(), key=lambda item: item[1])
    }
    return found | {"suggested": suggested, "claimed": _repeat_claims(info, suggested)}


def _find_sample(answered: "Answered", info: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is known of the whole table if the rows were drawn from a sample of it."""
    from mixpul.persistence.samples import find_sample

    is_of_fit = (info.get("fingerprint") or "").startswith(f"sha256:{answered.table}")
    return find_sample(info) if is_of_fit else None


def _check_images(images: Path | None, is_of_images: bool, report: Path | None) -> None:
    """Refuse a folder of images that nothing could be shown of."""
    if images is None:
        return
    if not is_of_images:
        raise typer.BadParameter("--images goes with a model of images; leave it out.")
    if report is None:
        raise typer.BadParameter("--images are shown in the report; add --report PAGE.")
    from mixpul.images.reading import check_image_folder

    check_image_folder(images)


def _show_images(folder: Path | None, content: Mapping[str, Any]) -> dict[str, str]:
    """Return what the page shows of images that people and scores disagree on, by name."""
    if folder is None:
        return {}
    from mixpul.cli._review_images import show_disagreements

    return show_disagreements(content["disagreements"], folder)


def _list_disagreements(answered: "Answered", info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows on the wrong side of the classifier's own threshold, with their names."""
    from mixpul.assess.disagreements import find_disagreements
    from mixpul.cli._noted import is_of_images
    from mixpul.cli._review_images import ID_COLUMN

    id_column = ID_COLUMN if is_of_images(info) else info.get("id")

    def describe(one: "Disagreement") -> dict[str, Any]:
        name = one.cells.get(id_column or "", one.row)
        cells = {column: text for column, text in one.cells.items() if column != id_column}
        return one._asdict() | {"id": name, "cells": cells}

    found = find_disagreements(answered)._asdict()
    return {kind: [describe(one) for one in rows] for kind, rows in found.items()}


def _find_place(points: list[float], value: float) -> int:
    from mixpul.pages.thresholds import find_nearest

    return find_nearest(points, value)


def _pick(curves: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the figures at one of the thresholds."""
    rates = {
        name: {part: curves[name][part][place] for part in ("value", "low", "high")}
        for name in TITLES
    }
    return {"flagged": curves["flagged"][place], **rates}


def _repeat_claims(info: Mapping[str, Any], suggested: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model file says of the same figures, from PU labels alone."""
    known, curves = info.get("assessment", {}), info.get("thresholds", {})
    prior = known.get("prior", {})
    # Files from before bounds were told from estimates repeat nothing.
    if "source" not in prior or "recall" not in curves:
        return {"prior": None, "auc": None, "suggested": {}}
    is_bound = prior["source"] == "estimated"
    share = {"kind": "at most", "value": prior["upper"]} if is_bound else prior
    return {
        "prior": _claim(share | ({} if is_bound else {"kind": "estimate"})),
        "auc": _claim(known["corrected_auc"]),
        "suggested": {
            name: _claim_rates(known, curves, _find_place(curves["threshold"], one["at"]))
            for name, one in suggested.items()
        },
    }


def _claim_rates(
    known: Mapping[str, Any], curves: Mapping[str, Any], place: int
) -> dict[str, dict[str, Any] | None]:
    from mixpul.assess.figures import bound_f1, bound_precision

    recall, flagged = curves["recall"][place], curves["flagged"][place]
    rates = known["prior"], recall, flagged, known["positives"], known["unlabeled"]
    return {
        # Of no flagged row there is no precision.
        "precision": _claim(bound_precision(*rates)) if flagged else None,
        "recall": {"kind": "estimate", "value": recall},
        "f1": _claim(bound_f1(*rates)) if flagged else None,
    }


def _claim(figure: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": figure["kind"], "value": float(figure["value"])}


def _suggest_fit(prior: Mapping[str, Any], info: Mapping[str, Any], queues: list[Path]) -> str:
    """Return the command that fits again with what is known now."""
    from mixpul.cli._inputs import quote_command
    from mixpul.persistence.samples import find_sample

    words = ["fit", "TABLE", "--label", str(info.get("label", "LABEL"))]
    words += ["--missing-is-unlabeled"] if info.get("missing_is_unlabeled") else []
    words += [] if info.get("id") is None else ["--id", info["id"]]
    for name, value in Reading().fill_from(info.get("reading", {})).to_arguments().items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name}", one]
    if sample := find_sample(info):
        # Verdicts go to rows of the same sample.
        words += ["--max-rows", str(sample["max_rows"]), "--seed", str(sample["seed"])]
    words += ["--prior-interval", f"{prior['low']:.3f},{prior['high']:.3f}"]
    return quote_command([*words, *(w for queue in queues for w in ("--verdicts", str(queue)))])


def _suggest_image_fit(
    prior: Mapping[str, Any], info: Mapping[str, Any], queues: list[Path]
) -> str:
    """Return the command that fits images again with the prior that is known now."""
    from mixpul.cli._inputs import quote_command

    how = info["pictures"]
    words = ["fit-images", "POSITIVE", "UNLABELED", "--size", str(how["size"])]
    # Not left to the default, which depends on what is installed.
    words += ["--features", how.get("features", "none")]
    words += [] if how["odd"] == "resize" else ["--odd", how["odd"]]
    return quote_command([*words, "--prior-interval", f"{prior['low']:.3f},{prior['high']:.3f}"])


def _show(content: Mapping[str, Any]) -> None:
    answers, units = content["answers"], f"{content['unit']}s"
    n_answered = sum(answers[word] for word in ("yes", "no", "unsure"))
    text = f"{n_answered} {units} answered: " + ", ".join(
        f"{answers[word]} {word}" for word in ("yes", "no", "unsure")
    )
    text += f"; {answers['skipped']} skipped, which count as unsure" if answers["skipped"] else ""
    text += f"; {answers['open']} still open, which do not count" if answers["open"] else ""
    say(f"{text}. Figures are about the {content['rows']:,} unlabeled {units}.")
    if sample := content["sample"]:
        times = sample["unlabeled"] / content["rows"]
        say(
            f"These are a random sample of the {sample['unlabeled']:,} unlabeled rows of the "
            f"table: rates hold for all of them, and there are {times:.1f} times as many flagged "
            "ones."
        )
    shown = Table()
    for title in ("threshold", "flagged", "", "audited (95 %)", "claimed"):
        is_number = title not in ("threshold", "")
        shown.add_column(title, justify="right" if is_number else "left", no_wrap=True)
    claimed = content["claimed"]
    for key, title in (("prior", "class prior"), ("auc", "AUC")):
        last = key == "auc"
        cells = format_interval(content[key]), _format_claim(claimed[key])
        shown.add_row("", "", title, *cells, end_section=last)
    for name, one in content["suggested"].items():
        of_name = claimed["suggested"].get(name, {})
        names, counts = (
            (escape(name), f"at {one['at']:.4g}", ""),
            (f"{one['flagged']:,.0f}", "", ""),
        )
        for of_row, count, (key, title) in zip(names, counts, TITLES.items(), strict=True):
            cells = format_interval(one[key]), _format_claim(of_name.get(key))
            shown.add_row(of_row, count, title, *cells, end_section=key == "f1")
    say(shown)
    say("Claimed is what was said without verdicts; the AUC is that against negatives.")
    if answers["unsure"] + answers["skipped"]:
        say(
            f"Unsure {units} count as yes or no, whichever takes a figure to the end of its "
            "interval."
        )
    say(f"Checking {content['more_rows']:,} more {units} would halve the interval of the prior.")
    say(f"Next, fit again with what is known now: {escape(content['next'])}")


def _format_claim(claim: Mapping[str, Any] | None) -> str:
    if claim is None:
        return "-"
    return ("≤ " if claim["kind"] == "at most" else "") + f"{claim['value']:.3f}"
