#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every operator with PyTorch and NumPy on the same memory, over a grid of shapes, dtypes and layouts.

    /usr/bin/python3 bench/sweep.py [--quick] [--op 'sum*,softmax'] [--threads 2] [--out build/sweep]
    /usr/bin/python3 bench/sweep.py --join build/a/sweep.json,build/b/sweep.json --out build/sweep

All run in this process on the same tensors (Tessera borrows PyTorch's through DLPack) and take turns, sample by sample. A ratio
is the median over all turns of the fastest peer's time divided by Tessera's: above 1 Tessera is faster. Calling C through ctypes
costs more than a small operator, so the same calls to a function that does nothing are timed for each cell and subtracted from
Tessera's samples; peers are called as their users call them. --out receives sweep.json, a heat map per operator (rows of the
shape downwards, columns to the right, one panel per dtype and layout), and overview.png with all operators. Needs PyTorch.

A grid takes long. --limit measures its cells in an order that a hash of each cell decides, until the time is up: what is left out is a
fair sample. --part 0/4 takes every fourth cell of that order, for processes on cores of their own; --join puts their tables together.
"""
import argparse
import ctypes
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
from same_memory import borrow, load, must
from sweep_ops import OPERATORS
from turns import sample_ns

SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1000000)
QUICK_SIZES = (1, 7, 64, 1000, 16384, 1000000)
ODD = ((7, 1000000), (1000000, 7), (3, 999), (999, 3), (127, 513), (1023, 1025), (33, 100003))
MOST = 10_000_000  # elements
LONG_NS = 3e8
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
        self.torch = torch

    def take(self, tensor):
        return borrow(self.lib, self.device, self.torch, tensor)

    def nothing(self, like):
        """A function of the library that does nothing to speak of, called as `like` is. It returns an address if `like` does:
        Python makes an object of that."""
        function = self.lib["tsr_version" if like.restype is ctypes.c_void_p else "tsr_last_error_status"]
        function.argtypes, function.restype = like.argtypes, like.restype
        return function

    def call(self, name, types, arguments, results):
        """The function to time, and one that makes the same calls to a function that does nothing. `results`: number of tensors
        returned through pointers; 0: the call returns one."""
        lib, device = self.lib, self.device
        function = lib["tsr_" + name]
        outs = [ctypes.c_void_p() for _ in range(results)]
        function.argtypes = types + [ctypes.c_void_p] * results
        function.restype = ctypes.c_int if results else ctypes.c_void_p
        given = list(arguments) + [ctypes.byref(out) for out in outs]

        def calling(operator, evaluate, synchronize, release):
            def run():
                returned = operator(*given)
                made = [out.value for out in outs] if results else [returned]
                status = returned if results else 0
                for tensor in made:
                    status = status or evaluate(tensor)
                must(lib, status or synchronize(device))
                for tensor in made:
                    release(tensor)

            return run

        functions = (function, lib.tsr_evaluate, lib.tsr_device_synchronize, lib.tsr_release)
        return calling(*functions), calling(*map(self.nothing, functions))


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
    processor with a slow pause instruction: whoever comes next would share the cores with them."""
    if not os.path.isdir("/proc/self/task"):
        time.sleep(0.04)
        return
    quiet = 0
    for _ in range(400):
        quiet = quiet + 1 if is_idle() else 0
        if quiet == 3:
            return
        time.sleep(0.0003)


def take_turns(runs, off, turns, seconds):
    """Times by library, one per turn; only the first if a call takes long. `off` nanoseconds are subtracted from Tessera's."""
    first = {}
    for name, run in runs.items():
        settle()
        first[name] = sample_ns(run, 1)
    counts = {name: max(1, min(10000, int(seconds * 1e9 / ns))) for name, ns in first.items()}
    if max(first.values()) > LONG_NS:
        return {name: [ns] for name, ns in first.items()}
    times = {name: [] for name in runs}
    for turn in range(turns):
        for name in list(runs) if turn % 2 else reversed(list(runs)):
            settle()
            times[name].append(sample_ns(runs[name], counts[name]))
    times["tessera"] = [max(ns - off, 100.0) for ns in times["tessera"]]
    return times


def measure(ours, numbers, np, op, shape, dtype, layout, args):
    """One cell of the grid, or None if the operator has no such inputs."""
    torch = numbers.torch
    tensors = op.inputs(torch, shape, lambda s, seed: numbers.make(s, dtype, layout, seed))
    if tensors is None:
        return None
    borrowed = [ours.take(t) for t in tensors]
    own, nothing = ours.call(op.name, *op.arguments(borrowed, shape), op.results)
    ours.lib.tsr_clear_error()
    nothing_ns = min(sample_ns(nothing, 200) for _ in range(5))
    runs = {"tessera": own}
    if op.torch:
        runs["torch"] = lambda: op.torch(torch, *tensors)
    if op.numpy and dtype != "bf16":
        arrays = [t.numpy() for t in tensors]
        runs["numpy"] = lambda: op.numpy(np, *arrays)
    try:
        times = take_turns(runs, nothing_ns, args.turns, args.seconds)
    except (RuntimeError, TypeError) as error:  # one of them does not have it for this dtype
        return {"why": str(error).splitlines()[0]}
    finally:
        for tensor in borrowed:
            ours.lib.tsr_release(tensor)
    peers = [name for name in times if name != "tessera"]
    if args.best:
        ratio = min(min(times[p]) for p in peers) / min(times["tessera"])
    else:
        ratio = statistics.median(min(times[p][i] for p in peers) / ns for i, ns in enumerate(times["tessera"]))
    return {"ratio": ratio, **{name + "_ns": statistics.median(values) for name, values in times.items()}}


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
