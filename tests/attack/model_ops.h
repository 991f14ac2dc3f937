// SPDX-License-Identifier: MIT
// Computes the result of each step in the model.
#ifndef TESSERA_ATTACK_MODEL_OPS_H
#define TESSERA_ATTACK_MODEL_OPS_H

#include "attack/model.h"
#include "attack/step.h"

// Computes a step of kind FRESH. False if it cannot be computed exactly or the inputs do not fit; the step is then
// left out.
bool model_compute(const step *s, const model_tensor *inputs, model_tensor *out);

// Families of model_compute.
bool model_compute_elementwise(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_reduction(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_joined(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_indexed(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_product(const step *s, const model_tensor *inputs, model_tensor *out);

// Computes a step of kind VIEW; takes a reference. False if the arguments do not fit the input.
bool model_view(const step *s, model_tensor input, model_tensor *out);

// Elements for from_data, write and import: small integers that depend on the seed; floats are sometimes NaN or
// infinite.
void model_fill(model_tensor tensor, uint64_t seed);

// The broadcast shape of the inputs. False if they cannot be broadcast.
bool model_broadcast(const model_tensor *inputs, int count, tsr_shape *out_shape);

// The element of `input`, broadcast to `shape`, at the position of element `i`, as `dtype`. False: see model_convert.
bool model_operand(model_tensor input, tsr_shape shape, int64_t i, tsr_dtype dtype, model_number *out);

// Whether a float result is reliable: an integer up to the exact limit, NaN or infinite.
bool model_is_exact(tsr_dtype dtype, double real);

// SplitMix64: the next random number, and one below `limit`.
uint64_t attack_random(uint64_t *state);
uint64_t attack_below(uint64_t *state, uint64_t limit);

#endif
