#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Exchanges tensors with NumPy through DLPack, both ways: same memory, same values, each side outliving the other.
#
#   dlpack_numpy_test.py [LIBRARY]     LIBRARY: libtessera.so, else $TSR_TEST_LIBRARY
#
# bf16 is left out: NumPy has none. So is bool where NumPy is too old to exchange it.
"""Exchange tensors with numpy.ndarray through DLPack."""

import ctypes
import gc
import os
import sys

try:
    import numpy as np
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's NumPy is there
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

if not hasattr(np, "from_dlpack"):
    print("skipped: NumPy before 1.23 has no from_dlpack")
    sys.exit(77)

MAX_RANK = 8
CPU = 1  # kDLCPU
# Numbers in the order of TSR_DTYPES; 8 is bf16, and NumPy has no f8 either.
DTYPES = {0: np.bool_, 1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint32}
DTYPES.update({7: np.float16, 9: np.float32, 10: np.float64, 11: np.uint16, 12: np.uint64})

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * MAX_RANK)]


class DeviceDesc(ctypes.Structure):  # the first field is enough: the rest stays 0
    _fields_ = [("backend", ctypes.c_char_p), ("rest", ctypes.c_char * 128)]


class MemoryStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in "in_use held peak limit allocations hits trims".split()]


class Library:
    """The few calls of the C API that the exchange needs."""

    def __init__(self, path):
        lib = ctypes.CDLL(path)
        pointer, integer, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
        lib.tsr_last_error.restype = ctypes.c_char_p
        for name, result, arguments in [
            ("tsr_from_data", pointer, [pointer, integer, Shape, ctypes.c_char_p, size]),
            ("tsr_transpose", pointer, [pointer, integer, integer]),
            ("tsr_slice", pointer, [pointer, integer, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]),
            ("tsr_flip", pointer, [pointer, integer]),
            ("tsr_expand", pointer, [pointer, Shape]),
            ("tsr_tensor_shape", Shape, [pointer]),
            ("tsr_tensor_dtype", integer, [pointer]),
            ("tsr_tensor_stride", ctypes.c_int64, [pointer, integer]),
            ("tsr_read", integer, [pointer, pointer, size]),
            ("tsr_write", integer, [pointer, ctypes.c_char_p, size]),
            ("tsr_to_dlpack", integer, [pointer, pointer]),
            ("tsr_from_dlpack", integer, [pointer, pointer, pointer]),
            ("tsr_release", None, [pointer]),
            ("tsr_device_release", None, [pointer]),
            ("tsr_memory_get_stats", integer, [pointer, pointer]),
        ]:
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        self.lib = lib

    def check(self, status):
        if status != 0:
            sys.exit("status %d: %s" % (status, self.lib.tsr_last_error().decode()))

    def open(self, backend=b"cpu"):
        device = ctypes.c_void_p()
        self.check(self.lib.tsr_device_open(ctypes.byref(DeviceDesc(backend=backend)), ctypes.byref(device)))
        return device

    def in_use(self, device):
        stats = MemoryStats()
        self.check(self.lib.tsr_memory_get_stats(device, ctypes.byref(stats)))
        return stats.in_use

    def take(self, device, array):
        """A tensor over the array's memory; consumes a capsule as the protocol asks."""
        capsule = array.__dlpack__()
        managed = api.PyCapsule_GetPointer(capsule, b"dltensor")
        tensor = ctypes.c_void_p()
        self.check(self.lib.tsr_from_dlpack(device, managed, ctypes.byref(tensor)))
        api.PyCapsule_SetName(capsule, b"used_dltensor")
        return tensor

    def give(self, tensor):
        return np.from_dlpack(Given(self, tensor))

    def upload(self, device, number, array):
        dims = (ctypes.c_int64 * MAX_RANK)(*array.shape)
        data = array.tobytes()
        return self.lib.tsr_from_data(device, number, Shape(array.ndim, dims), data, len(data))

    def read(self, tensor, like):
        values = np.empty(like.shape, like.dtype)
        self.check(self.lib.tsr_read(tensor, values.ctypes.data, values.nbytes))
        return values

    def release(self, *tensors):
        for tensor in tensors:
            self.lib.tsr_release(tensor)


class Given:
    """What np.from_dlpack wants: one tensor, given away each time it is asked for."""

    def __init__(self, library, tensor):
        self.library, self.tensor = library, tensor

    def __dlpack__(self, stream=None, **_newer):
        managed = ctypes.c_void_p()
        self.library.check(self.library.lib.tsr_to_dlpack(self.tensor, ctypes.byref(managed)))
        return api.PyCapsule_New(managed, b"dltensor", None)

    def __dlpack_device__(self):
        return (CPU, 0)


def numbers(dtype, shape):
    return (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(dtype)


def can_exchange(dtype):
    try:
        np.from_dlpack(np.zeros(1, dtype))
    except (BufferError, RuntimeError, TypeError):
        return False
    return True


def arrays(dtype):
    """One of each kind: packed, with steps, mirrored, transposed, with repeated rows, scalar, empty."""
    base = numbers(dtype, (6, 8))
    yield base
    yield base[1::2, ::3]
    yield base[::-1, ::-2]
    yield base.T
    yield numbers(dtype, (2, 3, 4))[:, ::-1].transpose(2, 0, 1)
    yield numbers(dtype, (1, 1, 5, 1, 1, 2, 1, 1))
    yield base[2]
    yield np.array(7, dtype)
    yield np.zeros((3, 0, 2), dtype)


def check_same(is_array, wanted, what):
    if is_array.shape != wanted.shape or is_array.dtype != wanted.dtype or not np.array_equal(is_array, wanted):
        sys.exit("%s: got %s\n%s\nnot %s\n%s" % (what, is_array.dtype, is_array, wanted.dtype, wanted))


def check_taken(library, device, number, array):
    tensor = library.take(device, array)
    shape = library.lib.tsr_tensor_shape(tensor)
    assert tuple(shape.dims[: shape.rank]) == array.shape
    assert library.lib.tsr_tensor_dtype(tensor) == number
    for axis, size in enumerate(array.shape):
        if size > 1 and array.size > 0:
            assert library.lib.tsr_tensor_stride(tensor, axis) * array.itemsize == array.strides[axis]
    check_same(library.read(tensor, array), array, "taking %s %s" % (array.dtype, array.shape))
    if array.size > 0:  # the same memory, seen from both sides
        array[...] = np.array(1, array.dtype)
        check_same(library.read(tensor, array), array, "a write by NumPy")
        library.check(library.lib.tsr_write(tensor, numbers(array.dtype, array.shape).tobytes(), array.nbytes))
        check_same(array, numbers(array.dtype, array.shape), "a write by Tessera")
    library.release(tensor)


def check_given(library, device, number, array):
    tensor = library.upload(device, number, array)
    given = library.give(tensor)
    check_same(given, array, "giving %s %s" % (array.dtype, array.shape))
    if array.size > 0:
        library.check(library.lib.tsr_write(tensor, np.ones(array.shape, array.dtype).tobytes(), array.nbytes))
        check_same(given, np.ones(array.shape, array.dtype), "a write by Tessera")
        ctypes.memset(given.ctypes.data, 0, given.nbytes)  # NumPy itself marks such arrays read-only
        check_same(library.read(tensor, array), np.zeros(array.shape, array.dtype), "a write on NumPy's side")
    library.release(tensor)


def check_given_views(library, device):
    array = numbers(np.int32, (4, 6))
    lib, base = library.lib, library.upload(device, 4, array)
    steps, mirrored = lib.tsr_slice(base, 1, 1, 6, 2), lib.tsr_flip(base, 0)
    turned, row = lib.tsr_transpose(mirrored, 0, 1), lib.tsr_slice(base, 0, 1, 2, 1)
    wide = lib.tsr_expand(row, Shape(2, (ctypes.c_int64 * MAX_RANK)(3, 6)))
    wanted = [(steps, array[:, 1:6:2]), (mirrored, array[::-1]), (turned, array[::-1].T), (row, array[1:2])]
    wanted.append((wide, np.broadcast_to(array[1:2], (3, 6))))
    for tensor, like in wanted:
        given = library.give(tensor)
        check_same(given, like, "giving a view")
        assert given.strides == like.strides, (given.strides, like.strides)
    library.release(base, steps, mirrored, turned, row, wide)


def check_lives(library):
    """Each side keeps what it took when the other is gone, and nothing stays behind."""
    device = library.open()
    tensor = library.upload(device, 5, numbers(np.int64, (50, 50)))
    given = library.give(tensor)
    view = given[::7, ::-1]
    library.release(tensor)
    library.lib.tsr_device_release(device)
    del given
    gc.collect()
    check_same(view, numbers(np.int64, (50, 50))[::7, ::-1], "an array that outlives tensor and device")

    device = library.open()
    array = numbers(np.float64, (40, 40))
    wanted = array[::-1, ::3].copy()
    references = sys.getrefcount(array)
    tensor = library.take(device, array[::-1, ::3])
    assert sys.getrefcount(array) > references
    del array
    gc.collect()
    check_same(library.read(tensor, wanted), wanted, "a tensor that outlives its array")
    library.release(tensor)
    library.lib.tsr_device_release(device)


def check_no_copy_device(library):
    """A device whose memory NumPy cannot see copies, and returns the array at once."""
    device = library.open(b"null")
    array = numbers(np.float32, (5, 7))
    references = sys.getrefcount(array)
    tensor = library.take(device, array[:, ::-2])
    gc.collect()
    assert sys.getrefcount(array) == references
    check_same(library.read(tensor, array[:, ::-2]), array[:, ::-2], "a copy on the null device")
    check_same(library.give(tensor), array[:, ::-2], "a copy back from the null device")
    library.release(tensor)
    library.lib.tsr_device_release(device)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_no_leak(library, device, rounds):
    array = numbers(np.float32, (256, 256))  # 256 KiB: a leak of one a round would show as 250 MiB
    references, before = sys.getrefcount(array), 0
    for i in range(rounds):
        taken, tensor = library.take(device, array.copy()), library.upload(device, 9, array)
        on, given = library.give(taken), library.give(tensor)  # what was taken is given on
        library.release(taken, tensor)
        del on, given
        if i == rounds // 10:
            before = resident_bytes()
    gc.collect()
    grown = resident_bytes() - before
    if grown > 16 << 20:
        sys.exit("%d rounds grew the process by %d KiB" % (rounds, grown >> 10))
    assert sys.getrefcount(array) == references
    assert library.in_use(device) == 0, library.in_use(device)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TSR_TEST_LIBRARY")
    if not path:
        sys.exit("usage: dlpack_numpy_test.py LIBRARY")
    library = Library(path)
    device = library.open()
    left_out = []
    for number, dtype in DTYPES.items():
        if not can_exchange(dtype):
            left_out.append(np.dtype(dtype).name)
            continue
        for array in arrays(dtype):
            check_taken(library, device, number, array)
        for array in arrays(dtype):
            check_given(library, device, number, np.ascontiguousarray(array).reshape(array.shape))
    check_given_views(library, device)
    check_no_leak(library, device, 1000)
    check_lives(library)
    check_no_copy_device(library)
    assert library.in_use(device) == 0
    library.lib.tsr_device_release(device)
    note = "; it does not exchange %s" % ", ".join(left_out) if left_out else ""
    print("dlpack: exchanged both ways with NumPy %s%s" % (np.__version__, note))


if __name__ == "__main__":
    main()
