# SPDX-License-Identifier: MIT
"""Assertions for tests, with the names of numpy.testing. They wait for the answer."""
from __future__ import annotations

from typing import Any

from . import ops
from ._creation import asarray



def _fail(what: str, actual: Any, desired: Any, err_msg: str) -> None:
    raise AssertionError("\n".join(filter(None, [what, err_msg, f" actual: {asarray(actual)!r}", f" desired: {asarray(desired)!r}"])))


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0.0, equal_nan: bool = True, err_msg: str = "") -> None:
    """Fails unless |actual - desired| <= atol + rtol * |desired| everywhere."""
    if not bool(ops.all(ops.isclose(actual, desired, rtol, atol, equal_nan))):
        _fail(f"not equal to tolerance rtol={rtol}, atol={atol}", actual, desired, err_msg)


def assert_array_equal(x: Any, y: Any, err_msg: str = "") -> None:
    """Fails unless all elements are equal; a number stands for an array of it. NaN equals NaN."""
    a, b = asarray(x), asarray(y)
    if a.shape != b.shape and a.ndim and b.ndim or not bool(ops.all(ops.logical_or(ops.eq(a, b), ops.logical_and(ops.ne(a, a), ops.ne(b, b))))):
        _fail("arrays are not equal", x, y, err_msg)


def assert_array_almost_equal(x: Any, y: Any, decimal: int = 6, err_msg: str = "") -> None:
    """Fails unless |x - y| < 1.5 * 10**-decimal everywhere."""
    assert_allclose(x, y, rtol=0.0, atol=1.5 * 10.0**-decimal, err_msg=err_msg)


assert_almost_equal = assert_array_almost_equal


def assert_equal(actual: Any, desired: Any, err_msg: str = "") -> None:
    """Fails unless two arrays, or two lists, tuples or dicts of them, are equal."""
    if isinstance(desired, dict):
        assert isinstance(actual, dict) and actual.keys() == desired.keys(), err_msg or f"{actual!r} is not {desired!r}"
        for key, value in desired.items():
            assert_equal(actual[key], value, err_msg)
    elif isinstance(desired, (str, type(None))):
        assert actual == desired, err_msg or f"{actual!r} is not {desired!r}"
    else:
        assert_array_equal(actual, desired, err_msg)


def assert_array_less(x: Any, y: Any, err_msg: str = "") -> None:
    """Fails unless x < y everywhere."""
    if not bool(ops.all(ops.lt(x, y))):
        _fail("not less everywhere", x, y, err_msg)


def assert_raises(exception: Any, *args: Any, **options: Any) -> Any:
    """As unittest's assertRaises."""
    import unittest

    return unittest.TestCase().assertRaises(exception, *args, **options)


__all__ = ["assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal", "assert_array_less", "assert_raises"]
