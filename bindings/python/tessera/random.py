# SPDX-License-Identifier: MIT
"""Random numbers, with the names of numpy.random. Floats are float32; the numbers are others than NumPy's, and the same on every device.

    rng = tessera.random.default_rng(5)
    x = rng.normal(size=(3, 4))
"""
from __future__ import annotations

import builtins
import math
import os
from typing import Any

from . import _core, ops
from ._core import Array
from ._creation import _shape, asarray

_MASK = 2**64 - 1


def _sizes(size: Any) -> tuple[int, ...]:
    return () if size is None else _shape(size)


def _size_of(size: Any, *parameters: Any) -> Any:
    """The size asked for; without one, what parameters that are arrays broadcast to: each element then has a number of its own."""
    if size is not None or builtins.all(isinstance(own, (int, float)) for own in parameters):
        return size
    from ._manipulation import broadcast_shapes

    return broadcast_shapes(*(asarray(own).shape for own in parameters)) or None


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

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform between two numbers, the second not included."""
        low, high = (own if isinstance(own, (int, float)) else asarray(own) for own in (low, high))
        return low + (high - low) * self.random(_size_of(size, low, high))

    def standard_normal(self, size: Any = None, dtype: Any = _core.float32) -> Any:
        """Normal, mean 0 and deviation 1."""
        return self._made("randn", size, dtype=dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal, with a mean and a deviation."""
        loc, scale = (own if isinstance(own, (int, float)) else asarray(own) for own in (loc, scale))
        return loc + scale * self.standard_normal(_size_of(size, loc, scale))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential, with a mean."""
        if isinstance(scale, (int, float)):
            return self._made("rand_exponential", size, scale)
        return asarray(scale) * self._made("rand_exponential", _size_of(size, scale), 1.0)

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

    def standard_gamma(self, shape: float, size: Any = None) -> Any:
        """Gamma, with a mean and scale 1."""
        return self.gamma(shape, 1.0, size)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Cauchy's distribution: the quotient of two normal numbers."""
        below = self.standard_normal(_sizes(size))
        return self._of(lambda x: x / below, size, self.standard_normal(_sizes(size)))

    def rayleigh(self, scale: float = 1.0, size: Any = None) -> Any:
        """Rayleigh's distribution: the length of a vector of two normal numbers."""
        return self._of(lambda x: scale * ops.sqrt(2 * x), size, self.exponential(1.0, _sizes(size)))

    def gumbel(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Gumbel's distribution, of the largest of many numbers."""
        return self._of(lambda x: loc - scale * ops.log(x), size, self.exponential(1.0, _sizes(size)))

    def logistic(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """The logistic distribution: the difference of two Gumbel numbers."""
        other = self.gumbel(0.0, 1.0, _sizes(size))
        return self._of(lambda x: loc + scale * (x - other), size, self.gumbel(0.0, 1.0, _sizes(size)))

    def pareto(self, a: float, size: Any = None) -> Any:
        """Pareto's distribution of the second kind, from 0 on."""
        return self._of(lambda x: ops.expm1(x / a), size, self.exponential(1.0, _sizes(size)))

    def power(self, a: float, size: Any = None) -> Any:
        """Numbers from 0 to 1 whose density is proportional to a power, a - 1."""
        return self._of(lambda x: x ** (1 / a), size, self.random(_sizes(size)))

    def triangular(self, left: float, mode: float, right: float, size: Any = None) -> Any:
        """A density that rises from `left` to `mode` and falls to `right`."""
        width = right - left

        def of(u: Array) -> Array:
            rising, falling = left + ops.sqrt(u * (width * (mode - left))), right - ops.sqrt((1 - u) * (width * (right - mode)))
            return ops.where(ops.lt(u, (mode - left) / width), rising, falling)

        return self._of(of, size, self.random(_sizes(size)))

    def f(self, dfnum: float, dfden: float, size: Any = None) -> Any:
        """Fisher's distribution: the quotient of two mean squares."""
        below = self.chisquare(dfden, _sizes(size)) / dfden
        return self._of(lambda x: x / dfnum / below, size, self.chisquare(dfnum, _sizes(size)))

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Array:
        """How often each of several outcomes comes in n tries, along the last axis."""
        count = asarray(pvals).size
        drawn = self.choice(count, _sizes(size) + (n,), p=pvals)
        return ops.sum(ops.cast(ops.eq(ops.unsqueeze(drawn, -1), ops.arange(0, count, 1, _core.int64)), _core.int64), -2)

    def bytes(self, length: int) -> Any:
        """Random bytes."""
        return self.integers(0, 256, length, _core.uint8).tobytes()

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
        if isinstance(x, (int, _core.Array)) and not getattr(x, "ndim", 0):
            return ops.cast(ops.permutation(int(x), self._seed()), _core.int64)
        x = asarray(x)
        return ops.index_select(x, axis, ops.permutation(x.shape[axis], self._seed(), x.device))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """The elements of an array, or of a list, in random order, in place."""
        if isinstance(x, Array):
            ops.assign(x, self.permutation(x, axis))
        else:
            x[:] = [x[i] for i in self.permutation(len(x)).tolist()]

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0) -> Any:
        """Random elements along an axis of an array, or of the numbers below a; by probabilities p, if they are given. Of a list of texts: one of them, or a list."""
        if isinstance(a, (list, tuple)) and a and isinstance(a[0], str):
            chosen_places = self.choice(len(a), size, replace, p)
            return a[chosen_places] if size is None else [a[i] for i in chosen_places.tolist()]
        x = ops.arange(0, int(a), 1, _core.int64) if isinstance(a, int) or getattr(a, "shape", None) == () else asarray(a)
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


class RandomState(Generator):
    """A generator with the names that NumPy's older one has."""

    def seed(self, seed: int | None = None) -> None:
        """Starts the numbers again."""
        Generator.__init__(self, seed)

    def rand(self, *shape: int) -> Any:
        """Uniform, 0 included and 1 not: rand(3, 4)."""
        return self.random(shape or None)

    def randn(self, *shape: int) -> Any:
        """Normal, mean 0 and deviation 1: randn(3, 4)."""
        return self.standard_normal(shape or None)

    randint, random_sample = Generator.integers, Generator.random


_shared = RandomState()


seed, rand, randn, randint = _shared.seed, _shared.rand, _shared.randn, _shared.randint
random = random_sample = sample = ranf = _shared.random
uniform, normal, standard_normal, exponential, gamma, poisson = (_shared.uniform, _shared.normal, _shared.standard_normal, _shared.exponential, _shared.gamma,
                                                                 _shared.poisson)
permutation, shuffle, choice, bytes = _shared.permutation, _shared.shuffle, _shared.choice, _shared.bytes
binomial, beta, lognormal, laplace, chisquare, standard_t, weibull, geometric, multivariate_normal, dirichlet = (
    _shared.binomial, _shared.beta, _shared.lognormal, _shared.laplace, _shared.chisquare, _shared.standard_t, _shared.weibull, _shared.geometric,
    _shared.multivariate_normal, _shared.dirichlet)
standard_exponential, standard_gamma, standard_cauchy, rayleigh, gumbel, logistic, pareto, power, triangular, f, multinomial = (
    _shared.standard_exponential, _shared.standard_gamma, _shared.standard_cauchy, _shared.rayleigh, _shared.gumbel, _shared.logistic, _shared.pareto, _shared.power,
    _shared.triangular, _shared.f, _shared.multinomial)
