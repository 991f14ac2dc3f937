// SPDX-License-Identifier: MIT
// Captures: which work is repeated, which elements it reads, and what cannot be captured.
#include <pthread.h>
#include <string.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "ops/dlpack_abi.h"
#include "runtime/device.h"
#include "support/devices.h"
#include "support/test.h"

static void check_read(tsr_tensor *tensor, const float *wanted, int count) {
  float values[64];
  CHECK_OK(tsr_read(tensor, values, (size_t)count * sizeof *values));
  for (int i = 0; i < count; i++) CHECK_NEAR(values[i], wanted[i], 1e-5);
}

static tsr_tensor *four(tsr_device *device, const float values[4]) {
  return tsr_from_data(device, TSR_F32, TSR_SHAPE(4), values, 4 * sizeof *values);
}

static void replay_on(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  const float first[4] = {1, 2, 3, 4}, second[4] = {-4, 3, -2, 10};
  tsr_tensor *x = four(device, first);
  tsr_capture *step = NULL;
  if (tsr_evaluate(tsr_neg(x)) == TSR_ERR_UNSUPPORTED) {  // a device without kernels
    CHECK_OK(tsr_scope_end(scope));
    return;
  }
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_relu(tsr_add(tsr_mul(x, x), x));
  tsr_tensor *total = tsr_sum(y, NULL, 0, false);
  tsr_tensor *outputs[] = {y, total};
  CHECK_OK(tsr_capture_end(outputs, 2, &step));
  CHECK(tsr_capture_step_count(step) >= 2);
  check_read(y, (const float[]){2, 6, 12, 20}, 4);
  check_read(total, (const float[]){40}, 1);
  for (int i = 0; i < 3; i++) {
    CHECK_OK(tsr_write(x, second, sizeof second));
    CHECK_OK(tsr_capture_run(step));
    check_read(total, (const float[]){12 + 12 + 2 + 110}, 1);
    check_read(y, (const float[]){12, 12, 2, 110}, 4);
    CHECK_OK(tsr_write(x, first, sizeof first));
    CHECK_OK(tsr_capture_run(step));
    check_read(total, (const float[]){40}, 1);
  }
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(a_capture_reads_its_inputs_as_they_are_when_it_runs) { test_on_every_device(replay_on); }

// An input of a capture that has not been computed when the capture begins, in each way in which it may be used.
static void pending_inputs_on(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  const float next[4] = {10, 20, 30, 40};
  tsr_tensor *one = four(device, (const float[]){1, 2, 3, 4});
  if (tsr_evaluate(tsr_neg(one)) == TSR_ERR_UNSUPPORTED) {  // a device without kernels
    CHECK_OK(tsr_scope_end(scope));
    return;
  }
  tsr_tensor *base = tsr_add_scalar(one, 0.5);
  tsr_tensor *inputs[] = {tsr_add_scalar(one, 1.5), tsr_randn(device, TSR_F32, TSR_SHAPE(4), 1), tsr_add(base, base)};
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    tsr_tensor *x = inputs[i];
    tsr_capture *step = NULL;
    CHECK_OK(tsr_capture_begin(device));
    tsr_tensor *y = tsr_mul_scalar(tsr_flip(x, 0), 2), *outputs[] = {y, x};
    CHECK_OK(tsr_capture_end(outputs, 2, &step));
    CHECK_OK(tsr_write(x, next, sizeof next));
    CHECK_OK(tsr_capture_run(step));
    check_read(y, (const float[]){80, 60, 40, 20}, 4);
    check_read(x, next, 4);  // x is not computed again
    tsr_capture_release(step);
  }
  check_read(base, (const float[]){1.5, 2.5, 3.5, 4.5}, 4);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(equal_inputs_of_a_capture_are_two) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *one = four(device, (const float[]){1, 2, 3, 4});
  tsr_tensor *a = tsr_add_scalar(one, 1), *b = tsr_add_scalar(one, 1);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_sub(a, b);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  CHECK_OK(tsr_write(a, (const float[]){10, 20, 30, 40}, 16));
  CHECK_OK(tsr_capture_run(step));
  check_read(y, (const float[]){8, 17, 26, 35}, 4);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(what_was_recorded_before_a_capture_is_its_input) { test_on_every_device(pending_inputs_on); }

TEST(a_move_recorded_before_a_capture_is_its_input) {
  tsr_device *device = test_open("cpu"), *other = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(NULL);
  const float next[4] = {10, 20, 30, 40};
  tsr_tensor *there = four(other, (const float[]){1, 2, 3, 4}), *x = tsr_to(there, device);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_add(x, x);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  CHECK_OK(tsr_write(x, next, sizeof next));
  CHECK_OK(tsr_capture_run(step));
  check_read(y, (const float[]){20, 40, 60, 80}, 4);
  tsr_capture_release(step);
  CHECK_OK(tsr_capture_begin(device));
  y = tsr_add(tsr_to(there, device), x);
  CHECK_STATUS(tsr_capture_end(&y, 1, &step), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("between devices");
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device), tsr_device_release(other);
}

TEST(what_a_write_runs_in_a_capture_is_not_part_of_it) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  const float next[4] = {10, 20, 30, 40};
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4}), *before = tsr_neg(x);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(tsr_write(x, next, sizeof next));  // `before` must run now
  tsr_tensor *y = tsr_add(x, x);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  CHECK_EQ_INT(tsr_capture_step_count(step), 1);
  CHECK_OK(tsr_capture_run(step));
  check_read(before, (const float[]){-1, -2, -3, -4}, 4);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// The views are large enough to be packed and unpacked by a kernel where the host cannot address the device's memory.
static void transfers_of_views_on(tsr_device *device) {
  enum { ROWS = 40, COLUMNS = 50, COUNT = ROWS * COLUMNS };
  static float first[COUNT], second[COUNT], seen[COUNT];
  for (int i = 0; i < COUNT; i++) first[i] = (float)i, second[i] = (float)(-1 - i);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), first, sizeof first);
  tsr_tensor *flipped = tsr_flip(x, 1);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(tsr_write(flipped, first, sizeof first));
  CHECK_OK(tsr_read(flipped, seen, sizeof seen));
  CHECK_OK(tsr_capture_end(&flipped, 1, &step));
  CHECK_EQ_INT(tsr_capture_step_count(step), 0);
  CHECK_OK(tsr_write(x, second, sizeof second));
  CHECK_OK(tsr_capture_run(step));
  CHECK_OK(tsr_read(x, seen, sizeof seen));
  for (int i = 0; i < COUNT; i++) CHECK_EQ_INT((int)seen[i], (int)second[i]);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(reading_and_writing_views_in_a_capture_is_not_part_of_it) { test_on_every_device(transfers_of_views_on); }

static void sequences_on(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  const float other[5] = {9, 9, 9, 9, 9};
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *x = tsr_linspace(device, TSR_F32, 0, 1, 5);  // computed on the host if the device has no f64
  CHECK_OK(tsr_capture_end(&x, 1, &step));
  CHECK_OK(tsr_write(x, other, sizeof other));
  CHECK_OK(tsr_capture_run(step));
  check_read(x, (const float[]){0, 0.25f, 0.5f, 0.75f, 1}, 5);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(captured_sequences_are_written_again) { test_on_every_device(sequences_on); }

TEST(operators_on_what_a_captured_kernel_overwrites_run_before_it_does_again) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  static const char text[] = "kernel bump<WG = 64>(inout f32 x[]) { if (global.x < 4) x[global.x] += 1; }";
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text}, &kernel));
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4});
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, (tsr_arg[]){tsr_arg_tensor(x)}, 1));
  CHECK_OK(tsr_capture_end(NULL, 0, &step));
  tsr_tensor *seen = tsr_neg(x);  // must see 2 3 4 5
  CHECK_OK(tsr_capture_run(step));
  check_read(seen, (const float[]){-2, -3, -4, -5}, 4);
  check_read(x, (const float[]){3, 4, 5, 6}, 4);
  tsr_capture_release(step);
  tsr_kernel_release(kernel);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static void *leave_open(void *device) {
  tsr_scope_begin(device);
  tsr_ones(device, TSR_F32, TSR_SHAPE(1000));
  tsr_scope_begin(device);
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(tsr_evaluate(tsr_neg(tsr_ones(device, TSR_F32, TSR_SHAPE(1000)))));
  return NULL;
}

TEST(a_thread_that_ends_releases_its_scopes_and_its_capture) {
  tsr_device *device = test_open("cpu");
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, leave_open, device) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
  }
  tsr_device_release(device);
}

TEST(matrix_products_rows_and_copies_run_again) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = tsr_rand(device, TSR_F32, TSR_SHAPE(5, 6), 1), *b = tsr_rand(device, TSR_F32, TSR_SHAPE(6, 7), 2);
  float a_values[30], wanted[35], is[35];
  CHECK_OK(tsr_read(a, a_values, sizeof a_values));
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_softmax(tsr_contiguous(tsr_transpose(tsr_matmul(a, b), 0, 1)), 1);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  for (int i = 0; i < 30; i++) a_values[i] = 2 - a_values[i];
  CHECK_OK(tsr_write(a, a_values, sizeof a_values));
  CHECK_OK(tsr_capture_run(step));
  CHECK_OK(tsr_read(y, is, sizeof is));
  CHECK_OK(tsr_read(tsr_softmax(tsr_contiguous(tsr_transpose(tsr_matmul(a, b), 0, 1)), 1), wanted, sizeof wanted));
  for (int i = 0; i < 35; i++) CHECK_NEAR(is[i], wanted[i], 0);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(operators_on_an_output_see_the_elements_they_were_recorded_on) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4});
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_add(x, x);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  tsr_tensor *later = tsr_neg(y);  // pending while the capture runs again
  CHECK_OK(tsr_write(x, (const float[]){5, 6, 7, 8}, 16));
  CHECK_OK(tsr_capture_run(step));
  check_read(later, (const float[]){-2, -4, -6, -8}, 4);
  check_read(y, (const float[]){10, 12, 14, 16}, 4);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

// Long chains run before they are read. Everything that runs between begin and end is captured, whenever it runs.
TEST(chains_that_run_by_themselves_are_captured_whole) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4});
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_add_scalar(x, 1);
  for (int i = 0; i < 1500; i++) {
    tsr_tensor *next = tsr_add_scalar(y, 1);
    tsr_release(y);
    y = next;
  }
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  CHECK_OK(tsr_write(x, (const float[]){10, 20, 30, 40}, 16));
  CHECK_OK(tsr_capture_run(step));
  check_read(y, (const float[]){1511, 1521, 1531, 1541}, 4);
  tsr_capture_release(step);
  tsr_release(y);
  tsr_release(x);
  tsr_device_release(device);
}

// --- Memory ---------------------------------------------------------------------------------------------------------------

// Results have more than 1 MiB, so that they are not small buffers (tsri_tape_take). The kernels are running sums down short columns, each computed by one work
// item: emulated GPUs take two to eight times as long for rows, where work items cooperate.
enum { ROWS = 8, COLUMNS = 33280 };

// How many kernels the chain has: more than the buffers that a capture of it may take.
static int links_on(const tsr_device *device) { return device->backend->graph_step ? 32 : 12; }

// Kernels that each read the result of the one before; a constant that is uploaded in the capture and released in it is added on the way, and the
// result of one kernel is handed out.
static tsr_tensor *record_chain(tsr_device *device, tsr_tensor *x, tsr_tensor **out_middle) {
  tsr_tensor *y = tsr_retain(x);
  static float numbers[ROWS];
  for (int i = 0; i < ROWS; i++) numbers[i] = (float)i;
  for (int i = 0; i < links_on(device); i++) {
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *next = tsr_mul_scalar(tsr_cumsum(y, 0), 1.0 / ROWS);
    if (i % 4 == 1) next = tsr_add(next, tsr_from_data(device, TSR_F32, TSR_SHAPE(ROWS, 1), numbers, sizeof numbers));
    if (i == 5) CHECK_OK(tsr_evaluate(next));  // two plans
    tsr_retain(next);
    CHECK_OK(tsr_scope_end(scope));
    if (i == 3) *out_middle = tsr_retain(next);
    tsr_release(y);
    y = next;
  }
  return y;
}

static uint64_t in_use(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  return stats.in_use_bytes;
}

static float chain_values[2][2][ROWS * COLUMNS];  // captured or not; the middle and the end

// Runs the chain on two inputs; the second numbers are kept.
static void read_chain(tsr_device *device, bool is_captured) {
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), 1), *middle = NULL, *y = NULL;
  tsr_tensor *other = tsr_rand(device, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), 2);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_evaluate(x));
  uint64_t before = in_use(device);
  if (is_captured) {
    CHECK_OK(tsr_capture_begin(device));
    y = record_chain(device, x, &middle);
    CHECK_OK(tsr_capture_end(&y, 1, &step));
    // Far fewer buffers than links: the middle result, the last result, and two that the chain alternates between. Where steps may run at the same time, a
    // buffer is reused only 16 steps later (tsri_tape_take), which takes up to 16 more buffers; and small buffers, of scans and constants, are not reused: two
    // more.
    uint64_t most = device->backend->graph_step ? 5 + 16 + 2 : 5;
    CHECK((in_use(device) - before) / (ROWS * COLUMNS * sizeof(float)) <= most);
  }
  CHECK_OK(tsr_assign(x, other));
  if (!is_captured) y = record_chain(device, x, &middle);
  else
    for (int i = 0; i < 2; i++) CHECK_OK(tsr_capture_run(step));
  CHECK_OK(tsr_read(middle, chain_values[is_captured][0], sizeof chain_values[0][0]));
  CHECK_OK(tsr_read(y, chain_values[is_captured][1], sizeof chain_values[0][1]));
  tsr_capture_release(step);
  tsr_release(x);
  tsr_release(other);
  tsr_release(middle);
  tsr_release(y);
}

static void chain_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  uint64_t before = in_use(device);
  for (int i = 0; i < 2; i++) read_chain(device, i == 1);
  CHECK(memcmp(chain_values[0], chain_values[1], sizeof chain_values[0]) == 0);
  CHECK_EQ_UINT(in_use(device), before);
}

TEST(a_capture_uses_memory_again_within_itself) { test_on_every_device(chain_on); }

TEST(results_without_elements_are_captured) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *none = tsr_zeros(device, TSR_F32, TSR_SHAPE(0, 3)), *y = NULL;
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_scope *inner = tsr_scope_begin(device);
  y = tsr_keep(tsr_sum(tsr_cumsum(tsr_cumsum(none, 1), 1), (int[]){0}, 1, false));  // two results that nobody keeps
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_scope_end(inner));
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  CHECK_OK(tsr_capture_run(step));
  check_read(y, (const float[]){0, 0, 0}, 3);
  tsr_capture_release(step);
  tsr_release(y);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_capture_keeps_what_it_uses) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4}), *shown = tsr_retain(x);
  static const char text[] =
      "kernel twice(in f32 x[], out f32 y[]) { if (global.x < 4) y[global.x] = x[global.x] * 2; }";
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text}, &kernel));
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(4));
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, (tsr_arg[]){tsr_arg_tensor(x), tsr_arg_tensor(y)}, 2));
  CHECK_OK(tsr_capture_end(NULL, 0, &step));
  tsr_kernel_release(kernel);
  tsr_release(x);
  CHECK_OK(tsr_write(shown, (const float[]){5, 6, 7, 8}, 16));
  CHECK_OK(tsr_capture_run(step));
  check_read(y, (const float[]){10, 12, 14, 16}, 4);
  tsr_release(shown);
  CHECK_OK(tsr_capture_run(step));  // the capture keeps its input alive
  tsr_capture_release(tsr_capture_retain(step));
  tsr_capture_release(step);
  tsr_release(y);
  tsr_device_release(device);
}

// --- Captured operators that another thread runs ----------------------------------------------------------------------------

typedef struct meddler {
  tsr_tensor *x, *y;  // an input of the capture, and a tensor that the capture computes from it
} meddler;

static void meddle(void *(*work)(void *user), meddler *with) {
  pthread_t thread;
  CHECK_EQ_INT(pthread_create(&thread, NULL, work, with), 0);
  CHECK_EQ_INT(pthread_join(thread, NULL), 0);
}

static void *export_input(void *user) {
  struct DLManagedTensorVersioned *managed = NULL;
  // Runs the readers of x, because the receiver may write to it.
  CHECK_OK(tsr_to_dlpack_versioned(((meddler *)user)->x, &managed));
  managed->deleter(managed);
  return NULL;
}

static void *write_input(void *user) {
  CHECK_OK(tsr_write(((meddler *)user)->x, (const float[]){0, 0, 0, 0}, 16));
  return NULL;
}

static void *compute_further(void *user) {
  tsr_tensor *z = tsr_add_scalar(((meddler *)user)->y, 100);
  check_read(z, (const float[]){102, 103, 104, 105}, 4);
  tsr_release(z);
  return NULL;
}

static void *read_in_a_capture(void *user) {
  meddler *self = user;
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(tsr_tensor_device(self->x)));
  tsr_tensor *z = tsr_neg(self->y);
  CHECK_OK(tsr_capture_end(&z, 1, &step));
  CHECK_EQ_INT(tsr_capture_step_count(step), 1);  // y belongs to the other capture
  tsr_release(z);
  tsr_capture_release(step);
  return NULL;
}

TEST(captured_operators_are_repeated_whichever_thread_runs_them) {
  void *(*const ways[])(void *) = {export_input, write_input, compute_further, read_in_a_capture};
  for (size_t i = 0; i < 2 * (sizeof ways / sizeof ways[0]); i++) {
    tsr_device *device = test_open("cpu");
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_tensor *base = four(device, (const float[]){1, 2, 3, 4});
    tsr_tensor *x = i % 2 ? base : tsr_mul_scalar(base, 1);  // computed already, or only recorded
    tsr_capture *step = NULL;
    CHECK_OK(tsr_capture_begin(device));
    tsr_tensor *y = tsr_add_scalar(x, 1);
    meddle(ways[i / 2], &(meddler){.x = x, .y = y});
    CHECK_OK(tsr_capture_end(&y, 1, &step));
    CHECK_EQ_INT(tsr_capture_step_count(step), 1);
    check_read(y, (const float[]){2, 3, 4, 5}, 4);
    CHECK_OK(tsr_write(x, (const float[]){5, 6, 7, 8}, 16));
    CHECK_OK(tsr_capture_run(step));
    check_read(y, (const float[]){6, 7, 8, 9}, 4);
    tsr_capture_release(step);
    CHECK_OK(tsr_scope_end(scope));
    tsr_device_release(device);
  }
}

static void *read_moved(void *user) {
  float values[4];
  CHECK_OK(tsr_read(((meddler *)user)->y, values, sizeof values));
  return NULL;
}

TEST(a_captured_move_is_refused_though_another_thread_ran_it) {
  tsr_device *device = test_open("cpu"), *other = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *far = four(other, (const float[]){1, 2, 3, 4});
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *near = tsr_to(far, device), *y = tsr_neg(near);
  meddle(read_moved, &(meddler){.y = near});
  CHECK_STATUS(tsr_capture_end(&y, 1, &step), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("moving a tensor between devices cannot be repeated");
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(other);
  tsr_device_release(device);
}

// The device is taken for one whose driver ends loops after 50 iterations (runtime/long_loops.h).
static void repeat_long_loop_on(tsr_device *device) {
  static const char text[] =
      "kernel add_up<WG = 4>(in f32 x[], out f32 y[], u32 n) { f32 s = 0.0; for (u32 i = 0; i < n; i++) s += "
      "x[global.x]; y[global.x] = s; }";
  if (device->limits.max_group_size == 0) return;  // it runs no kernels
  uint32_t kept = device->limits.max_loop_rounds;
  device->limits.max_loop_rounds = 50;
  tsr_kernel *kernel = NULL;
  tsr_capture *step = NULL;
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4}), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(4));
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text}, &kernel));
  CHECK_OK(tsr_capture_begin(device));
  tsr_arg args[] = {tsr_arg_tensor(x), tsr_arg_tensor(y), tsr_arg_int(300)};
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 3));
  tsr_tensor *sum = tsr_add(y, x);
  CHECK_OK(tsr_capture_end(&sum, 1, &step));
  tsr_kernel_release(kernel);
  check_read(sum, (const float[]){301, 602, 903, 1204}, 4);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_write(x, (const float[]){5, 0, -1, (float)i}, 16));
    CHECK_OK(tsr_capture_run(step));
    check_read(sum, (const float[]){1505, 0, -301, (float)i * 301}, 4);
  }
  tsr_capture_release(step);
  tsr_release(sum);
  tsr_release(y);
  tsr_release(x);
  device->limits.max_loop_rounds = kept;
}

TEST(a_launch_that_is_cut_because_of_long_loops_is_repeated) { test_on_every_device(repeat_long_loop_on); }

TEST(what_cannot_be_repeated_is_refused) {
  tsr_device *device = test_open("cpu"), *other = test_open("null");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4}), *far = tsr_to(x, other);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_error(far));
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *near = tsr_to(far, device);
  tsr_tensor *y = tsr_add(near, x);
  CHECK_STATUS(tsr_capture_end(&y, 1, &step), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("moving a tensor between devices cannot be repeated");
  CHECK(step == NULL);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(other);
  tsr_device_release(device);
}

TEST(wrong_calls_are_statuses) {
  tsr_device *device = test_open("cpu"), *other = test_open("cpu");
  tsr_capture *step = NULL;
  CHECK_STATUS(tsr_capture_begin(NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_capture_end(NULL, 0, &step), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("not capturing");
  CHECK_OK(tsr_capture_begin(device));
  CHECK_STATUS(tsr_capture_begin(device), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("capturing already");
  CHECK_OK(tsr_capture_end(NULL, 0, NULL));  // discards the capture
  CHECK_OK(tsr_capture_begin(device));
  CHECK_STATUS(tsr_capture_end(NULL, 2, &step), TSR_ERR_INVALID_ARGUMENT);
  tsr_tensor *elsewhere = tsr_ones(other, TSR_F32, TSR_SHAPE(2));
  CHECK_OK(tsr_capture_begin(device));
  CHECK_STATUS(tsr_capture_end(&elsewhere, 1, &step), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("output 0 is not on the device");
  CHECK_STATUS(tsr_capture_run(NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_EQ_INT(tsr_capture_step_count(NULL), 0);
  tsr_capture_release(NULL);
  tsr_release(elsewhere);
  tsr_device_release(other);
  tsr_device_release(device);
}

static tsr_status capture_something(tsr_device *device, tsr_tensor *x) {
  tsr_capture *step = NULL;
  tsr_status status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  tsr_tensor *y = tsr_exp(tsr_add_scalar(x, 1));
  status = tsr_capture_end(&y, 1, &step);
  if (status == TSR_OK) status = tsr_capture_run(step);
  tsr_capture_release(step);
  return status;
}

TEST(every_host_allocation_of_a_capture_may_fail) {
  for (uint64_t n = 1; n < 1000; n++) {
    tsr_device *device = test_open("cpu");
    tsr_tensor *x = four(device, (const float[]){1, 2, 3, 4});
    tsr_scope *scope = tsr_scope_begin(device);
    tsri_alloc_fail_at(n, false);
    tsr_status status = capture_something(device, x);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    CHECK_OK(tsr_scope_end(scope));
    scope = tsr_scope_begin(device);
    CHECK_OK(capture_something(device, x));
    CHECK_OK(tsr_scope_end(scope));
    tsr_release(x);
    tsr_device_release(device);
    if (made < n) return;
  }
  FAIL("the capture never got through");
}
