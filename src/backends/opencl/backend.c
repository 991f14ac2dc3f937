// SPDX-License-Identifier: MIT
// The OpenCL backend's table. If Tessera was built without the OpenCL headers, start fails and says so.
#include "backends/opencl/opencl.h"
#include "core/error.h"

#if TSRI_HAS_OPENCL

static tsr_status opencl_start(const tsri_host *host) {
  (void)host;  // built in: errors are reported by TSRI_FAIL, not through the host table
  return tsri_opencl_load(tsri_opencl_library_names);
}

const tsri_backend tsri_opencl_backend = {
    TSRI_TEXT_BACKEND(opencl, "OpenCL", "opencl"),
    .start = opencl_start,
    .stop = tsri_opencl_stop,
    TSRI_DRIVER_ENTRIES(opencl),
    .host_alloc = tsri_opencl_host_alloc,
    .host_free = tsri_opencl_host_free,
};

#else

static tsr_status opencl_start(const tsri_host *host) {
  (void)host;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                   "this Tessera was built without the OpenCL headers; install them (Debian: opencl-headers) and "
                   "build it again");
}

const tsri_backend tsri_opencl_backend = {
    .abi = TSRI_BACKEND_ABI,
    .table_bytes = sizeof(tsri_backend),
    .name = "opencl",
    .title = "OpenCL",
    .start = opencl_start,
};

#endif
