// SPDX-License-Identifier: MIT
// The machine's size on macOS and iOS, from sysctl, and the suffix of shared libraries there. There are no containers with limits of their own.
#include <mach/mach.h>
#include <stdio.h>
#include <sys/sysctl.h>

#include "platform/platform.h"

const char *const tsri_library_suffix = ".dylib";

void tsri_cpu_name(char *name, size_t name_bytes) {
  if (name_bytes == 0) return;
  char text[256] = "";
  size_t bytes = sizeof text;
  if (sysctlbyname("machdep.cpu.brand_string", text, &bytes, NULL, 0) != 0) text[0] = 0;
  snprintf(name, name_bytes, "%s", text);
}

int tsri_cpu_count(void) {
  int count = 0;
  size_t bytes = sizeof count;
  if (sysctlbyname("hw.activecpu", &count, &bytes, NULL, 0) != 0) return 1;
  return count > 0 ? count : 1;
}

// Pages that are free, or can be reused without writing them to disk.
static uint64_t free_pages(void) {
  vm_statistics64_data_t statistics = {0};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&statistics, &count) != KERN_SUCCESS) {
    return 0;
  }
  return (uint64_t)statistics.free_count + statistics.inactive_count + statistics.purgeable_count;
}

void tsri_memory_size(uint64_t *out_total, uint64_t *out_free) {
  uint64_t total = 0;
  size_t bytes = sizeof total;
  if (sysctlbyname("hw.memsize", &total, &bytes, NULL, 0) != 0) total = 0;
  uint64_t available = free_pages() * (uint64_t)vm_kernel_page_size;
  *out_total = total;
  *out_free = available < total ? available : total;
}

void tsri_prefer_large_pages(void *memory, size_t bytes) {
  (void)memory;
  (void)bytes;
}

bool tsri_allow_tile_registers(void) { return false; }
