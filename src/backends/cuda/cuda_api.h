// SPDX-License-Identifier: MIT
// The parts of CUDA's driver interface, of NVRTC and of NVML that we use, declared with our own types and constants,
// so that building needs no CUDA toolkit. They belong to the libraries' binary interface, which is stable.
#ifndef TSRI_CUDA_API_H
#define TSRI_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CUDA_CALL __stdcall
#else
#define CUDA_CALL
#endif

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_address;  // device memory
typedef struct cu_context_tag *cu_context;
typedef struct cu_stream_tag *cu_stream;
typedef struct cu_event_tag *cu_event;
typedef struct cu_graph_tag *cu_graph;
typedef struct cu_graph_exec_tag *cu_graph_exec;
typedef struct cu_graph_node_tag *cu_graph_node;
typedef struct cu_module_tag *cu_module;
typedef struct cu_function_tag *cu_function;

// A tensor as the GPU's copy engine needs it described (CUtensorMap).
typedef struct cu_tensor_map {
  _Alignas(64) uint64_t words[16];
} cu_tensor_map;

// Codes that the backend checks for. Other codes are only printed, with the name that the driver returns for them.
enum {
  CU_SUCCESS = 0,
  CU_INVALID_VALUE = 1,
  CU_OUT_OF_MEMORY = 2,
  CU_DEINITIALIZED = 4,
  CU_NO_DEVICE = 100,
  CU_INVALID_IMAGE = 200,
  CU_INVALID_CONTEXT = 201,
  CU_NO_BINARY_FOR_GPU = 209,
  CU_ECC_UNCORRECTABLE = 214,
  CU_NVLINK_UNCORRECTABLE = 220,
  CU_UNSUPPORTED_PTX_VERSION = 222,
  CU_CONTAINED = 226,
  CU_NOT_FOUND = 500,
  CU_NOT_READY = 600,
  CU_ILLEGAL_ADDRESS = 700,
  CU_LAUNCH_TIMEOUT = 702,
  CU_CONTEXT_IS_DESTROYED = 709,
  CU_ASSERT = 710,
  CU_HARDWARE_STACK_ERROR = 714,
  CU_ILLEGAL_INSTRUCTION = 715,
  CU_MISALIGNED_ADDRESS = 716,
  CU_INVALID_ADDRESS_SPACE = 717,
  CU_INVALID_PC = 718,
  CU_LAUNCH_FAILED = 719,
  CU_TENSOR_MEMORY_LEAK = 721,
  CU_UNKNOWN = 999
};

// The values that we pass to cuTensorMapEncodeTiled: element types; planes that are not interleaved; shared memory in the order that wgmma reads (swizzle of
// 128 bytes); memory reads into the cache by 128 bytes; zeros for elements beyond the tensor.
enum {
  CU_TENSOR_OF_F16 = 6,
  CU_TENSOR_OF_BF16 = 9,
  CU_TENSOR_OF_TF32 = 11,  // f32 in memory, rounded when it is copied
  CU_TENSOR_NOT_INTERLEAVED = 0,
  CU_TENSOR_SWIZZLE_128 = 3,
  CU_TENSOR_PROMOTES_128 = 2,
  CU_TENSOR_FILLS_ZERO = 0
};

// Attributes of a device.
enum {
  CU_MAX_GRID_Y = 6,
  CU_MAX_GRID_Z = 7,
  CU_SHARED_BYTES_PER_BLOCK = 8,
  CU_WARP_SIZE = 10,
  CU_MULTIPROCESSORS = 16,
  CU_INTEGRATED = 18,
  CU_PCI_BUS = 33,
  CU_PCI_DEVICE = 34,
  CU_PCI_DOMAIN = 50,
  CU_CAPABILITY_MAJOR = 75,
  CU_CAPABILITY_MINOR = 76
};

enum { CU_FUNCTION_MAX_THREADS = 0, CU_FUNCTION_MOST_SHARED_BYTES = 8 };  // attributes of a function
enum { CU_POINTER_MEMORY_TYPE = 2, CU_MEMORY_IS_HOST = 1 };               // attribute of a pointer, and a value of it
enum { CU_HOST_PORTABLE = 1 };                                // flag of pinned memory: every context may use it
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_NO_TIMING = 2 };  // flags at creation
enum {
  CU_STREAM_CAPTURE_RELAXED = 2,
  CU_STREAM_SET_CAPTURE_DEPENDENCIES = 1
};  // relaxed capture: all other driver calls stay allowed, on all threads

// An edge of a graph, from a node to one that depends on it. If all members are zero, the second node begins when the first has ended.
typedef struct cu_graph_edge {
  unsigned char from_port, to_port, type, reserved[5];
} cu_graph_edge;

enum { CU_GRAPH_NODE_IS_KERNEL = 0 };  // one of the types of a node
// Values for an edge between two kernels of which the second waits for the end of the first by an instruction (griddepcontrol.wait), so that it may be started
// before that.
enum { CU_EDGE_TYPE_PROGRAMMATIC = 1, CU_EDGE_FROM_PROGRAMMATIC = 1 };

typedef struct cu_uuid {
  unsigned char bytes[16];
} cu_uuid;

// name without "cu", exported name, parameters
#define CUDA_ENTRY_POINTS(X)                                                                                           \
  X(Init, "cuInit", (unsigned flags))                                                                                  \
  X(DriverGetVersion, "cuDriverGetVersion", (int *version))                                                            \
  X(GetErrorName, "cuGetErrorName", (cu_result code, const char **text))                                               \
  X(GetErrorString, "cuGetErrorString", (cu_result code, const char **text))                                           \
  X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                                                  \
  X(DeviceGet, "cuDeviceGet", (cu_device * device, int ordinal))                                                       \
  X(DeviceGetName, "cuDeviceGetName", (char *name, int bytes, cu_device device))                                       \
  X(DeviceGetUuid, "cuDeviceGetUuid", (cu_uuid * uuid, cu_device device))                                              \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, cu_device device))                                         \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device))                         \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cu_context * context, cu_device device))                      \
  X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (cu_device device))                                       \
  X(CtxPushCurrent, "cuCtxPushCurrent_v2", (cu_context context))                                                       \
  X(CtxPopCurrent, "cuCtxPopCurrent_v2", (cu_context * context))                                                       \
  X(CtxGetCurrent, "cuCtxGetCurrent", (cu_context * context))                                                          \
  X(CtxSynchronize, "cuCtxSynchronize", (void))                                                                        \
  X(MemGetInfo, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes))                                        \
  X(MemAlloc, "cuMemAlloc_v2", (cu_address * address, size_t bytes))                                                   \
  X(MemFree, "cuMemFree_v2", (cu_address address))                                                                     \
  X(MemHostAlloc, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))                                     \
  X(MemFreeHost, "cuMemFreeHost", (void *memory))                                                                      \
  X(MemHostRegister, "cuMemHostRegister_v2", (void *memory, size_t bytes, unsigned flags))                             \
  X(MemHostUnregister, "cuMemHostUnregister", (void *memory))                                                          \
  X(PointerGetAttributes, "cuPointerGetAttributes",                                                                    \
    (unsigned count, int *attributes, void **values, cu_address pointer))                                              \
  X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (cu_address to, const void *from, size_t bytes, cu_stream stream))        \
  X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *to, cu_address from, size_t bytes, cu_stream stream))              \
  X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (cu_address to, cu_address from, size_t bytes, cu_stream stream))         \
  X(MemcpyPeerAsync, "cuMemcpyPeerAsync",                                                                              \
    (cu_address to, cu_context to_context, cu_address from, cu_context from_context, size_t bytes, cu_stream stream))  \
  X(MemsetD8Async, "cuMemsetD8Async", (cu_address to, unsigned char value, size_t count, cu_stream stream))            \
  X(MemsetD16Async, "cuMemsetD16Async", (cu_address to, unsigned short value, size_t count, cu_stream stream))         \
  X(MemsetD32Async, "cuMemsetD32Async", (cu_address to, unsigned value, size_t count, cu_stream stream))               \
  X(StreamCreate, "cuStreamCreate", (cu_stream * stream, unsigned flags))                                              \
  X(StreamDestroy, "cuStreamDestroy_v2", (cu_stream stream))                                                           \
  X(StreamSynchronize, "cuStreamSynchronize", (cu_stream stream))                                                      \
  X(StreamQuery, "cuStreamQuery", (cu_stream stream))                                                                  \
  X(StreamWaitEvent, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned flags))                          \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", (cu_stream stream, int mode))                                       \
  X(StreamEndCapture, "cuStreamEndCapture", (cu_stream stream, cu_graph * graph))                                      \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", (cu_graph_exec * exec, cu_graph graph, unsigned long long flags)) \
  X(GraphLaunch, "cuGraphLaunch", (cu_graph_exec exec, cu_stream stream))                                              \
  X(GraphExecDestroy, "cuGraphExecDestroy", (cu_graph_exec exec))                                                      \
  X(GraphDestroy, "cuGraphDestroy", (cu_graph graph))                                                                  \
  X(EventCreate, "cuEventCreate", (cu_event * event, unsigned flags))                                                  \
  X(EventDestroy, "cuEventDestroy_v2", (cu_event event))                                                               \
  X(EventRecord, "cuEventRecord", (cu_event event, cu_stream stream))                                                  \
  X(EventQuery, "cuEventQuery", (cu_event event))                                                                      \
  X(EventSynchronize, "cuEventSynchronize", (cu_event event))                                                          \
  X(EventElapsedTime, "cuEventElapsedTime", (float *ms, cu_event from, cu_event to))                                   \
  X(ModuleLoadData, "cuModuleLoadData", (cu_module * module, const void *image))                                       \
  X(ModuleUnload, "cuModuleUnload", (cu_module module))                                                                \
  X(ModuleGetFunction, "cuModuleGetFunction", (cu_function * function, cu_module module, const char *name))            \
  X(FuncGetAttribute, "cuFuncGetAttribute", (int *value, int attribute, cu_function function))                         \
  X(LaunchKernel, "cuLaunchKernel",                                                                                    \
    (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
     unsigned block_z, unsigned shared_bytes, cu_stream stream, void **params, void **extra))

// Entry points that drivers may lack (CUDA before 11.3, HIP before 6; TensorMapEncodeTiled: CUDA before 12.0, HIP; StreamUpdateCaptureEdges: CUDA before 12.3, HIP).
#define CUDA_OPTIONAL_ENTRY_POINTS(X)                                                                            \
  X(FuncSetAttribute, "cuFuncSetAttribute", (cu_function function, int attribute, int value))                    \
  X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                              \
    (cu_tensor_map * map, int dtype, uint32_t rank, void *address, const uint64_t *sizes, const uint64_t *steps, \
     const uint32_t *box, const uint32_t *box_steps, int interleave, int swizzle, int promotion, int fill))      \
  X(StreamGetCaptureInfo, "cuStreamGetCaptureInfo_v2",                                                           \
    (cu_stream stream, int *is_capturing, unsigned long long *id, cu_graph *graph, const cu_graph_node **nodes,  \
     size_t *count))                                                                                             \
  X(StreamUpdateCaptureDependencies, "cuStreamUpdateCaptureDependencies",                                        \
    (cu_stream stream, cu_graph_node * nodes, size_t count, unsigned flags))                                     \
  X(StreamUpdateCaptureEdges, "cuStreamUpdateCaptureDependencies_v2",                                            \
    (cu_stream stream, cu_graph_node * nodes, const cu_graph_edge *edges, size_t count, unsigned flags))         \
  X(GraphNodeGetType, "cuGraphNodeGetType", (cu_graph_node node, int *type))                                     \
  X(GraphNodeGetDependentNodes, "cuGraphNodeGetDependentNodes",                                                  \
    (cu_graph_node node, cu_graph_node * nodes, size_t * count))

typedef struct nvrtc_program_tag *nvrtc_program;

enum { NVRTC_SUCCESS = 0, NVRTC_OUT_OF_MEMORY = 1, NVRTC_COMPILATION = 6 };

#define NVRTC_ENTRY_POINTS(X)                                                                                     \
  X(Version, "nvrtcVersion", (int *major, int *minor))                                                            \
  X(GetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *count))                                              \
  X(GetSupportedArchs, "nvrtcGetSupportedArchs", (int *archs))                                                    \
  X(CreateProgram, "nvrtcCreateProgram",                                                                          \
    (nvrtc_program * program, const char *text, const char *name, int header_count, const char *const *headers,   \
     const char *const *header_names))                                                                            \
  X(CompileProgram, "nvrtcCompileProgram", (nvrtc_program program, int option_count, const char *const *options)) \
  X(GetProgramLogSize, "nvrtcGetProgramLogSize", (nvrtc_program program, size_t * bytes))                         \
  X(GetProgramLog, "nvrtcGetProgramLog", (nvrtc_program program, char *text))                                     \
  X(GetCubinSize, "nvrtcGetCUBINSize", (nvrtc_program program, size_t * bytes))                                   \
  X(GetCubin, "nvrtcGetCUBIN", (nvrtc_program program, char *code))                                               \
  X(GetPtxSize, "nvrtcGetPTXSize", (nvrtc_program program, size_t * bytes))                                       \
  X(GetPtx, "nvrtcGetPTX", (nvrtc_program program, char *code))                                                   \
  X(DestroyProgram, "nvrtcDestroyProgram", (nvrtc_program * program))

typedef struct nvml_device_tag *nvml_device;

typedef struct nvml_memory {
  unsigned long long total, free, used;
} nvml_memory;

#define NVML_ENTRY_POINTS(X)                                                                     \
  X(Init, "nvmlInit_v2", (void))                                                                 \
  X(DeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID", (const char *uuid, nvml_device *device)) \
  X(DeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo", (nvml_device device, nvml_memory * memory))  \
  X(SystemGetDriverVersion, "nvmlSystemGetDriverVersion", (char *version, unsigned bytes))

#endif
