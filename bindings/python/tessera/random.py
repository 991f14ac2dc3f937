# SPDX-License-Identifier: MIT
"""Random numbers, with the names of numpy.random. Floats are float32; the numbers are others than NumPy's, and the same on every device.

    rng = tessera.random.default_rng(5)
    x = rng.normal(size=(3, 4))
"""
from __future__ import annotations

import math
import os
from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import _shape, asarray

_MASK = 2**64 - 1


def _sizes(size: Any) -> tuple[int, ...]:
    return () if size is None else _shape(size)


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

    def standard_exponential(self, size: Any = None) -> Any:
        """Exponential, with mean 1."""
        return self.exponential(1.0, size)

    def lognormal(self, mean: float = 0.0, sigma: float = 1.0, size: Any = None) -> Any:
        """The exponential function of a normal number."""
        return self._of(ops.exp, size, self.normal(mean, sigma, _sizes(size)))

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Laplace's distribution: exponential to both sides."""
        u = self.random(_sizes(size)) - 0.5
        return self._of(lambda x: loc - scale * ops.sign(x) * ops.log1p(-2 * ops.abs(x)), size, u)

    def beta(self, a: float, b: float, size: Any = None) -> Any:
        """Beta: between 0 and 1, with mean a / (a + b)."""
        first, second = self.gamma(a, 1.0, _sizes(size)), self.gamma(b, 1.0, _sizes(size))
        return self._of(lambda x: x / (x + second), size, first)

    def chisquare(self, df: float, size: Any = None) -> Any:
        """The sum of the squares of so many normal numbers."""
        return self.gamma(df / 2, 2.0, size)

    def standard_t(self, df: float, size: Any = None) -> Any:
        """Student's distribution."""
        spread = self.chisquare(df, _sizes(size))
        return self._of(lambda x: x / ops.sqrt(spread / df), size, self.standard_normal(_sizes(size)))

    def weibull(self, a: float, size: Any = None) -> Any:
        """Weibull's distribution: a power of an exponential number."""
        return self._of(lambda x: x ** (1 / a), size, self.exponential(1.0, _sizes(size)))

    def geometric(self, p: float, size: Any = None) -> Any:
        """How many tries until the first success of probability p."""
        return self._of(lambda x: ops.cast(ops.floor(x / -math.log1p(-p)), _core.int64) + 1, size, self.exponential(1.0, _sizes(size)))

    def binomial(self, n: int, p: float, size: Any = None) -> Any:
        """How many of n tries succeed, each with probability p. Takes time in proportion to n."""
        shape = _sizes(size)
        found = ops.zeros(shape, _core.int64)
        for start in range(0, n, 64):
            tries = ops.lt(self.random(shape + (min(64, n - start),)), p)
            found = found + ops.sum(ops.cast(tries, _core.int64), -1)
        return self._of(lambda x: x, size, found)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None) -> Array:
        """Normal vectors with a mean and a covariance matrix, along the last axis."""
        mean, cov = asarray(mean, _core.float32), asarray(cov, _core.float32)
        values, vectors = ops.eigh(cov)
        root = vectors * ops.sqrt(ops.maximum(values, 0.0))
        return mean + ops.matmul(self.standard_normal(_sizes(size) + mean.shape), root.T)

    def dirichlet(self, alpha: Any, size: Any = None) -> Array:
        """Shares that add up to 1, along the last axis."""
        parts = ops.stack([self.gamma(float(own), 1.0, _sizes(size)) for own in asarray(alpha).tolist()], -1)
        return parts / ops.sum(parts, -1, True)

    def _of(self, function: Any, size: Any, x: Any) -> Any:
        """function(x), as a Python number where no size was given."""
        made = function(x)
        return made.item() if size is None else made

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
binomial, beta, lognormal, laplace, chisquare, standard_t, weibull, geometric, multivariate_normal, dirichlet = (
    _shared.binomial, _shared.beta, _shared.lognormal, _shared.laplace, _shared.chisquare, _shared.standard_t, _shared.weibull, _shared.geometric,
    _shared.multivariate_normal, _shared.dirichlet)
RandomState = Generator


def rand(*shape: int) -> Any:
    """Uniform, 0 included and 1 not: rand(3, 4)."""
    return _shared.random(shape or None)


def randn(*shape: int) -> Any:
    """Normal, mean 0 and deviation 1: randn(3, 4)."""
    return _shared.standard_normal(shape or None)
