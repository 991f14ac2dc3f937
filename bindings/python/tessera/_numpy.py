# SPDX-License-Identifier: MIT
"""Functions that NumPy has and the array API has not."""
from __future__ import annotations

from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import asarray, linspace
from ._manipulation import stack


def round(x: Any, decimals: int = 0) -> Array:
    """The nearest numbers with so many decimals, halves to the even one."""
    x = asarray(x)
    if decimals == 0 or x.dtype.kind != "f":
        return ops.round(x) if decimals >= 0 else ops.cast(round(ops.cast(x, _core.float64), decimals), x.dtype)
    scale = 10.0 ** abs(decimals)
    return ops.round(x * scale) / scale if decimals > 0 else ops.round(x / scale) * scale


around = round


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """How often 0, 1, … occur, up to the largest element. Waits for that one."""
    x = asarray(x)
    length = max(int(ops.max(x)) + 1 if x.size else 0, minlength)
    return ops.bincount(x, weights, length) if length else ops.zeros((0,), _core.int32, x.device)


def histogram(x: Any, bins: int = 10, range: tuple[float, float] | None = None) -> tuple[Array, Array]:
    """How many elements lie in each of so many ranges of one width, and the edges of the ranges. Without a range, waits for the extremes."""
    x = asarray(x)
    low, high = range or (float(ops.min(x)), float(ops.max(x)))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return ops.histogram(x, bins, low, high), linspace(low, high, bins + 1, device=x.device)


def quantile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Array:
    """What stands at q * (size - 1) of the sorted elements, interpolated; of several q, along a new first axis."""
    x = asarray(x)
    if not isinstance(q, (int, float)):
        return stack([quantile(x, own, axis, keepdims) for own in asarray(q).tolist()])
    if axis is not None:
        return ops.quantile(x, q, axis, keepdims)
    found = ops.quantile(ops.reshape(x, (-1,)), q, 0, False)
    return ops.reshape(found, (1,) * x.ndim) if keepdims else found


def percentile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Array:
    """quantile(x, q / 100)."""
    return quantile(x, q / 100 if isinstance(q, (int, float)) else asarray(q, _core.float64) / 100, axis, keepdims)


def average(x: Any, axis: Any = None, weights: Any = None) -> Array:
    """The mean over axes, each element with its weight."""
    if weights is None:
        return ops.mean(x, axis)
    x, weights = asarray(x), asarray(weights)
    if weights.ndim == 1 and x.ndim > 1 and isinstance(axis, int):
        weights = ops.reshape(weights, (-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))
    weights = ops.expand(weights, x.shape)
    return ops.sum(x * weights, axis) / ops.sum(weights, axis)


def ptp(x: Any, axis: Any = None) -> Array:
    """The largest element minus the smallest."""
    return ops.sub(ops.max(x, axis), ops.min(x, axis))


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The integral along an axis, by straight lines between the points."""
    y = asarray(y)
    axis = axis % y.ndim
    width: Any = dx
    if x is not None:
        width = ops.diff(x, 1, -1)
        if width.ndim == 1:
            width = ops.reshape(width, (-1,) + (1,) * (y.ndim - 1 - axis))
    before, after = (slice(None),) * axis + (slice(None, -1),), (slice(None),) * axis + (slice(1, None),)
    return ops.sum((y[before] + y[after]) * 0.5 * width, axis)


trapz = trapezoid


def diag(x: Any, k: int = 0) -> Array:
    """The matrix with a list on its k-th diagonal; of a matrix, a view of the diagonal."""
    return ops.diag(x, k)


def interp(x: Any, xp: Any, fp: Any) -> Array:
    """The height at each x of the straight lines between points."""
    return ops.interp(x, xp, fp)


def logspace(start: float, stop: float, num: int = 50, base: float = 10.0) -> Array:
    """base to the powers from start to stop, evenly spaced."""
    return base ** linspace(start, stop, num)


def fliplr(x: Any) -> Array:
    """A view with axis 1 reversed."""
    return ops.flip(x, 1)


def flipud(x: Any) -> Array:
    """A view with axis 0 reversed."""
    return ops.flip(x, 0)


def atleast_1d(x: Any) -> Array:
    """The array, with an axis if it has none."""
    x = asarray(x)
    return ops.reshape(x, (1,)) if x.ndim == 0 else x


def isscalar(x: Any) -> bool:
    """Whether it is a Python number or text."""
    return isinstance(x, (bool, int, float, complex, str, bytes))


def _sort(self: Array, axis: int = -1) -> None:
    """Sorts the array in place, along an axis."""
    ops.assign(self, ops.sort(self, axis))


def _fill(self: Array, value: Any) -> None:
    """Sets every element to a number."""
    self[...] = value


def _argsort(self: Array, axis: int = -1) -> Array:
    """The index (int32) of each element of the sorted array."""
    return ops.argsort(self, axis)


def _nonzero(self: Array) -> tuple[Array, ...]:
    """The indices (int32) of the elements that are not 0, one array for each axis."""
    from ._searching import nonzero

    return nonzero(self)


for _name, _method in {"sort": _sort, "fill": _fill, "argsort": _argsort, "nonzero": _nonzero, "round": round, "__round__": round}.items():
    setattr(Array, _name, _method)
