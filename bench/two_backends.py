#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times rows of `tessera bench` through two backends on the same GPU, in turns.

    LD_LIBRARY_PATH=build/release/tests/standins/hip TSR_STANDIN_CUDA=libcuda.so.1 \\
      python3 bench/two_backends.py [--program build/release/bin/tessera] [--backends cuda,rocm] [--op 'matmul,lin*256'] [--processes 8]

Rows that measure the host differ from process to process by up to a third, also between processes of one backend. So each row runs in
several processes for each backend (--processes: so many), all of them alive at once, which take turns sample by sample, on one core. The
time of a backend is the median of its processes' medians; the middle half of these is behind it. Backends whose middle halves overlap are
not told apart: `--backends cuda,cuda` shows how far that goes for one backend. The exit code is 1 if the second backend takes more than
1.05 of the first one's time in any row.

The driver is compared, so both backends run the same kernels of the same sizes: without the kernel for Hopper GPUs that only CUDA has
(TESSERA_NATIVE), and with the sizes that src/graph/tuning.c has for CUDA (TSR_TUNE). A variable that is set in the environment already stays as
it is. The first line of the output shows both.
"""
import argparse
import fnmatch
import os
import pathlib
import random
import re
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

from turns import Tessera

# Rows, and how many processes for each backend: products of 256 rows and what follows measure the host. Where a step is one launch, more than some
# eight processes on one GPU make the launches of a part of them twice as slow, so these rows have four for each backend.
WORK = ("copy", "add", "relu_mul_add", "exp", "gelu", "sum", "sum_axis0", "transposed_copy", "softmax", "layer_norm", "gemv")
PRODUCTS = tuple((name, (side, side), 12 if side == 256 else 3) for name in ("matmul", "linear", "linear_tanh") for side in (256, 1024))
HOST = (("small_add", 12), ("queued_add", 4), ("hundred", 12), ("replayed", 4), ("replayed_unfused", 12))
ROWS = [(name, None, 2) for name in WORK] + list(PRODUCTS) + [(name, None, count) for name, count in HOST]
MOST_RATIO = 1.05
TUNING = pathlib.Path(__file__).resolve().parent.parent / "src/graph/tuning.c"


def same_variables():
    """The environment in which both backends take the same paths on an NVIDIA GPU."""
    same = {"TESSERA_NATIVE": "-wgmma", "TSR_TUNE": re.search(r'{"cuda", "([^"]*)"}', TUNING.read_text()).group(1)}
    return {name: os.environ.get(name, value) for name, value in same.items()}


def time_row(program, backends, env, name, size, count, samples):
    """For each backend the medians of its processes, in us; None: the row cannot run."""
    order = [backend for _ in range(count) for backend in (0, 1)]
    with ThreadPoolExecutor(len(order)) as starters:  # starting takes longer than all samples
        processes = list(starters.map(lambda at: Tessera(program, backends[at], name, size=size, env=env), order))
    times = [[] for _ in processes]
    if all(process.is_ready for process in processes):
        turns, core = random.Random(1), max(os.sched_getaffinity(0))
        for process in processes:
            os.sched_setaffinity(process.process.pid, {core})  # of its threads, the one that queues the work
        for _ in range(samples):
            for at in turns.sample(range(len(processes)), len(processes)):  # each follows another one in each turn
                times[at].append(processes[at].sample_ns())
    reasons = [process.why_not() for process in processes]
    if any(reasons):
        print(f"{name}: {next(filter(None, reasons))}", file=sys.stderr)
        return None
    return [[statistics.median(t) / 1000 for t, at in zip(times, order) if at == backend] for backend in (0, 1)]


def text_of(times):
    """The median and the middle half."""
    quarters = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return f"{quarters[1]:.3g} ({quarters[0]:.3g} to {quarters[2]:.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/tessera")
    parser.add_argument("--backends", default="cuda,rocm")
    parser.add_argument("--op", default="*")
    parser.add_argument("--samples", type=int, default=11)
    parser.add_argument("--processes", type=int, default=0)
    args = parser.parse_args()
    backends = args.backends.split(",")
    worst, env = 0.0, same_variables()
    print("Both with " + " ".join(f"{name}={value}" for name, value in env.items()) + "\n")
    print(f"| row of `tessera bench` | {backends[0]}, us | {backends[1]}, us | ratio |\n|---|---|---|---|")
    for name, size, usual_count in ROWS:
        title = name + (f", {size[0]} x {size[1]}" if size else "")
        if not any(fnmatch.fnmatch(text, pattern) for pattern in args.op.split(",") for text in (name, title)):
            continue
        found = time_row(args.program, backends, env, name, size, args.processes or usual_count, args.samples)
        if found:
            first, second = (statistics.median(times) for times in found)
            worst = max(worst, second / first)
            print(f"| {title} | {text_of(found[0])} | {text_of(found[1])} | {second / first:.2f} |", flush=True)
    sys.exit(worst > MOST_RATIO)


if __name__ == "__main__":
    main()
