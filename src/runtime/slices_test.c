// SPDX-License-Identifier: MIT
// Long launches in slices: which launches are cut, how, and that the results stay the same.
#include "runtime/slices.h"

#include "support/devices.h"
#include "support/test.h"

// A kernel that stores every id it can ask for, in all three directions.
static const char ids_text[] =
    "kernel ids<WG = 8, WG_Y = 2>(out u32 y[], u32 scale) {\n"
    "  u32 group_number = (group.z * groups.y + group.y) * groups.x + group.x;\n"
    "  u32 item = (local.y * 8 + local.x);\n"
    "  u32 value = global.x + 100 * global.y + 10000 * global.z + 100000 * groups.x;\n"
    "  y[group_number * 16 + item] = value * scale;\n"
    "}\n";

static const char loop_text[] =
    "kernel total<WG = 64>(in u32 x[], out u32 y[], u32 n) {\n"
    "  u32 sum = 0;\n"
    "  for (u32 i = 0; i < n; i++) sum += x[i];\n"
    "  y[global.x] = sum;\n"
    "}\n";

typedef struct fixture {
  tsr_device *device;
  tsri_kernel *kernel;
  tsri_built built;
} fixture;

// Takes over a reference to the device.
static fixture build(tsr_device *device, const char *text, bool checked) {
  fixture f = {.device = device};
  tsri_module *module = NULL;
  tsri_lang_options options = {.checked = checked};
  f.device->limits.longest_launch_ns = 1000u * 1000 * 1000;
  CHECK_OK(tsri_lang_parse("slices_test.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, &options, NULL, &f.kernel));
  tsri_module_release(module);
  CHECK_OK(tsri_built_init(f.device, f.kernel, false, &f.built));
  CHECK(f.built.slicer != NULL);
  return f;
}

static void discard(fixture *f) {
  CHECK_OK(tsr_device_synchronize(f->device));
  tsri_built_deinit(f->device, &f->built);
  tsri_kernel_release(f->kernel);
  tsr_device_release(f->device);
}

static uint64_t launches(const fixture *f) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(f->device, &counters));
  return counters.launches;
}

// Runs that kernel in one launch, then in slices of one work-group each. Returns the number of launches.
static uint64_t run_ids(fixture *f, const uint32_t groups[3]) {
  uint32_t whole[4096], sliced[4096], scale = 3;
  size_t count = (size_t)groups[0] * groups[1] * groups[2] * 16;
  tsr_buffer *y = NULL;
  CHECK_OK(tsr_buffer_create(f->device, count * 4, 0, &y));
  tsri_argument argument = {.buffer = y, .element_count = count};
  CHECK_OK(tsri_built_launch(f->device, &f->built, groups, &argument, &scale));
  CHECK_OK(tsr_buffer_download(y, 0, whole, count * 4));
  CHECK_OK(tsr_buffer_fill(y, 0, count * 4, &(unsigned char){0}, 1));
  f->built.slicer->worth = 0;
  f->built.slicer->limit_ns = 1;
  uint64_t before = launches(f);
  CHECK_OK(tsri_built_launch(f->device, &f->built, groups, &argument, &scale));
  uint64_t after = launches(f);
  CHECK_OK(tsr_buffer_download(y, 0, sliced, count * 4));
  CHECK_BYTES(sliced, whole, count * 4);
  tsr_buffer_release(y);
  return after - before;
}

static void check_ids(tsr_device *device) {
  if (device->limits.max_group_size == 0) return;  // the device runs no kernels
  fixture f = build(tsr_device_retain(device), ids_text, false);
  CHECK_EQ_UINT(run_ids(&f, (uint32_t[]){7, 3, 2}), 7);
  discard(&f);
  f = build(tsr_device_retain(device), ids_text, false);
  CHECK_EQ_UINT(run_ids(&f, (uint32_t[]){2, 3, 5}), 5);
  discard(&f);
}

TEST(slices_see_the_ids_of_the_whole_launch_on_every_device) { test_on_every_device(check_ids); }

TEST(slices_of_a_checked_kernel_report_an_index_out_of_range) {
  fixture f = build(test_open("cpu"), ids_text, true);
  uint32_t groups[3] = {4, 1, 1}, scale = 1;
  tsr_buffer *y = NULL;
  CHECK_OK(tsr_buffer_create(f.device, 4096, 0, &y));
  tsri_argument argument = {.buffer = y, .element_count = 3 * 16};  // there is no room for the last work-group's ids
  f.built.slicer->worth = 0;
  CHECK_STATUS(tsri_built_launch(f.device, &f.built, groups, &argument, &scale), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("is outside buffer 'y' of 48 elements");
  tsr_buffer_release(y);
  discard(&f);
}

TEST(a_program_that_proved_fast_is_cut_no_more) {
  fixture f = build(test_open("cpu"), ids_text, false);
  uint32_t groups[3] = {64, 1, 1}, scale = 1;
  tsr_buffer *y = NULL;
  CHECK_OK(tsr_buffer_create(f.device, 64 * 16 * 4, 0, &y));
  tsri_argument argument = {.buffer = y, .element_count = 64 * 16};
  f.built.slicer->worth = 1;
  CHECK_OK(tsri_built_launch(f.device, &f.built, groups, &argument, &scale));
  uint64_t after_first = launches(&f);
  CHECK(after_first > 1);
  CHECK_OK(tsri_built_launch(f.device, &f.built, groups, &argument, &scale));
  CHECK_EQ_UINT(launches(&f), after_first + 1);
  // 400 million times as much work is too much for one launch.
  CHECK(tsri_slicer_cuts(f.built.slicer, 0x1p40));
  tsr_buffer_release(y);
  discard(&f);
}

TEST(work_follows_from_items_loops_and_buffers) {
  fixture f = build(test_open("cpu"), loop_text, false);
  uint32_t groups[3] = {1024, 1, 1}, n = 1000;
  tsri_argument arguments[2] = {{.element_count = 1u << 20}, {.element_count = 1u << 16}};
  CHECK_NEAR(tsri_slicer_work(f.built.slicer, f.kernel, groups, arguments, &n), 65536.0 * 1000, 0);
  // Now the limit is how often a kernel can use each element.
  n = 1u << 20;
  CHECK_NEAR(tsri_slicer_work(f.built.slicer, f.kernel, groups, arguments, &n), 64.0 * ((1 << 20) + (1 << 16)), 0);
  discard(&f);
  f = build(test_open("cpu"), ids_text, false);
  CHECK_NEAR(tsri_slicer_work(f.built.slicer, f.kernel, groups, arguments, &n), 1024.0 * 16, 0);
  discard(&f);
}

TEST(slices_aim_at_half_the_limit_and_grow_slowly) {
  CHECK_EQ_UINT(tsri_slicer_next(10, 499, 1000), 10);
  CHECK_EQ_UINT(tsri_slicer_next(10, 999, 1000), 5);
  CHECK_EQ_UINT(tsri_slicer_next(10, 99, 1000), 50);
  CHECK_EQ_UINT(tsri_slicer_next(10, 1, 1000), 80);  // too short to be measured reliably
  CHECK_EQ_UINT(tsri_slicer_next(1, 5000, 1000), 1);
  CHECK_EQ_UINT(tsri_slicer_next(UINT32_MAX, 0, UINT64_MAX), UINT32_MAX);
}

TEST(a_loop_in_slices_gives_what_it_gives_whole) {
  fixture f = build(test_open("cpu"), loop_text, false);
  f.built.slicer->limit_ns = 1000u * 1000;
  f.built.slicer->worth = 0;
  enum { COUNT = 1 << 10, GROUPS = 500 };
  static uint32_t sums[GROUPS * 64];
  uint32_t groups[3] = {GROUPS, 1, 1}, n = COUNT;
  tsr_buffer *x = NULL, *y = NULL;
  CHECK_OK(tsr_buffer_create(f.device, COUNT * 4, 0, &x));
  CHECK_OK(tsr_buffer_create(f.device, sizeof sums, 0, &y));
  CHECK_OK(tsr_buffer_fill(x, 0, COUNT * 4, &(uint32_t){1}, 4));
  tsri_argument arguments[2] = {{.buffer = x, .element_count = COUNT}, {.buffer = y, .element_count = GROUPS * 64}};
  CHECK_OK(tsri_built_launch(f.device, &f.built, groups, arguments, &n));
  CHECK(launches(&f) > 2);
  CHECK_OK(tsr_buffer_download(y, 0, sums, sizeof sums));
  for (int i = 0; i < GROUPS * 64; i++) CHECK_EQ_UINT(sums[i], COUNT);
  tsr_buffer_release(x);
  tsr_buffer_release(y);
  discard(&f);
}
