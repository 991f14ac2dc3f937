// SPDX-License-Identifier: MIT
// Opens and closes a device, waits for it, and counts its work. select.c chooses which device to open.
#include "runtime/device.h"
#include "runtime/long_loops.h"
#include "runtime/own_functions.h"

#include <string.h>

#include <tessera/memory.h>

#include "backends/fault/fault.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/log.h"
#include "lang/emit/emit.h"
#include "runtime/copier.h"
#include "runtime/late.h"
#include "runtime/placing.h"
#include "runtime/profile.h"
#include "runtime/registry.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

// --- Waiting ------------------------------------------------------------------------------------------------------

tsri_queue *tsri_device_lock(tsr_device *device) {
  tsri_mutex_lock(&device->queue_lock);
  if (device->track_count > 1) device->current = &device->tracks[tsri_track_now(device)];
  return device->current->handle;
}

void tsri_device_unlock(tsr_device *device) { tsri_mutex_unlock(&device->queue_lock); }

// How long to wait for a device that has timed out before: long enough for a driver to notice that its queue is empty.
enum { MOMENT_NS = 5 * 1000 * 1000 };

static tsr_status wait_locked(tsr_device *device, uint64_t timeout_ns) {
  tsr_status status = tsri_tracks_wait(device, timeout_ns);
  atomic_store_explicit(&device->is_overdue, tsri_is_still_running(device, status), memory_order_relaxed);
  if (status == TSR_OK) tsri_stage_free_kept(device);
  return status;
}

tsr_status tsri_device_wait_locked(tsr_device *device) {
  if (device->track_count == 1) return wait_locked(device, device->timeout_ns);
  tsr_status status = tsri_track_wait(device, device->current, device->timeout_ns);
  if (tsri_is_still_running(device, status)) device->is_overdue = true;
  return status;
}

tsr_status tsri_device_wait(tsr_device *device) {
  tsri_device_lock(device);
  tsr_status status = wait_locked(device, device->timeout_ns);
  tsri_device_unlock(device);
  return status;
}

tsr_status tsri_device_settle(tsr_device *device) {
  tsri_device_lock(device);
  tsr_status status =
      wait_locked(device, device->is_overdue && device->timeout_ns > MOMENT_NS ? MOMENT_NS : device->timeout_ns);
  tsri_device_unlock(device);
  return status;
}

// --- Closing ------------------------------------------------------------------------------------------------------

static tsr_status settle(void *user) { return tsri_device_wait(user); }
static void refresh(void *user) { tsri_tracks_refresh(user); }
static bool is_busy(void *user, const tsri_usage *usage) { return tsri_usage_is_busy(user, usage); }

static tsr_status create_pool(tsr_device *device, const tsri_open_request *request) {
  tsri_pool_desc desc = {
      .backend = device->backend,
      .device = device->handle,
      .owner = device,
      .device_name = device->info.name,
      .alignment = device->limits.buffer_alignment,
      .max_buffer_bytes = device->limits.max_buffer_bytes,
      .limit_bytes = request->memory_limit,
      .initial_bytes = request->pool_bytes,
      .own_buffers = device->limits.binds_whole_buffers,
      .overlaps = device->limits.overlaps_launches,
      .settle = settle,
      .refresh = refresh,
      .is_busy = is_busy,
      .user = device,
  };
  return tsri_pool_create(&desc, &device->pool);
}

// Waits for the device and frees everything on it, also of a half-built device. Returns false and frees nothing if work
// is still running after the time-out; if the last wait timed out already, it waits only MOMENT_NS. A wait that fails with another error leaves nothing running.
static bool drain(tsr_device *device) {
  if (device->has_faults) {
    // From here on calls must tell the truth: work whose failure was simulated may still be running, and after a simulated time-out it may have ended.
    tsri_fault_disarm(device->handle);
    atomic_store(&device->is_overdue, false);
  }
  if (device->track_count > 0 && tsri_is_still_running(device, tsri_device_settle(device))) return false;
  tsri_profile_closing(device);
  tsri_late_finish(device);
  void *graph = atomic_load(&device->graph);
  if (graph) device->graph_destroy(graph);
  tsri_copier_destroy(device);
  tsri_pool_destroy(device->pool);
  tsri_events_destroy(device);
  tsri_tracks_destroy(device);
  tsri_stage_free_kept(device);
  tsri_placing_detach(device);
  return true;
}

// Call after drain, with the registry's lock held, as backend.h promises.
static void destroy(tsr_device *device) {
  if (device->handle) device->backend->device_close(device->handle);
  tsri_mutex_deinit(&device->queue_lock);
  tsri_object_destroy(&device->object, sizeof *device);
}

// --- Devices that are given up ------------------------------------------------------------------------------------

// Queued work cannot be cancelled: no interface we use has a call for it, and freeing memory in use would crash the
// process. So a device whose work is still running when its last reference is released is not closed: its memory, its
// programs and the driver's threads stay. This list allows closing it later, when the work has ended.
static tsri_mutex given_up_lock = TSRI_MUTEX_INIT;
static tsr_device *given_up;

static void close_drained(tsr_device *device) {
  tsri_registry_hold();
  destroy(device);
  tsri_registry_unlock();
}

static void keep_given_up(tsr_device *device) {
  tsri_mutex_lock(&given_up_lock);
  device->next_given_up = given_up;
  given_up = device;
  tsri_mutex_unlock(&given_up_lock);
}

static void give_up(tsr_device *device) {
  tsri_log(TSR_LOG_WARN, "device_release: %s; the device is given up: what it holds stays until its work has ended",
           tsr_last_error());
  keep_given_up(device);
}

bool tsri_device_is_given_up(const char *backend, int index) {
  tsri_mutex_lock(&given_up_lock);
  const tsr_device *device = given_up;
  while (device && (device->info.index != index || strcmp(device->backend->name, backend) != 0)) {
    device = device->next_given_up;
  }
  tsri_mutex_unlock(&given_up_lock);
  return device != NULL;
}

void tsri_device_close_given_up(void) {
  tsri_mutex_lock(&given_up_lock);
  tsr_device *device = given_up;
  given_up = NULL;
  tsri_mutex_unlock(&given_up_lock);
  while (device) {
    tsr_device *next = device->next_given_up;
    device->timeout_ns = MOMENT_NS;
    if (drain(device)) {
      tsri_log(TSR_LOG_INFO, "closed a device that was given up: %s", device->info.name);
      close_drained(device);
    } else {
      keep_given_up(device);
    }
    device = next;
  }
}

// --- Opening ------------------------------------------------------------------------------------------------------

// Faults count from the end of the self-test, so that "alloc:1" means the program's first allocation.
static tsr_status add_faults(tsr_device *device, const char *faults) {
  if (!faults || !faults[0]) return TSR_OK;
  tsr_status status = tsri_fault_wrap(faults, &device->backend, &device->handle);
  device->has_faults = status == TSR_OK;
  return status;
}

// Kernels store u16, u64 and f8 as i16, i64 and u8 (lang/lower/others.h), so a device that stores these has those as well.
static void add_made_dtypes(tsri_limits *limits) {
  static const tsr_dtype made[][2] = {
      {TSR_U16, TSR_I16}, {TSR_U64, TSR_I64}, {TSR_F8_E4M3, TSR_U8}, {TSR_F8_E5M2, TSR_U8}};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    limits->dtype_storage |= (limits->dtype_storage >> made[i][1] & 1u) << made[i][0];
  }
}

static tsr_status build(tsr_device *device, const tsri_open_request *request) {
  tsr_status status =
      device->backend->device_open(device->info.index, &request->options, &device->limits, &device->handle);
  add_made_dtypes(&device->limits);
  if (status == TSR_OK) status = add_faults(device, request->faults);
  if (status == TSR_OK) status = tsri_track_create(device, 0);
  if (status == TSR_OK) status = create_pool(device, request);
  if (status == TSR_OK) status = tsr_device_test(device);
  if (status == TSR_OK) status = tsri_long_loops_measure(device);
  if (status == TSR_OK) status = tsri_own_functions_measure(device);
  if (status == TSR_OK && device->has_faults) tsri_fault_arm(device->handle);
  return status;
}

tsr_status tsri_device_create(const tsri_open_request *request, tsr_device **out_device) {
  *out_device = NULL;
  tsr_device *device = tsri_object_create(TSRI_OBJECT_DEVICE, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "device_open: no host memory for its record");
  tsri_mutex_init(&device->queue_lock);
  device->current = &device->tracks[0];
  device->backend = request->backend;
  device->info = request->info;
  device->timeout_ns = request->timeout_ns;
  device->pending_bytes = request->pending_bytes;
  device->priority = request->priority;
  device->strict = request->strict;
  device->allows_tf32 = request->options.tf32;
  device->mix_is_error = request->mix_is_error;
  device->is_eager = request->is_eager;
  device->is_deterministic = request->is_deterministic;
  device->tune = request->tune;
  device->is_checked = request->is_checked;

  tsr_status status = build(device, request);
  if (status != TSR_OK) {
    if (drain(device)) destroy(device);
    else give_up(device);
    return status;
  }
  *out_device = device;
  return TSR_OK;
}

tsr_status tsri_device_check(const char *caller, const tsr_device *device) {
  return tsri_object_check(device, TSRI_OBJECT_DEVICE, caller, "device");
}

tsr_device *tsr_device_retain(tsr_device *device) {
  if (device && tsri_device_check("device_retain", device) == TSR_OK) tsri_object_retain(&device->object);
  return device;
}

void tsr_device_release(tsr_device *device) {
  if (!device) return;
  if (tsri_device_check("device_release", device) != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (!tsri_object_release(&device->object)) return;
  if (drain(device)) close_drained(device);
  else give_up(device);
}

const char *tsr_device_backend(const tsr_device *device) {
  return tsri_device_check("device_backend", device) == TSR_OK ? device->backend->name : "";
}

tsr_status tsr_device_get_info(tsr_device *device, tsr_device_info *out_info) {
  tsr_status status = tsri_device_check("device_get_info", device);
  if (status != TSR_OK) return status;
  if (!out_info) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_get_info: out_info is NULL");
  *out_info = device->info;
  if (!device->backend->memory_info) return TSR_OK;
  return device->backend->memory_info(device->handle, &out_info->free_bytes, &out_info->total_bytes);
}

bool tsr_device_has_dtype(const tsr_device *device, tsr_dtype dtype) {
  if (tsri_dtype_is_packed(dtype)) dtype = TSR_U8;  // packed dtypes are stored as bytes
  if (!device || (unsigned)dtype >= TSR_DTYPE_COUNT) return false;
  return (device->limits.dtype_storage >> dtype & 1u) != 0;
}

int tsr_device_get_fragments(const tsr_device *device, tsr_fragment_size *sizes, int capacity) {
  if (!device) return 0;
  int count = (int)device->limits.fragment_count;
  for (int i = 0; sizes && i < count && i < capacity; i++) sizes[i] = device->limits.fragments[i];
  return count;
}

int tsr_device_subgroup_size(const tsr_device *device) {
  if (!device || device->limits.max_group_size == 0 || !device->backend->dialect) return 0;
  const tsri_emitter *emitter = tsri_emitter_find(device->backend->dialect);
  if (device->limits.subgroup_size > 0) return (int)device->limits.subgroup_size;
  return emitter ? (int)emitter->defaults->subgroup_size : 0;
}

tsr_status tsr_device_synchronize(tsr_device *device) {
  tsr_status status = tsri_device_check("device_synchronize", device);
  if (status == TSR_OK) status = tsri_device_wait(device);
  if (status == TSR_OK) tsri_late_finish(device);
  return status;
}

bool tsr_device_is_overdue(const tsr_device *device) {
  return tsri_device_check("device_is_overdue", device) == TSR_OK && atomic_load(&device->is_overdue);
}

tsr_status tsri_device_fall_back(tsr_device *device, const char *what) {
  if (device->strict) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %s cannot do this and strict mode forbids doing it on the host", what,
                     device->backend->name);
  }
  tsri_tape_refuses(device, "a step that is done on the host");
  tsri_count(&device->counters.fallbacks);
  tsri_log(TSR_LOG_INFO, "%s on %s falls back to the host", what, device->backend->name);
  if (tsri_profiling()) {
    tsri_profile_host(device, 0, &(tsri_profile_work){.kind = TSR_PROFILE_FALLBACK, .name = what});
  }
  return TSR_OK;
}

tsr_status tsr_device_get_counters(const tsr_device *device, tsr_device_counters *out_counters) {
  tsr_status status = tsri_device_check("device_get_counters", device);
  if (status != TSR_OK) return status;
  if (!out_counters) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_get_counters: out_counters is NULL");
  const tsri_device_counters *counters = &device->counters;
  *out_counters = (tsr_device_counters){
      .launches = counters->launches,
      .uploads = counters->uploads,
      .downloads = counters->downloads,
      .explicit_moves = counters->explicit_moves,
      .placements = counters->placements,
      .implicit_moves = counters->implicit_moves,
      .fallbacks = counters->fallbacks,
  };
  return TSR_OK;
}

tsr_status tsr_memory_get_stats(tsr_device *device, tsr_memory_stats *out_stats) {
  tsr_status status = tsri_device_check("memory_get_stats", device);
  if (status != TSR_OK) return status;
  if (!out_stats) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "memory_get_stats: out_stats is NULL");
  tsri_pool_get_stats(device->pool, out_stats);
  return TSR_OK;
}

tsr_status tsr_memory_trim(tsr_device *device, uint64_t *out_bytes) {
  tsr_status status = tsr_device_synchronize(device);
  if (status != TSR_OK) return status;
  uint64_t bytes = tsri_pool_trim(device->pool);
  if (out_bytes) *out_bytes = bytes;
  return TSR_OK;
}
