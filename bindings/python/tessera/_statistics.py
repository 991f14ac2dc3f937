# SPDX-License-Identifier: MIT
"""Functions over axes: sums, extremes, counts, and whether any or all hold. Keywords are NumPy's and the array API's."""
from __future__ import annotations

import builtins
import math
from typing import Any, Callable

from . import _core, ops
from ._core import Array, DType
from ._creation import asarray
from ._dtypes import dtype as _dtype
from ._dtypes import iinfo
from ._elementwise import store
from ._manipulation import axis_of


def _summed_dtype(own: DType, asked: Any) -> DType:
    """Of sums and products: the dtype asked for; integers otherwise become 64 bits wide, as in NumPy."""
    if asked is not None:
        return _dtype(asked)
    return {"b": _core.int64, "i": _core.int64, "u": _core.uint64}.get(own.kind, own)


def _cast(x: Array, dtype: DType) -> Array:
    return x if x.dtype == dtype else ops.cast(x, dtype)


def _masked(x: Array, where: Any, otherwise: Any) -> Array:
    """x, with another number where it does not count."""
    return x if where is None or where is True else ops.where(where, x, asarray(otherwise, x.dtype, device=x.device))


def _of_each(operator: Callable[..., Array], x: Array, *more: Any) -> Array:
    """A reduction over no axes, axis=(): each element by itself. The operators take an empty list of axes for all, so it goes over a new axis of one element."""
    return operator(ops.unsqueeze(x, 0), 0, False, *more)


def sum(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Array:
    """The sum over axes; None means all. Integers are added in 64 bits.

    >>> tessera.sum(tessera.asarray([[1, 2], [3, 4]]), axis=0)
    """
    x = asarray(x)
    x = _masked(_cast(x, _summed_dtype(x.dtype, dtype)), where, 0)
    found = _of_each(ops.sum, x) if axis == () else ops.sum(x, axis, keepdims)
    return store(found if initial is None else found + initial, out)


def prod(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Array:
    """The product over axes; None means all. Integers are multiplied in 64 bits.

    >>> tessera.prod(tessera.asarray([2, 3, 4]))
    """
    x = asarray(x)
    x = _masked(_cast(x, _summed_dtype(x.dtype, dtype)), where, 1)
    found = _of_each(ops.prod, x) if axis == () else ops.prod(x, axis, keepdims)
    return store(found if initial is None else found * initial, out)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Sums of the elements up to each along an axis, which may be left out of an array with one; with `include_initial` a 0 before them.

    >>> tessera.cumulative_sum(tessera.asarray([1, 2, 3]), include_initial=True)
    """
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


def cumsum(x: Any, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """As cumulative_sum; without an axis, over all elements in row-major order."""
    x = asarray(x)
    if axis is None:
        x, axis = x if x.ndim == 1 else ops.reshape(x, (-1,)), 0
    if dtype is not None or x.dtype.kind != "f":
        x = _cast(x, _summed_dtype(x.dtype, dtype))
    sums = ops.cumsum(x, axis)
    return sums if out is None else store(sums, out)


def cumprod(x: Any, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """Products of the elements up to each; without an axis, over all elements in row-major order."""
    x = asarray(x)
    x = _cast(x, _summed_dtype(x.dtype, dtype))
    return store(ops.cumprod(ops.reshape(x, (-1,)) if axis is None else x, axis or 0), out)


def _counted(x: Array, axis: Any, where: Any, keepdims: bool) -> Array:
    """How many elements count, for each mean."""
    return sum(ops.expand(ops.cast(where, _core.float32), x.shape), axis, None, None, keepdims)


def mean(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Array:
    """The mean over axes; None means all. Integers give float32.

    >>> tessera.mean(tessera.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    """
    x = asarray(x)
    if dtype is not None:
        x = ops.cast(x, dtype)
    if where is None or where is True:
        return store(_of_each(ops.mean, x) if axis == () else ops.mean(x, axis, keepdims), out)
    return store(sum(_masked(x, where, 0), axis, None, None, keepdims) / _counted(x, axis, where, keepdims), out)


def var(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float | None = None, keepdims: bool = False, *,
        correction: float = 0.0, where: Any = None) -> Array:
    """The mean square distance from the mean: the sum divided by count - correction, which NumPy calls `ddof`.

    >>> tessera.var(tessera.asarray([1.0, 2.0, 4.0]), correction=1)
    """
    x, correction = asarray(x, dtype), correction if ddof is None else ddof
    if where is not None and where is not True:
        return store(_var_where(x, axis, where, correction, keepdims), out)
    return store(_of_each(ops.var, x, correction) if axis == () else ops.var(x, axis, keepdims, correction), out)


def _var_where(x: Array, axis: Any, where: Any, correction: float, keepdims: bool) -> Array:
    """The variance of the elements that count."""
    away = _masked(x - mean(x, axis, keepdims=True, where=where), where, 0)
    # As in NumPy, not divided by less than 0: too few elements have no variance.
    return sum(away * away, axis, None, None, keepdims) / ops.maximum(_counted(x, axis, where, keepdims) - correction, 0)


def std(x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float | None = None, keepdims: bool = False, *,
        correction: float = 0.0, where: Any = None) -> Array:
    """The square root of var.

    >>> tessera.std(tessera.asarray([1.0, 2.0, 4.0]))
    """
    x, correction = asarray(x, dtype), correction if ddof is None else ddof
    if where is not None and where is not True:
        return store(ops.sqrt(_var_where(x, axis, where, correction, keepdims)), out)
    return store(_of_each(ops.std, x, correction) if axis == () else ops.std(x, axis, keepdims, correction), out)


def _limit(dtype: DType, is_largest: bool) -> Any:
    """What no element is beyond."""
    if dtype.kind == "f":
        return math.inf if is_largest else -math.inf
    if dtype.kind == "b":
        return is_largest
    return iinfo(dtype).max if is_largest else iinfo(dtype).min


def _extreme(x: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any, is_max: bool) -> Array:
    x = asarray(x)
    if x.size == 0:
        shape = sum(ops.cast(x, _core.float32), axis, None, None, keepdims).shape
        if initial is None and math.prod(shape) > 0:
            raise ValueError(f"{'max' if is_max else 'min'} of no elements")
        return store(ops.expand(asarray(0 if initial is None else initial, x.dtype, device=x.device), shape), out)
    if where is not None and where is not True:
        if initial is None:
            raise ValueError("max and min with `where` need `initial`")
        x = _masked(x, where, _limit(x.dtype, not is_max))
    reduce = ops.max if is_max else ops.min
    found = _of_each(reduce, x) if axis == () else reduce(x, axis, keepdims)
    return store(found if initial is None else (ops.maximum if is_max else ops.minimum)(found, initial), out)


def max(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Array:
    """The largest element over axes; None means all. NaN if there is one.

    >>> tessera.max(tessera.asarray([[1, 5], [7, 2]]), axis=0)
    """
    return _extreme(x, axis, out, keepdims, initial, where, True)


def min(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Array:
    """The smallest element over axes; None means all. NaN if there is one.

    >>> tessera.min(tessera.asarray([[1, 5], [7, 2]]), axis=0)
    """
    return _extreme(x, axis, out, keepdims, initial, where, False)


amax, amin = max, min


def argmax(x: Any, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """The index (int32) of the first largest element; of all elements, in row-major order, without an axis.

    >>> tessera.argmax(tessera.asarray([3, 9, 9]))
    """
    return store(ops.argmax(x, axis, keepdims), out)


def argmin(x: Any, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """The index (int32) of the first smallest element.

    >>> tessera.argmin(tessera.asarray([3, 1, 2]))
    """
    return store(ops.argmin(x, axis, keepdims), out)


def any(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Array:
    """Whether any element is not 0.

    >>> tessera.any(tessera.asarray([[0, 1], [0, 0]]), axis=1)
    """
    x = _masked(asarray(x), where, 0)
    return store(_of_each(ops.any, x) if axis == () else ops.any(x, axis, keepdims), out)


def all(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None) -> Array:
    """Whether all elements are not 0.

    >>> tessera.all(tessera.asarray([[0, 1], [1, 1]]), axis=1)
    """
    x = _masked(asarray(x), where, 1)
    return store(_of_each(ops.all, x) if axis == () else ops.all(x, axis, keepdims), out)


def ptp(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """The largest element minus the smallest."""
    return store(ops.sub(max(x, axis, None, keepdims), min(x, axis, None, keepdims)), out)


def _over_axes(function: Any, x: Array, axis: Any, keepdims: bool) -> Array:
    """A function of one axis, over None (all) or several: these are joined to one."""
    if axis is None:
        found = function(ops.reshape(x, (-1,)), 0)
        return ops.reshape(found, (1,) * x.ndim) if keepdims else found
    if not hasattr(axis, "__index__"):
        axes = [axis_of(i, x.ndim) for i in axis]
        rest = [i for i in range(x.ndim) if i not in axes]
        joined = ops.reshape(ops.permute(x, rest + axes), [x.shape[i] for i in rest] + [-1])
        found = function(joined, -1)
        return ops.reshape(found, [1 if i in axes else x.shape[i] for i in range(x.ndim)]) if keepdims else found
    found = function(x, axis)
    return ops.unsqueeze(found, axis_of(axis, x.ndim)) if keepdims else found


def median(x: Any, /, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The middle one of the sorted elements, or the mean of the two middle ones.

    >>> tessera.median(tessera.asarray([3.0, 1.0, 10.0, 4.0]))
    """
    x = asarray(x)
    return store(_over_axes(lambda own, i: ops.median(own if own.dtype.kind == "f" else ops.cast(own, _core.float32), i), x, axis, keepdims), out)


# Quantiles that interpolate: the place of the quantile q among n sorted elements is n * q + a + q * (1 - a - b) - 1, with these a and b.
_PLACES = {"interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (0.375, 0.375)}
# Those that take one element, by the place q * (n - 1).
_ROUNDED: dict[str, Callable[[float], float]] = {"lower": math.floor, "higher": math.ceil, "nearest": builtins.round,
                                                 "midpoint": lambda place: (math.floor(place) + math.ceil(place)) / 2}


def _quantile_place(method: str, q: float, count: int) -> float:
    """Where a quantile stands among so many sorted elements; between two of them if it is no whole number."""
    if method in _ROUNDED:
        return _ROUNDED[method](q * (count - 1))
    if method == "inverted_cdf":
        place: float = math.ceil(count * q) - 1
    elif method in _PLACES:
        a, b = _PLACES[method]
        place = count * q + a + q * (1 - a - b) - 1
    else:
        raise ValueError(f"quantile: there is no method {method!r}; there are linear, inverted_cdf, {', '.join([*_ROUNDED, *_PLACES])}")
    return builtins.min(builtins.max(place, 0.0), count - 1.0)


def _quantile(x: Array, q: float, axis: int, method: str) -> Array:
    if method == "linear":
        return ops.quantile(x, q, axis)
    ordered, last = ops.sort(x, axis), x.shape[axis] - 1
    place = _quantile_place(method, q, last + 1)
    low = math.floor(place)

    def at(i: int) -> Array:
        return ops.squeeze(ops.slice(ordered, axis, i, i + 1), axis)

    found = at(low) if place == low else at(low) + (at(low + 1) - at(low)) * (place - low)
    return ops.where(ops.ne(at(last), at(last)), at(last), found)  # NaN, which is sorted to the end, if there is one


def _each_quantile(function: Callable[[float], Array], q: Any) -> Array:
    """Of several q, along new first axes."""
    if isinstance(q, (int, float)):
        return function(q)
    listed = asarray(q)
    found = [function(own) for own in ops.reshape(listed, (-1,)).tolist()]
    return ops.reshape(ops.stack(found, 0), listed.shape + found[0].shape) if listed.ndim else found[0]


def _hundredths(q: Any) -> Any:
    return q / 100 if isinstance(q, (int, float)) else asarray(q, _core.float64) / 100


def quantile(x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
             interpolation: str | None = None) -> Array:
    """What stands at q * (size - 1) of the sorted elements, interpolated, or by another of NumPy's methods; of several q, along a new first axis.

    >>> tessera.quantile(tessera.asarray([1.0, 2.0, 3.0, 4.0]), [0.25, 0.5])
    """
    x = asarray(x)
    x = x if x.dtype.kind == "f" else ops.cast(x, _core.float32)
    return store(_each_quantile(lambda own: _over_axes(lambda part, i: _quantile(part, own, i, interpolation or method), x, axis, keepdims), q), out)


def percentile(x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
               interpolation: str | None = None) -> Array:
    """quantile(x, q / 100)."""
    return quantile(x, _hundredths(q), axis, out, overwrite_input, method, keepdims, interpolation=interpolation)


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Each element minus the one before it along an axis, n times.

    >>> tessera.diff(tessera.asarray([1, 4, 9]))
    """
    x = asarray(x)
    ends = [None if end is None else asarray(end, x.dtype, device=x.device) for end in (prepend, append)]
    if ends != [None, None]:
        flat = [1 if i == axis_of(axis, x.ndim) else size for i, size in enumerate(x.shape)]
        first, last = (None if end is None else ops.expand(end, flat) if end.ndim == 0 else end for end in ends)
        x = ops.concat([part for part in (first, x, last) if part is not None], axis)
    return ops.diff(x, n, axis)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean over axes, each element with its weight; with `returned` also the sums of the weights."""
    x = asarray(x)
    if weights is None:
        found = ops.mean(x, axis, keepdims)
        return (found, ops.ones(found.shape, found.dtype, found.device) * (x.size / builtins.max(found.size, 1))) if returned else found
    weights = asarray(weights)
    if weights.ndim == 1 and x.ndim > 1 and isinstance(axis, int):
        weights = ops.reshape(weights, (-1,) + (1,) * (x.ndim - 1 - axis_of(axis, x.ndim)))
    weights = ops.expand(weights, x.shape)
    total = ops.sum(weights, axis, keepdims)
    found = ops.sum(x * weights, axis, keepdims) / total
    return (found, total) if returned else found


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None, fweights: Any = None, aweights: Any = None, *,
        dtype: Any = None) -> Array:
    """The covariance matrix of variables, which are the rows, or with rowvar=False the columns.

    >>> tessera.cov(tessera.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    """
    rows = _variables(m, rowvar)
    if y is not None:
        rows = ops.concat([rows, _variables(y, rowvar)], 0)
    rows = rows if dtype is None else ops.cast(rows, dtype)
    count: Any = rows.shape[1]
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = _weights(fweights, aweights, rows)
    if weights is None:
        centred = rows - ops.mean(rows, 1, True)
        return _without_axes(ops.matmul(centred, centred.T) / builtins.max(count - ddof, 0))
    total = ops.sum(weights)
    centred = rows - ops.sum(rows * weights, 1, True) / total
    if ddof == 0:
        divisor = total
    elif aweights is None:
        divisor = total - ddof
    else:
        divisor = total - ddof * ops.sum(weights * asarray(aweights, rows.dtype)) / total
    return _without_axes(ops.matmul(centred * weights, centred.T) / divisor)


def _variables(m: Any, rowvar: bool) -> Array:
    """The variables as rows of floats."""
    m = asarray(m)
    m = m if m.dtype.kind == "f" else ops.cast(m, _core.float32)
    if m.ndim > 2:
        raise ValueError(f"cov: an array with {m.ndim} axes")
    if m.ndim < 2:
        return ops.reshape(m, (1, -1))
    return m if rowvar or m.shape[0] == 1 else m.T


def _weights(fweights: Any, aweights: Any, rows: Array) -> Array | None:
    given = [asarray(own, rows.dtype, device=rows.device) for own in (fweights, aweights) if own is not None]
    return None if not given else given[0] if len(given) == 1 else given[0] * given[1]


def _without_axes(matrix: Array) -> Array:
    """NumPy gives the variance of a single variable as a number."""
    return ops.reshape(matrix, ()) if matrix.shape == (1, 1) else matrix


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """The correlation of variables, which are the rows, or with rowvar=False the columns.

    >>> tessera.corrcoef([1.0, 2.0, 3.0], [2.0, 4.0, 7.0])
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    deviation = ops.sqrt(ops.diag(found))
    return ops.clip(found / ops.outer(deviation, deviation), -1.0, 1.0)


# --- Without NaN -------------------------------------------------------------------------------------------------------


def _known(x: Any) -> tuple[Array, Array | None]:
    """The array, and where it is no NaN; None: nowhere else, as is known at once of integers and of few numbers that the host has."""
    x = asarray(x)
    return x, None if x.dtype.kind != "f" or _core.lacks_nan(x) else ops.eq(x, x)


def nansum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """The sum over axes, NaN left out."""
    x, known = _known(x)
    return sum(x, axis, dtype, out, keepdims, where=known)


def nanprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """The product over axes, NaN left out."""
    x, known = _known(x)
    return prod(x, axis, dtype, out, keepdims, where=known)


def nanmean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """The mean over axes, NaN left out.

    >>> tessera.nanmean(tessera.asarray([1.0, tessera.nan, 3.0]))
    """
    x, known = _known(x)
    return mean(x, axis, dtype, out, keepdims, where=known)


def nanvar(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    """The variance over axes, NaN left out."""
    x, known = _known(asarray(x, dtype))
    if known is None:
        return var(x, axis, out=out, ddof=ddof, keepdims=keepdims)
    is_enough = ops.gt(_counted(x, axis, known, keepdims), ddof)
    return store(ops.where(is_enough, _var_where(x, axis, known, ddof, keepdims), math.nan), out)


def nanstd(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    """The standard deviation over axes, NaN left out."""
    return store(ops.sqrt(nanvar(x, axis, dtype, None, ddof, keepdims)), out)


def _nan_extreme(x: Any, axis: Any, out: Any, keepdims: bool, is_max: bool) -> Array:
    x, known = _known(x)
    if known is None:
        return _extreme(x, axis, out, keepdims, None, None, is_max)
    found = _extreme(_masked(x, known, -math.inf if is_max else math.inf), axis, None, keepdims, None, None, is_max)
    return store(ops.where(any(known, axis, None, keepdims), found, math.nan), out)


def nanmax(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """The largest element over axes, NaN left out."""
    return _nan_extreme(x, axis, out, keepdims, True)


def nanmin(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """The smallest element over axes, NaN left out."""
    return _nan_extreme(x, axis, out, keepdims, False)


def nanargmax(x: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """The index (int32) of the first largest element, NaN left out."""
    x, known = _known(x)
    return store(ops.argmax(_masked(x, known, -math.inf), axis, keepdims), out)


def nanargmin(x: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    """The index (int32) of the first smallest element, NaN left out."""
    x, known = _known(x)
    return store(ops.argmin(_masked(x, known, math.inf), axis, keepdims), out)


def nancumsum(x: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """Sums of the elements up to each, NaN as 0."""
    x, known = _known(x)
    return cumsum(_masked(x, known, 0), axis, dtype, out)


def nancumprod(x: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """Products of the elements up to each, NaN as 1."""
    x, known = _known(x)
    return cumprod(_masked(x, known, 1), axis, dtype, out)


def nanquantile(x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Array:
    """The quantile over axes, NaN left out; with NaN the method is "linear"."""
    x, known = _known(x)
    if known is None:
        return quantile(x, q, axis, out, overwrite_input, method, keepdims)
    if method != "linear":
        raise NotImplementedError(f"nanquantile: the method is 'linear', not {method!r}")

    def along(own: Array, i: int, q: float) -> Array:
        """NaN is sorted to the end, so quantiles are among the first so many elements."""
        if own.shape[i] == 0:
            raise ValueError(f"nanquantile: an axis of {own.shape} has no elements")
        ordered, count = ops.sort(own, i), ops.sum(ops.cast(ops.eq(own, own), _core.int32), i, True)
        place = ops.cast(ops.maximum(count - 1, 0), _core.float32) * q
        low = ops.cast(ops.floor(place), _core.int32)
        below, above = ops.gather(ordered, i, low), ops.gather(ordered, i, ops.minimum(low + 1, ops.maximum(count - 1, 0)))
        share = ops.cast(place - ops.floor(place), own.dtype)
        # Infinities have no difference: where the element below is the result, it is taken as it is.
        is_below = ops.logical_or(ops.eq(share, 0), ops.eq(below, above))
        return ops.squeeze(ops.where(is_below, below, below + (above - below) * share), i)

    return store(_each_quantile(lambda own: _over_axes(lambda part, i: along(part, i, own), x, axis, keepdims), q), out)


def nanpercentile(x: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Array:
    """The percentile over axes, NaN left out."""
    return nanquantile(x, _hundredths(q), axis, out, overwrite_input, method, keepdims)


def nanmedian(x: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Array:
    """The median over axes, NaN left out."""
    return nanquantile(x, 0.5, axis, out, keepdims=keepdims)
