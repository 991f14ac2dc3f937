// SPDX-License-Identifier: MIT
// The part of a tensor that is printed: all elements of a small tensor, the edges of a large one.
#ifndef TSRI_PRINT_SHOWN_H
#define TSRI_PRINT_SHOWN_H

#include <stdbool.h>

#include <tessera/tensor.h>

enum {
  TSRI_SHOWN_WHOLE = 1000,  // a tensor with more elements than this is cut
  TSRI_SHOWN_EDGE = 3,      // elements shown at each end of an axis that is cut
  TSRI_SHOWN_ENDS = 6       // elements shown at both ends together
};

// The elements, row-major, with shape `shape`. Along an axis that is cut they are the first and last TSRI_SHOWN_EDGE.
typedef struct tsri_shown {
  tsr_dtype dtype;
  tsr_shape shape;
  bool is_cut[TSR_MAX_RANK];
  size_t count;
  unsigned char *data;  // NULL if there are no elements
} tsri_shown;

// Reads those elements of `tensor`, which must not have failed, that are shown.
//
// Ownership: caller calls tsri_shown_deinit, also after a failure. Temporary tensors are released.
// Errors:    TSR_ERR_OUT_OF_MEMORY, those of tsr_slice and tsr_read.
tsr_status tsri_shown_init(tsri_shown *shown, tsr_tensor *tensor);
void tsri_shown_deinit(tsri_shown *shown);

#endif
