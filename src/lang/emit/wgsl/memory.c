// SPDX-License-Identifier: MIT
// Memory: how arrays are held, loads, stores, atomics.
//
// Buffers of 8-bit and 16-bit elements are arrays of words. A store of part of a word flips its bits that differ with one
// atomic operation, as other items may write the rest of it meanwhile; so such a buffer is an array of atomics. A buffer
// that is accessed several elements at a time is declared as an array of vectors, and single elements are components of
// those. Shared and local arrays hold values, rounded as their storage would have them.
#include <inttypes.h>
#include <stdio.h>

#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/collectives.h"

// --- How arrays are held --------------------------------------------------------------------------------------------

static void note_lanes(uint8_t *widest, tsri_ir_space space, uint32_t object, uint32_t lanes) {
  if (space == TSRI_SPACE_BUFFER && lanes > widest[object]) widest[object] = (uint8_t)lanes;
}

static tsri_wgsl_array plan_buffer(const tsri_wgsl *w, const tsri_ir_array *array, uint32_t lanes) {
  uint32_t bytes = (uint32_t)tsr_dtype_bytes((tsr_dtype)array->storage);
  if (array->storage == TSR_F16 && w->options->f16) {
    return (tsri_wgsl_array){.per_word = 1, .lanes = lanes > 1 ? (uint8_t)lanes : 1, .is_half = true};
  }
  if (bytes < 4) {
    return (tsri_wgsl_array){.per_word = (uint8_t)(4 / bytes), .lanes = 1, .is_atomic = array->is_stored};
  }
  bool as_vectors = bytes == 4 && lanes > 1 && !array->is_atomic;
  return (tsri_wgsl_array){.per_word = 1, .lanes = as_vectors ? (uint8_t)lanes : 1, .is_atomic = array->is_atomic};
}

void tsri_wgsl_plan_arrays(tsri_wgsl *w) {
  const tsri_kernel *k = w->kernel;
  uint8_t widest[TSRI_LANG_MAX_BUFFERS + 1] = {0};  // with the report
  for (uint32_t i = 1; i < k->expr_count; i++) {
    const tsri_ir_expr *x = &k->exprs[i];
    if (x->kind == TSRI_EXPR_LOAD) note_lanes(widest, (tsri_ir_space)x->space, x->object, x->type.lanes);
  }
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *x = &k->stmts[i];
    if (x->kind == TSRI_STMT_STORE) {
      note_lanes(widest, (tsri_ir_space)x->space, x->object, k->exprs[x->value].type.lanes);
    }
  }
  for (uint32_t i = 0; i < k->buffer_count; i++) w->buffers[i] = plan_buffer(w, &k->buffers[i], widest[i]);
  for (uint32_t i = 0; i < k->shared_count; i++) {
    w->shared[i] = (tsri_wgsl_array){.per_word = 1, .lanes = 1, .is_atomic = k->shared[i].is_atomic};
  }
}

tsri_wgsl_array tsri_wgsl_held(const tsri_wgsl *w, tsri_ir_space space, uint32_t object) {
  if (space == TSRI_SPACE_BUFFER) return w->buffers[object];
  return space == TSRI_SPACE_SHARED ? w->shared[object] : (tsri_wgsl_array){.per_word = 1, .lanes = 1};
}

// --- Places ---------------------------------------------------------------------------------------------------------

// An access: `at<id>` is its first index as u32 in the text, a multiple of the lanes.
typedef struct place {
  tsri_ir_space space;
  uint32_t object, lanes, id;
  tsr_dtype storage;
  tsri_wgsl_array held;
} place;

static place place_of(const tsri_wgsl *w, tsri_ir_space space, uint32_t object, uint32_t lanes, uint32_t id) {
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(w->kernel, space, object)->storage;
  return (place){space, object, lanes, id, storage, tsri_wgsl_held(w, space, object)};
}

static void put_index_let(tsri_wgsl *w, const place *p, uint32_t index) {
  tsr_dtype dtype = (tsr_dtype)w->kernel->exprs[index].type.dtype;
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "let at%" PRIu32 " = ", p->id);
  tsri_c_add(&w->body, dtype == TSR_I32 ? "bitcast<u32>(" : "(");
  tsri_wgsl_put_value(w, &w->body, index);
  tsri_c_add(&w->body, dtype == TSR_I64 ? ".x)" : ")");
  if (p->lanes > 1) tsri_c_addf(&w->body, " & 0x%" PRIx32 "u", ~(p->lanes - 1));
  tsri_c_add(&w->body, ";\n");
}

static uint32_t log2_of(uint32_t n) { return n == 4 ? 2 : n == 2 ? 1 : 0; }

// "x_b0[at7 + 1u]", or the component of a vector.
static void put_element(tsri_wgsl *w, const place *p, uint32_t lane) {
  tsri_wgsl_put_array(w, &w->body, p->space, p->object);
  char index[32];
  snprintf(index, sizeof index, lane ? "(at%" PRIu32 " + %" PRIu32 "u)" : "at%" PRIu32, p->id, lane);
  if (p->held.lanes == 1) {
    tsri_c_addf(&w->body, "[%s]", index);
  } else {
    tsri_c_addf(&w->body, "[%s >> %" PRIu32 "u][%s & %uu]", index, log2_of(p->held.lanes), index, p->held.lanes - 1u);
  }
}

// The vector that the array is declared of.
static void put_vector_element(tsri_wgsl *w, const place *p) {
  tsri_wgsl_put_array(w, &w->body, p->space, p->object);
  tsri_c_addf(&w->body, "[at%" PRIu32 " >> %" PRIu32 "u]", p->id, log2_of(p->lanes));
}

// The word that holds element `lane`.
static void put_word(tsri_wgsl *w, const place *p, uint32_t lane) {
  tsri_wgsl_put_array(w, &w->body, p->space, p->object);
  tsri_c_addf(&w->body, "[(at%" PRIu32 " >> %" PRIu32 "u) + %" PRIu32 "u]", p->id, log2_of(p->held.per_word),
              lane / p->held.per_word);
}

// --- Loads ----------------------------------------------------------------------------------------------------------

static void put_read(tsri_wgsl *w, const place *p, uint32_t lane) {
  bool has_call = p->held.is_atomic || p->held.is_half;
  if (has_call) tsri_c_add(&w->body, p->held.is_half ? "f32(" : "atomicLoad(&");
  put_element(w, p, lane);
  if (has_call) tsri_c_add(&w->body, ")");
}

// let w<id>_<k> = the words the elements stand in, shifted so that the first element is in the low end.
static void put_word_lets(tsri_wgsl *w, const place *p) {
  uint32_t bits = 32u / p->held.per_word, words = p->lanes > p->held.per_word ? p->lanes / p->held.per_word : 1;
  for (uint32_t k = 0; k < words; k++) {
    tsri_wgsl_put_indent(w);
    tsri_c_addf(&w->body, "let w%" PRIu32 "_%" PRIu32 " = ", p->id, k);
    if (p->held.is_atomic) tsri_c_add(&w->body, "atomicLoad(&");
    put_word(w, p, k * p->held.per_word);
    if (p->held.is_atomic) tsri_c_add(&w->body, ")");
    if (p->lanes < p->held.per_word) {
      tsri_c_addf(&w->body, " >> ((at%" PRIu32 " & %uu) * %" PRIu32 "u)", p->id, p->held.per_word - 1u, bits);
    }
    tsri_c_add(&w->body, ";\n");
  }
}

static void put_packed_lane(tsri_wgsl *w, const place *p, uint32_t lane) {
  uint32_t bits = 32u / p->held.per_word, at = lane * bits;
  char text[64];
  snprintf(text, sizeof text, "((w%" PRIu32 "_%" PRIu32 " >> %" PRIu32 "u) & 0x%xu)", p->id, at / 32, at % 32,
           bits == 8 ? 0xffu : 0xffffu);
  tsri_wgsl_operands operands = {{text, "", ""}};
  tsri_wgsl_put_pattern(w, &w->body, tsri_wgsl_decode_pattern(p->storage), &operands, "");
}

static void put_loaded(tsri_wgsl *w, const place *p, const tsri_ir_expr *x) {
  tsri_ir_type type = x->type;
  if (x->op == TSRI_LOAD_FOR_ALL) {
    tsri_c_add(&w->body, "workgroupUniformLoad(&");
    put_element(w, p, 0);
    tsri_c_add(&w->body, ")");
    return;
  }
  if (p->lanes > 1 && p->held.lanes == p->lanes) {
    if (p->held.is_half) tsri_c_addf(&w->body, "%s(", tsri_wgsl_type(w, type));
    put_vector_element(w, p);
    if (p->held.is_half) tsri_c_add(&w->body, ")");
    return;
  }
  if (p->lanes > 1) tsri_c_addf(&w->body, "%s(", tsri_wgsl_type(w, type));
  for (uint32_t lane = 0; lane < p->lanes; lane++) {
    if (lane > 0) tsri_c_add(&w->body, ", ");
    if (p->held.per_word > 1) {
      put_packed_lane(w, p, lane);
    } else {
      put_read(w, p, lane);
    }
  }
  if (p->lanes > 1) tsri_c_add(&w->body, ")");
}

void tsri_wgsl_put_load(tsri_wgsl *w, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  place p = place_of(w, (tsri_ir_space)x->space, x->object, x->type.lanes, expr);
  put_index_let(w, &p, x->a);
  if (p.held.per_word > 1) put_word_lets(w, &p);
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "let e%" PRIu32 " = ", expr);
  put_loaded(w, &p, x);
  tsri_c_add(&w->body, ";\n");
}

// --- Stores ---------------------------------------------------------------------------------------------------------

static void put_lane_of(tsri_wgsl *w, const place *p, const char *pattern, const char *value, uint32_t lane) {
  static const char *const suffixes[] = {".x", ".y", ".z", ".w"};
  tsri_wgsl_operands operands = {{value, "", ""}};
  tsri_wgsl_put_pattern(w, &w->body, pattern, &operands, p->lanes > 1 ? suffixes[lane] : "");
}

// What a word or the stored part of it is to hold, from the low end.
static void put_packed_value(tsri_wgsl *w, const place *p, const char *value, uint32_t first, uint32_t count) {
  uint32_t bits = 32u / p->held.per_word;
  for (uint32_t lane = first; lane < first + count; lane++) {
    if (lane > first) tsri_c_add(&w->body, " | ");
    tsri_c_add(&w->body, "((");
    put_lane_of(w, p, tsri_wgsl_encode_pattern(p->storage), value, lane);
    tsri_c_addf(&w->body, ") << %" PRIu32 "u)", (lane - first) * bits);
  }
}

static void put_packed_store(tsri_wgsl *w, const place *p, const char *value) {
  uint32_t bits = 32u / p->held.per_word, per_word = p->held.per_word;
  if (p->lanes >= per_word) {  // whole words
    for (uint32_t lane = 0; lane < p->lanes; lane += per_word) {
      tsri_wgsl_put_indent(w);
      tsri_c_add(&w->body, "atomicStore(&");
      put_word(w, p, lane);
      tsri_c_add(&w->body, ", ");
      put_packed_value(w, p, value, lane, per_word);
      tsri_c_add(&w->body, ");\n");
    }
    return;
  }
  uint32_t mask = (1u << (bits * p->lanes)) - 1u;
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "let s%" PRIu32 " = (at%" PRIu32 " & %" PRIu32 "u) * %" PRIu32 "u;\n", p->id, p->id,
              per_word - 1, bits);
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "let v%" PRIu32 " = ", p->id);
  put_packed_value(w, p, value, 0, p->lanes);
  tsri_c_add(&w->body, ";\n");
  tsri_wgsl_put_indent(w);
  tsri_c_add(&w->body, "atomicXor(&");
  put_word(w, p, 0);
  tsri_c_add(&w->body, ", (((atomicLoad(&");
  put_word(w, p, 0);
  tsri_c_addf(&w->body, ") >> s%" PRIu32 ") ^ v%" PRIu32 ") & 0x%" PRIx32 "u) << s%" PRIu32 ");\n", p->id, p->id, mask,
              p->id);
}

static void put_plain_store(tsri_wgsl *w, const place *p, const char *value, tsr_dtype from) {
  const char *pattern = p->held.is_half                 ? "f16($a)"
                        : p->space == TSRI_SPACE_BUFFER ? "$a"
                                                        : tsri_wgsl_convert_pattern(p->storage, from, false);
  if (p->lanes > 1 && p->held.lanes == p->lanes) {
    tsri_wgsl_put_indent(w);
    put_vector_element(w, p);
    if (p->held.is_half) {
      tsri_c_addf(&w->body, " = vec%" PRIu32 "<f16>(%s);\n", p->lanes, value);
    } else {
      tsri_c_addf(&w->body, " = %s;\n", value);
    }
    return;
  }
  for (uint32_t lane = 0; lane < p->lanes; lane++) {
    tsri_wgsl_put_indent(w);
    if (p->held.is_atomic) tsri_c_add(&w->body, "atomicStore(&");
    put_element(w, p, lane);
    tsri_c_add(&w->body, p->held.is_atomic ? ", " : " = ");
    put_lane_of(w, p, pattern, value, lane);
    tsri_c_add(&w->body, p->held.is_atomic ? ");\n" : ";\n");
  }
}

uint32_t tsri_wgsl_stored_value(const tsri_wgsl *w, const tsri_ir_stmt *stmt) {
  const tsri_ir_expr *x = &w->kernel->exprs[stmt->value];
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(w->kernel, (tsri_ir_space)stmt->space, stmt->object)->storage;
  bool is_idle = x->kind == TSRI_EXPR_CONVERT && x->dtype == storage && storage != TSR_BOOL &&
                 w->kernel->exprs[x->a].type.dtype == x->type.dtype;
  return is_idle ? x->a : stmt->value;
}

void tsri_wgsl_put_store(tsri_wgsl *w, const tsri_ir_stmt *stmt) {
  uint32_t stored = tsri_wgsl_stored_value(w, stmt);
  tsri_ir_type type = w->kernel->exprs[stored].type;
  uint32_t id = (uint32_t)(stmt - w->kernel->stmts) + w->kernel->expr_count;
  place p = place_of(w, (tsri_ir_space)stmt->space, stmt->object, type.lanes, id);
  tsri_c_text value = {0};
  tsri_wgsl_put_value(w, &value, stored);
  put_index_let(w, &p, stmt->index);
  if (!value.data) {
    w->is_out_of_memory = true;
  } else if (p.held.per_word > 1) {
    put_packed_store(w, &p, value.data);
  } else {
    put_plain_store(w, &p, value.data, (tsr_dtype)type.dtype);
  }
  tsri_free(value.data);
}

// --- Atomics --------------------------------------------------------------------------------------------------------

static void put_atomic_call(tsri_wgsl *w, const tsri_ir_stmt *stmt, const place *p) {
  static const char *const names[TSRI_ATOMIC_COUNT] = {
      [TSRI_ATOMIC_ADD] = "atomicAdd",
      [TSRI_ATOMIC_SUB] = "atomicSub",
      [TSRI_ATOMIC_MIN] = "atomicMin",
      [TSRI_ATOMIC_MAX] = "atomicMax",
      [TSRI_ATOMIC_AND] = "atomicAnd",
      [TSRI_ATOMIC_OR] = "atomicOr",
      [TSRI_ATOMIC_XOR] = "atomicXor",
      [TSRI_ATOMIC_EXCHANGE] = "atomicExchange",
      [TSRI_ATOMIC_COMPARE_EXCHANGE] = "atomicCompareExchangeWeak",
  };
  tsri_c_addf(&w->body, "%s(&", names[stmt->op]);
  put_element(w, p, 0);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) {
    tsri_c_add(&w->body, ", ");
    tsri_wgsl_put_value(w, &w->body, stmt->compare);
  }
  tsri_c_add(&w->body, ", ");
  tsri_wgsl_put_value(w, &w->body, stmt->value);
  tsri_c_add(&w->body, ")");
}

static void put_result_name(tsri_wgsl *w, const tsri_ir_stmt *stmt) {
  if (stmt->var) {
    tsri_wgsl_put_name(&w->body, w->kernel->vars[stmt->var].name, "", stmt->var);
  } else {
    tsri_c_add(&w->body, "_");
  }
}

// The exchange may fail although the values are equal: then it is tried again.
static void put_compare_exchange(tsri_wgsl *w, const tsri_ir_stmt *stmt, const place *p) {
  tsri_wgsl_put_indent(w);
  tsri_c_add(&w->body, "loop {\n");
  w->indent++;
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "let x%" PRIu32 " = ", p->id);
  put_atomic_call(w, stmt, p);
  tsri_c_add(&w->body, ";\n");
  tsri_wgsl_put_indent(w);
  put_result_name(w, stmt);
  tsri_c_addf(&w->body, " = x%" PRIu32 ".old_value;\n", p->id);
  tsri_wgsl_put_indent(w);
  tsri_c_addf(&w->body, "if (x%" PRIu32 ".exchanged || x%" PRIu32 ".old_value != ", p->id, p->id);
  tsri_wgsl_put_value(w, &w->body, stmt->compare);
  tsri_c_add(&w->body, ") { break; }\n");
  w->indent--;
  tsri_wgsl_put_indent(w);
  tsri_c_add(&w->body, "}\n");
}

void tsri_wgsl_put_atomic(tsri_wgsl *w, const tsri_ir_stmt *stmt) {
  uint32_t id = (uint32_t)(stmt - w->kernel->stmts) + w->kernel->expr_count;
  place p = place_of(w, (tsri_ir_space)stmt->space, stmt->object, 1, id);
  put_index_let(w, &p, stmt->index);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) {
    put_compare_exchange(w, stmt, &p);
  } else {
    tsri_wgsl_put_indent(w);
    if (stmt->var) {
      put_result_name(w, stmt);
      tsri_c_add(&w->body, " = ");
    }
    put_atomic_call(w, stmt, &p);
    tsri_c_add(&w->body, ";\n");
  }
}
