# SPDX-License-Identifier: MIT
"""Cells of bench/random_vs_torch.py: operators with random shapes, dtypes, axes and layouts, as calls of PyTorch and of Tessera's Python module.

A family is a function that takes a Draw and returns a Cell. What it draws depends on the seed and the cell's number alone.
"""
import math
import random

FLOATS = ("f32", "bf16", "f16")
TORCH_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
                "u8": "uint8", "bool": "bool"}


class Input:
    """Elements of a dense tensor of `shape` (floats in [-1, 1), times `scale` plus `shift`; whole numbers from `least` up to `limit`;
    `ascending`: floats in this order), and the `view` of it that
    operators get: a function of either library's tensor."""

    def __init__(self, shape, dtype="f32", view=None, least=-1000, limit=1000, scale=1.0, shift=0.0, ascending=False):
        self.shape, self.dtype, self.view = tuple(shape), dtype, view or (lambda x: x)
        self.least, self.limit, self.scale, self.shift, self.ascending = least, limit, scale, shift, ascending

    def make(self, torch, where):
        kind = getattr(torch, TORCH_DTYPES[self.dtype])
        if self.dtype == "bool":
            return torch.rand(self.shape, device=where) < 0.5
        if self.dtype[0] in "iu":
            least = max(self.least, 0) if self.dtype[0] == "u" else self.least
            info = torch.iinfo(kind)
            return torch.randint(max(least, info.min), min(self.limit, info.max), self.shape, device=where, dtype=kind)
        wide = torch.rand(self.shape, device=where, dtype=torch.float64 if self.dtype == "f64" else torch.float32)
        wide.mul_(2 * self.scale).add_(self.shift - self.scale)
        return (wide.sort().values if self.ascending else wide).to(kind)


class Cell:
    """`torch` and `ours` take their library and the inputs; both return a tensor or several. `compares`: whether results are the same numbers."""

    def __init__(self, title, inputs, torch, ours, compares=True, grad=False, tf32=False):
        self.title, self.inputs, self.torch, self.ours = title, inputs, torch, ours
        self.compares, self.grad, self.tf32 = compares, grad, tf32


class Draw(random.Random):
    """Random choices of a cell. `most` is the largest number of elements of an input; `where` is PyTorch's device."""

    def __init__(self, seed, most, where):
        super().__init__(seed)
        self.most, self.where = most, where

    def count(self, least=1e4, most=None):
        """A number of elements, uniform in its logarithm."""
        most = min(most or self.most, self.most)
        return math.exp(self.uniform(math.log(min(least, most)), math.log(most)))

    def size(self, about):
        """A size near `about`: a power of two, a multiple of 8 or any number."""
        about = max(1.0, about)
        kind = self.random()
        if kind < 0.25:
            return 2 ** max(0, round(math.log2(about)))
        if kind < 0.5 and about >= 8:
            return 8 * max(1, round(about / 8))
        return max(1, round(about))

    def shape(self, rank=None, count=None):
        rank, count = rank or self.randint(1, 4), count or self.count()
        cuts = sorted(self.random() for _ in range(rank - 1))
        shares = [b - a for a, b in zip([0, *cuts], [*cuts, 1])]
        sizes = [self.size(count ** share) for share in shares]
        while math.prod(sizes) > 2 * count:
            i = max(range(rank), key=lambda i: sizes[i])
            sizes[i] = max(1, sizes[i] // 2)
        return tuple(sizes)

    def rows(self, least=2, most=200_000, count=None):
        """Rows and a length of rows."""
        count = count or self.count()
        length = self.size(math.exp(self.uniform(math.log(least), math.log(min(most, count)))))
        return self.size(count / length), length

    def floats(self):
        return self.choice(("f32", "f32", "bf16", "f16"))

    def some_axes(self, rank):
        return tuple(sorted(self.sample(range(rank), self.randint(1, rank))))

    def laid(self, shape, dtype, **options):
        """An input of this shape: mostly dense, else a transposed one or a slice with a step or of longer rows."""
        kind = self.random()
        if kind < 0.7 or len(shape) < 2:
            return Input(shape, dtype, **options), ""
        if kind < 0.8:
            stored = (*shape[:-2], shape[-1], shape[-2])
            return Input(stored, dtype, lambda x: x.swapaxes(-1, -2), **options), " transposed"
        if kind < 0.9:
            return Input((*shape[:-1], 2 * shape[-1]), dtype, lambda x: x[..., ::2], **options), " stepped"
        return Input((*shape[:-1], shape[-1] + 5), dtype, lambda x: x[..., 3:-2], **options), " sliced"


def text(shape):
    return "x".join(map(str, shape))


ONE = {  # our name: PyTorch's
    "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "sqrt": "sqrt", "rsqrt": "rsqrt", "erf": "erf", "sigmoid": "sigmoid",
    "log1p": "log1p", "expm1": "expm1", "atan": "atan", "asin": "asin", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "exp2": "exp2", "log2": "log2",
    "log10": "log10", "reciprocal": "reciprocal", "abs": "abs", "neg": "neg", "square": "square", "floor": "floor", "round": "round", "sign": "sign",
    "isnan": "isnan", "isfinite": "isfinite", "logical_not": "logical_not", "relu": "relu", "trunc": "trunc", "acos": "acos", "atanh": "atanh"}
POSITIVE = ("log", "sqrt", "rsqrt", "log2", "log10")


def one(d):
    name, dtype, shape = d.choice(list(ONE)), d.choice(("f32", "f32", "bf16", "f16", "f64")), d.shape()
    x, layout = d.laid(shape, dtype, shift=1.1 if name in POSITIVE else 0)
    return Cell(f"{name} {text(shape)} {dtype}{layout}", [x], lambda t, x: getattr(t, ONE[name])(x), lambda o, x: getattr(o, name)(x))


def activation(d):
    name, dtype, shape = d.choice(("silu", "gelu", "softplus", "leaky_relu", "elu", "gelu_tanh")), d.floats(), d.shape()
    x, layout = d.laid(shape, dtype)
    options = {"approximate": "tanh"} if name == "gelu_tanh" else {}
    return Cell(f"{name} {text(shape)} {dtype}{layout}", [x], lambda t, x: getattr(t.nn.functional, name.removesuffix("_tanh"))(x, **options),
                lambda o, x: getattr(o, name)(x))


TWO = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "maximum", "atan2": "atan2", "hypot": "hypot", "pow": "pow", "fmod": "fmod",
       "mod": "remainder", "lt": "lt", "eq": "eq", "logaddexp": "logaddexp", "copysign": "copysign", "logical_and": "logical_and", "xlogy": "xlogy",
       "floor_div": "floor_divide", "fmin": "fmin"}
WHOLE = ("add", "sub", "mul", "maximum", "lt", "eq", "mod", "floor_div", "logical_and")


def two(d):
    name = d.choice(list(TWO))
    dtype = d.choice(("f32", "bf16", "f16", "f64", "i32", "i64") if name in WHOLE else ("f32", "bf16", "f16"))
    if name == "hypot" and dtype == "f16":
        dtype = "f32"  # PyTorch has none
    shape = d.shape(d.randint(1, 4))
    other = tuple(1 if d.random() < 0.35 else n for n in shape)
    a, layout = d.laid(shape, dtype, shift=1.5 if name in ("pow", "xlogy") else 0)
    b = Input(other, dtype, least=1, shift=1.5 if name in ("div", "fmod", "mod", "floor_div", "xlogy") else 0)
    return Cell(f"{name} {text(shape)} by {text(other)} {dtype}{layout}", [a, b], lambda t, a, b: getattr(t, TWO[name])(a, b),
                lambda o, a, b: getattr(o, name)(a, b))


def chain(d):
    dtype, shape = d.floats(), d.shape(d.randint(2, 4))
    other, third = (tuple(1 if d.random() < 0.4 else n for n in shape) for _ in range(2))
    x, layout = d.laid(shape, dtype)
    which = d.randint(0, 4)
    title = ("gelu(x * w + b)", "(x - m) * rsqrt(v + 1) + x", "where(x > w, x * w, b)", "tanh(x + b) * sigmoid(w)", "x * w, cast to f32")[which]

    def theirs(t, x, w, b):
        return (lambda: t.nn.functional.gelu(x * w + b), lambda: (x - w) * t.rsqrt(b * b + 1) + x, lambda: t.where(x > w, x * w, b),
                lambda: t.tanh(x + b) * t.sigmoid(w), lambda: (x * w).float() + b.float())[which]()

    def ours(o, x, w, b):
        return (lambda: o.gelu(x * w + b), lambda: (x - w) * o.rsqrt(b * b + 1) + x, lambda: o.where(x > w, x * w, b),
                lambda: o.tanh(x + b) * o.sigmoid(w), lambda: o.cast(x * w, "float32") + o.cast(b, "float32"))[which]()

    return Cell(f"{title} {text(shape)}, {text(other)}, {text(third)} {dtype}{layout}", [x, Input(other, dtype), Input(third, dtype)], theirs, ours)


def cast(d):
    names = ("f32", "bf16", "f16", "f64", "i64", "i32", "i8", "u8", "bool")
    source, to = d.sample(names, 2)
    shape = d.shape()
    x, layout = d.laid(shape, source, least=0, limit=100, shift=1 if source[0] != "b" else 0, scale=1)
    return Cell(f"cast {source} to {to} {text(shape)}{layout}", [x], lambda t, x: x.to(getattr(t, TORCH_DTYPES[to])), lambda o, x: o.cast(x, TORCH_DTYPES[to]))


def reduce(d):
    name = d.choice(("sum", "mean", "max", "min", "var", "std", "norm", "logsumexp", "any", "all", "argmax", "argmin", "prod", "sum", "mean", "max"))
    dtype = d.choice({"any": ("bool", "f32"), "all": ("bool",), "sum": ("f32", "bf16", "f16", "i32", "i64", "f64"), "max": ("f32", "bf16", "i32", "u8", "i64"),
                      "argmax": ("f32", "bf16", "i32", "f16"), "argmin": ("f32", "i64")}.get(name, FLOATS))
    shape = d.shape(d.randint(1, 4), d.count(1e4))
    axes = d.some_axes(len(shape))
    if name in ("argmax", "argmin", "prod"):
        axes = axes[:1]
    if name == "any" or name == "all":
        axes = axes[:1]
    x, layout = d.laid(shape, dtype, **({"scale": 0.01, "shift": 1} if name == "prod" else {}))
    more = {"norm": (2.0,)}.get(name, ())

    def theirs(t, x):
        if name in ("argmax", "argmin", "prod", "any", "all"):
            return getattr(t, name)(x, axes[0])
        if name in ("max", "min"):
            return getattr(t, "a" + name)(x, axes)
        if name == "norm":
            return t.linalg.vector_norm(x, 2, axes)
        if name == "sum":
            return t.sum(x, axes, dtype=x.dtype)
        return getattr(t, name)(x, axes, **({"unbiased": True} if name in ("var", "std") else {}))

    return Cell(f"{name} axes {axes} {text(shape)} {dtype}{layout}", [x], theirs,
                lambda o, x: getattr(o, name)(x, *more, axes, **({"correction": 1.0} if name in ("var", "std") else {})),
                compares=name not in ("argmax", "argmin", "prod"))


def running(d):
    name = d.choice(("cumsum", "cumsum", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"))
    dtype = d.choice({"cumsum": ("f32", "bf16", "f16", "i32", "i64", "f64"), "cummax": ("f32", "bf16", "i64"), "logcumsumexp": ("f32",)}.get(name, ("f32",)))
    shape = d.shape(d.randint(1, 3), d.count(1e4, 6e7))
    axis = d.randrange(len(shape))
    x, layout = d.laid(shape, dtype, **({"scale": 0.01, "shift": 1} if name == "cumprod" else {"least": -5, "limit": 5}))

    def theirs(t, x):
        return t.cumsum(x, axis, dtype=x.dtype) if name == "cumsum" else tuple(getattr(t, name)(x, axis)) if name[:4] == "cumm" else getattr(t, name)(x, axis)

    return Cell(f"{name} axis {axis} {text(shape)} {dtype}{layout}", [x], theirs, lambda o, x: getattr(o, name)(x, axis), compares=name == "cumsum" and dtype in ("f32", "f64", "i32", "i64"))


def order(d):
    name = d.choice(("sort", "argsort", "topk", "median", "quantile", "unique", "sort", "topk", "mode"))
    count = d.count(1e4, {"quantile": 1.5e7, "mode": 1e6}.get(name, 3e7))
    dtype = d.choice(("f32",) if name in ("quantile", "median") else ("i32", "i64") if name in ("unique", "mode") else ("f32", "bf16", "i32", "i64", "f16", "u8", "f64"))
    if name == "unique":
        n = round(count)
        return Cell(f"unique {n} {dtype}", [Input((n,), dtype, least=0, limit=d.choice((100, 100_000, 10**9)))],
                    lambda t, x: t.unique(x, return_inverse=True, return_counts=True), lambda o, x: o.unique(x), compares=False)
    shape = d.rows(count=count)
    axis = d.choice((0, 1, 1))
    k = min(shape[axis], d.choice((1, 5, 8, 50, 100, 500)))
    x, layout = d.laid(shape, dtype, least=-10**6, limit=10**6)
    calls = {
        "sort": (lambda t, x: t.sort(x, dim=axis, stable=True)[0], lambda o, x: o.sort(x, axis)),
        "argsort": (lambda t, x: t.sort(x, dim=axis, stable=True)[1], lambda o, x: o.argsort(x, axis)),
        "topk": (lambda t, x: tuple(t.topk(x, k, axis)), lambda o, x: o.topk(x, k, axis, True)),
        "median": (lambda t, x: t.median(x, axis)[0], lambda o, x: o.median(x, axis)),
        "quantile": (lambda t, x: t.quantile(x, 0.3, axis), lambda o, x: o.quantile(x, 0.3, axis)),
        "mode": (lambda t, x: t.mode(x, axis)[0], lambda o, x: o.mode(x, axis))}
    return Cell(f"{name}{f' {k}' if name == 'topk' else ''} axis {axis} {text(shape)} {dtype}{layout}", [x], *calls[name], compares=name in ("sort", "argsort", "median"))


def find(d):
    name = d.choice(("nonzero", "masked_select", "histogram", "bincount", "searchsorted", "bucketize", "where", "masked_fill", "one_hot", "isclose", "clip"))
    n = round(d.count(1e4, 5e7))
    dtype = d.choice(("f32", "i32"))
    many = round(math.exp(d.uniform(math.log(8), math.log(1e5))))
    x = Input((n,), dtype)
    calls = {
        "nonzero": ([Input((n,), "bool")], lambda t, x: t.nonzero(x), lambda o, x: o.nonzero(x)),
        "masked_select": ([x, Input((n,), "bool")], lambda t, x, m: t.masked_select(x, m), lambda o, x, m: o.masked_select(x, m)),
        "histogram": ([Input((n,), "f32")], lambda t, x: t.histc(x, many, -1, 1), lambda o, x: o.histogram(x, many, -1, 1)),
        "bincount": ([Input((n,), "i32", least=0, limit=many)], lambda t, x: t.bincount(x, minlength=many), lambda o, x: o.bincount(x, length=many)),
        "searchsorted": ([Input((many,), "f32", ascending=True), Input((n,), "f32")], lambda t, s, x: t.searchsorted(s, x, out_int32=True), lambda o, s, x: o.searchsorted(s, x)),
        "bucketize": ([Input((n,), "f32"), Input((many,), "f32", ascending=True)], lambda t, x, s: t.bucketize(x, s, out_int32=True), lambda o, x, s: o.bucketize(x, s)),
        "where": ([Input((n,), "bool"), x, x], lambda t, c, a, b: t.where(c, a, b), lambda o, c, a, b: o.where(c, a, b)),
        "masked_fill": ([x, Input((n,), "bool")], lambda t, x, m: x.masked_fill(m, 1), lambda o, x, m: o.masked_fill(x, m, 1)),
        "one_hot": ([Input((max(1, n // min(many, 2000)),), "i64", least=0, limit=min(many, 2000))],
                    lambda t, x: t.nn.functional.one_hot(x, min(many, 2000)), lambda o, x: o.one_hot(x, min(many, 2000), "int64")),
        "isclose": ([Input((n,), "f32"), Input((n,), "f32")], lambda t, a, b: t.isclose(a, b), lambda o, a, b: o.isclose(a, b)),
        "clip": ([Input((n,), "f32"), Input((n,), "f32"), Input((n,), "f32")], lambda t, x, a, b: t.clamp(x, a, b), lambda o, x, a, b: o.clip(x, a, b))}
    inputs, theirs, ours = calls[name]
    has_many = name in ("histogram", "bincount", "searchsorted", "bucketize", "one_hot")
    return Cell(f"{name} {n}{f' of {many}' if has_many else ''} {inputs[0].dtype}", inputs, theirs, ours, compares=name not in ("histogram", "isclose"))


def index(d):
    name = d.choice(("gather", "index_select", "embedding", "scatter_add", "scatter", "take", "index_add", "scatter_max", "embedding_bag", "put"))
    dtype = d.choice(("f32", "bf16", "f16", "i64") if name in ("gather", "index_select", "embedding", "scatter", "take") else ("f32", "bf16"))
    table = d.rows(1, 5000, d.count(1e4, 4e7))
    picks = d.size(d.count(100, 3e6))
    while picks * table[1] > 6e7:
        picks = max(1, picks // 4)
    i64 = lambda shape, limit: Input(shape, "i64", least=0, limit=max(1, limit))
    axis = d.choice((0, 1))
    x = Input(table, dtype)
    rows = (picks, table[1]) if axis == 0 else (table[0], max(1, min(table[1] * 2, picks)))
    list_of = (picks, table[1]) if axis == 0 else (table[0], min(picks, 4 * table[1]))
    bags = max(1, picks // 10)
    calls = {
        "gather": ([x, i64(rows, table[axis])], lambda t, x, i: t.gather(x, axis, i), lambda o, x, i: o.gather(x, axis, i)),
        "index_select": ([x, i64((list_of[axis],), table[axis])], lambda t, x, i: t.index_select(x, axis, i), lambda o, x, i: o.index_select(x, axis, i)),
        "embedding": ([x, i64((picks,), table[0])], lambda t, x, i: t.nn.functional.embedding(i, x), lambda o, x, i: o.embedding(x, i)),
        "take": ([x, i64((picks,), math.prod(table))], lambda t, x, i: t.take(x, i), lambda o, x, i: o.take(x, i)),
        "scatter": ([x, i64(rows, table[axis]), Input(rows, dtype)], lambda t, x, i, s: t.scatter(x, axis, i, s), lambda o, x, i, s: o.scatter(x, axis, i, s)),
        "scatter_add": ([x, i64(rows, table[axis]), Input(rows, dtype)], lambda t, x, i, s: t.scatter_add(x, axis, i, s),
                        lambda o, x, i, s: o.scatter_add(x, axis, i, s)),
        "scatter_max": ([x, i64(rows, table[axis]), Input(rows, dtype)], lambda t, x, i, s: t.scatter_reduce(x, axis, i, s, "amax"),
                        lambda o, x, i, s: o.scatter_max(x, axis, i, s)),
        "index_add": ([x, i64((picks,), table[0]), Input((picks, table[1]), dtype)], lambda t, x, i, s: t.index_add(x, 0, i, s),
                      lambda o, x, i, s: o.scatter_add(x, 0, o.expand(o.reshape(i, (picks, 1)), (picks, table[1])), s)),
        "embedding_bag": ([Input(table, "f32"), i64((bags, 10), table[0])], lambda t, x, i: t.nn.functional.embedding_bag(i, x, mode="sum"),
                          lambda o, x, i: o.embedding_bag(x, i, mode="sum")),
        "put": ([x, i64((picks,), math.prod(table)), Input((picks,), dtype)], lambda t, x, i, s: t.put(x, i, s), lambda o, x, i, s: o.put(x, i, s))}
    inputs, theirs, ours = calls[name]
    where = f" axis {axis}" if name in ("gather", "index_select", "scatter", "scatter_add", "scatter_max") else ""
    return Cell(f"{name}{where} {text(table)}, {text(inputs[1].shape)} {inputs[0].dtype}", inputs, theirs, ours, compares=name not in ("scatter", "put") and dtype in ("f32", "i64"))


def join(d):
    name, dtype = d.choice(("concat", "stack", "pad", "roll", "repeat", "tile", "tril", "diag", "kron", "meshgrid")), d.choice(("f32", "bf16", "i64", "u8", "f16"))
    shape = d.shape(d.randint(1, 4), d.count(1e4, 3e7))
    axis, k = d.randrange(len(shape)), d.randint(2, 9)
    parts = max(2, min(k, round(6e7 / math.prod(shape))))
    square = d.shape(2, d.count(1e4, 4e7))
    if name in ("concat", "stack"):
        shape = tuple(max(1, n // parts) if i == axis else n for i, n in enumerate(shape))
        call = lambda lib, *x: (lib.cat if hasattr(lib, "cat") else lib.concat)(x, axis) if name == "concat" else lib.stack(x, axis)
        return Cell(f"{name} {parts} axis {axis} {text(shape)} {dtype}", [Input(shape, dtype, least=0, limit=100)] * parts, call, call)
    widths = [d.randint(0, 3) for _ in shape]
    flat = [w for width in reversed(widths) for w in (width, width)]
    times = tuple(d.randint(1, 2) for _ in shape)
    calls = {
        "pad": ([Input(shape, dtype, least=0, limit=100)], lambda t, x: t.nn.functional.pad(x, flat), lambda o, x: o.pad(x, widths, widths, 0)),
        "roll": ([Input(shape, dtype, least=0, limit=100)], lambda t, x: t.roll(x, 3, axis), lambda o, x: o.roll(x, 3, axis)),
        "repeat": ([Input(shape, dtype, least=0, limit=100)], lambda t, x: t.repeat_interleave(x, 2, axis), lambda o, x: o.repeat(x, 2, axis)),
        "tile": ([Input(shape, dtype, least=0, limit=100)], lambda t, x: t.tile(x, times), lambda o, x: o.tile(x, times)),
        "tril": ([Input(square, dtype, least=0, limit=100)], lambda t, x: t.tril(x), lambda o, x: o.tril(x)),
        "diag": ([Input((square[0] % 4000 + 1,), dtype, least=0, limit=100)], lambda t, x: t.diag(x), lambda o, x: o.diag(x)),
        "kron": ([Input((33, 7), "f32"), Input((d.randint(5, 300), d.randint(5, 300)), "f32")], lambda t, a, b: t.kron(a, b), lambda o, a, b: o.kron(a, b)),
        "meshgrid": ([Input((d.randint(10, 3000),), "f32"), Input((d.randint(10, 3000),), "f32")],
                     lambda t, a, b: tuple(x.contiguous() for x in t.meshgrid(a, b, indexing="ij")), lambda o, a, b: tuple(o.contiguous(x) for x in o.meshgrid([a, b], False)))}
    inputs, theirs, ours = calls[name]
    detail = {"pad": f" by {widths}", "roll": f" axis {axis}", "repeat": f" axis {axis}", "tile": f" {text(times)}"}.get(name, "")
    return Cell(f"{name}{detail} {', '.join(text(i.shape) for i in inputs)} {inputs[0].dtype}", inputs, theirs, ours)


def permute(d):
    dtype, shape = d.choice(("f32", "bf16", "i64", "u8", "f64")), d.shape(d.randint(2, 5), d.count(1e4, 6e7))
    axes = list(range(len(shape)))
    while axes == sorted(axes):
        d.shuffle(axes)
    if d.random() < 0.2:
        axis = d.randrange(len(shape))
        return Cell(f"flip axis {axis} {text(shape)} {dtype}", [Input(shape, dtype)], lambda t, x: t.flip(x, (axis,)), lambda o, x: o.contiguous(o.flip(x, axis)))
    return Cell(f"permute {axes} {text(shape)} {dtype}", [Input(shape, dtype)], lambda t, x: x.permute(axes).contiguous(),
                lambda o, x: o.contiguous(o.permute(x, axes)))


def softmax(d):
    name, dtype, shape = d.choice(("softmax", "softmax", "log_softmax")), d.floats(), d.shape(d.randint(1, 4))
    axis = d.choice((d.randrange(len(shape)), len(shape) - 1))
    x, layout = d.laid(shape, dtype)
    return Cell(f"{name} axis {axis} {text(shape)} {dtype}{layout}", [x], lambda t, x: getattr(t, name)(x, axis), lambda o, x: getattr(o, name)(x, axis))


def norm(d):
    name, dtype = d.choice(("layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm", "batch_norm_train", "add_rms_norm", "local_response_norm")), d.floats()
    f = lambda t: t.nn.functional
    if name in ("layer_norm", "rms_norm", "add_rms_norm"):
        shape = d.rows(8, 20000)
        x, layout = d.laid(shape, dtype)
        w = Input((shape[1],), dtype)
        if name == "layer_norm":
            return Cell(f"layer_norm {text(shape)} {dtype}{layout}", [x, w, w], lambda t, x, w, b: f(t).layer_norm(x, shape[1:], w, b), lambda o, x, w, b: o.layer_norm(x, w, b, 1e-5))
        if name == "rms_norm":
            return Cell(f"rms_norm {text(shape)} {dtype}{layout}", [x, w], lambda t, x, w: f(t).rms_norm(x, shape[1:], w, 1e-5), lambda o, x, w: o.rms_norm(x, w, 1e-5))

        def both(t, x, r, w):
            s = x + r
            return s, f(t).rms_norm(s, shape[1:], w, 1e-5)

        return Cell(f"add_rms_norm {text(shape)} {dtype}{layout}", [x, Input(shape, dtype), w], both, lambda o, x, r, w: o.add_rms_norm(x, r, w, 1e-5))
    channels = d.choice((8, 16, 32, 48, 64, 96, 128, 256, 512))
    side = d.choice((7, 14, 28, 31, 56, 64, 112))
    batch = max(1, min(64, round(d.count(1e5, 5e7) / channels / side**2)))
    shape = (batch, channels, side, side)
    x, w = Input(shape, dtype), Input((channels,), dtype if name != "batch_norm_train" else "f32")
    s, p = Input((channels,), w.dtype, shift=1.5), d.choice((4, 8))
    calls = {
        "group_norm": ([x, w, w], lambda t, x, w, b: f(t).group_norm(x, p, w, b), lambda o, x, w, b: o.group_norm(x, p, w, b, 1e-5)),
        "instance_norm": ([x, w, w], lambda t, x, w, b: f(t).instance_norm(x, weight=w, bias=b), lambda o, x, w, b: o.instance_norm(x, w, b, 1e-5)),
        "batch_norm": ([x, w, s, w, w], lambda t, x, m, v, w, b: f(t).batch_norm(x, m, v, w, b), lambda o, x, m, v, w, b: o.batch_norm(x, m, v, w, b, 1e-5)),
        "batch_norm_train": ([x, w, w], lambda t, x, w, b: f(t).batch_norm(x, None, None, w, b, True), lambda o, x, w, b: o.batch_norm_train(x, None, None, w, b, 0.1)),
        "local_response_norm": ([x], lambda t, x: f(t).local_response_norm(x, 5), lambda o, x: o.local_response_norm(x, 5, 1e-4, 0.75, 1.0))}
    return Cell(f"{name} {text(shape)} {dtype}", *calls[name])


def loss(d):
    name, dtype = d.choice(("cross_entropy", "mse_loss", "bce_with_logits_loss", "huber_loss", "l1_loss", "nll_loss", "kl_div_loss")), d.floats()
    shape = d.rows(2, 50000, d.count(1e4, 8e7))
    x = Input(shape, dtype)
    f = lambda t: t.nn.functional
    if name in ("cross_entropy", "nll_loss"):
        return Cell(f"{name} {text(shape)} {dtype}", [x, Input(shape[:1], "i64", least=0, limit=shape[1])], lambda t, x, y: getattr(f(t), name)(x, y),
                    lambda o, x, y: getattr(o, name)(x, y))
    theirs = {"bce_with_logits_loss": "binary_cross_entropy_with_logits", "kl_div_loss": "kl_div"}.get(name, name)
    return Cell(f"{name} {text(shape)} {dtype}", [x, Input(shape, dtype, scale=0.4, shift=0.5)], lambda t, x, y: getattr(f(t), theirs)(x, y), lambda o, x, y: getattr(o, name)(x, y))


def conv_shape(d, axes):
    side = {1: d.choice((100, 512, 1000, 4096)), 2: d.choice((7, 14, 28, 31, 56, 64, 112, 128)), 3: d.choice((8, 14, 16, 28))}[axes]
    channels, k = d.choice((3, 16, 24, 32, 48, 64, 96, 128, 256)), d.choice((8, 16, 32, 48, 64, 100, 128, 256))
    size, stride = d.choice((1, 3, 3, 3, 5, 7) if axes < 3 else (1, 3)), d.choice((1, 1, 1, 2))
    per = channels * side**axes
    batch = max(1, min(64, round(d.count(2e5, 2e7) / per)))
    while batch > 1 and batch * k * channels * size**axes * side**axes > 1.5e10:
        batch //= 2
    return batch, channels, (side,) * axes, k, size, stride


def conv(d):
    axes, dtype = d.choice((1, 2, 2, 2, 2, 3)), d.floats()
    batch, channels, sides, k, size, stride = conv_shape(d, axes)
    depthwise, transposed, tf32 = d.random() < 0.2 and channels > 3, d.random() < 0.15, dtype == "f32" and d.random() < 0.5
    dilation = d.choice((1, 1, 1, 2)) if size > 1 else 1
    groups = channels if depthwise else d.choice((1, 1, 1, 1, 2, 4)) if channels % 4 == 0 and k % 4 == 0 else 1
    k = channels if depthwise else k
    pad = dilation * (size // 2)
    has_bias = d.random() < 0.4
    x, b = Input((batch, channels, *sides), dtype), [Input((k,), dtype)] if has_bias else []
    title = f"{text(x.shape)} to {k} kernel {size} stride {stride} dilation {dilation} groups {groups}{' bias' if has_bias else ''} {'tf32' if tf32 else dtype}"
    if transposed:
        w = Input((channels, k // groups) + (size,) * axes, dtype)
        return Cell(f"conv_transpose{axes}d {title}", [x, w, *b],
                    lambda t, x, w, b=None: getattr(t.nn.functional, f"conv_transpose{axes}d")(x, w, b, stride=stride, padding=pad, groups=groups, dilation=dilation),
                    lambda o, x, w, b=None: o.conv_transpose(x, w, b, stride=stride, padding=pad, groups=groups, dilation=dilation), tf32=tf32)
    w = Input((k, channels // groups) + (size,) * axes, dtype)
    return Cell(f"conv{axes}d {title}", [x, w, *b],
                lambda t, x, w, b=None: getattr(t.nn.functional, f"conv{axes}d")(x, w, b, stride=stride, padding=pad, groups=groups, dilation=dilation),
                lambda o, x, w, b=None: o.conv(x, w, b, stride=stride, padding=pad, groups=groups, dilation=dilation), tf32=tf32)


def pool(d):
    axes, dtype, name = d.choice((1, 2, 2, 2, 3)), d.floats(), d.choice(("max_pool", "avg_pool"))
    batch, channels, sides, _, _, _ = conv_shape(d, axes)
    size, stride = d.choice((2, 3, 3, 5)), d.choice((1, 2, 2))
    pad = d.choice((0, size // 2))
    return Cell(f"{name}{axes}d {text((batch, channels, *sides))} size {size} stride {stride} padding {pad} {dtype}", [Input((batch, channels, *sides), dtype)],
                lambda t, x: getattr(t.nn.functional, f"{name}{axes}d")(x, size, stride, pad),
                lambda o, x: getattr(o, name)(x, size=(size,) * axes, stride=(stride,) * axes, padding=(pad,) * axes, **({"counts_padding": True} if name == "avg_pool" else {})))


def image(d):
    name, dtype = d.choice(("resize", "grid_sample", "im2col", "col2im", "pixel_shuffle", "affine_grid")), d.choice(("f32", "f16", "bf16"))
    side, channels = d.choice((16, 32, 60, 64, 128, 224, 256)), d.choice((1, 3, 4, 16, 32, 64))
    batch = max(1, min(64, round(d.count(1e5, 2e7) / channels / side**2)))
    shape = (batch, channels, side, side)
    x, f = Input(shape, dtype), lambda t: t.nn.functional
    to, mode = d.randint(side // 2, 2 * side), d.choice(("nearest", "bilinear", "bicubic"))
    calls = {
        "resize": ([x], lambda t, x: f(t).interpolate(x, (to, to), mode=mode),
                   lambda o, x: o.resize(x, (to, to), mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
                                         **({"coordinates": "asymmetric", "rounding": "floor"} if mode == "nearest" else {}))),
        "grid_sample": ([Input(shape, "f32"), Input((batch, to, to, 2), "f32")], lambda t, x, g: f(t).grid_sample(x, g, align_corners=False),
                        lambda o, x, g: o.grid_sample(x, g)),
        "im2col": ([x], lambda t, x: f(t).unfold(x, (3, 3), padding=1), lambda o, x: o.im2col(x, (3, 3), padding=(1, 1))),
        "col2im": ([Input((batch, channels * 9, side * side), dtype)], lambda t, x: f(t).fold(x, (side, side), (3, 3), padding=1),
                   lambda o, x: o.col2im(x, (side, side), (3, 3), padding=(1, 1))),
        "pixel_shuffle": ([Input((batch, channels * 4, side, side), dtype)], lambda t, x: f(t).pixel_shuffle(x, 2), lambda o, x: o.pixel_shuffle(x, 2)),
        "affine_grid": ([Input((batch, 2, 3), "f32")], lambda t, x: f(t).affine_grid(x, shape, align_corners=False), lambda o, x: o.affine_grid(x, shape, False))}
    detail = f" {mode} to {to}" if name == "resize" else f" at {to}x{to}" if name == "grid_sample" else ""
    inputs, theirs, ours = calls[name]
    return Cell(f"{name}{detail} {text(inputs[0].shape)} {inputs[0].dtype}", inputs, theirs, ours)


def attention(d):
    dtype, size = d.choice(("bf16", "f16", "f16", "f32")), d.choice((32, 40, 64, 64, 80, 96, 128, 128, 256))
    heads, shared, batch = d.choice((4, 8, 12, 16, 32)), d.choice((1, 1, 4)), d.choice((1, 2, 4, 8))
    queries, keys = d.choice((1, 1, d.randint(2, 64), d.randint(64, 1000), 512, 1024)), d.choice((77, 512, 1024, 2048, d.randint(50, 3000)))
    causal, masked = False, d.random() < 0.2
    if d.random() < 0.4 and queries > 1:
        keys, causal, masked = queries, True, False
    while batch > 1 and batch * heads * queries * keys * size > 3e10:
        batch //= 2
    kv = Input((batch, heads // shared, keys, size), dtype)
    inputs = [Input((batch, heads, queries, size), dtype), kv, kv] + ([Input((batch, 1, queries, keys), dtype)] if masked else [])
    gqa = {"enable_gqa": True} if shared > 1 else {}
    return Cell(f"attention {batch}x{heads}/{heads // shared} {queries} of {keys} x{size}{' causal' if causal else ''}{' mask' if masked else ''} {dtype}", inputs,
                lambda t, q, k, v, m=None: t.nn.functional.scaled_dot_product_attention(q, k, v, m, is_causal=causal, **gqa),
                lambda o, q, k, v, m=None: o.attention(q, k, v, m, causal=causal))


def product(d):
    dtype = d.choice(("f32", "f32", "bf16", "bf16", "f16", "f64"))
    tf32 = dtype == "f32" and d.random() < 0.4
    pick = lambda least, most: d.size(math.exp(d.uniform(math.log(least), math.log(most))))
    m, n, k = pick(1, 8192), pick(1, 8192), pick(1, 8192)
    if d.random() < 0.25:
        m = d.choice((1, 1, 2, 4, 8, 17, 32))
    batch = d.choice((1, 1, 1, pick(2, 256)))
    while m * n * k * batch > (2e10 if dtype == "f64" else 1e11) or batch * (m * k + n * k + m * n) > 1.5e8:
        m, n, k, batch = max(1, m // 2), max(1, n * 3 // 4), max(1, k * 3 // 4), max(1, batch // 2)
    ways = d.choice(("nn", "nn", "nt", "tn", "tt"))
    lead = (batch,) if batch > 1 else ()
    flip = lambda x: x.swapaxes(-1, -2)
    a = Input(lead + ((m, k) if ways[0] == "n" else (k, m)), dtype, None if ways[0] == "n" else flip)
    b_lead = lead if d.random() < 0.7 else ()
    b = Input(b_lead + ((k, n) if ways[1] == "n" else (n, k)), dtype, None if ways[1] == "n" else flip)
    name = f"matmul {batch}x{m}x{n}x{k} {ways}{' one b' if lead and not b_lead else ''} {'tf32' if tf32 else dtype}"
    return Cell(name, [a, b], lambda t, a, b: a @ b, lambda o, a, b: o.matmul(a, b), tf32=tf32)


def layer(d):
    dtype = d.choice(("f32", "bf16", "f16"))
    tf32 = dtype == "f32" and d.random() < 0.5
    pick = lambda least, most: d.size(math.exp(d.uniform(math.log(least), math.log(most))))
    m, n, k = d.choice((pick(1, 64), pick(64, 16384))), pick(32, 12000), pick(32, 12000)
    while m * n * k > 1e11:
        m = max(1, m // 2)
    act = d.choice(("none", "relu", "gelu", "silu"))
    residual = d.random() < 0.3

    def theirs(t, x, w, b, r=None):
        y = t.nn.functional.linear(x, w, b)
        y = y if act == "none" else getattr(t.nn.functional, act)(y)
        return y if r is None else y + r

    def ours(o, x, w, b, r=None):
        return o.linear(x, w, b, **({} if act == "none" else {"activation": act}), **({} if r is None else {"residual": r}))

    inputs = [Input((m, k), dtype), Input((n, k), dtype), Input((n,), dtype)] + ([Input((m, n), dtype)] if residual else [])
    return Cell(f"linear {m}x{k}x{n} {act}{' residual' if residual else ''} {'tf32' if tf32 else dtype}", inputs, theirs, ours, tf32=tf32)


def contract(d):
    dtype, which = d.choice(("f32", "bf16")), d.randint(0, 4)
    a, b, c, e = (d.randint(3, 200) for _ in range(4))
    equation, shapes = (("bhqd,bhkd->bhqk", [(a % 9 + 1, 8, b, 64), (a % 9 + 1, 8, c, 64)]), ("bij,bjk->bik", [(a, b, c), (a, c, e)]),
                        ("ij,kj->ik", [(a * 9, b * 7), (c * 5, b * 7)]), ("bij,bij->b", [(a, b, c), (a, b, c)]), ("ijk,kl->ijl", [(a, b, c), (c, e)]))[which]
    return Cell(f"einsum {equation} {', '.join(map(text, shapes))} {dtype}", [Input(s, dtype) for s in shapes], lambda t, a, b: t.einsum(equation, a, b),
                lambda o, a, b: o.einsum(equation, [a, b]))


def distance(d):
    n, m, k = d.randint(20, 4000), d.randint(20, 4000), d.choice((2, 3, 8, 64, 200))
    return Cell(f"cdist {n}x{m}x{k} f32", [Input((n, k)), Input((m, k))], lambda t, a, b: t.cdist(a, b), lambda o, a, b: o.cdist(a, b))


def noise(d):
    name, dtype, n = d.choice(("rand", "randn", "randint", "bernoulli", "permutation", "dropout", "multinomial", "rand_exponential")), d.choice(FLOATS), round(d.count(1e4, 2e8))
    kind = lambda t: getattr(t, TORCH_DTYPES[dtype])
    w, small = d.where, min(n, 20_000_000)
    calls = {
        "rand": (n, [], lambda t: t.rand(n, device=w, dtype=kind(t)), lambda o: o.rand((n,), 1, TORCH_DTYPES[dtype])),
        "randn": (n, [], lambda t: t.randn(n, device=w, dtype=kind(t)), lambda o: o.randn((n,), 1, TORCH_DTYPES[dtype])),
        "randint": (n, [], lambda t: t.randint(0, 1000, (n,), device=w), lambda o: o.randint((n,), 0, 1000, 1, "int64")),
        "bernoulli": (n, [], lambda t: t.empty(n, device=w, dtype=kind(t)).bernoulli_(0.3), lambda o: o.bernoulli((n,), 0.3, 1, TORCH_DTYPES[dtype])),
        "permutation": (small, [], lambda t: t.randperm(small, device=w), lambda o: o.permutation(small, 1)),
        "dropout": (n, [Input((n,), dtype)], lambda t, x: t.nn.functional.dropout(x, 0.3), lambda o, x: o.dropout(x, 0.3, 1)),
        "multinomial": (small // 100, [Input((max(1, small // 10000), 1000), "f32", scale=0.4, shift=0.5)], lambda t, x: t.multinomial(x, 10, True),
                        lambda o, x: o.multinomial(x, 10, True, 1)),
        "rand_exponential": (n, [], lambda t: t.empty(n, device=w, dtype=kind(t)).exponential_(), lambda o: o.rand_exponential((n,), 1.0, 1, TORCH_DTYPES[dtype]))}
    count, inputs, theirs, ours = calls[name]
    return Cell(f"{name} {count} {dtype}", inputs, theirs, ours, compares=False)


def fourier(d):
    n = d.choice((16, 64, 100, 128, 243, 256, 400, 512, 1000, 1024, 2048, 4096, 5000, 8192, 10000, 16384, 65536, 10**5, 262144, d.randint(20, 5000)))
    rows = max(1, round(d.count(1e5, 1e7) / n))
    name = d.choice(("fft", "rfft", "ifft", "irfft"))
    pair = lambda t, x: t.view_as_complex(x)
    real = lambda t, x: t.view_as_real(x)
    calls = {
        "fft": (Input((rows, n, 2)), lambda t, x: real(t, t.fft.fft(pair(t, x))), lambda o, x: o.fft(x, (1,))),
        "ifft": (Input((rows, n, 2)), lambda t, x: real(t, t.fft.ifft(pair(t, x))), lambda o, x: o.ifft(x, (1,))),
        "rfft": (Input((rows, n)), lambda t, x: real(t, t.fft.rfft(x)), lambda o, x: o.rfft(x, (1,))),
        "irfft": (Input((rows, n // 2 + 1, 2)), lambda t, x: t.fft.irfft(pair(t, x), n), lambda o, x: o.irfft(x, n, (1,)))}
    x, theirs, ours = calls[name]
    # cuFFT's results depend on the imaginary part of a line's first number, which irfft has to ignore.
    return Cell(f"{name} {rows} lines of {n} f32", [x], theirs, ours, compares=name != "irfft")


def algebra(d):
    name = d.choice(("cholesky", "solve", "inverse", "qr", "det", "triangular_solve", "eigh", "svd"))
    n = d.choice((2, 3, 4, 8, 16, 32, 64, 100, 128, 256, 500) if name not in ("eigh", "svd") else (3, 4, 8, 16, 32, 64))
    batch = max(1, min(round(d.count(1e4, 1e6) / n**2), 5000))
    spd = lambda x, eye: x @ x.swapaxes(-1, -2) / n + eye
    x, b = Input((batch, n, n)), Input((batch, n, 5))
    calls = {
        "cholesky": (lambda t, x, b: t.linalg.cholesky(spd(x, t.eye(n, device=x.device))), lambda o, x, b: o.cholesky(spd(x, o.eye(n, n)))),
        "solve": (lambda t, x, b: t.linalg.solve(x, b), lambda o, x, b: o.solve(x, b)),
        "inverse": (lambda t, x, b: t.linalg.inv(x), lambda o, x, b: o.inverse(x)),
        "qr": (lambda t, x, b: tuple(t.linalg.qr(x)), lambda o, x, b: o.qr(x)),
        "det": (lambda t, x, b: t.linalg.det(x), lambda o, x, b: o.det(x)),
        "triangular_solve": (lambda t, x, b: t.linalg.solve_triangular(x, b, upper=False), lambda o, x, b: o.triangular_solve(x, b)),
        "eigh": (lambda t, x, b: t.linalg.eigh(spd(x, t.eye(n, device=x.device)))[0], lambda o, x, b: o.eigh(spd(x, o.eye(n, n)))[0]),
        "svd": (lambda t, x, b: t.linalg.svd(x)[1], lambda o, x, b: o.svd(x, True)[1])}
    return Cell(f"{name} {batch} of {n}x{n} f32", [x, b], *calls[name], compares=False)


def recurrent(d):
    name, steps, batch, size, hidden = d.choice(("lstm", "gru")), d.choice((16, 50, 128)), d.choice((1, 8, 32)), d.choice((64, 128, 256)), d.choice((64, 128, 256, 512))
    gates = 4 if name == "lstm" else 3
    w = [Input((gates * hidden, size), scale=0.1), Input((gates * hidden, hidden), scale=0.1), Input((gates * hidden,), scale=0.1), Input((gates * hidden,), scale=0.1)]

    def theirs(t, x, wi, wh, bi, bh):
        h = t.zeros(1, batch, hidden, device=x.device)
        return getattr(t._VF, name)(x, (h, h) if name == "lstm" else h, [wi, wh, bi, bh], True, 1, 0.0, False, False, False)[0]

    return Cell(f"{name} {steps}x{batch}x{size} to {hidden} f32", [Input((steps, batch, size)), *w], theirs,
                lambda o, x, wi, wh, bi, bh: getattr(o, name)(x, wi, wh, bias_input=bi, bias_hidden=bh)[0], compares=False)


def update(d):
    """A tensor is changed in place again and again."""
    dtype, shape = d.floats(), d.shape(d.randint(1, 3))
    which = d.randint(0, 2)
    title = ("x += y", "x *= 0.5", "x[1:] = y[1:]")[which]

    def change(lib, x, y):
        if which == 0:
            x += y
        elif which == 1:
            x *= 0.5
        else:
            x[1:] = y[1:]
        return x

    return Cell(f"{title} {text(shape)} {dtype}", [Input(shape, dtype), Input(shape, dtype)], change, change, compares=False)


def gradient(d):
    """An operator with its gradients by all inputs, of the sum of its result times a tensor."""
    made = d.choice((lambda: conv(d), lambda: norm(d), lambda: softmax(d), lambda: layer(d), lambda: pool(d), lambda: loss(d), lambda: attention(d),
                     lambda: product(d), lambda: reduce(d), lambda: chain(d), lambda: index(d)))()
    if made.title.split()[0] in ("argmax", "argmin", "any", "all") or made.inputs[0].dtype not in (*FLOATS, "f64"):
        return gradient(d)
    made.title, made.grad = "gradients of " + made.title, True
    return made


FAMILIES = (one, activation, two, chain, cast, reduce, reduce, running, order, find, index, index, join, permute, softmax, norm, loss, conv, conv, pool, image, attention,
            product, product, layer, contract, distance, noise, fourier, algebra, recurrent, update, gradient, gradient)


def device_of(torch, backend):
    """The device on which PyTorch runs beside this backend."""
    return "cuda" if backend != "cpu" and torch.cuda.is_available() else "cpu"


def cell(number, seed, most, where):
    """The cell of this number: families take turns."""
    return FAMILIES[number % len(FAMILIES)](Draw(f"{seed}:{number}", most, where))
