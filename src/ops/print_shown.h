// SPDX-License-Identifier: MIT
// The part of a tensor that is shown: all of a small one, the edges of a large one.
#ifndef TSRI_PRINT_SHOWN_H
#define TSRI_PRINT_SHOWN_H

#include <stdbool.h>

#include <tessera/tensor.h>

enum {
  TSRI_SHOWN_WHOLE = 1000,  // most elements that are shown whole
  TSRI_SHOWN_EDGE = 3,      // elements shown at each end of an axis that is cut
  TSRI_SHOWN_ENDS = 6       // and at both
};

// Elements in row-major order of `shape`. Along a cut axis they are the first and the last TSRI_SHOWN_EDGE.
typedef struct tsri_shown {
  tsr_dtype dtype;
  tsr_shape shape;
  bool is_cut[TSR_MAX_RANK];
  size_t count;
  unsigned char *data;  // NULL if there are no elements
} tsri_shown;

// Reads what is shown of `tensor`, which has not failed, and nothing else of it.
//
// Ownership: caller calls tsri_shown_deinit, also after a failure. Tensors made on the way are released.
// Errors:    TSR_ERR_OUT_OF_MEMORY, those of tsr_slice and tsr_read.
tsr_status tsri_shown_init(tsri_shown *shown, tsr_tensor *tensor);
void tsri_shown_deinit(tsri_shown *shown);

#endif
