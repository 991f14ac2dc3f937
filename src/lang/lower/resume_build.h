// SPDX-License-Identifier: MIT
// Helpers for building kernels that stop and continue (resume.c): short names for single expressions and statements.
// Only the resume*.c files include it.
#ifndef TSRI_LANG_RESUME_BUILD_H
#define TSRI_LANG_RESUME_BUILD_H

#include "lang/lower/rewrite_build.h"

typedef struct point_range {
  uint32_t low, high;  // first and last point inside; high < low: none
} point_range;

typedef struct resumer {
  rewriter w;
  uint32_t points;
  uint32_t at, used, point, vote, index;  // the new variables
  uint32_t rounds;                        // iterations that an item may use in one launch
  uint32_t state, again;                  // the buffer for saved state; the parameter that is 1 from the second launch
                                          // on
  uint32_t item_words, shared_words;      // words saved per item, and per work-group for its shared arrays
  bool votes;
  int depth;
} resumer;

static inline uint32_t words_of(tsri_ir_type type) {
  return type.lanes * (tsr_dtype_bytes((tsr_dtype)type.dtype) == 8 ? 2u : 1u);
}

static inline tsri_ir_type element_type(const tsri_ir_array *array) {
  return (tsri_ir_type){(uint8_t)tsri_ir_compute_dtype((tsr_dtype)array->storage), 1};
}

static inline uint32_t array_words(const tsri_ir_array *arrays, uint32_t count) {
  uint32_t words = 0;
  for (uint32_t i = 0; i < count; i++) words += arrays[i].count * words_of(element_type(&arrays[i]));
  return words;
}

static inline uint32_t group_items(const tsri_kernel *k) {
  return k->group_size[0] * k->group_size[1] * k->group_size[2];
}

// --- Where an item is ---------------------------------------------------------------------------------------------------

static inline uint32_t at_is(resumer *r, uint32_t value) {
  return test(&r->w, TSRI_OP_EQ, word(&r->w, r->at), number(&r->w, value));
}
static inline uint32_t runs(resumer *r) { return at_is(r, 0); }

// Special values of `at`, larger than all points.
#define STOPPED 0xfffffffeu
#define DONE    0xffffffffu

static inline uint32_t looks_in(resumer *r, point_range points) {
  uint32_t place = op(&r->w, TSRI_OP_SUB, u32_type, word(&r->w, r->at), number(&r->w, points.low), 0);
  return test(&r->w, TSRI_OP_LE, place, number(&r->w, points.high - points.low));
}

static inline uint32_t runs_or_looks_in(resumer *r, point_range points) {
  return test(&r->w, TSRI_OP_OR, runs(r), looks_in(r, points));
}

static inline list stop_at(resumer *r, uint32_t point) {
  list l = {0};
  assign(&r->w, &l, r->point, number(&r->w, point));
  assign(&r->w, &l, r->at, number(&r->w, STOPPED));
  return l;
}

static inline void arrive(resumer *r, list *to, uint32_t point) {
  list l = {0};
  assign(&r->w, &l, r->at, number(&r->w, 0));
  append(&r->w, to, put_if(&r->w, NULL, at_is(r, point), l.first, 0));
}

// --- By file ----------------------------------------------------------------------------------------------------------

// resume_walk.c: rewrites the statements of a block, so that an item runs, skips or enters each. `is_in_region`: a
// vote already follows the block. `out_points`: the points inside.
list tsri_resume_block(resumer *r, uint32_t first, bool is_in_region, point_range *out_points);

// resume_state.c: the number of words that an item saves; then the code before the kernel's body (which initialises or
// restores variables) and after it (which saves them).
uint32_t tsri_resume_item_words(const tsri_kernel *kernel);
uint32_t tsri_resume_shared_words(const tsri_kernel *kernel);
void tsri_resume_begin(resumer *r, list *to);
void tsri_resume_end(resumer *r, list *to);

#endif
