# SPDX-License-Identifier: MIT
"""The operators of the sweep: the calls of each in C, PyTorch and NumPy, for a shape of rows and columns."""
import ctypes

POINTER, INT, LONG, BOOL, DOUBLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_bool, ctypes.c_double


class Operator:
    """`name` is the C function's, `title` the row's. `inputs` makes PyTorch's tensors for a shape, or returns None if there are
    none; `arguments` returns the types and values of the C function's arguments for them."""

    def __init__(self, title, name, torch, numpy=None, inputs=None, arguments=None, results=0, is_float=False, work=None):
        self.title, self.name, self.torch, self.numpy, self.results = title, name, torch, numpy, results
        self.inputs = inputs or (lambda t, shape, make: [make(shape, 1)])
        self.arguments = arguments or (lambda tensors, shape: ([POINTER] * len(tensors), tensors))
        self.is_float = is_float  # integers are refused, or become floats
        self.work = work or (lambda shape: 0)


def one(name, numpy=None, torch=None, is_float=True):
    return Operator(name, name, torch or (lambda t, x: getattr(t, name)(x)), numpy, is_float=is_float)


def two(name, numpy=None):
    return Operator(name, name, lambda t, a, b: getattr(t, name)(a, b), numpy,
                    inputs=lambda t, shape, make: [make(shape, 1), make(shape, 2)])


def axes_of(axes):
    return (INT * len(axes))(*axes) if axes else None


def reduction(name, axes, torch, numpy=None, shape_of=None, extra=(), is_float=False):
    """A reduction over `axes` of the matrix or, with `shape_of`, of a tensor of rank 3."""
    def inputs(t, shape, make):
        if not shape_of:
            return [make(shape, 1)]
        sizes = shape_of(shape)
        return [make(shape, 1).reshape(sizes)] if sizes else None

    def arguments(tensors, shape):
        return ([POINTER, POINTER, INT, BOOL] + [kind for kind, _ in extra],
                [tensors[0], axes_of(axes), len(axes), False] + [value for _, value in extra])

    title = name + "_" + ("all" if not axes else "axes" + "".join(str(a) for a in axes) if shape_of else f"axis{axes[0]}")
    return Operator(title, name, torch, numpy, inputs, arguments, is_float=is_float)


def halves(shape):
    """A matrix with an even number of rows as a tensor of rank 3; {0, 2} are then its outer and its inner axis."""
    return (shape[0] // 2, 2, shape[1]) if shape[0] % 2 == 0 else None


def reductions():
    found = []
    for axes, dim in (((0,), 0), ((1,), 1), ((), None)):
        by = {} if dim is None else {"dim": dim}
        found += [
            reduction("sum", axes, lambda t, x, by=by: t.sum(x, **by), lambda np, x, dim=dim: x.sum(dim)),
            reduction("max", axes, lambda t, x, by=by: t.max(x) if not by else t.amax(x, **by), lambda np, x, dim=dim: x.max(dim)),
            reduction("argmax", axes, lambda t, x, by=by: t.argmax(x, **by), lambda np, x, dim=dim: x.argmax(dim)),
            reduction("mean", axes, lambda t, x, by=by: t.mean(x, **by), lambda np, x, dim=dim: x.mean(dim), is_float=True),
            reduction("var", axes, lambda t, x, dim=dim: t.var(x, unbiased=False) if dim is None else t.var(x, dim, unbiased=False),
                      extra=((DOUBLE, 0.0),), is_float=True),
        ]
    for name in ("sum", "mean", "amax"):
        found.append(reduction(name.replace("amax", "max"), (0, 2), lambda t, x, name=name: getattr(t, name)(x, dim=(0, 2)),
                               shape_of=halves, is_float=name == "mean"))
    return found


def along(name, torch, numpy=None, kinds=(), values=(), results=0, is_float=False):
    """tsr_<name>(x, axis, …) along both axes."""
    return [Operator(f"{name}_axis{axis}", name, lambda t, x, axis=axis: torch(t, x, axis),
                     numpy and (lambda np, x, axis=axis: numpy(np, x, axis)), results=results, is_float=is_float,
                     arguments=lambda tensors, shape, axis=axis: ([POINTER, INT, *kinds], [tensors[0], axis, *values]))
            for axis in (0, 1)]


def indices(t, size, most):
    return t.randint(0, most, size if isinstance(size, tuple) else (size,), generator=t.Generator().manual_seed(3))


def indexing():
    def select(t, shape, make):
        return [make(shape, 1), indices(t, shape[0], shape[0])]

    def rows(t, shape, make):
        return [make(shape, 1), indices(t, shape, shape[1])]

    def target(t, shape, make):
        return [make(shape, 1), indices(t, shape, shape[1]), make(shape, 2)]

    def by(axis):
        return lambda tensors, shape: ([POINTER, INT] + [POINTER] * (len(tensors) - 1), [tensors[0], axis, *tensors[1:]])

    return [
        Operator("index_select", "index_select", lambda t, x, i: t.index_select(x, 0, i), lambda np, x, i: x[i], select, by(0)),
        Operator("gather", "gather", lambda t, x, i: t.gather(x, 1, i), lambda np, x, i: np.take_along_axis(x, i, 1), rows, by(1)),
        Operator("scatter_add", "scatter_add", lambda t, x, i, s: t.scatter_add(x, 1, i, s), None, target, by(1)),
    ]


def best(t, x, axis):
    return t.topk(x, min(8, x.shape[axis]), axis)


def topk():
    return [Operator(f"topk_axis{axis}", "topk", lambda t, x, axis=axis: best(t, x, axis), results=2,
                     arguments=lambda tensors, shape, axis=axis: ([POINTER, LONG, INT, BOOL],
                                                                  [tensors[0], min(8, shape[axis]), axis, True]))
            for axis in (0, 1)]


def copies():
    def scattered(x):
        """What is contiguous already is not copied, and no measurement."""
        return None if x.is_contiguous() else [x]

    def permuted(t, shape, make):
        """NCHW permuted to NHWC: the copy changes the order of the axes."""
        rows, columns = shape
        return scattered(make(shape, 1).reshape(1, rows, 1, columns).permute(0, 2, 3, 1))

    def blocks(t, shape, make):
        sizes = halves(shape)
        return scattered(make(shape, 1).reshape(sizes).permute(1, 2, 0)) if sizes else None

    def pair(tensors, shape):
        return [POINTER, INT, INT], [(POINTER * 2)(*[t.value for t in tensors]), 2, 1]

    return [
        Operator("copy", "contiguous", lambda t, x: x.contiguous(), lambda np, x: np.ascontiguousarray(x),
                 lambda t, shape, make: scattered(make(shape, 1))),
        Operator("nchw_to_nhwc", "contiguous", lambda t, x: x.clone(memory_format=t.contiguous_format), lambda np, x: x.copy("C"), permuted),
        Operator("permute_120", "contiguous", lambda t, x: x.clone(memory_format=t.contiguous_format), lambda np, x: x.copy("C"), blocks),
        Operator("concat", "concat", lambda t, a, b: t.cat((a, b), 1), lambda np, a, b: np.concatenate((a, b), 1),
                 lambda t, shape, make: [make(shape, 1), make(shape, 2)], pair),
    ]


def norms():
    def weighted(t, shape, make):
        return [make(shape, 1), make((shape[1], 1), 2).reshape(-1).clone()]

    return [
        Operator("layer_norm", "layer_norm", lambda t, x, w: t.nn.functional.layer_norm(x, (x.shape[1],), w, None, 1e-5), None, weighted,
                 lambda tensors, shape: ([POINTER] * 3 + [DOUBLE], [*tensors, None, 1e-5]), is_float=True),
        Operator("rms_norm", "rms_norm", lambda t, x, w: x * t.rsqrt(x.square().mean(1, keepdim=True) + 1e-5) * w, None, weighted,
                 lambda tensors, shape: ([POINTER] * 2 + [DOUBLE], [*tensors, 1e-5]), is_float=True),
    ]


def products():
    def factors(inner):
        """rows x inner times inner x columns, each with as many elements as the largest matrix of the grid at most."""
        def make_both(t, shape, make):
            return None if max(shape) * inner > 10_000_000 else [make((shape[0], inner), 1), make((inner, shape[1]), 2)]

        return make_both

    found = [Operator(f"matmul_k{inner}", "matmul", lambda t, a, b: a @ b, lambda np, a, b: a @ b, factors(inner), is_float=True,
                      work=lambda shape, inner=inner: shape[0] * shape[1] * inner) for inner in (1, 16, 64, 256, 4096)]
    found.append(Operator("gemv", "gemv", lambda t, a, x: a @ x, lambda np, a, x: a @ x, is_float=True,
                          inputs=lambda t, shape, make: [make(shape, 1), make((shape[1], 1), 2).reshape(-1).clone()]))
    return found


def activations():
    return [one(name, torch=lambda t, x, name=name: getattr(t.nn.functional, name)(x)) for name in ("silu", "gelu", "softplus")]


OPERATORS = [
    *(one(name, lambda np, x, name=name: getattr(np, name)(x)) for name in ("exp", "log1p", "sin", "tanh", "sqrt", "floor")),
    one("sigmoid"), *activations(), one("relu", is_float=False),
    *(one(name, lambda np, x, name=name: getattr(np, name)(x), is_float=False) for name in ("abs",)),
    two("add", lambda np, a, b: a + b), two("mul", lambda np, a, b: a * b), two("maximum", lambda np, a, b: np.maximum(a, b)),
    two("lt", lambda np, a, b: a < b),
    *reductions(),
    *along("softmax", lambda t, x, axis: t.softmax(x, axis), is_float=True), *norms(),
    *along("cumsum", lambda t, x, axis: t.cumsum(x, axis), lambda np, x, axis: x.cumsum(axis)),
    *along("sort", lambda t, x, axis: t.sort(x, dim=axis, stable=True), lambda np, x, axis: np.sort(x, axis), (BOOL,), (False,)),
    *along("argsort", lambda t, x, axis: t.sort(x, dim=axis, stable=True), lambda np, x, axis: np.argsort(x, axis, kind="stable"), (BOOL,), (False,)),
    *topk(), *indexing(), *copies(), *products(),
]
