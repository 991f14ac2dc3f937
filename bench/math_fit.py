#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints nearly minimax polynomial coefficients for src/backends/cpu/math, kernels/fn_activation.tk and kernels/fn_softplus.tk (needs python3-mpmath and numpy).

Each fit is f(x) ~ sum c[j] x^j on [lo, hi], with the smallest maximum of |weight * error|. Coefficients are rounded one by
one, lowest power first; after each, the remaining ones are fitted again.
"""
import struct
import sys

import mpmath as mp
import numpy as np

mp.mp.prec = 500


def round_f32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def round_f64(x):
    return mp.mpf(float(x))


def lawson(points, powers, rounds=300):
    """Coefficients for `powers` that nearly minimise the maximum of |w (t - p(x))| over the points (x, t, w).

    Lawson's iteration: repeated least squares, each time with more weight where the error is large. It converges
    more slowly than Remez' exchange, but does not need the alternation property, which x^j, x^(j+1), ... do not have on
    an interval around 0.
    """
    x = np.array([float(p[0]) for p in points])
    t = np.array([float(p[1]) for p in points])
    w = np.array([float(p[2]) for p in points])
    scale = np.array([np.max(np.abs(x)) ** p for p in powers])
    basis = np.stack([x**p for p in powers], axis=1) / scale
    share = np.full(len(x), 1.0 / len(x))
    best, best_error = None, np.inf
    for _ in range(rounds):
        root = np.sqrt(share) * w
        c = np.linalg.lstsq(basis * root[:, None], t * root, rcond=None)[0]
        error = np.abs(w * (t - basis @ c))
        if error.max() < best_error:
            best, best_error = c / scale, error.max()
        share = share * error
        share /= share.sum()
    return best, best_error


def fit(name, target, weight, lo, hi, count, rounding=round_f32):
    """`count` coefficients of a polynomial in x, rounded one after the other."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / 400) for i in range(401)]
    ts = [target(x) for x in xs]
    ws = [weight(x) for x in xs]
    done = []
    for j in range(count):
        rest = [t - sum(c * x**k for k, c in enumerate(done)) for x, t in zip(xs, ts)]
        c, error = lawson(list(zip(xs, rest, ws)), list(range(j, count)))
        if j == 0:
            ideal = error
        done.append(rounding(c[0]))
    last = max(abs(w * (t - sum(c * x**k for k, c in enumerate(done)))) for x, t, w in zip(xs, ts, ws))
    print(f"// {name}: error 2^{float(mp.log(ideal, 2)):.1f} ideal, 2^{float(mp.log(last, 2)):.1f} rounded")
    suffix = "f" if rounding is round_f32 else ""
    print(", ".join(hex_text(c) + suffix for c in done))
    sys.stdout.flush()


def hex_text(c):
    digits, exponent = float(c).hex().split("p")
    return digits.rstrip("0") + "p" + exponent


def series(f, x0=mp.mpf("1e-30")):
    """f, evaluated next to 0 instead of at its removable singularity there."""
    return lambda x: f(x if abs(x) > x0 else x0)


def main():
    sqrt, log, one = mp.sqrt, mp.log, mp.mpf(1)
    fits = {
        # expm1(r) = r + r^2 q(r)
        "exp": lambda: fit("exp", series(lambda r: (mp.expm1(r) - r) / r**2), series(lambda r: r**2 / abs(mp.expm1(r))),
                           "-0.347", "0.347", 5),
        # 2^r = 1 + r q(r)
        "exp2": lambda: fit("exp2", series(lambda r: (mp.power(2, r) - 1) / r),
                            lambda r: r / mp.power(2, r) + mp.mpf("1e-3"), "-0.5", "0.5", 6),
        # log(1 + f) = f - f^2/2 + f^3 P(f)
        "log": lambda: fit("log", series(lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3),
                           series(lambda f: abs(f**3 / mp.log1p(f))), sqrt(one / 2) - 1, sqrt(2 * one) - 1, 8),
        "sin": lambda: fit("sin, in z = r^2", series(lambda z: (mp.sin(sqrt(z)) / sqrt(z) - 1) / z),
                           series(lambda z: z * sqrt(z) / mp.sin(sqrt(z))), 0, "0.6169", 3),
        "cos": lambda: fit("cos, in z", series(lambda z: (mp.cos(sqrt(z)) - 1 + z / 2) / z**2),
                           lambda z: z**2 / mp.cos(sqrt(z)) + mp.mpf("1e-6"), 0, "0.6169", 3),
        "tan": lambda: fit("tan, in z", series(lambda z: (mp.tan(sqrt(z)) / sqrt(z) - 1) / z),
                           series(lambda z: z * sqrt(z) / mp.tan(sqrt(z))), 0, "0.6169", 7),
        "asin": lambda: fit("asin, in z", series(lambda z: (mp.asin(sqrt(z)) / sqrt(z) - 1) / z),
                            series(lambda z: z * sqrt(z) / mp.asin(sqrt(z))), 0, "0.25", 5),
        "atan": lambda: fit("atan, in z", series(lambda z: (mp.atan(sqrt(z)) / sqrt(z) - 1) / z),
                            series(lambda z: z * sqrt(z) / mp.atan(sqrt(z))), 0, 1, 9),
        "sinh": lambda: fit("sinh, in z", series(lambda z: (mp.sinh(sqrt(z)) / sqrt(z) - 1) / z),
                            series(lambda z: z * sqrt(z) / mp.sinh(sqrt(z))), 0, 1, 4),
        "tanh": lambda: fit("tanh, in z", series(lambda z: (mp.tanh(sqrt(z)) / sqrt(z) - 1) / z),
                            series(lambda z: z * sqrt(z) / mp.tanh(sqrt(z))), 0, "0.36", 5),
        "erf": lambda: fit("erf, in z", series(lambda z: mp.erf(sqrt(z)) / sqrt(z) - 1),
                           series(lambda z: sqrt(z) / mp.erf(sqrt(z))), 0, 1, 7),
        # erf(a) = 1 - exp(-q(a))
        "erfc": lambda: fit("erfc, in a - 2", lambda t: -log(mp.erfc(t + 2)), lambda t: mp.erfc(t + 2) / mp.erf(t + 2),
                            "-1", "2", 8),
        # gelu(x) = max(x, 0) - a 2^p(a), a = |x|; weighted like the tail itself, less steeply
        "gelu": lambda: fit("gelu, in a", lambda a: log(mp.erfc(a / sqrt(2 * one)) / 2, 2), lambda a: mp.power(2, -1.5 * a), 0, 6, 11),
        # log(1 + e) = e P(e)
        "softplus": lambda: fit("softplus, in e", series(lambda e: mp.log1p(e) / e), series(lambda e: e / mp.log1p(e)), 0, 1, 10),
        # log2((1 + s) / (1 - s)) = s P(s^2)
        "pow_log2": lambda: fit("pow_log2, in z = s^2", series(lambda z: log((1 + sqrt(z)) / (1 - sqrt(z)), 2) / sqrt(z)),
                                lambda z: one, 0, (3 - 2 * sqrt(2 * one)) ** 2, 5, round_f64),
        "pow_exp2": lambda: fit("pow_exp2", lambda r: mp.power(2, r), lambda r: mp.power(2, -r), "-0.5", "0.5", 7,
                                round_f64),
    }
    for name in sys.argv[1:] or fits:
        fits[name]()


if __name__ == "__main__":
    main()
