// SPDX-License-Identifier: MIT
// The reverse of reading through a view: puts gradients of the elements that were read back to the positions they were read from.
#ifndef TSRI_GRAD_PLACE_H
#define TSRI_GRAD_PLACE_H

#include "core/tensor.h"

// The gradient of a value with row-major `shape`, when `gradient` is that of the elements read through `view`: broadcast elements are added
// up, the axes come into the order of memory, and elements that the view leaves out get 0. A new tensor of that shape. Along axes that the view
// broadcasts, the gradient may have the size 1: it is added up already.
tsr_tensor *tsri_grad_place(tsr_tensor *gradient, const tsri_layout *view, tsr_shape shape);

// Elements of a value that a view reads: all of them are among first + i * step + j with 0 <= j < length, for any i.
typedef struct grad_run {
  int64_t first, length, step;
} grad_run;

// Describes the elements that a view reads of a value with `shape` as such a run. False: it reads all elements, or cannot be described so.
bool tsri_grad_run_of(const tsri_layout *view, tsr_shape shape, grad_run *out_run);

// Whether views with these descriptions have no element in common.
bool tsri_grad_are_apart(const grad_run *a, const grad_run *b);

// Whether each element of a value of `count` elements is read by exactly one of the views. False also where that is not known.
bool tsri_grad_are_parts(const tsri_layout *const *views, int view_count, int64_t count);

// As tsri_grad_place, but writes into `whole`, where it is still 0. `whole` is a result of tsri_grad_place that nobody else uses.
tsr_status tsri_grad_place_into(tsr_tensor *whole, tsr_tensor *gradient, const tsri_layout *view);

// The elements of the row-major `whole` that `view` reads, as a new tensor.
tsr_tensor *tsri_grad_read(tsr_tensor *whole, const tsri_layout *view);

#endif
