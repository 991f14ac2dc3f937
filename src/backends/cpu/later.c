// SPDX-License-Identifier: MIT
// The jobs of a queue with its own thread, and events, which happen when that thread reaches them.
#include "backends/cpu/later.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"
#include "platform/worker.h"

struct cpu_later {
  tsri_worker *worker;
  tsri_mutex lock;    // guards the two below
  tsr_status status;  // of the first job that failed since the last wait
  char message[TSRI_ERROR_BYTES];
};

// One struct for all kinds of jobs; memory for bindings and parameters follows it.
typedef struct cpu_job {
  tsri_job job;
  cpu_device *queue;
  tsr_status (*work)(const struct cpu_job *job);
  tsri_program *program;
  tsri_launch launch;
  char *to;
  const char *from;
  size_t bytes, pattern_bytes;
  struct cpu_event *event;
  tsri_worker *worker;  // that the job waits for
  uint64_t number;
  tsri_native_op op;
  _Alignas(16) char data[];
} cpu_job;

typedef struct cpu_event {
  tsri_mutex lock;
  uint64_t recorded, passed;  // how often it was recorded, and how often a queue has reached it
  uint64_t at_ns;
  tsr_status status;  // first failure of the work before it
  char message[256];
  tsri_worker *
      worker;  // thread of the queue it was last recorded on, and the number of the job; NULL: that queue has no thread
  uint64_t number;
} cpu_event;

// --- Queues -----------------------------------------------------------------------------------------------------------

tsr_status tsri_cpu_later_create(cpu_device *device, tsri_queue **out_queue) {
  struct cpu_later *later = tsri_calloc(1, sizeof *later);
  cpu_device *queue = tsri_calloc(1, sizeof *queue);
  tsri_worker *worker = later && queue ? tsri_worker_create() : NULL;
  if (!worker) {
    bool is_out = !later || !queue;
    tsri_free(queue);
    tsri_free(later);
    return is_out ? TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for a queue's record") : TSR_OK;
  }
  later->worker = worker;
  tsri_mutex_init(&later->lock);
  *queue = (cpu_device){.threads = device->threads,
                        .simd = device->simd,
                        .units = device->units,
                        .allow_sleef = device->allow_sleef,
                        .allow_lapack = device->allow_lapack,
                        .allow_jit = device->allow_jit,
                        .interpreted_items = device->interpreted_items,
                        .timeout_ns = device->timeout_ns,
                        .engine = *tsri_cpu_engine(device),
                        .later = later};
  *out_queue = (tsri_queue *)queue;
  return TSR_OK;
}

void tsri_cpu_later_destroy(cpu_device *queue) {
  struct cpu_later *later = queue->later;
  tsri_worker_destroy(later->worker);
  tsri_mutex_deinit(&later->lock);
  tsri_aligned_free(queue->scratch);
  tsri_free(later);
  tsri_free(queue);
}

void tsri_cpu_later_idle(cpu_device *queue) {
  tsri_worker *worker = queue->later->worker;
  (void)tsri_worker_wait(worker, tsri_worker_added(worker), UINT64_MAX);
}

tsr_status tsri_cpu_later_wait(cpu_device *queue, uint64_t timeout_ns) {
  struct cpu_later *later = queue->later;
  if (!tsri_worker_wait(later->worker, tsri_worker_added(later->worker), timeout_ns)) {
    return TSRI_FAIL(TSR_ERR_TIMEOUT, "cpu: work did not finish within %.3f ms", (double)timeout_ns / 1e6);
  }
  tsri_mutex_lock(&later->lock);
  tsr_status status = later->status;
  if (status != TSR_OK) status = TSRI_FAIL(status, "%s", later->message);
  later->status = TSR_OK;
  tsri_mutex_unlock(&later->lock);
  return status;
}

// --- Jobs -------------------------------------------------------------------------------------------------------------

static void run_job(tsri_job *base) {
  cpu_job *job = (cpu_job *)base;
  struct cpu_later *later = job->queue->later;
  tsr_status status = job->work(job);
  if (status != TSR_OK) {
    tsri_mutex_lock(&later->lock);
    if (later->status == TSR_OK) snprintf(later->message, sizeof later->message, "%s", tsr_last_error());
    if (later->status == TSR_OK) later->status = status;
    tsri_mutex_unlock(&later->lock);
  }
  tsri_free(job);
}

static cpu_job *new_job(cpu_device *queue, tsr_status (*work)(const cpu_job *job), size_t data_bytes) {
  cpu_job *job = tsri_malloc(sizeof *job + data_bytes);
  if (!job) {
    TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for what is queued");
    return NULL;
  }
  job->job.run = run_job;
  job->queue = queue;
  job->work = work;
  return job;
}

static tsr_status add_job(cpu_job *job) {
  (void)tsri_worker_add(job->queue->later->worker, &job->job);
  return TSR_OK;
}

static tsr_status launch_job(const cpu_job *job) { return tsri_cpu_launch_now(job->queue, job->program, &job->launch); }

tsr_status tsri_cpu_later_launch(cpu_device *queue, tsri_program *program, const tsri_launch *launch,
                                 uint32_t params_bytes) {
  size_t binding_bytes = launch->buffer_count * sizeof *launch->buffers;
  cpu_job *job = new_job(queue, launch_job, binding_bytes + params_bytes);
  if (!job) return TSR_ERR_OUT_OF_MEMORY;
  if (binding_bytes > 0) memcpy(job->data, launch->buffers, binding_bytes);
  if (params_bytes > 0) memcpy(job->data + binding_bytes, launch->params, params_bytes);
  job->program = program;
  job->launch = *launch;
  job->launch.buffers = (const tsri_binding *)(const void *)job->data;
  job->launch.params = job->data + binding_bytes;
  return add_job(job);
}

static tsr_status op_job(const cpu_job *job) { return tsri_cpu_run_op_now(job->queue, &job->op); }

tsr_status tsri_cpu_later_op(cpu_device *queue, const tsri_native_op *op) {
  cpu_job *job = new_job(queue, op_job, 0);
  if (!job) return TSR_ERR_OUT_OF_MEMORY;
  job->op = *op;
  return add_job(job);
}

static tsr_status copy_job(const cpu_job *job) {
  tsri_cpu_copy_now(job->queue, job->to, job->from, job->bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_later_copy(cpu_device *queue, char *to, const char *from, size_t bytes) {
  cpu_job *job = new_job(queue, copy_job, 0);
  if (!job) return TSR_ERR_OUT_OF_MEMORY;
  job->to = to;
  job->from = from;
  job->bytes = bytes;
  return add_job(job);
}

static tsr_status fill_job(const cpu_job *job) {
  tsri_cpu_fill_now(job->queue, job->to, job->bytes, job->data, job->pattern_bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_later_fill(cpu_device *queue, char *to, size_t bytes, const void *pattern, size_t pattern_bytes) {
  cpu_job *job = new_job(queue, fill_job, pattern_bytes);
  if (!job) return TSR_ERR_OUT_OF_MEMORY;
  memcpy(job->data, pattern, pattern_bytes);
  job->to = to;
  job->bytes = bytes;
  job->pattern_bytes = pattern_bytes;
  return add_job(job);
}

// --- Events -----------------------------------------------------------------------------------------------------------

tsr_status tsri_cpu_event_create(tsri_device *device, tsri_event **out_event) {
  (void)device;
  cpu_event *event = tsri_calloc(1, sizeof *event);
  if (!event) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for an event's record");
  tsri_mutex_init(&event->lock);
  *out_event = (tsri_event *)event;
  return TSR_OK;
}

static bool has_passed(cpu_event *event) {
  tsri_mutex_lock(&event->lock);
  bool has = event->passed == event->recorded;
  tsri_mutex_unlock(&event->lock);
  return has;
}

void tsri_cpu_event_destroy(tsri_device *device, tsri_event *opaque) {
  (void)device;
  cpu_event *event = (cpu_event *)opaque;
  while (!has_passed(event)) tsri_sleep_ns(20 * 1000);  // a job still refers to it
  tsri_mutex_deinit(&event->lock);
  tsri_free(event);
}

static void pass(cpu_event *event) {
  tsri_mutex_lock(&event->lock);
  event->at_ns = tsri_clock_ns();
  event->passed++;
  tsri_mutex_unlock(&event->lock);
}

static tsr_status pass_job(const cpu_job *job) {
  struct cpu_later *later = job->queue->later;
  cpu_event *event = job->event;
  tsri_mutex_lock(&later->lock);
  tsr_status status = later->status;
  if (status != TSR_OK) {
    tsri_mutex_lock(&event->lock);
    event->status = status;
    snprintf(event->message, sizeof event->message, "%.*s", (int)sizeof event->message - 1, later->message);
    tsri_mutex_unlock(&event->lock);
  }
  tsri_mutex_unlock(&later->lock);
  pass(event);
  return TSR_OK;
}

tsr_status tsri_cpu_event_record(tsri_queue *opaque, tsri_event *opaque_event) {
  cpu_device *queue = (cpu_device *)opaque;
  cpu_event *event = (cpu_event *)opaque_event;
  cpu_job *job = queue->later ? new_job(queue, pass_job, 0) : NULL;
  if (queue->later && !job) return TSR_ERR_OUT_OF_MEMORY;
  tsri_mutex_lock(&event->lock);
  event->recorded++;
  event->status = TSR_OK;
  event->worker = NULL;
  if (job) {
    job->event = event;
    event->worker = queue->later->worker;
    event->number = tsri_worker_add(event->worker, &job->job);
  }
  tsri_mutex_unlock(&event->lock);
  if (!job) pass(event);
  return TSR_OK;
}

static tsr_status await_job(const cpu_job *job) {
  (void)tsri_worker_wait(job->worker, job->number, UINT64_MAX);
  return TSR_OK;
}

// A queue without its own thread waits inside this call.
tsr_status tsri_cpu_event_await(tsri_queue *opaque, tsri_event *opaque_event) {
  cpu_device *queue = (cpu_device *)opaque;
  cpu_event *event = (cpu_event *)opaque_event;
  tsri_mutex_lock(&event->lock);
  tsri_worker *worker = event->worker;
  uint64_t number = event->number;
  tsri_mutex_unlock(&event->lock);
  if (!worker || (queue->later && worker == queue->later->worker)) return TSR_OK;
  if (!queue->later) {
    (void)tsri_worker_wait(worker, number, UINT64_MAX);
    return TSR_OK;
  }
  cpu_job *job = new_job(queue, await_job, 0);
  if (!job) return TSR_ERR_OUT_OF_MEMORY;
  job->worker = worker;
  job->number = number;
  return add_job(job);
}

tsr_status tsri_cpu_event_is_done(tsri_device *device, tsri_event *event, bool *out_done) {
  (void)device;
  cpu_event *cpu = (cpu_event *)event;
  tsri_mutex_lock(&cpu->lock);
  *out_done = cpu->passed == cpu->recorded;
  tsr_status status = *out_done ? cpu->status : TSR_OK;
  if (status != TSR_OK) status = TSRI_FAIL(status, "%s", cpu->message);
  tsri_mutex_unlock(&cpu->lock);
  return status;
}

tsr_status tsri_cpu_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  (void)device;
  *out_ns = ((cpu_event *)to)->at_ns - ((cpu_event *)from)->at_ns;
  return TSR_OK;
}
