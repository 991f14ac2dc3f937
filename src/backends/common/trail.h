// SPDX-License-Identifier: MIT
// The search trail of a library: which names were tried and what the loader said of each, for the reason people read.
#ifndef TSRI_TRAIL_H
#define TSRI_TRAIL_H

#include <stddef.h>

// Appends "name: reason" to `trail`, which begins as "". A file that is not there is "not found". What does not fit is cut.
void tsri_trail_add(char *trail, size_t trail_bytes, const char *name, const char *reason);

#endif
