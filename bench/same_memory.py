# SPDX-License-Identifier: MIT
"""Sums PyTorch's tensors in place, by Tessera (through DLPack) and by PyTorch, in one process.

A sum is limited by memory bandwidth. Between two processes, the place of the memory pages and the cores of the threads make a
larger difference than the libraries do. In one process both libraries use the same memory and cores."""
import ctypes
import os
import statistics

from turns import sample_ns

SIDE = 4096
CALLS = 4  # in a sample


def load(program, threads):
    """Loads libtessera next to the program, sets its functions' types, and opens a CPU device."""
    os.environ.update(TESSERA_BACKEND="cpu", TESSERA_THREADS=str(threads))
    lib = ctypes.CDLL(os.path.join(os.path.dirname(program), "..", "lib", "libtessera.so"))
    pointer, status = ctypes.c_void_p, ctypes.c_int
    for name, result, *arguments in (
            ("tsr_device_open", status, pointer, pointer), ("tsr_device_synchronize", status, pointer),
            ("tsr_from_dlpack", status, pointer, pointer, pointer), ("tsr_evaluate", status, pointer),
            ("tsr_sum", pointer, pointer, pointer, ctypes.c_int, ctypes.c_bool), ("tsr_release", None, pointer),
            ("tsr_last_error", ctypes.c_char_p)):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    device = pointer()
    must(lib, lib.tsr_device_open(None, ctypes.byref(device)))
    return lib, device


def must(lib, status):
    if status != 0:
        raise RuntimeError(lib.tsr_last_error().decode())


def borrow(lib, device, torch, tensor):
    """Imports the tensor into Tessera; both share the same memory."""
    capsule = torch.utils.dlpack.to_dlpack(tensor)
    api, out = ctypes.pythonapi, ctypes.c_void_p()
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
    must(lib, lib.tsr_from_dlpack(device, api.PyCapsule_GetPointer(capsule, b"dltensor"), ctypes.byref(out)))
    api.PyCapsule_SetName(capsule, b"used_dltensor")
    return out


def summing(lib, device, tensor, axis):
    axes, count = (None, 0) if axis is None else (ctypes.byref(ctypes.c_int(axis)), 1)

    def run():
        result = lib.tsr_sum(tensor, axes, count, False)
        status = lib.tsr_evaluate(result)
        must(lib, status or lib.tsr_device_synchronize(device))
        lib.tsr_release(result)

    return run


def compare(lib, device, torch, tensor, axis, turns):
    """Pairs of times, Tessera's and PyTorch's; each is first in every second pair."""
    ours = borrow(lib, device, torch, tensor)
    runs = [summing(lib, device, ours, axis), (lambda: tensor.sum()) if axis is None else (lambda: tensor.sum(axis))]
    pairs = []
    for turn in range(turns):
        times = {run: sample_ns(run, CALLS) for run in (runs if turn % 2 else reversed(runs))}
        pairs.append((times[runs[0]], times[runs[1]]))
    lib.tsr_release(ours)
    return pairs


def print_table(program, torch, threads, rounds):
    try:
        lib, device = load(program, threads)
    except OSError as error:
        print(f"\nsums of the same memory: left out, as there is no shared library beside the program ({error})")
        return
    makers = {"PyTorch's own memory": lambda: torch.rand(SIDE, SIDE),
              "NumPy's, in large pages": lambda: torch.from_numpy(torch.rand(SIDE, SIDE).numpy().copy())}
    print(f"\n{'sums of 4096² f32, the same memory':38} {'Tessera':>9} {'PyTorch':>9} {'against':>9}")
    print(f"{'':38} {'ms':>9} {'ms':>9} {'PyTorch':>9}  goal")
    for memory, make in makers.items():
        for title, axis in (("all", None), ("axis 0", 0), ("axis 1", 1)):
            pairs = [pair for _ in range(rounds) for pair in compare(lib, device, torch, make(), axis, 12)]
            ours, theirs = (statistics.median(column) / 1e6 for column in zip(*pairs))
            ratio = statistics.median(peer / own for own, peer in pairs)
            print(f"{memory + ', ' + title:38} {ours:9.2f} {theirs:9.2f} {ratio:8.2f}x  "
                  f"1x: {'met' if ratio >= 1 else 'NOT MET'}", flush=True)
