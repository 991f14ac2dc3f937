// SPDX-License-Identifier: MIT
// The gradient of reading a value through a view.
#ifndef TSRI_GRAD_PLACE_H
#define TSRI_GRAD_PLACE_H

#include "grad/range.h"

// Marks a step of a range that put elements into places of a tensor of zeros; its attributes are the layout of the places.
extern const tsri_op tsri_op_place;

// The gradient of a value with row-major `shape`, when `gradient` is that of the elements read through `view`: broadcast elements are added
// up, the axes come into the order of memory, and elements that the view leaves out get 0. A new tensor of that shape.
tsr_tensor *tsri_grad_place(tsr_tensor *gradient, const tsri_layout *view, tsr_shape shape);

// The elements of the row-major `whole` that `view` reads, as a new tensor.
tsr_tensor *tsri_grad_read(tsr_tensor *whole, const tsri_layout *view);

#endif
