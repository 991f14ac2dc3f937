// SPDX-License-Identifier: MIT
// NVIDIA's libraries, opened at run time: tables with one function pointer per entry point used. The libraries stay
// open until the process ends.
#ifndef TSRI_CUDA_LOADER_H
#define TSRI_CUDA_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include <tessera/status.h>

#include "backends/cuda/cuda_api.h"

#define TSRI_ENTRY(name, exported, parameters) int(CUDA_CALL * name) parameters;
typedef struct tsri_cuda_api {
  CUDA_ENTRY_POINTS(TSRI_ENTRY)
  CUDA_OPTIONAL_ENTRY_POINTS(TSRI_ENTRY)  // NULL if the driver lacks it
} tsri_cuda_api;

typedef struct tsri_nvrtc_api {
  NVRTC_ENTRY_POINTS(TSRI_ENTRY)
} tsri_nvrtc_api;

typedef struct tsri_nvml_api {
  NVML_ENTRY_POINTS(TSRI_ENTRY)
} tsri_nvml_api;
#undef TSRI_ENTRY

// Filled by the functions below. Tests replace entries to simulate a failing driver.
extern tsri_cuda_api tsri_cu;
extern tsri_nvrtc_api tsri_nvrtc;
extern tsri_nvml_api tsri_nvml;

// Library names to try, in order; each list ends with NULL. Tests replace the lists.
extern const char *const *tsri_cuda_names, *const *tsri_nvrtc_names, *const *tsri_nvml_names;

typedef struct tsri_entry_point {
  const char *name;  // NULL ends a list
  size_t offset;     // of the function pointer in the table
} tsri_entry_point;

// A row in a list of entry points: the entry points after it are optional; their pointers are NULL if the library lacks them.
#define TSRI_OPTIONAL_ENTRIES \
  { "", 0 }

// Opens the first of the libraries that has every entry point that is not optional, and stores their addresses in `table`. If there is none,
// `trail` gets each name with what the loader said (common/trail.h).
bool tsri_cuda_open_library(const char *const *names, const tsri_entry_point *entries, void *table, char *trail,
                            size_t trail_bytes);

// Opens the driver library: the first name whose library has every entry point.
//
// Errors: TSR_ERR_NOT_FOUND; the message lists each name with what the loader said, and what to install.
tsr_status tsri_cuda_load(void);

// As tsri_cuda_load, for the compiler NVRTC. The message also says how to work without it.
tsr_status tsri_nvrtc_load(void);

// As tsri_cuda_load, for NVML, which reports free memory without opening a device. It is optional.
bool tsri_nvml_load(void);

#endif
