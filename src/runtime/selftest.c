// SPDX-License-Identifier: MIT
// The self-test of a device: uploads bytes, fills and copies some on the device, and compares what is downloaded.
#include <stdio.h>
#include <string.h>

#include <tessera/buffer.h>

#include "core/error.h"
#include "runtime/device.h"
#include "runtime/stage.h"

enum { TEST_BYTES = 256, FILL_AT = 64, FILL_BYTES = 32, COPY_AT = 128 };

static tsr_status compare(const char *backend, const unsigned char *got, const unsigned char *wanted) {
  for (int i = 0; i < TEST_BYTES; i++) {
    if (got[i] == wanted[i]) continue;
    return TSRI_FAIL(TSR_ERR_INTERNAL, "self-test of %s failed: byte %d came back as 0x%02x instead of 0x%02x", backend,
                     i, got[i], wanted[i]);
  }
  return TSR_OK;
}

// Uploads 256 bytes, fills a part, copies the first half to the second, and sets `wanted` to the expected bytes.
static tsr_status exercise(tsr_buffer *buffer, unsigned char *wanted) {
  static const unsigned char pattern[4] = {0xDE, 0xAD, 0xBE, 0xEF};
  for (int i = 0; i < TEST_BYTES; i++) wanted[i] = (unsigned char)(i * 7 + 3);
  tsr_status status = tsr_buffer_upload(buffer, 0, wanted, TEST_BYTES);
  if (status == TSR_OK) status = tsr_buffer_fill(buffer, FILL_AT, FILL_BYTES, pattern, sizeof pattern);
  if (status == TSR_OK) status = tsr_buffer_copy(buffer, COPY_AT, buffer, 0, COPY_AT);
  for (int i = 0; i < FILL_BYTES; i++) wanted[FILL_AT + i] = pattern[i % 4];
  memcpy(wanted + COPY_AT, wanted, COPY_AT);
  return status;
}

tsr_status tsr_device_test(tsr_device *device) {
  tsr_status status = tsri_device_check("device_test", device);
  if (status != TSR_OK) return status;
  tsr_buffer *buffer = NULL;
  const size_t both = 2 * (size_t)TEST_BYTES;
  unsigned char *wanted = tsri_stage_create(both);
  if (!wanted) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "device_test: no host memory for %zu bytes", both);
  memset(wanted, 0, both);
  status = tsr_buffer_create(device, TEST_BYTES, 0, &buffer);
  if (status == TSR_OK) status = exercise(buffer, wanted);
  if (status == TSR_OK) status = tsr_buffer_download(buffer, 0, wanted + TEST_BYTES, TEST_BYTES);
  if (status == TSR_OK) status = compare(device->backend->name, wanted + TEST_BYTES, wanted);
  tsri_stage_release(device, wanted, status);
  tsr_buffer_release(buffer);
  return status;
}
