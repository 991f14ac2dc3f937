// SPDX-License-Identifier: MIT
// Rules: each operator's gradient, as a composition of operators.
//
// A rule is part of the operator's row in ops/operators.def: GRADIENT(…) for element-wise operators, where x (or a and b, …) are the inputs,
// y the result and g its gradient; GRADIENT_OF(f) names a function tsri_gradient_<f> for the others.
#ifndef TSRI_GRAD_RULE_H
#define TSRI_GRAD_RULE_H

#include "ops/operators.h"

#include <tessera/ops.h>

// One operator, for its rule. A rule runs in a scope of its own: it need not release what it makes.
typedef struct grad_view {
  const tsri_op *op;
  uint32_t axes;
  const void *attributes;  // see TSRI_GIVEN
  int input_count, output_count;
  // What the operator read, and what it computed: element-wise inputs are broadcast and converted to what it computes in.
  tsr_tensor *const *inputs, *const *outputs;
  tsr_tensor *const *cotangents;  // gradients of the outputs; NULL: 0
  const bool *wants;              // which inputs need a gradient
  tsr_tensor **gradients;         // the rule fills in those: of the inputs' shapes; NULL: 0
  // The gradients of the inputs that other operators gave, of the inputs' shapes and dtypes; NULL: none. What the rule gives is added to it, unless the rule has done so and sets this to NULL.
  tsr_tensor **so_far;
  bool
      rectifies;  // max_pool: its input is the result of relu, and the rule of max_pool applies the mask of relu as well
  bool is_rectified;  // relu: that was done, and the cotangent is already 0 where the result is 0
} grad_view;

typedef void (*grad_rule)(const grad_view *v);

// The rule of an operator; NULL: it has none.
grad_rule tsri_grad_rule_of(const tsri_op *op);

// Rules of element-wise operators, by tsri_operator_id; NULL: none.
extern const grad_rule tsri_grad_elementwise[TSRI_OPERATOR_COUNT];

// Rules that rows name: tsri_gradient_sum for GRADIENT_OF(sum), and so on.
#define GRADIENT_OF(f)                                             void tsri_gradient_##f(const grad_view *v);
#define TSRI_REDUCTION(name, text, body, check)                    body
#define TSRI_OPERATOR(name, family, text, parameters, body, check) body
#include "ops/operators.def"

// Rules of operators that are part of another one's gradient (ops/pool.h, ops/conv_weight.h).
void tsri_gradient_of_max_pool_gradient(const grad_view *v);
void tsri_gradient_of_norm_gradient(const grad_view *v);       // ops/norm_gradient.h
void tsri_gradient_of_attention_gradient(const grad_view *v);  // ops/attention_native.h
void tsri_gradient_of_conv_weight(const grad_view *v);

// Rules of the parts of batch_norm_train (ops/channel_sums.h).
void tsri_gradient_channel_norm(const grad_view *v);
void tsri_gradient_of_channel_norm_gradient(const grad_view *v);
void tsri_gradient_channel_statistics(const grad_view *v);
void tsri_gradient_channel_slopes(const grad_view *v);
void tsri_gradient_channel_spread(const grad_view *v);

// The gradient of avg_pool whose windows follow from the size of the result.
tsr_tensor *tsri_grad_of_adaptive_mean(const grad_view *v);

// The rule of a part of cross_entropy (ops/label_entropy.h).
void tsri_gradient_of_label_entropy(const grad_view *v);

// The rule of a part of interp (ops/interp.h).
void tsri_gradient_line(const grad_view *v);

// --- For rules -----------------------------------------------------------------------------------------------------------

// Puts back the axes that a reduction of a tensor like `x` removed, and broadcasts `reduced` to the shape of `x`.
tsr_tensor *tsri_grad_spread(const grad_view *v, tsr_tensor *reduced, const tsr_tensor *x);

// `x` in the dtype that rules compute in: f32 for f16 and bf16, so that results are rounded once, at the end.
tsr_tensor *tsri_grad_wide(tsr_tensor *x);

// Zeros of the dtype and shape of `x`.
tsr_tensor *tsri_grad_zeros(const tsr_tensor *x);

#endif
