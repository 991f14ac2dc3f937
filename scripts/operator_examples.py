# SPDX-License-Identifier: MIT
"""An example for each operator, for its help in Python. bindings/python/tests/test_help.py runs all of them."""

# The argument for a parameter in an example: by the parameter's kind, or, if it is in NAMES, by its name.
KINDS = {"TENSOR": "[[1.0, 2.0], [3.0, 4.0]]", "TENSORS": "[[1.0, 2.0], [3.0, 4.0]]", "NUMBER": "0.5", "AXIS": "0", "SHAPE": "(2, 3)", "SIZE": "2",
         "SIZES": "[1, 1]", "FLAG": "False", "DTYPE": "'float32'", "SEED": "1", "COUNT": "2", "AXES": "[0]", "FORMAT": "'q8_0'",
         "CONDITION": "[[1, 0], [0, 1]]", "INOUT": "x", "OPTIONAL": "None"}
NAMES = {"weight": "[[0.5, -0.5]]", "scale": "0.5", "q": "0.5", "p": "0.5", "low": "0", "high": "10", "axis": "0", "times": "2", "p_norm": "2.0"}
# The same for parameters of element-wise operators, by name.
ELEMENTWISE = {"a": "[1.0, 2.0]", "b": "[3.0, 4.0]", "x": "[0.5, 1.0]", "c": "2.0"}
# All arguments of operators for which the ones above make no sense.
ARGUMENTS = {
    "acosh": "[1.0, 2.0]", "atanh": "[0.25, 0.5]", "bitwise_and": "[6, 5], [3, 1]", "bitwise_or": "[6, 5], [3, 1]", "bitwise_xor": "[6, 5], [3, 1]",
    "bitwise_not": "[6, 5]", "shift_left": "[1, 2], [3, 1]", "shift_right": "[16, 8], [3, 1]", "gcd": "[12, 8], [18, 20]", "lcm": "[4, 6], [6, 9]",
    "bit_count": "[7, 8]", "isnan": "[1.0, float('nan')]", "isinf": "[1.0, float('inf')]", "isfinite": "[1.0, float('inf')]",
    "logical_and": "[True, False], [True, True]", "logical_or": "[True, False], [True, True]", "logical_xor": "[True, False], [True, True]",
    "logical_not": "[True, False]", "round": "[0.5, 1.5, 2.6]", "floor": "[-0.5, 1.5]", "ceil": "[-0.5, 1.5]", "trunc": "[-0.5, 1.5]",
    "abs": "[-1.0, 2.0]", "neg": "[-1.0, 2.0]", "sign": "[-3.0, 2.0]", "signbit": "[-3.0, 2.0]", "relu": "[-1.0, 2.0]",
    "add_layer_norm": "[[1.0, 2.0]], [[0.5, 0.0]]", "add_rms_norm": "[[1.0, 2.0]], [[0.5, 0.0]]", "affine_grid": "[[[1.0, 0, 0], [0, 1, 0]]], (1, 1, 2, 2), False",
    "arange": "0, 5, 1, 'int32'", "argmax_pool": "tessera.ops.rand((1, 1, 4, 4), 1), size=2, stride=2", "assign": "x, [1.0, 2.0]",
    "attention": "q, q, q, causal=True", "attention_scores": "q, q", "avg_pool": "tessera.ops.rand((1, 1, 4, 4), 1), size=2, stride=2",
    "batch_norm": "tessera.ops.rand((2, 3), 1), [0.0] * 3, [1.0] * 3", "batch_norm_train": "tessera.ops.rand((4, 3), 1), None, None, None, None, 0.1",
    "bce_with_logits_loss": "[0.5, -1.0], [1.0, 0.0]", "bernoulli": "(2, 3), 0.5, 1", "bincount": "[0, 1, 1, 3]", "bit_cast": "[1.0, 2.0], 'int32'",
    "bucketize": "[1.5, 3.5], [1.0, 2.0, 3.0]", "cast": "[1.5, 2.5], 'int32'", "choice": "[10, 20, 30], 0, 2, None, False, 1", "cholesky": "[[4.0, 2.0], [2.0, 3.0]]",
    "clamp": "[-1.0, 0.5, 9.0], 0, 1", "clip": "[-1.0, 0.5, 9.0], 0.0, 1.0", "col2im": "tessera.ops.rand((1, 4, 4), 1), (4, 4), (2, 2), stride=2",
    "concat": "[[1, 2], [3]], 0", "cond": "[[2.0, 0.0], [0.0, 1.0]], 2", "conv": "tessera.ops.rand((1, 1, 5, 5), 1), tessera.ops.rand((2, 1, 3, 3), 2), padding=1",
    "conv_integer": "tessera.ones((1, 1, 4, 4), 'uint8'), tessera.ones((1, 1, 3, 3), 'uint8')",
    "conv_transpose": "tessera.ops.rand((1, 1, 3, 3), 1), tessera.ops.rand((1, 2, 2, 2), 2), stride=2", "cross": "[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]",
    "cross_entropy": "[[2.0, 0.5, 0.1]], [0]", "cdist": "[[0.0, 0.0]], [[3.0, 4.0]]", "diag": "[1.0, 2.0]", "diagonal": "[[1, 2], [3, 4]], 0, 0, 1", "diff": "[1, 4, 9], 1",
    "dot": "[1.0, 2.0], [3.0, 4.0]", "dropout": "[1.0, 2.0, 3.0], 0.5, 1", "dequantize": "tessera.ops.quantize(tessera.ones(32), 'q8_0'), 'q8_0', 'float32'",
    "dequantize_linear": "tessera.asarray([10, 20], 'uint8'), 0.5, tessera.asarray(10, 'uint8')", "dynamic_quantize_linear": "[0.0, 1.0, 2.0]",
    "eigh": "[[2.0, 1.0], [1.0, 2.0]]", "einsum": "'ij,jk->ik', [[[1.0, 2.0]], [[3.0], [4.0]]]", "elu": "[-1.0, 2.0], 1.0",
    "embedding": "[[0.0, 0.1], [1.0, 1.1]], [1, 0, 1]", "embedding_bag": "[[0.0, 0.1], [1.0, 1.1]], [[1, 0]]", "expand": "[[1.0], [2.0]], (2, 3)",
    "eye": "2, 2, 0", "fft": "[[1.0, 0.0], [2.0, 0.0]], 0", "fma": "[1.0, 2.0], [3.0, 4.0], 1.0", "full": "(2, 3), 7.5", "full_int": "(2, 3), 7, 'int32'",
    "gather": "[[1, 2], [3, 4]], 1, [[0], [1]]", "gather_nd": "[[1, 2], [3, 4]], [[0, 1], [1, 0]]", "geglu": "[1.0, 2.0], [3.0, 4.0]",
    "gemm": "1.0, [[1.0, 2.0]], [[3.0], [4.0]], 0.0", "gemv": "[[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]", "gemv_into": "x, [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]",
    "grid_sample": "tessera.ops.rand((1, 1, 4, 4), 1), tessera.zeros((1, 2, 2, 2))", "group_norm": "tessera.ops.rand((1, 4, 3), 1), 2",
    "gru": "tessera.ops.rand((3, 1, 2), 1), tessera.ops.rand((12, 2), 2), tessera.ops.rand((12, 4), 3)", "histogram": "[0.1, 0.6, 0.7], 2, 0, 1",
    "ifft": "[[1.0, 0.0], [2.0, 0.0]], 0", "im2col": "tessera.ops.rand((1, 1, 4, 4), 1), (2, 2)", "index_select": "[[1, 2], [3, 4]], 0, [1, 1]",
    "instance_norm": "tessera.ops.rand((1, 2, 4), 1)", "interp": "[0.5, 1.5], [0.0, 1.0, 2.0], [0.0, 10.0, 0.0]", "inverse": "[[2.0, 0.0], [0.0, 4.0]]",
    "irfft": "[[3.0, 0.0], [-1.0, 0.0]], 2, 0", "kl_div_loss": "[-1.0, -0.5], [0.4, 0.6]", "kron": "[[1.0, 2.0]], [[1.0], [1.0]]", "layer_norm": "[[1.0, 2.0, 4.0]]",
    "leaky_relu": "[-1.0, 2.0], 0.1", "lerp": "[0.0, 0.0], [1.0, 2.0], 0.5", "lerp_scalar": "[0.0, 0.0], [1.0, 2.0], 0.5",
    "linear": "[[1.0, 2.0]], [[0.5, -0.5]], [0.1], activation='relu'", "linspace": "0, 1, 5", "local_response_norm": "tessera.ops.rand((1, 4, 2, 2), 1), 3, 1e-4, 0.75, 1.0",
    "lp_pool": "tessera.ops.rand((1, 1, 4, 4), 1), size=2, stride=2, power=2", "lstm": "tessera.ops.rand((3, 1, 2), 1), tessera.ops.rand((16, 2), 2), tessera.ops.rand((16, 4), 3)",
    "lstsq": "[[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0]", "masked_fill": "[1.0, 2.0], [True, False], 0", "masked_select": "[1.0, 2.0], [True, False]",
    "matmul_channels": "[[1.0, 2.0]], tessera.asarray([[1, 2], [3, 4]], 'int8'), [0.5, 0.5]",
    "matmul_integer": "tessera.asarray([[1, 2]], 'uint8'), tessera.asarray([[3], [4]], 'uint8')", "matmul_into": "x, [[1.0, 2.0]], [[3.0], [4.0]]",
    "matmul_quantized": "tessera.ones((1, 32)), tessera.ops.quantize(tessera.ones((2, 32)), 'q8_0'), 'q8_0'", "matrix_norm": "[[1.0, 2.0], [3.0, 4.0]], 1",
    "matrix_power": "[[1.0, 1.0], [0.0, 1.0]], 3", "max_pool": "tessera.ops.rand((1, 1, 4, 4), 1), size=2, stride=2",
    "max_unpool": "[[[[1.0]]]], [[[[3]]]], (2, 2)", "meshgrid": "[[1, 2], [3, 4, 5]], True", "moveaxis": "tessera.zeros((2, 3, 4)), 0, 2",
    "multinomial": "[0.2, 0.8], 3, True, 1", "nan_to_num": "[1.0, float('nan')], 0, 1e30, -1e30", "nll_loss": "[[-0.5, -1.0]], [0]",
    "nms": "[[[0, 0, 1.0, 1], [0, 0, 1, 0.9]]], [[[0.9, 0.8]]], overlap=0.5", "norm": "[3.0, 4.0], 2", "nonzero": "[0, 3, 0, 5]", "one_hot": "[0, 2], 3, 'float32'",
    "outer": "[1.0, 2.0], [3.0, 4.0]", "pad": "[1.0, 2.0], [1], [2], 0", "permutation": "5, 1", "permute": "tessera.zeros((2, 3, 4)), [2, 0, 1]",
    "pixel_shuffle": "tessera.ops.rand((1, 4, 2, 2), 1), 2", "pixel_unshuffle": "tessera.ops.rand((1, 1, 4, 4), 1), 2", "put": "[1, 2, 3], [0], [9]",
    "qlinear_matmul": "u8, 0.5, None, u8, 0.5, None, 1.0, tessera.asarray(0, 'uint8')", "quantile": "[1.0, 2.0, 3.0], 0.25", "quantize": "tessera.ones(32), 'q8_0'",
    "quantize_channels": "[[1.0, 2.0], [3.0, 4.0]]", "quantize_linear": "[0.1, 0.2], 0.01, None, 0, 'uint8'", "rand": "(2, 3), 1", "randn": "(2, 3), 1",
    "rand_exponential": "(3,), 1.0, 1", "rand_gamma": "(3,), 2.0, 1.0, 1", "rand_poisson": "(3,), 4.0, 1", "rand_truncated_normal": "(3,), -1, 1, 1",
    "randint": "(3,), 0, 10, 1", "repeat": "[1, 2], 2, 0", "repetition_penalty": "[[1.0, 2.0]], [[1]], 1.2", "reshape": "[1, 2, 3, 4], (2, 2)",
    "resize": "tessera.ops.rand((1, 1, 2, 2), 1), (4, 4), mode='linear'", "rfft": "[1.0, 2.0], 0", "rms_norm": "[[1.0, 2.0, 4.0]]",
    "rnn": "tessera.ops.rand((3, 1, 2), 1), tessera.ops.rand((4, 2), 2), tessera.ops.rand((4, 4), 3)",
    "roi_align": "tessera.ops.rand((1, 1, 4, 4), 1), [[0.0, 0, 2, 2]], [0], rows=2, columns=2", "roll": "[1, 2, 3], 1, 0", "rope": "q, [0, 1]",
    "rot90": "[[1, 2], [3, 4]], 1, 0, 1", "sample": "[[0.1, 2.0, 0.3]], 1, temperature=1.0", "scatter": "[1, 2, 3], 0, [0], [9]", "scatter_add": "[1, 2, 3], 0, [0], [9]",
    "scatter_max": "[1, 2, 3], 0, [0], [9]", "scatter_min": "[1, 2, 3], 0, [0], [-9]", "scatter_mul": "[1, 2, 3], 0, [0], [9]",
    "scatter_nd": "[1, 2, 3], [[0]], [9]", "searchsorted": "[1, 2, 3], [2, 5]", "slice": "[1, 2, 3, 4], 0, 1, 3", "slogdet": "[[2.0, 0.0], [0.0, 4.0]]",
    "solve": "[[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0]", "sort": "[3, 1, 2]", "argsort": "[3, 1, 2]", "split": "[1, 2, 3], [1, 2], 0", "squeeze": "[[1, 2]], 0",
    "squeeze_all": "[[1, 2]]", "stack": "[[1, 2], [3, 4]], 0", "swiglu": "[1.0, 2.0], [3.0, 4.0]", "take": "[10, 20, 30], [2, 0]",
    "tensordot": "[[1.0, 2.0]], [[3.0], [4.0]], 1, 0", "tile": "[1, 2], (2,)", "topk": "[3, 1, 2], 2, 0, True", "trace": "[[1, 2], [3, 4]], 0, 0, 1",
    "transpose": "[[1, 2], [3, 4]], 0, 1", "triangular_solve": "[[2.0, 0.0], [1.0, 1.0]], [[2.0], [3.0]]", "unique": "[3, 1, 3]", "unsqueeze": "[1, 2], 0",
    "unstack": "[[1, 2], [3, 4]], 0, 2", "weighted_sum_rows": "tessera.ops.rand((1, 1, 1, 2), 1), tessera.ops.rand((1, 1, 2, 4), 2)", "where": "[True, False], [1.0, 2.0], 0.0", "xlogy": "[0.0, 1.0], [0.0, 2.0]",
    "zeros": "(2, 3)", "ones": "(2, 3)", "contiguous": "tessera.zeros((2, 3)).T", "flip": "[1, 2, 3], 0", "flip_axes": "[[1, 2], [3, 4]], [0, 1]",
    "huber_loss": "[1.0, 2.0], [1.5, 4.0]", "l1_loss": "[1.0, 2.0], [1.5, 4.0]", "mse_loss": "[1.0, 2.0], [1.5, 4.0]",
    "lu": "[[2.0, 1.0], [4.0, 3.0]]", "det": "[[2.0, 1.0], [4.0, 3.0]]", "pinv": "[[2.0, 1.0], [4.0, 3.0]]", "matmul": "[[1.0, 2.0]], [[3.0], [4.0]]",
}
# A statement before the call, for examples that need one.
STARTS = {"assign": "x = tessera.zeros(2)", "gemv_into": "x = tessera.zeros(2)", "matmul_into": "x = tessera.zeros((1, 1))",
                  "attention": "q = tessera.ops.rand((1, 1, 2, 4), 1)", "attention_scores": "q = tessera.ops.rand((1, 1, 2, 4), 1)", "rope": "q = tessera.ops.rand((1, 1, 2, 4), 1)",
                  "qlinear_matmul": "u8 = tessera.asarray([[1, 2], [3, 4]], 'uint8')"}


def example(name, parameters):
    """A call as one would type it. `parameters` are dicts with the name and kind of each, and whether it is required."""
    given = ARGUMENTS.get(name)
    if given is None:
        needed = [p for p in parameters if p["required"]]
        is_elementwise = all(p["kind"] in ("TENSOR", "NUMBER") and p["name"] in ELEMENTWISE for p in parameters)
        by_name = ELEMENTWISE if is_elementwise else NAMES
        given = ", ".join(by_name.get(p["name"], KINDS.get(p["kind"], "?")) for p in needed)
    start = ">>> %s\n" % STARTS[name] if name in STARTS else ""
    return "%s>>> tessera.ops.%s(%s)" % (start, name, given)
