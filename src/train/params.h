// SPDX-License-Identifier: MIT
// The record of a set of parameters: one flat buffer, of which every tensor is a part (runtime/buffer.h).
//
// Tensors begin at multiples of `step` elements (optim_mark of graph/tuning.def, or more if the device requires a larger alignment of parts of buffers). The
// elements between two tensors are 0, and stay 0 under every optimiser because their gradients are 0.
#ifndef TSRI_TRAIN_PARAMS_H
#define TSRI_TRAIN_PARAMS_H

#include "core/tensor.h"
#include "runtime/buffer.h"

#include <tessera/params.h>

// A flat buffer and the tensors whose elements are in it.
typedef struct tsri_flat {
  tsr_buffer *buffer;    // NULL: not made yet, or there are no elements
  tsr_tensor **tensors;  // one reference to each
} tsri_flat;

typedef struct tsri_param {
  char *name;
  tsri_layout layout;
  int64_t at;  // first element in the flat buffer
} tsri_param;

struct tsr_params {
  tsri_object object;
  tsr_device *device;  // one reference
  tsr_dtype dtype;
  int count;
  int64_t element_count;  // elements of all tensors together
  int64_t flat_count;     // elements of a flat buffer, including those between tensors; a multiple of `step`
  int64_t step;
  tsri_param *params;
  tsri_flat values, gradients;
};

// Makes a flat buffer of zeros with the set's layout, with elements of `dtype`. `may_tear`: see tsr_buffer.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, those of tsr_buffer_fill. Then `*out_flat` is empty.
tsr_status tsri_flat_init(const tsr_params *params, tsr_dtype dtype, bool may_tear, tsri_flat *out_flat);
void tsri_flat_deinit(tsri_flat *flat, int count);  // `flat` may be empty

// Makes a set of zeros with the shapes of `like`. The names are `prefix` (which may be "") followed by those of `like`.
tsr_status tsri_params_create_like(const tsr_params *like, const char *prefix, tsr_device *device, tsr_dtype dtype,
                                   tsr_params **out_params);

tsr_status tsri_params_check(const char *caller, const tsr_params *params);

// Makes the flat buffer of gradients if there is none.
tsr_status tsri_params_need_gradients(tsr_params *params);

// Records the first value of a tensor. `fan` is that of the description's shape.
tsr_status tsri_params_fill(tsr_tensor *tensor, const tsr_param_desc *desc, uint64_t seed);

#endif
