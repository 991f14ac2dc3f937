# SPDX-License-Identifier: MIT
"""Functions that are recorded once and then run without recording and planning again, and such recordings in files."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterable, Mapping

from . import _core, ops
from ._core import Array
from ._tree import leaves, rebuild


def _named(tree: Any, name: str) -> list[tuple[str, Any]]:
    """The leaves of a tree in the order of leaves(), each with its name: `name` and the keys and indices that lead to it, joined by dots."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        parts: Iterable[tuple[Any, Any]] = tree.items()
    elif isinstance(tree, (list, tuple)):
        parts = zip(getattr(tree, "_fields", range(len(tree))), tree)
    else:
        return [(name, tree)]
    return [leaf for key, part in parts for leaf in _named(part, f"{name}.{key}" if name else str(key))]


def _by_parameter(function: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments by the names of the function's parameters; by their places if it does not tell its parameters."""
    try:
        return dict(inspect.signature(function).bind(*args).arguments)
    except (TypeError, ValueError):
        return {str(place): arg for place, arg in enumerate(args)}


def _select(what: str, arrays: list[tuple[str, Array]], wanted: Iterable[str] | Mapping[str, Any] | None) -> list[tuple[str, Array]]:
    """The arrays that `wanted` names, each with its name in the file (Captured.save)."""
    if wanted is None:
        return arrays
    if isinstance(wanted, str):
        wanted = [wanted]
    found = []
    for name, place in wanted.items() if isinstance(wanted, Mapping) else [(place, place) for place in wanted]:
        start = str(place)
        below = [(f"{name}{own[len(start):]}", array) for own, array in arrays if own == start or own.startswith(start + ".")]
        if not below:
            raise ValueError(f"capture: there is no {what} {start!r}; there are {', '.join(own for own, _ in arrays) or 'none'}")
        found += below
    return found


class _Recorded:
    """One capture of a function, for arguments of certain shapes, dtypes and devices."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.inputs = [_core.as_array(leaf, None, None, True) for leaf in leaves(args)]
        for leaf in self.inputs:
            leaf.evaluate()
        self.args = rebuild(args, iter(self.inputs))  # containers of its own: the function may change those that it gets
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


class Captured:
    """What `capture` gives: a function that is recorded for each combination of shapes, dtypes and devices that it is called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._recorded: dict[Any, _Recorded] = {}
        self._last: _Recorded | None = None  # the recording of the last call

    def __call__(self, *args: Any) -> Any:
        found = leaves(args)
        key = (repr(rebuild(args, iter(range(len(found))))),) + tuple((x.shape, x.dtype, x.device) for x in found)  # type: ignore[arg-type]
        recorded = self._recorded.get(key)
        if recorded:
            recorded.run(args)
        else:
            recorded = self._recorded[key] = _Recorded(self._function, args)
        self._last = recorded
        return recorded.copies()

    def save(self, path: Any, inputs: Iterable[str] | Mapping[str, Any] | None = None, outputs: Iterable[str] | Mapping[str, Any] | None = None) -> None:
        """Writes the recording of the last call to a file, which load_capture and the C library read on any device: only the shapes of that call are saved.

        Each array has a name: that of its parameter, and for trees the keys and indices that lead to it, as in "params.layers.0". Results are named in the same
        way by their keys and indices; a single array is "result". `inputs` and `outputs` list the names that are the file's, or are dicts from the name in the
        file to the name here; the name of a tree stands for all that is in it. Left out: all. Arguments that are not inputs are saved with their elements of the
        last call, as all other arrays are that the function reads.

        >>> step = tessera.capture(lambda x, w: tessera.tanh(x @ w))
        >>> y = step(tessera.ones((2, 3)), tessera.ones((3, 4)))
        >>> step.save("step.tsr", inputs=["x"], outputs={"y": "result"})
        """
        if self._last is None:
            name = getattr(self, "__name__", "the function")
            raise ValueError(f"capture: {name} has not been called yet: call it first, with arrays of the shapes that are to be saved")
        args = _by_parameter(self._function, self._last.args)
        result = self._last.result
        results = _named({"result": result} if isinstance(result, Array) else result, "")
        self._last.capture.save(path, _select("input", _named(args, ""), inputs), _select("output", results, outputs))


class LoadedCapture:
    """What `load_capture` gives: called with its inputs, in their order or by name, it returns its output, or a dict of several by name."""

    def __init__(self, capture: _core.Capture, path: Any) -> None:
        self._capture, self._path = capture, path
        self.inputs = dict(capture.inputs)
        self.outputs = dict(capture.outputs)

    def __call__(self, *args: Any, **named: Any) -> Any:
        given = self._bind([leaf for _, leaf in _named(args, "")], _named(named, ""))
        fitting = {name: self._fit(name, given[name]) for name in self.inputs}  # all are checked before one is written
        for name, source in fitting.items():
            ops.assign(self.inputs[name], source)
        self._capture.run()
        # Copies, because the next run overwrites the outputs.
        results = {name: _core.as_array(output, None, None, True) for name, output in self.outputs.items()}
        return next(iter(results.values())) if len(results) == 1 else results

    def _bind(self, args: list[Any], named: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(args) > len(self.inputs):
            raise TypeError(f"{self._path}: {len(args)} arrays for {len(self.inputs)} inputs: {', '.join(self.inputs)}")
        given = dict(zip(self.inputs, args))
        for name, array in named:
            if name not in self.inputs:
                raise TypeError(f"{self._path}: there is no input {name!r}; there are {', '.join(self.inputs) or 'none'}")
            if name in given:
                raise TypeError(f"{self._path}: input {name!r} was given twice")
            given[name] = array
        lacks = [name for name in self.inputs if name not in given]
        if lacks:
            raise TypeError(f"{self._path}: missing inputs: {', '.join(lacks)}")
        return given

    def _fit(self, name: str, source: Any) -> Array:
        """The source as an array of the input's device and dtype."""
        target = self.inputs[name]
        array = _core.as_array(source, None, target.device, None)
        if array.shape != target.shape:
            raise ValueError(f"{self._path}: input {name!r} has the shape {target.shape}, not {array.shape}")
        kinds = {"b": 0, "u": 1, "i": 1, "f": 2}  # what is of a later kind does not become one of an earlier kind
        if kinds[array.dtype.kind] > kinds[target.dtype.kind]:
            raise TypeError(f"{self._path}: input {name!r} is {target.dtype}, not {array.dtype}")
        return _core.as_array(array, target.dtype, None, None)

    def __repr__(self) -> str:
        shown = [", ".join(f"{name}: {x.dtype.name}{list(x.shape)}" for name, x in arrays.items()) for arrays in (self.inputs, self.outputs)]
        return f"<capture {str(self._path)!r}: ({shown[0]}) -> ({shown[1]})>"


def load_capture(path: Any, *, device: Any = None, most_bytes: int = 0, refuses_kernels: bool = False) -> LoadedCapture:
    """A capture from a file that `save` of a captured function, or the C library, has written, recorded again on a device; without one, on the current device.

    It is called as captured functions are: with arrays in the order of its inputs, or by their names. For files from people you do not trust: `most_bytes` is the
    size that no tensor may exceed (0: any), and `refuses_kernels` refuses kernels of users, which can read and write any memory.

    >>> net = tessera.load_capture("net.tsr", device="cpu")
    >>> y = net(x)
    """
    return LoadedCapture(_core.capture_load(path, device, most_bytes, refuses_kernels), path)


def capture(function: Callable[..., Any]) -> Captured:
    """The function, run as a capture: recorded at the first call with arrays of certain shapes and dtypes, and only queued again at later ones.

    Arguments and results are arrays, or nested lists, tuples and dicts of them. Python in the function runs at the first call alone: other values that it
    uses, and seeds of random numbers, stay as they were then. What waits (nonzero, x[mask], float(x)) cannot be captured.

    `save` of the result writes the recording of the last call to a file, for load_capture.

    >>> step = tessera.capture(lambda x, w: tessera.tanh(x @ w))
    """
    return Captured(function)
