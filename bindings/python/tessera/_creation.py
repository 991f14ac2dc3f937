# SPDX-License-Identifier: MIT
"""Functions that make arrays."""
from __future__ import annotations

import math as _math
from typing import Any

from . import _core, ops
from ._core import Array, arange, array, asarray, ascontiguousarray, empty, full, full_like, ones, ones_like, zeros, zeros_like
from ._dtypes import dtype as _dtype


def _asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Array:
    """asarray, for all calls that C does not serve."""
    if not isinstance(obj, Array) and copy is False and hasattr(obj, "__dlpack__"):
        shared = _core.from_dlpack(obj, device=device)
        if dtype is not None and shared.dtype != _dtype(dtype):
            raise ValueError("asarray: copy=False, but another dtype needs a copy")
        return shared
    if not isinstance(obj, (Array, bool, int, float, list, tuple)):
        obj = _with_buffer(obj)
    return _core.as_array(obj, dtype, device, copy)


def _with_buffer(obj: Any) -> Any:
    """The object itself if it has a buffer, else what it offers in place of one."""
    try:
        memoryview(obj)
        return obj
    except TypeError:
        pass
    if hasattr(obj, "__dlpack_device__") and obj.__dlpack_device__()[0] != 1:  # NumPy's arrays are on the host
        return _core.from_dlpack(obj, copy=True)
    if hasattr(obj, "__array__"):
        return obj.__array__()
    if hasattr(obj, "__dlpack__"):
        return _core.from_dlpack(obj)
    return list(obj) if hasattr(obj, "__iter__") else obj


def _array(obj: Any, dtype: Any = None, *, copy: bool | None = True, device: Any = None, ndmin: int = 0, order: str = "K") -> Array:
    made = asarray(obj, dtype, device=device, copy=copy)
    return ops.reshape(made, (1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def _shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if hasattr(shape, "__index__") else tuple(shape)


def _zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    return ops.zeros(_shape(shape), dtype or _core.float32, device)


def _ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    return ops.ones(_shape(shape), dtype or _core.float32, device)


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    value = asarray(fill_value, dtype, device=device)
    return _core.as_array(ops.expand(value, _shape(shape)), None, None, True)


def _zeros_like(x: Any, /, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    x = asarray(x)
    return zeros(x.shape if shape is None else shape, dtype or x.dtype, device=device or x.device)


def _ones_like(x: Any, /, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    x = asarray(x)
    return ones(x.shape if shape is None else shape, dtype or x.dtype, device=device or x.device)


empty_like = zeros_like


def _full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Array:
    x = asarray(x)
    return full(x.shape if shape is None else shape, fill_value, dtype or x.dtype, device=device or x.device)


def _arange(start: Any = 0, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Array:
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        dtype = _core.int64 if all(isinstance(number, int) for number in (start, stop, step)) else _core.float32
    return ops.arange(start, stop, step, dtype, device)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *,
             device: Any = None) -> Any:
    """`num` numbers evenly spaced from start to stop, which is the last of them if `endpoint`; with `retstep` also the distance. Arrays as ends give a new axis.

    >>> tessera.linspace(0, 1, 5)
    """
    parts = num - 1 if endpoint else num
    step = (stop - start) / parts if parts > 0 else _math.nan
    if not endpoint and num > 0:
        stop = start + (stop - start) * (num - 1) / num
    if isinstance(start, Array) or isinstance(stop, Array):
        share = ops.linspace(0.0, 1.0, num, _core.float32, device)
        first, last = asarray(start), asarray(stop)
        made = ops.unsqueeze(first, -1) + ops.unsqueeze(last - first, -1) * share
        made = ops.moveaxis(made if dtype is None else ops.cast(made, dtype), -1, axis)
    else:
        made = ops.linspace(start, stop, num, dtype or _core.float32, device)
    return (made, step) if retstep else made


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """1 on the k-th diagonal of N rows and M columns, else 0.

    >>> tessera.eye(2)
    """
    return ops.eye(N, N if M is None else M, k, dtype or _core.float32, device)


def identity(n: int, dtype: Any = None) -> Array:
    """The square matrix with 1 on its diagonal."""
    return eye(n, dtype=dtype)


def tril(x: Any, /, k: int = 0) -> Array:
    """The lower triangle of the last two axes, the rest 0.

    >>> tessera.tril([[1, 2], [3, 4]])
    """
    return ops.tril(x, k)


def triu(x: Any, /, k: int = 0) -> Array:
    """The upper triangle of the last two axes, the rest 0.

    >>> tessera.triu([[1, 2], [3, 4]])
    """
    return ops.triu(x, k)


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Array]:
    """Views of lists, each repeated along the axes of the others, or with `sparse` of size 1 along these.

    >>> tessera.meshgrid(tessera.arange(2), tessera.arange(3))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    if not sparse:
        return ops.meshgrid(arrays, indexing == "xy")
    axes = list(range(len(arrays)))
    if indexing == "xy":
        axes[:2] = axes[:2][::-1]
    return [ops.reshape(asarray(x), (1,) * axis + (-1,) + (1,) * (len(arrays) - 1 - axis)) for axis, x in zip(axes, arrays)]


def _frombuffer(buffer: Any, dtype: Any = _core.float32, count: int = -1, offset: int = 0) -> Array:
    own = _core.as_dtype(dtype)
    data = memoryview(buffer).cast("B")[offset:]
    if count >= 0:
        data = data[:count * own.itemsize]
    if len(data) % own.itemsize or (count >= 0 and len(data) < count * own.itemsize):
        raise ValueError(f"frombuffer: {len(data)} bytes are no whole number of {own} elements, or too few")
    if len(data) == 0:
        return ops.zeros((0,), own)
    x = asarray(data)
    return ops.ne(x, 0) if own == _core.bool else ops.bit_cast(x, own)


def as_float(x: Any) -> Array:
    """An array of floats: float32 of what is none."""
    x = asarray(x)
    return x if x.dtype.kind == "f" else ops.cast(x, _core.float32)


from_dlpack, frombuffer = _core.from_dlpack, _core.frombuffer
