// SPDX-License-Identifier: MIT
// Formats of quantised weights, and what operators on them share. kernels/op_quant.tk reads and writes the blocks.
#ifndef TSRI_OPS_QUANT_H
#define TSRI_OPS_QUANT_H

#include "graph/graph.h"

#include <tessera/desc.h>

// A value beside those of tsr_quant_format: i8 without scales, in units of 8 elements.
enum { TSRI_QUANT_I8 = TSR_QUANT_FORMAT_COUNT };

typedef struct tsri_quant_format {
  const char *name;
  int block, bytes;  // elements of a block, and its bytes, an even number
  int gap;           // a unit that the kernel decodes at a time is 4 elements and the 4 elements `gap` after them
} tsri_quant_format;

extern const tsri_quant_format tsri_quant_formats[TSRI_QUANT_I8 + 1];

// Gives the properties of a format. Errors: TSR_ERR_INVALID_ARGUMENT (a caller's number that is no format).
tsr_status tsri_quant_find(const char *caller, tsr_quant_format format, const tsri_quant_format **out_format);

// Checks that x is a u8 tensor whose last axis holds whole blocks. `*out_elements` is the number of elements they encode.
// Errors: TSR_ERR_DTYPE, TSR_ERR_SHAPE.
tsr_status tsri_quant_check_bytes(const char *caller, const tsr_tensor *x, const tsri_quant_format *format,
                                  int64_t *out_elements);

// Gives the usable u8 tensor x in the form that kernels need: row-major, and beginning at an even byte of its buffer. The caller releases it.
tsr_tensor *tsri_quant_packed(const char *caller, tsr_tensor *x);

// The dtype that the bytes of a packed tensor are bound as: u32 if they are whole words, else i16.
tsr_dtype tsri_quant_carrier(const tsri_layout *bytes);

// The kernels' parameter `exponent`: the biased exponent of a float whose last bit counts 1.
enum { TSRI_QUANT_EXPONENT = 150 };

// Describes the product of x, m x k, and n rows of weights as a native operator, without buffers. False: no native operator can express it.
bool tsri_quant_describe(tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format, tsri_native_op *out_op);

// x * w^T for the bytes of i8 weights without scales: u8 [n, k], where k is a multiple of 8. Adds up in f32, or in f64 if x is f64, which is also the result's
// dtype. tsr_matmul_channels records this product as an operator of its own; loading a saved capture records it with this function.
tsr_tensor *tsri_matmul_i8_bytes(tsr_tensor *x, tsr_tensor *w);

// From this many rows of x on, a product decodes its weights to a copy in f32. 16 and 31 rows by 4096 x 4096 weights take 59 and 113 us without a copy on an
// H200 for q8_0, 87 and 169 for q4_K; with a copy, 8 rows take 80 us and 64 rows 97.
enum { TSRI_QUANT_MANY_ROWS = 21 };

// tsri_quant_is_expanded: whether the product of x and n rows of weights uses a decoded copy, since there are many rows of x and the device has neither a
// native operator nor matrix units for it. tsri_quant_expanded records such a product: x is row-major, and w is from tsri_quant_packed.
bool tsri_quant_is_expanded(const tsr_device *device, const tsr_tensor *x, int64_t n, int64_t format);
tsr_tensor *tsri_quant_expanded(tsr_tensor *x, tsr_tensor *w, int64_t format);

#endif
