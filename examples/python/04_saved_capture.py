#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model in one file: a small network learns which points lie in a ring and is saved; the file is loaded on every device, and draws what was learnt.

    PYTHONPATH=build/release/python python3 examples/python/04_saved_capture.py
"""
import os
import tempfile

import tessera as np
from tessera import nn, optim

COLUMNS, ROWS = 48, 20
SIZES = [2, 32, 32, 1]


def network(points, params):
    x = points
    for i in range(1, len(SIZES)):
        x = nn.linear(np.tanh(x) if i > 1 else x, params[f"{i}.weight"], params[f"{i}.bias"])
    return x


def loss_of(params, points, is_inside):
    return nn.bce_with_logits_loss(network(points, params), is_inside)


def learn(steps):
    generator = np.random.default_rng(1)
    shapes = {}
    for i, (inputs, outputs) in enumerate(zip(SIZES, SIZES[1:]), 1):
        shapes |= {f"{i}.weight": ((outputs, inputs), "xavier_normal"), f"{i}.bias": (outputs,)}
    params = optim.Parameters(shapes, seed=1)
    optimiser = optim.AdamW(params, rate=0.01)
    for _ in range(steps):
        points = generator.uniform(-1, 1, (256, 2))
        radius = np.sqrt((points**2).sum(axis=1, keepdims=True))
        loss = optimiser.minimise(loss_of, points, ((radius > 0.35) & (radius < 0.75)).astype(np.float32))
    print("loss:", round(float(loss), 3))
    return params


def save(params, path):
    """Captures the network for as many points as a picture has, and saves that with its weights."""
    step = np.capture(lambda points: nn.sigmoid(network(points, params)))
    step(np.zeros((COLUMNS * ROWS, 2)))
    step.save(path, outputs={"inside": "result"})


def use(path, device):
    """Which points are inside. Knows the names of the file's arrays, and nothing else."""
    net = np.load_capture(path, device=device)
    print(device, net)
    down, across = np.meshgrid(np.linspace(-1, 1, ROWS), np.linspace(-1, 1, COLUMNS), indexing="ij")
    return net(points=np.stack([across, down], axis=-1).reshape(-1, 2)).reshape(ROWS, COLUMNS)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "ring.tsr")
    save(learn(1000), path)
    for row in np.devices():
        if "device" in row:
            inside = use(path, row["device"])
            assert inside[ROWS // 2, COLUMNS // 2] < 0.5 < inside[ROWS // 2, COLUMNS // 4], "the ring has a hole"
for line in inside.tolist():
    print("".join(" .:-=+*#%@"[int(number * 9.99)] for number in line))
