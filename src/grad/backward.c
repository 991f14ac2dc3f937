// SPDX-License-Identifier: MIT
// tsr_grad: goes back through the steps of a range and adds up gradients.
#include "core/alloc.h"
#include "core/error.h"
#include "grad/place.h"
#include "grad/rule.h"
#include "graph/transfer.h"
#include "ops/autocast.h"
#include "ops/promote.h"

#include <tessera/grad.h>

// --- One step -----------------------------------------------------------------------------------------------------------

static void drop_gradient(grad_slot *slot) {
  tsr_release(slot->gradient);
  slot->gradient = NULL;
}

// Adds to the gradient of a value the part that comes from reading it through `view`.
static tsr_status add_part(grad_slot *slot, tsr_tensor *part, const tsri_layout *view) {
  tsr_tensor *placed = tsri_grad_place(part, view, slot->shape);
  if (slot->gradient) placed = tsr_add(slot->gradient, placed);
  tsr_status status = tsri_tensor_check("grad", placed);
  if (status != TSR_OK) return status;
  tsr_retain(placed);
  drop_gradient(slot);
  slot->gradient = placed;
  return TSR_OK;
}

// What input `index` of the step read, as a tensor of the open scope.
static tsr_tensor *input_of(const grad_step *step, uint32_t index) {
  const tsri_input *input = &step->inputs[index];
  tsr_tensor *x = tsri_tensor_of(tsri_value_hold(input->value), input->dtype, &input->layout);
  return input->as == input->dtype ? x : tsr_cast(x, input->as);
}

static tsr_tensor *output_of(const grad_slot *slot) {
  tsri_layout layout;
  tsr_status status = tsri_layout_init("grad", slot->shape, slot->dtype, &layout, NULL);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_tensor_of(tsri_value_hold(slot->value), slot->dtype, &layout);
}

static tsr_status check_unchanged(const grad_range *range, const grad_step *step) {
  const char *what = NULL;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const grad_slot *slot = tsri_grad_find(range, step->inputs[i].value);
    if (slot && slot->is_overwritten) what = "an input";
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (range->slots[step->outputs[i]].is_overwritten) what = "the result";
  }
  if (!what) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                   "grad: %s of %s was overwritten after it was used; write to it after tsr_grad, or to a copy", what,
                   step->op->name);
}

typedef struct arrays {
  tsr_tensor **inputs, **gradients;
  bool *wants;
  tsr_tensor *outputs[TSRI_MAX_RESULTS], *cotangents[TSRI_MAX_RESULTS];
} arrays;

// Calls the step's rule and adds what it gives to the gradients of the step's inputs.
static tsr_status apply_rule(grad_range *range, const grad_step *step, grad_rule rule, arrays *a) {
  // Rules ask for shapes, which failed tensors do not have.
  for (uint32_t i = 0; i < step->input_count; i++) {
    const grad_slot *slot = tsri_grad_find(range, step->inputs[i].value);
    a->inputs[i] = input_of(step, i);
    if (a->inputs[i]->status != TSR_OK) return tsri_tensor_check("grad", a->inputs[i]);
    a->wants[i] = slot && slot->is_tracked && tsri_dtype_is_float(step->inputs[i].dtype);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    const grad_slot *slot = &range->slots[step->outputs[i]];
    a->outputs[i] = output_of(slot);
    if (a->outputs[i]->status != TSR_OK) return tsri_tensor_check("grad", a->outputs[i]);
    a->cotangents[i] = slot->gradient;
  }
  rule(&(grad_view){.op = step->op,
                    .axes = step->axes,
                    .attributes = step->attributes,
                    .input_count = (int)step->input_count,
                    .output_count = (int)step->output_count,
                    .inputs = a->inputs,
                    .outputs = a->outputs,
                    .cotangents = a->cotangents,
                    .wants = a->wants,
                    .gradients = a->gradients});
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < step->input_count && status == TSR_OK; i++) {
    const tsri_input *input = &step->inputs[i];
    if (!a->wants[i]) continue;
    tsri_grad_find(range, input->value)->is_reached = true;
    if (!a->gradients[i]) continue;
    tsr_tensor *part = tsr_cast(a->gradients[i], input->dtype);
    status = tsri_tensor_check("grad", part);
    // Recording may have moved the slots.
    if (status == TSR_OK) status = add_part(tsri_grad_find(range, input->value), part, &input->layout);
  }
  return status;
}

static bool has_gradient(const grad_range *range, const grad_step *step) {
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (range->slots[step->outputs[i]].gradient) return true;
  }
  return false;
}

static tsr_status go_back(grad_range *range, uint32_t number) {
  const grad_step step = range->steps[number];  // a copy: recording may move the list
  if (!has_gradient(range, &step)) return TSR_OK;
  grad_rule rule = tsri_grad_rule_of(step.op);
  if (!rule) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "grad: %s has no gradient; tsr_stop_gradient makes its input a constant",
                     step.op->name);
  }
  tsr_status status = check_unchanged(range, &step);
  if (status != TSR_OK) return status;
  size_t pointers = 2 * step.input_count * sizeof(tsr_tensor *);
  char *memory = tsri_calloc(1, pointers + step.input_count + 1);
  tsr_scope *scope = memory ? tsr_scope_begin(step.inputs[0].value->device) : NULL;
  if (!scope) {
    tsri_free(memory);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad: no host memory to go back through %s", step.op->name);
  }
  arrays a = {.inputs = (tsr_tensor **)(void *)memory,
              .gradients = (tsr_tensor **)(void *)memory + step.input_count,
              .wants = (bool *)memory + pointers};
  status = apply_rule(range, &step, rule, &a);
  tsr_status ended = tsr_scope_end(scope);
  tsri_free(memory);
  return status == TSR_OK ? ended : status;
}

// --- All of them --------------------------------------------------------------------------------------------------------

static tsr_status check_call(const grad_range *range, const tsr_tensor *y, tsr_tensor *const *xs, int x_count) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("grad", y);
  if (status == TSR_OK && range->status != TSR_OK) {
    status = TSRI_FAIL(range->status, "grad: no host memory to remember what was recorded");
  }
  for (int i = 0; i < x_count && status == TSR_OK; i++) {
    status = tsri_tensor_check("grad", xs[i]);
    if (status == TSR_OK && !tsri_grad_find(range, xs[i]->value)) {
      status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: tensor %d (%s) is not watched, nor computed from one that is",
                         i, tsr_shape_format(xs[i]->layout.shape, text, sizeof text));
    }
  }
  if (status != TSR_OK) return status;
  const grad_slot *slot = tsri_grad_find(range, y->value);
  if (slot && slot->is_tracked) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: y (%s, %s) was not computed from watched tensors in this range",
                   tsr_dtype_name(y->dtype), tsr_shape_format(y->layout.shape, text, sizeof text));
}

static tsr_status start_at(grad_range *range, tsr_tensor *y, tsr_tensor *cotangent) {
  char one[TSR_SHAPE_TEXT_BYTES], other[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = y->layout.shape;
  if (!cotangent && y->layout.count != 1) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "grad: y has %lld elements (%s); reduce it to one, or give a cotangent of its shape",
                     (long long)y->layout.count, tsr_shape_format(shape, one, sizeof one));
  }
  if (cotangent) {
    tsr_status status = tsri_tensor_check("grad", cotangent);
    if (status != TSR_OK) return status;
    if (!tsri_shape_equal(cotangent->layout.shape, shape)) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "grad: the cotangent is %s, y is %s",
                       tsr_shape_format(cotangent->layout.shape, other, sizeof other),
                       tsr_shape_format(shape, one, sizeof one));
    }
  }
  tsr_tensor *first = cotangent ? tsr_cast(cotangent, y->dtype) : tsr_ones(y->value->device, y->dtype, shape);
  grad_slot *slot = tsri_grad_find(range, y->value);
  slot->is_reached = true;
  return add_part(slot, first, &y->layout);
}

// The gradient by one of the tensors that were asked for: the view of it that the tensor is of its value.
static tsr_status result_for(const grad_range *range, tsr_tensor *x, int number, bool zeros_if_unused,
                             tsr_tensor **out) {
  const grad_slot *slot = tsri_grad_find(range, x->value);
  if (!slot->is_reached && !zeros_if_unused) {
    char text[TSR_SHAPE_TEXT_BYTES];
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: y was not computed from tensor %d (%s); see zeros_if_unused",
                     number, tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  *out = slot->gradient ? tsri_grad_read(slot->gradient, &x->layout)
                        : tsr_zeros(x->value->device, x->dtype, x->layout.shape);
  return tsri_tensor_check("grad", *out);
}

// Gradients are new tensors of the scope that was open at the call.
static tsr_status collect(const grad_range *range, tsr_tensor *const *xs, int x_count, bool zeros_if_unused,
                          tsr_tensor **out_gradients) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < x_count && status == TSR_OK; i++) {
    status = result_for(range, xs[i], i, zeros_if_unused, &out_gradients[i]);
  }
  for (int i = 0; i < x_count && status != TSR_OK; i++) {
    tsr_release(out_gradients[i]);
    out_gradients[i] = NULL;
  }
  return status;
}

tsr_status tsr_grad(tsr_tensor *y, const tsr_grad_desc *desc, tsr_tensor *const *xs, int x_count,
                    tsr_tensor **out_gradients) {
  static const tsr_grad_desc standard;
  grad_range *range = tsri_grad_range();
  if (!range)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: no range is open on this thread; call tsr_grad_begin first");
  if (x_count < 0 || (x_count > 0 && (!xs || !out_gradients))) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: %d tensors, or no place for their gradients", x_count);
  }
  if (!desc) desc = &standard;
  for (int i = 0; i < x_count; i++) out_gradients[i] = NULL;
  tsr_status status = check_call(range, y, xs, x_count);
  if (status != TSR_OK) return status;
  uint32_t step_count = range->step_count;
  tsr_dtype autocast = tsri_autocast_pause();  // rules work in the dtypes of the operators that they go back through
  if (!desc->keep) tsri_grad_pause(range);
  tsr_scope *scope = tsr_scope_begin(y->value->device);
  status = scope ? start_at(range, y, desc->cotangent) : TSR_ERR_OUT_OF_MEMORY;
  for (uint32_t i = step_count; i-- > 0 && status == TSR_OK;) status = go_back(range, i);
  if (scope) {
    tsr_status ended = tsr_scope_end(scope);
    if (status == TSR_OK) status = ended;
  }
  if (status == TSR_OK) status = collect(range, xs, x_count, desc->zeros_if_unused, out_gradients);
  for (uint32_t i = 0; i < range->slot_count; i++) {
    drop_gradient(&range->slots[i]);
    range->slots[i].is_reached = false;
  }
  if (!desc->keep) {
    tsri_grad_resume(range);
    tsri_grad_forget(range);
  }
  tsri_autocast_resume(autocast);
  return status;
}
