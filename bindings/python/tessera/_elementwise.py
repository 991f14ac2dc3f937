# SPDX-License-Identifier: MIT
"""Element-wise functions. Most are operators under the names that NumPy and the array API have for them."""
from __future__ import annotations

from typing import Any

from . import ops
from ._core import Array
from .ops import (abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_or, bitwise_xor, cbrt, ceil, copysign,  # noqa: F401
                  cos, cosh, erf, exp, exp2, expm1, floor, fmax, fmin, fmod, gcd, hypot, isclose, isfinite, isinf, isnan, lcm, log, log10,
                  log1p, log2, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, nan_to_num, nextafter, pow,
                  reciprocal, round, sign, signbit, sin, sinh, sqrt, square, tan, tanh, trunc)

bitwise_invert = bitwise_not = invert = ops.bitwise_not
bitwise_left_shift = left_shift = ops.shift_left
bitwise_right_shift = right_shift = ops.shift_right
divide = true_divide = ops.div
equal = ops.eq
floor_divide = ops.floor_div
greater = ops.gt
greater_equal = ops.ge
less = ops.lt
less_equal = ops.le
multiply = ops.mul
negative = ops.neg
not_equal = ops.ne
remainder = mod = ops.mod
subtract = ops.sub
# NumPy's other names.
absolute = fabs = abs
arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh = acos, acosh, asin, asinh, atan, atan2, atanh
power = pow
rint = round


def positive(x: Array, /) -> Array:
    """x itself."""
    return +x


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """x within limits, which are numbers or arrays; None means no limit. Where they contradict each other, `max` wins."""
    dtype = x.dtype
    for limit, function in ((min, maximum), (max, minimum)):
        if limit is not None:
            x = function(x, limit)
    return x if x.dtype == dtype or x.dtype.kind == "f" else ops.cast(x, dtype)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether |a - b| <= atol + rtol * |b| everywhere. Waits for the answer."""
    return bool(ops.allclose(a, b, rtol, atol, equal_nan))


def array_equal(a: Any, b: Any) -> bool:
    """Whether shapes and all elements are equal. Waits for the answer."""
    from ._creation import asarray

    a, b = asarray(a), asarray(b)
    return a.shape == b.shape and bool(ops.all(ops.eq(a, b)))
