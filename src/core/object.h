// SPDX-License-Identifier: MIT
// The header of every reference-counted object, and the detection of use after release.
//
// Debug builds keep the last few hundred released objects, marked as dead, so that a call with one of them returns
// TSR_ERR_RELEASED. Release builds free at once and do not check.
#ifndef TSRI_OBJECT_H
#define TSRI_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/status.h>

typedef enum tsri_object_type {
  TSRI_OBJECT_DEAD = 0x44454144,
  TSRI_OBJECT_DEVICE = 0x44455643,
  TSRI_OBJECT_BUFFER = 0x42554646,
  TSRI_OBJECT_TENSOR = 0x54454E53,
  TSRI_OBJECT_KERNEL = 0x4B45524E,
  TSRI_OBJECT_CAPTURE = 0x43415054,
  TSRI_OBJECT_PARAMS = 0x50415241,
  TSRI_OBJECT_OPTIM = 0x4F505449,
  TSRI_OBJECT_PROFILE = 0x50524F46,
  TSRI_OBJECT_QUEUE = 0x51554555,
  TSRI_OBJECT_EVENT = 0x45564E54
} tsri_object_type;

// Must be the first member of every counted struct.
typedef struct tsri_object {
  atomic_uint refs;
  tsri_object_type type;
} tsri_object;

// Allocates `bytes` of zeroed memory with one reference; NULL when host memory is out.
void *tsri_object_create(tsri_object_type type, size_t bytes);

// Frees an object of `bytes`, which tsri_object_create or tsri_record_alloc has made.
void tsri_object_destroy(tsri_object *object, size_t bytes);

static inline void tsri_object_retain(tsri_object *object) {
  atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
}

// Returns true if this was the last reference: the caller then frees the object's contents and calls
// tsri_object_destroy.
static inline bool tsri_object_release(tsri_object *object) {
  // Fast path for the only reference: no other thread can add one, since that needs a reference to copy. A load is cheaper
  // than the atomic subtraction, and most tensors and buffers have one reference.
  if (atomic_load_explicit(&object->refs, memory_order_acquire) == 1) return true;
  return atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1;
}

// tsri_object_check: TSR_OK if `object` is a live object of this type. Else TSR_ERR_INVALID_ARGUMENT (NULL; in debug builds also another
// type) or, in debug builds, TSR_ERR_RELEASED. `caller` and `noun` are for the message: "reshape: tensor is NULL".
// tsri_object_explain is the same, out of line.
tsr_status tsri_object_explain(const void *object, tsri_object_type type, const char *caller, const char *noun);

static inline tsr_status tsri_object_check(const void *object, tsri_object_type type, const char *caller,
                                           const char *noun) {
#ifdef NDEBUG
  if (object) return TSR_OK;
#else
  if (object && ((const tsri_object *)object)->type == type) return TSR_OK;
#endif
  return tsri_object_explain(object, type, caller, noun);
}

#endif
