#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares Tessera on the CPU with NumPy and PyTorch: the same work, in one run, with the same number of threads.

    /usr/bin/python3 bench/cpu_vs_peers.py [--program build/release/bin/tessera] [--threads 2] [--rounds 11]

`tessera bench --turns` times Tessera. The libraries take turns, sample by sample, and a ratio is the median of the ratios
of all rounds, so that other processes affect all libraries alike. Each library gets new memory in each round, because the
place of the memory changes the time to read it by a tenth. The peers' memory is in huge pages (NumPy requests them, PyTorch
would not). A peer that is not installed is left out, with a message.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import same_memory
from turns import Tessera, sample_ns

LARGE = 10_000_000
SIDE = 4096


def load_peers(threads):
    """The installed peers. The environment variables must be set before they are imported."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    peers = {}
    try:
        import numpy

        peers["numpy"] = numpy
    except ImportError:
        print("NumPy is not installed (Debian: python3-numpy): its columns are empty.")
    try:
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        peers["torch"] = torch
    except ImportError:
        print("PyTorch is not installed (Debian: python3-torch): its columns are empty.")
    return peers


class Row:
    """One line of the table: a row of `tessera bench`, the peers' code for it, and its goals.

    `goals` are pairs of a peer and the smallest wanted ratio of its time to Tessera's."""

    def __init__(self, name, title, shape, inputs, numpy=None, torch=None, best=None, goals=()):
        self.name, self.title, self.shape, self.inputs = name, title, shape, inputs
        self.code = {"numpy": numpy, "torch": torch, "best": best}
        self.goals = dict(goals)


def rows():
    vector, matrix = (LARGE,), (SIDE, SIDE)
    same = [("torch", 1.0)]
    return [
        Row("relu_mul_add", "relu(a*b+c), 10^7", vector, 3,
            numpy=lambda np, a, b, c: np.maximum(a * b + c, 0),
            torch=lambda t, a, b, c: t.relu(a * b + c),
            best=lambda t, a, b, c: t.addcmul(c, a, b).relu_(),
            goals=[("numpy", 2.0), ("torch", 2.0), ("best", 1.4)]),
        Row("sum", "sum of 4096²", matrix, 1, numpy=lambda np, a: a.sum(), torch=lambda t, a: a.sum(), goals=same),
        Row("sum_axis0", "sum over axis 0", matrix, 1, numpy=lambda np, a: a.sum(0), torch=lambda t, a: a.sum(0),
            goals=same),
        Row("sum_axis1", "sum over axis 1", matrix, 1, numpy=lambda np, a: a.sum(1), torch=lambda t, a: a.sum(1),
            goals=same),
        Row("transposed_copy", "transposed copy, 4096²", matrix, 1, numpy=lambda np, a: np.ascontiguousarray(a.T),
            torch=lambda t, a: a.t().contiguous(), best=lambda t, a, out: out.copy_(a.t()), goals=[("torch", 1.5)]),
        Row("exp", "exp, 10^7", vector, 1, numpy=lambda np, a: np.exp(a), torch=lambda t, a: t.exp(a),
            best=lambda t, a, out: t.exp(a, out=out), goals=same),
        Row("tanh", "tanh, 10^7", vector, 1, numpy=lambda np, a: np.tanh(a), torch=lambda t, a: t.tanh(a),
            best=lambda t, a, out: t.tanh(a, out=out), goals=same),
        Row("gelu", "gelu, 10^7", vector, 1, torch=lambda t, a: t.nn.functional.gelu(a), goals=same),
        Row("sigmoid", "sigmoid, 10^7", vector, 1, numpy=lambda np, a: 1 / (1 + np.exp(-a)),
            torch=lambda t, a: t.sigmoid(a), best=lambda t, a, out: t.sigmoid(a, out=out), goals=same),
        Row("softmax", "softmax, 4096²", matrix, 1, torch=lambda t, a: t.softmax(a, 1)),
        Row("matmul", "matmul, 1024²", (1024, 1024), 2, numpy=lambda np, a, b: a @ b, torch=lambda t, a, b: a @ b),
    ]


# Row of `tessera bench`, title, limit in nanoseconds, and the equivalent in NumPy and PyTorch (for comparison).
COSTS = [
    ("record", "record one operator", 150, None),
    ("small_add", "add two 4-element tensors and read", 1000, "a + b"),
    ("fused_new", "ten operators, new kernel", 200_000, None),
    ("fused_cached", "ten operators, cached kernel", 2000, None),
    ("pool", "take 4 MiB from the pool and give it back", None, None),
    ("launch", "launch a kernel on 4 elements and wait", None, None),
]


def tessera(args, ops, size=None):
    """The results of `tessera bench --json`, by row name."""
    command = [args.program, "bench", "--json", "--backend", "cpu", "--op", ops, "--min-time", "0.1"]
    if size:
        command += ["--size", size]
    environment = dict(os.environ, TESSERA_THREADS=str(args.threads))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"'{' '.join(command)}' exits with {done.returncode}")
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


def median_ns(run, seconds):
    """Median time of one call, after a warm-up."""
    run()
    times = []
    start = time.perf_counter_ns()
    while len(times) < 3 or time.perf_counter_ns() - start < seconds * 1e9:
        begin = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times)


def inputs(row, peers):
    if "numpy" not in peers:
        return []
    np = peers["numpy"]
    return [np.random.default_rng(i).random(row.shape, dtype=np.float32) * 2 - 1 for i in range(row.inputs)]


def contenders(row, peers, arrays):
    """The calls for a row, by peer, on copies of the arrays."""
    calls = {}
    if not arrays:
        return calls
    np = peers["numpy"]
    arrays = [a.copy() for a in arrays]
    if row.code["numpy"]:
        calls["numpy"] = lambda: row.code["numpy"](np, *arrays)
    if "torch" in peers:
        torch = peers["torch"]
        tensors = [torch.from_numpy(a) for a in arrays]
        calls["torch"] = lambda: row.code["torch"](torch, *tensors)
        if row.code["best"]:
            takes_out = row.code["best"].__code__.co_argcount > 1 + row.inputs
            given = tensors + ([torch.empty_like(tensors[0])] if takes_out else [])
            calls["best"] = lambda: row.code["best"](torch, *given)
    return calls


def take_turns(ours, calls, turns):
    """Medians, by library, of samples of at least ten milliseconds, taken in turns."""
    samples = {"tessera": [], **{name: [] for name in calls}}
    counts = {name: max(1, int(1e7 / sample_ns(run, 1))) for name, run in calls.items()}
    for _ in range(turns):
        samples["tessera"].append(ours.sample_ns())
        for name, run in calls.items():
            time.sleep(0.01)  # the peers' threads spin for a while before they sleep
            samples[name].append(sample_ns(run, counts[name]))
        time.sleep(0.01)
    return {name: statistics.median(values) for name, values in samples.items()}


def measure(row, args, peers):
    """Times by library, one per round; and the reason if there are none."""
    arrays, times = inputs(row, peers), {}
    for _ in range(args.rounds):
        ours = Tessera(args.program, "cpu", row.name, size=row.shape if len(row.shape) == 2 else None,
                       env={"TESSERA_THREADS": str(args.threads)})
        medians = take_turns(ours, contenders(row, peers, arrays), args.turns) if ours.is_ready else {}
        why = ours.why_not()
        if why:
            return {}, why
        for name, ns in medians.items():
            times.setdefault(name, []).append(ns)
    return times, ""


def ratio(times, name):
    return statistics.median(peer / own for peer, own in zip(times[name], times["tessera"]))


def verdict(is_met):
    return "met" if is_met else "NOT MET"


def print_row(row, times, share):
    cells = [f"{row.title:<24}", f"{statistics.median(times['tessera']) / 1e6:9.2f}"]
    for name in ("numpy", "torch", "best"):
        cells.append(f"{ratio(times, name):8.2f}x" if name in times else f"{'-':>9}")
    cells.append(f"{share * 100:7.0f} %")
    judged = [f"{goal:g}x {name}: {verdict(ratio(times, name) >= goal)}" for name, goal in row.goals.items()
              if name in times]
    if row.name == "relu_mul_add":
        judged.append(f"85 % of the limit: {verdict(share >= 0.85)}")
    print(*cells, " " + ", ".join(judged), flush=True)


def share_of_limit(row, args):
    """The share of the machine's limit, measured at the same time; the median of three runs."""
    size = "x".join(str(n) for n in row.shape) if len(row.shape) == 2 else None
    return statistics.median(tessera(args, row.name, size)[row.name]["share"] or 0 for _ in range(3))


def print_speeds(args, peers):
    print(f"\n{'':24} {'Tessera':>9} {'against':>9} {'against':>9} {'PyTorch':>9} {'of the':>9}")
    print(f"{'f32':24} {'ms':>9} {'NumPy':>9} {'PyTorch':>9} {'best':>9} {'limit':>9}  goals")
    for row in rows():
        if args.op and row.name not in args.op.split(","):
            continue
        times, why = measure(row, args, peers)
        if times:
            print_row(row, times, share_of_limit(row, args))
        else:
            print(f"{row.title:<24} not timed: {why}", flush=True)


def small_add_ns(peers):
    """The time to add two 4-element arrays in each peer, including the result."""
    found = {}
    for name, make in (("numpy", lambda m: m.ones(4, dtype=m.float32)), ("torch", lambda m: m.ones(4))):
        if name in peers:
            a, b = make(peers[name]), make(peers[name])
            found[name] = median_ns(lambda a=a, b=b: [a + b for _ in range(1000)], 0.2) / 1000
    return found


def print_costs(args, peers):
    samples = [tessera(args, ",".join(cost[0] for cost in COSTS)) for _ in range(args.rounds)]
    print(f"\n{'What it costs to begin':44} {'Tessera':>12}   goal")
    for name, title, most, peer_code in COSTS:
        ns = statistics.median(sample[name]["median_ns"] or float("nan") for sample in samples)
        goal = f"under {most} ns: {verdict(ns < most)}" if most else ""
        if peer_code:
            goal += "".join(f"; {peer} {peer_ns:.0f} ns" for peer, peer_ns in small_add_ns(peers).items())
        print(f"{title:<44} {ns:9.0f} ns   {goal}", flush=True)


def machine():
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/tessera", help="the program tessera")
    parser.add_argument("--threads", type=int, default=2, help="threads that each contender gets")
    parser.add_argument("--rounds", type=int, default=11, help="how often all begin anew, in new memory")
    parser.add_argument("--turns", type=int, default=6, help="samples of each contender and round")
    parser.add_argument("--op", help="only these rows, separated by commas; without what it costs to begin")
    args = parser.parse_args()
    if not os.access(args.program, os.X_OK):
        sys.exit(f"there is no program {args.program}: build it (make bench), or name it by --program")
    peers = load_peers(args.threads)
    versions = "".join(f", {name} {module.__version__}" for name, module in peers.items())
    load = os.getloadavg()[0]
    print(f"{machine()}; {args.threads} threads{versions}; load {load:.1f}", end="")
    print(": others use this machine now, the figures are of little worth" if load > 0.5 else "")
    print_speeds(args, peers)
    if "torch" in peers and (not args.op or "sum" in args.op.split(",")):
        same_memory.print_table(args.program, peers["torch"], args.threads, args.rounds)
    if not args.op:
        print_costs(args, peers)
    print("\nRatios: the peer's time divided by Tessera's. PyTorch best: addcmul and relu_, or out=. Limit: see tessera bench --help.")


if __name__ == "__main__":
    main()
