#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel of one's own: the Mandelbrot set, written once in the kernel language and run on every device that is found.

    PYTHONPATH=build/release/python python3 examples/python/03_kernel.py
"""
import tessera

WIDTH, HEIGHT, ROUNDS = 72, 28, 60

mandelbrot = tessera.kernel("""
kernel mandelbrot<WG = 64>(out i32 rounds[], u32 width, u32 height, u32 most) {
    u32 i = global.x;
    if (i < width * height) {
        f32 re = -2.2 + 3.0 * f32(i % width) / f32(width), im = -1.2 + 2.4 * f32(i / width) / f32(height);
        f32 x = 0, y = 0;
        u32 n = 0;
        while (n < most && x * x + y * y < 4) {
            f32 next = x * x - y * y + re;
            y = 2 * x * y + im;
            x = next;
            n++;
        }
        rounds[i] = i32(n);
    }
}
""")

pictures = []
for row in tessera.devices():
    if "device" not in row:
        continue
    with tessera.device(row["device"]):
        rounds = tessera.zeros((HEIGHT, WIDTH), tessera.int32)
        mandelbrot(rounds, WIDTH, HEIGHT, ROUNDS)
        pictures.append(rounds.tolist())
    print(row["device"], "has", int((rounds == ROUNDS).sum()), "points that stay")

for line in pictures[-1]:
    print("".join(" .:-=+*#%@"[min(n * 10 // (ROUNDS + 1), 9)] for n in line))
inside = [sum(n == ROUNDS for line in picture for n in line) for picture in pictures]
assert max(inside) - min(inside) <= 4, inside  # roundings differ at the edge

try:
    tessera.kernel("kernel wrong(out f32 y[]) { y[0] = x; }")
except tessera.KernelError as error:
    print(error)
