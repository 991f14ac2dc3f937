// SPDX-License-Identifier: MIT
// Creates tensors from host data or with one value. Sequences are in sequence.c, random tensors in random.c.

#include "ops/create.h"

#include <string.h>

#include "core/error.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "graph/number.h"
#include "graph/place.h"
#include "graph/trace.h"
#include "ops/call.h"
#include "ops/packed.h"
#include "runtime/buffer.h"
#include "runtime/device.h"
#include "runtime/tape.h"

// A tensor that is being created, before its elements are written.
typedef struct fresh {
  tsri_layout layout;
  tsr_buffer *buffer;
  size_t bytes;
} fresh;

static tsr_status prepare(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape, fresh *out) {
  tsr_status status = tsri_device_check(caller, device);
  if (status == TSR_OK) status = tsri_dtype_check(caller, dtype);
  return status == TSR_OK ? tsri_layout_init(caller, shape, dtype, &out->layout, &out->bytes) : status;
}

// Returns a tensor over the memory if `status` is TSR_OK; otherwise releases the memory and returns a failed tensor.
static tsr_tensor *finish(fresh *made, tsr_dtype dtype, tsr_status status) {
  if (status == TSR_OK) return tsri_tensor_create(made->buffer, dtype, &made->layout);
  tsr_buffer_release(made->buffer);
  return tsri_tensor_fail(status);
}

// Address at which the host can write the elements of a new buffer directly: nobody else uses the buffer yet, and no open tape has to record the write. NULL:
// write through the device's queue.
static char *host_of(tsr_buffer *buffer, size_t bytes) {
  enum { MOST_BYTES = 4096 };  // for more, the device's threads are faster
  return bytes <= MOST_BYTES && bytes > 0 && !tsri_tape_is_any_open() ? tsri_buffer_host_now(buffer) : NULL;
}

static tsr_status put_data(tsr_buffer *buffer, const void *data, size_t bytes) {
  char *host = host_of(buffer, bytes);
  if (!host) return tsr_buffer_upload(buffer, 0, data, bytes);
  memcpy(host, data, bytes);
  tsri_count(&buffer->device->counters.uploads);
  return TSR_OK;
}

static tsr_status put_pattern(tsr_buffer *buffer, size_t bytes, const unsigned char *pattern, size_t pattern_bytes) {
  char *host = host_of(buffer, bytes);
  if (!host) return tsr_buffer_fill(buffer, 0, bytes, pattern, pattern_bytes);
  memcpy(host, pattern, pattern_bytes);
  for (size_t done = pattern_bytes; done < bytes; done *= 2) {
    memcpy(host + done, host, done < bytes - done ? done : bytes - done);
  }
  return TSR_OK;
}

// Creates a tensor of i4 or u4 from packed bytes (two elements per byte).
static tsr_tensor *packed_from_data(tsr_device *device, tsr_dtype dtype, tsr_shape shape, const void *data,
                                    size_t bytes) {
  tsr_shape stored;
  tsr_status status = tsri_packed_shape("from_data", shape, &stored);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_packed_of(tsr_from_data(device, TSR_U8, stored, data, bytes), dtype, shape.dims[shape.rank - 1]);
}

// Turns `here`, a tensor on the CPU, into a tensor of `device`. The move is recorded; elements are copied when they are needed there.
static tsr_tensor *placed(tsr_tensor *here, tsr_device *device) {
  tsr_tensor *there = here->status == TSR_OK ? tsri_record_move(here, device) : tsri_tensor_fail(tsr_error(here));
  tsr_release(here);
  return there;
}

tsr_tensor *tsr_from_data(tsr_device *device, tsr_dtype dtype, tsr_shape shape, const void *data, size_t bytes) {
  if (tsri_dtype_is_packed(dtype)) return packed_from_data(device, dtype, shape, data, bytes);
  fresh made = {0};
  tsr_status status = prepare("from_data", device, dtype, shape, &made);
  if (status == TSR_OK && made.bytes != bytes) {
    char text[TSR_SHAPE_TEXT_BYTES];
    status = TSRI_FAIL(TSR_ERR_SHAPE, "from_data: %zu bytes given, %s of %s are %zu", bytes,
                       tsr_shape_format(shape, text, sizeof text), tsr_dtype_name(dtype), made.bytes);
  }
  if (status == TSR_OK && !data && bytes > 0) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_data: data is NULL");
  tsr_device *cpu = status == TSR_OK ? tsri_place_of_data(device, bytes) : NULL;
  if (cpu) return placed(tsr_from_data(cpu, dtype, shape, data, bytes), device);
  if (status == TSR_OK) status = tsr_buffer_create(device, bytes, 0, &made.buffer);
  if (status == TSR_OK) status = put_data(made.buffer, data, bytes);
  return finish(&made, dtype, status);
}

// Creates a tensor of i4 or u4 with every element `value`. The unused half of a row's last byte gets it, too.
static tsr_tensor *packed_full(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                               tsr_dtype value_dtype, const void *value) {
  tsr_shape stored;
  unsigned char half = 0;
  tsr_status status = tsri_packed_shape(caller, shape, &stored);
  if (status == TSR_OK) status = tsr_convert(dtype, &half, value_dtype, value, 1);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *bytes = tsr_full_int(device, TSR_U8, stored, half | half << 4);
  return tsri_tensor_named(caller, tsri_packed_of(bytes, dtype, shape.dims[shape.rank - 1]));
}

// Creates a tensor with every element `value`, which has type `value_dtype`.
static tsr_tensor *make_full(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                             tsr_dtype value_dtype, const void *value) {
  if (tsri_dtype_is_packed(dtype)) return packed_full(caller, device, dtype, shape, value_dtype, value);
  unsigned char pattern[8];
  tsr_status status = tsri_device_check(caller, device);
  if (status == TSR_OK) status = tsri_dtype_check(caller, dtype);
  if (status == TSR_OK) status = tsr_convert(dtype, pattern, value_dtype, value, 1);
  return status == TSR_OK ? tsri_full_of(caller, device, dtype, shape, pattern) : tsri_tensor_fail(status);
}

// Whether a tensor with equal elements is recorded as a number instead of being filled at once: a single element on a device where a fill is a command. While a
// capture is open it is filled each time the capture runs.
static bool is_parameter(tsr_device *device, const tsri_layout *layout) {
  return layout->count == 1 && !tsri_device_is_cpu(device) && !tsri_tape_is_any_open();
}

tsr_tensor *tsri_full_of(const char *caller, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                         const unsigned char *pattern) {
  fresh made = {0};
  double value = 0;
  tsr_status status = prepare(caller, device, dtype, shape, &made);
  if (status == TSR_OK && is_parameter(device, &made.layout) && tsri_number_fits(dtype, pattern, &value)) {
    return tsri_record_number(device, dtype, &made.layout, value);
  }
  tsr_device *cpu = status == TSR_OK ? tsri_place_of_data(device, made.bytes) : NULL;
  if (cpu) return placed(tsri_full_of(caller, cpu, dtype, shape, pattern), device);
  if (status == TSR_OK) status = tsr_buffer_create(device, made.bytes, 0, &made.buffer);
  tsri_tape_explain_begin();
  if (status == TSR_OK) status = put_pattern(made.buffer, made.bytes, pattern, tsr_dtype_bytes(dtype));
  tsri_tape_explain_end();
  tsr_tensor *tensor = finish(&made, dtype, status);
  if (status == TSR_OK && tsri_tape_now()) tsri_trace_fill(tensor, pattern, tsr_dtype_bytes(dtype));
  return tensor;
}

tsr_tensor *tsr_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape) {
  static const unsigned char zero[8];  // in every dtype
  if (tsri_dtype_is_packed(dtype)) return make_full("zeros", device, dtype, shape, TSR_F64, &(double){0});
  return tsri_full_of("zeros", device, dtype, shape, zero);
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
