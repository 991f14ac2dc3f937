// SPDX-License-Identifier: MIT
// Parameters: a named set of tensors that a network learns, kept together in memory.
//
//   const tsr_param_desc tensors[] = {
//       {.name = "hidden.weight", .shape = TSR_SHAPE(128, 784), .init = TSR_INIT_HE_NORMAL},
//       {.name = "hidden.bias", .shape = TSR_SHAPE(128)},  // zeros
//   };
//   tsr_params *params = NULL;
//   tsr_params_create(device, TSR_F32, tensors, 2, /*seed=*/1, &params);
//   tsr_tensor *w = tsr_params_find(params, "hidden.weight");
//
// All tensors of a set have one dtype and one device, and lie in one piece of memory, so that an optimiser (optim.h) updates them in
// one launch. Each of them is a tensor like any other: operators read it, tsr_write and tsr_assign change it. docs/training.md shows
// how a network is trained.
//
// Threads: any thread may read a set. Changing its tensors, or computing gradients, on one thread while another uses it is a race that callers
//          must avoid.
#ifndef TESSERA_PARAMS_H
#define TESSERA_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/grad.h>
#include <tessera/tensor.h>

// Reference-counted.
typedef struct tsr_params tsr_params;

// What a tensor holds at first. `value` is that of tsr_param_desc.
//
// fan_in is the number of inputs that one output is computed from, fan_out the number of outputs that one input goes to: for a weight of
// [outputs, inputs, …], as tsr_linear and tsr_conv take it, inputs and outputs times the elements of the axes behind them. A shape of one
// axis has fan_in 1.
typedef enum tsr_init {
  TSR_INIT_ZEROS,
  TSR_INIT_ONES,
  TSR_INIT_CONSTANT,          // `value`
  TSR_INIT_NORMAL,            // mean 0, standard deviation `value`; 0 means 1
  TSR_INIT_TRUNCATED_NORMAL,  // as NORMAL; numbers beyond two standard deviations are drawn again
  TSR_INIT_UNIFORM,           // from -`value` to `value`; 0 means 1
  TSR_INIT_XAVIER_UNIFORM,    // from -a to a, a = gain * sqrt(6 / (fan_in + fan_out)); the gain is `value`, 0 means 1
  TSR_INIT_XAVIER_NORMAL,     // standard deviation gain * sqrt(2 / (fan_in + fan_out))
  TSR_INIT_HE_UNIFORM,  // from -a to a, a = gain * sqrt(3 / fan_in); the gain is `value`, 0 means sqrt(2), right for relu
  TSR_INIT_HE_NORMAL    // standard deviation gain / sqrt(fan_in)
} tsr_init;

typedef struct tsr_param_desc {
  const char *name;  // copied; not empty, and no other tensor's
  tsr_shape shape;
  tsr_init init;
  double value;          // see tsr_init
  bool is_inputs_first;  // the weight is [inputs, outputs], as tsr_matmul(x, weight) takes it
} tsr_param_desc;

// Creates a set of f16, bf16, f32 or f64 tensors with their first values. The random numbers of a tensor depend on `seed` and its name alone, and have
// the same bits on every device.
//
// Ownership: caller releases `*out_params`. Tensors that are got from it keep their memory, also when the set is released.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, a negative count, a name that is empty or there twice, an initialiser that does not exist, a `value`
//            that is not finite), TSR_ERR_DTYPE (another one), TSR_ERR_SHAPE, TSR_ERR_OUT_OF_MEMORY and those of tsr_evaluate. Then
//            `*out_params` is NULL.
TSR_API tsr_status tsr_params_create(tsr_device *device, tsr_dtype dtype, const tsr_param_desc *tensors, int count,
                                     uint64_t seed, tsr_params **out_params);

// Reference counting. Both accept NULL.
TSR_API tsr_params *tsr_params_retain(tsr_params *params);
TSR_API void tsr_params_release(tsr_params *params);

// Properties; 0, f32 and no device for NULL. The bytes are those of the elements.
TSR_API int tsr_params_count(const tsr_params *params);
TSR_API int64_t tsr_params_element_count(const tsr_params *params);
TSR_API uint64_t tsr_params_bytes(const tsr_params *params);
TSR_API tsr_dtype tsr_params_dtype(const tsr_params *params);
TSR_API tsr_device *tsr_params_device(const tsr_params *params);  // borrowed

// The tensor with this name, or tensor `index`, counted from 0 in the order of creation: a view of the set's memory, which belongs to
// the caller or the caller's scope. A failed tensor if there is none; TSR_ERR_NOT_FOUND, and the message has the most similar name, or
// TSR_ERR_INVALID_ARGUMENT.
TSR_API tsr_tensor *tsr_params_find(const tsr_params *params, const char *name);
TSR_API tsr_tensor *tsr_params_tensor(const tsr_params *params, int index);

// The name of tensor `index`; empty if there is none. Valid as long as the set.
TSR_API const char *tsr_params_name(const tsr_params *params, int index);

// A copy of the set, on the same or another device, in the same or another float dtype. The copy has been queued on return.
//
// Ownership: caller releases `*out_params`.
// Errors:    TSR_ERR_INVALID_ARGUMENT, TSR_ERR_DTYPE, TSR_ERR_OUT_OF_MEMORY, those of tsr_evaluate. Then `*out_params` is NULL.
TSR_API tsr_status tsr_params_clone(const tsr_params *params, tsr_params **out_params);
TSR_API tsr_status tsr_params_to(const tsr_params *params, tsr_device *device, tsr_params **out_params);
TSR_API tsr_status tsr_params_cast(const tsr_params *params, tsr_dtype dtype, tsr_params **out_params);

// Gives every tensor of `target` the elements of the tensor of the same name in `source`, which may have another dtype and another device.
// Both sets must have the same names and shapes; the order may differ. Either all tensors change or, on failure, none.
//
// Errors: TSR_ERR_NOT_FOUND (a tensor that only one of them has), TSR_ERR_SHAPE; the message names the tensor.
//         TSR_ERR_INVALID_ARGUMENT, TSR_ERR_OUT_OF_MEMORY, those of tsr_evaluate.
TSR_API tsr_status tsr_params_copy(tsr_params *target, const tsr_params *source);

// --- Gradients ----------------------------------------------------------------------------------------------------------

// tsr_grad_watch for all tensors of the set.
TSR_API tsr_status tsr_params_watch(const tsr_params *params);

// Records the gradients of `y` by all tensors of the set. The set keeps them, for tsr_params_gradient and for optimisers, until the next call. Otherwise as
// tsr_grad; nothing runs yet. tsr_params_grad_add adds the new gradients to those that the set has: for a batch that is computed in several parts.
//
// Errors: those of tsr_grad. Then the set keeps its gradients, unless host memory is out.
TSR_API tsr_status tsr_params_grad(tsr_params *params, tsr_tensor *y, const tsr_grad_desc *desc);
TSR_API tsr_status tsr_params_grad_add(tsr_params *params, tsr_tensor *y, const tsr_grad_desc *desc);

// The gradient by tensor `index`, of its shape and dtype; zeros before the first tsr_params_grad. A view of memory that stays the same and that
// the next tsr_params_grad overwrites; it belongs to the caller or the caller's scope. A failed tensor if there is no such tensor, or no memory.
TSR_API tsr_tensor *tsr_params_gradient(tsr_params *params, int index);

#endif
