// SPDX-License-Identifier: MIT
// Gradients of softmax and norms along rows. f16 and bf16 are computed in f32.
#include "grad/again.h"
#include "grad/range.h"
#include "ops/label_entropy.h"
#include "ops/norm_gradient.h"
#include "ops/norm_one_pass.h"

static tsr_tensor *sum_along(tsr_tensor *x, int axis) { return tsr_sum(x, &axis, 1, true); }

void tsri_gradient_softmax(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, softmax)->axis;
  tsr_tensor *y = tsri_grad_wide(v->outputs[0]), *g = tsri_grad_wide(v->cotangents[0]);
  v->gradients[0] = tsr_mul(y, tsr_sub(g, sum_along(tsr_mul(g, y), axis)));
}

void tsri_gradient_log_softmax(const grad_view *v) {
  int axis = (int)TSRI_GIVEN(v, softmax)->axis;
  tsr_tensor *y = tsri_grad_wide(v->outputs[0]), *g = tsri_grad_wide(v->cotangents[0]);
  v->gradients[0] = tsr_sub(g, tsr_mul(tsr_exp(y), sum_along(g, axis)));
}

// Of the results logsumexp(x) - x[index] and logsumexp(x), with P = exp(x - logsumexp(x)): P (g + g of the second result), less g at the index.
void tsri_gradient_of_label_entropy(const grad_view *v) {
  if (!v->wants[0] ||
      (!tsri_grad_is_remembered() && tsri_label_gradient(v->inputs[0], v->inputs[1], v->outputs[1], v->cotangents[0],
                                                         v->cotangents[1], &v->gradients[0])))
    return;
  int axis = (int)TSRI_GIVEN(v, softmax)->axis;
  tsr_tensor *x = tsri_grad_wide(v->inputs[0]), *sum = NULL;
  tsr_shape along = {.rank = tsr_tensor_shape(x).rank};
  for (int i = 0; i < along.rank; i++) along.dims[i] = i == axis ? tsr_tensor_shape(x).dims[i] : 1;
  for (int i = 0; i < 2; i++) {
    if (!v->cotangents[i]) continue;
    tsr_tensor *g = tsr_unsqueeze(v->cotangents[i], axis);
    sum = sum ? tsr_add(sum, g) : g;
  }
  if (!sum) return;
  tsr_tensor *dx = tsr_mul(tsr_exp(tsr_sub(x, tsr_unsqueeze(v->outputs[1], axis))), sum);
  if (v->cotangents[0]) {
    tsr_tensor *classes = tsr_arange(x->value->device, TSR_I32, 0, (double)along.dims[axis], 1);
    tsr_tensor *is_label = tsr_eq(tsr_reshape(classes, along), tsr_unsqueeze(tsr_cast(v->inputs[1], TSR_I32), axis));
    dx = tsr_where(is_label, tsr_sub(dx, tsr_unsqueeze(v->cotangents[0], axis)), dx);
  }
  v->gradients[0] = dx;
}

// Adds up over all rows.
static tsr_tensor *sum_rows(tsr_tensor *x) {
  tsr_shape shape = tsr_tensor_shape(x);
  int64_t columns = shape.dims[shape.rank - 1], rows = 1;
  for (int i = 0; i + 1 < shape.rank; i++) rows *= shape.dims[i];
  return tsr_sum(tsr_reshape(x, TSR_SHAPE(rows, columns)), (const int[]){0}, 1, false);
}

// With r = 1 / sqrt(mean of squares + eps), n = x r (x without its mean if it is centred) and d = g weight:
// dx = r (d - mean(d) - n mean(d n)), where mean(d) is left out unless it is centred; dweight = g n and dbias = g, added up over rows. `weight` may be NULL.
static void compose_norm(const tsri_norm_attributes *given, tsr_tensor *x, tsr_tensor *g, tsr_tensor *weight,
                         tsr_tensor *results[3]) {
  int last = tsr_tensor_shape(x).rank - 1;
  if (given->is_centred) x = tsr_sub(x, tsr_mean(x, &last, 1, true));
  tsr_tensor *r = tsr_rsqrt(tsr_add_scalar(tsr_mean(tsr_square(x), &last, 1, true), given->eps));
  tsr_tensor *n = tsr_mul(x, r), *d = weight ? tsr_mul(g, weight) : g;
  tsr_tensor *part = tsr_sub(d, tsr_mul(n, tsr_mean(tsr_mul(d, n), &last, 1, true)));
  if (given->is_centred) part = tsr_sub(part, tsr_mean(d, &last, 1, true));
  results[0] = tsr_mul(r, part);
  results[1] = sum_rows(tsr_mul(g, n));
  results[2] = sum_rows(g);
}

// The gradients by several passes, or by the device's native operator, which adds `plus` if `may_add`. Returns whether it was added.
static bool take_norm_apart(const tsri_norm_attributes *given, tsr_tensor *const *xs, tsr_tensor *plus, bool may_add,
                            tsr_tensor *results[3]) {
  tsr_tensor *x = tsri_grad_wide(xs[0]), *g = tsri_grad_wide(xs[1]), *weight = xs[2] ? tsri_grad_wide(xs[2]) : NULL;
  bool is_native = tsri_norm_has_gradient(x, g, weight),
       adds = may_add && tsr_tensor_dtype(plus ? plus : x) == x->dtype;
  if (is_native) tsri_norm_gradients(x, g, weight, adds ? plus : NULL, given, results);
  else compose_norm(given, x, g, weight, results);
  return is_native && adds;
}

// Weight and bias are inputs from `next` on; the result is dx, and `plus` if that is not NULL.
static tsr_tensor *gradient_of_norm(const grad_view *v, tsr_tensor *x, tsr_tensor *g, tsr_tensor *plus, int next) {
  const tsri_norm_attributes *given = TSRI_GIVEN(v, norm);
  int weight = given->has_weight ? next++ : 0, bias = given->has_bias ? next : 0;
  tsr_tensor *xs[3] = {x, g, weight ? v->inputs[weight] : NULL}, *results[3];
  bool may_add = !tsri_grad_is_remembered();  // operators that add `plus` have no gradient
  bool is_whole = may_add && tsri_norm_one_pass(x, g, xs[2], plus, given, results);
  bool has_added = is_whole || take_norm_apart(given, xs, plus, may_add, results);
  if (plus && !has_added) results[0] = tsr_add(plus, results[0]);
  if (weight && v->wants[weight]) v->gradients[weight] = results[1];
  if (bias && v->wants[bias]) v->gradients[bias] = results[2];
  return results[0];
}

// The results of the native operator as a composition. Inputs: x, g, and perhaps the weight.
static tsr_status compose_norm_gradients(const grad_view *v, tsr_tensor *const *inputs, tsr_tensor **outputs) {
  const tsri_norm_attributes *given = TSRI_GIVEN(v, norm);
  compose_norm(given, inputs[0], inputs[1], given->has_weight ? inputs[2] : NULL, outputs);
  return TSR_OK;
}

void tsri_gradient_of_norm_gradient(const grad_view *v) { tsri_grad_again(v, compose_norm_gradients); }

void tsri_gradient_norm(const grad_view *v) {
  tsr_tensor *dx = gradient_of_norm(v, v->inputs[0], v->cotangents[0], v->so_far[0], 1);
  if (!v->wants[0]) return;
  v->gradients[0] = dx;
  v->so_far[0] = NULL;
}

// Results: the sum of both inputs, and its norm.
void tsri_gradient_add_norm(const grad_view *v) {
  tsr_tensor *sum = v->cotangents[0];
  if (v->cotangents[1]) sum = gradient_of_norm(v, v->outputs[0], v->cotangents[1], sum, 2);
  for (int i = 0; i < 2; i++) {
    if (v->wants[i]) v->gradients[i] = sum;
  }
}
