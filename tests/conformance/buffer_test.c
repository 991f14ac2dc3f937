// SPDX-License-Identifier: MIT
// Raw buffers on every device: the same claims, unchanged.
#include <tessera/buffer.h>

#include "support/devices.h"
#include "support/test.h"

enum { BYTES = 70001 };

static void fill_with_numbers(unsigned char *data, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)((i * 31 + seed) ^ (i >> 8));
}

static void bytes_come_back(tsr_device *device) {
  static unsigned char data[BYTES], back[BYTES];
  fill_with_numbers(data, BYTES, 1);
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsr_buffer_create(device, BYTES, 0, &buffer));
  CHECK_EQ_UINT(tsr_buffer_bytes(buffer), BYTES);
  CHECK(tsr_buffer_device(buffer) == device);
  CHECK_OK(tsr_buffer_upload(buffer, 0, data, BYTES));
  CHECK_OK(tsr_device_synchronize(device));
  CHECK_OK(tsr_buffer_download(buffer, 0, back, BYTES));
  CHECK_BYTES(back, data, BYTES);
  memset(back, 0, sizeof back);
  CHECK_OK(tsr_buffer_download(buffer, 4001, back, 1003));
  CHECK_BYTES(back, data + 4001, 1003);
  void *host = tsr_buffer_host(buffer);
  if (host) CHECK_BYTES(host, data, BYTES);
  tsr_buffer_release(buffer);
}
TEST(bytes_come_back_from_every_device) { test_on_every_device(bytes_come_back); }

static void fills_repeat(tsr_device *device) {
  static unsigned char wanted[BYTES], back[BYTES];
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (size_t pattern_bytes = 1; pattern_bytes <= 8; pattern_bytes *= 2) {
    size_t offset = 24, bytes = (BYTES - 100) / pattern_bytes * pattern_bytes;
    tsr_buffer *buffer = NULL;
    CHECK_OK(tsr_buffer_create(device, BYTES, 0, &buffer));
    memset(wanted, 0xAA, BYTES);
    CHECK_OK(tsr_buffer_upload(buffer, 0, wanted, BYTES));
    CHECK_OK(tsr_buffer_fill(buffer, offset, bytes, pattern, pattern_bytes));
    for (size_t i = 0; i < bytes; i++) wanted[offset + i] = pattern[i % pattern_bytes];
    CHECK_OK(tsr_buffer_download(buffer, 0, back, BYTES));
    CHECK_BYTES(back, wanted, BYTES);
    tsr_buffer_release(buffer);
  }
}
TEST(fills_repeat_their_pattern_and_nothing_else) { test_on_every_device(fills_repeat); }

static void copies_may_overlap(tsr_device *device) {
  static unsigned char data[BYTES], back[BYTES];
  fill_with_numbers(data, BYTES, 5);
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsr_buffer_create(device, BYTES, 0, &buffer));
  CHECK_OK(tsr_buffer_upload(buffer, 0, data, BYTES));
  CHECK_OK(tsr_buffer_copy(buffer, 1000, buffer, 0, 60000));
  memmove(data + 1000, data, 60000);
  CHECK_OK(tsr_buffer_copy(buffer, 0, buffer, 500, 60000));
  memmove(data, data + 500, 60000);
  CHECK_OK(tsr_buffer_download(buffer, 0, back, BYTES));
  CHECK_BYTES(back, data, BYTES);
  tsr_buffer_release(buffer);
}
TEST(copies_within_a_buffer_may_overlap) { test_on_every_device(copies_may_overlap); }

// Longer than one piece of a copy, so that it is copied in several pieces (runtime/buffer.c).
static void long_copies_may_overlap(tsr_device *device) {
  enum { LONG = 40 << 20, STEP = 12345, MOVED = LONG - STEP };
  unsigned char *data = malloc(LONG), *back = malloc(LONG);
  tsr_buffer *buffer = NULL;
  CHECK(data && back);
  fill_with_numbers(data, LONG, 7);
  CHECK_OK(tsr_buffer_create(device, LONG, 0, &buffer));
  CHECK_OK(tsr_buffer_upload(buffer, 0, data, LONG));
  CHECK_OK(tsr_buffer_copy(buffer, STEP, buffer, 0, MOVED));
  memmove(data + STEP, data, MOVED);
  CHECK_OK(tsr_buffer_copy(buffer, 0, buffer, STEP, MOVED));
  memmove(data, data + STEP, MOVED);
  CHECK_OK(tsr_buffer_copy(buffer, STEP, buffer, STEP, MOVED));
  CHECK_OK(tsr_buffer_download(buffer, 0, back, LONG));
  CHECK_BYTES(back, data, LONG);
  tsr_buffer_release(buffer);
  free(data);
  free(back);
}
TEST(long_copies_within_a_buffer_may_overlap) { test_on_every_device(long_copies_may_overlap); }

TEST(buffers_copy_between_any_two_devices) {
  enum { MOST = 16 };
  static unsigned char data[BYTES], back[BYTES];
  tsr_device *devices[MOST];
  int count = test_open_all(devices, MOST);
  CHECK(count >= 3);
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) {
      tsr_buffer *from = NULL, *to = NULL;
      fill_with_numbers(data, BYTES, (unsigned)(i * MOST + j));
      CHECK_OK(tsr_buffer_create(devices[i], BYTES, 0, &from));
      CHECK_OK(tsr_buffer_create(devices[j], BYTES, 0, &to));
      CHECK_OK(tsr_buffer_upload(from, 0, data, BYTES));
      CHECK_OK(tsr_buffer_copy(to, 17, from, 3, BYTES - 20));
      CHECK_OK(tsr_buffer_download(to, 17, back, BYTES - 20));
      CHECK_BYTES(back, data + 3, BYTES - 20);
      tsr_buffer_release(from);
      tsr_buffer_release(to);
    }
  }
  for (int i = 0; i < count; i++) tsr_device_release(devices[i]);
}

static void mistakes_are_statuses(tsr_device *device) {
  tsr_buffer *buffer = NULL, *empty = NULL;
  unsigned char byte = 0;
  CHECK_STATUS(tsr_buffer_create(device, 16, 3, &buffer), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("alignment 3");
  CHECK(buffer == NULL);
  CHECK_STATUS(tsr_buffer_create(device, 16, 8192, &buffer), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_create(device, SIZE_MAX, 0, &buffer), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_create(device, 16, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_create(NULL, 16, 0, &buffer), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_buffer_create(device, 16, 4096, &buffer));
  if (tsr_buffer_host(buffer)) CHECK_EQ_UINT((uintptr_t)tsr_buffer_host(buffer) % 4096, 0);
  CHECK_STATUS(tsr_buffer_upload(buffer, 10, &byte, 7), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("7 bytes at 10 leave the buffer of 16");
  CHECK_STATUS(tsr_buffer_upload(buffer, SIZE_MAX, &byte, 2), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_upload(buffer, 0, NULL, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_upload(NULL, 0, &byte, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_fill(buffer, 0, 16, &byte, 3), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_fill(buffer, 0, 15, "abcd", 4), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_copy(buffer, 0, NULL, 0, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_buffer_create(device, 0, 0, &empty));
  CHECK_OK(tsr_buffer_upload(empty, 0, NULL, 0));
  CHECK_OK(tsr_buffer_copy(empty, 0, buffer, 16, 0));
  CHECK_STATUS(tsr_buffer_download(empty, 0, &byte, 1), TSR_ERR_INVALID_ARGUMENT);
  tsr_buffer_release(buffer);
  tsr_buffer_release(empty);
  tsr_buffer_release(NULL);
}
TEST(mistakes_with_buffers_are_statuses) { test_on_every_device(mistakes_are_statuses); }

static void too_much_memory_is_a_status(tsr_device *device) {
  tsr_buffer *huge = NULL, *small = NULL;
  CHECK_STATUS(tsr_buffer_create(device, SIZE_MAX / 4, 0, &huge), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("asked");
  CHECK(huge == NULL);
  CHECK_OK(tsr_buffer_create(device, 4096, 0, &small));
  tsr_buffer_release(small);
}
TEST(too_much_memory_is_a_status_and_work_goes_on) { test_on_every_device(too_much_memory_is_a_status); }
