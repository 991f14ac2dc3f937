// SPDX-License-Identifier: MIT
// Replaces trace.c in web pages, where captures cannot be saved.
#include "graph/trace.h"

void tsri_trace_begin(void) {}

void tsri_trace_node(tsri_node *node) { (void)node; }

void tsri_trace_fill(const tsr_tensor *tensor, const void *pattern, size_t bytes) {
  (void)tensor, (void)pattern, (void)bytes;
}

void tsri_trace_object(const tsr_device *device, tsri_traced_kind kind, tsr_tensor *const *tensors, int tensor_count,
                       void *object, void (*release)(void *object)) {
  (void)device, (void)kind, (void)tensors, (void)tensor_count;
  if (object) release(object);
}
