// SPDX-License-Identifier: MIT
// tsr_checkpoint: the range keeps the inputs of a function and forgets what it records; the backward pass calls it again.
#include "grad/checkpoint.h"

#include "core/error.h"
#include "grad/again.h"
#include "grad/range.h"
#include "graph/transfer.h"
#include "ops/autocast.h"
#include "ops/compose.h"

#include <tessera/grad.h>

enum { MOST_TENSORS = 64 };  // inputs, or results

typedef struct called {
  tsr_checkpoint_function function;
  void *context;
  tsr_dtype autocast;  // the range of autocast in which it was called
} called;

const tsri_op tsri_op_checkpoint = {.name = "checkpoint", .kind = TSRI_OP_KERNEL};

// --- Backward ------------------------------------------------------------------------------------------------------------

static tsr_status check_result(const tsr_tensor *y, int number) {
  if (!y) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "checkpoint: the function did not set result %d", number);
  return tsri_tensor_check("checkpoint", y);
}

static tsr_status call_again(const grad_view *v, tsr_tensor *const *inputs, tsr_tensor **outputs) {
  const called *c = v->attributes;
  tsri_autocast_resume(c->autocast);  // tsr_grad has paused it
  tsr_status status = c->function(c->context, inputs, v->input_count, outputs, v->output_count);
  (void)tsri_autocast_pause();
  for (int i = 0; i < v->output_count && status == TSR_OK; i++) {
    char before[TSR_SHAPE_TEXT_BYTES], now[TSR_SHAPE_TEXT_BYTES];
    tsr_shape shape = tsr_tensor_shape(v->outputs[i]);
    status = check_result(outputs[i], i);
    if (status != TSR_OK || tsri_shape_equal(tsr_tensor_shape(outputs[i]), shape)) continue;
    status = TSRI_FAIL(TSR_ERR_SHAPE, "checkpoint: result %d was %s, and is %s when it is computed again", i,
                       tsr_shape_format(shape, before, sizeof before),
                       tsr_shape_format(tsr_tensor_shape(outputs[i]), now, sizeof now));
  }
  return status;
}

// Calls the function again and goes back through it, in a scope of its own: only the gradients remain, each with a reference for the caller.
static tsr_status record_gradients(const grad_view *v) {
  tsr_scope *scope = tsr_scope_begin(v->inputs[0]->value->device);
  if (!scope) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad: no host memory to compute a checkpoint again");
  tsri_grad_again(v, call_again);
  for (int i = 0; i < v->input_count; i++) {
    if (v->gradients[i]) tsr_retain(v->gradients[i]);
  }
  return tsr_scope_end(scope);
}

// Runs the gradients. Those of one device are run together, because they have operators in common.
static tsr_status run_gradients(const grad_view *v) {
  tsr_status status = TSR_OK;
  bool has_run[MOST_TENSORS] = {false};
  for (int i = 0; i < v->input_count && status == TSR_OK; i++) {
    tsr_tensor *found[MOST_TENSORS];
    int count = 0;
    if (v->gradients[i]) status = tsri_tensor_check("grad", v->gradients[i]);
    for (int j = i; j < v->input_count && v->gradients[i] && status == TSR_OK; j++) {
      bool is_due = v->gradients[j] && tsr_error(v->gradients[j]) == TSR_OK && !has_run[j] &&
                    v->gradients[j]->value->device == v->gradients[i]->value->device;
      if (is_due) found[count++] = v->gradients[j];
      has_run[j] = has_run[j] || is_due;
    }
    if (status == TSR_OK) status = tsri_graph_run_all(found, count);
  }
  return status;
}

// The gradients are run at once, so that the intermediate results which were computed again are freed before the next checkpoint.
void tsri_gradient_checkpoint(const grad_view *v) {
  tsr_status status = record_gradients(v);
  if (status == TSR_OK) status = run_gradients(v);
  for (int i = 0; i < v->input_count; i++) {
    tsr_tensor *gradient = v->gradients[i];
    if (gradient && status == TSR_OK) v->gradients[i] = tsri_tensor_view(gradient, &gradient->layout);
    if (v->wants[i] && status != TSR_OK) v->gradients[i] = tsri_tensor_fail(status);
    tsr_release(gradient);
  }
}

// --- Forward -------------------------------------------------------------------------------------------------------------

static tsr_status check_call(tsr_checkpoint_function function, tsr_tensor *const *inputs, int input_count,
                             tsr_tensor *const *outputs, int output_count) {
  if (!function || !inputs || !outputs || input_count < 1 || input_count > MOST_TENSORS || output_count < 1 ||
      output_count > MOST_TENSORS) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "checkpoint: takes a function, 1 to %d inputs (not %d) and room for 1 to %d results (not %d)",
                     MOST_TENSORS, input_count, MOST_TENSORS, output_count);
  }
  tsr_status status = TSR_OK;
  for (int i = 0; i < input_count && status == TSR_OK; i++) status = tsri_tensor_check("checkpoint", inputs[i]);
  return status;
}

// Calls the function in a scope of its own, so that only its results stay, each with a reference of the caller's.
static tsr_status call_once(const called *c, tsr_tensor *const *inputs, int input_count, tsr_tensor **outputs,
                            int output_count) {
  tsr_scope *scope = tsr_scope_begin(inputs[0]->value->device);
  if (!scope) return TSR_ERR_OUT_OF_MEMORY;
  tsr_status status = c->function(c->context, inputs, input_count, outputs, output_count);
  for (int i = 0; i < output_count && status == TSR_OK; i++) status = check_result(outputs[i], i);
  for (int i = 0; i < output_count; i++) {
    if (status == TSR_OK) tsr_retain(outputs[i]);
    else outputs[i] = NULL;
  }
  tsr_status ended = tsr_scope_end(scope);
  return status == TSR_OK ? ended : status;
}

static bool is_input(const tsr_tensor *y, tsr_tensor *const *inputs, int input_count) {
  for (int i = 0; i < input_count; i++) {
    if (inputs[i]->value == y->value) return true;
  }
  return false;
}

// Makes the results tensors of the caller's scope. They are run at once, so that the intermediate results are freed, and the backward pass computes them again instead
// of finding the pending nodes. A result that is one of the inputs is copied, so that it has memory of its own.
static tsr_status hand_out(tsr_tensor *const *inputs, int input_count, tsr_tensor **outputs, int output_count) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < output_count; i++) {
    tsr_tensor *y = outputs[i];
    tsri_layout packed = tsri_packed_layout(&y->layout);
    outputs[i] = is_input(y, inputs, input_count) ? tsri_record_copy(y, &packed) : tsri_tensor_view(y, &y->layout);
    tsr_release(y);
    if (status == TSR_OK) status = tsri_tensor_check("checkpoint", outputs[i]);
    if (status == TSR_OK && tsri_grad_range()) status = tsr_evaluate(outputs[i]);
  }
  if (status == TSR_OK) return status;
  tsri_release_all(outputs, output_count);
  for (int i = 0; i < output_count; i++) outputs[i] = NULL;
  return status;
}

tsr_status tsr_checkpoint(tsr_checkpoint_function function, void *context, tsr_tensor *const *inputs, int input_count,
                          tsr_tensor **outputs, int output_count) {
  tsr_status status = check_call(function, inputs, input_count, outputs, output_count);
  if (status != TSR_OK) return status;
  for (int i = 0; i < output_count; i++) outputs[i] = NULL;
  called c = {.function = function, .context = context, .autocast = tsri_autocast_pause()};
  tsri_autocast_resume(c.autocast);
  tsri_whole_begin();
  status = call_once(&c, inputs, input_count, outputs, output_count);
  if (status == TSR_OK) status = hand_out(inputs, input_count, outputs, output_count);
  tsri_whole whole = {.op = &tsri_op_checkpoint,
                      .attributes = &c,
                      .attribute_bytes = sizeof c,
                      .inputs = inputs,
                      .input_count = status == TSR_OK ? input_count : 0,
                      .outputs = outputs,
                      .output_count = status == TSR_OK ? output_count : 0};
  tsri_whole_end(&whole);
  return status;
}
