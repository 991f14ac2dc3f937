# SPDX-License-Identifier: MIT
"""Sets of parameters that a network learns, and optimisers that change them, a whole set in one launch.

    params = optim.Parameters({"weight": ((10, 784), "he_normal"), "bias": (10,)}, seed=1)
    optimiser = optim.AdamW(params, rate=1e-3)

    def loss_of(params, x, labels):
        return nn.cross_entropy(nn.linear(x, params["weight"], params["bias"]), labels)

    for x, labels in batches:
        loss = optimiser.minimise(loss_of, x, labels)
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Callable, NamedTuple

from . import _core, ops
from ._core import Array, Device, DType
from ._creation import _shape
from ._grad import recording


def _row(name: str, given: Any) -> tuple[str, Any, str, float, bool]:
    """What params_create takes for one tensor."""
    if isinstance(given, Array):
        return name, given.shape, "zeros", 0.0, False
    if isinstance(given, Initial):
        return (name, *given)
    listed = tuple(given) if not hasattr(given, "__index__") else (given,)
    if len(listed) == 2 and isinstance(listed[1], str):
        return name, _shape(listed[0]), listed[1], 0.0, False
    return name, listed, "zeros", 0.0, False


class Initial(NamedTuple):
    """Shape and first elements of a parameter. `init` is zeros, ones, constant, normal, truncated_normal, uniform, xavier_uniform, xavier_normal, he_uniform or
    he_normal; `value` is the constant, the deviation, the limit or the gain (0: the usual one). A weight is [outputs, inputs], unless `inputs_first`."""

    shape: Any
    init: str = "zeros"
    value: float = 0.0
    inputs_first: bool = False


class Parameters(Mapping[str, Array]):
    """A named set of arrays, kept together in memory, all of one float dtype on one device.

    `tensors` gives each name an array, whose elements are copied, a shape (its elements are 0), a pair of a shape and an initialiser, or an Initial. The random numbers
    of a tensor depend on the seed and its name alone. An array that is taken out is a view: x[...] = changes the set.

    >>> params = optim.Parameters({"weight": ((3, 2), "he_normal"), "bias": 3}, seed=1)
    >>> params["bias"]
    """

    def __init__(self, tensors: Mapping[str, Any], dtype: Any = _core.float32, *, device: Any = None, seed: int = 0) -> None:
        own = _core.device(device)
        self._set(_core.params_create([_row(name, given) for name, given in tensors.items()], dtype, own, seed))
        for name, given in tensors.items():
            if isinstance(given, Array):
                ops.assign(self[name], given)

    def _set(self, params: _core.Params) -> None:
        self._params, self._places = params, {name: i for i, name in enumerate(params.names)}

    @classmethod
    def _of(cls, params: _core.Params) -> Parameters:
        made = cls.__new__(cls)
        made._set(params)
        return made

    def __getitem__(self, name: str) -> Array:
        if name not in self._places:
            raise KeyError(name)
        return self._params.find(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self[name][...] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}: {array.shape}" for name, array in self.items())
        return f"Parameters({listed}; {self.dtype}, {self.element_count} elements on {self.device})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameters, (dict(self.items()), self.dtype)

    @property
    def dtype(self) -> DType:
        """The dtype of all of them."""
        return self._params.dtype

    @property
    def device(self) -> Device:
        """Where they are."""
        return self._params.device

    @property
    def element_count(self) -> int:
        """The number of elements of all arrays."""
        return self._params.element_count

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._params.nbytes

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients that `differentiate` computed last, as views that the next call overwrites; zeros before the first."""
        return {name: self._params.gradient(i) for name, i in self._places.items()}

    def copy(self) -> Parameters:
        """The same elements in memory of their own."""
        return Parameters._of(self._params.clone())

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Parameters:
        return self.copy()

    def to_device(self, device: Any) -> Parameters:
        """A copy on another device."""
        return Parameters._of(self._params.to(device))

    def astype(self, dtype: Any) -> Parameters:
        """A copy in another float dtype."""
        return Parameters._of(self._params.cast(dtype))

    def update(self, source: Parameters) -> None:
        """Takes over the elements of another set with the same names and shapes, which may be on another device and of another dtype."""
        self._params.copy(source._params)

    def differentiate(self, function: Callable[..., Any], *args: Any, adds: bool = False, scale: Array | None = None, **options: Any) -> Any:
        """Gives function(self, *args), an array of one element, and keeps its gradients for an optimiser. If it returns a pair, only the first is differentiated.

        `adds` adds the gradients to those that are there, for a batch in several parts; `scale` multiplies them (Optimiser.scale).

        >>> loss = params.differentiate(loss_of, x, labels)
        """
        with recording() as depth:
            if depth > 0:
                raise RuntimeError("differentiate: inside of a gradient use grad and value_and_grad")
            self._params.watch()
            result = function(self, *args, **options)
            value = result[0] if isinstance(result, tuple) else result
            if not isinstance(value, Array):
                raise TypeError(f"the function must return an array of one element, not {value!r}")
            self._params.grad(value, adds, scale)
        return result


class Schedule(NamedTuple):
    """How the learning rate changes: in `warmup` steps up to 1, then by `kind`: constant, step (times `gamma` every `period` steps), cosine or linear
    (down to `least` over `period` steps)."""

    kind: str = "constant"
    warmup: int = 0
    period: int = 0
    gamma: float = 0.1
    least: float = 0.0


class LossScale(NamedTuple):
    """Multiplies losses, so that small gradients of float16 do not become 0; it adapts by itself."""

    first: float = 65536.0
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000


def _given(number: float | None) -> float:
    """In C, 0 stands for the usual value and a negative number for 0."""
    return 0.0 if number is None else number if number > 0 else -1.0


class Optimiser:
    """Changes a set of parameters by its gradients, in place. SGD, Adam, AdamW, RMSprop and Lion make one.

    Numbers that are None have the kind's usual value. `groups` gives tensors whose names match a pattern other settings: {"*.bias": (weight decay, factor of the
    rate)}. `clip_value` limits each gradient, `clip_norm` the norm of all. Tensors of less than two axes have no weight decay, unless `decays_vectors`.
    """

    def __init__(self, kind: str, params: Parameters, rate: float | None = None, *, momentum: float | None = None, nesterov: bool = False,
                 betas: tuple[float | None, float | None] = (None, None), eps: float | None = None, weight_decay: float | None = None,
                 decays_vectors: bool = False, groups: Mapping[str, tuple[float, float]] | None = None, schedule: Schedule = Schedule(),
                 clip_value: float = 0.0, clip_norm: float = 0.0, loss_scale: LossScale | None = None) -> None:
        self.params, self.kind = params, kind
        rows = [(pattern, decay, _given(factor)) for pattern, (decay, factor) in (groups or {}).items()]
        numbers = (_given(rate), _given(momentum), _given(betas[0]), _given(betas[1]), _given(eps), _given(weight_decay), clip_value, clip_norm)
        self._optim = _core.optim_create(params._params, kind, numbers, (nesterov, decays_vectors), rows, tuple(schedule),
                                         tuple(loss_scale) if loss_scale else (0.0, 0.0, 0.0, 0))
        self._scales = loss_scale is not None

    def minimise(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """One step: computes function(params, *args) and its gradients and changes the parameters. Gives what the function returned. Does not wait.

        >>> loss = optimiser.minimise(loss_of, x, labels)
        """
        result = self.params.differentiate(function, *args, scale=self.scale if self._scales else None, **options)
        self.step()
        return result

    def step(self) -> None:
        """Changes the parameters by the gradients that Parameters.differentiate has computed. Does not wait."""
        self._optim.step()

    @property
    def scale(self) -> Array:
        """The present loss scale, an array of one element."""
        return self._optim.scale()

    @property
    def step_count(self) -> int:
        """Steps done. Waits for them. Can be set, for a training that is resumed."""
        return self._optim.get_step()

    @step_count.setter
    def step_count(self, number: int) -> None:
        self._optim.set_step(number)

    def set_rate(self, rate: float) -> None:
        """Sets the learning rate, before the schedule's factor."""
        self._optim.set_rate(rate)

    def state(self) -> dict[str, Parameters]:
        """What it keeps for each parameter: "m" and "v" (moments), "master" (parameters of float16 and bfloat16 in float32), as far as there are."""
        found = {name: self._optim.state(name) for name in ("m", "v", "master")}
        return {name: Parameters._of(own) for name, own in found.items() if own is not None}

    def state_dict(self) -> dict[str, Any]:
        """All that load_state_dict needs to go on from here: the step, the scale and copies of `state`. Can be pickled."""
        own: dict[str, Any] = {name: part.copy() for name, part in self.state().items()}
        return own | {"step": self.step_count, "scale": float(self.scale) if self._scales else None}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from what state_dict gave, for the same kind and the same parameters."""
        for name, part in self.state().items():
            part.update(saved[name])
        self.step_count = saved["step"]
        if self._scales and saved["scale"] is not None:
            self._optim.set_scale(saved["scale"])


def SGD(params: Parameters, rate: float | None = None, **options: Any) -> Optimiser:
    """Gradient descent; rate 0.01, no momentum unless given."""
    return Optimiser("sgd", params, rate, **options)


def Adam(params: Parameters, rate: float | None = None, **options: Any) -> Optimiser:
    """Adam; rate 0.001, betas (0.9, 0.999), eps 1e-8."""
    return Optimiser("adam", params, rate, **options)


def AdamW(params: Parameters, rate: float | None = None, **options: Any) -> Optimiser:
    """Adam with weight decay apart from the gradient; rate 0.001, weight_decay 0.01."""
    return Optimiser("adamw", params, rate, **options)


def RMSprop(params: Parameters, rate: float | None = None, **options: Any) -> Optimiser:
    """RMSprop; rate 0.01, betas (None, 0.99), eps 1e-8."""
    return Optimiser("rmsprop", params, rate, **options)


def Lion(params: Parameters, rate: float | None = None, **options: Any) -> Optimiser:
    """Lion; rate 0.0001, betas (0.9, 0.99)."""
    return Optimiser("lion", params, rate, **options)
