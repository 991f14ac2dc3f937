// SPDX-License-Identifier: MIT
// Counts of floats, for graphs that are read from files.
#ifndef TSRI_OPS_COUNT_H
#define TSRI_OPS_COUNT_H

#include <tessera/tessera.h>

// How many elements of x lie between neighbours in `edges`, a list of two or more ascending f32 or f64: a row of histogram.
tsr_tensor *tsri_histogram_between(tsr_tensor *x, tsr_tensor *edges);

#endif
