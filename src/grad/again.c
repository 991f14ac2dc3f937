// SPDX-License-Identifier: MIT
// Records a step again in an inner range, and goes back through that (again.h).
#include "grad/again.h"

#include "core/alloc.h"
#include "core/error.h"
#include "grad/backward.h"
#include "graph/transfer.h"

// Whether no two indices of the input, and no other input, share an element. Then the gradient by its memory is the gradient by the input, and no copy is needed.
static bool is_alone(const grad_view *v, int index) {
  const tsr_tensor *x = v->inputs[index];
  if (tsri_layout_may_overlap(&x->layout)) return false;
  for (int i = 0; i < v->input_count; i++) {
    if (i != index && v->inputs[i]->value == x->value) return false;
  }
  return true;
}

// Fills `leaves` with the inputs, or copies of them, and watches those whose gradients are wanted.
static tsr_status make_leaves(const grad_view *v, grad_range *range, tsr_tensor **leaves) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < v->input_count && status == TSR_OK; i++) {
    leaves[i] = v->inputs[i];
    if (!v->wants[i]) continue;
    tsri_layout packed = tsri_packed_layout(&v->inputs[i]->layout);
    if (!is_alone(v, i)) leaves[i] = tsri_record_copy(v->inputs[i], &packed);
    status = tsri_tensor_check("grad", leaves[i]);
    if (status == TSR_OK && !tsri_grad_add_watched(range, leaves[i])) {
      status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "grad: no host memory to compute %s again", v->op->name);
    }
  }
  return status;
}

// Goes back through what the range has remembered. `leaves` have room for as many gradients behind them.
static tsr_status go_back(const grad_view *v, grad_range *range, tsr_tensor **leaves, tsr_tensor *const *outputs) {
  tsr_tensor **xs = leaves + v->input_count, **gradients = xs + v->input_count;
  int count = 0, at = 0;
  for (int i = 0; i < v->input_count; i++) {
    if (v->wants[i]) xs[count++] = leaves[i];
  }
  grad_starts starts = {.ys = outputs, .cotangents = v->cotangents, .count = v->output_count};
  tsri_grad_pause(range);
  tsr_status status = range->status;
  if (status == TSR_OK) status = tsri_grad_back(range, &starts, xs, count, false, gradients);
  for (int i = 0; i < v->input_count && status == TSR_OK; i++) {
    if (v->wants[i]) v->gradients[i] = gradients[at++];
  }
  return status;
}

void tsri_grad_again(const grad_view *v, grad_function function) {
  size_t room = 3 * (size_t)v->input_count + (size_t)v->output_count;
  tsr_tensor **leaves = tsri_calloc(room + 1, sizeof *leaves), **outputs = leaves ? leaves + 3 * v->input_count : NULL;
  grad_range *range = leaves ? tsri_grad_open_inner() : NULL;
  tsr_status status = range ? make_leaves(v, range, leaves) : TSR_ERR_OUT_OF_MEMORY;
  if (!range) TSRI_FAIL(status, "grad: no host memory to compute %s again", v->op->name);
  if (status == TSR_OK) status = function(v, leaves, outputs);
  for (int i = 0; i < v->output_count && status == TSR_OK; i++) status = tsri_tensor_check("grad", outputs[i]);
  if (status == TSR_OK) status = go_back(v, range, leaves, outputs);
  if (range) tsri_grad_close_inner();
  tsri_free(leaves);
  for (int i = 0; i < v->input_count && status != TSR_OK; i++) {
    if (v->wants[i]) v->gradients[i] = tsri_tensor_fail(status);
  }
}
