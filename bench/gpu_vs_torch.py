#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares Tessera on a GPU with PyTorch: the same work on the same GPU, in one run.

    python3 bench/gpu_vs_torch.py [--backend cuda] [--program build/release/bin/tessera] [--only PATTERN] [--quick]

Both take turns, sample by sample, because a hot GPU lowers its clock, which would favour whatever is timed first. Tessera
is timed by `tessera bench --turns`, PyTorch by CUDA events. A row shows both medians, the median of the ratios of all rounds
(PyTorch's time divided by Tessera's; above 1: Tessera is faster), and the limit for the row. Sizes are large: up to 10 GiB of
the GPU's memory are in use. Without PyTorch or a GPU, PyTorch's column is empty.
"""
import argparse
import fnmatch
import statistics

from turns import Tessera

LARGE = 1 << 28
WIDE = (16384, 16384)
ROWS = (65536, 4096)


class Row:
    """`name`, `size` and `dtype` are those of `tessera bench`; `most_us` is the longest time, `vs` the smallest ratio wanted."""

    def __init__(self, title, name, size, torch, dtype="f32", most_us=None, vs=None, env=None):
        self.title, self.name, self.size, self.torch = title, name, size, torch
        self.dtype, self.most_us, self.vs, self.env = dtype, most_us, vs, env or {}


def uniform(torch, dtype, *shape):
    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    return torch.rand(*shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(kind)


def elementwise(count, call):
    """Returns a function that makes PyTorch's step on `count` tensors of the row's shape."""

    def make(torch, row):
        shape = row.size if isinstance(row.size, tuple) else (row.size,)
        inputs = [uniform(torch, row.dtype, *shape) for _ in range(count)]
        return lambda: call(torch, *inputs)

    return make


def compiled(count, call):
    def make(torch, row):
        step = elementwise(count, call)(torch, row)
        return torch.compile(step)

    return make


def norm(kind):
    def make(torch, row):
        x, w, b = uniform(torch, row.dtype, *row.size), *(uniform(torch, row.dtype, row.size[1]) for _ in range(2))
        functional = torch.nn.functional
        if kind == "rms":
            return lambda: functional.rms_norm(x, (row.size[1],), w, 1e-5)
        return lambda: functional.layer_norm(x, (row.size[1],), w, b, 1e-5)

    return make


def matmul(allow_tf32=False):
    def make(torch, row):
        torch.backends.cuda.matmul.allow_tf32 = allow_tf32
        a, b = (uniform(torch, row.dtype, *row.size) for _ in range(2))
        return lambda: a @ b

    return make


def linear(approximate):
    """The layer with its bias added by the product, which is PyTorch's fastest form."""

    def make(torch, row):
        x, w = uniform(torch, row.dtype, *row.size), uniform(torch, row.dtype, row.size[1], row.size[1])
        b, functional = uniform(torch, row.dtype, row.size[1]), torch.nn.functional
        return lambda: functional.gelu(functional.linear(x, w, b), approximate=approximate)

    return make


def gemv(torch, row):
    a, x = uniform(torch, row.dtype, *row.size), uniform(torch, row.dtype, row.size[1])
    return lambda: a @ x


def small_add(torch, row):
    a, b = (uniform(torch, "f32", 4) for _ in range(2))
    return lambda: a + b


def hundred(torch, row):
    x = uniform(torch, "f32", 4)
    graph, out = torch.cuda.CUDAGraph(), None
    with torch.cuda.graph(graph):
        out = x
        for _ in range(100):
            out = out * 1.001
    return graph.replay


def upload(torch, row):
    host = torch.ones(row.size, dtype=torch.float32)
    device = torch.empty(row.size, dtype=torch.float32, device="cuda")
    return lambda: device.copy_(host)


def allocation(torch, row):
    return lambda: torch.empty(1 << 20, dtype=torch.float32, device="cuda")


def table():
    sums = [Row(f"sum {t} 16384²", n, WIDE, elementwise(1, c), most_us=250) for t, n, c in (
        ("all", "sum", lambda t, a: a.sum()), ("axis 0", "sum_axis0", lambda t, a: a.sum(0)),
        ("axis 1", "sum_axis1", lambda t, a: a.sum(1)))]
    products = [Row(f"matmul {dtype} {n}³", "matmul", (n, n), matmul(), dtype=dtype, vs=1.0)
                for dtype in ("f32", "bf16", "f16") for n in (512, 1024, 2048, 4096, 8192)]
    products += [Row(f"matmul tf32 {n}³", "matmul", (n, n), matmul(True), vs=1.0, env={"TESSERA_TF32": "1"})
                 for n in (512, 1024, 2048, 4096, 8192)]
    return [
        Row("relu(a*b+c) 2^28", "relu_mul_add", LARGE, elementwise(3, lambda t, a, b, c: t.relu(a * b + c)), most_us=960),
        Row("the same, compiled", "relu_mul_add", LARGE, compiled(3, lambda t, a, b, c: t.relu(a * b + c)), vs=1.0),
        Row("add 2^28", "add", LARGE, elementwise(2, lambda t, a, b: a + b), vs=0.99),
        Row("exp 2^28", "exp", LARGE, elementwise(1, lambda t, a: t.exp(a)), vs=0.99),
        Row("gelu 2^28", "gelu", LARGE, elementwise(1, lambda t, a: t.nn.functional.gelu(a)), vs=0.99),
        Row("silu 2^28", "silu", LARGE, elementwise(1, lambda t, a: t.nn.functional.silu(a)), vs=0.99),
        *sums,
        Row("argmax axis 1 16384²", "argmax_axis1", WIDE, elementwise(1, lambda t, a: a.argmax(1)), most_us=265),
        Row("transposed copy 16384²", "transposed_copy", WIDE, elementwise(1, lambda t, a: a.t().contiguous()),
            most_us=650),
        Row("softmax 65536×4096", "softmax", ROWS, elementwise(1, lambda t, a: t.softmax(a, 1)), most_us=540),
        Row("rms_norm 65536×4096", "rms_norm", ROWS, norm("rms"), most_us=540),
        Row("layer_norm 65536×4096", "layer_norm", ROWS, norm("layer"), most_us=540),
        *products,
        Row("linear+bias+gelu bf16 8192×4096×4096", "linear", (8192, 4096), linear("none"), dtype="bf16", most_us=390),
        Row("the same, gelu by tanh", "linear_tanh", (8192, 4096), linear("tanh"), dtype="bf16", most_us=390),
        Row("gemv f32 14336×4096", "gemv", (14336, 4096), gemv, most_us=58),
        Row("gemv bf16 14336×4096", "gemv", (14336, 4096), gemv, dtype="bf16", most_us=30),
        Row("add of 4 elements, queued", "queued_add", None, small_add, most_us=3.5),
        Row("100 tiny multiplications, replayed", "replayed", None, hundred, most_us=10),
        Row("the same, a kernel each", "replayed_unfused", None, hundred, most_us=100),
        Row("4 MiB from the pool and back", "pool", None, allocation, most_us=0.3),
        Row("upload 256 MiB, pageable", "upload", 1 << 26, upload, most_us=7000),
    ]


class Torch:
    """PyTorch's code for a row, timed by events around as many calls as take ten milliseconds."""

    def __init__(self, torch, row):
        self.torch, self.step = torch, row.torch(torch, row)
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for self.calls in (3, 1):
            self.sample_us()
        self.calls = max(1, min(2000, int(10_000 / max(self.sample_us(), 1))))

    def sample_us(self):
        with self.torch.no_grad():
            self.begin.record()
            for _ in range(self.calls):
                self.step()
            self.end.record()
            self.torch.cuda.synchronize()
        return self.begin.elapsed_time(self.end) / self.calls * 1000


def take_turns(options, torch, row):
    """Medians of PyTorch's and Tessera's samples, the median of their ratios, and the reason if Tessera has none."""
    size = row.size if isinstance(row.size, tuple) or not row.size else (row.size, 1)
    ours = Tessera(options.program, options.backend, row.name, row.dtype, size, row.env)
    peer = Torch(torch, row) if torch else None
    rounds = []
    if ours.is_ready:
        for _ in range(5 if options.quick else 15):
            rounds.append((peer.sample_us() if peer else 0, ours.sample_ns() / 1000))
    elif peer:
        rounds = [(peer.sample_us(), 0)]
    theirs, mine = (statistics.median(column) for column in zip(*rounds)) if rounds else (0, 0)
    ratio = statistics.median(a / b for a, b in rounds) if peer and mine else 0
    return theirs, mine, ratio, ours.why_not()


def load_torch():
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: its column is empty.")
        return None
    if torch.cuda.is_available():
        return torch
    print("PyTorch finds no GPU: its column is empty.")
    return None


def judge(row, ours, ratio):
    verdicts = []
    if row.most_us:
        verdicts.append(f"{'ok' if ours <= row.most_us else 'MISSED'} (most {row.most_us:g} us)")
    if row.vs and ratio:
        verdicts.append(f"{'ok' if round(ratio, 2) >= row.vs else 'MISSED'} (least {row.vs:g}x)")
    return ", ".join(verdicts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--program", default="build/release/bin/tessera")
    parser.add_argument("--only", default="*", help="titles that match, as 'sum*'")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    options = parser.parse_args()
    torch = load_torch()
    if torch:
        print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name(0)}; Tessera through {options.backend}")
    print(f"{'work':40} {'PyTorch us':>11} {'Tessera us':>11} {'ratio':>6}  goal")
    for row in table():
        if not fnmatch.fnmatch(row.title, options.only):
            continue
        theirs, ours, ratio, why = take_turns(options, torch, row)
        if torch:
            torch.cuda.empty_cache()
        cells = [f"{x:.1f}" if x else "-" for x in (theirs, ours)] + [f"{ratio:.2f}" if ratio else "-"]
        print(f"{row.title:40} {cells[0]:>11} {cells[1]:>11} {cells[2]:>6}  {why or judge(row, ours, ratio)}", flush=True)


if __name__ == "__main__":
    main()
