# SPDX-License-Identifier: MIT
"""Methods of Array that are written in Python."""
from __future__ import annotations

import importlib
import math
from typing import Any

from . import _core, _creation, _dtypes, _elementwise, _manipulation, _numpy, _searching, _sets, _statistics, linalg, ops
from ._core import Array
from ._creation import asarray
from ._dtypes import astype

# What NumPy's arrays and Python's buffers do not have, and which dtype of theirs holds the same values.
_WIDER = {"bfloat16": "float32", "float8_e4m3fn": "float32", "float8_e5m2": "float32", "int4": "int8", "uint4": "uint8"}
# The same bits in a dtype that buffers have.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def _readable(x: Array) -> Array:
    return ops.cast(x, _WIDER[x.dtype.name]) if x.dtype.name in _WIDER else x


def _memory(x: Any) -> Any:
    """A memoryview, of which type checkers do not know that arrays have one."""
    return memoryview(x)


def _tolist(self: Array) -> Any:
    if self.ndim == 0:
        return self.item()
    if self.size == 0:
        return _empty_list(self.shape)
    # memoryview has no lists of half precision.
    return _memory(_readable(ops.cast(self, _core.float32) if self.dtype == _core.float16 else self)).tolist()


def _empty_list(shape: tuple[int, ...]) -> list[Any]:
    return [] if shape[0] == 0 else [_empty_list(shape[1:]) for _ in range(shape[0])]


def tobytes(self: Array) -> bytes:
    """The elements in row-major order, as they lie in memory."""
    x = ops.bit_cast(self, _BITS[self.dtype.name]) if self.dtype.name in _BITS and self.ndim else self
    return _memory(ops.contiguous(x)).tobytes()


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
    # By its name, so that type checkers of programs that do without NumPy need not read it.
    made: Any = importlib.import_module("numpy").asarray(_memory(_readable(self)))
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return made.astype(dtype)
    return made.copy() if copy else made


def _deep_copy(self: Array, memo: Any) -> Array:
    return self.copy()


def _shallow_copy(self: Array) -> Array:
    return self.copy()


def _reshape(self: Array, *shape: Any, order: str = "C") -> Array:
    return _manipulation.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(self: Array, *axes: Any) -> Array:
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


def _flatten(self: Array, order: str = "C") -> Array:
    """All elements along one axis, in memory of their own."""
    return _manipulation.ravel(self, order).copy()


def _astype(self: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Array:
    return astype(self, dtype, copy=copy)


def _view(self: Array, dtype: Any = None) -> Array:
    """The same memory; with a dtype, its bits as elements of that one, in a copy."""
    return self[...] if dtype is None else ops.bit_cast(self, dtype)


def _resize(self: Array, *shape: Any, refcheck: bool = True) -> None:
    """Another shape for the same number of elements, in place."""
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if math.prod(sizes) != self.size:
        raise NotImplementedError("an array keeps its number of elements: use tessera.resize")
    self.shape = sizes


def _diagonal(self: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of a diagonal between two axes."""
    return ops.diagonal(self, offset, axis1, axis2)


def _tofile(self: Array, file: Any) -> None:
    """Writes the elements' bytes to a file."""
    if hasattr(file, "write"):
        file.write(tobytes(self))
        return
    with open(file, "wb") as opened:
        opened.write(tobytes(self))


def _conj(self: Array) -> Array:
    """x itself: there are no complex dtypes."""
    return self


class _Flat:
    """x.flat: all elements in row-major order, to read, write and iterate over."""

    def __init__(self, x: Array) -> None:
        self._x = x

    def __len__(self) -> int:
        return self._x.size

    def __iter__(self) -> Any:
        return iter(ops.reshape(self._x, (-1,)))

    def __getitem__(self, key: Any) -> Array:
        return ops.reshape(self._x, (-1,))[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        flat = ops.reshape(self._x, (-1,))
        flat[key] = value
        if not flat.shares_memory(self._x):
            ops.assign(self._x, ops.reshape(flat, self._x.shape))


class _Flags:
    """x.flags: how the elements lie in memory."""

    def __init__(self, x: Array) -> None:
        self.c_contiguous = _is_dense(x.shape, x.strides, x.itemsize)
        self.f_contiguous = _is_dense(x.shape[::-1], x.strides[::-1], x.itemsize)
        self.contiguous, self.writeable, self.aligned = self.c_contiguous, True, True

    def __getitem__(self, name: str) -> bool:
        return bool(getattr(self, name.lower()))


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether the elements lie side by side, the last axis fastest."""
    expected = itemsize
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size > 1 and stride != expected:
            return 0 in shape
        expected *= size
    return True


def _divmod(self: Array, other: Any) -> tuple[Array, Array]:
    return self // other, self % other


def _rdivmod(self: Array, other: Any) -> tuple[Array, Array]:
    return other // self, other % self


def _nonzero(self: Array) -> tuple[Array, ...]:
    """The indices (int32) of the elements that are not 0, one array for each axis."""
    return _core.nonzero(self)


def _sort(self: Array, axis: int = -1, kind: Any = None) -> None:
    ops.assign(self, ops.sort(self, axis))


def _put(self: Array, indices: Any, values: Any, mode: str = "raise") -> None:
    """Sets elements by their places in row-major order."""
    from ._editing import put

    put(self, indices, values, mode)


def _compress(self: Array, condition: Any, axis: int | None = None) -> Array:
    """The slices along an axis where the condition holds."""
    return _sets.compress(condition, self, axis)


def _partition(self: Array, kth: Any, axis: int = -1) -> None:
    """Sorts in place, which is more than NumPy promises."""
    _sort(self, axis)


def _fill(self: Array, value: Any) -> None:
    self[...] = value


def _ascontiguousarray(x: Any, dtype: Any = None) -> Array:
    return ops.contiguous(asarray(x, dtype))


def _dot(self: Array, other: Any) -> Array:
    """The product of lists or matrices."""
    return linalg.dot(self, other)


_METHODS = {
    "__array__": as_numpy, "__array_namespace__": _namespace, "__contains__": _contains, "__copy__": _shallow_copy, "__deepcopy__": _deep_copy,
    "__divmod__": _divmod, "__format__": _format, "__rdivmod__": _rdivmod, "__reduce__": reduce, "__round__": _elementwise.round,
    "compress": _compress, "conj": _conj, "conjugate": _conj, "diagonal": _diagonal, "dot": _dot, "nonzero": _nonzero, "partition": _partition,
    "resize": _resize, "to_device": _to_device, "tobytes": tobytes, "tofile": _tofile, "trace": _numpy.trace, "put": _put,
    "view": _view,
}
for _module, _names in {
    _statistics: "argmax argmin cumprod cumsum prod ptp std var",
    _manipulation: "repeat swapaxes",
    _searching: "argsort searchsorted",
    _elementwise: "clip round",
    _sets: "argpartition choose",
}.items():
    for _name in _names.split():
        _METHODS[_name] = getattr(_module, _name)
for _name, _method in _METHODS.items():
    setattr(Array, _name, _method)
for _name, _property in {
    "nbytes": property(lambda self: (self.size * self.dtype.bits + 7) // 8, doc="Bytes of all elements."),
    "flat": property(_Flat, lambda self, value: self.__setitem__(..., value), doc="All elements in row-major order, to read, write and iterate over."),
    "flags": property(_Flags, doc="How the elements lie in memory: c_contiguous, f_contiguous, writeable, aligned."),
    "real": property(lambda self: self, doc="x itself: there are no complex dtypes."),
}.items():
    setattr(Array, _name, _property)
_core.set_general({"reshape": _reshape, "ravel": _manipulation.ravel, "astype": _astype, "tolist": _tolist, "asarray": _creation._asarray, "array": _creation._array,
                   "nonzero": _searching._nonzero, "count_nonzero": _searching._count_nonzero, "flatten": _flatten, "transpose": _transpose, "squeeze": _manipulation.squeeze,
                   "take": _searching.take, "sort": _sort, "fill": _fill, "ascontiguousarray": _ascontiguousarray, "frombuffer": _creation._frombuffer,
                   "result_type": _dtypes._result_type, "can_cast": _dtypes._can_cast,
                   **{name: getattr(_creation, f"_{name}") for name in "zeros ones full arange zeros_like ones_like full_like".split()}})
_core.set_reductions({name: getattr(_statistics, name) for name in ("sum", "mean", "max", "min", "any", "all")})
setattr(Array, "__array_priority__", 1000)  # NumPy leaves its operators on our arrays to us
