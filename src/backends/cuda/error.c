// SPDX-License-Identifier: MIT
// Converts the driver's codes to statuses, with their names and descriptions in the message.
#include <stdarg.h>
#include <stdio.h>

#include "backends/cuda/cuda.h"

const char *tsri_cuda_code_text(const cuda_vendor *vendor, cu_result code, char *text, size_t text_bytes) {
  const char *name = NULL, *words = NULL;
  if (vendor->cu->GetErrorName(code, &name) != CU_SUCCESS || !name) name = "an unknown code";
  if (vendor->cu->GetErrorString(code, &words) != CU_SUCCESS || !words) words = "no description";
  snprintf(text, text_bytes, "%s %d %s: %s", vendor->title, code, name, words);
  return text;
}

bool tsri_cuda_means_loss(cu_result code) {
  switch (code) {
    case CU_DEINITIALIZED:
    case CU_ECC_UNCORRECTABLE:
    case CU_NVLINK_UNCORRECTABLE:
    case CU_CONTAINED:
    case CU_ILLEGAL_ADDRESS:
    case CU_LAUNCH_TIMEOUT:
    case CU_CONTEXT_IS_DESTROYED:
    case CU_ASSERT:
    case CU_HARDWARE_STACK_ERROR:
    case CU_ILLEGAL_INSTRUCTION:
    case CU_MISALIGNED_ADDRESS:
    case CU_INVALID_ADDRESS_SPACE:
    case CU_INVALID_PC:
    case CU_LAUNCH_FAILED:
    case CU_TENSOR_MEMORY_LEAK:
    case CU_UNKNOWN:
      return true;
    default:
      return false;
  }
}

tsr_status tsri_cuda_fail(cuda_device *device, cu_result code, tsr_status otherwise, const char *place,
                          const char *format, ...) {
  char what[256], text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const char *name = device->name;
  tsri_cuda_code_text(device->vendor, code, text, sizeof text);
  if (tsri_cuda_means_loss(code) || atomic_load(&device->is_lost)) {
    atomic_store(&device->is_lost, true);
    return tsri_fail(TSR_ERR_DEVICE_LOST, place, "%s stopped working: %s: %s", name, what, text);
  }
  return tsri_fail(code == CU_OUT_OF_MEMORY ? TSR_ERR_OUT_OF_MEMORY : otherwise, place, "%s: %s: %s", name, what, text);
}

tsr_status tsri_cuda_check(const cuda_device *device) {
  if (!atomic_load_explicit(&device->is_lost, memory_order_relaxed)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DEVICE_LOST,
                   "%s stopped working in an earlier call; %s gives this process no new start on it: use another "
                   "device, or start the program again",
                   device->name, device->vendor->title);
}
