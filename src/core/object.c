// SPDX-License-Identifier: MIT
// Reference counts, and the ring of released objects in debug builds.
#include "core/object.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "platform/platform.h"

void *tsri_object_create(tsri_object_type type, size_t bytes) {
  tsri_object *object = tsri_record_alloc(bytes);
  if (!object) return NULL;
  memset(object, 0, bytes);
  atomic_init(&object->refs, 1);
  object->type = type;
  return object;
}

#ifdef NDEBUG

void tsri_object_destroy(tsri_object *object, size_t bytes) { tsri_record_free(object, bytes); }

#else

enum { RING_COUNT = 512 };

static tsri_mutex ring_lock = TSRI_MUTEX_INIT;
static struct {
  tsri_object *object;
  size_t bytes;
} ring[RING_COUNT];
static size_t ring_next;

void tsri_object_destroy(tsri_object *object, size_t bytes) {
  object->type = TSRI_OBJECT_DEAD;
  tsri_mutex_lock(&ring_lock);
  tsri_object *oldest = ring[ring_next].object;
  size_t oldest_bytes = ring[ring_next].bytes;
  ring[ring_next].object = object;
  ring[ring_next].bytes = bytes;
  ring_next = (ring_next + 1) % RING_COUNT;
  tsri_mutex_unlock(&ring_lock);
  tsri_record_free(oldest, oldest_bytes);
}

#endif

tsr_status tsri_object_explain(const void *object, tsri_object_type type, const char *caller, const char *noun) {
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
