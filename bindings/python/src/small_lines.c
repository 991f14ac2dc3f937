// SPDX-License-Identifier: MIT
// Operators on few elements, computed by the host at once with the same bits as kernels: pad, interp, trace, norm, convolve, and matrix products by einsum.
#include <math.h>

#include "small.h"

// A tuple or list of one whole number from 0 on. False: it is something else.
static bool read_only_size(PyObject *object, int *out_size) {
  int overflow = 0;
  PyObject *item = NULL;
  if (object && PyTuple_Check(object) && PyTuple_Size(object) == 1) item = PyTuple_GetItem(object, 0);
  if (object && PyList_Check(object) && PyList_Size(object) == 1) item = PyList_GetItem(object, 0);
  if (!item || !PyLong_Check(item)) return false;
  const long size = PyLong_AsLongAndOverflow(item, &overflow);
  *out_size = (int)size;
  return !overflow && size >= 0 && size <= TSRPY_FEW;
}

// x, before, after, value: of a list.
static PyObject *small_pad(PyObject *const *given) {
  tsrpy_small x, out;
  int before, after;
  unsigned char value[TSRPY_ELEMENT_BYTES] = {0};
  if (!read_only_size(given[1], &before) || !read_only_size(given[2], &after) || !tsrpy_small_read(given[0], &x))
    return NULL;
  const tsr_shape shape = {.rank = 1, .dims = {before + x.count + after}};
  if (x.shape.rank != 1 || !tsrpy_small_begin(&out, &x, x.dtype, &shape)) return NULL;
  if (given[3] && (!tsrpy_small_is_float(x.dtype) || !tsrpy_number_bits(x.dtype, given[3], value))) {
    // Of integers only 0, which needs no rounding.
    int overflow = 0;
    if (PyErr_Occurred() || !PyLong_Check(given[3]) || PyLong_AsLongAndOverflow(given[3], &overflow) != 0) return NULL;
  }
  for (int i = 0; i < out.count; i++) memcpy(out.of.bytes_of + (size_t)i * x.bytes, value, x.bytes);
  memcpy(out.of.bytes_of + (size_t)before * x.bytes, x.of.bytes_of, (size_t)x.count * x.bytes);
  return tsrpy_small_make(&out);
}

// The height at x of the lines between points (xs[i], ys[i]), as src/ops/interp.c and kernels/fn_lerp.tk have it.
#define TSRPY_INTERP(type, name)                                                                    \
  static type name(const type *xs, const type *ys, int count, type x) {                             \
    int above = 0;                                                                                  \
    while (above < count && (xs[above] <= x || isnan(x))) above++;                                  \
    int before = above - 1 > count - 2 ? count - 2 : above - 1;                                     \
    if (before < 0) before = 0;                                                                     \
    const int after = count > 1 ? before + 1 : before;                                              \
    if (x >= xs[after]) return ys[after];                                                           \
    if (x <= xs[before]) return ys[before];                                                         \
    const type a = ys[before], b = ys[after], weight = (x - xs[before]) / (xs[after] - xs[before]); \
    return weight < (type)0.5 ? a + weight * (b - a) : b - (b - a) * (1 - weight);                  \
  }
TSRPY_INTERP(float, interp_f32)
TSRPY_INTERP(double, interp_f64)
#undef TSRPY_INTERP

// x, xs, ys.
static PyObject *small_interp(PyObject *const *given) {
  tsrpy_small x, xs, ys;
  if (!tsrpy_small_read(given[0], &x) || !tsrpy_small_read(given[1], &xs) || !tsrpy_small_read(given[2], &ys))
    return NULL;
  if (!tsrpy_small_is_float(x.dtype) || x.dtype != xs.dtype || x.dtype != ys.dtype) return NULL;
  if (x.device != xs.device || x.device != ys.device) return NULL;
  if (xs.shape.rank != 1 || ys.shape.rank != 1 || xs.count != ys.count) return NULL;
  for (int i = 0; i < x.count; i++) {
    if (x.dtype == TSR_F32) x.of.f32[i] = interp_f32(xs.of.f32, ys.of.f32, xs.count, x.of.f32[i]);
    else x.of.f64[i] = interp_f64(xs.of.f64, ys.of.f64, xs.count, x.of.f64[i]);
  }
  return tsrpy_small_make(&x);
}

// x, offset, axis_a, axis_b: of one matrix.
static PyObject *small_trace(PyObject *const *given) {
  tsrpy_small x, out;
  int a, b;
  const tsr_shape none = {0};
  if (!tsrpy_small_read(given[0], &x) || x.shape.rank != 2 || (!tsrpy_small_is_float(x.dtype) && x.dtype != TSR_I64))
    return NULL;
  if (!tsrpy_read_axis(given[2], 2, 0, &a) || !tsrpy_read_axis(given[3], 2, 1, &b) || a != 0 || b != 1) return NULL;
  if (given[1] && !(PyLong_Check(given[1]) && PyObject_Not(given[1]) == 1)) return NULL;
  if (!tsrpy_small_begin(&out, &x, x.dtype, &none)) return NULL;
  const int cols = (int)x.shape.dims[1], count = x.shape.dims[0] < cols ? (int)x.shape.dims[0] : cols;
  memset(&out.of, 0, TSRPY_ELEMENT_BYTES);
  for (int i = 0, at = 0; i < count; i++, at += cols + 1) {
    if (x.dtype == TSR_F32) out.of.f32[0] += x.of.f32[at];
    else if (x.dtype == TSR_F64) out.of.f64[0] += x.of.f64[at];
    else out.of.i64[0] = (int64_t)((uint64_t)out.of.i64[0] + (uint64_t)x.of.i64[at]);
  }
  return tsrpy_small_make(&out);
}

// x, p, axes, keep_dims: the square root of the sum of all squares.
static PyObject *small_norm(PyObject *const *given) {
  tsrpy_small x, out;
  const tsr_shape none = {0};
  const bool is_plain = (!given[2] || given[2] == Py_None) && (!given[3] || given[3] == Py_False);
  if (!is_plain || !given[1] || !PyFloat_Check(given[1]) || PyFloat_AsDouble(given[1]) != 2) return NULL;
  if (!tsrpy_small_read(given[0], &x) || !tsrpy_small_is_float(x.dtype) || !tsrpy_small_begin(&out, &x, x.dtype, &none))
    return NULL;
  float single = 0;
  double real = 0;
  for (int i = 0; i < x.count; i++) {
    if (x.dtype == TSR_F32) single = single + x.of.f32[i] * x.of.f32[i];
    else real = real + x.of.f64[i] * x.of.f64[i];
  }
  if (x.dtype == TSR_F32) out.of.f32[0] = sqrtf(single);
  else out.of.f64[0] = sqrt(real);
  return tsrpy_small_make(&out);
}

// Whether an equation as "ij,jk" or "ij,jk->ik" is the matrix product: the last axis of the first and the first of the second are summed over, and the others stay in order.
static bool is_product(const char *text) {
  const char *comma = strchr(text, ','), *arrow = strstr(text, "->"), *end = arrow ? arrow : text + strlen(text);
  if (!comma || comma > end) return false;
  const ptrdiff_t first = comma - text, second = end - comma - 1;
  if (first < 1 || first > 2 || second < 1 || second > 2 || text[first - 1] != comma[1]) return false;
  const char left = first == 2 ? text[0] : 0, right = second == 2 ? comma[2] : 0, inner = comma[1];
  const char kept[3] = {left ? left : right, left ? right : 0, 0};
  for (const char *at = text; at < end; at++) {
    if (at != comma && !(*at >= 'a' && *at <= 'z')) return false;
  }
  if (left == inner || right == inner || (left && left == right)) return false;
  return arrow ? strcmp(arrow + 2, kept) == 0 : !left || !right || left < right;
}

// equation, tensors.
static PyObject *small_einsum(PyObject *const *given) {
  static tsrpy_small_run *product;
  if (!product) product = tsrpy_small_find("matmul");
  if (!given[0] || !PyUnicode_Check(given[0]) || !given[1] || !PyTuple_Check(given[1]) || PyTuple_Size(given[1]) != 2)
    return NULL;
  const char *text = PyUnicode_AsUTF8AndSize(given[0], NULL);
  if (!text || !is_product(text)) return NULL;
  const char *comma = strchr(text, ',');
  const char *end = strstr(text, "->");
  PyObject *const both[2] = {PyTuple_GetItem(given[1], 0), PyTuple_GetItem(given[1], 1)};
  if (!tsrpy_is_array(both[0]) || !tsrpy_is_array(both[1])) return NULL;
  const ptrdiff_t second = (end ? end : text + strlen(text)) - comma - 1;
  return tsrpy_rank_of(both[0]) == comma - text && tsrpy_rank_of(both[1]) == second ? product(both) : NULL;
}

PyObject *tsrpy_few_heaviside(PyObject *a, PyObject *b) {
  tsrpy_small x, other;
  if (!tsrpy_small_read(a, &x) || !tsrpy_small_read(b, &other) || !tsrpy_small_is_float(x.dtype)) return NULL;
  if (x.dtype != other.dtype || !tsrpy_small_is_alike(&x, &other)) return NULL;
  for (int i = 0; i < x.count; i++) {
    const double value = x.dtype == TSR_F32 ? (double)x.of.f32[i] : x.of.f64[i];
    if (isnan(value)) continue;
    if (x.dtype == TSR_F32) x.of.f32[i] = value == 0 ? other.of.f32[i] : value > 0;
    else x.of.f64[i] = value == 0 ? other.of.f64[i] : value > 0;
  }
  return tsrpy_small_make(&x);
}

// Which of all shifts of two lists a mode takes: `count` from `first` on. False: there is no such mode. is_swapped: a correlation whose first list is the shorter one,
// which is that of the lists exchanged, backwards; so "same" drops one element more at the front where it cannot drop as many at both ends.
static bool read_mode(PyObject *mode, int longer, int shorter, bool is_swapped, int *out_first, int *out_count) {
  const int around = shorter - 1;
  if (PyUnicode_CompareWithASCIIString(mode, "valid") == 0) {
    *out_first = around;
    *out_count = longer - around;
  } else if (PyUnicode_CompareWithASCIIString(mode, "same") == 0) {
    *out_first = (around + is_swapped) / 2;
    *out_count = longer;
  } else {
    *out_first = 0;
    *out_count = longer + around;
    return PyUnicode_CompareWithASCIIString(mode, "full") == 0;
  }
  return true;
}

static void reverse(tsrpy_small *x) {
  const tsrpy_small from = *x;
  for (int i = 0; i < x->count; i++) {
    memcpy(x->of.bytes_of + (size_t)i * x->bytes, from.of.bytes_of + (size_t)(x->count - 1 - i) * x->bytes, x->bytes);
  }
}

PyObject *tsrpy_few_convolve(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  tsrpy_small a, v, out;
  int first, shifts;
  (void)module;
  if (count != 4 || !tsrpy_small_read(args[0], &a) || !tsrpy_small_read(args[1], &v)) Py_RETURN_NONE;
  if (!tsrpy_small_is_float(a.dtype) || a.dtype != v.dtype || a.device != v.device || a.shape.rank != 1 ||
      v.shape.rank != 1)
    Py_RETURN_NONE;
  if (args[3] == Py_True) reverse(&v);
  const bool is_swapped = args[3] == Py_True && a.count < v.count;
  const tsrpy_small *large = a.count >= v.count ? &a : &v, *few = large == &a ? &v : &a;
  if (!PyUnicode_Check(args[2]) || !read_mode(args[2], large->count, few->count, is_swapped, &first, &shifts))
    Py_RETURN_NONE;
  const tsr_shape shape = {.rank = 1, .dims = {shifts}};
  if (!tsrpy_small_begin(&out, &a, a.dtype, &shape)) Py_RETURN_NONE;
  for (int at = 0; at < shifts; at++) {  // kernels go through the reversed shorter list, with fused multiply-adds
    float single = 0;
    double real = 0;
    for (int k = few->count; k-- > 0;) {
      const int place = first + at - k;
      const bool is_inside = place >= 0 && place < large->count;
      if (a.dtype == TSR_F32) single = fmaf(is_inside ? large->of.f32[place] : 0, few->of.f32[k], single);
      else real = fma(is_inside ? large->of.f64[place] : 0, few->of.f64[k], real);
    }
    if (a.dtype == TSR_F32) out.of.f32[at] = single;
    else out.of.f64[at] = real;
  }
  return tsrpy_small_make(&out);
}

const tsrpy_small_entry tsrpy_line_operators[] = {
    {"pad", small_pad},   {"interp", small_interp}, {"trace", small_trace},
    {"norm", small_norm}, {"einsum", small_einsum}, {NULL, NULL},
};
