#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks for cliffs: a size that doubles, and a time that more than trebles.

    /usr/bin/python3 bench/cliffs.py [--op 'sum*,softmax'] [--dtype f32] [--layout contiguous] [--threads 2] [--limit 300]

Takes the operators of bench/sweep_ops.py. One side of the matrix doubles from 1 on, up to 10^6 elements, the other one stays 1, 7, 64 or 1000; once
more it doubles from 3 on. A time is the fastest of several samples. A pair that looks like a cliff is measured
again, up to five times, because a machine that others use makes some samples slow. Times below 2 us are taken for 2 us. Needs PyTorch, for the inputs.
"""
import argparse
import fnmatch
import os
import sys
import time

from sweep import DTYPES, LAYOUTS, MOST_PRODUCT, Numbers, Tessera
from sweep_ops import OPERATORS

STARTS, OTHER_SIDES, MOST, LEAST_NS, FACTOR = (1, 3), (1, 7, 64, 1000), 1_000_000, 2000, 3


def chains():
    """Lists of shapes, each with one side twice as long as in the one before it."""
    for other in OTHER_SIDES:
        for start in STARTS:
            sides = [start << i for i in range(24) if (start << i) * other <= MOST]
            yield [(side, other) for side in sides]
            yield [(other, side) for side in sides]


class Work:
    """One operator on one shape; `sample` is None if it has no such inputs."""

    def __init__(self, ours, numbers, op, shape, dtype, layout):
        self.ours, self.sample, self.borrowed = ours, None, []
        tensors = op.inputs(numbers.torch, shape, lambda s, seed: numbers.make(s, dtype, layout, seed))
        if tensors is None or op.work(shape) > MOST_PRODUCT:
            return
        self.tensors = tensors
        self.borrowed = [ours.take(t) for t in tensors]
        self.sample = ours.sampler(op.name, *op.arguments(self.borrowed, shape), op.results)

    def best_ns(self, samples):
        self.sample(1)
        calls = max(1, min(200, int(2e5 / self.sample(1))))
        return max(LEAST_NS, min(self.sample(calls) for _ in range(samples)))

    def release(self):
        for tensor in self.borrowed:
            self.ours.lib.tsr_release(tensor)


def find(ours, numbers, op, shapes, dtype, layout):
    """Pairs of neighbours in the list with their times, where the second takes more than FACTOR times as long."""
    found, before = [], None
    for shape in shapes:
        work = Work(ours, numbers, op, shape, dtype, layout)
        if not work.sample:
            continue
        now = (shape, work, work.best_ns(3))
        for _ in range(5):
            if not before or now[2] <= FACTOR * before[2]:
                break
            before = (*before[:2], min(before[2], before[1].best_ns(5)))
            now = (*now[:2], min(now[2], now[1].best_ns(5)))
        if before and now[2] > FACTOR * before[2]:
            found.append((before[0], before[2], now[0], now[2]))
        if before:
            before[1].release()
        before = now
    if before:
        before[1].release()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/tessera", help="libtessera is looked for beside it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--op", default="*", help="patterns of operators, separated by commas")
    parser.add_argument("--dtype", default=DTYPES[0])
    parser.add_argument("--layout", default=LAYOUTS[0])
    parser.add_argument("--limit", type=float, default=0, help="seconds after which to stop; 0: none")
    args = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        sys.exit(f"the inputs are PyTorch's tensors (Debian: python3-torch): {error}")
    os.environ["OMP_NUM_THREADS"] = "1"
    ours, numbers = Tessera(args.program, torch, args.threads), Numbers(torch)
    begin, pairs, cliffs = time.time(), 0, 0
    for op in OPERATORS:
        if not any(fnmatch.fnmatch(op.title, pattern) for pattern in args.op.split(",")):
            continue
        for dtype in args.dtype.split(","):
            for layout in args.layout.split(","):
                for shapes in chains():
                    if (dtype == "i32" and op.is_float) or (args.limit and time.time() - begin > args.limit):
                        continue
                    pairs += len(shapes) - 1
                    for small, small_ns, large, large_ns in find(ours, numbers, op, shapes, dtype, layout):
                        cliffs += 1
                        print(f"{op.title:14} {dtype} {layout}  {small[0]}x{small[1]} {small_ns / 1e3:.1f} us, "
                              f"{large[0]}x{large[1]} {large_ns / 1e3:.1f} us: {large_ns / small_ns:.1f} times", flush=True)
    print(f"{pairs} pairs of sizes, {cliffs} cliffs; {args.threads} threads, {time.time() - begin:.0f} s")
    return 1 if cliffs else 0


if __name__ == "__main__":
    sys.exit(main())
