// SPDX-License-Identifier: MIT
// NumPy functions without an operator of their own in the library, computed on the host for few elements: ldexp, frexp, spacing, packbits, lexsort. Each has the same
// results as the combination of operators in _floats.py, _editing.py and _sets.py. A function returns None if there are too many elements, or they are not on the host or of
// another dtype; Python then records these operators.
#include <math.h>

#include "small.h"

// A power of 2 beyond which every float32 and float64 becomes 0 or infinite.
static int bounded_power(int64_t power) { return power < -5000 ? -5000 : power > 5000 ? 5000 : (int)power; }

// few_ldexp(x, power): x times 2 to the power.
static PyObject *few_ldexp(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  tsrpy_small x, power;
  (void)module;
  if (count != 2 || !tsrpy_small_read(args[0], &x) || !tsrpy_small_read(args[1], &power)) Py_RETURN_NONE;
  if (!tsrpy_small_is_float(x.dtype) || power.dtype != TSR_I64 || !tsrpy_small_is_alike(&x, &power)) Py_RETURN_NONE;
  for (int i = 0; i < x.count; i++) {
    const int by = bounded_power(power.of.i64[i]);
    if (x.dtype == TSR_F32) x.of.f32[i] = ldexpf(x.of.f32[i], by);
    else x.of.f64[i] = ldexp(x.of.f64[i], by);
  }
  return tsrpy_small_make(&x);
}

// few_frexp(x): a number from 0.5 to 1 and a power of 2 (int32) for each element.
static PyObject *few_frexp(PyObject *module, PyObject *object) {
  tsrpy_small x, powers;
  (void)module;
  if (!tsrpy_small_read(object, &x) || !tsrpy_small_is_float(x.dtype)) Py_RETURN_NONE;
  if (!tsrpy_small_begin(&powers, &x, TSR_I32, &x.shape)) Py_RETURN_NONE;
  for (int i = 0; i < x.count; i++) {
    int power = 0;
    if (x.dtype == TSR_F32) x.of.f32[i] = frexpf(x.of.f32[i], &power);
    else x.of.f64[i] = frexp(x.of.f64[i], &power);
    powers.of.i32[i] = isfinite(x.dtype == TSR_F32 ? (double)x.of.f32[i] : x.of.f64[i]) ? power : 0;
  }
  PyObject *parts = tsrpy_small_make(&x), *exponents = parts ? tsrpy_small_make(&powers) : NULL;
  PyObject *both = exponents ? PyTuple_Pack(2, parts, exponents) : NULL;
  Py_XDECREF(parts);
  Py_XDECREF(exponents);
  return both;
}

// few_spacing(x): the distance to the next number away from 0.
static PyObject *few_spacing(PyObject *module, PyObject *object) {
  tsrpy_small x;
  (void)module;
  if (!tsrpy_small_read(object, &x) || !tsrpy_small_is_float(x.dtype)) Py_RETURN_NONE;
  for (int i = 0; i < x.count; i++) {
    if (x.dtype == TSR_F32) x.of.f32[i] = nextafterf(x.of.f32[i], copysignf(INFINITY, x.of.f32[i])) - x.of.f32[i];
    else x.of.f64[i] = nextafter(x.of.f64[i], copysign((double)INFINITY, x.of.f64[i])) - x.of.f64[i];
  }
  return tsrpy_small_make(&x);
}

// few_packbits(x, is_little): all elements in row-major order as bits, eight in each uint8.
static PyObject *few_packbits(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  tsrpy_small x, packed;
  (void)module;
  if (count != 2 || !tsrpy_small_read(args[0], &x)) Py_RETURN_NONE;
  const tsr_shape shape = TSR_SHAPE((x.count + 7) / 8);
  if (!tsrpy_small_begin(&packed, &x, TSR_U8, &shape)) Py_RETURN_NONE;
  memset(packed.of.bytes_of, 0, (size_t)packed.count);
  for (int i = 0; i < x.count; i++) {
    double number = 0;
    if (!tsrpy_bits_float(x.dtype, x.of.bytes_of + (size_t)i * x.bytes, &number)) Py_RETURN_NONE;
    const int bit = args[1] == Py_True ? i % 8 : 7 - i % 8;
    if (number != 0) packed.of.bytes_of[i / 8] |= (unsigned char)(1u << bit);
  }
  return tsrpy_small_make(&packed);
}

// --- Orders by several keys ------------------------------------------------------------------------------------------

enum { KEY_COUNT = 8 };

// Lists of one length.
typedef struct key_set {
  int count;
  tsrpy_small keys[KEY_COUNT];
} key_set;

// A matrix has a key in each row.
static bool read_rows(PyObject *object, key_set *out) {
  tsrpy_small m;
  if (!tsrpy_small_read(object, &m) || m.shape.rank != 2 || m.shape.dims[0] > KEY_COUNT) return false;
  const tsr_shape row = TSR_SHAPE(m.shape.dims[1]);
  out->count = (int)m.shape.dims[0];
  for (int i = 0; i < out->count; i++) {
    tsrpy_small *key = &out->keys[i];
    if (!tsrpy_small_begin(key, &m, m.dtype, &row)) return false;
    memcpy(key->of.bytes_of, m.of.bytes_of + (size_t)(i * key->count) * m.bytes, (size_t)key->count * m.bytes);
  }
  return true;
}

static bool read_keys(PyObject *object, key_set *out) {
  if (tsrpy_is_array(object)) return read_rows(object, out);
  const bool is_list = PyList_Check(object);
  if (!is_list && !PyTuple_Check(object)) return false;
  const Py_ssize_t count = is_list ? PyList_Size(object) : PyTuple_Size(object);
  if (count < 1 || count > KEY_COUNT) return false;
  out->count = (int)count;
  for (int i = 0; i < out->count; i++) {
    PyObject *key = is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i);
    if (!tsrpy_small_read(key, &out->keys[i]) || out->keys[i].shape.rank != 1) return false;
    if (!tsrpy_small_is_alike(&out->keys[0], &out->keys[i])) return false;
  }
  return true;
}

// Below, at or above 0: element a comes before b, is equal, or comes behind it. NaN comes last.
static int compare_floats(double a, double b) { return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b); }

static bool is_comparable(tsr_dtype dtype) {
  return tsrpy_small_is_float(dtype) || dtype == TSR_I64 || dtype == TSR_I32 || dtype == TSR_BOOL;
}

static int compare_at(const tsrpy_small *key, int a, int b) {
  switch (key->dtype) {
    case TSR_F32:
      return compare_floats((double)key->of.f32[a], (double)key->of.f32[b]);
    case TSR_F64:
      return compare_floats(key->of.f64[a], key->of.f64[b]);
    case TSR_I64:
      return (key->of.i64[a] > key->of.i64[b]) - (key->of.i64[a] < key->of.i64[b]);
    case TSR_I32:
      return (key->of.i32[a] > key->of.i32[b]) - (key->of.i32[a] < key->of.i32[b]);
    default:
      return key->of.bytes_of[a] - key->of.bytes_of[b];
  }
}

// Whether element a stands behind b: by the last key, else by the one before it, and so on.
static bool is_behind(const key_set *set, int a, int b) {
  for (int k = set->count; k-- > 0;) {
    const int order = compare_at(&set->keys[k], a, b);
    if (order != 0) return order > 0;
  }
  return false;
}

// few_lexsort(keys): the order of lists by several keys, as int32; the last key counts first.
static PyObject *few_lexsort(PyObject *module, PyObject *object) {
  key_set set;
  tsrpy_small order;
  (void)module;
  if (!read_keys(object, &set)) Py_RETURN_NONE;
  for (int k = 0; k < set.count; k++) {
    if (!is_comparable(set.keys[k].dtype)) Py_RETURN_NONE;
  }
  if (!tsrpy_small_begin(&order, &set.keys[0], TSR_I32, &set.keys[0].shape)) Py_RETURN_NONE;
  for (int i = 0; i < order.count; i++) {  // insertion sort, which keeps equal elements in their order
    int at = i;
    for (; at > 0 && is_behind(&set, order.of.i32[at - 1], i); at--) order.of.i32[at] = order.of.i32[at - 1];
    order.of.i32[at] = i;
  }
  return tsrpy_small_make(&order);
}

static PyMethodDef functions[] = {
    {"few_ldexp", (PyCFunction)(void (*)(void))few_ldexp, METH_FASTCALL, NULL},
    {"few_frexp", few_frexp, METH_O, NULL},
    {"few_spacing", few_spacing, METH_O, NULL},
    {"few_packbits", (PyCFunction)(void (*)(void))few_packbits, METH_FASTCALL, NULL},
    {"few_lexsort", few_lexsort, METH_O, NULL},
    {0},
};

bool tsrpy_few_parts_init(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
