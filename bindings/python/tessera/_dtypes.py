# SPDX-License-Identifier: MIT
"""Questions about dtypes: promotion, ranges, kinds."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import _core, ops
from ._core import Array, DType, can_cast, result_type  # noqa: F401
from ._core import as_dtype as dtype

# name: (bits of exponent, bits of fraction that are stored, largest number)
_FLOATS = {
    "float16": (5, 10, 65504.0),
    "bfloat16": (8, 7, 3.3895313892515355e38),
    "float32": (8, 23, 3.4028234663852886e38),
    "float64": (11, 52, 1.7976931348623157e308),
    "float8_e4m3fn": (4, 3, 448.0),
    "float8_e5m2": (5, 2, 57344.0),
}


class finfo_object(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class iinfo_object(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(type: Any) -> DType:
    return type.dtype if isinstance(type, Array) else dtype(type)


def finfo(type: Any, /) -> finfo_object:
    """The limits of a float dtype, or of an array's.

    >>> tessera.finfo(tessera.float32)
    """
    own = _dtype_of(type)
    if own.name not in _FLOATS:
        raise TypeError(f"finfo: {own} is no float dtype")
    exponent, fraction, largest = _FLOATS[own.name]
    normal = math.ldexp(1.0, 2 - 2 ** (exponent - 1))
    return finfo_object(own.bits, math.ldexp(1.0, -fraction), largest, -largest, normal, own)


def iinfo(type: Any, /) -> iinfo_object:
    """The limits of an integer dtype, or of an array's.

    >>> tessera.iinfo(tessera.int8)
    """
    own = _dtype_of(type)
    if own.kind not in "iu":
        raise TypeError(f"iinfo: {own} is no integer dtype")
    if own.kind == "u":
        return iinfo_object(own.bits, 2**own.bits - 1, 0, own)
    return iinfo_object(own.bits, 2 ** (own.bits - 1) - 1, -(2 ** (own.bits - 1)), own)


def _result_type(*arrays_and_dtypes: Any) -> DType:
    found, numbers = None, []
    for item in arrays_and_dtypes:
        if isinstance(item, (bool, int, float)):
            numbers.append(item)
        else:
            own = _dtype_of(item)
            found = own if found is None else _core.promote(found, own)
    if found is None and not numbers:
        raise ValueError("result_type: at least one array or dtype is needed")
    for number in numbers:
        found = _core.promote_number(number, found if found is not None else _core.bool)
    assert found is not None
    return found


def _can_cast(from_: Any, to: Any, /) -> bool:
    target = dtype(to)
    return _core.promote(_dtype_of(from_), target) == target


_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f", "complex floating": "",
          "numeric": "iuf"}


def isdtype(dtype: DType, kind: Any) -> bool:
    """Whether the dtype is one of a kind ("bool", "integral", "real floating", "numeric", …), or equals a dtype; of a tuple: any of them.

    >>> tessera.isdtype(tessera.int8, "integral")
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, item) for item in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: there is no kind {kind!r}; there are {', '.join(_KINDS)}")
        return dtype.kind in _KINDS[kind]
    return dtype == kind


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements converted to a dtype. With copy=False an array that has it already is returned as it is.

    >>> tessera.astype(tessera.asarray([1.5, 2.5]), tessera.int32)
    """
    target = _core.as_dtype(dtype)
    if device is not None:
        x = _core.to_device(x, device)
    if x.dtype == target:
        return _core.as_array(x, None, None, True) if copy else x
    return ops.cast(x, target)
