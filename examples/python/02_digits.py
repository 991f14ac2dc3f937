#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A convolutional network learns to read digits, which are drawn on the device while it learns: slanted, shifted, of any size, on noisy paper.

    PYTHONPATH=build/release/python python3 examples/python/02_digits.py [STEPS]
"""
import sys

import tessera as np
from tessera import nn, optim

SIZE, BATCH = 16, 64

# The strokes of each digit as lines from point to point, in a box of 2 by 4.
STROKES = ["00 20 24 04 00", "10 14", "00 20 22 02 04 24", "00 20 22 02 22 24 04", "00 02 22 20 24", "20 00 02 22 24 04", "20 00 04 24 22 02", "00 20 14", "02 00 20 22 02 04 24 22",
           "22 02 00 20 24 04"]
MOST = max(len(own.split()) - 1 for own in STROKES)


def segments():
    """[digit, segment, end, x and y]; digits with fewer segments have their last one several times."""
    rows = []
    for own in STROKES:
        points = [(float(p[0]) - 1, float(p[1]) / 2 - 1) for p in own.split()]
        lines = list(zip(points[:-1], points[1:]))
        rows.append(lines + [lines[-1]] * (MOST - len(lines)))
    return np.array(rows)


LINES = segments()
AXIS = np.linspace(-1.6, 1.6, SIZE)
PLACES = np.stack(np.meshgrid(AXIS, AXIS), axis=-1)[None, :, :, None, :]  # [1, row, column, 1, 2]


def draw(rng, count):
    """Pictures [count, 1, SIZE, SIZE] with ink between 0 and 1, and which digit each one is."""
    digits = rng.integers(0, 10, size=count)
    scale = rng.uniform(0.75, 1.15, size=(count, 1, 1, 1)) * np.asarray([0.75, 1.0])
    slant, shift = rng.uniform(-0.3, 0.3, size=(count, 1, 1)), rng.uniform(-0.25, 0.25, size=(count, 1, 1, 2))
    points = LINES[digits] * scale + shift
    points = np.stack([points[..., 0] - slant * points[..., 1], points[..., 1]], axis=-1)
    start, way = points[:, None, None, :, 0], points[:, None, None, :, 1] - points[:, None, None, :, 0]
    along = np.clip(((PLACES - start) * way).sum(-1) / (way * way).sum(-1), 0, 1)
    distance = np.sqrt(((PLACES - start - along[..., None] * way) ** 2).sum(-1)).min(-1)
    ink = 1 / (1 + np.exp((distance - 0.17) * 25)) + rng.normal(0, 0.08, size=(count, SIZE, SIZE))
    return ink[:, None].evaluate(), digits.astype(np.int32)


def network(params, x):
    for layer in ("first", "second"):
        x = nn.relu(nn.conv(x, params[layer + ".weight"], params[layer + ".bias"], before=1, after=1))
        x = nn.max_pool(x, size=2, stride=2)
    x = nn.linear(x.reshape(len(x), -1), params["hidden.weight"], params["hidden.bias"], activation="relu")
    return nn.linear(x, params["last.weight"], params["last.bias"])


def loss_of(params, x, digits):
    return nn.cross_entropy(network(params, x), digits)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rng = np.random.default_rng(7)
    params = optim.Parameters({
        "first.weight": ((8, 1, 3, 3), "he_normal"), "first.bias": 8,
        "second.weight": ((16, 8, 3, 3), "he_normal"), "second.bias": 16,
        "hidden.weight": ((48, 16 * (SIZE // 4) ** 2), "he_normal"), "hidden.bias": 48,
        "last.weight": ((10, 48), "xavier_normal"), "last.bias": 10,
    }, seed=3)
    print(params.element_count, "parameters on", params.device)
    optimiser = optim.AdamW(params, rate=4e-3, schedule=optim.Schedule("cosine", warmup=10, period=steps))
    step = np.capture(lambda x, digits: optimiser.minimise(loss_of, x, digits))
    for number in range(1, steps + 1):
        loss = step(*draw(rng, BATCH))
        if number % 50 == 0:
            print(f"step {number}: loss {float(loss):.4f}")
    pictures, digits = draw(rng, 512)
    read = network(params, pictures).argmax(axis=1)
    right = float((read == digits).mean())
    for line in pictures[0, 0].tolist():
        print("".join(" .:-=+*#%@"[min(max(int(ink * 10), 0), 9)] * 2 for ink in line))
    print(f"this one is read as {int(read[0])}; {right:.1%} of 512 are read right")
    assert steps < 200 or right > 0.95


main()
