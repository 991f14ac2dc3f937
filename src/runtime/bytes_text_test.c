// SPDX-License-Identifier: MIT
// Byte counts formatted as text.
#include "runtime/bytes_text.h"

#include "support/test.h"

static void reads(uint64_t bytes, const char *wanted) { CHECK_STR(tsri_format_bytes(bytes).text, wanted); }

TEST(sizes_are_written_in_the_unit_that_fits) {
  reads(0, "0 B");
  reads(1023, "1023 B");
  reads(1024, "1.0 KiB");
  reads(1536, "1.5 KiB");
  reads(UINT64_C(4) << 20, "4.0 MiB");
  reads(UINT64_C(3) << 29, "1.5 GiB");
  reads(UINT64_C(5) << 40, "5.0 TiB");
  reads(UINT64_MAX, "16.0 EiB");
}

TEST(sizes_round_to_the_nearest_tenth) {
  reads(1075, "1.0 KiB");
  reads(1076, "1.1 KiB");
  reads((UINT64_C(1) << 20) - 1, "1.0 MiB");
  reads((UINT64_C(1) << 30) - 1, "1.0 GiB");
  reads(1023 * 1024, "1023.0 KiB");
}
