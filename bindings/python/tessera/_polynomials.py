# SPDX-License-Identifier: MIT
"""Polynomials, given by their coefficients, the highest power first."""
from __future__ import annotations

from typing import Any, Iterator

from . import _core, linalg, ops
from ._core import Array
from ._creation import arange, as_float, asarray
from ._dtypes import result_type
from ._padding import pad
from ._signal import convolve


def polyval(p: Any, x: Any) -> Array:
    """A polynomial at each x; the coefficient of the highest power comes first."""
    coefficients, x = asarray(p), asarray(x)
    found = ops.zeros(x.shape, result_type(coefficients, x), x.device)
    for i in range(coefficients.size):
        found = found * x + coefficients[i]
    return found


def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """The polynomial of a degree that comes closest to points, which may have weights w; the coefficient of the highest power comes first. With `full` also
    what lstsq gives and rcond, with `cov` also the covariance matrix of the coefficients.

    >>> tessera.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1)
    """
    x, y = as_float(x), as_float(y)
    powers = vander(x, deg + 1)
    if w is not None:
        weights = ops.reshape(asarray(w, x.dtype, device=x.device), (-1, 1))
        powers, y = powers * weights, y * (weights[:, 0] if y.ndim == 1 else weights)
    scale = ops.sqrt(ops.sum(powers * powers, 0, True))
    found, residuals, rank, values = linalg.lstsq(powers / scale, y, rcond)
    found = found / (scale[0] if y.ndim == 1 else scale[0][:, None])
    if full:
        return found, residuals, rank, values, x.size * 2.0**-23 if rcond is None else rcond
    if not cov:
        return found
    inverse = linalg.inv(ops.matmul((powers / scale).T, powers / scale)) / ops.outer(scale[0], scale[0])
    if cov == "unscaled":
        return found, inverse
    if x.size <= deg + 1:
        raise ValueError(f"polyfit: the covariance needs more points than the {deg + 1} coefficients")
    return found, inverse * (residuals / (x.size - deg - 1))


def polyder(p: Any, m: int = 1) -> Array:
    """The coefficients of a polynomial's m-th derivative."""
    p = as_float(p)
    for _ in range(m):
        p = p[:-1] * arange(p.size - 1, 0, -1, dtype=p.dtype, device=p.device)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The coefficients of a polynomial's m-th integral, with the constants k (one for each integral, or one for all), else 0 at 0."""
    p = as_float(p)
    constants = [0.0] * m if k is None else [k] * m if isinstance(k, (int, float)) else list(k)
    for constant in constants[:m]:
        p = ops.concat([p / arange(p.size, 0, -1, dtype=p.dtype, device=p.device), ops.full((1,), constant, p.dtype, p.device)], 0)
    return p


def polyadd(a: Any, b: Any) -> Array:
    """The sum of two polynomials, given by their coefficients, the highest power first."""
    first, second = asarray(a), asarray(b)
    if first.shape == second.shape:
        return first + second
    size = max(first.size, second.size)
    return pad(first, (size - first.size, 0)) + pad(second, (size - second.size, 0))


def polysub(a: Any, b: Any) -> Array:
    """The difference of two polynomials, given by their coefficients, the highest power first."""
    return polyadd(a, -asarray(b))


def polymul(a: Any, b: Any) -> Array:
    """The coefficients of the product of two polynomials."""
    return convolve(asarray(a), asarray(b))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of a list as columns, the highest first unless `increasing`."""
    x = asarray(x)
    count = x.size if N is None else N
    columns = [ops.ones(x.shape, x.dtype, x.device)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return ops.stack(columns if increasing else columns[::-1], 1)


def polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    """The quotient of two polynomials, and what remains. Waits for the coefficients."""
    first, second = as_float(u), as_float(v)
    rest, divisor = first.tolist(), second.tolist()
    quotient = []
    for i in range(max(len(rest) - len(divisor) + 1, 0)):
        factor = rest[i] / divisor[0]
        quotient.append(factor)
        for j, own in enumerate(divisor):
            rest[i + j] -= factor * own
    rest = rest[len(quotient):]
    while len(rest) > 1 and abs(rest[0]) < 1e-6:
        rest = rest[1:]
    dtype = result_type(first, second)
    return asarray(quotient or [0.0], dtype), asarray(rest or [0.0], dtype)


def poly(seq_of_zeros: Any) -> Array:
    """The polynomial with these zeros.

    >>> tessera.poly([1.0, 2.0])
    """
    found = ops.ones((1,))
    for zero in asarray(seq_of_zeros).tolist():
        found = convolve(found, asarray([1.0, -zero]))
    return found


class poly1d:
    """A polynomial that can be called, added, multiplied and printed: poly1d([1, -3, 2]) is x^2 - 3 x + 2. With r=True from its zeros."""

    __array_priority__ = 2000.0

    def __init__(self, c_or_r: Any, r: bool = False, variable: str = "x") -> None:
        given = c_or_r.coeffs if isinstance(c_or_r, poly1d) else poly(c_or_r) if r else asarray(c_or_r)
        given = ops.reshape(given, (-1,))
        leading = 0
        for number in given.tolist()[:-1]:
            if number:
                break
            leading += 1
        self.coeffs: Array = given[leading:]
        self.variable = variable

    @property
    def c(self) -> Array:
        """The coefficients."""
        return self.coeffs

    @property
    def order(self) -> int:
        """The highest power."""
        return self.coeffs.size - 1

    o = order

    def __call__(self, x: Any) -> Any:
        if isinstance(x, poly1d):
            found = poly1d([0])
            for number in self.coeffs.tolist():
                found = found * x + number
            return found
        return polyval(self.coeffs, x)

    def __getitem__(self, power: int) -> Any:
        return self.coeffs[self.order - power] if 0 <= power <= self.order else 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coeffs)

    def __len__(self) -> int:
        return self.order

    def __array__(self, dtype: Any = None) -> Any:
        return self.coeffs.__array__(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, poly1d) and self.coeffs.tolist() == other.coeffs.tolist()

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __add__(self, other: Any) -> poly1d:
        return poly1d(polyadd(self.coeffs, poly1d(other).coeffs))

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(polysub(self.coeffs, poly1d(other).coeffs))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(other) - self

    def __mul__(self, other: Any) -> poly1d:
        return poly1d(polymul(self.coeffs, poly1d(other).coeffs))

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, poly1d):
            return poly1d(self.coeffs / other)
        quotient, rest = polydiv(self.coeffs, other.coeffs)
        return poly1d(quotient), poly1d(rest)

    def __pow__(self, power: int) -> poly1d:
        found = poly1d([1])
        for _ in range(power):
            found = found * self
        return found

    __radd__, __rmul__ = __add__, __mul__

    def deriv(self, m: int = 1) -> poly1d:
        """The m-th derivative."""
        return poly1d(polyder(self.coeffs, m))

    def integ(self, m: int = 1, k: Any = None) -> poly1d:
        """The m-th integral, with the constants k."""
        return poly1d(polyint(self.coeffs, m, k))

    def __repr__(self) -> str:
        return f"poly1d({repr(self.coeffs)[6:-1]})"

    def __str__(self) -> str:
        """Two lines: the powers, and below them the terms."""
        above, below = "", ""
        for i, number in enumerate(self.coeffs.tolist()):
            power, text = self.order - i, f"{abs(number):.4g}"
            if text == "0" and self.order > 0:
                continue
            sign = ("-" if number < 0 else "") if not below else " - " if number < 0 else " + "
            below += sign + text + (f" {self.variable}" if power else "")
            if power > 1:
                above, below = above.ljust(len(below)) + str(power), below + " " * (len(str(power)) - 1)
        return (above or " ") + "\n" + below
