# SPDX-License-Identifier: MIT
"""Signals: windows, a spectrum by correlation, a filter, autocorrelation."""
import numpy as np

rate, n = 256, 512
t = np.arange(n) / rate
signal = np.sin(2 * np.pi * 10 * t) + 0.5 * np.sin(2 * np.pi * 40 * t)
windowed = signal * np.hanning(n)
frequencies = np.arange(n // 2) * rate / n
angles = 2 * np.pi * np.outer(frequencies, t)
spectrum = np.hypot(np.cos(angles) @ windowed, np.sin(angles) @ windowed)
peaks = np.flatnonzero((spectrum[1:-1] > spectrum[:-2]) & (spectrum[1:-1] > spectrum[2:]) & (spectrum[1:-1] > 10)) + 1
print(frequencies[peaks])
taps = np.sinc(2 * 20 / rate * (np.arange(51) - 25)) * np.hamming(51)
taps /= taps.sum()
low = np.convolve(signal, taps, mode="same")
print(low.shape, np.sqrt(np.mean((low[50:-50] - np.sin(2 * np.pi * 10 * t)[50:-50]) ** 2)) < 0.05)
auto = np.correlate(signal, signal, mode="full")[n - 1:]
print(auto.argmax(), (auto / auto[0])[:3].round(3))
rms = np.sqrt(np.mean(signal.reshape(8, -1) ** 2, axis=1))
print(rms.round(3))
crossing = np.where(np.diff(np.signbit(low)))[0]
print(len(crossing))
print(np.unwrap(np.arctan2(np.sin(t * 30), np.cos(t * 30)))[-1].round(2))
print(np.trapz(signal ** 2, t).round(3), np.gradient(signal, t)[:2].round(2))
db = 20 * np.log10(np.maximum(spectrum, 1e-6))
print(db.max().round(2), np.nanmax(db).round(2), np.max(db, initial=-999).round(2))
