# SPDX-License-Identifier: MIT
import numpy as np

# Linear regression by normal equations, by lstsq, and by gradient descent.
rng = np.random.default_rng(7)
n = 200
hours = np.linspace(0, 10, n)
noise = np.sin(np.arange(n) * 12.9898) * 0.5
score = 3.5 * hours + 12 + noise
A = np.vstack([hours, np.ones(len(hours))]).T
slope, intercept = np.linalg.lstsq(A, score, rcond=None)[0]
print(f"{slope:.3f} {intercept:.3f}")
theta = np.linalg.inv(A.T @ A) @ A.T @ score
print(theta.round(2))
print(np.linalg.solve(A.T.dot(A), A.T.dot(score)).round(2))
fit = A @ theta
residuals = score - fit
ss_res = (residuals ** 2).sum()
ss_tot = ((score - score.mean()) ** 2).sum()
print("R2", round(1 - ss_res / ss_tot, 4))
w, b, rate = 0.0, 0.0, 0.02
for _ in range(2000):
    error = w * hours + b - score
    w -= rate * 2 * np.mean(error * hours) / 2
    b -= rate * 2 * np.mean(error)
print(round(float(w), 2), round(float(b), 1))
X = np.column_stack((np.ones(n), hours, hours ** 2))
beta, *_ = np.linalg.lstsq(X, score, rcond=None)
print(beta.shape, np.allclose(X @ beta, fit, atol=0.5))
coefficients = np.polyfit(hours[::10], score[::10], 2)
print(np.poly1d(coefficients)(4.0).round(1) if hasattr(np, "poly1d") else np.polyval(coefficients, 4.0).round(1))
order = np.argsort(-np.abs(residuals))[:3]
print(order.shape, np.abs(residuals)[order].round(2))
train, test = np.split(np.arange(n), [int(0.8 * n)])
print(len(train), len(test), score[test].mean().round(1))
names = ["slope", "intercept"]
for name, value in zip(names, theta):
    print(f"{name:>10}: {value:8.2f}")
print(np.corrcoef(hours, score)[0, 1].round(3), np.cov(hours, score)[0, 1].round(1))
ridge = np.linalg.solve(A.T @ A + 0.1 * np.eye(2), A.T @ score)
print(ridge.round(1), np.linalg.norm(ridge).round(1), np.linalg.cond(A).round(0))
