// SPDX-License-Identifier: MIT
// Layouts: how a shape lies in memory. All views are arithmetic on layouts, done here and nowhere else.
//
// Functions that make a view check their arguments and name `caller` in the message; `*out_view` is
// unchanged when they fail. Invariant: every element of a layout lies inside the buffer its first ancestor
// described, because views only ever select from it.
#ifndef TSRI_LAYOUT_H
#define TSRI_LAYOUT_H

#include <stdbool.h>
#include <tessera/dtype.h>
#include <tessera/shape.h>

typedef struct tsri_layout {
  tsr_shape shape;
  int64_t strides[TSR_MAX_RANK];  // in elements
  int64_t offset;                 // of element [0, 0, …], in elements
  int64_t count;                  // number of elements
} tsri_layout;

// Rank in range, no negative size, the product fits. `*out_count` is the number of elements.
tsr_status tsri_shape_check(const char *caller, tsr_shape shape, int64_t *out_count);

// A loop, not memcmp: sizes just written are read as they were written. Inline, as every operator asks several times.
static inline bool tsri_shape_equal(tsr_shape a, tsr_shape b) {
  bool is_same = a.rank == b.rank;
  for (int i = 0; i < a.rank && is_same; i++) is_same = a.dims[i] == b.dims[i];
  return is_same;
}

tsr_status tsri_shape_broadcast(const char *caller, tsr_shape a, tsr_shape b, tsr_shape *out_shape);

// Row-major, from offset 0. `*out_bytes` (may be NULL) is its size for elements of `dtype`.
tsr_status tsri_layout_init(const char *caller, tsr_shape shape, tsr_dtype dtype, tsri_layout *out_layout,
                            size_t *out_bytes);

bool tsri_layout_is_contiguous(const tsri_layout *layout);

// Whether it is what tsri_layout_init makes of its shape.
bool tsri_layout_is_row_major(const tsri_layout *layout);

// Lowest and highest element offset used, both 0 for an empty layout.
void tsri_layout_span(const tsri_layout *layout, int64_t *out_low, int64_t *out_high);

// Whether two index tuples can mean the same element. Exact for stride 0; otherwise true only if it cannot be ruled out.
bool tsri_layout_may_overlap(const tsri_layout *layout);

// Turns an axis that may be negative into 0 … limit-1.
tsr_status tsri_axis(const char *caller, int axis, int limit, int *out_axis);

// `*out_is_view` false: the strides do not allow it, and `*out_view` is the row-major layout of the wanted shape.
tsr_status tsri_layout_reshape(const tsri_layout *layout, tsr_shape shape, tsri_layout *out_view, bool *out_is_view);
tsr_status tsri_layout_permute(const tsri_layout *layout, const int *axes, int axis_count, tsri_layout *out_view);
tsr_status tsri_layout_transpose(const tsri_layout *layout, int axis_a, int axis_b, tsri_layout *out_view);
tsr_status tsri_layout_slice(const tsri_layout *layout, int axis, int64_t start, int64_t stop, int64_t step,
                             tsri_layout *out_view);
tsr_status tsri_layout_expand(const tsri_layout *layout, tsr_shape shape, tsri_layout *out_view);
tsr_status tsri_layout_squeeze(const tsri_layout *layout, int axis, tsri_layout *out_view);
tsr_status tsri_layout_unsqueeze(const tsri_layout *layout, int axis, tsri_layout *out_view);
tsr_status tsri_layout_flip(const tsri_layout *layout, int axis, tsri_layout *out_view);
// The diagonal of two axes as the last axis, in place of both (tsr_diagonal).
tsr_status tsri_layout_diagonal(const tsri_layout *layout, int64_t offset, int axis_a, int axis_b,
                                tsri_layout *out_view);
void tsri_layout_squeeze_all(const tsri_layout *layout, tsri_layout *out_view);

#endif
