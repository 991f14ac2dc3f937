// SPDX-License-Identifier: MIT
// Finds the rule of an operator; rules of copies, moves and conversions.
#include "grad/rule.h"

#include "grad/checkpoint.h"
#include "grad/place.h"
#include "graph/assign.h"
#include "graph/move.h"
#include "ops/attention_native.h"
#include "ops/channel_sums.h"
#include "ops/conv_weight.h"
#include "ops/interp.h"
#include "ops/label_entropy.h"
#include "ops/logsumexp.h"
#include "ops/norm_gradient.h"
#include "ops/pool.h"
#include "ops/promote.h"

#include <tessera/tensor.h>

// --- Copies ----------------------------------------------------------------------------------------------------------------

void tsri_gradient_cast(const grad_view *v) { v->gradients[0] = v->cotangents[0]; }

static void gradient_move(const grad_view *v) {
  v->gradients[0] = tsr_to(v->cotangents[0], v->inputs[0]->value->device);
}

// Inputs: the old elements of the memory, and the new elements. The attributes are the view that is written to.
static void gradient_assign(const grad_view *v) {
  const tsri_layout *view = v->attributes;
  tsr_tensor *g = v->cotangents[0];
  if (v->wants[1]) v->gradients[1] = tsri_grad_read(g, view);
  if (!v->wants[0] || view->count == g->layout.count) return;
  // A new row-major tensor, as `view` expects: the result of mul_scalar has the order of its input's axes in memory.
  tsr_tensor *rest = tsr_mul_scalar(tsr_contiguous(g), 1);
  tsr_status status = tsri_tensor_check("grad", rest);
  if (status == TSR_OK) {
    tsr_tensor *zero = tsr_zeros(g->value->device, g->dtype, TSR_SCALAR);
    status = tsr_assign(tsri_tensor_view(rest, view), zero);
  }
  v->gradients[0] = status == TSR_OK ? rest : tsri_tensor_fail(status);
}

// --- Parts of logsumexp -----------------------------------------------------------------------------------------------------

// The anchor is added and subtracted, so it counts as a constant.
static void gradient_constant(const grad_view *v) { (void)v; }

static void gradient_shifted_exp(const grad_view *v) { v->gradients[0] = tsr_mul(v->cotangents[0], v->outputs[0]); }

static void gradient_log_plus(const grad_view *v) { v->gradients[0] = tsr_div(v->cotangents[0], v->inputs[0]); }

// --- The table --------------------------------------------------------------------------------------------------------------

#define GRADIENT_OF(f)                                             , tsri_gradient_##f
#define SECOND(none, rule, ...)                                    rule
#define RULE_OF(...)                                               SECOND(__VA_ARGS__, NULL, NULL)
#define TSRI_REDUCTION(name, text, body, check)                    [TSRI_OPERATOR_##name] = RULE_OF(0 body),
#define TSRI_OPERATOR(name, family, text, parameters, body, check) [TSRI_OPERATOR_##name] = RULE_OF(0 body),

static const grad_rule others[TSRI_OPERATOR_COUNT] = {
#include "ops/operators.def"
};

static grad_rule rule_of_part(const tsri_op *op) {
  const struct {
    const tsri_op *op;
    grad_rule rule;
  } parts[] = {{&tsri_op_copy, tsri_gradient_cast},
               {&tsri_op_move, gradient_move},
               {&tsri_op_assign, gradient_assign},
               {&tsri_op_checkpoint, tsri_gradient_checkpoint},
               {&tsri_op_line, tsri_gradient_line},
               {&tsri_op_anchor, gradient_constant},
               {&tsri_op_shifted_exp, gradient_shifted_exp},
               {&tsri_op_log_plus, gradient_log_plus},
               {&tsri_op_label_entropy, tsri_gradient_of_label_entropy},
               {&tsri_op_norm_gradient, tsri_gradient_of_norm_gradient},
               {&tsri_op_max_pool_gradient[0], tsri_gradient_of_max_pool_gradient},
               {&tsri_op_max_pool_gradient[1], tsri_gradient_of_max_pool_gradient},
               {&tsri_op_conv_weight, tsri_gradient_of_conv_weight},
               {&tsri_op_native_attention_gradient, tsri_gradient_of_attention_gradient},
               {&tsri_op_channel_statistics, tsri_gradient_channel_statistics},
               {&tsri_op_channel_slopes, tsri_gradient_channel_slopes},
               {&tsri_op_channel_spread[0], tsri_gradient_channel_spread},
               {&tsri_op_channel_spread[1], tsri_gradient_channel_spread},
               {&tsri_op_channel_norm_gradient[0], tsri_gradient_of_channel_norm_gradient},
               {&tsri_op_channel_norm_gradient[1], tsri_gradient_of_channel_norm_gradient},
               {&tsri_op_channel_norm[0], tsri_gradient_channel_norm},
               {&tsri_op_channel_norm[1], tsri_gradient_channel_norm},
               {&tsri_op_channel_norm[2], tsri_gradient_channel_norm},
               {&tsri_op_channel_norm[3], tsri_gradient_channel_norm}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (parts[i].op == op) return parts[i].rule;
  }
  return NULL;
}

grad_rule tsri_grad_rule_of(const tsri_op *op) {
  uintptr_t at = (uintptr_t)op - (uintptr_t)tsri_operators;
  if ((uintptr_t)op < (uintptr_t)tsri_operators || at >= sizeof tsri_operators) return rule_of_part(op);
  size_t id = at / sizeof *tsri_operators;
  return tsri_grad_elementwise[id] ? tsri_grad_elementwise[id] : others[id];
}

// --- For rules -------------------------------------------------------------------------------------------------------------

tsr_tensor *tsri_grad_spread(const grad_view *v, tsr_tensor *reduced, const tsr_tensor *x) {
  tsr_shape shape = tsr_tensor_shape(x), kept = shape;
  for (int i = 0; i < shape.rank; i++) {
    if (v->axes >> i & 1u) kept.dims[i] = 1;
  }
  return tsr_expand(tsr_reshape(reduced, kept), shape);
}

tsr_tensor *tsri_grad_wide(tsr_tensor *x) { return tsr_cast(x, tsri_accumulator(tsr_tensor_dtype(x))); }

tsr_tensor *tsri_grad_zeros(const tsr_tensor *x) {
  return tsr_zeros(x->value->device, tsr_tensor_dtype(x), tsr_tensor_shape(x));
}
