// SPDX-License-Identifier: MIT
// tsr_equal: compares whole tensors on the host.
#include <string.h>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/transfer.h"
#include "runtime/stage.h"

// The elements of one input, on the host, in row-major order.
typedef struct host_copy {
  void *data;
  size_t bytes;
} host_copy;

static tsr_status fetch(tsr_tensor *tensor, tsr_device *device, host_copy *out) {
  tsri_view here, there;
  tsr_status status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  here = tsri_view_of(tensor);
  status = tsri_move_implicitly("equal", &here, device, &there);
  if (status != TSR_OK) return status;
  out->bytes = (size_t)there.layout.count * tsr_dtype_bytes(there.dtype);
  out->data = tsri_stage_create(out->bytes);
  status = out->data ? tsri_read_elements(&there, out->data)
                     : TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "equal: no host memory for %zu bytes", out->bytes);
  tsr_buffer_release(there.buffer);
  return status;
}

// Floats are compared by value: NaN differs from itself, and the two zeros are equal. Bools too: any byte other than 0
// is true. Integers are compared by their bytes.
static bool equal_elements(tsr_dtype dtype, const void *a, const void *b, size_t bytes) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if (kind == TSR_KIND_INT || kind == TSR_KIND_UINT) return memcmp(a, b, bytes) == 0;
  enum { BLOCK = 256 };
  double left[BLOCK], right[BLOCK];
  size_t element = tsr_dtype_bytes(dtype), count = bytes / element;
  for (size_t done = 0; done < count; done += BLOCK) {
    size_t n = count - done < BLOCK ? count - done : BLOCK;
    // Cannot fail: dtypes and pointers are valid.
    (void)tsr_convert(TSR_F64, left, dtype, (const char *)a + done * element, n);
    (void)tsr_convert(TSR_F64, right, dtype, (const char *)b + done * element, n);
    for (size_t i = 0; i < n; i++) {
      if (!(left[i] == right[i])) return false;
    }
  }
  return true;
}

// A view of `tensor` in which axes along which both tensors are broadcast have size 1, so that host copies are no
// larger than the tensors in memory.
static tsr_tensor *without_repeats(const tsr_tensor *tensor, const tsr_tensor *other) {
  tsri_layout layout = tensor->layout;
  for (int i = 0; i < layout.shape.rank; i++) {
    if (layout.strides[i] != 0 || other->layout.strides[i] != 0 || layout.shape.dims[i] <= 1) continue;
    layout.count /= layout.shape.dims[i];
    layout.shape.dims[i] = 1;
  }
  return tsri_tensor_view(tensor, &layout);
}

tsr_status tsr_equal(tsr_tensor *a, tsr_tensor *b, bool *out_equal) {
  tsr_status status = tsri_tensor_check("equal", a);
  if (status == TSR_OK) status = tsri_tensor_check("equal", b);
  if (status != TSR_OK) return status;
  if (!out_equal) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "equal: out_equal is NULL");
  *out_equal = false;
  if (a->dtype != b->dtype || !tsri_shape_equal(a->layout.shape, b->layout.shape)) return TSR_OK;

  tsr_device *device = NULL;
  host_copy left = {0}, right = {0};
  tsr_tensor *one = without_repeats(a, b), *other = without_repeats(b, a);
  status = tsri_tensor_check("equal", one);
  if (status == TSR_OK) status = tsri_tensor_check("equal", other);
  if (status == TSR_OK)
    status = tsri_common_device("equal", (tsr_device *[]){a->value->device, b->value->device}, 2, &device);
  if (status == TSR_OK) status = fetch(one, device, &left);
  if (status == TSR_OK) status = fetch(other, device, &right);
  if (status == TSR_OK) *out_equal = equal_elements(a->dtype, left.data, right.data, left.bytes);
  tsri_stage_release(device, left.data, status);
  tsri_stage_release(device, right.data, status);
  tsr_release(one);
  tsr_release(other);
  return status;
}
