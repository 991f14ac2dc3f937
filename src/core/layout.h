// SPDX-License-Identifier: MIT
// Layouts: where the elements of a shape are in memory. All views are arithmetic on layouts, and all of it is here.
//
// Functions that make a view check their arguments and name `caller` in the message; if they fail, `*out_view` is
// unchanged. Invariant: every element of a view is inside the buffer of the layout it was made from, because a view
// only selects elements.
#ifndef TSRI_LAYOUT_H
#define TSRI_LAYOUT_H

#include <stdbool.h>
#include <tessera/dtype.h>
#include <tessera/shape.h>
#include <tessera/tensor.h>

typedef struct tsri_layout {
  tsr_shape shape;
  int64_t strides[TSR_MAX_RANK];  // in elements
  int64_t offset;                 // index of element [0, 0, …] in the buffer, in elements
  int64_t count;                  // number of elements
} tsri_layout;

// Checks that the rank is in range, no size is negative and the number of elements fits. `*out_count` is that number.
tsr_status tsri_shape_check(const char *caller, tsr_shape shape, int64_t *out_count);

// Compares in a loop: memcmp with wide loads would stall on sizes that were just stored one by one. Inline, because
// every operator calls it several times.
static inline bool tsri_shape_equal(tsr_shape a, tsr_shape b) {
  bool is_same = a.rank == b.rank;
  for (int i = 0; i < a.rank && is_same; i++) is_same = a.dims[i] == b.dims[i];
  return is_same;
}

tsr_status tsri_shape_broadcast(const char *caller, tsr_shape a, tsr_shape b, tsr_shape *out_shape);

// The row-major layout of a shape, with offset 0. `*out_bytes` (may be NULL) is its size for elements of `dtype`.
tsr_status tsri_layout_init(const char *caller, tsr_shape shape, tsr_dtype dtype, tsri_layout *out_layout,
                            size_t *out_bytes);

bool tsri_layout_is_contiguous(const tsri_layout *layout);

// Whether the layout is exactly that of tsri_layout_init for its shape.
bool tsri_layout_is_row_major(const tsri_layout *layout);

// Lowest and highest index of an element in the buffer; both 0 for an empty layout.
void tsri_layout_span(const tsri_layout *layout, int64_t *out_low, int64_t *out_high);

// Whether two different indices may address the same element. A stride of 0 is always found; otherwise true means only
// that overlap could not be ruled out.
bool tsri_layout_may_overlap(const tsri_layout *layout);

// Converts an axis that may be negative to the range 0 … limit-1.
tsr_status tsri_axis(const char *caller, int axis, int limit, int *out_axis);

// `*out_is_view` is false if strides cannot express the result; `*out_view` is then the row-major layout of the new
// shape.
tsr_status tsri_layout_reshape(const tsri_layout *layout, tsr_shape shape, tsri_layout *out_view, bool *out_is_view);
tsr_status tsri_layout_permute(const tsri_layout *layout, const int *axes, int axis_count, tsri_layout *out_view);
tsr_status tsri_layout_transpose(const tsri_layout *layout, int axis_a, int axis_b, tsri_layout *out_view);
tsr_status tsri_layout_slice(const tsri_layout *layout, int axis, int64_t start, int64_t stop, int64_t step,
                             tsri_layout *out_view);
// The view that a key of tsr_view selects. `out_view` must not be `layout`.
tsr_status tsri_layout_view(const tsri_layout *layout, const tsr_key *items, int count, tsri_layout *out_view);
tsr_status tsri_layout_expand(const tsri_layout *layout, tsr_shape shape, tsri_layout *out_view);
tsr_status tsri_layout_squeeze(const tsri_layout *layout, int axis, tsri_layout *out_view);
tsr_status tsri_layout_unsqueeze(const tsri_layout *layout, int axis, tsri_layout *out_view);
tsr_status tsri_layout_flip(const tsri_layout *layout, int axis, tsri_layout *out_view);
// The last axis of the view is the diagonal of the two axes, which are removed (tsr_diagonal).
tsr_status tsri_layout_diagonal(const tsri_layout *layout, int64_t offset, int axis_a, int axis_b,
                                tsri_layout *out_view);
void tsri_layout_squeeze_all(const tsri_layout *layout, tsri_layout *out_view);

#endif
