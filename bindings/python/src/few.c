// SPDX-License-Identifier: MIT
// + - * /, comparisons and sums of elements and of arrays with few elements, computed by the host at once: recording and launching take many times as long.
//
// These are the operators whose result has one right rounding, so that it is the one a device gives; sums are added in double precision. Arrays that are
// not computed yet, or not on the host, are recorded as all others.
#include <string.h>

#include "binding.h"

enum { FEW = 32 };

// Numbers of one dtype.
typedef union numbers {
  float f32[FEW];
  double f64[FEW];
  int64_t i64[FEW];
  unsigned char bools[FEW];
} numbers;

// One side of an operator, in the dtype of the array that leads it.
typedef struct operand {
  numbers of;
  tsr_shape shape;
  int step;  // 0: one number stands beside each of the other side
} operand;

static bool is_computed_here(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64 || dtype == TSR_I64; }

// --- Operands ----------------------------------------------------------------------------------------------------------

// A Python number that takes the dtype without becoming another one. False: there is none.
static bool read_number(PyObject *object, tsr_dtype dtype, operand *out) {
  if (PyBool_Check(object) || !tsrpy_is_number(object)) return false;
  if (dtype == TSR_I64) {
    int overflow = 0;
    if (!PyLong_Check(object)) return false;
    out->of.i64[0] = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  }
  double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) {  // an int that no float holds
    PyErr_Clear();
    return false;
  }
  if (dtype == TSR_F32) out->of.f32[0] = (float)value;
  else out->of.f64[0] = value;
  return true;
}

// The elements of a tensor, if they are few and there.
static bool read_tensor(const tsr_tensor *tensor, operand *out) {
  int64_t count = tsr_tensor_count(tensor);
  if (count == 0 || count > FEW) return false;
  out->shape = tsr_tensor_shape(tensor);
  out->step = out->shape.rank > 0;
  return tsr_peek_all(tensor, &out->of, (size_t)count * tsr_dtype_bytes(tsr_tensor_dtype(tensor)));
}

static bool read_operand(PyObject *object, tsr_device *device, tsr_dtype dtype, operand *out) {
  out->shape.rank = 0;
  out->step = 0;
  if (!tsrpy_is_array(object)) return read_number(object, dtype, out);
  const tsrpy_array *array = (const tsrpy_array *)object;
  if (array->tensor) {
    return tsr_tensor_dtype(array->tensor) == dtype && tsr_tensor_device(array->tensor) == device &&
           read_tensor(array->tensor, out);
  }
  memcpy(&out->of, array->bits, sizeof array->bits);
  return array->dtype == dtype && array->device == device;
}

static bool has_shape(const operand *a, const tsr_shape *shape) {
  return a->shape.rank == shape->rank &&
         memcmp(a->shape.dims, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]) == 0;
}

// The shape of both operands together. False: they have none.
static bool join_shapes(const operand *a, const operand *b, tsr_shape *out_shape) {
  const tsr_shape *wide = a->shape.rank >= b->shape.rank ? &a->shape : &b->shape;
  const tsr_shape *other = wide == &a->shape ? &b->shape : &a->shape;
  *out_shape = *wide;
  for (int i = 0; i < other->rank; i++) {
    int64_t *size = &out_shape->dims[wide->rank - other->rank + i];
    if (*size != other->dims[i] && *size != 1 && other->dims[i] != 1) return false;
    if (*size == 1) *size = other->dims[i];
  }
  return true;
}

// Repeats the elements along the axes of `shape` that the operand lacks. Those that stand for all need no repeating.
static void broadcast(operand *o, const tsr_shape *shape, int count, size_t bytes) {
  if (!o->step || has_shape(o, shape)) return;
  numbers all;
  for (int i = 0; i < count; i++) {
    size_t from = (size_t)tsrpy_broadcast_place(o->shape.dims, o->shape.rank, shape, i);
    memcpy((char *)&all + (size_t)i * bytes, (const char *)&o->of + from * bytes, bytes);
  }
  o->of = all;
}

// Both sides of an operator, of which one is an Array.
typedef struct pair {
  operand a, b;
  tsr_device *device;
  tsr_dtype dtype;
  tsr_shape shape;  // of the result
  int count;
} pair;

// False: they are not for here.
static bool read_pair(PyObject *left, PyObject *right, pair *out) {
  const tsrpy_array *lead = (const tsrpy_array *)(tsrpy_is_array(left) ? left : right);
  if (tsrpy_is_recording() || !tsrpy_is_array((PyObject *)lead)) return false;
  out->dtype = lead->tensor ? tsr_tensor_dtype(lead->tensor) : lead->dtype;
  out->device = lead->tensor ? tsr_tensor_device(lead->tensor) : lead->device;
  if (!is_computed_here(out->dtype) || !read_operand(left, out->device, out->dtype, &out->a) ||
      !read_operand(right, out->device, out->dtype, &out->b)) {
    return false;
  }
  if (!join_shapes(&out->a, &out->b, &out->shape)) return false;
  int64_t count = 1;
  for (int i = 0; i < out->shape.rank; i++) count *= out->shape.dims[i];
  if (count > FEW) return false;
  out->count = (int)count;
  size_t bytes = tsr_dtype_bytes(out->dtype);
  broadcast(&out->a, &out->shape, out->count, bytes);
  broadcast(&out->b, &out->shape, out->count, bytes);
  return true;
}

// The results as an array of the shape of the operands.
static PyObject *take(const pair *p, tsr_dtype dtype, const numbers *results) {
  if (p->shape.rank == 0) return tsrpy_number_take(p->device, dtype, results);
  return tsrpy_array_take(
      tsr_from_data(p->device, dtype, p->shape, results, (size_t)p->count * tsr_dtype_bytes(dtype)));
}

// --- Operators -----------------------------------------------------------------------------------------------------------

#define TSRPY_EACH(to, field, sign) \
  for (int i = 0; i < p->count; i++) out->to[i] = p->a.of.field[i * p->a.step] sign p->b.of.field[i * p->b.step]

#define TSRPY_COMPUTE(field)       \
  switch (how) {                   \
    case TSRPY_ADD:                \
      TSRPY_EACH(field, field, +); \
      break;                       \
    case TSRPY_SUBTRACT:           \
      TSRPY_EACH(field, field, -); \
      break;                       \
    case TSRPY_MULTIPLY:           \
      TSRPY_EACH(field, field, *); \
      break;                       \
    default:                       \
      TSRPY_EACH(field, field, /); \
  }
static void compute_f32(tsrpy_arithmetic how, const pair *p, numbers *out) { TSRPY_COMPUTE(f32) }
static void compute_f64(tsrpy_arithmetic how, const pair *p, numbers *out) { TSRPY_COMPUTE(f64) }
#undef TSRPY_COMPUTE

// Integers wrap around, as on a device. False: their quotient is no integer.
static bool compute_i64(tsrpy_arithmetic how, const pair *p, numbers *out) {
  if (how == TSRPY_DIVIDE) return false;
  for (int i = 0; i < p->count; i++) {
    uint64_t left = (uint64_t)p->a.of.i64[i * p->a.step], right = (uint64_t)p->b.of.i64[i * p->b.step];
    uint64_t made = how == TSRPY_ADD ? left + right : how == TSRPY_SUBTRACT ? left - right : left * right;
    out->i64[i] = (int64_t)made;
  }
  return true;
}

#define TSRPY_ORDER(field)          \
  switch (how) {                    \
    case TSRPY_LESS:                \
      TSRPY_EACH(bools, field, <);  \
      break;                        \
    case TSRPY_LESS_OR_EQUAL:       \
      TSRPY_EACH(bools, field, <=); \
      break;                        \
    case TSRPY_EQUAL:               \
      TSRPY_EACH(bools, field, ==); \
      break;                        \
    case TSRPY_NOT_EQUAL:           \
      TSRPY_EACH(bools, field, !=); \
      break;                        \
    case TSRPY_GREATER:             \
      TSRPY_EACH(bools, field, >);  \
      break;                        \
    default:                        \
      TSRPY_EACH(bools, field, >=); \
  }
static void order_f32(tsrpy_arithmetic how, const pair *p, numbers *out) { TSRPY_ORDER(f32) }
static void order_f64(tsrpy_arithmetic how, const pair *p, numbers *out) { TSRPY_ORDER(f64) }
static void order_i64(tsrpy_arithmetic how, const pair *p, numbers *out){TSRPY_ORDER(i64)}
#undef TSRPY_ORDER
#undef TSRPY_EACH

PyObject *tsrpy_few_compute(tsrpy_arithmetic how, PyObject *left, PyObject *right) {
  pair p;
  numbers results;
  if (!read_pair(left, right, &p)) return NULL;
  results.i64[0] = 0;  // an element has 8 bytes, of which its dtype may use fewer
  if (how >= TSRPY_LESS) {
    (p.dtype == TSR_F32 ? order_f32 : p.dtype == TSR_F64 ? order_f64 : order_i64)(how, &p, &results);
    return take(&p, TSR_BOOL, &results);
  }
  if (p.dtype == TSR_I64) return compute_i64(how, &p, &results) ? take(&p, p.dtype, &results) : NULL;
  (p.dtype == TSR_F32 ? compute_f32 : compute_f64)(how, &p, &results);
  return take(&p, p.dtype, &results);
}

// --- Reductions ------------------------------------------------------------------------------------------------------------

static bool is_extreme(tsrpy_reduction how) { return how == TSRPY_MAX || how == TSRPY_MIN; }

// The largest or smallest of numbers; NaN if there is one.
#define TSRPY_EXTREME(field)                                                                       \
  for (int i = 1; i < count; i++) {                                                                \
    bool is_beyond = how == TSRPY_MAX ? of->field[i] > of->field[0] : of->field[i] < of->field[0]; \
    if (is_beyond || of->field[i] != of->field[i]) of->field[0] = of->field[i];                    \
    if (of->field[0] != of->field[0]) break;                                                       \
  }

static void reduce_f32(tsrpy_reduction how, numbers *of, int count) {
  double sum = 0;
  if (is_extreme(how)) {
    TSRPY_EXTREME(f32)
    return;
  }
  for (int i = 0; i < count; i++) sum += (double)of->f32[i];
  of->f32[0] = (float)(how == TSRPY_MEAN ? sum / count : sum);
}

static void reduce_f64(tsrpy_reduction how, numbers *of, int count) {
  double sum = 0;
  if (is_extreme(how)) {
    TSRPY_EXTREME(f64)
    return;
  }
  for (int i = 0; i < count; i++) sum += of->f64[i];
  of->f64[0] = how == TSRPY_MEAN ? sum / count : sum;
}

static void reduce_i64(tsrpy_reduction how, numbers *of, int count) {
  uint64_t sum = 0;
  if (is_extreme(how)) {
    TSRPY_EXTREME(i64)
    return;
  }
  for (int i = 0; i < count; i++) sum += (uint64_t)of->i64[i];
  of->i64[0] = (int64_t)sum;
}
#undef TSRPY_EXTREME

static void reduce_bool(tsrpy_reduction how, numbers *of, int count) {
  bool any = false, all = true;
  for (int i = 0; i < count; i++) {
    any = any || of->bools[i];
    all = all && of->bools[i];
  }
  memset(of, 0, sizeof of->i64[0]);
  of->bools[0] = how == TSRPY_ANY ? any : all;
}

PyObject *tsrpy_few_reduce(tsrpy_reduction how, tsr_tensor *x) {
  operand all;
  tsr_dtype dtype = tsr_tensor_dtype(x);
  bool is_truth = how == TSRPY_ANY || how == TSRPY_ALL;
  if (tsrpy_is_recording() || (is_truth ? dtype != TSR_BOOL : !is_computed_here(dtype))) return NULL;
  if ((dtype == TSR_I64 && how == TSRPY_MEAN) || !read_tensor(x, &all)) return NULL;
  int count = (int)tsr_tensor_count(x);
  if (is_truth) reduce_bool(how, &all.of, count);
  else (dtype == TSR_F32 ? reduce_f32 : dtype == TSR_F64 ? reduce_f64 : reduce_i64)(how, &all.of, count);
  return tsrpy_number_take(tsr_tensor_device(x), dtype, &all.of);
}
