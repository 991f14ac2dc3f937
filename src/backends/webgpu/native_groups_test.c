// SPDX-License-Identifier: MIT
// Bind groups are made once for the same bindings, and are gone with the first of their buffers or their program.
#include "backends/webgpu/fixture.h"
#include "backends/webgpu/native.h"

enum { N = 64, BYTES = N * 4 };

static wgpu_object (*real_create)(wgpu_object, const wgpu_group_descriptor *);
static void (*real_release)(wgpu_object);
static int created, released;

static wgpu_object count_create(wgpu_object device, const wgpu_group_descriptor *descriptor) {
  created++;
  return real_create(device, descriptor);
}

static void count_release(wgpu_object group) {
  released++;
  real_release(group);
}

// Also counts bind groups from then on. The device's own kernels have made some already.
static fixture open_counting(fixture_kernel *out_kernel) {
  fixture f = fixture_open();
  *out_kernel = fixture_compile(
      &f, "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) { y[global.x] = x[global.x] + n; }", NULL, "", false);
  tsri_wgpu_drop_groups(webgpu_device_of(f.device)->handle);
  real_create = tsri_wgpu_lib.DeviceCreateBindGroup;
  real_release = tsri_wgpu_lib.BindGroupRelease;
  tsri_wgpu_lib.DeviceCreateBindGroup = count_create;
  tsri_wgpu_lib.BindGroupRelease = count_release;
  created = released = 0;
  return f;
}

static void close_counting(const fixture *f) {
  fixture_close(f);
  CHECK_EQ_INT(created, released);
  tsri_wgpu_lib.DeviceCreateBindGroup = real_create;
  tsri_wgpu_lib.BindGroupRelease = real_release;
}

static void add(const fixture *f, const fixture_kernel *k, tsri_buffer *x, tsri_buffer *y, size_t y_offset,
                uint32_t n) {
  fixture_bound bound[2] = {{x, BYTES, 0}, {y, BYTES, y_offset}};
  fixture_launch(f, k, 1, 1, 1, bound, &n);
}

static void check(const fixture *f, tsri_buffer *y, size_t offset, uint32_t first) {
  uint32_t out[N];
  fixture_read(f, y, offset, out, sizeof out);
  for (uint32_t i = 0; i < N; i++) CHECK_EQ_UINT(out[i], first + i);
}

static tsri_buffer *counting_up(const fixture *f, uint32_t first) {
  uint32_t words[N];
  for (uint32_t i = 0; i < N; i++) words[i] = first + i;
  return fixture_buffer(f, sizeof words, words);
}

static const wgpu_uses *uses_of(tsri_buffer *buffer) { return &webgpu_buffer_of(buffer)->handle->uses; }

TEST(the_same_bindings_have_one_group) {
  fixture_kernel k;
  fixture f = open_counting(&k);
  tsri_buffer *x = counting_up(&f, 100), *y = fixture_buffer(&f, 2 * BYTES, NULL);
  for (uint32_t i = 0; i < 40; i++) add(&f, &k, x, y, i % 2 * BYTES, i);
  check(&f, y, 0, 100 + 38);
  check(&f, y, BYTES, 100 + 39);
  add(&f, &k, x, y, 0, 7);  // after a submission, in another pass
  check(&f, y, 0, 107);
  CHECK_EQ_INT(created, 2);
  CHECK_EQ_UINT(uses_of(x)->count, 2);
  fixture_discard(&f, &k);
  CHECK_EQ_INT(released, 2);
  CHECK_EQ_UINT(uses_of(x)->count, 0);
  f.backend->buffer_destroy(f.device, x);
  f.backend->buffer_destroy(f.device, y);
  close_counting(&f);
}

// New buffers often have the address of one that was destroyed.
TEST(a_destroyed_buffer_takes_its_groups_along) {
  fixture_kernel k;
  fixture f = open_counting(&k);
  tsri_buffer *y = fixture_buffer(&f, 2 * BYTES, NULL);
  for (uint32_t i = 0; i < 8; i++) {
    tsri_buffer *x = counting_up(&f, 1000 * i);
    add(&f, &k, x, y, 0, 1);
    if (i % 2 == 1) add(&f, &k, x, y, BYTES, 1);
    fixture_wait(&f);
    f.backend->buffer_destroy(f.device, x);
    CHECK_EQ_UINT(uses_of(y)->count, 0);
    check(&f, y, 0, 1000 * i + 1);
  }
  CHECK_EQ_INT(created, 12);
  f.backend->buffer_destroy(f.device, y);
  fixture_discard(&f, &k);
  close_counting(&f);
}

TEST(more_groups_than_are_kept) {
  fixture_kernel k;
  fixture f = open_counting(&k);
  enum { GROUPS = WGPU_KEPT_GROUPS + 500 };
  tsri_buffer *x = counting_up(&f, 0), *y = fixture_buffer(&f, (size_t)GROUPS * BYTES, NULL);
  for (uint32_t i = 0; i < GROUPS; i++) add(&f, &k, x, y, (size_t)i * BYTES, i);
  CHECK_EQ_INT(created, GROUPS);
  CHECK_EQ_UINT(uses_of(y)->count, (uint32_t)(created - released));
  CHECK(released >= 500);
  for (uint32_t i = 0; i < GROUPS; i += 97) check(&f, y, (size_t)i * BYTES, i);
  f.backend->buffer_destroy(f.device, y);
  CHECK_EQ_INT(created, released);
  f.backend->buffer_destroy(f.device, x);
  fixture_discard(&f, &k);
  close_counting(&f);
}

TEST(an_error_lets_go_of_all_groups) {
  fixture_kernel k;
  fixture f = open_counting(&k);
  tsri_buffer *x = counting_up(&f, 0), *y = fixture_buffer(&f, BYTES, NULL);
  tsri_wgpu_device *handle = webgpu_device_of(f.device)->handle;
  add(&f, &k, x, y, 0, 1);
  fixture_wait(&f);
  handle->error_type = WGPU_ERROR_OUT_OF_MEMORY;
  CHECK_STATUS(tsri_wgpu.device_check(handle), TSR_ERR_OUT_OF_MEMORY);
  CHECK_EQ_INT(released, 1);
  add(&f, &k, x, y, 0, 5);
  check(&f, y, 0, 5);
  CHECK_EQ_INT(created, 2);
  f.backend->buffer_destroy(f.device, x);
  f.backend->buffer_destroy(f.device, y);
  fixture_discard(&f, &k);
  close_counting(&f);
}
