// SPDX-License-Identifier: MIT
#include "runtime/copier.h"

#include <stdlib.h>
#include <string.h>

#include "support/devices.h"
#include "support/test.h"

enum { BYTES = 3 << 20 };

static void check_copy(tsr_buffer *dst, size_t to, tsr_buffer *src, size_t from, size_t bytes, bool by_kernel) {
  bool is_done = !by_kernel;
  CHECK_OK(tsri_copier_copy(dst, to, src, from, bytes, &is_done));
  CHECK(is_done == by_kernel);
  if (!is_done) return;
  unsigned char *wanted = malloc(bytes), *is = malloc(bytes);
  CHECK_OK(tsr_buffer_download(src, from, wanted, bytes));
  CHECK_OK(tsr_buffer_download(dst, to, is, bytes));
  CHECK_BYTES(is, wanted, bytes);
  free(wanted);
  free(is);
}

// Copies between offsets of all kinds, and checks that the bytes before and after stay as they are.
static void check_offsets_on(tsr_device *device) {
  enum { ROOM = (1 << 16) + 300, LEAST = 1 << 16 };
  if (!test_device_computes(device)) return;
  device->limits.copies_slowly = true;
  tsr_buffer *src = NULL, *dst = NULL;
  unsigned char *data = malloc(ROOM), *wanted = malloc(ROOM), *is = malloc(ROOM);
  for (int i = 0; i < ROOM; i++) data[i] = (unsigned char)(i * 7 + i / 255);
  CHECK_OK(tsr_buffer_create(device, ROOM, 0, &src));
  CHECK_OK(tsr_buffer_create(device, ROOM, 0, &dst));
  CHECK_OK(tsr_buffer_upload(src, 0, data, ROOM));
  for (size_t i = 0; i < 12; i++) {
    size_t to = i % 5 + i % 3 * 61, from = i % 4 + i % 7 * 9, bytes = LEAST + i % 11;
    bool is_done = false;
    memset(wanted, 0xa5, ROOM);
    CHECK_OK(tsr_buffer_upload(dst, 0, wanted, ROOM));
    CHECK_OK(tsri_copier_copy(dst, to, src, from, bytes, &is_done));
    CHECK_EQ_INT(is_done, (to | from | bytes) % 4 != 0);  // the device copies so few whole words itself
    CHECK_OK(tsr_buffer_download(dst, 0, is, ROOM));
    if (is_done) memcpy(wanted + to, data + from, bytes);
    CHECK_BYTES(is, wanted, ROOM);
  }
  free(data);
  free(wanted);
  free(is);
  tsr_buffer_release(src);
  tsr_buffer_release(dst);
}

TEST(kernels_copy_between_any_two_offsets) { test_on_every_device(check_offsets_on); }

TEST(large_copies_go_by_a_kernel_where_that_is_faster) {
  tsr_device *device = test_open("cpu");
  tsr_buffer *src = NULL, *dst = NULL;
  unsigned char *data = malloc(BYTES);
  for (int i = 0; i < BYTES; i++) data[i] = (unsigned char)(i * 7 + i / 255);
  CHECK_OK(tsr_buffer_create(device, BYTES, 0, &src));
  CHECK_OK(tsr_buffer_create(device, BYTES, 0, &dst));
  CHECK_OK(tsr_buffer_upload(src, 0, data, BYTES));
  check_copy(dst, 0, src, 0, BYTES, false);  // the device's own copy is fast
  device->limits.copies_slowly = true;
  check_copy(dst, 0, src, 0, BYTES, true);
  check_copy(dst, 256, src, 1024, (1 << 20) + 16, true);
  check_copy(dst, 0, src, 0, 4096, false);       // too small
  check_copy(dst, 0, src, 0, BYTES - 4, true);   // not a multiple of 16 bytes
  check_copy(dst, 4, src, 0, 1 << 20, true);     // an offset that cannot be bound
  check_copy(src, 256, src, 0, 1 << 20, false);  // overlapping ranges
  check_copy(src, 2 << 20, src, 0, 1 << 20, true);
  device->limits.max_binding_bytes = 1 << 20;
  check_copy(dst, 0, src, 0, BYTES, true);  // in several launches
  free(data);
  tsr_buffer_release(src);
  tsr_buffer_release(dst);
  tsr_device_release(device);
}
