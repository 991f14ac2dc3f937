// SPDX-License-Identifier: MIT
// Gradients: how a result changes with the tensors it was computed from.
//
//   tsr_grad_begin();
//   tsr_grad_watch(w);
//   tsr_tensor *loss = tsr_mse_loss(tsr_matmul(x, w), target, NULL);
//   tsr_tensor *dw = NULL;
//   tsr_grad(loss, NULL, &w, 1, &dw);      // dw has the shape and the dtype of w
//   tsr_grad_end();
//
// Between begin and end the calling thread remembers the operators that it records from watched tensors. tsr_grad goes back through
// them and records the operators that compute the gradients: nothing runs until they are read, and they are fused, captured and moved
// between devices like all others. docs/training.md has a whole example.
#ifndef TESSERA_GRAD_H
#define TESSERA_GRAD_H

#include <tessera/tensor.h>

// Begins to remember on the calling thread. Ranges do not nest.
//
// Threads: operators that other threads record are not remembered. A range that is open when its thread ends is given up.
// Errors:  TSR_ERR_INVALID_ARGUMENT (a range is open already), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_grad_begin(void);

// Forgets everything. Gradients that were recorded stay valid.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (no range is open).
TSR_API tsr_status tsr_grad_end(void);

// From now on, what is computed from `x` is remembered. Views of the same memory are watched with it.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (no range is open), TSR_ERR_DTYPE (`x` is no float tensor), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_grad_watch(tsr_tensor *x);

typedef struct tsr_grad_desc {
  // The gradient of the final result by `y`, a tensor of the shape of `y`. NULL: 1, for a `y` of one element.
  tsr_tensor *cotangent;
  // Keeps what the range remembers, and remembers the operators that compute the gradients too: for further gradients, and for gradients
  // of gradients. Otherwise the range is empty after the call, which frees memory; watched tensors stay watched.
  bool keep;
  // A tensor from which `y` was not computed gets zeros. Otherwise it is an error.
  bool zeros_if_unused;
} tsr_grad_desc;

// The gradients of `y` by each of the tensors `xs`, which are watched or were computed from watched ones in this range; desc may be
// NULL. out_gradients[i] has the shape and the dtype of xs[i].
//
// tsr_assign is an operator like others. The gradient is by the elements that xs[i] has now: if xs[i] was overwritten after `y` was computed, `y` does not
// depend on it. Elements that an operator's gradient needs must still be there: if tsr_write or tsr_assign has overwritten them, the call fails with a message
// that names the operator.
//
// Where a function has no unique derivative, the gradient is: 0 for abs and relu at 0; equal shares for ties of max and min over an axis; all of it for `a` at ties
// of tsr_maximum(a, b); 0 for roots at 0. docs/training.md lists all cases.
//
// Ownership: caller, or the caller's scope, releases out_gradients. On failure all of them are NULL. Without .keep a range may be empty after a failure, too:
//            compute `y` again before the next call.
// Errors:    TSR_ERR_INVALID_ARGUMENT (no range is open; `y` was not computed from watched tensors, or not from xs[i]; something was
//            overwritten; a cotangent on another device than `y`), TSR_ERR_SHAPE (`y` has several elements and there is no cotangent, or that has another shape),
//            TSR_ERR_DTYPE (`y` or xs[i] are no floats), TSR_ERR_UNSUPPORTED (an operator without a gradient, which the message names), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_grad(tsr_tensor *y, const tsr_grad_desc *desc, tsr_tensor *const *xs, int x_count,
                            tsr_tensor **out_gradients);

// Between pause and resume nothing is remembered: results are constants. Pauses nest; without an open range they do nothing.
TSR_API void tsr_grad_pause(void);
TSR_API void tsr_grad_resume(void);

// Computes `outputs` from `inputs`, none of which is a failed tensor, and sets each output. It is called again in the backward pass and must then compute the same.
// Random operators do: their numbers depend on the seed alone.
typedef tsr_status (*tsr_checkpoint_function)(void *context, tsr_tensor *const *inputs, int input_count,
                                              tsr_tensor **outputs, int output_count);

// Calls `function`, and keeps only its inputs and results for the gradient: what it records in between is forgotten, and computed again when tsr_grad
// goes back through it. This takes the time of another forward pass of the part, and saves the memory of its intermediate results. In an open range the
// results have been computed on return.
//
// Gradients go through `inputs` alone: other tensors that the function reads count as constants. 1 to 64 inputs and results.
//
// Ownership: the caller, or the caller's scope, releases outputs; `context` is borrowed until the range is emptied by tsr_grad or ended. The function runs
//            in a scope of its own.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, counts, a result that was not set), the function's, those of tsr_evaluate. Then all outputs are NULL.
TSR_API tsr_status tsr_checkpoint(tsr_checkpoint_function function, void *context, tsr_tensor *const *inputs,
                                  int input_count, tsr_tensor **outputs, int output_count);

// --- Memory ---------------------------------------------------------------------------------------------------------------

// The memory of a device in the two passes of a training step. It is that of the whole device: parameters, the optimiser's state and data are part of it.
typedef struct tsr_grad_memory {
  uint64_t start_bytes;  // in use when the step's first operator ran
  uint64_t
      forward_bytes;  // most in use while operators ran that were recorded in the range, before tsr_grad; 0: none ran
  uint64_t backward_bytes;  // the same while operators ran that tsr_grad recorded, checkpoints included
} tsr_grad_memory;

// What the last step took on `device`. A step begins with tsr_grad_begin, and again after each tsr_grad that empties the range. Operators count when they run,
// which may be after tsr_grad_end: ask after tsr_optim_step, or after reading the loss. For a captured step, these are the numbers of recording it: the
// capture keeps its memory, and running it takes none.
//
// Threads: any. If several threads train on one device, the step that was begun last counts.
// Errors:  TSR_ERR_INVALID_ARGUMENT (NULL).
TSR_API tsr_status tsr_grad_get_memory(tsr_device *device, tsr_grad_memory *out_memory);

// The elements of `x` as a constant: gradients do not go through the result.
TSR_API tsr_tensor *tsr_stop_gradient(tsr_tensor *x);

#endif
