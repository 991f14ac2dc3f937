// SPDX-License-Identifier: MIT
// The version as text, made of the numbers in <tessera/version.h>.
#include <tessera/version.h>

#define TEXT_OF(x)                  #x
#define DOTTED(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *tsr_version(void) { return DOTTED(TSR_VERSION_MAJOR, TSR_VERSION_MINOR, TSR_VERSION_PATCH); }
