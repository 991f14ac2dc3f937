// SPDX-License-Identifier: MIT
// What tensors are views of: elements in a buffer, or a recorded operator that will compute them.
#ifndef TSRI_VALUE_H
#define TSRI_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <tessera/buffer.h>

// Counted. The graph's nodes begin with one; others are plain.
typedef struct tsri_value {
  atomic_uint refs;
  _Atomic(tsr_buffer *) buffer;               // one reference; NULL while pending. Set once, under the graph's lock.
  tsr_device *device;                         // one reference
  void (*destroy)(struct tsri_value *value);  // when the last reference goes; frees all of it
} tsri_value;

// A value that is there: takes the reference to `buffer`, also when it fails. NULL when host memory is out.
tsri_value *tsri_value_create(tsr_buffer *buffer);

tsri_value *tsri_value_retain(tsri_value *value);

// For who knows of a value without having a reference: takes one, or is false if the last one has gone already. Something
// must keep the value from being freed meanwhile.
bool tsri_value_retain_living(tsri_value *value);

void tsri_value_release(tsri_value *value);  // takes NULL

// NULL while pending.
static inline tsr_buffer *tsri_value_buffer(const tsri_value *value) {
  return atomic_load_explicit(&((tsri_value *)value)->buffer, memory_order_acquire);
}

#endif
