// SPDX-License-Identifier: MIT
// Formats numbers of bytes for people.
#include "size.h"

#include <stdio.h>
#include <string.h>

static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

static int unit_of(uint64_t bytes) {
  int unit = 0;
  while (bytes >= 1024) {
    bytes /= 1024;
    unit++;
  }
  return unit;
}

static double in_unit(uint64_t bytes, int unit) { return (double)bytes / (double)(UINT64_C(1) << (10 * unit)); }

char *size_format(uint64_t bytes, char *text) {
  int unit = unit_of(bytes);
  snprintf(text, SIZE_TEXT_BYTES, "%.*f %s", unit > 0, in_unit(bytes, unit), units[unit]);
  return text;
}

char *size_format_memory(uint64_t total_bytes, uint64_t free_bytes, char *text) {
  if (total_bytes == 0) {
    snprintf(text, SIZE_TEXT_BYTES, "-");
    return text;
  }
  int unit = unit_of(total_bytes);
  size_format(total_bytes, text);
  size_t used = strlen(text);
  if (free_bytes > 0) {
    snprintf(text + used, SIZE_TEXT_BYTES - used, " (%.*f free)", unit > 0, in_unit(free_bytes, unit));
  }
  return text;
}
