// SPDX-License-Identifier: MIT
// Replaces place.c in web pages, which have no measurements on disk: every graph runs where its tensors are.
#include "graph/place.h"
#include "runtime/placing.h"

void tsri_placing_attach(tsr_device *device) { (void)device; }
void tsri_placing_detach(tsr_device *device) { (void)device; }

void tsri_place_nodes(tsri_graph_state *state, tsri_node *const *nodes, uint32_t count) {
  (void)state;
  (void)nodes;
  (void)count;
}

tsr_tensor *tsri_place_source(tsr_tensor *tensor) {
  (void)tensor;
  return NULL;
}

tsr_device *tsri_place_of_data(const tsr_device *device, size_t bytes) {
  (void)device;
  (void)bytes;
  return NULL;
}
