#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python beside NumPy and PyTorch, all in one run: import, calls on tiny arrays, and chains on 10^7 elements; beside the C library where that says what the binding costs.

    cmake --build --preset release && PYTHONPATH=build/release/python /usr/bin/python3 bench/python_vs_numpy.py [cpu|gpu]

Each figure is the best of several rounds in turns. PyTorch is left out where there is none. Where PyTorch and Tessera have a GPU, both are measured there, too.
"""
import os
import subprocess
import sys
import tempfile
import time
import timeit

import numpy as np
import tessera as ts

try:
    import torch
except ImportError:
    torch = None

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(ts.__file__)))), "lib")
C_PROGRAM = r"""
#include <stdio.h>
#include <tessera/tessera.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
enum { ROUNDS = 200000, CHAIN = 10 * 1000 * 1000 };
static tsr_tensor *chain(tsr_tensor *x) {
  tsr_tensor *a = tsr_mul_scalar(x, 2), *b = tsr_add_scalar(a, 1), *c = tsr_sqrt(b), *d = tsr_mul(c, x), *e = tsr_tanh(d);
  tsr_release(a); tsr_release(b); tsr_release(c); tsr_release(d);
  return e;
}
int main(void) {
  tsr_device *device = NULL;
  if (tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &device)) return 1;
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(64)), *y = tsr_ones(device, TSR_F32, TSR_SHAPE(64));
  tsr_evaluate(x); tsr_evaluate(y);
  double add = 1e9, exp = 1e9;
  for (int i = 0; i < 7; i++) {
    double start = now();
    for (int j = 0; j < ROUNDS; j++) tsr_release(tsr_add(x, y));
    double middle = now();
    for (int j = 0; j < ROUNDS; j++) tsr_release(tsr_exp(x));
    double end = now();
    if (middle - start < add) add = middle - start;
    if (end - middle < exp) exp = end - middle;
  }
  tsr_tensor *large = tsr_rand(device, TSR_F32, TSR_SHAPE(CHAIN), 1);
  tsr_evaluate(large);
  double best = 1e9;
  for (int i = 0; i < 12; i++) {
    double start = now();
    tsr_tensor *e = chain(large);
    tsr_evaluate(e);
    tsr_device_synchronize(device);
    double took = now() - start;
    tsr_release(e);
    if (took < best) best = took;
  }
  printf("%g %g %g\n", add / ROUNDS * 1e9, exp / ROUNDS * 1e9, best * 1e3);
}
"""


def c_figures():
    """ns of a call of add and of exp, ms of the chain, in C."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "calls.c"), os.path.join(folder, "calls")
        with open(source, "w", encoding="ascii") as file:
            file.write(C_PROGRAM)
        subprocess.run(["cc", "-O2", "-std=gnu17", source, "-I", os.path.join(TREE, "include"), "-L", LIBRARY, "-ltessera", f"-Wl,-rpath,{LIBRARY}", "-o", program], check=True)
        return [float(word) for word in subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()]


def best_ns(statement, names, count=20000):
    return min(timeit.repeat(statement, globals=names, number=count, repeat=7)) / count * 1e9


def import_ms(module):
    program = f"import time; start = time.perf_counter(); import {module}; print((time.perf_counter() - start) * 1e3)"
    rounds = 2 if module == "torch" else 7  # seconds each
    return min(float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout) for _ in range(rounds))


def best_ms(functions, rounds=12):
    """The best time of each, in turns."""
    best = dict.fromkeys(functions, 1e9)
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


# Operators, which record; views; single elements, which are read; arrays that are made; conversions.
OPERATORS = ("x + y", "x * 2.0", "x > 0.5", "-x", "np.exp(x)", "np.add(x, y)", "np.maximum(x, y)", "x @ y", "x.sum()", "np.sum(x)", "m.sum(1)", "np.sqrt((x * x).sum())",
             "np.where(b, x, y)", "np.sort(x)", "np.argmax(x)")
VIEWS = ("x[2:5]", "x[::2]", "m[1]", "m[:, 1]", "x[None]", "m.T", "x.reshape(2, 4)", "m.ravel()")
ELEMENTS = ("x[1]", "m[1, 2]", "float(x[1])", "x[1] > 0.5", "x[1] + x[2]", "x[1] = 3.0", "m[1, 2] = 3.0", "x[2:5] = 0.0", "[float(v) for v in x]", "float(x.sum())", "x.tolist()")
MADE = ("np.zeros(8)", "np.ones(8)", "np.asarray(x)", "np.stack([x, y])", "x[b]", "x[i]")


def operands(module, **device):
    """What the statements work on, evaluated."""
    f32 = module.float32
    names = {"np": module, "x": module.ones(8, dtype=f32, **device), "y": module.ones(8, dtype=f32, **device), "m": module.ones((4, 6), dtype=f32, **device)}
    names["b"] = names["x"] > 0.5
    names["i"] = module.asarray([1, 2, 3], **device)
    if module is ts:
        for name in "xymbi":
            names[name].evaluate()
    return names


def fresh(names):
    """Statements that write to x and m leave assignments behind."""
    return dict(names, x=names["x"] + 0, m=names["m"] + 0)


def tiny():
    libraries = {"tessera": operands(ts), "numpy": operands(np)}
    if torch:
        libraries["torch"] = operands(torch)
    print(f"{'tiny arrays, ns':28}" + "".join(f"{name:>10}" for name in libraries) + "   (recorded; with .evaluate() in brackets)")
    slower = []
    for statement in OPERATORS + VIEWS + ELEMENTS + MADE:
        row, found = f"{statement:28}", {}
        for name, own in libraries.items():
            try:
                found[name] = best_ns(statement, fresh(own), 5000)
                row += f"{found[name]:10.0f}"
            except (TypeError, AttributeError):  # PyTorch has not all of NumPy's names
                row += f"{'-':>10}"
        if statement in OPERATORS:
            row += f"   [{best_ns(f'({statement}).evaluate()', libraries['tessera'], 2000):.0f}]"
        if found["tessera"] > found["numpy"]:
            slower.append(f"{statement} ({found['tessera'] / found['numpy']:.2f})")
        print(row, flush=True)
    print("slower than NumPy, by: " + ("; ".join(slower) or "none"))


def on_gpu():
    """Tessera beside PyTorch on the GPU: recording, recording and running, and a chain."""
    import contextlib

    with contextlib.suppress(ts.DeviceError), ts.device("cuda"):
        libraries = {"tessera": operands(ts), "torch": operands(torch, device="cuda")}
        print(f"{'tiny arrays on the GPU, ns':28}" + "".join(f"{name:>10}" for name in libraries) + "   (recorded; with .evaluate() in brackets)")
        for statement in ("x + y", "x * 2.0", "np.exp(x)", "x @ y", "x.sum()", "x[2:5]", "m.T", "x[1]", "float(x[1])", "x[1] = 3.0", "float(x.sum())"):
            row = f"{statement:28}" + "".join(f"{best_ns(statement, fresh(own), 500):10.0f}" for own in libraries.values())
            if not statement.startswith("float") and " = " not in statement:
                row += f"   [{best_ns(f'({statement}).evaluate()', libraries['tessera'], 500):.0f}]"
            print(row, flush=True)
        x, t = ts.random.default_rng(1).random(10**7).evaluate(), torch.rand(10**7, device="cuda")
        best = best_ms({"tessera": lambda: ts.tanh(ts.sqrt(x * 2 + 1) * x).evaluate().device.synchronize(),
                        "torch": lambda: (torch.tanh(torch.sqrt(t * 2 + 1) * t), torch.cuda.synchronize())}, 40)
        print("chain of 10^7 float32 on the GPU, ms: " + ", ".join(f"{name} {ms:.3f}" for name, ms in best.items()))


def large():
    data = np.random.default_rng(1).random(10**7, dtype="float32")
    x = ts.asarray(data)
    functions = {"tessera": lambda: (ts.tanh(ts.sqrt(x * 2 + 1) * x)).evaluate().device.synchronize(), "numpy": lambda: np.tanh(np.sqrt(data * 2 + 1) * data)}
    if torch:
        t = torch.from_numpy(data)
        functions["torch"] = lambda: torch.tanh(torch.sqrt(t * 2 + 1) * t)
    return best_ms(functions)


def on_cpu():
    add, exp, chain = c_figures()
    print(f"device: {ts.device()}; threads of PyTorch: {torch.get_num_threads() if torch else '-'}")
    print("import, ms: " + ", ".join(f"{module} {import_ms(module):.1f}" for module in ["tessera", "numpy"] + (["torch"] if torch else [])))
    names = {"ts": ts, "x": ts.ones(64).evaluate(), "y": ts.ones(64).evaluate()}  # so many that both record
    for name, statement, own in (("add", "ts.ops.add(x, y)", add), ("exp", "ts.ops.exp(x)", exp)):
        found = best_ns(statement, names)
        print(f"one call of {name}: {found:.0f} ns in Python, {own:.0f} ns in C, {found - own:.0f} ns above")
    tiny()
    print("chain tanh(sqrt(2 x + 1) x) of 10^7 float32, ms: C " + f"{chain:.1f}, " + ", ".join(f"{name} {ms:.1f}" for name, ms in large().items()))


if "gpu" not in sys.argv:
    with ts.device("cpu"):
        on_cpu()
if "cpu" not in sys.argv and torch and torch.cuda.is_available():
    on_gpu()
