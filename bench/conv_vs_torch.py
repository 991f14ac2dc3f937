#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares convolutions, their gradients, pooling and a training step with PyTorch: the same work, in one run, in turns.

    /usr/bin/python3 bench/conv_vs_torch.py [--program build/release/bench/conv] [--backend cpu] [--threads 2] [--rounds 11]

A ratio is the median of PyTorch's time divided by Tessera's, over all rounds. Convolutions are f32 without TF32; forward ones have a bias and relu.
"""
import argparse
import os
import statistics

from turns import Turns, sample_ns

SIZES = ["128x1x28x16x3x1", "128x16x14x32x3x1", "32x64x56x64x3x1", "32x64x56x256x1x1", "32x128x56x128x3x2", "32x256x14x256x3x1", "32x512x7x512x3x1"]
POOLS = ["128x16x28x16x3x1", "32x64x112x64x3x1"]


def load_torch(threads, is_gpu):
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch

    torch.set_num_threads(threads)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_default_tensor_type("torch.cuda.FloatTensor" if is_gpu else "torch.FloatTensor")
    return torch


def convolution(torch, name, size):
    images, channels, side, out, kernel, stride = (int(n) for n in size.split("x"))
    f = torch.nn.functional
    x, w, b = torch.randn(images, channels, side, side), torch.randn(out, channels, kernel, kernel), torch.randn(out)
    g = torch.randn_like(f.conv2d(x, w, b, stride, kernel // 2))
    if name == "forward":
        return lambda: torch.relu(f.conv2d(x, w, b, stride, kernel // 2))
    if name == "by_input":
        return lambda: torch.nn.grad.conv2d_input(x.shape, w, g, stride, kernel // 2)
    return lambda: torch.nn.grad.conv2d_weight(x, w.shape, g, stride, kernel // 2)


def pooling(torch, name, size):
    images, channels, side = (int(n) for n in size.split("x")[:3])
    x = torch.randn(images, channels, side, side)
    if name == "pool":
        return lambda: torch.nn.functional.max_pool2d(x, 2)
    g = torch.randn(images, channels, side // 2, side // 2)

    def run():
        leaf = x.detach().requires_grad_(True)
        torch.nn.functional.max_pool2d(leaf, 2).backward(g)

    return run


def training_step(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10))
    optimiser = torch.optim.AdamW(net.parameters())
    digits, labels = torch.randn(128, 1, 28, 28), torch.arange(128) % 10

    def run():
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(digits), labels).backward()
        optimiser.step()

    return run


def rows(torch):
    for name in ("forward", "by_input", "by_weight"):
        for size in SIZES:
            yield name, size, convolution(torch, name, size)
    for name in ("pool", "pool_gradient"):
        for size in POOLS:
            yield name, size, pooling(torch, name, size)
    yield "digits", None, training_step(torch)
    yield "digits_captured", None, training_step(torch)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--program", default="build/release/bench/conv")
    options.add_argument("--backend", default="cpu")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rounds", type=int, default=11)
    given = options.parse_args()
    is_gpu = given.backend != "cpu"
    torch = load_torch(given.threads, is_gpu)
    print(f"{'':16} {'':20} {'Tessera us':>12} {'PyTorch us':>12} {'ratio':>6}   PyTorch {torch.__version__}")
    for name, size, peer in rows(torch):
        command = [given.program, "--turns", "--backend", given.backend, "--op", name] + (["--size", size] if size else [])
        ours = Turns(command, {"TESSERA_THREADS": str(given.threads)})

        def theirs_ns():
            peer()
            begin = sample_ns(peer, 1)
            calls = max(1, int(2e7 / begin))
            return sample_ns((lambda: (peer(), torch.cuda.synchronize())) if is_gpu else peer, calls)

        pairs = [(ours.sample_ns(), theirs_ns()) for _ in range(given.rounds)]
        ours.process.communicate()
        ratio = statistics.median(theirs / mine for mine, theirs in pairs)
        mine, theirs = (statistics.median(column) / 1e3 for column in zip(*pairs))
        print(f"{name:16} {size or '':20} {mine:12.1f} {theirs:12.1f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
