# SPDX-License-Identifier: MIT
"""Prices, returns, drawdown, portfolio."""
import numpy as np

np.set_printoptions(precision=4, suppress=True)
t = np.arange(252)
prices = 100 * np.exp(np.cumsum(0.01 * np.sin(t[:, None] * np.array([1.1, 2.3, 0.7]) + [0, 1, 2]), axis=0))
returns = prices[1:] / prices[:-1] - 1
log_returns = np.diff(np.log(prices), axis=0)
print(returns.shape, np.allclose(np.log1p(returns), log_returns, atol=1e-5))
annual = returns.mean(axis=0) * 252
volatility = returns.std(axis=0, ddof=1) * np.sqrt(252)
print(annual.round(3), volatility.round(3))
sharpe = np.divide(annual, volatility, where=volatility > 0, out=np.zeros_like(annual))
print(sharpe.round(2))
peak = np.maximum.accumulate(prices, axis=0)
drawdown = (prices / peak - 1).min(axis=0)
print(drawdown.round(4))
weights = np.full(3, 1 / 3)
cov = np.cov(returns.T) * 252
risk = np.sqrt(weights @ cov @ weights)
print("risk %.4f" % risk, "contribution", (weights * (cov @ weights) / risk ** 2).round(3))
window = np.lib.stride_tricks.sliding_window_view(prices[:, 0], 20)
average = window.mean(axis=1)
print(window.shape, average[:3].round(3))
signal = np.sign(prices[19:, 0] - average)
trades = np.count_nonzero(np.diff(signal))
print("trades", trades)
grid = np.array(np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 11))).reshape(2, -1).T
grid = grid[grid.sum(axis=1) <= 1]
portfolios = np.hstack([grid, 1 - grid.sum(axis=1, keepdims=True)])
risks = np.sqrt(np.einsum("ij,jk,ik->i", portfolios, cov, portfolios))
best = risks.argmin()
print(portfolios.shape, portfolios[best].round(2), risks[best].round(4))
cash = np.array([-100.0, 30, 40, 50])
rates = np.linspace(0, 0.3, 7)
npv = (cash / (1 + rates[:, None]) ** np.arange(4)).sum(axis=1)
print(npv.round(3), np.interp(0, npv[::-1], rates[::-1]).round(3))
