// SPDX-License-Identifier: MIT
// A file on its way to a capture.
#ifndef TSRI_SAVED_LOAD_H
#define TSRI_SAVED_LOAD_H

#include "graph/capture.h"
#include "saved/format.h"

// A value of the file: a leaf, or a result of a step that has been recorded.
typedef struct tsri_loaded_value {
  tsr_tensor *tensor;  // of the value's shape; leaves are lists. NULL: a result that this device does not compute
  tsr_dtype dtype;
  int64_t count;  // elements
} tsri_loaded_value;

// The description of a leaf in the file. Leaf i is value i.
typedef struct tsri_loaded_leaf {
  tsri_saved_leaf kind;
  tsr_dtype dtype;
  uint64_t bytes;
  uint64_t word;              // DATA, MEMBER: where its elements are in the file's data; FILLED: the pattern
  uint32_t optimiser, place;  // MEMBER: of which optimiser, and which of its tensors
} tsri_loaded_leaf;

typedef struct tsri_loaded_optimiser tsri_loaded_optimiser;  // saved/optimisers.h

typedef struct tsri_loading {
  tsr_device *device;
  const tsr_load_desc *desc;
  uint32_t version;
  tsri_saved_reader text;
  const unsigned char *data;  // elements of leaves
  size_t data_bytes;
  tsri_loaded_value *values;  // tensors belong to the scope that is open while loading
  uint32_t value_count, value_room;
  tsri_loaded_leaf *leaves;
  uint32_t leaf_count;
  tsri_loaded_optimiser *optimisers;
  uint32_t optimiser_count;
  tsr_tensor **written;  // tensors that assignments, kernels and optimisers write to: the capture computes them
  uint32_t written_count, written_room;
} tsri_loading;

// A view as the file has it.
typedef struct tsri_loaded_view {
  tsr_tensor *tensor;  // belongs to the scope
  tsr_dtype as;
} tsri_loaded_view;

// Fails with TSR_ERR_INVALID_ARGUMENT: the file is invalid, for the reason `what`.
tsr_status tsri_loading_fail(const char *what);
tsr_status tsri_loading_no_memory(void);

// Errors: TSR_ERR_OUT_OF_MEMORY (more bytes than the caller of tsr_capture_load allows).
tsr_status tsri_loading_check_size(const tsri_loading *l, uint64_t bytes);

// Reads a view and makes a tensor of it. Checks that the value exists and has the view's dtype, and that no index of the view is outside of the value.
tsr_status tsri_loading_take_view(tsri_loading *l, tsri_loaded_view *out_view);

// Reads a dtype of 1 byte, and a shape of a rank that follows it.
tsr_status tsri_loading_take_dtype(tsri_loading *l, tsr_dtype *out_dtype);
tsr_status tsri_loading_take_shape(tsri_loading *l, tsr_dtype dtype, tsr_shape *out_shape, int64_t *out_count);

// Adds a value. Its tensor belongs to the scope.
tsr_status tsri_loading_add_value(tsri_loading *l, tsr_tensor *tensor, tsr_dtype dtype, int64_t count);

// Reads all steps and records them.
tsr_status tsri_loading_take_steps(tsri_loading *l);

#endif
