// SPDX-License-Identifier: MIT
// What each step computes, on the model.
#ifndef TESSERA_ATTACK_MODEL_OPS_H
#define TESSERA_ATTACK_MODEL_OPS_H

#include "attack/model.h"
#include "attack/step.h"

// A step that makes FRESH elements. False if it cannot be computed exactly, or the inputs do not fit: the step is then left out.
bool model_compute(const step *s, const model_tensor *inputs, model_tensor *out);

// Families of model_compute.
bool model_compute_elementwise(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_reduction(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_joined(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_indexed(const step *s, const model_tensor *inputs, model_tensor *out);
bool model_compute_product(const step *s, const model_tensor *inputs, model_tensor *out);

// A step that makes a VIEW of its input; takes a reference. False where the arguments do not fit the input.
bool model_view(const step *s, model_tensor input, model_tensor *out);

// Elements for from_data, write and import: small whole numbers that follow from the seed; floats now and then NaN and infinite.
void model_fill(model_tensor tensor, uint64_t seed);

// Of an operator on three shapes. False where they do not broadcast.
bool model_broadcast(const model_tensor *inputs, int count, tsr_shape *out_shape);

// Element of `input` broadcast to `shape`, at the position of element `i` of that shape, as `dtype`. False: see model_convert.
bool model_operand(model_tensor input, tsr_shape shape, int64_t i, tsr_dtype dtype, model_number *out);

// Whether a float result can be relied upon: a whole number up to the exact limit, NaN or infinite.
bool model_is_exact(tsr_dtype dtype, double real);

// SplitMix64: the next number, and one below `limit`.
uint64_t attack_random(uint64_t *state);
uint64_t attack_below(uint64_t *state, uint64_t limit);

#endif
