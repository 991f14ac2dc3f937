// SPDX-License-Identifier: MIT
// Windows that slide along an axis, of convolutions and pooling: padding, and how many there are.
#ifndef TSRI_OPS_WINDOW_H
#define TSRI_OPS_WINDOW_H

#include "ops/call.h"

#include <tessera/desc.h>

enum { TSRI_MAX_SPATIAL = TSR_MAX_SPATIAL };

// The windows along one spatial axis.
typedef struct tsri_window {
  int64_t input;          // size of the axis
  int64_t size;           // elements of a window
  int64_t stride;         // from one window to the next
  int64_t dilation;       // from one element of a window to the next
  int64_t before, after;  // padding
} tsri_window;

// Checks that stride and dilation are positive, that padding is not negative, and that all are below 2^31, so that kernels can count in u32.
//
// Errors: TSR_ERR_SHAPE with the values; `axis` is the number of the spatial axis, from 0.
tsr_status tsri_window_check(const char *caller, const tsri_window *window, int axis);

// Sets the padding so that there are ceil(input / stride) windows. If the total padding is odd, the additional element goes before the axis (is_before) or
// after it.
void tsri_window_pad_same(tsri_window *window, bool is_before);

// Gives the number of windows. rounds_up: includes a last window that begins inside the axis but reaches beyond it.
//
// Errors: TSR_ERR_SHAPE if the axis with its padding is smaller than a window.
tsr_status tsri_window_count(const char *caller, const tsri_window *window, bool rounds_up, int axis,
                             int64_t *out_count);

// Extends values to three spatial axes: missing axes come first and get `fill`.
void tsri_window_axes(int64_t *to, const int64_t *values, int count, int64_t fill);

// Strides of a row-major tensor whose channels are axis 1, or the last axis if is_last. `out_axes`: strides of three spatial axes, as tsri_window_axes orders
// them.
void tsri_window_strides(tsr_shape shape, bool is_last, int64_t *out_image, int64_t *out_channel, int64_t *out_axes);

// Passes a value for each of three spatial axes, as stem0 to stem2: `fill` for those that are missing, which come first.
void tsri_window_pass(tsri_call *call, const char *stem, const int64_t *values, int count, int64_t fill);

#endif
