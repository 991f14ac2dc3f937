// SPDX-License-Identifier: MIT
// Tensors in plain C with immediate semantics: an operator computes when it is called, a view shares its elements with the tensor
// it was made of, and a write is seen by every later call and by no earlier one. Nothing here calls the library's operators.
//
// Elements are whole numbers (integers and bool) or doubles. Results of float operators are only accepted while they are whole
// numbers that the dtype holds exactly, NaN or infinite: then every order of computing gives the same result.
#ifndef TESSERA_ATTACK_MODEL_H
#define TESSERA_ATTACK_MODEL_H

#include <tessera/tessera.h>

typedef union model_number {
  int64_t whole;  // integers and bool
  double real;    // floats
} model_number;

typedef struct model_storage {
  int refs;
  tsr_dtype dtype;
  int64_t count;
  bool is_constant;  // other threads read these elements: never to be written
  model_number *numbers;
} model_storage;

// A view of a storage. Passed by value; `storage` NULL means none.
typedef struct model_tensor {
  model_storage *storage;
  tsr_shape shape;
  int64_t offset, strides[TSR_MAX_RANK];
} model_tensor;

// Row-major tensor of zeros with one reference to a new storage.
model_tensor model_create(tsr_dtype dtype, tsr_shape shape);
model_tensor model_retain(model_tensor tensor);
void model_release(model_tensor *tensor);  // makes it none
model_tensor model_copy(model_tensor tensor);

int64_t model_count(tsr_shape shape);
tsr_dtype model_dtype(model_tensor tensor);
bool model_is_float(tsr_dtype dtype);
bool model_shapes_equal(tsr_shape a, tsr_shape b);
bool model_is_contiguous(model_tensor tensor);
bool model_repeats(model_tensor tensor);  // two positions are one element

// Element `i` in row-major order.
model_number *model_at(model_tensor tensor, int64_t i);

// Positions of element `i` along each axis of `shape`, and back through strides.
void model_position(tsr_shape shape, int64_t i, int64_t *out_at);
model_number *model_at_position(model_tensor tensor, const int64_t *at);

// The number as another dtype, by the rules of tsr_convert. False where f16 or bf16 would have to round.
bool model_convert(tsr_dtype to, model_number *out, tsr_dtype from, model_number number);

// Largest whole number up to which the float dtype holds all.
double model_exact_limit(tsr_dtype dtype);

// Limits of an integer dtype or bool.
int64_t model_lowest(tsr_dtype dtype);
int64_t model_highest(tsr_dtype dtype);

// Integer modulo the dtype's width; bool: not 0.
int64_t model_wrap(tsr_dtype dtype, int64_t number);

// Elements as the library stores them, row-major.
void model_write_bytes(model_tensor tensor, void *out_bytes);
void model_read_bytes(model_tensor tensor, const void *bytes);

// NaN equals NaN and -0 equals 0.
bool model_equal(tsr_dtype dtype, model_number a, model_number b);

// The dtype two tensors meet in (docs/type-promotion.md).
tsr_dtype model_promote(tsr_dtype a, tsr_dtype b);

#endif
