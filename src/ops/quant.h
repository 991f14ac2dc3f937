// SPDX-License-Identifier: MIT
// Formats of quantised weights, and what operators on them share. kernels/op_quant.tk reads and writes the blocks.
#ifndef TSRI_OPS_QUANT_H
#define TSRI_OPS_QUANT_H

#include "graph/graph.h"

#include <tessera/desc.h>

// In place of a tsr_quant_format: plain i8, in units of 8 elements.
enum { TSRI_QUANT_I8 = TSR_QUANT_FORMAT_COUNT };

typedef struct tsri_quant_format {
  const char *name;
  int block, bytes;  // elements of a block, and its bytes: an even number
  int gap;           // the kernel decodes 4 elements and the 4 that are so many behind them together
} tsri_quant_format;

extern const tsri_quant_format tsri_quant_formats[TSRI_QUANT_I8 + 1];

// The format of a number that a caller gave. Errors: TSR_ERR_INVALID_ARGUMENT.
tsr_status tsri_quant_find(const char *caller, tsr_quant_format format, const tsri_quant_format **out_format);

// Checks that x is a u8 tensor whose last axis holds whole blocks; `*out_elements` is what they stand for.
// Errors: TSR_ERR_DTYPE, TSR_ERR_SHAPE.
tsr_status tsri_quant_check_bytes(const char *caller, const tsr_tensor *x, const tsri_quant_format *format,
                                  int64_t *out_elements);

// The usable u8 tensor x for a kernel: row-major, from an even byte of its buffer on.
tsr_tensor *tsri_quant_packed(const char *caller, tsr_tensor *x);

// The dtype that the bytes of a packed tensor are bound as: u32 if they are whole words, else i16.
tsr_dtype tsri_quant_carrier(const tsri_layout *bytes);

// The kernels' parameter `exponent`: as stored, of a float whose last bit counts ones.
enum { TSRI_QUANT_EXPONENT = 150 };

// Describes the product of an x of m x k elements and n rows of weights as a native operator, without places. False: none takes it.
bool tsri_quant_describe(tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format, tsri_native_op *out_op);

// From so many rows of x on, the weights of a product are decoded to a copy in f32. 16 and 31 rows by 4096 x 4096 weights of q8_0 take 59 and 113 us on an H200 without it, of q4_K 87 and
// 169; with it 8 rows take 80 and 64 rows 97.
enum { TSRI_QUANT_MANY_ROWS = 21 };

// Whether the product of x and n rows of weights is one of many rows, for which the device has neither a native operator nor matrix units.
// tsri_quant_expanded records it: x is row-major, and w from tsri_quant_packed.
bool tsri_quant_is_expanded(const tsr_device *device, const tsr_tensor *x, int64_t n, int64_t format);
tsr_tensor *tsri_quant_expanded(tsr_tensor *x, tsr_tensor *w, int64_t format);

#endif
