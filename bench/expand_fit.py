#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints src/lang/lower/expand_tables.c: the constants of the expansions for f32 and f64 (needs python3-mpmath).

The f32 polynomials are those of src/backends/cpu/math (bench/math_fit.py). The f64 polynomials interpolate at Chebyshev
nodes, which is close enough to minimax, since one more term is cheap.
"""
import struct

import mpmath as mp

mp.mp.prec = 400
ONE = mp.mpf(1)


def hex_text(value):
    digits, exponent = float(value).hex().split("p")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits + "p" + exponent


def fit(f, lo, hi, count):
    """Coefficients, highest power first, of the polynomial through f at Chebyshev nodes."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    nodes = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    matrix = mp.matrix(count, count)
    right = mp.matrix(count, 1)
    for i, x in enumerate(nodes):
        for j in range(count):
            matrix[i, j] = x**j
        right[i] = f(x)
    c = mp.lu_solve(matrix, right)
    worst = 0
    for i in range(201):
        x = lo + (hi - lo) * i / 200
        worst = max(worst, abs(sum(c[j] * x**j for j in range(count)) - f(x)))
    print(f"// 2^{float(mp.log(worst, 2)):.1f} on [{float(lo):.4g}, {float(hi):.4g}]")
    return [c[j] for j in reversed(range(count))]


def away(f):
    """f, evaluated next to 0 instead of at its removable singularity there."""
    return lambda x: f(x if abs(x) > mp.mpf("1e-40") else mp.mpf("1e-40"))


def array(name, coefficients):
    print(f"static const double {name}[] = {{")
    line = "   "
    for c in coefficients:
        word = " " + hex_text(c) + ","
        if len(line) + len(word) > 118:
            print(line)
            line = "   "
        line += word
    print(line + "\n};")


def upper(x, bits):
    x = mp.mpf(x)
    exponent = mp.floor(mp.log(abs(x), 2))
    unit = mp.power(2, exponent - bits + 1)
    return mp.floor(x / unit) * unit


def f32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mp.mpf(float(x))


def parts(x, rounding, count):
    out = []
    for _ in range(count):
        out.append(rounding(x))
        x = x - out[-1]
    return out


def two(x, bits, rounding):
    high = upper(x, bits)
    return [high, rounding(x - high)]


def braces(values):
    return "{" + ", ".join(hex_text(v) for v in values) + "}"


def polynomials():
    sqrt = mp.sqrt
    yield "exp", fit(away(lambda r: (mp.expm1(r) - r) / r**2), "-0.3466", "0.3466", 11)
    yield "exp2", fit(away(lambda r: (mp.power(2, r) - 1) / r), "-0.5", "0.5", 12)
    # log(1 + f) = 2 s + s z R(z), s = f / (2 + f), z = s^2
    top = (3 - 2 * sqrt(2 * ONE)) ** 2
    yield "log", fit(away(lambda z: (2 * mp.atanh(sqrt(z)) / sqrt(z) - 2) / z), 0, top, 8)
    yield "sin", fit(away(lambda z: (mp.sin(sqrt(z)) / sqrt(z) - 1) / z), 0, "0.6169", 7)
    yield "cos", fit(away(lambda z: (mp.cos(sqrt(z)) - 1 + z / 2) / z**2), 0, "0.6169", 7)
    yield "tan", fit(away(lambda z: (mp.tan(sqrt(z)) / sqrt(z) - 1) / z), 0, "0.6169", 15)
    yield "asin", fit(away(lambda z: (mp.asin(sqrt(z)) / sqrt(z) - 1) / z), 0, "0.25", 14)
    yield "atan", fit(away(lambda z: (mp.atan(sqrt(z)) / sqrt(z) - 1) / z), 0, 1, 23)
    yield "sinh", fit(away(lambda z: (mp.sinh(sqrt(z)) / sqrt(z) - 1) / z), 0, 1, 8)
    yield "tanh", fit(away(lambda z: (mp.tanh(sqrt(z)) / sqrt(z) - 1) / z), 0, "0.36", 12)
    yield "erf_near", fit(away(lambda z: mp.erf(sqrt(z)) / sqrt(z) - 1), 0, 1, 15)
    for i, (lo, hi) in enumerate(((1, 2), (2, "3.5"), ("3.5", 6))):
        centre = (mp.mpf(lo) + mp.mpf(hi)) / 2
        yield f"erf_far_{i}", fit(lambda t: -mp.log(mp.erfc(t + centre)), mp.mpf(lo) - centre, mp.mpf(hi) - centre, (15, 14, 13)[i])
    yield "pow_rest", fit(pow_rest, 0, top, 8)


def pow_rest(z):
    """R in log2((1 + s) / (1 - s)) = s (c0 + c1 z + z^2 R(z)): 2 / ln2 times the sum of z^j / (2 j + 5)."""
    return 2 / mp.log(2) * mp.nsum(lambda j: z**j / (2 * j + 5), [0, 60])


F32_POLYNOMIALS = {
    "exp": "0x1.6b9ce6p-10, 0x1.12256cp-7, 0x1.5556f2p-5, 0x1.5554b4p-3, 0x1.fffffep-2",
    "exp2": "0x1.417be2p-13, 0x1.5f093ap-10, 0x1.3b2ddp-7, 0x1.c6af7ap-5, 0x1.ebfbdcp-3, 0x1.62e43p-1",
    "log": "-0x1.38c9d8p-4, 0x1.055ecap-3, -0x1.0d8244p-3, 0x1.22d92ep-3, -0x1.54728ap-3, 0x1.99a01cp-3, -0x1.000226p-2, "
           "0x1.555554p-2",
    "sin": "-0x1.995404p-13, 0x1.110778p-7, -0x1.555546p-3",
    "cos": "0x1.99e80cp-16, -0x1.6c0c28p-10, 0x1.55554ap-5",
    "tan": "0x1.1e8a68p-8, 0x1.9efbdp-14, 0x1.62c7dep-7, 0x1.5cc138p-6, 0x1.bad9bep-5, 0x1.110d9ep-3, 0x1.55556p-2",
    "asin": "0x1.595c92p-5, 0x1.8c3e28p-6, 0x1.747bbap-5, 0x1.330204p-4, 0x1.5555c8p-3",
    "atan": "-0x1.d35f54p-10, 0x1.6426fp-7, -0x1.fd7f68p-6, 0x1.da2a76p-5, -0x1.58092cp-4, 0x1.c08c5p-4, "
            "-0x1.242086p-3, 0x1.9991e4p-3, -0x1.55553ep-2",
    "sinh": "0x1.756c1ep-19, 0x1.a022bcp-13, 0x1.1110ep-7, 0x1.555556p-3",
    "tanh": "-0x1.828774p-8, 0x1.54c3c2p-6, -0x1.b89abap-5, 0x1.1109bep-3, -0x1.55553ep-2",
    "erf_near": "0x1.4771fcp-14, -0x1.a3515ep-11, 0x1.53f224p-8, -0x1.b7f71ap-6, 0x1.ce2ce6p-4, -0x1.81273ep-2, "
                "0x1.06eba8p-3",
    "erf_far_0": "0x1.1e9f72p-17, -0x1.60b3e2p-13, 0x1.77d05cp-11, -0x1.d1fa4p-9, 0x1.0e01bp-6, 0x1.d8f624p-1, "
                 "0x1.1ac322p+2, 0x1.575b32p+2",
}

HEAD = """// SPDX-License-Identifier: MIT
// Constants of the expansions. Made by bench/expand_fit.py; do not edit.
// clang-format off
#include "lang/lower/expand_build.h"
"""


def table(name, rounding, bits, half_bits, whole_bits, erf_count, numbers):
    ln2 = mp.log(2)
    print(f"const tsri_expand_consts tsri_expand_{name} = {{")
    for line in numbers:
        print(f"    {line},")
    print(f"    .log2_e = {hex_text(rounding(1 / ln2))},")
    hi, lo = two(ln2, whole_bits, rounding)
    print(f"    .ln2_hi = {hex_text(hi)}, .ln2_lo = {hex_text(lo)}, .ln2 = {hex_text(rounding(ln2))},")
    print(f"    .half_pi = {braces(parts(mp.pi / 2, rounding, 3))},")
    print(f"    .pi = {braces(parts(mp.pi, rounding, 2))}, .two_over_pi = {hex_text(rounding(2 / mp.pi))},")
    print(f"    .log2_c = {braces(two(1 / ln2, half_bits, rounding))},")
    print(f"    .log10_c = {braces(two(1 / mp.log(10), half_bits, rounding))},")
    print(f"    .log10_2 = {braces(two(mp.log(2, 10), half_bits, rounding))},")
    print(f"    .pow_c0 = {braces(parts(2 / ln2, rounding, 2))},")
    print(f"    .pow_c1 = {braces(parts(2 / (3 * ln2), rounding, 2))},")
    for poly in ("exp", "exp2", "log", "sin", "cos", "tan", "asin", "atan", "sinh", "tanh", "erf_near", "pow_rest"):
        print(f"    .{poly} = POLY({name}_{poly}),")
    far = ", ".join(f"POLY({name}_erf_far_{i})" for i in range(erf_count))
    print(f"    .erf_far = {{{far}}}, .erf_far_count = {erf_count},")
    print("};")


def main():
    print(HEAD)
    print("#define POLY(name) {name, sizeof name / sizeof name[0]}\n")
    for name, text in F32_POLYNOMIALS.items():
        print(f"static const double f32_{name}[] = {{{text}}};")
    top = (3 - 2 * mp.sqrt(2 * ONE)) ** 2
    array("f32_pow_rest", fit(pow_rest, 0, top, 4))
    print()
    for name, coefficients in polynomials():
        array("f64_" + name, coefficients)
    print()
    table("f32", f32, 24, 12, 15, 1, [
        ".mantissa_bits = 23, .bias = 127", ".sign = 0x80000000, .magnitude = 0x7fffffff, .mantissa = 0x7fffff",
        ".infinity = 0x7f800000, .nan = 0x7fc00000, .sqrt_half = 0x3f3504f3, .high_half = 0xfffff000",
        ".rounder = 0x1.8p23, .smallest_normal = 0x1p-126, .lift = 0x1p23",
        ".exp_low = -104, .exp_high = 89, .exp2_low = -151, .exp2_high = 129, .expm1_low = -18, .half_exp_high = 90",
        ".tanh_limit = 0.6, .tanh_one = 9.1, .expm1_far = 32, .pow_limit = 200", ".erf_centre = {2}, .erf_last = 4"])
    print()
    table("f64", f64, 53, 26, 42, 3, [
        ".mantissa_bits = 52, .bias = 1023", ".sign = INT64_MIN, .magnitude = INT64_MAX, .mantissa = 0xfffffffffffff",
        ".infinity = 0x7ff0000000000000, .nan = 0x7ff8000000000000, .sqrt_half = 0x3fe6a09e667f3bcd, "
        ".high_half = -(INT64_C(1) << 27)",
        ".rounder = 0x1.8p52, .smallest_normal = 0x1p-1022, .lift = 0x1p52",
        ".exp_low = -746, .exp_high = 710, .exp2_low = -1076, .exp2_high = 1025, .expm1_low = -38, .half_exp_high = 711",
        ".tanh_limit = 0.6, .tanh_one = 20, .expm1_far = 60, .pow_limit = 1100, .log_by_quotient = true",
        ".erf_centre = {1.5, 2.75, 4.75}, .erf_split = {2, 3.5}, .erf_last = 6"])


if __name__ == "__main__":
    main()
