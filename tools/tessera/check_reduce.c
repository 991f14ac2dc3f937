// SPDX-License-Identifier: MIT
// Reductions and running sums: references and cases.
#include <math.h>

#include "check.h"
#include "check_reference.h"

// --- References: what `n` values become -------------------------------------------------------------------------------

static bool is_real(tsr_dtype dtype) { return check_is_float(dtype); }

static check_reduced real_result(double value, double magnitude) {
  return (check_reduced){.value = {.real = value}, .magnitude = magnitude};
}

static check_reduced whole_result(int64_t value) { return (check_reduced){.value = {.whole = value}}; }

check_reduced ref_sum_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  ref_sum sum = {0};
  uint64_t whole = 0;
  double magnitude = 0;
  for (int64_t i = 0; i < n; i++) {
    if (is_real(dtype)) ref_sum_add(&sum, x[i].real);
    if (is_real(dtype)) magnitude += fabs(x[i].real);
    if (!is_real(dtype)) whole += (uint64_t)x[i].whole;
  }
  return is_real(dtype) ? real_result(ref_sum_value(&sum), magnitude) : whole_result(check_wrap(dtype, (int64_t)whole));
}

// Rounding errors of the product are carried along in `rest`.
check_reduced ref_prod_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  double product = 1, rest = 0;
  uint64_t whole = 1;
  for (int64_t i = 0; i < n; i++) {
    if (!is_real(dtype)) {
      whole *= (uint64_t)x[i].whole;
      continue;
    }
    double next = product * x[i].real;
    rest = isfinite(next) ? rest * x[i].real + fma(product, x[i].real, -next) : 0;
    product = next;
  }
  if (!is_real(dtype)) return whole_result(check_wrap(dtype, (int64_t)whole));
  return real_result(product + rest, fabs(product) + (double)n * 1e-45);  // intermediate products may have been
                                                                          // subnormal
}

check_reduced ref_mean_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  check_reduced sum = ref_sum_of(dtype, x, n);
  return real_result(sum.value.real / (double)n, sum.magnitude / (double)n);
}

// Index of the first extreme value, or of the first NaN; -1 if there are no elements.
static int64_t find_extreme(tsr_dtype dtype, const check_value *x, int64_t n, bool wants_largest) {
  int64_t best = n > 0 ? 0 : -1;
  for (int64_t i = 0; i < n; i++) {
    if (is_real(dtype) && isnan(x[i].real)) return i;
    bool is_larger = is_real(dtype) ? x[i].real > x[best].real : x[i].whole > x[best].whole;
    bool is_smaller = is_real(dtype) ? x[i].real < x[best].real : x[i].whole < x[best].whole;
    if (wants_largest ? is_larger : is_smaller) best = i;
  }
  return best;
}

static check_reduced extreme_of(tsr_dtype dtype, const check_value *x, int64_t n, bool wants_largest) {
  int64_t at = find_extreme(dtype, x, n, wants_largest);
  if (at >= 0) return (check_reduced){.value = x[at]};
  if (is_real(dtype)) return real_result(wants_largest ? -INFINITY : INFINITY, 0);
  int64_t greatest = dtype == TSR_U64 ? -1 : check_most(dtype);  // the bits of the greatest u64
  return whole_result(wants_largest ? check_least(dtype) : greatest);
}

check_reduced ref_max_of(tsr_dtype dtype, const check_value *x, int64_t n) { return extreme_of(dtype, x, n, true); }
check_reduced ref_min_of(tsr_dtype dtype, const check_value *x, int64_t n) { return extreme_of(dtype, x, n, false); }

check_reduced ref_argmax_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  return whole_result(find_extreme(dtype, x, n, true));
}

check_reduced ref_argmin_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  return whole_result(find_extreme(dtype, x, n, false));
}

check_reduced ref_any_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  for (int64_t i = 0; i < n; i++) {
    if (x[i].whole) return whole_result(1);
  }
  return whole_result(0);
}

check_reduced ref_all_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  for (int64_t i = 0; i < n; i++) {
    if (!x[i].whole) return whole_result(0);
  }
  return whole_result(1);
}

static check_reduced variance_of(const check_value *x, int64_t n, double correction) {
  double mean = ref_mean_of(TSR_F64, x, n).value.real, magnitude = 0;
  ref_sum sum = {0};
  for (int64_t i = 0; i < n; i++) {
    double apart = x[i].real - mean, size = fabs(x[i].real) + fabs(mean);
    ref_sum_add_product(&sum, apart, apart);
    magnitude += size * size;
  }
  double divisor = fmax((double)n - correction, 0);
  return real_result(divisor > 0 ? ref_sum_value(&sum) / divisor : ref_sum_value(&sum) * INFINITY, magnitude / divisor);
}

// An error e of a square is an error e / (2 * root) of its root.
static check_reduced root_of(check_reduced square) {
  double root = sqrt(square.value.real);
  return real_result(root, root > 0 ? square.magnitude / (2 * root) + root : sqrt(square.magnitude));
}

static check_reduced ref_var0_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  return variance_of(x, n, 0);
}
static check_reduced ref_var1_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  return variance_of(x, n, 1);
}
static check_reduced ref_std0_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  return root_of(ref_var0_of(dtype, x, n));
}
static check_reduced ref_std1_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  return root_of(ref_var1_of(dtype, x, n));
}

static check_reduced ref_norm1_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  ref_sum sum = {0};
  for (int64_t i = 0; i < n; i++) ref_sum_add(&sum, fabs(x[i].real));
  return real_result(ref_sum_value(&sum), ref_sum_value(&sum));
}

static check_reduced ref_norm2_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  ref_sum sum = {0};
  for (int64_t i = 0; i < n; i++) ref_sum_add_product(&sum, x[i].real, x[i].real);
  return root_of(real_result(ref_sum_value(&sum), ref_sum_value(&sum)));
}

static check_reduced ref_norm_inf_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = ref_maximum(largest, fabs(x[i].real));
  return real_result(largest, 0);
}

static check_reduced ref_norm3_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  ref_sum sum = {0};
  for (int64_t i = 0; i < n; i++) ref_sum_add(&sum, fabs(x[i].real * x[i].real * x[i].real));
  double norm = cbrt(ref_sum_value(&sum));
  return real_result(norm, 8 * norm);  // two powers, of up to 16 ULP each
}

static check_reduced ref_norm_least_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  double least = INFINITY;
  for (int64_t i = 0; i < n; i++) least = ref_minimum(least, fabs(x[i].real));
  return real_result(least, 0);
}

static check_reduced ref_norm0_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  (void)dtype;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += x[i].real != 0;
  return real_result((double)count, 0);
}

check_reduced ref_logsumexp_of(tsr_dtype dtype, const check_value *x, int64_t n) {
  double top = ref_max_of(dtype, x, n).value.real, farthest = 0;
  if (!isfinite(top)) return real_result(top, 0);
  ref_sum sum = {0};
  for (int64_t i = 0; i < n; i++) {
    ref_sum_add(&sum, exp(x[i].real - top));
    if (isfinite(x[i].real)) farthest = fmax(farthest, top - x[i].real);
  }
  double value = top + log(ref_sum_value(&sum));
  return real_result(value, fabs(top) + fabs(value) + 1 + fmin(farthest, 40) / 8);
}

// --- Cases ------------------------------------------------------------------------------------------------------------

// A reduction with its additional arguments filled in.
typedef struct variant {
  const char *prefix;
  check_reduction call;
  check_reduced (*reduce)(tsr_dtype dtype, const check_value *values, int64_t n);
} variant;

typedef struct reduce_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  int axis_count, axes[3];
} reduce_case;

static const reduce_case cases[] = {
    {"scalar", CHECK_OFTEN, CHECK_PLAIN, {0, {0}}, 0, {0}},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {1, {1}}, 0, {0}},
    {"short", CHECK_ALWAYS, CHECK_PLAIN, {1, {13}}, 0, {0}},
    {"last", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 19}}, 1, {-1}},
    {"first", CHECK_ALWAYS, CHECK_PLAIN, {2, {19, 7}}, 1, {0}},
    {"middle", CHECK_OFTEN, CHECK_PLAIN, {3, {5, 11, 3}}, 1, {1}},
    {"two", CHECK_OFTEN, CHECK_PLAIN, {3, {5, 11, 3}}, 2, {2, 0}},
    {"neighbours", CHECK_OFTEN, CHECK_PLAIN, {4, {3, 5, 2, 7}}, 2, {1, 2}},
    {"apart", CHECK_OFTEN, CHECK_PLAIN, {4, {3, 5, 2, 7}}, 2, {1, 3}},
    {"all-named", CHECK_OFTEN, CHECK_PLAIN, {3, {3, 4, 5}}, 3, {0, -1, 1}},
    {"of-size-one", CHECK_OFTEN, CHECK_PLAIN, {3, {4, 1, 5}}, 1, {1}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {1, {0}}, 0, {0}},
    {"empty-reduced", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 0}}, 1, {1}},
    {"empty-kept", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 3}}, 1, {1}},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 29}}, 1, {1}},
    {"transposed-first", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 29}}, 1, {0}},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {2, {11, 23}}, 1, {1}},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {3, {5, 3, 23}}, 1, {2}},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {31, 11}}, 1, {0}},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {2, {9, 13}}, 1, {1}},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {3, {5, 9, 13}}, 1, {1}},
    {"permuted-all", CHECK_OFTEN, CHECK_PERMUTED, {3, {5, 9, 13}}, 0, {0}},
    {"256", CHECK_OFTEN, CHECK_PLAIN, {1, {256}}, 0, {0}},
    {"257", CHECK_OFTEN, CHECK_PLAIN, {2, {2, 257}}, 1, {1}},
    {"many-rows", CHECK_HEAVY, CHECK_PLAIN, {2, {2053, 17}}, 1, {1}},
    {"wide-columns", CHECK_HEAVY, CHECK_PLAIN, {2, {37, 1031}}, 1, {0}},
    {"middle-large", CHECK_HEAVY, CHECK_PLAIN, {3, {9, 257, 31}}, 1, {1}},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {1, {100003}}, 0, {0}},
    {"long-rows", CHECK_HEAVY, CHECK_PLAIN, {2, {3, 20011}}, 1, {1}},
    {"long-columns", CHECK_HEAVY, CHECK_PLAIN, {2, {20011, 3}}, 1, {0}},
    {"huge", CHECK_HUGE, CHECK_PLAIN, {1, {5000011}}, 0, {0}},
};

static tsr_dtype computed_dtype(const check_op *op, tsr_dtype dtype) {
  switch (op->rule) {
    case CHECK_TRUTH:
      return TSR_BOOL;
    case CHECK_FLOAT:
      return check_float(dtype);
    case CHECK_SUMMED:
      return check_summed(dtype);
    default:
      return dtype;
  }
}

// One bit per axis; if no axis is given, all bits.
static uint32_t axis_set(const reduce_case *c) {
  uint32_t set = 0;
  for (int i = 0; i < c->axis_count; i++) set |= 1u << (c->axes[i] < 0 ? c->axes[i] + c->shape.rank : c->axes[i]);
  return c->axis_count ? set : (1u << c->shape.rank) - 1;
}

// The sizes of the given axes; all others become 1.
static tsr_shape part_of_shape(tsr_shape shape, uint32_t axes) {
  for (int i = 0; i < shape.rank; i++) {
    if (!(axes >> i & 1u)) shape.dims[i] = 1;
  }
  return shape;
}

static tsr_shape without_axes(tsr_shape shape, uint32_t axes) {
  tsr_shape rest = {.rank = 0};
  for (int i = 0; i < shape.rank; i++) {
    if (!(axes >> i & 1u)) rest.dims[rest.rank++] = shape.dims[i];
  }
  return rest;
}

static check_expected *expect(check_run *run, const check_op *op, const variant *v, const check_tensor *x,
                              uint32_t axes, bool keep) {
  tsr_shape kept = part_of_shape(x->shape, ~axes), reduced = part_of_shape(x->shape, axes);
  tsr_dtype computed = computed_dtype(op, x->dtype), result = op->rule == CHECK_INDEX ? TSR_I32 : computed;
  check_expected *wanted = check_expect(run, result, keep ? kept : without_axes(x->shape, axes));
  wanted->terms = check_count(reduced);
  if (check_bounds[op->bound].per_term > 0)
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  check_value *values = check_alloc(run, (size_t)wanted->terms, sizeof *values);
  for (int64_t at = 0; at < wanted->count; at++) {
    int64_t outer[TSR_MAX_RANK], inner[TSR_MAX_RANK], index[TSR_MAX_RANK];
    check_unravel(kept, at, outer);
    for (int64_t i = 0; i < wanted->terms; i++) {
      check_unravel(reduced, i, inner);
      for (int axis = 0; axis < x->shape.rank; axis++) index[axis] = outer[axis] + inner[axis];
      values[i] = check_convert(computed, x->dtype, x->values[check_ravel(x->shape, index)]);
    }
    check_reduced made = v->reduce(computed, values, wanted->terms);
    wanted->values[at] = made.value;
    if (wanted->magnitudes) wanted->magnitudes[at] = made.magnitude;
  }
  return wanted;
}

// Integers may have any value, because they wrap. Floats are small, so that the order of additions hardly matters.
static check_domain domain_for(const check_op *op, tsr_dtype dtype) {
  return !check_is_float(dtype) && op->rule != CHECK_FLOAT ? CHECK_ANY : op->domain;
}

// The status that the call must return: argmax and argmin refuse an empty set of elements.
static tsr_status refusal(const check_op *op, const reduce_case *c, uint32_t axes) {
  if (op->rule != CHECK_INDEX) return TSR_OK;
  bool is_empty = check_count(part_of_shape(c->shape, axes)) == 0;
  return is_empty ? TSR_ERR_SHAPE : TSR_OK;
}

static void run_case(check_run *run, const check_op *op, const variant *v, tsr_dtype dtype, const reduce_case *c,
                     bool keep) {
  if (!check_begin(run, c->weight, "%s%s%s", v->prefix, c->name, keep ? "-kept" : "")) return;
  uint32_t axes = axis_set(c);
  check_tensor *x = check_input(run, dtype, c->shape, c->view, domain_for(op, dtype));
  check_note(run, "axes 0x%x", axes);
  tsr_tensor *result = v->call(x->tensor, c->axis_count ? c->axes : NULL, c->axis_count, keep);
  tsr_status status = refusal(op, c, axes);
  if (status != TSR_OK) check_refused(run, result, status);
  else check_result(run, result, expect(run, op, v, x, axes, keep));
}

// Rows with NaN and infinities among ordinary numbers.
static void run_special(check_run *run, const check_op *op, const variant *v, tsr_dtype dtype) {
  static const reduce_case c = {"special", CHECK_ALWAYS, CHECK_PLAIN, {2, {8, 37}}, 1, {1}};
  if (!check_is_float(dtype) || !check_begin(run, CHECK_ALWAYS, "%s%s", v->prefix, c.name)) return;
  static const double put[8][2] = {{1, 1},          {NAN, 1},    {INFINITY, 1},   {-INFINITY, 1}, {INFINITY, -INFINITY},
                                   {NAN, INFINITY}, {0.0, -0.0}, {-INFINITY, NAN}};
  check_value values[8 * 37];
  for (int i = 0; i < 8 * 37; i++) values[i] = check_random_value(run, dtype, op->domain);
  for (int row = 0; row < 8; row++) {
    values[row * 37 + 5 + row].real = put[row][0];
    values[row * 37 + 20].real = put[row][1];
  }
  check_tensor *x = check_input_of(run, dtype, c.shape, CHECK_PLAIN, values);
  check_result(run, v->call(x->tensor, c.axes, 1, false), expect(run, op, v, x, 2, false));
}

static void run_ties(check_run *run, const check_op *op, const variant *v, tsr_dtype dtype) {
  static const reduce_case c = {"ties", CHECK_OFTEN, CHECK_PLAIN, {2, {9, 41}}, 1, {1}};
  if (!check_begin(run, c.weight, "%s%s", v->prefix, c.name)) return;
  check_tensor *x = check_input(run, dtype, c.shape, CHECK_PLAIN, CHECK_SPARSE);
  check_result(run, v->call(x->tensor, c.axes, 1, false), expect(run, op, v, x, 2, false));
}

static void run_wrong_axes(check_run *run, const variant *v, tsr_dtype dtype) {
  if (!check_begin(run, CHECK_OFTEN, "%saxis-refused", v->prefix)) return;
  check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 3), CHECK_PLAIN, CHECK_TAME);
  check_refused(run, v->call(x->tensor, (int[]){2}, 1, false), TSR_ERR_SHAPE);
}

static void run_variant(check_run *run, const check_op *op, const variant *v, tsr_dtype dtype) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    run_case(run, op, v, dtype, &cases[i], false);
    if (cases[i].weight != CHECK_HEAVY && cases[i].weight != CHECK_HUGE) run_case(run, op, v, dtype, &cases[i], true);
  }
  run_special(run, op, v, dtype);
  run_ties(run, op, v, dtype);
  run_wrong_axes(run, v, dtype);
}

void check_reductions(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_variant(run, op, &(variant){"", op->reduction, op->reduce}, dtype);
}

static tsr_tensor *var0(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_var(x, axes, count, keep, 0);
}
static tsr_tensor *var1(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_var(x, axes, count, keep, 1);
}
static tsr_tensor *std0(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_std(x, axes, count, keep, 0);
}
static tsr_tensor *std1(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_std(x, axes, count, keep, 1);
}
static tsr_tensor *norm1(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_norm(x, 1, axes, count, keep);
}
static tsr_tensor *norm2(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_norm(x, 2, axes, count, keep);
}
static tsr_tensor *norm_inf(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_norm(x, INFINITY, axes, count, keep);
}
static tsr_tensor *norm3(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_norm(x, 3, axes, count, keep);
}
static tsr_tensor *norm_least(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_norm(x, -INFINITY, axes, count, keep);
}
static tsr_tensor *norm0(tsr_tensor *x, const int *axes, int count, bool keep) {
  return tsr_norm(x, 0, axes, count, keep);
}

void check_var(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_variant(run, op, &(variant){"c0-", var0, ref_var0_of}, dtype);
  run_variant(run, op, &(variant){"c1-", var1, ref_var1_of}, dtype);
}

void check_std(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_variant(run, op, &(variant){"c0-", std0, ref_std0_of}, dtype);
  run_variant(run, op, &(variant){"c1-", std1, ref_std1_of}, dtype);
}

void check_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_variant(run, op, &(variant){"p1-", norm1, ref_norm1_of}, dtype);
  run_variant(run, op, &(variant){"p2-", norm2, ref_norm2_of}, dtype);
  run_variant(run, op, &(variant){"inf-", norm_inf, ref_norm_inf_of}, dtype);
  run_variant(run, op, &(variant){"p3-", norm3, ref_norm3_of}, dtype);
  run_variant(run, op, &(variant){"least-", norm_least, ref_norm_least_of}, dtype);
  run_variant(run, op, &(variant){"p0-", norm0, ref_norm0_of}, dtype);
}

// --- Running sums -----------------------------------------------------------------------------------------------------

typedef struct scan_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;
  int axis;
} scan_case;

static const scan_case scans[] = {
    {"one", CHECK_OFTEN, CHECK_PLAIN, {1, {1}}, 0},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 0}}, 1},
    {"short", CHECK_ALWAYS, CHECK_PLAIN, {1, {13}}, 0},
    {"last", CHECK_ALWAYS, CHECK_PLAIN, {2, {7, 19}}, -1},
    {"first", CHECK_ALWAYS, CHECK_PLAIN, {2, {19, 7}}, 0},
    {"middle", CHECK_OFTEN, CHECK_PLAIN, {3, {5, 11, 3}}, 1},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {17, 29}}, 1},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {2, {11, 23}}, 0},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {1, {67}}, 0},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {2, {31, 11}}, 0},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {2, {9, 13}}, 1},
    {"block", CHECK_OFTEN, CHECK_PLAIN, {1, {2049}}, 0},
    {"long", CHECK_HEAVY, CHECK_PLAIN, {1, {100003}}, 0},
    {"long-columns", CHECK_HEAVY, CHECK_PLAIN, {2, {5003, 3}}, 0},
    {"many", CHECK_HEAVY, CHECK_PLAIN, {2, {4099, 9}}, 1},
    {"huge", CHECK_HUGE, CHECK_PLAIN, {1, {5000011}}, 0},
};

// Computes a line of n elements, `step` apart: element i combines elements 0 to i.
typedef void (*scan_line)(check_expected *wanted, const check_tensor *x, int64_t first, int64_t step, int64_t n);

static void sum_line(check_expected *wanted, const check_tensor *x, int64_t first, int64_t step, int64_t n) {
  ref_sum sum = {0};
  double magnitude = 0;
  uint64_t whole = 0;
  bool real = is_real(wanted->dtype);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = first + i * step;
    check_value value = check_convert(wanted->dtype, x->dtype, x->values[at]);
    if (real) ref_sum_add(&sum, value.real);
    if (real) magnitude += fabs(value.real);
    if (!real) whole += (uint64_t)value.whole;
    wanted->values[at] = real ? (check_value){.real = ref_sum_value(&sum)}
                              : (check_value){.whole = check_wrap(wanted->dtype, (int64_t)whole)};
    if (real) wanted->magnitudes[at] = magnitude;
  }
}

// Rounding errors of the product are carried along, as in ref_prod_of.
static void product_line(check_expected *wanted, const check_tensor *x, int64_t first, int64_t step, int64_t n) {
  double product = 1, rest = 0, least = check_min_normal(wanted->dtype == TSR_F64 ? TSR_F64 : TSR_F32);
  int64_t whole = 1;
  bool was_subnormal = false;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = first + i * step;
    check_value value = check_convert(wanted->dtype, x->dtype, x->values[at]);
    if (!is_real(wanted->dtype)) {
      whole = times(whole, value.whole);
      wanted->values[at] = (check_value){.whole = check_wrap(wanted->dtype, whole)};
      continue;
    }
    double next = product * value.real;
    rest = isfinite(next) ? rest * value.real + fma(product, value.real, -next) : 0;
    product = next;
    wanted->values[at] = (check_value){.real = product + rest};
    wanted->magnitudes[at] = fabs(product) + (double)n * 1e-45;  // intermediate products may have been subnormal
    was_subnormal = was_subnormal || fabs(product) < least;
    wanted->may_vanish[at] = was_subnormal;
  }
}

// log(exp(x0) + … + exp(xi)), with the sum taken relative to the largest so far. Errors are those of the largest part and of 1.
static void log_sum_line(check_expected *wanted, const check_tensor *x, int64_t first, int64_t step, int64_t n) {
  double top = -INFINITY, sum = 0, size = 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = first + i * step;
    double value = check_convert(wanted->dtype, x->dtype, x->values[at]).real, next = fmax(top, value);
    sum = sum * (top == next ? 1 : exp(top - next)) + (value == next ? 1 : exp(value - next));
    top = next;
    size = fmax(size, fabs(value) + log1p((double)i));
    wanted->values[at].real = top + log(sum);
    wanted->magnitudes[at] = size;
  }
}

static void run_scan(check_run *run, const check_op *op, tsr_dtype dtype, const scan_case *c, scan_line line_of,
                     tsr_tensor *(*call)(tsr_tensor *x, int axis)) {
  if (!check_begin(run, c->weight, "%s", c->name)) return;
  check_tensor *x = check_input(run, dtype, c->shape, c->view, domain_for(op, dtype));
  check_note(run, "axis %d", c->axis);
  check_expected *wanted = check_expect(run, computed_dtype(op, dtype), c->shape);
  int axis = c->axis < 0 ? c->axis + c->shape.rank : c->axis;
  int64_t step = 1;
  for (int i = axis + 1; i < c->shape.rank; i++) step *= c->shape.dims[i];
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->may_vanish = check_alloc(run, (size_t)wanted->count, sizeof(bool));
  wanted->terms = c->shape.dims[axis];
  for (int64_t line = 0; line < (x->count ? x->count / wanted->terms : 0); line++) {
    line_of(wanted, x, line / step * step * wanted->terms + line % step, step, wanted->terms);
  }
  check_result(run, call(x->tensor, c->axis), wanted);
}

void check_cumsum(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++) run_scan(run, op, dtype, &scans[i], sum_line, tsr_cumsum);
}

void check_cumprod(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++)
    run_scan(run, op, dtype, &scans[i], product_line, tsr_cumprod);
}

void check_logcumsumexp(check_run *run, const check_op *op, tsr_dtype dtype) {
  for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++)
    run_scan(run, op, dtype, &scans[i], log_sum_line, tsr_logcumsumexp);
}

// --- Running extremes -------------------------------------------------------------------------------------------------

static void run_extremes_case(check_run *run, tsr_dtype dtype, const scan_case *c, bool is_max, check_domain domain) {
  check_tensor *x = check_input(run, dtype, c->shape, c->view, domain);
  check_expected *values = check_expect(run, dtype, c->shape), *indices = check_expect(run, TSR_I32, c->shape);
  int axis = c->axis < 0 ? c->axis + c->shape.rank : c->axis;
  int64_t step = 1, n = c->shape.dims[axis];
  for (int i = axis + 1; i < c->shape.rank; i++) step *= c->shape.dims[i];
  for (int64_t line = 0; line < (x->count ? x->count / n : 0); line++) {
    int64_t first = line / step * step * n + line % step, best = 0;
    for (int64_t i = 0; i < n; i++) {
      check_value pair[2] = {x->values[first + best * step], x->values[first + i * step]};
      if (find_extreme(dtype, pair, 2, is_max) == 1) best = i;
      values->values[first + i * step] = x->values[first + best * step];
      indices->values[first + i * step].whole = best;
    }
  }
  tsr_tensor *is_values = NULL, *is_indices = NULL;
  tsr_status status = (is_max ? tsr_cummax : tsr_cummin)(x->tensor, c->axis, &is_values, &is_indices);
  if (status != TSR_OK) {
    check_call_failed(run, status);
    return;
  }
  check_part_result(run, is_values, values);
  check_result(run, is_indices, indices);
}

static void run_extremes(check_run *run, tsr_dtype dtype, bool is_max) {
  static const check_domain domains[] = {CHECK_ANY, CHECK_SPARSE, CHECK_MODERATE};
  for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++) {
    if (check_begin(run, scans[i].weight, "%s", scans[i].name))
      run_extremes_case(run, dtype, &scans[i], is_max, domains[i % 3]);
  }
}

void check_cummax(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_extremes(run, dtype, true);
}

void check_cummin(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_extremes(run, dtype, false);
}
