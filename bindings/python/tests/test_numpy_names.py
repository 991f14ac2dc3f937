# SPDX-License-Identifier: MIT
"""NumPy's other functions, its files, print options and random numbers."""
import unittest

import numpy as np
import tessera as ts
import beside  # noqa: F401

# Expressions that give the same with NumPy as `np` and with Tessera; a and b are matrices of floats, i of integers.
SAME = """
np.add.reduce(a, axis=1) | np.multiply.outer(i[0], i[1]) | np.maximum.accumulate(a, axis=1) | np.subtract.reduce(i, axis=0) | np.logical_and.reduce(i > 0, axis=1)
np.add.reduceat(i, [0, 2], axis=1) | np.minimum.accumulate(i) | np.power.outer(a[0], 2) | np.add(a, b, where=a > 0, out=np.zeros((3, 4))) | np.hypot(a, b, dtype=np.float64)
np.nansum(n, axis=0) | np.nanmean(n, axis=1) | np.nanstd(n) | np.nanvar(n, axis=0, ddof=1) | np.nanmax(n, axis=1) | np.nanmin(n) | np.nanmedian(n, axis=1) | np.nanpercentile(n, 30)
np.nanargmax(n, axis=1) | np.nancumsum(n) | np.nanprod(n) | np.nanquantile(n, [0.2, 0.7]) | np.nan_to_num(n, nan=-1.0)
np.cov(a) | np.cov(a, rowvar=False, bias=True) | np.cov(a[0], b[0]) | np.cov(a, aweights=[1.0, 2, 3, 4]) | np.cov(a, fweights=[1, 2, 1, 3]) | np.corrcoef(a) | np.median(i, axis=(0, 1))
np.average(a, axis=0, weights=[1.0, 2, 3]) | np.sum(a, where=a > 0) | np.max(a, initial=9) | np.max(a, where=a > 0, initial=-5, axis=0) | np.mean(a, where=a > 0, axis=0) | np.any(i > 3, axis=0, where=i < 5)
np.diff(i, prepend=0) | np.diff(i, append=[[1], [2], [3]]) | np.ediff1d(i) | np.cumsum(i, axis=1, dtype=float) | np.ptp(a, axis=1, keepdims=True)
np.mgrid[0:2, 1:7:2] | np.mgrid[0:1:5j] | np.ogrid[0:2, 0:3][1] | np.r_[1:4, 0, [7, 8]] | np.c_[i[0], i[1]] | a[np.ix_([0, 2], [1, 3])] | np.indices((2, 3)) | np.tri(3, 4, 1)
np.unravel_index([5, 7], (3, 4))[0] | np.ravel_multi_index(([0, 1], [2, 3]), (3, 4)) | np.array(list(np.ndindex(2, 2))) | np.array([v for _, v in np.ndenumerate(i)])
np.tril_indices(3)[1] | np.triu_indices(3, 1)[0] | np.array(np.diag_indices(3)) | np.fromfunction(lambda x, y: x * y, (2, 3)) | np.flatnonzero(i > 2)
np.isin(i, [1, 5]) | np.union1d(i, [99]) | np.intersect1d(i, [1, 2, 50]) | np.setdiff1d(i, [1, 2]) | np.setxor1d([1, 2, 3], [3, 4]) | np.lexsort((i[0], i[1])) | np.digitize(a, [-1.0, 0, 1]) | np.digitize(a, [1.0, 0, -1])
np.partition(i, 2, axis=1)[:, 2] | np.extract(i > 2, i) | np.compress([True, False, True], i, axis=0) | np.choose([0, 1, 0, 1], [i[0], i[1]]) | np.select([i > 4, i > 2], [i, -i], 9) | np.piecewise(a, [a < 0], [0.0, lambda x: x * 2])
np.convolve(a[0], [1.0, 2, 3]) | np.convolve(i[0], i[1], "same") | np.convolve(a[0], [1.0, 2, 3], "valid") | np.convolve([1.0, 2], a[0], "same") | np.correlate(a[0], b[0], "full") | np.correlate(a[0], [1.0, 2], "same")
np.pad(i, 1) | np.pad(i, ((1, 2), (0, 3)), mode="edge") | np.pad(i, (2, 1), mode="reflect") | np.pad(i, 2, mode="symmetric") | np.pad(i, ((0, 0), (5, 5)), mode="wrap") | np.pad(a, 1, constant_values=7)
np.gradient(a[0]) | np.gradient(a, axis=1) | np.gradient(a)[0] | np.gradient(a[0], [0.0, 1, 3, 4]) | np.gradient(a[0], 0.5) | np.trapz(a, dx=0.5, axis=0) | np.interp([-9.0, 0.5, 9], [0.0, 1], [2.0, 4], left=-1, right=5)
np.polyval([1.0, -2, 3], a) | np.polyfit([0.0, 1, 2, 3], a[0], 2) | np.polyder([1.0, 2, 3]) | np.polyint([3.0, 2]) | np.polymul([1.0, 2], [3.0, 4]) | np.vander([1, 2, 3]) | np.vander([1, 2, 3], 2, increasing=True)
np.unwrap([0.0, 3, 6.5, 1]) | np.hanning(7) | np.hamming(6) | np.blackman(8) | np.bartlett(5) | np.sinc(a) | np.heaviside(a, 0.5) | np.deg2rad(a) | np.rad2deg(a) | np.logaddexp2(a, b) | np.divmod(i, 3)[0] | np.modf(a)[0] | np.float_power(i, 2)
np.insert(i, 1, 9, axis=1) | np.insert(i[0], [1, 3], [8, 9]) | np.insert(i, 1, [7, 8, 9, 6], axis=0) | np.delete(i, [0, 2], axis=1) | np.delete(i, slice(1, 3)) | np.append(i, i[:1], axis=0) | np.resize(i, (2, 7)) | np.block([[i, i], [i, i]]) | np.trim_zeros([0, 1, 0, 2, 0])
np.array_split(i, 3, axis=1)[0] | np.hsplit(i, 2)[1] | np.vsplit(i, 3)[1] | np.dstack([i, i]) | np.row_stack([i, i]) | np.rot90(i, 3) | np.rollaxis(np.zeros((2, 3, 4)), 2).shape | np.atleast_3d(i[0]).shape | np.diagflat([1, 2]) | np.diagonal(i, 1) | np.unique([[1, 2], [0, 5], [1, 2]], axis=0)
np.apply_along_axis(lambda r: r.max() - r.min(), 1, i) | np.apply_along_axis(lambda r: r * 2, 0, i) | np.vectorize(lambda x, y: x + y)(i, 1) | np.histogram(a, bins=[-9, 0, 1, 9])[0] | np.histogram(a, 4, (-3, 3), density=True)[0] | np.histogram(a, 3, weights=b * b)[0]
np.histogram2d(a[0], b[0], bins=3, range=[[-3, 3], [-3, 3]])[0] | np.bincount(i[0], weights=a[0], minlength=9) | np.lib.stride_tricks.sliding_window_view(i, (2, 2)).sum((2, 3)) | np.linalg.lstsq(a.T, b.T, rcond=None)[0] | np.linalg.cond(a) | np.linalg.multi_dot([a, b.T, a])
np.inner(a, b) | np.vdot(a, b) | np.kron(i, [1, 2]) | np.linalg.svd(a, compute_uv=False) | a.reshape(4, 3, order="F") | a.ravel(order="F") | a.flatten("F") | np.concatenate([i, i], dtype=float) | np.geomspace(1, 8, 4) | np.logspace(0, 2, 3) | np.array([1, 2], ndmin=2)
np.frombuffer(b"abcdefgh", np.uint8) | np.frombuffer(b"abcdefgh", np.int16, count=2, offset=2) | np.fromiter((x * x for x in range(4)), int) | np.fromstring("1 2 3.5", sep=" ") | np.around(a, 1) | np.isneginf([-np.inf, 1.0]) | np.linspace(0, 1, 4, endpoint=False) | np.count_nonzero(i > 2, axis=1)
a.clip(-1, 1) | a.take([0, 5]) | a.trace() | a.diagonal(1) | a.item(3) | a.item(1, 2) | np.array(a.flat[3:6]) | divmod(i, 3)[1] | np.array(sorted({int(v) for v in i[0]}))
"""


# Names that later versions of NumPy have dropped, and what they have instead.
LATER = {"row_stack": "vstack", "trapz": "trapezoid", "in1d": "isin", "round_": "round"}


class AnyNumPy:
    """NumPy with the names of version 1, whatever its version is."""

    def __getattr__(self, name):
        return getattr(np, name if hasattr(np, name) else LATER.get(name, name))


class Functions(unittest.TestCase):
    def test_expressions_give_what_numpy_gives(self):
        a = np.array([[1.25, -2.75, 0.5, 2.0], [0.125, 0.5, -1.5, 1.0], [2.5, -0.25, 1.75, -2.0]], "float32")
        b = np.array([[0.5, 1.5, -1.0, 0.25], [2.0, -1.25, 0.75, 1.0], [-0.5, 2.25, 1.0, -1.75]], "float32")
        i = np.array([[1, 5, 2, 4], [0, 3, 2, 7], [6, 1, 4, 2]])
        n = np.where(a > 1.8, np.float32("nan"), a)
        for line in SAME.strip().splitlines():
            for text in line.split(" | "):
                wanted = eval(text, {"np": AnyNumPy(), "a": a, "b": b, "i": i, "n": n})
                found = eval(text, {"np": ts, **{name: ts.asarray(value) for name, value in {"a": a, "b": b, "i": i, "n": n}.items()}})
                np.testing.assert_allclose(np.asarray(found), wanted, rtol=3e-4, atol=3e-5, err_msg=text)
                self.assertEqual(np.shape(found), np.shape(wanted), text)

    def test_functions_that_write(self):
        for module in (np, ts):
            x = module.zeros((3, 3))
            module.fill_diagonal(x, 2)
            module.put(x, [1, 5], [7, 8])
            module.copyto(x, 3, where=module.asarray([[True, False, False]]))
            module.place(x, x == 0, [1, 4])
            module.put_along_axis(x, module.asarray([[0], [1], [2]]), 9, axis=1)
            module.add.at(x, ([0, 0], [1, 1]), [1, 2])
            module.subtract.at(x, 2, 1)
            x.shape = (9,)
            x.flat[3] = 11
            if module is np:
                wanted = x.tolist()
        self.assertEqual(x.tolist(), wanted)

    def test_files_are_numpys(self):
        import io
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64"):
                x = ts.asarray(np.arange(6).reshape(2, 3).astype(dtype))
                ts.save(path, x)
                np.testing.assert_array_equal(np.load(path), np.asarray(x))
                np.save(path, np.asfortranarray(np.asarray(x)))
                self.assertTrue(ts.array_equal(ts.load(path), x))
            ts.savez(os.path.join(folder, "many"), x, other=x + 1)
            self.assertEqual(set(np.load(os.path.join(folder, "many.npz")).files), {"arr_0", "other"})
            self.assertEqual(ts.load(os.path.join(folder, "many.npz"))["other"].tolist(), (x + 1).tolist())
        text = io.StringIO()
        ts.savetxt(text, ts.asarray([[1.5, 2.0], [3.0, 4.0]]), fmt="%.2f", delimiter=",", header="a,b")
        self.assertEqual(text.getvalue(), "# a,b\n1.50,2.00\n3.00,4.00\n")
        text.seek(0)
        self.assertEqual(ts.loadtxt(text, delimiter=",").tolist(), [[1.5, 2], [3, 4]])
        self.assertEqual(ts.genfromtxt(["1,x", "2,3"], delimiter=",", filling_values=-1).tolist(), [[1, -1], [2, 3]])
        with self.assertRaises(ValueError):
            ts.load(io.BytesIO(b"no such thing"))

    def test_print_options(self):
        data = np.array([[1.23456789, -0.5, 1000.25], [0.00012, 3, 4]])
        for options in ({"precision": 3}, {"precision": 2, "suppress": True}, {"suppress": True, "linewidth": 20}, {"threshold": 3, "edgeitems": 1}):
            with np.printoptions(**options), ts.printoptions(**options):
                self.assertEqual(str(ts.asarray(data)), str(data), options)
                self.assertEqual(repr(ts.asarray([[1, 2], [3, 4]])), repr(np.array([[1, 2], [3, 4]])), options)
        self.assertEqual(ts.get_printoptions()["precision"], 8)

    def test_elements_are_keys_of_dicts(self):
        x = ts.asarray([3, 1, 3])
        self.assertEqual({int(key): count for key, count in {value: 1 for value in x}.items()}, {3: 1, 1: 1})
        self.assertEqual(len(set(x)), 2)
        self.assertEqual({3: "three"}[x[0]], "three")

    def test_assertions(self):
        ts.testing.assert_allclose(ts.ones(2), [1.0, 1.0])
        ts.testing.assert_array_equal(ts.asarray([1, 2]), [1, 2])
        ts.testing.assert_equal({"a": [1]}, {"a": ts.asarray([1])})
        for wrong in (lambda: ts.testing.assert_allclose(ts.ones(2), 2.0), lambda: ts.testing.assert_array_equal([1, 2], [1, 3]),
                      lambda: ts.testing.assert_array_less(2, 1)):
            with self.assertRaises(AssertionError):
                wrong()

    def test_functions_beside_numpy(self):
        data = np.array([[1.25, -2.75, 3.5], [4.125, 0.5, -6.0]], "float32")
        whole = np.array([1, 3, 3, 0, 7])
        for name, args in [("round", (data, 1)), ("round", (data * 100, -1)), ("round", (data,)), ("bincount", (whole,)), ("quantile", (data, 0.3)),
                           ("quantile", (data, [0.1, 0.9], 1)), ("percentile", (data, 25, 0)), ("average", (data, 1, np.array([1.0, 2, 3]))), ("ptp", (data, 0)),
                           ("trapz", (data,)), ("trapz", (data, np.array([0.0, 1, 3]))), ("diag", (whole, 1)), ("diag", (data,)), ("fliplr", (data,)),
                           ("flipud", (data,)), ("atleast_1d", (3,)), ("logspace", (0, 2, 5)), ("interp", (data, np.array([-1.0, 0, 2]), np.array([1.0, 5, 2]))),
                           ("isscalar", (1,)), ("round", (whole, -1)), ("average", (data,))]:
            ours = [ts.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
            np.testing.assert_allclose(np.asarray(getattr(ts, name)(*ours)), getattr(AnyNumPy(), name)(*args), rtol=2e-6, err_msg=name)
        for found, wanted in zip(ts.histogram(ts.asarray(data), 4), np.histogram(data, 4)):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)

    def test_methods_that_write(self):
        x = ts.asarray([3, 1, 2])
        x.sort()
        self.assertEqual(x.tolist(), [1, 2, 3])
        x.fill(5)
        self.assertEqual((x.tolist(), x.argsort().tolist(), x.nonzero()[0].tolist()), ([5] * 3, [0, 1, 2], [0, 1, 2]))


class Random(unittest.TestCase):
    def test_seeds_repeat_and_calls_do_not(self):
        a, b = ts.random.default_rng(5), ts.random.default_rng(5)
        first, second = a.random(8), a.random(8)
        self.assertEqual(first.tolist(), b.random(8).tolist())
        self.assertNotEqual(first.tolist(), second.tolist())
        ts.random.seed(3)
        x = ts.random.randn(4).tolist()
        ts.random.seed(3)
        self.assertEqual(ts.random.randn(4).tolist(), x)
        self.assertNotEqual(ts.random.default_rng().random(), ts.random.default_rng().random())

    def test_distributions(self):
        rng, n = ts.random.default_rng(1), 20000
        for x, mean, deviation in [(rng.random(n), 0.5, 12**-0.5), (rng.uniform(-1, 3, n), 1, 4 * 12**-0.5), (rng.normal(2, 3, n), 2, 3), (rng.exponential(2, n), 2, 2),
                                   (rng.gamma(4.0, 0.5, n), 2, 1), (rng.poisson(4, n), 4, 2), (rng.integers(0, 10, n), 4.5, 8.25**0.5),
                                   (rng.binomial(70, 0.25, n), 17.5, 13.125**0.5), (rng.beta(2.0, 2.0, n), 0.5, 20**-0.5), (rng.laplace(1, 2, n), 1, 8**0.5),
                                   (rng.chisquare(8, n), 8, 4), (rng.geometric(0.5, n), 2, 2**0.5), (rng.weibull(1.0, n), 1, 1), (rng.standard_t(12, n), 0, 1.2**0.5),
                                   (rng.lognormal(0, 0.5, n), 1.1331, 0.6039), (rng.multivariate_normal([1, 2], [[4, 1], [1, 9]], n)[:, 1], 2, 3),
                                   (rng.dirichlet([1.0, 1.0], n)[:, 0], 0.5, 12**-0.5)]:
            self.assertEqual(x.shape, (n,))
            self.assertAlmostEqual(x.mean().item(), mean, delta=6 * deviation / n**0.5)
            self.assertAlmostEqual(ts.std(x * 1.0).item(), deviation, delta=0.05 * deviation)

    def test_orders_and_choices(self):
        rng = ts.random.default_rng(2)
        self.assertEqual(sorted(rng.permutation(10).tolist()), list(range(10)))
        x = ts.arange(6).reshape(3, 2)
        rng.shuffle(x)
        self.assertEqual(sorted(x.tolist()), [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(sorted(rng.choice(5, 5, replace=False).tolist()), [0, 1, 2, 3, 4])
        self.assertEqual(set(rng.choice([7, 8, 9], (4, 5), p=[0, 1, 0]).tolist()[0]), {8})
        self.assertIsInstance(rng.choice(5), int)
        self.assertIsInstance(rng.random(), float)
        self.assertTrue(all(1 <= rng.integers(1, 2, endpoint=True) <= 2 for _ in range(9)))


if __name__ == "__main__":
    unittest.main()
