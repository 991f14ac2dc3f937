# SPDX-License-Identifier: MIT
"""Floats taken apart: mantissa, exponent, and the distance to the next one."""
from __future__ import annotations

import math
from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import as_float, asarray


def ldexp(x1: Any, x2: Any, /) -> Array:
    """x1 times 2 to the power x2, in two steps, so that neither overflows before the product does."""
    few = _core.few_ldexp(x1, x2)
    if few is not None:
        return few
    x, power = as_float(x1), asarray(x2)
    half = power // 2
    return x * ops.exp2(ops.cast(half, x.dtype)) * ops.exp2(ops.cast(power - half, x.dtype))


def frexp(x: Any, /) -> tuple[Array, Array]:
    """Numbers from 0.5 to 1, and the powers of 2 that give x when multiplied with them."""
    few = _core.few_frexp(x)
    if few is not None:
        return few
    x = as_float(x)
    is_plain = ops.logical_and(ops.isfinite(x), ops.ne(x, 0.0))
    size = ops.abs(ops.where(is_plain, x, asarray(0.5, x.dtype, device=x.device)))
    power = ops.cast(ops.floor(ops.log2(size)), _core.int32) + 1
    # The logarithm may be rounded to the next whole number.
    scaled = ldexp(size, -power)
    power = power + ops.cast(ops.ge(scaled, 1.0), _core.int32) - ops.cast(ops.lt(scaled, 0.5), _core.int32)
    return ops.where(is_plain, ldexp(x, -power), x), ops.where(is_plain, power, 0)


def spacing(x: Any, /) -> Array:
    """The distance to the next number that the dtype has, away from 0."""
    few = _core.few_spacing(x)
    if few is not None:
        return few
    x = as_float(x)
    return ops.nextafter(x, ops.copysign(asarray(math.inf, x.dtype, device=x.device), x)) - x
