# SPDX-License-Identifier: MIT
"""Along a line: convolution, windows, slopes, integrals, interpolation."""
from __future__ import annotations

import math
from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import arange, as_float, asarray
from ._dtypes import result_type
from ._manipulation import axis_of


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The products of two lists at every shift, summed. mode: full, same (as long as the longer list) or valid (where they overlap wholly).

    >>> tessera.convolve([1.0, 2.0, 3.0], [0.5, 0.5])
    """
    few = _core.few_convolve(a, v, mode, False)
    return _shifted(asarray(a), asarray(v), mode, False) if few is None else few


def _shifted(a: Array, v: Array, mode: str, is_backwards: bool) -> Array:
    """convolve as recorded. is_backwards: where "same" cannot drop as many shifts at both ends, it drops one more at the front instead of at the back."""
    if a.ndim != 1 or v.ndim != 1 or a.size == 0 or v.size == 0:
        raise ValueError("convolve: two lists that are not empty are needed")
    dtype = result_type(a, v)
    if a.size < v.size:
        a, v = v, a
    around = v.size - 1
    before, after = {"full": (around, around), "same": (around - around // 2, around // 2), "valid": (0, 0)}.get(mode, (-1, -1))
    if before < 0:
        raise ValueError(f"convolve: mode is 'full', 'same' or 'valid', not {mode!r}")
    if mode == "same" and is_backwards:
        before, after = after, before
    if dtype.kind != "f":
        # Exact: each shift of the longer list times one element of the shorter.
        long, short = ops.cast(a, dtype), ops.cast(v, dtype)
        padded = ops.pad(long, (before,), (after,), 0)
        length = padded.size - around
        windows = [padded[i:i + length] * short[around - i] for i in range(v.size)]
        return ops.cast(ops.sum(ops.stack(windows, 0), 0), dtype)
    data, weight = ops.reshape(ops.cast(a, dtype), (1, 1, -1)), ops.reshape(ops.cast(ops.flip(v, 0), dtype), (1, 1, -1))
    return ops.reshape(ops.conv(data, weight, before=before, after=after), (-1,))


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """As convolve, with the second list not reversed. Where that is the longer one, the result is that of the lists exchanged, backwards."""
    few = _core.few_convolve(a, v, mode, True)
    if few is not None:
        return few
    a, v = asarray(a), asarray(v)
    return _shifted(a, v[::-1] if v.ndim == 1 else v, mode, a.size < v.size)


def _window(size: int, *weights: float) -> Array:
    """Sums of cosines over one period."""
    if size == 1:
        return ops.ones((1,))
    angle = arange(size, dtype=_core.float32) * (2 * math.pi / max(size - 1, 1))
    found = ops.full((size,), weights[0])
    for i, weight in enumerate(weights[1:], 1):
        found = found + weight * ops.cos(angle * i)
    return found


def hanning(M: int) -> Array:
    """Hann's window: one period of a cosine, 0 at the ends."""
    return _window(M, 0.5, -0.5)


def hamming(M: int) -> Array:
    """Hamming's window: as Hann's, 0.08 at the ends."""
    return _window(M, 0.54, -0.46)


def blackman(M: int) -> Array:
    """Blackman's window."""
    return _window(M, 0.42, -0.5, 0.08)


def bartlett(M: int) -> Array:
    """A triangle, 0 at the ends."""
    if M == 1:
        return ops.ones((1,))
    return 1 - ops.abs(arange(M, dtype=_core.float32) * (2 / (M - 1)) - 1)


def i0(x: Any) -> Array:
    """The modified Bessel function of order 0, by its power series; for |x| up to 80."""
    quarter = ops.cast(asarray(x), _core.float64)
    quarter = quarter * quarter / 4
    term = found = quarter * 0 + 1
    for k in range(1, 130):
        term = term * quarter / (k * k)
        found = found + term
    return ops.cast(found, _core.float32)


def kaiser(M: int, beta: float) -> Array:
    """Kaiser's window: the larger beta, the narrower."""
    if M == 1:
        return ops.ones((1,))
    place = arange(M, dtype=_core.float64) * (2 / (M - 1)) - 1
    return i0(beta * ops.sqrt(ops.maximum(1 - place * place, 0.0))) / i0(beta)


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Array:
    """Every window of a shape: one more axis of its size for each axis that it slides along. A copy, unlike in NumPy."""
    x = asarray(x)
    sizes = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if len(axes) != len(sizes):
        raise ValueError("sliding_window_view: a size for each axis is needed")
    for own, size in zip(axes, sizes):
        own %= x.ndim
        count = x.shape[own] - size + 1
        if count < 1:
            raise ValueError(f"sliding_window_view: a window of {size} does not fit into {x.shape[own]}")
        places = arange(count, device=x.device)[:, None] + arange(size, device=x.device)
        chosen = ops.index_select(x, own, ops.reshape(places, (-1,)))
        shaped = ops.reshape(chosen, x.shape[:own] + (count, size) + x.shape[own + 1:])
        x = ops.moveaxis(shaped, own + 1, -1)
    return x


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slope at each element along each axis, from its neighbours; at the ends from edge_order of them. Distances are numbers, or the places themselves.

    >>> tessera.gradient([1.0, 4.0, 9.0, 16.0])
    """
    f = as_float(f)
    axes = list(range(f.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    spaces = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    found = [_slope(f, space, axis_of(own, f.ndim), edge_order) for own, space in zip(axes, spaces)]
    return found[0] if len(found) == 1 else found


def _end_slope(near: Array, middle: Array, far: Array, step: Any, next_step: Any) -> Array:
    """The slope at `near` of the parabola through three points; `step` goes from the first to the second."""
    both = step + next_step
    return (middle * (both / (step * next_step)) - near * ((step + both) / (step * both))) - far * (step / (next_step * both))


def _slope(f: Array, space: Any, axis: int, edge_order: int) -> Array:
    def part(start: int | None, stop: int | None) -> Array:
        return f[(slice(None),) * axis + (slice(start, stop),)]

    if f.shape[axis] <= edge_order:
        raise ValueError(f"gradient: axis {axis} has {f.shape[axis]} elements, edge_order {edge_order} needs {edge_order + 1}")
    if isinstance(space, (int, float)) or asarray(space).ndim == 0:
        ends = [space] * 4
        inner = (part(2, None) - part(None, -2)) / (2 * space)
    else:
        steps = ops.reshape(ops.diff(as_float(space), 1, -1), (-1,) + (1,) * (f.ndim - 1 - axis))
        ends = [steps[:1], steps[1:2], steps[-1:], steps[-2:-1]]
        before, after = steps[:-1], steps[1:]
        inner = (before**2 * part(2, None) + (after**2 - before**2) * part(1, -1) - after**2 * part(None, -2)) / (before * after * (before + after))
    if edge_order == 2:
        first = _end_slope(part(0, 1), part(1, 2), part(2, 3), ends[0], ends[1])
        last = -_end_slope(part(-1, None), part(-2, -1), part(-3, -2), ends[2], ends[3])
    else:
        first, last = (part(1, 2) - part(0, 1)) / ends[0], (part(-1, None) - part(-2, -1)) / ends[2]
    return ops.concat([first, inner, last], axis)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The integral along an axis, by straight lines between the points."""
    y = asarray(y)
    axis = axis_of(axis, y.ndim)
    width: Any = dx
    if x is not None:
        width = ops.diff(x, 1, -1)
        if width.ndim == 1:
            width = ops.reshape(width, (-1,) + (1,) * (y.ndim - 1 - axis))
    before, after = (slice(None),) * axis + (slice(None, -1),), (slice(None),) * axis + (slice(1, None),)
    return ops.sum((y[before] + y[after]) * 0.5 * width, axis)


trapz = trapezoid


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Array:
    """The height at each x of the straight lines between points; beyond them that of the first and the last, or `left` and `right`. With a period, x goes around.

    >>> tessera.interp([0.5, 1.5], [0.0, 1.0, 2.0], [0.0, 10.0, 0.0])
    """
    x, xp, fp = as_float(x), as_float(xp), as_float(fp)
    if period is not None:
        order = ops.argsort(ops.mod(xp, period), 0)
        xp, fp = ops.take(ops.mod(xp, period), order), ops.take(fp, order)
        xp, fp = ops.concat([xp[-1:] - period, xp, xp[:1] + period], 0), ops.concat([fp[-1:], fp, fp[:1]], 0)
        return ops.interp(ops.mod(x, period), xp, fp)
    found = ops.interp(x, xp, fp)
    if left is not None:
        found = ops.where(ops.lt(x, xp[0]), left, found)
    return found if right is None else ops.where(ops.gt(x, xp[-1]), right, found)


def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Array:
    """Angles without jumps: where two neighbours differ by more than half a period, whole periods are added."""
    p = as_float(p)
    step = ops.diff(p, 1, axis)
    half = period / 2
    small = ops.mod(step + half, period) - half
    small = ops.where(ops.logical_and(ops.eq(small, -half), ops.gt(step, 0)), half, small)
    change = ops.where(ops.lt(ops.abs(step), half if discont is None else discont), 0.0, small - step)
    before = (slice(None),) * axis_of(axis, p.ndim)
    first, rest = p[before + (slice(0, 1),)], p[before + (slice(1, None),)]
    return ops.concat([first, rest + ops.cumsum(change, axis)], axis)
