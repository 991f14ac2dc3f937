#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares Tessera on a GPU with PyTorch over classes of shapes: short, long and odd rows, every axis, sorts, scans, indices.

    python3 bench/gpu_shapes.py [--backend cuda] [--program build/release/bin/tessera] [--only 'sum*,sort*'] [--rounds 5] [--alone]

Both run in this process and take turns, sample by sample; a sample is as many calls, queued one after the other, as take
five milliseconds, and one wait. A line shows both medians in microseconds and the median of the ratios of all rounds (above
1: Tessera is faster). The last line is the geometric mean and the number of rows behind. Without a GPU for PyTorch, its columns are empty.
With --alone PyTorch is not loaded at all: to compare interfaces, or settings, with each other.
"""
import argparse
import ctypes
import fnmatch
import math
import os
import statistics
import time

from gpu_wake import Waker

DTYPES = ("f32", "bf16", "f16", "i64", "i32")
SAMPLE_NS = 5e6
WARM_NS = 3e7  # the least work before a row's samples


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 8)]

    def __init__(self, *dims):
        super().__init__(len(dims), (ctypes.c_int64 * 8)(*dims))


class DeviceDesc(ctypes.Structure):
    _fields_ = [("backend", ctypes.c_char_p), ("index", ctypes.c_int), ("memory", ctypes.c_uint64 * 3),
                ("timeout_ms", ctypes.c_uint32), ("threads", ctypes.c_int), ("switches", ctypes.c_int * 3)]


class ConvDesc(ctypes.Structure):
    _fields_ = [("stride", ctypes.c_int64 * 3), ("dilation", ctypes.c_int64 * 3), ("before", ctypes.c_int64 * 3),
                ("after", ctypes.c_int64 * 3), ("output_padding", ctypes.c_int64 * 3), ("groups", ctypes.c_int64),
                ("padding", ctypes.c_int), ("channels_last", ctypes.c_bool)]


class PoolDesc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64 * 3) for name in ("size", "stride", "dilation", "before", "after", "output")] + [
        ("power", ctypes.c_double), ("rounds_up", ctypes.c_bool), ("counts_padding", ctypes.c_bool), ("channels_last", ctypes.c_bool)]


class AttentionDesc(ctypes.Structure):
    _fields_ = [("scale", ctypes.c_double), ("softcap", ctypes.c_double), ("window", ctypes.c_int64),
                ("tensors", ctypes.c_void_p * 3), ("causal", ctypes.c_bool)]


class LinearDesc(ctypes.Structure):
    _fields_ = [("activation", ctypes.c_int), ("residual", ctypes.c_void_p)]


class Library:
    """libtessera through ctypes. Tensors are addresses; those that calls return are listed in `made`."""

    def __init__(self, program, backend, allows_tf32):
        self.lib = ctypes.CDLL(os.path.join(os.path.dirname(program), "..", "lib", "libtessera.so"))
        self.lib.tsr_last_error.restype = ctypes.c_char_p
        self.made = []
        self.device = ctypes.c_void_p()
        desc = DeviceDesc(backend.encode(), 0)
        desc.switches[0] = 1 if allows_tf32 else 0
        self.must(self.lib.tsr_device_open(ctypes.byref(desc), ctypes.byref(self.device)))
        self.codes = {}
        for name in DTYPES + ("u8",):
            code = ctypes.c_int()
            self.must(self.lib.tsr_dtype_parse(name.encode(), ctypes.byref(code)))
            self.codes[name] = code.value

    def must(self, status):
        if status != 0:
            raise RuntimeError(self.lib.tsr_last_error().decode())

    def __getattr__(self, name):
        function = self.lib["tsr_" + name]
        function.restype = ctypes.c_void_p

        def call(*arguments):
            self.made.append(ctypes.c_void_p(function(*arguments)))
            return self.made[-1]

        setattr(self, name, call)
        return call

    def outs(self, name, count, *arguments):
        """Calls a function that returns `count` tensors through pointers."""
        results = [ctypes.c_void_p() for _ in range(count)]
        self.must(self.lib["tsr_" + name](*arguments, *(ctypes.byref(r) for r in results)))
        self.made += results
        return results

    def release_all(self, but=()):
        """Releases what calls have made since the last time: a tensor that is held would be computed, even if a kernel fuses it."""
        for tensor in self.made:
            if not any(tensor is kept for kept in but):
                self.lib.tsr_release(tensor)
        self.made = list(but)

    def reduce(self, name, x, *axes, more=()):
        return getattr(self, name)(x, (ctypes.c_int * len(axes))(*axes) if axes else None, len(axes), False, *more)

    def random(self, kind, dtype, *dims):
        return getattr(self, kind)(self.device, self.codes[dtype], Shape(*dims), ctypes.c_uint64(1))

    def take(self, tensor):
        """A tensor with the elements of one of PyTorch's."""
        import torch
        names = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64", torch.int32: "i32"}
        host = tensor.cpu().contiguous()
        return self.from_data(self.device, self.codes[names[tensor.dtype]], Shape(*tensor.shape),
                              ctypes.c_void_p(host.data_ptr()), ctypes.c_size_t(host.numel() * host.element_size()))


class Row:
    """`inputs`: (dtype, dims) of random numbers in [-1, 1), or (dtype, dims, limit) of whole numbers below `limit`. `torch` and `ours` take
    their library and the inputs; `ours` returns a tensor or a list of them."""

    def __init__(self, title, inputs, torch, ours, tf32=False, most_us=None):
        self.title, self.inputs, self.torch, self.ours = title, inputs, torch, ours
        self.tf32, self.most_us = tf32, most_us


def reductions():
    def one(name, dims, axes, dtype="f32", call=None, more=()):
        call = call or (lambda t, a: getattr(a, name)(axes if len(axes) != 1 else axes[0]) if axes else getattr(a, name)())
        where = "all" if not axes else "axis " + ",".join(map(str, axes))
        return Row(f"{name} {where} {'x'.join(map(str, dims))} {dtype}", [(dtype, dims)], call,
                   lambda o, a: o.reduce(name, a, *axes, more=more))

    largest = lambda *axes: lambda t, a: t.amax(a, axes)
    return [
        one("sum", (10**6, 40), (1,)), one("sum", (40, 10**6), (0,)), one("sum", (10**6, 40), (0,)), one("sum", (40, 10**6), (1,)),
        one("sum", (32, 2 * 10**6), (1,)), one("sum", (3 * 10**7, 3), (1,)), one("sum", (10**6, 40), (1,), "bf16"),
        one("sum", (9999, 9999), (1,)), one("sum", (9999, 9999), (1,), "bf16"), one("sum", (64, 128, 3136), (0, 2)), one("mean", (500, 300, 500), (1,)),
        one("max", (10**6, 40), (1,), call=largest(1)), one("max", (16384, 5000), (0,), call=largest(0)),
        one("argmax", (16384, 16384), (0,)), one("argmax", (10**6, 40), (1,)), one("argmax", (32, 2 * 10**6), (1,)),
        one("argmax", (16384, 5000), (0,), "bf16"), one("argmax", (5000, 5000), ()),
        one("std", (20000, 5000), (1,), more=(ctypes.c_double(1),)), one("var", (20000, 5000), (0,), more=(ctypes.c_double(1),)),
        one("logsumexp", (8192, 50257), (1,), call=lambda t, a: t.logsumexp(a, 1)),
    ]


def rows():
    def softmax(dims, axis, dtype="f32"):
        return Row(f"softmax axis {axis} {dims[0]}x{dims[1]} {dtype}", [(dtype, dims)], lambda t, a: t.softmax(a, axis),
                   lambda o, a: o.softmax(a, axis))

    def norm(name, dims, dtype):
        few = [(dtype, (dims[1],))] * (2 if name == "layer_norm" else 1)
        return Row(f"{name} {dims[0]}x{dims[1]} {dtype}", [(dtype, dims)] + few,
                   lambda t, a, *more: getattr(t.nn.functional, name)(a, (dims[1],), *more, eps=1e-5),
                   lambda o, a, *more: getattr(o, name)(a, *more, ctypes.c_double(1e-5)))

    return [softmax((10**6, 40), 1), softmax((40, 10**6), 0), softmax((16, 2 * 10**6), 1), softmax((1000, 50257), 1), softmax((16384, 5000), 0),
            softmax((10**6, 40), 1, "bf16"), softmax((8192, 4097), 1, "bf16"), softmax((128, 500000), 1, "bf16"),
            norm("layer_norm", (40000, 5000), "bf16"), norm("layer_norm", (10**6, 40), "f32"), norm("layer_norm", (16384, 768), "bf16"),
            norm("rms_norm", (20000, 4097), "bf16"), norm("rms_norm", (16, 2 * 10**6), "f32"), norm("rms_norm", (10**6, 40), "bf16")]


def orders():
    def scan(dims, axis, dtype="f32", most=None):
        return Row(f"cumsum axis {axis} {'x'.join(map(str, dims))} {dtype}", [(dtype, dims)], lambda t, a: t.cumsum(a, axis),
                   lambda o, a: o.cumsum(a, axis), most_us=most)

    return [
        Row("sort 20000000 f32", [("f32", (2 * 10**7,))], lambda t, a: t.sort(a), lambda o, a: o.sort(a, 0, False), most_us=970),
        Row("argsort 1000x50257 f32", [("f32", (1000, 50257))], lambda t, a: t.argsort(a, 1), lambda o, a: o.argsort(a, 1, False), most_us=3800),
        Row("sort 10000x1000 f32", [("f32", (10000, 1000))], lambda t, a: t.sort(a, 1), lambda o, a: o.sort(a, 1, False)),
        Row("sort 1000000x20 i32", [("i32", (10**6, 20), 1000)], lambda t, a: t.sort(a, 1), lambda o, a: o.sort(a, 1, False)),
        Row("topk 50 of 1000x50257 f32", [("f32", (1000, 50257))], lambda t, a: t.topk(a, 50, 1),
            lambda o, a: o.outs("topk", 2, a, ctypes.c_int64(50), 1, True)),
        Row("topk 8 of 20000000 f32", [("f32", (2 * 10**7,))], lambda t, a: t.topk(a, 8, 0),
            lambda o, a: o.outs("topk", 2, a, ctypes.c_int64(8), 0, True)),
        scan((10**8,), 0, most=220), scan((10000, 10000), 1), scan((10000, 10000), 0), scan((10**6, 40), 1), scan((10**7,), 0, "bf16"),
    ]


def indices():
    def wide(o, index, dims):  # a list as a matrix whose rows are all one index
        return o.expand(o.reshape(index, Shape(dims[0], 1)), Shape(*dims))

    def select(count, table, dtype, most=None):
        return Row(f"index_select {count} of {table[0]}x{table[1]} {dtype}", [(dtype, table), ("i64", (count,), table[0])],
                   lambda t, a, i: a.index_select(0, i), lambda o, a, i: o.index_select(a, 0, i), most_us=most)

    return [
        Row("scatter_add 70000x64 into 50257 f32", [("f32", (50257, 64)), ("i64", (70000,), 50257), ("f32", (70000, 64))],
            lambda t, x, i, s: x.scatter_add(0, i[:, None].expand(70000, 64), s),
            lambda o, x, i, s: o.scatter_add(x, 0, wide(o, i, (70000, 64)), s), most_us=80),
        Row("scatter_add 1000000 into 1000 f32", [("f32", (1000,)), ("i64", (10**6,), 1000), ("f32", (10**6,))],
            lambda t, x, i, s: x.scatter_add(0, i, s), lambda o, x, i, s: o.scatter_add(x, 0, i, s)),
        Row("scatter_add 1000x1000 each its own f32", [("f32", (1000, 1000)), ("i64", (1000, 1000), 1000), ("f32", (1000, 1000))],
            lambda t, x, i, s: x.scatter_add(1, i, s), lambda o, x, i, s: o.scatter_add(x, 1, i, s)),
        select(70000, (50257, 3000), "f32", 400), select(70000, (50257, 768), "bf16"), select(10**6, (10**5, 7), "f32"),
        Row("gather axis 1 10000x5000 f32", [("f32", (10000, 5000)), ("i64", (10000, 5000), 5000)], lambda t, a, i: a.gather(1, i),
            lambda o, a, i: o.gather(a, 1, i)),
    ]


def moves():
    big = (8000, 5000)
    return [
        Row("randn 200000000 f32", [], lambda t: t.randn(2 * 10**8, device="cuda"), lambda o: o.random("randn", "f32", 2 * 10**8), most_us=200),
        Row("rand 200000000 f32", [], lambda t: t.rand(2 * 10**8, device="cuda"), lambda o: o.random("rand", "f32", 2 * 10**8)),
        Row("randn 200000000 bf16", [], lambda t: t.randn(2 * 10**8, device="cuda", dtype=t.bfloat16),
            lambda o: o.random("randn", "bf16", 2 * 10**8)),
        Row("strided slice + tensor 8000x2500 f32", [("f32", big), ("f32", (8000, 2500))], lambda t, a, b: a[:, ::2] + b,
            lambda o, a, b: o.add(o.slice(a, 1, ctypes.c_int64(0), ctypes.c_int64(5000), ctypes.c_int64(2)), b)),
        Row("concat axis 1 8000x5000 twice f32", [("f32", big), ("f32", big)], lambda t, a, b: t.cat((a, b), 1),
            lambda o, a, b: o.concat((ctypes.c_void_p * 2)(a, b), 2, 1)),
        Row("concat axis 1 1000x64 50 times f32", [("f32", (1000, 64))] * 50, lambda t, *parts: t.cat(parts, 1),
            lambda o, *parts: o.concat((ctypes.c_void_p * len(parts))(*[part.value for part in parts]), len(parts), 1)),
        Row("pad 8000x5000 by 3 f32", [("f32", big)], lambda t, a: t.nn.functional.pad(a, (3, 3, 3, 3)),
            lambda o, a: o.pad(a, (ctypes.c_int64 * 2)(3, 3), (ctypes.c_int64 * 2)(3, 3), 2, ctypes.c_double(0))),
        Row("roll 8000x5000 by 7 f32", [("f32", big)], lambda t, a: a.roll(7, 1), lambda o, a: o.roll(a, ctypes.c_int64(7), 1)),
        Row("tile 8000x5000 by 2x2 f32", [("f32", big)], lambda t, a: a.repeat(2, 2), lambda o, a: o.tile(a, Shape(2, 2))),
        Row("permute 200x300x500 to 2,0,1 f32", [("f32", (200, 300, 500))], lambda t, a: a.permute(2, 0, 1).contiguous(),
            lambda o, a: o.contiguous(o.permute(a, (ctypes.c_int * 3)(2, 0, 1), 3))),
    ]


def networks():
    def conv(n, c, side, k, dtype, most, tf32=False, size=3, groups=1):
        desc = ConvDesc(groups=groups)
        desc.before[:2] = desc.after[:2] = (size // 2, size // 2)
        title = f"conv {n}x{c}x{side}x{side} to {k} {size}x{size} {f'by {groups} ' if groups > 1 else ''}{'tf32' if tf32 else dtype}"
        return Row(title, [(dtype, (n, c, side, side)), (dtype, (k, c // groups, size, size))],
                   lambda t, x, w: t.nn.functional.conv2d(x, w, padding=size // 2, groups=groups),
                   lambda o, x, w: o.conv(x, w, None, ctypes.byref(desc)), tf32, most)

    def avg_pool(dims, size, stride, padding, dtype):
        desc = PoolDesc(counts_padding=True)
        desc.size[:2], desc.stride[:2] = (size, size), (stride, stride)
        desc.before[:2] = desc.after[:2] = (padding, padding)
        return Row(f"avg_pool {'x'.join(map(str, dims))} {size}x{size} {dtype}", [(dtype, dims)],
                   lambda t, x: t.nn.functional.avg_pool2d(x, size, stride, padding), lambda o, x: o.avg_pool(x, ctypes.byref(desc)))

    def attention(batch, heads, kv, queries, keys, size, causal, most, dtype="bf16"):
        desc = AttentionDesc(causal=causal)
        return Row(f"attention {batch}x{heads}/{kv} {queries} of {keys} x{size} {'causal ' if causal else ''}{dtype}",
                   [(dtype, (batch, heads, queries, size)), (dtype, (batch, kv, keys, size)), (dtype, (batch, kv, keys, size))],
                   lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv),
                   lambda o, q, k, v: o.attention(q, k, v, None, ctypes.byref(desc)), most_us=most)

    def normed(o, x, mean, var, w, b):
        """With the running mean and variance, as PyTorch: they would be computed 170 calls later otherwise, all at once."""
        made = o.outs("batch_norm_train", 1, x, mean, var, w, b, ctypes.c_double(0.1), ctypes.c_double(1e-5))
        for tensor in (*made, mean, var):
            o.must(o.lib.tsr_evaluate(tensor))
        return made

    channel = [("f32", (128,))] * 4
    return [
        conv(32, 64, 56, 64, "f32", 84, True), conv(32, 64, 56, 64, "f16", 55), conv(32, 256, 14, 256, "f16", 34), conv(8, 33, 57, 65, "f16", None),
        conv(32, 256, 56, 64, "f16", None, size=1), conv(32, 128, 56, 128, "f32", None, groups=128), conv(32, 128, 56, 128, "f16", None, groups=128),
        avg_pool((32, 192, 28, 28), 3, 1, 1, "f16"),
        Row("batch_norm training 64x128x56x56 f32", [("f32", (64, 128, 56, 56))] + channel,
            lambda t, x, m, v, w, b: t.nn.functional.batch_norm(x, m, v, w, b, True), normed, most_us=70),
        Row("group_norm 64x128x56x56 by 32 f32", [("f32", (64, 128, 56, 56))] + channel[:2],
            lambda t, x, w, b: t.nn.functional.group_norm(x, 32, w, b),
            lambda o, x, w, b: o.group_norm(x, ctypes.c_int64(32), w, b, ctypes.c_double(1e-5))),
        attention(1, 32, 8, 1, 8192, 128, False, 14), attention(1, 32, 32, 2048, 2048, 128, True, 84), attention(4, 32, 32, 4096, 4096, 128, True, 920),
        attention(2, 16, 16, 1500, 1500, 64, False, None), attention(8, 32, 8, 1, 3001, 128, False, None, "f16"),
    ]


def products():
    def matmul(m, n, k, dtype, most=None, tf32=False):
        return Row(f"matmul {m}x{n}x{k} {dtype}", [(dtype, (m, k)), (dtype, (k, n))], lambda t, a, b: a @ b, lambda o, a, b: o.matmul(a, b), tf32, most)

    def linear(m, k, n, activation, code, most):
        desc = LinearDesc(code, None)

        def theirs(t, x, w, b):
            return activation(t, t.nn.functional.linear(x, w, b))

        return Row(f"linear+{activation.__name__} {m}x{k}x{n} bf16", [("bf16", (m, k)), ("bf16", (n, k)), ("bf16", (n,))], theirs,
                   lambda o, x, w, b: o.linear(x, w, b, ctypes.byref(desc)), most_us=most)

    def gelu(t, x):
        return t.nn.functional.gelu(x)

    def relu(t, x):
        return t.relu(x)

    def relu_odd(m, n, k, most):  # relu(x w + b) with w as [inputs, outputs]
        return Row(f"relu(x w + b) {m}x{n}x{k} bf16", [("bf16", (m, k)), ("bf16", (k, n)), ("bf16", (n,))], lambda t, x, w, b: t.relu(x @ w + b),
                   lambda o, x, w, b: o.relu(o.add(o.matmul(x, w), b)), most_us=most)

    def quantised(name, code):
        packed = []  # eight copies in turn, so that they come from memory

        def weights(o, x, w):
            while len(packed) < 8:
                packed.append(o.quantize(w, code))
                o.must(o.lib.tsr_evaluate(packed[-1]))
                o.made.pop()
            packed.append(packed.pop(0))
            return o.matmul_quantized(x, packed[0], code)

        return Row(f"{name} gemv 14336x4096", [("f32", (1, 4096)), ("f32", (14336, 4096))], None, weights)

    return [
        linear(8192, 4096, 4096, gelu, 2, 395), matmul(2538, 9186, 3226, "bf16", 300), matmul(2538, 9186, 3226, "f16", 300),
        relu_odd(6520, 2591, 3564, 260), matmul(1000, 1001, 999, "bf16"), matmul(4096, 4096, 4096, "f32"), matmul(4097, 4097, 4097, "f32"),
        matmul(4096, 4096, 4096, "bf16"), matmul(4096, 4096, 4096, "f16"), matmul(3000, 11008, 4096, "bf16"), matmul(1, 13824, 5120, "bf16", 48),
        matmul(6, 13824, 5120, "bf16", 48), matmul(33, 4096, 4096, "bf16"), matmul(512, 512, 512, "f32"), matmul(100, 100, 10000, "f32"),
        quantised("q8_0", 0), quantised("q4_0", 1),
    ]


def table():
    return reductions() + rows() + orders() + indices() + moves() + networks() + products()


def uniform(torch, dtype, dims, limit=None):
    kind = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64, "i32": torch.int32}[dtype]
    where = "cuda" if torch.cuda.is_available() else "cpu"
    if limit:
        return torch.randint(0, limit, dims, device=where, dtype=kind)
    return torch.rand(*dims, device=where).mul_(2).sub_(1).to(kind)


def own_input(library, dtype, dims, limit=None):
    """As uniform, made by Tessera on its device."""
    if limit:
        made = library.randint(library.device, library.codes[dtype], Shape(*dims), ctypes.c_int64(0), ctypes.c_int64(limit), ctypes.c_uint64(1))
    else:
        made = library.sub_scalar(library.mul_scalar(library.random("rand", dtype, *dims), ctypes.c_double(2)), ctypes.c_double(1))
    library.release_all((made,))
    library.must(library.lib.tsr_evaluate(made))
    library.made = []
    return made


class Timed:
    """Something to call again and again, and how to wait for it. A sample has as many calls as take SAMPLE_NS. It is called for WARM_NS first: libraries
    are asked for a plan, or their algorithms compared, once a shape has come back often enough. It is called for longer if the GPU has waited for the host
    before, while kernels were built, so that its clock may be low."""

    gpu = Waker()

    def __init__(self, step, wait):
        self.step, self.wait, self.calls = step, wait, 1
        busy_until = Timed.gpu.last_ns
        self.sample_us()
        self.calls = max(1, int(SAMPLE_NS / 1000 / max(self.sample_us(), 1)))
        Timed.gpu.wake(self.sample_us, busy_until, WARM_NS)
        self.calls = 1
        for _ in range(3):  # one call alone is mostly its wait
            self.calls = max(1, min(1000, int(SAMPLE_NS / 1000 / max(self.sample_us(), 1))))

    def sample_us(self):
        self.step()
        self.wait()
        begin = time.perf_counter_ns()
        for _ in range(self.calls):
            self.step()
        self.wait()
        Timed.gpu.worked()
        return (Timed.gpu.last_ns - begin) / self.calls / 1000


def our_step(library, row, inputs):
    def step():
        made = row.ours(library, *inputs)
        results = made if isinstance(made, list) else [made]
        library.release_all(results)
        for tensor in results:
            library.must(library.lib.tsr_evaluate(tensor))
        library.release_all()

    return step


def measure(library, torch, row, rounds):
    """Medians of PyTorch's and of Tessera's samples, and of their ratios; 0 for what is not there."""
    given, taken, has_peer = [], [], bool(torch and row.torch and torch.cuda.is_available())
    if torch:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = row.tf32
        given = [uniform(torch, *i) for i in row.inputs]
        taken, library.made = [library.take(x) for x in given], []
    else:
        taken = [own_input(library, *i) for i in row.inputs]
    ours = Timed(our_step(library, row, taken), lambda: library.must(library.lib.tsr_device_synchronize(library.device)))
    peer = Timed(lambda: row.torch(torch, *given), torch.cuda.synchronize) if has_peer else None
    pairs = [(peer.sample_us() if peer else 0, ours.sample_us()) for _ in range(rounds)]
    for tensor in taken:
        library.lib.tsr_release(tensor)
    theirs, mine = (statistics.median(column) for column in zip(*pairs))
    return theirs, mine, statistics.median(a / b for a, b in pairs)


def judge(row, mine):
    if not row.most_us:
        return ""
    return f"{'ok' if mine <= row.most_us else 'MISSED'} (most {row.most_us:g} us)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--program", default="build/release/bin/tessera")
    parser.add_argument("--only", default="*", help="titles that match one of these, as 'sum*,sort*'")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="without PyTorch")
    options = parser.parse_args()
    torch = None
    if not options.alone:
        import torch
        torch.set_grad_enabled(False)
    libraries, ratios = {}, []
    for row in table():
        if not any(fnmatch.fnmatch(row.title, pattern) for pattern in options.only.split(",")):
            continue
        try:
            if row.tf32 not in libraries:
                libraries[row.tf32] = Library(options.program, options.backend, row.tf32)
            theirs, mine, ratio = measure(libraries[row.tf32], torch, row, options.rounds)
            print(f"{row.title:48} {theirs:10.1f} {mine:10.1f} {ratio:6.2f}  {judge(row, mine)}", flush=True)
            ratios += [ratio] if ratio else []
        except RuntimeError as error:
            print(f"{row.title:48} {str(error).splitlines()[0][:100]}", flush=True)
        if torch and torch.cuda.is_available():
            torch.cuda.empty_cache()
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{len(ratios)} rows, geometric mean {mean:.2f}, {sum(r < 0.97 for r in ratios)} behind")


if __name__ == "__main__":
    main()
