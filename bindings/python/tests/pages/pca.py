# SPDX-License-Identifier: MIT
"""Principal components two ways, whitening and reconstruction."""
import numpy as np

rows = np.arange(120)[:, np.newaxis]
loads = np.array([[2.0, 0.5, -1.0, 0.0, 0.3], [0.1, -0.7, 0.2, 1.1, 0.4]])
scores = np.hstack([np.sin(rows * 1.3), np.cos(rows * 2.1)])
x = scores @ loads + 0.01 * np.sin(rows * np.arange(1, 6) * 9.1) + 5

x_centred = x - x.mean(axis=0, keepdims=True)
u, s, vt = np.linalg.svd(x_centred, full_matrices=False)
explained = s ** 2 / np.sum(s ** 2)
print(np.round(explained, 3), u.shape, vt.shape)
values, vectors = np.linalg.eigh(np.cov(x_centred.T))
order = np.argsort(values)[::-1]
values, vectors = values[order], vectors[:, order]
print(np.allclose(values, s ** 2 / (len(x) - 1), rtol=1e-3, atol=1e-4))
print(np.allclose(np.abs(np.sum(vectors[:, :2] * vt[:2].T, axis=0)), 1, atol=1e-3))
projected = x_centred @ vt[:2].T
print(projected.shape, np.round(np.abs(projected[:2]), 3))
back = projected @ vt[:2] + x.mean(axis=0)
print("error %.4f" % np.abs(back - x).max())
whitened = projected / projected.std(axis=0)
print(np.round(np.cov(whitened, rowvar=False, bias=True), 3))
q, r = np.linalg.qr(x_centred)
print(np.allclose(q.T @ q, np.eye(5), atol=1e-4), np.allclose(np.tril(r, -1), 0, atol=1e-4))
a = np.cov(x_centred.T) + np.eye(5)
b = np.arange(5.0)
solution = np.linalg.solve(a, b)
print(np.allclose(a.dot(solution), b, atol=1e-3), round(float(np.linalg.det(a)), 2), np.trace(a).round(2))
print(np.allclose(np.linalg.inv(a) @ a, np.identity(5), atol=1e-4))
l = np.linalg.cholesky(a)
print(np.allclose(l @ l.T, a, atol=1e-4), np.linalg.norm(b), np.linalg.matrix_rank(a))
