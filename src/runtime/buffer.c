// SPDX-License-Identifier: MIT
// Buffers: creating, importing and releasing them; copies within one device, to and from the host, and between devices.
#include "runtime/buffer.h"

#include <assert.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "runtime/copier.h"
#include "runtime/profile.h"
#include "runtime/queue.h"
#include "runtime/sharing.h"
#include "runtime/stage.h"
#include "runtime/steps.h"
#include "runtime/tape.h"

enum { MAX_ALIGNMENT = 4096 };

static tsr_status check_create(tsr_device *device, size_t bytes, size_t alignment, tsr_buffer **out_buffer) {
  if (!out_buffer) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "buffer_create: out_buffer is NULL");
  *out_buffer = NULL;
  tsr_status status = tsri_device_check("buffer_create", device);
  if (status != TSR_OK) return status;
  if (alignment > MAX_ALIGNMENT || (alignment & (alignment - 1)) != 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "buffer_create: alignment %zu is not a power of two up to %d", alignment,
                     MAX_ALIGNMENT);
  }
  if (bytes > SIZE_MAX / 2) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "buffer_create: %zu bytes are more than memory can address", bytes);
  }
  return TSR_OK;
}

static void destroy_buffer(tsr_device *device, tsri_late *late) {
  tsr_buffer *buffer = (tsr_buffer *)((char *)late - offsetof(tsr_buffer, late));
  if (buffer->block) tsri_pool_give(device->pool, buffer->block);
  else if (buffer->whole) tsr_buffer_release(buffer->whole);
  else if (buffer->handle) device->backend->buffer_destroy(device->handle, buffer->handle);
  if (buffer->release_foreign) buffer->release_foreign(buffer->foreign);
  tsri_object_destroy(&buffer->object, sizeof *buffer);
}

static tsr_buffer *new_record(tsr_device *device, size_t bytes) {
  tsr_buffer *buffer = tsri_object_create(TSRI_OBJECT_BUFFER, sizeof *buffer);
  if (!buffer) {
    TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "buffer_create: no host memory for its record");
    return NULL;
  }
  buffer->late.destroy = destroy_buffer;
  buffer->device = tsr_device_retain(device);
  buffer->bytes = bytes;
  return buffer;
}

tsr_status tsr_buffer_create(tsr_device *device, size_t bytes, size_t alignment, tsr_buffer **out_buffer) {
  tsr_status status = check_create(device, bytes, alignment, out_buffer);
  if (status != TSR_OK) return status;
  tsr_buffer *buffer = new_record(device, bytes);
  if (!buffer) return TSR_ERR_OUT_OF_MEMORY;
  if (bytes > 0) {
    status = tsri_pool_take(device->pool, bytes, alignment, &buffer->block);
    if (status != TSR_OK) {
      tsr_buffer_release(buffer);
      return status;
    }
    buffer->handle = buffer->block->buffer;
    buffer->offset = buffer->block->offset;
  }
  if (tsri_tape_is_any_open()) tsri_tape_creates(device, buffer);
  *out_buffer = buffer;
  return TSR_OK;
}

tsr_status tsri_buffer_create_temporary(tsr_device *device, size_t bytes, tsr_buffer **out_buffer) {
  bool is_taped = tsri_tape_is_any_open();
  tsr_buffer *spare = is_taped && bytes > 0 ? tsri_tape_take(device, bytes) : NULL;
  tsr_status status =
      spare ? tsri_buffer_part(spare, 0, bytes, out_buffer) : tsr_buffer_create(device, bytes, 0, out_buffer);
  if (status == TSR_OK) {
    (*out_buffer)->is_temporary = true;
    tsri_steps_add_temporary(*out_buffer);
  }
  if (is_taped && status == TSR_OK) tsri_tape_counts_temporary(device, bytes, !spare);
  else if (spare) tsri_tape_give(spare);
  return status;
}

tsr_status tsri_buffer_part(tsr_buffer *whole, size_t offset, size_t bytes, tsr_buffer **out_part) {
  assert(!whole->whole && bytes > 0 && offset + bytes <= whole->bytes);
  assert(offset % whole->device->limits.buffer_alignment == 0);
  *out_part = new_record(whole->device, bytes);
  if (!*out_part) return TSR_ERR_OUT_OF_MEMORY;
  (*out_part)->whole = tsr_buffer_retain(whole);
  (*out_part)->handle = whole->handle;
  (*out_part)->offset = whole->offset + offset;
  tsri_tape_creates(whole->device, *out_part);
  return TSR_OK;
}

typedef tsr_status (*import_fn)(tsri_device *device, void *memory, size_t bytes, tsri_buffer **out_buffer);

static tsr_status import_by(import_fn import, tsr_device *device, void *memory, size_t bytes,
                            void (*release)(void *user), void *user, tsr_buffer **out_buffer) {
  *out_buffer = NULL;
  tsr_buffer *buffer = new_record(device, bytes);
  if (!buffer) return TSR_ERR_OUT_OF_MEMORY;
  if (bytes > 0) {
    tsr_status status = import(device->handle, memory, bytes, &buffer->handle);
    if (status != TSR_OK) {
      tsr_buffer_release(buffer);
      return status;
    }
  }
  buffer->release_foreign = release;
  buffer->foreign = user;
  if (bytes > 0) tsri_sharing_add(buffer, memory);
  *out_buffer = buffer;
  return TSR_OK;
}

tsr_status tsri_buffer_import(tsr_device *device, void *memory, size_t bytes, void (*release)(void *user), void *user,
                              tsr_buffer **out_buffer) {
  return import_by(device->backend->buffer_import, device, memory, bytes, release, user, out_buffer);
}

tsr_status tsri_buffer_adopt(tsr_device *device, void *address, size_t bytes, void (*release)(void *user), void *user,
                             tsr_buffer **out_buffer) {
  return import_by(device->backend->sharing->adopt, device, address, bytes, release, user, out_buffer);
}

tsr_buffer *tsr_buffer_retain(tsr_buffer *buffer) {
  if (buffer && tsri_object_check(buffer, TSRI_OBJECT_BUFFER, "buffer_retain", "buffer") == TSR_OK) {
    tsri_object_retain(&buffer->object);
  }
  return buffer;
}

static unsigned refs_of(const tsr_buffer *buffer) {
  return atomic_load_explicit(&((tsr_buffer *)(uintptr_t)buffer)->object.refs, memory_order_acquire);
}

// Whether the buffer is temporary memory of the calling thread's tape, which may reuse it as soon as nobody but the tape has a reference.
static bool is_tapes(const tsr_buffer *buffer) {
  return buffer->is_temporary && buffer->tape != 0 && buffer->tape == tsri_tape_id() && !tsri_buffer_is_shared(buffer);
}

static void give_to_tape(tsr_buffer *buffer) {
  tsr_buffer *whole = buffer->whole ? buffer->whole : buffer;
  buffer->is_temporary = false;             // it must not be given back twice
  if (whole->block) tsri_tape_give(whole);  // an empty buffer has no block
}

void tsr_buffer_release(tsr_buffer *buffer) {
  if (!buffer) return;
  if (tsri_object_check(buffer, TSRI_OBJECT_BUFFER, "buffer_release", "buffer") != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  bool is_kept = is_tapes(buffer);  // the tape keeps the record alive
  if (!tsri_object_release(&buffer->object)) {
    if (is_kept && refs_of(buffer) == 1) give_to_tape(buffer);
    return;
  }
  tsri_sharing_remove(buffer);
  tsr_device *device = buffer->device;
  // The owner of imported memory may free it as soon as `release_foreign` is called, so wait until no queued work uses
  // it. Blocks of the pool need no wait: they are reused in queue order, or know which tracks still use them.
  if (buffer->handle && !buffer->block && !buffer->whole) tsri_late_destroy(device, &buffer->late, "buffer_release");
  else destroy_buffer(device, &buffer->late);
  tsr_device_release(device);
}

void tsri_buffer_give_memory(tsr_buffer *buffer) {
  if (is_tapes(buffer) && refs_of(buffer) == 2) give_to_tape(buffer);
  if (refs_of(buffer) != 1 || !buffer->block || tsri_buffer_is_shared(buffer)) return;
  tsri_pool_give(buffer->device->pool, buffer->block);
  buffer->block = NULL;
  buffer->handle = NULL;
  buffer->offset = buffer->bytes = 0;
}

size_t tsr_buffer_bytes(const tsr_buffer *buffer) {
  return tsri_object_check(buffer, TSRI_OBJECT_BUFFER, "buffer_bytes", "buffer") == TSR_OK ? buffer->bytes : 0;
}

tsr_device *tsr_buffer_device(const tsr_buffer *buffer) {
  return tsri_object_check(buffer, TSRI_OBJECT_BUFFER, "buffer_device", "buffer") == TSR_OK ? buffer->device : NULL;
}

void *tsr_buffer_host(tsr_buffer *buffer) {
  if (tsri_object_check(buffer, TSRI_OBJECT_BUFFER, "buffer_host", "buffer") != TSR_OK || !buffer->handle) return NULL;
  const tsri_backend *backend = buffer->device->backend;
  char *memory = backend->buffer_host ? backend->buffer_host(buffer->device->handle, buffer->handle) : NULL;
  return memory ? memory + buffer->offset : NULL;
}

// Returns NULL also while profiling, and with injected faults, so that the backend makes the copy, which then shows in the profile and can fail.
void *tsri_buffer_host_now(tsr_buffer *buffer) {
  const tsr_device *device = buffer->device;
  if (!device->limits.runs_at_once || device->has_faults || tsri_profiling()) return NULL;
  if (atomic_load_explicit(&tsri_tracks_are_used, memory_order_acquire)) return NULL;
  return tsr_buffer_host(buffer);
}

tsr_status tsri_buffer_map(tsr_buffer *buffer, void **out_memory) {
  *out_memory = tsr_buffer_host(buffer);
  return *out_memory ? tsri_device_wait(buffer->device) : TSR_OK;
}

static tsr_status check_range(const char *caller, const tsr_buffer *buffer, size_t offset, size_t bytes) {
  tsr_status status = tsri_object_check(buffer, TSRI_OBJECT_BUFFER, caller, "buffer");
  if (status != TSR_OK) return status;
  if (offset > buffer->bytes || bytes > buffer->bytes - offset) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %zu bytes at %zu leave the buffer of %zu", caller, bytes, offset,
                     buffer->bytes);
  }
  return TSR_OK;
}

static tsr_status check_host_copy(const char *caller, const tsr_buffer *buffer, size_t offset, const void *data,
                                  size_t bytes) {
  tsr_status status = check_range(caller, buffer, offset, bytes);
  if (status == TSR_OK && !data && bytes > 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: data is NULL", caller);
  return status;
}

static tsr_status check_writable(const char *caller, const tsr_buffer *buffer) {
  if (!buffer->is_read_only) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the memory was imported as read-only", caller);
}

// Waits even if the copy failed: host memory must be free to use when the caller returns.
static tsr_status finish(tsr_device *device, tsr_status status) {
  tsr_status waited = tsri_device_wait_locked(device);
  tsri_device_unlock(device);
  return status != TSR_OK ? status : waited;
}

static void finish_span(tsri_span *span, tsr_device *device, tsri_queue *queue, tsr_profile_kind kind, size_t bytes,
                        tsr_status status) {
  tsri_profile_work work = {.kind = kind, .name = tsri_profile_kind_word(kind), .bytes = bytes};
  tsri_span_finish(span, device, queue, status == TSR_OK ? &work : NULL);
}

// Queues the upload. If it returns TSR_OK, the device is locked, and the caller unlocks it.
static tsr_status begin_upload(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes) {
  tsr_device *device = buffer->device;
  tsri_queue *queue = tsri_device_lock(device);
  tsr_status status = tsri_track_touch(device, buffer, true);
  tsri_span span = tsri_span_begin(device, queue, bytes << 4 | TSR_PROFILE_UPLOAD);
  if (status == TSR_OK) {
    status = device->backend->copy_in(queue, buffer->handle, buffer->offset + offset, data, bytes);
  }
  if (span.is_on) finish_span(&span, device, queue, TSR_PROFILE_UPLOAD, bytes, status);
  tsri_track_count(device, &(const tsri_command_name){"upload"});
  tsri_count_queued(&device->counters.uploads, 1);
  return status;
}

tsr_status tsri_buffer_queue_upload(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes) {
  tsr_status status = begin_upload(buffer, offset, data, bytes);
  tsri_device_unlock(buffer->device);
  return status;
}

tsr_status tsr_buffer_upload(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes) {
  tsr_status status = check_host_copy("buffer_upload", buffer, offset, data, bytes);
  if (status == TSR_OK) status = check_writable("buffer_upload", buffer);
  if (status != TSR_OK || bytes == 0) return status;
  return finish(buffer->device, begin_upload(buffer, offset, data, bytes));
}

// Locks the device for a download. A large copy into memory that is not pinned may wait for the queue inside the backend, with the lock held. With several tracks
// that would keep other threads from queueing work, so this function waits for the track first, during which the lock is free.
static tsri_queue *lock_for_download(tsr_buffer *buffer, size_t bytes, tsr_status *out_status) {
  enum { MAY_WAIT_BYTES = 64 << 10 };
  tsr_device *device = buffer->device;
  tsri_queue *queue = tsri_device_lock(device);
  *out_status = tsri_track_touch(device, buffer, false);
  if (*out_status != TSR_OK || device->track_count == 1 || device->limits.reads_directly || bytes < MAY_WAIT_BYTES) {
    return queue;
  }
  *out_status = tsri_device_wait_locked(device);
  tsri_device_unlock(device);
  return tsri_device_lock(device);
}

// As begin_upload, for a download.
static tsr_status begin_download(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes, bool is_direct) {
  tsr_device *device = buffer->device;
  tsr_status status = TSR_OK;
  tsri_queue *queue = is_direct ? tsri_device_lock(device) : lock_for_download(buffer, bytes, &status);
  if (status == TSR_OK) status = tsri_track_touch(device, buffer, false);
  tsri_span span = tsri_span_begin(device, queue, bytes << 4 | TSR_PROFILE_DOWNLOAD);
  if (status == TSR_OK) {
    status = device->backend->copy_out(queue, out_data, buffer->handle, buffer->offset + offset, bytes);
  }
  if (span.is_on) finish_span(&span, device, queue, TSR_PROFILE_DOWNLOAD, bytes, status);
  tsri_track_count(device, &(const tsri_command_name){"download"});
  tsri_count_queued(&device->counters.downloads, 1);
  return status;
}

tsr_status tsri_buffer_queue_download(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes) {
  tsr_status status =
      begin_download(buffer, offset, out_data, bytes, tsri_host_is_direct(buffer->device, out_data, bytes));
  tsri_device_unlock(buffer->device);
  return status;
}

tsr_status tsr_buffer_download(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes) {
  tsr_status status = check_host_copy("buffer_download", buffer, offset, out_data, bytes);
  if (status != TSR_OK || bytes == 0) return status;
  return finish(buffer->device, begin_download(buffer, offset, out_data, bytes, false));
}

tsr_status tsr_buffer_fill(tsr_buffer *buffer, size_t offset, size_t bytes, const void *pattern, size_t pattern_bytes) {
  tsr_status status = check_host_copy("buffer_fill", buffer, offset, pattern, bytes);
  if (status == TSR_OK) status = check_writable("buffer_fill", buffer);
  if (status != TSR_OK) return status;
  if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "buffer_fill: a pattern of %zu bytes; 1, 2, 4 and 8 are allowed",
                     pattern_bytes);
  }
  if (bytes % pattern_bytes != 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "buffer_fill: %zu bytes are not a multiple of the pattern's %zu", bytes,
                     pattern_bytes);
  }
  if (bytes == 0) return TSR_OK;
  tsr_device *device = buffer->device;
  tsri_queue *queue = tsri_device_lock(device);
  status = tsri_track_touch(device, buffer, true);
  tsri_span span = tsri_span_begin(device, queue, bytes << 4 | TSR_PROFILE_FILL);
  if (status == TSR_OK) {
    status = device->backend->fill(queue, buffer->handle, buffer->offset + offset, bytes, pattern, pattern_bytes);
  }
  if (span.is_on) finish_span(&span, device, queue, TSR_PROFILE_FILL, bytes, status);
  tsri_track_count(device, &(const tsri_command_name){"fill"});
  tsri_device_unlock(device);
  if (status == TSR_OK) tsri_tape_fill(buffer, offset, bytes, pattern, pattern_bytes, &span.context);
  return status;
}

// Queues a copy within one device. The ranges must not overlap.
static tsr_status copy_apart(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes) {
  tsr_device *device = dst->device;
  bool is_done = false;
  tsr_status status = tsri_copier_copy(dst, dst_offset, src, src_offset, bytes, &is_done);
  if (is_done || status != TSR_OK) return status;
  tsri_queue *queue = tsri_device_lock(device);
  status = tsri_track_touch(device, src, false);
  if (status == TSR_OK) status = tsri_track_touch(device, dst, true);
  tsri_span span = tsri_span_begin(device, queue, bytes << 4 | TSR_PROFILE_COPY);
  if (status == TSR_OK) {
    status = device->backend->copy(queue, dst->handle, dst->offset + dst_offset, src->handle, src->offset + src_offset,
                                   bytes);
  }
  if (span.is_on) finish_span(&span, device, queue, TSR_PROFILE_COPY, 2 * bytes, status);
  tsri_track_count(device, &(const tsri_command_name){"copy"});
  tsri_device_unlock(device);
  if (status == TSR_OK) tsri_tape_copy(dst, dst_offset, src, src_offset, bytes, &span.context);
  return status;
}

static bool overlap(const tsr_buffer *a, size_t a_offset, const tsr_buffer *b, size_t b_offset, size_t bytes) {
  if (a->handle != b->handle) return false;
  a_offset += a->offset;
  b_offset += b->offset;
  return a_offset < b_offset + bytes && b_offset < a_offset + bytes;
}

// Copies piece by piece through a temporary buffer, starting at the end of the range where the destination does not
// overwrite bytes still to be read.
static tsr_status copy_overlapping(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset,
                                   size_t bytes) {
  enum { STAGE_BYTES = 16 << 20 };
  bool is_upward = dst->offset + dst_offset > src->offset + src_offset;
  size_t most = bytes < STAGE_BYTES ? bytes : STAGE_BYTES;
  tsr_buffer *stage = NULL;
  tsr_status status = tsr_buffer_create(dst->device, most, 0, &stage);
  for (size_t done = 0, piece; done < bytes && status == TSR_OK; done += piece) {
    piece = bytes - done < most ? bytes - done : most;
    size_t at = is_upward ? bytes - done - piece : done;
    status = copy_apart(stage, 0, src, src_offset + at, piece);
    if (status == TSR_OK) status = copy_apart(dst, dst_offset + at, stage, 0, piece);
  }
  tsr_buffer_release(stage);
  return status;
}

static tsr_status copy_within(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes) {
  if (!overlap(dst, dst_offset, src, src_offset, bytes)) return copy_apart(dst, dst_offset, src, src_offset, bytes);
  bool is_same = dst->offset + dst_offset == src->offset + src_offset;
  return is_same ? TSR_OK : copy_overlapping(dst, dst_offset, src, src_offset, bytes);
}

// Copies directly between two devices; TSR_ERR_UNSUPPORTED if they have no direct path.
static tsr_status copy_peer(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes) {
  const tsri_backend *backend = dst->device->backend;
  if (backend != src->device->backend || !backend->copy_peer) return TSR_ERR_UNSUPPORTED;
  tsr_status status = tsri_device_wait(src->device);  // the two queues are not ordered with each other
  if (status != TSR_OK) return status;
  tsri_queue *queue = tsri_device_lock(dst->device);
  status = tsri_track_touch(dst->device, dst, true);
  tsri_span span = tsri_span_begin(dst->device, queue, bytes << 4 | TSR_PROFILE_COPY);
  if (status == TSR_OK) {
    status = backend->copy_peer(queue, dst->handle, dst->offset + dst_offset, src->device->handle, src->handle,
                                src->offset + src_offset, bytes);
  }
  if (span.is_on) finish_span(&span, dst->device, queue, TSR_PROFILE_COPY, bytes, status);
  tsri_track_count(dst->device, &(const tsri_command_name){"copy between devices"});
  return finish(dst->device, status);
}

// Copies through the host. If the host can address one of the two buffers, no staging memory is needed.
static tsr_status copy_staged(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes) {
  void *from = NULL, *to = NULL;
  tsr_status status = tsri_buffer_map(src, &from);
  if (status != TSR_OK) return status;
  if (from) return tsr_buffer_upload(dst, dst_offset, (char *)from + src_offset, bytes);
  status = tsri_buffer_map(dst, &to);
  if (status != TSR_OK) return status;
  if (to) return tsr_buffer_download(src, src_offset, (char *)to + dst_offset, bytes);

  void *stage = tsri_stage_create(bytes);
  if (!stage) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "buffer_copy: no host memory for a stage of %zu bytes", bytes);
  tsr_device *last = src->device;
  status = tsr_buffer_download(src, src_offset, stage, bytes);
  if (status == TSR_OK) {
    last = dst->device;
    status = tsr_buffer_upload(dst, dst_offset, stage, bytes);
  }
  tsri_stage_release(last, stage, status);
  return status;
}

// Queues a copy within one device; between devices copies directly, or through the host as a fallback, and waits.
tsr_status tsri_buffer_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes) {
  if (dst->device == src->device) return copy_within(dst, dst_offset, src, src_offset, bytes);
  tsri_tape_refuses(dst->device, TSRI_TAPE_MOVING);
  tsri_tape_refuses(src->device, TSRI_TAPE_MOVING);
  tsr_status status = copy_peer(dst, dst_offset, src, src_offset, bytes);
  return status == TSR_ERR_UNSUPPORTED ? copy_staged(dst, dst_offset, src, src_offset, bytes) : status;
}

tsr_status tsr_buffer_copy(tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset, size_t bytes) {
  tsr_status status = check_range("buffer_copy: destination", dst, dst_offset, bytes);
  if (status == TSR_OK) status = check_range("buffer_copy: source", src, src_offset, bytes);
  if (status == TSR_OK) status = check_writable("buffer_copy", dst);
  if (status != TSR_OK || bytes == 0) return status;
  if (dst->device != src->device) tsri_count(&dst->device->counters.explicit_moves);
  return tsri_buffer_copy(dst, dst_offset, src, src_offset, bytes);
}
