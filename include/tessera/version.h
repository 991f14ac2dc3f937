// SPDX-License-Identifier: MIT
// The version. It is written only here: the build, the packages and tsr_version() read it.
#ifndef TESSERA_VERSION_H
#define TESSERA_VERSION_H

#include <tessera/export.h>

#define TSR_VERSION_MAJOR 0
#define TSR_VERSION_MINOR 1
#define TSR_VERSION_PATCH 0

// The version of the library, such as "0.1.0". Static text, never NULL.
TSR_API const char *tsr_version(void);

#endif
