#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the operators of bench/sweep.py on a GPU, over a grid of shapes, dtypes and layouts: with PyTorch, or with an earlier run.

    python3 bench/gpu_sweep.py [--backend cuda] [--limit 120] [--op 'sum*,softmax'] [--out build/sweep] [--alone] [--against sweep.json]

Both libraries run in this process and take turns, sample by sample; a sample is as many calls, queued one after the other, as take a
millisecond (at most 200), and one wait. A cell whose ratio is under 0.95 after --turns samples gets four times as many more, and the
median of all counts: three samples of some microseconds are often wrong by more than that. Cells are taken in an order that depends on
their names alone, so that those of the first --limit seconds are a fair part of the grid. --warm runs each of them once and measures nothing: it fills the cache of kernels, and
several processes can share that by --part 0/8, 1/8 and so on. If the host has not finished queueing when the GPU is done, the cost of
calling C through ctypes is subtracted; PyTorch is called as its users call it. With --against, the ratio is the time of the same cell
in that file divided by this one's, and PyTorch is not run. --join a/sweep.json,b/sweep.json measures nothing: it draws one map of runs
through several backends.
"""
import argparse
import ctypes
import fnmatch
import hashlib
import json
import os
import statistics
import sys
import time

import heat_map
from gpu_shapes import Library, Shape
from sweep_ops import OPERATORS

SIZES = (1, 7, 64, 1000, 16384, 1000000)
ODD = ((3, 999), (999, 3), (127, 513), (1023, 1025), (33, 100003), (4097, 4099))
MOST = 20_000_000  # elements
MOST_PRODUCT = 2e10  # multiply-adds of a matrix product
MOST_FACTOR = 5e7  # elements of each of its factors
DTYPES = ("f32", "bf16", "i32")
LAYOUTS = ("contiguous", "transposed", "strided")
MOST_CALLS = 200
BEHIND, MORE_TURNS = 0.95, 4


def grid():
    return [(rows, columns) for rows in SIZES for columns in SIZES if rows * columns <= MOST] + list(ODD)


def cells_of(args):
    """The cells of the grid that the arguments choose, in the order of a hash of their names."""
    found = []
    for op in OPERATORS:
        if not any(fnmatch.fnmatch(op.title, pattern) for pattern in args.op.split(",")):
            continue
        for dtype in args.dtype.split(","):
            for layout in args.layout.split(","):
                for shape in grid():
                    work = op.work(shape)
                    is_small = work <= MOST_PRODUCT and work / min(shape) <= MOST_FACTOR
                    if is_small and not (dtype == "i32" and op.is_float):
                        found.append((op, shape, dtype, layout))
    name = lambda cell: f"{cell[0].title} {cell[1]} {cell[2]} {cell[3]}"
    part, parts = map(int, args.part.split("/"))
    found.sort(key=lambda cell: hashlib.md5(name(cell).encode()).digest())
    return [cell for i, cell in enumerate(found) if i % parts == part]


def make(torch, shape, dtype, layout, where):
    """A matrix of this shape and memory layout."""
    rows, columns = shape
    stored = {"contiguous": (rows, columns), "transposed": (columns, rows), "strided": (rows, 2 * columns)}[layout]
    if dtype == "i32":
        x = torch.randint(-1000, 1000, stored, dtype=torch.int32, device=where)
    else:
        x = (torch.rand(stored, device=where) * 2 - 1).to(torch.bfloat16 if dtype == "bf16" else torch.float32)
    return {"contiguous": x, "transposed": x.t(), "strided": x[:, ::2]}[layout]


class Tessera(Library):
    """Tensors with the layout of PyTorch's, and calls of operators with them."""

    def stored(self, torch, tensor):
        """A dense tensor of random elements of this size and dtype; indices are copied."""
        names = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "i32", torch.int64: "i64"}
        name, shape = names[tensor.dtype], Shape(*tensor.shape)
        if name == "i64":
            return self.take(tensor)
        if name == "i32":
            return self.randint(self.device, self.codes[name], shape, ctypes.c_int64(-1000), ctypes.c_int64(1000), ctypes.c_uint64(1))
        return self.random("rand", name, *tensor.shape)

    def like(self, torch, tensor):
        """A tensor whose elements lie in memory as those of PyTorch's do."""
        core = tensor.squeeze()
        order = sorted(range(core.dim()), key=lambda i: -core.stride(i))
        dense = core.permute(order)
        step = dense.stride(-1) if dense.dim() else 1
        if step > 1:
            dense = dense.as_strided((*dense.shape[:-1], dense.shape[-1] * step), (*dense.stride()[:-1], 1))
        ours = self.stored(torch, dense)
        if step > 1:
            ours = self.slice(ours, len(order) - 1, ctypes.c_int64(0), ctypes.c_int64(dense.shape[-1]), ctypes.c_int64(step))
        if len(order) > 1:
            ours = self.permute(ours, (ctypes.c_int * len(order))(*(order.index(i) for i in range(len(order)))), len(order))
        ours = self.reshape(ours, Shape(*tensor.shape))
        self.must(self.lib.tsr_evaluate(ours))
        self.release_all((ours,))
        self.made = []
        return ours

    def nothing(self, like):
        function = self.lib["tsr_version" if like.restype is ctypes.c_void_p else "tsr_last_error_status"]
        function.argtypes, function.restype = like.argtypes, like.restype
        return function

    def calling(self, op, tensors, shape):
        """The call to time, and one that makes the same calls to a function that does nothing."""
        lib, (types, arguments) = self.lib, op.arguments(tensors, shape)
        function, outs = lib["tsr_" + op.name], [ctypes.c_void_p() for _ in range(op.results)]
        function.argtypes = types + [ctypes.c_void_p] * op.results
        function.restype = ctypes.c_int if op.results else ctypes.c_void_p
        given = list(arguments) + [ctypes.byref(out) for out in outs]
        lib.tsr_evaluate.argtypes = lib.tsr_release.argtypes = [ctypes.c_void_p]
        lib.tsr_evaluate.restype, lib.tsr_release.restype = ctypes.c_int, None

        def run_with(operator, evaluate, release):
            def run():
                returned = operator(*given)
                made = [out.value for out in outs] if op.results else [returned]
                status = returned if op.results else 0
                for tensor in made:
                    status = status or evaluate(tensor)
                self.must(status)
                for tensor in made:
                    release(tensor)

            return run

        functions = (function, lib.tsr_evaluate, lib.tsr_release)
        return run_with(*functions), run_with(*map(self.nothing, functions))

    def wait(self):
        self.must(self.lib.tsr_device_synchronize(self.device))


def sample(run, wait, calls, off=0):
    """Nanoseconds per call. `off` is subtracted if the host was not done before the GPU."""
    run()
    wait()
    begin = time.perf_counter_ns()
    for _ in range(calls):
        run()
    queued = time.perf_counter_ns() - begin
    wait()
    took = time.perf_counter_ns() - begin
    return (took - off * calls if queued > 0.95 * took else took) / calls


def calls_of(run, wait, seconds):
    """How many calls take `seconds`. One call alone is mostly its wait, so each guess is made with as many calls as the one before said."""
    calls = 1
    for _ in range(3):
        calls = max(1, min(MOST_CALLS, int(seconds * 1e9 / sample(run, wait, calls))))
    return calls


def nothing_cost(run):
    best = 1e9
    for _ in range(3):
        begin = time.perf_counter_ns()
        for _ in range(50):
            run()
        best = min(best, (time.perf_counter_ns() - begin) / 50)
    return best


def take_turns(contenders, calls, times, turns):
    for _ in range(turns):
        for name, (run, wait, off) in contenders.items():
            times[name].append(sample(run, wait, calls[name], off))


def ratio_of(times):
    return statistics.median(a / b for a, b in zip(times["torch"], times["tessera"]))


def measure(ours, torch, cell, args, known):
    """Times of one cell, or None if the operator has no such inputs."""
    op, shape, dtype, layout = cell
    where = "cuda" if torch.cuda.is_available() else "cpu"
    tensors = op.inputs(torch, shape, lambda s, seed: make(torch, s, dtype, layout, where))
    if tensors is None:
        return None
    tensors = [t.to(where) for t in tensors]
    taken = [ours.like(torch, t) for t in tensors]
    try:
        run, nothing = ours.calling(op, taken, shape)
        run()
        ours.wait()
        if args.warm:
            return None
        off = nothing_cost(nothing)
        ours.lib.tsr_clear_error()
        contenders = {"tessera": (run, ours.wait, off)}
        if where == "cuda" and known is None and not args.alone:
            contenders["torch"] = (lambda: op.torch(torch, *tensors), torch.cuda.synchronize, 0)
        times, calls = {}, {}
        for name, contender in contenders.items():
            calls[name] = calls_of(*contender[:2], args.seconds)
            times[name] = []
        take_turns(contenders, calls, times, args.turns)
        if "torch" in times and ratio_of(times) < BEHIND:
            take_turns(contenders, calls, times, MORE_TURNS * args.turns)
    finally:
        for tensor in taken:
            ours.lib.tsr_release(tensor)
    found = {name + "_ns": statistics.median(values) for name, values in times.items()}
    if "torch" in times:
        found["ratio"] = ratio_of(times)
    return found


def key_of(cell):
    return cell["op"], cell["rows"], cell["columns"], cell["dtype"], cell["layout"]


def summary(cells):
    ratios = [cell["ratio"] for cell in cells if "ratio" in cell]
    if not ratios:
        return "nothing was compared"
    return (f"{len(ratios):5} cells  median {statistics.median(ratios):5.2f}  under 0.95: {sum(r < 0.95 for r in ratios):4}"
            f"  under 0.7: {sum(r < 0.7 for r in ratios):4}")


def report(cells, worst):
    for title in dict.fromkeys(cell["op"] for cell in cells):
        mine = sorted((c for c in cells if c["op"] == title and "ratio" in c), key=lambda c: c["ratio"])
        names = ", ".join(f"{c['rows']}x{c['columns']} {c['dtype']} {c['layout'][0]} {c['ratio']:.2f} ({c['tessera_ns'] / 1000:.0f})" for c in mine[:worst])
        print(f"{title:15} {summary(mine)}  {names}")
    print(f"{'all':15} {summary(cells)}")


def in_order(cells):
    return sorted(cells, key=lambda c: [op.title for op in OPERATORS].index(c["op"]))


def join(names, out):
    """One map of several runs, with their backends in place of layouts."""
    cells = []
    for name in names:
        with open(name, encoding="utf-8") as file:
            run = json.load(file)
        print(f"{run['backend']:8} {summary(run['cells'])}")
        cells += [{**cell, "layout": run["backend"]} for cell in run["cells"]]
    heat_map.draw_overview(os.path.join(out, "joined.png"), in_order(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--program", default="build/release/bin/tessera", help="libtessera is looked for beside it")
    parser.add_argument("--op", default="*", help="patterns of operators, separated by commas")
    parser.add_argument("--dtype", default=",".join(DTYPES))
    parser.add_argument("--layout", default=",".join(LAYOUTS))
    parser.add_argument("--part", default="0/1", help="which of how many parts of the grid")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.001, help="of one sample")
    parser.add_argument("--worst", type=int, default=2, help="cells that are named for each operator")
    parser.add_argument("--warm", action="store_true", help="run each cell once, to build the kernels")
    parser.add_argument("--alone", action="store_true", help="measure Tessera alone, for other runs to compare with")
    parser.add_argument("--against", help="a sweep.json to compare with, in place of PyTorch")
    parser.add_argument("--out", default="build/sweep", help="folder of the table and the map")
    parser.add_argument("--join", help="runs to draw together, separated by commas")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if args.join:
        join(args.join.split(","), args.out)
        return
    begin = time.time()
    import torch
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    ours, known, cells = Tessera(args.program, args.backend, False), None, []
    if args.against:
        with open(args.against, encoding="utf-8") as file:
            known = {key_of(cell): cell for cell in json.load(file)["cells"]}
    for cell in cells_of(args):
        if time.time() - begin > args.limit:
            break
        op, (rows, columns), dtype, layout = cell
        entry = {"op": op.title, "rows": rows, "columns": columns, "dtype": dtype, "layout": layout}
        if known is not None and "tessera_ns" not in known.get(key_of(entry), {}):
            continue
        try:
            found = measure(ours, torch, cell, args, known)
        except (RuntimeError, TypeError) as error:  # one of them does not have it for this dtype
            found = {"why": str(error).splitlines()[0]}
            ours.release_all()
            ours.lib.tsr_clear_error()
        if not found:
            continue
        if known is not None and "tessera_ns" in found:
            found["ratio"] = known[key_of(entry)]["tessera_ns"] / found["tessera_ns"]
        cells.append({**entry, **found})
    if args.warm:
        return
    with open(os.path.join(args.out, "sweep.json"), "w", encoding="utf-8") as file:
        json.dump({"torch": torch.__version__, "backend": args.backend, "cells": cells}, file, indent=0)
    cells = in_order(cells)
    heat_map.draw_overview(os.path.join(args.out, "overview.png"), cells)
    report(cells, args.worst)
    print(f"{time.time() - begin:.0f} s; table and map: {args.out}")


if __name__ == "__main__":
    sys.exit(main())
