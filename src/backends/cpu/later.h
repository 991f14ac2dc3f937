// SPDX-License-Identifier: MIT
// Queues of the CPU that have their own thread: queued work is copied into a job, which the thread executes later.
//
// Such a queue is a copy of its device's record, so that the functions that do the work get a device with its own scratch memory.
#ifndef TSRI_CPU_LATER_H
#define TSRI_CPU_LATER_H

#include "backends/cpu/cpu.h"

// Creates a queue with a thread. `*out_queue` stays the device's first queue if the system has no further thread.
tsr_status tsri_cpu_later_create(cpu_device *device, tsri_queue **out_queue);
void tsri_cpu_later_destroy(cpu_device *queue);

// Waits for all jobs. Errors: TSR_ERR_TIMEOUT, or the status of the first job that failed since the last wait.
tsr_status tsri_cpu_later_wait(cpu_device *queue, uint64_t timeout_ns);
// As tsri_cpu_later_wait, without a time-out; a failure is kept for the next wait.
void tsri_cpu_later_idle(cpu_device *queue);

// Add a job to the queue. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_later_launch(cpu_device *queue, tsri_program *program, const tsri_launch *launch,
                                 uint32_t params_bytes);
tsr_status tsri_cpu_later_op(cpu_device *queue, const tsri_native_op *op);
tsr_status tsri_cpu_later_copy(cpu_device *queue, char *to, const char *from, size_t bytes);
tsr_status tsri_cpu_later_fill(cpu_device *queue, char *to, size_t bytes, const void *pattern, size_t pattern_bytes);

// Do the work of the jobs, on the calling thread.
tsr_status tsri_cpu_launch_now(cpu_device *device, const tsri_program *program, const tsri_launch *launch);
tsr_status tsri_cpu_run_op_now(cpu_device *device, const tsri_native_op *op);
void tsri_cpu_copy_now(const cpu_device *device, char *to, const char *from, size_t bytes);
void tsri_cpu_fill_now(const cpu_device *device, char *to, size_t bytes, const void *pattern, size_t pattern_bytes);

#endif
