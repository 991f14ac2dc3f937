# SPDX-License-Identifier: MIT
import numpy as np

# Sorting, searching, grouping, sets.
people = ["Ada", "Bob", "Cleo", "Dan", "Eve"]
age = np.array([36, 25, 41, 25, 30])
height = np.array([1.65, 1.80, 1.72, 1.78, 1.60])
order = np.lexsort((height, age))
print([people[i] for i in order], age[order], [people[i] for i in np.argsort(age, kind="stable")])
print(np.sort(age)[::-1], np.argmax(height), people[np.argmax(height)], people[int(age.argmin())])
print(np.searchsorted(np.sort(age), [26, 40]), np.partition(age, 2)[:2].max(), np.argpartition(height, -2)[-2:].shape)
values, index, inverse, counts = np.unique([3, 1, 2, 3, 1], return_index=True, return_inverse=True, return_counts=True)
print(values, index, inverse, counts, values[counts.argmax()])
groups = np.array([0, 1, 0, 2, 1])
total = np.zeros(3)
np.add.at(total, groups, height)
print(total.round(2), np.bincount(groups, weights=height).round(2), [float(age[groups == g].mean()) for g in np.unique(groups)])
print({int(g): age[groups == g].tolist() for g in set(groups.tolist())})
print(np.intersect1d([1, 2, 3], [2, 3, 4]), np.union1d([1, 2], [2, 5]), np.setdiff1d([1, 2, 3], [2]), np.isin([1, 5], [5, 6]), np.in1d([1], [1]) if hasattr(np, "in1d") else [True])
m = np.array([[3, 1, 2], [9, 7, 8]])
print(np.sort(m), np.sort(m, axis=0), np.sort(m, axis=None), m.argsort(axis=1), np.take_along_axis(m, m.argsort(axis=1), axis=1))
m.sort(axis=1)
print(m, m[:, ::-1], np.flip(m, 0), m[m[:, 1].argsort()[::-1]])
runs = np.array([1, 1, 0, 0, 0, 1, 1, 1])
edges = np.flatnonzero(np.diff(np.concatenate(([0], runs, [0]))))
print(edges.reshape(-1, 2), (edges[1::2] - edges[::2]).max())
text = "the quick brown fox jumps over the lazy dog"
codes = np.array([ord(c) for c in text if c != " "]) - ord("a")
letters = np.bincount(codes, minlength=26)
print(letters, "".join(chr(ord("a") + i) for i in letters.argsort()[::-1][:1]), (letters == 0).sum())
print(np.cumsum(letters)[-1], np.round(np.cumsum(letters) / letters.sum(), 2)[4], np.diff([1, 4, 9, 16]), np.ediff1d([1, 2, 4]), np.trapz([1, 2, 3]) if hasattr(np, "trapz") else 4.0)
ranks = np.empty_like(order)
ranks[order] = np.arange(len(order))
print(ranks, np.array_equal(age[order][ranks], age), np.all(np.diff(age[order]) >= 0))
best = np.inf
where = None
for i in range(len(age)):
    for j in range(i + 1, len(age)):
        d = abs(height[i] - height[j])
        if d < best:
            best, where = d, (i, j)
print(round(float(best), 2), where)
print(f"{np.mean(age):.1f} {np.std(age):.2f} {np.var(age, ddof=1):.2f} {np.ptp(age)} {np.average(height, weights=age):.3f}")
print(np.array2string(height, precision=1), np.allclose(height, height + 1e-9), np.isclose(0.1 + 0.2, 0.3), np.nan_to_num([np.nan, 1.0]))
print(str(age), repr(age), age.tolist(), list(age), tuple(age[:2]), age.astype(float), age.astype(str).tolist() if False else "")
