// SPDX-License-Identifier: MIT
// Sizes and strides of a scatter along an axis, and how they are passed to the kernels of kernels/op_scatter.tk.
#ifndef TSRI_OPS_SCATTER_CALL_H
#define TSRI_OPS_SCATTER_CALL_H

#include "ops/scatter.h"

// The sizes of a scatter: x and y are [outer, size, inner], indices and source [outer, n, inner]. `strides` has those of x, the indices and the source.
// is_alone: the result are the sums alone, as f32, without x (only for scatter_exact.h and scatter_parts.h).
typedef struct tsri_scatter_sizes {
  int64_t outer, n, inner, size;
  int64_t strides[3][3];
  bool is_alone;
} tsri_scatter_sizes;

// Fills in *out. False: the kernels would need a copy of an input first, or cannot address it.
bool tsri_scatter_find_sizes(const tsri_scatter *s, tsri_scatter_sizes *out);

// `count` rounded up to one of four steps between powers of two, so that few variants of a kernel are built.
int64_t tsri_scatter_rounded(int64_t count);

// Binds indices and source (as `dtype`: that of the source, or an integer of its size), and passes their number, offsets, and strides along the outer axis and
// the axis of the scatter.
void tsri_scatter_pass_sources(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsr_dtype dtype,
                               tsri_call *call);

// Binds the result.
void tsri_scatter_pass_result(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call);

// The dtype of the result.
tsr_dtype tsri_scatter_result(const tsri_kernel_run *run, const tsri_scatter_sizes *z);

// As tsri_call_subgroup, but 0 for software drivers, which take long to compile kernels that use subgroups.
int tsri_scatter_subgroup(const tsr_device *device, int group);

// Binds x, and passes its offset and strides.
void tsri_scatter_pass_x(const tsri_kernel_run *run, const tsri_scatter_sizes *z, tsri_call *call);

// Passes all arguments, and launches the work-groups: each has one of `ranges` ranges of a row's targets, or `per` whole rows.
tsr_status tsri_scatter_launch_ranges(const tsri_kernel_run *run, const tsri_scatter_sizes *z, int64_t ranges,
                                      int64_t per, tsri_call *call);

#endif
