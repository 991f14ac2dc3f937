// SPDX-License-Identifier: MIT
// libamdhip64: HIP's names, forwarded to a CUDA driver. HIP's numbers of attributes are translated.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "standins/hip/hip.h"

// Nothing but the loader calls these functions, so they are declared nowhere else.
#define HIP(name, parameters) \
  EXPORT int name parameters; \
  EXPORT int name parameters

#define CUDA (standin_hip_cuda())

// The whole body of a function: the driver's answer, with the thread's device current; WORK for calls on streams.
#define ENTER(answer)             \
  int code = standin_hip_enter(); \
  return code ? code : (answer)
#define WORK(call)               \
  int code = standin_hip_work(); \
  return code ? code : CUDA->call

// --- Devices --------------------------------------------------------------------------------------------------------

HIP(hipInit, (unsigned flags)) {
  const standin_switches *s = standin_hip_switches();
  int code = CUDA->Init(flags);
  if (s->init) return s->init;
  return s->devices == 0 ? 101 : code;  // as HIP 5.2 answers without a GPU
}

// The two kinds of images, text and code for a real GPU, must not meet in the cache on disk.
HIP(hipDriverGetVersion, (int *version)) {
  *version = CUDA->is_real ? 60300002 : 60300001;
  return CU_SUCCESS;
}

HIP(hipGetDeviceCount, (int *count)) {
  *count = standin_hip_switches()->devices;
  return *count > 0 ? CU_SUCCESS : CU_NO_DEVICE;
}

static bool is_device(int device) { return device >= 0 && device < standin_hip_switches()->devices; }

HIP(hipDeviceGet, (cu_device * device, int ordinal)) {
  *device = ordinal;
  return is_device(ordinal) ? CU_SUCCESS : 101;
}

HIP(hipDeviceGetName, (char *name, int bytes, cu_device device)) {
  snprintf(name, (size_t)bytes, "Stand-in %s %d", standin_hip_switches()->gfx, device);
  return CU_SUCCESS;
}

HIP(hipDeviceGetUuid, (cu_uuid * uuid, cu_device device)) {
  char text[17];
  snprintf(text, sizeof text, "standin%09d", device);  // HIP's are text, too
  memcpy(uuid->bytes, text, sizeof uuid->bytes);
  return CU_SUCCESS;
}

HIP(hipDeviceTotalMem, (size_t * bytes, cu_device device)) {
  (void)device;
  return CUDA->DeviceTotalMem(bytes, 0);
}

// The layout of HIP 6: the device's name is at 0, the compiler's name for it at 1160.
HIP(hipGetDevicePropertiesR0600, (void *properties, int device)) {
  enum { BYTES = 1472, GFX_AT = 1160 };
  const standin_switches *s = standin_hip_switches();
  if (!is_device(device)) return 101;
  memset(properties, 0, BYTES);
  (void)hipDeviceGetName(properties, 256, device);
  snprintf((char *)properties + GFX_AT, 256, "%s%s", s->gfx, s->wave == 64 ? ":sramecc+:xnack-" : "");
  return CU_SUCCESS;
}

HIP(hipDeviceGetAttribute, (int *value, int attribute, cu_device device)) {
  static const int same[][2] = {{16, CU_INTEGRATED}, {30, CU_MAX_GRID_Y}, {31, CU_MAX_GRID_Z}, {63, CU_MULTIPROCESSORS},
                                {67, CU_PCI_BUS},    {68, CU_PCI_DEVICE}, {69, CU_PCI_DOMAIN}};
  if (!is_device(device)) return 101;
  *value = standin_hip_switches()->wave;
  if (attribute == 87) return CU_SUCCESS;
  *value = 65536;  // LDS of all of AMD's GPUs; CUDA's compiler allows less
  if (attribute == 74)
    return CUDA->is_real ? CUDA->DeviceGetAttribute(value, CU_SHARED_BYTES_PER_BLOCK, 0) : CU_SUCCESS;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    if (same[i][0] == attribute) return CUDA->DeviceGetAttribute(value, same[i][1], 0);
  }
  return CU_INVALID_VALUE;
}

EXPORT const char *hipGetErrorName(int code);
EXPORT const char *hipGetErrorName(int code) {
  switch (code) {
    case CU_OUT_OF_MEMORY:
      return "hipErrorOutOfMemory";
    case CU_ILLEGAL_ADDRESS:
      return "hipErrorIllegalAddress";
    default:
      return "hipErrorUnknown";
  }
}

EXPORT const char *hipGetErrorString(int code);
EXPORT const char *hipGetErrorString(int code) {
  return code == CU_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "as the stand-in has it";
}

HIP(hipDeviceSynchronize, (void)) { ENTER(CUDA->CtxSynchronize()); }

// --- Memory ---------------------------------------------------------------------------------------------------------

HIP(hipMemGetInfo, (size_t * free_bytes, size_t *total_bytes)) { ENTER(CUDA->MemGetInfo(free_bytes, total_bytes)); }

static int live;  // allocations, streams, events, graphs

static int count(int code, int step) {
  if (code == CU_SUCCESS) __atomic_add_fetch(&live, step, __ATOMIC_RELAXED);
  return code;
}

void standin_hip_forget(void) { live = 0; }

EXPORT int standin_hip_live(void);
EXPORT int standin_hip_live(void) { return live; }

HIP(hipMalloc, (cu_address * address, size_t bytes)) {
  static int allocations, known;
  const standin_switches *s = standin_hip_switches();
  int code = standin_hip_enter();
  if (code) return code;
  if (known != s->generation) allocations = 0;
  known = s->generation;
  if (__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) == s->out_of_memory_at) return CU_OUT_OF_MEMORY;
  return count(CUDA->MemAlloc(address, bytes), 1);
}

HIP(hipFree, (cu_address address)) { ENTER(count(CUDA->MemFree(address), -1)); }

HIP(hipHostMalloc, (void **memory, size_t bytes, unsigned flags)) {
  ENTER(count(CUDA->MemHostAlloc(memory, bytes, flags), 1));
}

HIP(hipHostFree, (void *memory)) { ENTER(count(CUDA->MemFreeHost(memory), -1)); }

HIP(hipHostRegister, (void *memory, size_t bytes, unsigned flags)) {
  ENTER(count(CUDA->MemHostRegister(memory, bytes, flags), 1));
}

HIP(hipHostUnregister, (void *memory)) { ENTER(count(CUDA->MemHostUnregister(memory), -1)); }

HIP(hipPointerGetAttribute, (void *value, int attribute, void *pointer)) {
  void *values[] = {value};
  ENTER(CUDA->PointerGetAttributes(1, &attribute, values, (cu_address)(uintptr_t)pointer));
}

// --- Work on streams ------------------------------------------------------------------------------------------------

HIP(hipMemcpyHtoDAsync, (cu_address to, const void *from, size_t bytes, cu_stream stream)) {
  WORK(MemcpyHtoDAsync(to, from, bytes, stream));
}

HIP(hipMemcpyDtoHAsync, (void *to, cu_address from, size_t bytes, cu_stream stream)) {
  WORK(MemcpyDtoHAsync(to, from, bytes, stream));
}

HIP(hipMemcpyDtoDAsync, (cu_address to, cu_address from, size_t bytes, cu_stream stream)) {
  WORK(MemcpyDtoDAsync(to, from, bytes, stream));
}

// All devices of the stand-in see one memory.
HIP(hipMemcpyPeerAsync, (void *to, int to_device, const void *from, int from_device, size_t bytes, cu_stream stream)) {
  if (!is_device(to_device) || !is_device(from_device)) return 101;
  return hipMemcpyDtoDAsync((uintptr_t)to, (uintptr_t)from, bytes, stream);
}

HIP(hipMemsetD8Async, (cu_address to, unsigned char value, size_t number, cu_stream stream)) {
  WORK(MemsetD8Async(to, value, number, stream));
}

HIP(hipMemsetD16Async, (cu_address to, unsigned short value, size_t number, cu_stream stream)) {
  WORK(MemsetD16Async(to, value, number, stream));
}

HIP(hipMemsetD32Async, (cu_address to, unsigned value, size_t number, cu_stream stream)) {
  WORK(MemsetD32Async(to, value, number, stream));
}

HIP(hipStreamCreateWithFlags, (cu_stream * stream, unsigned flags)) {
  ENTER(count(CUDA->StreamCreate(stream, flags), 1));
}

HIP(hipStreamDestroy, (cu_stream stream)) { ENTER(count(CUDA->StreamDestroy(stream), -1)); }

HIP(hipStreamSynchronize, (cu_stream stream)) {
  standin_hip_sleep();
  WORK(StreamSynchronize(stream));
}

HIP(hipStreamQuery, (cu_stream stream)) {
  if (standin_hip_is_busy()) return CU_NOT_READY;
  WORK(StreamQuery(stream));
}

HIP(hipStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags)) {
  WORK(StreamWaitEvent(stream, event, flags));
}

HIP(hipEventCreateWithFlags, (cu_event * event, unsigned flags)) { ENTER(count(CUDA->EventCreate(event, flags), 1)); }

HIP(hipEventDestroy, (cu_event event)) { ENTER(count(CUDA->EventDestroy(event), -1)); }

HIP(hipEventRecord, (cu_event event, cu_stream stream)) { WORK(EventRecord(event, stream)); }
HIP(hipEventQuery, (cu_event event)) { WORK(EventQuery(event)); }
HIP(hipEventSynchronize, (cu_event event)) { WORK(EventSynchronize(event)); }
HIP(hipEventElapsedTime, (float *ms, cu_event from, cu_event to)) { WORK(EventElapsedTime(ms, from, to)); }

// --- Graphs ---------------------------------------------------------------------------------------------------------

HIP(hipStreamBeginCapture, (cu_stream stream, int mode)) {
  int code = standin_hip_work();
  if (code == CU_SUCCESS) code = CUDA->StreamBeginCapture(stream, mode);
  standin_hip_captures(stream, code == CU_SUCCESS);
  return code;
}

HIP(hipStreamEndCapture, (cu_stream stream, cu_graph *graph)) {
  standin_hip_captures(stream, false);
  WORK(StreamEndCapture(stream, graph));
}

HIP(hipStreamGetCaptureInfo_v2, (cu_stream stream, int *is_capturing, unsigned long long *id, cu_graph *graph,
                                 const cu_graph_node **nodes, size_t *count)) {
  WORK(StreamGetCaptureInfo(stream, is_capturing, id, graph, nodes, count));
}

HIP(hipStreamUpdateCaptureDependencies, (cu_stream stream, cu_graph_node *nodes, size_t count, unsigned flags)) {
  WORK(StreamUpdateCaptureDependencies(stream, nodes, count, flags));
}

HIP(hipGraphInstantiateWithFlags, (cu_graph_exec * exec, cu_graph graph, unsigned long long flags)) {
  int code = standin_hip_work();
  return code ? code : count(CUDA->GraphInstantiate(exec, graph, flags), 1);
}

HIP(hipGraphLaunch, (cu_graph_exec exec, cu_stream stream)) { WORK(GraphLaunch(exec, stream)); }

HIP(hipGraphExecDestroy, (cu_graph_exec exec)) { ENTER(count(CUDA->GraphExecDestroy(exec), -1)); }

HIP(hipGraphDestroy, (cu_graph graph)) { ENTER(CUDA->GraphDestroy(graph)); }
