// SPDX-License-Identifier: MIT
// Formats byte counts for people.
#include "runtime/bytes_text.h"

#include <stdio.h>

tsri_bytes_text tsri_format_bytes(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  enum { UNIT_COUNT = sizeof units / sizeof units[0] };
  tsri_bytes_text out;
  if (bytes < 1024) {
    snprintf(out.text, sizeof out.text, "%u B", (unsigned)bytes);
    return out;
  }

  // Integer arithmetic, because %.1f writes a comma in some locales.
  uint64_t parts = bytes;  // in 1/1024 of the unit
  int unit = 0;
  while (parts >= UINT64_C(1) << 20 && unit + 1 < UNIT_COUNT) {
    parts >>= 10;
    unit++;
  }
  unsigned tenths = (unsigned)((parts * 10 + 512) / 1024);
  if (tenths >= 10240 && unit + 1 < UNIT_COUNT) {  // 1023.96 KiB is shown as "1.0 MiB"
    tenths = 10;
    unit++;
  }
  snprintf(out.text, sizeof out.text, "%u.%u %s", tenths / 10, tenths % 10, units[unit]);
  return out;
}
