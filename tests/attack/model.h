// SPDX-License-Identifier: MIT
// The model: tensors in plain C with immediate semantics. An operator computes when it is called, a view shares its
// elements with the tensor it was made from, and a write is visible to every later call and to no earlier one. It does
// not call the library's operators.
//
// Elements are 64-bit integers (integers and bool) or doubles. Results of float operators are accepted only if they
// are integers that the dtype represents exactly, NaN or infinite: then the order of computation does not matter.
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
  bool is_constant;  // other threads read these elements, so they must not be written
  model_number *numbers;
} model_storage;

// A view of a storage. Passed by value; `storage` NULL: no tensor.
typedef struct model_tensor {
  model_storage *storage;
  tsr_shape shape;
  int64_t offset, strides[TSR_MAX_RANK];
} model_tensor;

// Creates a row-major tensor of zeros with one reference to a new storage.
model_tensor model_create(tsr_dtype dtype, tsr_shape shape);
model_tensor model_retain(model_tensor tensor);
void model_release(model_tensor *tensor);  // sets it to "no tensor"
model_tensor model_copy(model_tensor tensor);

int64_t model_count(tsr_shape shape);
tsr_dtype model_dtype(model_tensor tensor);
bool model_is_float(tsr_dtype dtype);
bool model_shapes_equal(tsr_shape a, tsr_shape b);
bool model_is_contiguous(model_tensor tensor);
bool model_repeats(model_tensor tensor);  // whether two positions are the same element

// Element `i` in row-major order.
model_number *model_at(model_tensor tensor, int64_t i);

// The position of element `i` along each axis of `shape`; and the element at a position.
void model_position(tsr_shape shape, int64_t i, int64_t *out_at);
model_number *model_at_position(model_tensor tensor, const int64_t *at);

// Converts a number to another dtype, by the rules of tsr_convert. False if f16 or bf16 would have to round.
bool model_convert(tsr_dtype to, model_number *out, tsr_dtype from, model_number number);

// The float dtype represents all integers up to this one.
double model_exact_limit(tsr_dtype dtype);

// Limits of an integer dtype or bool.
int64_t model_lowest(tsr_dtype dtype);
int64_t model_highest(tsr_dtype dtype);

// An integer modulo the dtype's width; for bool, whether it is not 0.
int64_t model_wrap(tsr_dtype dtype, int64_t number);

// Elements in the library's format, row-major.
void model_write_bytes(model_tensor tensor, void *out_bytes);
void model_read_bytes(model_tensor tensor, const void *bytes);

// NaN equals NaN and -0 equals 0.
bool model_equal(tsr_dtype dtype, model_number a, model_number b);

// The dtype to which two tensors are promoted (docs/type-promotion.md).
tsr_dtype model_promote(tsr_dtype a, tsr_dtype b);

#endif
