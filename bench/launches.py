#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the launches of random operators and the bytes of the buffers that they bind, through a driver that runs nothing: no GPU is needed.

    PYTHONPATH=build/release/python /usr/bin/python3 bench/launches.py [--seed 1] [--cells 400] [--most 3e6] [--only 'softmax*'] [--show 40]

The cells are those of bench/random_vs_torch.py, with the stand-in for NVIDIA's libraries (build/release/tests/fakes, built with the tests) in place of a GPU. Each is
run three times, and the third is profiled. Cells whose bytes are many times those of their inputs and results come first, then those with most launches. A buffer that
a kernel binds twice counts twice, and a kernel that binds a part of a buffer counts all of it: the numbers tell where to look, not how long a GPU takes.
"""
import argparse
import atexit
import ctypes
import fnmatch
import math
import os
import shutil
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = ("libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libcusolver.so.12", "libcublas.so.13", "libnvidia-ml.so.1")
DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}
READS_ITS_RESULTS = ("cholesky", "solve", "inverse", "qr", "det", "triangular", "eigh", "svd", "unique", "nonzero", "masked_select")  # which this driver has not


class Fake(ctypes.Structure):
    """The first fields of fake_cuda (tests/fakes/cuda/fake.h)."""
    _fields_ = [("init_code", ctypes.c_int), ("device_count", ctypes.c_int), ("memory_bytes", ctypes.c_size_t), ("multiprocessors", ctypes.c_int), ("is_idle", ctypes.c_int)]


def start_again_with(fake):
    """Starts this program again where the stand-in has the names of all of NVIDIA's libraries; the names are looked up when a process starts."""
    folder = tempfile.mkdtemp(prefix="tessera-launches-")
    for library in LIBRARIES:
        os.symlink(fake, os.path.join(folder, library))
    os.environ["LD_LIBRARY_PATH"] = folder
    os.execv(sys.executable, [sys.executable, *sys.argv])


def use_stand_in(fake):
    """Starts this program again with the stand-in, unless that was done, and makes it a GPU of 16 GiB."""
    folder = os.environ.get("LD_LIBRARY_PATH", "")
    if "tessera-launches-" not in folder:
        start_again_with(os.path.abspath(fake))
    atexit.register(shutil.rmtree, folder)
    library = ctypes.CDLL(fake)
    library.fake_cuda_state.restype = ctypes.POINTER(Fake)
    state = library.fake_cuda_state().contents
    state.memory_bytes, state.multiprocessors, state.is_idle = 1 << 34, 132, 1


def bytes_of(arrays):
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in arrays)


def profiled(tessera, cell):
    """The inputs, the results and the work of one call."""
    from random_vs_torch import Gradients, flat
    calls, library = (Gradients(cell), tessera) if cell.grad else (cell, tessera.ops)
    device = tessera.device()
    inputs = [x.view(tessera.ops.zeros(x.shape, DTYPES[x.dtype]).evaluate()) for x in cell.inputs]

    def run():
        results = flat(calls.ours(library, *inputs))
        for x in results:
            x.evaluate()
        return results

    run(), run()
    device.synchronize()
    with tessera.profile(full=True) as profile:
        results = run()
        device.synchronize()
    return inputs, results, [x for x in profile.records if x["kind"] in ("kernel", "native", "copy", "fill", "upload", "download")]


def line_of(found):
    ratio, launches, title, work = found
    kernels = " ".join(f"{name}:{count / 1e6:.1f}" for name, count in work[:8])
    return f"{ratio:7.2f} {launches:4d}  {title[:90]:90} {kernels}"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="number of the first cell")
    parser.add_argument("--most", type=float, default=3e6, help="elements of an input")
    parser.add_argument("--only", default="*", help="patterns of cells' titles, separated by commas")
    parser.add_argument("--show", type=int, default=40, help="lines of each list")
    parser.add_argument("--driver", default=os.path.join(TOP, "build/release/tests/fakes/fake_cuda.so"), help="the stand-in")
    return parser.parse_args()


def main():
    args = options()
    if not os.path.exists(args.driver):
        sys.exit(f"launches: there is no {args.driver}; configure the build with -DTESSERA_TESTS=ON")
    use_stand_in(args.driver)
    import random_cells
    import tessera
    import torch
    torch.set_grad_enabled(False)
    found = []
    for number in range(args.first, args.first + args.cells):
        cell = random_cells.cell(number, args.seed, args.most, "cpu")
        if cell.title.removeprefix("gradients of ").startswith(READS_ITS_RESULTS) or not any(fnmatch.fnmatch(cell.title, p) for p in args.only.split(",")):
            continue
        try:
            with tessera.device("cuda"):
                inputs, results, work = profiled(tessera, cell)
        except Exception as error:
            print(f"not run: {cell.title}: {type(error).__name__}: {error}"[:160], file=sys.stderr)
            continue
        least = max(1, bytes_of(inputs) + bytes_of(results))
        found.append((sum(x["bytes"] for x in work) / least, len(work), cell.title, [(x["name"], x["bytes"]) for x in work]))
    print("bytes / bytes of inputs and results, launches")
    for cell in sorted(found, key=lambda x: -x[0])[:args.show]:
        print(line_of(cell))
    print("most launches")
    for cell in sorted(found, key=lambda x: -x[1])[:args.show]:
        print(line_of(cell))
    print(f"{len(found)} cells, {sum(x[1] for x in found) / max(1, len(found)):.2f} launches each")


if __name__ == "__main__":
    sys.exit(main())
