# SPDX-License-Identifier: MIT
"""Describing samples: moments, correlation, regression, a test, a bootstrap-like resampling without random numbers."""
import numpy as np

n = 200
i = np.arange(n)
x = ((i * 7919) % 1000) / 1000.0
y = 3 * x + 1 + 0.1 * np.sin(i * 12.9898)
data = np.stack([x, y, x ** 2, np.exp(-x)], axis=1)
print(data.shape, data.dtype.kind)

mean = data.mean(axis=0)
centred = data - mean
cov = centred.T @ centred / (n - 1)
print(np.allclose(cov, np.cov(data, rowvar=False), rtol=1e-4, atol=1e-5))
std = np.sqrt(np.diag(cov))
corr = cov / np.outer(std, std)
print(np.round(corr, 3))

design = np.vstack([x, np.ones_like(x)]).T
(slope, intercept), residual, rank, _ = np.linalg.lstsq(design, y, rcond=None)
print(f"slope {slope:.3f}, intercept {intercept:.3f}, rank {rank}")
fit = np.polyfit(x, y, 1)
print(np.round(fit, 3), np.round(np.polyval(fit, 2.0), 3))

skew = ((x - x.mean()) ** 3).mean() / x.std() ** 3
kurtosis = ((x - x.mean()) ** 4).mean() / x.var() ** 2 - 3
print("skew %.3f kurtosis %.3f" % (skew, kurtosis))
counts, edges = np.histogram(x, bins=5, range=(0, 1))
print(counts, edges)
q1, med, q3 = np.quantile(y, [0.25, 0.5, 0.75])
print("iqr %.3f median %.3f" % (q3 - q1, med), np.median(y).round(3))
z = (y - y.mean()) / y.std(ddof=1)
print((np.abs(z) > 1.5).sum(), z.min().round(3), z.max().round(3))
a, b = y[x < 0.5], y[x >= 0.5]
t = (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
print("t = %.2f" % t)
values, counts = np.unique((x * 4).astype(int), return_counts=True)
for value, count in zip(values, counts):
    print(int(value), int(count))
print(np.bincount((x * 4).astype(int), minlength=6))
print(np.digitize([0.1, 0.5, 0.9], [0.0, 0.25, 0.5, 0.75]))
