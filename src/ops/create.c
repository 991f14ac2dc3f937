// SPDX-License-Identifier: MIT
// Creates tensors from host data or with one value. Sequences are in sequence.c, random tensors in random.c.

#include "ops/create.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/call.h"
#include "runtime/device.h"

// Layout and memory of a tensor that is to be filled.
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

// Makes a tensor over the memory if `status` is TSR_OK; otherwise releases the memory.
static tsr_tensor *finish(fresh *made, tsr_dtype dtype, tsr_status status) {
  if (status == TSR_OK) return tsri_tensor_create(made->buffer, dtype, &made->layout);
  tsr_buffer_release(made->buffer);
  return tsri_tensor_fail(status);
}

tsr_tensor *tsr_from_data(tsr_device *device, tsr_dtype dtype, tsr_shape shape, const void *data, size_t bytes) {
  fresh made = {0};
  size_t wanted = 0;
  tsr_status status = tsri_device_check("from_data", device);
  if (status == TSR_OK) status = check_dtype("from_data", dtype);
  if (status == TSR_OK) status = tsri_layout_init("from_data", shape, dtype, &made.layout, &wanted);
  if (status == TSR_OK && wanted != bytes) {
    char text[TSR_SHAPE_TEXT_BYTES];
    status = TSRI_FAIL(TSR_ERR_SHAPE, "from_data: %zu bytes given, %s of %s are %zu", bytes,
                       tsr_shape_format(shape, text, sizeof text), tsr_dtype_name(dtype), wanted);
  }
  if (status == TSR_OK && !data && bytes > 0) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_data: data is NULL");
  if (status == TSR_OK) status = tsr_buffer_create(device, bytes, 0, &made.buffer);
  if (status == TSR_OK) status = tsr_buffer_upload(made.buffer, 0, data, bytes);
  return finish(&made, dtype, status);
}

// Creates a tensor with every element `value`, which has type `value_dtype`.
static tsr_tensor *make_full(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                             tsr_dtype value_dtype, const void *value) {
  fresh made = {0};
  unsigned char pattern[8];
  tsr_status status = prepare(caller, device, dtype, shape, &made);
  if (status == TSR_OK) status = tsr_convert(dtype, pattern, value_dtype, value, 1);
  if (status == TSR_OK) status = tsr_buffer_fill(made.buffer, 0, made.bytes, pattern, tsr_dtype_bytes(dtype));
  return finish(&made, dtype, status);
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

tsr_tensor *tsri_record_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape) {
  static const tsri_op op = {.name = "zeros", .kind = TSRI_OP_KERNEL, .run = tsri_call_zero};
  return tsri_record_kernel(&op, device, dtype, shape, NULL, 0, NULL);
}
