#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two builds of Tessera row by row, for instance before a change and after it.

    python3 bench/two_builds.py --before OLD/bin/tessera --after NEW/bin/tessera [--backend cpu] [--rows bench|torch]
                                [--only PATTERN] [--rounds N] [--processes N] [--peer]

The rows are those of `tessera bench` that both builds have, or with `--rows torch` those of bench/gpu_vs_torch.py. Both
programs take turns, sample by sample, so that a loaded machine or a hot GPU slows both. A row shows the least and the
median time of each build, the median of the ratios of all rounds (after / before; below 1: the new build is faster) and
half the distance between the quartiles of these ratios, which is the noise. A row whose ratio and whose ratio of least
times both exceed 1 by more than the noise is marked. With `--peer` PyTorch takes turns, too, and has its median shown.

With `--processes N` the rounds are run in N pairs of processes, one after the other, and the ratios are those of each pair's
medians: times of a few microseconds depend on the process (where its memory lies, which cores it runs on), so that one pair
decides nothing.
"""
import argparse
import fnmatch
import re
import statistics
import subprocess

import gpu_vs_torch
from turns import Tessera


class BenchRow:
    """A row of `tessera bench` in the size that the program's list gives it."""

    def __init__(self, name, size):
        self.name, self.dtype, self.env = name, "f32", {}
        self.size = None if size == "-" else tuple(int(n) for n in size.split("x"))
        self.title = name if size == "-" else f"{name} {size}"


def listed(program):
    text = subprocess.run([program, "bench", "--list"], capture_output=True, text=True, check=True).stdout
    found = (re.match(r"(\w+) +(-|[0-9x]+)  ", line) for line in text.splitlines())
    return [match.groups() for match in found if match]


def common_rows(options):
    if options.rows == "torch":
        return gpu_vs_torch.table()
    after = set(listed(options.after))
    return [BenchRow(*row) for row in listed(options.before) if row in after]


def size_of(row):
    """Rows and columns, as Tessera takes them: one number is so many rows of one column."""
    size = row.size if isinstance(row.size, tuple) else (row.size,)
    return None if not row.size else size if len(size) == 2 else (*size, 1)


def quartile_distance(values):
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / 2


def run_rounds(options, row, peer, first):
    """The times of both builds in one pair of processes, and PyTorch's; or why a build does not run. `first`: which build
    is started first and begins, so that neither always has the memory that the device hands out first."""
    programs = (options.before, options.after)
    started = {index: Tessera(programs[index], options.backend, row.name, row.dtype, size_of(row), row.env)
               for index in ((0, 1) if first % 2 == 0 else (1, 0))}
    builds = [started[0], started[1]]
    if not all(build.is_ready for build in builds):
        return next(why for why in [build.why_not() for build in builds] if why)
    rounds, theirs = [], []
    for number in range(options.rounds):
        order = (0, 1) if (number + first) % 2 == 0 else (1, 0)
        sample = {index: builds[index].sample_ns() / 1000 for index in order}
        rounds.append((sample[0], sample[1]))
        if peer:
            theirs.append(peer.sample_us())
    for build in builds:
        build.why_not()
    return rounds, theirs


def compare(options, torch, row):
    """One line of the table: times before, times after, ratio, noise, PyTorch's median or 0; or why a build does not run."""
    peer = gpu_vs_torch.Torch(torch, row) if torch else None
    rounds, theirs, ratios = [], [], []
    for process in range(options.processes):
        result = run_rounds(options, row, peer, process)
        if isinstance(result, str):
            return result
        rounds += result[0]
        theirs += result[1]
        before, after = zip(*result[0])
        ratios += [statistics.median(after) / statistics.median(before)]
    before, after = zip(*rounds)
    if options.processes == 1:
        ratios = [b / a for a, b in rounds]
    return before, after, statistics.median(ratios), quartile_distance(ratios), statistics.median(theirs) if peer else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--rows", choices=("bench", "torch"), default="bench")
    parser.add_argument("--only", default="*", help="titles that match, as 'sum*'")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    torch = gpu_vs_torch.load_torch() if options.peer else None
    print("| row | before, least | median | after, least | median | after / before | noise | PyTorch | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in common_rows(options):
        if not fnmatch.fnmatch(row.title, options.only):
            continue
        result = compare(options, torch, row)
        if torch:
            torch.cuda.empty_cache()
        if isinstance(result, str):
            print(f"| {row.title} | {result} |", flush=True)
            continue
        before, after, ratio, noise, theirs = result
        is_slower = ratio > 1 + noise and min(after) / min(before) > 1 + noise
        times = " | ".join(f"{x:.3f}" if x < 10 else f"{x:.1f}"
                           for x in (min(before), statistics.median(before), min(after), statistics.median(after)))
        print(f"| {row.title} | {times} | {ratio:.2f} | {noise:.2f} | {f'{theirs:.1f}' if theirs else ''} |"
              f" {'slower' if is_slower else ''} |", flush=True)


if __name__ == "__main__":
    main()
