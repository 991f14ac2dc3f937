// SPDX-License-Identifier: MIT
// `tessera check --grad`: see check_grad.h.
#include "check_grad.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_choice.h"

enum { LARGEST = 20000 };  // elements of all inputs of a case

// Steps of central differences. The error of a step h grows with h^2, that of roundings with 1 / h; at 1e-5 both are about equal. Shorter steps are tried where a
// function is strongly curved.
static const double steps[] = {1e-5, 1e-6, 1e-7};
enum { STEP_COUNT = sizeof steps / sizeof *steps };

bool check_grad_concerns(const check_op *op, tsr_dtype dtype) {
  bool gives_floats = op->rule != CHECK_COMPARE && op->rule != CHECK_TRUTH && op->rule != CHECK_INDEX;
  bool is_computed_in = dtype == TSR_F16 || dtype == TSR_BF16 || dtype == TSR_F32 || dtype == TSR_F64;
  return gives_floats && is_computed_in && op->dtypes & CHECK_BIT(dtype);
}

// --- Numbers -----------------------------------------------------------------------------------------------------------

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 31) * UINT64_C(0x7FB5D329728EA185);
  x = (x ^ x >> 27) * UINT64_C(0x81DADEF4BC2DD44D);
  return x ^ x >> 33;
}

// A pseudo-random number of magnitude 0.5 to 1, which depends on `kind`, the number of the input or result, and the index of the element.
static double sign_and_size(int kind, int number, int64_t at) {
  uint64_t bits = mixed(((uint64_t)kind << 56) + ((uint64_t)number << 40) + (uint64_t)at + 1);
  double size = 0.5 + (double)(bits >> 12) / 9007199254740992.0;
  return bits & 1u ? size : -size;
}

enum { DIRECTION, OTHER_DIRECTION, WEIGHT };

// A random number from 0 to 1. Numbers of one case are at least 1 / 65537 apart: they are cubes modulo this prime, which are all different.
static double distant(check_run *run) {
  enum { PRIME = 65537 };
  uint64_t n = (mixed(run->first_number) + run->grad->drawn++) % PRIME;
  return ((double)(n * n % PRIME * n % PRIME) + 0.25) / PRIME;
}

// A random number of a domain in which the operator is smooth. It is rounded to the dtype of the case as well: operators such as scatter_min convert wider
// inputs to it, and numbers that become equal by that would have other gradients in the f64 reference.
check_value check_grad_number(check_run *run, tsr_dtype dtype, check_domain domain) {
  const check_op *op = run->op;
  double from = -2, to = 2;
  if (domain == CHECK_LOGITS) from = -3, to = 3;
  if (domain == CHECK_NEAR_ONE) from = 0.75, to = 1.25;
  if (op->smooth_from < op->smooth_to) from = op->smooth_from, to = op->smooth_to;
  double number = check_round(dtype, from + (to - from) * distant(run));
  return (check_value){.real = check_is_float(run->dtype) ? check_round(run->dtype, number) : number};
}

check_value check_grad_near(check_run *run, tsr_dtype dtype, check_value value) {
  if (!check_is_float(dtype)) return value;
  return (check_value){.real = check_round(dtype, value.real + 0.02 * (distant(run) - 0.5))};
}

// --- A case ------------------------------------------------------------------------------------------------------------

void check_grad_begin(check_run *run) {
  double moved = run->grad->step;
  bool is_wide = run->grad->is_wide;
  *run->grad = (check_grad){.step = moved, .is_wide = is_wide};
  run->first_number = run->random;
  tsr_grad_begin();
}

void check_grad_end(check_run *run) {
  (void)run;
  tsr_grad_end();
}

// Inputs that are not computed with the dtype of the case are constants, and so are those that the row names.
static bool is_watched(const check_run *run, tsr_dtype dtype, int number) {
  return dtype == run->dtype && !(run->op->constants >> number & 1u);
}

static bool makes_sense(const check_value *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(values[i].real) < 1e3)) return false;
  }
  return true;
}

tsr_tensor *check_grad_memory(check_run *run, tsr_dtype dtype, tsr_shape shape, const check_value *values) {
  check_grad *grad = run->grad;
  int64_t count = check_count(shape);
  int number = grad->input_count++;
  bool is_moved = check_is_float(dtype) && is_watched(run, dtype, number);
  tsr_dtype as = grad->is_wide && dtype == run->dtype ? TSR_F64 : dtype;
  size_t bytes = tsr_dtype_bytes(as);
  unsigned char *data = check_alloc(run, (size_t)count, bytes);
  grad->element_count += count;
  if (number >= CHECK_GRAD_INPUTS || grad->element_count > LARGEST) grad->is_refused = true;
  if (check_is_float(dtype) && !makes_sense(values, count)) grad->is_refused = true;
  for (int64_t i = 0; i < count; i++) {
    check_value value = values[i];
    if (is_moved) grad->input_size += fabs(value.real);
    if (is_moved && grad->step != 0) value.real += grad->step * sign_and_size(DIRECTION, number, i);
    check_encode(as, value, data + (size_t)i * bytes);
  }
  tsr_tensor *memory = tsr_from_data(check_device(run), as, shape, data, (size_t)count * bytes);
  if (number >= CHECK_GRAD_INPUTS) return memory;
  grad->inputs[number] = (check_grad_input){.dtype = as, .count = count};
  if (!is_moved || grad->is_refused || tsr_grad_watch(memory) != TSR_OK) return memory;
  grad->inputs[number].tensor = memory;
  return tsr_mul_scalar(memory, 1);  // a copy, which the case may write to
}

static tsr_tensor *made(check_run *run, tsr_dtype dtype, tsr_shape shape, int kind, int number) {
  int64_t count = check_count(shape);
  size_t bytes = tsr_dtype_bytes(dtype);
  unsigned char *data = check_alloc(run, (size_t)count, bytes);
  for (int64_t i = 0; i < count; i++) {
    check_encode(dtype, (check_value){.real = check_round(dtype, sign_and_size(kind, number, i))},
                 data + (size_t)i * bytes);
  }
  return tsr_from_data(check_device(run), dtype, shape, data, (size_t)count * bytes);
}

static tsr_tensor *total(tsr_tensor *x) { return tsr_sum(x, NULL, 0, false); }

static tsr_tensor *plus(tsr_tensor *sum, tsr_tensor *part) { return sum ? tsr_add(sum, part) : part; }

void check_grad_add(check_run *run, tsr_tensor *result, int64_t terms) {
  check_grad *grad = run->grad;
  if (run->has_failed || grad->is_refused) return;
  if (tsr_error(result) != TSR_OK) {
    check_mark_error(run, tsr_error(result));
    return;
  }
  int number = grad->result_count++;
  tsr_dtype dtype = tsr_tensor_dtype(result), sum = dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  if (terms > grad->terms) grad->terms = terms;
  if (!check_is_float(dtype)) return;
  if (run->dtype == TSR_F64 && dtype != TSR_F64) grad->is_refused = true;  // rounded too coarsely for differences
  grad->has_float_results = true;
  tsr_tensor *weights = made(run, dtype, tsr_tensor_shape(result), WEIGHT, number);
  tsr_tensor *weighted = tsr_cast(tsr_mul(result, weights), sum);
  if (run->dtype == TSR_F64) weighted = tsr_cast(weighted, TSR_F64);
  grad->loss = plus(grad->loss, total(weighted));
  tsr_grad_pause();
  grad->size = plus(grad->size, total(tsr_abs(weighted)));
  tsr_grad_resume();
}

// --- Gradients -----------------------------------------------------------------------------------------------------------

// y + 0 * each input, so that the result depends on all inputs.
static tsr_tensor *tied(const check_grad *grad, tsr_tensor *y) {
  for (int i = 0; i < grad->input_count; i++) {
    tsr_tensor *x = grad->inputs[i].tensor;
    if (x && grad->inputs[i].count > 0) y = tsr_add(y, tsr_cast(tsr_mul_scalar(total(x), 0), tsr_tensor_dtype(y)));
  }
  return y;
}

// The gradients of `y` with respect to all inputs. Inputs without a gradient get NULL.
static tsr_status gradients_of(const check_grad *grad, tsr_tensor *y, bool keep, tsr_tensor **out_gradients) {
  tsr_tensor *xs[CHECK_GRAD_INPUTS] = {NULL}, *found[CHECK_GRAD_INPUTS] = {NULL};
  int count = 0, at = 0;
  for (int i = 0; i < grad->input_count; i++) {
    if (grad->inputs[i].tensor) xs[count++] = grad->inputs[i].tensor;
  }
  tsr_grad_desc desc = {.keep = keep, .zeros_if_unused = true};
  tsr_status status = tsr_grad(tied(grad, y), &desc, xs, count, found);
  for (int i = 0; i < grad->input_count && status == TSR_OK; i++) {
    out_gradients[i] = grad->inputs[i].tensor ? found[at++] : NULL;
  }
  return status;
}

// Reads gradients as f64 into the inputs' records.
static bool read_gradients(check_run *run, tsr_tensor *const *gradients) {
  for (int i = 0; i < run->grad->input_count; i++) {
    check_grad_input *input = &run->grad->inputs[i];
    if (!input->tensor) continue;
    size_t bytes = tsr_dtype_bytes(input->dtype);
    unsigned char *data = check_alloc(run, (size_t)input->count, bytes);
    if (tsr_read(gradients[i], data, (size_t)input->count * bytes) != TSR_OK) return false;
    input->gradient = check_alloc(run, (size_t)input->count, sizeof(double));
    for (int64_t k = 0; k < input->count; k++) {
      input->gradient[k] = check_decode(input->dtype, data + (size_t)k * bytes).real;
    }
  }
  return true;
}

// The sum of the products of the gradients with the second direction.
static tsr_tensor *slope_of(check_run *run, tsr_tensor *const *gradients) {
  tsr_tensor *slope = NULL;
  for (int i = 0; i < run->grad->input_count; i++) {
    if (!gradients[i]) continue;
    tsr_shape shape = tsr_tensor_shape(gradients[i]);
    tsr_tensor *direction = made(run, run->grad->inputs[i].dtype, shape, OTHER_DIRECTION, i);
    slope = plus(slope, total(tsr_mul(gradients[i], direction)));
  }
  return slope;
}

// --- Against differences -------------------------------------------------------------------------------------------------

// A derivative along the direction, to compare with a difference. along: the product of gradient and direction; largest: the sum of the magnitudes of its
// terms; value: the magnitude of the numbers whose difference is taken.
typedef struct slice {
  double along, largest, value;
} slice;

static void add_product(const check_grad *grad, slice *s) {
  s->along = s->largest = 0;
  for (int i = 0; i < grad->input_count; i++) {
    const check_grad_input *input = &grad->inputs[i];
    for (int64_t k = 0; input->tensor && k < input->count; k++) {
      double part = input->gradient[k] * sign_and_size(DIRECTION, i, k);
      s->along += part;
      s->largest += fabs(part);
    }
  }
}

// Runs the case again with its inputs moved by `moved` along the direction. Returns the weighted sum there, and its slope along the second direction.
static bool probe(check_run *run, double moved, double *out_value, double *out_slope) {
  check_grad grad = {.step = moved};
  check_run again = check_run_again(run, &grad);
  run->op->run(&again, run->op, run->dtype);
  check_run_again_end(&again);
  *out_value = again.probed[0];
  *out_slope = again.probed[1];
  if (again.has_failed) check_mark_failed(run, "with inputs moved by %g: %s", moved, again.message);
  return !again.has_failed;
}

// Ends such a run: stores the weighted sum and the slope in run->probed.
static void finish_probe(check_run *run) {
  tsr_tensor *gradients[CHECK_GRAD_INPUTS] = {NULL};
  tsr_status status = gradients_of(run->grad, run->grad->loss, true, gradients);
  tsr_tensor *slope = status == TSR_OK ? slope_of(run, gradients) : NULL;
  if (status == TSR_OK) status = tsr_item(run->grad->loss, &run->probed[0]);
  if (status == TSR_OK) status = tsr_item(slope, &run->probed[1]);
  if (status != TSR_OK) check_mark_error(run, status);
}

// The first and the second derivative, and the differences that they are compared with, of the step that fits best.
typedef struct comparison {
  slice slices[2];
  double differences[2];
  double used[2];  // error divided by the bound
  double least;    // the bound where terms cancel to 0: rounding errors of the inputs, divided by the step
} comparison;

static bool try_step(check_run *run, comparison *c, double step) {
  double below[2], above[2];
  if (!probe(run, -step, &below[0], &below[1]) || !probe(run, step, &above[0], &above[1])) return false;
  for (int i = 0; i < 2; i++) {
    const slice *s = &c->slices[i];
    double differences = (above[i] - below[i]) / (2 * step), error = fabs(s->along - differences);
    double used = error / (1e-6 * s->largest + 1e-9 * s->value + c->least);
    if (c->used[i] <= used) continue;  // an earlier step was better
    c->used[i] = used;
    c->differences[i] = differences;
  }
  return true;
}

static void compare(check_run *run, comparison *c) {
  static const char *const what[] = {"the gradient", "the second derivative"};
  c->used[0] = c->used[1] = INFINITY;
  for (int i = 0; i < STEP_COUNT && !(c->used[0] <= 1 && c->used[1] <= 1); i++) {
    if (!try_step(run, c, steps[i])) return;
  }
  for (int i = 0; i < 2; i++) {
    if (c->used[i] <= 1) {
      check_note_worst(run, CHECK_DIFFERENCES, c->used[i], 1);
      continue;
    }
    check_mark_failed(run,
                      "%s along a direction is %.10g, differences give %.10g; the error is %.3g times what is allowed",
                      what[i], c->slices[i].along, c->differences[i], c->used[i]);
  }
}

static void compare_with_differences(check_run *run) {
  check_grad *grad = run->grad;
  comparison c = {.least = 1e-10 + 1e-11 * grad->input_size};
  slice *first = &c.slices[0], *second = &c.slices[1];
  tsr_tensor *gradients[CHECK_GRAD_INPUTS] = {NULL}, *bends[CHECK_GRAD_INPUTS] = {NULL};
  tsr_status status = gradients_of(grad, grad->loss, true, gradients);
  tsr_tensor *slope = status == TSR_OK ? slope_of(run, gradients) : NULL;
  if (status == TSR_OK) status = tsr_item(grad->size, &first->value);
  if (status == TSR_OK && !read_gradients(run, gradients)) status = tsr_last_error_status();
  if (status == TSR_OK) add_product(grad, first);
  if (status == TSR_OK) status = gradients_of(grad, slope, false, bends);
  if (status == TSR_OK && !read_gradients(run, bends)) status = tsr_last_error_status();
  if (status == TSR_OK) add_product(grad, second);
  check_grad_end(run);
  second->value = first->value + first->largest;
  if (status != TSR_OK) check_mark_error(run, status);
  else if (isfinite(first->value)) compare(run, &c);
  else grad->is_refused = true;  // at a pole
}

// --- Against the CPU -----------------------------------------------------------------------------------------------------

static tsr_device *reference_device(void) {
  static tsr_device *cpu;
  if (!cpu) device_open_exactly("cpu", 0, &cpu);
  return cpu;
}

static double largest_gradient(const check_grad *grad) {
  double largest = 0;
  for (int i = 0; i < grad->input_count; i++) {
    const check_grad_input *input = &grad->inputs[i];
    for (int64_t k = 0; input->tensor && k < input->count; k++) largest = fmax(largest, fabs(input->gradient[k]));
  }
  return largest;
}

static void compare_gradients(check_run *run, const check_grad *right) {
  const check_grad *grad = run->grad;
  double unit = check_roundoff(run->dtype) *
                fmax(1, largest_gradient(right));  // weights, which gradients begin with, are up to 1
  double allowed = check_allowed(CHECK_GRADIENT, run->dtype, run->backend, grad->terms) * fmax(1, run->op->condition);
  for (int i = 0; i < grad->input_count; i++) {
    const check_grad_input *input = &grad->inputs[i];
    for (int64_t k = 0; input->tensor && k < input->count; k++) {
      double wanted = right->inputs[i].gradient[k], error = fabs(input->gradient[k] - wanted);
      bool is_same = input->gradient[k] == wanted || (isnan(input->gradient[k]) && isnan(wanted));
      double used = is_same ? 0 : error / unit;
      if (used <= allowed) {
        check_note_worst(run, CHECK_GRADIENT, used, allowed);
        continue;
      }
      check_mark_failed(
          run,
          "the gradient of input %d is %.9g at %lld, in f64 on the CPU %.9g; the error is %.4g %s, %.4g are allowed", i,
          input->gradient[k], (long long)k, wanted, used, check_bounds[CHECK_GRADIENT].unit, allowed);
      return;
    }
  }
}

static void take_gradients(check_run *run) {
  tsr_tensor *gradients[CHECK_GRAD_INPUTS] = {NULL};
  double size = 0;
  tsr_status status = gradients_of(run->grad, run->grad->loss, false, gradients);
  if (status == TSR_OK) status = tsr_item(run->grad->size, &size);
  if (status == TSR_OK && !read_gradients(run, gradients)) status = tsr_last_error_status();
  if (status != TSR_OK) check_mark_error(run, status);
  if (!isfinite(size)) run->grad->is_refused = true;  // at a pole, or beyond the dtype
}

static void compare_with_cpu(check_run *run) {
  take_gradients(run);
  check_grad_end(run);
  check_grad right = {.is_wide = true};
  check_run again = check_run_again(run, &right);
  again.device = reference_device();
  if (!again.device) check_mark_failed(run, "there is no CPU device to compare with: %s", tsr_last_error());
  if (run->has_failed || run->grad->is_refused) return;
  run->op->run(&again, run->op, run->dtype);
  if (right.is_refused) run->grad->is_refused = true;
  else if (again.has_failed) check_mark_failed(run, "on the CPU: %s", again.message);
  else compare_gradients(run, &right);
  check_run_again_end(&again);
}

// --- The end of a case -----------------------------------------------------------------------------------------------------

static bool is_exact_reference(const check_run *run) {
  return strcmp(run->backend, "cpu") == 0 && run->dtype == TSR_F64;
}

// For an operator that has no gradient according to operators.def: asking for one must fail, with a message that names the operator.
static void expect_refusal(check_run *run) {
  tsr_tensor *gradients[CHECK_GRAD_INPUTS] = {NULL};
  tsr_status status = gradients_of(run->grad, run->grad->loss, false, gradients);
  check_grad_end(run);
  if (status != TSR_ERR_UNSUPPORTED || !strstr(tsr_last_error(), run->op->name)) {
    check_mark_failed(run, "its row says that it has no gradient, but asking for it gives %s", tsr_status_name(status));
  }
}

static bool has_watched(const check_grad *grad) {
  for (int i = 0; i < grad->input_count; i++) {
    if (grad->inputs[i].tensor && grad->inputs[i].count > 0) return true;
  }
  return false;
}

// Ends a run of a repeated case: for the f64 reference or for a difference.
static void finish_again(check_run *run) {
  if (!run->has_failed && run->grad->is_wide) take_gradients(run);
  if (!run->has_failed && !run->grad->is_wide) finish_probe(run);
  check_grad_end(run);
}

void check_grad_finish(check_run *run) {
  check_grad *grad = run->grad;
  bool has_gradient = !grad->is_refused && (run->has_failed || (grad->has_float_results && has_watched(grad)));
  if (run->repeated) finish_again(run);
  else if (!has_gradient || run->has_failed) check_grad_end(run);
  else if (run->op->has_no_gradient) expect_refusal(run);
  else if (is_exact_reference(run)) compare_with_differences(run);
  else compare_with_cpu(run);
  if (run->repeated || !has_gradient || grad->is_refused) check_drop_case(run);
  else check_end_case(run);
}
