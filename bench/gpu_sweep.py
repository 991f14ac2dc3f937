#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the operators of bench/sweep.py on a GPU, over a grid of shapes, dtypes and layouts: with PyTorch, or with an earlier run.

    python3 bench/gpu_sweep.py [--backend cuda] [--limit 120] [--op 'sum*,softmax'] [--out build/sweep] [--alone] [--against sweep.json]

Both libraries run in this process and take turns, sample by sample; a sample is as many calls, queued one after the other, as take four
milliseconds (at most 2,000), and one wait: the start of a burst and its wait take Vulkan and WebGPU some 0.1 ms, which is not what a kernel takes. A cell whose ratio is under 0.95 after --turns samples gets four times as many more, and the
median of all counts: three samples of some microseconds are often wrong by more than that. Cells are taken in an order that depends on
their names alone, so that those of the first --limit seconds are a fair part of the grid. --warm runs each of them once and measures nothing: it fills the cache of kernels, and
several processes can share that by --part 0/8, 1/8 and so on. Tessera is called from C (bench/from_c.py), since a call through ctypes
takes as long as queueing a small operator; PyTorch is called as its users call it. With --against, the ratio is the time of the same cell
in that file divided by this one's; that, --alone and --warm do not load PyTorch. --join a/sweep.json,b/sweep.json measures nothing: it draws one map of runs
through several backends.

The GPU's clock falls while inputs are made and kernels are built (bench/gpu_wake.py). So that is done for many cells first, which are then measured one after
the other: before them the GPU works until a kernel of known time is as fast as ever. That kernel is timed again after them, and its pace, as a share of the
fastest, is kept with each cell. Building takes most of the time, so --processes of them build at once (bench/crew.py), and measure in turn.
"""
import argparse
import ctypes
import fnmatch
import hashlib
import math
import os
import statistics
import sys
import time

import crew
import gpu_sweep_report
import layouts
from from_c import Calls
from gpu_shapes import Library, Shape
from gpu_sweep_report import key_of
from gpu_wake import MOST_NS, Pace, Waker
from sweep_ops import OPERATORS

SIZES = (1, 7, 64, 1000, 16384, 1000000)
ODD = ((3, 999), (999, 3), (127, 513), (1023, 1025), (33, 100003), (4097, 4099))
MOST = 20_000_000  # elements
MOST_PRODUCT = 2e10  # multiply-adds of a matrix product
MOST_FACTOR = 5e7  # elements of each of its factors
DTYPES = ("f32", "bf16", "i32")
DTYPE_NAMES = {"torch.float32": "f32", "torch.bfloat16": "bf16", "torch.int32": "i32", "torch.int64": "i64"}
LAYOUTS = ("contiguous", "transposed", "strided")
MOST_CALLS = 2000
BEHIND, MORE_TURNS = 0.95, 4
BATCH_SECONDS, BATCH_BYTES = 2.0, 4e9  # how long cells are prepared, and the most bytes of their inputs, before they are measured
CELL_SECONDS = 0.02  # what measuring a cell takes, about
KNOWN_SIZE = 10_000_000  # numbers that the kernel of known time makes


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
                    if is_small and math.prod(shape) >= args.least_elements and not (dtype == "i32" and op.is_float):
                        found.append((op, shape, dtype, layout))
    name = lambda cell: f"{cell[0].title} {cell[1]} {cell[2]} {cell[3]}"
    part, parts = map(int, args.part.split("/"))
    found.sort(key=lambda cell: hashlib.md5(name(cell).encode()).digest())
    return [cell for i, cell in enumerate(found) if i % parts == part]


def entry_of(cell):
    op, (rows, columns), dtype, layout = cell
    return {"op": op.title, "rows": rows, "columns": columns, "dtype": dtype, "layout": layout}


def make(torch, shape, dtype, layout):
    """A matrix of this shape and memory layout: PyTorch's or, without it, the layout alone."""
    rows, columns = shape
    stored = {"contiguous": (rows, columns), "transposed": (columns, rows), "strided": (rows, 2 * columns)}[layout]
    if not torch:
        x = layouts.Layout(stored, dtype)
    elif dtype == "i32":
        x = torch.randint(-1000, 1000, stored, dtype=torch.int32, device="cuda")
    else:
        x = (torch.rand(stored, device="cuda") * 2 - 1).to(torch.bfloat16 if dtype == "bf16" else torch.float32)
    return {"contiguous": lambda: x, "transposed": x.t, "strided": lambda: x[:, ::2]}[layout]()


class Tessera(Library):
    """Tensors with a layout that is given, and calls of operators with them."""

    def __init__(self, program, backend):
        super().__init__(program, backend, False)
        self.calls = Calls(program, self.lib, self.device, self.must, waits_once=True)

    def stored(self, tensor):
        """A dense tensor of random elements of this size and dtype; indices have the range of those that are given."""
        name, shape = DTYPE_NAMES.get(str(tensor.dtype), tensor.dtype), Shape(*tensor.shape)
        if name in ("i32", "i64"):
            least, limit = (-1000, 1000) if name == "i32" else (0, tensor.limit if isinstance(tensor, layouts.Layout) else int(tensor.max()) + 1)
            return self.randint(self.device, self.codes[name], shape, ctypes.c_int64(least), ctypes.c_int64(limit), ctypes.c_uint64(1))
        return self.random("rand", name, *tensor.shape)

    def like(self, tensor):
        """A tensor whose elements lie in memory as those of PyTorch's tensor, or of a layout, do."""
        core = tensor.squeeze()
        order = sorted(range(core.dim()), key=lambda i: -core.stride(i))
        dense = core.permute(order)
        step = dense.stride(-1) if dense.dim() else 1
        if step > 1:
            dense = dense.as_strided((*dense.shape[:-1], dense.shape[-1] * step), (*dense.stride()[:-1], 1))
        ours = self.stored(dense)
        if step > 1:
            ours = self.slice(ours, len(order) - 1, ctypes.c_int64(0), ctypes.c_int64(dense.shape[-1]), ctypes.c_int64(step))
        if len(order) > 1:
            ours = self.permute(ours, (ctypes.c_int * len(order))(*(order.index(i) for i in range(len(order)))), len(order))
        ours = self.reshape(ours, Shape(*tensor.shape))
        self.must(self.lib.tsr_evaluate(ours))
        self.release_all((ours,))
        self.made = []
        return ours

    def sampler(self, op, tensors, shape):
        """A function that calls the operator so many times, waits once, and returns the mean time in ns."""
        return self.calls.sampler(op.name, *op.arguments(tensors, shape), op.results)

    def wait(self):
        self.must(self.lib.tsr_device_synchronize(self.device))

    def pace(self, best):
        """The time of a kernel that is bound by instructions, in as many calls as take 2 ms. `best` as for Pace."""
        function, size = self.lib.tsr_randn, Shape(KNOWN_SIZE)
        function.restype = ctypes.c_void_p

        def run():
            made = ctypes.c_void_p(function(self.device, self.codes["f32"], size, ctypes.c_uint64(1)))
            self.must(self.lib.tsr_evaluate(made))
            self.lib.tsr_release(made)

        one = python_sampler(run, self.wait)
        calls = calls_of(one, 0.002)
        return Pace(lambda: sample(one, calls), best)


def python_sampler(run, wait):
    """As Calls.sampler, for a function of Python."""
    def taken(calls):
        begin = time.perf_counter_ns()
        for _ in range(calls):
            run()
        wait()
        return (time.perf_counter_ns() - begin) / calls

    return taken


def sample(sampler, calls):
    """Nanoseconds per call. Nothing is queued before."""
    sampler(1)
    return sampler(calls)


def calls_of(sampler, seconds):
    """How many calls take `seconds`. One call alone is mostly its wait, so each guess is made with as many calls as the one before said."""
    calls = 1
    for part in (min(seconds, 0.001), min(seconds, 0.001), seconds):
        calls = max(1, min(MOST_CALLS, int(part * 1e9 / sample(sampler, calls))))
    return calls


def take_turns(contenders, calls, times, turns):
    for _ in range(turns):
        for name, sampler in contenders.items():
            times[name].append(sample(sampler, calls[name]))


def ratio_of(times):
    return statistics.median(a / b for a, b in zip(times["torch"], times["tessera"]))


class Prepared:
    """A cell whose inputs are made and whose kernels are built: all have run once. `contenders` are, by library, functions that call it so many
    times, wait, and return the mean time. Without PyTorch there is one. If the operator has no such inputs, there is none."""

    def __init__(self, ours, torch, cell):
        op, shape, dtype, layout = cell
        tensors = op.inputs(torch or layouts, shape, lambda s, seed: make(torch, s, dtype, layout)) or []
        if torch:
            tensors = [t.to("cuda") for t in tensors]
        self.ours, self.entry, self.contenders = ours, entry_of(cell), {}
        self.bytes = sum(8 * math.prod(t.shape) for t in tensors)
        begin = time.perf_counter()
        self.taken = [ours.like(t) for t in tensors]
        try:
            if tensors:
                self.run_once(op, shape, torch, tensors)
                self.entry["prepare_ms"] = round(1000 * (time.perf_counter() - begin), 1)
        except (RuntimeError, TypeError):
            self.release()
            raise

    def run_once(self, op, shape, torch, tensors):
        self.contenders["tessera"] = self.ours.sampler(op, self.taken, shape)
        if torch:
            self.contenders["torch"] = python_sampler(lambda: op.torch(torch, *tensors), torch.cuda.synchronize)
        for sampler in self.contenders.values():
            sampler(1)

    def measure(self, args):
        """Times of the cell, and their ratio if there are two contenders."""
        calls = {name: calls_of(sampler, args.seconds) for name, sampler in self.contenders.items()}
        times = {name: [] for name in calls}
        take_turns(self.contenders, calls, times, args.turns)
        if "torch" in times and ratio_of(times) < BEHIND:
            take_turns(self.contenders, calls, times, MORE_TURNS * args.turns)
        found = {name + "_ns": statistics.median(values) for name, values in times.items()}
        return {**found, "ratio": ratio_of(times)} if "torch" in times else found

    def release(self):
        for tensor in self.taken:
            self.ours.lib.tsr_release(tensor)
        self.taken, self.contenders = [], {}


class Sweep:
    """A process's run through its part of the grid until the time `end`: batch by batch, cells are prepared, the clock is raised, and they are measured.
    `known`: the times of an earlier run by cell, or None."""

    def __init__(self, ours, torch, args, known, end):
        self.ours, self.torch, self.args, self.known, self.end = ours, torch, args, known, end
        self.cells, self.gpu, self.pace = [], Waker(), None

    def base_ns(self, entry):
        return self.known.get(key_of(entry), {}).get("tessera_ns", 0)

    def attempt(self, entry, action):
        """What `action` returns, or None: a library does not have the operator for this dtype."""
        try:
            return action()
        except (RuntimeError, TypeError) as error:
            self.cells.append({**entry, "why": str(error).splitlines()[0]})
            self.ours.release_all()
            self.ours.lib.tsr_clear_error()
            return None

    def batch(self, cells):
        """Prepares the next cells: as many as there is memory for, and as can still be measured in time."""
        begin, found = time.time(), []
        for cell in cells if begin < self.end else []:
            entry = entry_of(cell)
            if self.known is None or self.base_ns(entry) > 1000 * self.args.least_us:
                prepared = self.attempt(entry, lambda: Prepared(self.ours, self.torch, cell))
                found += [prepared] if prepared and prepared.contenders else []
            now = time.time()
            has_room = sum(p.bytes for p in found) < BATCH_BYTES and now - begin < BATCH_SECONDS
            if not has_room or now + MOST_NS / 1e9 + CELL_SECONDS * len(found) * self.args.processes > self.end:
                break
        return found

    def wake(self):
        """The first process, the first time, until the clock must be up: how fast the GPU can be is not known before."""
        is_awake = self.pace.is_full if self.pace.is_known() else None
        self.gpu.wake(self.pace.measure, self.gpu.last_ns, is_awake=is_awake)

    def measure(self, batch):
        self.wake()
        first = len(self.cells)
        for prepared in batch:
            times = self.attempt(prepared.entry, lambda: prepared.measure(self.args))
            if times and self.known is not None:
                times["ratio"] = self.base_ns(prepared.entry) / times["tessera_ns"]
            self.cells += [{**prepared.entry, **times}] if times else []
        self.pace.settle()
        self.gpu.worked()
        for cell in self.cells[first:]:
            cell["pace"] = round(self.pace.share, 3)
        for prepared in batch:
            prepared.release()

    def run(self, together, number):
        """Takes every cell whose place in the grid is `number`, counted modulo the number of processes."""
        cells = iter(cells_of(self.args)[number::together.count])
        with together.turn:
            self.pace = self.ours.pace(together.best_ns)
        together.rounds(lambda: self.batch(cells), self.measure)
        return self.cells, self.gpu.spent_ns


def warm(ours, args, end):
    """Runs each cell once."""
    for cell in cells_of(args):
        if time.time() > end:
            break
        try:
            Prepared(ours, None, cell).release()
        except (RuntimeError, TypeError):
            ours.release_all()
            ours.lib.tsr_clear_error()


def load_torch():
    """PyTorch, or None if it finds no GPU."""
    import torch
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch if torch.cuda.is_available() else None


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--program", default="build/release/bin/tessera", help="libtessera is looked for beside it")
    parser.add_argument("--op", default="*", help="patterns of operators, separated by commas")
    parser.add_argument("--dtype", default=",".join(DTYPES))
    parser.add_argument("--layout", default=",".join(LAYOUTS))
    parser.add_argument("--least-elements", type=int, default=0, help="only shapes with as many elements")
    parser.add_argument("--part", default="0/1", help="which of how many parts of the grid")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.004, help="of one sample")
    parser.add_argument("--processes", type=int, default=1, help="that build kernels at the same time")
    parser.add_argument("--worst", type=int, default=2, help="cells that are named for each operator")
    parser.add_argument("--worst-of-all", type=int, default=0, help="cells of those that the GPU bounds that are named in the end, with --against")
    parser.add_argument("--warm", action="store_true", help="run each cell once, to build the kernels")
    parser.add_argument("--alone", action="store_true", help="measure Tessera alone, for other runs to compare with")
    parser.add_argument("--against", help="a sweep.json to compare with, in place of PyTorch")
    parser.add_argument("--least-us", type=float, default=0, help="with --against: only cells that took longer there")
    parser.add_argument("--out", default="build/sweep", help="folder of the table and the map")
    parser.add_argument("--join", help="runs to draw together, separated by commas")
    return parser.parse_args()


def main():
    begin, args = time.time(), options()
    os.makedirs(args.out, exist_ok=True)
    if args.join:
        gpu_sweep_report.join(args.join.split(","), args.out)
        return
    known = gpu_sweep_report.read(args.against) if args.against else None

    def task(together, number):
        ours = Tessera(args.program, args.backend)
        torch = None if args.alone or args.against else load_torch()
        sweep = Sweep(ours, torch, args, known, begin + args.limit)
        return (*sweep.run(together, number), torch.__version__ if torch else None)

    if args.warm:
        warm(Tessera(args.program, args.backend), args, begin + args.limit)
        return
    answers = crew.run(args.processes, task)
    seconds, waking = time.time() - begin, sum(spent_ns for _, spent_ns, _ in answers) / 1e9
    about = {"torch": answers[0][2] if answers else None, "backend": args.backend, "seconds": seconds, "seconds_waking": waking}
    gpu_sweep_report.report([cell for cells, _, _ in answers for cell in cells], about, args)


if __name__ == "__main__":
    sys.exit(main())
