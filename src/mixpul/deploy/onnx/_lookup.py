"""Straight lines between knots, as `numpy.interp` draws them."""

import math

import numpy as np
from numpy.typing import NDArray

from mixpul.deploy.onnx._graph import INT64, Graph

__all__ = ["interpolate"]


def interpolate(graph: Graph, x: str, knots: NDArray, values: NDArray) -> str:
    """Add the line through (knots, values), constant beyond its ends; `x` is (rows, 1) in double.

    The knot below x is found in two steps of about sqrt(n) comparisons, not in n: a table has up
    to a thousand knots, and a batch many rows.
    """
    knots, values = np.asarray(knots, np.float64), np.asarray(values, np.float64)
    n = len(knots)
    width = math.isqrt(n - 1) + 1
    grid = np.full((width, width), np.inf)
    grid.ravel()[:n] = knots
    inside = graph.add("Clip", x, knots[0], knots[-1])
    line = _count_up_to(graph, inside, grid[None, :, 0])
    # (rows, 1, width), without the middle axis.
    fine = graph.add("Squeeze", graph.add("Gather", grid, line, axis=0), np.array([1]))
    place = _count_up_to(graph, inside, fine)
    index = graph.add("Add", graph.add("Mul", line, np.int64(width)), place)
    widths, steps = np.diff(knots, append=np.inf), np.diff(values, append=values[-1])
    # Of equal knots the last one counts, and the others have no line of their own.
    slopes = np.divide(steps, widths, out=np.zeros(n), where=widths > 0)
    from_knot = graph.add("Sub", inside, graph.add("Gather", knots, index))
    rise = graph.add("Mul", graph.add("Gather", slopes, index), from_knot)
    return graph.add("Add", rise, graph.add("Gather", values, index))


def _count_up_to(graph: Graph, x: str, limits: str | NDArray) -> str:
    """Add the place of the last limit that is not above x, counted from 0."""
    is_passed = graph.cast(graph.add("GreaterOrEqual", x, limits), INT64)
    n_passed = graph.add("ReduceSum", is_passed, np.array([1]))
    return graph.add("Sub", n_passed, np.int64(1))
