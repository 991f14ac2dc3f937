// SPDX-License-Identifier: MIT
// Plain values: elements in a buffer.
#include "core/value.h"

#include "core/alloc.h"

static void destroy_plain(tsri_value *value) {
  tsr_buffer_release(tsri_value_buffer(value));
  tsr_device_release(value->device);
  tsri_free(value);
}

tsri_value *tsri_value_create(tsr_buffer *buffer) {
  tsri_value *value = tsri_malloc(sizeof *value);
  if (!value) {
    tsr_buffer_release(buffer);
    return NULL;
  }
  atomic_init(&value->refs, 1);
  atomic_init(&value->buffer, buffer);
  value->device = tsr_device_retain(tsr_buffer_device(buffer));
  value->destroy = destroy_plain;
  return value;
}

tsri_value *tsri_value_retain(tsri_value *value) {
  atomic_fetch_add_explicit(&value->refs, 1, memory_order_relaxed);
  return value;
}

bool tsri_value_retain_living(tsri_value *value) {
  unsigned refs = atomic_load_explicit(&value->refs, memory_order_relaxed);
  while (refs > 0) {
    if (atomic_compare_exchange_weak_explicit(&value->refs, &refs, refs + 1, memory_order_acquire,
                                              memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void tsri_value_release(tsri_value *value) {
  if (value && atomic_fetch_sub_explicit(&value->refs, 1, memory_order_acq_rel) == 1) value->destroy(value);
}
