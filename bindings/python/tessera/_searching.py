# SPDX-License-Identifier: MIT
"""Searching, sorting and sets. What has a size that only the device knows waits for it."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import _core, ops
from ._core import Array
from ._creation import asarray


def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """x1 where the condition holds, else x2. With a condition alone: nonzero of it."""
    return nonzero(condition) if x1 is None and x2 is None else ops.where(condition, x1, x2)


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """The indices (int32) of the elements that are not 0, one array for each axis. Waits for their number."""
    found = ops.nonzero(asarray(x))
    return tuple(found[:, i] for i in range(found.shape[1]))


def argwhere(x: Any) -> Array:
    """The indices (int32) of the elements that are not 0, as rows. Waits for their number."""
    return ops.nonzero(asarray(x))


def count_nonzero(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    """How many elements are not 0."""
    return ops.sum(ops.cast(ops.ne(x, 0), _core.int64), axis, keepdims)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Array:
    """Where each of x2 belongs in the sorted list x1: in front of equal elements, or behind them with side="right"."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    if sorter is not None:
        x1 = ops.index_select(x1, 0, sorter)
    return ops.searchsorted(x1, x2, side == "right")


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Sorted along an axis; NaN last. Always stable."""
    return ops.sort(x, axis, descending)


def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """The index (int32) of each element of the sorted array. Always stable."""
    return ops.argsort(x, axis, descending)


def take(x: Any, indices: Any, /, axis: int | None = None) -> Array:
    """The slices of x along an axis that the indices name; without an axis, elements in row-major order."""
    x = asarray(x)
    indices = asarray(indices, device=x.device)
    if axis is None:
        return ops.take(x, indices)
    axis = axis % x.ndim if -x.ndim <= axis < x.ndim else axis
    chosen = ops.index_select(x, axis, ops.reshape(indices, (-1,)))
    return ops.reshape(chosen, x.shape[:axis] + indices.shape + x.shape[axis + 1:])


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Array:
    """Elements along an axis, chosen by indices of the same rank; the other axes are broadcast."""
    from ._manipulation import broadcast_shapes

    x, indices = asarray(x), asarray(indices)
    axis = axis % x.ndim
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
    """The different elements, where each is found first, which of them each element is, and how often each occurs. Waits for their number."""
    x = asarray(x)
    values, inverse, counts = ops.unique(x)
    places = ops.arange(0, x.size, 1, _core.int32, x.device)
    first = ops.full_int(values.shape, x.size, _core.int32, x.device)
    return unique_all_result(values, ops.scatter_min(first, 0, ops.reshape(inverse, (-1,)), places), inverse, counts)


def unique_counts(x: Any, /) -> unique_counts_result:
    """The different elements, and how often each occurs. Waits for their number."""
    values, _, counts = ops.unique(asarray(x))
    return unique_counts_result(values, counts)


def unique_inverse(x: Any, /) -> unique_inverse_result:
    """The different elements, and which of them each element is. Waits for their number."""
    values, inverse, _ = ops.unique(asarray(x))
    return unique_inverse_result(values, inverse)


def unique_values(x: Any, /) -> Array:
    """The different elements in ascending order. Waits for their number."""
    return ops.unique(asarray(x))[0]


def unique(x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """NumPy's form of unique_all."""
    found = unique_all(x)
    chosen = [found.values]
    chosen += [part for part, is_asked in zip(found[1:], (return_index, return_inverse, return_counts)) if is_asked]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)
