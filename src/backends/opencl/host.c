// SPDX-License-Identifier: MIT
// Pinned host memory: a buffer that the driver allocates on the host and that stays mapped. Drivers recognise copies from and to such memory.
// There is no call to pin memory of the caller.
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include "core/alloc.h"

typedef struct opencl_pinned {
  struct opencl_pinned *next;
  cl_mem memory;
  void *host;
} opencl_pinned;

tsr_status tsri_opencl_host_alloc(tsri_device *device, size_t bytes, void **out_memory) {
  opencl_device *ocl_device = (opencl_device *)device;
  tsr_status status = tsri_opencl_check(ocl_device);
  if (status != TSR_OK) return status;
  opencl_pinned *pinned = tsri_calloc(1, sizeof *pinned);
  if (!pinned) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "opencl: no host memory for a record");
  cl_int code = CL_SUCCESS;
  pinned->memory =
      tsri_cl.CreateBuffer(ocl_device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
  tsri_mutex_lock(&ocl_device->pinned_lock);
  if (code == CL_SUCCESS) {
    pinned->host = tsri_cl.EnqueueMapBuffer(ocl_device->setup, pinned->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                            bytes, 0, NULL, NULL, &code);
  }
  if (code == CL_SUCCESS) {
    pinned->next = ocl_device->pinned;
    ocl_device->pinned = pinned;
  }
  tsri_mutex_unlock(&ocl_device->pinned_lock);
  if (code != CL_SUCCESS) {
    if (pinned->memory) tsri_cl.ReleaseMemObject(pinned->memory);
    tsri_free(pinned);
    return OPENCL_FAIL(ocl_device, code, TSR_ERR_OUT_OF_MEMORY, "%zu bytes of pinned memory", bytes);
  }
  *out_memory = pinned->host;
  return TSR_OK;
}

void tsri_opencl_host_free(tsri_device *device, void *memory) {
  opencl_device *ocl_device = (opencl_device *)device;
  tsri_mutex_lock(&ocl_device->pinned_lock);
  opencl_pinned **link = &ocl_device->pinned;
  while (*link && (*link)->host != memory) link = &(*link)->next;
  opencl_pinned *pinned = *link;
  if (pinned) {
    *link = pinned->next;
    (void)tsri_cl.EnqueueUnmapMemObject(ocl_device->setup, pinned->memory, memory, 0, NULL, NULL);
    (void)tsri_cl.Finish(ocl_device->setup);
    tsri_cl.ReleaseMemObject(pinned->memory);
  }
  tsri_mutex_unlock(&ocl_device->pinned_lock);
  tsri_free(pinned);
}

#endif
