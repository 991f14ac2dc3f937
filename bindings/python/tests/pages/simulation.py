# SPDX-License-Identifier: MIT
"""Simulations: heat, planets, a walk, Game of Life."""
import numpy as np

# Heat in a rod
u = np.zeros(101)
u[40:60] = 1.0
for _ in range(200):
    u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
print("heat %.4f peak %.4f at %d" % (u.sum(), u.max(), u.argmax()))

# Planets
mass = np.array([1.0, 1e-3, 1e-4])
position = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
velocity = np.array([[0.0, 0.0], [0.0, 1.0], [-0.7, 0.0]])
dt = 0.01


def acceleration(p):
    d = p[None, :, :] - p[:, None, :]
    r2 = (d ** 2).sum(axis=-1) + np.eye(len(p))
    return (mass[None, :, None] * d / r2[..., None] ** 1.5).sum(axis=1)


a = acceleration(position)
for _ in range(100):
    velocity += 0.5 * dt * a
    position += dt * velocity
    a = acceleration(position)
    velocity += 0.5 * dt * a
print(np.round(position, 3))
energy = 0.5 * (mass * (velocity ** 2).sum(axis=1)).sum()
print("kinetic %.6f" % energy)

# Game of Life
board = np.zeros((16, 16), dtype=np.int8)
board[1, 2] = board[2, 3] = 1
board[3, 1:4] = 1
for _ in range(8):
    neighbours = sum(np.roll(board, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.int8)
print(board.sum(), np.argwhere(board).tolist())

# A seeded linear congruential generator, a Monte Carlo estimate
state = np.uint32(12345)
numbers = np.empty(2000)
value = 12345
for i in range(len(numbers)):
    value = (1103515245 * value + 12345) % 2 ** 31
    numbers[i] = value / 2 ** 31
xy = numbers.reshape(-1, 2)
inside = (xy ** 2).sum(axis=1) <= 1
print("pi is about %.3f" % (4 * inside.mean()))
walk = np.cumsum(np.where(numbers > 0.5, 1, -1))
print(walk[-1], walk.min(), walk.max(), np.ptp(walk))

# Predator and prey
prey, hunters, track = 10.0, 5.0, []
for step in range(500):
    prey, hunters = prey + 0.01 * (1.1 * prey - 0.4 * prey * hunters), hunters + 0.01 * (0.1 * prey * hunters - 0.4 * hunters)
    track.append((prey, hunters))
track = np.array(track)
print(track.shape, track.max(axis=0).round(3), track[-1].round(3))
mandel = np.linspace(-2, 0.5, 60)[None, :] + 0 * np.linspace(-1, 1, 30)[:, None]
print(mandel.shape)
