// SPDX-License-Identifier: MIT
// linspace: computed on the host in f64, so that every device gets the same numbers.
#include <math.h>

#include "core/error.h"
#include "core/tensor.h"
#include "runtime/device.h"
#include "runtime/stage.h"

#include <tessera/ops.h>

static tsr_status check(tsr_device *device, tsr_dtype dtype, double start, double stop, int64_t count,
                        tsri_layout *out_layout) {
  tsr_status status = tsri_device_check("linspace", device);
  if (status == TSR_OK && tsr_dtype_bytes(dtype) == 0) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "linspace: %d is no dtype; 0 to %d are", (int)dtype, (int)TSR_DTYPE_COUNT - 1);
  }
  if (status == TSR_OK && (!isfinite(start) || !isfinite(stop))) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "linspace: start %g, stop %g; both must be finite", start, stop);
  }
  if (status != TSR_OK) return status;
  return tsri_layout_init("linspace", TSR_SHAPE(count), TSR_F64, out_layout, NULL);
}

// As NumPy does it, with the last one exact.
static double value_at(double start, double stop, int64_t i, int64_t count) {
  if (i > 0 && i == count - 1) return stop;
  return count == 1 ? start : start + (double)i * ((stop - start) / (double)(count - 1));
}

tsr_tensor *tsr_linspace(tsr_device *device, tsr_dtype dtype, double start, double stop, int64_t count) {
  tsri_layout layout;
  tsr_status status = check(device, dtype, start, stop, count, &layout);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  size_t element = tsr_dtype_bytes(dtype), bytes = (size_t)count * element;
  char *data = tsri_stage_create(bytes);
  if (!data) return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "linspace: no host memory for %zu bytes", bytes));
  for (int64_t i = 0; i < count && status == TSR_OK; i++) {
    double value = value_at(start, stop, i, count);
    status = tsr_convert(dtype, data + (size_t)i * element, TSR_F64, &value, 1);
  }
  tsr_tensor *result =
      status == TSR_OK ? tsr_from_data(device, dtype, TSR_SHAPE(count), data, bytes) : tsri_tensor_fail(status);
  tsri_stage_release(device, data, tsr_error(result));
  return result;
}
