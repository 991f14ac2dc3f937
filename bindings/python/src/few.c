// SPDX-License-Identifier: MIT
// Element-wise operators and sums of elements and of arrays with few elements, computed by the host at once: recording and launching take many times as long.
//
// These are operators with exactly rounded results, which are therefore the same as those of a kernel, and functions like exp, which the library offers with the
// results of its kernels (tsr_host_function). Sums are added in double precision. If an array is not computed yet, or not on the host, the operator is recorded as usual.
#include <string.h>
#include <tgmath.h>

#include "binding.h"

// Numbers of one dtype.
typedef union numbers {
  float f32[TSRPY_FEW];
  double f64[TSRPY_FEW];
  int64_t i64[TSRPY_FEW];
  unsigned char bools[TSRPY_FEW];
} numbers;

// One side of an operator, in the dtype of the array that leads it.
typedef struct operand {
  numbers of;
  tsr_shape shape;
  int step;  // 0: one number stands beside each of the other side
} operand;

static bool is_computed_here(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64 || dtype == TSR_I64; }

// --- Operands ----------------------------------------------------------------------------------------------------------

// Reads a Python number that the dtype holds without changing its value. False: it is no such number.
static bool read_number(PyObject *object, tsr_dtype dtype, operand *out) {
  if (dtype == TSR_BOOL || PyBool_Check(object) || !tsrpy_is_number(object)) return false;
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
  if (count == 0 || count > TSRPY_FEW) return false;
  out->shape = tsr_tensor_shape(tensor);
  out->step = out->shape.rank > 0;
  return tsr_peek_all(tensor, &out->of, (size_t)count * tsr_dtype_bytes(tsr_tensor_dtype(tensor)));
}

// The elements that an Array holds. Unlike a tensor it may hold more than are computed here.
static bool read_held(const tsrpy_array *array, operand *out) {
  int64_t count = tsrpy_count_of_shape(&array->shape);
  if (count > TSRPY_FEW) return false;
  out->shape.rank = array->shape.rank;
  for (int i = 0; i < array->shape.rank; i++) out->shape.dims[i] = array->shape.dims[i];
  out->step = array->shape.rank > 0;
  tsrpy_bits_read(array, &out->of, out->step ? (size_t)count * tsr_dtype_bytes(array->dtype) : TSRPY_ELEMENT_BYTES);
  return true;
}

static bool read_operand(PyObject *object, tsr_device *device, tsr_dtype dtype, operand *out) {
  out->shape.rank = 0;
  out->step = 0;
  if (!tsrpy_is_array(object)) return read_number(object, dtype, out);
  tsrpy_array *array = (tsrpy_array *)object;
  if (!tsrpy_has_bits(array)) {
    return tsr_tensor_dtype(array->tensor) == dtype && tsr_tensor_device(array->tensor) == device &&
           read_tensor(array->tensor, out);
  }
  return array->dtype == dtype && array->device == device && read_held(array, out);
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

// Both sides of an operator, of which one is an Array. An operator of one array has no b.
typedef struct pair {
  operand a, b;
  tsr_device *device;
  tsr_dtype dtype;
  tsr_shape shape;  // of the result
  int count;
} pair;

// The Array whose dtype and device the operator has. False: there is none, or nothing is computed now.
static bool read_lead(PyObject *object, pair *out) {
  if (tsrpy_is_recording() || !tsrpy_is_array(object)) return false;
  const tsrpy_array *lead = (const tsrpy_array *)object;
  out->dtype = lead->tensor ? tsr_tensor_dtype(lead->tensor) : lead->dtype;
  out->device = lead->tensor ? tsr_tensor_device(lead->tensor) : lead->device;
  return true;
}

static bool read_one(PyObject *x, pair *out) {
  if (!read_operand(x, out->device, out->dtype, &out->a)) return false;
  out->b.step = 0;  // TSRPY_MAKE reads a b of 0
  out->b.of.i64[0] = 0;
  out->shape = out->a.shape;
  out->count = (int)tsrpy_count_of_shape(&out->shape);
  return true;
}

// False: they are not for here.
static bool read_pair(PyObject *left, PyObject *right, pair *out) {
  if (!read_operand(left, out->device, out->dtype, &out->a) || !read_operand(right, out->device, out->dtype, &out->b)) {
    return false;
  }
  if (!join_shapes(&out->a, &out->b, &out->shape)) return false;
  int64_t count = 1;
  for (int i = 0; i < out->shape.rank; i++) count *= out->shape.dims[i];
  if (count > TSRPY_FEW) return false;
  out->count = (int)count;
  size_t bytes = tsr_dtype_bytes(out->dtype);
  broadcast(&out->a, &out->shape, out->count, bytes);
  broadcast(&out->b, &out->shape, out->count, bytes);
  return true;
}

// The results as an array of the shape of the operands.
static PyObject *take(const pair *p, tsr_dtype dtype, const numbers *results) {
  if (p->shape.rank == 0) return tsrpy_number_take(p->device, dtype, results);
  return tsrpy_few_take(p->device, dtype, &p->shape, p->count, results);
}

// --- Functions -----------------------------------------------------------------------------------------------------------

// What an operator computes of a number `a` and, if it takes two, `b`. One C function for each dtype: TSRPY_MAKE names them. Integers wrap around, as on a
// device, so they are computed without a sign.
#define TSRPY_MAKE(name, field, type, to, expression)                                \
  static void name##_##field(const pair *p, numbers *out) {                          \
    for (int i = 0; i < p->count; i++) {                                             \
      const type a = p->a.of.field[i * p->a.step], b = p->b.of.field[i * p->b.step]; \
      (void)a, (void)b;                                                              \
      out->to[i] = expression;                                                       \
    }                                                                                \
  }
#define TSRPY_FLOATS(name, expression)          \
  TSRPY_MAKE(name, f32, float, f32, expression) \
  TSRPY_MAKE(name, f64, double, f64, expression)
#define TSRPY_FLOAT_TRUTHS(name, expression)      \
  TSRPY_MAKE(name, f32, float, bools, expression) \
  TSRPY_MAKE(name, f64, double, bools, expression)
#define TSRPY_INTEGERS(name, expression)       TSRPY_MAKE(name, i64, int64_t, i64, expression)
#define TSRPY_INTEGER_TRUTHS(name, expression) TSRPY_MAKE(name, i64, int64_t, bools, expression)
#define TSRPY_BOOLS(name, expression)          TSRPY_MAKE(name, bools, unsigned char, bools, expression)

static int64_t wrapped(uint64_t bits) { return (int64_t)bits; }

// The remainder with the sign of b; exact, so that its rounding is the one a kernel has.
#define TSRPY_FLOOR_MOD(type, name)                           \
  static type name(type a, type b) {                          \
    if (b == 0 || isnan(b) || !isfinite(a)) return (type)NAN; \
    type rest = fmod(a, b);                                   \
    if (rest == 0) return b < 0 ? (type)-0.0 : (type)0;       \
    return (rest < 0) != (b < 0) ? rest + b : rest;           \
  }
TSRPY_FLOOR_MOD(float, floor_mod_of_f32)
TSRPY_FLOOR_MOD(double, floor_mod_of_f64)
#undef TSRPY_FLOOR_MOD

// a % b in C, but 0 where C has no result.
static int64_t rest_of(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

static int64_t floor_div_of(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapped(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t floor_mod_of(int64_t a, int64_t b) {
  int64_t rest = rest_of(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Quotients that a float holds to the last unit. Divided in double precision, none is rounded up to a whole number.
static bool has_plain_quotients(const pair *p) {
  bool is_plain = true;
  for (int i = 0; i < p->count && is_plain && p->dtype == TSR_F32; i++) {
    float a = p->a.of.f32[i * p->a.step], b = p->b.of.f32[i * p->b.step];
    is_plain = isfinite(a) && isfinite(b) && b != 0 && fabs((double)a / (double)b) < 0x1p23;
  }
  return is_plain;
}

static float floor_div_of_f32(float a, float b) {
  float quotient = (float)floor((double)a / (double)b);
  return quotient == 0 ? ((a < 0) != (b < 0) ? -0.0f : 0.0f) : quotient;
}

static int64_t magnitude_of(int64_t a) { return a < 0 ? wrapped(0 - (uint64_t)a) : a; }

static int64_t gcd_of(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = rest_of(a, b);
    a = b;
    b = rest;
  }
  return magnitude_of(a);
}

static int64_t lcm_of(int64_t a, int64_t b) {
  if (a == 0) return 0;
  int64_t divisor = gcd_of(a, b);
  return magnitude_of(wrapped((uint64_t)(a / divisor) * (uint64_t)b));
}

// The number of bits of |a| that are 1; it does not depend on how wide the dtype is.
static int64_t bit_count_of(int64_t a) {
  int64_t count = 0;
  for (uint64_t bits = (uint64_t)magnitude_of(a); bits != 0; bits &= bits - 1) count++;  // drops the lowest 1
  return count;
}

#define HAS_SIGN(x)   (signbit(x) && !isnan(x))
#define LARGER(a, b)  (isnan(a) || (a) > (b) ? (a) : (b))
#define SMALLER(a, b) (isnan(a) || (a) < (b) ? (a) : (b))

TSRPY_FLOATS(neg, -a)
TSRPY_INTEGERS(neg, wrapped(0 - (uint64_t)a))
TSRPY_FLOATS(abs, fabs(a))
TSRPY_INTEGERS(abs, magnitude_of(a))
TSRPY_FLOATS(sign, a > 0 ? 1 : a < 0 ? -1 : a)
TSRPY_INTEGERS(sign, (a > 0) - (a < 0))
TSRPY_FLOATS(square, a *a)
TSRPY_INTEGERS(square, wrapped((uint64_t)a *(uint64_t)a))
TSRPY_FLOATS(floor, floor(a))
TSRPY_FLOATS(ceil, ceil(a))
TSRPY_FLOATS(round, rint(a))
TSRPY_FLOATS(trunc, trunc(a))
TSRPY_FLOATS(reciprocal, 1 / a)
TSRPY_FLOATS(sqrt, sqrt(a))
TSRPY_FLOAT_TRUTHS(isnan, (bool)isnan(a))
TSRPY_FLOAT_TRUTHS(isinf, isinf(a) != 0)
TSRPY_FLOAT_TRUTHS(isfinite, isfinite(a) != 0)
TSRPY_FLOAT_TRUTHS(signbit, HAS_SIGN(a))
TSRPY_FLOAT_TRUTHS(logical_not, a == 0)
TSRPY_INTEGER_TRUTHS(logical_not, a == 0)
TSRPY_BOOLS(logical_not, !a)
TSRPY_INTEGERS(bitwise_not, ~a)
TSRPY_BOOLS(bitwise_not, !a)
TSRPY_INTEGERS(bit_count, bit_count_of(a))

TSRPY_FLOATS(add, a + b)
TSRPY_INTEGERS(add, wrapped((uint64_t)a + (uint64_t)b))
TSRPY_FLOATS(sub, a - b)
TSRPY_INTEGERS(sub, wrapped((uint64_t)a - (uint64_t)b))
TSRPY_FLOATS(mul, a *b)
TSRPY_INTEGERS(mul, wrapped((uint64_t)a *(uint64_t)b))
TSRPY_FLOATS(div, a / b)
TSRPY_FLOATS(maximum, LARGER(a, b))
TSRPY_INTEGERS(maximum, a > b ? a : b)
TSRPY_BOOLS(maximum, a | b)
TSRPY_FLOATS(minimum, SMALLER(a, b))
TSRPY_INTEGERS(minimum, a < b ? a : b)
TSRPY_BOOLS(minimum, a &b)
TSRPY_FLOATS(fmax, isnan(a) ? b : isnan(b) ? a : LARGER(a, b))
TSRPY_FLOATS(fmin, isnan(a) ? b : isnan(b) ? a : SMALLER(a, b))
TSRPY_FLOATS(copysign, HAS_SIGN(b) ? -fabs(a) : fabs(a))
TSRPY_FLOATS(nextafter, nextafter(a, b))
TSRPY_MAKE(mod, f32, float, f32, floor_mod_of_f32(a, b))
TSRPY_MAKE(mod, f64, double, f64, floor_mod_of_f64(a, b))
TSRPY_INTEGERS(mod, floor_mod_of(a, b))
TSRPY_MAKE(fmod, f32, float, f32, copysign(floor_mod_of_f32(fabs(a), fabs(b)), a < 0 ? -1.0f : 1.0f))
TSRPY_MAKE(fmod, f64, double, f64, copysign(floor_mod_of_f64(fabs(a), fabs(b)), a < 0 ? -1.0 : 1.0))
TSRPY_INTEGERS(fmod, rest_of(a, b))
TSRPY_MAKE(floor_div, f32, float, f32, floor_div_of_f32(a, b))
TSRPY_INTEGERS(floor_div, floor_div_of(a, b))
TSRPY_INTEGERS(gcd, gcd_of(a, b))
TSRPY_INTEGERS(lcm, lcm_of(a, b))
TSRPY_INTEGERS(bitwise_and, a &b)
TSRPY_BOOLS(bitwise_and, a &b)
TSRPY_INTEGERS(bitwise_or, a | b)
TSRPY_BOOLS(bitwise_or, a | b)
TSRPY_INTEGERS(bitwise_xor, a ^ b)
TSRPY_BOOLS(bitwise_xor, a ^ b)
TSRPY_INTEGERS(shift_left, b >= 0 && b < 64 ? wrapped((uint64_t)a << b) : 0)
TSRPY_INTEGERS(shift_right, b >= 0 && b < 64 ? a >> b : a < 0 ? -1 : 0)
TSRPY_FLOAT_TRUTHS(logical_and, a != 0 && b != 0)
TSRPY_INTEGER_TRUTHS(logical_and, a != 0 && b != 0)
TSRPY_BOOLS(logical_and, a &b)
TSRPY_FLOAT_TRUTHS(logical_or, a != 0 || b != 0)
TSRPY_INTEGER_TRUTHS(logical_or, a != 0 || b != 0)
TSRPY_BOOLS(logical_or, a | b)
TSRPY_FLOAT_TRUTHS(logical_xor, (a != 0) != (b != 0))
TSRPY_INTEGER_TRUTHS(logical_xor, (a != 0) != (b != 0))
TSRPY_BOOLS(logical_xor, a ^ b)
#define TSRPY_COMPARISON(name, sign)   \
  TSRPY_FLOAT_TRUTHS(name, a sign b)   \
  TSRPY_INTEGER_TRUTHS(name, a sign b) \
  TSRPY_BOOLS(name, a sign b)
TSRPY_COMPARISON(eq, ==)
TSRPY_COMPARISON(ne, !=)
TSRPY_COMPARISON(lt, <)
TSRPY_COMPARISON(le, <=)
TSRPY_COMPARISON(gt, >)
TSRPY_COMPARISON(ge, >=)
#undef TSRPY_COMPARISON

// --- Operators -----------------------------------------------------------------------------------------------------------

typedef void few_run(const pair *p, numbers *out);

struct tsrpy_few {
  const char *name;                    // of the operator
  few_run *f32, *f64, *i64, *bools;    // NULL: the operator is recorded for this dtype
  bool (*may_compute)(const pair *p);  // whether these numbers are computed here; NULL: all are
  bool is_truth;                       // the result is bool
  bool is_of_library;  // f32 by tsr_device_host_function, or by a formula of such functions (formulas.c)
};

#define OF_FLOATS(as)   .name = #as, .f32 = as##_f32, .f64 = as##_f64
#define OF_NUMBERS(as)  OF_FLOATS(as), .i64 = as##_i64
#define OF_ALL(as)      OF_NUMBERS(as), .bools = as##_bools
#define OF_INTEGERS(as) .name = #as, .i64 = as##_i64
#define OF_BITS(as)     OF_INTEGERS(as), .bools = as##_bools
#define OF_LIBRARY(as)  .name = as, .is_of_library = true
static const struct tsrpy_few functions[] = {
    {OF_NUMBERS(neg)},
    {OF_NUMBERS(abs)},
    {OF_NUMBERS(sign)},
    {OF_NUMBERS(square)},
    {OF_FLOATS(floor)},
    {OF_FLOATS(ceil)},
    {OF_FLOATS(round)},
    {OF_FLOATS(trunc)},
    {OF_FLOATS(reciprocal)},
    {OF_FLOATS(sqrt)},
    {OF_FLOATS(isnan), .is_truth = true},
    {OF_FLOATS(isinf), .is_truth = true},
    {OF_FLOATS(isfinite), .is_truth = true},
    {OF_FLOATS(signbit), .is_truth = true},
    {OF_ALL(logical_not), .is_truth = true},
    {OF_BITS(bitwise_not)},
    {OF_INTEGERS(bit_count)},
    {OF_NUMBERS(add)},
    {OF_NUMBERS(sub)},
    {OF_NUMBERS(mul)},
    {OF_FLOATS(div)},
    {OF_ALL(maximum)},
    {OF_ALL(minimum)},
    {OF_FLOATS(fmax), .i64 = maximum_i64, .bools = maximum_bools},
    {OF_FLOATS(fmin), .i64 = minimum_i64, .bools = minimum_bools},
    {OF_FLOATS(copysign)},
    {OF_FLOATS(nextafter)},
    {OF_NUMBERS(mod)},
    {OF_NUMBERS(fmod)},
    {OF_INTEGERS(floor_div), .f32 = floor_div_f32, .may_compute = has_plain_quotients},
    {OF_INTEGERS(gcd)},
    {OF_INTEGERS(lcm)},
    {OF_BITS(bitwise_and)},
    {OF_BITS(bitwise_or)},
    {OF_BITS(bitwise_xor)},
    {OF_INTEGERS(shift_left)},
    {OF_INTEGERS(shift_right)},
    {OF_ALL(logical_and), .is_truth = true},
    {OF_ALL(logical_or), .is_truth = true},
    {OF_ALL(logical_xor), .is_truth = true},
    {OF_ALL(eq), .is_truth = true},
    {OF_ALL(ne), .is_truth = true},
    {OF_ALL(lt), .is_truth = true},
    {OF_ALL(le), .is_truth = true},
    {OF_ALL(gt), .is_truth = true},
    {OF_ALL(ge), .is_truth = true},
    {OF_LIBRARY("exp")},
    {OF_LIBRARY("exp2")},
    {OF_LIBRARY("expm1")},
    {OF_LIBRARY("log")},
    {OF_LIBRARY("log2")},
    {OF_LIBRARY("log10")},
    {OF_LIBRARY("log1p")},
    {OF_LIBRARY("sin")},
    {OF_LIBRARY("cos")},
    {OF_LIBRARY("tan")},
    {OF_LIBRARY("asin")},
    {OF_LIBRARY("acos")},
    {OF_LIBRARY("atan")},
    {OF_LIBRARY("atan2")},
    {OF_LIBRARY("sinh")},
    {OF_LIBRARY("cosh")},
    {OF_LIBRARY("tanh")},
    {OF_LIBRARY("erf")},
    {OF_LIBRARY("pow")},
    {OF_LIBRARY("asinh")},
    {OF_LIBRARY("acosh")},
    {OF_LIBRARY("atanh")},
    {OF_LIBRARY("cbrt")},
    {OF_LIBRARY("hypot")},
    {OF_LIBRARY("logaddexp")},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

const tsrpy_few *tsrpy_few_find(const char *name) {
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    if (strcmp(functions[i].name, name) == 0) return &functions[i];
  }
  return NULL;
}

static few_run *run_for(const tsrpy_few *few, tsr_dtype dtype) {
  switch (dtype) {
    case TSR_F32:
      return few->f32;
    case TSR_F64:
      return few->f64;
    case TSR_I64:
      return few->i64;
    case TSR_BOOL:
      return few->bools;
    default:
      return NULL;
  }
}

// Repeats a number that stands for all of `count`.
static void spread(operand *o, int count) {
  for (int i = 1; i < count && !o->step; i++) o->of.f32[i] = o->of.f32[0];
}

// Computes a function of the library. False: it has none for this device and dtype.
static bool run_of_library(const tsrpy_few *few, pair *p, bool has_two, numbers *out) {
  static struct {
    const tsr_device *device;  // a device that is closed, and another one at its address, have the same functions
    tsr_host_function run;
    tsrpy_formula *formula;
  } known[FUNCTION_COUNT];
  const ptrdiff_t at = few - functions;
  if (p->dtype != TSR_F32) return false;
  if (known[at].device != p->device) {
    known[at].run = tsr_device_host_function(p->device, few->name);
    known[at].formula = known[at].run ? NULL : tsrpy_formula_find(few->name);
    known[at].device = p->device;
  }
  if (!known[at].run && !known[at].formula) return false;
  spread(&p->a, p->count);
  if (has_two) spread(&p->b, p->count);
  if (known[at].formula) return known[at].formula(p->device, p->a.of.f32, p->b.of.f32, p->count, out->f32);
  known[at].run(out->f32, p->a.of.f32, p->b.of.f32, (uint32_t)p->count);
  return true;
}

PyObject *tsrpy_few_compute(const tsrpy_few *few, PyObject *left, PyObject *right) {
  pair p;
  numbers results;
  if (!read_lead(!right || tsrpy_is_array(left) ? left : right, &p)) return NULL;
  few_run *run = run_for(few, p.dtype);
  if (!run && !few->is_of_library) return NULL;
  if (!(right ? read_pair(left, right, &p) : read_one(left, &p))) return NULL;
  if (few->may_compute && !few->may_compute(&p)) return NULL;
  results.i64[0] = 0;  // an element has 8 bytes, of which its dtype may use fewer
  if (run) run(&p, &results);
  else if (!run_of_library(few, &p, right != NULL, &results)) return NULL;
  return take(&p, few->is_truth ? TSR_BOOL : p.dtype, &results);
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

PyObject *tsrpy_few_reduce(tsrpy_reduction how, PyObject *x) {
  pair p;
  bool is_truth = how == TSRPY_ANY || how == TSRPY_ALL;
  if (!read_lead(x, &p) || (is_truth ? p.dtype != TSR_BOOL : !is_computed_here(p.dtype))) return NULL;
  if ((p.dtype == TSR_I64 && how == TSRPY_MEAN) || !read_one(x, &p)) return NULL;
  if (is_truth) reduce_bool(how, &p.a.of, p.count);
  else (p.dtype == TSR_F32 ? reduce_f32 : p.dtype == TSR_F64 ? reduce_f64 : reduce_i64)(how, &p.a.of, p.count);
  return tsrpy_number_take(p.device, p.dtype, &p.a.of);
}
