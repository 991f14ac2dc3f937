// SPDX-License-Identifier: MIT
// Placement of recorded operators by a measurement that the tests make up.
#include "runtime/placing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/tensor.h"
#include "runtime/buffer.h"
#include "runtime/speed.h"
#include "support/devices.h"
#include "support/test.h"

#include <tessera/capture.h>
#include <tessera/grad.h>
#include <tessera/ops.h>
#include <tessera/scope.h>

// A kernel of the device takes a second; bytes and products are free. So every graph that may run on the CPU does.
static const tsr_device_speed always = {.kernel_ns = 1e9};
// Like a GPU: a run takes at least 20 us, but work is a hundred times as fast.
static const tsr_device_speed gpu = {
    .run_ns = 20e3, .kernel_ns = 5e3, .byte_ns = 0.001, .multiply_add_ns = 0.0001, .copied_byte_ns = 0.05};
static const tsr_device_speed cpu_speed = {.run_ns = 300, .kernel_ns = 200, .byte_ns = 5, .multiply_add_ns = 0.01};

static void keep_speed(const char *backend, int index, tsr_device_speed speed) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, &device));
  tsri_speed_keep(device, &speed);
  tsr_device_release(device);
}

// Opens the device again while placement is on. NULL: graphs of this device cannot be placed.
static tsr_device *open_placed(tsr_device *device, tsr_device_speed speed) {
  tsr_device *placed = NULL;
  if (!test_device_computes(device) || strcmp(device->backend->name, "cpu") == 0) return NULL;
  keep_speed(device->backend->name, device->info.index, speed);
  keep_speed("cpu", 0, cpu_speed);
  CHECK_OK(tsr_config_set("placement", "measured"));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = device->backend->name, .index = device->info.index}, &placed));
  CHECK_OK(tsr_config_set("placement", NULL));
  CHECK(placed->placing != NULL);
  return placed;
}

static void on_placed_devices(void (*test)(tsr_device *device)) {
  char home[] = "/tmp/tessera-place-XXXXXX", command[128];
  CHECK(mkdtemp(home) && setenv("XDG_CACHE_HOME", home, 1) == 0);
  test_on_every_device(test);
  snprintf(command, sizeof command, "rm -r %s", home);
  CHECK(system(command) == 0);
}

static uint64_t placements_of(tsr_device *device) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  return counters.placements;
}

static uint64_t launches_of(tsr_device *device) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(device, &counters));
  return counters.launches;
}

static tsr_tensor *iota(tsr_device *device, int64_t rows, int64_t cols) {
  float data[64];
  for (int i = 0; i < 64; i++) data[i] = (float)i;
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(rows, cols), data, (size_t)(rows * cols) * sizeof(float));
}

// --- Small and large ---------------------------------------------------------------------------------------------------

static void small_and_large(tsr_device *plain) {
  tsr_device *device = open_placed(plain, gpu);
  if (!device) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(device, &before));
  tsr_tensor *x = iota(device, 4, 4), *y = tsr_sum(tsr_relu(tsr_add(tsr_matmul(x, x), x)), (int[]){1}, 1, false);
  float sums[4];
  CHECK_OK(tsr_read(y, sums, sizeof sums));
  CHECK_NEAR(sums[0], 56 + 62 + 68 + 74 + 6, 0);
  CHECK(tsr_tensor_device(y) == device);
  CHECK_OK(tsr_device_get_counters(device, &after));
  CHECK_EQ_UINT(after.placements, before.placements + 1);
  CHECK_EQ_UINT(after.launches, before.launches);
  CHECK_EQ_UINT(after.uploads, before.uploads);  // neither the data nor the result were on the device
  CHECK_EQ_UINT(after.downloads, before.downloads);

  tsr_tensor *large = tsr_rand(device, TSR_F32, TSR_SHAPE(128, 128), 1);
  CHECK_OK(tsr_read(tsr_sum(large, NULL, 0, false), sums, sizeof(float)));
  CHECK(sums[0] > 7800 && sums[0] < 8600);
  CHECK_EQ_UINT(placements_of(device), after.placements);
  CHECK(launches_of(device) > after.launches);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(small_graphs_of_host_data_run_on_the_cpu_and_large_ones_on_the_device) { on_placed_devices(small_and_large); }

static void data_stays_there(tsr_device *plain) {
  tsr_device *device = open_placed(plain, gpu);
  if (!device) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = iota(device, 4, 4);
  float element = 7;
  CHECK_OK(tsr_write(tsr_slice(tsr_reshape(x, TSR_SHAPE(16)), 0, 5, 6, 1), &element, sizeof element));  // moves x
  CHECK_OK(tsr_read(tsr_sum(tsr_mul(x, x), NULL, 0, false), &element, sizeof element));
  CHECK_NEAR(element, 1240 - 25 + 49, 0);
  CHECK_EQ_UINT(placements_of(device), 0);
  CHECK(launches_of(device) > 0);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_graph_of_data_on_the_device_runs_there) { on_placed_devices(data_stays_there); }

// --- Everything that may be placed -----------------------------------------------------------------------------------

static void views_of_the_device(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = iota(device, 4, 4), *row = tsr_slice(x, 0, 1, 2, 1);
  CHECK_OK(tsr_write(x, (float[16]){[4] = 1, [5] = 2, [6] = 3, [7] = 4}, 64));  // x is on the device now
  tsr_tensor *y = tsr_add(tsr_transpose(x, 0, 1), row), *z = tsr_mul(y, y);
  float out[16];
  CHECK_OK(tsr_read(z, out, sizeof out));
  const float first[4] = {1, 9, 9, 16}, second[4] = {1, 16, 9, 16};
  CHECK_BYTES(out, first, sizeof first);
  CHECK_BYTES(out + 4, second, sizeof second);
  CHECK_EQ_UINT(launches_of(device), 0);
  CHECK_OK(tsr_read(y, out, sizeof out));  // a result in between, which was seen
  CHECK_NEAR(out[1], 3, 0);
  CHECK_OK(tsr_evaluate(z));
  CHECK(tsri_tensor_buffer(z) && tsri_tensor_buffer(z)->device == device);
  CHECK_OK(tsr_scope_end(scope));
}

static void written_later(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = iota(device, 4, 4), *both = tsr_add_scalar(x, 1), *sum = tsr_sum(both, NULL, 0, false);
  CHECK_OK(tsr_evaluate(x));
  float out[16], zero[16] = {0};
  CHECK_OK(tsr_read(sum, out, sizeof(float)));
  CHECK_NEAR(out[0], 136, 0);
  CHECK_OK(tsr_write(x, zero, sizeof zero));
  CHECK_OK(tsr_read(both, out, sizeof out));  // from x as it was when `both` was recorded
  CHECK_NEAR(out[15], 16, 0);
  CHECK_OK(tsr_assign(x, tsr_add_scalar(x, 3)));
  CHECK_OK(tsr_read(x, out, sizeof out));
  CHECK_NEAR(out[3], 3, 0);
  CHECK_OK(tsr_scope_end(scope));
}

static void several_results(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = iota(device, 2, 8), *sum = NULL, *norm = NULL;
  float out[16];
  CHECK_OK(tsr_add_rms_norm(x, x, NULL, 1e-6, &sum, &norm));
  CHECK_OK(tsr_read(norm, out, sizeof out));
  CHECK_NEAR(out[1], 1 / 4.18330, 1e-4);
  CHECK_OK(tsr_read(sum, out, sizeof out));
  CHECK_NEAR(out[15], 30, 0);
  tsr_release(tsr_keep(sum));
  CHECK_OK(tsr_add_rms_norm(x, x, NULL, 1e-6, &sum, &norm));
  CHECK_OK(tsr_read(tsr_add(sum, norm), out, sizeof out));
  CHECK_EQ_UINT(launches_of(device), 0);
  CHECK_OK(tsr_scope_end(scope));
}

static void gradient(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = iota(device, 4, 4), *w = iota(device, 4, 4), *grad = NULL;
  float out[16];
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(w));
  tsr_tensor *loss = tsr_sum(tsr_matmul(x, w), NULL, 0, false);
  CHECK_OK(tsr_read(loss, out, sizeof(float)));  // runs before the gradient is taken
  CHECK_OK(tsr_grad(loss, NULL, &w, 1, &grad));
  CHECK_OK(tsr_grad_end());
  CHECK_OK(tsr_read(grad, out, sizeof out));
  CHECK_NEAR(out[0], 24, 0);
  CHECK_NEAR(out[15], 36, 0);
  CHECK_OK(tsr_scope_end(scope));
}

static void captured(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = iota(device, 4, 4), *y = NULL;
  tsr_capture *capture = NULL;
  float out[16], ones[16] = {[0] = 41};
  CHECK_OK(tsr_capture_begin(device));
  y = tsr_add_scalar(x, 1);
  CHECK_OK(tsr_capture_end(&y, 1, &capture));
  CHECK(launches_of(device) > 0);
  CHECK_OK(tsr_write(x, ones, sizeof ones));
  CHECK_OK(tsr_capture_run(capture));
  CHECK_OK(tsr_read(y, out, sizeof out));
  CHECK_NEAR(out[0], 42, 0);
  tsr_capture_release(capture);
  CHECK_OK(tsr_scope_end(scope));
}

// Runs all graphs on one device, one after the other, because opening all devices takes longer than running them.
static void all_graphs(tsr_device *plain) {
  void (*const tests[])(tsr_device *) = {views_of_the_device, written_later, several_results, gradient, captured};
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
    tsr_device *device = open_placed(plain, always);
    if (device) tests[i](device);
    tsr_device_release(device);
  }
}

TEST(views_writes_results_gradients_and_captures_are_right_where_graphs_are_placed) { on_placed_devices(all_graphs); }

// All tensors belong to the caller's scope.
static tsr_status placed_sum(tsr_device *device, float *out) {
  tsr_tensor *x = iota(device, 4, 4), *sum = NULL, *norm = NULL;
  (void)tsr_evaluate(x);
  tsr_status status =
      tsr_add_rms_norm(x, tsr_expand(tsr_slice(x, 0, 0, 1, 1), TSR_SHAPE(4, 4)), NULL, 1e-6, &sum, &norm);
  if (status == TSR_OK) status = tsr_read(tsr_sum(tsr_mul(norm, sum), NULL, 0, false), out, sizeof *out);
  return status;
}

static void out_of_host_memory(tsr_device *plain) {
  tsr_device *device = open_placed(plain, always);
  if (!device) return;
  float right = 0, is = 0;
  tsr_scope *first = tsr_scope_begin(device);
  CHECK_OK(placed_sum(device, &right));
  CHECK_OK(tsr_scope_end(first));
  bool has_failed = true;
  for (uint64_t n = 1; has_failed && n < 2000; n += n < 60 ? 1 : 5) {
    tsr_scope *scope = tsr_scope_begin(device);
    tsri_alloc_fail_at(n, false);
    tsr_status status = placed_sum(device, &is);
    has_failed = tsri_alloc_fail_at(0, false) >= n;
    CHECK(status == TSR_OK ? is == right : status == TSR_ERR_OUT_OF_MEMORY);
    CHECK_OK(tsr_scope_end(scope));
  }
  CHECK(!has_failed);
  tsr_device_release(device);
}

TEST(placement_survives_every_failed_allocation) { on_placed_devices(out_of_host_memory); }

static void not_measured(tsr_device *plain) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_config_set("placement", "measured"));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = plain->backend->name, .index = plain->info.index}, &device));
  CHECK(device->placing == NULL);
  CHECK_OK(tsr_config_set("placement", NULL));
  tsr_device_release(device);
}

TEST(a_device_that_was_not_measured_is_not_placed) { on_placed_devices(not_measured); }
