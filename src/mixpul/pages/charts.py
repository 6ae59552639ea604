"""Small charts as inline SVG: no script, no file beside the page, colours from the page's theme.

Colours are classes (`series-0` to `series-8`) that `static/charts.css` defines for light and for
dark pages; dashes and marks tell lines apart where colours do not.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = [
    "Line",
    "choose_ticks",
    "draw_bars",
    "draw_dots",
    "draw_intervals",
    "draw_legend",
    "draw_lines",
    "make_steps",
]

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 42, 18, 24, 42
ROW_LEFT, ROW_TOP, ROW_HEIGHT = 132, 4, 19  # of charts with a row for each label
DASHES = ("", "6 3", "2 3", "9 3 2 3", "", "6 3", "2 3", "9 3 2 3", "4 2")
N_SERIES = 9


@dataclass(frozen=True)
class Line:
    """One line of a chart: `y` against `x`, and if given a band from `low` to `high`."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    series: int = 0


@dataclass(frozen=True)
class _Scale:
    """A map from numbers to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (
            (math.log(v) for v in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (self.end - self.start) * (value - low) / (high - low)


def draw_lines(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_ticks: Sequence[float] | None = None,
    y_ticks: Sequence[float] | None = None,
    log_x: bool = False,
    marks: bool = True,
    dashed_at: float | None = None,
    dashed_label: str = "",
    cursor_at: float | None = None,
) -> Markup:
    """Draw lines, with bands where they have them, on one pair of axes.

    Parameters
    ----------
    lines : sequence of Line
    title : str
        Read by screen readers, and shown above the chart.
    x_label, y_label : str
    x_ticks : sequence of float, optional
        By default round numbers, on a logarithmic axis the points themselves.
    y_ticks : sequence of float, optional
        From the bottom of the chart to its top; by default round numbers around the data.
    log_x : bool, default=False
    marks : bool, default=True
        Whether every point has a mark.
    dashed_at : float, optional
        Where to draw a vertical dashed line.
    dashed_label : str
        The text beside it.
    cursor_at : float, optional
        Where to draw a vertical line that a script may move. It carries the ends of the axis, in
        numbers (`data-low`, `data-high`) and in pixels (`data-start`, `data-end`).

    Examples
    --------
    >>> from mixpul.pages.charts import Line, draw_lines
    >>> line = Line("AUC", [0.1, 0.2], [0.61, 0.74])
    >>> svg = draw_lines([line], title="AUC by share", x_label="share", y_label="AUC")
    >>> svg.startswith("<svg"), svg.count("<path")
    (True, 3)
    """
    lines = [line for line in lines if len(line.x)]
    if not lines:
        raise ValueError(f"The chart {title!r} has no points to draw.")
    values = [v for line in lines for part in (line.y, line.low, line.high) for v in part or ()]
    y_ticks = choose_ticks(min(values), max(values)) if y_ticks is None else y_ticks
    xs = [v for line in lines for v in line.x] + ([] if dashed_at is None else [dashed_at])
    if x_ticks is None:
        ticks = sorted(set(xs)) if log_x else choose_ticks(min(xs), max(xs))
        # No tick beyond the last point: it would leave an empty strip on the right.
        x_ticks = [tick for tick in ticks if tick <= max(xs)]
    x = _Scale(*_widen(min(*x_ticks, *xs), max(*x_ticks, *xs)), LEFT, WIDTH - RIGHT, log_x)
    y = _Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    parts = [_draw_y_axis(y, y_ticks, y_label), _draw_x_axis(x, x_ticks, x_label)]
    if dashed_at is not None:
        parts.append(_draw_dashed(x(dashed_at), dashed_label))
    # What comes later is drawn on top: bands must not cover lines.
    parts += [_draw_band(line, x, y) for line in lines]
    parts += [_draw_path(line, x, y, marks) for line in lines]
    if cursor_at is not None:
        parts.append(_draw_cursor(x, cursor_at))
    return _wrap_svg(title, HEIGHT, parts)


def draw_dots(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    label: str,
    emphasis: int | None = None,
) -> Markup:
    """Draw one dot for each label on a common scale, from top to bottom.

    The row with the number `emphasis` stands out.
    """
    ticks = choose_ticks(min(values), max(values))
    # Ten pixels less than other charts: the number stands to the right of its dot.
    x = _Scale(ticks[0], ticks[-1], ROW_LEFT, WIDTH - RIGHT - 10)

    def draw(row: int, at: float) -> Markup:
        return _draw_dot(x, values[row], at, row == emphasis) + Markup(
            '<text class="value" x="{}" y="{}">{:.1f}</text>'
        ).format(_px(x(values[row]) + 8), at + 4, values[row])

    return _draw_rows(labels, x, ticks, draw, title, label)


def draw_intervals(
    labels: Sequence[str],
    values: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    title: str,
    label: str,
    emphasis: int | None = None,
) -> Markup:
    """Draw one dot for each label, from top to bottom, on a line from `low` to `high`.

    The row with the number `emphasis` stands out.

    >>> svg = draw_intervals(["a"], [0.7], [0.6], [0.8], title="AUC", label="AUC")
    >>> svg.count("whisker")
    1
    """
    ticks = choose_ticks(min(low), max(high))
    x = _Scale(ticks[0], ticks[-1], ROW_LEFT, WIDTH - RIGHT)

    def draw(row: int, at: float) -> Markup:
        return _draw_dot(x, values[row], at, row == emphasis) + _draw_whisker(
            x, low[row], high[row], at
        )

    return _draw_rows(labels, x, ticks, draw, title, label)


def draw_bars(
    labels: Sequence[str],
    values: Sequence[float],
    errors: Sequence[float],
    *,
    title: str,
    label: str,
) -> Markup:
    """Draw one bar from zero for each label, with a whisker of one `error` each way.

    >>> draw_bars(["age"], [0.2], [0.05], title="What counts", label="weight").count("<rect")
    1
    """
    pairs = list(zip(values, errors, strict=True))
    ticks = choose_ticks(min(0.0, *(v - e for v, e in pairs)), max(0.0, *(v + e for v, e in pairs)))
    x = _Scale(ticks[0], ticks[-1], ROW_LEFT, WIDTH - RIGHT)

    def draw(row: int, at: float) -> Markup:
        value, error = pairs[row]
        near, far = sorted((x(0), x(value)))
        bar = Markup(
            '<rect class="bar series-0" x="{0}" y="{1}" width="{2}" height="11"/>'
            '<line class="axis" x1="{3}" x2="{3}" y1="{4}" y2="{5}"/>'
        ).format(
            _px(near), at - 5.5, _px(far - near),
            _px(x(0)), at - ROW_HEIGHT / 2, at + ROW_HEIGHT / 2,
        )  # fmt: skip
        return bar + _draw_whisker(x, value - error, value + error, at)

    return _draw_rows(labels, x, ticks, draw, title, label)


def make_steps(
    name: str, edges: Sequence[float], heights: Sequence[float], series: int = 0
) -> Line:
    """Make a line of a histogram: level between two edges, filled down to zero.

    >>> make_steps("rows", [0, 1, 2], [5, 3]).y
    [0, 5, 5, 3, 3, 0]
    """
    x = [edge for edge in edges for _ in range(2)]
    y = [0, *(height for height in heights for _ in range(2)), 0]
    return Line(name, x, y, [0] * len(y), y, series)


def draw_legend(lines: Sequence[Line], marks: bool = True) -> Markup:
    """Draw names beside samples of their lines, for one or several charts."""
    items = Markup("").join(
        Markup('<li><svg viewBox="0 0 30 12" width="30" height="12" aria-hidden="true">')
        + _draw_stroke("M1 6H29", line.series)
        + (_draw_mark(15, 6, line.series) if marks else Markup(""))
        + Markup("</svg> {}</li>").format(line.name)
        for line in lines
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def choose_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Choose round numbers, the first not above `low` and the last not below `high`.

    >>> choose_ticks(0.63, 0.97)
    [0.6, 0.7, 0.8, 0.9, 1.0]
    """
    low, high = _widen(low, high)
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    # Almost enough is enough: a rounding error must not lead to the next larger step.
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    # Rounded away: a hair's breadth above a tick is no reason for one more.
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # Rounded: 3 * 0.1 is not 0.3.
    return [round(k * step, 12) for k in range(first, last + 1)]


def _widen(low: float, high: float) -> tuple[float, float]:
    """Make a range that is not empty."""
    return (low, high) if high > low else (low - 0.5 * abs(low or 1), high + 0.5 * abs(high or 1))


def _wrap_svg(title: str, height: int, parts: Sequence[Markup]) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return opening.format(WIDTH, height, title) + Markup("").join(parts) + Markup("</svg>")


def _draw_y_axis(y: _Scale, ticks: Sequence[float], label: str) -> Markup:
    rows = Markup("").join(
        Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            '<text x="{}" y="{}" text-anchor="end">{}</text>'
        ).format(LEFT, WIDTH - RIGHT, _px(y(t)), _px(y(t)), LEFT - 6, _px(y(t) + 4), text)
        for t, text in zip(ticks, _format_evenly(ticks), strict=True)
    )
    # Above the axis: level text is read without turning the head.
    return rows + Markup('<text class="label" x="0" y="11">{}</text>').format(label)


def _draw_x_axis(
    x: _Scale, ticks: Sequence[float], label: str, bottom: float = HEIGHT - BOTTOM
) -> Markup:
    rows = Markup("").join(
        Markup(
            '<line class="tick" x1="{}" x2="{}" y1="{}" y2="{}"/>'
            '<text x="{}" y="{}" text-anchor="middle">{}</text>'
        ).format(_px(x(t)), _px(x(t)), bottom, bottom + 4, _px(x(t)), bottom + 17, _format_short(t))
        for t in ticks
    )
    frame = Markup(
        '<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text class="label" x="{}" y="{}" text-anchor="middle">{}</text>'
    ).format(x.start, x.end, bottom, bottom, _px((x.start + x.end) / 2), bottom + 35, label)
    return rows + frame


def _draw_dashed(at: float, label: str) -> Markup:
    near_end = at > WIDTH / 2
    return Markup(
        '<line class="dashed" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text class="note" x="{}" y="{}" text-anchor="{}">{}</text>'
    ).format(
        _px(at), _px(at), TOP, HEIGHT - BOTTOM,
        _px(at + (-5 if near_end else 5)), TOP + 9, "end" if near_end else "start", label,
    )  # fmt: skip


def _draw_rows(
    labels: Sequence[str],
    x: _Scale,
    ticks: Sequence[float],
    draw: Callable[[int, float], Markup],
    title: str,
    label: str,
) -> Markup:
    """Draw labels from top to bottom, each with what `draw` makes of its row and its height."""
    parts = []
    for row, name in enumerate(labels):
        at = ROW_TOP + ROW_HEIGHT * (row + 0.5)
        shown = name if len(name) <= 20 else name[:19] + "…"
        text = Markup('<text x="{}" y="{}" text-anchor="end">{}<title>{}</title></text>')
        parts += [text.format(ROW_LEFT - 8, at + 4, shown, name), draw(row, at)]
    bottom = ROW_TOP + ROW_HEIGHT * len(labels)
    parts.append(_draw_x_axis(x, ticks, label, bottom=bottom))
    return _wrap_svg(title, bottom + BOTTOM, parts)


def _draw_dot(x: _Scale, value: float, at: float, stands_out: bool) -> Markup:
    return Markup(
        '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<circle class="{} filled" cx="{}" cy="{}" r="4"/>'
    ).format(
        ROW_LEFT, _px(x.end), at, at, "series-0" if stands_out else "plain", _px(x(value)), at
    )  # fmt: skip


def _draw_whisker(x: _Scale, low: float, high: float, at: float) -> Markup:
    return Markup('<line class="whisker" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        _px(x(low)), _px(x(high)), at, at
    )


def _draw_cursor(x: _Scale, at: float) -> Markup:
    return Markup(
        '<line class="cursor" x1="{0}" x2="{0}" y1="{1}" y2="{2}" '
        'data-low="{3}" data-high="{4}" data-start="{5}" data-end="{6}"/>'
    ).format(_px(x(at)), TOP, HEIGHT - BOTTOM, x.low, x.high, x.start, x.end)


def _draw_band(line: Line, x: _Scale, y: _Scale) -> Markup:
    if line.low is None or line.high is None:
        return Markup("")
    there = list(zip(line.x, line.high, strict=True))
    back = list(zip(line.x, line.low, strict=True))[::-1]
    corners = " ".join(f"{_px(x(a))},{_px(y(b))}" for a, b in there + back)
    return Markup('<polygon class="band {}" points="{}"/>').format(
        _name_series(line.series), corners
    )


def _draw_path(line: Line, x: _Scale, y: _Scale, marks: bool) -> Markup:
    points = [(x(a), y(b)) for a, b in zip(line.x, line.y, strict=True)]
    drawn = _draw_stroke("M" + "L".join(f"{_px(a)} {_px(b)}" for a, b in points), line.series)
    if marks:
        drawn += Markup("").join(_draw_mark(a, b, line.series) for a, b in points)
    return drawn


def _draw_stroke(path: str, series: int) -> Markup:
    return Markup('<path class="line {}" d="{}" stroke-dasharray="{}"/>').format(
        _name_series(series), path, DASHES[series % N_SERIES] or "none"
    )


def _draw_mark(a: float, b: float, series: int) -> Markup:
    """Draw a disc, square, triangle or diamond; from the fifth series on they are hollow."""
    hollow = series % N_SERIES >= 4
    kind = f"{_name_series(series)} {'hollow' if hollow else 'filled'}"
    shapes = (
        f"M{_px(a - 3.2)} {_px(b)}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0",
        f"M{_px(a - 3)} {_px(b - 3)}h6v6h-6z",
        f"M{_px(a)} {_px(b - 3.8)}l3.8 6.6h-7.6z",
        f"M{_px(a)} {_px(b - 4.2)}l4.2 4.2l-4.2 4.2l-4.2 -4.2z",
    )
    return Markup('<path class="mark {}" d="{}"/>').format(kind, shapes[series % N_SERIES % 4])


def _name_series(number: int) -> str:
    return f"series-{number % N_SERIES}"


def _px(value: float) -> str:
    # Nobody sees less than a tenth of a pixel, and more digits would only swell the page.
    return f"{value:.1f}".removesuffix(".0")


def _format_short(value: float) -> str:
    return f"{value:,.6g}".replace("-", "−")


def _format_evenly(values: Sequence[float]) -> list[str]:
    """Write all numbers with as many decimals as the longest needs."""
    decimals = max(len(_format_short(value).partition(".")[2]) for value in values)
    return [f"{value:,.{decimals}f}".replace("-", "−") for value in values]
