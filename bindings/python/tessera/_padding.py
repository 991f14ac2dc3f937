# SPDX-License-Identifier: MIT
"""Elements around arrays: pad."""
from __future__ import annotations

from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import arange, asarray

_INDEXED = ("edge", "reflect", "symmetric", "wrap")


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """What stands before and behind each axis, from one for all, one pair for all, or a pair for each axis."""
    if given is None or isinstance(given, (int, float)):
        return [(given, given)] * rank
    listed = asarray(given).tolist()
    if not isinstance(listed, list):
        return [(listed, listed)] * rank
    if not isinstance(listed[0], list):
        return [(listed[0], listed[-1])] * rank
    if len(listed) == 1:
        listed = listed * rank
    return [(own[0], own[-1]) for own in listed]


def _places(mode: str, size: int, before: int, after: int, device: Any) -> Array:
    """Which element of an axis stands at each place of the padded one."""
    place = arange(-before, size + after, dtype=_core.int64, device=device)
    if mode == "edge":
        return ops.clip(place, 0, size - 1)
    if mode == "wrap":
        return ops.mod(place, size)
    period = max(2 * (size - 1), 1) if mode == "reflect" else 2 * size
    place = ops.mod(place, period)
    return ops.minimum(place, (period if mode == "reflect" else period - 1) - place)


def _ramp(x: Array, axis: int, width: int, end: Any, is_first: bool) -> Array:
    """Numbers from `end` towards the edge, evenly spaced."""
    size = x.shape[axis]
    edge = ops.slice(x, axis, 0, 1) if is_first else ops.slice(x, axis, size - 1, size)
    edge = edge if x.dtype.kind == "f" else ops.cast(edge, _core.float64)
    share = ops.reshape(arange(width, dtype=edge.dtype, device=x.device) / width, (-1,) + (1,) * (x.ndim - 1 - axis))
    made = end + (edge - end) * (share if is_first else ops.flip(share, 0))
    return made if x.dtype.kind == "f" else ops.cast(ops.floor(made), x.dtype)


def _statistic(x: Array, axis: int, width: int, mode: str, length: int | None, is_first: bool) -> Array:
    """The mean, median, largest or smallest of the elements nearest to an edge, so many times."""
    size = x.shape[axis]
    count = size if length is None else min(length, size)
    near = ops.slice(x, axis, 0, count) if is_first else ops.slice(x, axis, size - count, size)
    if mode in ("maximum", "minimum"):
        found = (ops.max if mode == "maximum" else ops.min)(near, axis, True)
    else:
        near = near if near.dtype.kind == "f" else ops.cast(near, _core.float64)
        found = ops.mean(near, axis, True) if mode == "mean" else ops.unsqueeze(ops.median(near, axis), axis)
        found = found if x.dtype.kind == "f" else ops.cast(ops.round(found), x.dtype)
    return ops.expand(found, x.shape[:axis] + (width,) + x.shape[axis + 1:])


def _part(x: Array, axis: int, width: int, mode: str, option: Any, is_first: bool) -> Array:
    """What stands before or behind an axis."""
    shape = x.shape[:axis] + (width,) + x.shape[axis + 1:]
    if mode in ("constant", "empty"):
        return ops.expand(asarray(option or 0, x.dtype, device=x.device), shape)
    if mode == "linear_ramp":
        return _ramp(x, axis, width, option or 0, is_first)
    return _statistic(x, axis, width, mode, option, is_first)


# mode: the keyword that it takes.
_OPTIONS = {"constant": "constant_values", "empty": "", "linear_ramp": "end_values", "maximum": "stat_length", "mean": "stat_length", "median": "stat_length",
            "minimum": "stat_length", **dict.fromkeys(_INDEXED, "")}


def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Array:
    """Elements around the array. mode: constant (constant_values), edge, reflect, symmetric, wrap, linear_ramp (end_values), or maximum, mean, median and
    minimum of all elements along an axis, or of the nearest (stat_length).

    >>> tessera.pad([1, 2, 3], (1, 2), mode="edge")
    """
    if mode not in _OPTIONS:
        raise ValueError(f"pad: there is no mode {mode!r}; there are {', '.join(_OPTIONS)}")
    if set(options) - {_OPTIONS[mode]}:
        raise NotImplementedError(f"pad: the mode {mode!r} has no {', '.join(options)} here")
    x = asarray(array)
    widths = _pairs(pad_width, x.ndim)
    option = options.get(_OPTIONS[mode])
    if mode == "constant" and (option is None or isinstance(option, (int, float))):
        return ops.pad(x, [before for before, _ in widths], [after for _, after in widths], option or 0)
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, _pairs(option, x.ndim))):
        if before == after == 0:
            continue
        if mode in _INDEXED:
            x = ops.index_select(x, axis, _places(mode, x.shape[axis], before, after, x.device))
            continue
        parts = [_part(x, axis, before, mode, first, True)] if before else []
        behind = [_part(x, axis, after, mode, last, False)] if after else []
        x = ops.concat(parts + [x] + behind, axis)
    return x
