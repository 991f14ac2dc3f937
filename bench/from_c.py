# SPDX-License-Identifier: MIT
"""Operators of libtessera called from C (bench/calls/calls.c): a call through ctypes costs more than a small operator, and its time varies more."""
import ctypes
import os


class Work(ctypes.Structure):
    """calls_work of bench/calls/calls.c."""
    _fields_ = [("function", ctypes.c_void_p), ("evaluate", ctypes.c_void_p), ("synchronize", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("device", ctypes.c_void_p), ("arguments", ctypes.c_void_p * 6), ("number", ctypes.c_double), ("result_count", ctypes.c_int),
                ("results", ctypes.c_void_p * 2)]


def address(value):
    return ctypes.cast(value, ctypes.c_void_p).value


class Calls:
    """`must` is called with the status of a call that failed. `waits_once`: calls are queued one after the other, with one wait after the last; otherwise
    there is one after each."""

    def __init__(self, program, lib, device, must, waits_once=False):
        calls = ctypes.CDLL(os.path.join(os.path.dirname(program), "..", "bench_calls", "calls.so"))
        self.run = calls.calls_burst if waits_once else calls.calls_sample
        self.run.restype, self.run.argtypes = ctypes.c_double, (ctypes.POINTER(Work), ctypes.c_long)
        self.lib, self.device, self.must = lib, device, must

    def work(self, name, types, values, results):
        work = Work(device=self.device, result_count=results)
        for field, function in (("function", name), ("evaluate", "evaluate"), ("synchronize", "device_synchronize"), ("release", "release")):
            setattr(work, field, address(self.lib["tsr_" + function]))
        integers = [v if isinstance(v, int) else address(v) for t, v in zip(types, values) if t is not ctypes.c_double]
        integers += [ctypes.addressof(work) + Work.results.offset + 8 * i for i in range(results)]
        for i, value in enumerate(integers):
            work.arguments[i] = value
        for kind, value in zip(types, values):
            if kind is ctypes.c_double:
                work.number = value
        return work

    def sampler(self, name, types, values, results):
        """A function that calls the operator so many times and returns the mean time in ns. `results`: number of tensors
        returned through pointers; 0: the call returns one."""
        work = self.work(name, types, values, results)

        def sample(count):
            ns = self.run(work, count)
            if ns < 0:
                self.must(int(-ns))
            return ns

        sample.values = values  # keeps arrays alive whose addresses the work has
        return sample
