// SPDX-License-Identifier: MIT
// The work of a capture: bytes of all results and their inputs, and multiply-adds of products, convolutions and attention.
#include "saved/place.h"

#include <string.h>

#include "core/log.h"
#include "graph/trace.h"
#include "ops/operators.h"
#include "runtime/config.h"
#include "runtime/device.h"

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

// Element-wise operators mostly become part of another kernel, so that their bytes are not moved: only those of other operators count.
static double bytes_of(const tsri_traced_step *step) {
  double bytes = 0;
  if (step->kind == TSRI_TRACED_OPERATOR && step->op->kind == TSRI_OP_ELEMENTWISE) return 0;
  for (uint32_t i = 0; i < step->result_count && step->results; i++) {
    bytes += count_of(step->results[i].shape) * (double)tsr_dtype_bytes(step->results[i].dtype);
  }
  for (uint32_t i = 0; i < step->view_count; i++) {
    bytes += count_of(step->views[i].layout.shape) * (double)tsr_dtype_bytes(step->views[i].dtype);
  }
  return bytes;
}

tsri_work tsri_work_of(const tsr_capture *capture) {
  const tsri_trace *trace = tsri_tape_trace(capture->tape);
  tsri_work work = {.kernels = tsri_tape_step_count(capture->tape)};
  for (uint32_t i = 0; trace && i < trace->step_count; i++) {
    work.bytes += bytes_of(&trace->steps[i]);
    work.multiply_adds += multiply_adds_of(&trace->steps[i]);
  }
  return work;
}

double tsri_work_ns(const tsri_work *work, const tsr_device_speed *speed) {
  return speed->run_ns + work->kernels * speed->kernel_ns + work->bytes * speed->byte_ns +
         work->multiply_adds * speed->multiply_add_ns;
}

static bool is_switched_on(void) {
  tsri_config config;
  bool is_on = tsri_config_resolve(&config) == TSR_OK && config.placement == TSRI_PLACEMENT_MEASURED;
  tsri_config_deinit(&config);
  return is_on;
}

bool tsri_place_is_on_cpu(const tsr_capture *capture, tsr_device **out_cpu) {
  tsr_device *device = tsri_tape_device(capture->tape);
  tsr_device_speed there, here;
  *out_cpu = NULL;
  if (!is_switched_on() || strcmp(device->backend->name, "cpu") == 0) return false;
  if (tsr_device_get_speed(device, &there) != TSR_OK) {
    tsri_log(TSR_LOG_WARN, "placement: %s", tsr_last_error());
    return false;
  }
  if (tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, out_cpu) != TSR_OK) return false;
  if (tsr_device_get_speed(*out_cpu, &here) != TSR_OK) tsri_log(TSR_LOG_WARN, "placement: %s", tsr_last_error());
  else {
    tsri_work work = tsri_work_of(capture);
    double there_ns = tsri_work_ns(&work, &there), here_ns = tsri_work_ns(&work, &here);
    tsri_log(TSR_LOG_INFO, "placement: %.0f kernels, %.3g bytes, %.3g multiply-adds: %.3g ms on %s, %.3g ms on the CPU",
             work.kernels, work.bytes, work.multiply_adds, there_ns * 1e-6, device->info.name, here_ns * 1e-6);
    if (here_ns < there_ns) return true;
  }
  tsr_device_release(*out_cpu);
  *out_cpu = NULL;
  return false;
}
