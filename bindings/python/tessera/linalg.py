# SPDX-License-Identifier: MIT
"""Linear algebra, as the array API's extension has it. Matrices are the last two axes; others are batches."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import ops
from ._core import Array
from ._creation import asarray
from ._dtypes import result_type
from ._manipulation import matrix_transpose  # noqa: F401
from .ops import cross as _cross
from .ops import det, lstsq, solve  # noqa: F401

inv = ops.inverse


def matmul(x1: Any, x2: Any, /) -> Array:
    """The product of matrices; a list is a row on the left and a column on the right."""
    return ops.matmul(x1, x2)


def dot(a: Any, b: Any) -> Array:
    """NumPy's dot: the product of lists or matrices, or with a number each element times it."""
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return ops.mul(a, b)
    if b.ndim <= 2:
        return ops.matmul(a, b)
    return tensordot(a, b, axes=((-1,), (-2,)))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Products summed over the last axes of x1 and the first of x2, so many of each, or over axes named for each."""
    x1, x2 = asarray(x1), asarray(x2)
    if isinstance(axes, int):
        return ops.tensordot(x1, x2, list(range(x1.ndim - axes, x1.ndim)), list(range(axes)))
    first, second = ([own] if isinstance(own, int) else list(own) for own in axes)
    return ops.tensordot(x1, x2, first, second)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis, the others broadcast."""
    x1, x2 = asarray(x1), asarray(x2)
    return ops.cast(ops.sum(ops.mul(x1, x2), axis), result_type(x1, x2))


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of the elements of two lists, rows from x1."""
    return ops.outer(ops.reshape(x1, (-1,)), ops.reshape(x2, (-1,)))


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of 3 along an axis."""
    return _cross(x1, x2, axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A view of a diagonal of the last two axes."""
    return ops.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of a diagonal of the last two axes."""
    from ._statistics import sum

    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The triangular matrix whose product with its transpose is x."""
    return ops.cholesky(x, upper)


def matrix_power(x: Any, n: int, /) -> Array:
    """The product of n copies of x, or of its inverse if n is negative."""
    return ops.matrix_power(x, n)


class eigh_result(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class qr_result(NamedTuple):
    Q: Array
    R: Array


class slogdet_result(NamedTuple):
    sign: Array
    logabsdet: Array


class svd_result(NamedTuple):
    U: Array
    S: Array
    Vh: Array


def eigh(x: Any, /) -> eigh_result:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices."""
    return eigh_result(*ops.eigh(x))


def eigvalsh(x: Any, /) -> Array:
    """Eigenvalues of symmetric matrices, ascending."""
    return ops.eigh(x)[0]


def qr(x: Any, /, *, mode: str = "reduced") -> qr_result:
    """Orthonormal columns Q and an upper triangle R whose product is x."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is 'reduced' or 'complete', not {mode!r}")
    return qr_result(*ops.qr(x, mode == "complete"))


def slogdet(x: Any, /) -> slogdet_result:
    """Sign of the determinant, and the logarithm of its magnitude."""
    return slogdet_result(*ops.slogdet(x))


def svd(x: Any, /, *, full_matrices: bool = True) -> svd_result:
    """Singular values, descending, with orthonormal columns U and rows Vh."""
    return svd_result(*ops.svd(x, full_matrices))


def svdvals(x: Any, /) -> Array:
    """Singular values, descending."""
    return ops.svd(x, False)[1]


def pinv(x: Any, /, *, rtol: float | None = None) -> Array:
    """The pseudo-inverse, from the singular values above rtol times the largest."""
    return ops.pinv(x, rtol or 0.0)


def matrix_rank(x: Any, /, *, rtol: float | None = None) -> Array:
    """How many singular values are above rtol times the largest."""
    return ops.matrix_rank(x, rtol or 0.0)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The Frobenius norm, or with ord 1, 2, inf and their negatives the norms of those names; "nuc": the sum of the singular values."""
    x = asarray(x)
    if ord == "fro":
        return ops.norm(x, 2.0, (-2, -1), keepdims)
    found = ops.sum(svdvals(x), -1) if ord == "nuc" else ops.matrix_norm(x, ord)
    return ops.reshape(found, found.shape + (1, 1)) if keepdims else found


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Array:
    """(sum of |x|^ord)^(1 / ord) over axes."""
    return ops.norm(x, ord, axis, keepdims)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's norm: of all elements, of lists along one axis, or of matrices along two."""
    x = asarray(x)
    is_matrix = (axis is None and x.ndim == 2 and ord is not None) or (axis is not None and not isinstance(axis, int))
    if is_matrix and ord not in (None, "fro"):
        if axis is not None and tuple(i % x.ndim for i in axis) != (x.ndim - 2, x.ndim - 1):
            raise NotImplementedError("norm: matrix norms are taken over the last two axes")
        return matrix_norm(x, keepdims=keepdims, ord=ord)
    return ops.norm(x, 2.0 if ord in (None, "fro") else ord, axis, keepdims)
