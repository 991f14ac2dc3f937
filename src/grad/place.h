// SPDX-License-Identifier: MIT
// Reading through a view, turned around: what is read goes back to its place.
#ifndef TSRI_GRAD_PLACE_H
#define TSRI_GRAD_PLACE_H

#include "core/tensor.h"

// The gradient of a value with row-major `shape`, when `gradient` is that of the elements read through `view`: broadcast elements are added
// up, the axes come into the order of memory, and elements that the view leaves out get 0. A new tensor of that shape. Along axes that the view
// broadcasts, the gradient may have the size 1: it is added up already.
tsr_tensor *tsri_grad_place(tsr_tensor *gradient, const tsri_layout *view, tsr_shape shape);

// The elements of the row-major `whole` that `view` reads, as a new tensor.
tsr_tensor *tsri_grad_read(tsr_tensor *whole, const tsri_layout *view);

#endif
