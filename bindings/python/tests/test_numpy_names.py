# SPDX-License-Identifier: MIT
"""NumPy's other functions and its random numbers; pages of NumPy code with another import line."""
import unittest

import numpy as np
import tessera as ts

PAGES = {
    "the game of life": """
g = np.zeros((8, 8), dtype=int)
g[1, 2] = g[2, 3] = g[3, 1] = g[3, 2] = g[3, 3] = 1
for _ in range(4):
    n = sum(np.roll(np.roll(g, i, axis=0), j, axis=1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    g = ((n == 3) | ((g == 1) & (n == 2))).astype(int)
answer = g
""",
    "k-means": """
points = np.asarray([[0.0, 0], [0, 1], [10, 10], [10, 11]])
centres = points[[0, 2]].copy()
for _ in range(3):
    nearest = np.argmin(np.linalg.norm(points[:, None] - centres[None], axis=2), axis=1)
    for k in range(2):
        centres[k] = points[nearest == k].mean(axis=0)
answer = centres
""",
    "logistic regression": """
x = np.linspace(-1, 1, 100).reshape(50, 2)
y = (x[:, 0] + x[:, 1] > 0).astype(float)
w = np.zeros(2)
for _ in range(50):
    p = 1 / (1 + np.exp(-x.dot(w)))
    w -= 0.1 * x.T.dot(p - y) / len(y)
answer = w
""",
    "a sieve": """
n = 100
is_prime = np.ones(n + 1, dtype=bool)
is_prime[:2] = False
for i in range(2, int(n**0.5) + 1):
    if is_prime[i]:
        is_prime[i * i::i] = False
answer = np.nonzero(is_prime)[0]
""",
    "counting": """
x = np.array([1, 2, 2, 3, 3, 3])
values, counts = np.unique(x, return_counts=True)
answer = np.stack([values * counts, np.bincount(x)[1:]])
""",
}


class Pages(unittest.TestCase):
    def test_they_give_what_numpy_gives(self):
        for name, page in PAGES.items():
            answers = []
            for module in (ts, np):
                scope = {"np": module}
                exec(page, scope)
                answers.append(np.asarray(scope["answer"]))
            np.testing.assert_allclose(*answers, rtol=1e-5, err_msg=name)


class Functions(unittest.TestCase):
    def test_functions_beside_numpy(self):
        data = np.array([[1.25, -2.75, 3.5], [4.125, 0.5, -6.0]], "float32")
        whole = np.array([1, 3, 3, 0, 7])
        for name, args in [("round", (data, 1)), ("round", (data * 100, -1)), ("round", (data,)), ("bincount", (whole,)), ("quantile", (data, 0.3)),
                           ("quantile", (data, [0.1, 0.9], 1)), ("percentile", (data, 25, 0)), ("average", (data, 1, np.array([1.0, 2, 3]))), ("ptp", (data, 0)),
                           ("trapz", (data,)), ("trapz", (data, np.array([0.0, 1, 3]))), ("diag", (whole, 1)), ("diag", (data,)), ("fliplr", (data,)),
                           ("flipud", (data,)), ("atleast_1d", (3,)), ("logspace", (0, 2, 5)), ("interp", (data, np.array([-1.0, 0, 2]), np.array([1.0, 5, 2]))),
                           ("isscalar", (1,)), ("round", (whole, -1)), ("average", (data,))]:
            ours = [ts.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
            np.testing.assert_allclose(np.asarray(getattr(ts, name)(*ours)), getattr(np, name)(*args), rtol=2e-6, err_msg=name)
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
                                   (rng.gamma(4.0, 0.5, n), 2, 1), (rng.poisson(4, n), 4, 2), (rng.integers(0, 10, n), 4.5, 8.25**0.5)]:
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
