// SPDX-License-Identifier: MIT
// What the files of the OpenCL backend share.
#ifndef TSRI_OPENCL_H
#define TSRI_OPENCL_H

#include "backends/backend.h"
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

// The table's entries, by the file they are in.
// device.c
void tsri_opencl_stop(void);
tsr_status tsri_opencl_device_count(int *out_count);
tsr_status tsri_opencl_device_info(int index, tsr_device_info *out_info);
tsr_status tsri_opencl_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                   tsri_device **out_device);
void tsri_opencl_device_close(tsri_device *device);
tsr_status tsri_opencl_memory_info(tsri_device *device, uint64_t *out_free, uint64_t *out_total);
// buffer.c
tsr_status tsri_opencl_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer);
void tsri_opencl_buffer_destroy(tsri_device *device, tsri_buffer *buffer);
// queue.c
tsr_status tsri_opencl_queue_create(tsri_device *device, tsri_queue **out_queue);
void tsri_opencl_queue_destroy(tsri_queue *queue);
tsr_status tsri_opencl_queue_wait(tsri_queue *queue, uint64_t timeout_ns);
tsr_status tsri_opencl_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes);
tsr_status tsri_opencl_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes);
tsr_status tsri_opencl_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                            size_t bytes);
tsr_status tsri_opencl_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                            size_t pattern_bytes);
// event.c
tsr_status tsri_opencl_event_create(tsri_device *device, tsri_event **out_event);
void tsri_opencl_event_destroy(tsri_device *device, tsri_event *event);
tsr_status tsri_opencl_event_record(tsri_queue *queue, tsri_event *event);
tsr_status tsri_opencl_event_await(tsri_queue *queue, tsri_event *event);
tsr_status tsri_opencl_event_is_done(tsri_device *device, tsri_event *event, bool *out_done);
tsr_status tsri_opencl_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns);
// program.c
tsr_status tsri_opencl_program_create(tsri_device *device, const tsri_code *code, tsri_program **out_program);
void tsri_opencl_program_destroy(tsri_device *device, tsri_program *program);
tsr_status tsri_opencl_launch(tsri_queue *queue, tsri_program *program, const tsri_launch *launch);

#endif
#endif
