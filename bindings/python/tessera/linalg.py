# SPDX-License-Identifier: MIT
"""Linear algebra, as the array API's extension has it. Matrices are the last two axes; others are batches."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import _core, ops
from ._core import Array
from ._creation import as_float, asarray
from ._dtypes import result_type
from ._manipulation import axis_of
from ._manipulation import matrix_transpose  # noqa: F401
from .ops import cross as _cross

LinAlgError = ValueError


def inv(x: Any, /) -> Array:
    """The inverse of square matrices.

    >>> tessera.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    """
    return ops.inverse(as_float(x))


def det(x: Any, /) -> Array:
    """The determinant of square matrices.

    >>> tessera.linalg.det([[2.0, 1.0], [4.0, 3.0]])
    """
    return ops.det(as_float(x))


def solve(a: Any, b: Any, /) -> Array:
    """The x for which a @ x is b.

    >>> tessera.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])
    """
    return ops.solve(as_float(a), as_float(b))


class lstsq_result(NamedTuple):
    x: Array
    residuals: Array
    rank: Array
    s: Array


def lstsq(a: Any, b: Any, rcond: Any = None) -> lstsq_result:
    """The x for which a @ x comes closest to b, the sums of the squared distances, the rank and the singular values of a.

    >>> tessera.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    """
    a, b = as_float(a), as_float(b)
    singular = svdvals(a)
    solution = ops.matmul(ops.pinv(a, 0.0 if rcond is None or rcond < 0 else rcond), b)
    away = b - ops.matmul(a, solution)
    residuals = ops.sum(away * away, 0, b.ndim == 1) if a.shape[0] > a.shape[1] else ops.zeros((0,), a.dtype, a.device)
    return lstsq_result(solution, residuals, matrix_rank(a), singular)


def cond(x: Any, p: Any = None) -> Array:
    """The largest singular value divided by the smallest, or with p the same of another norm."""
    x = as_float(x)
    if p is None:
        values = svdvals(x)
        return values[..., 0] / values[..., -1]
    return ops.cond(x, p)


def multi_dot(arrays: Any) -> Array:
    """The product of several matrices, in the order that takes the fewest multiplications."""
    made = [asarray(x) for x in arrays]
    shapes = [(1, x.shape[0]) if x.ndim == 1 and i == 0 else (x.shape[0], 1) if x.ndim == 1 else x.shape for i, x in enumerate(made)]
    sizes = [shapes[0][0]] + [shape[1] for shape in shapes]
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(made))}
    for length in range(1, len(made)):
        for i in range(len(made) - length):
            best[i, i + length] = min((best[i, k][0] + best[k + 1, i + length][0] + sizes[i] * sizes[k + 1] * sizes[i + length + 1], k)
                                      for k in range(i, i + length))

    def product(i: int, j: int) -> Array:
        return made[i] if i == j else ops.matmul(product(i, best[i, j][1]), product(best[i, j][1] + 1, j))

    return product(0, len(made) - 1)


def inner(a: Any, b: Any) -> Array:
    """Sums of products over the last axes."""
    a, b = asarray(a), asarray(b)
    if a.ndim == 1 and b.ndim == 1:
        return ops.matmul(a, b)
    return ops.mul(a, b) if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, axes=((-1,), (-1,)))


def vdot(a: Any, b: Any) -> Array:
    """The sum of the products of all elements."""
    return ops.dot(ops.reshape(asarray(a), (-1,)), ops.reshape(asarray(b), (-1,)))


def kron(a: Any, b: Any) -> Array:
    """Each element of a times the whole of b."""
    a, b = asarray(a), asarray(b)
    rank = max(a.ndim, b.ndim, 1)
    a, b = (ops.reshape(x, (1,) * (rank - x.ndim) + x.shape) for x in (a, b))
    wide = ops.reshape(a, [size for own in a.shape for size in (own, 1)]) * ops.reshape(b, [size for own in b.shape for size in (1, own)])
    return ops.reshape(wide, [m * n for m, n in zip(a.shape, b.shape)])


def matmul(x1: Any, x2: Any, /) -> Array:
    """The product of matrices; a list is a row on the left and a column on the right.

    >>> tessera.matmul([[1.0, 2.0]], [[3.0], [4.0]])
    """
    return ops.matmul(x1, x2)


def dot(a: Any, b: Any) -> Array:
    """NumPy's dot: the product of lists or matrices, or with a number each element times it."""
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return ops.mul(a, b)
    if b.ndim <= 2:
        return ops.matmul(a, b)
    return tensordot(a, b, axes=((-1,), (-2,)))


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Array:
    """Products summed over the last axes of x1 and the first of x2, so many of each, or over axes named for each.

    >>> tessera.tensordot([[1.0, 2.0]], [[3.0], [4.0]], axes=1)
    """
    x1, x2 = asarray(x1), asarray(x2)
    if isinstance(axes, int):
        return ops.tensordot(x1, x2, list(range(x1.ndim - axes, x1.ndim)), list(range(axes)))
    first, second = ([own] if isinstance(own, int) else list(own) for own in axes)
    return ops.tensordot(x1, x2, first, second)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis, the others broadcast.

    >>> tessera.vecdot([1.0, 2.0], [3.0, 4.0])
    """
    x1, x2 = asarray(x1), asarray(x2)
    return ops.cast(ops.sum(ops.mul(x1, x2), axis), result_type(x1, x2))


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of the elements of two lists, rows from x1.

    >>> tessera.linalg.outer([1.0, 2.0], [3.0, 4.0])
    """
    return ops.outer(ops.reshape(x1, (-1,)), ops.reshape(x2, (-1,)))


def cross(x1: Any, x2: Any, /, axis: int = -1) -> Array:
    """The cross product of vectors of 3 along an axis; of vectors of 2 the third component, the only one that is not 0.

    >>> tessera.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    """
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim and x2.ndim and x1.shape[axis] == 2 == x2.shape[axis]:
        (a, b), (c, d) = (ops.unstack(x, axis, 2) for x in (x1, x2))
        return a * d - b * c
    return _cross(x1, x2, axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """A view of a diagonal of the last two axes.

    >>> tessera.linalg.diagonal([[1, 2], [3, 4]])
    """
    return ops.diagonal(x, offset, -2, -1)


def trace(x: Any, /, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of a diagonal of the last two axes.

    >>> tessera.linalg.trace([[1, 2], [3, 4]])
    """
    if dtype is None:
        return ops.trace(x, offset, -2, -1)
    from ._statistics import sum

    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The triangular matrix whose product with its transpose is x.

    >>> tessera.linalg.cholesky([[4.0, 2.0], [2.0, 3.0]])
    """
    return ops.cholesky(as_float(x), upper)


def matrix_power(x: Any, n: int, /) -> Array:
    """The product of n copies of x, or of its inverse if n is negative.

    >>> tessera.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 3)
    """
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


def _symmetric(x: Any, triangle: str) -> Array:
    """Symmetric matrices from one triangle; ops.eigh reads the lower one."""
    if triangle not in ("L", "U"):
        raise ValueError(f"eigh: UPLO is 'L' or 'U', not {triangle!r}")
    x = as_float(x)
    return x if triangle == "L" else matrix_transpose(x)


def eigh(x: Any, /, UPLO: str = "L") -> eigh_result:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices, of which the triangle UPLO counts: "L", the lower one, or "U".

    >>> tessera.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    """
    return eigh_result(*ops.eigh(_symmetric(x, UPLO)))


def eigvalsh(x: Any, /, UPLO: str = "L") -> Array:
    """Eigenvalues of symmetric matrices, ascending; see eigh.

    >>> tessera.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    """
    return ops.eigh(_symmetric(x, UPLO))[0]


def qr(x: Any, /, *, mode: str = "reduced") -> qr_result:
    """Orthonormal columns Q and an upper triangle R whose product is x.

    >>> tessera.linalg.qr([[1.0, 2.0], [3.0, 4.0]])
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is 'reduced' or 'complete', not {mode!r}")
    return qr_result(*ops.qr(as_float(x), mode == "complete"))


def slogdet(x: Any, /) -> slogdet_result:
    """Sign of the determinant, and the logarithm of its magnitude.

    >>> tessera.linalg.slogdet([[2.0, 0.0], [0.0, 4.0]])
    """
    return slogdet_result(*ops.slogdet(as_float(x)))


def svd(x: Any, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values, descending, with orthonormal columns U and rows Vh; with compute_uv=False the values alone.

    >>> tessera.linalg.svd([[1.0, 2.0], [3.0, 4.0]])
    """
    if not compute_uv:
        return svdvals(x)
    return svd_result(*ops.svd(as_float(x), full_matrices))


def svdvals(x: Any, /) -> Array:
    """Singular values, descending.

    >>> tessera.linalg.svdvals([[1.0, 2.0], [3.0, 4.0]])
    """
    return ops.svd(as_float(x), False)[1]


def pinv(x: Any, /, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None) -> Array:
    """The pseudo-inverse, from the singular values above rtol times the largest.

    >>> tessera.linalg.pinv([[1.0], [2.0]])
    """
    return ops.pinv(as_float(x), (rcond if rtol is None else rtol) or 0.0)


def matrix_rank(x: Any, /, tol: float | None = None, hermitian: bool = False, *, rtol: float | None = None) -> Array:
    """How many singular values are above rtol times the largest, or above tol.

    >>> tessera.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    """
    if tol is not None:
        return ops.sum(ops.cast(ops.gt(svdvals(x), tol), _core.int64), -1)
    return ops.matrix_rank(as_float(x), rtol or 0.0)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The Frobenius norm, or with ord 1, 2, inf and their negatives the norms of those names; "nuc": the sum of the singular values.

    >>> tessera.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]])
    """
    x = asarray(x)
    if ord == "fro":
        return ops.norm(x, 2.0, (-2, -1), keepdims)
    found = ops.sum(svdvals(x), -1) if ord == "nuc" else ops.matrix_norm(x, ord)
    return ops.reshape(found, found.shape + (1, 1)) if keepdims else found


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Array:
    """(sum of |x|^ord)^(1 / ord) over axes.

    >>> tessera.linalg.vector_norm([3.0, 4.0])
    """
    return ops.norm(x, ord, axis, keepdims)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's norm: of all elements, of lists along one axis, or of matrices along two."""
    x = asarray(x)
    is_matrix = (axis is None and x.ndim == 2 and ord is not None) or (axis is not None and not isinstance(axis, int))
    if isinstance(ord, str) and ord != "fro" and not (is_matrix and ord == "nuc"):
        raise ValueError(f"norm: ord is a number, 'fro', or 'nuc' for matrices, not {ord!r}")
    if is_matrix and ord not in (None, "fro"):
        if axis is not None and tuple(axis_of(i, x.ndim) for i in axis) != (x.ndim - 2, x.ndim - 1):
            raise NotImplementedError("norm: matrix norms are taken over the last two axes")
        return matrix_norm(x, keepdims=keepdims, ord=ord)
    return ops.norm(x, 2.0 if ord in (None, "fro") else ord, axis, keepdims)


def __getattr__(name: str) -> object:
    """Says of NumPy's functions for general eigenvalues why they are not here."""
    reason = ": these eigenvalues are complex, and it has no complex numbers; eigh and eigvalsh take symmetric matrices" if name in ("eig", "eigvals") else ""
    raise AttributeError(f"module 'tessera.linalg' has no attribute {name!r}{reason}")
