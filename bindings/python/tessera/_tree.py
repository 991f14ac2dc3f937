# SPDX-License-Identifier: MIT
"""Arrays in nested lists, tuples and dicts: taken out in order, and put back."""
from __future__ import annotations

from typing import Any, Iterator

from ._core import Array


def leaves(tree: Any) -> list[Array]:
    """The arrays of a tree, in order. Anything but arrays, containers and None is a TypeError."""
    if isinstance(tree, Array):
        return [tree]
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    if isinstance(tree, (list, tuple)):
        return [leaf for value in tree for leaf in leaves(value)]
    raise TypeError(f"{tree!r} is neither an array nor a list, tuple or dict of them")


def rebuild(tree: Any, new: Iterator[Array]) -> Any:
    """The same containers with other arrays."""
    if isinstance(tree, Array):
        return next(new)
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: rebuild(value, new) for key, value in tree.items()}
    made = [rebuild(value, new) for value in tree]
    if isinstance(tree, tuple):
        return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)
    return made
