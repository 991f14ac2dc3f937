#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small network to tell two spirals apart: gradients of a function of its parameters, and Adam by hand.

    PYTHONPATH=build/release/python python3 examples/python/02_spirals.py [STEPS]
"""
import sys

import tessera as np
from tessera import nn

POINTS, HIDDEN, RATE = 200, 32, 0.01


def spirals():
    """Points of two spirals, and which one each is of."""
    turn = np.linspace(0.25, 1.0, POINTS)
    angle = turn * 3 * np.pi
    arm = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1)
    return np.concat([arm, -arm]), np.concat([np.zeros(POINTS, np.int32), np.ones(POINTS, np.int32)])


def layer(inputs, outputs, seed):
    return {"weight": np.ops.randn((outputs, inputs), seed=seed) * (2 / inputs) ** 0.5, "bias": np.zeros(outputs)}


def network(layers, x):
    for own in layers[:-1]:
        x = nn.linear(x, own["weight"], own["bias"], activation="tanh")
    return nn.linear(x, layers[-1]["weight"], layers[-1]["bias"])


def loss_of(layers, x, labels):
    return nn.cross_entropy(network(layers, x), labels)


def adam(value, gradient, mean, square, step):
    """One update; the moments are given back."""
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    return value - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8), mean, square


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    x, labels = spirals()
    layers = [layer(2, HIDDEN, 1), layer(HIDDEN, HIDDEN, 2), layer(HIDDEN, 2, 3)]
    moments = [{name: (np.zeros_like(value), np.zeros_like(value)) for name, value in own.items()} for own in layers]
    step_of = np.value_and_grad(loss_of)
    for step in range(1, steps + 1):
        loss, gradients = step_of(layers, x, labels)
        for own, by, moment in zip(layers, gradients, moments):
            for name in own:
                own[name], *moment[name] = adam(own[name], by[name], *moment[name], step)
        if step % 100 == 0:
            print(f"step {step}: loss {float(loss):.4f}")
    right = (network(layers, x).argmax(axis=1) == labels).mean()
    print(f"{float(right):.1%} of the points are told right")
    assert steps < 300 or float(right) > 0.95


main()
