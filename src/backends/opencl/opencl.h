// SPDX-License-Identifier: MIT
// What the files of the OpenCL backend share.
#ifndef TSRI_OPENCL_H
#define TSRI_OPENCL_H

#include "backends/common/driver.h"
#include "backends/opencl/loader.h"

#if TSRI_HAS_OPENCL

#include <stdatomic.h>

#include "core/error.h"
#include "platform/platform.h"

typedef struct opencl_device {
  cl_device_id id;
  cl_context context;      // of this device alone
  cl_command_queue setup;  // for the first touch of new buffers, and to see whether the device still works
  cl_mem probe;            // four bytes to try that with
  char name[TSR_NAME_BYTES];
  char key[4 * TSR_NAME_BYTES];  // device and driver, for the cache of built programs
  uint64_t total_bytes;
  uint64_t timeout_ns;  // longest wait inside a call; UINT64_MAX: any
  bool shares_host_memory;
  bool has_times;          // opened for profiling
  bool keeps_no_binaries;  // see the quirks in device.c
  atomic_bool is_lost;
  atomic_uint_fast64_t used_bytes;
} opencl_device;

// A sub-buffer from `offset` to the buffer's end.
typedef struct opencl_part {
  cl_mem memory;  // NULL: the slot is empty
  size_t offset;
} opencl_part;

typedef struct opencl_buffer {
  cl_mem memory;
  size_t bytes;
  tsri_mutex lock;     // of what follows
  opencl_part *parts;  // a hash table by offset
  uint32_t part_count, slot_count;
} opencl_buffer;

typedef struct opencl_queue {
  opencl_device *device;
  cl_command_queue commands;
  bool has_work;  // queued since the last wait that succeeded
} opencl_queue;

// error.c

// "CL_OUT_OF_RESOURCES"; "an unknown code" for a number that is none.
const char *tsri_opencl_code_name(cl_int code);

// The status of a call that answered `code`, which is not CL_SUCCESS, with a message: the device, what was tried
// (printf style), the code's number and name. Memory and loss of the device have statuses of their own; the rest is
// `otherwise`. `device` may be NULL.
tsr_status tsri_opencl_fail(opencl_device *device, cl_int code, tsr_status otherwise, const char *place,
                            const char *format, ...) TSRI_PRINTF(5, 6);
#define OPENCL_FAIL(device, code, otherwise, ...) \
  tsri_opencl_fail((device), (code), (otherwise), TSRI_PLACE, __VA_ARGS__)

// Codes that NVIDIA's driver, and others, give for every call after a kernel has crashed, but for lesser things too.
bool tsri_opencl_may_mean_loss(cl_int code);

// TSR_ERR_DEVICE_LOST if the device was lost in an earlier call.
tsr_status tsri_opencl_check(opencl_device *device);

// queue.c

// Waits for all that was queued. CL_RUNNING: it takes longer than `timeout_ns`; else the code of what went wrong.
cl_int tsri_opencl_wait(cl_command_queue commands, uint64_t timeout_ns);

// The status of work that takes longer.
tsr_status tsri_opencl_overdue(const opencl_device *device, uint64_t timeout_ns);

// Before each command: TSR_ERR_DEVICE_LOST, or the next wait has something to wait for.
tsr_status tsri_opencl_begin(opencl_queue *queue);

// buffer.c

// The memory object that begins at `offset` of the buffer: the buffer's own or a sub-buffer, which lives as long. Any thread.
tsr_status tsri_opencl_bind(opencl_device *device, opencl_buffer *buffer, size_t offset, cl_mem *out_memory);

// program.c

// The cache's file for this text built for this device with these options; see tsri_cache_path.
char *tsri_opencl_cache_path(const opencl_device *device, const char *options, const void *text, size_t text_bytes);

TSRI_DECLARE_DRIVER(opencl);
void tsri_opencl_stop(void);

#endif
#endif
