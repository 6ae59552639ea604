"""The page of an audit: what checked rows say of the model, with a slider for the threshold."""

from collections.abc import Mapping
from typing import Any

from mixpul.pages import charts
from mixpul.pages.cells import clip_path, clip_text
from mixpul.pages.numbers import (
    format_count,
    format_count_span,
    format_percent,
    format_score,
    format_span,
    format_threshold,
)
from mixpul.pages.render import embed_json, render
from mixpul.pages.thresholds import find_boundaries, find_nearest

__all__ = ["render_audit_page"]

RATES = {"precision": 2, "recall": 1, "f1": 3}  # each with the number of its colour
NAMES = {"precision": "precision", "recall": "recall", "f1": "F1"}
DISAGREEMENTS = {
    "false_alarms": "People say no, and the score is above 0.5: {n} {units}, the highest first.",
    "missed": "People say yes, and the score is not above 0.5: {n} {units}, the lowest first.",
}
MOST_ROWS, MOST_COLUMNS = 12, 6
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def render_audit_page(
    content: Mapping[str, Any], *, thumbnails: Mapping[str, str] | None = None
) -> str:
    """Write an audit as one HTML page that loads nothing.

    Parameters
    ----------
    content : dict
        What `mixpul audit --json` prints.
    thumbnails : dict, optional
        ``data:`` addresses of images that people and scores disagree on, by name.

    Returns
    -------
    str
        The page. It holds the whole content as JSON in the element with the id 'audit'.
    """
    points = content["thresholds"]["threshold"]
    texts = [_describe(content, place) for place in range(len(points))]
    names = list(content["suggested"])
    places = {name: find_nearest(points, content["suggested"][name]["at"]) for name in names}
    # The classifier's own threshold, where the slider of a fit stands first, too.
    start = find_nearest(points, 0.5)
    slider = {
        "boundaries": find_boundaries(points),
        "names": list(texts[0]),
        "texts": [list(text.values()) for text in texts],
        "thresholds": points,
    }
    return render(
        "audit.html.j2",
        c=content,
        # Audits that were stored before images had one are of rows.
        units=f"{content.get('unit', 'row')}s",
        now=texts[start],
        start=start,
        places=places,
        texts=texts,
        kinds=_describe_disagreements(content),
        thumbnails=thumbnails,
        clip_path=clip_path,
        clip_text=clip_text,
        score_text=format_score,
        chart=_draw_rates(content["thresholds"], start),
        legend=charts.draw_legend(_list_lines(content["thresholds"]), marks=False),
        slider=embed_json(slider),
        embedded=embed_json(content),
        count=format_count,
        count_span=format_count_span,
        percent=format_percent,
        span=format_span,
        claim=_write_claim,
    )


def _describe_disagreements(content: Mapping[str, Any]) -> list[tuple[str, list[Any], list[str]]]:
    """Return for each kind of disagreement a sentence, the worst rows, and the columns to show."""
    # Audits that were stored before they were listed have none.
    found = content.get("disagreements", {})
    kinds = []
    for name, sentence in DISAGREEMENTS.items():
        rows = found.get(name, [])
        if rows:
            unit = content.get("unit", "row") + ("" if len(rows) == 1 else "s")
            told = sentence.format(n=format_count(len(rows)), units=unit)
            kinds.append((told, rows[:MOST_ROWS], list(rows[0]["cells"])[:MOST_COLUMNS]))
    return kinds


def _write_claim(claim: Mapping[str, Any]) -> str:
    """Write a figure from PU labels alone: most of them are bounds."""
    return ("at most " if claim["kind"] == "at most" else "") + format_percent(claim["value"])


def _describe(content: Mapping[str, Any], place: int) -> dict[str, str]:
    """Write what the page says of the threshold at `place`."""
    curves = content["thresholds"]
    flagged = curves["flagged"][place]
    shown = {
        "threshold": format_threshold(curves["threshold"][place]),
        "exact": str(curves["threshold"][place]),
        "flagged": format_count(flagged),
        "flagged_share": format_percent(flagged / content["rows"]),
    }
    for name in RATES:
        rate = {part: curves[name][part][place] for part in ("value", "low", "high")}
        shown |= {
            name: format_percent(rate["value"]),
            f"{name}_span": format_span(rate["low"], rate["high"]),
        }
    found = flagged * (curves["precision"]["value"][place] or 0.0)
    return shown | {
        "found": format_count(found),
        "false_alarms": format_count(flagged - found),
    }


def _list_lines(curves: Mapping[str, Any]) -> list[charts.Line]:
    """Make a line with its band of each rate, where it is known."""
    lines = []
    for name, series in RATES.items():
        rate = curves[name]
        known = [k for k, value in enumerate(rate["value"]) if value is not None]
        x = [curves["threshold"][k] for k in known]
        y, low, high = ([100 * rate[part][k] for k in known] for part in ("value", "low", "high"))
        lines.append(charts.Line(NAMES[name], x, y, low, high, series))
    return lines


def _draw_rates(curves: Mapping[str, Any], start: int) -> Any:
    return charts.draw_lines(
        _list_lines(curves),
        title="Precision, recall and F1",
        x_label="threshold",
        y_label="%",
        x_ticks=TICKS,
        y_ticks=[100 * tick for tick in TICKS],
        marks=False,
        cursor_at=curves["threshold"][start],
    )
