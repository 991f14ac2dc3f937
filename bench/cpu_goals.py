#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what docs/notes/performance/cpu.md promises for the CPU, beside PyTorch and NumPy: one process, the same memory, in turns.

    /usr/bin/python3 bench/cpu_goals.py [--threads 2] [--turns 5] [--only 'products,gemv,layers,functions,rows,reductions,orders']

Times are the fastest sample of each library, in microseconds; a ratio is the faster peer's time divided by Tessera's.
"""
import argparse
import ctypes
import os
from types import SimpleNamespace

import products_vs_torch
import sweep
from same_memory import must
from turns import mean_ns

PRODUCTS = """16x16x16 32x32x32 64x64x64 128x128x128 256x256x256 512x512x512 1000x1000x1000 2048x2048x2048 17x2048x2048 2000x2000x64
64*128x128x64 1000x1000x1000a 1000x1000x1000b 1000x1000x1000ab""".split()
LARGE_PRODUCTS = ["4096x4096x4096"]  # with several threads
NARROW_PRODUCTS = "256x256x256 1000x1000x1000 2048x2048x2048 17x2048x2048 1000x64x64".split()
REDUCED = ((7, 1000000), (2000, 2000), (1000000, 7))
ORDERED = ((1000, 1000), (1, 1000000), (16384, 64))
FUNCTIONS = ("exp", "tanh", "sigmoid", "silu", "gelu")
CHAIN = ("exp", "tanh", "sigmoid", "silu", "gelu") * 2


class Goals:
    """Measures one row after the other and prints it."""

    def __init__(self, ours, torch, np, args):
        self.ours, self.torch, self.np, self.args = ours, torch, np, args
        self.lib, self.device = ours.lib, ours.device
        self.numbers = sweep.Numbers(torch)
        self.operators = {op.title: op for op in sweep.OPERATORS}
        for name in ("matmul", "add", "relu", "gelu", "exp", "tanh", "sigmoid", "silu"):
            function = self.lib["tsr_" + name]
            function.restype = ctypes.c_void_p
            function.argtypes = [ctypes.c_void_p] * (2 if name in ("matmul", "add") else 1)

    def print_row(self, title, times, more=""):
        own = times["tessera"]
        peer = min(times, key=lambda name: times[name] if name != "tessera" else float("inf"))
        print(f"{title:34} {own / 1e3:11.2f} {times[peer] / 1e3:11.2f} {peer:7} {times[peer] / own:6.2f}  {more}", flush=True)

    def turns(self, samplers):
        """The fastest sample of each."""
        return {name: min(values) for name, values in sweep.take_turns(samplers, self.args.turns, self.args.seconds).items()}

    def cell(self, title, shape, dtype="f32", more=""):
        settings = SimpleNamespace(turns=self.args.turns, seconds=self.args.seconds, best=True, twice=False)
        found = sweep.measure(self.ours, self.numbers, self.np, self.operators[title], shape, dtype, "contiguous", settings)
        if found and "ratio" in found:
            times = {name[:-3]: ns for name, ns in found.items() if name.endswith("_ns")}
            self.print_row(f"{title} {shape[0]}x{shape[1]} {dtype}", times, more and more(times["tessera"]))

    def run(self, record):
        """A function that records an operator, runs it so many times and returns the mean time."""
        def once():
            result, rest = record()
            must(self.lib, self.lib.tsr_evaluate(result) or self.lib.tsr_device_synchronize(self.device))
            for tensor in (result, *rest):
                self.lib.tsr_release(tensor)

        return lambda count: mean_ns(once, count)

    def product(self, title, a, b, peers):
        """One product of PyTorch's tensors; a peer may refuse it."""
        ours = [self.ours.take(tensor) for tensor in (a, b)]
        samplers = {"tessera": self.ours.sampler("matmul", [ctypes.c_void_p] * 2, ours, 0)}
        for name, peer in peers.items():
            try:
                peer()
                samplers[name] = lambda count, peer=peer: mean_ns(peer, count)
            except (AttributeError, RuntimeError) as error:
                print(f"{title}: {name}: {str(error).splitlines()[0]}")
        times = self.turns(samplers)
        work = 2.0 * a.numel() * b.shape[-1]
        self.print_row(title, times, f"{work / times['tessera']:.0f} GFLOP/s")
        for tensor in ours:
            self.lib.tsr_release(tensor)

    def products(self):
        torch = self.torch
        for shape in PRODUCTS + (LARGE_PRODUCTS if self.args.threads > 1 else []):
            batch, m, n, k, is_a_turned, is_b_turned = products_vs_torch.parse(shape)
            a, b = (products_vs_torch.make(torch, batch, *size) for size in ((m, k, is_a_turned), (k, n, is_b_turned)))
            arrays = a.numpy(), b.numpy()
            self.product(f"{shape} f32", a, b, {"torch": lambda: a @ b, "numpy": lambda: arrays[0] @ arrays[1]})
        for shape in NARROW_PRODUCTS:
            m, n, k = (int(size) for size in shape.split("x"))
            a, b = torch.rand(m, k) - 0.5, torch.rand(k, n) - 0.5
            for kind in (torch.bfloat16, torch.float16):
                x, y = a.to(kind), b.to(kind)
                self.product(f"{shape} {kind}", x, y, {"torch": lambda: x @ y})
            x, y = (a * 18).to(torch.int8), (b * 18).to(torch.int8)
            self.product(f"{shape} int8", x, y, {"torch": lambda: torch._int_mm(x, y)})

    def gemv(self):
        """Bytes of the matrix per second, and the same for a sum of it, which is all reading."""
        def rate(element):
            return lambda ns: f"{14336 * 4096 * element / ns:.1f} GB/s"

        self.cell("sum_all", (2048, 4096), "f32", lambda ns: f"{2048 * 4096 * 4 / ns:.1f} GB/s")
        for dtype, element in (("f32", 4), ("bf16", 2)):
            self.matrix_times_vector((14336, 4096), dtype, rate(element))

    def matrix_times_vector(self, shape, dtype, rate):
        torch = self.torch
        kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
        matrix = torch.rand(*shape).to(kind)
        for name, a, b in (("gemv", matrix, torch.rand(shape[1], 1).to(kind)), ("vector x matrix", torch.rand(1, shape[0]).to(kind), matrix)):
            ours = [self.ours.take(tensor) for tensor in (a, b)]
            samplers = {"tessera": self.ours.sampler("matmul", [ctypes.c_void_p] * 2, ours, 0)}
            times = self.turns({**samplers, "torch": lambda count: mean_ns(lambda: a @ b, count)})
            self.print_row(f"{name} {shape[0]}x{shape[1]} {dtype}", times, rate(times["tessera"]))

    def layers(self):
        """Products with a bias and an activation, in turns with the product alone."""
        torch = self.torch
        for m, n, k in ((1000, 1000, 1000), (2048, 2048, 2048), (4096, 512, 128)):
            x, w, b = (self.ours.take(torch.rand(*size) - 0.5) for size in ((m, k), (k, n), (n,)))

            def layer(activation):
                product = self.lib.tsr_matmul(x, w)
                total = self.lib.tsr_add(product, b)
                return self.lib["tsr_" + activation](total), (product, total)

            times = self.turns({"product": self.run(lambda: (self.lib.tsr_matmul(x, w), ())), "relu": self.run(lambda: layer("relu")),
                                "gelu": self.run(lambda: layer("gelu"))})
            print(f"layer {m}x{n}x{k}: product {times['product'] / 1e3:.1f}, with bias and relu {times['relu'] / times['product']:.3f}, "
                  f"with bias and gelu {times['gelu'] / times['product']:.3f} of it", flush=True)

    def functions(self):
        for name in FUNCTIONS:
            self.cell(name, (1, 10_000_000))
        torch, functional = self.torch, self.torch.nn.functional
        x = torch.rand(10_000_000)
        ours = self.ours.take(x)

        def chain():
            tensors = [ours]
            for name in CHAIN:
                tensors.append(self.lib["tsr_" + name](tensors[-1]))
            return tensors[-1], tensors[1:-1]

        def peer():
            y = x
            for name in CHAIN:
                y = (getattr(torch, name, None) or getattr(functional, name))(y)

        self.print_row("chain of ten, 10^7 f32", self.turns({"tessera": self.run(chain), "torch": lambda count: mean_ns(peer, count)}))

    def rows(self):
        for title in ("softmax_axis1", "layer_norm", "rms_norm"):
            self.cell(title, (4096, 1024))

    def reductions(self):
        for name in ("sum", "max", "argmax", "mean", "var"):
            for axes in ("axis0", "axis1", "axes02", "all"):
                for shape in REDUCED:
                    if f"{name}_{axes}" in self.operators:
                        self.cell(f"{name}_{axes}", shape)

    def orders(self):
        for title in ("sort_axis1", "argsort_axis1", "topk_axis1", "cumsum_axis0", "cumsum_axis1", "gather", "index_select", "scatter_add",
                      "concat", "nchw_to_nhwc", "permute_120"):
            for shape in ORDERED:
                self.cell(title, shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/tessera", help="libtessera is looked for beside it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.003, help="of one sample")
    parser.add_argument("--only", default="products,gemv,layers,functions,rows,reductions,orders")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)
    import numpy as np
    import torch

    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    goals = Goals(sweep.Tessera(args.program, torch, args.threads), torch, np, args)
    print(f"PyTorch {torch.__version__}, NumPy {np.__version__}, {args.threads} threads; load {os.getloadavg()[0]:.1f}")
    print(f"{'':34} {'Tessera':>11} {'peer':>11} {'':7} {'ratio':>6}", flush=True)
    for part in args.only.split(","):
        getattr(goals, part)()


if __name__ == "__main__":
    main()
