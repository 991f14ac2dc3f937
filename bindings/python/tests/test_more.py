# SPDX-License-Identifier: MIT
"""Beyond NumPy: gradients, captures, kernels."""
import threading
import unittest

import numpy as np
import tessera as ts


class Gradients(unittest.TestCase):
    def test_a_function_of_one_array(self):
        value, gradient = ts.value_and_grad(lambda x: (x**3).sum())(ts.asarray([1.0, 2.0]))
        self.assertEqual((value.item(), gradient.tolist()), (9, [3, 12]))

    def test_trees_and_several_arguments(self):
        def loss(parameters, x, scale):
            return ((x @ parameters["w"] + parameters["b"][0]) * scale).sum()

        parameters = {"w": ts.ones((3, 2)), "b": [ts.zeros(2)]}
        found, by_scale = ts.grad(loss, argnums=(0, 2))(parameters, ts.ones((4, 3)), ts.asarray(2.0))
        self.assertEqual((found["w"].tolist(), found["b"][0].tolist(), by_scale.item()), ([[8, 8]] * 3, [8, 8], 24))

    def test_gradients_of_gradients(self):
        second = ts.grad(lambda x: ts.grad(lambda y: (y**3).sum())(x).sum())
        self.assertEqual(second(ts.asarray([2.0, 3.0])).tolist(), [12, 18])

    def test_one_array_at_two_places_has_two_gradients(self):
        x = ts.asarray([3.0])
        a, b = ts.grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x)
        self.assertEqual((a.item(), b.item()), (18, 9))

    def test_unused_arguments_and_second_results(self):
        (value, aux), gradients = ts.value_and_grad(lambda x, y: (y.sum(), "aux"), (0, 1), has_aux=True)(ts.ones(2), ts.ones(3))
        self.assertEqual((value.item(), aux, [x.tolist() for x in gradients]), (3, "aux", [[0, 0], [1, 1, 1]]))
        gradient, aux = ts.grad(lambda x: (x.sum(), 5), has_aux=True)(ts.ones(2))
        self.assertEqual((gradient.tolist(), aux), ([1, 1], 5))

    def test_exceptions_leave_no_range_open(self):
        def fails(x):
            raise KeyError("inside")

        with self.assertRaises(KeyError):
            ts.grad(fails)(ts.ones(1))
        for wrong, error in [(lambda x: x, ValueError), (lambda x: 1.0, TypeError)]:
            with self.assertRaises(error):
                ts.grad(wrong)(ts.ones(2))
        with self.assertRaises(TypeError):
            ts.grad(lambda x: x.sum())(ts.arange(3))
        self.assertEqual(ts.grad(lambda x: x.sum())(ts.ones(1)).item(), 1)

    def test_each_thread_has_gradients_of_its_own(self):
        found = []

        def work(power):
            for _ in range(20):
                found.append(ts.grad(lambda x: (x**power).sum())(ts.ones(1)).item() == power)

        threads = [threading.Thread(target=work, args=(power,)) for power in (2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 60)


class Captures(unittest.TestCase):
    def test_later_calls_run_no_python(self):
        calls = []

        @ts.capture
        def step(x, weights):
            calls.append(1)
            return {"y": ts.tanh(x @ weights[0]), "sum": x.sum()}

        results = []
        for i in range(4):
            x = np.full((2, 3), i, "float32")
            results.append((step(ts.asarray(x), [ts.ones((3, 2))]), np.tanh(x @ np.ones((3, 2), "float32")), x.sum()))
        for found, y, total in results:
            np.testing.assert_allclose(np.asarray(found["y"]), y, rtol=1e-6)
            self.assertEqual(found["sum"].item(), total)
        self.assertEqual(len(calls), 1)
        step(ts.ones((5, 3)), [ts.ones((3, 2))])
        self.assertEqual(len(calls), 2)

    def test_exceptions_end_the_capture(self):
        with self.assertRaises(ZeroDivisionError):
            ts.capture(lambda x: 1 / 0)(ts.ones(1))
        self.assertEqual(ts.capture(lambda x: x + 1)(ts.ones(1)).item(), 2)


class Kernels(unittest.TestCase):
    SOURCE = "kernel scaled<T: number>(in T x[], out T y[], T factor, u32 n) { u32 i = global.x; if (i < n) y[i] = x[i] * factor; }"

    def test_arguments_in_order_and_by_name(self):
        for dtype in (ts.float32, ts.int32, ts.bfloat16):
            scaled = ts.kernel(self.SOURCE, T=dtype)
            x, y = ts.arange(300, dtype=dtype), ts.zeros(300, dtype)
            scaled(x, y, 3, 300)
            self.assertEqual(y[:4].tolist(), [0, 3, 6, 9])
            scaled(x=x, y=y, factor=2, n=2)
            self.assertEqual(y[:4].tolist(), [0, 2, 6, 9])
            self.assertEqual([row[:2] for row in scaled.parameters], [("x", "in"), ("y", "out"), ("factor", "number"), ("n", "number")])
        self.assertIn("scaled", scaled.name)
        self.assertIn("kernel", scaled.emit("opencl"))

    def test_mistakes_have_the_compilers_messages(self):
        with self.assertRaisesRegex(ts.KernelError, "nothing"):
            ts.kernel("kernel k(out f32 y[]) { y[0] = nothing; }")
        scaled = ts.kernel(self.SOURCE, T=ts.float32)
        for args in [(), (ts.ones(1),), (ts.ones(1), ts.arange(1), 1, 1), (ts.ones(1), ts.ones(1), "text", 1)]:
            with self.assertRaises((TypeError, ValueError)):
                scaled(*args, items=1)


if __name__ == "__main__":
    unittest.main()
