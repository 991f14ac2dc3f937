#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares Tessera's Python module with PyTorch over random operators, shapes, dtypes, axes and layouts.

    PYTHONPATH=build/release/python python3 bench/random_vs_torch.py [--backend cuda] [--seed 1] [--limit 60] [--processes 8] [--only 'conv*'] [--out build/random]
    PYTHONPATH=build/release/python /usr/bin/python3 bench/random_vs_torch.py --backend cpu --threads 2 --most 1e7

The other benchmarks have fixed grids, so an operator may be slow between their points. Here a seed and a number make a cell (bench/random_cells.py). Both
libraries run in one process and take turns, sample by sample. A sample is as many calls as take --seconds, and one wait. With --backend cpu PyTorch runs on the
CPU, too; otherwise it runs on its GPU if it has one.

The results are compared as well: a relative difference that is too large for the dtype is printed. --seconds 0 only compares. As in bench/gpu_sweep.py,
--processes build kernels at the same time and measure in turn. A device is opened with TF32 or without, so every eighth process takes the cells of TF32, and no
other. Cells with a ratio under --least are printed when they are found, and again at the end in the order of their ratios, with the median of each family.
cells.json has all cells.
"""
import argparse
import fnmatch
import json
import os
import statistics
import sys
import time

import crew
import random_cells
from gpu_wake import Waker

BATCH_SECONDS, BATCH_BYTES = 2.0, 3e9  # how long cells are prepared, and the most bytes of their inputs, before they are measured
WARM_CALLS, WARM_SECONDS = 30, 0.1  # the most calls before the samples: libraries look for a plan once a shape has come back often enough
MOST_CALLS = 1000
CELL_SECONDS = 1.0  # after which a cell has had enough samples
BOUNDS = {"f64": 1e-5, "f32": 1e-3, "tf32": 5e-3, "f16": 1e-2, "bf16": 5e-2}  # of ||ours - theirs|| / ||theirs||


def flat(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


class Gradients:
    """The gradients of a cell's operator by its inputs of floats, by both libraries."""

    def __init__(self, cell):
        self.cell = cell

    def torch(self, torch, *inputs):
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in inputs]
            y = flat(self.cell.torch(torch, *leaves))[0]
            return torch.autograd.grad((y * y).sum(), [x for x in leaves if x.requires_grad], allow_unused=True)

    def ours(self, tessera, *inputs):
        def energy(*arrays):
            y = flat(self.cell.ours(tessera.ops, *arrays))[0]
            return tessera.ops.sum(y * y)

        by = tuple(i for i, x in enumerate(inputs) if x.dtype.kind == "f")
        return tessera.value_and_grad(energy, by)(*inputs)[1]


class Prepared:
    """A cell whose inputs are made and whose kernels are built. `seconds`: what a call of each library takes, about."""

    def __init__(self, torch, tessera, cell, where):
        self.cell, self.torch, self.tessera, self.where, self.device = cell, torch, tessera, where, tessera.device()
        dense = [x.make(torch, where) for x in cell.inputs]
        self.bytes = sum(x.numel() * x.element_size() for x in dense)
        self.theirs = [x.view(a) for x, a in zip(cell.inputs, dense)]
        self.mine = [x.view(self.copy(a)) for x, a in zip(cell.inputs, dense)]
        calls = Gradients(cell) if cell.grad else cell
        library = tessera if cell.grad else tessera.ops
        self.calls = {"torch": lambda: calls.torch(torch, *self.theirs), "tessera": lambda: calls.ours(library, *self.mine)}
        self.error = self.compare()

    def copy(self, x):
        """Memory of Tessera's on its device, with PyTorch's elements from the host."""
        is_bool = x.dtype == self.torch.bool
        taken = self.tessera.from_dlpack((x.to(self.torch.uint8) if is_bool else x).cpu()).to_device(self.device)
        copied = (taken.astype(self.tessera.bool) if is_bool else taken.copy()).evaluate()
        self.device.synchronize()
        return copied

    def release(self):
        self.theirs = self.mine = self.calls = ()

    def wait(self):
        self.device.synchronize()
        if self.where == "cuda":
            self.torch.cuda.synchronize()

    def run(self, name):
        results = flat(self.calls[name]())
        if name == "tessera":
            for x in results:
                x.evaluate()
        return results

    def compare(self):
        """The largest relative difference of the results."""
        theirs, mine = self.run("torch"), self.run("tessera")
        self.wait()
        if not self.cell.compares:
            return 0.0
        if len(theirs) != len(mine):
            return float("inf")
        return max((self.difference(a, b) for a, b in zip(theirs, mine) if a is not None), default=0.0)

    def difference(self, a, b):
        """||a - b|| / ||a|| of floats; the share of the elements that differ for others. NaN and infinity must be in the same places."""
        torch = self.torch
        b = torch.from_dlpack(b.to_device("cpu").astype(self.tessera.float64)).to(a.device)
        is_float, a = a.is_floating_point(), a.double()
        if a.shape != b.shape:
            return float("inf")
        if not is_float:
            return float((a != b).double().mean()) if a.numel() else 0.0
        ok = torch.isfinite(a)
        if not torch.equal(ok, torch.isfinite(b)):
            return float("inf")
        a, b = a[ok], b[ok]
        return float((a - b).norm() / a.norm().clamp_min(1e-30)) if a.numel() else 0.0

    def sample(self, name, calls):
        self.run(name)
        self.wait()
        begin = time.perf_counter()
        for _ in range(calls):
            self.run(name)
        self.wait()
        return (time.perf_counter() - begin) / calls

    def count(self, name, seconds):
        begin, calls = time.perf_counter(), 0
        while calls < WARM_CALLS and time.perf_counter() - begin < WARM_SECONDS:
            self.run(name)
            calls += 1
        self.wait()
        calls, least = max(1, calls // 3), float("inf")
        for _ in range(3):  # a library that makes its plan in one of these samples takes long once: the shortest call counts
            least = min(least, self.sample(name, calls))
            calls = max(1, min(MOST_CALLS, int(seconds / least)))
        return calls

    def measure(self, args):
        calls = {name: self.count(name, args.seconds) for name in self.calls}
        times = {name: [] for name in calls}
        end = time.perf_counter() + CELL_SECONDS
        for turn in range(3 * args.turns):
            for name, count in calls.items():
                times[name].append(self.sample(name, count))
            ratio = statistics.median(a / b for a, b in zip(times["torch"], times["tessera"]))
            if (turn + 1 >= args.turns and ratio >= args.least) or time.perf_counter() > end:
                break
        found = {name + "_us": round(1e6 * statistics.median(values), 2) for name, values in times.items()}
        return {**found, "ratio": round(ratio, 3)}

    def host(self, name="tessera", calls=20):
        """The share of a call's time for which the host queues it."""
        self.run(name)
        self.wait()
        begin = time.perf_counter()
        for _ in range(calls):
            self.run(name)
        queued = time.perf_counter()
        self.wait()
        return round((queued - begin) / (time.perf_counter() - begin), 2)


def takes_tf32(process):
    return process % 8 == 7


class Search:
    """What one process does. `is_tf32`: it takes cells of TF32 alone."""

    def __init__(self, args, end, is_tf32):
        os.environ["TESSERA_TF32"] = "on" if is_tf32 else "off"
        import torch
        import tessera
        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = is_tf32
        self.torch, self.tessera, self.args, self.end, self.is_tf32 = torch, tessera, args, end, is_tf32
        self.where = random_cells.device_of(torch, args.backend)
        self.found, self.gpu = [], Waker()
        if args.threads:
            torch.set_num_threads(args.threads)

    def prepare(self, cell):
        try:
            with self.tessera.device(self.args.backend):
                return Prepared(self.torch, self.tessera, cell, self.where)
        except Exception as error:
            self.note(cell, {"why": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"})
            return None

    def note(self, cell, facts):
        self.found.append({"title": cell.title, "family": cell.title.split()[0] if not cell.grad else "gradients", **facts})
        if facts.get("ratio", self.args.least) < self.args.least:
            print(line_of(self.found[-1]), file=sys.stderr, flush=True)

    def batch(self, cells):
        begin, found = time.time(), []
        while begin < self.end:
            cell = next(cells, None)
            prepared = self.prepare(cell) if cell else None
            found += [prepared] if prepared else []
            now = time.time()
            if not cell or now > self.end or now - begin > BATCH_SECONDS or sum(p.bytes for p in found) > BATCH_BYTES:
                break
        return found

    def measure(self, batch):
        if self.where == "cuda":
            self.gpu.wake(lambda: batch[0].sample("torch", 3), self.gpu.last_ns)
        for prepared in batch:
            with self.tessera.device(self.args.backend):
                try:
                    times = prepared.measure(self.args) if self.args.seconds > 0 else {}
                    if times.get("ratio", self.args.least) < self.args.least:
                        times["host"] = prepared.host()
                    kind = next((name for name in ("tf32", "bf16", "f16", "f64") if name in prepared.cell.title.split()), "f32")
                    self.note(prepared.cell, {**times, "error": prepared.error, "differs": prepared.error > BOUNDS[kind]})
                except Exception as error:
                    self.note(prepared.cell, {"why": str(error).splitlines()[0]})
        self.gpu.worked()
        for prepared in batch:
            prepared.release()
        if self.where == "cuda":
            self.torch.cuda.empty_cache()

    def run(self, together, number):
        wanted = self.args.only.split(",")
        alike = [i for i in range(together.count) if takes_tf32(i) == self.is_tf32]  # processes that share the cells
        numbers = range(alike.index(number), 10**6, len(alike))
        made = (random_cells.cell(i, self.args.seed, self.args.most, self.where) for i in numbers)
        cells = (cell for cell in made if cell.tf32 == self.is_tf32 and any(fnmatch.fnmatch(cell.title, pattern) for pattern in wanted))
        together.rounds(lambda: self.batch(cells), self.measure)
        return self.found


def line_of(cell):
    return f"{cell['title'][:118]:118} {cell['torch_us']:10.1f} {cell['tessera_us']:10.1f} {cell['ratio']:6.2f}  host {cell.get('host', '')}"


def report(cells, args):
    timed = [c for c in cells if "ratio" in c]
    for cell in sorted((c for c in timed if c["ratio"] < args.least), key=lambda c: c["ratio"]):
        print(line_of(cell))
    for cell in cells:
        if cell.get("differs"):
            print(f"DIFFERS by {cell['error']:.2g}: {cell['title']}")
        if "why" in cell:
            print(f"not run: {cell['title']}: {cell['why']}"[:220])
    families = {}
    for cell in timed:
        families.setdefault(cell["family"], []).append(cell["ratio"])
    if timed:
        print("medians: " + ", ".join(f"{name} {statistics.median(r):.2f} ({len(r)})" for name, r in sorted(families.items())))
        print(f"{len(timed)} cells timed, median {statistics.median(c['ratio'] for c in timed):.2f}, "
              f"{sum(c['ratio'] < args.least for c in timed)} under {args.least:g}, {sum(c['ratio'] < 0.7 for c in timed)} under 0.7")
    print(f"{sum('error' in c for c in cells)} cells compared, {sum(bool(c.get('differs')) for c in cells)} that differ, {sum('why' in c for c in cells)} not run")


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    parser.add_argument("--processes", type=int, default=1, help="that build kernels at the same time")
    parser.add_argument("--threads", type=int, help="of each library on the CPU (default: what each takes by itself)")
    parser.add_argument("--only", default="*", help="patterns of cells' titles, separated by commas")
    parser.add_argument("--most", type=float, default=1e8, help="elements of an input")
    parser.add_argument("--seconds", type=float, default=0.003, help="of one sample; 0: only compare results")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--least", type=float, default=0.95, help="ratio under which a cell is printed, and measured three times as often")
    parser.add_argument("--out", default="build/random", help="folder of cells.json")
    return parser.parse_args()


def main():
    args = options()
    if args.threads:
        os.environ["TESSERA_THREADS"] = str(args.threads)
    end = time.time() + args.limit
    answers = crew.run(args.processes, lambda together, number: Search(args, end, takes_tf32(number)).run(together, number))
    cells = [cell for found in answers for cell in found]
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "cells.json"), "w") as file:
        json.dump(cells, file, indent=0)
    report(cells, args)


if __name__ == "__main__":
    sys.exit(main())
