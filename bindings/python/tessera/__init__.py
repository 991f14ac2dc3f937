# SPDX-License-Identifier: MIT
"""Tensors on any device, with the names of NumPy and the array API.

    import tessera as np

Operators record; reading a result (print, float(x), numpy.asarray(x)) runs what it needs on the device, as few kernels as possible.
docs/python.md has all of it.
"""
import math as _math

from . import linalg, nn, ops, random
from ._capture import capture
from ._core import (Array, Device, DeviceError, DType, Error, KernelError, bfloat16, bool, device, float8_e4m3fn, float8_e5m2, float16, float32,
                    float64, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64)
from ._core import version as __version__
from ._creation import (arange, array, asarray, empty, empty_like, eye, from_dlpack, full, full_like, identity, linspace, meshgrid, ones,
                        ones_like, tril, triu, zeros, zeros_like)
from ._dtypes import astype, can_cast, dtype, finfo, iinfo, isdtype, result_type
from ._elementwise import *  # noqa: F401,F403
from ._grad import grad, value_and_grad
from ._indexing import get as _get  # noqa: F401  arrays as keys
from ._info import __array_namespace_info__, devices
from ._kernel import kernel
from ._manipulation import (broadcast_arrays, broadcast_shapes, broadcast_to, column_stack, concat, concatenate, expand_dims, flip, hstack,
                            matrix_transpose, moveaxis, permute_dims, ravel, repeat, reshape, roll, split, squeeze, stack, swapaxes, tile,
                            transpose, unstack, vstack)
from ._methods import as_numpy as _as_numpy  # noqa: F401  methods of Array
from ._numpy import (around, atleast_1d, average, bincount, diag, fliplr, flipud, histogram, interp, isscalar, logspace, percentile, ptp,
                     quantile, round, trapezoid, trapz)
from ._searching import (argsort, argwhere, count_nonzero, nonzero, searchsorted, sort, take, take_along_axis, unique, unique_all,
                         unique_counts, unique_inverse, unique_values, where)
from ._statistics import (all, amax, amin, any, argmax, argmin, cumprod, cumsum, cumulative_sum, diff, max, mean, median, min, prod, std, sum,
                          var)
from .linalg import dot, matmul, outer, tensordot, trace, vecdot
from .ops import einsum as _einsum

__array_api_version__ = "2023.12"
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None
bool_ = bool


def einsum(equation: str, *arrays: object) -> Array:
    """Sums of products by an equation such as "ij,jk->ik"."""
    return _einsum(equation, arrays)


def synchronize() -> None:
    """Waits until all work queued on the current device is done."""
    device().synchronize()
