# SPDX-License-Identifier: MIT
"""Tensors on any device, with the names of NumPy and the array API.

    import tessera as np

Operators record; reading a result (print, float(x), numpy.asarray(x)) runs what it needs on the device, as few kernels as possible.
docs/python.md has all of it.
"""
import math as _math
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import linalg, nn, ops, random
from ._capture import capture, load_capture
from ._core import (Array, Device, DeviceError, DType, Error, KernelError, bfloat16, bool, device, float8_e4m3fn, float8_e5m2, float16, float32,
                    float64, int4, int8, int16, int32, int64, ufunc, uint4, uint8, uint16, uint32, uint64)
from ._core import version as __version__
from ._creation import (arange, array, asarray, ascontiguousarray, empty, empty_like, eye, from_dlpack, frombuffer, full, full_like, identity, linspace, meshgrid, ones,
                        ones_like, tril, triu, zeros, zeros_like)
from ._dtypes import astype, can_cast, dtype, finfo, iinfo, isdtype, result_type
from ._elementwise import (abs, absolute, acos, acosh, add, allclose, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, around,
                           array_equal, array_equiv, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift,
                           bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil, clip, copysign, cos, cosh, deg2rad, degrees, divide,
                           divmod, equal, erf, exp, exp2, expm1, fabs, fix, float_power, floor, floor_divide, fmax, fmin, fmod, gcd, greater,
                           greater_equal, heaviside, hypot, invert, isclose, isfinite, isinf, isnan, isneginf, isposinf, lcm, left_shift, less,
                           less_equal, log, log1p, log2, log10, logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor, maximum,
                           minimum, mod, modf, multiply, nan_to_num, negative, nextafter, not_equal, positive, pow, power, rad2deg, radians,
                           reciprocal, remainder, right_shift, rint, round, round_, sign, signbit, sin, sinc, sinh, sqrt, square, subtract, tan,
                           tanh, true_divide, trunc)
from ._elementwise import store as _store
from ._grad import grad, value_and_grad
from ._indexing import get as _get  # noqa: F401  arrays as keys
from ._info import __array_namespace_info__, devices
from ._kernel import kernel
from ._manipulation import (broadcast_arrays, broadcast_shapes, broadcast_to, column_stack, concat, concatenate, expand_dims, flip, hstack,
                            matrix_transpose, moveaxis, permute_dims, ravel, repeat, reshape, roll, row_stack, split, squeeze, stack, swapaxes, tile,
                            transpose, unstack, vstack)
from ._methods import as_numpy as _as_numpy  # noqa: F401  methods of Array
from ._numpy import (array_repr, array_str, asanyarray, atleast_1d, atleast_2d, atleast_3d, base_repr, binary_repr, byte, complexfloating, diag,
                     diagflat, diagonal, double, dsplit, dstack, errstate, euler_gamma, fliplr, flipud, float_, floating, generic, geomspace, half, hsplit,
                     inexact, int_, intc, integer, intp, iscomplexobj, isrealobj, isscalar, issubdtype, iterable, logspace, longlong, may_share_memory, ndarray,
                     number, promote_types, real, rot90, seterr, shares_memory, short, signedinteger, single, trace, tri, ubyte, uint, unsignedinteger, vsplit)
from ._searching import (argsort, argwhere, count_nonzero, nonzero, searchsorted, sort, take, take_along_axis, unique, unique_all,
                         unique_counts, unique_inverse, unique_values, where)
from ._sets import (argpartition, choose, compress, digitize, extract, flatnonzero, in1d, intersect1d, isin, lexsort, partition, piecewise, select,
                    setdiff1d, setxor1d, union1d)
from ._statistics import (all, amax, amin, any, argmax, argmin, average, corrcoef, cov, cumprod, cumsum, cumulative_sum, diff, max, mean, median,
                          min, nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmedian, nanmin, nanpercentile, nanprod, nanquantile, nanstd, nansum,
                          nanvar, percentile, prod, ptp, quantile, std, sum, var)
from .linalg import cross, dot, inner, kron, matmul, outer, tensordot, vdot, vecdot
from .ops import einsum as _einsum

if _TYPE_CHECKING:
    from ._autocast import autocast
    from ._config import config
    from ._editing import (append, apply_along_axis, apply_over_axes, array_split, block, broadcast, copy, copyto, delete, ediff1d, fill_diagonal,
                           insert, ndim, packbits, place, put, put_along_axis, putmask, resize, rollaxis, shape, size, trim_zeros, unpackbits,
                           vectorize)
    from ._files import fromfile, fromiter, fromstring, genfromtxt, load, loadtxt, save, savetxt, savez, savez_compressed
    from ._floats import frexp, ldexp, spacing
    from ._grids import (c_, diag_indices, diag_indices_from, fromfunction, index_exp, indices, ix_, mgrid, ndenumerate, ndindex, ogrid, r_,
                         ravel_multi_index, s_, tril_indices, tril_indices_from, triu_indices, triu_indices_from, unravel_index)
    from ._histograms import bincount, histogram, histogram2d, histogram_bin_edges, histogramdd
    from ._padding import pad
    from ._polynomials import poly, poly1d, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, vander
    from ._signal import bartlett, blackman, convolve, correlate, gradient, hamming, hanning, i0, interp, kaiser, trapezoid, trapz, unwrap
    from ._printing import array2string, get_printoptions, printoptions, set_printoptions
    from ._profile import label, profile
    from . import lib, optim, testing

# What few programs need is loaded when it is used: module, names.
_LATER = {
    "_autocast": "autocast",
    "_config": "config",
    "_editing": """append apply_along_axis apply_over_axes array_split block broadcast copy copyto delete ediff1d fill_diagonal insert ndim packbits
    place put put_along_axis putmask resize rollaxis shape size trim_zeros unpackbits vectorize""",
    "_files": "fromfile fromiter fromstring genfromtxt load loadtxt save savetxt savez savez_compressed",
    "_floats": "frexp ldexp spacing",
    "_grids": """c_ diag_indices diag_indices_from fromfunction index_exp indices ix_ mgrid ndenumerate ndindex ogrid r_ ravel_multi_index s_
    tril_indices tril_indices_from triu_indices triu_indices_from unravel_index""",
    "_histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "_padding": "pad",
    "_polynomials": "poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval vander",
    "_signal": "bartlett blackman convolve correlate gradient hamming hanning i0 interp kaiser trapezoid trapz unwrap",
    "_profile": "label profile",
    "_printing": "array2string get_printoptions printoptions set_printoptions",
}

# What a message says of names of NumPy that are not here, beside that.
_LACKS = {
    "fft": ": it has no complex numbers; tessera.ops.fft, ifft, rfft and irfft have a last axis of 2 for them",
    "ma": ": there are no masked arrays; the nan... functions and x[mask] leave elements out",
    "polynomial": ": polyfit, polyval, poly1d and others are functions of tessera itself",
    "roots": ": it has no complex numbers, which roots are in general",
    **dict.fromkeys(("angle", "complex64", "complex128", "conj", "imag"), ": it has no complex numbers"),
}

__array_api_version__ = "2023.12"
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None
Inf, NaN, NAN, infty = inf, nan, nan, inf
bool_, True_, False_ = bool, True, False


__all__ = [
    "__array_api_version__", "__array_namespace_info__", "__version__", "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin",
    "any", "append", "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argpartition", "argsort", "argwhere", "around", "Array", "array", "array2string", "array_equal", "array_equiv", "array_repr",
    "array_split", "array_str", "asanyarray", "asarray", "ascontiguousarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d",
    "atleast_2d", "atleast_3d", "autocast", "average", "bartlett", "base_repr", "bfloat16", "binary_repr", "bincount", "bitwise_and", "bitwise_count",
    "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman", "block", "bool", "bool_",
    "broadcast", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "byte", "c_", "can_cast", "capture", "cbrt", "ceil", "choose", "clip",
    "column_stack", "complexfloating", "compress", "concat", "concatenate", "config", "convolve", "copy", "copysign", "copyto", "corrcoef", "correlate", "cos",
    "cosh", "count_nonzero", "cov", "cross", "cumprod", "cumsum", "cumulative_sum", "deg2rad", "degrees", "delete", "Device", "device", "DeviceError",
    "devices", "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot", "double", "dsplit",
    "dstack", "DType", "dtype", "e", "ediff1d", "einsum", "empty", "empty_like", "equal", "erf", "Error", "errstate", "euler_gamma", "exp", "exp2",
    "expand_dims", "expm1", "extract", "eye", "fabs", "False_", "fill_diagonal", "finfo", "fix", "flatnonzero", "flip", "fliplr", "flipud", "float16",
    "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float_", "float_power", "floating", "floor", "floor_divide", "fmax", "fmin", "fmod",
    "frexp", "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "full", "full_like", "gcd", "generic", "genfromtxt",
    "geomspace", "get_printoptions", "grad", "gradient", "greater", "greater_equal", "half", "hamming", "hanning", "heaviside", "histogram",
    "histogram2d", "histogram_bin_edges", "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "in1d", "index_exp", "indices",
    "inexact", "Inf", "inf", "infty", "inner", "insert", "int16", "int32", "int4", "int64", "int8", "int_", "intc", "integer", "interp",
    "intersect1d", "intp", "invert", "isclose", "iscomplexobj", "isdtype", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isrealobj",
    "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "kernel", "KernelError", "kron", "label", "lcm", "ldexp", "left_shift", "less",
    "less_equal", "lexsort", "lib", "linalg", "linspace", "load", "load_capture", "loadtxt", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logspace", "longlong", "matmul", "matrix_transpose", "max", "maximum",
    "may_share_memory", "mean", "median", "meshgrid", "mgrid", "min", "minimum", "mod", "modf", "moveaxis", "multiply", "NAN", "NaN", "nan",
    "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "ndarray", "ndenumerate", "ndim", "ndindex", "negative", "newaxis", "nextafter", "nn", "nonzero",
    "not_equal", "number", "ogrid", "ones", "ones_like", "ops", "optim", "outer", "packbits", "pad", "partition", "percentile", "permute_dims", "pi",
    "piecewise", "place", "poly", "poly1d", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "positive", "pow",
    "power", "printoptions", "prod", "profile", "promote_types", "ptp", "put", "put_along_axis", "putmask", "quantile", "r_", "rad2deg", "radians",
    "random", "ravel", "ravel_multi_index", "real", "reciprocal", "remainder", "repeat", "reshape", "resize", "result_type", "right_shift", "rint",
    "roll", "rollaxis", "rot90", "round", "round_", "row_stack", "s_", "save", "savetxt", "savez", "savez_compressed", "searchsorted", "select",
    "set_printoptions", "setdiff1d", "seterr", "setxor1d", "shape", "shares_memory", "short", "sign", "signbit", "signedinteger", "sin", "sinc",
    "single", "sinh", "size", "sort", "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "synchronize",
    "take", "take_along_axis", "tan", "tanh", "tensordot", "testing", "tile", "trace", "transpose", "trapezoid", "trapz", "tri", "tril",
    "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices", "triu_indices_from", "True_", "true_divide", "trunc", "ubyte", "ufunc",
    "uint", "uint16", "uint32", "uint4", "uint64", "uint8", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "unpackbits", "unravel_index", "unsignedinteger", "unstack", "unwrap", "value_and_grad", "vander", "var", "vdot", "vecdot", "vectorize", "vsplit",
    "vstack", "where", "zeros", "zeros_like",
]


def einsum(equation: _Any, *arrays: _Any, out: _Any = None, optimize: object = True) -> Array:
    """Sums of products by an equation, or by a list of axis numbers behind each array and one for the result.

    >>> tessera.einsum("ij,jk->ik", [[1.0, 2.0]], [[3.0], [4.0]])
    """
    if not isinstance(equation, str):
        given = (equation, *arrays)
        pairs = len(given) // 2 * 2
        texts = ["".join("..." if axis is ... else chr(97 + axis) for axis in axes) for axes in (*given[1:pairs:2], *given[pairs:])]
        equation, arrays = ",".join(texts[:pairs // 2]) + ("->" + texts[-1] if len(given) > pairs else ""), given[0:pairs:2]
    found = _einsum(equation, arrays)
    return found if out is None else _store(found, out)


def synchronize() -> None:
    """Waits until all work queued on the current device is done."""
    device().synchronize()


def __getattr__(name: str) -> object:
    """Loads what is loaded when it is used."""
    import importlib

    if name in ("lib", "optim", "testing"):
        return importlib.import_module("." + name, __name__)
    for module, names in _LATER.items():
        if name in names.split():
            found = globals()[name] = getattr(importlib.import_module("." + module, __name__), name)
            return found
    raise AttributeError(f"module 'tessera' has no attribute {name!r}{_LACKS.get(name, '')}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
