# SPDX-License-Identifier: MIT
"""Operators: those that NumPy has beside NumPy's over dtypes and shapes, and every one with wrong arguments."""
import inspect
import itertools
import math
import random
import unittest

import numpy as np
import tessera as ts
from beside import some

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [(), (1,), (7,), (0,), (3, 5), (2, 1, 4)]
# Where NumPy promotes otherwise (docs/type-promotion.md).
SIGNED = {"int8", "int16", "int32", "int64"}

ONE_REAL = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "arctan", "arcsinh", "cbrt"]
ONE_POSITIVE = ["sqrt", "log", "log2", "log10", "log1p", "reciprocal"]
ONE_UNIT = ["arcsin", "arccos", "arctanh"]
ONE_EXACT = ["abs", "negative", "sign", "square", "floor", "ceil", "trunc", "rint", "positive"]
TWO_EXACT = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
             "logical_and", "logical_or", "logical_xor"]
TWO_WHOLE = ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"]
TWO_REAL = ["arctan2", "hypot", "logaddexp", "copysign", "divide", "fmin", "fmax"]
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


def values(generator, shape, dtype, low=-4, high=4):
    count = int(np.prod(shape))
    if dtype in FLOATS:
        return np.array([generator.uniform(low, high) for _ in range(count)], dtype).reshape(shape)
    least = 0 if dtype.startswith("u") or dtype == "bool" else low
    return np.array([generator.randint(least, 1 if dtype == "bool" else high) for _ in range(count)], dtype).reshape(shape)


class BesideNumPy(unittest.TestCase):
    def setUp(self):
        self.generator = random.Random(3)

    def compare(self, name, arrays, tolerance):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(*arrays)
        found = getattr(ts, name)(*(ts.asarray(array) for array in arrays))
        self.assertEqual(found.shape, wanted.shape, name)
        np.testing.assert_allclose(np.asarray(found).astype(wanted.dtype), wanted, rtol=tolerance, atol=tolerance,
                                   err_msg=f"{name} {[a.dtype for a in arrays]}")
        return found, wanted

    def test_functions_of_one_real_number(self):
        for names, low, high in ((ONE_REAL, -4, 4), (ONE_POSITIVE, 0.1, 4), (ONE_UNIT, -0.9, 0.9)):
            for name, dtype in some(itertools.product(names, FLOATS)):
                shape = self.generator.choice(SHAPES)
                found, _ = self.compare(name, [values(self.generator, shape, dtype, low, high)], TOLERANCE[dtype] * 4)
                self.assertEqual(found.dtype, dtype)

    def test_exact_functions_of_one_number(self):
        for name, dtype in some(itertools.product(ONE_EXACT, FLOATS + INTEGERS)):
            shape = self.generator.choice(SHAPES)
            if name == "rint" and dtype in INTEGERS:
                continue  # NumPy gives floats
            found, _ = self.compare(name, [values(self.generator, shape, dtype)], 1e-3 if dtype == "float16" else 1e-7)
            self.assertEqual(found.dtype, dtype)

    def test_functions_of_two(self):
        pairs = [((3, 5), (5,)), ((2, 1, 4), (3, 1)), ((), (4,)), ((0,), (1,))]
        for names, dtypes in ((TWO_EXACT, FLOATS + INTEGERS), (TWO_WHOLE, INTEGERS), (TWO_REAL, FLOATS)):
            for name, dtype in some(itertools.product(names, dtypes)):
                first, second = self.generator.choice(pairs)
                tolerance = TOLERANCE[dtype] * 4 if names is TWO_REAL else 0
                self.compare(name, [values(self.generator, first, dtype), values(self.generator, second, dtype)], tolerance)

    def test_integers_promote_as_in_numpy(self):
        for a, b in some(itertools.product(["bool"] + INTEGERS, repeat=2)):
            found, wanted = self.compare("add", [values(self.generator, (4,), a), values(self.generator, (4,), b)], 0)
            if "uint64" in (a, b) and SIGNED & {a, b}:
                self.assertEqual(found.dtype, ts.int64)
            else:
                self.assertEqual(found.dtype.name, wanted.dtype.name)
            self.assertEqual(ts.result_type(ts.asarray(values(self.generator, (2,), a)), b), found.dtype)

    def test_python_numbers_take_the_arrays_dtype(self):
        for dtype, number, result in [("int8", 3, "int8"), ("uint64", 3, "uint64"), ("float16", 2, "float16"), ("float64", 0.5, "float64"),
                                      ("int32", 0.5, "float32"), ("bool", 2, "int64"), ("bool", 0.5, "float32"), ("bool", True, "bool"),
                                      ("int16", True, "int16")]:
            x = ts.asarray([1, 0], dtype)
            for made in (x + number, number + x, x * number, ts.add(x, number), ts.maximum(number, x)):
                self.assertEqual(made.dtype, result, (dtype, number))
            self.assertEqual((x + number).tolist(), [1 + number if not (dtype == "bool" and number is True) else True, 0 + number])
            self.assertEqual(ts.result_type(x, number), result)

    def test_few_elements_are_computed_as_by_a_kernel(self):
        """The host's own way for few elements beside the recorded one, which gradients and larger arrays take."""
        shapes = [((4,), (4,)), ((3, 4), (4,)), ((3, 1), (1, 5)), ((2, 3), ()), ((1,), (2, 2, 2)), ((8, 4), (8, 4)), ((1, 1), (6,))]
        for dtype, (first, second) in itertools.product(["float32", "float64", "int64"], shapes):
            a, b = values(self.generator, first, dtype), values(self.generator, second, dtype)
            for name in ("add", "subtract", "multiply", "divide", "less", "less_equal", "equal", "not_equal", "greater", "greater_equal"):
                found = getattr(ts, name)(ts.asarray(a), ts.asarray(b))
                wide = getattr(ts, name)(ts.asarray(np.stack([a] * 40)), ts.asarray(np.stack([b.reshape((1,) * (a.ndim - b.ndim) + b.shape)] * 40)))\
                    if a.ndim >= b.ndim else None
                with np.errstate(all="ignore"):
                    wanted = getattr(np, name)(a, b)
                self.assertEqual(found.shape, wanted.shape, (name, first, second))
                if wide is not None:
                    np.testing.assert_array_equal(np.asarray(found), np.asarray(wide[7]), err_msg=f"{name} {dtype} {first} {second}")
                    self.assertEqual(found.dtype, wide.dtype)
                np.testing.assert_allclose(np.asarray(found).astype(wanted.dtype), wanted, rtol=1e-6)
        x = ts.asarray([1.0, float("nan"), 3.0])
        self.assertTrue(np.isnan(float(x.max())) and np.isnan(float(x.min())))
        self.assertEqual([x[::2].sum().item(), x[::2].mean().item(), ts.asarray([3, -5]).min().item(), ts.asarray([2**62] * 2).sum().item()], [4, 2, -5, -2**63])
        self.assertEqual([bool(ts.asarray([False, True]).any()), bool(ts.asarray([False, True]).all())], [True, False])
        with self.assertRaises(ValueError):
            ts.ones(3) + ts.ones(4)

    def test_operators_with_numbers_agree_with_python(self):
        data = np.arange(-3, 4)
        x = ts.asarray(data)
        for c in (2, -3, 5):
            for found, wanted in [(x - c, data - c), (c - x, c - data), (x // c, data // c), (x % c, data % c), (x**2, data**2), (c**abs(x), c**abs(data)),
                                  (x < c, data < c), (c < x, c < data), (c >= x, c >= data), (x << 2, data << 2), (x >> 1, data >> 1), (x & c, data & c),
                                  (-x, -data), (~x, ~data), (abs(x), abs(data)), (c == x, c == data), (x / c, (data / c).astype("float32"))]:
                np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)

    def test_comparisons_with_numbers_that_the_dtype_does_not_hold(self):
        x = ts.asarray([0, 255], ts.uint8)
        self.assertEqual((x < 300).tolist(), [True, True])
        self.assertEqual((x == -1).tolist(), [False, False])
        large = ts.asarray([2**24 + 1, 2**53 + 1])
        self.assertEqual((large > 2**24 + 0.5).tolist(), [True, True])
        self.assertEqual((large == 2**53 + 1).tolist(), [False, True])


class EveryOperator(unittest.TestCase):
    def test_all_have_a_signature_and_a_sentence(self):
        self.assertGreater(len(ts.ops.__all__), 280)
        for name in ts.ops.__all__:
            function = getattr(ts.ops, name)
            inspect.signature(function)
            self.assertGreater(len(function.__doc__), 3, name)

    def test_wrong_arguments_are_exceptions(self):
        generator = random.Random(17)
        things = [None, 0, -1, 3, 10**30, 0.5, math.nan, "q8_0", "text", (), [1, 2], [[1.0, 2.0], [3.0, 4.0]], object(), b"abcd", ts.ones((2, 2)),
                  ts.ones(3), ts.zeros((0, 2)), ts.asarray(1), ts.asarray([True, False]), ts.float32, ts.device("cpu"), [ts.ones(2)], {}, np.ones((2, 2), "float16")]
        right = 0
        for name in ts.ops.__all__:
            function = getattr(ts.ops, name)
            names = list(inspect.signature(function).parameters)
            for _ in range(8):
                args = [generator.choice(things) for _ in range(generator.randint(0, min(len(names) + 1, 6)))]
                options = {generator.choice(names + ["unknown"]): generator.choice(things)} if generator.random() < 0.3 else {}
                try:
                    function(*args, **options)
                    right += 1
                except (TypeError, ValueError, OverflowError, NotImplementedError, IndexError, MemoryError, BufferError, ts.Error):
                    pass
        self.assertGreater(right, 30)

    def test_options_are_keywords(self):
        x = ts.ones((1, 1, 4, 4))
        self.assertEqual(ts.ops.conv(x, ts.ones((1, 1, 3, 3)), before=1, after=1, stride=[2, 2]).tolist(), [[[[4, 6], [6, 9]]]])
        self.assertEqual(ts.ops.mse_loss(x, x * 3, reduction="sum").item(), 64)
        self.assertEqual(ts.ops.linear(ts.ones((1, 2)), -ts.ones((1, 2)), activation="relu").tolist(), [[0]])
        with self.assertRaisesRegex(ValueError, "reduction cannot be 'all'; it is one of mean, sum, none, batch_mean"):
            ts.ops.mse_loss(x, x, reduction="all")
        with self.assertRaisesRegex(TypeError, "no parameter 'strides'; there are x, weight, bias, stride, dilation, "):
            ts.ops.conv(x, x, strides=1)

    def test_padding_stands_for_before_and_after(self):
        generator = np.random.default_rng(3)
        x, w = ts.asarray(generator.normal(size=(2, 2, 7, 6)).astype("float32")), ts.asarray(generator.normal(size=(2, 2, 3, 3)).astype("float32"))
        u8 = ts.asarray(generator.integers(0, 9, (1, 2, 7, 6)).astype("uint8"))
        calls = [lambda **padding: ts.nn.conv(x, w, stride=2, **padding), lambda **padding: ts.nn.conv_transpose(x, w, **padding),
                 lambda **padding: ts.nn.max_pool(x, size=3, **padding), lambda **padding: ts.nn.avg_pool(x, size=3, stride=1, counts_padding=True, **padding),
                 lambda **padding: ts.nn.lp_pool(x, size=3, **padding), lambda **padding: ts.ops.argmax_pool(x, size=3, **padding),
                 lambda **padding: ts.ops.im2col(x, (3, 3), **padding), lambda **padding: ts.ops.conv_integer(u8, u8[:, :, :3, :3], **padding)]
        for number, call in enumerate(calls):
            for padding, before in [(1, 1), ((1, 0), (1, 0)), ([1], (1, 1)), (np.array([0, 1]), (0, 1)), ("valid", 0), (None, 0), (0, 0)]:
                with self.subTest(call=number, padding=padding):
                    wanted = call(before=before, after=before)
                    self.assertEqual((call(padding=padding).shape, call(padding=padding).tolist()), (wanted.shape, wanted.tolist()))

    def test_padding_takes_the_words_of_the_description(self):
        x, w = ts.ones((1, 1, 4)), ts.ones((1, 1, 2))
        self.assertEqual(ts.nn.conv(x, w, padding="same").tolist(), [[[2, 2, 2, 1]]])
        self.assertEqual(ts.nn.conv(x, w, padding="same_before").tolist(), [[[1, 2, 2, 2]]])
        self.assertEqual(ts.nn.conv(x, w, padding="valid").shape, (1, 1, 3))
        with self.assertRaisesRegex(ValueError, "conv: padding cannot be 'full'; it is a number, a number for each axis, or one of valid, same, same_before$"):
            ts.nn.conv(x, w, padding="full")
        with self.assertRaisesRegex(ValueError, "max_pool: padding cannot be 'same'; it is a number, a number for each axis, or one of valid$"):
            ts.nn.max_pool(x, size=2, padding="same")
        with self.assertRaisesRegex(ValueError, "conv_transpose: has no padding that is worked out"):
            ts.nn.conv_transpose(x, w, padding="same")
        with self.assertRaisesRegex(ValueError, "padding has at most 3 numbers"):
            ts.nn.conv(x, w, padding=(1, 1, 1, 1))
        with self.assertRaises(TypeError):
            ts.nn.conv(x, w, padding=0.5)

    def test_padding_beside_before_or_after_is_refused(self):
        x, w = ts.ones((1, 1, 4)), ts.ones((1, 1, 2))
        for options in ({"before": 1}, {"after": 0}, {"before": 1, "after": 1}):
            for padding in (1, "same", "valid"):
                with self.assertRaisesRegex(TypeError, "conv: padding stands for before and after; give either"):
                    ts.nn.conv(x, w, padding=padding, **options)
        self.assertEqual(ts.nn.conv(x, w, padding=None, before=1).shape, (1, 1, 4))

    def test_every_operator_with_before_and_after_takes_padding(self):
        options = {name: set(inspect.signature(getattr(ts.ops, name)).parameters) for name in ts.ops.__all__}
        with_both = {name for name, given in options.items() if {"before", "after"} <= given} - {"pad"}  # which is that padding itself
        self.assertLessEqual({"conv", "conv_transpose", "max_pool", "avg_pool", "lp_pool"}, with_both)
        self.assertEqual([name for name in sorted(with_both) if "padding" not in options[name]], [])

    def test_activations_have_the_usual_defaults(self):
        x = ts.asarray([-1.0, 2.0])
        self.assertEqual(ts.nn.leaky_relu(x).tolist(), ts.nn.leaky_relu(x, 0.01).tolist())
        self.assertEqual(ts.nn.elu(x).tolist(), ts.nn.elu(x, 1.0).tolist())

    def test_several_results(self):
        values, indices = ts.ops.topk(ts.asarray([3, 1, 2]), 2, 0, True)
        self.assertEqual((values.tolist(), indices.tolist()), ([3, 2], [0, 2]))
        parts = ts.ops.split(ts.arange(5), [2, 3], 0)
        self.assertEqual([part.tolist() for part in parts], [[0, 1], [2, 3, 4]])
        target = ts.zeros((2, 2))
        self.assertIsNone(ts.ops.matmul_into(target, ts.eye(2), ts.ones((2, 2))))
        self.assertEqual(target.tolist(), [[1, 1], [1, 1]])


if __name__ == "__main__":
    unittest.main()
