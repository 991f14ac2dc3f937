# SPDX-License-Identifier: MIT
"""Random programs: views, writes, copies, arithmetic, masks and reductions in any order, beside the same program in NumPy, where each statement takes effect at once."""
import random
import unittest

import numpy as np
import tessera as ts
from beside import some

PROGRAMS, STEPS = 200, 25


class Program:
    """Pairs of arrays, NumPy's and ours, of int64: every result is exact."""

    def __init__(self, seed):
        self.random, self.text = random.Random(seed), []
        self.pairs = []
        self.create()

    def note(self, *words):
        self.text.append(" ".join(str(word) for word in words))

    def pick(self):
        return self.random.choice(self.pairs)

    def add(self, wanted, found):
        if wanted.ndim <= 5 and wanted.size <= 2000:
            self.pairs.append((wanted, found))
            self.pairs = self.pairs[-8:]

    def create(self):
        shape = tuple(self.random.randint(1, 5) for _ in range(self.random.randint(0, 3)))
        data = np.array([self.random.randint(-9, 9) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
        self.note("create", shape)
        self.add(data, ts.asarray(data))

    def copy(self):
        a, x = self.pick()
        self.note("copy")
        self.add(a.copy(), x.copy())

    def key(self, shape):
        words = []
        for size in shape[:self.random.randint(0, len(shape))]:
            start, step = self.random.randint(-size, size), self.random.choice([1, 1, 2, -1])
            words.append(self.random.randrange(size) if size and self.random.random() < 0.3 else slice(None if step < 0 else start, None, step))
        return tuple(words)

    def view(self):
        a, x = self.pick()
        key = self.key(a.shape)
        self.note("view", key)
        wanted = a[key]
        if isinstance(wanted, np.ndarray):  # NumPy gives numbers where there is no axis left
            self.add(wanted, x[key])

    def transpose(self):
        a, x = self.pick()
        self.note("transpose")
        self.add(a.T, x.T)

    def combine(self):
        (a, x), (b, y) = self.pick(), self.pick()
        name = self.random.choice(["add", "subtract", "multiply", "maximum", "minimum", "bitwise_xor", "less", "equal"])
        try:
            wanted = getattr(np, name)(a % 1000, b % 1000)
        except ValueError:
            with_error = False
            try:
                getattr(ts, name)(x, y)
            except ValueError:
                with_error = True
            assert with_error, f"{name} of {a.shape} and {b.shape} should be refused"
            return
        self.note(name)
        self.add(np.asarray(wanted).astype(np.int64), getattr(ts, name)(x % 1000, y % 1000).astype(ts.int64))

    def with_number(self):
        a, x = self.pick()
        number = self.random.randint(-5, 5)
        name = self.random.choice(["+", "-", "*"])
        self.note("x", name, number)
        wanted, found = {"+": (a + number, x + number), "-": (number - a, number - x), "*": (a % 99 * number, x % 99 * number)}[name]
        self.add(np.asarray(wanted), found)

    def reduce(self):
        a, x = self.pick()
        axis = self.random.choice([None, *range(a.ndim)])
        name = self.random.choice(["sum", "max", "min", "any"])
        if a.size == 0 and name in ("max", "min"):
            return
        self.note(name, axis)
        self.add(np.asarray(getattr(a % 100, name)(axis=axis)).astype(np.int64), getattr(x % 100, name)(axis=axis).astype(ts.int64))

    def write_number(self):
        a, x = self.pick()
        key, number = self.key(a.shape), self.random.randint(-9, 9)
        self.note("write", key, number)
        a[key] = number
        x[key] = number

    def write_array(self):
        (a, x), (b, y) = self.pick(), self.pick()
        key = self.key(a.shape)
        try:
            np.broadcast_to(b, a[key].shape)
        except ValueError:
            return
        self.note("write array", key)
        a[key] = b.copy() if np.shares_memory(a, b) else b
        x[key] = y.copy() if x.shares_memory(y) else y

    def in_place(self):
        a, x = self.pick()
        number = self.random.randint(-3, 3)
        self.note("in place", number)
        if a.ndim:
            a += number
            x += number

    def mask(self):
        a, x = self.pick()
        limit = self.random.randint(-5, 5)
        self.note("mask", limit)
        if a.ndim == 0:
            return
        if self.random.random() < 0.5:
            a[a > limit] = 0
            x[x > limit] = 0
        else:
            self.add(a[a > limit], x[x > limit])

    def gather(self):
        a, x = self.pick()
        if a.ndim == 0 or a.shape[0] == 0:
            return
        rows = [self.random.randrange(-a.shape[0], a.shape[0]) for _ in range(3)]
        self.note("gather", rows)
        if self.random.random() < 0.5:
            self.add(a[rows], x[rows])
        else:
            a[rows] = 7
            x[rows] = 7

    def read(self):
        a, x = self.pick()
        self.note("read")
        assert x.tolist() == a.tolist()

    def drop(self):
        if len(self.pairs) > 2:
            del self.pairs[self.random.randrange(len(self.pairs))]

    def run(self):
        steps = [self.create, self.copy, self.view, self.view, self.transpose, self.combine, self.combine, self.with_number, self.reduce,
                 self.write_number, self.write_array, self.in_place, self.mask, self.gather, self.read, self.drop]
        for _ in range(STEPS):
            self.random.choice(steps)()
        for a, x in self.pairs:
            np.testing.assert_array_equal(np.asarray(x), a)


class Programs(unittest.TestCase):
    def test_random_programs_give_what_numpy_gives(self):
        for seed in some(range(PROGRAMS)):
            program = Program(seed)
            try:
                program.run()
            except Exception as error:
                raise AssertionError(f"program {seed}:\n" + "\n".join(program.text)) from error


if __name__ == "__main__":
    unittest.main()
