# SPDX-License-Identifier: MIT
import numpy as np

# Random walks and simulations, with numbers of a generator of our own so that both libraries have the same.
def uniform(count, seed=1):
    state, out = seed, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2 ** 31
        out.append(state / 2 ** 31)
    return np.array(out)

steps = np.where(uniform(1000).reshape(10, 100) < 0.5, -1, 1)
walks = steps.cumsum(axis=1)
print(walks.shape, walks[:, -1], walks.max(), walks.min(axis=1))
crossed = (np.abs(walks) >= 8).any(axis=1)
print(crossed.sum(), (np.abs(walks) >= 8).argmax(axis=1)[crossed])
print(walks.std(axis=0)[[0, 9, 99]].round(2), np.percentile(walks[:, -1], [25, 50, 75]), np.median(walks))
angle = 2 * np.pi * uniform(500, 3)
position = np.zeros((501, 2))
position[1:] = np.cumsum(np.stack([np.cos(angle), np.sin(angle)], axis=1), axis=0)
far = np.linalg.norm(position, axis=1)
print(far.argmax() > 0, far[-1].round(1), position[-1].round(1))
u, v = uniform(4000, 5).reshape(2, -1)
print(abs(4 * np.mean(u ** 2 + v ** 2 < 1) - np.pi) < 0.1, np.histogram(u, bins=4, range=(0, 1))[0].sum())
prices = 100 * np.exp(np.cumsum(0.01 * (uniform(250, 9) - 0.5)))
returns = np.diff(prices) / prices[:-1]
peak = np.maximum.accumulate(prices)
drawdown = (prices - peak) / peak
print(returns.mean().round(4), returns.std(ddof=1).round(4), drawdown.min().round(3), np.argmin(drawdown))
window = 20
average = np.convolve(prices, np.ones(window) / window, "valid")
signal = (prices[window - 1:] > average).astype(int)
trades = np.flatnonzero(np.diff(signal)) + 1
print(average.shape, trades[:3], signal.mean().round(2))
state, counts = 0, np.zeros(3, dtype=int)
transition = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
for r in uniform(300, 11):
    state = np.searchsorted(transition[state].cumsum(), r)
    counts[state] += 1
print(counts.sum(), counts.argmax(), np.linalg.matrix_power(transition, 50)[0].round(3))
heat = np.zeros(21)
heat[10] = 1.0
for _ in range(50):
    heat[1:-1] += 0.25 * (heat[2:] - 2 * heat[1:-1] + heat[:-2])
print(heat.sum().round(3), heat[8:13].round(3), np.isclose(heat, heat[::-1]).all())
queue = []
for i, arrival in enumerate(np.cumsum(-np.log(1 - uniform(6, 21)))):
    queue.append((i, round(float(arrival), 2)))
print(queue[-1], len(queue))
rng = np.random.default_rng(42)
draw = rng.normal(loc=5, scale=2, size=(1000,))
print(draw.shape, abs(draw.mean() - 5) < 0.3, rng.integers(0, 10, 5).shape, rng.choice([1, 2, 3], size=4).shape, rng.permutation(5).sum(), rng.random((2, 2)).shape)
np.random.seed(0)
print(np.random.rand(3).shape, np.random.randn(2, 2).shape, np.random.randint(0, 5, (2, 3)).max() < 5, np.random.uniform(-1, 1, 4).shape)
deck = np.arange(10)
rng.shuffle(deck)
print(sorted(deck.tolist()), np.random.choice(5, 3, replace=False).shape)
