# SPDX-License-Identifier: MIT
"""Random numbers, with the names of numpy.random. Floats are float32; the numbers are others than NumPy's, and the same on every device.

    rng = tessera.random.default_rng(5)
    x = rng.normal(size=(3, 4))
"""
from __future__ import annotations

import os
from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import _shape, asarray

_MASK = 2**64 - 1


def _mixed(number: int) -> int:
    """A whole number of 64 bits that looks random (the finaliser of splitmix64)."""
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & _MASK
    return number ^ (number >> 31)


class Generator:
    """Random numbers from a seed. Each call gives the next ones. `size` is a shape; without it, one Python number comes back, at once."""

    def __init__(self, seed: int | None = None) -> None:
        self._state = _mixed((int.from_bytes(os.urandom(8), "little") if seed is None else int(seed)) & _MASK)

    def _seed(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        return _mixed(self._state)

    def _made(self, name: str, size: Any, *numbers: Any, dtype: Any = _core.float32) -> Any:
        x = getattr(ops, name)(() if size is None else _shape(size), *numbers, self._seed(), dtype)
        return x.item() if size is None else x

    def random(self, size: Any = None, dtype: Any = _core.float32) -> Any:
        """Uniform, 0 included and 1 not."""
        return self._made("rand", size, dtype=dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Uniform between two numbers, the second not included."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Any = None, dtype: Any = _core.float32) -> Any:
        """Normal, mean 0 and deviation 1."""
        return self._made("randn", size, dtype=dtype)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Normal, with a mean and a deviation."""
        return loc + scale * self.standard_normal(size)

    def exponential(self, scale: float = 1.0, size: Any = None) -> Any:
        """Exponential, with a mean."""
        return self._made("rand_exponential", size, scale)

    def gamma(self, shape: float, scale: float = 1.0, size: Any = None) -> Any:
        """Gamma, with mean shape * scale."""
        return self._made("rand_gamma", size, shape, scale)

    def poisson(self, lam: float = 1.0, size: Any = None) -> Any:
        """Poisson: whole numbers with a mean."""
        return self._made("rand_poisson", size, lam, dtype=_core.int64)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = _core.int64, endpoint: bool = False) -> Any:
        """Whole numbers from low to high, which is not included unless `endpoint`; from 0 if only one is given."""
        low, high = (0, low) if high is None else (low, high)
        return self._made("randint", size, low, high + endpoint, dtype=dtype)

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The numbers below x in random order, or the elements of an array along an axis."""
        if isinstance(x, int):
            return ops.cast(ops.permutation(x, self._seed()), _core.int64)
        x = asarray(x)
        return ops.index_select(x, axis, ops.permutation(x.shape[axis], self._seed(), x.device))

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """The elements of an array in random order, in place."""
        ops.assign(x, self.permutation(x, axis))

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0) -> Any:
        """Random elements along an axis of an array, or of the numbers below a; by probabilities p, if they are given."""
        x = ops.arange(0, a, 1, _core.int64) if isinstance(a, int) else asarray(a)
        shape = () if size is None else _shape(size)
        count = 1
        for own in shape:
            count *= own
        chosen = ops.choice(x, axis, count, None if p is None else asarray(p, device=x.device), replace, self._seed())
        chosen = ops.reshape(chosen, x.shape[:axis] + shape + x.shape[axis + 1:])
        return chosen.item() if size is None and chosen.ndim == 0 else chosen


def default_rng(seed: int | None = None) -> Generator:
    """A generator of random numbers; without a seed, one that nobody can repeat."""
    return Generator(seed)


_shared = Generator()


def seed(seed: int | None = None) -> None:
    """Starts the numbers of this module's functions again."""
    _shared.__init__(seed)  # type: ignore[misc]


random = random_sample = _shared.random
uniform, normal, standard_normal, exponential, gamma, poisson = (_shared.uniform, _shared.normal, _shared.standard_normal, _shared.exponential, _shared.gamma,
                                                                 _shared.poisson)
randint, permutation, shuffle, choice = _shared.integers, _shared.permutation, _shared.shuffle, _shared.choice


def rand(*shape: int) -> Any:
    """Uniform, 0 included and 1 not: rand(3, 4)."""
    return _shared.random(shape or None)


def randn(*shape: int) -> Any:
    """Normal, mean 0 and deviation 1: randn(3, 4)."""
    return _shared.standard_normal(shape or None)
