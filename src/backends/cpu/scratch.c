// SPDX-License-Identifier: MIT
// Scratch memory for native operators. It is kept from call to call, since new memory costs a page fault for every 4 KiB.
#include "backends/cpu/cpu.h"
#include "core/alloc.h"

char *tsri_cpu_scratch(cpu_device *device, size_t bytes) {
  if (device->scratch_bytes >= bytes) return device->scratch;
  tsri_aligned_free(device->scratch);
  device->scratch = tsri_aligned_alloc(bytes);
  device->scratch_bytes = device->scratch ? bytes : 0;
  return device->scratch;
}
