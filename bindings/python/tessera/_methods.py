# SPDX-License-Identifier: MIT
"""Methods of Array that are written in Python."""
from __future__ import annotations

from typing import Any

from . import _core, _elementwise, _manipulation, _statistics, linalg, ops
from ._core import Array
from ._creation import asarray
from ._dtypes import astype

# What NumPy's arrays and Python's buffers do not have, and which dtype of theirs holds the same values.
_WIDER = {"bfloat16": "float32", "float8_e4m3fn": "float32", "float8_e5m2": "float32", "int4": "int8", "uint4": "uint8"}
# The same bits in a dtype that buffers have.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def _readable(x: Array) -> Array:
    return ops.cast(x, _WIDER[x.dtype.name]) if x.dtype.name in _WIDER else x


def tolist(self: Array) -> Any:
    """The elements as nested lists of Python numbers. Waits for them."""
    if self.ndim == 0:
        return self.item()
    if self.size == 0:
        return _empty_list(self.shape)
    # memoryview has no lists of half precision.
    return memoryview(_readable(ops.cast(self, _core.float32) if self.dtype == _core.float16 else self)).tolist()


def _empty_list(shape: tuple[int, ...]) -> list[Any]:
    return [] if shape[0] == 0 else [_empty_list(shape[1:]) for _ in range(shape[0])]


def tobytes(self: Array) -> bytes:
    """The elements in row-major order, as they lie in memory."""
    x = ops.bit_cast(self, _BITS[self.dtype.name]) if self.dtype.name in _BITS and self.ndim else self
    return memoryview(ops.contiguous(x)).tobytes()


def _rebuild(data: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
    stored = _core.as_dtype(_BITS.get(dtype, dtype))
    if stored == _core.bool:
        x = ops.ne(asarray(memoryview(data)), 0)
    else:
        x = ops.bit_cast(asarray(memoryview(data)), stored) if len(data) else ops.zeros(shape, stored)
    x = ops.reshape(x, shape)
    return ops.bit_cast(x, dtype) if dtype in _BITS else x


def reduce(self: Array) -> tuple[Any, ...]:
    """For pickle: bytes, dtype and shape. The copy is made on the current device."""
    x = self
    if x.dtype.name in ("int4", "uint4"):
        raise TypeError(f"arrays of {x.dtype} cannot be pickled: use astype() first")
    if x.ndim == 0:
        x = ops.reshape(x, (1,))
    return _rebuild, (tobytes(x), self.dtype.name, self.shape)


def as_numpy(self: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """numpy.asarray(x): the same memory, read-only, where NumPy has the dtype and the array is on the CPU."""
    import numpy

    made = numpy.asarray(memoryview(_readable(self)))
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return made.astype(dtype)
    return made.copy() if copy else made


def _copy(self: Array, memo: Any = None) -> Array:
    """The same elements in memory of their own."""
    return _core.as_array(self, None, None, True)


def _reshape(self: Array, *shape: Any) -> Array:
    """The same elements with another shape: reshape(2, 3) or reshape((2, 3))."""
    return _manipulation.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transpose(self: Array, *axes: Any) -> Array:
    """A view with the axes in this order, or in reverse."""
    if not axes or axes == (None,):
        return self.T
    return ops.permute(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _to_device(self: Array, device: Any, /, *, stream: Any = None) -> Array:
    """The array on another device."""
    return _core.to_device(self, device)


def _contains(self: Array, value: Any) -> bool:
    return bool(ops.any(self == value))


def _format(self: Array, form: str) -> str:
    return format(self.item(), form) if self.ndim == 0 else format(str(self), form)


def _namespace(self: Array, *, api_version: str | None = None) -> Any:
    """The module `tessera`."""
    import tessera

    if api_version not in (None, "2021.12", "2022.12", "2023.12"):
        raise ValueError(f"there is no array API version {api_version} here, but 2023.12")
    return tessera


def _flatten(self: Array) -> Array:
    """All elements along one axis, in memory of their own."""
    return _copy(_manipulation.ravel(self))


def _astype(self: Array, dtype: Any, *, copy: bool = True) -> Array:
    """The elements converted to a dtype."""
    return astype(self, dtype, copy=copy)


def _dot(self: Array, other: Any) -> Array:
    """The product of lists or matrices."""
    return linalg.dot(self, other)


def _clip(self: Array, min: Any = None, max: Any = None) -> Array:
    """Within limits."""
    return _elementwise.clip(self, min, max)


_METHODS = {
    "__array__": as_numpy, "__array_namespace__": _namespace, "__contains__": _contains, "__copy__": _copy, "__deepcopy__": _copy,
    "__format__": _format, "__reduce__": reduce, "astype": _astype, "clip": _clip, "copy": _copy, "dot": _dot,
    "flatten": _flatten, "reshape": _reshape, "to_device": _to_device, "tobytes": tobytes, "tolist": tolist,
    "transpose": _transpose,
}
for _name in ("all", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "mean", "min", "prod", "std", "sum", "var"):
    _METHODS[_name] = getattr(_statistics, _name)
for _name in ("ravel", "repeat", "squeeze", "swapaxes"):
    _METHODS[_name] = getattr(_manipulation, _name)
for _name, _method in _METHODS.items():
    setattr(Array, _name, _method)
setattr(Array, "nbytes", property(lambda self: (self.size * self.dtype.bits + 7) // 8, doc="Bytes of all elements."))
setattr(Array, "__array_priority__", 1000)  # NumPy leaves its operators on our arrays to us
