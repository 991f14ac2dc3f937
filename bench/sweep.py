#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every operator with PyTorch and NumPy on the same memory, over a grid of shapes, dtypes and layouts.

    /usr/bin/python3 bench/sweep.py [--quick] [--op 'sum*,softmax'] [--threads 2] [--out build/sweep]
    /usr/bin/python3 bench/sweep.py --join build/a/sweep.json,build/b/sweep.json --out build/sweep

All run in this process on the same tensors (Tessera borrows PyTorch's through DLPack) and take turns, sample by sample. A ratio
is the median over all turns of the fastest peer's time divided by Tessera's: above 1 Tessera is faster. Tessera is called from C
(bench/calls/calls.c), because a call through ctypes costs more than a small operator; peers are called as their users call them.
--out receives sweep.json, a heat map per operator (rows of the
shape downwards, columns to the right, one panel per dtype and layout), and overview.png with all operators. Needs PyTorch.

A grid takes long. --limit measures its cells in an order that a hash of each cell decides, until the time is up: what is left out is a
fair sample. --twice measures cells below NEAR once more with more turns, and keeps that second ratio alone: a few samples
scatter by more than one tenth, which is what decides such cells. --part 0/4 takes every fourth cell of that order, for processes on cores of their own; --join puts their tables together.
"""
import argparse
import fnmatch
import json
import math
import os
import statistics
import sys
import threading
import time
import zlib

import heat_map
from from_c import Calls
from same_memory import borrow, load, must
from sweep_ops import OPERATORS
from turns import mean_ns

SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1000000)
QUICK_SIZES = (1, 7, 64, 1000, 16384, 1000000)
ODD = ((7, 1000000), (1000000, 7), (3, 999), (999, 3), (127, 513), (1023, 1025), (33, 100003))
MOST = 10_000_000  # elements
LONG_NS = 3e8
NEAR, MORE_TURNS = 1.15, 4  # for --twice: the ratio below which a cell is measured again, and how many times the turns
MOST_PRODUCT = 4e9  # multiply-adds of a matrix product
DTYPES = ("f32", "bf16", "i32")
LAYOUTS = ("contiguous", "transposed", "strided")


def grid(is_quick):
    sizes = QUICK_SIZES if is_quick else SIZES
    shapes = [(rows, columns) for rows in sizes for columns in sizes if rows * columns <= MOST]
    return shapes if is_quick else shapes + list(ODD)


class Numbers:
    """Random numbers, made once: making new ones for each cell would take longer than measuring it."""

    def __init__(self, torch):
        generator = torch.Generator().manual_seed(1)
        count = 2 * MOST + 1000
        self.torch = torch
        self.floats = torch.rand(count, generator=generator) * 2 - 1
        self.integers = torch.randint(-1000, 1000, (count,), generator=generator, dtype=torch.int32)

    def make(self, shape, dtype, layout, seed):
        """A matrix of this shape and memory layout."""
        rows, columns = shape
        stored = {"contiguous": (rows, columns), "transposed": (columns, rows), "strided": (rows, 2 * columns)}[layout]
        numbers = (self.integers if dtype == "i32" else self.floats)[97 * seed:][:stored[0] * stored[1]].reshape(stored)
        x = numbers.to(self.torch.bfloat16) if dtype == "bf16" else numbers.clone()
        return {"contiguous": x, "transposed": x.t(), "strided": x[:, ::2]}[layout]


class Tessera:
    """Calls Tessera: records an operator, runs it, waits for it and releases it."""

    def __init__(self, program, torch, threads):
        self.lib, self.device = load(program, threads)
        self.sampler = Calls(program, self.lib, self.device, lambda status: must(self.lib, status)).sampler
        self.torch = torch

    def take(self, tensor):
        return borrow(self.lib, self.device, self.torch, tensor)


def is_idle():
    """Whether all other threads of this process sleep. The kernel brings a thread's processor time up to date every 4 ms only, so that alone does not tell."""
    own = threading.get_native_id()
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/stat", encoding="ascii") as file:
                if int(task) != own and file.read().rsplit(")", 1)[1].split()[0] == "R":
                    return False
        except OSError:  # it has ended
            pass
    return True


def settle():
    """Waits until the process is idle. The threads of OpenMP and OpenBLAS go on spinning after a call, for up to 30 ms on a
    processor with a slow pause instruction: whoever comes next would share the cores with them. With one thread each there are none."""
    if os.environ.get("OMP_NUM_THREADS") == "1":
        return
    if not os.path.isdir("/proc/self/task"):
        time.sleep(0.04)
        return
    quiet = 0
    for _ in range(400):
        quiet = quiet + 1 if is_idle() else 0
        if quiet == 3:
            return
        time.sleep(0.0003)


def take_turns(samplers, turns, seconds):
    """Times by library, one per turn; only the first if a call takes long."""
    counts, first = {}, {}
    for name, sample in samplers.items():
        settle()
        sample(1)  # builds kernels
        first[name] = sample(1)
        counts[name] = max(1, min(10000, int(seconds * 1e9 / (first[name] if first[name] > 1e5 else sample(10)))))
    if max(first.values()) > LONG_NS:
        return {name: [ns] for name, ns in first.items()}
    times = {name: [] for name in samplers}
    for turn in range(turns):
        for name in list(samplers) if turn % 2 else reversed(list(samplers)):
            settle()
            samplers[name](1 + counts[name] // 8)  # the caches hold the library's code again
            times[name].append(samplers[name](counts[name]))
    return times


def ratio_of(times, is_best):
    """The faster peer's time divided by Tessera's: of the fastest samples, or the median over the turns."""
    peers = [name for name in times if name != "tessera"]
    if is_best:
        return min(min(times[p]) for p in peers) / min(times["tessera"])
    return statistics.median(min(times[p][i] for p in peers) / ns for i, ns in enumerate(times["tessera"]))


def measure(ours, numbers, np, op, shape, dtype, layout, args):
    """One cell of the grid, or None if the operator has no such inputs."""
    torch = numbers.torch
    tensors = op.inputs(torch, shape, lambda s, seed: numbers.make(s, dtype, layout, seed))
    if tensors is None:
        return None
    borrowed = [ours.take(t) for t in tensors]
    samplers = {"tessera": ours.sampler(op.name, *op.arguments(borrowed, shape), op.results)}
    if op.torch:
        samplers["torch"] = lambda count: mean_ns(lambda: op.torch(torch, *tensors), count)
    if op.numpy and dtype != "bf16":
        arrays = [t.numpy() for t in tensors]
        samplers["numpy"] = lambda count: mean_ns(lambda: op.numpy(np, *arrays), count)
    try:
        times = take_turns(samplers, args.turns, args.seconds)
        if args.twice and ratio_of(times, args.best) < NEAR:
            times = take_turns(samplers, MORE_TURNS * args.turns, args.seconds)
    except (RuntimeError, TypeError) as error:  # one of them does not have it for this dtype
        return {"why": str(error).splitlines()[0]}
    finally:
        for tensor in borrowed:
            ours.lib.tsr_release(tensor)
    middle = min if args.best else statistics.median
    return {"ratio": ratio_of(times, args.best), **{name + "_ns": middle(values) for name, values in times.items()}}


def order_of(cell):
    op, dtype, layout, shape = cell
    return zlib.crc32(f"{op.title} {dtype} {layout} {shape[0]}x{shape[1]}".encode())


def wanted_cells(args):
    """The cells to measure, as tuples of operator, dtype, layout and shape, in the order in which they are measured."""
    patterns = args.op.split(",")
    cells = [(op, dtype, layout, shape) for op in OPERATORS if any(fnmatch.fnmatch(op.title, pattern) for pattern in patterns)
             for dtype in args.dtype.split(",") if dtype != "i32" or not op.is_float
             for layout in args.layout.split(",") for shape in grid(args.quick) if op.work(shape) <= MOST_PRODUCT]
    if not args.limit and not args.part:
        return cells
    index, count = (int(number) for number in (args.part or "0/1").split("/"))
    return sorted(cells, key=order_of)[index::count]


def sweep(ours, torch, np, args):
    """Measures the cells until the time is up."""
    end, numbers, found = time.time() + (args.limit or math.inf), Numbers(torch), []
    for op, dtype, layout, shape in wanted_cells(args):
        if time.time() > end:
            break
        cell = measure(ours, numbers, np, op, shape, dtype, layout, args)
        if cell:
            found.append({"op": op.title, "rows": shape[0], "columns": shape[1], "dtype": dtype, "layout": layout, **cell})
    return found


def summary(cells):
    ratios = sorted(cell["ratio"] for cell in cells if "ratio" in cell)
    if not ratios:
        return "nothing could be compared"
    worst = sorted((c for c in cells if "ratio" in c), key=lambda c: c["ratio"])[:3]
    names = ", ".join(f"{c['rows']}x{c['columns']} {c['dtype']} {c['layout']} {c['ratio']:.2f}" for c in worst)
    under, far_under = (sum(r < limit for r in ratios) for limit in (1, 0.7))
    return f"{len(ratios):5} cells  median {statistics.median(ratios):6.2f}  under 1: {under:4}  under 0.7: {far_under:4}  worst: {names}"


def report(everything, about, out):
    """Prints a line for each operator; writes the table and the maps."""
    os.makedirs(out, exist_ok=True)
    for title in dict.fromkeys(op.title for op in OPERATORS):
        cells = [cell for cell in everything if cell["op"] == title]
        if cells:
            print(f"{title:16} {summary(cells)}")
            heat_map.draw(os.path.join(out, title + ".png"), title, cells)
    with open(os.path.join(out, "sweep.json"), "w", encoding="utf-8") as file:
        json.dump({**about, "cells": everything}, file, indent=0)
    heat_map.draw_overview(os.path.join(out, "overview.png"), everything)
    print(f"{'all':16} {summary(everything)}\ntable and maps: {out}")


def join(paths, out):
    tables = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            tables.append(json.load(file))
    order = {op.title: index for index, op in enumerate(OPERATORS)}
    cells = sorted((cell for table in tables for cell in table.pop("cells")), key=lambda cell: order[cell["op"]])
    report(cells, tables[0], out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/tessera", help="libtessera is looked for beside it")
    parser.add_argument("--threads", type=int, default=2, help="threads that each contender gets")
    parser.add_argument("--quick", action="store_true", help="a coarse grid")
    parser.add_argument("--op", default="*", help="patterns of operators, separated by commas")
    parser.add_argument("--dtype", default=",".join(DTYPES))
    parser.add_argument("--layout", default=",".join(LAYOUTS))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.002, help="of one sample")
    parser.add_argument("--best", action="store_true", help="compare the fastest samples: for a machine that others use, too")
    parser.add_argument("--twice", action="store_true", help="measure cells near 1 and below again, with more turns")
    parser.add_argument("--limit", type=float, default=0, help="seconds after which to stop; 0: none")
    parser.add_argument("--part", help="I/N: every N-th cell, from the I-th on")
    parser.add_argument("--join", help="tables of earlier runs, separated by commas: measures nothing")
    parser.add_argument("--out", default="build/sweep", help="folder of the table and the maps")
    args = parser.parse_args()
    if args.join:
        join(args.join.split(","), args.out)
        return
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)
    try:
        import numpy as np
        import torch
    except ImportError as error:
        sys.exit(f"the sweep compares with PyTorch and NumPy (Debian: python3-torch, python3-numpy): {error}")
    np.seterr(all="ignore")
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    ours = Tessera(args.program, torch, args.threads)
    begin = time.time()
    print(f"PyTorch {torch.__version__}, NumPy {np.__version__}, {args.threads} threads; load {os.getloadavg()[0]:.1f}", flush=True)
    cells = sweep(ours, torch, np, args)
    report(cells, {"torch": torch.__version__, "threads": args.threads}, args.out)
    print(f"{time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
