// SPDX-License-Identifier: MIT
// Reference counts, and the ring of released objects in debug builds.
#include "core/object.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "platform/platform.h"

void *tsri_object_create(tsri_object_type type, size_t bytes) {
  // Not calloc: glibc does not serve it from its per-thread cache.
  tsri_object *object = tsri_malloc(bytes);
  if (!object) return NULL;
  memset(object, 0, bytes);
  atomic_init(&object->refs, 1);
  object->type = type;
  return object;
}

void tsri_object_retain(tsri_object *object) { atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed); }

bool tsri_object_release(tsri_object *object) {
  // Who has the only reference is alone: others can only copy a reference that they have. A load is cheaper than the
  // atomic subtraction, and most tensors and buffers have one reference.
  if (atomic_load_explicit(&object->refs, memory_order_acquire) == 1) return true;
  return atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1;
}

#ifdef NDEBUG

void tsri_object_destroy(tsri_object *object) { tsri_free(object); }

#else

enum { RING_COUNT = 512 };

static tsri_mutex ring_lock = TSRI_MUTEX_INIT;
static tsri_object *ring[RING_COUNT];
static size_t ring_next;

void tsri_object_destroy(tsri_object *object) {
  object->type = TSRI_OBJECT_DEAD;
  tsri_mutex_lock(&ring_lock);
  tsri_object *oldest = ring[ring_next];
  ring[ring_next] = object;
  ring_next = (ring_next + 1) % RING_COUNT;
  tsri_mutex_unlock(&ring_lock);
  tsri_free(oldest);
}

#endif

tsr_status tsri_object_check(const void *object, tsri_object_type type, const char *caller, const char *noun) {
  if (!object) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %s is NULL", caller, noun);
#ifndef NDEBUG
  const tsri_object *header = object;
  if (header->type == TSRI_OBJECT_DEAD) {
    return TSRI_FAIL(TSR_ERR_RELEASED, "%s: %s was released before this call", caller, noun);
  }
  if (header->type != type)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %s is another kind of object", caller, noun);
#else
  (void)type;
#endif
  return TSR_OK;
}
