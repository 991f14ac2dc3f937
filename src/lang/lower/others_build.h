// SPDX-License-Identifier: MIT
// Inside the lowering of u64, u16 and f8: expressions of a given number of lanes, one short name for each. Included by
// others*.c only.
#ifndef TSRI_LANG_OTHERS_BUILD_H
#define TSRI_LANG_OTHERS_BUILD_H

#include "lang/lower/hoist_build.h"

// Where expressions are written: statements go to `to`, values have `lanes` lanes.
typedef struct other_writer {
  hoister *h;
  list *to;
  uint8_t lanes;
} other_writer;

// A value that may be used any number of times.
static inline uint32_t keep(const other_writer *p, uint32_t value) { return tsri_hoist_value(p->h, p->to, value); }

static inline tsri_ir_type lanes_of(const other_writer *p, tsr_dtype dtype) {
  return (tsri_ir_type){(uint8_t)dtype, p->lanes};
}

// The constant with these bits in every lane.
static inline uint32_t constant(const other_writer *p, tsr_dtype dtype, uint64_t bits) {
  rewriter *w = &p->h->w;
  tsri_ir_expr one = {.kind = TSRI_EXPR_CONST, .is_uniform = true, .type = {(uint8_t)dtype, 1}, .bits = bits};
  uint32_t value = put(w, one);
  if (p->lanes == 1) return value;
  return put(w, (tsri_ir_expr){.kind = TSRI_EXPR_SPLAT, .type = lanes_of(p, dtype), .a = value});
}

static inline uint32_t calc(const other_writer *p, tsri_ir_op code, tsr_dtype dtype, uint32_t a, uint32_t b) {
  return op(&p->h->w, code, lanes_of(p, dtype), a, b, 0);
}
static inline uint32_t compare(const other_writer *p, tsri_ir_op code, uint32_t a, uint32_t b) {
  return op(&p->h->w, code, lanes_of(p, TSR_BOOL), a, b, 0);
}
static inline uint32_t choose(const other_writer *p, tsr_dtype dtype, uint32_t condition, uint32_t yes, uint32_t no) {
  return op(&p->h->w, TSRI_OP_SELECT, lanes_of(p, dtype), condition, yes, no);
}
// Converted to `dtype`, which may be a storage type.
static inline uint32_t convert(const other_writer *p, tsr_dtype dtype, uint32_t a) {
  tsri_ir_type type = lanes_of(p, tsri_ir_compute_dtype(dtype));
  return put(&p->h->w, (tsri_ir_expr){.kind = TSRI_EXPR_CONVERT, .dtype = (uint8_t)dtype, .type = type, .a = a});
}
static inline uint32_t bits_as(const other_writer *p, tsr_dtype dtype, uint32_t a) {
  return cast(&p->h->w, a, TSRI_EXPR_BITCAST, lanes_of(p, dtype));
}

static inline bool is_f8(uint32_t dtype) { return dtype == TSR_F8_E4M3 || dtype == TSR_F8_E5M2; }

// tsri_f8_decoded: the f32 that a code of f8 (in a u32) represents. tsri_f8_encoded: the code that an f32 rounds to.
uint32_t tsri_f8_decoded(const other_writer *p, uint32_t code, tsr_dtype dtype);
uint32_t tsri_f8_encoded(const other_writer *p, uint32_t value, tsr_dtype dtype);
// Converts f64 to an f32 that rounds to f8 as the f64 does: truncates, and sets the last bit if anything was lost.
uint32_t tsri_f64_to_odd_f32(const other_writer *p, uint32_t value);

// An operation on u64 (given as i64) that differs from that on i64. Returns 0 if it does not differ.
uint32_t tsri_u64_operation(const other_writer *p, tsri_ir_op code, uint32_t a, uint32_t b);
// tsri_u64_to_float: converts u64 (given as i64) to f32, f64 or bf16. tsri_u64_from_float: converts f32 or f64 to u64.
uint32_t tsri_u64_to_float(const other_writer *p, tsr_dtype dtype, uint32_t a);
uint32_t tsri_u64_from_float(const other_writer *p, tsr_dtype dtype, uint32_t a);
// Maps u64 (given as i64) to i64 so that the order is kept; the same operation maps back.
uint32_t tsri_u64_flipped(const other_writer *p, uint32_t a);

#endif
