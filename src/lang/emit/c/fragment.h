// SPDX-License-Identifier: MIT
// Fragments of the C family: fragment.c writes their statements as calls of helpers, and each dialect that has matrix units
// writes the helpers (fragment_cuda.c, fragment_hip.c). All products are of 16 x 16 x 16.
#ifndef TSRI_LANG_EMIT_C_FRAGMENT_H
#define TSRI_LANG_EMIT_C_FRAGMENT_H

#include "lang/emit/c/c.h"

enum { TSRI_C_FRAGMENT_SIDE = 16 };

// An item holds its part of each fragment in arrays: factors of 16 bits as pairs of elements in u32; factors of f32 in a form that the dialect chooses, for 8
// elements, also in u32; sums as f32.
struct tsri_c_fragments {
  const char *factor_words, *sum_count;  // lengths of those arrays, as text
  const char *wide_words;                // length for a factor of f32; NULL: there are no matrix units for f32
  const char *sum_place;                 // declares row and col of element i of a sum held by item `lane`

  // Defines `void name(u32 *f, const void *base, u32 at, u32 stride)`, which loads a factor.
  void (*define_load)(tsri_c_emitter *e, const char *name, tsr_dtype dtype, bool is_left, bool by_columns,
                      bool is_shared);
  // Defines `void name(f32 *s, const u32 *l, const u32 *r)`: s += l * r.
  void (*define_multiply)(tsri_c_emitter *e, const char *name, const char *dtype);
};

// Entries of the list in helpers.c, which writes them if they are named: tsr_fragment_lane(), together with what the dialect's other helpers share, and for f32
// tsr_fragment_split(u32 *f, u32 i, u32 bits), which sets element i.
extern const char tsri_c_cuda_lane[], tsri_c_cuda_split[], tsri_c_hip_lane[];

// "left_f0"
tsri_c_name tsri_c_fragment_name(const tsri_c_emitter *e, uint32_t fragment);

// Metal has matrices as objects with functions, instead of the helpers above (fragment_metal.c).
void tsri_c_put_metal_fragment(const tsri_ir_fragment *f, tsri_builder *out, const char *name);
void tsri_c_put_metal_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt);

#endif
