# SPDX-License-Identifier: MIT
"""Sets of elements, and orders other than plain sorting. What has a size that only the device knows waits for it."""
from __future__ import annotations

from typing import Any, Sequence

from . import _core, ops
from ._core import Array
from ._creation import asarray
from ._dtypes import result_type
from ._indexing import check_range


def _flat(x: Any) -> Array:
    return ops.reshape(asarray(x), (-1,))


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Array:
    """Whether each element is among others.

    >>> tessera.isin([1, 2, 3], [2, 9])
    """
    element, among = asarray(element), _flat(test_elements)
    dtype = result_type(element, among)
    if among.size == 0:
        found = ops.zeros(element.shape, _core.bool, element.device)
    else:
        ordered = ops.sort(ops.cast(among, dtype), 0)
        place = ops.minimum(ops.searchsorted(ordered, ops.cast(element, dtype)), among.size - 1)
        found = ops.eq(ops.take(ordered, place), ops.cast(element, dtype))
    return ops.logical_not(found) if invert else found


in1d = isin


def union1d(a: Any, b: Any) -> Array:
    """The different elements of both, in ascending order."""
    return ops.unique(ops.concat([_flat(a), _flat(b)], 0))[0]


def intersect1d(a: Any, b: Any) -> Array:
    """The different elements that both have, in ascending order."""
    values = ops.unique(_flat(a))[0]
    return values[isin(values, b)]


def setdiff1d(a: Any, b: Any) -> Array:
    """The different elements of a that b has not, in ascending order."""
    values = ops.unique(_flat(a))[0]
    return values[isin(values, b, invert=True)]


def setxor1d(a: Any, b: Any) -> Array:
    """The different elements that only one of them has, in ascending order."""
    return union1d(setdiff1d(a, b), setdiff1d(b, a))


def lexsort(keys: Sequence[Any], axis: int = -1) -> Array:
    """The order by several keys, the last of which counts first."""
    few = _core.few_lexsort(keys)
    if few is not None:
        return few
    listed = [asarray(key) for key in keys]
    order = ops.argsort(listed[0], axis)
    for key in listed[1:]:
        order = ops.gather(order, axis, ops.argsort(ops.gather(key, axis, order), axis))
    return order


def partition(x: Any, kth: Any, axis: int | None = -1) -> Array:
    """Sorted, which is more than NumPy promises: element kth is where it would be, smaller ones before it."""
    return ops.sort(_flat(x) if axis is None else x, -1 if axis is None else axis)


def argpartition(x: Any, /, kth: Any, axis: int | None = -1) -> Array:
    """The order of the sorted array, see partition."""
    return ops.argsort(_flat(x) if axis is None else x, -1 if axis is None else axis)


def flatnonzero(x: Any) -> Array:
    """The places, in row-major order, of the elements that are not 0. Waits for their number."""
    return _core.nonzero(_flat(x))[0]


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """Which of the ranges between ascending or descending limits each element is in."""
    bins, x = asarray(bins), asarray(x)
    if bins.size > 1 and bool(bins[0] > bins[-1]):
        return bins.size - ops.searchsorted(ops.flip(bins, 0), x, not right)
    return ops.searchsorted(bins, x, not right)


def extract(condition: Any, x: Any) -> Array:
    """The elements where the condition holds, in row-major order."""
    return _flat(x)[ops.ne(_flat(condition), 0)]


def compress(condition: Any, x: Any, axis: int | None = None) -> Array:
    """The slices along an axis where the condition holds."""
    x, condition = _flat(x) if axis is None else asarray(x), _flat(condition)
    axis = 0 if axis is None else axis
    size = x.shape[axis]
    if condition.size > size and ops.any(condition[size:]):
        raise IndexError(f"compress: the condition holds beyond axis {axis} with size {size}")
    return ops.index_select(x, axis, flatnonzero(condition))


def choose(x: Any, /, choices: Sequence[Any]) -> Array:
    """Of each place, the element of the array that x names."""
    from ._manipulation import broadcast_arrays

    index = asarray(x)
    check_range(x, index, len(choices), 0)
    chosen, *arrays = broadcast_arrays(index, *choices)
    return ops.squeeze(ops.gather(ops.stack(arrays, 0), 0, ops.unsqueeze(chosen, 0)), 0)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """The choice of the first condition that holds, else the default."""
    found = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        found = ops.where(condition, choice, found)
    return asarray(found)


def piecewise(x: Any, condlist: Sequence[Any], funclist: Sequence[Any]) -> Array:
    """A function for each condition, which may be a number; one more than there are conditions is for the rest."""
    x = asarray(x)
    values = [function(x) if callable(function) else asarray(function, x.dtype, device=x.device) for function in funclist]
    rest = values[-1] if len(values) > len(condlist) else asarray(0, x.dtype, device=x.device)
    return ops.expand(ops.cast(select(condlist, values[:len(condlist)], rest), x.dtype), x.shape)
