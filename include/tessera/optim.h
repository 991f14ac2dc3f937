// SPDX-License-Identifier: MIT
// Optimisers: change the tensors of a set by their gradients, in place, in one launch for the whole set.
//
//   tsr_optim *optim = NULL;
//   tsr_optim_create(params, &(tsr_optim_desc){.kind = TSR_ADAMW, .rate = 1e-3}, &optim);
//   …
//   tsr_params_grad(params, loss, NULL);      // params.h
//   tsr_optim_step(optim);
//
// The step number, the learning rate's schedule and the loss scale are kept and computed on the device: a step never waits for it, and a captured
// step (capture.h) goes on counting each time the capture runs.
#ifndef TESSERA_OPTIM_H
#define TESSERA_OPTIM_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/params.h>

// Reference-counted. Holds a reference to its set of parameters.
typedef struct tsr_optim tsr_optim;

// With p a parameter, g its gradient, t the number of the step from 1 on, r the learning rate and w the weight decay:
typedef enum tsr_optim_kind {
  // g += w p; m = momentum m + g; p -= r m, or with Nesterov's momentum p -= r (g + momentum m).
  TSR_SGD,
  // g += w p; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²; p -= r (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).
  TSR_ADAM,
  // As TSR_ADAM, without g += w p: p -= r w p comes first.
  TSR_ADAMW,
  // g += w p; v = beta2 v + (1 - beta2) g²; u = g / (sqrt(v) + eps); m = momentum m + u; p -= r m.
  TSR_RMSPROP,
  // p -= r w p; p -= r sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g.
  TSR_LION
} tsr_optim_kind;

// How the learning rate changes with the steps: rate * factor. In the first `warmup` steps the factor grows from 1 / warmup to 1 in equal
// parts; then, with s the steps since, it follows the kind.
typedef enum tsr_schedule_kind {
  TSR_SCHEDULE_CONSTANT,  // 1
  TSR_SCHEDULE_STEP,      // gamma to the power of floor(s / period)
  TSR_SCHEDULE_COSINE,    // from 1 to `least` along half a cosine, over `period` steps; then `least`
  TSR_SCHEDULE_LINEAR     // the same along a line
} tsr_schedule_kind;

typedef struct tsr_schedule {
  tsr_schedule_kind kind;
  int64_t warmup;  // steps; 0: none
  int64_t period;  // steps; at least 1 unless the kind is TSR_SCHEDULE_CONSTANT
  double gamma;    // of TSR_SCHEDULE_STEP; 0 means 0.1
  double least;    // of TSR_SCHEDULE_COSINE and _LINEAR: 0 to 1
} tsr_schedule;

// Other settings for the tensors whose names match a pattern.
typedef struct tsr_optim_group {
  const char *pattern;  // a name in which * stands for any characters: "*.bias"; copied
  double weight_decay;
  double rate_factor;  // of the learning rate; 0 means 1, a negative number 0
} tsr_optim_group;

// The loss scale: losses are multiplied by it, so that small gradients of f16 do not become 0. If a gradient is infinite or NaN, the step changes no parameter, and
// the scale is multiplied by `backoff`. After `interval` steps without that, it is multiplied by `growth`. It stays between 2^-64 and 2^64.
typedef struct tsr_loss_scale {
  double first;      // the scale at first, such as 65536; 0: losses are not scaled
  double growth;     // 0 means 2
  double backoff;    // 0 means 0.5
  int64_t interval;  // 0 means 2000
} tsr_loss_scale;

// Numbers that are 0 have the kind's usual value; a negative one means 0.
typedef struct tsr_optim_desc {
  tsr_optim_kind kind;
  double rate;          // 0 means 0.01 (sgd, rmsprop), 1e-3 (adam, adamw), 1e-4 (lion)
  double momentum;      // sgd and rmsprop; 0 means none
  bool nesterov;        // sgd; needs a momentum
  double beta1;         // adam, adamw, lion; 0 means 0.9
  double beta2;         // 0 means 0.999 (adam, adamw), 0.99 (rmsprop, lion)
  double eps;           // adam, adamw, rmsprop; 0 means 1e-8
  double weight_decay;  // 0 means 0.01 for adamw, else none
  // Weight decay also for tensors of less than two axes (biases, norms); false: only if a group matches them.
  bool decays_vectors;
  const tsr_optim_group *groups;  // the first group that matches a name counts
  int group_count;                // 0 to 63
  tsr_schedule schedule;
  double clip_value;  // gradients are limited to -clip_value … clip_value; 0: not limited
  // then all gradients are scaled by one factor so that their common norm is at most this; 0: not scaled
  double clip_norm;
  tsr_loss_scale loss_scale;
} tsr_optim_desc;

// Creates an optimiser for the set; desc may be NULL (sgd). Its state starts at 0. Parameters of f16 and bf16 get a copy in f32, which is updated, and
// they are rounded from it; all of its other state is f32, too (f64 for f64).
//
// Ownership: caller releases `*out_optim`, which holds a reference to `params`.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, an unknown kind, numbers out of range; the message has them), TSR_ERR_OUT_OF_MEMORY, those of
//            tsr_params_copy. Then `*out_optim` is NULL.
TSR_API tsr_status tsr_optim_create(tsr_params *params, const tsr_optim_desc *desc, tsr_optim **out_optim);

// Reference counting. Both accept NULL.
TSR_API tsr_optim *tsr_optim_retain(tsr_optim *optim);
TSR_API void tsr_optim_release(tsr_optim *optim);

// Runs the set's gradients, which tsr_params_grad has recorded, and queues one launch that updates all tensors of the set in place; clipping by norm and loss
// scaling take another launch. Does not wait. Operators recorded before still read the old parameters. Do not write to the gradients between
// tsr_params_grad and this call.
//
// The parameters and the state of the optimiser change together, or not at all.
//
// Threads: one at a time per set.
// Errors:  those of computing the gradients, TSR_ERR_UNSUPPORTED (more elements than a kernel of the device can address), TSR_ERR_BUILD,
//          TSR_ERR_LAUNCH, TSR_ERR_OUT_OF_MEMORY, TSR_ERR_DEVICE_LOST.
TSR_API tsr_status tsr_optim_step(tsr_optim *optim);

// Sets the learning rate (before the factors of the schedule and the groups are applied). It also applies to captured steps that run from now on.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (not a finite number, or below 0), those of tsr_write.
TSR_API tsr_status tsr_optim_set_rate(tsr_optim *optim, double rate);

// The number of steps done; waits for the device. tsr_optim_set_step sets that number, to resume a training.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL; a step below 0 or above 2^31 - 1), those of tsr_read and tsr_write.
TSR_API tsr_status tsr_optim_get_step(tsr_optim *optim, int64_t *out_step);
TSR_API tsr_status tsr_optim_set_step(tsr_optim *optim, int64_t step);

// The loss scale, an f32 tensor of one element: a view of the optimiser's memory that belongs to the caller or the caller's scope. 1 if losses are
// not scaled. Give it as the cotangent of an f32 loss; the step divides the gradients by it:
//
//   tsr_params_grad(params, loss, &(tsr_grad_desc){.cotangent = tsr_optim_scale(optim)});
TSR_API tsr_tensor *tsr_optim_scale(const tsr_optim *optim);

// Sets the scale, for a training that is resumed.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (below 2^-64 or above 2^64; the optimiser does not scale), those of tsr_write.
TSR_API tsr_status tsr_optim_set_scale(tsr_optim *optim, double scale);

// What the optimiser keeps for each parameter, as sets with the names and shapes of its parameters: "m" (momentum, first moment), "v" (second moment),
// "master" (parameters in f32, for those of f16 and bf16). Read, write or copy them like all tensors (tsr_params_copy). A step computes from "master", so after
// writing to parameters of f16 or bf16, copy them to "master" as well. NULL if the optimiser has no state of this name. Borrowed from the optimiser.
TSR_API tsr_params *tsr_optim_state(const tsr_optim *optim, const char *name);

#endif
