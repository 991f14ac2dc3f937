// SPDX-License-Identifier: MIT
// Sizes and strides of a scatter along an axis, and how they are passed to the kernels of kernels/op_scatter.tk.
#ifndef TSRI_OPS_SCATTER_CALL_H
#define TSRI_OPS_SCATTER_CALL_H

#include "ops/scatter.h"

// x and y as [outer, size, inner], indices and source as [outer, n, inner]. `strides` are those of x, the indices and the source.
typedef struct tsri_scatter_sizes {
  int64_t outer, n, inner, size;
  int64_t strides[3][3];
} tsri_scatter_sizes;

// Computes them. False: the kernels would need a copy of an input first, or cannot address it.
bool tsri_scatter_find_sizes(const tsri_scatter *s, tsri_scatter_sizes *out);

// Passes indices and source, their number, offsets and strides along the outer axis and the axis of the scatter. `dtype`: that of the source, or an integer of its size.
void tsri_scatter_pass_sources(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsr_dtype dtype,
                               tsri_call *call);

// As tsri_call_subgroup, but 0 for drivers in software, which take long to compile kernels that use subgroups.
int tsri_scatter_subgroup(const tsr_device *device, int group);

// As tsri_scatter_pass_sources, for x.
void tsri_scatter_pass_x(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call);

// Passes everything, and launches groups that have a row's targets in `ranges` parts, or `per` whole rows each.
tsr_status tsri_scatter_launch_ranges(const tsri_kernel_run *run, const tsri_scatter_sizes *z, int64_t ranges,
                                      int64_t per, tsri_call *call);

#endif
