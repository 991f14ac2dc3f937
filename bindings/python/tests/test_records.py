# SPDX-License-Identifier: MIT
"""Every operator of the library's records that NumPy has, too, once beside NumPy over dtypes and shapes.

No names are listed but where NumPy's differ: which operators there are, and how each is called, comes from the records, as the signatures of tessera.ops have it. A new
operator is compared as soon as NumPy has a function of its name and it takes what the others of its form take.
"""
import inspect
import itertools
import unittest
import warnings

import numpy as np
import tessera as ts
from beside import some

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
SHAPES = [(), (5,), (0, 3), (2, 3, 4)]
# NumPy's name, where it is another one.
NAMES = {"mul": "multiply", "sub": "subtract", "div": "divide", "neg": "negative", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
         "ge": "greater_equal", "floor_div": "floor_divide", "mod": "remainder", "pow": "power", "acos": "arccos", "asin": "arcsin", "atan": "arctan", "acosh": "arccosh",
         "asinh": "arcsinh", "atanh": "arctanh", "atan2": "arctan2", "bitwise_not": "invert", "shift_left": "left_shift", "shift_right": "right_shift", "round": "rint",
         "cummax": "maximum.accumulate", "cummin": "minimum.accumulate", "concat": "concatenate", "permute": "transpose", "unsqueeze": "expand_dims"}
# What NumPy has not, in NumPy's words.
REFERENCES = {
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-1.0 * x)), "silu": lambda x: x / (1 + np.exp(-1.0 * x)), "rsqrt": lambda x: 1 / np.sqrt(x),
    "softplus": lambda x: np.log1p(np.exp(x)), "squeeze_all": np.squeeze, "inverse": np.linalg.inv, "det": np.linalg.det, "cholesky": np.linalg.cholesky,
    "unique": np.unique, "nonzero": np.argwhere, "xlogy": lambda a, b: np.where(a == 0, 0, a * np.log(b)),
}
# Here the words are the same, but not what they mean; docs/python.md and docs/operators.md say so.
OTHERWISE = {"reciprocal": "of integers floats", "dot": "lists only", "outer": "lists only", "kron": "matrices only", "cross": "an axis of 3", "interp": "lists only",
             "searchsorted": "sorted lists", "bincount": "a list", "take": "indices in b", "diag": "lists and matrices", "rot90": "matrices"}
TOLERANCE = {"float16": 4e-3, "float32": 5e-6, "float64": 1e-11}


def reference(name):
    """NumPy's function; None: it has none."""
    found = REFERENCES.get(name)
    if found is None:
        found = np
        for part in NAMES.get(name, name).split("."):
            found = getattr(found, part, None)
    return found


def data_of(generator, shape, dtype):
    """Numbers that every function takes: floats between 0.1 and 0.9, integers from 0 to 5."""
    if dtype.startswith("float"):
        return np.asarray(generator.uniform(0.1, 0.9, shape)).astype(dtype)
    return np.asarray(generator.integers(0, 2 if dtype == "bool" else 6, shape)).astype(dtype)


def tolerance_of(dtypes):
    # NumPy computes functions of small integers in float16.
    return max(TOLERANCE.get(dtype, 4e-3 if dtype in ("bool", "int8", "uint8") else 5e-6) for dtype in dtypes)


class Records(unittest.TestCase):
    compared: dict = {}

    def setUp(self):
        self.generator = np.random.default_rng(11)
        warnings.simplefilter("ignore")

    def operators(self, *signatures):
        """Those of the records with one of these signatures, which NumPy has."""
        for name in ts.ops.__all__:
            text = str(inspect.signature(getattr(ts.ops, name)))
            function = reference(name) if name not in OTHERWISE else None
            if text in signatures and callable(function):
                yield name, function

    def compare(self, name, function, arrays, numpy_options, options, tolerance_factor=1):
        """False if NumPy or the operator refuses the dtype, which the operator must then say."""
        dtypes = [array.dtype.name for array in arrays]
        place = f"{name} {dtypes} {[array.shape for array in arrays]} {options}"
        try:
            with np.errstate(all="ignore"):
                wanted = function(*arrays, **numpy_options)
        except (TypeError, ValueError, np.linalg.LinAlgError):
            return False
        try:
            found = getattr(ts.ops, name)(*(ts.asarray(array) for array in arrays), **options)
        except TypeError as error:
            self.assertRegex(str(error), "bool|int|float|takes", place)
            return False
        found = np.asarray(found[0] if isinstance(found, tuple) else found)
        wanted = np.asarray(wanted)
        self.assertEqual(found.shape, wanted.shape, place)
        tolerance = tolerance_of(dtypes) * tolerance_factor
        np.testing.assert_allclose(found.astype("float64"), wanted.astype("float64"), rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=place)
        Records.compared[name] = Records.compared.get(name, 0) + 1
        return True

    def test_functions_of_arrays(self):
        for count, signature in ((1, "(x)"), (2, "(a, b)")):
            for (name, function), dtype in some(itertools.product(list(self.operators(signature)), DTYPES)):
                shape = SHAPES[self.generator.integers(len(SHAPES))]
                arrays = [data_of(self.generator, shape, dtype) for _ in range(count)]
                if name in ("matmul", "inverse", "det", "cholesky"):
                    arrays = [np.asarray(data_of(self.generator, (3, 3), dtype) + 9 * np.eye(3, dtype=dtype), dtype=dtype) for _ in range(count)]
                    arrays = [array + array.T for array in arrays] if name == "cholesky" else arrays
                self.compare(name, function, arrays, {}, {}, 40 if arrays[0].shape == (3, 3) else 4)

    def test_functions_over_axes(self):
        signatures = ("(x, axes=(), keep_dims=False)", "(x, axes=(), keep_dims=False, correction=1)")
        for (name, function), dtype in some(itertools.product(list(self.operators(*signatures)), DTYPES)):
            if dtype == "bool" and name in ("std", "var"):
                continue
            data = data_of(self.generator, (2, 3, 4), dtype)
            for axis in (None, 0, -1):
                options = {} if axis is None else {"axes": axis}
                given = {"axis": axis, "ddof": 1} if name in ("std", "var") else {"axis": axis}
                if dtype not in ("int8", "int16", "uint8", "uint16", "bool", "float16") or name not in ("sum", "prod"):  # their sums are added in 32 bits
                    self.compare(name, function, [data], given, options, 10)

    def test_functions_along_an_axis(self):
        signatures = ("(x, axis=-1)", "(x, axis=-1, descending=False)", "(x, axis=-1, keep_dims=False)")
        for (name, function), dtype in some(itertools.product(list(self.operators(*signatures)), DTYPES)):
            if name in ("cumsum", "cumprod") and dtype not in ("int64", "uint64", "float32", "float64"):
                continue  # NumPy's are wider
            data = data_of(self.generator, (2, 3, 4), dtype)
            if name == "argsort":
                data = self.generator.permutation(24).reshape(2, 3, 4).astype(dtype)  # without equal elements, whose order is open
                if dtype == "bool":
                    continue
            for axis in (0, 1, -1):
                self.compare(name, function, [data], {"axis": axis}, {"axis": axis}, 10)

    @unittest.skipUnless(str(ts.device()).startswith("cpu"), "other devices get a part of the cases")
    def test_most_of_the_records_are_compared(self):
        if not Records.compared:  # this test alone
            for test in (self.test_functions_of_arrays, self.test_functions_over_axes, self.test_functions_along_an_axis):
                test()
        self.assertGreater(len(Records.compared), 85, sorted(Records.compared))
        for signature in ("(x)", "(a, b)", "(x, axes=(), keep_dims=False)"):
            for name, _ in self.operators(signature):
                self.assertIn(name, Records.compared, "NumPy has it, but no dtype was compared")


if __name__ == "__main__":
    unittest.main()
