// SPDX-License-Identifier: MIT
// Tapes. Steps are kept as the backend got them. If the backend has graphs, the steps become one graph when they are
// first played (tape_graph.c).
#include "runtime/tape.h"

#include <string.h>

#include "core/alloc.h"
#include "core/builder.h"
#include "core/error.h"
#include "runtime/native_op.h"
#include "runtime/program.h"
#include "runtime/sharing.h"
#include "runtime/tape_steps.h"

static void free_step(tape_step *step) {
  if (step->kind == STEP_LAUNCH) tsri_free(step->is.launch.memory);
  if (step->kind == STEP_OP) tsri_free(step->is.op.op);
}

static void destroy_tape(tsr_device *device, tsri_late *late) {
  tsri_tape *tape = (tsri_tape *)late;
  for (int i = 0; i < TSRI_MAX_TRACKS; i++) {
    if (tape->graphs[i]) device->backend->graph_destroy(device->handle, tape->graphs[i]);
  }
  for (int i = 0; i < tape->step_count; i++) free_step(&tape->steps[i]);
  for (int i = 0; i < tape->object_count; i++) tape->objects[i].release(tape->objects[i].object);
  tsri_free(tape->steps);
  tsri_free(tape->objects);
  tsri_free(tape->written);
  tsri_free(tape->spares);
  tsri_mutex_deinit(&tape->lock);
  tsri_free(tape);
}

// --- Open tapes ------------------------------------------------------------------------------------------------------

static TSRI_THREAD_LOCAL tsri_tape *current;
// Whether this thread has entered `current`, another thread's tape, and holds its lock.
static TSRI_THREAD_LOCAL bool has_locked;

// Number of open tapes of all threads. While it is 0, `current` is NULL on every thread. Every launch checks it first, because reading a thread-local
// variable is a function call in a shared library.
atomic_int tsri_open_tape_count;

// All open tapes, of all threads. Order of locks: a graph's, this one, a tape's, a device's.
static tsri_tape *first_open;
static tsri_mutex open_lock = TSRI_MUTEX_INIT;

static tsri_tape *find_open(uint64_t id) {
  tsri_tape *tape = first_open;
  while (tape && tape->id != id) tape = tape->next_open;
  return tape;
}

// Destroys the tape of a thread that ends while it tapes.
static void give_up_tape(void) { tsri_tape_destroy(tsri_tape_close()); }

static tsri_thread_end end_of_thread = {.release = give_up_tape};

bool tsri_tape_open(tsr_device *device) {
  static uint64_t last_id;
  tsri_tape *tape = tsri_calloc(1, sizeof *tape);
  if (!tape) return false;
  tape->late.destroy = destroy_tape;
  tape->device = tsr_device_retain(device);
  tsri_mutex_init(&tape->lock);
  tsri_mutex_lock(&open_lock);
  tape->id = ++last_id;
  tape->next_open = first_open;
  first_open = tape;
  atomic_fetch_add(&tsri_open_tape_count, 1);
  tsri_mutex_unlock(&open_lock);
  tsri_thread_end_set(&end_of_thread, true);
  current = tape;
  return true;
}

tsri_tape *tsri_tape_close(void) {
  tsri_tape *tape = current, **at = &first_open;
  tsri_mutex_lock(&open_lock);
  while (*at != tape) at = &(*at)->next_open;
  *at = tape->next_open;
  tsri_mutex_lock(&tape->lock);  // waits for a thread that has entered it; no other thread can find it now
  tsri_mutex_unlock(&tape->lock);
  tsri_mutex_unlock(&open_lock);
  while (tape->spare_count > 0) {
    tsri_pool_set_spare(tape->device->pool, tape->spares[--tape->spare_count].buffer->block, false);
  }
  tsri_thread_end_set(&end_of_thread, false);
  current = NULL;
  atomic_fetch_sub(&tsri_open_tape_count, 1);
  return tape;
}

bool tsri_tape_is_open(uint64_t id) {
  if (id == 0) return false;
  tsri_mutex_lock(&open_lock);
  bool is_open = find_open(id) != NULL;
  tsri_mutex_unlock(&open_lock);
  return is_open;
}

tsri_taping tsri_tape_exchange(uint64_t id) {
  tsri_taping before = {.tape = current};
  if (id == tsri_tape_id()) return before;
  current = NULL;
  if (id == 0) return before;
  tsri_mutex_lock(&open_lock);
  current = find_open(id);
  if (current) tsri_mutex_lock(&current->lock);
  tsri_mutex_unlock(&open_lock);
  before.is_locked = has_locked = current != NULL;
  return before;
}

void tsri_tape_restore(tsri_taping before) {
  if (before.is_locked) {
    has_locked = false;
    tsri_mutex_unlock(&current->lock);
  }
  current = before.tape;
}

void tsri_tape_refuses_on(uint64_t id, const tsr_device *device, const char *what) {
  tsri_mutex_lock(&open_lock);
  tsri_tape *tape = find_open(id);
  if (tape && tape->device == device) {
    tsri_mutex_lock(&tape->lock);
    tape->refused = what;
    tsri_mutex_unlock(&tape->lock);
  }
  tsri_mutex_unlock(&open_lock);
}

tsri_tape *tsri_tape_current(void) { return current; }
tsr_device *tsri_tape_device(const tsri_tape *tape) { return tape->device; }
int tsri_tape_step_count(const tsri_tape *tape) { return tape->step_count; }
uint64_t tsri_tape_current_id(void) { return current ? current->id : 0; }
int tsri_tape_written_count(const tsri_tape *tape) { return tape->written_count; }
tsr_buffer *tsri_tape_written(const tsri_tape *tape, int index) { return tape->written[index]; }

void *tsri_tape_trace(const tsri_tape *tape) { return tape->trace; }
tsri_tape_memory tsri_tape_temporaries(const tsri_tape *tape) { return tape->temporaries; }

void tsri_tape_set_trace(tsri_tape *tape, void *trace, void (*destroy)(void *trace)) {
  tape->trace = trace;
  tape->destroy_trace = destroy;
}

int tsri_tape_unexplained(const tsri_tape *tape) {
  int count = 0;
  for (int i = 0; i < tape->step_count; i++) count += !tape->steps[i].is_explained;
  return count;
}

// Played work may still be running, and the backend's graph must not be destroyed before it has finished.
void tsri_tape_destroy(tsri_tape *tape) {
  if (!tape) return;
  tsr_device *device = tape->device;
  if (tape->trace) tape->destroy_trace(tape->trace);  // not late: it releases values, whose nodes lock the graph
  tsri_late_destroy(device, &tape->late, "capture_release");
  tsr_device_release(device);
}

tsr_status tsri_tape_check(const tsri_tape *tape) {
  if (tape->refused) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "capture: %s cannot be repeated; do it before tsr_capture_begin",
                     tape->refused);
  }
  if (tape->status == TSR_OK) return TSR_OK;
  return TSRI_FAIL(tape->status, "capture: no host memory for its %d steps", tape->step_count);
}

// --- Taping ----------------------------------------------------------------------------------------------------------

// Locks and returns the calling thread's tape if it is on this device; else returns NULL.
static tsri_tape *lock_tape(const tsr_device *device) {
  if (!tsri_tape_is_any_open() || !current || current->device != device) return NULL;
  if (!has_locked) tsri_mutex_lock(&current->lock);
  return current;
}

static void unlock_tape(tsri_tape *tape) {
  if (!has_locked) tsri_mutex_unlock(&tape->lock);
}

static void fail(tsri_tape *tape) { tape->status = TSR_ERR_OUT_OF_MEMORY; }

// Makes room for one more element in a growing array.
static bool grow(tsri_tape *tape, void **array, int count, int *room, size_t bytes) {
  if (count < *room) return true;
  int more = *room ? 2 * *room : 16;
  void *larger = tsri_calloc((size_t)more, bytes);
  if (!larger) {
    fail(tape);
    return false;
  }
  if (count > 0) memcpy(larger, *array, (size_t)count * bytes);
  tsri_free(*array);
  *array = larger;
  *room = more;
  return true;
}

static TSRI_THREAD_LOCAL int explaining;  // how many tsri_tape_explain_begin have no end yet

void tsri_tape_explain_begin(void) { explaining++; }
void tsri_tape_explain_end(void) { explaining--; }

static tape_step *new_step(tsri_tape *tape, step_kind kind, const tsri_profile_context *context) {
  if (!grow(tape, (void **)&tape->steps, tape->step_count, &tape->step_room, sizeof *tape->steps)) return NULL;
  tape_step *step = &tape->steps[tape->step_count++];
  *step = (tape_step){.kind = kind, .context = *context, .is_explained = explaining > 0};
  return step;
}

void tsri_tape_counts_temporary(tsr_device *device, size_t bytes, bool is_new) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  tape->temporaries.unshared += bytes;
  if (is_new) tape->temporaries.shared += bytes;
  unlock_tape(tape);
}

// Adds the caller's reference to the tape. Returns false if it could not; the caller then still has its reference.
static bool hold(tsri_tape *tape, void *object, void (*release)(void *object)) {
  if (!grow(tape, (void **)&tape->objects, tape->object_count, &tape->object_room, sizeof *tape->objects)) return false;
  tape->objects[tape->object_count++] = (tape_object){object, release};
  return true;
}

static void release_buffer(void *buffer) { tsr_buffer_release(buffer); }

// Takes a reference to the buffer for the tape, unless the buffer was created on this tape, which then has one already. The caller holds a reference too, so if
// the list cannot grow, releasing the new reference here does not free the buffer.
static void hold_buffer(tsri_tape *tape, tsr_buffer *buffer) {
  if (buffer->tape == tape->id) return;
  if (!hold(tape, tsr_buffer_retain(buffer), release_buffer)) tsr_buffer_release(buffer);
}

static void hold_written(tsri_tape *tape, tsr_buffer *buffer) {
  hold_buffer(tape, buffer);
  for (int i = 0; i < tape->written_count; i++) {
    if (tape->written[i] == buffer) return;
  }
  if (grow(tape, (void **)&tape->written, tape->written_count, &tape->written_room, sizeof *tape->written)) {
    tape->written[tape->written_count++] = buffer;
  }
}

bool tsri_tape_has(const tsri_tape *tape, const tsr_buffer *buffer) {
  for (int i = 0; i < tape->object_count; i++) {
    const tape_object *held = &tape->objects[i];
    if (held->release == release_buffer && tsri_buffers_overlap(held->object, buffer)) return true;
  }
  return false;
}

void tsri_tape_holds(tsr_device *device, void *object, void (*release)(void *object)) {
  tsri_tape *tape = lock_tape(device);
  bool is_held = tape && hold(tape, object, release);
  if (tape) unlock_tape(tape);
  if (!is_held) release(object);
}

void tsri_tape_creates(tsr_device *device, tsr_buffer *buffer) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  if (hold(tape, tsr_buffer_retain(buffer), release_buffer)) buffer->tape = tape->id;
  else tsr_buffer_release(buffer);
  unlock_tape(tape);
}

// Buffers of at most this size are small (tsri_tape_take).
enum { SMALL_BYTES = 1 << 20 };

// If there is no host memory for the list, the buffer is just not reused.
void tsri_tape_give(tsr_buffer *buffer) {
  tsri_tape *tape = lock_tape(buffer->device);
  if (!tape) return;
  tsr_status status = tape->status;
  if (grow(tape, (void **)&tape->spares, tape->spare_count, &tape->spare_room, sizeof *tape->spares)) {
    tape->spares[tape->spare_count++] = (tape_spare){buffer, tape->step_count};
    if (buffer->bytes <= SMALL_BYTES) tape->small_spare_bytes += buffer->bytes;
    tsri_pool_set_spare(tape->device->pool, buffer->block, true);
  }
  tape->status = status;
  unlock_tape(tape);
}

// The spare buffer to reuse for `bytes`: the smallest that is large enough, and of several such the one that was given first. -1: none.
static int find_spare(const tsri_tape *tape, size_t bytes, int steps_apart) {
  int best = -1;
  for (int i = 0; i < tape->spare_count; i++) {
    const tape_spare *spare = &tape->spares[i], *found = best < 0 ? NULL : &tape->spares[best];
    size_t room = spare->buffer->bytes;
    if (room < bytes || room / 2 > bytes || tape->step_count - spare->step < steps_apart) continue;
    bool is_better =
        !found || room < found->buffer->bytes || (room == found->buffer->bytes && spare->step < found->step);
    if (is_better) best = i;
  }
  return best;
}

// If the backend can run steps at the same time (graph_step), a step that reuses memory must wait for the steps that used it before. So memory is reused only
// STEPS_APART steps later. Buffers above LARGE_BYTES are reused at once: a step that works on so much memory keeps the device busy alone, and postponing
// reuse would need several times the memory. Small buffers are not reused while all spare ones together have at most SPARE_BYTES: among them are the partial sums of
// gradients, which are often taped first for the layers that finish last, and sums of other layers would have to wait for these.
tsr_buffer *tsri_tape_take(tsr_device *device, size_t bytes) {
  enum { STEPS_APART = 16, LARGE_BYTES = 16 << 20, SPARE_BYTES = 32 << 20 };
  tsri_tape *tape = lock_tape(device);
  if (!tape) return NULL;
  bool is_side_by_side = device->backend->graph_step != NULL;
  bool is_early = is_side_by_side && bytes <= SMALL_BYTES && tape->small_spare_bytes <= SPARE_BYTES;
  int best = is_early ? -1 : find_spare(tape, bytes, is_side_by_side && bytes <= LARGE_BYTES ? STEPS_APART : 0);
  tsr_buffer *found = best < 0 ? NULL : tape->spares[best].buffer;
  if (found) {
    if (found->bytes <= SMALL_BYTES) tape->small_spare_bytes -= found->bytes;
    tape->spares[best] = tape->spares[--tape->spare_count];
    tsri_pool_set_spare(device->pool, found->block, false);
  }
  unlock_tape(tape);
  return found;
}

void tsri_tape_uses(tsr_device *device, tsr_buffer *buffer) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  hold_buffer(tape, buffer);
  unlock_tape(tape);
}

void tsri_tape_writes(tsr_device *device, tsr_buffer *buffer) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  hold_written(tape, buffer);
  unlock_tape(tape);
}

void tsri_tape_refuses(tsr_device *device, const char *what) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  tape->refused = what;
  unlock_tape(tape);
}

static void tape_launch(tsri_tape *tape, tsri_program *program, const tsri_launch *launch, uint32_t params_bytes,
                        const char *name, const tsri_profile_context *context) {
  tape_step *step = new_step(tape, STEP_LAUNCH, context);
  if (!step) return;
  size_t binding_bytes = launch->buffer_count * sizeof *launch->buffers;
  char *memory = tsri_malloc(binding_bytes + params_bytes + 1);
  if (!memory) {
    tape->step_count--;
    fail(tape);
    return;
  }
  if (binding_bytes > 0) memcpy(memory, launch->buffers, binding_bytes);
  if (params_bytes > 0) memcpy(memory + binding_bytes, launch->params, params_bytes);
  step->is.launch.program = program;
  step->is.launch.launch = *launch;
  step->is.launch.launch.buffers = (const tsri_binding *)(void *)memory;
  step->is.launch.launch.params = memory + binding_bytes;
  step->is.launch.memory = memory;
  step->is.launch.name = name;
}

void tsri_tape_launch(tsr_device *device, tsri_program *program, const tsri_launch *launch, uint32_t params_bytes,
                      const char *name, const tsri_profile_context *context) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  tape_launch(tape, program, launch, params_bytes, name, context);
  unlock_tape(tape);
}

void tsri_tape_fill(tsr_buffer *dst, size_t offset, size_t bytes, const void *pattern, size_t pattern_bytes,
                    const tsri_profile_context *context) {
  tsri_tape *tape = lock_tape(dst->device);
  if (!tape) return;
  tape_step *step = new_step(tape, STEP_FILL, context);
  if (step) {
    hold_written(tape, dst);
    step->is.fill.to = (tsri_binding){dst->handle, dst->offset + offset, bytes, .is_written = true};
    step->is.fill.pattern_bytes = pattern_bytes;
    memcpy(step->is.fill.pattern, pattern, pattern_bytes);
  }
  unlock_tape(tape);
}

void tsri_tape_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes,
                    const tsri_profile_context *context) {
  tsri_tape *tape = lock_tape(dst->device);
  if (!tape) return;
  tape_step *step = new_step(tape, STEP_COPY, context);
  if (step) {
    hold_written(tape, dst);
    hold_buffer(tape, src);
    step->is.copy[0] = (tsri_binding){dst->handle, dst->offset + dst_offset, bytes, .is_written = true};
    step->is.copy[1] = (tsri_binding){src->handle, src->offset + src_offset, bytes, .is_written = false};
  }
  unlock_tape(tape);
}

static void tape_op(tsri_tape *tape, const tsri_native_op *op, const tsri_tape_buffers *buffers,
                    const tsri_profile_context *context) {
  tape_step *step = new_step(tape, STEP_OP, context);
  if (!step) return;
  tsri_native_op *copy = tsri_malloc(sizeof *copy + (size_t)buffers->count * sizeof(tsri_binding));
  if (!copy) {
    tape->step_count--;
    fail(tape);
    return;
  }
  *copy = *op;
  step->is.op.op = copy;
  step->is.op.memory = (tsri_binding *)(void *)(copy + 1);
  step->is.op.count = (uint32_t)buffers->count;
  for (int i = 0; i < buffers->count; i++) {
    const tsr_buffer *buffer = buffers->buffers[i];
    step->is.op.memory[i] =
        (tsri_binding){buffer->handle, buffer->offset, buffer->bytes, .is_written = i < buffers->written_count};
  }
}

void tsri_tape_op(tsr_device *device, const tsri_native_op *op, const tsri_tape_buffers *buffers,
                  const tsri_profile_context *context) {
  tsri_tape *tape = lock_tape(device);
  if (!tape) return;
  for (int i = 0; i < buffers->count; i++) {
    if (i < buffers->written_count) hold_written(tape, buffers->buffers[i]);
    else hold_buffer(tape, buffers->buffers[i]);
  }
  tape_op(tape, op, buffers, context);
  unlock_tape(tape);
}

void tsri_tape_calls(tsr_device *device, void *work, tsri_tape_call call, void (*release)(void *work)) {
  tsri_tape *tape = lock_tape(device);
  bool is_held = tape && hold(tape, work, release);
  tape_step *step = is_held ? new_step(tape, STEP_CALL, &(tsri_profile_context){0}) : NULL;
  if (step) {
    step->is.call.work = work;
    step->is.call.call = call;
    tape->has_calls = true;
  }
  if (tape) unlock_tape(tape);
  if (!is_held) release(work);
}

// --- Playing ---------------------------------------------------------------------------------------------------------

// Runs a step that is a call of a function. The function locks the device itself, and its work is not added to an open tape.
static tsr_status play_call(tsr_device *device, const tape_step *step) {
  tsri_device_unlock(device);
  tsri_taping before = tsri_tape_enter(0);
  tsr_status status = step->is.call.call(device, step->is.call.work);
  tsri_tape_leave(before);
  tsri_device_lock(device);
  return status;
}

tsr_status tsri_tape_play_step(tsr_device *device, tsri_queue *queue, const tape_step *step) {
  const tsri_backend *backend = device->backend;
  switch (step->kind) {
    case STEP_LAUNCH:
      return backend->launch(queue, step->is.launch.program, &step->is.launch.launch);
    case STEP_FILL:
      return backend->fill(queue, step->is.fill.to.buffer, step->is.fill.to.offset, step->is.fill.to.bytes,
                           step->is.fill.pattern, step->is.fill.pattern_bytes);
    case STEP_COPY:
      return backend->copy(queue, step->is.copy[0].buffer, step->is.copy[0].offset, step->is.copy[1].buffer,
                           step->is.copy[1].offset, step->is.copy[0].bytes);
    case STEP_OP:
      return backend->run_op(queue, step->is.op.op);
    case STEP_CALL:
      return play_call(device, step);
  }
  return TSR_OK;
}

static tsr_status play_steps(const tsri_tape *tape, tsri_queue *queue) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < tape->step_count && status == TSR_OK; i++) {
    status = tsri_tape_play_step(tape->device, queue, &tape->steps[i]);
  }
  return status;
}

// --- Playing for the profiler ------------------------------------------------------------------------------------------

// As tsri_tape_play_step, with a profiler record for the step. What a call queues has its own records.
static tsr_status play_step_timed(tsr_device *device, tsri_queue *queue, const tape_step *step) {
  if (step->kind == STEP_CALL) return tsri_tape_play_step(device, queue, step);
  tsri_span span = tsri_span_begin(device, queue, (uint64_t)(uintptr_t)step);
  tsr_status status = tsri_tape_play_step(device, queue, step);
  if (!span.is_on) return status;
  if (step->kind == STEP_OP) {
    tsri_native_op_finish(&span, device, queue, step->is.op.op, &step->context, status);
    return status;
  }
  tsri_profile_work work = {.kind = TSR_PROFILE_KERNEL, .is_f32 = true, .context = &step->context};
  switch (step->kind) {
    case STEP_LAUNCH:
      work.name = step->is.launch.name;
      work.bytes = tsri_launch_bytes(&step->is.launch.launch);
      break;
    case STEP_FILL:
      work.kind = TSR_PROFILE_FILL;
      work.bytes = step->is.fill.to.bytes;
      break;
    default:
      work.kind = TSR_PROFILE_COPY;
      work.bytes = 2 * step->is.copy[0].bytes;
      break;
  }
  if (!work.name) work.name = tsri_profile_kind_word(work.kind);
  tsri_span_finish(&span, device, queue, status == TSR_OK ? &work : NULL);
  return status;
}

static const char *name_of_step(const tape_step *step) {
  switch (step->kind) {
    case STEP_LAUNCH:
      return step->is.launch.name;
    case STEP_FILL:
      return "fill";
    case STEP_COPY:
      return "copy";
    case STEP_OP:
      return tsri_native_kind_name(step->is.op.op->kind);
    case STEP_CALL:
      break;
  }
  return "call";
}

// Describes a replay as a text: "matmul, fused (add relu) x2, softmax", steps in order, with equal neighbours counted.
static uint32_t list_steps(const tsri_tape *tape) {
  tsri_builder list = {.most_bytes = 1000};
  for (int i = 0, next; i < tape->step_count; i = next) {
    const tape_step *step = &tape->steps[i];
    for (next = i + 1; next < tape->step_count; next++) {
      bool is_alike = step->context.operators == tape->steps[next].context.operators &&
                      strcmp(name_of_step(step), name_of_step(&tape->steps[next])) == 0;
      if (!is_alike) break;
    }
    const char *operators = tsri_profile_text(step->context.operators);
    tsri_builder_add(&list, "%s%s", i ? ", " : "", name_of_step(step));
    if (operators[0]) tsri_builder_add(&list, " (%s)", operators);
    if (next - i > 1) tsri_builder_add(&list, " x%d", next - i);
  }
  uint32_t number = tsri_profile_intern(list.text);
  tsri_builder_deinit(&list);
  return number;
}

// The backend's graph is one record, which lists its steps. Steps that are queued one by one have a record each.
static tsr_status play_profiled(tsri_tape *tape, tsri_queue *queue, tsri_graph *graph) {
  tsr_device *device = tape->device;
  tsr_status status = TSR_OK;
  if (!graph || tsri_profile_is_full()) {
    for (int i = 0; i < tape->step_count && status == TSR_OK; i++) {
      status = play_step_timed(device, queue, &tape->steps[i]);
    }
    return status;
  }
  if (tape->listed == 0) tape->listed = list_steps(tape);
  tsri_span span = tsri_span_begin(device, queue, (uint64_t)(uintptr_t)tape);
  status = device->backend->graph_launch(queue, graph);
  if (!span.is_on) return status;
  tsri_profile_context context = {.operators = tape->listed, .label = span.context.label};
  tsri_profile_work work = {.kind = TSR_PROFILE_REPLAY, .name = "capture", .context = &context};
  tsri_span_finish(&span, device, queue, status == TSR_OK ? &work : NULL);
  return status;
}

// --- Interface ----------------------------------------------------------------------------------------------------------

// Orders the tape's work with that of other tracks on the same memory.
static tsr_status touch_all(tsri_tape *tape) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < tape->object_count && status == TSR_OK; i++) {
    const tape_object *held = &tape->objects[i];
    if (held->release == release_buffer) status = tsri_track_touch(tape->device, held->object, false);
  }
  for (int i = 0; i < tape->written_count && status == TSR_OK; i++) {
    status = tsri_track_touch(tape->device, tape->written[i], true);
  }
  return status;
}

tsr_status tsri_tape_play(tsri_tape *tape) {
  tsr_device *device = tape->device;
  tsri_queue *queue = tsri_device_lock(device);
  tsri_graph **graph = &tape->graphs[device->current - device->tracks];
  tsr_status status = device->track_count > 1 ? touch_all(tape) : TSR_OK;
  tsri_tape_make_graph(tape, queue, graph);
  if (status == TSR_OK && tsri_profiling()) status = play_profiled(tape, queue, *graph);
  else if (status == TSR_OK) status = *graph ? device->backend->graph_launch(queue, *graph) : play_steps(tape, queue);
  // Calls among the steps have queued commands of their own, so the tape's last commands have higher numbers than the first touch_all noted: note them again.
  if (status == TSR_OK && tape->has_calls && device->track_count > 1) status = touch_all(tape);
  tsri_track_count(device, &(const tsri_command_name){"capture"});
  tsri_count_queued(&device->counters.launches, (uint64_t)(*graph ? tape->launch_count : tape->step_count));
  tsri_device_unlock(device);
  return status;
}
