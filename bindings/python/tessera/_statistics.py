# SPDX-License-Identifier: MIT
"""Functions over axes: sums, extremes, counts, and whether any or all hold."""
from __future__ import annotations

import builtins
from typing import Any

from . import _core, ops
from ._core import Array, DType
from ._creation import asarray
from ._dtypes import dtype as _dtype


def _summed_dtype(own: DType, asked: Any) -> DType:
    """Of sums and products: the dtype asked for; integers otherwise become 64 bits wide, as in NumPy."""
    if asked is not None:
        return _dtype(asked)
    return {"b": _core.int64, "i": _core.int64, "u": _core.uint64}.get(own.kind, own)


def _cast(x: Array, dtype: DType) -> Array:
    return x if x.dtype == dtype else ops.cast(x, dtype)


def sum(x: Any, /, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum over axes; None means all. Integers are added in 64 bits.

    >>> tessera.sum(tessera.asarray([[1, 2], [3, 4]]), axis=0)
    """
    x = asarray(x)
    return ops.sum(_cast(x, _summed_dtype(x.dtype, dtype)), axis, keepdims)


def prod(x: Any, /, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product over axes; None means all. Integers are multiplied in 64 bits."""
    x = asarray(x)
    return ops.prod(_cast(x, _summed_dtype(x.dtype, dtype)), axis, keepdims)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Sums of the elements up to each along an axis, which may be left out of an array with one; with `include_initial` a 0 before them."""
    x = asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"cumulative_sum: an array with {x.ndim} axes needs an axis")
        axis = 0
    sums = ops.cumsum(_cast(x, _summed_dtype(x.dtype, dtype)), axis)
    if not include_initial:
        return sums
    shape = list(sums.shape)
    shape[axis] = 1
    return ops.concat([ops.zeros(shape, sums.dtype, sums.device), sums], axis)


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Array:
    """As cumulative_sum; without an axis, over all elements in row-major order."""
    x = asarray(x)
    return cumulative_sum(ops.reshape(x, (-1,)) if axis is None else x, axis=axis or 0, dtype=dtype)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Array:
    """Products of the elements up to each; without an axis, over all elements in row-major order."""
    x = asarray(x)
    x = _cast(x, _summed_dtype(x.dtype, dtype))
    return ops.cumprod(ops.reshape(x, (-1,)) if axis is None else x, axis or 0)


def mean(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    """The mean over axes; None means all. Integers give float32."""
    return ops.mean(x, axis, keepdims)


def var(x: Any, /, axis: Any = None, correction: float = 0.0, keepdims: bool = False, ddof: float | None = None) -> Array:
    """The mean square distance from the mean: the sum divided by count - correction, which NumPy calls `ddof`."""
    return ops.var(x, axis, keepdims, correction if ddof is None else ddof)


def std(x: Any, /, axis: Any = None, correction: float = 0.0, keepdims: bool = False, ddof: float | None = None) -> Array:
    """The square root of var."""
    return ops.std(x, axis, keepdims, correction if ddof is None else ddof)


def _check_not_empty(name: str, x: Array, axis: Any) -> None:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if builtins.any(-x.ndim <= i < x.ndim and x.shape[i] == 0 for i in axes):
        raise ValueError(f"{name}: there are no elements along the axis")


def max(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    """The largest element over axes; NaN if any is NaN."""
    x = asarray(x)
    _check_not_empty("max", x, axis)
    return ops.max(x, axis, keepdims)


def min(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    """The smallest element over axes; NaN if any is NaN."""
    x = asarray(x)
    _check_not_empty("min", x, axis)
    return ops.min(x, axis, keepdims)


amax, amin = max, min


def argmax(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index (int32) of the first largest element; of all elements, in row-major order, without an axis."""
    return ops.argmax(x, axis, keepdims)


def argmin(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index (int32) of the first smallest element."""
    return ops.argmin(x, axis, keepdims)


def any(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    """Whether any element is not 0."""
    return ops.any(x, axis, keepdims)


def all(x: Any, /, axis: Any = None, keepdims: bool = False) -> Array:
    """Whether all elements are not 0."""
    return ops.all(x, axis, keepdims)


def median(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Array:
    """The middle one of the sorted elements, or the mean of the two middle ones."""
    x = asarray(x)
    if axis is not None:
        return ops.median(x, axis, keepdims)
    found = ops.median(ops.reshape(x, (-1,)), 0, False)
    return ops.reshape(found, (1,) * x.ndim) if keepdims else found


def diff(x: Any, /, n: int = 1, axis: int = -1) -> Array:
    """Each element minus the one before it along an axis, n times."""
    return ops.diff(x, n, axis)
