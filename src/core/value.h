// SPDX-License-Identifier: MIT
// What tensors are views of: elements in a buffer, or a recorded operator that will compute them.
#ifndef TSRI_VALUE_H
#define TSRI_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tessera/buffer.h>

// Counted. The graph's nodes begin with one; others are plain.
typedef struct tsri_value {
  atomic_uint_fast64_t refs;                  // all references; in the upper half those of them that tensors hold
  _Atomic(tsr_buffer *) buffer;               // one reference; NULL while pending. Set once, under the graph's lock.
  tsr_device *device;                         // one reference
  void (*destroy)(struct tsri_value *value);  // when the last reference goes; frees all of it

  // Assignments (graph/assign.h): recorded writes to elements that are, or will be, in `buffer`.
  _Atomic(struct tsri_value *)
      latest;  // the last one that is pending, whose result tensors of this value see; one reference, or NULL
  struct tsri_value *successor;  // the next one that is pending, which overwrites this result; under the graph's lock
  struct tsri_value *storage;    // of an assignment: the value that tensors hold; one reference. Of others NULL.
} tsri_value;

// A value with one reference, which may be a tensor's. Takes the reference to `buffer` (NULL: pending), and one to `device`.
void tsri_value_init(tsri_value *value, tsr_buffer *buffer, tsr_device *device, void (*destroy)(tsri_value *value));

// A value that is there: takes the reference to `buffer`, also when it fails. NULL when host memory is out.
tsri_value *tsri_value_create(tsr_buffer *buffer);

tsri_value *tsri_value_retain(tsri_value *value);
void tsri_value_release(tsri_value *value);  // takes NULL

// The same for references that tensors hold. When the last of those goes, nobody can see what a pending assignment would write: its
// reference is given up as well.
tsri_value *tsri_value_hold(tsri_value *value);
void tsri_value_let_go(tsri_value *value);  // takes NULL

// For who knows of a value without having a reference: takes one, or is false if the last one has gone already. Something
// must keep the value from being freed meanwhile.
bool tsri_value_retain_living(tsri_value *value);

// NULL while pending.
static inline tsr_buffer *tsri_value_buffer(const tsri_value *value) {
  return atomic_load_explicit(&((tsri_value *)value)->buffer, memory_order_acquire);
}

// Whether what tensors of the value see is still to be written by an assignment.
static inline bool tsri_value_is_assigned(const tsri_value *value) {
  return atomic_load_explicit(&((tsri_value *)value)->latest, memory_order_acquire) != NULL;
}

#endif
