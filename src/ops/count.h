// SPDX-License-Identifier: MIT
// The counting operator of histogram, for captures that are read from files.
#ifndef TSRI_OPS_COUNT_H
#define TSRI_OPS_COUNT_H

#include <tessera/tessera.h>

// How many elements of x lie in each bin between neighbouring `edges` (a list of two or more ascending f32 or f64): one row of a histogram.
tsr_tensor *tsri_histogram_between(tsr_tensor *x, tsr_tensor *edges);

#endif
