# SPDX-License-Identifier: MIT
"""Along a line: convolution, windows, padding, slopes, polynomials."""
from __future__ import annotations

import math
from typing import Any

from . import _core, linalg, ops
from ._core import Array
from ._creation import arange, asarray
from ._dtypes import result_type
from ._manipulation import axis_of


def _float(x: Any) -> Array:
    x = asarray(x)
    return x if x.dtype.kind == "f" else ops.cast(x, _core.float32)


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The products of two lists at every shift, summed. mode: full, same (as long as the longer list) or valid (where they overlap wholly).

    >>> tessera.convolve([1.0, 2.0, 3.0], [0.5, 0.5])
    """
    few = _core.few_convolve(a, v, mode, False)
    if few is not None:
        return few
    a, v = asarray(a), asarray(v)
    if a.ndim != 1 or v.ndim != 1 or a.size == 0 or v.size == 0:
        raise ValueError("convolve: two lists that are not empty are needed")
    dtype = result_type(a, v)
    if a.size < v.size:
        a, v = v, a
    around = v.size - 1
    before, after = {"full": (around, around), "same": (around - around // 2, around // 2), "valid": (0, 0)}.get(mode, (-1, -1))
    if before < 0:
        raise ValueError(f"convolve: mode is 'full', 'same' or 'valid', not {mode!r}")
    if mode == "same":
        before, after = around // 2 + around % 2, around // 2
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
    """As convolve, with the second list not reversed."""
    few = _core.few_convolve(a, v, mode, True)
    if few is not None:
        return few
    v = asarray(v)
    return convolve(a, v[::-1] if v.ndim == 1 else v, mode)


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


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * rank
    listed = asarray(pad_width).tolist()
    if not isinstance(listed[0], list):
        return [(listed[0], listed[-1])] * rank
    if len(listed) == 1:
        listed = listed * rank
    return [(own[0], own[-1]) for own in listed]


def _pad_places(mode: str, size: int, before: int, after: int, device: Any) -> Array:
    """Which element of an axis stands at each place of the padded one."""
    place = arange(-before, size + after, dtype=_core.int64, device=device)
    if mode == "edge":
        return ops.clip(place, 0, size - 1)
    if mode == "wrap":
        return ops.mod(place, size)
    period = max(2 * (size - 1), 1) if mode == "reflect" else 2 * size
    place = ops.mod(place, period)
    return ops.minimum(place, (period if mode == "reflect" else period - 1) - place)


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0, **options: Any) -> Array:
    """Elements around the array. mode: constant, edge, reflect, symmetric or wrap.

    >>> tessera.pad([1, 2, 3], (1, 2), mode="edge")
    """
    if options:
        raise NotImplementedError(f"pad: there is no {', '.join(options)} here")
    x = asarray(array)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        if not isinstance(constant_values, (int, float)):
            constant_values = asarray(constant_values).item()
        return ops.pad(x, [before for before, _ in widths], [after for _, after in widths], constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise NotImplementedError(f"pad: modes are constant, edge, reflect, symmetric and wrap, not {mode!r}")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = ops.index_select(x, axis, _pad_places(mode, x.shape[axis], before, after, x.device))
    return x


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


def gradient(f: Any, *varargs: Any, axis: Any = None) -> Any:
    """The slope at each element along each axis, from its neighbours; at the ends from one. Distances are numbers, or the places themselves.

    >>> tessera.gradient([1.0, 4.0, 9.0, 16.0])
    """
    f = _float(f)
    axes = list(range(f.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    spaces = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    found = [_slope(f, space, axis_of(own, f.ndim)) for own, space in zip(axes, spaces)]
    return found[0] if len(found) == 1 else found


def _slope(f: Array, space: Any, axis: int) -> Array:
    def part(start: int | None, stop: int | None) -> Array:
        return f[(slice(None),) * axis + (slice(start, stop),)]

    if isinstance(space, (int, float)) or asarray(space).ndim == 0:
        inner = (part(2, None) - part(None, -2)) / (2 * space)
        first, last = (part(1, 2) - part(0, 1)) / space, (part(-1, None) - part(-2, -1)) / space
    else:
        steps = ops.reshape(ops.diff(_float(space), 1, -1), (-1,) + (1,) * (f.ndim - 1 - axis))
        before, after = steps[:-1], steps[1:]
        inner = (before**2 * part(2, None) + (after**2 - before**2) * part(1, -1) - after**2 * part(None, -2)) / (before * after * (before + after))
        first, last = (part(1, 2) - part(0, 1)) / steps[:1], (part(-1, None) - part(-2, -1)) / steps[-1:]
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


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Array:
    """The height at each x of the straight lines between points; beyond them that of the first and the last, or `left` and `right`.

    >>> tessera.interp([0.5, 1.5], [0.0, 1.0, 2.0], [0.0, 10.0, 0.0])
    """
    x, xp, fp = _float(x), _float(xp), _float(fp)
    found = ops.interp(x, xp, fp)
    if left is not None:
        found = ops.where(ops.lt(x, xp[0]), left, found)
    return found if right is None else ops.where(ops.gt(x, xp[-1]), right, found)


def polyval(p: Any, x: Any) -> Array:
    """A polynomial at each x; the coefficient of the highest power comes first."""
    coefficients, x = asarray(p), asarray(x)
    found = ops.zeros(x.shape, result_type(coefficients, x), x.device)
    for i in range(coefficients.size):
        found = found * x + coefficients[i]
    return found


def polyfit(x: Any, y: Any, deg: int) -> Array:
    """The polynomial of a degree that comes closest to points; the coefficient of the highest power comes first.

    >>> tessera.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1)
    """
    x, y = _float(x), _float(y)
    powers = vander(x, deg + 1)
    scale = ops.sqrt(ops.sum(powers * powers, 0, True))
    return linalg.lstsq(powers / scale, y)[0] / (scale[0] if y.ndim == 1 else scale[0][:, None])


def polyder(p: Any, m: int = 1) -> Array:
    """The coefficients of a polynomial's m-th derivative."""
    p = _float(p)
    for _ in range(m):
        p = p[:-1] * arange(p.size - 1, 0, -1, dtype=p.dtype, device=p.device)
    return p


def polyint(p: Any, m: int = 1) -> Array:
    """The coefficients of a polynomial's m-th integral, 0 at 0."""
    p = _float(p)
    for _ in range(m):
        p = ops.concat([p / arange(p.size, 0, -1, dtype=p.dtype, device=p.device), ops.zeros((1,), p.dtype, p.device)], 0)
    return p


def polyadd(a: Any, b: Any) -> Array:
    """The sum of two polynomials, given by their coefficients, the highest power first."""
    first, second = asarray(a), asarray(b)
    if first.shape == second.shape:
        return first + second
    size = max(first.size, second.size)
    return pad(first, (size - first.size, 0)) + pad(second, (size - second.size, 0))


def polysub(a: Any, b: Any) -> Array:
    """The difference of two polynomials, given by their coefficients, the highest power first."""
    return polyadd(a, -asarray(b))


def polymul(a: Any, b: Any) -> Array:
    """The coefficients of the product of two polynomials."""
    return convolve(asarray(a), asarray(b))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of a list as columns, the highest first unless `increasing`."""
    x = asarray(x)
    count = x.size if N is None else N
    columns = [ops.ones(x.shape, x.dtype, x.device)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return ops.stack(columns if increasing else columns[::-1], 1)


def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Array:
    """Angles without jumps: where two neighbours differ by more than half a period, whole periods are added."""
    p = _float(p)
    step = ops.diff(p, 1, axis)
    half = period / 2
    small = ops.mod(step + half, period) - half
    small = ops.where(ops.logical_and(ops.eq(small, -half), ops.gt(step, 0)), half, small)
    change = ops.where(ops.lt(ops.abs(step), half if discont is None else discont), 0.0, small - step)
    before = (slice(None),) * axis_of(axis, p.ndim)
    first, rest = p[before + (slice(0, 1),)], p[before + (slice(1, None),)]
    return ops.concat([first, rest + ops.cumsum(change, axis)], axis)
