# SPDX-License-Identifier: MIT
"""Beyond NumPy: gradients, captures, kernels."""
import os
import subprocess
import sys
import tempfile
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

    def test_mixed_precision_converts_products_and_their_gradients(self):
        x, w = ts.ops.rand((3, 4), 1), ts.ops.rand((4, 2), 2)
        with ts.autocast(ts.bfloat16):
            product = x @ w
            with ts.autocast(ts.float32):
                exact = x @ w
            total = product.sum()
        self.assertEqual((product.dtype, exact.dtype, total.dtype, (x @ w).dtype), (ts.bfloat16, ts.float32, ts.float32, ts.float32))
        np.testing.assert_allclose(np.asarray(product), np.asarray(exact), rtol=0.02)

        def loss_of(w):
            with ts.autocast("float16"):
                return ts.nn.mse_loss(x @ w, ts.ones((3, 2)))

        loss, gradient = ts.value_and_grad(loss_of)(w)
        wanted, right = ts.value_and_grad(lambda w: ts.nn.mse_loss(x @ w, ts.ones((3, 2))))(w)
        self.assertEqual((loss.dtype, gradient.dtype), (ts.float32, ts.float32))
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(right), rtol=0.02, atol=1e-3)
        with self.assertRaisesRegex(TypeError, "autocast"):
            with ts.autocast(ts.int32):
                pass
        with self.assertRaises(KeyError):
            with ts.autocast(ts.float16):
                raise KeyError
        self.assertEqual((x @ w).dtype, ts.float32)

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

    def test_a_captured_function_keeps_its_name_and_help(self):
        def doubled(x):
            """Twice x."""
            return x * 2

        step = ts.capture(doubled)
        self.assertEqual((step.__name__, step.__doc__, step(ts.ones(2)).tolist()), ("doubled", "Twice x.", [2, 2]))


def network(x, params):
    return {"hidden": ts.tanh(x @ params["first"]), "y": ts.tanh(x @ params["first"]) @ params["second"][0]}


class SavedCaptures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "net.tsr")
        self.x, self.params = ts.ops.randn((4, 3), 1), {"first": ts.ops.randn((3, 5), 2), "second": [ts.ops.randn((5, 2), 3)]}

    def saved(self, **options):
        step = ts.capture(network)
        found = step(self.x, self.params)
        step.save(self.path, **options)
        return found

    def test_a_loaded_capture_gives_what_was_saved(self):
        wanted = self.saved(inputs=["x"], outputs=["y"])
        for device in ["cpu", None, ts.device("cpu")]:
            net = ts.load_capture(self.path, device=device)
            self.assertEqual((list(net.inputs), list(net.outputs)), (["x"], ["y"]))
            np.testing.assert_allclose(np.asarray(net(self.x)), np.asarray(wanted["y"]), rtol=1e-6)

    def test_arguments_that_are_no_inputs_are_saved_with_their_elements_of_the_last_call(self):
        step = ts.capture(network)
        step(self.x, self.params)
        twice = {"first": self.params["first"] * 2, "second": self.params["second"]}
        wanted = step(self.x, twice)
        step.save(self.path, inputs=["x"])
        np.testing.assert_allclose(np.asarray(ts.load_capture(self.path)(self.x)["y"]), np.asarray(wanted["y"]), rtol=1e-6)

    def test_several_outputs_are_a_dict_and_trees_of_inputs_go_by_place_or_name(self):
        wanted = self.saved()
        net = ts.load_capture(self.path)
        self.assertEqual(list(net.inputs), ["x", "params.first", "params.second.0"])
        flat = (self.x, self.params["first"], self.params["second"][0])
        for found in (net(self.x, self.params), net(*flat), net(self.x, params=self.params), net(params=self.params, x=self.x), net(**dict(zip(net.inputs, flat)))):
            self.assertEqual(list(found), ["hidden", "y"])
            for name, array in found.items():
                np.testing.assert_allclose(np.asarray(array), np.asarray(wanted[name]), rtol=1e-6)

    def test_names_of_the_file_may_be_others(self):
        step = ts.capture(lambda x, *rest: (x + rest[0], [x * rest[1]]))
        step(ts.ones(3), ts.ones(3), ts.ones(3))
        step.save(self.path, inputs={"image": "x", "more": "rest"}, outputs={"sum": 0, "product": "1.0"})
        net = ts.load_capture(self.path)
        self.assertEqual((list(net.inputs), list(net.outputs)), (["image", "more.0", "more.1"], ["sum", "product"]))
        self.assertIn("image: float32[3], more.0: float32[3]", repr(net))
        single = ts.capture(lambda x: x + 1)
        single(ts.ones(2))
        single.save(self.path, outputs={"y": "result"})
        self.assertEqual(list(ts.load_capture(self.path).outputs), ["y"])
        step.save(self.path, outputs=[0])
        self.assertEqual(list(ts.load_capture(self.path).outputs), ["0"])

    def test_results_stay_as_they_are_when_the_capture_runs_again(self):
        step = ts.capture(lambda x: x * 3)
        step(ts.ones(40))
        step.save(self.path)
        net = ts.load_capture(self.path)
        first, second = net(ts.ones(40)), net(x=np.full(40, 2.0))
        self.assertEqual((first[0], second[39]), (3, 6))

    def test_the_last_call_says_which_shapes_are_saved(self):
        step = ts.capture(lambda x: x.sum(axis=0))
        for rows in (2, 7, 2):
            step(ts.ones((rows, 3)))
        step.save(self.path)
        self.assertEqual(ts.load_capture(self.path).inputs["x"].shape, (2, 3))
        with self.assertRaisesRegex(ValueError, "has not been called yet"):
            ts.capture(network).save(self.path)

    def test_a_function_may_change_the_containers_of_its_arguments(self):
        def popping(params):
            return params.pop("w") * 2 + params.pop("b")

        step = ts.capture(popping)
        self.assertEqual(step({"w": ts.ones(2), "b": ts.ones(2)}).tolist(), [3, 3])
        step.save(self.path, inputs=["params.w"])
        self.assertEqual(ts.load_capture(self.path)(ts.zeros(2)).tolist(), [1, 1])

    def test_wrong_names_and_files_are_exceptions_that_name_them(self):
        with self.assertRaisesRegex(ValueError, "no input 'z'; there are x, params.first, params.second.0"):
            self.saved(inputs=["z"])
        with self.assertRaisesRegex(ValueError, "no output 'x'; there are hidden, y"):
            self.saved(outputs=["x"])
        with self.assertRaisesRegex(ValueError, "two inputs have the name 'x'"):
            self.saved(inputs=["x", "x"])
        with self.assertRaisesRegex(OSError, "/nowhere/net.tsr"):
            self.saved_at("/nowhere/net.tsr")
        with self.assertRaisesRegex(FileNotFoundError, "net.tsr"):
            ts.load_capture(self.path)
        with open(self.path, "wb") as file:
            file.write(b"no capture" * 20)
        with self.assertRaisesRegex(ValueError, "net.tsr: this is not the file of a capture"):
            ts.load_capture(self.path)

    def saved_at(self, path):
        step = ts.capture(lambda x: x + 1)
        step(ts.ones(2))
        step.save(path)

    def test_wrong_arguments_of_a_loaded_capture_are_exceptions(self):
        self.saved(inputs=["x"])
        net = ts.load_capture(self.path)
        for args, options, error, text in [
                ((), {}, TypeError, "missing inputs: x"), ((self.x, self.x), {}, TypeError, "2 arrays for 1 inputs"), ((self.x,), {"x": self.x}, TypeError, "given twice"),
                ((), {"z": self.x}, TypeError, "no input 'z'; there are x"), ((ts.ones((3, 4)),), {}, ValueError, r"shape \(4, 3\), not \(3, 4\)")]:
            with self.assertRaisesRegex(error, "net.tsr: .*" + text):
                net(*args, **options)
        self.assertEqual(net(np.ones((4, 3), "int8"))["y"].shape, (4, 2))
        step = ts.capture(lambda i: i + 1)
        step(ts.arange(3))
        step.save(self.path)
        with self.assertRaisesRegex(TypeError, "input 'i' is int64, not float32"):
            ts.load_capture(self.path)(ts.ones(3))

    def test_files_of_others_can_be_bounded(self):
        self.saved()
        with self.assertRaisesRegex(MemoryError, "net.tsr: .*60 bytes|net.tsr"):
            ts.load_capture(self.path, most_bytes=16)
        kernel = ts.kernel("kernel plus(in f32 x[], out f32 y[], u32 n) { u32 i = global.x; if (i < n) y[i] = x[i] + 1; }")
        y = ts.zeros(64)

        def launch(x):
            kernel(x, y, x.size)
            return y

        step = ts.capture(launch)
        step(ts.ones(64))
        step.save(self.path, outputs={"y": "result"})
        self.assertEqual(ts.load_capture(self.path)(ts.ones(64) * 4)[5], 5)
        with self.assertRaisesRegex(NotImplementedError, "kernels of its own, which are refused"):
            ts.load_capture(self.path, refuses_kernels=True)

    def test_what_a_capture_assigns_is_kept_from_run_to_run(self):
        count = ts.zeros(3)

        def counted(x):
            ts.ops.assign(count, count + x)
            return count

        step = ts.capture(counted)
        step(ts.ones(3))
        step.save(self.path)
        net = ts.load_capture(self.path)
        net(ts.ones(3))
        self.assertEqual(net(ts.ones(3)).tolist(), [3, 3, 3])

    def test_files_go_to_and_from_programs_in_c(self):
        program = os.path.join(os.environ.get("TSR_TEST_BUILD_DIR", ""), "examples", "17_saved_capture")
        if not os.path.exists(program):
            self.skipTest("examples/17_saved_capture is not built")
        drawn = subprocess.run([program, self.path], capture_output=True, check=True).stdout
        net = ts.load_capture(self.path)
        self.assertEqual((list(net.inputs), list(net.outputs)), (["points"], ["inside"]))
        across, down = np.meshgrid(np.linspace(-1, 1, 48), np.linspace(-1, 1, 20))
        points = np.stack([across, down], axis=-1).reshape(960, 2).astype("float32")
        inside = np.asarray(net(points)).reshape(20, 48)
        rows = ["".join(" .:-=+*#%@"[int(np.float32(number) * np.float32(9.99))] for number in row) for row in inside]
        self.assertGreater(sum(a == b for a, b in zip("\n".join(rows), drawn.decode())), 1000 * 0.97)
        step = ts.capture(lambda points: (points[:, :1] > 0) * 0.85)  # the right half is inside
        step(ts.asarray(points))
        step.save(self.path, outputs={"inside": "result"})
        drawn = subprocess.run([program, self.path, "cpu"], capture_output=True, check=True, text=True).stdout
        self.assertEqual(drawn, (" " * 24 + "%" * 24 + "\n") * 20)


class Settings(unittest.TestCase):
    def test_what_was_set_is_read_back_until_it_is_removed(self):
        usual = ts.config("pending_bytes")
        ts.config("pending_bytes", "64KiB")
        self.assertEqual((ts.config("pending_bytes"), ts.config()["pending_bytes"]), ("64KiB", "64KiB"))
        ts.config("pending_bytes", None)
        self.assertEqual(ts.config("pending_bytes"), usual)

    def test_numbers_and_flags_are_values(self):
        for name, value, text in [("threads", 2, "2"), ("tf32", True, "on"), ("tf32", False, "off")]:
            ts.config(name, value)
            self.assertEqual(ts.config(name), text)
            ts.config(name, None)

    def test_unknown_names_and_wrong_values_say_what_there_is(self):
        for call in (lambda: ts.config("memory_limits"), lambda: ts.config("memory_limits", "1GiB")):
            with self.assertRaisesRegex(ValueError, "memory_limits.*did you mean memory_limit"):
                call()
        with self.assertRaisesRegex(ValueError, 'threads: "lots" .*allowed: a whole number'):
            ts.config("threads", "lots")
        for name, value in [("threads", 0.5), ("threads", []), (3, "1")]:
            with self.assertRaisesRegex(TypeError, "^config: "):
                ts.config(name, value)

    def test_devices_that_are_opened_later_follow_them(self):
        program = """
import tessera as ts
ts.config("memory_limit", "1MiB")
ts.config("backend", "cpu")
print(ts.zeros(3).device, ts.config("memory_limit"))
try:
    (ts.zeros((1024, 1024)) + 1).evaluate()
except MemoryError:
    print("refused")
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.split(), ["cpu:0", "1MiB", "refused"], done.stderr)


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
