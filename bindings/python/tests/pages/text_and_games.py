# SPDX-License-Identifier: MIT
"""Strings as numbers, one-hot, a Markov chain, PageRank, dynamic programming, sorting by keys."""
import numpy as np

text = "the quick brown fox jumps over the lazy dog and the cat"
codes = np.frombuffer(text.encode(), dtype=np.uint8)
letters = codes[(codes >= ord("a")) & (codes <= ord("z"))] - ord("a")
counts = np.bincount(letters, minlength=26)
print(counts.sum(), [chr(97 + int(c)) for c in np.argsort(-counts, kind="stable")[:3]])
one_hot = np.eye(26, dtype=int)[letters]
print(one_hot.shape, (one_hot.sum(axis=0) == counts).all())
pairs = np.zeros((26, 26))
for first, second in zip(letters[:-1], letters[1:]):
    pairs[first, second] += 1
totals = pairs.sum(axis=1, keepdims=True)
chain = np.divide(pairs, totals, out=np.zeros_like(pairs), where=totals != 0)
print(chain.sum(axis=1).max(), chain[19].argmax())

links = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 1, 0]], dtype=float)
transition = (links / links.sum(axis=1)[:, None]).T
rank = np.ones(4) / 4
for _ in range(50):
    rank = 0.85 * transition.dot(rank) + 0.15 / 4
print(rank.round(4), np.isclose(rank.sum(), 1.0))
print(np.linalg.matrix_power(transition, 3).round(3))

s, t = "kitten", "sitting"
table = np.zeros((len(s) + 1, len(t) + 1), dtype=int)
table[:, 0] = np.arange(len(s) + 1)
table[0, :] = np.arange(len(t) + 1)
for i in range(1, len(s) + 1):
    for j in range(1, len(t) + 1):
        table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (s[i - 1] != t[j - 1]))
print("distance", table[-1, -1])

ages = np.array([30, 25, 30, 22])
scores = np.array([5.5, 7.0, 6.5, 9.0])
print(np.lexsort((scores, ages)), np.searchsorted(np.sort(ages), 26))
best = np.argpartition(scores, -2)[-2:]
print(sorted(best.tolist()), np.isin(ages, [22, 25]), np.intersect1d(ages, [22, 30, 99]))
print(np.union1d([1, 2], [2, 3]), np.setdiff1d([1, 2, 3], [2]), np.tile([1, 2], 3), np.repeat([1, 2], [2, 1]))
primes = np.ones(50, dtype=bool)
primes[:2] = False
for i in range(2, 8):
    if primes[i]:
        primes[i * i::i] = False
print(np.flatnonzero(primes))
print(np.array_split(np.arange(7), 3), np.insert([1, 2, 3], 1, 9), np.append([1, 2], [3]), np.delete([1, 2, 3], 0))
print(np.unravel_index(13, (3, 5)), np.ravel_multi_index((2, 3), (3, 5)), np.any([False, True]), np.all([]))
print(np.array([[1, 2], [3, 4]]), repr(np.array([1.5, 2.5])), np.float32(1.5), np.int64(3))
a = np.arange(12).reshape(3, 4)
a[a % 2 == 0] *= -1
print(a, a.T.flatten()[:4], a.sum(), a[1:, [0, 2]], a[-1].tolist(), np.abs(a).max(axis=1))
print(np.triu(np.ones((3, 3))), np.tril_indices(3), np.kron([1, 2], [1, 1]), np.cross([1, 0, 0], [0, 1, 0]))
for index, value in np.ndenumerate(a[:1, :2]):
    print(index, value)
np.testing.assert_allclose(a, a)
with np.errstate(divide="ignore"):
    print(np.log(np.array([0.0, 1.0])))
