// SPDX-License-Identifier: MIT
// What files share that compute operators of few elements on the host: the elements of an Array in memory of their own.
#ifndef TSRPY_SMALL_H
#define TSRPY_SMALL_H

#include "binding.h"

// The elements of an Array, in row-major order.
typedef struct tsrpy_small {
  tsr_device *device;
  tsr_dtype dtype;
  tsr_shape shape;
  int count;
  size_t bytes;  // of an element
  union {
    float f32[TSRPY_FEW];
    double f64[TSRPY_FEW];
    int64_t i64[TSRPY_FEW];
    int32_t i32[TSRPY_FEW];
    unsigned char bytes_of[TSRPY_FEW * 8];
  } of;
} tsrpy_small;

// False: it is no Array, or its elements are many, or not there, or operators are recorded.
bool tsrpy_small_read(PyObject *object, tsrpy_small *out);

// Whether the functions here compute with the dtype as a float.
static inline bool tsrpy_small_is_float(tsr_dtype dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }

// Whether both are on one device and have one shape.
bool tsrpy_small_is_alike(const tsrpy_small *a, const tsrpy_small *b);

// A new small array beside another one, without elements yet. False: it would have too many, or none.
bool tsrpy_small_begin(tsrpy_small *out, const tsrpy_small *like, tsr_dtype dtype, const tsr_shape *shape);

// The elements as an Array; NULL with an exception.
PyObject *tsrpy_small_make(const tsrpy_small *s);

// Operators by their names; the last entry has none. Linear algebra (small_matrices.c), along a line (small_lines.c), views (view_operators.c).
typedef struct tsrpy_small_entry {
  const char *name;
  tsrpy_small_run *run;
} tsrpy_small_entry;
extern const tsrpy_small_entry tsrpy_matrix_operators[], tsrpy_line_operators[], tsrpy_view_operators[];

#endif
