// SPDX-License-Identifier: MIT
// Random expression graphs: fused operators must give the results that the same operators give when each runs by itself.
//
// A graph depends on its seed alone: the same graph is built on a lazy device, which fuses, and on an eager one, which does not. Integers, bool, and results of
// element-wise operators on f32 and f64 must agree exactly. Fused operators may add in another order and round to f16 and bf16 in fewer places. So each
// value has a bound for its size and one for how far the two results may be apart. Operators whose result jumps (floor, comparisons, casts to
// integers) only get values that must agree exactly.
//
//   TSR_TEST_GRAPHS   how many graphs (300)
//   TSR_TEST_SEED     the first one's seed (1)
//   TSR_TEST_BACKEND  where (cpu)
#include <float.h>
#include <math.h>

#include <tessera/tessera.h>

#include "support/devices.h"
#include "support/test.h"

enum { MAX_NODES = 48, MAX_OUTPUTS = 4, MAX_ELEMENTS = 3000, TRACE_BYTES = 8192 };

// A tensor of the graph, with what is known of it.
typedef struct value {
  tsr_tensor *tensor;
  tsr_dtype dtype;
  tsr_shape shape;
  double size;   // largest |element|, floats only
  double apart;  // most that lazy and eager may differ by
} value;

typedef struct graph {
  tsr_device *device;
  uint64_t random;
  value values[MAX_NODES];
  int count;
  char trace[TRACE_BYTES];
  size_t trace_used;
} graph;

// --- Decisions --------------------------------------------------------------------------------------------------------

// SplitMix64.
static uint64_t below(graph *g, uint64_t limit) {
  uint64_t x = g->random += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return (x ^ x >> 31) % limit;
}

static bool is_float(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT; }
static bool is_half(tsr_dtype dtype) { return dtype == TSR_F16 || dtype == TSR_BF16; }

// The largest relative error of one rounding.
static double roundoff(tsr_dtype dtype) {
  return dtype == TSR_F16 ? 0x1p-11 : dtype == TSR_BF16 ? 0x1p-8 : dtype == TSR_F32 ? 0x1p-24 : 0x1p-53;
}

static int64_t count_of(tsr_shape shape) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return count;
}

static value *pick(graph *g) { return &g->values[below(g, (uint64_t)g->count)]; }

static value *last(graph *g) { return &g->values[g->count - 1]; }

// --- Recording --------------------------------------------------------------------------------------------------------

static void put_trace(graph *g, const char *name, const value *made, const value *a, const value *b) {
  char text[TSR_SHAPE_TEXT_BYTES];
  size_t room = TRACE_BYTES - g->trace_used;
  int length = snprintf(g->trace + g->trace_used, room, "  v%d = %s(v%d, v%d): %s %s\n", g->count, name,
                        a ? (int)(a - g->values) : -1, b ? (int)(b - g->values) : -1, tsr_dtype_name(made->dtype),
                        tsr_shape_format(made->shape, text, sizeof text));
  if (length > 0 && (size_t)length < room) g->trace_used += (size_t)length;
}

// Adds the result of an operator to the graph. A result in f16 or bf16 may be rounded in another place when it is fused.
static void keep(graph *g, const char *name, tsr_tensor *tensor, const value *a, const value *b, double size,
                 double apart) {
  if (tsr_error(tensor) != TSR_OK) {
    printf("%s", g->trace);
    test_fail(__FILE__, __LINE__, "%s: %s", name, tsr_last_error());
  }
  value made = {tensor, tsr_tensor_dtype(tensor), tsr_tensor_shape(tensor), size, apart};
  if (!is_float(made.dtype)) made.size = made.apart = 0;
  else if (is_half(made.dtype)) made.apart += 2 * roundoff(made.dtype) * size;
  if (made.apart > 2 * made.size) made.apart = 2 * made.size;
  put_trace(g, name, &made, a, b);
  g->values[g->count++] = made;
}

// --- Inputs -----------------------------------------------------------------------------------------------------------

static tsr_shape random_shape(graph *g) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 17, 32};
  tsr_shape shape = {.rank = (int32_t)below(g, 4)};
  for (int i = 0; i < shape.rank; i++) shape.dims[i] = sizes[below(g, 10)];
  while (count_of(shape) > MAX_ELEMENTS) shape.rank--;
  return shape;
}

// f32 in place of f64 on a device that has none.
static tsr_dtype usable(const graph *g, tsr_dtype dtype) {
  return dtype == TSR_F64 && !tsr_device_has_dtype(g->device, TSR_F64) ? TSR_F32 : dtype;
}

static void add_input(graph *g, tsr_shape shape) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F32, TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_I32, TSR_I64,
                                     TSR_U8,  TSR_I8,  TSR_I16, TSR_U32, TSR_U16, TSR_U64,  TSR_BOOL};
  tsr_dtype dtype = usable(g, dtypes[below(g, 15)]);
  size_t count = (size_t)count_of(shape);
  double *numbers = calloc(count + 1, sizeof *numbers);
  unsigned char *elements = calloc(count + 1, 8);
  CHECK(numbers && elements);
  for (size_t i = 0; i < count; i++) numbers[i] = (double)below(g, 4001) / 1000 - 2;
  if (!is_float(dtype)) {
    for (size_t i = 0; i < count; i++)
      numbers[i] = (double)below(g, 201) - (tsr_dtype_kind_of(dtype) == TSR_KIND_UINT ? 0 : 100);
  }
  CHECK_OK(tsr_convert(dtype, elements, TSR_F64, numbers, count));
  keep(g, "input", tsr_from_data(g->device, dtype, shape, elements, count * tsr_dtype_bytes(dtype)), NULL, NULL, 2, 0);
  last(g)->apart = 0;  // given, not computed
  free(numbers);
  free(elements);
}

// --- Operators --------------------------------------------------------------------------------------------------------

typedef tsr_tensor *(*unary_fn)(tsr_tensor *);
typedef tsr_tensor *(*binary_fn)(tsr_tensor *, tsr_tensor *);

typedef struct unary_op {
  const char *name;
  unary_fn call;
  double limit;    // of the result's size; 0: as the input's
  bool is_smooth;  // differences do not grow
  bool takes_bool, takes_float;
} unary_op;

static const unary_op unary_ops[] = {
    {"neg", tsr_neg, 0, true, false, true},
    {"abs", tsr_abs, 0, true, false, true},
    {"relu", tsr_relu, 0, true, false, true},
    {"tanh", tsr_tanh, 1, true, true, true},
    {"sin", tsr_sin, 1, true, true, true},
    {"sigmoid", tsr_sigmoid, 1, true, true, true},
    {"atan", tsr_atan, 1.6, true, true, true},
    {"erf", tsr_erf, 1, false, true, true},
    {"sign", tsr_sign, 1, false, false, true},
    {"floor", tsr_floor, 0, false, false, true},
    {"round", tsr_round, 0, false, false, true},
    {"isnan", tsr_isnan, 1, false, true, true},
    {"logical_not", tsr_logical_not, 1, false, true, true},
    {"bitwise_not", tsr_bitwise_not, 0, false, true, false},
};

static void add_unary(graph *g, value *x) {
  const unary_op *op = &unary_ops[below(g, sizeof unary_ops / sizeof unary_ops[0])];
  bool is_taken = (op->takes_bool || x->dtype != TSR_BOOL) && (op->takes_float || !is_float(x->dtype));
  if (!is_taken || (x->apart > 0 && !op->is_smooth)) op = &unary_ops[3];
  double size = op->limit > 0 ? op->limit : x->size + (op->is_smooth ? 0 : 1);
  keep(g, op->name, op->call(x->tensor), x, NULL, size, x->apart > 0 ? x->apart + 4 * FLT_EPSILON * size : 0);
}

typedef enum growth { GROWS_SUM, GROWS_PRODUCT, GROWS_NOT, JUMPS } growth;

typedef struct binary_op {
  const char *name;
  binary_fn call;
  growth growth;
  bool takes_bool, takes_float;
} binary_op;

static const binary_op binary_ops[] = {
    {"add", tsr_add, GROWS_SUM, true, true},
    {"sub", tsr_sub, GROWS_SUM, false, true},
    {"mul", tsr_mul, GROWS_PRODUCT, true, true},
    {"minimum", tsr_minimum, GROWS_NOT, true, true},
    {"maximum", tsr_maximum, GROWS_NOT, true, true},
    {"lt", tsr_lt, JUMPS, true, true},
    {"eq", tsr_eq, JUMPS, true, true},
    {"ge", tsr_ge, JUMPS, true, true},
    {"logical_or", tsr_logical_or, JUMPS, true, true},
    {"bitwise_xor", tsr_bitwise_xor, JUMPS, true, false},
    {"mod", tsr_mod, JUMPS, false, false},
    {"floor_div", tsr_floor_div, JUMPS, false, false},
    {"shift_left", tsr_shift_left, JUMPS, false, false},
};

// A bound for the absolute value of a float that the value is converted to. Integers may be as large as their dtype allows.
static double size_as_float(const value *v) { return is_float(v->dtype) ? v->size : v->dtype == TSR_BOOL ? 1 : 2e19; }

static bool can_join(const value *a, const value *b, const binary_op *op) {
  tsr_shape shape;
  bool any_float = is_float(a->dtype) || is_float(b->dtype), any_bool = a->dtype == TSR_BOOL && b->dtype == TSR_BOOL;
  if (tsr_shape_broadcast(a->shape, b->shape, &shape) != TSR_OK || count_of(shape) > MAX_ELEMENTS) return false;
  if (any_float && (size_as_float(a) > 1e3 || size_as_float(b) > 1e3)) return false;
  if (op->growth == JUMPS && (a->apart > 0 || b->apart > 0)) return false;
  return (op->takes_float || !any_float) && (op->takes_bool || !any_bool);
}

// Bounds for a result: its size, and how far apart the two results may be. The latter comes from the inputs' and, where these differ, from rounding.
static void join_bounds(const binary_op *op, const value *a, const value *b, double *size, double *apart) {
  double x = size_as_float(a), y = size_as_float(b);
  *size = op->growth == GROWS_SUM ? x + y : op->growth == GROWS_PRODUCT ? x * y : fmax(fmax(x, y), 1);
  *apart = op->growth == GROWS_PRODUCT ? x * b->apart + y * a->apart + a->apart * b->apart
           : op->growth == GROWS_SUM   ? a->apart + b->apart
                                       : fmax(a->apart, b->apart);
  // An integer that becomes f16 or bf16 is rounded on the way.
  if (is_half(a->dtype) != is_half(b->dtype))
    *apart += 0x1p-8 * (x + y) * fmax(op->growth == GROWS_PRODUCT ? fmax(x, y) : 1, 1);
  if (*apart > 0) *apart += 4 * FLT_EPSILON * *size;
}

static bool add_binary(graph *g, value *a) {
  for (int attempt = 0; attempt < 8; attempt++) {
    value *b = pick(g);
    const binary_op *op = &binary_ops[below(g, sizeof binary_ops / sizeof binary_ops[0])];
    if (!can_join(a, b, op)) continue;
    double size, apart;
    join_bounds(op, a, b, &size, &apart);
    keep(g, op->name, op->call(a->tensor, b->tensor), a, b, size, apart);
    return true;
  }
  return false;
}

static void add_number(graph *g, value *x) {
  double number = (double)(below(g, 3) + 1);
  bool is_product = below(g, 2);
  double size = is_product ? x->size * number : x->size + number, apart = is_product ? x->apart * number : x->apart;
  keep(g, is_product ? "mul_scalar" : "add_scalar",
       is_product ? tsr_mul_scalar(x->tensor, number) : tsr_add_scalar(x->tensor, number), x, NULL, size,
       apart > 0 ? apart + 4 * FLT_EPSILON * size : 0);
}

static void add_cast(graph *g, value *x) {
  tsr_dtype dtype = (tsr_dtype)below(g, TSR_DTYPE_COUNT);
  if (x->apart > 0 && !is_float(dtype)) dtype = TSR_F32;
  if (dtype == TSR_F8_E4M3 || dtype == TSR_F8_E5M2) dtype = TSR_F32;  // sums and products would soon overflow
  // f16 has a small range: one of the two results could overflow to infinity and the other not.
  if (dtype == TSR_F16 && size_as_float(x) > 1e4) dtype = TSR_F64;
  dtype = usable(g, dtype);
  double apart = x->apart;
  if (is_half(x->dtype) && dtype != x->dtype) apart += 2 * roundoff(x->dtype) * x->size;
  keep(g, "cast", tsr_cast(x->tensor, dtype), x, NULL, size_as_float(x), apart);
}

static void add_where(graph *g, value *a) {
  value *condition = pick(g), *b = pick(g);
  tsr_shape shape;
  bool fits = tsr_shape_broadcast(a->shape, b->shape, &shape) == TSR_OK &&
              tsr_shape_broadcast(shape, condition->shape, &shape) == TSR_OK && count_of(shape) <= MAX_ELEMENTS;
  if (!fits || condition->apart > 0 || size_as_float(a) > 1e3 || size_as_float(b) > 1e3) {
    add_unary(g, a);
    return;
  }
  double size = fmax(size_as_float(a), size_as_float(b)), apart = fmax(a->apart, b->apart);
  if (is_half(a->dtype) != is_half(b->dtype)) apart += 0x1p-8 * size;
  keep(g, "where", tsr_where(condition->tensor, a->tensor, b->tensor), a, b, size, apart);
}

// --- Views ------------------------------------------------------------------------------------------------------------

static tsr_tensor *random_view(graph *g, const value *x) {
  int rank = x->shape.rank, axis = rank ? (int)below(g, (uint64_t)rank) : 0;
  tsr_shape wider = x->shape;
  switch (rank ? below(g, 7) : 6) {
    case 0:
      return tsr_transpose(x->tensor, axis, (int)below(g, (uint64_t)rank));
    case 1:
      return tsr_flip(x->tensor, axis);
    case 2:
      return tsr_slice(x->tensor, axis, (int64_t)below(g, 2), TSR_END, 1 + (int64_t)below(g, 2));
    case 3:
      return tsr_reshape(x->tensor, TSR_SHAPE(-1));
    case 4:
      return tsr_slice(x->tensor, axis, TSR_END, TSR_END, -1 - (int64_t)below(g, 2));
    case 5:
      return rank < 4 ? tsr_unsqueeze(x->tensor, axis) : tsr_squeeze_all(x->tensor);
    default:
      if (rank >= 4 || count_of(wider) > MAX_ELEMENTS / 3) return tsr_contiguous(x->tensor);
      for (int i = rank; i > 0; i--) wider.dims[i] = wider.dims[i - 1];
      wider.dims[0] = 3;
      wider.rank++;
      return tsr_expand(x->tensor, wider);
  }
}

static void add_view(graph *g, value *x) {
  tsr_tensor *seen = random_view(g, x);
  double apart = x->apart;
  if (tsr_tensor_count(seen) == 0) {  // sliced to nothing: not interesting, and without an index to speak of
    tsr_release(seen);
    seen = tsr_retain(x->tensor);
  }
  keep(g, "view", seen, x, NULL, x->size, apart);
  last(g)->apart = apart;  // not rounded again
}

// --- Writing in place ---------------------------------------------------------------------------------------------------

static bool can_assign(const value *to, const value *from) {
  tsr_shape shape;
  if (tsr_shape_broadcast(to->shape, from->shape, &shape) != TSR_OK || shape.rank != to->shape.rank) return false;
  for (int i = 0; i < shape.rank; i++) {
    bool is_repeated = shape.dims[i] > 1 && tsr_tensor_stride(to->tensor, i) == 0;
    if (shape.dims[i] != to->shape.dims[i] || is_repeated) return false;
  }
  if (from->apart > 0 && !is_float(to->dtype)) return false;
  return size_as_float(from) <= 1e3;
}

// After the assignment, tensors that share the target's memory have the new elements; results computed from it before stay as they were.
static void add_assign(graph *g, value *from) {
  value *to = pick(g);
  if (!can_assign(to, from)) {
    add_view(g, from);
    return;
  }
  CHECK_OK(tsr_assign(to->tensor, from->tensor));
  double size = size_as_float(from), apart = from->apart;
  if (is_half(from->dtype) && from->dtype != to->dtype) apart += 2 * roundoff(from->dtype) * size;
  keep(g, "assign", tsr_retain(to->tensor), to, from, fmax(to->size, size), fmax(to->apart, apart));
  for (int i = 0; i < g->count; i++) {
    value *other = &g->values[i];
    if (!is_float(other->dtype) || !tsr_tensor_shares_memory(other->tensor, to->tensor)) continue;
    other->size = fmax(other->size, last(g)->size);
    other->apart = fmax(other->apart, last(g)->apart);
  }
}

// --- Reductions and operators with kernels of their own -----------------------------------------------------------------

typedef tsr_tensor *(*reduce_fn)(tsr_tensor *, const int *, int, bool);

static void add_reduction(graph *g, value *x) {
  int axes[TSR_MAX_RANK], count = 0;
  int64_t n = 1;
  for (int i = 0; i < x->shape.rank; i++) {
    if (below(g, 2)) continue;
    axes[count++] = i;
    n *= x->shape.dims[i];
  }
  if (count == 0) n = count_of(x->shape);
  bool keeps = below(g, 2), is_real = is_float(x->dtype), is_exact = x->apart == 0;
  double roundings = (double)(n + 4) * FLT_EPSILON, size = size_as_float(x);
  if (x->dtype == TSR_F64) roundings = (double)(n + 4) * DBL_EPSILON;
  uint64_t which = below(g, is_exact ? 6 : 4);
  if (size > 1e3 && (which == 1 || (is_real && which == 0))) which = 2;
  static const struct {
    const char *name;
    reduce_fn call;
  } kinds[] = {{"sum", tsr_sum}, {"mean", tsr_mean}, {"max", tsr_max},
               {"min", tsr_min}, {"any", tsr_any},   {"all", tsr_all}};
  tsr_tensor *result = kinds[which].call(x->tensor, axes, count, keeps);
  bool is_sum = which < 2;
  if (which == 0) size *= (double)n;
  double apart = which == 0 ? x->apart * (double)n : x->apart;
  keep(g, kinds[which].name, result, x, NULL, size, is_sum ? apart + roundings * size : apart);
}

static void add_argmax(graph *g, value *x) {
  if (x->apart > 0 || x->shape.rank == 0) {
    add_unary(g, x);
    return;
  }
  int axis = (int)below(g, (uint64_t)x->shape.rank);
  keep(g, "argmax", tsr_argmax(x->tensor, &axis, 1, below(g, 2)), x, NULL, 0, 0);
}

// Adds an operator with a kernel of its own, into which element-wise operators before and after it may be fused.
static void add_kernel(graph *g, value *x) {
  int rank = x->shape.rank, axis = rank ? (int)below(g, (uint64_t)rank) : 0;
  bool is_real = is_float(x->dtype) && x->size <= 1e3;
  if (rank == 0 || (!is_real && is_float(x->dtype))) {
    add_unary(g, x);
    return;
  }
  double n = (double)x->shape.dims[axis], size = size_as_float(x);
  switch (below(g, 3)) {
    case 0:
      if (!is_real) break;
      keep(g, "softmax", tsr_softmax(x->tensor, axis), x, NULL, 1, 2 * x->apart + (n + 40) * (1 + size) * FLT_EPSILON);
      return;
    case 1:
      keep(g, "cumsum", tsr_cumsum(x->tensor, axis), x, NULL, size * n,
           x->apart * n + (n + 4) * size * n * FLT_EPSILON);
      return;
    default:
      break;
  }
  keep(g, "concat", tsr_concat((tsr_tensor *[]){x->tensor, x->tensor}, 2, axis), x, x, x->size, x->apart);
}

static void add_matmul(graph *g, value *x) {
  bool fits = x->shape.rank == 2 && is_float(x->dtype) && x->size <= 30;
  if (!fits) {
    add_view(g, x);
    return;
  }
  double k = (double)x->shape.dims[1], size = k * x->size * x->size;
  tsr_tensor *other = tsr_transpose(x->tensor, 0, 1);
  keep(g, "matmul with transposed", tsr_matmul(x->tensor, other), x, x, size,
       2 * k * x->size * x->apart + k * x->apart * x->apart + (k + 2) * size * FLT_EPSILON);
  tsr_release(other);
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

static void add_node(graph *g) {
  // Mostly the newest value, so that chains grow long; large ones are made small first.
  value *x = below(g, 3) ? last(g) : pick(g);
  if (count_of(x->shape) > MAX_ELEMENTS) {
    add_reduction(g, x);
  } else if (is_float(x->dtype) && x->size > 1e3) {
    keep(g, "tanh", tsr_tanh(x->tensor), x, NULL, 1, x->apart > 0 ? x->apart + 8 * FLT_EPSILON : 0);
  } else {
    switch (below(g, 14)) {
      case 0:
      case 1:
      case 2:
        if (add_binary(g, x)) break;  // else: fall through to what always fits
      // fall through
      case 3:
      case 4:
        add_unary(g, x);
        break;
      case 5:
        add_view(g, x);
        break;
      case 6:
        add_cast(g, x);
        break;
      case 7:
        add_reduction(g, x);
        break;
      case 8:
        if (x->dtype != TSR_BOOL) add_number(g, x);
        else add_unary(g, x);
        break;
      case 9:
        add_where(g, x);
        break;
      case 10:
        if (below(g, 3)) add_kernel(g, x);
        else add_argmax(g, x);
        break;
      case 11:
      case 12:
        add_assign(g, x);
        break;
      default:
        if (below(g, 4)) add_view(g, x);
        else add_matmul(g, x);
        break;
    }
  }
}

static void build(graph *g, tsr_device *device, uint64_t seed) {
  *g = (graph){.device = device, .random = seed * UINT64_C(0xD1342543DE82EF95)};
  tsr_shape shape = random_shape(g);
  int inputs = 2 + (int)below(g, 3), nodes = 3 + (int)below(g, MAX_NODES - 8);
  for (int i = 0; i < inputs; i++) {
    tsr_shape row_shape = shape;
    for (int k = 0; k < row_shape.rank; k++)
      row_shape.dims[k] = below(g, 4) ? row_shape.dims[k] : 1;  // broadcast against the others
    add_input(g, row_shape);
  }
  while (g->count < nodes) {
    add_node(g);
    if (below(g, 12) == 0) {  // some programs read an intermediate value
      double seen[1];
      tsr_dtype wide = usable(g, TSR_F64);
      tsr_tensor *one = tsr_cast(last(g)->tensor, wide), *sum = tsr_sum(one, NULL, 0, false);
      CHECK_OK(tsr_read(sum, seen, tsr_dtype_bytes(wide)));
      tsr_release(one);
      tsr_release(sum);
    }
  }
}

// --- Comparing --------------------------------------------------------------------------------------------------------

static double *read_all(const value *v, size_t *out_bytes, unsigned char **out_raw) {
  size_t count = (size_t)count_of(v->shape), bytes = count * tsr_dtype_bytes(v->dtype);
  unsigned char *raw = calloc(bytes + 1, 1);
  double *numbers = calloc(count + 1, sizeof *numbers);
  CHECK(raw && numbers);
  CHECK_OK(tsr_read(v->tensor, raw, bytes));
  CHECK_OK(tsr_convert(TSR_F64, numbers, v->dtype, raw, count));
  *out_bytes = bytes;
  *out_raw = raw;
  return numbers;
}

static bool agree(double a, double b, double apart) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= apart;
}

// Index of the first element that differs by more than it may; -1 if there is none.
static int64_t compare(const value *lazy, const value *eager, double *out_lazy, double *out_eager) {
  size_t bytes = 0, other_bytes = 0;
  unsigned char *raw = NULL, *other_raw = NULL;
  double *a = read_all(lazy, &bytes, &raw), *b = read_all(eager, &other_bytes, &other_raw);
  int64_t wrong = -1, count = count_of(lazy->shape);
  for (int64_t i = 0; i < count && wrong < 0; i++) {
    if (agree(a[i], b[i], lazy->apart)) continue;
    wrong = i;
    *out_lazy = a[i];
    *out_eager = b[i];
  }
  if (!is_float(lazy->dtype) && wrong < 0 && memcmp(raw, other_raw, bytes) != 0) wrong = 0;  // beyond 2^53
  free(a);
  free(b);
  free(raw);
  free(other_raw);
  return wrong;
}

static void release_others(graph *g, const int *outputs, int output_count) {
  for (int i = 0; i < g->count; i++) {
    bool is_output = false;
    for (int k = 0; k < output_count; k++) is_output = is_output || outputs[k] == i;
    if (is_output) continue;
    tsr_release(g->values[i].tensor);
    g->values[i].tensor = NULL;
  }
}

static void release_all(graph *g) {
  for (int i = 0; i < g->count; i++) tsr_release(g->values[i].tensor);
}

static void check_graph(tsr_device *lazy, tsr_device *eager, uint64_t seed) {
  static graph a, b;
  int outputs[MAX_OUTPUTS];
  build(&a, lazy, seed);
  build(&b, eager, seed);
  CHECK_EQ_INT(a.count, b.count);
  for (int i = 0; i < MAX_OUTPUTS; i++) outputs[i] = i == 0 ? a.count - 1 : (int)below(&a, (uint64_t)a.count);
  release_others(&a, outputs, MAX_OUTPUTS);
  for (int i = 0; i < MAX_OUTPUTS; i++) {
    double is = 0, should = 0;
    int64_t wrong = compare(&a.values[outputs[i]], &b.values[outputs[i]], &is, &should);
    if (wrong < 0) continue;
    printf("%s", a.trace);
    test_fail(__FILE__, __LINE__, "seed %llu: v%d[%lld] is %.17g fused and %.17g eager; they may be %g apart",
              (unsigned long long)seed, outputs[i], (long long)wrong, is, should, a.values[outputs[i]].apart);
  }
  release_all(&a);
  release_all(&b);
}

static uint64_t number_from(const char *variable, uint64_t standard) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 10) : standard;
}

TEST(random_graphs_give_the_same_fused_and_eager) {
  enum { FRESH_DEVICES = 500 };  // kernels are kept by their device
  uint64_t graphs = number_from("TSR_TEST_GRAPHS", 300), seed = number_from("TSR_TEST_SEED", 1);
  const char *backend = getenv("TSR_TEST_BACKEND");
  if (!backend) backend = "cpu";
  printf("  %llu graphs from seed %llu on %s\n", (unsigned long long)graphs, (unsigned long long)seed, backend);
  for (uint64_t done = 0; done < graphs; done += FRESH_DEVICES) {
    tsr_device *lazy = test_open(backend);
    CHECK_OK(tsr_config_set("eager", "on"));
    tsr_device *eager = test_open(backend);
    CHECK_OK(tsr_config_set("eager", NULL));
    for (uint64_t i = done; i < graphs && i < done + FRESH_DEVICES; i++) check_graph(lazy, eager, seed + i);
    tsr_device_release(lazy);
    tsr_device_release(eager);
  }
}
