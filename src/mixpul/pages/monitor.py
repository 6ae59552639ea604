"""The page of a later table: has the world moved since the fit?"""

from collections.abc import Mapping
from typing import Any

from mixpul.pages.cells import clip_text
from mixpul.pages.numbers import format_count, format_percent, format_span
from mixpul.pages.render import embed_json, render

__all__ = ["describe_share", "render_monitor_page"]

# Columns whose bins are drawn, and bins of each.
MOST_DRAWN, MOST_BINS = 12, 14


def render_monitor_page(found: Mapping[str, Any]) -> str:
    """Write what `mixpul monitor --json` prints as one HTML page that loads nothing."""
    moved = [entry for entry in found["columns"] if entry["findings"]]
    return render(
        "monitor.html.j2",
        c=found,
        moved=moved,
        drawn=[(entry, _list_bins(entry["bins"])) for entry in moved[:MOST_DRAWN]],
        score_bins=_list_score_bins(found["scores"]),
        share=describe_share(found["positives"]) if found["positives"] else None,
        embedded=embed_json(found),
        percent=format_percent,
        count=format_count,
        clip_text=clip_text,
    )


def describe_share(share: Mapping[str, Any]) -> str:
    """Say how the share of positives has changed, if nothing else has."""
    ratio, now = share["negatives_ratio"], share["now"]
    if not share["moved"]:
        text = "no change that stands out"
    else:
        text = "fewer positives" if ratio["ratio"] > 1 else "more positives"
    text += (
        f"; negatives are {ratio['ratio']:.2f} times as frequent as at the fit "
        f"({ratio['low']:.2f} to {ratio['high']:.2f})"
    )
    if now is None:
        return text
    if now["value"] is None:
        span = format_span(now["low"], now["high"])
        return f"{text}; {span} are positive now, depending on the prior"
    return (
        f"{text}; about {format_percent(now['value'])} are positive now "
        f"({format_span(now['low'], now['high'])}), {format_percent(share['prior'])} at the fit"
    )


def _list_bins(bins: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List bins with rows, the largest change first if there are many; widths are for bars."""
    listed = [
        {"name": clip_text(str(name)), "before": before, "now": now}
        for name, before, now in zip(bins["names"], bins["before"], bins["now"], strict=True)
        if before or now
    ]
    if len(listed) > MOST_BINS:
        chosen = sorted(listed, key=lambda one: -abs(one["now"] - one["before"]))[:MOST_BINS]
        listed = [one for one in listed if one in chosen]
    return _widen(listed)


def _list_score_bins(scores: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if scores is None:
        return []
    ends = [k / len(scores["now"]) for k in range(len(scores["now"]) + 1)]
    return _widen(
        [
            {"name": f"{low:.2f} to {high:.2f}", "before": before, "now": now}
            for low, high, before, now in zip(
                ends[:-1], ends[1:], scores["before"], scores["now"], strict=True
            )
        ]
    )


def _widen(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    most = max((max(one["before"], one["now"]) for one in listed), default=1.0) or 1.0
    for one in listed:
        one["before_width"], one["now_width"] = (
            round(100 * one[key] / most, 1) for key in ("before", "now")
        )
    return listed
