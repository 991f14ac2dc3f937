// SPDX-License-Identifier: MIT
// Shapes: makes, checks, counts and formats them, and defines broadcasting.
#include <tessera/shape.h>

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/layout.h"

tsr_shape tsr_shape_make(int rank, const int64_t *dims) {
  tsr_shape shape = {.rank = rank > 0 && !dims ? -1 : rank};
  if (rank >= 0 && rank <= TSR_MAX_RANK && dims) {
    for (int i = 0; i < rank; i++) shape.dims[i] = dims[i];
  }
  return shape;
}

char *tsr_shape_format(tsr_shape shape, char *text, size_t text_bytes) {
  if (!text || text_bytes == 0) return text;
  text[0] = 0;
  if (shape.rank == 0) {
    snprintf(text, text_bytes, "scalar");
  } else if (shape.rank < 0 || shape.rank > TSR_MAX_RANK) {
    snprintf(text, text_bytes, "rank %d", (int)shape.rank);
  } else if (shape.rank == 1) {
    snprintf(text, text_bytes, "[%lld]", (long long)shape.dims[0]);
  } else {
    size_t used = 0;
    for (int i = 0; i < shape.rank && used < text_bytes; i++) {
      int length = snprintf(text + used, text_bytes - used, i ? "x%lld" : "%lld", (long long)shape.dims[i]);
      used += length > 0 ? (size_t)length : 0;
    }
  }
  return text;
}

tsr_status tsri_shape_check(const char *caller, tsr_shape shape, int64_t *out_count) {
  if (shape.rank < 0 || shape.rank > TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: rank %d is out of range, 0 to %d are allowed", caller, (int)shape.rank,
                     TSR_MAX_RANK);
  }
  char text[TSR_SHAPE_TEXT_BYTES];
  int64_t extent = 1;  // sizes of 0 count as 1, so that strides cannot overflow either
  bool is_empty = false;
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[i] < 0) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "%s: size %lld on axis %d of %s is negative", caller, (long long)shape.dims[i], i,
                       tsr_shape_format(shape, text, sizeof text));
    }
    if (shape.dims[i] == 0) is_empty = true;
    if (shape.dims[i] > 0 && !tsri_mul_i64(extent, shape.dims[i], &extent)) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "%s: shape %s has more than 2^63-1 elements", caller,
                       tsr_shape_format(shape, text, sizeof text));
    }
  }
  *out_count = is_empty ? 0 : extent;
  return TSR_OK;
}

tsr_status tsr_shape_count(tsr_shape shape, int64_t *out_count) {
  if (!out_count) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "shape_count: out_count is NULL");
  return tsri_shape_check("shape_count", shape, out_count);
}

// Size of `shape` on axis `axis` of a result with `rank` axes: missing leading axes have size 1.
static int64_t aligned_size(tsr_shape shape, int rank, int axis) {
  int number = axis - (rank - shape.rank);
  return number < 0 ? 1 : shape.dims[number];
}

tsr_status tsri_shape_broadcast(const char *caller, tsr_shape a, tsr_shape b, tsr_shape *out_shape) {
  int64_t count = 0;
  tsr_status status = tsri_shape_check(caller, a, &count);
  if (status == TSR_OK) status = tsri_shape_check(caller, b, &count);
  if (status != TSR_OK) return status;

  tsr_shape result = {.rank = a.rank > b.rank ? a.rank : b.rank};
  for (int axis = 0; axis < result.rank; axis++) {
    int64_t size_a = aligned_size(a, result.rank, axis), size_b = aligned_size(b, result.rank, axis);
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      char text_a[TSR_SHAPE_TEXT_BYTES], text_b[TSR_SHAPE_TEXT_BYTES];
      return TSRI_FAIL(TSR_ERR_SHAPE, "%s: shapes %s and %s do not broadcast, axis %d: %lld and %lld", caller,
                       tsr_shape_format(a, text_a, sizeof text_a), tsr_shape_format(b, text_b, sizeof text_b), axis,
                       (long long)size_a, (long long)size_b);
    }
    result.dims[axis] = size_a == 1 ? size_b : size_a;
  }
  status = tsri_shape_check(caller, result, &count);
  if (status == TSR_OK) *out_shape = result;
  return status;
}

tsr_status tsr_shape_broadcast(tsr_shape a, tsr_shape b, tsr_shape *out_shape) {
  if (!out_shape) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "shape_broadcast: out_shape is NULL");
  return tsri_shape_broadcast("shape_broadcast", a, b, out_shape);
}
