# SPDX-License-Identifier: MIT
"""Arrays given to other libraries and taken from them: PyTorch and JAX through DLPack, scikit-learn through the array API, SciPy through NumPy's protocol."""
import importlib.util
import unittest

import numpy as np
import tessera as ts


def has(module):
    return importlib.util.find_spec(module) is not None


class OnCpu(unittest.TestCase):
    """Arrays are on the CPU, where all libraries share memory."""

    def setUp(self):
        self.enterContext(ts.device("cpu"))


@unittest.skipUnless(has("torch"), "no PyTorch (scripts/setup test)")
class PyTorch(OnCpu):
    def test_memory_is_shared_both_ways(self):
        import torch

        x = ts.arange(6, dtype=ts.float32).reshape(2, 3)
        t = torch.from_dlpack(x)
        t[0, 0] = 9
        self.assertEqual(x.tolist(), [[9, 1, 2], [3, 4, 5]])
        self.assertEqual(torch.from_dlpack(x.T).stride(), (1, 3))
        u = torch.arange(4.0)
        y = ts.from_dlpack(u)
        u[0] = 7
        self.assertEqual(y.tolist(), [7, 1, 2, 3])
        self.assertEqual(ts.from_dlpack(u.reshape(2, 2).T[:, 1:]).tolist(), [[2], [3]])
        del u
        self.assertEqual((y + 1).tolist(), [8, 2, 3, 4])
        copied = ts.asarray(torch.ones(2))
        self.assertIsInstance(copied, ts.Array)

    def test_every_common_dtype_goes_there_and_back(self):
        import torch

        for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"):
            t = torch.tensor([1, 2, 3]).to(getattr(torch, name))
            x = ts.from_dlpack(t)
            self.assertEqual(x.dtype.name, name)
            self.assertTrue(bool((torch.from_dlpack(x) == t).all()))

    def test_copies_are_made_where_they_are_asked_for(self):
        import torch

        x = ts.zeros(3)
        torch.from_dlpack(x.__dlpack__(copy=True))[0] = 1
        self.assertEqual(x.tolist(), [0, 0, 0])
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(2, 0))

    def test_tensors_with_gradients_are_refused_by_pytorch(self):
        import torch

        with self.assertRaisesRegex((RuntimeError, BufferError), "grad"):
            ts.from_dlpack(torch.ones(2, requires_grad=True))


@unittest.skipUnless(has("jax"), "no JAX; Debian 12 has none")
class Jax(OnCpu):
    def test_memory_is_shared_both_ways(self):
        import jax

        x = ts.arange(6, dtype=ts.float32).evaluate()
        made = jax.dlpack.from_dlpack(x)
        self.assertEqual((made.tolist(), made.unsafe_buffer_pointer()), (x.tolist(), np.asarray(x).ctypes.data))
        theirs = jax.device_put(jax.numpy.arange(5.0), jax.devices("cpu")[0])
        y = ts.from_dlpack(theirs)
        self.assertEqual((y.tolist(), np.asarray(y).ctypes.data), (theirs.tolist(), theirs.unsafe_buffer_pointer()))


def has_cuda():
    """Whether PyTorch, JAX and this library all have a GPU of NVIDIA's."""
    if not has("torch") or not has("jax"):
        return False
    import torch

    return torch.cuda.is_available() and any(row.get("device") == "cuda:0" for row in ts._core.discover())


@unittest.skipUnless(has_cuda(), "no CUDA device with PyTorch and JAX")
class Cuda(unittest.TestCase):
    """Memory of the GPU is shared without a copy, both ways."""

    def setUp(self):
        self.enterContext(ts.device("cuda"))

    def test_pytorch_has_our_memory(self):
        import torch

        x = ts.arange(6, dtype=ts.float32).reshape(2, 3)
        self.assertEqual(x.__dlpack_device__(), (2, 0))
        t = torch.from_dlpack(x)
        self.assertEqual((t.device.type, t.tolist()), ("cuda", x.tolist()))
        t += 1
        torch.cuda.synchronize()
        self.assertEqual(x.tolist(), [[1, 2, 3], [4, 5, 6]])
        self.assertEqual(torch.from_dlpack(x.T).stride(), (1, 3))
        del x
        self.assertEqual(t.sum().item(), 21)

    def test_we_have_pytorchs_memory(self):
        import torch

        t = torch.arange(12.0, device="cuda").reshape(3, 4)
        for view in (t, t[1:], t[:, 1:], t.T, t[1:, 1::2]):
            y = ts.from_dlpack(view)
            self.assertEqual((str(y.device), y.tolist()), ("cuda:0", view.tolist()))
            y *= 2
            y.device.synchronize()
            self.assertEqual(view.tolist(), y.tolist())
        for name in ("uint8", "int32", "int64", "float16", "bfloat16", "float64", "bool"):
            own = torch.tensor([1, 0, 3]).to(getattr(torch, name)).cuda()
            self.assertTrue(bool((torch.from_dlpack(ts.from_dlpack(own)) == own).all()), name)
        self.assertEqual(str(ts.from_dlpack(t, device="cpu").device), "cpu:0")
        copied = ts.asarray(t)
        t += 1
        self.assertNotEqual(copied.tolist(), t.tolist())

    def test_work_of_both_is_in_order(self):
        import torch

        t = torch.ones(1 << 22, device="cuda")
        for i in range(20):
            t = torch.from_dlpack(ts.from_dlpack(t * 2) + 1)
        self.assertEqual(t[:3].tolist(), [2**21 - 1] * 3)
        self.assertEqual(t.max().item(), t.min().item())

    def test_jax_both_ways(self):
        import jax

        x = ts.arange(6, dtype=ts.float32)
        made = jax.dlpack.from_dlpack(x)
        self.assertEqual((made.tolist(), {device.platform for device in made.devices()}), (x.tolist(), {"gpu"}))
        theirs = jax.numpy.arange(5.0) * 3
        y = ts.from_dlpack(theirs)
        self.assertEqual((str(y.device), y.tolist()), ("cuda:0", [0, 3, 6, 9, 12]))
        self.assertEqual(torch_pointer(y), theirs.unsafe_buffer_pointer())


def torch_pointer(x):
    import torch

    return torch.from_dlpack(x).data_ptr()


@unittest.skipUnless(has("sklearn"), "no scikit-learn (scripts/setup test)")
class ScikitLearn(unittest.TestCase):
    def test_discriminant_analysis_computes_with_our_arrays(self):
        from sklearn import config_context
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        data = np.random.default_rng(0).normal(size=(100, 4)).astype("float32")
        labels = (data[:, 0] + data[:, 1] > 0).astype("int32")
        wanted = LinearDiscriminantAnalysis().fit(data, labels).predict(data)
        try:
            self.enterContext(config_context(array_api_dispatch=True))
        except RuntimeError as error:  # versions after Debian 12's ask for SciPy's support, too
            self.skipTest(str(error))
        fitted = LinearDiscriminantAnalysis().fit(ts.asarray(data), ts.asarray(labels))
        found = fitted.predict(ts.asarray(data))
        self.assertIsInstance(fitted.coef_, ts.Array)
        self.assertIsInstance(found, ts.Array)
        self.assertEqual(found.tolist(), wanted.tolist())

    def test_others_compute_with_numpys(self):
        from sklearn.linear_model import LinearRegression

        x = ts.asarray([[0.0], [1.0], [2.0]])
        fitted = LinearRegression().fit(x, x[:, 0] * 3 + 1)
        self.assertIsInstance(fitted.coef_, np.ndarray)
        self.assertAlmostEqual(float(fitted.coef_[0]), 3, 4)


@unittest.skipUnless(has("scipy"), "no SciPy (scripts/setup test)")
class SciPy(unittest.TestCase):
    def test_functions_take_our_arrays_and_give_numpys(self):
        import scipy.linalg
        import scipy.optimize
        import scipy.stats

        self.assertEqual(scipy.linalg.solve(ts.eye(2) * 2, ts.ones(2)).tolist(), [0.5, 0.5])
        self.assertAlmostEqual(float(scipy.stats.skew(ts.asarray([1.0, 2.0, 3.0]))), 0)

    def test_minimisers_take_our_gradients(self):
        import scipy.optimize

        both = ts.value_and_grad(lambda x: ((x - 3) ** 2).sum())

        def value_and_slope(x):
            value, slope = both(ts.asarray(x))
            return float(value), np.asarray(slope)

        found = scipy.optimize.minimize(value_and_slope, np.zeros(2), jac=True)
        np.testing.assert_allclose(found.x, [3, 3], atol=1e-4)


if __name__ == "__main__":
    unittest.main()
