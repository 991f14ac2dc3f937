#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny operators beside NumPy: each function that both namespaces have, with arrays of 4 elements and of 3 x 3; when it is recorded, and when its result is read at once.

    cmake --build --preset release && PYTHONPATH=build/release/python /usr/bin/python3 bench/python_tiny.py [--all] [PATTERN]

Rows are sorted by Tessera's time beside NumPy's, the worst last; without --all only those above 1 are shown. Each figure is the best of several rounds;
where Tessera's is the longer one, both are measured twice more, since other programs can disturb all rounds of a statement.
"""
import fnmatch
import sys
import timeit

import numpy as np
import tessera as ts

# What a function is called with. `x`, `y`: 4 floats; `i`: 4 ints; `b`: 4 bools; `m`: 3 x 3; `s`: a symmetric 3 x 3.
SPECIAL = {
    "arange": ("10",), "linspace": ("0, 1, 5",), "zeros": ("4", "(3, 3)"), "ones": ("4", "(3, 3)"), "empty": ("4",), "full": ("4, 2.0",), "eye": ("3",), "identity": ("3",),
    "zeros_like": ("x",), "ones_like": ("x",), "full_like": ("x, 2.0",), "empty_like": ("x",), "array": ("[1.0, 2.0, 3.0]", "x"), "asarray": ("[1.0, 2.0, 3.0]", "x"),
    "reshape": ("x, (2, 2)", "m, 9"), "transpose": ("m",), "swapaxes": ("m, 0, 1",), "moveaxis": ("m, 0, 1",), "expand_dims": ("x, 0",), "squeeze": ("m[:1]",), "flip": ("x", "m"),
    "broadcast_to": ("x, (3, 4)",), "concatenate": ("[x, y]", "[m, m]"), "stack": ("[x, y]",), "hstack": ("[x, y]",), "vstack": ("[x, y]",), "column_stack": ("[x, y]",),
    "split": ("x, 2",), "array_split": ("x, 3",), "tile": ("x, 2",), "repeat": ("x, 2",), "roll": ("x, 1",), "pad": ("x, 1",), "where": ("b, x, y", "b"), "clip": ("x, 0.0, 1.0",),
    "take": ("x, i",), "searchsorted": ("x, 0.5",), "digitize": ("x, y",), "interp": ("x, y, x",), "percentile": ("x, 50",), "quantile": ("x, 0.5",), "cross": ("x[:3], y[:3]",),
    "dot": ("x, y", "m, m"), "matmul": ("x, y", "m, m"), "inner": ("x, y",), "outer": ("x, y",), "vdot": ("x, y",), "tensordot": ("m, m",), "kron": ("x, y",), "einsum": ("'ij,jk', m, m",),
    "histogram": ("x",), "bincount": ("i",), "isin": ("i, i",), "unique": ("i",), "polyval": ("x, y",), "polyfit": ("x, y, 1",), "convolve": ("x, y",), "correlate": ("x, y",),
    "diff": ("x",), "gradient": ("x",), "meshgrid": ("x, y",), "diag": ("x", "m"), "diagonal": ("m",), "trace": ("m",), "tril": ("m",), "triu": ("m",), "append": ("x, y",),
    "insert": ("x, 1, 2.0",), "delete": ("x, 1",), "take_along_axis": ("x, i, 0",), "partition": ("x, 2",), "argpartition": ("x, 2",), "average": ("x",), "median": ("x",),
    "nonzero": ("b",), "argwhere": ("b",), "flatnonzero": ("b",), "allclose": ("x, y",), "array_equal": ("x, y",), "isclose": ("x, y",), "atleast_1d": ("x",), "atleast_2d": ("x",),
    "ravel": ("m",), "round": ("x",), "ldexp": ("x, i",), "result_type": ("x, y",), "can_cast": ("x.dtype, x.dtype",), "rot90": ("m",), "fliplr": ("m",), "flipud": ("m",), "vander": ("x",),
    "cov": ("m",), "corrcoef": ("m",), "select": ("[b], [x]",), "choose": ("b, [x, y]",), "ptp": ("x",), "shape": ("x",), "size": ("x",), "ndim": ("x",), "union1d": ("i, i",),
    "intersect1d": ("i, i",), "setdiff1d": ("i, i",), "broadcast_arrays": ("x, y",), "logspace": ("0, 1, 5",), "geomspace": ("1, 10, 5",), "copyto": ("x, y",), "put": ("x, i, y",),
    "linalg.norm": ("x", "m"), "linalg.det": ("s",), "linalg.inv": ("s",), "linalg.solve": ("s, x[:3]",), "linalg.cholesky": ("s",), "linalg.qr": ("s",), "linalg.eigh": ("s",), "linalg.svd": ("s",),
    "linalg.matrix_power": ("s, 3",),
}
# Statements that are not calls of functions: operators, methods, keys, numbers.
EXPRESSIONS = (
    "x + y", "x - 1", "x * 2.0", "2.0 / x", "x ** 2", "x // y", "x % y", "-x", "abs(x)", "x > 0.5", "x == y", "b & b", "~b", "i << 1", "m @ m", "m @ x[:3]", "m + x[:3]", "x.sum()", "x.mean()",
    "x.max()", "x.min()", "x.std()", "x.var()", "x.prod()", "x.any()", "x.all()", "x.argmax()", "x.cumsum()", "m.sum(0)", "m.sum(axis=1)", "m.mean(axis=0)", "m.max(axis=1)", "x.dot(y)", "x.copy()",
    "x.astype(int)", "x.astype('float32')", "x.round(1)", "x.clip(0, 1)", "x.reshape(2, 2)", "x.reshape(2, -1)", "m.ravel()", "m.flatten()", "m.T", "m.transpose()", "x.tolist()", "m.tolist()",
    "x.item(1)", "x[1]", "m[1, 2]", "m[1]", "m[:, 1]", "m[1:]", "x[1:3]", "x[::-1]", "x[::2]", "x[None]", "m[..., 0]", "x[:, None]", "x[-1]", "x[b]", "x[i]", "x[[0, 2]]", "m[b3]", "m[[0, 2]]",
    "m[i[:2], i[:2]]", "m[:, [0, 2]]", "x[x > 0.5]", "len(x)", "x.shape", "x.dtype", "x.ndim", "x.size", "float(x[1])", "int(i[1])", "bool(b[1])", "x[1] + x[2]", "x[1] * 2", "x[1] > 0.5",
    "x.sort()", "x.nonzero()", "x.repeat(2)", "x.take(i)", "x.squeeze()", "x.fill(1.0)", "list(x)", "[v * 2 for v in x]", "sum(x)", "max(x)", "for v in m: pass",
    "x[1] = 3.0", "m[1, 2] = 3.0", "x[1:3] = 0.0", "x[b] = 1.0", "x[i] = 1.0", "x[:] = y", "m[1] = x[:3]", "x += 1", "x *= y", "x[1] += 1", "(x, y) == 3",
)
READS = ("float", "int", "bool", "list", "len", "sum(", "max(", "for", "x.shape", "x.dtype", "x.ndim", "x.size", "x.tolist", "m.tolist", "x.item", "x.sort()", "x.fill")


def operands(np):
    """What the statements work on, evaluated."""
    f32 = np.float32
    names = {"np": np, "x": np.asarray([0.5, 1.5, 2.5, 3.5], dtype=f32), "y": np.asarray([1.5, 2.0, 3.0, 4.0], dtype=f32), "i": np.asarray([0, 1, 2, 3])}
    names["m"] = np.asarray([[1, 2, 3], [4, 5, 6], [7, 8, 10]], dtype=f32)
    names["s"] = np.asarray([[4, 1, 0], [1, 3, 1], [0, 1, 2]], dtype=f32)
    names["b"], names["b3"] = np.asarray([True, False, True, True]), np.asarray([True, False, True])
    if np is ts:
        for name in "xyimsb":
            names[name].evaluate()
    return names


def statements():
    """Every function of both namespaces with arguments that fit, and the expressions."""
    for name in sorted(dir(np)) + [f"linalg.{name}" for name in sorted(dir(np.linalg))]:
        if name.rsplit(".", maxsplit=1)[-1].startswith("_") or name in ("errstate", "seterr"):
            continue
        own = np.linalg if name.startswith("linalg.") else np
        ours = ts.linalg if name.startswith("linalg.") else ts
        word = name.rsplit(".", maxsplit=1)[-1]
        if not callable(getattr(own, word)) or isinstance(getattr(own, word), type) or not hasattr(ours, word):
            continue
        for given in SPECIAL.get(name, ("x", "x, y", "b, b", "i, i", "i", "m")):
            yield f"np.{name}({given})", name not in SPECIAL
    for expression in EXPRESSIONS:
        yield expression, False


def reading(statement):
    """The same with its result read; None if it is read already, or has none."""
    if any(statement.startswith(word) for word in READS) or " = " in statement or "+= " in statement or "*= " in statement:
        return None
    return f"({statement}).tolist()"


def best_ns(statement, names):
    try:
        names = dict(names, x=names["x"] + 0, m=names["m"] + 0)
        timer = timeit.Timer(statement, globals=names)
        once = timer.timeit(20) / 20
    except Exception:  # this function takes other arguments
        return None
    count = int(min(5000, max(20, 2e-3 / once)))
    return min(timer.repeat(number=count, repeat=9)) / count * 1e9


def both_ns(statement, ours, theirs):
    """Tessera's time and NumPy's; None where one of them does not take the statement."""
    found, wanted = best_ns(statement, ours), best_ns(statement, theirs)
    if found is None or wanted is None:
        return None
    for _ in range(2):
        if found > wanted:
            found, wanted = min(found, best_ns(statement, ours)), min(wanted, best_ns(statement, theirs))
    return found, wanted


def main():
    show_all = "--all" in sys.argv
    patterns = [word for word in sys.argv[1:] if not word.startswith("-")] or ["*"]
    with ts.device("cpu"):
        ours, theirs = operands(ts), operands(np)
        rows, seen = [], set()
        for statement, is_guess in statements():
            name = statement.split("(")[0]
            if not any(fnmatch.fnmatch(statement, pattern) for pattern in patterns) or (is_guess and name in seen):
                continue
            times = both_ns(statement, ours, theirs)
            if times is None:
                continue
            if is_guess:
                seen.add(name)
            rows.append((times[0] / times[1], "recorded", statement, *times))
            also = reading(statement)
            times = both_ns(also, ours, theirs) if also else None
            if times:
                rows.append((times[0] / times[1], "read", statement, *times))
    rows.sort()
    for ratio, how, statement, found, wanted in rows:
        if show_all or ratio > 1:
            print(f"{ratio:6.2f}  {how:9}{statement:36}{found:9.0f}{wanted:9.0f}")
    for how in ("recorded", "read"):
        ratios = [row[0] for row in rows if row[1] == how]
        if ratios:
            print(f"{how}: {len(ratios)} statements, {sum(ratio <= 1 for ratio in ratios)} in at most NumPy's time, median {ratios[len(ratios) // 2]:.2f}")


main()
