// SPDX-License-Identifier: MIT
// Declarations shared by the files of the ROCm backend.
//
// HIP's driver interface is CUDA's under other names, so memory, queues, copies, events, graphs and programs are those of
// backends/cuda. Here is what differs: the entry points (entry_points.c), the names of GPUs and their wavefronts (gfx.c),
// how a device is found and described (device.c), and products by hipBLASLt (blas_lt.c) and
// rocBLAS (blas.c).
#ifndef TSRI_ROCM_H
#define TSRI_ROCM_H

#include "backends/cuda/cuda.h"

typedef struct rocm_blas rocm_blas;  // blas.c

typedef struct rocm_device {
  cuda_device gpu;          // first, so that a pointer to one is a pointer to the other; its `blas` is hipBLASLt
  bool allows_rocblas;      // the setting `native` permits rocBLAS
  bool rocblas_has_failed;  // opening rocBLAS failed; the reason was logged
  rocm_blas *rocblas;       // NULL until the first product
} rocm_device;

// --- loader.c ---

// HIP's entry points in the form of CUDA's, and hiprtc's in that of NVRTC's. Tests replace entries.
extern tsri_cuda_api tsri_hip;
extern tsri_nvrtc_api tsri_hiprtc;

// What HIP has and CUDA has not, or has in another form. Filled by tsri_rocm_load.
typedef struct rocm_api {
  int (*SetDevice)(int device);
  int (*GetDevice)(int *device);
  int (*DeviceSynchronize)(void);
  const char *(*GetErrorName)(int code);
  const char *(*GetErrorString)(int code);
  int (*PointerGetAttribute)(void *value, int attribute, void *pointer);
  int (*MemcpyPeerAsync)(void *to, int to_device, const void *from, int from_device, size_t bytes, cu_stream stream);
  int (*GetDeviceProperties)(void *properties, int device);
  int version;  // 50221153 is 5.2.21153; 0 if HIP does not say
} rocm_api;
extern rocm_api tsri_rocm;

// What differs between systems. Lists of names end with NULL and are tried in order.
typedef enum rocm_system_id { ROCM_LINUX, ROCM_WINDOWS, ROCM_MACOS, ROCM_SYSTEMS } rocm_system_id;
typedef struct rocm_system {
  const char *const *hip_names;
  const char *const *rtc_patterns;  // %d: HIP's major version, then its minor one
  const char *how_to_get_hip, *how_to_get_hiprtc;
  const char *what_hides_gpus;  // the end of a question in the message "no GPU found": what may hide GPUs from HIP
  const char *who_says_more;    // a program that lists the GPUs
} rocm_system;
extern const rocm_system tsri_rocm_systems[ROCM_SYSTEMS];
extern const rocm_system *tsri_rocm_system;  // this one; tests choose others

// For tests: names in place of the system's. NULL: none.
extern const char *const *tsri_hip_names, *const *tsri_hiprtc_names;

// Opens libamdhip64. Errors: TSR_ERR_NOT_FOUND; the message says what to install.
tsr_status tsri_rocm_load(void);

// Opens hiprtc, which is a library of its own, or a part of libamdhip64 before ROCm 5.5. Call tsri_rocm_load before.
tsr_status tsri_hiprtc_load(void);

// --- entry_points.c ---

// Puts the functions that translate between CUDA's form and HIP's into `api`.
void tsri_rocm_fill_translated(tsri_cuda_api *api);

// --- gfx.c ---

typedef enum rocm_matrix {
  ROCM_NO_MATRIX,
  ROCM_MFMA_F16,  // gfx908: f16 only
  ROCM_MFMA,      // f16 and bf16, wavefronts of 64
  ROCM_WMMA,      // f16 and bf16, wavefronts of 32
} rocm_matrix;

typedef struct rocm_gfx {
  const char *name;  // "gfx90a"
  int since;         // the first HIP whose compiler knows it: 100 * major + minor
  uint32_t wave;     // work items per wavefront in compute kernels
  int lt_since;      // the first HIP whose hipBLASLt has kernels for it, as `since`; 0: none has
  rocm_matrix matrix;
} rocm_gfx;

// The list's entry for a name as HIP reports it, whose features ("gfx90a:sramecc+:xnack-") are ignored. NULL: unknown.
const rocm_gfx *tsri_rocm_find_gfx(const char *reported);

// --- device.c ---

extern const cuda_vendor tsri_rocm_vendor;

tsr_status tsri_rocm_device_count(int *out_count);
tsr_status tsri_rocm_device_info(int index, tsr_device_info *out_info);
tsr_status tsri_rocm_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                 tsri_device **out_device);
void tsri_rocm_device_close(tsri_device *device);
void tsri_rocm_stop(void);

// --- blas_lt.c, blas.c and native.c ---

extern const struct lt_library tsri_hipblaslt;
extern const char *const *tsri_hipblaslt_names, *const *tsri_rocblas_names;
void tsri_rocm_blas_close(rocm_device *device);

extern const tsri_native_offer tsri_rocm_native_ops[];
bool tsri_rocm_has_op(tsri_device *device, const tsri_native_op *op);
tsr_status tsri_rocm_run_op(tsri_queue *queue, const tsri_native_op *op);

#endif
