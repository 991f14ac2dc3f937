// SPDX-License-Identifier: MIT
// zeros, ones, full, arange and similar functions without Python in between, in the common form of their calls. Small arrays hold their elements (element.c).
#include <string.h>

#include "binding.h"

static bool is_small(const tsr_shape *shape, tsr_dtype dtype) {
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] <= 0 || shape->dims[i] > TSRPY_HELD_BYTES) return false;
    count *= shape->dims[i];
    if (count > TSRPY_HELD_BYTES) return false;
  }
  size_t bytes = tsr_dtype_bytes(dtype);
  return bytes > 0 && (size_t)count * bytes <= TSRPY_HELD_BYTES;
}

// Every element has these bytes; NULL: it is 0. The shape is small.
static PyObject *make_few(tsr_device *device, tsr_dtype dtype, const tsr_shape *shape, const void *element) {
  unsigned char elements[TSRPY_HELD_BYTES];
  int64_t count = tsrpy_count_of_shape(shape);
  size_t bytes = tsr_dtype_bytes(dtype);
  for (size_t i = 0; element && i < (size_t)count; i++) memcpy(elements + i * bytes, element, bytes);
  return tsrpy_few_take(device, dtype, shape, count, element ? elements : NULL);
}

static PyObject *make_zeros(tsr_device *device, tsr_dtype dtype, const tsr_shape *shape) {
  if (is_small(shape, dtype)) return make_few(device, dtype, shape, NULL);
  return tsrpy_array_take(tsr_zeros(device, dtype, *shape));
}

static PyObject *make_ones(tsr_device *device, tsr_dtype dtype, const tsr_shape *shape) {
  unsigned char one[8];
  if (!is_small(shape, dtype)) return tsrpy_array_take(tsr_ones(device, dtype, *shape));
  return tsrpy_check(tsr_convert(dtype, one, TSR_F64, &(double){1}, 1)) ? make_few(device, dtype, shape, one) : NULL;
}

// zeros(shape), zeros(shape, dtype) and the same of ones.
static PyObject *make_filled(tsrpy_general at, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  tsr_shape shape;
  tsr_dtype dtype = TSR_F32;
  if (names || count < 1 || count > 2 || !tsrpy_read_shape(args, 1, &shape)) {
    return tsrpy_call_general(at, NULL, args, count, names);
  }
  if (count == 2 && args[1] != Py_None && !tsrpy_dtype_parse(args[1], &dtype)) return NULL;
  tsr_device *device = tsrpy_device_current();
  if (!device) return NULL;
  return (at == TSRPY_ZEROS ? make_zeros : make_ones)(device, dtype, &shape);
}

static PyObject *zeros(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  return make_filled(TSRPY_ZEROS, args, count, names);
}

static PyObject *ones(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  return make_filled(TSRPY_ONES, args, count, names);
}

// Elements that are to be written first are 0, too.
static PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  return zeros(module, args, count, names);
}

// zeros_like(x) and ones_like(x).
static PyObject *make_like(tsrpy_general at, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  if (names || count != 1 || !tsrpy_is_array(args[0])) return tsrpy_call_general(at, NULL, args, count, names);
  tsr_shape shape = tsrpy_shape_of(args[0]);
  return (at == TSRPY_ZEROS_LIKE ? make_zeros : make_ones)(tsrpy_device_of(args[0]), tsrpy_dtype_of(args[0]), &shape);
}

static PyObject *zeros_like(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  return make_like(TSRPY_ZEROS_LIKE, args, count, names);
}

static PyObject *ones_like(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  return make_like(TSRPY_ONES_LIKE, args, count, names);
}

// full(shape, number) and full(shape, number, dtype) of few elements.
static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  tsr_shape shape;
  unsigned char bits[8];
  bool is_plain = !names && (count == 2 || count == 3) && tsrpy_is_number(args[1]) && tsrpy_read_shape(args, 1, &shape);
  tsr_dtype dtype = is_plain ? tsrpy_number_dtype(args[1]) : TSR_F32;
  if (is_plain && count == 3 && args[2] != Py_None && !tsrpy_dtype_parse(args[2], &dtype)) return NULL;
  if (!is_plain || !is_small(&shape, dtype) || !tsrpy_number_bits(dtype, args[1], bits)) {
    PyErr_Clear();  // an integer beyond the dtype: what to do is the business of Python
    return tsrpy_call_general(TSRPY_FULL, NULL, args, count, names);
  }
  tsr_device *device = tsrpy_device_current();
  return device ? make_few(device, dtype, &shape, bits) : NULL;
}

// full_like(x, number) of few elements.
static PyObject *full_like(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  unsigned char bits[8];
  bool is_plain = !names && count == 2 && tsrpy_is_array(args[0]) && tsrpy_is_number(args[1]);
  tsr_shape shape = is_plain ? tsrpy_shape_of(args[0]) : (tsr_shape){0};
  if (!is_plain || !is_small(&shape, tsrpy_dtype_of(args[0])) ||
      !tsrpy_number_bits(tsrpy_dtype_of(args[0]), args[1], bits)) {
    PyErr_Clear();
    return tsrpy_call_general(TSRPY_FULL_LIKE, NULL, args, count, names);
  }
  return make_few(tsrpy_device_of(args[0]), tsrpy_dtype_of(args[0]), &shape, bits);
}

// Whole numbers alone, as of range(); false without an exception if there is anything else.
static bool read_range(PyObject *const *args, Py_ssize_t count, int64_t *start, int64_t *stop, int64_t *step) {
  int64_t given[3] = {0, 0, 1};
  if (count < 1 || count > 3) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    int overflow = 0;
    if (!PyLong_Check(args[i]) || PyBool_Check(args[i])) return false;
    given[count == 1 ? 1 : i] = PyLong_AsLongLongAndOverflow(args[i], &overflow);
    if (overflow) return false;
  }
  *start = given[0];
  *stop = given[1];
  *step = given[2];
  return true;
}

// arange of few whole numbers.
static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  enum { MOST = TSRPY_HELD_BYTES / sizeof(int64_t), LARGE = 1 << 30 };
  int64_t start, stop, step, elements[MOST];
  if (!names && read_range(args, count, &start, &stop, &step) && step > 0 && step < LARGE && start > -LARGE &&
      start < stop && stop < LARGE && (stop - start - 1) / step < MOST) {
    tsr_shape shape = TSR_SHAPE((stop - start - 1) / step + 1);
    for (int64_t i = 0; i < shape.dims[0]; i++) elements[i] = start + i * step;
    tsr_device *device = tsrpy_device_current();
    return device ? tsrpy_few_take(device, TSR_I64, &shape, shape.dims[0], elements) : NULL;
  }
  return tsrpy_call_general(TSRPY_ARANGE, NULL, args, count, names);
}

// frombuffer(buffer) and frombuffer(buffer, dtype): the bytes as elements, in memory of their own.
static PyObject *frombuffer(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)module;
  tsr_dtype dtype = TSR_F32;
  unsigned char few[TSRPY_HELD_BYTES];
  Py_buffer view = {0};
  bool is_plain = !names && (count == 1 || count == 2);
  if (is_plain && count == 2 && !tsrpy_dtype_parse(args[1], &dtype)) return NULL;
  const size_t item = tsr_dtype_bytes(dtype);
  is_plain = is_plain && item > 0 && dtype != TSR_BOOL;  // bools are 0 or 1 whatever the bytes are
  const bool is_few = is_plain && tsrpy_is_array(args[0]) && tsrpy_few_read(args[0], few);
  if (is_plain && !is_few && PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
    is_plain = false;
  }
  size_t bytes = (size_t)view.len;
  if (is_few) bytes = (size_t)tsrpy_count_of(args[0]) * tsr_dtype_bytes(tsrpy_dtype_of(args[0]));
  tsr_device *device = is_plain && bytes > 0 && bytes % item == 0 ? tsrpy_device_current() : NULL;
  PyObject *made = NULL;
  const tsr_shape shape = {.rank = 1, .dims = {(int64_t)(bytes / (item ? item : 1))}};
  if (device) made = tsrpy_few_take(device, dtype, &shape, shape.dims[0], is_few ? few : view.buf);
  if (view.obj) PyBuffer_Release(&view);
  return made || PyErr_Occurred() ? made : tsrpy_call_general(TSRPY_FROMBUFFER, NULL, args, count, names);
}

static PyMethodDef functions[] = {
    {"frombuffer", TSRPY_FAST(frombuffer),
     "frombuffer(buffer, dtype=tessera.float32, count=-1, offset=0)\n--\n\nThe bytes of a buffer as elements of a "
     "dtype.\n\n>>> "
     "tessera.frombuffer(b'abc', tessera.uint8)"},
    {"zeros", TSRPY_FAST(zeros),
     "zeros(shape, dtype=None, order='C', *, device=None)\n--\n\nEvery element 0.\n\n>>> tessera.zeros((2, 3))"},
    {"empty", TSRPY_FAST(empty),
     "empty(shape, dtype=None, order='C', *, device=None)\n--\n\nAn array to be filled. Its elements are 0.\n\n>>> "
     "tessera.empty((2, 3))"},
    {"ones", TSRPY_FAST(ones),
     "ones(shape, dtype=None, order='C', *, device=None)\n--\n\nEvery element 1.\n\n>>> tessera.ones((2, 3))"},
    {"full", TSRPY_FAST(full),
     "full(shape, fill_value, dtype=None, order='C', *, device=None)\n--\n\nEvery element the same number.\n\n>>> "
     "tessera.full((2, 3), 7)"},
    {"zeros_like", TSRPY_FAST(zeros_like),
     "zeros_like(x, /, dtype=None, *, shape=None, device=None)\n--\n\nZeros in the shape of x.\n\n>>> "
     "tessera.zeros_like(tessera.ones(3))"},
    {"ones_like", TSRPY_FAST(ones_like),
     "ones_like(x, /, dtype=None, *, shape=None, device=None)\n--\n\nOnes in the shape of x.\n\n>>> "
     "tessera.ones_like(tessera.zeros(3))"},
    {"full_like", TSRPY_FAST(full_like),
     "full_like(x, /, fill_value, dtype=None, *, shape=None, device=None)\n--\n\nOne number in the shape of "
     "x.\n\n>>> tessera.full_like(tessera.zeros(3), 7)"},
    {"arange", TSRPY_FAST(arange),
     "arange(start=0, stop=None, step=1, dtype=None, *, device=None)\n--\n\nstart, start + step, … before stop; from "
     "0 if only one number is given. int64 if all numbers are whole.\n\n>>> tessera.arange(3)"},
    {0},
};

bool tsrpy_create_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
