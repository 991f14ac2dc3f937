// SPDX-License-Identifier: MIT
// Lists of which work-groups count something in parts, for operators whose number of results depends on the elements.
#ifndef TSRI_OPS_FOUND_H
#define TSRI_OPS_FOUND_H

#include <tessera/tensor.h>

// Elements of a part of a list of n elements, one part for each work-group: a multiple of `tile`, and so many that there are at most TSRI_FOUND_PARTS parts. The host
// adds up what is counted in them, and each work-group adds up the counts of the parts before its own.
enum { TSRI_FOUND_PARTS = 2048 };
int64_t tsri_part_of_list(int64_t n, int64_t tile);

// Reads and adds the counts (i32) of the parts. Waits for the device.
tsr_status tsri_add_counts(tsr_tensor *counts, int64_t *out_total);

#endif
