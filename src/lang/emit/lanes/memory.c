// SPDX-License-Identifier: MIT
// Translates loads, stores and atomics to lane bytecode. The instruction depends on how the index varies over the lanes.
#include "lang/emit/lanes/build.h"

uint32_t lane_array_number(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object) {
  if (space == TSRI_SPACE_BUFFER) return object;
  if (space == TSRI_SPACE_SHARED) return kernel->buffer_count + object;
  return kernel->buffer_count + kernel->shared_count + object;
}

uint32_t lane_index_form(tsr_dtype dtype) {
  return dtype == TSR_I64 ? TSRI_LANE_INDEX_I64 : dtype == TSR_I32 ? TSRI_LANE_INDEX_I32 : TSRI_LANE_INDEX_U32;
}

static uint32_t wide_flags(uint32_t lanes, uint32_t part) {
  return TSRI_LANE_WIDE_FLAGS(lanes == 4 ? 2 : lanes == 2 ? 1 : 0, part);
}

static uint32_t pick(uint8_t kind, uint32_t scalar, uint32_t affine, uint32_t lanes) {
  return kind == LANE_VALUE_SCALAR ? scalar : kind == LANE_VALUE_AFFINE ? affine : lanes;
}

static bool is_native(tsr_dtype storage) { return tsri_ir_compute_dtype(storage) == storage && storage != TSR_BOOL; }

// --- Loads ------------------------------------------------------------------------------------------------------------

// Loads one element per lane. Releases the index.
static lane_value load_part(lane_builder *b, const tsri_ir_expr *e, uint32_t part, lane_value index,
                            const lane_dest *dest, uint32_t alias) {
  tsr_dtype type = (tsr_dtype)e->type.dtype;
  bool is_local = e->space == TSRI_SPACE_LOCAL;
  bool to_scalar = index.kind == LANE_VALUE_SCALAR && !is_local;
  uint32_t flags = wide_flags(e->type.lanes, part);
  uint32_t dst = alias;
  bool may_point = !dest && !is_local && !to_scalar && is_native((tsr_dtype)e->dtype);
  bool fits_dest = dest && TSRI_LANE_KIND(dest->word) != TSRI_LANE_SCALAR;
  if (to_scalar) {
    dst = lane_take(b, type, true, false);
  } else if (alias != TSRI_LANE_ABSENT) {
    lane_retain(b, dst);
    flags |= TSRI_LANE_ALIAS;
  } else if (fits_dest) {
    dst = dest->word;
    lane_retain(b, dst);
    if (dest->is_merge) flags |= TSRI_LANE_MERGE;
  } else {
    dst = lane_take(b, type, false, may_point);
    if (may_point) flags |= TSRI_LANE_ALIAS;
  }
  uint32_t op = is_local ? TSRI_LANE_LOCAL_LOAD
                         : pick(index.kind, TSRI_LANE_LOAD_SCALAR, TSRI_LANE_LOAD_AFFINE, TSRI_LANE_LOAD_LANES);
  lane_words words = {
      .dst = dst, .a = lane_array_number(b->kernel, (tsri_ir_space)e->space, e->object), .b = index.word, .f = e->pos};
  if (op == TSRI_LANE_LOAD_AFFINE) {
    words.c = index.step[0];
    words.d = index.step[1];
    words.e = index.step[2];
  }
  lane_emit(b, op, lane_index_form((tsr_dtype)index.dtype), flags, words);
  lane_value_release(b, &index);
  return (lane_value){.kind = to_scalar ? LANE_VALUE_SCALAR : LANE_VALUE_LANES, .dtype = (uint8_t)type, .word = dst};
}

void lane_load(lane_builder *b, const tsri_ir_expr *expr, const lane_dest *dest, uint32_t alias, lane_values *out) {
  lane_value index = lane_eval_one(b, expr->a, NULL);
  if (expr->space == TSRI_SPACE_LOCAL) index = lane_no_affine(b, index);
  out->count = expr->type.lanes;
  for (uint32_t i = 0; i < out->count; i++) {
    if (i + 1 < out->count) lane_value_retain(b, &index);
    out->part[i] = load_part(b, expr, i, index, dest, alias);
  }
}

// The load from which the value comes, if nothing else uses it; else NULL.
static uint32_t *row_load(lane_builder *b, const lane_value *x) {
  enum { LOOK_BACK = 48 };
  if (x->kind != LANE_VALUE_LANES || x->dtype != TSR_F32 || !lane_is_alias(b, x->word) || lane_is_shared(b, x->word)) {
    return NULL;
  }
  for (uint32_t i = b->insn_count; i > 0 && i + LOOK_BACK > b->insn_count; i--) {
    uint32_t *insn = b->insns + (size_t)(i - 1) * TSRI_LANE_INSN_WORDS;
    if (insn[1] == x->word) return (insn[0] & 0xffff) == TSRI_LANE_LOAD_AFFINE ? insn : NULL;
  }
  return NULL;
}

// In groups of more than one row, a[row * n + i] repeats along x and b[i * n + col] along y.
bool lane_mark_rows(lane_builder *b, const lane_value *x, const lane_value *y) {
  if (b->kernel->group_size[1] == 1 || b->has_failed) return false;
  uint32_t *first = row_load(b, x), *second = row_load(b, y);
  if (!first || !second || first == second) return false;
  first[0] |= TSRI_LANE_ROWS << 24;
  second[0] |= TSRI_LANE_ROWS << 24;
  return true;
}

// --- Stores -----------------------------------------------------------------------------------------------------------

// Stores one element per lane. Releases index and value.
static void store_part(lane_builder *b, const tsri_ir_stmt *s, uint32_t lanes, uint32_t part, lane_value index,
                       lane_value value) {
  const tsri_ir_array *array = tsri_ir_array_of(b->kernel, (tsri_ir_space)s->space, s->object);
  bool is_local = s->space == TSRI_SPACE_LOCAL;
  // Local arrays hold values in their value type, so convert to the storage type here, as a store to memory would.
  if (is_local) value = lane_convert(b, value, (tsr_dtype)array->storage, NULL);
  value = lane_no_affine(b, value);
  uint32_t op = is_local ? TSRI_LANE_LOCAL_STORE
                         : pick(index.kind, TSRI_LANE_STORE_SCALAR, TSRI_LANE_STORE_AFFINE, TSRI_LANE_STORE_LANES);
  lane_words words = {.dst = value.word,
                      .a = lane_array_number(b->kernel, (tsri_ir_space)s->space, s->object),
                      .b = index.word,
                      .f = s->pos};
  if (op == TSRI_LANE_STORE_SCALAR &&
      value.kind != LANE_VALUE_SCALAR) {  // all lanes store to the same element: the last lane wins
    op = TSRI_LANE_STORE_AFFINE;
    words.c = words.d = words.e = lane_const(b, 0);
  } else if (op == TSRI_LANE_STORE_AFFINE) {
    words.c = index.step[0];
    words.d = index.step[1];
    words.e = index.step[2];
  }
  uint32_t last = lane_is_shared(b, value.word) ? 0 : TSRI_LANE_LAST;
  lane_emit(b, op, lane_index_form((tsr_dtype)index.dtype), wide_flags(lanes, part) | last, words);
  lane_value_release(b, &index);
  lane_value_release(b, &value);
}

void lane_store(lane_builder *b, const tsri_ir_stmt *stmt) {
  lane_values values;
  lane_value index = lane_eval_one(b, stmt->index, NULL);
  if (stmt->space == TSRI_SPACE_LOCAL) index = lane_no_affine(b, index);
  lane_eval(b, stmt->value, NULL, &values);
  for (uint32_t i = 0; i < values.count; i++) {
    if (i + 1 < values.count) lane_value_retain(b, &index);
    store_part(b, stmt, values.count, i, index, values.part[i]);
  }
}

// --- Atomics ----------------------------------------------------------------------------------------------------------

void lane_atomic(lane_builder *b, const tsri_ir_stmt *stmt) {
  lane_value index = lane_no_affine(b, lane_eval_one(b, stmt->index, NULL));
  lane_value value = lane_no_affine(b, lane_eval_one(b, stmt->value, NULL));
  lane_value compare = {0};
  if (stmt->compare != 0) compare = lane_no_affine(b, lane_eval_one(b, stmt->compare, NULL));
  lane_words words = {.a = lane_array_number(b->kernel, (tsri_ir_space)stmt->space, stmt->object),
                      .b = index.word,
                      .c = value.word,
                      .d = compare.word,
                      .e = stmt->op,
                      .f = stmt->pos};
  lane_values old = {.count = 1};
  if (stmt->var != 0) {
    tsr_dtype dtype = (tsr_dtype)b->kernel->vars[stmt->var].type.dtype;
    words.dst = lane_take(b, dtype, false, false);
    old.part[0] = (lane_value){.kind = LANE_VALUE_LANES, .dtype = (uint8_t)dtype, .word = words.dst};
  }
  lane_emit(b, TSRI_LANE_ATOMIC, lane_index_form((tsr_dtype)index.dtype), 0, words);
  lane_value_release(b, &index);
  lane_value_release(b, &value);
  lane_value_release(b, &compare);
  if (stmt->var != 0) lane_assign_var(b, stmt->var, &old);
}
