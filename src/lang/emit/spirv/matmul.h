// SPDX-License-Identifier: MIT
// A product of f16 or bf16 matrices by cooperative matrices (SPV_KHR_cooperative_matrix), as SPIR-V.
//
// Bindings: 0 a, 1 b, 2 y. Grid: tiles of columns in x, tiles of rows in y, the batch in z. Sums are f32.
#ifndef TSRI_LANG_EMIT_SPIRV_MATMUL_H
#define TSRI_LANG_EMIT_SPIRV_MATMUL_H

#include "lang/emit/spirv/spirv.h"

// The parameters of a launch. Strides and places are in elements.
typedef struct tsri_spv_matmul_params {
  uint32_t m, n, k;
  uint32_t a_pitch, b_pitch;  // from row to row, or from column to column
  uint32_t a_at, b_at, y_at;  // where the matrices begin in their bindings
  uint32_t inner;             // item z of the batch is outer z / inner, inner z % inner
  uint32_t a_outer, a_inner, b_outer, b_inner, y_outer, y_inner;
} tsri_spv_matmul_params;

// How the work is cut, and what the kernel may rely on.
typedef struct tsri_spv_matmul {
  tsr_dtype dtype;                  // TSR_F16 or TSR_BF16
  uint32_t m, n, k;                 // of one cooperative matrix: multiples of 8
  uint32_t part_m, part_n;          // of a subgroup: multiples of m, n
  uint32_t tile_m, tile_n, tile_k;  // of a group: multiples of part_m, part_n, k; powers of two
  uint32_t subgroup_size;
  bool has_two_tiles;               // of each side in shared memory: half the barriers for twice the memory
  bool a_by_columns, b_by_columns;  // columns stand one after the other, instead of rows
  bool has_edges;                   // sizes need not be multiples of the tile's
  bool by_elements;  // rows may begin anywhere; else pitches, places and contiguous sizes are multiples of 8
} tsri_spv_matmul;

// How cooperative matrices are spelled. Arrays are shared ones: of vectors of eight elements for a and b, of f32 for the
// result; `index` and `stride` count these.
typedef struct tsri_spv_matrices {
  void (*declare)(tsri_spv *s, const tsri_spv_matmul *shape);  // capabilities
  tsri_spv_id (*type)(tsri_spv *s, tsr_dtype dtype, uint32_t rows, uint32_t cols, uint32_t use);
  tsri_spv_id (*zero)(tsri_spv *s, tsri_spv_id type);
  tsri_spv_id (*load)(tsri_spv *s, tsri_spv_id type, tsri_spv_id array, tsri_spv_id index, uint32_t stride,
                      bool by_columns);
  tsri_spv_id (*mul_add)(tsri_spv *s, tsri_spv_id type, tsri_spv_id a, tsri_spv_id b, tsri_spv_id c);
  void (*store)(tsri_spv *s, tsri_spv_id value, tsri_spv_id array, tsri_spv_id index, uint32_t stride);
} tsri_spv_matrices;

extern const tsri_spv_matrices tsri_spv_matrices_khr;

// Items per group, and bytes of shared memory.
uint32_t tsri_spv_matmul_items(const tsri_spv_matmul *shape);
uint32_t tsri_spv_matmul_shared(const tsri_spv_matmul *shape);

// Whether the shape is one that can be written.
bool tsri_spv_matmul_is_valid(const tsri_spv_matmul *shape);

// Ownership: caller calls tsri_emitted_deinit on `out`, which a failure leaves empty.
// Errors:    TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_spv_matmul_emit(const tsri_spv_matmul *shape, const tsri_spv_matrices *matrices, tsri_emitted *out);

#endif
