// SPDX-License-Identifier: MIT
// Pinned host memory (tsr_host_alloc, tsr_host_register), from and to which devices copy without staging, and the list of it. On a device without pinned memory,
// tsr_host_alloc returns ordinary memory.
#include "core/alloc.h"
#include "core/error.h"
#include "runtime/late.h"
#include "runtime/queue.h"

typedef struct host_memory {
  tsri_late late;
  struct host_memory *next;
  tsr_device *device;  // one reference
  char *memory;
  size_t bytes;
  bool is_pinned;
  bool is_callers;  // the caller's own memory, given to tsr_host_register
} host_memory;

static tsri_mutex list_lock = TSRI_MUTEX_INIT;
static host_memory *list;

static void destroy(tsr_device *device, tsri_late *late) {
  host_memory *record = (host_memory *)late;
  const tsri_backend *backend = device->backend;
  if (!record->is_pinned && !record->is_callers) tsri_aligned_free(record->memory);
  if (record->is_pinned) {
    (record->is_callers ? backend->host_unregister : backend->host_free)(device->handle, record->memory);
  }
  tsri_free(record);
}

static void enter(host_memory *record) {
  tsri_mutex_lock(&list_lock);
  record->next = list;
  list = record;
  tsri_mutex_unlock(&list_lock);
}

// Call with the list's lock held. Finds the link to the record that begins at `memory`.
static host_memory **find(const void *memory) {
  host_memory **link = &list;
  while (*link && (*link)->memory != memory) link = &(*link)->next;
  return link;
}

static host_memory *new_record(tsr_device *device, void *memory, size_t bytes, bool is_callers) {
  host_memory *record = tsri_calloc(1, sizeof *record);
  if (!record) {
    TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "host memory: no host memory for its record");
    return NULL;
  }
  *record = (host_memory){.late = {.destroy = destroy},
                          .device = tsr_device_retain(device),
                          .memory = memory,
                          .bytes = bytes,
                          .is_callers = is_callers};
  return record;
}

static void abandon(host_memory *record) {
  tsr_device_release(record->device);
  tsri_free(record);
}

tsr_status tsr_host_alloc(tsr_device *device, size_t bytes, void **out_memory) {
  if (!out_memory) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "host_alloc: out_memory is NULL");
  *out_memory = NULL;
  tsr_status status = tsri_device_check("host_alloc", device);
  if (status != TSR_OK) return status;
  if (bytes == 0 || bytes > SIZE_MAX / 2) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "host_alloc: %zu bytes", bytes);
  }
  host_memory *record = new_record(device, NULL, bytes, false);
  if (!record) return TSR_ERR_OUT_OF_MEMORY;
  void *memory = NULL;
  record->is_pinned = device->backend->host_alloc != NULL;
  if (record->is_pinned) status = device->backend->host_alloc(device->handle, bytes, &memory);
  else memory = tsri_aligned_alloc(bytes);
  if (status == TSR_OK && !memory) {
    status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "host_alloc: no host memory of %zu bytes", bytes);
  }
  if (status != TSR_OK) {
    abandon(record);
    return status;
  }
  record->memory = memory;
  enter(record);
  *out_memory = memory;
  return TSR_OK;
}

tsr_status tsr_host_register(tsr_device *device, void *memory, size_t bytes) {
  tsr_status status = tsri_device_check("host_register", device);
  if (status != TSR_OK) return status;
  if (!memory || bytes == 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "host_register: %zu bytes at NULL", bytes);
  tsri_mutex_lock(&list_lock);
  bool is_there = *find(memory) != NULL;
  tsri_mutex_unlock(&list_lock);
  if (is_there) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "host_register: the memory is registered already");
  host_memory *record = new_record(device, memory, bytes, true);
  if (!record) return TSR_ERR_OUT_OF_MEMORY;
  if (device->backend->host_register) status = device->backend->host_register(device->handle, memory, bytes);
  record->is_pinned = device->backend->host_register && status == TSR_OK;
  if (status != TSR_OK && status != TSR_ERR_UNSUPPORTED) {
    abandon(record);
    return status;
  }
  enter(record);
  return TSR_OK;
}

// Takes the record off the list and destroys it once no queued work uses the memory.
static tsr_status leave(const char *caller, void *memory, bool is_callers) {
  tsri_mutex_lock(&list_lock);
  host_memory **link = find(memory), *record = *link;
  if (record && record->is_callers == is_callers) *link = record->next;
  else record = NULL;
  tsri_mutex_unlock(&list_lock);
  if (!record) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: no memory that begins there is known", caller);
  tsr_device *device = record->device;
  tsri_late_destroy(device, &record->late, caller);
  tsr_device_release(device);
  return TSR_OK;
}

tsr_status tsr_host_free(void *memory) { return memory ? leave("host_free", memory, false) : TSR_OK; }

tsr_status tsr_host_unregister(void *memory) { return leave("host_unregister", memory, true); }

bool tsr_host_is_pinned(tsr_device *device, const void *memory, size_t bytes) {
  const char *first = memory;
  bool is_pinned = false;
  tsri_mutex_lock(&list_lock);
  for (const host_memory *at = list; at && !is_pinned; at = at->next) {
    bool is_inside = first >= at->memory && bytes <= at->bytes && (size_t)(first - at->memory) <= at->bytes - bytes;
    is_pinned = at->is_pinned && at->device == device && is_inside;
  }
  tsri_mutex_unlock(&list_lock);
  return is_pinned;
}

bool tsri_host_is_direct(tsr_device *device, const void *memory, size_t bytes) {
  return device->limits.reads_directly || tsr_host_is_pinned(device, memory, bytes);
}
