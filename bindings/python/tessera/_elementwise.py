# SPDX-License-Identifier: MIT
"""Element-wise functions: operators under the names that NumPy and the array API have for them, with NumPy's keywords and methods.

`np.add(a, b)` alone is a call of the operator. With `out=` and `where=` the result is written into an array; `reduce`, `accumulate`, `outer` and `at` are those of NumPy's
universal functions.
"""
from __future__ import annotations

from typing import Any

from . import _core, ops
from ._core import Array, ufunc
from ._creation import asarray
from .ops import isclose  # noqa: F401

# name in Python: operator, where the names differ
_OTHER_NAMES = {
    "bitwise_invert": "bitwise_not", "bitwise_left_shift": "shift_left", "bitwise_right_shift": "shift_right", "divide": "div", "equal": "eq",
    "floor_divide": "floor_div", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg",
    "not_equal": "ne", "remainder": "mod", "subtract": "sub", "bitwise_count": "bit_count",
}


def _made(name: str) -> ufunc:
    return _core.make_ufunc(_OTHER_NAMES.get(name, name), name)


abs, acos, acosh, asin, asinh, atan, atanh, cbrt, ceil, cos, cosh, erf, exp, exp2, expm1, floor = map(_made, (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor"))
isfinite, isinf, isnan, log, log10, log1p, log2, logical_not, negative, reciprocal, sign, signbit, sin, sinh, sqrt, square = map(_made, (
    "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not", "negative", "reciprocal", "sign", "signbit", "sin", "sinh",
    "sqrt", "square"))
tan, tanh, trunc, bitwise_invert, bitwise_count = map(_made, ("tan", "tanh", "trunc", "bitwise_invert", "bitwise_count"))
add, atan2, bitwise_and, bitwise_or, bitwise_xor, copysign, fmax, fmin, fmod, gcd, hypot, lcm, logaddexp, nextafter, pow = map(_made, (
    "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "fmax", "fmin", "fmod", "gcd", "hypot", "lcm", "logaddexp",
    "nextafter", "pow"))
logical_and, logical_or, logical_xor, maximum, minimum, subtract, multiply, divide, floor_divide, remainder = map(_made, (
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "subtract", "multiply", "divide", "floor_divide", "remainder"))
equal, not_equal, less, less_equal, greater, greater_equal, bitwise_left_shift, bitwise_right_shift = map(_made, (
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "bitwise_left_shift", "bitwise_right_shift"))
rint = _core.make_ufunc("round", "rint")
# NumPy's other names.
absolute = fabs = abs
arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh = acos, acosh, asin, asinh, atan, atan2, atanh
bitwise_not = invert = bitwise_invert
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
mod = remainder
power = pow
true_divide = divide


# --- Keywords and methods --------------------------------------------------------------------------------------------


def store(result: Array, out: Any) -> Array:
    """The result, written into `out` if there is one."""
    if isinstance(out, tuple):
        out = out[0]
    if out is None:
        return result
    if result.dtype.kind == "f" and out.dtype.kind != "f":
        raise TypeError(f"out: the result is {result.dtype}, which an array of {out.dtype} does not hold")
    if out.shape != result.shape:
        raise ValueError(f"out: the result has the shape {result.shape}, not {out.shape}")
    ops.assign(out, result)
    return out


def _call_with_keywords(self: ufunc, args: tuple[Any, ...], keywords: dict[str, Any] | None) -> Array:
    """A call with out=, where= or dtype=, or with `out` behind the inputs."""
    options = dict(keywords or {})
    inputs, behind = args[:self.nin], args[self.nin:]
    if len(behind) > 1:
        raise TypeError(f"{self.__name__} takes {self.nin} arrays and `out`, not {len(args)}")
    out = behind[0] if behind else options.pop("out", None)
    where, dtype = options.pop("where", True), options.pop("dtype", None)
    for ignored in ("casting", "order", "subok"):
        options.pop(ignored, None)
    if dtype is not None:
        inputs = tuple(asarray(x, dtype) for x in inputs)
    result = getattr(ops, self.operator)(*inputs, **options)
    if where is not True:
        before = out[0] if isinstance(out, tuple) else out
        result = ops.where(where, result, ops.zeros(result.shape, result.dtype, result.device) if before is None else before)
    return store(result, out)


_core.set_keyword_call(_call_with_keywords)

_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any", "fmax": "nanmax",
               "fmin": "nanmin"}


def _reduce(self: ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None) -> Array:
    """The function between all elements along an axis: add.reduce(x) is the sum along axis 0."""
    from . import _statistics

    array = asarray(array, dtype)
    name = _REDUCTIONS.get(self.__name__)
    if name in ("all", "any", "nanmax", "nanmin"):
        return store(getattr(_statistics, name)(array, axis=axis, keepdims=keepdims), out)
    if name is not None:
        return store(getattr(_statistics, name)(array, axis=axis, keepdims=keepdims, initial=initial), out)
    parts = _parts(self, array, axis)
    result = parts[0] if initial is None else self(initial, parts[0])
    for part in parts[1:]:
        result = self(result, part)
    return store(ops.unsqueeze(result, axis) if keepdims else result, out)


def _parts(self: ufunc, array: Array, axis: int) -> list[Array]:
    if self.nin != 2:
        raise ValueError(f"{self.__name__}: only functions of two arrays can be reduced or accumulated")
    if array.shape[axis] == 0:
        raise ValueError(f"{self.__name__}: no element to begin with along axis {axis}")
    return ops.unstack(array, axis, array.shape[axis])


def _accumulate(self: ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
    """The function between all elements up to each along an axis: maximum.accumulate(x) is the largest element so far."""
    from . import _statistics

    array = asarray(array, dtype)
    if array.size == 0:
        return store(array, out)
    if self is add or self is multiply:
        return store((_statistics.cumsum if self is add else _statistics.cumprod)(array, axis), out)
    if self is maximum or self is minimum:
        return store((ops.cummax if self is maximum else ops.cummin)(array, axis)[0], out)
    made = _parts(self, array, axis)
    for i in range(1, len(made)):
        made[i] = self(made[i - 1], made[i])
    return store(ops.stack(made, axis), out)


def _outer(self: ufunc, a: Any, b: Any) -> Array:
    """The function of each element of a with each of b."""
    a, b = asarray(a), asarray(b)
    return self(ops.reshape(a, a.shape + (1,) * b.ndim), b)


def _reduceat(self: ufunc, array: Any, indices: Any, axis: int = 0) -> Array:
    """reduce of the parts between neighbouring indices. If an index is not below the next one, its result is the element at that index."""
    array = asarray(array)
    starts = asarray(indices).tolist()
    from ._manipulation import axis_of

    before = (slice(None),) * axis_of(axis, array.ndim)
    parts = []
    for i, start in enumerate(starts):
        stop = starts[i + 1] if i + 1 < len(starts) else array.shape[axis]
        parts.append(self.reduce(array[before + (slice(start, stop if stop > start else start + 1),)], axis))
    return ops.stack(parts, axis)


_COMBINES = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


def _at(self: ufunc, a: Array, indices: Any, b: Any = None) -> None:
    """a[indices] = f(a[indices], b), where an element that is named twice is changed twice. For add, subtract, multiply, maximum and minimum."""
    from ._indexing import set

    key = indices if isinstance(indices, tuple) else (indices,)
    if self.nin == 1:
        a[key] = self(a[key])
        return
    if self is subtract:
        self, b = add, negative(asarray(b, a.dtype, device=a.device))
    if self.__name__ not in _COMBINES:
        raise NotImplementedError(f"{self.__name__}.at: there is no operator that does it; add, subtract, multiply, maximum and minimum can")
    set(a, key, b, _COMBINES[self.__name__])


for _name, _method in {"reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "at": _at, "reduceat": _reduceat}.items():
    setattr(ufunc, _name, _method)


# --- Functions of several operators ------------------------------------------------------------------------------------


def positive(x: Any, /) -> Array:
    """x itself.

    >>> tessera.positive([1, -2])
    """
    return +asarray(x)


def round(x: Any, /, decimals: int = 0, out: Any = None) -> Array:
    """The nearest numbers with so many decimals, halves to the even one.

    >>> tessera.round(tessera.asarray([1.25, 2.5]), 1)
    """
    x = asarray(x)
    if x.dtype.kind != "f":
        if decimals >= 0:
            return store(x if x.dtype.kind != "b" else ops.cast(x, _core.int64), out)
        return store(ops.cast(round(ops.cast(x, _core.float64), decimals), x.dtype), out)
    if decimals == 0:
        return store(ops.round(x), out)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    return store(ops.round(x * scale) / scale if decimals > 0 else ops.round(x / scale) * scale, out)


around = round_ = round


def clip(x: Any, /, min: Any = None, max: Any = None, out: Any = None, *, a_min: Any = None, a_max: Any = None) -> Array:
    """x within limits, which are numbers or arrays; None means no limit. Where they contradict each other, `max` wins.

    >>> tessera.clip(tessera.asarray([-3, 5, 20]), 0, 10)
    """
    x = asarray(x)
    dtype = x.dtype
    for limit, function in ((min if min is not None else a_min, ops.maximum), (max if max is not None else a_max, ops.minimum)):
        if limit is not None:
            x = function(x, limit)
    return store(x if x.dtype == dtype or x.dtype.kind == "f" else ops.cast(x, dtype), out)


def nan_to_num(x: Any, /, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """NaN and infinities replaced by numbers; infinities by the largest there are unless others are given."""
    x = asarray(x)
    if x.dtype.kind != "f":
        return x
    from ._dtypes import finfo

    largest = finfo(x.dtype).max
    return store(ops.nan_to_num(x, nan, largest if posinf is None else posinf, -largest if neginf is None else neginf), None if copy else x)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether |a - b| <= atol + rtol * |b| everywhere. Waits for the answer.

    >>> tessera.allclose([1.0, 2.0], [1.0, 2.000001])
    """
    return bool(ops.allclose(a, b, rtol, atol, equal_nan))


def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are equal. Waits for the answer.

    >>> tessera.array_equal([1, 2], [1, 3])
    """
    a, b = asarray(a), asarray(b)
    if a.shape != b.shape:
        return False
    same = ops.eq(a, b)
    return bool(ops.all(ops.logical_or(same, ops.logical_and(ops.ne(a, a), ops.ne(b, b))) if equal_nan else same))


def array_equiv(a: Any, b: Any) -> bool:
    """Whether all elements are equal once the shapes are broadcast. Waits for the answer."""
    try:
        return bool(ops.all(ops.eq(a, b)))
    except ValueError:
        return False


def deg2rad(x: Any) -> Array:
    """Degrees as radians."""
    return asarray(x) * (3.141592653589793 / 180)


def rad2deg(x: Any) -> Array:
    """Radians as degrees."""
    return asarray(x) * (180 / 3.141592653589793)


radians, degrees = deg2rad, rad2deg


def sinc(x: Any) -> Array:
    """sin(pi x) / (pi x), 1 at 0."""
    scaled = asarray(x) * 3.141592653589793
    return ops.where(ops.eq(scaled, 0), 1.0, ops.sin(scaled) / ops.where(ops.eq(scaled, 0), 1.0, scaled))


def float_power(x1: Any, x2: Any, /) -> Array:
    """x1 to the power of x2, computed in floats also for integers."""
    x1 = asarray(x1)
    return ops.pow(x1 if x1.dtype.kind == "f" else ops.cast(x1, _core.float32), x2)


heaviside, logaddexp2 = _core.heaviside, _core.logaddexp2


def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """The quotient rounded down, and what is left."""
    return ops.floor_div(x1, x2), ops.mod(x1, x2)


def modf(x: Any) -> tuple[Array, Array]:
    """The part behind the point, and the part before it, both with the sign of x."""
    x = asarray(x)
    whole = ops.trunc(x)
    return x - whole, whole


def fix(x: Any) -> Array:
    """Rounded towards 0."""
    return ops.trunc(x)


def isposinf(x: Any) -> Array:
    """Whether each element is infinity."""
    return ops.eq(x, float("inf"))


def isneginf(x: Any) -> Array:
    """Whether each element is minus infinity."""
    return ops.eq(x, float("-inf"))
