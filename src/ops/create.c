// SPDX-License-Identifier: MIT
// Operators that make tensors: from host data, or from a rule.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "runtime/device.h"
#include "runtime/stage.h"

// Layout and memory of a tensor about to be filled.
typedef struct fresh {
  tsri_layout layout;
  tsr_buffer *buffer;
  size_t bytes;
} fresh;

static tsr_status check_dtype(const char *caller, tsr_dtype dtype) {
  if (tsr_dtype_bytes(dtype) > 0) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %d is no dtype; 0 to %d are", caller, (int)dtype, (int)TSR_DTYPE_COUNT - 1);
}

static tsr_status prepare(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape, fresh *out) {
  tsr_status status = tsri_device_check(caller, device);
  if (status == TSR_OK) status = check_dtype(caller, dtype);
  if (status == TSR_OK) status = tsri_layout_init(caller, shape, dtype, &out->layout, &out->bytes);
  if (status == TSR_OK) status = tsr_buffer_create(device, out->bytes, 0, &out->buffer);
  return status;
}

// A tensor over the memory if filling it went well; otherwise the memory goes back.
static tsr_tensor *finish(fresh *own, tsr_dtype dtype, tsr_status status) {
  if (status == TSR_OK) return tsri_tensor_create(own->buffer, dtype, &own->layout);
  tsr_buffer_release(own->buffer);
  return tsri_tensor_fail(status);
}

tsr_tensor *tsr_from_data(tsr_device *device, tsr_dtype dtype, tsr_shape shape, const void *data, size_t bytes) {
  fresh own = {0};
  size_t wanted = 0;
  tsr_status status = tsri_device_check("from_data", device);
  if (status == TSR_OK) status = check_dtype("from_data", dtype);
  if (status == TSR_OK) status = tsri_layout_init("from_data", shape, dtype, &own.layout, &wanted);
  if (status == TSR_OK && wanted != bytes) {
    char text[TSR_SHAPE_TEXT_BYTES];
    status = TSRI_FAIL(TSR_ERR_SHAPE, "from_data: %zu bytes given, %s of %s are %zu", bytes,
                       tsr_shape_format(shape, text, sizeof text), tsr_dtype_name(dtype), wanted);
  }
  if (status == TSR_OK && !data && bytes > 0) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_data: data is NULL");
  if (status == TSR_OK) status = tsr_buffer_create(device, bytes, 0, &own.buffer);
  if (status == TSR_OK) status = tsr_buffer_upload(own.buffer, 0, data, bytes);
  return finish(&own, dtype, status);
}

// Every element is `value`, which has type `value_dtype`.
static tsr_tensor *make_full(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                             tsr_dtype value_dtype, const void *value) {
  fresh own = {0};
  unsigned char pattern[8];
  tsr_status status = prepare(caller, device, dtype, shape, &own);
  if (status == TSR_OK) status = tsr_convert(dtype, pattern, value_dtype, value, 1);
  if (status == TSR_OK) status = tsr_buffer_fill(own.buffer, 0, own.bytes, pattern, tsr_dtype_bytes(dtype));
  return finish(&own, dtype, status);
}

tsr_tensor *tsr_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape) {
  return make_full("zeros", device, dtype, shape, TSR_F64, &(double){0});
}

tsr_tensor *tsr_ones(tsr_device *device, tsr_dtype dtype, tsr_shape shape) {
  return make_full("ones", device, dtype, shape, TSR_F64, &(double){1});
}

tsr_tensor *tsr_full(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double value) {
  return make_full("full", device, dtype, shape, TSR_F64, &value);
}

tsr_tensor *tsr_full_int(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int64_t value) {
  return make_full("full_int", device, dtype, shape, TSR_I64, &value);
}

static tsr_status arange_count(double start, double stop, double step, int64_t *out_count) {
  if (!isfinite(start) || !isfinite(stop) || !isfinite(step) || step == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "arange: start %g, stop %g, step %g; all must be finite and step not 0",
                     start, stop, step);
  }
  double count = ceil((stop - start) / step);
  if (!(count < 9e18))
    return TSRI_FAIL(TSR_ERR_SHAPE, "arange: %g to %g by %g is too many elements", start, stop, step);
  *out_count = count > 0 ? (int64_t)count : 0;
  return TSR_OK;
}

// Filled in blocks, so that the f64 values need no second array of the full size.
static tsr_status fill_arange(fresh *own, tsr_dtype dtype, double start, double step) {
  enum { BLOCK = 1024 };
  double values[BLOCK];
  unsigned char *converted = tsri_stage_create(BLOCK * sizeof(double));
  if (!converted) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "arange: no host memory for a stage");
  size_t element = tsr_dtype_bytes(dtype);
  tsr_status status = TSR_OK;
  for (int64_t done = 0; done < own->layout.count && status == TSR_OK; done += BLOCK) {
    int64_t left = own->layout.count - done, count = left < BLOCK ? left : BLOCK;
    for (int64_t i = 0; i < count; i++) values[i] = start + (double)(done + i) * step;
    status = tsr_convert(dtype, converted, TSR_F64, values, (size_t)count);
    if (status == TSR_OK)
      status = tsr_buffer_upload(own->buffer, (size_t)done * element, converted, (size_t)count * element);
  }
  tsri_stage_release(tsr_buffer_device(own->buffer), converted, status);
  return status;
}

tsr_tensor *tsr_arange(tsr_device *device, tsr_dtype dtype, double start, double stop, double step) {
  fresh own = {0};
  int64_t count = 0;
  tsr_status status = arange_count(start, stop, step, &count);
  if (status == TSR_OK) status = prepare("arange", device, dtype, TSR_SHAPE(count), &own);
  if (status == TSR_OK) status = fill_arange(&own, dtype, start, step);
  return finish(&own, dtype, status);
}

// One fill per element: they lie a row and an element apart.
static tsr_status fill_diagonal(fresh *own, tsr_dtype dtype, int64_t diagonal) {
  unsigned char one[8];
  size_t element = tsr_dtype_bytes(dtype);
  int64_t rows = own->layout.shape.dims[0], cols = own->layout.shape.dims[1];
  int64_t row = diagonal < 0 ? (diagonal > -rows ? -diagonal : rows) : 0;
  tsr_status status = tsr_convert(dtype, one, TSR_F64, &(double){1}, 1);
  for (; status == TSR_OK && row < rows && diagonal < cols - row; row++) {
    size_t at = ((size_t)row * (size_t)cols + (size_t)(row + diagonal)) * element;
    status = tsr_buffer_fill(own->buffer, at, element, one, element);
  }
  return status;
}

tsr_tensor *tsr_eye(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols, int64_t diagonal) {
  fresh own = {0};
  tsr_status status = prepare("eye", device, dtype, TSR_SHAPE(rows, cols), &own);
  if (status == TSR_OK) status = tsr_buffer_fill(own.buffer, 0, own.bytes, "", 1);  // bytes of 0 are 0 in every dtype
  if (status == TSR_OK) status = fill_diagonal(&own, dtype, diagonal);
  return finish(&own, dtype, status);
}
