# SPDX-License-Identifier: MIT
"""The namespace of the array API, 2023.12: all its names, and its functions beside NumPy's."""
import math
import unittest

import numpy as np
import tessera as ts

NAMES = """
e inf nan newaxis pi __array_api_version__ __array_namespace_info__
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip copysign cos
cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp
logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal positive pow remainder round sign signbit sin sinh square
sqrt subtract tan tanh trunc
take matmul matrix_transpose tensordot vecdot concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_sum max mean min prod std sum var all any
""".split()
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals
tensordot trace vecdot vector_norm""".split()


def check(found, wanted, tolerance=0.0, message=""):
    found = np.asarray(found)
    assert found.shape == np.shape(wanted), f"{message}: {found.shape} {np.shape(wanted)}"
    np.testing.assert_allclose(found.astype(np.asarray(wanted).dtype), wanted, rtol=tolerance, atol=tolerance, err_msg=message)


class Namespace(unittest.TestCase):
    def test_every_name_is_there(self):
        self.assertEqual([name for name in NAMES if not hasattr(ts, name)], [])
        self.assertEqual([name for name in LINALG if not hasattr(ts.linalg, name)], [])
        self.assertIs(ts.zeros(1).__array_namespace__(api_version="2023.12"), ts)
        with self.assertRaises(ValueError):
            ts.zeros(1).__array_namespace__(api_version="1999.1")

    def test_info(self):
        info = ts.__array_namespace_info__()
        self.assertEqual(info.default_dtypes()["integral"], ts.asarray([1]).dtype)
        self.assertEqual(info.default_dtypes()["real floating"], ts.asarray([1.0]).dtype)
        self.assertEqual(info.default_dtypes()["indexing"], ts.argmax(ts.zeros(3)).dtype)
        self.assertIn("cpu:0", info.devices())
        self.assertEqual(set(info.dtypes(kind="signed integer")), {"int8", "int16", "int32", "int64"})
        self.assertIn("cpu:0", repr(ts.devices()))
        self.assertIn("<table>", ts.devices()._repr_html_())


class Dtypes(unittest.TestCase):
    def test_limits_are_numpys(self):
        for name in ("float16", "float32", "float64"):
            found, wanted = ts.finfo(name), np.finfo(name)
            self.assertEqual((found.bits, found.eps, found.max, found.min, found.smallest_normal),
                             (wanted.bits, wanted.eps, wanted.max, wanted.min, wanted.smallest_normal))
        for name in ("int8", "uint8", "int64", "uint64"):
            self.assertEqual((ts.iinfo(name).min, ts.iinfo(name).max), (np.iinfo(name).min, np.iinfo(name).max))
        with self.assertRaises(TypeError):
            ts.finfo(ts.int8)

    def test_casts_and_kinds(self):
        self.assertTrue(ts.can_cast(ts.int8, ts.int16) and not ts.can_cast(ts.float64, ts.float32))
        self.assertTrue(ts.isdtype(ts.uint8, "integral") and ts.isdtype(ts.float32, ("bool", ts.float32)))
        self.assertFalse(ts.isdtype(ts.bool, "numeric"))
        self.assertEqual(ts.result_type(ts.int8, ts.uint8), ts.int16)
        self.assertEqual([ts.dtype(item) for item in ("f32", np.float64, np.dtype("int8"), bool, int, float)],
                         [ts.float32, ts.float64, ts.int8, ts.bool, ts.int64, ts.float32])
        self.assertEqual(ts.float32, np.float32)
        self.assertNotEqual(ts.float32, "int8")
        with self.assertRaises(TypeError):
            ts.dtype("complex64")

    def test_shapes_broadcast(self):
        for shapes in ((), ((),), ((2, 3),), ((2, 3), (3,)), ((4, 1), (1, 5)), ((0, 3), (1, 1)), ((), (2, 1), (7, 1, 3)), (3, (2, 1)), ([2, 1], np.int64([3]))):
            self.assertEqual(ts.broadcast_shapes(*shapes), np.broadcast_shapes(*shapes))
        self.assertEqual(ts.broadcast_shapes(ts.asarray([4, 1]), (3,)), (4, 3))
        self.assertTrue(all(type(size) is int for size in ts.broadcast_shapes(ts.asarray([4, 1]), (3,))))
        for shapes in (((2,), (3,)), ((2, 3), (3, 2)), ((0,), (2,))):
            self.assertRaises(ValueError, ts.broadcast_shapes, *shapes)
        self.assertRaises(TypeError, ts.broadcast_shapes, (1.5,))


class Functions(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(2)
        self.real = random.standard_normal((3, 4, 5)).astype("float32")
        self.whole = random.integers(-9, 9, (3, 4, 5)).astype("int32")

    def test_statistics(self):
        for name in ("sum", "mean", "max", "min", "std", "var", "prod", "argmax", "argmin", "any", "all"):
            for axis in (None, 0, -1) + (() if name.startswith("arg") else ((0, 2),)):
                for keep in (False, True):
                    for data in (self.real, self.whole):
                        with np.errstate(over="ignore"):
                            wanted = getattr(np, name)(data, axis=axis, keepdims=keep)
                        check(getattr(ts, name)(ts.asarray(data), axis=axis, keepdims=keep), wanted, 2e-5, f"{name} {axis}")
        x = ts.asarray(self.whole)
        self.assertEqual((x.sum().dtype, ts.sum(ts.asarray([1], "uint8")).dtype, x.sum(dtype="float64").dtype), (ts.int64, ts.uint64, ts.float64))
        check(ts.var(ts.asarray(self.real), correction=1), np.var(self.real, ddof=1), 1e-5)
        check(ts.cumulative_sum(x, axis=1), np.cumsum(self.whole, 1))
        check(ts.cumulative_sum(ts.arange(4), include_initial=True), [0, 0, 1, 3, 6])
        check(x.cumsum(), np.cumsum(self.whole))
        check(ts.median(ts.asarray(self.real)), np.median(self.real), 1e-6)
        check(ts.diff(x, axis=0), np.diff(self.whole, axis=0))
        for function in (ts.max, ts.min):
            with self.assertRaises(ValueError):
                function(ts.zeros((0, 3)), axis=0)

    def test_manipulation(self):
        x, data = ts.asarray(self.whole), self.whole
        for found, wanted in [
            (ts.reshape(x, (5, -1)), data.reshape(5, -1)), (x.reshape(4, 15), data.reshape(4, 15)), (ts.permute_dims(x, (2, 0, 1)), data.transpose(2, 0, 1)),
            (x.T, data.T), (x.mT, np.swapaxes(data, 1, 2)), (ts.moveaxis(x, 0, -1), np.moveaxis(data, 0, -1)),
            (ts.moveaxis(x, (0, 1), (2, 0)), np.moveaxis(data, (0, 1), (2, 0))), (ts.expand_dims(x, axis=(0, -1)), np.expand_dims(data, (0, -1))),
            (ts.squeeze(x[:1], axis=0), data[0]), (ts.flip(x), np.flip(data)), (ts.flip(x, axis=1), np.flip(data, 1)),
            (ts.roll(x, 3), np.roll(data, 3)), (ts.roll(x, (1, -2), axis=(0, 2)), np.roll(data, (1, -2), (0, 2))), (ts.repeat(x, 2, axis=1), np.repeat(data, 2, 1)),
            (ts.repeat(x, ts.asarray([1, 0, 2]), axis=0), np.repeat(data, [1, 0, 2], 0)), (ts.tile(x, (2, 1, 1, 3)), np.tile(data, (2, 1, 1, 3))),
            (ts.concat([x, x], axis=1), np.concatenate([data, data], 1)), (ts.concat([x, x[0]], axis=None), np.concatenate([data, data[0]], None)),
            (ts.stack([x, x], axis=-1), np.stack([data, data], -1)), (ts.vstack([x[0], x[1]]), np.vstack([data[0], data[1]])),
            (ts.hstack([x[0], x[1]]), np.hstack([data[0], data[1]])), (ts.unstack(x, axis=1)[2], data[:, 2]), (ts.split(x, [1], 1)[1], data[:, 1:]),
            (ts.broadcast_to(x[0], (2, 4, 5)), np.broadcast_to(data[0], (2, 4, 5))), (ts.broadcast_arrays(x, x[0, 0])[1], np.broadcast_to(data[0, 0], data.shape)),
            (ts.tril(x, k=1), np.tril(data, 1)), (ts.meshgrid(ts.arange(2), ts.arange(3))[0], np.meshgrid(np.arange(2), np.arange(3))[0]),
            (ts.column_stack([ts.arange(2), ts.arange(2)]), np.column_stack([np.arange(2), np.arange(2)])),
        ]:
            check(found, wanted)
        with self.assertRaises(ValueError):
            ts.reshape(x.T, (-1,), copy=False)
        with self.assertRaises(IndexError):
            ts.moveaxis(x, 3, 0)

    def test_searching_sorting_and_sets(self):
        x, data = ts.asarray(self.whole), self.whole
        check(ts.sort(x, axis=0), np.sort(data, 0))
        check(ts.sort(x, descending=True), -np.sort(-data, -1))
        check(ts.argsort(x), np.argsort(data, kind="stable"))
        check(ts.where(x > 0, x, 0), np.where(data > 0, data, 0))
        check(ts.where(x > 0, 1.5, x), np.where(data > 0, 1.5, data))
        for found, wanted in zip(ts.nonzero(x), np.nonzero(data)):
            check(found, wanted)
        check(ts.count_nonzero(x, axis=1), np.count_nonzero(data, axis=1))
        check(ts.searchsorted(ts.arange(5), ts.asarray([0, 3, 9]), side="right"), np.searchsorted(np.arange(5), [0, 3, 9], side="right"))
        values, first, inverse, counts = np.unique(data, return_index=True, return_inverse=True, return_counts=True)
        for found, wanted in zip(ts.unique_all(x), (values, first, inverse.reshape(data.shape), counts)):
            check(found, wanted)
        check(ts.unique_values(x), values)
        check(ts.take(x, ts.asarray([2, 0]), axis=1), np.take(data, [2, 0], 1))
        order = np.argsort(data, 1)
        check(ts.take_along_axis(x, ts.asarray(order), axis=1), np.take_along_axis(data, order, 1))
        check(ts.clip(x, -2, 3), np.clip(data, -2, 3))
        self.assertTrue(ts.allclose(x, x) and ts.array_equal(x, x) and not ts.array_equal(x, x[0]))

    def test_linear_algebra(self):
        a, b = self.real[0], self.real[1]
        x, y = ts.asarray(a), ts.asarray(b)
        square = (a[:, :4] + 4 * np.eye(4)).astype("float32")
        s = ts.asarray(square)
        symmetric = square @ square.T
        for found, wanted in [
            (x @ y.T, a @ b.T), (ts.matmul(x, y[0]), a @ b[0]), (ts.matmul(x[:, 0], y), a[:, 0] @ b), (ts.asarray(self.real) @ y.T, self.real @ b.T),
            (ts.vecdot(x, y), (a * b).sum(-1)), (ts.tensordot(x, y, axes=2), np.tensordot(a, b, 2)), (ts.tensordot(x, y, axes=((0,), (0,))), np.tensordot(a, b, ((0,), (0,)))),
            (ts.linalg.inv(s), np.linalg.inv(square)), (ts.linalg.det(s), np.linalg.det(square)), (ts.linalg.solve(s, x), np.linalg.solve(square, a)),
            (ts.linalg.cholesky(ts.asarray(symmetric)), np.linalg.cholesky(symmetric)), (ts.linalg.svdvals(x), np.linalg.svd(a, compute_uv=False)),
            (ts.linalg.eigvalsh(ts.asarray(symmetric)), np.linalg.eigvalsh(symmetric)), (ts.linalg.matrix_norm(x), np.linalg.norm(a)),
            (ts.linalg.matrix_norm(x, ord="nuc"), np.linalg.norm(a, "nuc")), (ts.linalg.vector_norm(x, axis=1, ord=1), np.linalg.norm(a, 1, 1)),
            (ts.linalg.norm(x, math.inf), np.linalg.norm(a, math.inf)), (ts.linalg.trace(s), np.trace(square)), (ts.linalg.outer(x[0], y[0]), np.outer(a[0], b[0])),
            (ts.linalg.cross(x[:, :3], y[:, :3]), np.cross(a[:, :3], b[:, :3])), (ts.linalg.pinv(x), np.linalg.pinv(a)), (ts.dot(x[0], y[0]), np.dot(a[0], b[0])),
            (ts.linalg.matrix_power(s, 3), np.linalg.matrix_power(square, 3)), (ts.einsum("ij,kj->ik", x, y), a @ b.T),
        ]:
            check(found, wanted, 3e-4)
        q, r = ts.linalg.qr(x)
        check(q @ r, a, 1e-5)
        u, values, vh = ts.linalg.svd(x, full_matrices=False)
        check((u * values) @ vh, a, 1e-5)
        self.assertEqual(ts.linalg.matrix_rank(s).item(), 4)


if __name__ == "__main__":
    unittest.main()
