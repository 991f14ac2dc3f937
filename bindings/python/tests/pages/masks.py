# SPDX-License-Identifier: MIT
import numpy as np

# Masks and assignments, as one cleans a table.
table = np.array([[1.0, 200.0, 3.0], [np.nan, 250.0, -1.0], [2.5, np.nan, 4.0], [3.0, 900.0, 5.0], [2.0, 210.0, np.nan]])
missing = np.isnan(table)
print(missing.sum(axis=0), missing.any(axis=1), (~missing).all(axis=1).sum())
means = np.nanmean(table, axis=0)
filled = np.where(missing, means, table)
print(filled.round(2))
filled[filled[:, 1] > 500, 1] = 500
filled[:, 2][filled[:, 2] < 0] = 0
print(filled[:, 1].tolist(), filled[:, 2].round(2).tolist())
rows, columns = np.where(missing)
print(rows.tolist(), columns.tolist(), list(zip(rows.tolist(), columns.tolist())))
table[missing] = 0
table[np.isnan(table)] = -1
print(table.min(), table.max(), np.count_nonzero(table == 0))
labels = np.array([2, 0, 1, 1, 2, 0])
one_hot = np.zeros((labels.size, labels.max() + 1), dtype=int)
one_hot[np.arange(labels.size), labels] = 1
print(one_hot)
print(np.bincount(labels), np.unique(labels, return_counts=True)[1], np.eye(3)[labels].sum(0))
scores = np.array([55, 90, 71, 48, 66, 83])
grade = np.full(scores.shape, 3)
grade[scores >= 60] = 2
grade[scores >= 80] = 1
print(grade, np.select([scores >= 80, scores >= 60], [1, 2], default=3), np.digitize(scores, [60, 80]))
inside = (scores > 50) & (scores < 85)
print(scores[inside], scores[~inside], np.flatnonzero(inside), inside.nonzero()[0].tolist())
scores[inside] += 5
scores[[0, -1]] = 100, 0
scores[2:4] *= 2
print(scores, scores[scores.argsort()[::-1]][:3], np.clip(scores, 50, 100))
board = np.zeros((6, 6), int)
board[1::2, ::2] = 1
board[::2, 1::2] = 1
board[2:4, 2:4] = 8
board[-1] = np.arange(6)
board[:, -1] = board[:, 0] + 1
np.fill_diagonal(board, 9)
print(board, np.trace(board), board[np.triu_indices(6, 3)].sum())
matrix = np.arange(12).reshape(3, 4)
matrix[matrix % 2 == 0] = -1
matrix[1], matrix[2] = matrix[2].copy(), matrix[1].copy()
print(matrix, matrix[:, [True, False, True, False]], matrix[[0, 2]][:, [1, 3]], matrix[np.ix_([0, 2], [1, 3])])
a, b = 0, 1
while a < len(scores) and not scores[a] > 90:
    a += 1
print(a, all(s >= 0 for s in scores), any(scores > 150), max(scores), min(scores), sorted(scores)[-1], sum(scores))
if (scores >= 0).all() and np.any(scores == 100):
    print("complete")
