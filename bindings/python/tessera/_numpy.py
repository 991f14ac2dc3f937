# SPDX-License-Identifier: MIT
"""Names that NumPy has and the array API has not, beside those of modules of their own."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

from . import _core, ops
from ._core import Array, DType
from ._creation import asarray, linspace
from ._dtypes import dtype as _dtype
from ._dtypes import result_type
from ._elementwise import store
from ._manipulation import concat, split

ndarray = Array
float_, double, single, half, int_, intp, intc, uint, longlong, short, byte, ubyte = (
    _core.float32, _core.float64, _core.float32, _core.float16, _core.int64, _core.int64, _core.int32, _core.uint64, _core.int64, _core.int16,
    _core.int8, _core.uint8)
euler_gamma, PZERO, NZERO = 0.5772156649015329, 0.0, -0.0


class _Kind(type):
    """The type of np.integer, np.floating, …: kinds of dtypes, for issubdtype, and of numbers without axes, for isinstance."""

    kinds: str

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Array) and instance.ndim == 0 and instance.dtype.kind in cls.kinds

    def __repr__(cls) -> str:
        return f"tessera.{cls.__name__}"


class generic(metaclass=_Kind):
    """All dtypes."""

    kinds = "biuf"


class number(generic):
    """Dtypes of numbers."""

    kinds = "iuf"


class integer(number):
    """Dtypes of whole numbers."""

    kinds = "iu"


class signedinteger(integer):
    """int8 to int64."""

    kinds = "i"


class unsignedinteger(integer):
    """uint8 to uint64."""

    kinds = "u"


class inexact(number):
    """Dtypes of numbers with a fraction."""

    kinds = "f"


class floating(inexact):
    """Dtypes of numbers with a fraction."""


class complexfloating(inexact):
    """No dtype: there are no complex ones."""

    kinds = ""


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a kind such as np.integer, or the same as another one."""
    own = _dtype(arg1)
    if isinstance(arg2, _Kind):
        return own.kind in arg2.kinds
    if arg2 in (int, float):
        return own.kind == ("i" if arg2 is int else "f")
    return own == _dtype(arg2)


def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype that two dtypes are computed in together."""
    return result_type(_dtype(type1), _dtype(type2))


@contextlib.contextmanager
def errstate(**options: str) -> Iterator[None]:
    """Does nothing: divisions by 0 and overflow give inf and NaN here without a warning."""
    yield


def seterr(**options: str) -> dict[str, str]:
    """Does nothing, as errstate."""
    return dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


def diag(x: Any, k: int = 0) -> Array:
    """The matrix with a list on its k-th diagonal; of a matrix, a view of the diagonal.

    >>> tessera.diag([1, 2])
    """
    return ops.diag(x, k)


def diagflat(x: Any, k: int = 0) -> Array:
    """The matrix with all elements of an array on its k-th diagonal."""
    return ops.diag(ops.reshape(asarray(x), (-1,)), k)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A view of a diagonal between two axes."""
    return ops.diagonal(x, offset, axis1, axis2)


def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Array:
    """The sum of a diagonal between two axes.

    >>> tessera.trace([[1, 2], [3, 4]])
    """
    if dtype is None:
        return store(ops.trace(x, offset, axis1, axis2), out)
    return store(ops.sum(ops.cast(ops.diagonal(x, offset, axis1, axis2), dtype), -1), out)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = _core.float32) -> Array:
    """1 on and below the k-th diagonal, else 0."""
    return ops.tril(ops.ones((N, N if M is None else M), dtype), k)


def logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None) -> Array:
    """base to the powers from start to stop, evenly spaced."""
    made = base ** linspace(start, stop, num, endpoint=endpoint)
    return made if dtype is None else ops.cast(made, dtype)


def geomspace(start: float, stop: float, num: int = 50, endpoint: bool = True) -> Array:
    """Numbers from start to stop of which each is the one before times the same factor."""
    import math

    if start * stop <= 0:
        raise ValueError("geomspace: both ends must be numbers other than 0, of one sign")
    steps = linspace(0.0, math.log(stop / start), num, dtype=_core.float64, endpoint=endpoint)
    return ops.cast(start * ops.exp(steps), _core.float32)


def fliplr(x: Any) -> Array:
    """A view with axis 1 reversed."""
    return ops.flip(x, 1)


def flipud(x: Any) -> Array:
    """A view with axis 0 reversed."""
    return ops.flip(x, 0)


def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """A view turned by k right angles, from the first axis towards the second.

    >>> tessera.rot90([[1, 2], [3, 4]])
    """
    return ops.rot90(x, k, axes[0], axes[1])


def _at_least(x: Any, rank: int) -> Array:
    x = asarray(x)
    own = x.ndim
    if own >= rank:
        return x
    if own == 1:
        return x[None] if rank == 2 else x[None, :, None]
    return ops.unsqueeze(x, 2) if own == 2 else ops.reshape(x, (1,) * rank)


def _each_at_least(arrays: tuple[Any, ...], rank: int) -> Any:
    return _at_least(arrays[0], rank) if len(arrays) == 1 else [_at_least(x, rank) for x in arrays]


def atleast_1d(*arrays: Any) -> Any:
    """The arrays, with an axis if they have none."""
    return _each_at_least(arrays, 1)


def atleast_2d(*arrays: Any) -> Any:
    """The arrays as matrices: a list is a row."""
    return _each_at_least(arrays, 2)


def atleast_3d(*arrays: Any) -> Any:
    """The arrays with three axes: a list is in the middle one, a matrix in the first two."""
    return _each_at_least(arrays, 3)


def dstack(arrays: Any) -> Array:
    """Arrays along the third axis."""
    return concat([_at_least(x, 3) for x in arrays], axis=2)


def hsplit(x: Any, indices_or_sections: Any) -> list[Array]:
    """As split, along the second axis, or the only one."""
    x = asarray(x)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def dsplit(x: Any, indices_or_sections: Any) -> list[Array]:
    """As split, along the third axis."""
    return split(x, indices_or_sections, 2)


def vsplit(x: Any, indices_or_sections: Any) -> list[Array]:
    """As split, along the first axis."""
    return split(x, indices_or_sections, 0)


def iterable(y: Any) -> bool:
    """Whether it can be iterated over."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


def binary_repr(num: int, width: int | None = None) -> str:
    """A whole number in binary digits, at least `width` of them; negative ones then as two's complement.

    >>> tessera.binary_repr(10, width=6)
    """
    number = int(num)
    if number >= 0 or width is None:
        return f"{'-' if number < 0 else ''}{abs(number):b}".zfill(width or 1)
    return f"{number & ((1 << max(width, (-number - 1).bit_length() + 1)) - 1):b}"


def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """A whole number in the digits of a base from 2 to 36, after so many zeros."""
    if not 2 <= base <= 36:
        raise ValueError(f"base_repr: a base from 2 to 36 is needed, not {base}")
    rest, digits = abs(int(number)), ""
    while rest:
        rest, digit = divmod(rest, base)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    return ("-" if number < 0 else "") + "0" * padding + (digits or ("" if padding else "0"))


def isscalar(x: Any) -> bool:
    """Whether it is a Python number or text."""
    return isinstance(x, (bool, int, float, complex, str, bytes))


def iscomplexobj(x: Any) -> bool:
    """False: there are no complex dtypes."""
    return isinstance(x, complex)


def isrealobj(x: Any) -> bool:
    """True: there are no complex dtypes."""
    return not iscomplexobj(x)


def real(x: Any) -> Array:
    """x itself: there are no complex dtypes."""
    return asarray(x)


asanyarray = asarray


def shares_memory(a: Array, b: Array) -> bool:
    """Whether writing to one could change the other."""
    return a.shares_memory(b)


may_share_memory = shares_memory


def array_repr(x: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None) -> str:
    """The text of repr(x)."""
    from ._printing import printoptions

    with printoptions(linewidth=max_line_width, precision=precision, suppress=suppress_small):
        return repr(asarray(x))


def array_str(x: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None) -> str:
    """The text of str(x)."""
    from ._printing import printoptions

    with printoptions(linewidth=max_line_width, precision=precision, suppress=suppress_small):
        return str(asarray(x))
