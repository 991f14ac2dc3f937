// SPDX-License-Identifier: MIT
// Fault injection: a copy of the inner table whose entries count, fail or forward.
//
// Only device and queue handles are wrapped, because every entry takes one of the two first; buffers, events
// and programs pass through as they are. Entries the inner backend does not have stay NULL.
#include "backends/fault/fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"

// name, status, what the message calls it
#define FAULTS(X)                               \
  X(alloc, TSR_ERR_OUT_OF_MEMORY, "allocation") \
  X(copy, TSR_ERR_INTERNAL, "copy")             \
  X(build, TSR_ERR_BUILD, "build")              \
  X(launch, TSR_ERR_LAUNCH, "launch")           \
  X(wait, TSR_ERR_TIMEOUT, "wait")              \
  X(event, TSR_ERR_INTERNAL, "use of an event") \
  X(lost, TSR_ERR_DEVICE_LOST, "call (device lost)")

typedef enum fault_kind {
#define TSRI_X(name, status, noun) FAULT_##name,
  FAULTS(TSRI_X)
#undef TSRI_X
      FAULT_COUNT
} fault_kind;

static const struct {
  const char *name;
  tsr_status status;
  const char *noun;
} fault_kinds[] = {
#define TSRI_X(name, status, noun) {#name, status, noun},
    FAULTS(TSRI_X)
#undef TSRI_X
};

typedef struct fault_rule {
  uint64_t at;  // 0: never
  bool and_after;
  atomic_uint_fast64_t seen;
} fault_rule;

typedef struct fault_device {
  tsri_backend table;  // what the core calls
  const tsri_backend *inner;
  tsri_device *handle;
  atomic_bool is_armed;
  uint64_t slow_ns;
  fault_rule rules[FAULT_COUNT];
} fault_device;

typedef struct fault_queue {
  fault_device *device;
  tsri_queue *handle;
  uint64_t ready_ns;  // when slow work will have finished
} fault_queue;

static fault_device *of_device(tsri_device *handle) { return (fault_device *)(void *)handle; }
static fault_queue *of_queue(tsri_queue *handle) { return (fault_queue *)(void *)handle; }

static tsr_status apply_rule(fault_device *device, fault_kind kind) {
  fault_rule *rule = &device->rules[kind];
  if (rule->at == 0) return TSR_OK;
  uint64_t nth = atomic_fetch_add(&rule->seen, 1) + 1;
  if (nth != rule->at && !(rule->and_after && nth > rule->at)) return TSR_OK;
  return TSRI_FAIL(fault_kinds[kind].status, "%s number %llu failed on purpose (TESSERA_FAULTS)",
                   fault_kinds[kind].noun, (unsigned long long)nth);
}

static tsr_status before(fault_device *device, fault_kind kind) {
  if (!atomic_load(&device->is_armed)) return TSR_OK;
  tsr_status status = apply_rule(device, FAULT_lost);
  return status != TSR_OK ? status : apply_rule(device, kind);
}

// As `before`, for work on a queue: with the fault "slow", also notes that this work finishes late.
static tsr_status before_work(fault_queue *queue, fault_kind kind) {
  tsr_status status = before(queue->device, kind);
  if (status == TSR_OK && queue->device->slow_ns && atomic_load(&queue->device->is_armed)) {
    uint64_t now = tsri_clock_ns();
    uint64_t from = queue->ready_ns > now ? queue->ready_ns : now, slow = queue->device->slow_ns;
    queue->ready_ns = slow < UINT64_MAX - from ? from + slow : UINT64_MAX;
  }
  return status;
}

static void fault_device_close(tsri_device *handle) {
  fault_device *device = of_device(handle);
  device->inner->device_close(device->handle);
  tsri_free(device);
}

static tsr_status fault_memory_info(tsri_device *handle, uint64_t *out_free, uint64_t *out_total) {
  return of_device(handle)->inner->memory_info(of_device(handle)->handle, out_free, out_total);
}

static tsr_status fault_buffer_create(tsri_device *handle, size_t bytes, tsri_buffer **out_buffer) {
  tsr_status status = before(of_device(handle), FAULT_alloc);
  return status != TSR_OK ? status
                          : of_device(handle)->inner->buffer_create(of_device(handle)->handle, bytes, out_buffer);
}

static void fault_buffer_destroy(tsri_device *handle, tsri_buffer *buffer) {
  of_device(handle)->inner->buffer_destroy(of_device(handle)->handle, buffer);
}

static void *fault_buffer_host(tsri_device *handle, tsri_buffer *buffer) {
  return of_device(handle)->inner->buffer_host(of_device(handle)->handle, buffer);
}

static tsr_status fault_buffer_import(tsri_device *handle, void *memory, size_t bytes, tsri_buffer **out_buffer) {
  tsr_status status = before(of_device(handle), FAULT_alloc);
  if (status != TSR_OK) return status;
  return of_device(handle)->inner->buffer_import(of_device(handle)->handle, memory, bytes, out_buffer);
}

static tsr_status fault_queue_create(tsri_device *handle, tsri_queue **out_queue) {
  fault_queue *queue = tsri_calloc(1, sizeof *queue);
  if (!queue) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "queue_create: no host memory for its record");
  queue->device = of_device(handle);
  tsr_status status = queue->device->inner->queue_create(queue->device->handle, &queue->handle);
  if (status != TSR_OK) {
    tsri_free(queue);
    return status;
  }
  *out_queue = (tsri_queue *)(void *)queue;
  return TSR_OK;
}

static void fault_queue_destroy(tsri_queue *handle) {
  fault_queue *queue = of_queue(handle);
  queue->device->inner->queue_destroy(queue->handle);
  tsri_free(queue);
}

static tsr_status fault_queue_wait(tsri_queue *handle, uint64_t timeout_ns) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before(queue->device, FAULT_wait);
  // A wait without a time-out promises that nothing runs afterwards, even if it fails: so really wait before reporting the fault.
  if (status != TSR_OK && timeout_ns == UINT64_MAX) (void)queue->device->inner->queue_wait(queue->handle, timeout_ns);
  if (status != TSR_OK) return status;
  if (!atomic_load(&queue->device->is_armed)) return queue->device->inner->queue_wait(queue->handle, timeout_ns);
  uint64_t now = tsri_clock_ns(), left = queue->ready_ns > now ? queue->ready_ns - now : 0;
  tsri_sleep_ns(left < timeout_ns ? left : timeout_ns);
  if (left > timeout_ns) {
    return TSRI_FAIL(TSR_ERR_TIMEOUT, "the work needs %llu ms more than the %llu ms allowed (TESSERA_FAULTS slow)",
                     (unsigned long long)((left - timeout_ns) / 1000000), (unsigned long long)(timeout_ns / 1000000));
  }
  return queue->device->inner->queue_wait(queue->handle, timeout_ns);
}

static tsr_status fault_copy_in(tsri_queue *handle, tsri_buffer *dst, size_t dst_offset, const void *src,
                                size_t bytes) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before_work(queue, FAULT_copy);
  return status != TSR_OK ? status : queue->device->inner->copy_in(queue->handle, dst, dst_offset, src, bytes);
}

static tsr_status fault_copy_out(tsri_queue *handle, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before_work(queue, FAULT_copy);
  return status != TSR_OK ? status : queue->device->inner->copy_out(queue->handle, dst, src, src_offset, bytes);
}

static tsr_status fault_copy(tsri_queue *handle, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src,
                             size_t src_offset, size_t bytes) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before_work(queue, FAULT_copy);
  return status != TSR_OK ? status : queue->device->inner->copy(queue->handle, dst, dst_offset, src, src_offset, bytes);
}

static tsr_status fault_fill(tsri_queue *handle, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                             size_t pattern_bytes) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before_work(queue, FAULT_copy);
  return status != TSR_OK ? status
                          : queue->device->inner->fill(queue->handle, dst, offset, bytes, pattern, pattern_bytes);
}

static tsr_status fault_event_create(tsri_device *handle, tsri_event **out_event) {
  tsr_status status = before(of_device(handle), FAULT_event);
  return status != TSR_OK ? status : of_device(handle)->inner->event_create(of_device(handle)->handle, out_event);
}

static void fault_event_destroy(tsri_device *handle, tsri_event *event) {
  of_device(handle)->inner->event_destroy(of_device(handle)->handle, event);
}

static tsr_status fault_event_record(tsri_queue *handle, tsri_event *event) {
  fault_device *device = of_queue(handle)->device;
  tsr_status status = before(device, FAULT_event);
  return status != TSR_OK ? status : device->inner->event_record(of_queue(handle)->handle, event);
}

static tsr_status fault_event_await(tsri_queue *handle, tsri_event *event) {
  fault_device *device = of_queue(handle)->device;
  tsr_status status = before(device, FAULT_event);
  return status != TSR_OK ? status : device->inner->event_await(of_queue(handle)->handle, event);
}

static tsr_status fault_event_is_done(tsri_device *handle, tsri_event *event, bool *out_done) {
  tsr_status status = before(of_device(handle), FAULT_event);
  return status != TSR_OK ? status
                          : of_device(handle)->inner->event_is_done(of_device(handle)->handle, event, out_done);
}

static tsr_status fault_event_elapsed(tsri_device *handle, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  return of_device(handle)->inner->event_elapsed(of_device(handle)->handle, from, to, out_ns);
}

static tsr_status fault_host_alloc(tsri_device *handle, size_t bytes, void **out_memory) {
  tsr_status status = before(of_device(handle), FAULT_alloc);
  return status != TSR_OK ? status : of_device(handle)->inner->host_alloc(of_device(handle)->handle, bytes, out_memory);
}

static void fault_host_free(tsri_device *handle, void *memory) {
  of_device(handle)->inner->host_free(of_device(handle)->handle, memory);
}

static tsr_status fault_host_register(tsri_device *handle, void *memory, size_t bytes) {
  tsr_status status = before(of_device(handle), FAULT_alloc);
  return status != TSR_OK ? status : of_device(handle)->inner->host_register(of_device(handle)->handle, memory, bytes);
}

static void fault_host_unregister(tsri_device *handle, void *memory) {
  of_device(handle)->inner->host_unregister(of_device(handle)->handle, memory);
}

static tsr_status fault_program_create(tsri_device *handle, const tsri_code *code, tsri_program **out_program) {
  tsr_status status = before(of_device(handle), FAULT_build);
  return status != TSR_OK ? status
                          : of_device(handle)->inner->program_create(of_device(handle)->handle, code, out_program);
}

static void fault_program_destroy(tsri_device *handle, tsri_program *program) {
  of_device(handle)->inner->program_destroy(of_device(handle)->handle, program);
}

static tsr_status fault_launch(tsri_queue *handle, tsri_program *program, const tsri_launch *launch) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before_work(queue, FAULT_launch);
  return status != TSR_OK ? status : queue->device->inner->launch(queue->handle, program, launch);
}

static bool fault_has_op(tsri_device *handle, const tsri_native_op *op) {
  return of_device(handle)->inner->has_op(of_device(handle)->handle, op);
}

static tsr_status fault_run_op(tsri_queue *handle, const tsri_native_op *op) {
  fault_queue *queue = of_queue(handle);
  tsr_status status = before_work(queue, FAULT_launch);
  return status != TSR_OK ? status : queue->device->inner->run_op(queue->handle, op);
}

// Wraps the entries the inner table has. Graphs and peer copies are left out: the core then does without them,
// launch by launch and through the host, where each step can fail.
static void wrap_table(fault_device *device) {
  tsri_backend *table = &device->table;
  const tsri_backend *inner = device->inner;
  *table = *inner;
#define WRAP(entry) table->entry = inner->entry ? fault_##entry : NULL
  WRAP(device_close);
  WRAP(memory_info);
  WRAP(buffer_create);
  WRAP(buffer_destroy);
  WRAP(buffer_host);
  WRAP(buffer_import);
  WRAP(queue_create);
  WRAP(queue_destroy);
  WRAP(queue_wait);
  WRAP(copy_in);
  WRAP(copy_out);
  WRAP(copy);
  WRAP(fill);
  WRAP(event_create);
  WRAP(event_destroy);
  WRAP(event_record);
  WRAP(event_await);
  WRAP(event_is_done);
  WRAP(event_elapsed);
  WRAP(program_create);
  WRAP(program_destroy);
  WRAP(launch);
  WRAP(has_op);
  WRAP(run_op);
  WRAP(host_alloc);
  WRAP(host_free);
  WRAP(host_register);
  WRAP(host_unregister);
#undef WRAP
  table->sharing = NULL;
  table->graph_begin = NULL;
  table->graph_end = NULL;
  table->graph_launch = NULL;
  table->graph_destroy = NULL;
  table->copy_peer = NULL;
}

static tsr_status bad_part(const char *part, size_t length) {
  return TSRI_FAIL(
      TSR_ERR_CONFIG,
      "TESSERA_FAULTS: '%.*s' is not a fault; allowed are alloc:N, copy:N, build:N, launch:N, wait:N, lost:N "
      "(N from 1, 'N+' for all after it too) and slow:TIME such as slow:20ms, separated by commas",
      (int)length, part);
}

static const char *parse_count(const char *text, uint64_t *out_count) {
  if (*text < '0' || *text > '9') return NULL;
  char *end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (value == 0 || errno == ERANGE) return NULL;
  *out_count = value;
  return end;
}

// "20ms", "1s", "500us"; milliseconds without a unit.
static const char *parse_time(const char *text, uint64_t *out_ns) {
  static const struct {
    const char *suffix;
    uint64_t ns;
  } units[] = {{"ms", 1000000}, {"us", 1000}, {"s", 1000000000}, {"", 1000000}};
  uint64_t value = 0;
  const char *end = parse_count(text, &value);
  if (!end || value > UINT32_MAX) return NULL;
  for (size_t i = 0;; i++) {
    size_t length = strlen(units[i].suffix);
    if (strncmp(end, units[i].suffix, length) != 0) continue;
    *out_ns = value * units[i].ns;
    return end + length;
  }
}

// One "kind:value"; returns where it ends, or NULL.
static const char *parse_part(fault_device *device, const char *part) {
  if (strncmp(part, "slow:", 5) == 0) return parse_time(part + 5, &device->slow_ns);
  for (int kind = 0; kind < FAULT_COUNT; kind++) {
    size_t length = strlen(fault_kinds[kind].name);
    if (strncmp(part, fault_kinds[kind].name, length) != 0 || part[length] != ':') continue;
    fault_rule *rule = &device->rules[kind];
    const char *end = parse_count(part + length + 1, &rule->at);
    rule->and_after = kind == FAULT_lost || (end && *end == '+');
    return end && *end == '+' ? end + 1 : end;
  }
  return NULL;
}

static tsr_status parse(fault_device *device, const char *text) {
  for (const char *part = text; *part;) {
    const char *end = parse_part(device, part);
    if (!end || (*end && *end != ',')) return bad_part(part, strcspn(part, ","));
    part = *end == ',' ? end + 1 : end;
  }
  return TSR_OK;
}

tsr_status tsri_fault_wrap(const char *text, const tsri_backend **backend, tsri_device **handle) {
  fault_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "faults: no host memory for the wrapper");
  tsr_status status = parse(device, text);
  if (status != TSR_OK) {
    tsri_free(device);
    return status;
  }
  device->inner = *backend;
  device->handle = *handle;
  wrap_table(device);
  *backend = &device->table;
  *handle = (tsri_device *)(void *)device;
  return TSR_OK;
}

void tsri_fault_arm(tsri_device *handle) { atomic_store(&of_device(handle)->is_armed, true); }
void tsri_fault_disarm(tsri_device *handle) { atomic_store(&of_device(handle)->is_armed, false); }
