// SPDX-License-Identifier: MIT
// Declarations shared by the files of the OpenCL backend.
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
  cl_context context;      // contains this device only
  cl_command_queue setup;  // queue for the first use of new buffers and for checking whether the device still works
  cl_mem probe;            // a buffer of four bytes for that check
  char name[TSR_NAME_BYTES];
  char key[4 * TSR_NAME_BYTES];  // identifies device and driver in the keys of the disk cache
  uint64_t total_bytes;
  uint64_t timeout_ns;  // limit for waits inside a call; UINT64_MAX: no limit
  bool shares_host_memory;
  bool has_times;          // opened for profiling
  bool keeps_no_binaries;  // see the quirks in device.c
  atomic_bool is_lost;
  atomic_uint_fast64_t used_bytes;
  tsri_mutex pinned_lock;
  struct opencl_pinned *pinned;  // memory of host_alloc (host.c)
} opencl_device;

// A sub-buffer from `offset` to the end of its buffer.
typedef struct opencl_part {
  cl_mem memory;  // NULL: the slot is empty
  size_t offset;
} opencl_part;

typedef struct opencl_buffer {
  cl_mem memory;
  size_t bytes;
  tsri_mutex lock;     // protects the members below
  opencl_part *parts;  // hash table of sub-buffers, by offset
  uint32_t part_count, slot_count;
} opencl_buffer;

typedef struct opencl_queue {
  opencl_device *device;
  cl_command_queue commands;
  bool has_work;  // work was queued since the last successful wait
} opencl_queue;

// error.c

// Returns a code's name, as "CL_OUT_OF_RESOURCES", or "an unknown code".
const char *tsri_opencl_code_name(cl_int code);

// Converts `code`, which is not CL_SUCCESS, to a status and sets the message: the device, what was tried (printf
// style), the code's number and name. Codes for exhausted memory and a lost device have their own statuses; all others
// become `otherwise`. `device` may be NULL.
tsr_status tsri_opencl_fail(opencl_device *device, cl_int code, tsr_status otherwise, const char *place,
                            const char *format, ...) TSRI_PRINTF(5, 6);
#define OPENCL_FAIL(device, code, otherwise, ...) \
  tsri_opencl_fail((device), (code), (otherwise), TSRI_PLACE, __VA_ARGS__)

// Whether the code may mean that the device is lost. NVIDIA's and other drivers return these codes for every call
// after a kernel has crashed, but also for harmless errors.
bool tsri_opencl_may_mean_loss(cl_int code);

// Returns TSR_ERR_DEVICE_LOST if an earlier call found the device lost.
tsr_status tsri_opencl_check(opencl_device *device);

// queue.c

// Waits for all queued work. Returns CL_RUNNING if it takes longer than `timeout_ns`, or the error code of the work.
cl_int tsri_opencl_wait(cl_command_queue commands, uint64_t timeout_ns);

// Sets the message and returns the status for work that took longer than `timeout_ns`.
tsr_status tsri_opencl_overdue(const opencl_device *device, uint64_t timeout_ns);

// Call before queuing a command. Returns TSR_ERR_DEVICE_LOST, or marks the queue as having work.
tsr_status tsri_opencl_begin(opencl_queue *queue);

// buffer.c

// Returns the memory object that begins at `offset`: the buffer's own, or a sub-buffer that lives as long as the
// buffer. Any thread.
tsr_status tsri_opencl_bind(opencl_device *device, opencl_buffer *buffer, size_t offset, cl_mem *out_memory);

// program.c

// The cache file for `text` built with `options` for this device; see tsri_cache_path.
char *tsri_opencl_cache_path(const opencl_device *device, const char *options, const void *text, size_t text_bytes);

TSRI_DECLARE_DRIVER(opencl);
void tsri_opencl_stop(void);
tsr_status tsri_opencl_host_alloc(tsri_device *device, size_t bytes, void **out_memory);
void tsri_opencl_host_free(tsri_device *device, void *memory);

#endif
#endif
