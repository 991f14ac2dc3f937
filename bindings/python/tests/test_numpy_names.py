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
np.percentile(a, 30, method="lower") | np.percentile(a, [10, 55], axis=1, method="nearest") | np.quantile(a, 0.4, axis=0, method="midpoint") | np.quantile(a, 0.6, method="higher")
np.quantile(a, [0.1, 0.5, 0.9], method="hazen") | np.quantile(a, 0.3, axis=1, method="weibull") | np.quantile(a, 0.7, method="median_unbiased") | np.quantile(a, 0.05, method="normal_unbiased")
np.quantile(a, 0.99, method="interpolated_inverted_cdf") | np.quantile(a, 0.5, axis=1, method="inverted_cdf") | np.quantile(n, 0.5, axis=1, method="lower") | np.quantile(a, [[0.1, 0.2], [0.3, 0.4]], axis=(0, 1))
np.nanquantile(n, [0.2, 0.7], axis=1, keepdims=True) | np.nanmedian(n, axis=(0, 1)) | np.nancumprod(n) | np.nanargmin(n, axis=1, keepdims=True) | np.std(a, 1, None, None, 1) | np.var(a, where=a > 0) | np.std(a, axis=0, where=i > 0, ddof=1)
np.linspace(start=1, stop=2, num=5) | np.linspace(0, 1, 4, retstep=True)[1] | np.linspace(a[0], b[0], 3) | np.linspace(a[0], 1, 3, axis=1, endpoint=False) | np.arange(start=1, stop=9, step=3) | np.eye(N=2, M=3) | np.meshgrid(i[0], i[1, :2], sparse=True)[0]
np.meshgrid(i[0], i[1, :2], i[2], sparse=True, indexing="ij")[1] | np.take(i, indices=[5, -9, 40], mode="wrap") | np.take(i, [9, -1], axis=1, mode="clip") | np.tile(i, reps=(2, 1)) | np.trace(np.ones((2, 3, 4)), axis1=1, axis2=2)
np.trace(np.arange(12).reshape(2, 2, 3)) | np.linalg.eigvalsh([[1.0, 9], [2, 3]], UPLO="U") | np.linalg.matrix_rank(a, tol=2.5) | np.linalg.pinv(a, 0.5) | np.einsum(a, [0, 1], b, [0, 1], [0]) | np.einsum(a, [0, 1], b, [2, 1])
np.einsum("ij->j", a, out=np.zeros(4, a.dtype)) | np.cov(a, dtype=np.float64) | np.histogram(a, bins="auto")[0] | np.histogram(a, bins="fd", range=(-2, 2))[1] | np.histogram_bin_edges(a, "doane") | np.histogram_bin_edges(a, "scott") | np.histogram_bin_edges(i, "rice")
np.histogram(i, "sqrt")[0] | np.histogram(i, "sturges")[0] | np.histogramdd(a[:, :3], bins=(2, 3, 2))[0] | np.histogramdd((a[0], b[0]), bins=2, density=True)[0] | np.histogram2d(a[0], b[0], 2, weights=i[0])[0] | np.histogram2d(a[0], b[0], [[-3, 0, 3], [-3, 1, 3]], density=True)[0]
np.pad(i, 2, mode="mean") | np.pad(i, (1, 2), mode="median", stat_length=2) | np.pad(a, 1, mode="maximum") | np.pad(a, ((2, 0), (0, 1)), mode="minimum", stat_length=((1, 2), (3, 4))) | np.pad(i, 3, mode="linear_ramp") | np.pad(a, (1, 2), mode="linear_ramp", end_values=(5, -4))
np.pad(i, 1, constant_values=((1, 2), (3, 4))) | np.packbits(i > 2) | np.packbits(i > 2, axis=1, bitorder="little") | np.unpackbits(np.uint8([[3, 200]]), axis=1) | np.unpackbits(np.uint8([3, 200]), count=11, bitorder="little") | np.unpackbits(np.uint8([[3], [200]]), count=20)
np.apply_over_axes(np.sum, a, [0, 1]) | np.ediff1d(i, to_begin=-1, to_end=[7, 8]) | np.array(np.diag_indices_from(np.zeros((3, 3)))) | np.array(np.tril_indices_from(i, -1)) | np.array(np.triu_indices_from(i)) | np.dsplit(np.arange(8).reshape(1, 2, 4), 2)[1]
np.kaiser(7, 5.0) | np.kaiser(1, 2) | np.i0([-3.0, 0, 20]) | np.gradient(a[0], edge_order=2) | np.gradient(a, 0.5, axis=1, edge_order=2) | np.gradient(a[0], [0.0, 1, 3, 4], edge_order=2) | np.interp([-30.0, 370], [350.0, 10, 190], [1.0, 2, 3], period=360)
np.poly([1, -2, 3]) | np.polydiv([1.0, -3, 2], [1.0, -1])[0] | np.polydiv([2.0, 1, 4], [1.0, 1])[1] | np.polyfit([0.0, 1, 2, 3], a[0], 1, w=[1, 2, 1, 3]) | np.polyfit([0.0, 1, 2, 3], a[0], 1, cov=True)[1] | np.polyfit([0.0, 1, 2, 3], a[0], 1, full=True)[1] | np.polyint([3.0, 2], k=4)
np.poly1d([1, -3, 2])(a) | np.poly1d([1.0, 2, 3]).deriv().coeffs | np.poly1d([1.0, 2]).integ(k=5).c | (np.poly1d([1, 2]) * np.poly1d([1, -2]) + 3).coeffs | (np.poly1d([1, 2]) ** 3 - 1).coeffs | np.poly1d([2, 3], r=True).coeffs | np.poly1d([0, 0, 4, 5]).order
np.frexp([1.0, -0.3, 0, 8, 3e-30])[0] | np.frexp([1.0, -0.3, 0, 8, 3e-30])[1] | np.ldexp([0.5, -3], [4, 100]) | np.ldexp(np.float32(1.5), -126) | np.spacing(np.float32([1, -1, 300])) | np.iterable(a) | np.iterable(3) | a.compress([True, False, True], axis=0) | (a > 0).compress([True, False], 1)
a.clip(-1, 1) | a.take([0, 5]) | a.trace() | a.diagonal(1) | a.item(3) | a.item(1, 2) | np.array(a.flat[3:6]) | divmod(i, 3)[1] | np.array(sorted({int(v) for v in i[0]}))
np.sum(i, axis=()) | np.prod(i, axis=(), keepdims=True) | np.mean(i, axis=()) | np.max(a, axis=()) | np.ptp(a, axis=()) | np.any(a, axis=()) | np.std(a, axis=()) | np.count_nonzero(i, axis=()) | np.nansum(n, axis=()) | np.nanmax(a, axis=())
np.correlate([1.0, 2], a[0], "same") | np.correlate(i[0, :2], i[1], "same") | np.correlate(a[0, :3], b[0], "same") | np.correlate(a[0], np.arange(33.0), "same") | np.split(np.arange(3), [1, 3, 2])[3] | np.split(i, [2, 1, 7], axis=1)[2]
np.nanmedian([[np.inf, 4.5, -np.inf], [np.nan, 1, 2]], axis=1) | np.heaviside([np.nan, -1, 0], 0.5) | np.heaviside([np.nan, -1, 0], [1.0, 2, 3]) | np.heaviside(n, 2)
np.histogram(np.float64([0.1, 0.2, 0.7]), 3, weights=[1, 2, 3])[0] | np.histogram(np.float64([0.1, 0.2, 0.7]), 2, density=True)[1] | np.histogram2d(np.float64([0.1, 0.2, 0.7]), np.float64([0.3, 0.1, 0.7]), 2)[0]
np.array([5], np.uint64) > -1 | np.array([5], np.uint8) == -1 | np.arange(40) < 2**64 | -2**70 >= np.arange(3) | np.int8([1, 2]) != 2**63
np.compress([True, False], np.zeros((2, 3)), axis=1) | np.compress([False, True, False, False], a[0, :2]) | np.maximum.accumulate(np.zeros((0, 2)))
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
            module.putmask(x, x > 3, module.arange(3) + 0.5)
            module.put(x, [-10, 12], [3, 6], mode="wrap")
            x.put([7], 2.5)
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
            ts.savez_compressed(os.path.join(folder, "small"), x=ts.zeros(5000))
            self.assertLess(os.path.getsize(os.path.join(folder, "small.npz")), 2000)
            with ts.load(os.path.join(folder, "small.npz"), allow_pickle=True) as found:
                self.assertEqual((found.files, found["x"].size), (["x"], 5000))
            self.assertEqual(ts.load(os.path.join(folder, "many.npz"))["other"].tolist(), (x + 1).tolist())
        text = io.StringIO()
        ts.savetxt(text, ts.asarray([[1.5, 2.0], [3.0, 4.0]]), fmt="%.2f", delimiter=",", header="a,b")
        self.assertEqual(text.getvalue(), "# a,b\n1.50,2.00\n3.00,4.00\n")
        text.seek(0)
        self.assertEqual(ts.loadtxt(text, delimiter=",").tolist(), [[1.5, 2], [3, 4]])
        self.assertEqual(ts.loadtxt(["1 2", "3 4", "5 6"], max_rows=2, ndmin=2, usecols=1).tolist(), [[2], [4]])
        self.assertEqual(ts.genfromtxt(["a b", "1 2", "3 4", "end x"], skip_header=1, skip_footer=1, unpack=True).tolist(), [[1, 3], [2, 4]])
        written = io.StringIO()
        ts.savetxt(written, [[1, 2.5]], fmt=["%d", "%.1f"], header="one\ntwo", footer="end")
        self.assertEqual(written.getvalue(), "# one\n# two\n1 2.5\n# end\n")
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
        for options in ({"precision": 2, "suppress_small": True}, {"separator": ", ", "max_line_width": 30}, {"formatter": {"float": lambda x: f"<{x:.1f}>"}},
                        {"formatter": {"float_kind": lambda x: f"{x:+.2f}"}}, {"threshold": 3, "edgeitems": 1}):
            self.assertEqual(ts.array2string(ts.asarray(data), **options), np.array2string(data, **options), options)
        self.assertEqual(ts.array_str(ts.asarray(data), precision=2, suppress_small=True), np.array_str(data, precision=2, suppress_small=True))
        with ts.printoptions(linewidth=np.inf), np.printoptions(linewidth=np.inf):
            self.assertEqual(str(ts.arange(200)), str(np.arange(200)))
        with self.assertRaises(TypeError):
            ts.set_printoptions(precision=ts.asarray([1, 2]))
        self.assertEqual(str(ts.asarray([1.5])), "[1.5]")

    def test_what_later_versions_have_dropped(self):
        self.assertEqual(ts.reshape(ts.arange(6), newshape=(2, 3)).shape, (2, 3))
        self.assertEqual(ts.cross([[1.0, 2], [0, 1]], [3.0, 5]).tolist(), [-1, -3])

    def test_polynomials_are_shown_as_numpys(self):
        for coefficients in ([1, -3, 2], [2.5, 0, -1], [4], [-1.0, 0.125], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]):
            self.assertEqual(str(ts.poly1d(coefficients)), str(np.poly1d(coefficients)))
            self.assertEqual(repr(ts.poly1d(coefficients)), repr(np.poly1d(coefficients)))

    def test_whole_numbers_in_digits(self):
        for number, width in ((10, None), (10, 6), (-3, None), (-3, 5), (0, 3), (-8, 4)):
            self.assertEqual(ts.binary_repr(number, width), np.binary_repr(number, width))
        for number, base, padding in ((255, 16, 0), (-7, 3, 2), (0, 2, 3), (0, 2, 0), (35, 36, 1)):
            self.assertEqual(ts.base_repr(number, base, padding), np.base_repr(number, base, padding))

    def test_dtypes_have_numpys_codes(self):
        for code in "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 ? b h i l q B H I L Q e f d <f4 |u1 =i4 byte ubyte short intc int uint intp half single double bool".split():
            self.assertEqual(ts.dtype(code).name, np.dtype(code).name, code)
            self.assertEqual(ts.zeros(1, dtype=code).astype(code).dtype, np.dtype(code))
        for code in (">f4", "x", "", "i3"):
            with self.assertRaises(TypeError):
                ts.dtype(code)

    def test_dtypes_describe_themselves_as_numpys(self):
        for name in "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split():
            ours, numpys = ts.dtype(name), np.dtype(name)
            self.assertEqual((ours.str, ours.char, ours.kind, ours.itemsize), (numpys.str, numpys.char, numpys.kind, numpys.itemsize))
            self.assertEqual(ours.type(3).dtype, ours)
        with self.assertRaises(AttributeError):
            ts.bfloat16.str

    def test_numbers_are_of_a_kind(self):
        for module in (np, ts):
            whole, real = module.asarray([3, 4])[0], module.asarray([1.5], dtype=module.float32)[0]
            kinds = [module.integer, module.signedinteger, module.floating, module.inexact, module.number, module.generic, module.int64, module.float32, module.float64]
            found = [[isinstance(x, kind) for kind in kinds] for x in (whole, real, 3, 1.5, "text", None)]
            self.assertEqual(found[0], [True, True, False, False, True, True, True, False, False])
            self.assertEqual(found[1], [False, False, True, True, True, True, False, True, False])
            self.assertEqual(found[2:], [[False] * 9] * 4)
            self.assertTrue(isinstance(whole, (int, module.integer)))
            self.assertTrue(module.issubdtype(module.int32, module.signedinteger) and not module.issubdtype(module.uint8, module.signedinteger))
        self.assertFalse(isinstance(ts.arange(3), ts.integer))

    def test_too_few_elements_have_no_variance(self):
        for found in (ts.nanvar([1.0, ts.nan], ddof=1), ts.nanstd(ts.asarray([[1.0, 2.0]] * 40), axis=1, ddof=3)[5], ts.cov([[3.0]], ddof=2)):
            self.assertNotEqual(float(found), float(found))  # NaN
        self.assertEqual(float(ts.var(ts.asarray([1.0, 2.0, 9.0]), where=[True, True, False], ddof=3)), ts.inf)

    def test_what_has_no_elements_is_refused(self):
        nothing = ts.zeros((3, 0))
        for function in (ts.ptp, ts.nanmax, ts.nanmin, ts.nanmedian):
            for x in (nothing, nothing.astype("int32")):
                with self.assertRaisesRegex(ValueError, "no elements"):
                    function(x, axis=1)
        with self.assertRaisesRegex(ValueError, "gradient: axis 1 has 1 elements, edge_order 1 needs 2"):
            ts.gradient(ts.ones((5, 1)))
        with self.assertRaisesRegex(IndexError, "beyond axis 0 with size 1"):
            ts.compress([True, False, True], [5.0])

    def test_resize_in_place(self):
        for module in (np, ts):
            x = module.arange(6)
            x.resize((2, 3))
            self.assertEqual(x.tolist(), [[0, 1, 2], [3, 4, 5]])
            x.resize(3, 2)
            self.assertEqual(x.tolist(), [[0, 1], [2, 3], [4, 5]])
        with self.assertRaises(NotImplementedError):
            x.resize(4)

    def test_views_by_strides(self):
        from tessera.lib.stride_tricks import as_strided, sliding_window_view

        x, ours = np.arange(20), ts.arange(20)
        for shape, strides in (((4, 5), (32, 8)), ((16, 5), (8, 8)), ((3,), (16,)), ((2, 3, 2), (8, 0, 40)), ((0, 3), (8, 8))):
            wanted = np.lib.stride_tricks.as_strided(x, shape, strides)
            self.assertEqual(as_strided(ours, shape, strides).tolist(), wanted.tolist())
        for shape, strides in (((21,), (8,)), ((2,), (-8,)), ((2, 2), (8,)), ((2,), (4,))):
            with self.assertRaises(ValueError):
                as_strided(ours, shape, strides)
        with self.assertRaises(ValueError):
            as_strided(ours[::2], (3,), (8,))
        self.assertEqual(sliding_window_view(ours, 18).shape, (3, 18))

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
                                   (rng.dirichlet([1.0, 1.0], n)[:, 0], 0.5, 12**-0.5), (rng.rayleigh(2, n), 2.5066, 1.3103), (rng.gumbel(1, 2, n), 2.1544, 2.5651),
                                   (rng.logistic(3, 1, n), 3, 1.8138), (rng.pareto(6.0, n), 0.2, 0.2449), (rng.power(3.0, n), 0.75, 0.1936),
                                   (rng.triangular(0, 1, 3, n), 4 / 3, 0.6236), (rng.f(12, 20, n), 20 / 18, 0.6086), (rng.standard_gamma(4.0, n), 4, 2),
                                   (rng.multinomial(20, [0.25, 0.75], n)[:, 1], 15, 1.9365), (rng.exponential(ts.full(n, 2.0)), 2, 2)]:
            self.assertEqual(x.shape, (n,))
            self.assertAlmostEqual(x.mean().item(), mean, delta=6 * deviation / n**0.5)
            self.assertAlmostEqual(ts.std(x * 1.0).item(), deviation, delta=0.05 * deviation)

    def test_parameters_may_be_arrays(self):
        rng = ts.random.default_rng(3)
        for x in (rng.normal(ts.zeros(1000), 1), rng.uniform([0.0] * 1000, 1.0), rng.normal(0, ts.ones((10, 100))), rng.exponential([1.0] * 1000)):
            self.assertGreater(len(set(x.ravel().tolist())), 990)  # each has a number of its own
        self.assertEqual(rng.normal(ts.asarray([5.0, 6.0]), 0.0).tolist(), [5, 6])

    def test_orders_and_choices(self):
        rng = ts.random.default_rng(2)
        self.assertEqual(sorted(rng.permutation(10).tolist()), list(range(10)))
        x = ts.arange(6).reshape(3, 2)
        rng.shuffle(x)
        self.assertEqual(sorted(x.tolist()), [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(sorted(rng.choice(5, 5, replace=False).tolist()), [0, 1, 2, 3, 4])
        self.assertEqual(set(rng.choice([7, 8, 9], (4, 5), p=[0, 1, 0]).tolist()[0]), {8})
        self.assertIsInstance(rng.choice(5), int)
        self.assertIn(rng.choice(["a", "b"]), ("a", "b"))
        self.assertEqual(sorted(rng.choice(["a", "b", "c"], 3, replace=False)), ["a", "b", "c"])
        names = list("abcdef")
        rng.shuffle(names)
        self.assertEqual(sorted(names), list("abcdef"))
        self.assertEqual(len(rng.bytes(7)), 7)
        older = ts.random.RandomState(4)
        self.assertEqual((older.rand(2, 3).shape, older.randn(4).shape, older.randint(3, size=5).shape), ((2, 3), (4,), (5,)))
        self.assertIsInstance(rng.random(), float)
        self.assertTrue(all(1 <= rng.integers(1, 2, endpoint=True) <= 2 for _ in range(9)))


if __name__ == "__main__":
    unittest.main()
