// SPDX-License-Identifier: MIT
// Operators on few elements that are not element-wise (reductions, scans, sorting, products, joining, choosing), computed by the host at once. few.c does the same for
// element-wise operators.
//
// Sums and products combine the elements in order, in their own dtype, as kernels do with so few elements, so the results have the same bits.
#include <math.h>
#include <string.h>

#include "small.h"

// --- Reading and making ------------------------------------------------------------------------------------------------

bool tsrpy_small_read(PyObject *object, tsrpy_small *out) {
  if (!object || !tsrpy_is_array(object) || tsrpy_is_recording()) return false;
  tsrpy_array *array = (tsrpy_array *)object;
  int64_t count = tsrpy_count_of(object);
  out->dtype = tsrpy_dtype_of(object);
  out->bytes = tsr_dtype_bytes(out->dtype);
  if (count == 0 || count > TSRPY_FEW || out->bytes == 0) return false;
  out->device = tsrpy_device_of(object);
  out->shape = tsrpy_shape_of(object);
  out->count = (int)count;
  if (!tsrpy_has_bits(array)) return tsr_peek_all(array->tensor, &out->of, (size_t)count * out->bytes);
  tsrpy_bits_read(array, &out->of, (size_t)count * out->bytes);
  return true;
}

bool tsrpy_small_is_alike(const tsrpy_small *a, const tsrpy_small *b) {
  return a->device == b->device && a->shape.rank == b->shape.rank &&
         memcmp(a->shape.dims, b->shape.dims, (size_t)a->shape.rank * sizeof a->shape.dims[0]) == 0;
}

PyObject *tsrpy_small_make(const tsrpy_small *s) {
  unsigned char element[TSRPY_ELEMENT_BYTES] = {0};
  if (s->shape.rank > 0) return tsrpy_few_take(s->device, s->dtype, &s->shape, s->count, &s->of);
  memcpy(element, &s->of, s->bytes);
  return tsrpy_number_take(s->device, s->dtype, element);
}

bool tsrpy_small_begin(tsrpy_small *out, const tsrpy_small *like, tsr_dtype dtype, const tsr_shape *shape) {
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] <= 0 || shape->dims[i] > TSRPY_FEW) return false;
    count *= shape->dims[i];
    if (count > TSRPY_FEW) return false;
  }
  out->device = like->device;
  out->dtype = dtype;
  out->bytes = tsr_dtype_bytes(dtype);
  out->shape = *shape;
  out->count = (int)count;
  return true;
}

static void copy(tsrpy_small *to, int at, const tsrpy_small *from, int place) {
  memcpy(to->of.bytes_of + (size_t)at * to->bytes, from->of.bytes_of + (size_t)place * from->bytes, to->bytes);
}

bool tsrpy_read_axis(PyObject *object, int rank, int otherwise, int *out_axis) {
  int overflow = 0;
  long axis = otherwise;
  if (object && !PyLong_Check(object)) return false;
  if (object) axis = PyLong_AsLongAndOverflow(object, &overflow);
  if (axis < 0) axis += rank;
  *out_axis = (int)axis;
  return !overflow && axis >= 0 && axis < rank;
}

static bool read_flag(PyObject *object, bool *out_flag) {
  *out_flag = object == Py_True;
  return !object || object == Py_True || object == Py_False;
}

// How the elements along an axis lie: `outer` times `size` times `inner`.
typedef struct line {
  int outer, size, inner;
} line;

static line line_of(const tsr_shape *shape, int axis) {
  line l = {1, (int)shape->dims[axis], 1};
  for (int i = 0; i < axis; i++) l.outer *= (int)shape->dims[i];
  for (int i = axis + 1; i < shape->rank; i++) l.inner *= (int)shape->dims[i];
  return l;
}

// --- Reductions --------------------------------------------------------------------------------------------------------

typedef enum reduction { SUM, MEAN, PROD, MAX, MIN, ANY, ALL, COUNT_NONZERO, ARGMAX, ARGMIN } reduction;

static bool is_more(const tsrpy_small *x, int a, int b) {
  switch (x->dtype) {
    case TSR_F32:
      return x->of.f32[a] > x->of.f32[b] || (isnan(x->of.f32[a]) && !isnan(x->of.f32[b]));
    case TSR_F64:
      return x->of.f64[a] > x->of.f64[b] || (isnan(x->of.f64[a]) && !isnan(x->of.f64[b]));
    case TSR_I64:
      return x->of.i64[a] > x->of.i64[b];
    default:
      return x->of.bytes_of[a] > x->of.bytes_of[b];  // bool
  }
}

static bool is_nan(const tsrpy_small *x, int a) {
  return x->dtype == TSR_F32 ? isnan(x->of.f32[a]) : x->dtype == TSR_F64 && isnan(x->of.f64[a]);
}

// The place of the first largest or smallest of the elements, or of the first NaN.
static int extreme_of(reduction how, const tsrpy_small *x, int first, int step, int count) {
  int best = first;
  for (int i = 1; i < count && !is_nan(x, best); i++) {
    int at = first + i * step;
    bool is_better = how == MAX || how == ARGMAX ? is_more(x, at, best) : is_more(x, best, at) || is_nan(x, at);
    if (is_better) best = at;
  }
  return best;
}

#define TSRPY_FOLD(field, type)                       \
  do {                                                \
    type made = how == PROD ? 1 : 0;                  \
    for (int i = 0; i < count; i++) {                 \
      type next = x->of.field[first + i * step];      \
      made = how == PROD ? made * next : made + next; \
    }                                                 \
    if (how == MEAN) made = made / (type)count;       \
    out->of.field[at] = made;                         \
  } while (0)

static void fold_whole(reduction how, const tsrpy_small *x, int first, int step, int count, tsrpy_small *out, int at) {
  uint64_t made = (uint64_t)x->of.i64[first];
  for (int i = 1; i < count; i++) {
    uint64_t next = (uint64_t)x->of.i64[first + i * step];
    made = how == PROD ? made * next : made + next;
  }
  out->of.i64[at] = (int64_t)made;
}

static bool is_true(const tsrpy_small *x, int at) {
  return x->dtype == TSR_F32   ? x->of.f32[at] != 0
         : x->dtype == TSR_F64 ? x->of.f64[at] != 0
         : x->dtype == TSR_I64 ? x->of.i64[at] != 0
                               : x->of.bytes_of[at] != 0;
}

static bool truth_of(reduction how, const tsrpy_small *x, int first, int step, int count) {
  for (int i = 0; i < count; i++) {
    if (is_true(x, first + i * step) == (how == ANY)) return how == ANY;
  }
  return how == ALL;
}

static int64_t count_true(const tsrpy_small *x, int first, int step, int count) {
  int64_t found = 0;
  for (int i = 0; i < count; i++) found += is_true(x, first + i * step);
  return found;
}

static void reduce_line(reduction how, const tsrpy_small *x, int first, int step, int count, tsrpy_small *out, int at) {
  switch (how) {
    case MAX:
    case MIN:
      copy(out, at, x, extreme_of(how, x, first, step, count));
      break;
    case ARGMAX:
    case ARGMIN:
      out->of.i32[at] = (extreme_of(how, x, first, step, count) - first) / step;
      break;
    case ANY:
    case ALL:
      out->of.bytes_of[at] = truth_of(how, x, first, step, count);
      break;
    case COUNT_NONZERO:
      out->of.i64[at] = count_true(x, first, step, count);
      break;
    default:
      if (x->dtype == TSR_F32) TSRPY_FOLD(f32, float);
      else if (x->dtype == TSR_F64) TSRPY_FOLD(f64, double);
      else fold_whole(how, x, first, step, count, out, at);
  }
}
#undef TSRPY_FOLD

static bool is_reduced_here(reduction how, tsr_dtype dtype) {
  bool is_float = dtype == TSR_F32 || dtype == TSR_F64;
  if (how == MEAN) return is_float;
  if (how == SUM || how == PROD) return is_float || dtype == TSR_I64;
  return is_float || dtype == TSR_I64 || dtype == TSR_BOOL;
}

static tsr_dtype reduced_dtype(reduction how, tsr_dtype dtype) {
  if (how == ARGMAX || how == ARGMIN) return TSR_I32;
  if (how == COUNT_NONZERO) return TSR_I64;
  return how == ANY || how == ALL ? TSR_BOOL : dtype;
}

// x, axes, keep_dims: over one axis, or all of them.
static PyObject *reduce(reduction how, PyObject *const *given) {
  tsrpy_small x, out;
  bool keeps = false;
  int axis = 0;
  if (!tsrpy_small_read(given[0], &x) || !is_reduced_here(how, x.dtype) || !read_flag(given[2], &keeps)) return NULL;
  bool is_all = !given[1] || given[1] == Py_None;
  if (!is_all && !tsrpy_read_axis(given[1], x.shape.rank, 0, &axis)) return NULL;
  tsr_shape shape = {0};
  for (int i = 0; i < x.shape.rank; i++) {
    if (keeps || (!is_all && i != axis)) shape.dims[shape.rank++] = is_all || i == axis ? 1 : x.shape.dims[i];
  }
  if (!tsrpy_small_begin(&out, &x, reduced_dtype(how, x.dtype), &shape)) return NULL;
  line l = is_all ? (line){1, x.count, 1} : line_of(&x.shape, axis);
  for (int o = 0; o < l.outer; o++) {
    for (int i = 0; i < l.inner; i++)
      reduce_line(how, &x, o * l.size * l.inner + i, l.inner, l.size, &out, o * l.inner + i);
  }
  return tsrpy_small_make(&out);
}

#define TSRPY_X(name, how) \
  static PyObject *small_##name(PyObject *const *given) { return reduce(how, given); }
TSRPY_X(sum, SUM)
TSRPY_X(mean, MEAN)
TSRPY_X(prod, PROD)
TSRPY_X(max, MAX)
TSRPY_X(min, MIN)
TSRPY_X(any, ANY)
TSRPY_X(all, ALL)
TSRPY_X(argmax, ARGMAX)
TSRPY_X(argmin, ARGMIN)
TSRPY_X(count_nonzero, COUNT_NONZERO)
#undef TSRPY_X

bool tsrpy_lacks_nan(PyObject *object) {
  tsrpy_small x;
  if (!tsrpy_small_read(object, &x) || (x.dtype != TSR_F32 && x.dtype != TSR_F64)) return false;
  for (int i = 0; i < x.count; i++) {
    if (is_nan(&x, i)) return false;
  }
  return true;
}

// --- Scans and sorting ---------------------------------------------------------------------------------------------------

// x, axis: sums or products of the elements up to each.
static PyObject *scan(reduction how, PyObject *const *given) {
  tsrpy_small x;
  int axis = 0;
  if (!tsrpy_small_read(given[0], &x) || !is_reduced_here(how, x.dtype) ||
      !tsrpy_read_axis(given[1], x.shape.rank, -1, &axis))
    return NULL;
  line l = line_of(&x.shape, axis);
  for (int at = 0; at < x.count; at++) {
    int before = at - l.inner;
    if (at / l.inner % l.size == 0) {  // a sum of several begins with 0, which makes 0 of -0
      if (l.size == 1) continue;
      if (how == SUM && x.dtype == TSR_F32) x.of.f32[at] += 0.0f;
      if (how == SUM && x.dtype == TSR_F64) x.of.f64[at] += 0.0;
      continue;
    }
    if (x.dtype == TSR_F32)
      x.of.f32[at] = how == PROD ? x.of.f32[before] * x.of.f32[at] : x.of.f32[before] + x.of.f32[at];
    else if (x.dtype == TSR_F64)
      x.of.f64[at] = how == PROD ? x.of.f64[before] * x.of.f64[at] : x.of.f64[before] + x.of.f64[at];
    else {
      uint64_t left = (uint64_t)x.of.i64[before], right = (uint64_t)x.of.i64[at];
      x.of.i64[at] = (int64_t)(how == PROD ? left * right : left + right);
    }
  }
  return tsrpy_small_make(&x);
}

static PyObject *small_cumsum(PyObject *const *given) { return scan(SUM, given); }
static PyObject *small_cumprod(PyObject *const *given) { return scan(PROD, given); }

// Puts the places of a line into order. Equal elements stay in theirs; NaN comes last.
static void order_line(const tsrpy_small *x, int first, int step, int count, int *places) {
  for (int i = 0; i < count; i++) {
    int at = i;
    for (; at > 0 && is_more(x, places[at - 1], first + i * step); at--) places[at] = places[at - 1];
    places[at] = first + i * step;
  }
}

// x, axis, descending.
static PyObject *order(bool gives_indices, PyObject *const *given) {
  tsrpy_small x, out;
  bool is_down = false;
  int axis = 0, places[TSRPY_FEW];
  if (!tsrpy_small_read(given[0], &x) || !is_reduced_here(MAX, x.dtype) || !read_flag(given[2], &is_down) || is_down)
    return NULL;
  if (!tsrpy_read_axis(given[1], x.shape.rank, -1, &axis)) return NULL;
  if (!tsrpy_small_begin(&out, &x, gives_indices ? TSR_I32 : x.dtype, &x.shape)) return NULL;
  line l = line_of(&x.shape, axis);
  for (int o = 0; o < l.outer; o++) {
    for (int i = 0; i < l.inner; i++) {
      int first = o * l.size * l.inner + i;
      order_line(&x, first, l.inner, l.size, places);
      for (int k = 0; k < l.size; k++) {
        if (gives_indices) out.of.i32[first + k * l.inner] = (places[k] - first) / l.inner;
        else copy(&out, first + k * l.inner, &x, places[k]);
      }
    }
  }
  return tsrpy_small_make(&out);
}

static PyObject *small_sort(PyObject *const *given) { return order(false, given); }
static PyObject *small_argsort(PyObject *const *given) { return order(true, given); }

// --- Products ------------------------------------------------------------------------------------------------------------

// One sum of products, of a row of a and a column of b. Kernels add the products of two matrices with fused multiply-adds, other products without.
#define TSRPY_SUM_PRODUCTS(field, type, fused)                                     \
  do {                                                                             \
    type sum = 0;                                                                  \
    for (int k = 0; k < inner; k++) {                                              \
      type left = a.of.field[row * inner + k], right = b.of.field[k * cols + col]; \
      sum = are_matrices ? fused(left, right, sum) : sum + left * right;           \
    }                                                                              \
    out.of.field[row * cols + col] = sum;                                          \
  } while (0)

// a, b: matmul of lists and matrices.
static PyObject *small_matmul(PyObject *const *given) {
  tsrpy_small a, b, out;
  if (!tsrpy_small_read(given[0], &a) || !tsrpy_small_read(given[1], &b)) return NULL;
  if (a.dtype != b.dtype || a.device != b.device || (a.dtype != TSR_F32 && a.dtype != TSR_F64)) return NULL;
  const int a_rank = a.shape.rank, b_rank = b.shape.rank;
  if (a_rank < 1 || a_rank > 2 || b_rank < 1 || b_rank > 2) return NULL;
  const int rows = a_rank == 2 ? (int)a.shape.dims[0] : 1, inner = (int)a.shape.dims[a_rank - 1];
  const int cols = b_rank == 2 ? (int)b.shape.dims[1] : 1;
  const bool are_matrices = rows > 1 && cols > 1;
  tsr_shape shape = {0};
  if (a_rank == 2) shape.dims[shape.rank++] = rows;
  if (b_rank == 2) shape.dims[shape.rank++] = cols;
  if (b.shape.dims[0] != inner || !tsrpy_small_begin(&out, &a, a.dtype, &shape)) return NULL;
  for (int row = 0; row < rows; row++) {
    for (int col = 0; col < cols; col++) {
      if (a.dtype == TSR_F32) TSRPY_SUM_PRODUCTS(f32, float, fmaf);
      else TSRPY_SUM_PRODUCTS(f64, double, fma);
    }
  }
  return tsrpy_small_make(&out);
}
#undef TSRPY_SUM_PRODUCTS

// a, b: the dot product of two lists.
static PyObject *small_dot(PyObject *const *given) {
  bool are_lists = given[0] && tsrpy_is_array(given[0]) && tsrpy_rank_of(given[0]) == 1;
  return are_lists ? small_matmul(given) : NULL;
}

static PyObject *small_outer(PyObject *const *given) {
  tsrpy_small a, b, out;
  if (!tsrpy_small_read(given[0], &a) || !tsrpy_small_read(given[1], &b) || a.dtype != b.dtype || a.device != b.device)
    return NULL;
  const tsr_shape shape = {.rank = 2, .dims = {a.count, b.count}};
  if (a.shape.rank != 1 || b.shape.rank != 1 || !is_reduced_here(SUM, a.dtype)) return NULL;
  if (!tsrpy_small_begin(&out, &a, a.dtype, &shape)) return NULL;
  for (int i = 0; i < out.count; i++) {
    int left = i / b.count, right = i % b.count;
    if (a.dtype == TSR_F32) out.of.f32[i] = a.of.f32[left] * b.of.f32[right];
    else if (a.dtype == TSR_F64) out.of.f64[i] = a.of.f64[left] * b.of.f64[right];
    else out.of.i64[i] = (int64_t)((uint64_t)a.of.i64[left] * (uint64_t)b.of.i64[right]);
  }
  return tsrpy_small_make(&out);
}

// --- Joining and choosing --------------------------------------------------------------------------------------------------

// Appends the lines of `part` along the axis to those of a shape that has room for them from `at` on.
static void put_part(tsrpy_small *out, int axis, int at, const tsrpy_small *part, int part_size) {
  line l = line_of(&out->shape, axis);
  int row = part_size * l.inner;
  for (int o = 0; o < l.outer; o++) {
    memcpy(out->of.bytes_of + (size_t)(o * l.size + at) * (size_t)l.inner * out->bytes,
           part->of.bytes_of + (size_t)(o * row) * out->bytes, (size_t)row * out->bytes);
  }
}

static bool are_alike(const tsrpy_small *a, const tsrpy_small *b, int but_axis) {
  bool is_alike = a->dtype == b->dtype && a->device == b->device && a->shape.rank == b->shape.rank;
  for (int i = 0; is_alike && i < a->shape.rank; i++) is_alike = i == but_axis || a->shape.dims[i] == b->shape.dims[i];
  return is_alike;
}

// tensors, axis. A new axis: stack.
static PyObject *join(bool is_new_axis, PyObject *const *given) {
  enum { MOST = 8 };
  tsrpy_small parts[MOST], out;
  bool is_list = given[0] && PyList_Check(given[0]);
  if (!is_list && !(given[0] && PyTuple_Check(given[0]))) return NULL;
  Py_ssize_t count = is_list ? PyList_Size(given[0]) : PyTuple_Size(given[0]);
  if (count < 1 || count > MOST) return NULL;
  int axis = 0, size = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!tsrpy_small_read(is_list ? PyList_GetItem(given[0], i) : PyTuple_GetItem(given[0], i), &parts[i])) return NULL;
    if (i == 0 && !tsrpy_read_axis(given[1], parts[0].shape.rank + is_new_axis, 0, &axis)) return NULL;
    if (!are_alike(&parts[0], &parts[i], is_new_axis ? -1 : axis)) return NULL;
    size += is_new_axis ? 1 : (int)parts[i].shape.dims[axis];
  }
  tsr_shape shape = parts[0].shape;
  if (is_new_axis && shape.rank == TSR_MAX_RANK) return NULL;
  if (is_new_axis) {
    memmove(shape.dims + axis + 1, shape.dims + axis, (size_t)(shape.rank++ - axis) * sizeof shape.dims[0]);
  }
  shape.dims[axis] = size;
  if (!tsrpy_small_begin(&out, &parts[0], parts[0].dtype, &shape)) return NULL;
  for (int i = 0, at = 0; i < count; i++) {
    int part_size = is_new_axis ? 1 : (int)parts[i].shape.dims[axis];
    put_part(&out, axis, at, &parts[i], part_size);
    at += part_size;
  }
  return tsrpy_small_make(&out);
}

static PyObject *small_concat(PyObject *const *given) { return join(false, given); }
static PyObject *small_stack(PyObject *const *given) { return join(true, given); }

// The elements of x along the axis at these indices.
static PyObject *choose(const tsrpy_small *x, int axis, const int *indices, int count) {
  tsrpy_small out;
  tsr_shape shape = x->shape;
  shape.dims[axis] = count;
  if (!tsrpy_small_begin(&out, x, x->dtype, &shape)) return NULL;
  line l = line_of(&x->shape, axis);
  for (int at = 0; at < out.count; at++) {
    int o = at / (count * l.inner), k = at / l.inner % count;
    copy(&out, at, x, (o * l.size + indices[k]) * l.inner + at % l.inner);
  }
  return tsrpy_small_make(&out);
}

// x, times, axis: each element several times, one after the other.
static PyObject *small_repeat(PyObject *const *given) {
  tsrpy_small x;
  int axis = 0, indices[TSRPY_FEW];
  if (!tsrpy_small_read(given[0], &x) || !given[1] || !PyLong_Check(given[1])) return NULL;
  int overflow = 0;
  long times = PyLong_AsLongAndOverflow(given[1], &overflow);
  if (overflow || times < 1 || times > TSRPY_FEW || !tsrpy_read_axis(given[2], x.shape.rank, 0, &axis)) return NULL;
  if (x.shape.dims[axis] * times > TSRPY_FEW) return NULL;
  for (int i = 0; i < x.shape.dims[axis] * times; i++) indices[i] = i / (int)times;
  return choose(&x, axis, indices, (int)(x.shape.dims[axis] * times));
}

// Reads indices, all of them at least 0 and below `size`. False: they are left to the operator.
static bool read_indices(PyObject *object, const tsrpy_small *x, int64_t size, tsrpy_small *out, int *indices) {
  if (!tsrpy_small_read(object, out) || out->device != x->device || (out->dtype != TSR_I64 && out->dtype != TSR_I32))
    return false;
  bool is_right = true;
  for (int i = 0; i < out->count && is_right; i++) {
    int64_t index = out->dtype == TSR_I64 ? out->of.i64[i] : out->of.i32[i];
    is_right = index >= 0 && index < size;
    indices[i] = (int)index;
  }
  return is_right;
}

// x, axis, indices.
static PyObject *small_index_select(PyObject *const *given) {
  tsrpy_small x, wanted;
  int axis = 0, indices[TSRPY_FEW];
  if (!tsrpy_small_read(given[0], &x) || !tsrpy_read_axis(given[1], x.shape.rank, 0, &axis)) return NULL;
  if (!read_indices(given[2], &x, x.shape.dims[axis], &wanted, indices) || wanted.shape.rank != 1) return NULL;
  return choose(&x, axis, indices, wanted.count);
}

// x, indices: of the elements in row-major order.
static PyObject *small_take(PyObject *const *given) {
  tsrpy_small x, wanted, out;
  int indices[TSRPY_FEW];
  if (!tsrpy_small_read(given[0], &x) || !read_indices(given[1], &x, x.count, &wanted, indices)) return NULL;
  if (!tsrpy_small_begin(&out, &x, x.dtype, &wanted.shape)) return NULL;
  for (int i = 0; i < out.count; i++) copy(&out, i, &x, indices[i]);
  return tsrpy_small_make(&out);
}

// x, axis, indices: arrays that are alike but along the axis.
static PyObject *small_gather(PyObject *const *given) {
  tsrpy_small x, wanted, out;
  int axis = 0, indices[TSRPY_FEW];
  if (!tsrpy_small_read(given[0], &x) || !tsrpy_read_axis(given[1], x.shape.rank, 0, &axis)) return NULL;
  if (!read_indices(given[2], &x, x.shape.dims[axis], &wanted, indices) || wanted.shape.rank != x.shape.rank)
    return NULL;
  for (int i = 0; i < x.shape.rank; i++) {
    if (i != axis && x.shape.dims[i] != wanted.shape.dims[i]) return NULL;
  }
  if (!tsrpy_small_begin(&out, &x, x.dtype, &wanted.shape)) return NULL;
  line l = line_of(&x.shape, axis), own = line_of(&wanted.shape, axis);
  for (int i = 0; i < out.count; i++) {
    copy(&out, i, &x, (i / (own.size * own.inner) * l.size + indices[i]) * l.inner + i % l.inner);
  }
  return tsrpy_small_make(&out);
}

// x, dtype.
static PyObject *small_cast(PyObject *const *given) {
  tsr_dtype dtype;
  if (!given[0] || !tsrpy_is_array(given[0]) || tsrpy_is_recording()) return NULL;
  if (!given[1] || !tsrpy_dtype_parse(given[1], &dtype)) return NULL;
  return dtype == tsrpy_dtype_of(given[0]) ? NULL : tsrpy_few_copy(given[0], dtype, NULL);
}

// A branch of where: an Array, or a Python number beside one that has the dtype.
static bool read_branch(PyObject *object, const tsrpy_small *like, tsrpy_small *out) {
  if (object && tsrpy_is_array(object)) return tsrpy_small_read(object, out);
  unsigned char bits[TSRPY_ELEMENT_BYTES];
  const tsr_shape none = {0};
  if (!like || !object || !tsrpy_is_number(object)) return false;
  if (tsrpy_number_dtype_beside(object, like->dtype) != like->dtype || !tsrpy_number_bits(like->dtype, object, bits))
    return false;
  tsrpy_small_begin(out, like, like->dtype, &none);
  memcpy(&out->of, bits, out->bytes);
  return true;
}

static bool is_shaped(const tsrpy_small *x, const tsr_shape *shape) {
  return x->shape.rank == shape->rank &&
         memcmp(x->shape.dims, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]) == 0;
}

// condition, a, b: of the condition's shape, or numbers.
static PyObject *small_where(PyObject *const *given) {
  tsrpy_small is_a, a, b, out;
  if (!tsrpy_small_read(given[0], &is_a) || is_a.dtype != TSR_BOOL) return NULL;
  bool is_number = given[1] && !tsrpy_is_array(given[1]);
  if (is_number && (!read_branch(given[2], NULL, &b) || !read_branch(given[1], &b, &a))) return NULL;
  if (!is_number && (!read_branch(given[1], NULL, &a) || !read_branch(given[2], &a, &b))) return NULL;
  if (a.dtype != b.dtype || a.device != b.device || a.device != is_a.device) return NULL;
  if ((a.shape.rank > 0 && !is_shaped(&a, &is_a.shape)) || (b.shape.rank > 0 && !is_shaped(&b, &is_a.shape)))
    return NULL;
  if (!tsrpy_small_begin(&out, &a, a.dtype, &is_a.shape)) return NULL;
  for (int i = 0; i < out.count; i++) {
    const tsrpy_small *from = is_a.of.bytes_of[i] ? &a : &b;
    copy(&out, i, from, from->shape.rank > 0 ? i : 0);
  }
  return tsrpy_small_make(&out);
}

// --- Sets and places -------------------------------------------------------------------------------------------------------

// A float of Python beside floats.
static bool read_float(PyObject *number, const tsrpy_small *like, tsrpy_small *out) {
  const tsr_shape none = {0};
  if (!number || !PyFloat_Check(number) || (like->dtype != TSR_F32 && like->dtype != TSR_F64)) return false;
  tsrpy_small_begin(out, like, like->dtype, &none);
  if (like->dtype == TSR_F32) out->of.f32[0] = (float)PyFloat_AsDouble(number);
  else out->of.f64[0] = PyFloat_AsDouble(number);
  return true;
}

// sorted, values, right: in front of equal elements, or behind them.
static PyObject *small_searchsorted(PyObject *const *given) {
  tsrpy_small all, x, out;
  bool is_right = false;
  if (!tsrpy_small_read(given[0], &all) || !read_flag(given[2], &is_right)) return NULL;
  if (!tsrpy_small_read(given[1], &x) && !read_float(given[1], &all, &x)) return NULL;
  if (all.dtype != x.dtype || all.device != x.device || all.shape.rank != 1 || !is_reduced_here(SUM, x.dtype))
    return NULL;
  if (all.count + x.count > TSRPY_FEW || !tsrpy_small_begin(&out, &x, TSR_I32, &x.shape)) return NULL;
  int first = all.count;  // the values stand behind the sorted ones, where both are compared
  memcpy(all.of.bytes_of + (size_t)first * x.bytes, &x.of, (size_t)x.count * x.bytes);
  for (int i = 0; i < x.count; i++) {
    int at = 0;
    while (at < first && (is_right ? !is_more(&all, at, first + i) : is_more(&all, first + i, at))) at++;
    out.of.i32[i] = at;
  }
  return tsrpy_small_make(&out);
}

// x: its different elements, in order; for each element which of them it is; how often each occurs.
static PyObject *small_unique(PyObject *const *given) {
  tsrpy_small x, values, inverse, counts;
  int places[TSRPY_FEW], found = 0;
  if (!tsrpy_small_read(given[0], &x) || !is_reduced_here(MAX, x.dtype)) return NULL;
  const tsr_shape flat = {.rank = 1, .dims = {x.count}};
  if (!tsrpy_small_begin(&values, &x, x.dtype, &flat) || !tsrpy_small_begin(&inverse, &x, TSR_I32, &x.shape))
    return NULL;
  if (!tsrpy_small_begin(&counts, &x, TSR_I32, &flat)) return NULL;
  order_line(&x, 0, 1, x.count, places);
  for (int i = 0; i < x.count; i++) {
    if (i == 0 || is_more(&x, places[i], places[i - 1])) {
      copy(&values, found, &x, places[i]);
      counts.of.i32[found++] = 0;
    }
    counts.of.i32[found - 1]++;
    inverse.of.i32[places[i]] = found - 1;
  }
  values.shape.dims[0] = counts.shape.dims[0] = found;
  values.count = counts.count = found;
  PyObject *parts[3] = {tsrpy_small_make(&values), tsrpy_small_make(&inverse), tsrpy_small_make(&counts)}, *all = NULL;
  if (parts[0] && parts[1] && parts[2]) all = PyTuple_Pack(3, parts[0], parts[1], parts[2]);
  for (int i = 0; i < 3; i++) Py_XDECREF(parts[i]);
  return all;
}

// x: the indices of the elements that are not 0, as rows.
static PyObject *small_nonzero(PyObject *const *given) {
  tsrpy_small x, out;
  int places[TSRPY_FEW], found = 0;
  if (!tsrpy_small_read(given[0], &x) || !is_reduced_here(MAX, x.dtype) || x.shape.rank == 0) return NULL;
  for (int i = 0; i < x.count; i++) {
    if (is_true(&x, i)) places[found++] = i;
  }
  const tsr_shape shape = {.rank = 2, .dims = {found, x.shape.rank}};
  if (!tsrpy_small_begin(&out, &x, TSR_I32, &shape)) return NULL;
  for (int i = 0; i < found; i++) {
    for (int axis = x.shape.rank, rest = places[i]; axis-- > 0; rest /= (int)x.shape.dims[axis]) {
      out.of.i32[i * x.shape.rank + axis] = rest % (int)x.shape.dims[axis];
    }
  }
  return tsrpy_small_make(&out);
}

// A size or a place; false: it is none, or large.
static bool read_size(PyObject *object, int otherwise, int *out_size) {
  int overflow = 0;
  long size = otherwise;
  if (object && !PyLong_Check(object)) return false;
  if (object) size = PyLong_AsLongAndOverflow(object, &overflow);
  *out_size = (int)size;
  return !overflow && size >= -TSRPY_FEW && size <= TSRPY_FEW;
}

// rows, cols, diagonal, dtype, device: the current device alone.
static PyObject *small_eye(PyObject *const *given) {
  tsrpy_small out, like;
  int rows, cols, diagonal;
  tsr_dtype dtype = TSR_F32;
  if (tsrpy_is_recording() || (given[4] && given[4] != Py_None) || !given[0] || !given[1]) return NULL;
  if (!read_size(given[0], 0, &rows) || !read_size(given[1], 0, &cols) || !read_size(given[2], 0, &diagonal))
    return NULL;
  if (given[3] && !tsrpy_dtype_parse(given[3], &dtype)) return NULL;
  like.device = tsrpy_device_current();
  const tsr_shape shape = {.rank = 2, .dims = {rows, cols}};
  unsigned char one[TSRPY_ELEMENT_BYTES];
  if (!like.device || tsr_dtype_bytes(dtype) == 0 || !tsrpy_small_begin(&out, &like, dtype, &shape)) return NULL;
  if (!tsrpy_check(tsr_convert(dtype, one, TSR_F64, &(double){1}, 1))) return NULL;
  memset(out.of.bytes_of, 0, (size_t)out.count * out.bytes);
  for (int i = 0; i < rows; i++) {
    bool is_inside = i + diagonal >= 0 && i + diagonal < cols;
    if (is_inside) memcpy(out.of.bytes_of + (size_t)(i * cols + i + diagonal) * out.bytes, one, out.bytes);
  }
  return tsrpy_small_make(&out);
}

// x, n, axis: each element minus the one before it, once.
static PyObject *small_diff(PyObject *const *given) {
  tsrpy_small x, out;
  int axis = 0, times = 0;
  if (!tsrpy_small_read(given[0], &x) || !read_size(given[1], 1, &times) || times != 1) return NULL;
  if (!is_reduced_here(SUM, x.dtype) || !tsrpy_read_axis(given[2], x.shape.rank, -1, &axis)) return NULL;
  tsr_shape shape = x.shape;
  shape.dims[axis]--;
  if (!tsrpy_small_begin(&out, &x, x.dtype, &shape)) return NULL;
  line l = line_of(&shape, axis);
  for (int i = 0; i < out.count; i++) {
    int before = i + i / (l.size * l.inner) * l.inner, at = before + l.inner;
    if (x.dtype == TSR_F32) out.of.f32[i] = x.of.f32[at] - x.of.f32[before];
    else if (x.dtype == TSR_F64) out.of.f64[i] = x.of.f64[at] - x.of.f64[before];
    else out.of.i64[i] = (int64_t)((uint64_t)x.of.i64[at] - (uint64_t)x.of.i64[before]);
  }
  return tsrpy_small_make(&out);
}

// x, weights, length: how often each number occurs.
static PyObject *small_bincount(PyObject *const *given) {
  tsrpy_small x, out;
  int indices[TSRPY_FEW], length = 0;
  if (!given[0] || (given[1] && given[1] != Py_None) || !given[2] || !read_size(given[2], 0, &length)) return NULL;
  const tsr_shape shape = {.rank = 1, .dims = {length}};
  if (!tsrpy_small_read(given[0], &x) || x.shape.rank != 1) return NULL;
  if (!tsrpy_small_begin(&out, &x, TSR_I32, &shape) || !read_indices(given[0], &x, length, &x, indices)) return NULL;
  memset(out.of.i32, 0, (size_t)length * sizeof out.of.i32[0]);
  for (int i = 0; i < x.count; i++) out.of.i32[indices[i]]++;
  return tsrpy_small_make(&out);
}

// x, offset: the matrix with a list on one of its diagonals.
static PyObject *small_diag(PyObject *const *given) {
  tsrpy_small x, out;
  int offset = 0;
  if (!read_size(given[1], 0, &offset) || !tsrpy_small_read(given[0], &x) || x.shape.rank != 1) return NULL;
  int size = x.count + (offset < 0 ? -offset : offset), first = offset > 0 ? offset : -offset * size;
  const tsr_shape shape = {.rank = 2, .dims = {size, size}};
  if (!tsrpy_small_begin(&out, &x, x.dtype, &shape)) return NULL;
  memset(out.of.bytes_of, 0, (size_t)out.count * out.bytes);
  for (int i = 0; i < x.count; i++) copy(&out, first + i * (size + 1), &x, i);
  return tsrpy_small_make(&out);
}

// --- The operators ---------------------------------------------------------------------------------------------------------

static const tsrpy_small_entry own_operators[] = {
    {"sum", small_sum},
    {"mean", small_mean},
    {"prod", small_prod},
    {"max", small_max},
    {"min", small_min},
    {"any", small_any},
    {"all", small_all},
    {"argmax", small_argmax},
    {"argmin", small_argmin},
    {"count_nonzero", small_count_nonzero},
    {"cumsum", small_cumsum},
    {"cumprod", small_cumprod},
    {"sort", small_sort},
    {"argsort", small_argsort},
    {"matmul", small_matmul},
    {"concat", small_concat},
    {"stack", small_stack},
    {"index_select", small_index_select},
    {"repeat", small_repeat},
    {"where", small_where},
    {"take", small_take},
    {"gather", small_gather},
    {"cast", small_cast},
    {"searchsorted", small_searchsorted},
    {"unique", small_unique},
    {"nonzero", small_nonzero},
    {"bincount", small_bincount},
    {"diag", small_diag},
    {"dot", small_dot},
    {"outer", small_outer},
    {"eye", small_eye},
    {"diff", small_diff},
    {NULL, NULL},
};

tsrpy_small_run *tsrpy_small_find(const char *name) {
  const tsrpy_small_entry *const tables[] = {own_operators, tsrpy_matrix_operators, tsrpy_line_operators,
                                             tsrpy_view_operators};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    for (const tsrpy_small_entry *entry = tables[i]; entry->name; entry++) {
      if (strcmp(entry->name, name) == 0) return entry->run;
    }
  }
  return NULL;
}
