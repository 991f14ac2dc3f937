// SPDX-License-Identifier: MIT
// Any bytes as the file of a capture, with a checksum that is right: what is taken runs once on the CPU. Nothing may crash, leak or
// touch memory that is not its own. Kernels of users are refused, since those may do all of that.
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#include "saved/format.h"

static void put(unsigned char *to, uint64_t value) {
  for (int i = 0; i < 8; i++) to[i] = (unsigned char)(value >> 8 * i);
}

// The sizes in the header become what they should be, mostly, so that what comes after it is read.
static void seal(unsigned char *data, size_t size, size_t described) {
  memcpy(data, tsri_saved_magic, sizeof tsri_saved_magic);
  unsigned char version = data[8] >= 1 && data[8] <= TSRI_SAVED_VERSION ? data[8] : TSRI_SAVED_VERSION;
  memset(data + 8, 0, 8);
  data[8] = version;
  put(data + 16, size);
  uint64_t description = 0;
  memcpy(&description, data + 24, sizeof description);
  if (description > size - TSRI_SAVED_HEADER_BYTES) put(data + 24, described);
  uint64_t sum = tsri_saved_checksum(TSRI_SAVED_CHECKSUM_START, data, 32);
  put(data + 32, tsri_saved_checksum(sum, data + TSRI_SAVED_HEADER_BYTES, size - TSRI_SAVED_HEADER_BYTES));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tsr_device *cpu;
  if (!cpu && tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &cpu) != TSR_OK) return 0;
  unsigned char *copy = malloc(size + 1);
  if (!copy) return 0;
  if (size > 0) memcpy(copy, data, size);
  if (size >= TSRI_SAVED_HEADER_BYTES) seal(copy, size, size - TSRI_SAVED_HEADER_BYTES);
  tsr_capture *capture = NULL;
  tsr_load_desc desc = {.data = copy, .data_bytes = size, .most_bytes = 4096, .refuses_kernels = true};
  if (tsr_capture_load(cpu, &desc, &capture) == TSR_OK) (void)tsr_capture_run(capture);
  (void)tsr_device_synchronize(cpu);
  tsr_capture_release(capture);
  free(copy);
  return 0;
}
