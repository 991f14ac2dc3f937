// SPDX-License-Identifier: MIT
// The search trail of a library: which file names were tried and what the loader said about each. Error messages
// include it.
#ifndef TSRI_TRAIL_H
#define TSRI_TRAIL_H

#include <stddef.h>

// Appends "name: reason" to `trail`, which starts as "". The reason is "not found" for a missing file. Text that does
// not fit is cut.
void tsri_trail_add(char *trail, size_t trail_bytes, const char *name, const char *reason);

#endif
