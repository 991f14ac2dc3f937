// SPDX-License-Identifier: MIT
// Windows that slide along an axis (window.h).
#include "ops/window.h"

#include "core/error.h"

// Elements from the first to the last of a window, including those skipped by dilation. Checked values do not overflow.
static int64_t extent(const tsri_window *window) { return (window->size - 1) * window->dilation + 1; }

tsr_status tsri_window_check(const char *caller, const tsri_window *window, int axis) {
  const int64_t limit = INT32_MAX;
  bool is_good = window->stride >= 1 && window->stride <= limit && window->dilation >= 1 && window->dilation <= limit &&
                 window->before >= 0 && window->before <= limit && window->after >= 0 && window->after <= limit &&
                 window->size >= 1 && window->size <= limit && window->input <= limit;
  if (is_good && extent(window) <= limit && window->input + window->before + window->after <= limit) return TSR_OK;
  return TSRI_FAIL(
      TSR_ERR_SHAPE,
      "%s: spatial axis %d of %lld, a window of %lld, stride %lld, dilation %lld, padding %lld and %lld do "
      "not fit each other",
      caller, axis, (long long)window->input, (long long)window->size, (long long)window->stride,
      (long long)window->dilation, (long long)window->before, (long long)window->after);
}

void tsri_window_pad_same(tsri_window *window, bool is_before) {
  int64_t count = (window->input + window->stride - 1) / window->stride;
  int64_t missing = (count - 1) * window->stride + extent(window) - window->input;
  if (missing < 0 || count == 0) missing = 0;
  window->before = is_before ? missing - missing / 2 : missing / 2;
  window->after = missing - window->before;
}

tsr_status tsri_window_count(const char *caller, const tsri_window *window, bool rounds_up, int axis,
                             int64_t *out_count) {
  int64_t room = window->input + window->before + window->after - extent(window);
  if (room < 0) {
    return TSRI_FAIL(
        TSR_ERR_SHAPE,
        "%s: a window of %lld, dilation %lld, is larger than spatial axis %d of %lld with padding %lld and %lld",
        caller, (long long)window->size, (long long)window->dilation, axis, (long long)window->input,
        (long long)window->before, (long long)window->after);
  }
  int64_t count = room / window->stride + 1;
  if (rounds_up && room % window->stride != 0 && count * window->stride < window->input + window->before) count++;
  *out_count = count;
  return TSR_OK;
}

void tsri_window_pass(tsri_call *call, const char *stem, const int64_t *values, int count, int64_t fill) {
  int64_t all[TSRI_MAX_SPATIAL];
  for (int i = 0; i < TSRI_MAX_SPATIAL; i++) {
    int from = i - (TSRI_MAX_SPATIAL - count);
    all[i] = from < 0 ? fill : values[from];
  }
  tsri_call_words(call, stem, 0, all, TSRI_MAX_SPATIAL);
}

void tsri_window_axes(int64_t *to, const int64_t *values, int count, int64_t fill) {
  int missing = TSRI_MAX_SPATIAL - count;
  for (int i = 0; i < TSRI_MAX_SPATIAL; i++) to[i] = i < missing ? fill : values[i - missing];
}

void tsri_window_strides(tsr_shape shape, bool is_last, int64_t *out_image, int64_t *out_channel, int64_t *out_axes) {
  int64_t strides[TSR_MAX_RANK], step = 1;
  for (int i = shape.rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape.dims[i];
  }
  *out_image = strides[0];
  *out_channel = strides[is_last ? shape.rank - 1 : 1];
  tsri_window_axes(out_axes, &strides[is_last ? 1 : 2], shape.rank - 2, 0);
}
