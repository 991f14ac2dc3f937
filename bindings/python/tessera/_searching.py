# SPDX-License-Identifier: MIT
"""Searching, sorting and sets. What has a size that only the device knows waits for it."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import _core, ops
from ._core import Array, count_nonzero, nonzero  # noqa: F401
from ._creation import asarray
from ._elementwise import store
from ._indexing import check_range
from ._manipulation import axis_of, broadcast_shapes


def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """x1 where the condition holds, else x2. With a condition alone: nonzero of it.

    >>> tessera.where([True, False], [1, 2], [3, 4])
    """
    return nonzero(condition) if x1 is None and x2 is None else ops.where(condition, x1, x2)


def _nonzero(x: Any, /) -> tuple[Array, ...]:
    found = ops.nonzero(asarray(x))
    return tuple(found[:, i] for i in range(found.shape[1]))


def argwhere(x: Any) -> Array:
    """The indices (int32) of the elements that are not 0, as rows. Waits for their number."""
    return ops.nonzero(asarray(x))


def _count_nonzero(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    found = ops.cast(ops.ne(x, 0), _core.int64)
    return found if axis == () else ops.sum(found, axis, keepdims)


def searchsorted(x: Any, /, x2: Any, side: str = "left", sorter: Any = None) -> Array:
    """Where each of x2 belongs in the sorted list x: in front of equal elements, or behind them with side="right".

    >>> tessera.searchsorted([1, 2, 3], [2, 5])
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    if sorter is not None:
        x = ops.index_select(x, 0, sorter)
    return ops.searchsorted(x, x2, side == "right")


def sort(x: Any, /, axis: int | None = -1, kind: Any = None, *, descending: bool = False, stable: bool = True) -> Array:
    """Sorted along an axis, or all elements without one; NaN last. Always stable.

    >>> tessera.sort([3, 1, 2])
    """
    return ops.sort(ops.reshape(asarray(x), (-1,)) if axis is None else x, -1 if axis is None else axis, descending)


def argsort(x: Any, /, axis: int | None = -1, kind: Any = None, *, descending: bool = False, stable: bool = True) -> Array:
    """The index (int32) of each element of the sorted array. Always stable.

    >>> tessera.argsort([3, 1, 2])
    """
    return ops.argsort(ops.reshape(asarray(x), (-1,)) if axis is None else x, -1 if axis is None else axis, descending)


def take(x: Any, /, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Array:
    """The slices of x along an axis that the indices name; without an axis, elements in row-major order. mode: what becomes of indices
    beyond the end: raise (see "indices out of range" in docs/python.md), wrap (counted from the start again) or clip (the first or the last).

    >>> tessera.take([10, 20, 30], [2, 0])
    """
    if out is not None:
        return store(take(x, indices, axis, mode=mode), out)
    x = asarray(x)
    given, indices = indices, asarray(indices, device=x.device)
    size = x.size if axis is None else x.shape[axis]
    if mode == "raise":
        check_range(given, indices, size, 0 if axis is None else axis_of(axis, x.ndim))
    else:
        indices = ops.mod(indices, size) if mode == "wrap" else ops.clip(indices, 0, size - 1)
    if axis is None:
        return ops.take(x, indices)
    axis = axis_of(axis, x.ndim)
    chosen = ops.index_select(x, axis, ops.reshape(indices, (-1,)))
    return ops.reshape(chosen, x.shape[:axis] + indices.shape + x.shape[axis + 1:])


def take_along_axis(x: Any, /, indices: Any, axis: int = -1) -> Array:
    """Elements along an axis, chosen by indices of the same rank; the other axes are broadcast."""
    given, x, indices = indices, asarray(x), asarray(indices)
    axis = axis_of(axis, x.ndim)
    check_range(given, indices, x.shape[axis], axis)
    if x.ndim == 1 == indices.ndim:
        return ops.gather(x, axis, indices)
    shape = list(broadcast_shapes(x.shape[:axis] + (1,) + x.shape[axis + 1:], indices.shape[:axis] + (1,) + indices.shape[axis + 1:]))
    shape[axis] = x.shape[axis]
    x = ops.expand(x, shape)
    shape[axis] = indices.shape[axis]
    return ops.gather(x, axis, ops.expand(indices, shape))


class unique_all_result(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class unique_counts_result(NamedTuple):
    values: Array
    counts: Array


class unique_inverse_result(NamedTuple):
    values: Array
    inverse_indices: Array


def unique_all(x: Any, /) -> unique_all_result:
    """The different elements, where each is found first, which of them each element is, and how often each occurs. Waits for their number.

    >>> tessera.unique_all([3, 1, 3])
    """
    x = asarray(x)
    values, inverse, counts = ops.unique(x)
    places = ops.arange(0, x.size, 1, _core.int32, x.device)
    first = ops.full_int(values.shape, x.size, _core.int32, x.device)
    return unique_all_result(values, ops.scatter_min(first, 0, ops.reshape(inverse, (-1,)), places), inverse, counts)


def unique_counts(x: Any, /) -> unique_counts_result:
    """The different elements, and how often each occurs. Waits for their number.

    >>> tessera.unique_counts([3, 1, 3])
    """
    values, _, counts = ops.unique(asarray(x))
    return unique_counts_result(values, counts)


def unique_inverse(x: Any, /) -> unique_inverse_result:
    """The different elements, and which of them each element is. Waits for their number.

    >>> tessera.unique_inverse([3, 1, 3])
    """
    values, inverse, _ = ops.unique(asarray(x))
    return unique_inverse_result(values, inverse)


def unique_values(x: Any, /) -> Array:
    """The different elements in ascending order. Waits for their number.

    >>> tessera.unique_values([3, 1, 3])
    """
    return ops.unique(asarray(x))[0]


def unique(x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None) -> Any:
    """NumPy's form of unique_all; the inverse has one axis. With an axis: the different slices along it.

    >>> tessera.unique([3, 1, 3], return_counts=True)
    """
    x = asarray(x)
    if axis is not None and x.ndim > 1:
        return _unique_slices(x, axis, return_index, return_inverse, return_counts)
    if not (return_index or return_inverse or return_counts):
        return ops.unique(x)[0]
    found = unique_all(ops.reshape(x, (-1,)))
    chosen = [found.values]
    chosen += [part for part, is_asked in zip(found[1:], (return_index, return_inverse, return_counts)) if is_asked]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


def _unique_slices(x: Array, axis: int, return_index: bool, return_inverse: bool, return_counts: bool) -> Any:
    """The different slices along an axis, in ascending order of their elements. On the host, since it is a matter of few slices."""
    rows = ops.reshape(ops.moveaxis(x, axis, 0), (x.shape[axis], -1)).tolist()
    places: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        places.setdefault(tuple(row), []).append(i)
    ordered = [places[row] for row in sorted(places)]
    inverse = [0] * len(rows)
    for i, own in enumerate(ordered):
        for place in own:
            inverse[place] = i
    first = asarray([own[0] for own in ordered], _core.int64, device=x.device)
    found = [ops.index_select(x, axis, first), first, asarray(inverse, _core.int64), asarray([len(own) for own in ordered], _core.int64)]
    chosen = [found[0]] + [part for part, is_asked in zip(found[1:], (return_index, return_inverse, return_counts)) if is_asked]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)
