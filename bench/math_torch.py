#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""PyTorch's times for the last part of bench/math.c: 10^7 f32 on 2 threads, in ms (needs python3-torch)."""
import sys
import time

try:
    import torch
except ImportError:
    print("PyTorch is not installed (python3-torch)")
    sys.exit(77)

COUNT, THREADS, TRIES = 10_000_000, 2, 9


def best_ms(run):
    run()
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main():
    torch.set_num_threads(THREADS)
    a = (torch.arange(COUNT) * 7919 % 20001).float() * 5e-4 - 5.0
    out = torch.zeros_like(a)
    rows = {
        "exp": lambda: torch.exp(a, out=out),
        "tanh": lambda: torch.tanh(a, out=out),
        "gelu": lambda: torch.nn.functional.gelu(a),
        "sigmoid": lambda: torch.sigmoid(a, out=out),
        "sin": lambda: torch.sin(a, out=out),
        "log": lambda: torch.log(a, out=out),
    }
    print(f"ms for {COUNT} f32 on {THREADS} threads, PyTorch {torch.__version__}; gelu makes a new tensor each time")
    with torch.no_grad():
        for name, run in rows.items():
            print(f"{name:8}{best_ms(run):8.2f}")


if __name__ == "__main__":
    main()
