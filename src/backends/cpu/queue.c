// SPDX-License-Identifier: MIT
// The CPU's queue: work runs inside the call that queues it, so waits return at once. Events are points in time.
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "platform/parallel.h"
#include "platform/platform.h"

typedef struct cpu_event {
  uint64_t at_ns;
} cpu_event;

tsr_status tsri_cpu_queue_create(tsri_device *device, tsri_queue **out_queue) {
  *out_queue = (tsri_queue *)device;  // a queue needs to know its device and nothing else
  return TSR_OK;
}

void tsri_cpu_queue_destroy(tsri_queue *queue) { (void)queue; }

tsr_status tsri_cpu_queue_wait(tsri_queue *queue, uint64_t timeout_ns) {
  (void)queue;
  (void)timeout_ns;
  return TSR_OK;
}

static char *memory_at(tsri_buffer *buffer, size_t offset) {
  return (char *)tsri_cpu_buffer_host(NULL, buffer) + offset;
}

typedef struct copy_job {
  char *to;
  const char *from;
  size_t bytes, share;  // share: of each part but the last, which takes the rest
  int parts;
} copy_job;

static void copy_share(void *user, int part) {
  const copy_job *job = user;
  size_t first = job->share * (size_t)part;
  memcpy(job->to + first, job->from + first, part == job->parts - 1 ? job->bytes - first : job->share);
}

// Long copies are shared by the threads: one core does not fill the memory's bandwidth.
static void copy_bytes(const tsri_queue *queue, char *to, const char *from, size_t bytes) {
  enum { WORTH_A_THREAD = 1 << 20 };
  int threads = tsri_cpu_threads((const cpu_device *)queue, bytes / WORTH_A_THREAD);
  if (threads == 1) {
    memcpy(to, from, bytes);
    return;
  }
  int parts = tsri_cpu_parts(threads, bytes / WORTH_A_THREAD);
  copy_job job = {to, from, bytes, bytes / (size_t)parts, parts};
  tsri_parallel(threads, parts, copy_share, &job);
}

tsr_status tsri_cpu_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  copy_bytes(queue, memory_at(dst, dst_offset), src, bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  copy_bytes(queue, dst, memory_at(src, src_offset), bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                         size_t bytes) {
  copy_bytes(queue, memory_at(dst, dst_offset), memory_at(src, src_offset), bytes);
  return TSR_OK;
}

typedef struct fill_job {
  char *to;
  size_t bytes, stretch, share;  // share: of each part but the last, which takes the rest; a multiple of `stretch`
  int parts;
} fill_job;

// Copies the first stretch, which stays in the first-level cache.
static void fill_share(void *user, int part) {
  const fill_job *job = user;
  size_t at = job->share * (size_t)part, end = part == job->parts - 1 ? job->bytes : at + job->share;
  for (at = at == 0 ? job->stretch : at; at < end; at += job->stretch) {
    memcpy(job->to + at, job->to, end - at < job->stretch ? end - at : job->stretch);
  }
}

tsr_status tsri_cpu_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                         size_t pattern_bytes) {
  enum { STRETCH = 4096, WORTH_A_THREAD = 1 << 19 };  // bytes; a stretch is a multiple of every pattern's size
  char *to = memory_at(dst, offset);
  for (size_t done = 0; done < bytes && done < STRETCH; done += pattern_bytes) {
    memcpy(to + done, pattern, pattern_bytes);
  }
  if (bytes <= STRETCH) return TSR_OK;
  int threads = tsri_cpu_threads((const cpu_device *)queue, bytes / WORTH_A_THREAD);
  int parts = tsri_cpu_parts(threads, bytes / WORTH_A_THREAD + 1);
  fill_job job = {to, bytes, STRETCH, bytes / (size_t)parts / STRETCH * STRETCH, parts};
  tsri_parallel(threads, parts, fill_share, &job);
  return TSR_OK;
}

tsr_status tsri_cpu_event_create(tsri_device *device, tsri_event **out_event) {
  (void)device;
  cpu_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for an event's record");
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

void tsri_cpu_event_destroy(tsri_device *device, tsri_event *event) {
  (void)device;
  tsri_free(event);
}

tsr_status tsri_cpu_event_record(tsri_queue *queue, tsri_event *event) {
  (void)queue;
  ((cpu_event *)event)->at_ns = tsri_clock_ns();
  return TSR_OK;
}

tsr_status tsri_cpu_event_await(tsri_queue *queue, tsri_event *event) {
  (void)queue;
  (void)event;
  return TSR_OK;
}

tsr_status tsri_cpu_event_is_done(tsri_device *device, tsri_event *event, bool *out_done) {
  (void)device;
  (void)event;
  *out_done = true;
  return TSR_OK;
}

tsr_status tsri_cpu_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  (void)device;
  *out_ns = ((cpu_event *)to)->at_ns - ((cpu_event *)from)->at_ns;
  return TSR_OK;
}
