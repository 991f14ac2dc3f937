// SPDX-License-Identifier: MIT
// The version text agrees with the version numbers.
#include <tessera/version.h>

#include "support/test.h"

TEST(version_text_is_the_three_numbers) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%d.%d.%d", TSR_VERSION_MAJOR, TSR_VERSION_MINOR, TSR_VERSION_PATCH);
  CHECK_STR(tsr_version(), wanted);
}
