# SPDX-License-Identifier: MIT
"""A year of temperatures: columns, groups, gaps, a moving average."""
import numpy as np

days = np.arange(365)
month = np.minimum(days // 30.5, 11).astype(int)
temperature = 10 + 12 * np.sin(2 * np.pi * (days - 105) / 365) + 3 * np.cos(days * 1.7) * np.sin(days * 0.31)
temperature[40:45] = np.nan
temperature[200] = np.nan

missing = np.isnan(temperature)
print("missing", missing.sum(), "of", len(temperature))
known = np.flatnonzero(~missing)
filled = np.interp(days, known, temperature[known])
print("mean %.2f, deviation %.2f" % (filled.mean(), filled.std()))
print("nanmean %.3f" % np.nanmean(temperature))

by_month = np.array([filled[month == m].mean() for m in range(12)])
print(np.round(by_month, 2))
warmest = np.argmax(by_month)
print("warmest month:", int(warmest), f"{by_month[warmest]:.1f}")

week = np.convolve(filled, np.ones(7) / 7, mode="valid")
print(week.shape, np.round(week[::60], 3))
frost = filled < 0
starts = np.flatnonzero(np.diff(frost.astype(int)) == 1)
print("frost begins", len(starts), "times; days of frost:", np.count_nonzero(frost))
table = np.column_stack([days[:5], filled[:5]])
print(table.shape, np.percentile(filled, [10, 50, 90]).round(2))
order = np.argsort(filled)[::-1]
print("hottest days", order[:3].tolist())
above = np.where(filled > 20, 1, 0)
print(above.sum(), np.cumsum(filled)[-1].round(1))
print(np.corrcoef(filled[:-1], filled[1:])[0, 1].round(3))
