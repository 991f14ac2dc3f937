// SPDX-License-Identifier: MIT
// im2col and col2im: copies windows to the columns of a matrix, and adds them back (kernels/op_columns.tk).
#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/window.h"

#include <tessera/ops.h>

// --- Launch ----------------------------------------------------------------------------------------------------------

// The number of windows of all images and channels; `count`: elements of the columns.
static int64_t windows_of(const tsri_columns_attributes *given, int64_t count) {
  for (int i = 0; i < (int)given->spatial; i++) count /= given->kernel[i];
  return count;
}

// Whether items copy whole windows (kernel im2col_windows): windows are small, and there are enough for the device.
static bool has_many_windows(const tsr_device *device, const tsri_columns_attributes *given, int64_t count) {
  enum { MOST_TAPS = 32 };
  const tsri_tuning *tuning = tsri_tuning_of(device);
  int spatial = (int)given->spatial;
  int64_t taps = given->kernel[spatial - 1] * (spatial > 1 ? given->kernel[spatial - 2] : 1);
  return TSRI_TUNED(tuning, conv_depth) != 0 && taps <= MOST_TAPS &&
         windows_of(given, count) >= TSRI_TUNED(tuning, column_items) / 4;
}

// Input: x of im2col, or the columns of col2im; contiguous.
tsr_status tsri_run_columns(const tsri_kernel_run *run) {
  const tsri_columns_attributes *given = TSRI_GIVEN(run->node, columns);
  bool is_back = run->node->op == TSRI_BODY(col2im);
  const tsri_layout *x = &run->layouts[0];
  int spatial = (int)given->spatial;
  tsri_layout result = {.shape = run->shape, .count = 1};
  for (int i = 0; i < run->shape.rank; i++) result.count *= run->shape.dims[i];
  if (result.count == 0) return TSR_OK;
  if (x->count == 0) return tsri_call_zero(run);
  tsr_status status = tsri_call_check(run->node->op->name, x);
  if (status == TSR_OK) status = tsri_call_check(run->node->op->name, &result);
  if (status != TSR_OK) return status;
  bool by_windows = !is_back && has_many_windows(run->device, given, result.count);
  tsr_dtype dtype = is_back ? run->dtype : tsri_call_carrier(run->device, run->dtype);
  tsri_call call;
  if (is_back) {
    tsri_call_init(&call, run->device, "op_columns", "col2im",
                   TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_accumulator(dtype))));
  } else {
    if (by_windows) {
      tsri_call_init(&call, run->device, "op_columns", "im2col_windows",
                     TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_CONSTANT("K1", spatial > 1 ? given->kernel[spatial - 2] : 1),
                               TSRI_CONSTANT("K2", given->kernel[spatial - 1])));
    } else {
      tsri_call_init(&call, run->device, "op_columns", "im2col", TSRI_WITH(TSRI_TYPE("T", dtype)));
    }
    tsri_call_word(&call, "channels", x->shape.dims[1]);
    tsri_call_word(&call, "xn", x->strides[0]);
    tsri_call_word(&call, "xc", x->strides[1]);
    tsri_window_pass(&call, "x", &x->strides[2], spatial, 0);
  }
  tsri_call_buffer(&call, "x", run->inputs[0], dtype);
  tsri_call_buffer(&call, "y", run->output, dtype);
  int64_t items = by_windows ? windows_of(given, result.count) : result.count;
  tsri_call_word(&call, "n", items);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_window_pass(&call, "i", given->size, spatial, 1);
  if (by_windows) tsri_call_word(&call, "k0", spatial > 2 ? given->kernel[0] : 1);
  else tsri_window_pass(&call, "k", given->kernel, spatial, 1);
  tsri_window_pass(&call, "o", given->windows, spatial, 1);
  tsri_window_pass(&call, "s", given->stride, spatial, 1);
  tsri_window_pass(&call, "d", given->dilation, spatial, 1);
  tsri_window_pass(&call, "p", given->before, spatial, 0);
  return tsri_call_items(&call, items);
}

// --- Shapes ----------------------------------------------------------------------------------------------------------

static tsr_status check_desc(const char *caller, const tsr_conv_desc *desc) {
  const char *extra = NULL;
  if (desc->groups != 0) extra = "groups";
  if (desc->channels_last) extra = "channels_last";
  for (int i = 0; i < TSR_MAX_SPATIAL; i++) {
    if (desc->output_padding[i] != 0) extra = "output_padding";
  }
  if (extra) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: does not read .%s of the description", caller, extra);
  if ((unsigned)desc->padding <= TSR_PADDING_SAME_BEFORE) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: there is no padding %d", caller, (int)desc->padding);
}

static tsr_status check_spatial(const char *caller, const char *what, tsr_shape shape, int spatial) {
  char text[TSR_SHAPE_TEXT_BYTES];
  if (spatial >= 1 && spatial <= TSRI_MAX_SPATIAL && shape.rank == spatial) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s is %s; there are 1 to %d spatial axes, as many as those of the other shapes",
                   caller, what, tsr_shape_format(shape, text, sizeof text), TSRI_MAX_SPATIAL);
}

// Computes the number of windows along each spatial axis. `size`: elements of x; `kernel`: elements of a window.
static tsr_status measure(const char *caller, const int64_t *size, tsr_shape kernel, const tsr_conv_desc *desc,
                          tsri_columns_attributes *out) {
  tsr_status status = check_desc(caller, desc);
  out->spatial = kernel.rank;
  for (int i = 0; i < kernel.rank && status == TSR_OK; i++) {
    tsri_window window = {.input = size[i],
                          .size = kernel.dims[i],
                          .stride = desc->stride[i] ? desc->stride[i] : 1,
                          .dilation = desc->dilation[i] ? desc->dilation[i] : 1,
                          .before = desc->before[i],
                          .after = desc->after[i]};
    if (size[i] < 0) status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: a size of %lld", caller, (long long)size[i]);
    if (status == TSR_OK) status = tsri_window_check(caller, &window, i);
    if (status != TSR_OK) return status;
    if (desc->padding != TSR_PADDING_GIVEN) tsri_window_pad_same(&window, desc->padding == TSR_PADDING_SAME_BEFORE);
    status = tsri_window_count(caller, &window, false, i, &out->windows[i]);
    out->size[i] = window.input;
    out->kernel[i] = window.size;
    out->stride[i] = window.stride;
    out->dilation[i] = window.dilation;
    out->before[i] = window.before;
  }
  return status;
}

// Gives the number of elements of a window, and the number of windows.
static tsr_status count_windows(const char *caller, const tsri_columns_attributes *c, int64_t *out_size,
                                int64_t *out_count) {
  bool fits = true;
  *out_size = *out_count = 1;
  for (int i = 0; i < c->spatial && fits; i++) {
    fits = tsri_mul_i64(*out_size, c->kernel[i], out_size) && tsri_mul_i64(*out_count, c->windows[i], out_count);
  }
  return fits ? TSR_OK : TSRI_FAIL(TSR_ERR_SHAPE, "%s: there are too many windows", caller);
}

static tsr_tensor *record(const tsri_op *op, tsr_tensor *input, tsr_shape shape, const tsri_columns_attributes *given) {
  tsr_status status = tsri_tensor_check(op->name, input);
  if (status == TSR_OK) status = tsri_shape_check(op->name, shape, &(int64_t){0});
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, input->value->device, input->dtype, shape, &input, 1,
                                                             TSRI_GIVE_ALL(op, columns, given))
                                        : tsri_tensor_fail(status);
  return tsri_tensor_named(op->name, result);
}

// --- The operators ---------------------------------------------------------------------------------------------------

static const tsr_conv_desc usual;

tsr_tensor *tsr_im2col(tsr_tensor *x, tsr_shape kernel, const tsr_conv_desc *desc) {
  const tsri_op *op = TSRI_BODY(im2col);
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = x->layout.shape;
  tsri_columns_attributes given = {0};
  int64_t size = 0, count = 0, rows = 0;
  status = check_spatial(op->name, "the kernel", kernel, shape.rank - 2);
  if (status == TSR_OK) status = measure(op->name, &shape.dims[2], kernel, desc ? desc : &usual, &given);
  if (status == TSR_OK) status = count_windows(op->name, &given, &size, &count);
  if (status == TSR_OK && !tsri_mul_i64(size, shape.dims[1], &rows)) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: windows of %lld elements are too large", op->name, (long long)size);
  }
  return status == TSR_OK ? record(op, x, TSR_SHAPE(shape.dims[0], rows, count), &given) : tsri_tensor_fail(status);
}

tsr_tensor *tsr_col2im(tsr_tensor *columns, tsr_shape size, tsr_shape kernel, const tsr_conv_desc *desc) {
  const tsri_op *op = TSRI_BODY(col2im);
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(op->name, columns);
  tsri_columns_attributes given = {0};
  int64_t elements = 0, count = 0;
  if (status == TSR_OK && columns->dtype == TSR_BOOL) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes numbers, not bool", op->name);
  }
  if (status == TSR_OK) status = check_spatial(op->name, "the kernel", kernel, size.rank);
  if (status == TSR_OK) status = check_spatial(op->name, "the size", size, kernel.rank);
  if (status == TSR_OK) status = measure(op->name, size.dims, kernel, desc ? desc : &usual, &given);
  if (status == TSR_OK) status = count_windows(op->name, &given, &elements, &count);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape is = columns->layout.shape;
  if (is.rank != 3 || is.dims[1] % elements != 0 || is.dims[2] != count) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: columns are %s; they are [images, channels * %lld, %lld]", op->name,
                       tsr_shape_format(is, text, sizeof text), (long long)elements, (long long)count);
    return tsri_tensor_fail(status);
  }
  tsr_shape shape = {.rank = 2 + size.rank, .dims = {is.dims[0], is.dims[1] / elements}};
  for (int i = 0; i < size.rank; i++) shape.dims[2 + i] = size.dims[i];
  tsr_tensor *packed = tsr_contiguous(columns);
  return tsri_then(record(op, packed, shape, &given), packed);
}
