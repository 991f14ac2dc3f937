# SPDX-License-Identifier: MIT
"""Gradients of functions."""
from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, Iterator

from . import _core
from ._core import Array
from ._tree import leaves, rebuild

_state = threading.local()  # .depth: how many of these functions are running on the thread


@contextlib.contextmanager
def recording() -> Iterator[int]:
    """While it is open, operators are remembered for gradients. Gives how many are open around it on this thread."""
    depth = getattr(_state, "depth", 0)
    if depth == 0:
        _core.grad_begin()
    _state.depth = depth + 1
    try:
        yield depth
    finally:
        _state.depth = depth
        if depth == 0:
            _core.grad_end()


def _fresh(tree: Any, seen: set[int]) -> Any:
    """The tree, in which arrays that occur several times are copied, so that each occurrence has a gradient of its own."""
    listed = leaves(tree)
    made = []
    for leaf in listed:
        made.append(_core.as_array(leaf, None, None, True) if id(leaf) in seen else leaf)
        seen.add(id(leaf))
    return rebuild(tree, iter(made))


def value_and_grad(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the value of `function` and its gradient by an argument, or by several.

    The argument is an array of floats, or nested lists, tuples and dicts of them; its gradient has the same form. The value is an array of one element;
    with `has_aux` the function returns a pair, of which the second part is passed on.

    >>> loss, (dw, db) = tessera.value_and_grad(loss_of, argnums=(0, 1))(w, b, x, y)
    """

    @functools.wraps(function)
    def differentiated(*args: Any, **options: Any) -> Any:
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        seen: set[int] = set()
        given = list(args)
        for number in numbers:
            given[number] = _fresh(given[number], seen)
        chosen = [given[number] for number in numbers]
        with recording() as depth:
            for leaf in leaves(chosen):
                _core.grad_watch(leaf)
            result = function(*given, **options)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Array):
                raise TypeError(f"the function must return an array of one element, not {value!r}")
            # Inside another gradient, what was remembered is still needed there.
            found = rebuild(chosen, iter(_core.gradients(value, leaves(chosen), depth > 0)))
        gradient = found[0] if isinstance(argnums, int) else tuple(found)
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return differentiated


def grad(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `function`, as value_and_grad does; with `has_aux`, the gradient and the second result.

    >>> tessera.grad(lambda x: (x**3).sum())(tessera.asarray([2.0]))
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def differentiated(*args: Any, **options: Any) -> Any:
        value, gradient = both(*args, **options)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated
