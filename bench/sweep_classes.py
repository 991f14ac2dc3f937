#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Groups the cells of a sweep that are behind a peer, and prints the reason that docs/notes/performance/cpu-grid.md gives for each group.

    /usr/bin/python3 bench/sweep_classes.py build/sweep/sweep.json [--notes docs/notes/performance/cpu-grid.md] [--list]

The table in the notes whose first column is "cells" has a row for each class. A class with cells under 1.0 that has no row there is an error.
"""
import argparse
import gzip
import json
import sys

ELEMENT_WISE = ("exp log1p sin tanh sqrt floor sigmoid silu gelu softplus relu abs add mul maximum lt").split()


def count_of(cell):
    return cell["rows"] * cell["columns"]


def is_one_of(*names):
    return lambda cell: cell["op"].split("_")[0] in names


def is_large(cell):
    return count_of(cell) >= 100_000


def has_step(cell):
    return cell["layout"] == "strided"


# A cell belongs to the first class whose condition it meets.
CLASSES = (
    ("products of f32", lambda c: is_one_of("matmul", "gemv")(c) and c["dtype"] == "f32"),
    ("products of bf16", is_one_of("matmul", "gemv")),
    ("sort, argsort", is_one_of("sort", "argsort")),
    ("topk", is_one_of("topk")),
    ("tanh", is_one_of("tanh")),
    ("gelu and silu of bf16", lambda c: c["op"] in ("gelu", "silu") and c["dtype"] == "bf16"),
    ("argmax of up to 1,000 elements", lambda c: is_one_of("argmax")(c) and count_of(c) <= 1000),
    ("argmax of more", is_one_of("argmax")),
    ("var", is_one_of("var")),
    ("copies of up to 4,096 elements", lambda c: is_one_of("copy", "nchw", "permute", "concat")(c) and count_of(c) <= 4096),
    ("concat", is_one_of("concat")),
    ("copies with a step", lambda c: is_one_of("copy", "nchw", "permute")(c) and has_step(c)),
    ("copies, side by side", is_one_of("copy", "nchw", "permute")),
    ("gather, index_select", is_one_of("gather", "index")),
    ("scatter_add", is_one_of("scatter")),
    ("softmax", is_one_of("softmax")),
    ("norms", is_one_of("layer", "rms")),
    ("running sums", is_one_of("cumsum")),
    ("reductions with a step", lambda c: is_one_of("sum", "mean", "max")(c) and has_step(c)),
    ("reductions, side by side", is_one_of("sum", "mean", "max")),
    ("element-wise, fewer than 10^4", lambda c: c["op"] in ELEMENT_WISE and count_of(c) < 10_000),
    ("element-wise with a step", lambda c: c["op"] in ELEMENT_WISE and has_step(c)),
    ("element-wise, 10^4 to 10^5", lambda c: c["op"] in ELEMENT_WISE and not is_large(c)),
    ("element-wise, 10^5 and more", lambda c: c["op"] in ELEMENT_WISE),
)


def class_of(cell):
    return next((name for name, is_in in CLASSES if is_in(cell)), None)


def describe(cell):
    peer = min(ns for name, ns in cell.items() if name.endswith("_ns") and name != "tessera_ns")
    return (f"{cell['op']} {cell['rows']}×{cell['columns']} {cell['dtype']} {cell['layout']} {cell['ratio']:.2f}: "
            f"{cell['tessera_ns'] / 1e3:.3g} µs for {peer / 1e3:.3g}")


def read_reasons(path):
    """Last column of the notes' table, by its first column."""
    reasons, is_inside = {}, False
    with open(path, encoding="utf-8") as file:
        for line in file:
            columns = [column.strip() for column in line.strip().strip("|").split(" | ")]
            if line.startswith("| cells | under 1.0 |"):
                is_inside = True
            elif is_inside and not line.startswith("|"):
                break
            elif is_inside:
                reasons[columns[0].strip()] = columns[-1]
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="sweep.json or sweep.json.gz")
    parser.add_argument("--notes", default="docs/notes/performance/cpu-grid.md")
    parser.add_argument("--list", action="store_true", help="every cell under 1.0, too")
    args = parser.parse_args()
    with (gzip.open if args.table.endswith(".gz") else open)(args.table, "rt", encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if "ratio" in cell]
    reasons, missing = read_reasons(args.notes), []
    for name, _ in CLASSES + ((None, None),):
        members = [cell for cell in cells if class_of(cell) == name]
        behind = sorted((cell for cell in members if cell["ratio"] < 1), key=lambda cell: cell["ratio"])
        if not behind:
            continue
        under = [sum(cell["ratio"] < limit for cell in behind) for limit in (0.9, 0.7)]
        print(f"| {name} | {len(behind)} of {len(members)} | {under[0]} | {under[1]} | {describe(behind[0])} | {reasons.get(name, 'NO REASON')} |")
        if name not in reasons:
            missing.append(str(name))
        for cell in behind if args.list else ():
            print("    " + describe(cell))
    if missing:
        sys.exit("without a reason in " + args.notes + ": " + ", ".join(missing))


if __name__ == "__main__":
    main()
