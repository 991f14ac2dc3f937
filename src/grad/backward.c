// SPDX-License-Identifier: MIT
// tsr_grad: goes back through the steps of a range and adds up gradients.
#include "grad/backward.h"

#include <stdio.h>

#include "core/alloc.h"
#include "core/error.h"
#include "grad/place.h"
#include "grad/rule.h"
#include "graph/transfer.h"
#include "ops/autocast.h"
#include "ops/pool.h"
#include "ops/promote.h"

// --- One step -----------------------------------------------------------------------------------------------------------

static void drop_gradient(grad_slot *slot) {
  tsr_release(slot->gradient);
  slot->gradient = NULL;
  slot->run_count = 0;
}

// Whether the elements that `view` reads are still 0 in the gradient of the slot, so that a part can be written there without an addition. This is so for the parts
// of one product that is split into queries, keys and values.
static bool is_free(const grad_slot *slot, const tsri_layout *view, grad_run *out_run) {
  if (!slot->gradient || slot->run_count == 0 || slot->run_count == TSRI_MOST_RUNS) return false;
  if (!tsri_grad_run_of(view, slot->shape, out_run)) return false;
  for (int i = 0; i < slot->run_count; i++) {
    if (!tsri_grad_are_apart(&slot->runs[i], out_run)) return false;
  }
  return true;
}

// Adds to the gradient of a slot the part that comes from reading it through `view`. Recording may move the slots.
static tsr_status add_part(grad_range *range, uint32_t number, tsr_tensor *part, const tsri_layout *view) {
  grad_run run;
  if (is_free(&range->slots[number], view, &run)) {
    tsr_status status = tsri_grad_place_into(range->slots[number].gradient, part, view);
    grad_slot *slot = &range->slots[number];
    slot->runs[slot->run_count++] = run;
    return status;
  }
  tsr_tensor *placed = tsri_grad_place(part, view, range->slots[number].shape);
  tsr_tensor *before = range->slots[number].gradient;
  if (before) placed = tsr_add(before, placed);
  tsr_status status = tsri_tensor_check("grad", placed);
  if (status != TSR_OK) return status;
  tsr_retain(placed);
  drop_gradient(&range->slots[number]);
  grad_slot *slot = &range->slots[number];
  slot->gradient = placed;
  if (!before && tsri_grad_run_of(view, slot->shape, &run)) slot->runs[slot->run_count++] = run;
  return TSR_OK;
}

// Whether elements that are seen through the view were overwritten.
static bool has_lost(const grad_slot *slot, const tsri_layout *view) {
  int64_t low = 0, high = 0;
  if (slot->lost_from > slot->lost_to || view->count == 0) return false;
  tsri_layout_span(view, &low, &high);
  return low <= slot->lost_to && high >= slot->lost_from;
}

// What input `index` of the step read, as a tensor of the open scope.
static tsr_tensor *input_of(grad_range *range, const grad_step *step, uint32_t index) {
  const tsri_input *input = &step->inputs[index];
  bool is_lost = has_lost(&range->slots[step->from[index]], &input->layout);
  tsr_tensor *x = tsri_tensor_of(tsri_value_hold(input->value), input->dtype, &input->layout);
  if (input->as != input->dtype) x = tsr_cast(x, input->as);
  if (is_lost && x->status == TSR_OK) tsri_grad_lose(range, x->value);
  return x;
}

static tsr_status view_of_result(const grad_range *range, const grad_step *step, uint32_t index, tsri_layout *out) {
  const grad_slot *slot = &range->slots[step->to[index]];
  if (!step->views) return tsri_layout_init("grad", slot->shape, slot->dtype, out, NULL);
  *out = step->views[index];
  return TSR_OK;
}

static tsr_tensor *output_of(grad_range *range, const grad_step *step, uint32_t index) {
  tsri_layout view;
  tsr_status status = view_of_result(range, step, index, &view);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  const grad_slot *slot = &range->slots[step->to[index]];
  if (has_lost(slot, &view)) tsri_grad_lose(range, slot->value);
  return tsri_tensor_of(tsri_value_hold(slot->value), slot->dtype, &view);
}

// What the rule of a step gets, and what it gives.
typedef struct arrays {
  tsr_tensor **inputs, **gradients, **so_far, **outputs, **cotangents;
  bool *wants;
} arrays;

// The gradient so far of input `index`, if the rule may add to it: the input is all of its memory, and the step reads that only once.
static tsr_tensor *so_far_of(const grad_range *range, const grad_step *step, uint32_t index) {
  const grad_slot *slot = &range->slots[step->from[index]];
  const tsri_input *input = &step->inputs[index];
  bool is_whole = tsri_shape_equal(input->layout.shape, slot->shape) && tsri_layout_is_row_major(&input->layout);
  for (uint32_t i = 0; i < step->input_count; i++)
    is_whole = is_whole && (i == index || step->from[i] != step->from[index]);
  return is_whole && input->as == input->dtype ? slot->gradient : NULL;
}

// Fills the arrays for a step's rule. Fails if any tensor has failed, because rules ask for shapes, which failed tensors do not have.
static tsr_status fill_arrays(grad_range *range, const grad_step *step, arrays *a) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < step->input_count && status == TSR_OK; i++) {
    a->inputs[i] = input_of(range, step, i);
    a->wants[i] = range->slots[step->from[i]].is_tracked && tsri_dtype_is_float(step->inputs[i].dtype);
    a->so_far[i] = a->wants[i] ? so_far_of(range, step, i) : NULL;
    status = tsri_tensor_check("grad", a->inputs[i]);
  }
  for (uint32_t i = 0; i < step->output_count && status == TSR_OK; i++) {
    if (step->to[i] == TSRI_NO_SLOT) continue;
    a->outputs[i] = output_of(range, step, i);
    tsr_tensor *whole = range->slots[step->to[i]].gradient;
    a->cotangents[i] = whole && step->views ? tsri_grad_read(whole, &step->views[i]) : whole;
    status = tsri_tensor_check("grad", a->outputs[i]);
    if (status == TSR_OK && a->cotangents[i]) status = tsri_tensor_check("grad", a->cotangents[i]);
  }
  return status;
}

// --- max_pool of relu --------------------------------------------------------------------------------------------------

// Whether the step is max_pool of a result of relu that nothing else reads. Then the rule of max_pool can apply the mask of relu to its own cotangent (an element is
// above 0 if the window's result is), which is cheaper because there are fewer windows than elements. Not on devices where the mask of relu is fused into the
// kernel of max_pool's gradient.
static bool rectifies(const grad_range *range, const grad_step *step) {
  const tsri_input *input = &step->inputs[0];
  if (step->op != TSRI_BODY(max_pool) || input->as != input->dtype) return false;
  const grad_slot *slot = &range->slots[step->from[0]];
  if (slot->step == TSRI_NO_STEP || slot->reader_count > 1 || slot->gradient || slot->is_asked) return false;
  bool is_relu = tsri_grad_rule_of(range->steps[slot->step].op) == tsri_grad_elementwise[TSRI_OPERATOR_relu];
  return is_relu && !tsri_max_pool_gradient_fuses(slot->value->device);
}

// --- Rules -------------------------------------------------------------------------------------------------------------

// Calls the step's rule, which must not read what was overwritten.
static tsr_status call_rule(grad_range *range, const grad_step *step, grad_rule rule, const arrays *a) {
  uint32_t result = step->to[0];
  range->has_read_lost = false;
  rule(&(grad_view){.op = step->op,
                    .axes = step->axes,
                    .attributes = step->attributes,
                    .input_count = (int)step->input_count,
                    .output_count = (int)step->output_count,
                    .inputs = a->inputs,
                    .outputs = a->outputs,
                    .cotangents = a->cotangents,
                    .wants = a->wants,
                    .gradients = a->gradients,
                    .so_far = a->so_far,
                    .rectifies = range->slots[step->from[0]].is_rectified,
                    .is_rectified = result != TSRI_NO_SLOT && range->slots[result].is_rectified});
  if (!range->has_read_lost) return TSR_OK;
  return TSRI_FAIL(
      TSR_ERR_INVALID_ARGUMENT,
      "grad: the gradient of %s needs elements that were overwritten after it read or computed them; write "
      "to them after tsr_grad, or to a copy",
      step->op->name);
}

static bool is_same_view(const tsri_layout *a, const tsri_layout *b) {
  bool is_same = a->offset == b->offset && tsri_shape_equal(a->shape, b->shape);
  for (int i = 0; i < a->shape.rank && is_same; i++) is_same = a->strides[i] == b->strides[i];
  return is_same;
}

// If input `index` and the other inputs of its slot are parts of it that leave nothing out, and their gradients lie in one tensor as they do there: that tensor, which is the gradient of them all. The gradients are then NULL. Else NULL.
static tsr_tensor *take_joined(const grad_range *range, const grad_step *step, arrays *a, uint32_t index) {
  enum { MOST = 3 };
  const tsri_layout *views[MOST];
  int count = 0;
  const grad_slot *slot = &range->slots[step->from[index]];
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (step->from[i] != step->from[index]) continue;
    const tsr_tensor *part = a->gradients[i], *first = a->gradients[index];
    bool fits = count < MOST && part && part->status == TSR_OK && part->value == first->value &&
                part->dtype == slot->dtype && is_same_view(&part->layout, &step->inputs[i].layout);
    if (!fits) return NULL;
    views[count++] = &step->inputs[i].layout;
  }
  tsri_layout whole;
  if (tsri_layout_init("grad", slot->shape, slot->dtype, &whole, NULL) != TSR_OK) return NULL;
  if (!tsri_grad_are_parts(views, count, whole.count)) return NULL;
  tsr_tensor *joined = tsri_tensor_view(a->gradients[index], &whole);
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (step->from[i] == step->from[index]) a->gradients[i] = NULL;
  }
  return joined;
}

// Adds what the step's rule gives to the gradients of the step's inputs.
static tsr_status apply_rule(grad_range *range, const grad_step *step, grad_rule rule, arrays *a) {
  tsr_status status = fill_arrays(range, step, a);
  if (status == TSR_OK) status = call_rule(range, step, rule, a);
  range->lost_count = 0;
  for (uint32_t i = 0; i < step->input_count && status == TSR_OK; i++) {
    const tsri_input *input = &step->inputs[i];
    if (!a->wants[i]) continue;
    range->slots[step->from[i]].is_reached = true;
    if (!a->gradients[i]) continue;
    tsr_tensor *joined = take_joined(range, step, a, i);
    if (joined) {
      const tsri_layout view = joined->layout;
      status = add_part(range, step->from[i], joined, &view);
      continue;
    }
    tsr_tensor *part = tsr_cast(a->gradients[i], input->dtype);
    status = tsri_tensor_check("grad", part);
    bool has_all = !a->so_far[i] && so_far_of(range, step, i);
    if (status == TSR_OK && has_all) drop_gradient(&range->slots[step->from[i]]);
    if (status == TSR_OK) status = add_part(range, step->from[i], part, &input->layout);
  }
  return status;
}

static bool has_gradient(const grad_range *range, const grad_step *step) {
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (step->to[i] != TSRI_NO_SLOT && range->slots[step->to[i]].gradient) return true;
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
  size_t pointers = 3 * step.input_count + 2 * step.output_count;
  tsr_tensor **memory = tsri_calloc(1, pointers * sizeof *memory + step.input_count + 1);
  tsr_scope *scope = memory ? tsr_scope_begin(step.inputs[0].value->device) : NULL;
  if (!scope) {
    tsri_free(memory);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad: no host memory to go back through %s", step.op->name);
  }
  arrays a = {.inputs = memory,
              .gradients = memory + step.input_count,
              .so_far = memory + 2 * step.input_count,
              .outputs = memory + 3 * step.input_count,
              .cotangents = memory + 3 * step.input_count + step.output_count,
              .wants = (bool *)(memory + pointers)};
  range->slots[step.from[0]].is_rectified = rectifies(range, &step);
  tsr_status status = apply_rule(range, &step, rule, &a);
  tsr_status ended = tsr_scope_end(scope);
  tsri_free(memory);
  return status == TSR_OK ? ended : status;
}

// Releases the step, and the gradients of its results unless they are asked for.
static void drop_step(grad_range *range, uint32_t number) {
  grad_step *step = &range->steps[number];
  for (uint32_t i = 0; i < step->output_count && step->inputs; i++) {
    if (step->to[i] != TSRI_NO_SLOT && !range->slots[step->to[i]].is_asked) drop_gradient(&range->slots[step->to[i]]);
  }
  tsri_grad_drop_step(step);
}

// --- All of them --------------------------------------------------------------------------------------------------------

// The gradient by a tensor: the gradient of its memory, seen through the tensor's view.
static tsr_status result_for(const grad_range *range, const tsr_tensor *x, tsr_tensor **out) {
  const grad_slot *slot = &range->slots[tsri_grad_find(range, x->value)];
  if (!slot->is_reached) return TSR_OK;
  *out = slot->gradient ? tsri_grad_read(slot->gradient, &x->layout)
                        : tsr_zeros(x->value->device, x->dtype, x->layout.shape);
  return tsri_tensor_check("grad", *out);
}

static void mark_asked(grad_range *range, tsr_tensor *const *xs, int x_count, bool is_asked) {
  for (int i = 0; i < x_count; i++) range->slots[tsri_grad_find(range, xs[i]->value)].is_asked = is_asked;
}

static tsr_status start_at(grad_range *range, const grad_starts *starts) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < starts->count && status == TSR_OK; i++) {
    const tsr_tensor *y = starts->ys[i];
    uint32_t number = tsri_grad_find(range, y->value);
    if (number == TSRI_NO_SLOT || !starts->cotangents[i]) continue;
    range->slots[number].is_reached = true;
    status = add_part(range, number, starts->cotangents[i], &y->layout);
  }
  return status;
}

tsr_status tsri_grad_back(grad_range *range, const grad_starts *starts, tsr_tensor *const *xs, int x_count, bool keep,
                          tsr_tensor **out_gradients) {
  uint32_t step_count = range->step_count, slot_count = range->slot_count;
  for (int i = 0; i < x_count; i++) out_gradients[i] = NULL;
  mark_asked(range, xs, x_count, true);
  tsr_scope *scope = tsr_scope_begin(starts->ys[0]->value->device);
  tsr_status status = scope ? start_at(range, starts) : TSR_ERR_OUT_OF_MEMORY;
  for (uint32_t i = step_count; i-- > 0 && status == TSR_OK;) {
    status = go_back(range, i);
    if (!keep) drop_step(range, i);
  }
  tsr_status ended = tsr_scope_end(scope);
  if (status == TSR_OK) status = ended;
  for (int i = 0; i < x_count && status == TSR_OK; i++) status = result_for(range, xs[i], &out_gradients[i]);
  for (int i = 0; i < x_count && status != TSR_OK; i++) {
    tsr_release(out_gradients[i]);
    out_gradients[i] = NULL;
  }
  mark_asked(range, xs, x_count, false);
  for (uint32_t i = 0; i < slot_count; i++) {
    drop_gradient(&range->slots[i]);
    range->slots[i].is_reached = range->slots[i].is_rectified = false;
  }
  return status;
}

// --- The call -----------------------------------------------------------------------------------------------------------

// What errors call targets->xs[index]: its name, or its number, with its shape.
typedef struct target_text {
  char text[TSR_SHAPE_TEXT_BYTES + 80];
} target_text;

static target_text describe(const grad_targets *targets, int index) {
  char shape[TSR_SHAPE_TEXT_BYTES];
  target_text out;
  tsr_shape_format(targets->xs[index]->layout.shape, shape, sizeof shape);
  if (targets->name_of) {
    snprintf(out.text, sizeof out.text, "'%.60s' (%s)", targets->name_of(targets->owner, index), shape);
  } else {
    snprintf(out.text, sizeof out.text, "tensor %d (%s)", index, shape);
  }
  return out;
}

static tsr_status check_xs(const grad_range *range, const grad_targets *targets) {
  for (int i = 0; i < targets->count; i++) {
    const tsr_tensor *x = targets->xs[i];
    tsr_status status = tsri_tensor_check("grad", x);
    if (status != TSR_OK) return status;
    if (!tsri_dtype_is_float(x->dtype)) {
      return TSRI_FAIL(TSR_ERR_DTYPE, "grad: %s is %s; only floats have gradients", describe(targets, i).text,
                       tsr_dtype_name(x->dtype));
    }
    uint32_t number = tsri_grad_find(range, x->value);
    if (number != TSRI_NO_SLOT && range->slots[number].is_tracked) continue;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: %s is not watched, nor computed from one that is",
                     describe(targets, i).text);
  }
  return TSR_OK;
}

static tsr_status check_y(const grad_range *range, const tsr_tensor *y) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_shape_format(y->layout.shape, text, sizeof text);
  if (!tsri_dtype_is_float(y->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "grad: y (%s) is %s; only floats have gradients", text, tsr_dtype_name(y->dtype));
  }
  uint32_t number = tsri_grad_find(range, y->value);
  if (number != TSRI_NO_SLOT && range->slots[number].is_tracked) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                   "grad: y (%s) was not computed from watched tensors in this range: watch them before computing it; "
                   "what was recorded before the last tsr_grad without .keep is forgotten",
                   text);
}

// The gradient of `y` itself, in its dtype.
static tsr_status first_gradient(const tsr_tensor *y, tsr_tensor *cotangent, tsr_tensor **out) {
  char one[TSR_SHAPE_TEXT_BYTES], other[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = y->layout.shape;
  tsr_shape_format(shape, one, sizeof one);
  if (!cotangent && y->layout.count != 1) {
    return TSRI_FAIL(TSR_ERR_SHAPE,
                     "grad: y has %lld elements (%s); reduce it to one, or give a cotangent of its shape",
                     (long long)y->layout.count, one);
  }
  tsr_status status = cotangent ? tsri_tensor_check("grad", cotangent) : TSR_OK;
  if (status != TSR_OK) return status;
  if (cotangent && !tsri_shape_equal(cotangent->layout.shape, shape)) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "grad: the cotangent is %s, y is %s",
                     tsr_shape_format(cotangent->layout.shape, other, sizeof other), one);
  }
  if (cotangent && cotangent->value->device != y->value->device) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: the cotangent is on another device than y; move it with tsr_to");
  }
  *out = cotangent ? tsr_cast(cotangent, y->dtype) : tsr_ones(y->value->device, y->dtype, shape);
  return tsri_tensor_check("grad", *out);
}

// Tensors from which `y` was not computed.
static tsr_status fill_unused(const grad_range *range, const grad_targets *targets, bool zeros_if_unused,
                              tsr_tensor **gradients) {
  for (int i = 0; i < targets->count; i++) {
    if (gradients[i]) continue;
    const tsr_tensor *x = targets->xs[i];
    if (zeros_if_unused) {
      gradients[i] = tsr_zeros(x->value->device, x->dtype, x->layout.shape);
      tsr_status status = tsri_tensor_check("grad", gradients[i]);
      if (status != TSR_OK) return status;
      continue;
    }
    uint32_t number = tsri_grad_find(range, x->value);
    bool is_new = number != TSRI_NO_SLOT && range->slots[number].before != TSRI_NO_SLOT;
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: y was not computed from %s%s; see zeros_if_unused",
                     describe(targets, i).text, is_new ? " as it is now: it was overwritten since" : "");
  }
  return TSR_OK;
}

static tsr_status take_gradients(grad_range *range, tsr_tensor *y, const tsr_grad_desc *desc,
                                 const grad_targets *targets, tsr_tensor **out_gradients) {
  tsr_tensor *first = NULL;
  tsr_status status = first_gradient(y, desc->cotangent, &first);
  if (status == TSR_OK) {
    grad_starts starts = {.ys = &y, .cotangents = &first, .count = 1};
    status = tsri_grad_back(range, &starts, targets->xs, targets->count, desc->keep, out_gradients);
  }
  tsr_release(first);
  if (status == TSR_OK) status = fill_unused(range, targets, desc->zeros_if_unused, out_gradients);
  for (int i = 0; i < targets->count && status != TSR_OK; i++) {
    tsr_release(out_gradients[i]);
    out_gradients[i] = NULL;
  }
  return status;
}

tsr_status tsri_grad(tsr_tensor *y, const tsr_grad_desc *desc, const grad_targets *targets,
                     tsr_tensor **out_gradients) {
  static const tsr_grad_desc standard;
  grad_range *range = tsri_grad_range();
  if (!range)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: no range is open on this thread; call tsr_grad_begin first");
  if (targets->count < 0 || (targets->count > 0 && (!targets->xs || !out_gradients))) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "grad: %d tensors, or no place for their gradients", targets->count);
  }
  if (!desc) desc = &standard;
  for (int i = 0; i < targets->count; i++) out_gradients[i] = NULL;
  tsr_status status = tsri_tensor_check("grad", y);
  if (status == TSR_OK && range->status != TSR_OK) {
    status = TSRI_FAIL(range->status, "grad: no host memory to remember what was recorded");
  }
  if (status == TSR_OK) status = check_xs(range, targets);
  if (status == TSR_OK) status = check_y(range, y);
  if (status != TSR_OK) return status;
  tsr_dtype autocast = tsri_autocast_pause();  // rules work in the dtypes of the operators that they go back through
  bool was_backward = tsri_grad_pass_begin();
  if (!desc->keep) tsri_grad_pause(range);
  status = take_gradients(range, y, desc, targets, out_gradients);
  if (!desc->keep) {
    tsri_grad_resume(range);
    tsri_grad_forget(range);
  }
  tsri_grad_pass_end(was_backward, !desc->keep);
  tsri_autocast_resume(autocast);
  return status;
}

tsr_status tsr_grad(tsr_tensor *y, const tsr_grad_desc *desc, tsr_tensor *const *xs, int x_count,
                    tsr_tensor **out_gradients) {
  return tsri_grad(y, desc, &(grad_targets){.xs = xs, .count = x_count}, out_gradients);
}
