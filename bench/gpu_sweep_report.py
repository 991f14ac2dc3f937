# SPDX-License-Identifier: MIT
"""What bench/gpu_sweep.py prints and writes: sweep.json, a map, a line for each operator and one for each class of times."""
import json
import os
import statistics

import heat_map
from sweep_ops import OPERATORS

# Classes of cells by their time in the run that they are compared with. In the lower classes the host's time for a launch dominates.
CLASSES_US = ((0, 10), (10, 20), (20, float("inf")))


def key_of(cell):
    return cell["op"], cell["rows"], cell["columns"], cell["dtype"], cell["layout"]


def read(name):
    """The cells of a run by their key."""
    with open(name, encoding="utf-8") as file:
        return {key_of(cell): cell for cell in json.load(file)["cells"]}


def summary(cells):
    ratios = [cell["ratio"] for cell in cells if "ratio" in cell]
    if not ratios:
        return "nothing was compared"
    return (f"{len(ratios):5} cells  median {statistics.median(ratios):5.2f}  under 0.95: {sum(r < 0.95 for r in ratios):4}"
            f"  under 0.7: {sum(r < 0.7 for r in ratios):4}")


def base_us(cell):
    """The time that the cell's own is compared with."""
    return cell["ratio"] * cell["tessera_ns"] / 1000


def worst_of(cells, count):
    return sorted((cell for cell in cells if "ratio" in cell), key=lambda cell: cell["ratio"])[:count]


def by_class(cells, worst):
    """A line for each class of times, and the worst cells of the last one."""
    compared = [cell for cell in cells if "ratio" in cell]
    for least, limit in CLASSES_US:
        mine = [cell for cell in compared if least <= base_us(cell) < limit]
        name = f"{least} to {limit} us" if limit < float("inf") else f"from {least} us on"
        print(f"{name:15} {summary(mine)}")
    for cell in worst_of(mine, worst):
        print(f"  {cell['op']:13} {cell['rows']}x{cell['columns']} {cell['dtype']} {cell['layout']:11} {cell['ratio']:.2f}"
              f"  {cell['tessera_ns'] / 1000:.1f} us for {base_us(cell):.1f}")


def by_operator(cells, worst):
    for title in dict.fromkeys(cell["op"] for cell in cells):
        mine = [cell for cell in cells if cell["op"] == title]
        names = ", ".join(f"{c['rows']}x{c['columns']} {c['dtype']} {c['layout'][0]} {c['ratio']:.2f} ({c['tessera_ns'] / 1000:.0f})" for c in worst_of(mine, worst))
        print(f"{title:15} {summary(mine)}  {names}")


def in_order(cells):
    return sorted(cells, key=lambda cell: [op.title for op in OPERATORS].index(cell["op"]))


def report(cells, about, args):
    with open(os.path.join(args.out, "sweep.json"), "w", encoding="utf-8") as file:
        json.dump({**about, "cells": cells}, file, indent=0)
    cells = in_order(cells)
    heat_map.draw_overview(os.path.join(args.out, "overview.png"), cells)
    by_operator(cells, args.worst)
    if args.against:
        by_class(cells, args.worst_of_all)
    print(f"{'all':15} {summary(cells)}")
    paces = [cell["pace"] for cell in cells if "pace" in cell]
    if paces:
        print(f"waking took {about['seconds_waking'] / about['seconds']:.0%} of the time; after the cells of a batch the GPU had {min(paces):.2f} to {max(paces):.2f} of its"
              f" fastest pace, in the median {statistics.median(paces):.2f}")
    print(f"{len(paces)} cells in {about['seconds']:.0f} s; table and map: {args.out}")


def join(names, out):
    """One map of several runs, with their backends in place of layouts."""
    cells = []
    for name in names:
        with open(name, encoding="utf-8") as file:
            run = json.load(file)
        print(f"{run['backend']:8} {summary(run['cells'])}")
        cells += [{**cell, "layout": run["backend"]} for cell in run["cells"]]
    heat_map.draw_overview(os.path.join(out, "joined.png"), in_order(cells))
