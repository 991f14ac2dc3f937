// SPDX-License-Identifier: MIT
// Values: what tensors are views of. The elements are in a buffer, or a recorded operator will compute them.
#ifndef TSRI_VALUE_H
#define TSRI_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tessera/buffer.h>

// Reference-counted. The graph's nodes begin with one (graph/node.h); all others are plain elements in a buffer.
typedef struct tsri_value {
  // Lower half: all references. Upper half: how many of them tensors hold.
  atomic_uint_fast64_t refs;
  // One reference; NULL while pending. Set once, with the graph's lock held.
  _Atomic(tsr_buffer *) buffer;
  tsr_device *device;                         // one reference
  void (*destroy)(struct tsri_value *value);  // frees the value when the last reference is released

  // Assignments (graph/assign.h): recorded writes to the elements in `buffer`.
  // The last pending assignment, whose result tensors of this value see. One reference; NULL: none is pending.
  _Atomic(struct tsri_value *) latest;
  // The next pending assignment, which overwrites these elements. Guarded by the graph's lock.
  struct tsri_value *successor;
  // Assignments: the value that is written to; one reference. NULL for all other values.
  struct tsri_value *storage;
} tsri_value;

// Initialises a value with one reference, which may be a tensor's. Takes over the reference to `buffer` (NULL: pending)
// and adds one to `device`.
void tsri_value_init(tsri_value *value, tsr_buffer *buffer, tsr_device *device, void (*destroy)(tsri_value *value));

// Makes a value of the elements in `buffer`. Takes over the reference to it, also on failure. NULL when host memory is
// out.
tsri_value *tsri_value_create(tsr_buffer *buffer);

static inline tsri_value *tsri_value_retain(tsri_value *value) {
  atomic_fetch_add_explicit(&value->refs, 1, memory_order_relaxed);
  return value;
}

// The lower half of tsri_value.refs.
#define TSRI_VALUE_REFS UINT32_MAX

// Takes NULL.
static inline void tsri_value_release(tsri_value *value) {
  if (value && (atomic_fetch_sub_explicit(&value->refs, 1, memory_order_acq_rel) & TSRI_VALUE_REFS) == 1) {
    value->destroy(value);
  }
}

// As tsri_value_retain and tsri_value_release, for references that tensors hold. When the last tensor is released,
// nobody can see the result of a pending assignment any more, so the value also releases its latest assignment.
tsri_value *tsri_value_hold(tsri_value *value);
void tsri_value_let_go(tsri_value *value);  // takes NULL

// For a caller that knows a value without having a reference: takes one and returns true, or returns false if the last
// reference was released already. The caller must ensure that the value is not freed meanwhile, by a lock that freeing
// it takes.
bool tsri_value_retain_living(tsri_value *value);

// How many references there are. Another thread may change that, unless all of them are the caller's.
static inline uint32_t tsri_value_refs(const tsri_value *value) {
  return (uint32_t)atomic_load_explicit(&((tsri_value *)value)->refs, memory_order_acquire);
}

// Whether tensors hold all references: no recorded operator will still read the value.
static inline bool tsri_value_has_tensors_only(const tsri_value *value) {
  uint64_t refs = atomic_load_explicit(&((tsri_value *)value)->refs, memory_order_acquire);
  return refs >> 32 == (uint32_t)refs;
}

// The buffer with the elements; NULL while pending.
static inline tsr_buffer *tsri_value_buffer(const tsri_value *value) {
  return atomic_load_explicit(&((tsri_value *)value)->buffer, memory_order_acquire);
}

// Whether a pending assignment will still change what tensors of the value see.
static inline bool tsri_value_is_assigned(const tsri_value *value) {
  return atomic_load_explicit(&((tsri_value *)value)->latest, memory_order_acquire) != NULL;
}

#endif
