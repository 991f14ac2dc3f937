// SPDX-License-Identifier: MIT
#include "ops/pad_lines.h"

#include "core/error.h"

#include <string.h>

enum { MOST_AXES = 3 };

// The axes of a pad, with axes joined where possible so that at most three remain. Axis i has size[i] elements in x and padded[i] in the result, where
// before[i] padding elements come first.
typedef struct padded_axes {
  int64_t size[MOST_AXES], padded[MOST_AXES], before[MOST_AXES];
  tsri_layout x;  // the layout of x with the joined axes
} padded_axes;

// Joins each axis that is not padded to the axis before it. False: more than three axes remain, or x has no such layout without a copy.
static bool find_axes(const tsri_kernel_run *run, const int64_t *before, padded_axes *out) {
  const tsri_layout *x = &run->layouts[0];
  *out = (padded_axes){.size = {1, 1, 1}, .padded = {1, 1, 1}};
  int axis = MOST_AXES;
  int64_t size = 1, padded = 1, first = 0;
  for (int i = x->shape.rank - 1; i >= 0; i--) {
    first += before[i] * padded;
    size *= x->shape.dims[i];
    padded *= run->shape.dims[i];
    if (x->shape.dims[i] == run->shape.dims[i] && i > 0) continue;
    if (--axis < 0) return false;
    out->size[axis] = size;
    out->padded[axis] = padded;
    out->before[axis] = first;
    size = padded = 1;
    first = 0;
  }
  bool is_view = false;
  tsr_shape shape = TSR_SHAPE(out->size[0], out->size[1], out->size[2]);
  return tsri_layout_reshape(x, shape, &out->x, &is_view) == TSR_OK && is_view;
}

// Whether the kernel pad_lines can be used: it has a variant for the dtype `unit`, and all indices fit into 32 bits.
static bool fits(const tsri_kernel_run *run, const padded_axes *axes, tsr_dtype unit) {
  int64_t low = 0, high = 0;
  tsri_layout_span(&run->layouts[0], &low, &high);
  int64_t count = axes->padded[0] * axes->padded[1] * axes->padded[2];
  bool is_carrier = unit == TSR_U8 || unit == TSR_I16 || unit == TSR_U32 || unit == TSR_I64;
  return is_carrier && high < TSRI_CALL_MAX_ELEMENTS && count < TSRI_CALL_MAX_ELEMENTS;
}

tsr_status tsri_pad_lines(const tsri_kernel_run *run, const int64_t *before, const unsigned char pattern[8]) {
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  tsr_dtype unit = tsri_call_carrier(run->device, run->dtype);
  padded_axes axes;
  if (!tuning->reduce_wide || run->layouts[0].count == 0 || !find_axes(run, before, &axes) || !fits(run, &axes, unit)) {
    return TSR_ERR_UNSUPPORTED;
  }
  uint32_t words[2] = {0, 0};
  memcpy(words, pattern, tsr_dtype_bytes(run->dtype));
  int64_t count = axes.padded[0] * axes.padded[1] * axes.padded[2];
  int each = tsr_dtype_bytes(run->dtype) == 8 ? 2 : 4;  // at most 16 bytes, which are stored at a time
  tsri_call call;
  tsri_call_init(&call, run->device, "op_join", "pad_lines",
                 TSRI_WITH(TSRI_TYPE("T", unit), TSRI_CONSTANT("EACH", each),
                           TSRI_CONSTANT("ROUNDS", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
  tsri_call_buffer(&call, "x", run->inputs[0], unit);
  tsri_call_buffer(&call, "y", run->output, unit);
  tsri_call_word(&call, "n", count);
  tsri_call_words(&call, "d", 1, axes.padded + 1, 2);
  tsri_call_words(&call, "n", 0, axes.size, MOST_AXES);
  tsri_call_words(&call, "b", 0, axes.before, MOST_AXES);
  tsri_call_words(&call, "s", 0, axes.x.strides, MOST_AXES);
  tsri_call_word(&call, "x_at", axes.x.offset);
  tsri_call_word(&call, "low", words[0]);
  tsri_call_word(&call, "high", words[1]);
  return tsri_call_rounds(&call, (count + each - 1) / each);
}
