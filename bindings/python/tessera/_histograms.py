# SPDX-License-Identifier: MIT
"""How many elements there are of each number, or in each range."""
from __future__ import annotations

import builtins
import math
from typing import Any, Callable

from . import _core, ops
from ._core import Array
from ._creation import as_float, asarray, linspace
from ._dtypes import result_type


def _numbers(x: Any) -> Array:
    """All elements as floats, along one axis."""
    return as_float(ops.reshape(asarray(x), (-1,)))


def _spread(x: Array) -> float:
    return float(ops.std(x))


def _fd(x: Array, extent: float) -> float:
    """Freedman's and Diaconis' width."""
    return 2 * float(ops.quantile(x, 0.75, 0) - ops.quantile(x, 0.25, 0)) * x.size ** (-1 / 3)


def _sturges(x: Array, extent: float) -> float:
    return extent / (math.log2(x.size) + 1)


def _doane(x: Array, extent: float) -> float:
    """Sturges' width, narrower for skewed data."""
    spread = _spread(x)
    if x.size < 3 or spread == 0:
        return 0.0
    skew = abs(float(ops.mean(((x - ops.mean(x)) / spread) ** 3)))
    return extent / (1 + math.log2(x.size) + math.log2(1 + skew / math.sqrt(6 * (x.size - 2) / ((x.size + 1) * (x.size + 3)))))


def _auto(x: Array, extent: float) -> float:
    width = _fd(x, extent)
    return min(width, _sturges(x, extent)) if width else _sturges(x, extent)


# Widths of ranges, from the elements and the distance between the extremes.
_WIDTHS: dict[str, Callable[[Array, float], float]] = {
    "auto": _auto, "fd": _fd, "doane": _doane, "sturges": _sturges,
    "scott": lambda x, extent: (24 * math.sqrt(math.pi) / x.size) ** (1 / 3) * _spread(x),
    "rice": lambda x, extent: extent / (2 * x.size ** (1 / 3)),
    "sqrt": lambda x, extent: extent / math.sqrt(x.size),
}


def _limits(x: Array, given: Any) -> tuple[float, float]:
    low, high = given or ((float(ops.min(x)), float(ops.max(x))) if x.size else (0.0, 1.0))
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _edges(x: Array, limits: tuple[float, float], bins: int) -> Array:
    """Edges in the dtype of x if that is float64, so that the extremes of x are not rounded to the outside."""
    return linspace(*limits, bins + 1, dtype=_core.float64 if x.dtype == _core.float64 else _core.float32, device=x.device)


def _count_by_rule(x: Array, rule: str, limits: Any) -> int:
    """How many ranges a rule makes of the data."""
    if rule not in _WIDTHS:
        raise ValueError(f"histogram: there is no rule {rule!r} for bins; there are {', '.join(_WIDTHS)}")
    low, high = _limits(x, limits)
    if limits:
        x = x[ops.logical_and(ops.ge(x, low), ops.le(x, high))]
    width = _WIDTHS[rule](x, high - low) if x.size else 0.0
    return math.ceil((high - low) / width) if width else 1


def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges that histogram counts between. Without a range, waits for the extremes.

    >>> tessera.histogram_bin_edges([1.0, 2.0, 2.5, 4.0], bins=3)
    """
    x = _numbers(x)
    if isinstance(bins, str):
        bins = _count_by_rule(x, bins, range)
    return _edges(x, _limits(x, range), bins) if isinstance(bins, int) else asarray(bins)


def histogram(x: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> tuple[Array, Array]:
    """How many elements lie in each of so many ranges of one width, or between edges that are given, and the edges. Without a range, waits for the extremes.
    bins may also be one of NumPy's rules for the number of ranges: "auto", "fd", "sturges", …

    >>> tessera.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
    """
    x = _numbers(x)
    if isinstance(bins, str):
        bins = _count_by_rule(x, bins, range)
    if isinstance(bins, int) and weights is None and not density:
        low, high = _limits(x, range)
        return ops.cast(ops.histogram(x, bins, low, high), _core.int64), _edges(x, (low, high), bins)
    edges = histogram_bin_edges(x, bins, range)
    counts = _counts([x], [edges], weights)
    if density:
        counts = counts / (ops.cast(ops.sum(counts), _core.float32) * ops.diff(edges, 1, 0))
    return counts, edges


def _counts(columns: list[Array], edges: list[Array], weights: Any) -> Array:
    """Points, or their weights, in each box between edges; the last box along an axis has its upper edge, too."""
    sizes = [own.size - 1 for own in edges]
    flat: Any = 0
    inside: Any = True
    for x, own, size in zip(columns, edges, sizes):
        own = ops.cast(own, result_type(x, own))
        place = ops.searchsorted(own, ops.cast(x, own.dtype), True) - 1
        place = ops.where(ops.eq(x, own[-1]), size - 1, place)
        inside = ops.logical_and(inside, ops.logical_and(ops.ge(place, 0), ops.lt(place, size)))
        flat = flat * size + ops.clip(place, 0, size - 1)
    if weights is None:
        values: Array = ops.cast(inside, _core.int64)
    else:
        values = ops.reshape(asarray(weights), (-1,))
        values = ops.where(inside, values, asarray(0, values.dtype, device=values.device))
    counts = ops.zeros((math.prod(sizes),), values.dtype, columns[0].device)
    return ops.reshape(ops.scatter_add(counts, 0, flat, values), sizes)


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> tuple[Array, list[Array]]:
    """How many points, the rows of a matrix or lists of coordinates, lie in each box, and the edges along each axis.

    >>> tessera.histogramdd([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], bins=2)[0]
    """
    points = ops.stack([_numbers(own) for own in sample], 1) if isinstance(sample, tuple) else asarray(sample)
    columns = [_numbers(points[:, i]) for i in builtins.range(points.shape[1])]
    rank = len(columns)
    listed = [bins] * rank if isinstance(bins, (int, str)) else list(bins)
    limits = [None] * rank if range is None else list(range)
    if len(listed) != rank or len(limits) != rank:
        raise ValueError(f"histogramdd: points with {rank} coordinates, but {len(listed)} bins and {len(limits)} ranges")
    edges = [histogram_bin_edges(*own) for own in zip(columns, listed, limits)]
    counts = _counts(columns, edges, weights)
    counts = counts if counts.dtype.kind == "f" else ops.cast(counts, _core.float32)
    if density:
        counts = counts / ops.sum(counts)
        for axis, own in enumerate(edges):
            counts = counts / ops.reshape(ops.diff(own, 1, 0), (-1,) + (1,) * (rank - 1 - axis))
    return counts, edges


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> tuple[Array, Array, Array]:
    """How many points lie in each rectangle, and the edges along both axes."""
    listed = bins if isinstance(bins, (list, tuple)) and len(bins) == 2 else (bins, bins)
    counts, (first, second) = histogramdd((x, y), listed, range, density, weights)
    return counts, first, second


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """How often 0, 1, … occur, up to the largest element. Waits for that one.

    >>> tessera.bincount([0, 1, 1, 3])
    """
    x = asarray(x)
    length = int(ops.max(x)) + 1 if x.size else 0
    if length < minlength:
        length = minlength
    if not length:
        return ops.zeros((0,), _core.int64, x.device)
    if weights is None:
        return ops.cast(ops.bincount(x, None, length), _core.int64)
    weights = asarray(weights)
    return ops.bincount(x, weights if weights.dtype.kind == "f" else ops.cast(weights, _core.float32), length)
