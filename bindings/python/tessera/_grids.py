# SPDX-License-Identifier: MIT
"""NumPy's short forms with brackets: mgrid[0:3, 0:4], r_[1:5, 9], ix_(rows, columns)."""
from __future__ import annotations

import math
from typing import Any, Iterator, Sequence

from . import _core, ops
from ._core import Array
from ._creation import arange, asarray, linspace
from ._indexing import check_range


def _line(key: slice) -> Array:
    """start:stop:step, or start:stop:5j for five points including the last."""
    start = 0 if key.start is None else key.start
    if isinstance(key.step, complex):
        return linspace(start, key.stop, int(abs(key.step)))
    return arange(start, key.stop, 1 if key.step is None else key.step)


class _Grid:
    """mgrid and ogrid."""

    def __init__(self, is_open: bool) -> None:
        self._is_open = is_open

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _line(key)
        lines = [_line(own) for own in key]
        if any(line.dtype.kind == "f" for line in lines):
            lines = [ops.cast(line, _core.float32) for line in lines]
        rank = len(lines)
        shaped = [ops.reshape(line, (1,) * i + (-1,) + (1,) * (rank - 1 - i)) for i, line in enumerate(lines)]
        if self._is_open:
            return shaped
        shape = tuple(line.shape[0] for line in lines)
        return ops.stack([ops.expand(line, shape) for line in shaped], 0)


class _Joined:
    """r_ and c_: parts, which may be slices, one after the other."""

    def __init__(self, are_columns: bool) -> None:
        self._are_columns = are_columns

    def __getitem__(self, key: Any) -> Array:
        parts = []
        for own in key if isinstance(key, tuple) else (key,):
            part = _line(own) if isinstance(own, slice) else asarray(own)
            if part.ndim == 0:
                part = ops.reshape(part, (1,))
            parts.append(ops.unsqueeze(part, 1) if self._are_columns and part.ndim == 1 else part)
        return ops.concat(parts, 1 if self._are_columns else 0)


class _Key:
    """s_[1:3, ...] is the key itself."""

    def __getitem__(self, key: Any) -> Any:
        return key


mgrid, ogrid, r_, c_, s_, index_exp = _Grid(False), _Grid(True), _Joined(False), _Joined(True), _Key(), _Key()


def ix_(*lists: Any) -> tuple[Array, ...]:
    """Index arrays for all combinations of rows and columns: x[ix_([0, 2], [1, 3])]."""
    made = []
    for i, given in enumerate(lists):
        own = asarray(given)
        if own.dtype == _core.bool:
            own = ops.reshape(ops.nonzero(own), (-1,))
        made.append(ops.reshape(own, (1,) * i + (-1,) + (1,) * (len(lists) - 1 - i)))
    return tuple(made)


def indices(dimensions: Sequence[int], dtype: Any = _core.int64, sparse: bool = False) -> Any:
    """The index of every element along each axis; with `sparse` as one array for each axis, to be broadcast."""
    shape = tuple(map(int, dimensions))
    if 0 in shape and not sparse:
        return ops.zeros((len(shape),) + shape, dtype)
    ones = (1,) * len(shape)
    lists = tuple(ops.reshape(arange(size) if dtype is _core.int64 else arange(size, dtype=dtype), ones[:i] + (size,) + ones[i + 1:]) for i, size in enumerate(shape))
    return lists if sparse else ops.stack([ops.expand(own, shape) for own in lists], 0)


def fromfunction(function: Any, shape: Sequence[int], *, dtype: Any = _core.float32, **options: Any) -> Any:
    """The function of the index arrays of a shape."""
    return function(*indices(shape, dtype), **options)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Index arrays of the main diagonal."""
    return (arange(n),) * ndim


def _triangle(matrix: Array) -> tuple[Array, ...]:
    found = ops.nonzero(matrix)
    return found[:, 0], found[:, 1]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Index arrays of the lower triangle. Waits for their number."""
    return _triangle(ops.tril(ops.ones((n, m or n)), k))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Index arrays of the upper triangle. Waits for their number."""
    return _triangle(ops.triu(ops.ones((n, m or n)), k))


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Index arrays of the main diagonal of an array whose axes have one size."""
    shape = asarray(arr).shape
    if len(set(shape)) != 1:
        raise ValueError(f"diag_indices_from: all axes need one size, not {shape}")
    return diag_indices(shape[0], len(shape))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """tril_indices of a matrix."""
    rows, columns = asarray(arr).shape
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """triu_indices of a matrix."""
    rows, columns = asarray(arr).shape
    return triu_indices(rows, k, columns)


def _check_place(place: Any, size: int, axis: int) -> None:
    """IndexError if a number, or an element of an array that check_range reads, is out of range."""
    if not isinstance(place, int):
        check_range(place, place, size, axis)
    elif not 0 <= place < size:
        raise IndexError(f"index {place} is out of bounds for axis {axis} with size {size}")


def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """Places in row-major order as an index for each axis."""
    rest: Any = indices if isinstance(indices, int) else asarray(indices)
    _check_place(rest, math.prod(shape), 0)
    found = []
    for size in reversed(tuple(shape)):
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found))


def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[int]) -> Any:
    """An index for each axis as places in row-major order."""
    given: list[Any] = [own if isinstance(own, int) else asarray(own) for own in multi_index]
    for axis, (own, size) in enumerate(zip(given, dims)):
        _check_place(own, size, axis)
    place = given[0]
    for own, size in zip(given[1:], tuple(dims)[1:]):
        place = place * size + own
    return place


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """Every index of a shape, in row-major order."""
    import itertools

    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return itertools.product(*(range(size) for size in sizes))


def ndenumerate(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Every index with its element, as a Python number. Waits for the elements."""
    x = asarray(x)
    return zip(ndindex(x.shape), ops.reshape(x, (-1,)).tolist())
