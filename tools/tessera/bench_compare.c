// SPDX-License-Identifier: MIT
// Times the workloads of `tessera bench --compare` at growing sizes. A time is that of one captured run and the wait for its result, as in a program that needs it.
#include "bench_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_time.h"
#include "commands.h"
#include "progress.h"
#include "report.h"

// --- Works -----------------------------------------------------------------------------------------------------------

static tsr_tensor *some(tsr_device *device, tsr_shape shape) { return tsr_rand(device, TSR_F32, shape, 1); }

static tsr_tensor *square(tsr_device *device, int64_t n) { return some(device, TSR_SHAPE(n, n)); }

// Inputs are computed before the capture begins, so that they are no part of it.
static tsr_tensor *ready(tsr_tensor *x) {
  (void)tsr_evaluate(x);
  return x;
}

static tsr_tensor *matmul(tsr_device *device, int64_t n) {
  tsr_tensor *a = ready(square(device, n)), *b = ready(square(device, n));
  return tsr_capture_begin(device) == TSR_OK ? tsr_matmul(a, b) : NULL;
}

static tsr_tensor *add(tsr_device *device, int64_t n) {
  tsr_tensor *a = ready(square(device, n)), *b = ready(square(device, n));
  return tsr_capture_begin(device) == TSR_OK ? tsr_add(a, b) : NULL;
}

static tsr_tensor *sum(tsr_device *device, int64_t n) {
  tsr_tensor *x = ready(square(device, n));
  return tsr_capture_begin(device) == TSR_OK ? tsr_sum(x, NULL, 0, false) : NULL;
}

static tsr_tensor *relu(tsr_device *device, int64_t n) {
  tsr_tensor *x = ready(square(device, n));
  return tsr_capture_begin(device) == TSR_OK ? tsr_relu(x) : NULL;
}

static tsr_tensor *softmax(tsr_device *device, int64_t n) {
  tsr_tensor *x = ready(square(device, n));
  return tsr_capture_begin(device) == TSR_OK ? tsr_softmax(x, -1) : NULL;
}

static tsr_tensor *conv2d(tsr_device *device, int64_t n) {
  tsr_tensor *x = ready(some(device, TSR_SHAPE(1, 32, n, n))), *w = ready(some(device, TSR_SHAPE(32, 32, 3, 3)));
  tsr_conv_desc desc = {.padding = TSR_PADDING_SAME};
  return tsr_capture_begin(device) == TSR_OK ? tsr_conv(x, w, NULL, &desc) : NULL;
}

static tsr_tensor *attention(tsr_device *device, int64_t n) {
  tsr_tensor *x = ready(some(device, TSR_SHAPE(1, 8, n, 64)));
  return tsr_capture_begin(device) == TSR_OK ? tsr_attention(x, x, x, NULL, NULL) : NULL;
}

const compare_work compare_works[COMPARE_WORKS] = {
    {"matmul", "n x n by n x n", 16, 1024, matmul},
    {"add", "n x n and n x n", 16, 2048, add},
    {"sum", "of n x n", 16, 2048, sum},
    {"relu", "of n x n", 16, 2048, relu},
    {"conv2d", "32 channels of n x n, 3 x 3", 8, 64, conv2d},
    {"softmax", "rows of n x n", 16, 2048, softmax},
    {"attention", "8 heads of 64, n positions", 16, 512, attention},
};

// --- Timing ----------------------------------------------------------------------------------------------------------

static tsr_status run_once(tsr_device *device, tsr_capture *capture, double *out_ns) {
  double start = bench_now_ns();
  tsr_status status = tsr_capture_run(capture);
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  *out_ns = bench_now_ns() - start;
  return status;
}

static double least_run_ns;  // how long each size is measured
static const double slow_ns = 1e8,
                    too_slow_ns =
                        3e8;  // from slow_ns on, one run is enough; from too_slow_ns on, larger sizes are left out

// The median time of a few runs of the capture.
static tsr_status median_of_runs(tsr_device *device, tsr_capture *capture, double *out_ns) {
  enum { LEAST = 3, MOST = 101 };
  double samples[MOST] = {0};
  tsr_status status =
      tsr_device_synchronize(device);  // waits for the run made during the capture, in which drivers compile kernels
  if (status == TSR_OK)
    status =
        run_once(device, capture, &samples[0]);  // a warm-up; a slow run counts as a sample, so that it is not repeated
  double start = bench_now_ns();
  int count = samples[0] > slow_ns ? LEAST : 0;
  for (int i = 1; i < count; i++) samples[i] = samples[0];
  while (status == TSR_OK && count < MOST && (count < LEAST || bench_now_ns() - start < least_run_ns)) {
    status = run_once(device, capture, &samples[count++]);
  }
  if (status != TSR_OK) return status;
  bench_sort(samples, count);
  *out_ns = bench_quantile(samples, count, 0.5);
  return TSR_OK;
}

static tsr_status time_work(tsr_device *device, const compare_work *work, int64_t n, double *out_ns) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_capture *capture = NULL;
  tsr_tensor *y = work->record(device, n);
  tsr_status status = y ? tsr_capture_end(&y, 1, &capture) : tsr_last_error_status();
  if (status == TSR_OK) status = median_of_runs(device, capture, out_ns);
  tsr_capture_release(capture);
  (void)tsr_scope_end(scope);
  return status;
}

enum { MOST_SIZES = 16 };

// The CPU's time for each workload and size, with which other devices are compared.
static double cpu_times[COMPARE_WORKS][MOST_SIZES];

static void fail_cell(compare_cell *cell, tsr_status status) {
  cell->status = status;
  snprintf(cell->message, sizeof cell->message, "%s", tsr_last_error());
}

// Times the workload at growing sizes. cell->faster_from becomes the smallest size such that the device is faster than the CPU at that size and at all larger
// ones.
static void measure_work(tsr_device *device, int number, compare_device *out) {
  const compare_work *work = &compare_works[number];
  compare_cell *cell = &out->cells[number];
  int at = 0;
  for (int64_t n = work->least; n <= work->large && at < MOST_SIZES; n *= 2, at++) {
    double ns = 0;
    tsr_status status = time_work(device, work, n, &ns);
    if (status != TSR_OK) {
      fail_cell(cell, status);
      return;
    }
    if (out->is_cpu) cpu_times[number][at] = ns;
    bool is_faster = ns < cpu_times[number][at];
    if (!is_faster) cell->faster_from = 0;
    else if (cell->faster_from == 0) cell->faster_from = n;
    cell->n = n;
    cell->ns = ns;
    cell->cpu_ns = cpu_times[number][at];
    if (ns > too_slow_ns && !out->is_cpu) return;
  }
}

static void measure_device(compare_device *out, const char *backend, int index) {
  tsr_device *device = NULL;
  out->status = device_open_exactly(backend, index, &device);
  if (out->status != TSR_OK) {
    snprintf(out->message, sizeof out->message, "%s", tsr_last_error());
    return;
  }
  for (int i = 0; i < COMPARE_WORKS; i++) {
    progress_show("%s: %s", out->name, compare_works[i].name);
    measure_work(device, i, out);
  }
  progress_show("%s: speed", out->name);
  if (tsr_device_measure_speed(device, &out->speed) != TSR_OK) out->speed = (tsr_device_speed){0};
  tsr_device_release(device);
}

static void visit(compare_result *result, const device_choice *wanted, const tsr_backend_report *backend, bool is_cpu) {
  for (int i = 0; i < backend->device_count && result->count < COMPARE_MOST_DEVICES; i++) {
    const tsr_device_info *info = &backend->devices[i];
    if (!is_cpu && device_choice_is_made(wanted) && !device_choice_takes(wanted, backend, info)) continue;
    compare_device *device = &result->devices[result->count++];
    *device = (compare_device){.is_software = info->is_software, .is_cpu = is_cpu};
    device_format(backend->name, info->index, device->name);
    snprintf(device->full_name, sizeof device->full_name, "%s", info->name);
    measure_device(device, backend->name, info->index);
  }
}

int compare_run(compare_result *result, const device_choice *wanted, double least_ns) {
  tsr_discovery *found = NULL;
  *result = (compare_result){0};
  least_run_ns = least_ns;
  if (tsr_discover(&found) != TSR_OK) return report_error();
  for (int pass = 0; pass < 2; pass++) {  // the CPU first, since others are compared with it
    for (int i = 0; i < found->backend_count; i++) {
      bool is_cpu = strcmp(found->backends[i].name, "cpu") == 0;
      if (is_cpu == (pass == 0)) visit(result, wanted, &found->backends[i], is_cpu);
    }
  }
  progress_end();
  tsr_discovery_release(found);
  return result->count > 0 ? EXIT_DONE : EXIT_NO_DEVICE;
}

double compare_ratio(const compare_result *result, int device, int work) {
  const compare_cell *cell = &result->devices[device].cells[work];
  bool is_known = result->devices[device].status == TSR_OK && cell->status == TSR_OK && cell->ns > 0;
  return is_known ? cell->cpu_ns / cell->ns : 0;
}
