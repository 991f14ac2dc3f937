#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Prints tensors of many shapes, dtypes and values through the C API and compares each with NumPy's str().
#
#   print_numpy_test.py [LIBRARY [ROUNDS]]     LIBRARY: libtessera.so, else $TSR_TEST_LIBRARY
#
# bf16, which NumPy has not, is checked by reading the digits back.
"""Compare tsr_format with numpy.ndarray.__str__."""

import ctypes
import os
import random
import sys

try:
    import numpy as np
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's NumPy is there
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

if tuple(int(part) for part in np.__version__.split(".")[:2]) < (1, 21):
    print("skipped: NumPy before 1.21 prints large f16 and f32 numbers differently")
    sys.exit(77)

MAX_RANK = 8
BF16 = "bf16"
# In the order of TSR_DTYPES.
DTYPES = [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.uint32]
DTYPES += [np.float16, BF16, np.float32, np.float64, np.uint16, np.uint64]
NAMES = ["bool", "u8", "i8", "i16", "i32", "i64", "u32", "f16", "bf16", "f32", "f64", "u16", "u64"]


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * MAX_RANK)]


class DeviceDesc(ctypes.Structure):  # the first field is enough: the rest stays 0
    _fields_ = [("backend", ctypes.c_char_p), ("rest", ctypes.c_char * 128)]


class Library:
    """The few calls of the C API that printing needs."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.tsr_from_data.restype = ctypes.c_void_p
        self.lib.tsr_from_data.argtypes = [ctypes.c_void_p, ctypes.c_int, Shape, ctypes.c_char_p, ctypes.c_size_t]
        size_pointer = ctypes.POINTER(ctypes.c_size_t)
        self.lib.tsr_format.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, size_pointer]
        self.lib.tsr_release.argtypes = [ctypes.c_void_p]
        self.lib.tsr_last_error.restype = ctypes.c_char_p
        self.device = ctypes.c_void_p()
        self.check(self.lib.tsr_device_open(ctypes.byref(DeviceDesc(backend=b"cpu")), ctypes.byref(self.device)))

    def check(self, status):
        if status != 0:
            sys.exit("status %d: %s" % (status, self.lib.tsr_last_error().decode()))

    def format(self, dtype_number, shape, data):
        dims = (ctypes.c_int64 * MAX_RANK)(*shape)
        tensor = self.lib.tsr_from_data(self.device, dtype_number, Shape(len(shape), dims), data, len(data))
        size = ctypes.c_size_t()
        self.check(self.lib.tsr_format(tensor, None, 0, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self.check(self.lib.tsr_format(tensor, text, size.value, None))
        self.lib.tsr_release(tensor)
        assert len(text.value) + 1 == size.value
        return text.value.decode()


def facts(dtype_number, shape):
    dims = "x".join(str(size) for size in shape) or "scalar"
    if len(shape) == 1:
        dims = "[%s]" % dims
    return "%s %s on cpu" % (NAMES[dtype_number], dims)


def random_shape(rng):
    kind = rng.random()
    if kind < 0.05:
        return ()
    if kind < 0.45:
        return (rng.choice([0, 1, 2, 3, 5, 7, 11, 20, 100, 999, 1000, 1001, 2500]),)
    if kind < 0.7:
        return tuple(rng.choice([1, 2, 3, 6, 7, 8, 40]) for _ in range(2))
    if kind < 0.9:
        return tuple(rng.choice([0, 1, 2, 3, 6, 7, 12]) for _ in range(3))
    return tuple(rng.choice([1, 1, 2, 3, 7]) for _ in range(rng.randint(4, MAX_RANK)))


def random_floats(rng, count, dtype):
    bits = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}[dtype]
    gen = np.random.default_rng(rng.getrandbits(32))
    kind = rng.randrange(9)
    if kind == 0:  # any bits: all exponents, nan, inf
        values = gen.integers(0, np.iinfo(bits).max, count, dtype=bits, endpoint=True).view(dtype)
    elif kind == 1:
        values = gen.standard_normal(count)
    elif kind == 2:  # whole numbers
        values = gen.integers(-rng.choice([2, 1000, 10**8]), rng.choice([2, 1000, 10**8]), count)
    elif kind == 3:  # short decimals
        values = gen.integers(-1000, 1000, count) / rng.choice([2, 4, 10, 100, 1000, 10000])
    elif kind == 4:  # a few exponents around a place
        values = gen.standard_normal(count) * 10.0 ** gen.integers(-2, 3, count) * 10.0 ** rng.randint(-8, 9)
    elif kind == 5:  # around the thresholds of the exponential form
        step = rng.choice([2.0**-10, 2.0**-23, 2.0**-52])
        values = rng.choice([1e8, 1e-4, 1e16, 1000.0]) * (1 + gen.integers(-3, 4, count) * step)
    elif kind == 6:  # ratio close to 1000
        large = 1000 * (1 + gen.integers(-2, 3, count) * 2.0**-11)
        values = np.where(gen.random(count) < 0.5, 1.0, large) * gen.random()
    elif kind == 7:  # powers of two and ten, where neighbours are not evenly far away
        twos, tens = 2.0 ** gen.integers(-30, 30, count), 10.0 ** gen.integers(-8, 9, count)
        values = np.where(gen.random(count) < 0.5, twos, tens)
    else:
        values = gen.random(count).round(rng.randint(0, 12))
    with np.errstate(all="ignore"):
        values = np.array(values).astype(dtype)
    for odd in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        if rng.random() < 0.12 and count > 0:
            values[gen.integers(0, count, max(1, count // 5))] = odd
    return values


def random_values(rng, count, dtype):
    gen = np.random.default_rng(rng.getrandbits(32))
    if dtype is np.bool_:
        return gen.random(count) < rng.random()
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        if rng.random() < 0.5:
            return gen.integers(max(limits.min, -12), 100, count, dtype=dtype)
        return gen.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    return random_floats(rng, count, dtype)


def complain(what, is_text, wanted):
    sys.exit("%s prints\n%s\nnot\n%s" % (what, is_text, wanted))


def compare_array(library, dtype_number, array):
    wanted = str(array) + "\n" + facts(dtype_number, array.shape) + "\n"
    is_text = library.format(dtype_number, array.shape, array.tobytes())
    if is_text != wanted:
        complain("%s %s" % (NAMES[dtype_number], array.shape), is_text, wanted)


def compare_random(library, rounds):
    rng = random.Random(20240607)
    for _ in range(rounds):
        dtype_number = rng.choice([n for n, dtype in enumerate(DTYPES) if dtype is not BF16])
        dtype, shape = DTYPES[dtype_number], random_shape(rng)
        count = int(np.prod(shape))
        compare_array(library, dtype_number, random_values(rng, count, dtype).reshape(shape))


def compare_scalars(library, rounds):
    rng = random.Random(7)
    for dtype_number, dtype in enumerate(DTYPES):
        if dtype is BF16:
            continue
        values = [random_values(rng, 1, dtype) for _ in range(rounds)]
        if np.issubdtype(dtype, np.floating):
            edges = [0, -0.0, 1, 1e-4, 9.9e-5, 9999, 65504, 0.1, np.nan, -np.inf]
            values += [np.array([value]).astype(dtype) for value in edges]
            if dtype is not np.float16:
                values += [np.array([value]).astype(dtype) for value in (1e15, 9.9e15, 1e16, 1e-30)]
        for value in values:
            compare_array(library, dtype_number, value.reshape(()))


def bf16_value(bits):
    return float(np.array([bits << 16], np.uint32).view(np.float32)[0])


def nearest_bf16(text):
    """Bits of the bf16 nearest to a decimal text, found among those around the f32 it reads as."""
    value = float(text)
    start = int(np.array([abs(value)], np.float32).view(np.uint32)[0]) >> 16
    near = [bits for bits in (start - 1, start, start + 1) if 0 <= bits < 0x7F80]
    best = min(near, key=lambda bits: (abs(bf16_value(bits) - abs(value)), bits & 1))
    return best | (0x8000 if text.startswith("-") else 0)


def check_bf16(library):
    number = DTYPES.index(BF16)
    for bits in range(0, 0x10000, 7):
        text = library.format(number, (), bits.to_bytes(2, sys.byteorder)).splitlines()[0]
        if bits & 0x7FFF > 0x7F80:
            wanted = "nan"
        elif bits & 0x7FFF == 0x7F80:
            wanted = "-inf" if bits >> 15 else "inf"
        else:
            if nearest_bf16(text) != bits:
                complain("bf16 %04x" % bits, text, "digits that read back as it")
            if len(text.split("e")[0].strip("-0.").replace(".", "").strip("0")) > 4:
                complain("bf16 %04x" % bits, text, "at most 4 digits")
            continue
        if text != wanted:
            complain("bf16 %04x" % bits, text, wanted)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TSR_TEST_LIBRARY")
    if not path:
        sys.exit("usage: print_numpy_test.py LIBRARY [ROUNDS]")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    library = Library(path)
    compare_random(library, rounds)
    compare_scalars(library, 200)
    check_bf16(library)
    print("print: %d arrays as NumPy %s prints them" % (rounds, np.__version__))


if __name__ == "__main__":
    main()
