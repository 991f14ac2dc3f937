// SPDX-License-Identifier: MIT
// libcuda's part of the stand-in: contexts, memory, streams and events.
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda_api.h"
#include "fakes/cuda/fake.h"
#include "fakes/cuda/stream.h"

#define EXPORT __attribute__((visibility("default")))

static fake_cuda state = {.device_count = 1,
                          .memory_bytes = 256 << 20,
                          .multiprocessors = 4,
                          .least_arch = 75,
                          .most_arch = 120,
                          .dnn_version = 919};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT fake_cuda *fake_cuda_state(void);
EXPORT fake_cuda *fake_cuda_state(void) { return &state; }

fake_cuda *fake_state(void) { return &state; }

void fake_lock(void) { pthread_mutex_lock(&lock); }

void fake_unlock(void) { pthread_mutex_unlock(&lock); }

// --- Devices and contexts ---------------------------------------------------------------------------------------------

struct cu_context_tag {
  int device;
  size_t used_bytes;
};

static struct cu_context_tag contexts[FAKE_CUDA_DEVICES] = {{.device = 0}, {.device = 1}};
static _Thread_local cu_context stack[16];
static _Thread_local int depth;

cu_result fake_enter(void) {
  if (depth == 0) return CU_INVALID_CONTEXT;
  return state.sticky_code;
}

EXPORT int cuInit(unsigned flags) { return flags ? CU_INVALID_VALUE : state.init_code; }

EXPORT int cuDriverGetVersion(int *version) {
  *version = 13000;
  return CU_SUCCESS;
}

EXPORT int cuGetErrorName(cu_result code, const char **text) {
  *text = code == CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                     : NULL;
  return *text ? CU_SUCCESS : CU_INVALID_VALUE;
}

EXPORT int cuGetErrorString(cu_result code, const char **text) {
  *text = code == CU_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "something happened";
  return CU_SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count) {
  *count = state.device_count;
  return CU_SUCCESS;
}

EXPORT int cuDeviceGet(cu_device *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < state.device_count ? CU_SUCCESS : 101;
}

EXPORT int cuDeviceGetName(char *name, int bytes, cu_device device) {
  snprintf(name, (size_t)bytes, "Stand-in GPU %d", device);
  return CU_SUCCESS;
}

EXPORT int cuDeviceGetUuid(cu_uuid *uuid, cu_device device) {
  for (int i = 0; i < 16; i++) uuid->bytes[i] = (unsigned char)(16 * i + device);
  return CU_SUCCESS;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, cu_device device) {
  (void)device;
  *bytes = state.memory_bytes;
  return CU_SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, cu_device device) {
  static const int values[][2] = {
      {CU_MAX_GRID_Y, 65535},   {CU_MAX_GRID_Z, 65535}, {CU_WARP_SIZE, 32}, {CU_SHARED_BYTES_PER_BLOCK, 49152},
      {CU_INTEGRATED, 0},       {CU_PCI_DOMAIN, 0},     {CU_PCI_BUS, 0x1b}, {CU_CAPABILITY_MAJOR, 9},
      {CU_CAPABILITY_MINOR, 0},
  };
  *value = attribute == CU_PCI_DEVICE ? device : attribute == CU_MULTIPROCESSORS ? state.multiprocessors : 0;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    if (values[i][0] == attribute) *value = values[i][1];
  }
  return CU_SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRetain(cu_context *context, cu_device device) {
  fake_lock();
  state.retained_contexts++;
  fake_unlock();
  *context = &contexts[device];
  return CU_SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(cu_device device) {
  (void)device;
  fake_lock();
  state.retained_contexts--;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuCtxPushCurrent_v2(cu_context context) {
  stack[depth++] = context;
  fake_lock();
  state.current_contexts++;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuCtxPopCurrent_v2(cu_context *context) {
  if (depth == 0) return CU_INVALID_CONTEXT;
  *context = stack[--depth];
  fake_lock();
  state.current_contexts--;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuCtxGetCurrent(cu_context *context) {
  *context = depth > 0 ? stack[depth - 1] : NULL;
  return CU_SUCCESS;
}

EXPORT int cuCtxSynchronize(void) { return fake_enter(); }

// --- Memory -------------------------------------------------------------------------------------------------------------

typedef struct block {
  struct block *next;
  char *memory;
  size_t bytes;
  cu_context context;  // NULL: pinned host memory
  bool is_callers;     // registered: not freed
} block;

static block *blocks;

static block *find_block(const void *memory) {
  for (block *b = blocks; b; b = b->next) {
    if ((const char *)memory >= b->memory && (const char *)memory < b->memory + b->bytes) return b;
  }
  return NULL;
}

// Aligned as the driver aligns it: what cuBLASLt proposes depends on the alignment of its operands.
static char *add_block(size_t bytes, cu_context context) {
  enum { ALIGNMENT = 256 };
  block *b = malloc(sizeof *b);
  *b =
      (block){blocks, aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT), bytes, context, false};
  blocks = b;
  return b->memory;
}

static void add_registered(void *memory, size_t bytes) {
  block *b = malloc(sizeof *b);
  *b = (block){blocks, memory, bytes, NULL, true};
  blocks = b;
  state.live_pinned++;
}

static size_t remove_block(const void *memory) {
  for (block **link = &blocks; *link; link = &(*link)->next) {
    block *b = *link;
    if (b->memory != memory) continue;
    size_t bytes = b->bytes;
    *link = b->next;
    if (b->context) b->context->used_bytes -= bytes;
    if (!b->is_callers) free(b->memory);
    free(b);
    return bytes;
  }
  return 0;
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
  int code = fake_enter();
  if (code) return code;
  *total_bytes = state.memory_bytes;
  *free_bytes = state.memory_bytes - stack[depth - 1]->used_bytes;
  return CU_SUCCESS;
}

EXPORT int cuMemAlloc_v2(cu_address *address, size_t bytes) {
  int code = fake_enter();
  if (code) return code;
  cu_context context = stack[depth - 1];
  fake_lock();
  if (bytes > state.memory_bytes - context->used_bytes) {
    code = CU_OUT_OF_MEMORY;
  } else {
    *address = (uintptr_t)add_block(bytes, context);
    context->used_bytes += bytes;
    state.live_buffers++;
  }
  fake_unlock();
  return code;
}

// As the real one: everything queued is done first.
EXPORT int cuMemFree_v2(cu_address address) {
  if (depth == 0) return CU_INVALID_CONTEXT;
  fake_lock();
  fake_run_all();
  int code = remove_block((void *)(uintptr_t)address) ? CU_SUCCESS : CU_INVALID_VALUE;
  if (code == CU_SUCCESS) state.live_buffers--;
  fake_unlock();
  return code;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  (void)flags;
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  *memory = add_block(bytes, NULL);
  state.live_pinned++;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuMemFreeHost(void *memory) {
  fake_lock();
  int code = remove_block(memory) ? CU_SUCCESS : CU_INVALID_VALUE;
  if (code == CU_SUCCESS) state.live_pinned--;
  fake_unlock();
  return code;
}

// Registered memory is a block whose bytes are the caller's.
EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
  (void)flags;
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  if (find_block(memory)) code = CU_INVALID_VALUE;
  else add_registered(memory, bytes);
  fake_unlock();
  return code;
}

EXPORT int cuMemHostUnregister(void *memory) { return cuMemFreeHost(memory); }

// Memory that CUDA does not know is no error: its values are 0.
EXPORT int cuPointerGetAttributes(unsigned count, int *attributes, void **values, cu_address pointer) {
  if (count != 1 || attributes[0] != CU_POINTER_MEMORY_TYPE) return CU_INVALID_VALUE;
  fake_lock();
  const block *b = find_block((const void *)(uintptr_t)pointer);
  *(unsigned *)values[0] = !b ? 0 : b->context ? 2 : CU_MEMORY_IS_HOST;
  fake_unlock();
  return CU_SUCCESS;
}

bool fake_is_pinned(const void *memory) {
  const block *b = find_block(memory);
  return b && !b->context;
}

bool fake_is_device(cu_address address, size_t bytes) {
  const block *b = find_block((const void *)(uintptr_t)address);
  return b && b->context && (char *)(uintptr_t)address + bytes <= b->memory + b->bytes;
}
