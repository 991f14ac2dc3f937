# SPDX-License-Identifier: MIT
"""x[key] with arrays, lists or bools in the key, by NumPy's rules.

Slices and None are applied first, as views. The axes that arrays index are brought to the front, and one gather reads them all; writing scatters into a copy,
which is then assigned to the view. Masks become the indices of their true elements, which waits for their number; a mask that is the whole key and is
given a number needs no wait.

Indices from Python (lists, NumPy's arrays) are checked. Those that are computed on a device are not, unless it was opened with TESSERA_CHECKED=on: reading out of
range gives 0, writing there does nothing.
"""
from __future__ import annotations

from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import asarray
from ._manipulation import broadcast_shapes


def _is_whole(item: Any) -> bool:
    return isinstance(item, int) and not isinstance(item, bool)


def _as_index(item: Any, x: Array) -> Array:
    """An item of the key as an array of bools or integers. An empty list is one of integers."""
    if isinstance(item, str):
        raise IndexError("an index is a number, a slice, an ellipsis, None, or an array of integers or bools, not a text")
    made = asarray(item, device=x.device)
    if made.size == 0 and isinstance(item, (list, tuple)):
        made = ops.cast(made, _core.int64)
    if made.dtype.kind not in "biu":
        raise IndexError(f"arrays used as indices must be of integers or bools, not {made.dtype}")
    return made


def check_range(item: Any, index: Array, size: int, axis: int) -> None:
    """IndexError if an index is out of range. `item` is what was given, `index` the array of it. Checked are small arrays on the CPU, and what the host has anyway."""
    if _core.check_range(index, size, axis) or isinstance(item, Array) or index.size == 0:
        return
    least, most = ops.min(index).item(), ops.max(index).item()
    if least < -size or most >= size:
        wrong = least if least < -size else most
        raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {size}")


class _Parts:
    """A key taken apart: a view of x, the axes of that view which arrays index, and those arrays."""

    def __init__(self, x: Array, key: tuple[Any, ...]) -> None:
        self.view = x
        self.axes: list[int] = []
        self.indices: list[Array] = []
        self.places: list[int] = []
        items = [item if item is None or item is Ellipsis or isinstance(item, slice) or _is_whole(item) else _as_index(item, x) for item in key]
        used = sum(item.ndim if isinstance(item, Array) and item.dtype == _core.bool else item is not None and item is not Ellipsis for item in items)
        if sum(item is Ellipsis for item in items) > 1:
            raise IndexError("an index can only have a single ellipsis ('...')")
        if used > x.ndim:
            raise IndexError(f"too many indices: the array has {x.ndim} axes, but {used} were indexed")
        self.basic: list[Any] = []  # the key of the view, in which arrays are full slices
        self.axis = 0  # of the view
        for place, (given, item) in enumerate(zip(key, items)):
            if item is Ellipsis:
                self._skip(x.ndim - used)
            elif item is None or isinstance(item, slice):
                self.basic.append(item)
                self.axis += 1
            else:
                self._add(place, given, item, x)
        self.view = x[tuple(self.basic)]

    def _skip(self, count: int) -> None:
        self.basic += [slice(None)] * count
        self.axis += count

    def _own_axis(self) -> int:
        """The axis of x that comes next."""
        return sum(item is not None for item in self.basic)

    def _add(self, place: int, given: Any, item: Any, x: Array) -> None:
        if _is_whole(item):
            item = asarray(item, _core.int64, device=x.device)
        if item.dtype == _core.bool:
            self._add_mask(place, item, x)
            return
        own = self._own_axis()
        check_range(given, item, x.shape[own], own)
        self._note(place, item)

    def _add_mask(self, place: int, mask: Array, x: Array) -> None:
        own = self._own_axis()
        if mask.ndim == 0:
            # One more axis of size 1, of which the mask takes the element or nothing.
            self.basic.append(None)
            self._note(place, ops.zeros((int(bool(mask)),), _core.int64, x.device), is_in_basic=True)
            return
        if mask.shape != x.shape[own:own + mask.ndim]:
            raise IndexError(f"a mask of shape {mask.shape} does not fit axes {own} and following of an array of shape {x.shape}")
        found = ops.nonzero(mask)
        for i in range(mask.ndim):
            self._note(place, found[:, i])

    def _note(self, place: int, index: Array, is_in_basic: bool = False) -> None:
        self.places.append(place)
        self.axes.append(self.axis)
        self.indices.append(index)
        if not is_in_basic:
            self.basic.append(slice(None))
        self.axis += 1

    def shape(self) -> tuple[int, ...]:
        """Of the indices together."""
        try:
            return broadcast_shapes(*(index.shape for index in self.indices))
        except ValueError:
            shapes = " ".join(str(index.shape) for index in self.indices)
            raise IndexError(f"indexing arrays could not be broadcast together with shapes {shapes}") from None

    def stacked(self, shape: tuple[int, ...]) -> Array:
        """[shape …, indices], as gather_nd takes them."""
        return ops.stack([ops.expand(ops.cast(index, _core.int64), shape) for index in self.indices], -1)

    def order(self) -> list[int]:
        """The axes of the view, those that are indexed first."""
        return self.axes + [i for i in range(self.view.ndim) if i not in self.axes]

    def at(self) -> int:
        """Where the axes of the indices stand in the result: where the first indexed axis was, or in front if something stands between the arrays."""
        together = all(after - before <= 1 for before, after in zip(self.places, self.places[1:]))
        return self.axes[0] if together else 0


def _moved(x: Array, count: int, at: int) -> Array:
    """The first `count` axes brought to `at`."""
    rest = list(range(count, x.ndim))
    return ops.permute(x, rest[:at] + list(range(count)) + rest[at:])


def get(x: Array, key: tuple[Any, ...]) -> Array:
    """x[key]"""
    parts = _Parts(x, key)
    shape = parts.shape()
    gathered = ops.gather_nd(ops.permute(parts.view, parts.order()), parts.stacked(shape))
    return _moved(gathered, len(shape), parts.at())


def set(x: Array, key: tuple[Any, ...], value: Any, combine: str = "replace") -> None:
    """x[key] = value. With `combine` ("add", "mul", "max", "min") each value is combined with the element instead, once for each time that the key names it."""
    if combine == "replace" and len(key) == 1 and isinstance(value, (bool, int, float)) and _fill_masked(x, key[0], value):
        return
    parts = _Parts(x, key)
    shape, order = parts.shape(), parts.order()
    source = asarray(value, None if isinstance(value, Array) else x.dtype, device=x.device)
    rest = [parts.view.shape[i] for i in order[len(parts.axes):]]
    at = parts.at()
    target = tuple(rest[:at]) + shape + tuple(rest[at:])
    while source.ndim > len(target) and source.shape[0] == 1:
        source = ops.squeeze(source, 0)
    source = ops.expand(source, target)
    front = list(range(at, at + len(shape)))
    source = ops.permute(source, front + [i for i in range(len(target)) if i not in front])
    view = ops.permute(parts.view, order)
    if combine != "replace" and source.dtype != x.dtype:
        source = ops.cast(source, x.dtype)
    ops.assign(view, ops.scatter_nd(view, parts.stacked(shape), source, combine=combine))


def _fill_masked(x: Array, item: Any, value: Any) -> bool:
    """x[mask] = number, without waiting. False if the item is no mask of x's leading axes."""
    mask = _as_index(item, x)
    if mask.dtype != _core.bool or mask.ndim == 0 or mask.shape != x.shape[:mask.ndim]:
        return False
    mask = ops.reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim))
    ops.assign(x, ops.where(mask, asarray(value, x.dtype, device=x.device), x))
    return True


_core.set_advanced_indexing(get, set)
