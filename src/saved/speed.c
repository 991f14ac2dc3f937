// SPDX-License-Identifier: MIT
// Measures what a device takes for a run, a kernel, a byte and a multiply-add, by timing captures, and for a byte that is copied.
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"
#include "runtime/device.h"
#include "runtime/speed.h"
#include "runtime/tape.h"

#include <tessera/capture.h>
#include <tessera/ops.h>
#include <tessera/scope.h>

// --- Measuring -------------------------------------------------------------------------------------------------------

// One thing to time: a few kernels on tensors of n rows and columns.
typedef tsr_tensor *(*workload)(tsr_tensor *x, tsr_tensor *w);

static tsr_tensor *nothing_much(tsr_tensor *x, tsr_tensor *w) { return tsr_add(x, w); }

enum { CHAIN = 9 };

// Sums along the axes in turn cannot be one kernel.
static tsr_tensor *chain(tsr_tensor *x, tsr_tensor *w) {
  tsr_tensor *y = tsr_add(x, w);
  for (int i = 1; i < CHAIN; i++) y = tsr_add(w, tsr_sum(y, (int[]){i % 2}, 1, true));
  return y;
}

static tsr_tensor *product(tsr_tensor *x, tsr_tensor *w) { return tsr_matmul(x, w); }

// Time of a run: the input is written, the capture runs, one element of the result is read.
static tsr_status run_once(tsr_capture *capture, tsr_tensor *number, tsr_tensor *last, double *out_ns) {
  float value = 1;
  uint64_t start = tsri_clock_ns();
  tsr_status status = tsr_write(number, &value, sizeof value);
  if (status == TSR_OK) status = tsr_capture_run(capture);
  if (status == TSR_OK) status = tsr_read(last, &value, sizeof value);
  *out_ns = (double)(tsri_clock_ns() - start);
  return status;
}

// The best of several runs within 60 ms: other processes only make it slower.
static tsr_status best_of_runs(tsr_capture *capture, tsr_tensor *number, tsr_tensor *last, double *out_ns) {
  enum { LEAST_RUNS = 3, MOST_RUNS = 200 };
  const uint64_t longest = 60000000, start = tsri_clock_ns();
  tsr_status status = TSR_OK;
  *out_ns = INFINITY;
  for (int i = 0; i < MOST_RUNS && status == TSR_OK; i++) {
    double ns = 0;
    if (i >= LEAST_RUNS && tsri_clock_ns() - start > longest) break;
    status = run_once(capture, number, last, &ns);
    if (ns < *out_ns) *out_ns = ns;
  }
  return status;
}

static tsr_status time_in_scope(tsr_device *device, workload work, int64_t n, int *out_kernels, double *out_ns) {
  tsr_capture *capture = NULL;
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(n, n)), *w = tsr_ones(device, TSR_F32, TSR_SHAPE(n, n));
  tsr_tensor *number = tsr_slice(tsr_reshape(x, TSR_SHAPE(n * n)), 0, 0, 1, 1), *y = NULL;
  tsr_status status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  y = work(x, w);
  status = tsr_capture_end(&y, 1, &capture);
  if (status == TSR_OK) {
    *out_kernels = tsr_capture_step_count(capture);
    tsr_tensor *last = tsr_slice(tsr_reshape(y, TSR_SHAPE(-1)), 0, -1, TSR_END, 1);
    status = best_of_runs(capture, number, last, out_ns);
  }
  tsr_capture_release(capture);
  return status;
}

static tsr_status time_work(tsr_device *device, workload work, int64_t n, int *out_kernels, double *out_ns) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_status status = time_in_scope(device, work, n, out_kernels, out_ns);
  (void)tsr_scope_end(scope);
  return status;
}

// Time of a copy of n rows and columns to the device: the best of a few, each ended by reading one element.
static tsr_status time_upload(tsr_device *device, int64_t n, double *out_ns) {
  enum { RUNS = 5 };
  size_t bytes = (size_t)(n * n) * sizeof(float);
  float *data = tsri_calloc(1, bytes), value = 0;
  if (!data) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "device_measure_speed: no host memory for %zu bytes", bytes);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(n * n)), *last = tsr_slice(x, 0, -1, TSR_END, 1);
  tsr_status status = TSR_OK;
  *out_ns = INFINITY;
  for (int i = 0; i < RUNS && status == TSR_OK; i++) {
    uint64_t start = tsri_clock_ns();
    status = tsr_write(x, data, bytes);
    if (status == TSR_OK) status = tsr_read(last, &value, sizeof value);
    double ns = (double)(tsri_clock_ns() - start);
    if (ns < *out_ns) *out_ns = ns;
  }
  (void)tsr_scope_end(scope);
  tsri_free(data);
  return status;
}

static double not_below_zero(double value) { return value > 0 ? value : 0; }

static tsr_status measure(tsr_device *device, tsr_device_speed *out) {
  enum { SMALL = 16, LARGE = 2048, SIDE = 512 };
  int one = 0, several = 0, ignored = 0;
  double small_ns = 0, chain_ns = 0, large_ns = 0, product_ns = 0, one_copy_ns = 0, large_copy_ns = 0;
  tsr_status status = time_work(device, nothing_much, SMALL, &one, &small_ns);
  if (status == TSR_OK) status = time_work(device, chain, SMALL, &several, &chain_ns);
  if (status == TSR_OK) status = time_work(device, nothing_much, LARGE, &ignored, &large_ns);
  if (status == TSR_OK) status = time_work(device, product, SIDE, &ignored, &product_ns);
  if (status == TSR_OK) status = time_upload(device, 1, &one_copy_ns);
  if (status == TSR_OK) status = time_upload(device, LARGE, &large_copy_ns);
  if (status != TSR_OK) return status;
  double more = several > one ? several - one : 1, bytes = (double)(LARGE * LARGE) * sizeof(float);
  out->kernel_ns = not_below_zero((chain_ns - small_ns) / more);
  out->run_ns = not_below_zero(small_ns - one * out->kernel_ns);
  out->byte_ns = not_below_zero((large_ns - small_ns) / (3 * bytes));
  out->copied_byte_ns = not_below_zero((large_copy_ns - one_copy_ns) / bytes);
  out->multiply_add_ns = not_below_zero((product_ns - small_ns) / pow(SIDE, 3));
  return TSR_OK;
}

tsr_status tsr_device_measure_speed(tsr_device *device, tsr_device_speed *out_speed) {
  tsr_status status = tsri_device_check("device_measure_speed", device);
  if (status == TSR_OK && (!out_speed || tsri_tape_now())) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_measure_speed: %s",
                       out_speed ? "this thread is capturing" : "out_speed is NULL");
  }
  if (status != TSR_OK) return status;
  *out_speed = (tsr_device_speed){0};
  status = measure(device, out_speed);
  if (status == TSR_OK) tsri_speed_keep(device, out_speed);
  return status;
}
