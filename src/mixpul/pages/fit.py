"""The page of a fit: how good is the model, and where do you set the threshold?

The page carries the whole assessment as JSON, the same that `--json` prints.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mixpul.pages.cells import clip_path, clip_text, link_csv, list_columns
from mixpul.pages.figures import (
    MOST_BARS,
    draw_importance,
    draw_threshold_panels,
    draw_training_panels,
)
from mixpul.pages.numbers import format_count, format_percent, format_score, format_span
from mixpul.pages.render import embed_json, render
from mixpul.pages.texts import describe_prior, grade_ranking, list_unknowns, name_unit
from mixpul.pages.thresholds import (
    AssessmentData,
    count_unlabeled,
    describe_threshold,
    explain_missing_promise,
    find_start,
    is_impossible,
    is_known,
    is_unlimited,
    list_suggestions,
    prepare_slider,
)
from mixpul.pages.weighing import describe_weighing

__all__ = ["render_fit_page", "render_fit_summary"]

# Columns that a summary names.
MOST_NAMED = 5

# The verdicts of checks, the most urgent first, and their icons.
VERDICTS = {"bad": "✗", "caution": "!", "note": "i", "good": "✓"}


class Check(NamedTuple):
    """A check as the page shows it."""

    verdict: str
    icon: str
    name: str
    question: str
    text: str


def render_fit_page(
    assessment: AssessmentData,
    *,
    thumbnails: Mapping[str, str] | None = None,
    known_thumbnails: Mapping[str, str] | None = None,
) -> str:
    """Write an assessment as one HTML page that loads nothing.

    Parameters
    ----------
    assessment : dict
        What `mixpul fit --json` or `mixpul fit-images --json` prints: plain values, with None for
        what is not known. NaN and infinity are refused, because JSON has neither.
    thumbnails : dict, optional
        Of images: ``data:`` addresses to show for the names in ``"top"`` and ``"bottom"``, and
        for near copies.
    known_thumbnails : dict, optional
        The same for labeled positives: those in ``"doubtful"``, and those that have near copies.

    Returns
    -------
    str
        The page. It holds the whole assessment as JSON in the element with the id 'assessment'.

    Examples
    --------
    >>> from mixpul import MixPULClassifier, datasets
    >>> from mixpul.assess import assess
    >>> from mixpul.pages import render_fit_page
    >>> pu = datasets.make_pu(*datasets.load("titanic", return_X_y=True), c=0.3, random_state=0)
    >>> found = assess(MixPULClassifier(n_epochs=3), pu.X, pu.s)
    >>> page = render_fit_page(found.to_dict())
    >>> "Where to set the threshold" in page
    True
    """
    return render(
        "fit.html.j2",
        a=assessment,
        embedded=embed_json(assessment),
        checks=_sort_checks(assessment["checks"]),
        training=draw_training_panels(assessment["history"]),
        importance=draw_importance(assessment["importance"]),
        most_bars=MOST_BARS,
        thumbnails=thumbnails or {},
        known_thumbnails=known_thumbnails or {},
        doubtful=assessment.get("doubtful", []),
        copies=assessment["data"].get("copies", []),
        percent=format_percent,
        count=format_count,
        score_text=format_score,
        span=format_span,
        clip_text=clip_text,
        clip_path=clip_path,
        **_describe_data(assessment),
        **_describe_start(assessment),
        **describe_weighing(assessment),
    )


def render_fit_summary(assessment: AssessmentData) -> str:
    """Write what matters most of an assessment as a piece of HTML, for notebooks."""
    important = [one["column"] for one in assessment["importance"] if one["drop"] > 0]
    return render(
        "summary.html.j2",
        a=assessment,
        checks=_sort_checks(assessment["checks"]),
        grade=grade_ranking(assessment),
        known=describe_prior(assessment),
        is_known=is_known(assessment),
        important=[clip_text(str(name)) for name in important[:MOST_NAMED]],
        source=assessment["data"]["source"] or "a table",
        units=f"{name_unit(assessment)}s",
        percent=format_percent,
        count=format_count,
        span=format_span,
    )


def _describe_data(assessment: AssessmentData) -> dict[str, Any]:
    """Collect what one row is called, and which columns there are."""
    data, unit = assessment["data"], name_unit(assessment)
    is_images = unit == "image"
    columns = [] if is_images else data["columns"]
    id_column = data.get("id")
    return {
        "data": data,
        "all_unlabeled": count_unlabeled(data),
        # Pages of earlier versions do not know of samples.
        "sample": data.get("sample"),
        "unit": unit,
        "units": f"{unit}s",
        "is_images": is_images,
        "source": data["source"] or ("Images" if is_images else "A table"),
        "columns": columns,
        "number_columns": [one["column"] for one in columns if one["kind"] == "number"],
        "top_columns": list_columns(assessment["top"]),
        "doubtful_columns": list_columns(assessment.get("doubtful", [])),
        "top_csv": link_csv(assessment["top"], unit if id_column is None else id_column),
    }


def _describe_start(assessment: AssessmentData) -> dict[str, Any]:
    """Collect what the page shows before the slider is moved, and what the slider needs."""
    start = find_start(assessment)
    return {
        "start": start,
        "now": describe_threshold(assessment, start),
        "is_impossible": is_impossible(assessment, start),
        "grade": grade_ranking(assessment),
        "known": describe_prior(assessment),
        "is_known": is_known(assessment),
        "is_unlimited": is_unlimited(assessment, start),
        "missing_promise": explain_missing_promise(assessment),
        "unknowns": list_unknowns(assessment),
        "suggestions": list_suggestions(assessment, f"{name_unit(assessment)}s"),
        "panels": draw_threshold_panels(assessment, start),
        "slider": embed_json(prepare_slider(assessment)),
    }


def _sort_checks(checks: Iterable[Mapping[str, str]]) -> list[Check]:
    """Sort checks by urgency, problems first."""
    order = list(VERDICTS)
    found = [
        Check(c["verdict"], VERDICTS[c["verdict"]], c["name"], c.get("question", ""), c["text"])
        for c in checks
    ]
    return sorted(found, key=lambda check: order.index(check.verdict))
