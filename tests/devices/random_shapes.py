#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators on random shapes and views on one device, beside the CPU in f64: tests/devices/random_shapes.py DEVICE [--seconds 60] [--seed 1] [--elements 100000]

`tessera check` has the same shapes every time. Here sizes are anything from 1 to --elements, mostly near powers of two, where the ways to cut
up work change; tensors are permuted, sliced with steps or reversed. Needs NumPy, and the Python module on PYTHONPATH.

Elements are small whole numbers, so that sums and products are exact in f32: results may differ by the last rounding alone. Prints a line for
each case that is wrong or fails, with all that repeats it. Exit status: 0 if there is none.
"""
import argparse
import random
import sys
import time

import numpy as np
import tessera as ts

ROUNDING = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int64", "uint8", "int16")


class Input:
    """A tensor of whole numbers from `least` to `most`, as a view."""

    def __init__(self, rng, shape, dtype, least, most, is_view=True):
        rank, self.dtype = len(shape), dtype
        has_steps = is_view and rng.random() < 0.5
        self.order = rng.sample(range(rank), rank) if has_steps else list(range(rank))
        self.cuts = [slice(rng.randrange(3), None, rng.choice((1, 1, 1, 2, 3))) if has_steps else slice(None) for _ in shape]
        self.reversed = [axis for axis in range(rank) if has_steps and rng.random() < 0.2]
        whole = [(shape[axis] - 1) * (cut.step or 1) + 1 + (cut.start or 0) for axis, cut in zip(self.order, self.cuts)]
        self.numbers = np.random.default_rng(rng.randrange(1 << 30)).integers(least, most, whole, endpoint=True)
        self.text = f"{dtype}{shape}" + (f" permuted {self.order} {self.cuts} reversed {self.reversed}" if has_steps else "")

    def on_device(self, is_wide):
        dtype = "float64" if is_wide and self.dtype in FLOATS else self.dtype
        x = ts.array(self.numbers).astype(dtype)[tuple(self.cuts)]
        x = ts.transpose(x, [self.order.index(axis) for axis in range(len(self.order))])
        for axis in self.reversed:
            x = ts.flip(x, axis)
        return x


class Chooser:
    """Random sizes, axes and inputs, and the operators that take them. Each method of an operator returns its name, its inputs, the function to call with them, and its bound: by how many
    roundings of f32, relative to the largest element of the result, it may differ from the CPU's result; the rounding to the result's dtype is added to that."""

    def __init__(self, seed, elements):
        self.rng, self.elements = random.Random(seed), elements

    def size(self, most):
        n = 2 ** self.rng.uniform(0, np.log2(most + 1))
        if self.rng.random() < 0.5:
            n = 2 ** round(np.log2(n)) + self.rng.choice((-1, 0, 1))
        return max(1, min(int(n), most))

    def shape(self, least=1, most=4):
        left, dims = self.elements, []
        for _ in range(self.rng.randint(least, most)):
            dims.append(self.size(left))
            left = max(1, left // dims[-1])
        self.rng.shuffle(dims)
        return dims

    def input(self, shape, dtypes=FLOATS, least=-2, most=2):
        return Input(self.rng, shape, self.rng.choice(dtypes), least, most)

    def axis(self, shape):
        return self.rng.randrange(len(shape))

    def reduced(self):
        shape = self.shape()
        axes = tuple(sorted(self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape)))))
        name = self.rng.choice(("sum", "max", "min", "mean"))
        return f"{name} {axes}", [self.input(shape, FLOATS + ("int32",))], lambda x: getattr(ts, name)(x, axis=axes), 2

    def fused(self):
        shape = self.shape()
        axis, other = self.axis(shape), [1 if self.rng.random() < 0.3 else n for n in shape]
        dtype = (self.rng.choice(FLOATS),)
        return f"sum of relu(x * y + 1) {axis}", [self.input(shape, dtype), self.input(other, dtype)], lambda x, y: ts.sum(ts.ops.relu(x * y + 1), axis=axis), 2

    def extreme(self):
        shape = self.shape()
        axis, name = self.axis(shape), self.rng.choice(("argmax", "argmin"))
        return f"{name} {axis}", [self.input(shape, INTEGERS, 0, 99)], lambda x: getattr(ts, name)(x, axis=axis), 0

    def rows(self):
        shape = self.shape()
        axis, name = self.axis(shape), self.rng.choice(("softmax", "log_softmax"))
        return f"{name} {axis}", [self.input(shape)], lambda x: getattr(ts.ops, name)(x, axis), 32

    def norms(self):
        name = self.rng.choice(("layer_norm", "rms_norm"))
        return name, [self.input(self.shape(2, 3), least=-9, most=9)], lambda x: getattr(ts.ops, name)(x, eps=1.0), 64

    def scans(self):
        shape = self.shape()
        axis, name = self.axis(shape), self.rng.choice(("cumsum", "cumprod", "cummax", "cummin"))
        x = self.input(shape, ("int32", "int64", "uint32"), 1, 9)
        return f"{name} {axis}", [x], lambda x: getattr(ts.ops, name)(x, axis), 0

    def sorts(self):
        shape = self.shape(1, 3)
        axis, descends = self.axis(shape), self.rng.random() < 0.5
        count = self.rng.randint(1, shape[axis])
        x = self.input(shape, INTEGERS + ("float32",), 0, 120)
        if self.rng.random() < 0.5:
            return f"topk {count} {axis} {descends}", [x], lambda x: ts.ops.topk(x, count, axis, descends), 0
        return f"argsort {axis} {descends}", [x], lambda x: ts.ops.argsort(x, axis, descends), 0

    def indexed(self):
        shape = self.shape(1, 3)
        axis = self.axis(shape)
        wanted = list(shape)
        wanted[axis] = self.size(max(1, self.elements * shape[axis] // int(np.prod(shape))))
        x, source = self.input(shape, ("int32",), -9, 9), self.input(wanted, ("int32",), -9, 9)
        at = self.input(wanted, ("int32",), 0, shape[axis] - 1)
        line = Input(self.rng, [wanted[axis]], "int32", 0, shape[axis] - 1, is_view=False)
        return self.rng.choice((
            (f"index_select {axis}", [x, line], lambda x, at: ts.ops.index_select(x, axis, at), 0),
            (f"gather {axis}", [x, at], lambda x, at: ts.ops.gather(x, axis, at), 0),
            (f"scatter_add {axis}", [x, at, source], lambda x, at, source: ts.ops.scatter_add(x, axis, at, source), 0)))

    def moved(self):
        shape = self.shape(2, 4)
        axis, order, shift = self.axis(shape), self.rng.sample(range(len(shape)), len(shape)), self.rng.randint(-9, 9)
        x = self.input(shape, INTEGERS, 0, 99)
        return f"copies {order} roll {shift} {axis}", [x], lambda x: (ts.ops.contiguous(ts.transpose(x, order)), ts.ops.roll(x, shift, axis), ts.concat([x, x], axis=axis)), 0

    def products(self):
        m, n, k = self.size(300), self.size(self.rng.choice((300, 3000))), self.size(500)
        batch, dtype = [self.size(5)] if self.rng.random() < 0.3 else [], (self.rng.choice(FLOATS),)
        return "relu(matmul + 1)", [self.input(batch + [m, k], dtype, -1, 1), self.input(batch + [k, n], dtype, -1, 1)], lambda x, y: ts.ops.relu(ts.ops.matmul(x, y) + 1), 2

    def convolutions(self):
        channels, kernels, height, width = self.size(30), self.size(30), self.size(40), self.size(40)
        kernel, dtype = [self.rng.randint(1, min(5, height)), self.rng.randint(1, min(5, width))], (self.rng.choice(FLOATS),)
        stride, pad = self.rng.randint(1, 2), self.rng.randint(0, 2)
        inputs = [self.input([self.size(4), channels, height, width], dtype, -1, 1), self.input([kernels, channels] + kernel, dtype, -1, 1)]
        return f"conv {stride} {pad}", inputs, lambda x, w: ts.ops.conv(x, w, stride=stride, before=pad, after=pad), 2

    def attention(self):
        batch, heads, queries, keys, size = self.size(2), self.size(4), self.size(200), self.size(300), self.rng.choice((8, 32, 40, 64, 128))
        dtype, causal = (self.rng.choice(FLOATS),), self.rng.random() < 0.4 and queries <= keys
        inputs = [self.input([batch, heads, n, size], dtype, -1, 1) for n in (queries, keys, keys)]
        return f"attention {causal}", inputs, lambda q, k, v: ts.ops.attention(q, k, v, causal=causal), 256

    def case(self):
        return self.rng.choice((self.reduced, self.fused, self.extreme, self.rows, self.norms, self.scans, self.sorts, self.indexed, self.moved,
                                self.products, self.convolutions, self.attention))()


def run(device, function, inputs, is_wide):
    """Results of the function on a device, and their dtypes."""
    with ts.device(device):
        results = function(*[x.on_device(is_wide) for x in inputs])
        results = results if isinstance(results, (list, tuple)) else [results]
        return [(np.asarray(y.astype("float64" if is_wide else "float32") if str(y.dtype) in FLOATS + ("float64",) else y), str(y.dtype)) for y in results]


def difference(wanted, found, dtype, roundings):
    """A sentence about the first wrong element, or None."""
    if wanted.shape != found.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    bound = 0
    if dtype in ROUNDING:
        largest = np.abs(wanted).max(initial=0)
        bound = 1.01 * ROUNDING[dtype] * np.abs(wanted) + roundings * ROUNDING["float32"] * max(largest, 1)
    wrong = np.argwhere(~(np.abs(wanted.astype("float64") - found.astype("float64")) <= bound))
    if len(wrong) == 0:
        return None
    at = tuple(int(i) for i in wrong[0])
    return f"{len(wrong)} of {wanted.size} wrong, at {at} {found[at]} in place of {wanted[at]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("device")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--elements", type=int, default=100000)
    args = parser.parse_args()
    chooser, end, cases, failures = Chooser(args.seed, args.elements), time.monotonic() + args.seconds, 0, 0
    while time.monotonic() < end:
        name, inputs, function, roundings = chooser.case()
        text = f"{name} of {', '.join(x.text for x in inputs)}"
        cases += 1
        try:
            pairs = zip(run("cpu", function, inputs, True), run(args.device, function, inputs, False))
            sentences = [difference(wanted, found, dtype, roundings) for (wanted, _), (found, dtype) in pairs]
        except ts.Error as error:
            sentences = [str(error)]
        for sentence in filter(None, sentences):
            failures += 1
            print(f"{text}: {sentence}", flush=True)
    print(f"{args.device}: {cases} random shapes, seed {args.seed}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
