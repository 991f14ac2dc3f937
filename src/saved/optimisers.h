// SPDX-License-Identifier: MIT
// Optimisers of a saved capture. A file has the settings, the state and the shapes of the tensors of each optimiser. The leaves of the capture that an optimiser
// updates are its members: when the file is loaded, they become parts of one piece of memory again, so that a step is one launch.
#ifndef TSRI_SAVED_OPTIMISERS_H
#define TSRI_SAVED_OPTIMISERS_H

#include "saved/load.h"
#include "train/optim.h"

// Writes the description of an optimiser.
//
// Errors: those of reading its memory; TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_saved_put_optimiser(tsri_builder *to, const tsr_optim *optim);

// An optimiser that was loaded.
struct tsri_loaded_optimiser {
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor **tensors;  // as tsri_optim_tensors; borrowed
  bool *is_taken;        // a leaf is this tensor
  uint32_t tensor_count;
  uint32_t step, scale, good;  // first numbers of its `work`
};

// Reads all descriptions and creates the optimisers.
tsr_status tsri_loading_take_optimisers(tsri_loading *l);
void tsri_loading_free_optimisers(tsri_loading *l);

// Makes the leaf, a member, the tensor `place` of its optimiser, with the elements in the file. `*out_tensor` belongs to the scope.
tsr_status tsri_loading_make_member(tsri_loading *l, const tsri_loaded_leaf *leaf, tsr_tensor **out_tensor);

// Sets all optimisers back to the state in the file.
tsr_status tsri_loading_restore_optimisers(const tsri_loading *l);

#endif
