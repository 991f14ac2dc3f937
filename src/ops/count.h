// SPDX-License-Identifier: MIT
// The counting operator of histogram, for captures that are read from files.
#ifndef TSRI_OPS_COUNT_H
#define TSRI_OPS_COUNT_H

#include <tessera/tessera.h>

// How many elements of x lie in each bin between neighbouring `edges`: one row of a histogram. The edges are two or more f32 or f64, made by
// tsr_linspace: the kernel finds most bins by a multiplication, so other edges would give wrong counts.
tsr_tensor *tsri_histogram_between(tsr_tensor *x, tsr_tensor *edges);

#endif
