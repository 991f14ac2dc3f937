# SPDX-License-Identifier: MIT
"""Operators of few elements, which the host computes at once: their results have the bits that kernels give. Small arrays, which hold their elements without a tensor."""
import copy
import pickle
import random
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

    def test_parts_of_floats(self):
        for x in OPERANDS[:2]:
            self.check(lambda a: ts.frexp(a)[0], x)
            self.check(lambda a: ts.frexp(a)[1], x)
            self.check(ts.spacing, x)
            self.check(ts.ldexp, x, np.arange(len(x)) * 9 - 120)

    def test_bits(self):
        for x in OPERANDS:
            for count in range(1, len(x) + 1):
                for order in ("big", "little"):
                    few, many = ts.packbits(ts.asarray(x[:count]), bitorder=order), ts.packbits(ts.asarray(np.pad(x[:count], (0, 64))), bitorder=order)
                    self.assertEqual(few.tolist(), np.packbits(x[:count] != 0, bitorder=order).tolist())
                    self.assertEqual(few.tolist(), many.tolist()[:few.size])

    def test_orders_by_several_keys(self):
        generator = np.random.default_rng(5)
        for count in [1, 2, 5, 17, 32, 33] * 20:
            keys = [generator.integers(-2, 3, count).astype(generator.choice(["int64", "int32", "float32", "float64", "bool", "int8"])) for _ in range(generator.integers(1, 5))]
            for key in keys:
                if key.dtype.kind == "f":
                    key[generator.integers(0, count)] = np.nan
            self.assertEqual(ts.lexsort([ts.asarray(key) for key in keys]).tolist(), np.lexsort(keys).tolist())
        rows = generator.integers(0, 3, (3, 8))
        self.assertEqual(ts.lexsort(ts.asarray(rows)).tolist(), np.lexsort(rows).tolist())

    def test_they_are_recorded_where_gradients_are(self):
        with ts.device("cpu"):
            x = ts.asarray([0.5, 1.0, 2.0])
            np.testing.assert_allclose(np.asarray(ts.grad(lambda x: ts.sum(ts.exp(-x) * ts.sqrt(x)))(x)),
                                       np.exp(-np.asarray(x)) * (0.5 / np.sqrt(np.asarray(x)) - np.sqrt(np.asarray(x))), rtol=1e-5)
            step = ts.capture(lambda x: ts.maximum(ts.sin(x), 0.5))
            for scale in (1, 2, 3):
                np.testing.assert_allclose(np.asarray(step(x * scale)), np.maximum(np.sin(np.asarray(x) * scale), 0.5), rtol=1e-6)


def recorded(function):
    """What the function gives where everything is recorded: while a gradient is."""
    found = []

    def also(x):
        found.append(function())
        return ts.sum(x)

    ts.grad(also)(ts.asarray([1.0]))
    return np.asarray(found[0])


def ops_flat(results):
    """Several results, and their shapes, in one list."""
    parts = results if isinstance(results, tuple) else (results,)
    numbers = [ts.ops.reshape(ts.ops.cast(part, "float64"), (-1,)) for part in parts if part.size]
    return ts.ops.concat([ts.asarray([float(size) for part in parts for size in part.shape]).astype("float64"), *numbers], 0)


class Operators(unittest.TestCase):
    def values(self, shape, dtype):
        g, count = self.generator, int(np.prod(shape))
        if dtype == "bool":
            found = [g.random() < 0.5 for _ in range(count)]
        elif dtype == "int64":
            found = [g.randint(-5, 5) for _ in range(count)]
        else:
            special = g.choice([[], [], [0.0, -0.0, 1.0], [np.nan, np.inf, -np.inf, 1e-40, -0.0]])
            found = [g.choice(special) if special and g.random() < 0.5 else g.uniform(-4, 4) for _ in range(count)]
        made = ts.asarray(np.array(found, dtype).reshape(shape))
        return made.copy() if g.random() < 0.5 else made

    def call(self, name):
        """A call of the operator with random arguments."""
        g, operator = self.generator, getattr(ts.ops, name) if hasattr(ts.ops, name) else getattr(ts, name)
        dtype, rank = g.choice(["float32", "float64", "int64", "bool"]), g.randint(1, 3)
        shape = tuple(g.randint(1, 3) for _ in range(rank))
        x, axis = self.values(shape, dtype), g.randint(-rank, rank - 1)
        if name in ("sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero"):
            args = (x, g.choice([None, axis]), g.random() < 0.3)
        elif name in ("cumsum", "cumprod", "sort", "argsort"):
            args = (x, axis)
        elif name == "matmul":
            inner = g.randint(1, 6)
            args = (self.values(g.choice([(inner,), (1, inner), (3, inner)]), dtype), self.values(g.choice([(inner,), (inner, 1), (inner, 4)]), dtype))
        elif name in ("concat", "stack"):
            args = ([self.values(shape, dtype) for _ in range(g.randint(1, 3))], axis)
        elif name == "index_select":
            args = (x, axis, ts.asarray(np.array([g.randrange(shape[axis]) for _ in range(3)], g.choice(["int32", "int64"]))))
        elif name == "repeat":
            args = (x, g.randint(1, 3), axis)
        elif name == "take":
            args = (x, ts.asarray([[g.randrange(x.size) for _ in range(2)] for _ in range(2)]))
        elif name == "gather":
            shape = shape[:axis % rank] + (2,) + shape[axis % rank + 1:]
            args = (x, axis, ts.asarray(np.array([g.randrange(x.shape[axis]) for _ in range(int(np.prod(shape)))]).reshape(shape)))
        elif name == "cast":
            args = (x, g.choice(["float32", "float64", "int32", "int64", "bool", "uint8"]))
        elif name == "searchsorted":
            args = (ts.asarray(np.sort(np.asarray(self.values((5,), dtype)))), x, g.random() < 0.5)
        elif name in ("unique", "nonzero"):
            return lambda: ops_flat(operator(x))
        elif name == "bincount":
            args = (ts.asarray([g.randint(0, 5) for _ in range(7)]), None, g.randint(6, 9))
        elif name in ("dot", "outer"):
            count = g.randint(1, 5)
            args = (self.values((count,), dtype), self.values((count,), dtype))
        elif name == "diff":
            args = (x, 1, axis)
        elif name == "pad":
            args = (self.values((g.randint(1, 5),), dtype), (g.randint(0, 3),), (g.randint(0, 3),), g.choice([0, 1]) if dtype != "bool" else 0)
        elif name == "interp":
            dtype, count = g.choice(["float32", "float64"]), g.randint(1, 5)
            args = (self.values(shape, dtype), ts.asarray(np.sort(np.array([g.uniform(-4, 4) for _ in range(count)], dtype))), self.values((count,), dtype))
        elif name == "trace":
            args = (self.values((g.randint(1, 4), g.randint(1, 4)), dtype), g.choice([0, 0, 1]), *g.choice([(0, 1), (-2, -1), (1, 0)]))
        elif name == "norm":
            args = (x, 2.0)
        elif name == "einsum":
            sizes = {letter: g.randint(1, 4) for letter in "ijk"}
            equation = g.choice(["ij,jk", "ij,jk->ik", "ij,jk->ki", "i,i", "i,i->", "ij,j", "ij,j->i", "i,ij->j", "ji,jk", "kj,ji"])
            args = (equation, tuple(self.values([sizes[letter] for letter in part], g.choice(["float32", "float32", dtype])) for part in equation.split("->")[0].split(",")))
        elif name in ("convolve", "correlate"):
            args = (self.values((g.randint(1, 6),), dtype), self.values((g.randint(1, 6),), dtype), g.choice(["full", "same", "valid"]))
        elif name in ("heaviside", "logaddexp2"):
            args = (x, self.values(shape, dtype))
        elif name == "reshape":
            args = (x, g.choice([(-1,), (x.size, 1), (1, -1), (1, *shape)]))
        elif name in ("flip", "unsqueeze"):
            args = (x, axis)
        elif name in ("transpose", "moveaxis"):
            args = (x, axis, g.randint(-rank, rank - 1))
        elif name == "squeeze":
            args = (ts.ops.unsqueeze(x, axis), axis)
        elif name == "eye":
            args = (g.randint(1, 4), g.randint(1, 4), g.randint(-2, 2), dtype)
        elif name == "diag":
            args = (self.values((g.randint(1, 4),), dtype), g.randint(-2, 2))
        else:
            numbers = [g.randint(0, 1)] if dtype == "int64" else [0, 1.5, -2]
            args = [self.values(shape, "bool"), x, self.values(shape, dtype)]
            if dtype != "bool" and g.random() < 0.5:
                args[g.choice([1, 2])] = g.choice(numbers)
        return lambda: operator(*args)

    def test_they_give_what_is_recorded(self):
        self.generator = random.Random(5)
        names = """sum mean prod max min any all argmax argmin count_nonzero cumsum cumprod sort argsort matmul concat stack index_select repeat where take gather cast searchsorted
                   unique nonzero bincount diag dot outer diff eye reshape flip unsqueeze transpose moveaxis squeeze pad interp trace norm einsum
                   convolve correlate heaviside logaddexp2""".split()
        with ts.device("cpu"):
            for k in range(40 * len(names)):
                name = names[k % len(names)]
                call = self.call(name)
                try:
                    wanted = recorded(call)
                except TypeError:
                    self.assertRaises(TypeError, call)
                    continue
                found = np.asarray(call())
                self.assertTrue(same_bits(found, wanted), (name, found, wanted))


class Matrices(unittest.TestCase):
    """Linear algebra of few elements, in double precision: within the roundings of what is recorded."""

    def check(self, function, *inputs):
        with ts.device("cpu"):
            made = [ts.asarray(x) for x in inputs]
            found, wanted = np.asarray(function(*made)), recorded(lambda: function(*made))
        self.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape))
        size = np.abs(wanted).max() if wanted.size else 1
        np.testing.assert_allclose(found, wanted, rtol=0, atol=size * (2e-5 if found.dtype == np.float32 else 1e-12), err_msg=str((function, inputs)))

    def test_they_give_what_is_recorded(self):
        g = np.random.default_rng(7)
        la = ts.linalg
        for dtype in ("float32", "float64"):
            for n in (1, 2, 3, 4, 5):
                for _ in range(6):
                    x = (g.uniform(-0.5, 0.5, size=(n, n)) + 3 * np.eye(n)).astype(dtype)
                    s = (x @ x.T + np.eye(n)).astype(dtype)
                    for function in (la.det, la.inv, la.pinv, la.svdvals, la.matrix_rank, lambda x: la.slogdet(x)[0], lambda x: la.slogdet(x)[1]):
                        self.check(function, x)
                    for function in (la.cholesky, lambda x: la.cholesky(x, upper=True), la.eigvalsh):
                        self.check(function, s)
                    self.check(la.solve, x, g.normal(size=n).astype(dtype))
                    self.check(la.solve, x, g.normal(size=(n, 2)).astype(dtype))
                    for shape in ((n, 2), (2, n), (n, 5)):
                        y = g.normal(size=shape).astype(dtype)
                        while np.linalg.cond(y) > 30:  # else the roundings of f32 decide
                            y = g.normal(size=shape).astype(dtype)
                        for function in (la.pinv, la.svdvals, la.matrix_rank):
                            self.check(function, y)
                    with ts.device("cpu"):  # vectors, whose signs are open
                        values, vectors = la.eigh(ts.asarray(s))
                        np.testing.assert_allclose(np.asarray(vectors) @ np.diag(np.asarray(values)) @ np.asarray(vectors).T, s, atol=1e-5 * np.abs(s).max())
                        for y in (x, x[:, :2]):
                            u, values, vt = la.svd(ts.asarray(y.copy()), full_matrices=False)
                            np.testing.assert_allclose(np.asarray(u) @ np.diag(np.asarray(values)) @ np.asarray(vt), y, atol=1e-5)
                            self.assertTrue(np.all(np.diff(np.asarray(values)) <= 0))

    def test_what_has_no_answer_is_left_to_the_operators(self):
        la, nan = ts.linalg, np.float32("nan")
        for x in ([[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1, nan], [2, 3]], [[np.inf, 1], [1, 1]], [[-1, 0], [0, 1]]):
            x = np.array(x, "float32")
            for function in (la.det, la.inv, la.pinv, la.svdvals, la.matrix_rank, la.cholesky, la.eigvalsh):
                with ts.device("cpu"):
                    made = ts.asarray(x)
                    found, wanted = np.asarray(function(made)), recorded(lambda: function(made))
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str((function.__name__, x)))


class Held(unittest.TestCase):
    """Arrays that hold their elements behave as all others."""

    def setUp(self):
        self.enterContext(ts.device("cpu"))
        self.x = ts.asarray([[1.0, 2.0], [3.0, 4.0]])

    def test_views_share_memory(self):
        row, flat = self.x[1], self.x.ravel()
        self.x[1, 0] = 7.0
        row += 1
        flat[0] = 5.0
        self.assertEqual(self.x.tolist(), [[5.0, 2.0], [8.0, 5.0]])
        self.assertTrue(row.shares_memory(self.x))

    def test_views_of_views_share_memory_whatever_gets_a_tensor(self):
        """Random views of small arrays, and views of these, written and read in any order, beside NumPy's. Some get a tensor on the way."""
        g = random.Random(11)

        def take(x):
            """The same random view of an array of either library, as a function."""
            rank = x.ndim
            how = g.choice(["key", "key", "key", "axes", "shape", "squeeze", "row"])
            if how == "axes":
                return lambda x: x.T
            if how == "shape":
                sizes = [size for size in range(1, x.size + 1) if x.size % size == 0]
                shape = g.choice([(-1,), (g.choice(sizes), -1), (x.size, 1)])
                return (lambda x: x.reshape(shape)) if x.flags.c_contiguous else (lambda x: x[...])
            if how == "squeeze" and x.squeeze().ndim:
                return lambda x: x.squeeze()
            if how == "row" and rank > 1:
                row = g.randrange(-x.shape[0], x.shape[0])
                return lambda x: x[row]
            key = tuple(g.choice([slice(g.randint(-4, 2), None), slice(None), slice(None, None, -1), slice(None, g.randint(1, 9), g.choice([1, 2, 200])),
                                  slice(None, None, -2)]) for _ in range(g.randint(0, rank)))
            if g.random() < 0.2:
                key = (*key, Ellipsis, None)
            return lambda x: x[key]

        for _ in range(400):
            dtype = g.choice(["float32", "float64", "int64", "bool"])
            shape = g.choice([(6,), (2, 3), (3, 5), (2, 2, 3), (1, 4), (2, 1, 2)])
            base = np.array([g.randint(0, 9) for _ in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)
            ours, theirs = [ts.asarray(base).copy()], [base.copy()]
            for _ in range(g.randint(2, 14)):
                at = g.randrange(len(ours))
                what = g.choice(["view", "view", "view", "number", "add", "array", "tensor", "mask", "element", "drop"])
                if what == "view":
                    function = take(theirs[at])
                    if function(theirs[at]).size and function(theirs[at]).ndim <= 8:
                        ours.append(function(ours[at]))
                        theirs.append(function(theirs[at]))
                elif what == "drop" and len(ours) > 1:
                    del ours[at], theirs[at]
                for x in (ours[at % len(ours)], theirs[at % len(ours)]):
                    if what == "number":
                        x[...] = 1
                        x[-1:] = 2
                    elif what == "add" and dtype != "bool":
                        x += x
                    elif what == "array":
                        x[:] = x[::-1].copy()
                        x[:1] = x[-1]
                    elif what == "mask":
                        x[x == 2] = 3
                    elif what == "element":
                        x[(0,) * x.ndim] = 4
                    elif what == "tensor" and isinstance(x, ts.Array):
                        g.choice([x.evaluate, lambda: np.asarray(x), lambda: ts.ops.gelu(x.astype("float32")).evaluate()])()
                for x, y in zip(ours, theirs):
                    self.assertEqual((x.shape, x.tolist()), (y.shape, y.tolist()))

    def test_a_view_outlives_its_array_and_another_shape_of_it(self):
        x = ts.asarray([[1.0, 2.0], [3.0, 4.0]])
        row = x[1]
        x.shape = (4,)
        row[0] = 7.0
        self.assertEqual(x.tolist(), [1.0, 2.0, 7.0, 4.0])
        view = x[1:]
        for _ in range(100):
            view = view[:]
        del x
        self.assertEqual(view.tolist(), [2.0, 7.0, 4.0])
        self.assertEqual((view * 2).tolist(), [4.0, 14.0, 8.0])
        view = ts.arange(4)[1:]
        step = ts.capture(lambda x: x + view)
        self.assertEqual(step(ts.asarray([1, 1, 1])).tolist(), [2, 3, 4])
        view[0] = 10
        self.assertEqual(step(ts.asarray([1, 1, 1])).tolist(), [11, 3, 4])

    def test_writing(self):
        x, same = self.x, self.x
        x[0, 1] = 9
        x[-1, -1] += 1
        x *= 2
        self.assertIs(x, same)
        self.assertEqual(x.tolist(), [[2.0, 18.0], [6.0, 10.0]])
        x[:] = ts.zeros((2, 2))
        x[...] = x + 1
        self.assertEqual(x.tolist(), [[1.0, 1.0], [1.0, 1.0]])
        x[:] = ts.asarray([3.0, 4.0])
        x[1:] = ts.asarray([5.0, 6.0])
        self.assertEqual(x.tolist(), [[3.0, 4.0], [5.0, 6.0]])
        with self.assertRaises(IndexError):
            x[2, 0] = 1.0
        with self.assertRaises(ValueError):
            x[:] = ts.zeros(3)
        self.assertIs(ts.add(x, 1, x), x)
        self.assertEqual(x.tolist(), [[4.0, 5.0], [6.0, 7.0]])
        whole = ts.asarray([1, 2, 3])
        with self.assertRaises(OverflowError):
            whole[0] = 2 ** 70
        whole[0] = 2.9
        self.assertEqual(whole.tolist(), [2, 2, 3])

    def test_copies_are_apart(self):
        for other in (self.x.copy(), ts.array(self.x), copy.deepcopy(self.x), pickle.loads(pickle.dumps(self.x)), self.x.astype("float32"), ts.copy(self.x)):
            other[0, 0] = 50.0
            self.assertEqual(float(self.x[0, 0]), 1.0)
        self.assertEqual(self.x.flatten().tolist(), [1.0, 2.0, 3.0, 4.0])

    def test_properties_and_elements(self):
        x = self.x
        self.assertEqual((x.shape, x.ndim, x.size, len(x), x.dtype, x.strides, x.itemsize), ((2, 2), 2, 4, 2, ts.float32, (8, 4), 4))
        self.assertEqual([v.tolist() for v in x], [[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual([float(v) for v in ts.asarray([1, 2])], [1.0, 2.0])
        self.assertEqual((x.item(3), x.item(1, 0), ts.asarray([True]).item(), bool(ts.asarray([5])), int(ts.asarray([7]))), (4.0, 3.0, True, True, 7))
        self.assertEqual(x[1, -1], 4.0)
        for wrong in (lambda: x[2, 0], lambda: x[0, 0, 0], lambda: x.item(4), lambda: ts.asarray([1, 2])[2]):
            self.assertRaises(IndexError, wrong)
        self.assertRaises(ValueError, bool, x)
        self.assertRaises(TypeError, hash, x)
        self.assertEqual(repr(ts.arange(3)), "array([0, 1, 2])")
        x.shape = (4,)
        self.assertEqual(x.tolist(), [1.0, 2.0, 3.0, 4.0])

    def test_keys(self):
        m = np.arange(12, dtype="float32").reshape(3, 4)
        x = ts.asarray(m.tolist())
        for key in ((slice(None), 1), (Ellipsis, 0), (None, 1), (1, None), (slice(None), None), (slice(0, 2), slice(None, None, -1)), (Ellipsis, None, 2), (1, Ellipsis),
                    (slice(5, 1, -2), 0), (Ellipsis,), (), (-1, -1), (slice(None), -1), (np.int64(1), 2), (True, 1), ([0, 2], 1), (slice(1, None), [0, 3])):
            np.testing.assert_array_equal(np.asarray(x[key]), m[key], err_msg=str(key))
        for key in ((slice(None), 4), (3, 0), (0, 0, 0), (Ellipsis, Ellipsis), (slice(None), 2 ** 70)):
            self.assertRaises(IndexError, lambda: x[key])

    def test_others_see_their_memory(self):
        seen = np.asarray(self.x)
        self.x[0, 0] = 8.0
        self.assertEqual(seen[0, 0], 8.0)

    def test_captures_read_what_was_written_since(self):
        weight = ts.asarray([1.0, 2.0])
        step = ts.capture(lambda x: x * weight)
        x = ts.asarray([3.0, 4.0])
        self.assertEqual(step(x).tolist(), [3.0, 8.0])
        weight[0] = 10.0
        self.assertEqual(step(x).tolist(), [30.0, 8.0])
        self.assertEqual(step(x + 1).tolist(), [40.0, 10.0])


if __name__ == "__main__":
    unittest.main()
