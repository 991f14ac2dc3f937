# SPDX-License-Identifier: MIT
"""Other shapes, other orders: mostly views."""
from __future__ import annotations

import builtins
import operator
from typing import Any, Sequence

from . import _core, ops
from ._core import Array
from ._creation import _shape, asarray


def reshape(x: Any, /, shape: Any = None, order: str = "C", *, copy: bool | None = None, newshape: Any = None) -> Array:
    """The same elements in row-major order with another shape; one size may be -1. A view where strides allow. With order="F" the first axis goes fastest.

    >>> tessera.reshape(tessera.arange(6), (2, -1))
    """
    x, shape = asarray(x), newshape if shape is None else shape
    if order not in ("C", "A", "K"):
        if order != "F":
            raise ValueError(f"reshape: order is 'C' or 'F', not {order!r}")
        return reshape(x.T, _shape(shape)[::-1], copy=copy).T
    made = ops.reshape(x, _shape(shape))
    if copy is False and x.size > 0 and not made.shares_memory(x):
        raise ValueError("reshape: copy=False, but these strides need a copy")
    return _core.as_array(made, None, None, True) if copy else made


def ravel(x: Any, /, order: str = "C") -> Array:
    """All elements in row-major order along one axis; with order="F" the first axis goes fastest."""
    return reshape(x, -1, order)


def permute_dims(x: Any, /, axes: Sequence[int]) -> Array:
    """A view whose axis i is axis axes[i] of x.

    >>> tessera.permute_dims(tessera.zeros((2, 3, 4)), (2, 0, 1)).shape
    """
    return ops.permute(x, axes)


def transpose(x: Any, axes: Sequence[int] | None = None) -> Array:
    """A view with the axes in this order, or in reverse."""
    x = asarray(x)
    return x.T if axes is None else ops.permute(x, axes)


def swapaxes(x: Any, /, axis1: int, axis2: int) -> Array:
    """A view with two axes swapped."""
    return ops.transpose(x, axis1, axis2)


def matrix_transpose(x: Any, /) -> Array:
    """A view with the last two axes swapped.

    >>> tessera.matrix_transpose([[1, 2], [3, 4]])
    """
    return asarray(x).mT


def _axes(axis: Any, rank: int) -> list[int]:
    """Axes as a list, counted from the start."""
    listed = [axis] if hasattr(axis, "__index__") else list(axis)
    for i in listed:
        if not -rank <= i < rank:
            raise IndexError(f"axis {i} is out of bounds for an array with {rank} axes")
    listed = [i % rank for i in listed]
    if len(set(listed)) != len(listed):
        raise ValueError("an axis is named twice")
    return listed


def axis_of(axis: int, rank: int) -> int:
    """An axis, counted from the start."""
    return _axes(axis, rank)[0]


def moveaxis(x: Any, /, source: Any, destination: Any) -> Array:
    """A view with axes at other places, the others in their order.

    >>> tessera.moveaxis(tessera.zeros((2, 3, 4)), 0, -1).shape
    """
    x = asarray(x)
    rank = x.ndim
    source, destination = _axes(source, rank), _axes(destination, rank)
    if len(source) != len(destination):
        raise ValueError("moveaxis: source and destination have different lengths")
    order = [i for i in range(rank) if i not in source]
    for to, own in sorted(zip(destination, source)):
        order.insert(to, own)
    return ops.permute(x, order)


def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """A view with axes of size 1 put in.

    >>> tessera.expand_dims([1, 2], axis=0)
    """
    x = asarray(x)
    listed = [axis] if hasattr(axis, "__index__") else list(axis)
    for i in sorted(_axes(listed, x.ndim + len(listed))):
        x = ops.unsqueeze(x, i)
    return x


def squeeze(x: Any, /, axis: Any = None) -> Array:
    """A view without these axes, whose sizes are 1; None means all of that size.

    >>> tessera.squeeze([[1, 2]])
    """
    x = asarray(x)
    if axis is None:
        return ops.squeeze_all(x)
    for i in sorted(_axes(axis, x.ndim), reverse=True):
        x = ops.squeeze(x, i)
    return x


def flip(x: Any, /, axis: Any = None) -> Array:
    """A view with axes reversed; None means all.

    >>> tessera.flip([1, 2, 3])
    """
    x = asarray(x)
    return ops.flip_axes(x, _axes(axis, x.ndim)) if axis is not None else ops.flip_axes(x)


def roll(x: Any, /, shift: Any, axis: Any = None) -> Array:
    """Elements moved along axes; what leaves one end enters at the other. Without an axis: in row-major order.

    >>> tessera.roll([1, 2, 3], 1)
    """
    x = asarray(x)
    if axis is None:
        return ops.reshape(ops.roll(ops.reshape(x, (-1,)), shift, 0), x.shape)
    axes = _axes(axis, x.ndim)
    shifts = [shift] * len(axes) if hasattr(shift, "__index__") else list(shift)
    if len(shifts) != len(axes):
        raise ValueError("roll: as many shifts as axes are needed")
    for by, i in zip(shifts, axes):
        x = ops.roll(x, by, i)
    return x


def repeat(x: Any, /, repeats: Any, axis: int | None = None) -> Array:
    """Each element several times in a row. Different numbers for each wait for those numbers.

    >>> tessera.repeat([1, 2], 2)
    """
    x = asarray(x)
    if axis is None:
        x, axis = x if x.ndim == 1 else ops.reshape(x, (-1,)), 0
    if isinstance(repeats, int):
        return ops.repeat(x, repeats, axis)
    counts = asarray(repeats).tolist()
    counts = counts if isinstance(counts, list) else [counts]
    if len(counts) == 1:
        return ops.repeat(x, counts[0], axis)
    if len(counts) != x.shape[axis] or builtins.any(count < 0 for count in counts):
        raise ValueError(f"repeat: {x.shape[axis]} numbers of 0 or more are needed, one for each element")
    chosen = [i for i, count in enumerate(counts) for _ in range(count)]
    return ops.index_select(x, axis, asarray(chosen, _core.int64, device=x.device))


def tile(x: Any, /, reps: Any) -> Array:
    """The whole array several times along its axes.

    >>> tessera.tile([1, 2], 2)
    """
    return ops.tile(x, _shape(reps))


def _along(arrays: Sequence[Any]) -> list[Array]:
    made = [asarray(x) for x in arrays]
    if not made:
        raise ValueError("at least one array is needed")
    return made


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Array:
    """Arrays one after the other along an axis; None: all their elements along one.

    >>> tessera.concat([[1, 2], [3]])
    """
    made = _along(arrays)
    if axis is None:
        return ops.concat([ops.reshape(x, (-1,)) for x in made], 0)
    return ops.concat(made, axis)


def concatenate(arrays: Sequence[Any], axis: int | None = 0, *, dtype: Any = None) -> Array:
    """NumPy's name of concat."""
    made = concat(arrays, axis=axis)
    return made if dtype is None else ops.cast(made, dtype)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Array:
    """Arrays of one shape along a new axis.

    >>> tessera.stack([[1, 2], [3, 4]])
    """
    return ops.stack(_along(arrays), axis)


def _at_least(x: Any, rank: int) -> Array:
    x = asarray(x)
    return ops.reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x


def vstack(arrays: Sequence[Any]) -> Array:
    """Rows, or matrices, below each other."""
    return ops.concat([_at_least(x, 2) for x in _along(arrays)], 0)


row_stack = vstack


def hstack(arrays: Sequence[Any]) -> Array:
    """Arrays side by side: along the second axis, or the only one."""
    made = [_at_least(x, 1) for x in _along(arrays)]
    return ops.concat(made, 0 if made[0].ndim == 1 else 1)


def column_stack(arrays: Sequence[Any]) -> Array:
    """Lists as the columns of a matrix."""
    return ops.concat([ops.unsqueeze(x, 1) if x.ndim == 1 else x for x in _along(arrays)], 1)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of each element along an axis, without it.

    >>> tessera.unstack([[1, 2], [3, 4]])
    """
    x = asarray(x)
    return tuple(ops.unstack(x, axis, x.shape[_axes(axis, x.ndim)[0]]))


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Views of parts along an axis: so many of one size, or cut at these indices."""
    x = asarray(x)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or size % indices_or_sections:
            raise ValueError(f"split: {size} elements do not make {indices_or_sections} equal parts")
        sizes = [size // indices_or_sections] * indices_or_sections
    else:
        cuts = [0, *(builtins.min(builtins.max(i + size if i < 0 else i, 0), size) for i in indices_or_sections), size]
        if cuts != sorted(cuts):  # some parts begin before the ones in front of them end
            whole = (slice(None),) * axis_of(axis, x.ndim)
            return [x[(*whole, slice(before, after))] for before, after in zip(cuts, cuts[1:])]
        sizes = [after - before for before, after in zip(cuts, cuts[1:])]
    return ops.split(x, sizes, axis)


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """A view in which axes of size 1, and missing leading axes, are repeated.

    >>> tessera.broadcast_to([1, 2], (3, 2))
    """
    return ops.expand(x, _shape(shape))


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to. A number is the shape of a list."""
    lists = [(shape,) if isinstance(shape, int) else tuple(map(operator.index, shape)) for shape in shapes]
    rank = builtins.max(map(len, lists), default=0)
    result = [1] * rank
    for sizes in lists:
        for i, size in enumerate(sizes, rank - len(sizes)):
            if size != 1 and result[i] != size:
                if result[i] != 1:
                    raise ValueError(f"shapes {', '.join(map(str, lists))} do not broadcast")
                result[i] = size
    return tuple(result)


def broadcast_arrays(*arrays: Any) -> list[Array]:
    """Views of the arrays with the shape that they broadcast to.

    >>> tessera.broadcast_arrays([1, 2], [[3], [4]])
    """
    made = [asarray(x) for x in arrays]
    shape = made[0].shape if made else ()
    if builtins.all(x.shape == shape for x in made):
        return [x[...] for x in made]
    shape = broadcast_shapes(*(x.shape for x in made))
    return [ops.expand(x, shape) for x in made]
