#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A page of NumPy with another import line: a year of made-up temperatures, cleaned, averaged by month, and a trend fitted.

    PYTHONPATH=build/release/python python3 examples/python/01_weather.py
"""
import tessera as np

DAYS = 365

# A cold winter, a warm summer, some noise, and a few days on which the sensor failed.
day = np.arange(DAYS)
noise = np.ops.randn((DAYS,), seed=1) * 2
celsius = 10 - 12 * np.cos(2 * np.pi * day / DAYS) + 0.01 * day + noise
celsius[[20, 150, 300]] = np.nan

is_missing = np.isnan(celsius)
print("missing days:", np.nonzero(is_missing)[0].tolist())

# Each missing day gets the mean of its neighbours.
for i in np.nonzero(is_missing)[0].tolist():
    celsius[i] = (celsius[i - 1] + celsius[i + 1]) / 2
assert not np.any(np.isnan(celsius))

month = day * 12 // DAYS
means = np.stack([celsius[month == m].mean() for m in range(12)])
print("means by month:", means)
print("warmest month:", int(means.argmax()) + 1, " coldest:", int(means.argmin()) + 1)

# The trend: least squares on a constant, the season, and the day.
season = 2 * np.pi * day / DAYS
columns = np.stack([np.ones(DAYS), np.cos(season), np.sin(season), day / DAYS], axis=1)
constant, cosine, sine, slope = np.linalg.lstsq(columns, celsius)[0].tolist()
print(f"{constant:.2f} {cosine:+.2f} cos {sine:+.2f} sin, {slope:+.2f} degrees a year")
assert abs(cosine + 12) < 1 and abs(slope - 3.65) < 3
