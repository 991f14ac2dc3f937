// SPDX-License-Identifier: MIT
// Queues of the CPU, copies and fills. Work on the first queue runs inside the call that queues it; each further queue has a thread (later.h).
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/later.h"
#include "platform/parallel.h"

tsr_status tsri_cpu_queue_create(tsri_device *opaque, tsri_queue **out_queue) {
  cpu_device *device = (cpu_device *)opaque;
  *out_queue = (tsri_queue *)device;
  if (atomic_fetch_add(&device->queue_count, 1) == 0) return TSR_OK;
  return tsri_cpu_later_create(device, out_queue);
}

void tsri_cpu_queue_destroy(tsri_queue *queue) {
  if (((cpu_device *)queue)->later) tsri_cpu_later_destroy((cpu_device *)queue);
}

tsr_status tsri_cpu_queue_wait(tsri_queue *queue, uint64_t timeout_ns) {
  cpu_device *device = (cpu_device *)queue;
  return device->later ? tsri_cpu_later_wait(device, timeout_ns) : TSR_OK;
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

// Long copies are divided among threads, because one core does not use the full memory bandwidth.
void tsri_cpu_copy_now(const cpu_device *device, char *to, const char *from, size_t bytes) {
  enum { WORTH_A_THREAD = 1 << 20 };
  int threads = tsri_cpu_threads(device, bytes / WORTH_A_THREAD);
  if (threads == 1) {
    memcpy(to, from, bytes);
    return;
  }
  int parts = tsri_cpu_parts(threads, bytes / WORTH_A_THREAD);
  copy_job job = {to, from, bytes, bytes / (size_t)parts, parts};
  tsri_parallel(threads, parts, copy_share, &job);
}

static tsr_status copy_bytes(tsri_queue *queue, char *to, const char *from, size_t bytes) {
  cpu_device *device = (cpu_device *)queue;
  if (device->later) return tsri_cpu_later_copy(device, to, from, bytes);
  tsri_cpu_copy_now(device, to, from, bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_copy_in(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes) {
  return copy_bytes(queue, memory_at(dst, dst_offset), src, bytes);
}

tsr_status tsri_cpu_copy_out(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  return copy_bytes(queue, dst, memory_at(src, src_offset), bytes);
}

tsr_status tsri_cpu_copy(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                         size_t bytes) {
  return copy_bytes(queue, memory_at(dst, dst_offset), memory_at(src, src_offset), bytes);
}

typedef struct fill_job {
  char *to;
  size_t bytes, stretch, share;  // share: of each part but the last, which takes the rest; a multiple of `stretch`
  int parts;
} fill_job;

// Repeats the first stretch, which stays in the first-level cache.
static void fill_share(void *user, int part) {
  const fill_job *job = user;
  size_t at = job->share * (size_t)part, end = part == job->parts - 1 ? job->bytes : at + job->share;
  for (at = at == 0 ? job->stretch : at; at < end; at += job->stretch) {
    memcpy(job->to + at, job->to, end - at < job->stretch ? end - at : job->stretch);
  }
}

tsr_status tsri_cpu_fill(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                         size_t pattern_bytes) {
  cpu_device *device = (cpu_device *)queue;
  char *to = memory_at(dst, offset);
  if (device->later) return tsri_cpu_later_fill(device, to, bytes, pattern, pattern_bytes);
  tsri_cpu_fill_now(device, to, bytes, pattern, pattern_bytes);
  return TSR_OK;
}

void tsri_cpu_fill_now(const cpu_device *device, char *to, size_t bytes, const void *pattern, size_t pattern_bytes) {
  enum { STRETCH = 4096, WORTH_A_THREAD = 1 << 19 };  // bytes; a stretch is a multiple of every pattern's size
  size_t first = bytes < STRETCH ? bytes : STRETCH;
  memcpy(to, pattern, bytes < pattern_bytes ? bytes : pattern_bytes);
  for (size_t done = pattern_bytes; done < first; done *= 2)
    memcpy(to + done, to, done < first - done ? done : first - done);
  if (bytes <= STRETCH) return;
  int threads = tsri_cpu_threads(device, bytes / WORTH_A_THREAD);
  int parts = tsri_cpu_parts(threads, bytes / WORTH_A_THREAD + 1);
  fill_job job = {to, bytes, STRETCH, bytes / (size_t)parts / STRETCH * STRETCH, parts};
  tsri_parallel(threads, parts, fill_share, &job);
}
