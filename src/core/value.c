// SPDX-License-Identifier: MIT
// References to values, and plain values: elements in a buffer.
#include "core/value.h"

#include "core/alloc.h"

#define TENSOR_REF (UINT64_C(1) << 32)

void tsri_value_init(tsri_value *value, tsr_buffer *buffer, tsr_device *device, void (*destroy)(tsri_value *value)) {
  atomic_init(&value->refs, TENSOR_REF + 1);
  atomic_init(&value->buffer, buffer);
  atomic_init(&value->latest, NULL);
  value->device = tsr_device_retain(device);
  value->destroy = destroy;
  value->successor = value->storage = NULL;
}

static void destroy_plain(tsri_value *value) {
  tsr_buffer_release(tsri_value_buffer(value));
  tsr_device_release(value->device);
  tsri_record_free(value, sizeof *value);
}

tsri_value *tsri_value_create(tsr_buffer *buffer) {
  tsri_value *value = tsri_record_alloc(sizeof *value);
  if (value) tsri_value_init(value, buffer, tsr_buffer_device(buffer), destroy_plain);
  else tsr_buffer_release(buffer);
  return value;
}

bool tsri_value_retain_living(tsri_value *value) {
  uint_fast64_t refs = atomic_load_explicit(&value->refs, memory_order_relaxed);
  while ((refs & TSRI_VALUE_REFS) > 0) {
    if (atomic_compare_exchange_weak_explicit(&value->refs, &refs, refs + 1, memory_order_acquire,
                                              memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

tsri_value *tsri_value_hold(tsri_value *value) {
  atomic_fetch_add_explicit(&value->refs, TENSOR_REF + 1, memory_order_relaxed);
  return value;
}

void tsri_value_let_go(tsri_value *value) {
  if (!value) return;
  // Fast path: this is the only tensor, so no other thread can assign to the value any more. An assignment that was
  // recorded through another tensor is visible here, because that tensor was released before `refs` was read.
  bool is_only = atomic_load_explicit(&value->refs, memory_order_acquire) >> 32 == 1;
  if (is_only && !tsri_value_is_assigned(value)) {
    uint_fast64_t refs = atomic_fetch_sub_explicit(&value->refs, TENSOR_REF + 1, memory_order_acq_rel);
    if ((refs & TSRI_VALUE_REFS) == 1) value->destroy(value);
    return;
  }
  // While other tensors hold the value, nothing ends with this one: both counts are lowered in one step.
  uint_fast64_t refs = atomic_load_explicit(&value->refs, memory_order_relaxed);
  while (refs >> 32 > 1) {
    if (atomic_compare_exchange_weak_explicit(&value->refs, &refs, refs - (TENSOR_REF + 1), memory_order_acq_rel,
                                              memory_order_relaxed)) {
      return;
    }
  }
  bool is_last = atomic_fetch_sub_explicit(&value->refs, TENSOR_REF, memory_order_acq_rel) >> 32 == 1;
  if (is_last) tsri_value_release(atomic_exchange(&value->latest, NULL));
  tsri_value_release(value);
}
