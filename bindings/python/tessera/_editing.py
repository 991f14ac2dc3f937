# SPDX-License-Identifier: MIT
"""Arrays with elements put in, taken out or repeated, and functions applied piece by piece."""
from __future__ import annotations

import builtins
from typing import Any, Callable

from . import _core, ops
from ._core import Array
from ._creation import arange, asarray
from ._indexing import check_range
from ._indexing import set as _set
from ._manipulation import axis_of, concat, expand_dims


def append(x: Any, values: Any, axis: int | None = None) -> Array:
    """The array and others behind it; without an axis all elements along one.

    >>> tessera.append([1, 2], [3])
    """
    return concat([asarray(x), asarray(values)], axis=axis)


def _kept(size: int, obj: Any) -> list[int]:
    """Indices from an int, a slice, a list or a mask, as whole numbers from 0 on."""
    if isinstance(obj, slice):
        return list(range(size))[obj]
    listed = asarray(obj)
    if listed.dtype == _core.bool:
        listed = ops.reshape(ops.nonzero(listed), (-1,))
    numbers = listed.tolist()
    found = []
    for i in numbers if isinstance(numbers, list) else [numbers]:
        if not -size <= i <= size:
            raise IndexError(f"index {i} is out of bounds for an axis of size {size}")
        found.append(int(i) + size if i < 0 else int(i))
    return found


def delete(x: Any, obj: Any, axis: int | None = None) -> Array:
    """The array without the elements, or slices along an axis, at these indices.

    >>> tessera.delete([10, 20, 30], 1)
    """
    x = asarray(x)
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    size = x.shape[axis]
    if isinstance(obj, int) and x.ndim == 1 and -size <= obj < size:
        at = obj % size
        return ops.concat([x[:at], x[at + 1:]], 0)
    dropped = builtins.set(_kept(size, obj))
    if size in dropped:
        raise IndexError(f"index {size} is out of bounds for an axis of size {size}")
    return ops.index_select(x, axis, asarray([i for i in range(size) if i not in dropped], _core.int64, device=x.device))


def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """The array with elements, or slices along an axis, put in before these indices.

    >>> tessera.insert([1, 2, 3], 1, 9)
    """
    x = asarray(x)
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    axis = axis_of(axis, x.ndim)
    places = _kept(x.shape[axis], obj)
    values = asarray(values, x.dtype, device=x.device)
    if len(places) == 1:
        if values.ndim < x.ndim and values.ndim > 0 and x.ndim > 1:
            values = ops.unsqueeze(values, axis)
        count = values.shape[axis] if values.ndim == x.ndim else 1
        places = places * count
    shape = x.shape[:axis] + (len(places),) + x.shape[axis + 1:]
    parts = ops.concat([x, ops.expand(values, shape)], axis)
    # Elements of x stand at i, those put in before i come before it, in the order given.
    order = sorted(range(parts.shape[axis]), key=lambda i: (i, 1, 0) if i < x.shape[axis] else (places[i - x.shape[axis]], 0, i))
    return ops.index_select(parts, axis, asarray(order, _core.int64, device=x.device))


def resize(x: Any, new_shape: Any) -> Array:
    """The elements in another shape, repeated if it has more."""
    flat = ops.reshape(asarray(x), (-1,))
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    count = 1
    for size in shape:
        count *= size
    return ops.reshape(ops.take(flat, ops.mod(arange(count, device=flat.device), flat.size)), shape)


def block(arrays: Any) -> Array:
    """A matrix of blocks: lists of lists of arrays, the inner ones side by side."""

    def depth(own: Any) -> int:
        return 1 + depth(own[0]) if isinstance(own, list) else 0

    def joined(own: Any, level: int, rank: int) -> Array:
        if not isinstance(own, list):
            made = asarray(own)
            return expand_dims(made, tuple(range(rank - made.ndim))) if made.ndim < rank else made
        return ops.concat([joined(part, level - 1, rank) for part in own], -level)

    levels = depth(arrays)

    def rank_of(own: Any) -> int:
        return builtins.max(rank_of(part) for part in own) if isinstance(own, list) else asarray(own).ndim

    return joined(arrays, levels, builtins.max(levels, rank_of(arrays)))


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """As split, but parts may differ by one element."""
    from ._manipulation import split

    x = asarray(x)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    size, count = x.shape[axis], indices_or_sections
    return ops.split(x, [size // count + (i < size % count) for i in range(count)], axis)


def fill_diagonal(x: Array, val: Any, wrap: bool = False) -> None:
    """Sets the main diagonal, in place."""
    if wrap:
        raise NotImplementedError("fill_diagonal: there is no wrap here")
    ops.diagonal(x, 0, 0, 1)[...] = val if isinstance(val, (bool, int, float)) else asarray(val, x.dtype, device=x.device)


def put(x: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Sets elements by their places in row-major order, in place. mode: as of take."""
    indices = ind if isinstance(ind, Array) and ind.device is x.device else asarray(ind, device=x.device)
    if mode != "raise":
        indices = ops.mod(indices, x.size) if mode == "wrap" else ops.clip(indices, 0, x.size - 1)
    flat = x if x.ndim == 1 else ops.reshape(x, (-1,))
    if isinstance(v, Array) and v.shape != indices.shape:
        _set(flat, (indices,), v)
    else:
        flat[indices] = v
    if x.ndim != 1 and not flat.shares_memory(x):
        ops.assign(x, ops.reshape(flat, x.shape))


def place(x: Array, mask: Any, vals: Any) -> None:
    """Sets the elements where the mask is true to these values, in order, which are repeated if there are too few. In place; waits for the number of elements."""
    mask = asarray(mask, _core.bool)
    count = int(ops.sum(ops.cast(mask, _core.int64)))
    if count:
        x[mask] = resize(asarray(vals, x.dtype, device=x.device), count)


def putmask(x: Array, mask: Any, values: Any) -> None:
    """Sets each element where the mask is true to the value at the same position; the values are repeated to the size of the array. In place."""
    values = asarray(values, x.dtype, device=x.device)
    if values.shape != x.shape and values.size != 1:
        values = resize(values, x.shape)
    ops.assign(x, ops.where(asarray(mask, _core.bool, device=x.device), values, x))


def copyto(dst: Array, src: Any, where: Any = True) -> None:
    """Sets an array to another one's elements, where the mask holds."""
    if where is True and isinstance(src, Array):
        dst[...] = src
        return
    source = asarray(src, None if isinstance(src, Array) else dst.dtype, device=dst.device)
    ops.assign(dst, source if where is True else ops.where(where, ops.cast(source, dst.dtype), dst))


def put_along_axis(x: Array, indices: Any, values: Any, axis: int) -> None:
    """Sets elements along an axis, chosen by indices of the same rank, in place."""
    given, indices = indices, asarray(indices, device=x.device)
    check_range(given, indices, x.shape[axis], axis_of(axis, x.ndim))
    values = asarray(values, x.dtype, device=x.device)
    ops.assign(x, ops.scatter(x, axis, indices, ops.expand(values, indices.shape)))


def apply_along_axis(func1d: Callable[..., Any], axis: int, x: Any, *args: Any, **options: Any) -> Array:
    """A function of lists, called for each list along an axis."""
    x = ops.moveaxis(asarray(x), axis, -1)
    rows = ops.reshape(x, (-1, x.shape[-1]))
    made = ops.stack([asarray(func1d(rows[i], *args, **options)) for i in range(rows.shape[0])], 0)
    shaped = ops.reshape(made, x.shape[:-1] + made.shape[1:])
    return ops.moveaxis(shaped, -1, axis) if made.ndim == 2 else shaped


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Any) -> Array:
    """Calls a function of an array and an axis for each of the axes in turn; axes that it removes are kept with size 1."""
    x = asarray(a)
    for axis in [axes] if isinstance(axes, int) else list(axes):
        made = func(x, axis)
        x = made if made.ndim == x.ndim else expand_dims(made, axis_of(axis, x.ndim))
    return x


def _bit_weights(bitorder: str, device: Any) -> Array:
    if bitorder not in ("big", "little"):
        raise ValueError(f"packbits: bitorder is 'big' or 'little', not {bitorder!r}")
    shifts = arange(8, dtype=_core.uint8, device=device)
    return 7 - shifts if bitorder == "big" else shifts


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements along an axis as the bits of a uint8: 1 where they are not 0. Zeros are added to the last.

    >>> tessera.packbits([1, 0, 1, 0, 0, 0, 0, 1])
    """
    few = _core.few_packbits(a, bitorder == "little") if axis is None and bitorder in ("big", "little") else None
    if few is not None:
        return few
    bits = ops.ne(asarray(a), 0)
    bits = ops.reshape(bits, (-1,)) if axis is None else ops.moveaxis(bits, axis, -1)
    padded = ops.pad(bits, (0,) * bits.ndim, (0,) * (bits.ndim - 1) + (-bits.shape[-1] % 8,), 0)
    rows = ops.reshape(ops.cast(padded, _core.uint8), padded.shape[:-1] + (-1, 8))
    bytes_ = ops.cast(ops.sum(ops.cast(rows << _bit_weights(bitorder, bits.device), _core.int32), -1), _core.uint8)
    return bytes_ if axis is None else ops.moveaxis(bytes_, -1, axis)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of uint8 elements, each as a 0 or 1, the first `count` of them.

    >>> tessera.unpackbits(tessera.asarray([161], tessera.uint8))
    """
    x = asarray(a)
    if x.dtype != _core.uint8:
        raise TypeError(f"unpackbits: uint8 is needed, not {x.dtype}")
    x = ops.reshape(x, (-1,)) if axis is None else ops.moveaxis(x, axis, -1)
    bits = (x[..., None] >> _bit_weights(bitorder, x.device)) & 1
    bits = ops.reshape(bits, x.shape[:-1] + (-1,))
    if count is not None and count > bits.shape[-1]:
        bits = ops.pad(bits, (0,) * bits.ndim, (0,) * (bits.ndim - 1) + (count - bits.shape[-1],), 0)
    bits = bits[..., :count]
    return bits if axis is None else ops.moveaxis(bits, -1, axis)


class vectorize:
    """A Python function of numbers, called for each element. Slow; for what cannot be written with arrays. Waits for the elements."""

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None) -> None:
        self._function, self.__doc__ = pyfunc, doc or pyfunc.__doc__
        self._dtype = otypes[0] if otypes else None

    def __call__(self, *args: Any) -> Array:
        from ._manipulation import broadcast_arrays

        made = broadcast_arrays(*args)
        lists = [ops.reshape(x, (-1,)).tolist() for x in made]
        return ops.reshape(asarray([self._function(*row) for row in zip(*lists)], self._dtype), made[0].shape)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """The differences of neighbouring elements, in row-major order, with the numbers of to_begin and to_end before and after them."""
    x = asarray(x)
    ends = [None if end is None else ops.reshape(asarray(end, x.dtype, device=x.device), (-1,)) for end in (to_begin, to_end)]
    parts = [ends[0], ops.diff(ops.reshape(x, (-1,)), 1, 0), ends[1]]
    return ops.concat([part for part in parts if part is not None], 0)


def trim_zeros(x: Any, trim: str = "fb") -> Array:
    """A list without the zeros at its front ("f") and back ("b"). Waits for their number."""
    x = asarray(x)
    places = ops.reshape(ops.nonzero(x), (-1,))
    if places.size == 0:
        return x[:0]
    return x[int(places[0]) if "f" in trim else 0:int(places[-1]) + 1 if "b" in trim else None]


def broadcast(*arrays: Any) -> Any:
    """An object with the shape that arrays broadcast to."""
    from ._manipulation import broadcast_arrays

    return broadcast_arrays(*arrays)[0]


def copy(x: Any) -> Array:
    """The same elements in memory of their own."""
    return x.copy() if isinstance(x, Array) else asarray(x, copy=True)


def shape(x: Any) -> tuple[int, ...]:
    """The sizes of the axes."""
    return asarray(x).shape


def ndim(x: Any) -> int:
    """The number of axes."""
    return asarray(x).ndim


def size(x: Any, axis: int | None = None) -> int:
    """The number of elements, or the size of an axis."""
    x = asarray(x)
    return x.size if axis is None else x.shape[axis]


def rollaxis(x: Any, axis: int, start: int = 0) -> Array:
    """A view with an axis moved before another one."""
    x = asarray(x)
    axis, start = axis_of(axis, x.ndim), start + x.ndim if start < 0 else start
    return ops.moveaxis(x, axis, start - 1 if axis < start else start)
