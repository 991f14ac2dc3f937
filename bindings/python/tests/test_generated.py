# SPDX-License-Identifier: MIT
"""Functions beside NumPy's, found by their names: every element-wise function and reduction that both have, over all dtypes and several shapes; the table of
promotions; and every public function with arguments that make no sense."""
import inspect
import itertools
import math
import random
import unittest
import warnings

import numpy as np
import tessera as ts
from beside import some

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
SHAPES = [(), (5,), (0, 3), (2, 3, 4)]
# Where NumPy gives something else (docs/python.md).
OTHER = {"reciprocal": "of integers NumPy gives integers, here they are floats"}
REDUCTIONS = ["sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "argmax", "argmin", "median", "ptp", "cumsum", "cumprod", "nansum", "nanmax",
              "nanmin", "nanmean", "nanstd", "nanmedian", "count_nonzero"]
# What a value's rounding may change: functions that jump, and shifts by more bits than there are.
TOLERANCE = {"float32": 3e-6, "float64": 1e-11}


def data_of(generator, shape, dtype):
    if dtype.startswith("float"):
        return generator.uniform(0.1, 0.9, shape).astype(dtype)
    return generator.integers(0, 2 if dtype == "bool" else 6, shape).astype(dtype)


def close(found, wanted, tolerance):
    wanted = np.asarray(wanted)
    found = np.asarray(found)
    return found.shape == wanted.shape and np.allclose(found.astype("float64"), wanted.astype("float64"), rtol=tolerance, atol=tolerance, equal_nan=True)


class Generated(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(5)
        warnings.simplefilter("ignore")

    def one(self, name, arrays):
        """Compares one call; False if NumPy refuses it."""
        try:
            with np.errstate(all="ignore"):
                wanted = getattr(np, name)(*arrays)
        except (TypeError, ValueError):
            return False
        dtypes = [array.dtype.name for array in arrays]
        try:
            found = getattr(ts, name)(*(ts.asarray(array) for array in arrays))
        except TypeError as error:
            # Here bools are no numbers, and float-only functions of integers may be refused with that word.
            self.assertIn("bool", dtypes, f"{name} {dtypes}: {error}")
            return False
        # NumPy computes functions of 8-bit integers in float16.
        tolerance = max(TOLERANCE.get(dtype, 2e-3 if dtype in ("bool", "int8", "uint8") else 3e-6) for dtype in dtypes)
        self.assertTrue(close(found, wanted, tolerance), f"{name} {dtypes} {[array.shape for array in arrays]}: {found} {wanted}")
        return True

    def test_element_wise_functions(self):
        functions = {name: value.nin for name, value in vars(ts).items() if isinstance(value, ts.ufunc) and hasattr(np, name) and name not in OTHER}
        self.assertGreater(len(functions), 70)
        for (name, count), dtype in some(itertools.product(functions.items(), DTYPES)):
            shape = SHAPES[self.generator.integers(len(SHAPES))]
            compared = self.one(name, [data_of(self.generator, shape, dtype) for _ in range(count)])
            if dtype.startswith("float") and "bit" not in name and "shift" not in name and name not in ("invert", "gcd", "lcm"):
                self.assertTrue(compared, f"{name} {dtype}")

    def test_reductions(self):
        for name, dtype, shape in some(itertools.product(REDUCTIONS, DTYPES, [(5,), (2, 3, 4)])):
            if dtype == "bool" and name in ("ptp", "nanmedian", "median", "std", "var", "nanstd"):
                continue
            data = data_of(self.generator, shape, dtype)
            for axis in (None, 0, -1):
                wanted = getattr(np, name)(data, axis=axis)
                found = getattr(ts, name)(ts.asarray(data), axis=axis)
                self.assertTrue(close(found, wanted, 2e-5), f"{name} {dtype} {shape} {axis}: {found} {wanted}")

    def test_promotion_of_all_pairs(self):
        for a, b in itertools.product(DTYPES, repeat=2):
            found = ts.result_type(a, b)
            self.assertEqual(found, (ts.zeros(2, a) * ts.zeros(2, b)).dtype)
            self.assertEqual(found, ts.result_type(b, a))
            dtypes = ts.dtype(a), ts.dtype(b)
            for given in (dtypes, (dtypes[0], ts.zeros(2, b)), (ts.zeros(2, a), dtypes[1], dtypes[0])):  # without Python in between; names go through it
                self.assertIs(ts.result_type(*given), found)
            for given in (dtypes, (ts.zeros(2, a), dtypes[1])):
                self.assertIs(ts.can_cast(*given), ts.can_cast(a, b))
                self.assertIs(ts.can_cast(*given), found == b)
            floats = [name for name in (a, b) if name.startswith("float")]
            if len(floats) == 1:
                self.assertEqual(found, floats[0])  # an integer that meets a float becomes that float
            elif {"uint64"} & {a, b} and {"int8", "int16", "int32", "int64"} & {a, b}:
                self.assertEqual(found, ts.int64)
            else:
                self.assertEqual(found.name, np.result_type(a, b).name)


class Garbage(unittest.TestCase):
    def test_senseless_arguments_are_exceptions(self):
        generator = random.Random(23)
        things = [None, 0, -1, 7, 0.5, math.nan, "text", "float32", (), [1, 2], [[1.0, 2.0], [3.0, 4.0]], object(), b"abcd", ts.ones((2, 2)), ts.ones(3),
                  ts.zeros((0, 2)), ts.asarray(1), ts.asarray([True, False]), ts.float32, [ts.ones(2)], {}, np.ones((2, 2)), slice(1), ..., (2, 3), (-1, 2)]
        left_out = {"kernel", "capture", "grad", "value_and_grad", "save", "savez", "savetxt", "fromfile", "load", "load_capture", "loadtxt", "genfromtxt", "devices", "synchronize", "vectorize",
                    "set_printoptions", "tri", "eye", "identity", "tril_indices", "triu_indices", "ndindex"}
        expected = (TypeError, ValueError, OverflowError, NotImplementedError, IndexError, MemoryError, BufferError, AttributeError, KeyError, RecursionError, ts.Error)
        right = 0
        for module, name in [(module, name) for module in (ts, ts.linalg) for name in getattr(module, "__all__", vars(module))]:
            function = getattr(module, name)
            if name.startswith("_") or name in left_out or not callable(function) or inspect.isclass(function):
                continue
            for _ in range(12):
                args = [generator.choice(things) for _ in range(generator.randint(0, 4))]
                try:
                    function(*args)
                    right += 1
                except expected:
                    pass
        self.assertGreater(right, 300)


if __name__ == "__main__":
    unittest.main()
