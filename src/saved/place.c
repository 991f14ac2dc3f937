// SPDX-License-Identifier: MIT
// The work of a capture: bytes of all results and their inputs, and multiply-adds of products, convolutions and attention.
#include "saved/place.h"

#include "graph/trace.h"
#include "ops/operators.h"

static double count_of(tsr_shape shape) {
  double count = 1;
  for (int i = 0; i < shape.rank; i++) count *= (double)shape.dims[i];
  return count;
}

static double last_dim(tsr_shape shape) { return shape.rank > 0 ? (double)shape.dims[shape.rank - 1] : 1; }

// Multiply-adds of a step: elements of the result times what each is summed up from.
static double multiply_adds_of(const tsri_traced_step *step) {
  double results = step->result_count ? count_of(step->results[0].shape) : 0;
  if (step->kind != TSRI_TRACED_OPERATOR || step->view_count < 2) return 0;
  const tsr_shape *first = &step->views[0].layout.shape, *second = &step->views[1].layout.shape;
  if (step->op->run == tsri_run_matmul || step->op->run == tsri_run_quant_product) return results * last_dim(*first);
  if (step->op->run == tsri_run_conv && second->rank > 0 && second->dims[0] > 0) {
    return results * count_of(*second) / (double)second->dims[0];
  }
  if (step->op->run != tsri_run_attention || second->rank < 4) return 0;
  return 2 * results * (double)second->dims[2];  // scores of all keys, and their sum
}

static bool is_leaf(const tsri_trace *trace, uint32_t value) {
  bool is_found = false;
  for (uint32_t i = 0; i < trace->leaf_count && !is_found; i++) is_found = trace->leaves[i].value == value;
  return is_found;
}

// Element-wise operators mostly become part of another kernel, so that only their inputs from outside of the capture are read.
static double bytes_of(const tsri_trace *trace, const tsri_traced_step *step) {
  bool is_elementwise = step->kind == TSRI_TRACED_OPERATOR && step->op->kind == TSRI_OP_ELEMENTWISE;
  double bytes = 0;
  for (uint32_t i = 0; i < step->result_count && step->results && !is_elementwise; i++) {
    bytes += count_of(step->results[i].shape) * (double)tsr_dtype_bytes(step->results[i].dtype);
  }
  for (uint32_t i = 0; i < step->view_count; i++) {
    const tsri_traced_view *view = &step->views[i];
    if (is_elementwise && !is_leaf(trace, view->value)) continue;
    bytes += count_of(view->layout.shape) * (double)tsr_dtype_bytes(view->dtype);
  }
  return bytes;
}

tsri_work tsri_work_of(const tsr_capture *capture) {
  const tsri_trace *trace = tsri_tape_trace(capture->tape);
  tsri_work work = {.kernels = tsri_tape_step_count(capture->tape)};
  for (uint32_t i = 0; trace && i < trace->step_count; i++) {
    work.bytes += bytes_of(trace, &trace->steps[i]);
    work.multiply_adds += multiply_adds_of(&trace->steps[i]);
  }
  return work;
}

tsr_device *tsri_place_of_capture(const tsr_capture *capture) {
  tsr_device *device = tsri_tape_device(capture->tape);
  if (!device->placing) return NULL;
  tsri_work work = tsri_work_of(capture);
  double there_ns = tsri_work_ns(&work, &device->placing->there), here_ns = tsri_work_ns(&work, &device->placing->here);
  if (here_ns >= there_ns) return NULL;
  tsri_placing_note(device, &work, there_ns, here_ns, 0);
  return device->placing->cpu;
}
