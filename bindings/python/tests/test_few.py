# SPDX-License-Identifier: MIT
"""Operators of few elements, which the host computes at once: their results have the bits that kernels give."""
import unittest

import numpy as np
import tessera as ts

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 1e-40, -1e-40, 1e38, -1e38, 3.4e38, np.inf, -np.inf, np.nan, 1e-7, 123456.78, 7.0, -7.0,
          0.1, -0.1, 1e10, 2.0 ** 31, -2.0 ** 33, 1e-45, 100.0, 104.5]
WHOLES = [0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 63, 64, 65, -64, 2 ** 31, -2 ** 31, 2 ** 62, -2 ** 63, 2 ** 63 - 1, 12, 18, 100, -100, 5, -5, 2 ** 40, -9, 9, 8, 16, 31]
OPERANDS = [np.array(FLOATS, "float32"), np.array(FLOATS, "float64"), np.array(WHOLES), np.array([True, False, True, True, False])]
FUNCTIONS = sorted({function.__name__: function for function in vars(ts).values() if isinstance(function, ts.ufunc)}.items())


def same_bits(a, b):
    """The same numbers, -0 apart from 0; a NaN is any NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    is_nan = np.isnan(a)
    return np.array_equal(is_nan, np.isnan(b)) and np.array_equal(np.signbit(a[~is_nan]), np.signbit(b[~is_nan])) and np.array_equal(a[~is_nan], b[~is_nan])


class Few(unittest.TestCase):
    def check(self, function, *inputs):
        """Few elements beside the same ones among many, which a kernel computes."""
        count = len(inputs[0])
        try:
            many = np.asarray(function(*[ts.asarray(np.tile(x, 64)) for x in inputs]))
        except TypeError:
            with self.assertRaises(TypeError):
                function(*[ts.asarray(x) for x in inputs])
            return
        few = np.asarray(function(*[ts.asarray(x) for x in inputs]))
        self.assertTrue(same_bits(few, many[:count]), (function.__name__, inputs, few, many[:count]))

    def test_functions_of_one_array(self):
        with ts.device("cpu"):
            for name, function in FUNCTIONS:
                for x in OPERANDS if function.nin == 1 else []:
                    self.check(function, x)

    def test_functions_of_two_arrays(self):
        with ts.device("cpu"):
            for name, function in FUNCTIONS:
                for x in OPERANDS if function.nin == 2 else []:
                    for k in range(len(x)):
                        self.check(function, x, np.roll(x, k))

    def test_numbers_and_broadcasting(self):
        with ts.device("cpu"):
            x = np.linspace(-2, 3, 24, dtype="float32").reshape(2, 3, 4)
            for other in (1.5, -2, np.float32([[[0.5]], [[2]]]), np.float32([1, -2, 0.5, 3]), np.float32(2)):
                ours = ts.asarray(other) if isinstance(other, np.ndarray) else other
                for found, wanted in ((ts.asarray(x) % ours, x % other), (ts.maximum(ts.asarray(x), ours), np.maximum(x, other)), (ts.asarray(x) ** 2, x ** 2),
                                      (-ts.asarray(x), -x), (ts.asarray(x) // ours, x // other), (ts.arctan2(ours, ts.asarray(x)), np.arctan2(np.float32(other), x))):
                    self.assertEqual(found.shape, wanted.shape)
                    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-6, atol=1e-6)

    def test_they_are_recorded_where_gradients_are(self):
        with ts.device("cpu"):
            x = ts.asarray([0.5, 1.0, 2.0])
            np.testing.assert_allclose(np.asarray(ts.grad(lambda x: ts.sum(ts.exp(-x) * ts.sqrt(x)))(x)),
                                       np.exp(-np.asarray(x)) * (0.5 / np.sqrt(np.asarray(x)) - np.sqrt(np.asarray(x))), rtol=1e-5)
            step = ts.capture(lambda x: ts.maximum(ts.sin(x), 0.5))
            for scale in (1, 2, 3):
                np.testing.assert_allclose(np.asarray(step(x * scale)), np.maximum(np.sin(np.asarray(x) * scale), 0.5), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
