# SPDX-License-Identifier: MIT
"""x[key] and x[key] = value, with random keys beside NumPy."""
import itertools
import operator
import random
import unittest

import numpy as np
import tessera as ts
from beside import some


def random_slice(generator, size):
    bounds = [None, *range(-size - 1, size + 2)]
    return slice(generator.choice(bounds), generator.choice(bounds), generator.choice([None, 1, 2, 3, -1, -2]))


def random_index_array(generator, size, shape):
    if size == 0:
        return np.zeros([0] + list(shape[1:]), np.int64)
    return np.array([generator.randrange(-size, size) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)


def random_key(generator, shape, is_advanced):
    """A key that NumPy accepts for that shape."""
    key, axis, has_ellipsis = [], 0, False
    index_shape = generator.choice([(2,), (3,), (2, 2), (1, 3)])
    while axis < len(shape) and generator.random() < 0.85:
        choice = generator.random()
        if choice < 0.1:
            key.append(None)
            continue
        if choice < 0.2 and not has_ellipsis:
            has_ellipsis = True
            key.append(Ellipsis)
            axis = generator.randint(axis, len(shape))
            rest = len(shape) - axis
            key += [random_slice(generator, shape[len(shape) - rest + i]) for i in range(rest)]
            break
        if choice < 0.5 or shape[axis] == 0:
            key.append(random_slice(generator, shape[axis]))
        elif choice < 0.7 or not is_advanced:
            key.append(generator.randrange(-shape[axis], shape[axis]))
        elif choice < 0.9:
            array = random_index_array(generator, shape[axis], generator.choice([index_shape, (1,), index_shape[-1:]]))
            key.append(array.tolist() if generator.random() < 0.3 else array)
        else:
            key.append(np.array([generator.random() < 0.6 for _ in range(shape[axis])], bool))
        axis += 1
    return key[0] if len(key) == 1 and generator.random() < 0.5 and not isinstance(key[0], list) else tuple(key)


def ours(key):
    """The key with our arrays in place of NumPy's, half of the time."""
    if isinstance(key, tuple):
        return tuple(ours(item) for item in key)
    return ts.asarray(key) if isinstance(key, np.ndarray) and key.size % 2 else key


class RandomKeys(unittest.TestCase):
    def setUp(self):
        self.generator = random.Random(11)

    def data(self, last=()):
        shape = [self.generator.choice([1, 2, 3, 4, 5, 0]) for _ in range(self.generator.randint(0, 4))] + list(last)
        return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)

    def rounds(self, count, is_advanced, last=()):
        """Random arrays and keys; `last` are axes after those that keys index, so that arrays are too large for the host's own way."""
        done = 0
        while done < count:
            data = self.data(last)
            key = random_key(self.generator, data.shape[:data.ndim - len(last)], is_advanced)
            try:
                wanted = data[key]
            except IndexError:  # masks and arrays that do not broadcast
                with self.assertRaises(IndexError, msg=f"{data.shape} {key}"):
                    ts.asarray(data)[ours(key)]
                continue
            done += 1
            yield data, key, wanted

    def check_reading(self, count, is_advanced, last=()):
        for data, key, wanted in self.rounds(count, is_advanced, last):
            found = ts.asarray(data)[ours(key)]
            self.assertEqual(found.shape, wanted.shape, f"{data.shape} {key}")
            np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=f"{data.shape} {key}")

    def check_writing(self, count, is_advanced, last=()):
        for data, key, wanted in self.rounds(count, is_advanced, last):
            x, target = ts.asarray(data), data.copy()
            value = -1 if self.generator.random() < 0.4 else -1 - np.arange(wanted.size, dtype=np.int64).reshape(wanted.shape)
            if isinstance(value, np.ndarray) and self.generator.random() < 0.3 and value.ndim:
                value = value[:1] if value.shape[0] else value
            target[key] = value
            x[ours(key)] = value
            np.testing.assert_array_equal(np.asarray(x), target, err_msg=f"{data.shape} {key}")

    def test_views_are_numpys(self):
        self.check_reading(1200, False)

    def test_arrays_and_masks_read_as_numpy_does(self):
        self.check_reading(800, True)

    def test_large_arrays_are_read_and_written_as_numpy_does(self):
        self.check_reading(150, True, (1031,))
        self.check_writing(100, True, (1031,))

    def test_views_are_written_as_numpy_does(self):
        self.check_writing(500, False)

    def test_arrays_and_masks_write_as_numpy_does(self):
        self.check_writing(500, True)


class Keys(unittest.TestCase):
    def test_small_arrays_are_indexed_by_arrays_of_any_integers(self):
        data = np.arange(12, dtype=np.float32).reshape(3, 4)
        for dtype in ("int8", "uint8", "int16", "int32", "uint32", "int64"):
            rows = np.array([[2], [0]], dtype)
            np.testing.assert_array_equal(np.asarray(ts.asarray(data)[ts.asarray(rows), [1, 3]]), data[rows, [1, 3]])
        for key in ([3], (0, [4]), [-4]):
            with self.assertRaises(IndexError):
                ts.asarray(data)[key]
            with self.assertRaises(IndexError):
                ts.asarray(data, device="cpu")[ts.asarray(key, device="cpu") if isinstance(key, list) else key] = 1

    def test_numbers_of_arrays_are_indices(self):
        x, m, order = ts.asarray([5.0, 6.0, 7.0]), ts.arange(6).reshape(3, 2), ts.asarray([2, 0])
        self.assertEqual([x[i].item() for i in order], [7, 5])
        self.assertEqual(m[order[0]].tolist(), [4, 5])
        m[ts.argmax(x)] = -1
        m[order[1], 0] = 9
        self.assertEqual(m.tolist(), [[9, 1], [2, 3], [-1, -1]])
        if m.device == ts.device("cpu"):  # elsewhere reading the number would wait, so that the row is a copy
            row = m[order[0]]
            row += 1
            self.assertEqual(m[2].tolist(), [0, 0])

    def test_writing_by_arrays_leaves_what_was_recorded_before(self):
        x = ts.asarray([1.0, 2.0, 3.0, 4.0])
        double, turned = x * 2, x.reshape(2, 2).T
        x[[0, 3]] = [9.0, 8.0]
        turned[[1]] = 7.0
        x[x == 3] = 0.5
        self.assertEqual(double.tolist(), [2, 4, 6, 8])
        self.assertEqual(x.tolist(), [9, 7, 0.5, 7])

    def test_views_share_memory_and_gathers_do_not(self):
        x = ts.arange(12).reshape(3, 4)
        self.assertTrue(x[1:, ::2].shares_memory(x))
        self.assertFalse(x[[0, 1]].shares_memory(x))

    def test_masks_of_several_axes(self):
        data = np.arange(24).reshape(2, 3, 4)
        x, mask = ts.asarray(data), data[:, :, 0] % 8 == 0
        np.testing.assert_array_equal(np.asarray(x[ts.asarray(mask)]), data[mask])
        np.testing.assert_array_equal(np.asarray(x[x % 5 == 0]), data[data % 5 == 0])
        x[x > 10] = 0
        data[data > 10] = 0
        np.testing.assert_array_equal(np.asarray(x), data)

    def test_bools_alone(self):
        data = np.arange(3)
        for key in (True, False, (True, slice(1, None))):
            np.testing.assert_array_equal(np.asarray(ts.asarray(data)[key]), data[key])
        self.assertEqual(ts.arange(3)[np.True_].tolist(), [[0, 1, 2]])
        self.assertEqual(ts.arange(3)[np.int64(1)].item(), 1)

    def test_wrong_keys_are_index_errors(self):
        x = ts.zeros((2, 3))
        for key in (2, -3, (0, 3), (0, 0, 0), (..., ...), [5], [0.5], 1.5, "a", ([0, 1], [0, 1, 2]), [True, False, True]):
            with self.assertRaises((IndexError, TypeError), msg=repr(key)):
                x[key]
        with self.assertRaises(ValueError):
            x[0] = ts.zeros(5)
        with self.assertRaises(ValueError):
            del x[0]

    def test_in_place_operators_write_through_views(self):
        x = ts.arange(6).reshape(2, 3)
        row = x[0]
        row += 10
        x[1] *= 2
        self.assertEqual(x.tolist(), [[10, 11, 12], [6, 8, 10]])
        with self.assertRaises(TypeError):
            x += 0.5

    def test_an_element_is_the_number_that_was_there(self):
        for make in (lambda: ts.arange(5), lambda: ts.arange(5) * 1.5, lambda: ts.sort(ts.asarray([3.0, 1.0, 2.0]))):
            x = make()
            wanted = np.array(x)
            wanted[0], wanted[2] = wanted[2], wanted[0]
            x[0], x[2] = x[2], x[0]
            np.testing.assert_array_equal(np.asarray(x), wanted)
            kept = x[1]
            x[1] = 7
            self.assertEqual(float(kept), wanted[1])
        m = ts.reshape(ts.arange(6), (2, 3))
        corner = m[1, -1]
        m += 10
        self.assertEqual(corner, 5)
        self.assertEqual(m[1, -1], 15)
        self.assertEqual((corner.shape, corner.dtype, corner.ndim), ((), ts.int64, 0))

    def test_elements_compute_as_arrays_do(self):
        for dtype in some(("float32", "float64", "int64", "int32", "uint8", "bool")):
            data = np.array([3, 2, 1, 0]).astype(dtype)
            x = ts.asarray(data)
            for a, b in itertools.product([x[0], x[1:2].reshape(()), 2, 0.5 if dtype.startswith("f") else 3], repeat=2):
                if isinstance(a, (int, float)) and isinstance(b, (int, float)):
                    continue
                as_arrays = [ts.asarray(np.asarray(side).reshape(1)) if isinstance(side, ts.Array) else side for side in (a, b)]
                for name in ("add", "sub", "mul", "truediv", "lt", "le", "eq", "ne", "gt", "ge"):
                    function = getattr(operator, name)
                    try:
                        wanted = function(*as_arrays)
                    except TypeError:
                        self.assertRaises(TypeError, function, a, b)
                        continue
                    found = function(a, b)
                    self.assertEqual((found.dtype, found.item()), (wanted.dtype, wanted.item()), f"{name} {dtype} {a!r} {b!r}")

    def test_elements_keep_their_gradient(self):
        found = ts.grad(lambda x: x[0] * x[1] + x[2])(ts.asarray([2.0, 3.0, 4.0]))
        self.assertEqual(found.tolist(), [3.0, 2.0, 1.0])

    def test_an_element_in_a_capture_is_read_in_each_run(self):
        step = ts.capture(lambda x: x * x[1])
        self.assertEqual(step(ts.asarray([1.0, 2.0])).tolist(), [2.0, 4.0])
        self.assertEqual(step(ts.asarray([1.0, 5.0])).tolist(), [5.0, 25.0])

    def test_what_a_key_names_wrongly_is_an_index_error(self):
        x, m = ts.arange(4), ts.zeros((2, 3))
        for array, key in ((x, 4), (x, -5), (x, 10**30), (x, (0, 0)), (m, (0, 3)), (m, (0, 0, 0)), (m, (..., ...)), (m, (slice(None), 9)), (x[0], 0)):
            with self.assertRaises(IndexError):
                array[key]
            with self.assertRaises(IndexError):
                array[key] = 1

    def test_functions_check_indices_as_keys_do(self):
        x, m = ts.arange(3), ts.zeros((2, 3))
        few = ts.asarray([0, 3], device="cpu")
        calls = [lambda i: ts.take(x, i), lambda i: x.take(i), lambda i: ts.take(m, i, axis=1), lambda i: ts.choose(i, [x[:2], x[1:], x[:2]]),
                 lambda i: ts.take_along_axis(x, i, 0), lambda i: ts.put_along_axis(x, i, 1, 0)]
        for at, call in enumerate(calls):
            for wrong in ([0, 3], np.array([-4, 0])) + ((few,) if str(x.device).startswith("cpu") else ()):
                with self.assertRaisesRegex(IndexError, "out of bounds", msg=at):
                    call(wrong)
        with self.assertRaisesRegex(IndexError, "index 3 is out of bounds for axis 1 with size 3"):
            ts.take(m, 3, axis=1)
        self.assertEqual(ts.take(x, [-1, 2]).tolist(), [2, 2])
        self.assertEqual(ts.take(x, [5], mode="clip").tolist(), [2])
        self.assertEqual(ts.take(ts.arange(5000), list(range(4999, 2000, -1)))[0].item(), 4999)
        with self.assertRaises(IndexError):
            ts.take(ts.arange(3000), list(range(3001)))
        for wrong in (lambda: ts.unravel_index(9, (3, 3)), lambda: ts.unravel_index(-1, (3, 3)), lambda: ts.ravel_multi_index((3, 0), (3, 3))):
            with self.assertRaises(IndexError):
                wrong()

    def test_indices_in_recordings_are_not_read(self):
        found = ts.grad(lambda x: ts.take(x, ts.asarray([0, 1])).sum())(ts.asarray([2.0, 3.0, 4.0]))
        self.assertEqual(found.tolist(), [1.0, 1.0, 0.0])
        step = ts.capture(lambda x, i: ts.take(x, i))
        self.assertEqual(step(ts.asarray([5.0, 6.0]), ts.asarray([1, 0])).tolist(), [6.0, 5.0])


if __name__ == "__main__":
    unittest.main()
