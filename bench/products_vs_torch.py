#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares matrix products of f32 on the CPU with PyTorch and NumPy: the same memory, one process, in turns.

    /usr/bin/python3 bench/products_vs_torch.py [--threads 4] [--turns 5] [--only 1000x1000x1000,16384x1x64]

A shape is m x n x k; a letter after it says how the inputs lie: `a` or `b` are transposed, `ab` both. `64*128x128x64` is a batch of
64. A time is the fastest sample of each library, in microseconds. Threads may be pinned by taskset.
"""
import argparse
import ctypes
import os
import re

from same_memory import borrow, load, must
from sweep import settle
from turns import sample_ns

SHAPES = """16x16x16 64x64x64 128x128x128 256x256x256 512x512x512 1000x1000x1000 2048x2048x2048 17x2048x2048 2000x2000x64
64*128x128x64 1000x1000x1000a 1000x1000x1000b 1000x1000x1000ab 16384x64x64 16384x64x256 16384x64x256ab 16384x7x64 16384x1x64
16384x1x256 64x16384x256 7x16384x256 1x16384x256 1000x1000x64 1000x1000x256 1000x1000x1 1000x1x1000 1x1000x1000 64x64x4096
4096x384x128 4096x128x384 4096x512x128 4096x128x512 128x384x4096a 4096x65x128""".split()


def parse(shape):
    match = re.fullmatch(r"(?:(\d+)\*)?(\d+)x(\d+)x(\d+)(a?)(b?)", shape)
    batch, m, n, k = (int(x) if x else 0 for x in match.groups()[:4])
    return batch, m, n, k, bool(match[5]), bool(match[6])


def make(torch, batch, rows, columns, is_transposed):
    lead = (batch,) if batch else ()
    stored = torch.rand(*lead, columns, rows).transpose(-1, -2) if is_transposed else torch.rand(*lead, rows, columns)
    return stored - 0.5 if not is_transposed else (stored.transpose(-1, -2) - 0.5).transpose(-1, -2)


def multiply(lib, device, a, b):
    def run():
        result = lib.tsr_matmul(a, b)
        must(lib, lib.tsr_evaluate(result) or lib.tsr_device_synchronize(device))
        lib.tsr_release(result)

    return run


def compare(lib, device, torch, shape, args):
    batch, m, n, k, is_a_turned, is_b_turned = parse(shape)
    a, b = make(torch, batch, m, k, is_a_turned), make(torch, batch, k, n, is_b_turned)
    ours = [borrow(lib, device, torch, t) for t in (a, b)]
    arrays = [t.numpy() for t in (a, b)]
    runs = {"tessera": multiply(lib, device, *ours), "torch": lambda: a @ b, "numpy": lambda: arrays[0] @ arrays[1]}
    best = {name: 1e18 for name in runs}
    calls = max(2, min(200, int(args.seconds * 2e11 / (2.0 * m * n * k * max(batch, 1)))))
    for turn in range(args.turns):
        for name in list(runs) if turn % 2 else reversed(list(runs)):
            settle()
            best[name] = min(best[name], sample_ns(runs[name], calls))
    for tensor in ours:
        lib.tsr_release(tensor)
    return best, 2.0 * m * n * k * max(batch, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/tessera", help="libtessera is looked for beside it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.003, help="of one sample, at 200 GFLOP/s")
    parser.add_argument("--only", default=",".join(SHAPES))
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)
    import torch

    torch.set_num_threads(args.threads)
    lib, device = load(args.program, args.threads)
    lib.tsr_matmul.restype, lib.tsr_matmul.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_void_p)
    print(f"{'m x n x k':18} {'Tessera':>9} {'PyTorch':>9} {'NumPy':>9} us {'GFLOP/s':>8} {'ratio':>6}")
    for shape in args.only.split(","):
        best, work = compare(lib, device, torch, shape, args)
        times = " ".join(f"{best[name] / 1e3:9.1f}" for name in ("tessera", "torch", "numpy"))
        ratio = min(best["torch"], best["numpy"]) / best["tessera"]
        print(f"{shape:18} {times}    {work / best['tessera']:8.1f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
