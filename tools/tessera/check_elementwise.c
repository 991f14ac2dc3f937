// SPDX-License-Identifier: MIT
// Cases of the element-wise operators: shapes, views, broadcasting, special values, mixed dtypes, refused calls.
#include "check.h"

#include <assert.h>
#include <math.h>

enum { MAX_ARGUMENTS = 4 };

// The arguments of an operator.
typedef struct arguments {
  check_tensor *tensors[MAX_ARGUMENTS];
  double scalars[MAX_ARGUMENTS];
} arguments;

// --- The reference, applied -------------------------------------------------------------------------------------------

// The dtype in which the operator computes.
static tsr_dtype computed_dtype(const check_op *op, const tsr_dtype *inputs) {
  int first = op->rule == CHECK_WHERE ? 1 : 0;
  tsr_dtype dtype = inputs[first];
  for (int i = first + 1; i < op->inputs; i++) dtype = check_promote(dtype, inputs[i]);
  if (op->rule == CHECK_TRUTH) return TSR_BOOL;
  if (op->rule == CHECK_FLOAT) return check_float(dtype);
  return op->scalars && dtype == TSR_BOOL ? TSR_I32 : dtype;
}

static tsr_dtype result_dtype(const check_op *op, tsr_dtype computed) {
  return op->rule == CHECK_COMPARE || op->rule == CHECK_TRUTH ? TSR_BOOL : computed;
}

// A scalar argument is converted to the dtype of the computation.
static check_value scalar_value(tsr_dtype computed, double value) {
  if (!check_is_float(computed)) return check_convert(computed, TSR_F64, (check_value){.real = value});
  return (check_value){.real = check_round(computed == TSR_F64 ? TSR_F64 : TSR_F32, value)};
}

static check_value evaluate(const check_op *op, tsr_dtype computed, const check_value *x, double *out_magnitude) {
  bool is_truth = result_dtype(op, computed) == TSR_BOOL;
  if (!check_is_float(computed)) {
    int64_t wholes[MAX_ARGUMENTS];
    for (int i = 0; i < MAX_ARGUMENTS; i++) wholes[i] = x[i].whole;
    int64_t whole = op->whole(computed, wholes);
    return (check_value){.whole = is_truth ? whole != 0 : check_wrap(computed, whole)};
  }
  double real[MAX_ARGUMENTS];
  for (int i = 0; i < MAX_ARGUMENTS; i++) real[i] = x[i].real;
  if (op->rule == CHECK_WHERE) real[0] = (double)x[0].whole;
  double value = op->real(real);
  if (out_magnitude) *out_magnitude = op->magnitude(real);
  return is_truth ? (check_value){.whole = value != 0} : (check_value){.real = value};
}

static check_expected *expect(check_run *run, const check_op *op, const arguments *given) {
  tsr_dtype dtypes[MAX_ARGUMENTS] = {TSR_BOOL}, computed;
  assert(op->inputs >= 1 && op->inputs <= MAX_ARGUMENTS && given->tensors[0]);
  tsr_shape shape = given->tensors[0]->shape;
  for (int i = 0; i < op->inputs; i++) {
    assert(given->tensors[i]);
    dtypes[i] = given->tensors[i]->dtype;
    shape = check_broadcast(shape, given->tensors[i]->shape);
  }
  computed = computed_dtype(op, dtypes);
  check_expected *wanted = check_expect(run, result_dtype(op, computed), shape);
  if (op->magnitude) wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  for (int64_t at = 0; at < wanted->count; at++) {
    int64_t index[TSR_MAX_RANK];
    check_value x[MAX_ARGUMENTS] = {{0}};
    check_unravel(shape, at, index);
    for (int i = 0; i < op->inputs; i++) {
      tsr_dtype as = op->rule == CHECK_WHERE && i == 0 ? TSR_BOOL : computed;
      const check_tensor *tensor = given->tensors[i];
      assert(tensor);
      x[i] = check_convert(as, dtypes[i], tensor->values[check_broadcast_at(tensor->shape, shape.rank, index)]);
    }
    for (int i = 0; i < op->scalars; i++) x[op->inputs + i] = scalar_value(computed, given->scalars[i]);
    wanted->values[at] = evaluate(op, computed, x, wanted->magnitudes ? &wanted->magnitudes[at] : NULL);
  }
  return wanted;
}

static tsr_tensor *call(const check_op *op, const arguments *given) {
  tsr_tensor *t[MAX_ARGUMENTS] = {NULL};
  for (int i = 0; i < op->inputs; i++) t[i] = given->tensors[i]->tensor;
  return op->call(t, given->scalars);
}

static void finish(check_run *run, const check_op *op, const arguments *given) {
  check_result(run, call(op, given), expect(run, op, given));
}

// --- Shapes and views -------------------------------------------------------------------------------------------------

typedef struct layout_case {
  const char *name;
  check_weight weight;
  check_view view;  // of the first input; the others have the following views
  tsr_shape shape;
} layout_case;

static const layout_case layouts[] = {
    {"scalar", CHECK_OFTEN, CHECK_PLAIN, {0, {0}}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {1, {0}}},
    {"empty-middle", CHECK_HEAVY, CHECK_PLAIN, {3, {3, 0, 2}}},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {1, {1}}},
    {"prime", CHECK_OFTEN, CHECK_PLAIN, {1, {257}}},
    {"odd", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 19}}},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 13}}},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {2, {11, 9}}},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {2, {5, 23}}},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {6, 11}}},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {2, {5, 7}}},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {3, {3, 5, 7}}},
    {"sliced-3d", CHECK_HEAVY, CHECK_SLICED, {3, {5, 1, 9}}},
    {"rank-8", CHECK_HEAVY, CHECK_PERMUTED, {8, {1, 2, 1, 3, 2, 1, 2, 3}}},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {1, {100003}}},
    {"large", CHECK_HEAVY, CHECK_TRANSPOSED, {2, {317, 211}}},
    {"huge", CHECK_HUGE, CHECK_PLAIN, {2, {1031, 4099}}},
};

// The first input of `where` is a bool; otherwise all inputs have the same dtype.
static tsr_dtype input_dtype(const check_op *op, int i, tsr_dtype dtype) {
  return op->rule == CHECK_WHERE && i == 0 ? TSR_BOOL : dtype;
}

// The scalar arguments of a case: representable in every float dtype.
static void fill_scalars(const check_op *op, tsr_dtype dtype, arguments *given) {
  bool is_whole = !check_is_float(dtype) && op->rule != CHECK_FLOAT;
  given->scalars[0] = is_whole ? 3 : 0.625;
  given->scalars[1] = is_whole ? 20 : 2.5;
}

static void run_layout(check_run *run, const check_op *op, tsr_dtype dtype, const layout_case *layout) {
  if (!check_begin(run, layout->weight, "%s", layout->name)) return;
  arguments given = {0};
  fill_scalars(op, dtype, &given);
  for (int i = 0; i < op->inputs; i++) {
    check_view view =
        layout->view == CHECK_PLAIN ? CHECK_PLAIN : (check_view)(((int)layout->view + i) % CHECK_VIEW_COUNT);
    given.tensors[i] = check_input(run, input_dtype(op, i, dtype), layout->shape, view, op->domain);
  }
  finish(run, op, &given);
}

// --- Broadcasts -------------------------------------------------------------------------------------------------------

typedef struct broadcast_case {
  const char *name;
  tsr_shape shapes[3];
} broadcast_case;

static const broadcast_case broadcasts[] = {
    {"scalar-left", {{0, {0}}, {2, {5, 7}}, {0, {0}}}},   {"scalar-right", {{2, {5, 7}}, {0, {0}}, {1, {7}}}},
    {"row", {{2, {5, 7}}, {1, {7}}, {2, {1, 7}}}},        {"column", {{2, {5, 1}}, {2, {5, 7}}, {2, {1, 1}}}},
    {"outer", {{2, {13, 1}}, {2, {1, 17}}, {0, {0}}}},    {"middle", {{3, {3, 1, 7}}, {3, {1, 5, 1}}, {2, {5, 7}}}},
    {"leading", {{2, {3, 5}}, {3, {4, 3, 5}}, {1, {1}}}}, {"empty-broadcast", {{2, {0, 3}}, {2, {1, 3}}, {1, {3}}}},
    {"empty-from-one", {{1, {1}}, {1, {0}}, {1, {1}}}},   {"large-rows", {{2, {301, 257}}, {1, {257}}, {2, {301, 1}}}},
};

static void run_broadcast(check_run *run, const check_op *op, tsr_dtype dtype, const broadcast_case *broadcast) {
  if (!check_begin(run, CHECK_OFTEN, "%s", broadcast->name)) return;
  arguments given = {0};
  fill_scalars(op, dtype, &given);
  for (int i = 0; i < op->inputs; i++) {
    check_view view = (check_view)check_random(run, CHECK_VIEW_COUNT);
    given.tensors[i] = check_input(run, input_dtype(op, i, dtype), broadcast->shapes[i], view, op->domain);
  }
  finish(run, op, &given);
}

// --- Special values ---------------------------------------------------------------------------------------------------

// Combines every special value of each input with all special values of the others, by broadcasting.
static void run_specials(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (!check_begin(run, CHECK_ALWAYS, "special")) return;
  arguments given = {0};
  fill_scalars(op, dtype, &given);
  for (int i = 0; i < op->inputs; i++) {
    check_value values[CHECK_MAX_SPECIALS];
    tsr_dtype type = input_dtype(op, i, dtype);
    tsr_shape shape = {.rank = op->inputs};
    int count = check_specials(run, type, op->domain, values);
    int step = op->inputs == 3 ? 2 : 1;  // leave some out, to limit the number
    for (int k = 0; k * step < count; k++) values[k] = values[(size_t)k * (size_t)step];
    for (int axis = 0; axis < shape.rank; axis++) shape.dims[axis] = axis == i ? (count + step - 1) / step : 1;
    given.tensors[i] = check_input_of(run, type, shape, CHECK_PLAIN, values);
  }
  finish(run, op, &given);
}

// All values of a dtype, for dtypes that are small enough.
static void run_exhaustive(check_run *run, const check_op *op, tsr_dtype dtype) {
  size_t bytes = tsr_dtype_bytes(dtype);
  bool is_small = bytes == 1 || (bytes == 2 && op->inputs == 1);
  // 0 * infinity is NaN where a function of two tame inputs underflows.
  bool is_wild = check_is_float(dtype) && op->inputs == 2 && op->domain == CHECK_TAME;
  if (!is_small || is_wild || op->inputs > 2 || dtype == TSR_BOOL) return;
  if (!check_begin(run, CHECK_HEAVY, "all-values")) return;
  arguments given = {0};
  fill_scalars(op, dtype, &given);
  int64_t count = INT64_C(1) << (8 * bytes);
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    uint16_t bits = (uint16_t)i;
    uint8_t byte = (uint8_t)i;
    values[i] = check_decode(dtype, bytes == 1 ? (void *)&byte : (void *)&bits);
    bool is_subnormal =
        check_is_float(dtype) && values[i].real != 0 && fabs(values[i].real) < check_min_normal(TSR_F32);
    if (is_subnormal && !check_keeps_subnormals(run)) values[i].real = 0.25;
  }
  given.tensors[0] = check_input_of(run, dtype, TSR_SHAPE(count, 1), CHECK_PLAIN, values);
  if (op->inputs == 2) given.tensors[1] = check_input_of(run, dtype, TSR_SHAPE(1, count), CHECK_PLAIN, values);
  finish(run, op, &given);
}

// --- Mixed dtypes and refusals ----------------------------------------------------------------------------------------

static bool takes(const check_op *op, tsr_dtype dtype) { return op->dtypes & CHECK_BIT(dtype); }

static void run_mixed(check_run *run, const check_op *op, tsr_dtype dtype, tsr_dtype other) {
  if (other == dtype || !check_begin(run, CHECK_HEAVY, "with-%s", tsr_dtype_name(other))) return;
  arguments given = {0};
  tsr_dtype dtypes[MAX_ARGUMENTS] = {TSR_BOOL};
  fill_scalars(op, dtype, &given);
  for (int i = 0; i < op->inputs; i++) {
    dtypes[i] = op->rule == CHECK_WHERE ? (i == 1 ? other : dtype) : i == 0 ? dtype : other;
    given.tensors[i] = check_input(run, dtypes[i], TSR_SHAPE(5, 31), CHECK_PLAIN, op->domain);
  }
  bool is_taken = op->rule == CHECK_TRUTH || op->rule == CHECK_FLOAT || takes(op, computed_dtype(op, dtypes));
  if (is_taken) finish(run, op, &given);
  else check_refused(run, call(op, &given), TSR_ERR_DTYPE);
}

static void run_refusal(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (!check_begin(run, CHECK_ALWAYS, "refused")) return;
  arguments given = {.scalars = {1, 2, 0}};
  for (int i = 0; i < op->inputs; i++) {
    given.tensors[i] = check_input(run, input_dtype(op, i, dtype), TSR_SHAPE(3), CHECK_PLAIN, op->domain);
  }
  check_refused(run, call(op, &given), TSR_ERR_DTYPE);
}

static void run_shape_refusal(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (op->inputs < 2 || !check_begin(run, CHECK_OFTEN, "shapes-refused")) return;
  arguments given = {.scalars = {1, 2, 0}};
  for (int i = 0; i < op->inputs; i++) {
    given.tensors[i] = check_input(run, input_dtype(op, i, dtype), TSR_SHAPE(3, 4 + i), CHECK_PLAIN, op->domain);
  }
  check_refused(run, call(op, &given), TSR_ERR_SHAPE);
}

void check_elementwise(check_run *run, const check_op *op, tsr_dtype dtype) {
  if (!takes(op, dtype)) {
    run_refusal(run, op, dtype);
    return;
  }
  run_specials(run, op, dtype);
  run_exhaustive(run, op, dtype);
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) run_layout(run, op, dtype, &layouts[i]);
  if (op->inputs == 1) return;
  for (size_t i = 0; i < sizeof broadcasts / sizeof broadcasts[0]; i++) run_broadcast(run, op, dtype, &broadcasts[i]);
  for (int other = 0; other < TSR_DTYPE_COUNT; other++) run_mixed(run, op, dtype, (tsr_dtype)other);
  run_shape_refusal(run, op, dtype);
}

// --- A tensor and numbers ---------------------------------------------------------------------------------------------

static void run_number(check_run *run, const check_op *op, tsr_dtype dtype, double number) {
  if (!check_begin(run, CHECK_OFTEN, "by%g", number)) return;
  check_value values[CHECK_MAX_SPECIALS];
  int count = check_specials(run, dtype, op->domain, values);
  arguments given = {.scalars = {number, number + 4, 0}};
  for (int i = 0; i < op->inputs; i++) {
    given.tensors[i] = check_input_of(run, dtype, TSR_SHAPE(count), CHECK_PLAIN, values);
  }
  check_note(run, "by %.17g", number);
  finish(run, op, &given);
}

static void run_wrong_number(check_run *run, const check_op *op, tsr_dtype dtype, const char *name, double number) {
  if (!check_begin(run, CHECK_OFTEN, "%s", name)) return;
  arguments given = {.scalars = {number, number, 0}};
  for (int i = 0; i < op->inputs; i++)
    given.tensors[i] = check_input(run, dtype, TSR_SHAPE(3), CHECK_PLAIN, CHECK_TAME);
  check_refused(run, call(op, &given), TSR_ERR_DTYPE);
}

void check_scalar(check_run *run, const check_op *op, tsr_dtype dtype) {
  check_elementwise(run, op, dtype);
  if (!takes(op, dtype)) return;
  bool is_whole = !check_is_float(dtype) && op->rule != CHECK_FLOAT;
  tsr_dtype computed = is_whole && dtype == TSR_BOOL ? TSR_I32 : dtype;
  for (int i = 0; i <= 2; i++) run_number(run, op, dtype, i);
  if (!is_whole) {
    const double numbers[] = {-0.5, -1, 0.5, 1.5, -3, 100};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) run_number(run, op, dtype, numbers[i]);
    if (op->domain == CHECK_ANY && op->inputs == 1) run_number(run, op, dtype, INFINITY);
    if (dtype == TSR_F32 || dtype == TSR_F64) run_number(run, op, dtype, 0.1);
    return;
  }
  if (check_least(computed) < 0) {
    run_number(run, op, dtype, -1);
    run_number(run, op, dtype, -7);
  }
  run_wrong_number(run, op, dtype, "fraction-refused", 0.5);
  if (op->scalars == 1) run_wrong_number(run, op, dtype, "too-large-refused", 1e20);
}

// --- Casts ------------------------------------------------------------------------------------------------------------

static void run_cast(check_run *run, tsr_dtype from, tsr_dtype to, check_view view) {
  static const char *const names[] = {"", "-transposed"};
  if (!check_begin(run, view == CHECK_PLAIN ? CHECK_ALWAYS : CHECK_HEAVY, "to-%s%s", tsr_dtype_name(to), names[view]))
    return;
  check_tensor *x = check_input(run, from, TSR_SHAPE(19, 53), view, CHECK_ANY);
  check_expected *wanted = check_expect(run, to, x->shape);
  for (int64_t i = 0; i < x->count; i++) wanted->values[i] = check_convert(to, from, x->values[i]);
  check_result(run, tsr_cast(x->tensor, to), wanted);
}

static void run_cast_of_all(check_run *run, tsr_dtype from, tsr_dtype to) {
  size_t bytes = tsr_dtype_bytes(from);
  if (bytes > 2 || from == TSR_BOOL || !check_begin(run, CHECK_HEAVY, "all-to-%s", tsr_dtype_name(to))) return;
  int64_t count = INT64_C(1) << (8 * bytes);
  check_value *values = check_alloc(run, (size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    uint16_t bits = (uint16_t)i;
    uint8_t byte = (uint8_t)i;
    values[i] = check_decode(from, bytes == 1 ? (void *)&byte : (void *)&bits);
  }
  check_tensor *x = check_input_of(run, from, TSR_SHAPE(count), CHECK_PLAIN, values);
  check_expected *wanted = check_expect(run, to, x->shape);
  for (int64_t i = 0; i < count; i++) wanted->values[i] = check_convert(to, from, values[i]);
  check_result(run, tsr_cast(x->tensor, to), wanted);
}

// An element of i4 or u4: floats drop the fraction and saturate, others keep their low 4 bits.
static int64_t packed_value(tsr_dtype to, tsr_dtype from, check_value value) {
  int64_t least = to == TSR_I4 ? -8 : 0, most = to == TSR_I4 ? 7 : 15;
  if (!check_is_float(from)) return to == TSR_I4 ? ((value.whole & 15) ^ 8) - 8 : value.whole & 15;
  if (isnan(value.real)) return 0;
  return value.real <= (double)least ? least : value.real >= (double)most ? most : (int64_t)value.real;
}

// Packed and unpacked again; rows have an odd number of elements.
static void run_cast_packed(check_run *run, tsr_dtype from, tsr_dtype packed, check_view view) {
  if (!check_begin(run, view == CHECK_PLAIN ? CHECK_ALWAYS : CHECK_HEAVY, "to-%s%s", tsr_dtype_name(packed),
                   view == CHECK_PLAIN ? "" : "-transposed")) {
    return;
  }
  check_tensor *x = check_input(run, from, TSR_SHAPE(19, 53), view, CHECK_ANY);
  check_expected *wanted = check_expect(run, TSR_I16, x->shape);
  for (int64_t i = 0; i < x->count; i++) wanted->values[i].whole = packed_value(packed, from, x->values[i]);
  tsr_tensor *small = tsr_cast(x->tensor, packed), *result = tsr_cast(small, TSR_I16);
  tsr_release(small);
  check_result(run, result, wanted);
}

void check_cast(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (tsr_dtype packed = TSR_I4; packed <= TSR_U4; packed++) {
    run_cast_packed(run, dtype, packed, CHECK_PLAIN);
    run_cast_packed(run, dtype, packed, CHECK_TRANSPOSED);
  }
  for (int to = 0; to < TSR_DTYPE_COUNT; to++) {
    run_cast(run, dtype, (tsr_dtype)to, CHECK_PLAIN);
    run_cast(run, dtype, (tsr_dtype)to, CHECK_TRANSPOSED);
    run_cast_of_all(run, dtype, (tsr_dtype)to);
  }
}
