#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times rows of `tessera bench` through two backends on the same GPU, in turns.

    LD_LIBRARY_PATH=build/release/tests/standins/hip TSR_STANDIN_CUDA=libcuda.so.1 \\
      python3 bench/two_backends.py [--program build/release/bin/tessera] [--backends cuda,rocm] [--op 'matmul,lin*256'] [--pairs 8]

Each row runs in two processes, one for each backend, which take turns sample by sample. Rows that measure the host differ from process
to process by up to a fifth, so each row has several pairs of processes (--pairs: so many), and the time of a backend is the least of its
medians. The last column has the least and the largest ratio of a pair: `--backends cuda,cuda` shows how far processes alone differ.
The exit code is 1 if the second backend takes more than 1.05 of the first one's time in any row.
"""
import argparse
import fnmatch
import statistics
import sys

from turns import Tessera

# Rows, and how many pairs of processes: products of 256 rows and what follows measure the host.
WORK = ("copy", "add", "relu_mul_add", "exp", "gelu", "sum", "sum_axis0", "transposed_copy", "softmax", "layer_norm", "gemv")
PRODUCTS = tuple((name, (side, side)) for name in ("matmul", "linear", "linear_tanh") for side in (256, 1024))
HOST = ("small_add", "queued_add", "hundred", "replayed", "replayed_unfused")
MOST_RATIO = 1.05


def time_pair(program, backends, name, size, samples):
    """The medians of the two backends, in ns, from a new pair of processes; None: one of them cannot run the row."""
    both = [Tessera(program, backend, name, size=size) for backend in backends]
    times = [[], []]
    if all(process.is_ready for process in both):
        for _ in range(samples):
            for at, process in enumerate(both):
                times[at].append(process.sample_ns())
    reasons = [process.why_not() for process in both]
    if any(reasons):
        print(f"{name}: {next(filter(None, reasons))}", file=sys.stderr)
        return None
    return [statistics.median(found) for found in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/tessera")
    parser.add_argument("--backends", default="cuda,rocm")
    parser.add_argument("--op", default="*")
    parser.add_argument("--samples", type=int, default=11)
    parser.add_argument("--pairs", type=int, default=0)
    args = parser.parse_args()
    backends = args.backends.split(",")
    rows = [(name, None, 2) for name in WORK] + [(*product, 4) for product in PRODUCTS] + [(name, None, 4) for name in HOST]
    worst = 0.0
    print(f"| row of `tessera bench` | {backends[0]}, us | {backends[1]}, us | ratio | of pairs |\n|---|---|---|---|---|")
    for name, size, usual_pairs in rows:
        pairs = args.pairs or usual_pairs
        title = name + (f", {size[0]} x {size[1]}" if size else "")
        if not any(fnmatch.fnmatch(text, pattern) for pattern in args.op.split(",") for text in (name, title)):
            continue
        # The backend that is sampled first changes from pair to pair.
        found = [time_pair(args.program, backends[::step], name, size, args.samples) for step in ([1, -1] * pairs)[:pairs]]
        if None in found:
            continue
        ordered = [pair[::step] for pair, step in zip(found, [1, -1] * pairs)]
        first, second = (min(pair[at] for pair in ordered) / 1000 for at in (0, 1))
        worst = max(worst, second / first)
        ratios = [pair[1] / pair[0] for pair in ordered]
        print(f"| {title} | {first:.3g} | {second:.3g} | {second / first:.2f} | {min(ratios):.2f} to {max(ratios):.2f} |", flush=True)
    sys.exit(worst > MOST_RATIO)


if __name__ == "__main__":
    main()
