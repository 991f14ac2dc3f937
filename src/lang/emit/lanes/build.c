// SPDX-License-Identifier: MIT
// Instructions, constants and registers of lane bytecode while it is written.
// When memory runs out, has_failed is set, and all further calls do nothing useful but are safe. Callers need not check
// after each call; tsri_lanes_compile checks once, at the end.
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/lanes/build.h"

// --- Instructions -----------------------------------------------------------------------------------------------------

static uint32_t add_cost(uint32_t cost, uint32_t more) { return cost > UINT32_MAX - more ? UINT32_MAX : cost + more; }

uint32_t lane_emit(lane_builder *b, uint32_t op, uint32_t form, uint32_t flags, lane_words words) {
  if (b->insn_count == b->insn_capacity) {
    uint32_t capacity = b->insn_capacity * 2 + 128;
    uint32_t *grown = tsri_realloc(b->insns, (size_t)capacity * TSRI_LANE_INSN_WORDS * sizeof *grown);
    if (!grown) {
      b->has_failed = true;
      return 0;
    }
    b->insns = grown;
    b->insn_capacity = capacity;
  }
  b->cost = add_cost(b->cost, b->weight);
  uint32_t *insn = b->insns + (size_t)b->insn_count * TSRI_LANE_INSN_WORDS;
  insn[0] = op | form << 16 | flags << 24;
  insn[1] = words.dst;
  insn[2] = words.a;
  insn[3] = words.b;
  insn[4] = words.c;
  insn[5] = words.d;
  insn[6] = words.e;
  insn[7] = words.f;
  return b->insn_count++;
}

enum { TARGET_WORD = 4 };  // operand c

uint32_t lane_emit_jump(lane_builder *b, uint32_t op, uint32_t condition, uint32_t *chain) {
  uint32_t insn = lane_emit(b, op, 0, 0, (lane_words){.a = condition});
  lane_chain(b, insn, chain);
  return insn;
}

void lane_chain(lane_builder *b, uint32_t insn, uint32_t *chain) {
  if (b->has_failed) return;
  b->insns[(size_t)insn * TSRI_LANE_INSN_WORDS + TARGET_WORD] = *chain;
  *chain = insn;
}

void lane_patch(lane_builder *b, uint32_t chain) {
  while (chain != LANE_NO_PATCH && !b->has_failed) {
    uint32_t *target = &b->insns[(size_t)chain * TSRI_LANE_INSN_WORDS + TARGET_WORD];
    chain = *target;
    *target = b->insn_count;
  }
}

// --- Constants ----------------------------------------------------------------------------------------------------------

uint32_t lane_const(lane_builder *b, uint64_t bits) {
  enum { LOOK_BACK = 64 };  // a constant may occur twice in a large kernel
  for (uint32_t i = b->const_count; i > 0 && i + LOOK_BACK > b->const_count; i--) {
    if (b->consts[i - 1] == bits) return TSRI_LANE_OPERAND(TSRI_LANE_CONST, i - 1);
  }
  if (b->const_count == b->const_capacity) {
    uint32_t capacity = b->const_capacity * 2 + 32;
    uint64_t *grown = tsri_realloc(b->consts, capacity * sizeof *grown);
    if (!grown) {
      b->has_failed = true;
      return TSRI_LANE_OPERAND(TSRI_LANE_CONST, 0);
    }
    b->consts = grown;
    b->const_capacity = capacity;
  }
  b->consts[b->const_count] = bits;
  return TSRI_LANE_OPERAND(TSRI_LANE_CONST, b->const_count++);
}

bool lane_is_const(const lane_builder *b, uint32_t word, uint64_t *out_bits) {
  if (TSRI_LANE_KIND(word) != TSRI_LANE_CONST || b->has_failed) return false;
  *out_bits = b->consts[TSRI_LANE_NUMBER(word)];
  return true;
}

// --- Registers ----------------------------------------------------------------------------------------------------------

uint32_t lane_bytes(tsr_dtype dtype) { return dtype == TSR_I64 || dtype == TSR_F64 ? 8 : 4; }

static bool grow_pool(lane_pool *pool) {
  uint32_t capacity = pool->capacity * 2 + 32;
  uint32_t *refs = tsri_realloc(pool->refs, capacity * sizeof *refs);
  if (refs) pool->refs = refs;
  bool *is_alias = tsri_realloc(pool->is_alias, capacity * sizeof *is_alias);
  if (is_alias) pool->is_alias = is_alias;
  bool fits = refs && is_alias;
  for (int i = 0; i < 2; i++) {
    uint32_t *list = tsri_realloc(pool->free_list[i], capacity * sizeof *list);
    if (list) pool->free_list[i] = list;
    fits = fits && list;
  }
  if (fits) pool->capacity = capacity;
  return fits;
}

uint32_t lane_take(lane_builder *b, tsr_dtype dtype, bool is_scalar, bool is_alias) {
  uint32_t kind = is_scalar ? TSRI_LANE_SCALAR : lane_bytes(dtype) == 4 ? TSRI_LANE_REG_4 : TSRI_LANE_REG_8;
  lane_pool *pool = &b->pools[kind];
  uint32_t number;
  if (pool->free_count[is_alias] > 0) {
    number = pool->free_list[is_alias][--pool->free_count[is_alias]];
  } else {
    if (pool->count == pool->capacity && !grow_pool(pool)) {
      b->has_failed = true;
      return TSRI_LANE_OPERAND(kind, 0);
    }
    number = pool->count++;
    pool->is_alias[number] = is_alias;
  }
  pool->refs[number] = 1;
  return TSRI_LANE_OPERAND(kind, number);
}

static bool is_counted(const lane_builder *b, uint32_t word) {
  uint32_t kind = TSRI_LANE_KIND(word);
  return !b->has_failed && (kind == TSRI_LANE_SCALAR || kind == TSRI_LANE_REG_4 || kind == TSRI_LANE_REG_8);
}

void lane_retain(lane_builder *b, uint32_t word) {
  if (is_counted(b, word)) b->pools[TSRI_LANE_KIND(word)].refs[TSRI_LANE_NUMBER(word)]++;
}

void lane_release(lane_builder *b, uint32_t word) {
  if (!is_counted(b, word)) return;
  lane_pool *pool = &b->pools[TSRI_LANE_KIND(word)];
  uint32_t number = TSRI_LANE_NUMBER(word);
  if (--pool->refs[number] > 0) return;
  int list = pool->is_alias[number];
  pool->free_list[list][pool->free_count[list]++] = number;
}

bool lane_is_shared(const lane_builder *b, uint32_t word) {
  return !is_counted(b, word) || b->pools[TSRI_LANE_KIND(word)].refs[TSRI_LANE_NUMBER(word)] > 1;
}

bool lane_is_alias(const lane_builder *b, uint32_t word) {
  return is_counted(b, word) && b->pools[TSRI_LANE_KIND(word)].is_alias[TSRI_LANE_NUMBER(word)];
}

void lane_value_retain(lane_builder *b, const lane_value *value) {
  if (value->kind == LANE_VALUE_NONE) return;
  lane_retain(b, value->word);
  if (value->kind != LANE_VALUE_AFFINE) return;
  for (int i = 0; i < 3; i++) lane_retain(b, value->step[i]);
}

void lane_value_release(lane_builder *b, const lane_value *value) {
  if (value->kind == LANE_VALUE_NONE) return;
  lane_release(b, value->word);
  if (value->kind != LANE_VALUE_AFFINE) return;
  for (int i = 0; i < 3; i++) lane_release(b, value->step[i]);
}

void lane_values_release(lane_builder *b, const lane_values *values) {
  for (uint32_t i = 0; i < values->count; i++) lane_value_release(b, &values->part[i]);
}
