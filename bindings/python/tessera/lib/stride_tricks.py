# SPDX-License-Identifier: MIT
"""Functions of numpy.lib.stride_tricks."""
from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Array
from .._creation import arange, asarray
from .._manipulation import broadcast_arrays, broadcast_shapes, broadcast_to
from .._signal import sliding_window_view

__all__ = ["as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "sliding_window_view"]


def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Array:
    """The elements that lie so many bytes apart along each axis, from the first element on. A copy, unlike in NumPy; elements beyond the array are a ValueError.

    >>> tessera.lib.stride_tricks.as_strided(tessera.arange(4), (3, 2), (8, 8))
    """
    x = asarray(x)
    sizes = x.shape if shape is None else tuple(shape)
    steps = x.strides if strides is None else tuple(strides)
    if len(sizes) != len(steps) or any(step % x.itemsize for step in steps):
        raise ValueError(f"as_strided: a stride for each axis, a multiple of {x.itemsize} bytes, is needed")
    if not x.flags.c_contiguous:
        raise ValueError("as_strided: the elements of the array must lie side by side; x.copy() does")
    if 0 in sizes:
        return ops.zeros(sizes, x.dtype, x.device)
    reach = [(size - 1) * (step // x.itemsize) for size, step in zip(sizes, steps)]
    if sum(own for own in reach if own < 0) < 0 or sum(own for own in reach if own > 0) >= x.size:
        raise ValueError(f"as_strided: the shape {sizes} with the strides {steps} goes beyond the {x.size} elements of the array")
    place = arange(1, device=x.device)
    for size, step in zip(sizes, steps):
        place = place[..., None] + arange(size, device=x.device) * (step // x.itemsize)
    return ops.take(x, ops.reshape(place, sizes))
