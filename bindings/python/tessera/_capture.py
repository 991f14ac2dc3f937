# SPDX-License-Identifier: MIT
"""Functions that are recorded once and then run without recording and planning again."""
from __future__ import annotations

import functools
from typing import Any, Callable

from . import _core, ops
from ._core import Array
from ._tree import leaves, rebuild


class _Recorded:
    """One capture of a function, for arguments of certain shapes, dtypes and devices."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.inputs = [_core.as_array(leaf, None, None, True) for leaf in leaves(args)]
        for leaf in self.inputs:
            leaf.evaluate()
        device = self.inputs[0].device if self.inputs else _core.device()
        _core.capture_begin(device)
        try:
            self.result = function(*rebuild(args, iter(self.inputs)))
            outputs = leaves(self.result)
        except BaseException:
            _core.capture_drop()
            raise
        self.capture = _core.capture_end(outputs)

    def run(self, args: tuple[Any, ...]) -> None:
        for target, source in zip(self.inputs, leaves(args)):
            ops.assign(target, source)
        self.capture.run()

    def copies(self) -> Any:
        """Copies of the results, because the next run overwrites the capture's own. A copy is made only if it is still needed when that happens."""
        return rebuild(self.result, iter([_core.as_array(leaf, None, None, True) for leaf in leaves(self.result)]))


def capture(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run as a capture: recorded at the first call with arrays of certain shapes and dtypes, and only queued again at later ones.

    Arguments and results are arrays, or nested lists, tuples and dicts of them. Python in the function runs at the first call alone: other values that it
    uses, and seeds of random numbers, stay as they were then. What waits (nonzero, x[mask], float(x)) cannot be captured.

    >>> step = tessera.capture(lambda x, w: tessera.tanh(x @ w))
    """
    recorded: dict[Any, _Recorded] = {}

    @functools.wraps(function)
    def captured(*args: Any) -> Any:
        found = leaves(args)
        key = (repr(rebuild(args, iter(range(len(found))))),) + tuple((x.shape, x.dtype, x.device) for x in found)  # type: ignore[arg-type]
        if key in recorded:
            recorded[key].run(args)
        else:
            recorded[key] = _Recorded(function, args)
        return recorded[key].copies()

    return captured
