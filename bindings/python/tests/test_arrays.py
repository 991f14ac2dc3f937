# SPDX-License-Identifier: MIT
"""Arrays: making them, reading them, printing, exchanging them with NumPy, their lives."""
import copy
import gc
import pickle
import random
import re
import threading
import unittest

import numpy as np
import tessera as ts
import beside  # noqa: F401

NUMPY_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint32", "float16", "float32", "float64", "uint16", "uint64"]


class Making(unittest.TestCase):
    def test_lists_give_the_dtype_of_their_kind(self):
        for data, dtype in [([True, False], ts.bool), ([1, 2], ts.int64), ([1, 2.5], ts.float32), ([], ts.float32), ([2**63], ts.uint64),
                            (3, ts.int64), (0.5, ts.float32), (True, ts.bool), ([True, 2], ts.int64)]:
            self.assertEqual(ts.asarray(data).dtype, dtype, data)

    def test_nested_lists_have_the_shape_that_numpy_gives_them(self):
        for data in [5, [1, 2], [[1, 2], [3, 4]], [[[1], [2]]], [[], []], ((1, 2), [3, 4])]:
            made, wanted = ts.asarray(data), np.asarray(data)
            self.assertEqual(made.shape, wanted.shape)
            self.assertEqual(made.tolist(), wanted.tolist())

    def test_large_integers_are_exact(self):
        for value in (2**53 + 1, -(2**63), 2**63 - 1, 2**64 - 1):
            self.assertEqual(ts.asarray(value).item(), value)
            self.assertEqual(ts.asarray([value]).tolist(), [value])

    def test_lists_of_arrays_are_stacked(self):
        rows = [ts.arange(3), np.arange(3, 6), [6, 7, 8]]
        self.assertEqual(ts.asarray(rows).tolist(), [[0, 1, 2], [3, 4, 5], [6, 7, 8]])

    def test_what_makes_no_array_is_refused(self):
        for wrong, error in [([[1], [1, 2]], ValueError), ([1, [2]], ValueError), ("text", TypeError), (object(), TypeError), (1j, TypeError),
                             ([None], TypeError), ([2**64], OverflowError), ([[[[[[[[[1]]]]]]]]], ValueError)]:
            with self.assertRaises(error, msg=repr(wrong)):
                ts.asarray(wrong)

    def test_numbers_that_a_dtype_does_not_hold_are_refused(self):
        for wrong, dtype in [(300, "uint8"), (-1, "uint32"), (2**31, "int32"), (-129, "int8"), (2**63, "int64"), (-1, "uint64")]:
            for given in (wrong, [wrong], [[0], [wrong]], [0] * 99 + [wrong]):
                with self.assertRaisesRegex(OverflowError, f"{wrong} does not fit"):
                    ts.asarray(given, dtype)
        for right, dtype in [(255, "uint8"), (0, "uint8"), (-128, "int8"), (127, "int8"), (2**64 - 1, "uint64"), (-(2**63), "int64"), (True, "int8")]:
            self.assertEqual(ts.asarray([right], dtype).tolist(), [right])
        self.assertEqual(ts.asarray([2**63, 1], ts.float32).tolist(), [2.0**63, 1.0])
        self.assertEqual(ts.asarray([300, 0], ts.bool).tolist(), [True, False])

    def test_creation_functions_agree_with_numpy(self):
        for name, args in [("arange", (5,)), ("arange", (2, 9, 3)), ("arange", (5, 0, -2)), ("arange", (0, 1, 0.25)), ("linspace", (0, 1, 5)),
                           ("zeros", ((2, 3),)), ("ones", (4,)), ("full", ((2,), 7)), ("eye", (3,)), ("eye", (2, 4)), ("identity", (3,))]:
            made, wanted = getattr(ts, name)(*args), getattr(np, name)(*args)
            np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-6, err_msg=f"{name}{args}")
            self.assertEqual(made.dtype.kind, wanted.dtype.kind)


class Exchange(unittest.TestCase):
    def test_every_dtype_goes_to_numpy_and_back(self):
        for name in NUMPY_DTYPES:
            data = np.arange(12).reshape(3, 4).astype(name)
            made = ts.asarray(data)
            self.assertEqual(made.dtype, name)
            for view, wanted in [(made, data), (made.T, data.T), (made[::-1, 1:3], data[::-1, 1:3]), (ts.asarray(data[:, ::2]), data[:, ::2])]:
                back = np.asarray(view)
                self.assertEqual(back.dtype, wanted.dtype)
                np.testing.assert_array_equal(back, wanted)

    def test_asarray_of_numpy_does_not_see_later_changes(self):
        data = np.zeros(4, np.float32)
        sum_later = ts.asarray(data) + 1
        data[:] = 5
        self.assertEqual(sum_later.tolist(), [1, 1, 1, 1])

    def test_numpy_sees_the_same_memory_read_only(self):
        x = ts.arange(4, device="cpu")
        seen = np.asarray(x)
        self.assertFalse(seen.flags.writeable)
        x[0] = 9
        ts.device("cpu").synchronize()
        self.assertEqual(seen[0], 9)

    def test_from_dlpack_shares_and_keeps_the_memory(self):
        data = np.arange(6, dtype=np.float32).reshape(2, 3)
        shared = ts.from_dlpack(data)
        shared[0, 0] = 7
        ts.device("cpu").synchronize()
        self.assertEqual(data[0, 0], 7)
        del data
        gc.collect()
        self.assertEqual(shared.tolist(), [[7, 1, 2], [3, 4, 5]])
        self.assertFalse(ts.from_dlpack(shared, copy=True).shares_memory(shared))

    def test_numpy_reads_through_dlpack(self):
        np.testing.assert_array_equal(np.from_dlpack(ts.arange(5, device="cpu")), np.arange(5))  # NumPy takes no memory of GPUs

    def test_an_array_outlives_what_numpy_made_of_it_and_the_reverse(self):
        x = ts.arange(1000)
        seen = np.asarray(x)
        del x
        gc.collect()
        self.assertEqual(seen.sum(), 499500)

    def test_dtypes_that_numpy_lacks_are_widened(self):
        x = ts.asarray([1.5, -2], ts.bfloat16)
        self.assertEqual(np.asarray(x).dtype, np.float32)
        self.assertEqual(np.asarray(x).tolist(), [1.5, -2])
        with self.assertRaises(BufferError):
            memoryview(x)

    def test_numpy_operands_give_our_arrays(self):
        for made in (np.arange(3) + ts.arange(3), ts.arange(3) + np.arange(3), np.float32(1) * ts.ones(3), ts.ones(3) > np.zeros(3)):
            self.assertIsInstance(made, ts.Array)

    def test_pickle_and_copy(self):
        for x in [ts.arange(6).reshape(2, 3), ts.asarray([True, False]), ts.asarray(2.5), ts.asarray([1.5], ts.bfloat16), ts.zeros((0, 3)),
                  ts.arange(6).reshape(2, 3).T]:
            for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
                self.assertEqual((made.dtype, made.shape, made.tolist()), (x.dtype, x.shape, x.tolist()))
                self.assertFalse(made.shares_memory(x) and x.size)
        self.assertIs(pickle.loads(pickle.dumps(ts.float32)), ts.float32)


class Text(unittest.TestCase):
    def test_str_and_repr_are_numpys(self):
        generator = random.Random(5)
        for _ in range(300):
            shape = [generator.choice([1, 2, 3, 7, 30]) for _ in range(generator.randint(0, 3))]
            name = generator.choice(NUMPY_DTYPES)
            scale = generator.choice([1, 100] if name == "float16" else [1, 100, 1e5, 1e9])
            data = np.random.default_rng(generator.randrange(10**6)).standard_normal(shape)
            data = np.asarray(data * scale)
            data = np.asarray(np.abs(data) if name.startswith("u") else data).astype("int64" if "int" in name else name).astype(name)
            x = ts.asarray(data)
            self.assertEqual(str(x), str(data))
            # Default dtypes are not shown: NumPy's are int64, float64 and bool.
            plain = [re.sub(r",\s+dtype=float(32|64)\)$", ")", text) for text in (repr(x), repr(data) if shape else str(data))]
            self.assertEqual(*plain)

    def test_numbers_are_formatted(self):
        self.assertEqual(f"{ts.asarray(2.5):.2f}", "2.50")
        self.assertEqual(f"{ts.asarray([1, 2])}", "[1 2]")
        self.assertEqual(repr(ts.zeros((0, 2))), "array([], shape=(0, 2), dtype=float32)")
        self.assertEqual((repr(ts.float32), str(ts.float32)), ("tessera.float32", "float32"))


class AsPython(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual((int(ts.asarray(3.7)), float(ts.asarray(2)), bool(ts.asarray([0]))), (3, 2.0, False))
        self.assertEqual([10, 20, 30][ts.asarray(1)], 20)
        self.assertEqual([int(row.sum()) for row in ts.arange(6).reshape(3, 2)], [1, 5, 9])
        self.assertEqual(len(ts.zeros((3, 2))), 3)
        self.assertTrue(3 in ts.arange(5) and 7 not in ts.arange(5))

    def test_what_has_no_meaning_is_refused(self):
        for error, call in [(ValueError, lambda: bool(ts.zeros(2))), (ValueError, lambda: bool(ts.zeros(0))), (TypeError, lambda: len(ts.asarray(1))),
                            (TypeError, lambda: hash(ts.zeros(1))), (TypeError, lambda: [1][ts.asarray(0.0)]), (TypeError, lambda: float(ts.zeros(2))), (TypeError, lambda: int(ts.zeros(2))),
                            (TypeError, lambda: list(ts.asarray(1))), (TypeError, lambda: ts.Array())]:
            with self.assertRaises(error):
                call()


class Errors(unittest.TestCase):
    def test_messages_are_the_librarys(self):
        with self.assertRaisesRegex(ValueError, "matmul: inner sizes differ, a is 2x3, b is 2x3"):
            ts.ones((2, 3)) @ ts.ones((2, 3))
        with self.assertRaisesRegex(ValueError, "broadcast|shapes"):
            ts.ones(3) + ts.ones(4)
        with self.assertRaises(TypeError):
            ts.ones(3) & ts.ones(3)
        with self.assertRaisesRegex(ts.DeviceError, "nowhere"):
            ts.device("nowhere")
        with self.assertRaises(OverflowError):
            ts.asarray([1], ts.uint8) + 300
        self.assertTrue(issubclass(ts.DeviceError, ts.Error) and issubclass(ts.Error, RuntimeError))


class Lives(unittest.TestCase):
    def test_threads_work_side_by_side(self):
        results = []

        def work(seed):
            x = ts.ops.randn((64, 64), seed)
            for _ in range(20):
                x = ts.tanh(x @ x * 0.05)
            results.append((seed, x.sum().item()))

        for _ in range(2):
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(set(results)), 4)

    def test_the_current_device_is_each_threads_own(self):
        cpu = ts.device("cpu")
        self.assertIs(ts.device("cpu:0"), cpu)
        self.assertEqual(cpu, "cpu")
        with cpu:
            self.assertIs(ts.device(), cpu)
            self.assertIs(ts.zeros(1).device, cpu)
        with self.assertRaises(RuntimeError):
            cpu.__exit__(None, None, None)


if __name__ == "__main__":
    unittest.main()
