// SPDX-License-Identifier: MIT
#include "backends/cuda/own_kernel.h"

#include <string.h>

#include "core/alloc.h"
#include "core/log.h"

static cu_result load(const cuda_device *device, const cuda_own_text *text, const void *image,
                      cuda_own_kernel *kernel) {
  cu_result code = device->cu->ModuleLoadData(&kernel->module, image);
  if (code != CU_SUCCESS) kernel->module = NULL;
  if (code == CU_SUCCESS) code = device->cu->ModuleGetFunction(&kernel->function, kernel->module, text->name);
  if (code == CU_SUCCESS && text->shared_bytes > 0)
    code = device->cu->FuncSetAttribute(kernel->function, CU_FUNCTION_MOST_SHARED_BYTES, (int)text->shared_bytes);
  return code;
}

bool tsri_cuda_own_build(const cuda_device *device, const cuda_own_text *text, cuda_own_kernel *kernel) {
  if (kernel->function || kernel->has_failed) return !kernel->has_failed;
  const tsri_code code = {.form = TSRI_CODE_TEXT,
                          .name = text->name,
                          .data = text->text,
                          .data_bytes = strlen((const char *)text->text),
                          .options = text->options};
  void *image = NULL;
  bool is_fresh = false;
  tsr_status status = tsri_cuda_compile(device, text->target, &code, true, &image, &is_fresh);
  cu_result result = status == TSR_OK ? load(device, text, image, kernel) : CU_SUCCESS;
  tsri_free(image);
  kernel->has_failed = status != TSR_OK || result != CU_SUCCESS;
  if (!kernel->has_failed) return true;
  tsri_log(TSR_LOG_WARN, "%s: no %s: %s (code %d)", device->name, text->what,
           status == TSR_OK ? "the driver does not load the kernel" : tsr_last_error(), result);
  return false;
}

void tsri_cuda_own_unload(const cuda_device *device, cuda_own_kernel *kernel) {
  if (kernel->module) (void)device->cu->ModuleUnload(kernel->module);
  *kernel = (cuda_own_kernel){.module = NULL};
}
