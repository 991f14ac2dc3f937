// SPDX-License-Identifier: MIT
// Functions of CUDA's form over those of HIP that differ in more than their names.
//
// HIP has a current device per thread where CUDA has a stack of contexts. Here a context is the number of a device, plus
// one because NULL is none, and each thread remembers what was current before each push.
#include <string.h>

#include "backends/rocm/rocm.h"

enum { MOST_PUSHED = 8, HIP_INVALID_CONTEXT = 201 };

static TSRI_THREAD_LOCAL int before[MOST_PUSHED], depth;

static cu_context context_of(int device) { return (cu_context)(intptr_t)(device + 1); }
static int device_of(cu_context context) { return (int)(intptr_t)context - 1; }

// --- Contexts -------------------------------------------------------------------------------------------------------

static int CUDA_CALL retain_context(cu_context *context, cu_device device) {
  *context = context_of(device);
  return CU_SUCCESS;
}

static int CUDA_CALL release_context(cu_device device) {
  (void)device;
  return CU_SUCCESS;
}

static int CUDA_CALL get_current(cu_context *context) {
  int device = 0;
  int code = tsri_rocm.GetDevice(&device);
  *context = code == CU_SUCCESS ? context_of(device) : NULL;
  return code;
}

static int CUDA_CALL push_current(cu_context context) {
  int device = 0;
  if (depth == MOST_PUSHED) return HIP_INVALID_CONTEXT;
  int code = tsri_rocm.GetDevice(&device);
  if (code == CU_SUCCESS) code = tsri_rocm.SetDevice(device_of(context));
  if (code == CU_SUCCESS) before[depth++] = device;
  return code;
}

static int CUDA_CALL pop_current(cu_context *context) {
  if (depth == 0) return HIP_INVALID_CONTEXT;
  int code = get_current(context);
  int restored = tsri_rocm.SetDevice(before[--depth]);
  return code == CU_SUCCESS ? restored : code;
}

static int CUDA_CALL synchronize(void) { return tsri_rocm.DeviceSynchronize(); }

// --- Others ---------------------------------------------------------------------------------------------------------

static int CUDA_CALL error_name(cu_result code, const char **text) {
  *text = tsri_rocm.GetErrorName(code);
  return CU_SUCCESS;
}

static int CUDA_CALL error_string(cu_result code, const char **text) {
  *text = tsri_rocm.GetErrorString(code);
  return CU_SUCCESS;
}

static int CUDA_CALL copy_peer(cu_address to, cu_context to_context, cu_address from, cu_context from_context,
                               size_t bytes, cu_stream stream) {
  return tsri_rocm.MemcpyPeerAsync((void *)(uintptr_t)to, device_of(to_context), (const void *)(uintptr_t)from,
                                   device_of(from_context), bytes, stream);
}

// Asked only for the memory type. From HIP 6 on pinned host memory is 1, as in CUDA, and pageable memory 0. Before,
// pinned memory was 0, and pageable memory an error.
static int CUDA_CALL pointer_attributes(unsigned count, int *attributes, void **values, cu_address pointer) {
  int type = 0;
  (void)count;
  int code = tsri_rocm.PointerGetAttribute(&type, attributes[0], (void *)(uintptr_t)pointer);
  if (code != CU_SUCCESS) return code;
  unsigned answer = type == (tsri_rocm.version >= 60000000 ? 1 : 0) ? CU_MEMORY_IS_HOST : 0;
  memcpy(values[0], &answer, sizeof answer);
  return code;
}

void tsri_rocm_fill_translated(tsri_cuda_api *api) {
  api->DevicePrimaryCtxRetain = retain_context;
  api->DevicePrimaryCtxRelease = release_context;
  api->CtxGetCurrent = get_current;
  api->CtxPushCurrent = push_current;
  api->CtxPopCurrent = pop_current;
  api->CtxSynchronize = synchronize;
  api->GetErrorName = error_name;
  api->GetErrorString = error_string;
  api->MemcpyPeerAsync = copy_peer;
  api->PointerGetAttributes = pointer_attributes;
}
