// SPDX-License-Identifier: MIT
// Imports host memory as a tensor.
#include "attack/import.h"

#include <stdlib.h>
#include <string.h>

#include "ops/dlpack_abi.h"

// The DLPack struct with the memory it points to.
typedef struct managed_block {
  struct DLManagedTensorVersioned managed;
  int64_t shape[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  void *data;
} managed_block;

static void free_block(struct DLManagedTensorVersioned *managed) {
  managed_block *block = managed->manager;
  free(block->data);
  free(block);
}

static uint8_t code_of(tsr_dtype dtype) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if (dtype == TSR_BF16) return DL_BFLOAT;
  return kind == TSR_KIND_BOOL ? DL_BOOL : kind == TSR_KIND_UINT ? DL_UINT : kind == TSR_KIND_INT ? DL_INT : DL_FLOAT;
}

// The whole array is row-major, with the last axis twice as long; the tensor begins at its element 1.
static managed_block *make_block(tsr_dtype dtype, model_tensor whole, model_tensor view) {
  managed_block *block = calloc(1, sizeof *block);
  if (!block) abort();
  size_t element = tsr_dtype_bytes(dtype);
  block->data = malloc((size_t)whole.storage->count * element + 1);
  if (!block->data) abort();
  model_write_bytes(whole, block->data);
  memcpy(block->shape, view.shape.dims, sizeof block->shape);
  memcpy(block->strides, view.strides, sizeof block->strides);
  block->managed =
      (struct DLManagedTensorVersioned){.version = {DL_MAJOR, DL_MINOR}, .manager = block, .deleter = free_block};
  block->managed.tensor = (dl_tensor){.data = block->data,
                                      .device = {DL_CPU, 0},
                                      .ndim = view.shape.rank,
                                      .dtype = {code_of(dtype), (uint8_t)(8 * element), 1},
                                      .shape = block->shape,
                                      .strides = block->strides,
                                      .byte_offset = element};
  return block;
}

static tsr_device *first_cpu(const arena *a) {
  for (int i = 0; i < a->device_count; i++) {
    if (strcmp(tsr_device_backend(a->devices[i]), "cpu") == 0) return a->devices[i];
  }
  return NULL;
}

bool attack_can_import(const arena *a, const step *s) {
  return first_cpu(a) && s->shape.rank > 0 && model_count(s->shape) > 0;
}

tsr_tensor *attack_import(const arena *a, const step *s, model_tensor *out_model) {
  int last = s->shape.rank - 1;
  tsr_shape shape = s->shape;
  shape.dims[last] *= 2;
  model_tensor whole = model_create(s->dtype, shape), view = whole;
  model_fill(whole, s->seed);
  view.shape = s->shape;
  view.offset = 1;
  view.strides[last] = 2;
  managed_block *block = make_block(s->dtype, whole, view);
  tsr_tensor *tensor = NULL;
  if (tsr_from_dlpack_versioned(first_cpu(a), &block->managed, &tensor) != TSR_OK) free_block(&block->managed);
  *out_model = view;
  return tensor;
}
