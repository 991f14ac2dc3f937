# SPDX-License-Identifier: MIT
import numpy as np

# Differential equations, integration, roots, linear algebra.
def rk4(f, y, t, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

def pendulum(t, y):
    theta, omega = y
    return np.array([omega, -9.81 * np.sin(theta) - 0.1 * omega])

y, t, dt, path = np.array([0.5, 0.0]), 0.0, 0.01, []
for _ in range(200):
    y = rk4(pendulum, y, t, dt)
    t += dt
    path.append(y)
path = np.array(path)
print(path.shape, path[-1].round(2), path[:, 0].max().round(3), np.sign(path[:, 0])[[0, -1]])
def bisect(f, a, b):
    while b - a > 1e-5:
        c = (a + b) / 2
        if f(a) * f(c) <= 0:
            b = c
        else:
            a = c
    return (a + b) / 2
print(round(bisect(np.cos, 1.0, 2.0), 4), round(float(np.sqrt(2.0)), 4), np.float64(3) / 2, np.int64(7) // 2)
x = np.linspace(0, np.pi, 101)
f = np.sin(x)
print(f.sum() * (x[1] - x[0]), np.gradient(f, x)[50].round(4), ((f[1:] + f[:-1]) / 2 * np.diff(x)).sum().round(3))
A = np.array([[4.0, -2, 1], [-2, 4, -2], [1, -2, 4]])
b = np.array([11.0, -16, 17])
print(np.linalg.solve(A, b), np.linalg.det(A).round(2), np.linalg.inv(A).round(3), np.linalg.matrix_rank(A))
values, vectors = np.linalg.eigh(A)
print(values.round(3), np.allclose(A @ vectors, vectors * values, atol=1e-4), np.linalg.cholesky(A).round(3))
U, S, Vt = np.linalg.svd(A)
print(S.round(3), np.allclose(U @ np.diag(S) @ Vt, A, atol=1e-4), np.linalg.norm(A), np.linalg.norm(b, 1), np.linalg.norm(b, np.inf))
Q, R = np.linalg.qr(A)
print(np.allclose(Q @ R, A, atol=1e-4), np.abs(np.diag(R)).round(2), np.triu(R).shape, np.allclose(np.tril(R, -1), 0, atol=1e-5))
jacobi = np.zeros(3)
for _ in range(60):
    jacobi = (b - (A - np.diag(np.diag(A))) @ jacobi) / np.diag(A)
print(jacobi.round(3), np.max(np.abs(A @ jacobi - b)) < 1e-2)
v = np.array([1.0, 2, 3])
print(np.cross(v, [0, 0, 1]), v @ v, np.dot(v, v), np.inner(v, v), v.dot(A), np.vdot(v, v), (v / np.linalg.norm(v)).round(3))
p = np.array([1, -6, 11, -6])
print(np.polyval(p, 2), np.polyder(p) if hasattr(np, "polyder") else [3, -12, 11], np.interp(2.5, [1, 2, 3], [10, 20, 30]), np.polyfit([0, 1, 2], [1, 3, 7], 2).round(3))
grid = np.zeros((12, 12))
grid[0] = 100
for _ in range(100):
    grid[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
print(grid[6, 6].round(1), grid[1, 5].round(1), grid.sum() > 1000)
for index, value in np.ndenumerate(A[:2, :2]):
    print(index, value, end="; ")
print()
for i, row in enumerate(A):
    print(i, row.sum(), row[row > 0].tolist())
print(np.fromiter((i * i for i in range(5)), dtype=int), np.fromfunction(lambda i, j: i + j, (2, 2)), np.array(range(4)), np.asarray((1, 2)).dtype, np.iinfo(np.int32).max, np.finfo(np.float32).eps)
primes = np.ones(50, dtype=bool)
primes[:2] = False
for i in range(2, 8):
    if primes[i]:
        primes[i * i::i] = False
print(np.nonzero(primes)[0], primes.sum())
fib = np.zeros(12, dtype=np.int64)
fib[:2] = 1
for i in range(2, len(fib)):
    fib[i] = fib[i - 1] + fib[i - 2]
print(fib, fib[-1] % 10, fib[fib % 2 == 0].sum(), np.gcd(fib[5], fib[8]), int(fib[3]) << 2, 10 ** fib[2], -fib[4], abs(-fib[4]), divmod(fib[6], 4))
total = 0
for value in fib[:5]:
    total += value
    if value == 3:
        continue
print(total, type(total).__name__ in ("int64", "Array"), float(total) / 2, f"{total:03d}", f"{x[3]:.4f}", "%.2f" % x[3], "{:>8.3f}".format(x[7]), round(x[5], 3), int(x[60]), math_ok := bool(x[2] < x[3]))
