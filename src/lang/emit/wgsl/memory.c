// SPDX-License-Identifier: MIT
// Memory: declarations of arrays, loads, stores, atomics.
//
// Elements have 32 bits, or are WGSL's f16: lower/storage.h and lower/pairs.h have turned others into words. A buffer that is accessed several elements at a
// time is declared as an array of vectors, whose components are single elements.
#include <inttypes.h>
#include <stdio.h>

#include "core/alloc.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/lower/collectives.h"

// --- How arrays are held --------------------------------------------------------------------------------------------

static tsri_wgsl_array plan_buffer(const tsri_wgsl *w, const tsri_ir_array *array, uint32_t lanes) {
  if (array->storage == TSR_F16 && w->options->f16) {
    return (tsri_wgsl_array){.lanes = lanes > 1 ? (uint8_t)lanes : 1, .is_half = true};
  }
  bool as_vectors = lanes > 1 && !array->is_atomic;
  return (tsri_wgsl_array){.lanes = as_vectors ? (uint8_t)lanes : 1, .is_atomic = array->is_atomic};
}

void tsri_wgsl_plan_arrays(tsri_wgsl *w) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 0; i < k->buffer_count; i++) {
    w->buffers[i] = plan_buffer(w, &k->buffers[i], tsri_ir_access_lanes(k, TSRI_SPACE_BUFFER, i));
  }
  for (uint32_t i = 0; i < k->shared_count; i++) {
    w->shared[i] =
        (tsri_wgsl_array){.lanes = 1, .is_atomic = k->shared[i].is_atomic, .is_half = k->shared[i].storage == TSR_F16};
  }
  tsri_wgsl_plan_fragments(w);
}

tsri_wgsl_array tsri_wgsl_held(const tsri_wgsl *w, tsri_ir_space space, uint32_t object) {
  if (space == TSRI_SPACE_BUFFER) return w->buffers[object];
  return space == TSRI_SPACE_SHARED ? w->shared[object] : (tsri_wgsl_array){.lanes = 1};
}

// --- Places ---------------------------------------------------------------------------------------------------------

// An access. In the text, `at<id>` is its first index as u32, a multiple of the lanes.
typedef struct wgsl_place {
  tsri_ir_space space;
  uint32_t object, lanes, id;
  tsri_wgsl_array held;
} wgsl_place;

static wgsl_place place_of(const tsri_wgsl *w, tsri_ir_space space, uint32_t object, uint32_t lanes, uint32_t id) {
  return (wgsl_place){space, object, lanes, id, tsri_wgsl_held(w, space, object)};
}

static void put_index_let(tsri_wgsl *w, const wgsl_place *p, uint32_t index) {
  tsr_dtype dtype = (tsr_dtype)w->kernel->exprs[index].type.dtype;
  tsri_wgsl_put(w, "%ilet at%u = %s(%e)", p->id, dtype == TSR_I32 ? "bitcast<u32>" : "", index);
  if (p->lanes > 1) tsri_builder_add(&w->body, " & 0x%" PRIx32 "u", ~(p->lanes - 1));
  tsri_builder_string(&w->body, ";\n");
}

static uint32_t log2_of(uint32_t n) { return n == 4 ? 2 : n == 2 ? 1 : 0; }

// Writes "x_b0[at7 + 1u]", or the component of a vector.
static void put_element(tsri_wgsl *w, const wgsl_place *p, uint32_t lane) {
  char index[32];
  snprintf(index, sizeof index, lane ? "(at%" PRIu32 " + %" PRIu32 "u)" : "at%" PRIu32, p->id, lane);
  if (p->held.lanes == 1) {
    tsri_wgsl_put(w, "%a[%s]", p->space, p->object, index);
  } else {
    tsri_wgsl_put(w, "%a[%s >> %uu][%s & %uu]", p->space, p->object, index, log2_of(p->held.lanes), index,
                  p->held.lanes - 1u);
  }
}

// Writes the vector element of an array that is declared as vectors.
static void put_vector_element(tsri_wgsl *w, const wgsl_place *p) {
  tsri_wgsl_put(w, "%a[at%u >> %uu]", p->space, p->object, p->id, log2_of(p->lanes));
}

// --- Loads ----------------------------------------------------------------------------------------------------------

// Writes the word at `lane` of an array that is declared as halves: joins both halves.
static void put_joined(tsri_wgsl *w, const wgsl_place *p, uint32_t lane) {
  tsri_wgsl_put(w, "bitcast<u32>(vec2<f16>(%a[(at%u << 1u) + %uu], ", p->space, p->object, p->id, 2 * lane);
  tsri_wgsl_put(w, "%a[(at%u << 1u) + %uu]))", p->space, p->object, p->id, 2 * lane + 1);
}

static void put_read(tsri_wgsl *w, const wgsl_place *p, uint32_t lane) {
  if (p->held.has_halves) {
    put_joined(w, p, lane);
    return;
  }
  bool has_call = p->held.is_atomic || p->held.is_half;
  if (has_call) tsri_builder_string(&w->body, p->held.is_half ? "f32(" : "atomicLoad(&");
  put_element(w, p, lane);
  if (has_call) tsri_builder_string(&w->body, ")");
}

static void put_loaded(tsri_wgsl *w, const wgsl_place *p, const tsri_ir_expr *x) {
  tsri_ir_type type = x->type;
  if (x->op == TSRI_LOAD_FOR_ALL) {
    tsri_builder_string(&w->body, "workgroupUniformLoad(&");
    put_element(w, p, 0);
    tsri_builder_string(&w->body, ")");
    return;
  }
  if (p->lanes > 1 && p->held.lanes == p->lanes) {
    if (p->held.is_half) tsri_wgsl_put(w, "%s(", tsri_wgsl_type(type));
    put_vector_element(w, p);
    if (p->held.is_half) tsri_builder_string(&w->body, ")");
    return;
  }
  if (p->lanes > 1) tsri_wgsl_put(w, "%s(", tsri_wgsl_type(type));
  for (uint32_t lane = 0; lane < p->lanes; lane++) {
    if (lane > 0) tsri_builder_string(&w->body, ", ");
    put_read(w, p, lane);
  }
  if (p->lanes > 1) tsri_builder_string(&w->body, ")");
}

void tsri_wgsl_put_load(tsri_wgsl *w, uint32_t expr) {
  const tsri_ir_expr *x = &w->kernel->exprs[expr];
  wgsl_place p = place_of(w, (tsri_ir_space)x->space, x->object, x->type.lanes, expr);
  put_index_let(w, &p, x->a);
  tsri_wgsl_put(w, "%ilet e%u = ", expr);
  put_loaded(w, &p, x);
  tsri_builder_string(&w->body, ";\n");
}

// --- Stores ---------------------------------------------------------------------------------------------------------

// Stores words in an array that is declared as halves.
static void put_split(tsri_wgsl *w, const wgsl_place *p, uint32_t value) {
  for (uint32_t lane = 0; lane < p->lanes; lane++) {
    tsri_wgsl_put(w, "%ilet h%u_%u = bitcast<vec2<f16>>(%e", p->id, lane, value);
    if (p->lanes > 1) tsri_wgsl_put(w, ".%c", "xyzw"[lane]);
    tsri_builder_string(&w->body, ");\n");
    for (uint32_t half = 0; half < 2; half++) {
      tsri_wgsl_put(w, "%i%a[(at%u << 1u) + %uu] = ", p->space, p->object, p->id, 2 * lane + half);
      tsri_wgsl_put(w, "h%u_%u.%c;\n", p->id, lane, "xy"[half]);
    }
  }
}

void tsri_wgsl_put_store(tsri_wgsl *w, const tsri_ir_stmt *stmt) {
  tsri_ir_type type = w->kernel->exprs[stmt->value].type;
  uint32_t id = (uint32_t)(stmt - w->kernel->stmts) + w->kernel->expr_count;
  wgsl_place p = place_of(w, (tsri_ir_space)stmt->space, stmt->object, type.lanes, id);
  bool is_vector = p.lanes > 1 && p.held.lanes == p.lanes;
  put_index_let(w, &p, stmt->index);
  if (p.held.has_halves) {
    put_split(w, &p, stmt->value);
    return;
  }
  for (uint32_t lane = 0; lane < (is_vector ? 1 : p.lanes); lane++) {
    tsri_wgsl_put_line(w, p.held.is_atomic ? "atomicStore(&" : "");
    if (is_vector) {
      put_vector_element(w, &p);
    } else {
      put_element(w, &p, lane);
    }
    tsri_builder_string(&w->body, p.held.is_atomic ? ", " : " = ");
    if (p.held.is_half && is_vector) tsri_wgsl_put(w, "vec%u<f16>(", p.lanes);
    if (p.held.is_half && !is_vector) tsri_builder_string(&w->body, "f16(");
    tsri_wgsl_put(w, "%e", stmt->value);
    if (p.lanes > 1 && !is_vector) tsri_wgsl_put(w, ".%c", "xyzw"[lane]);
    tsri_builder_string(&w->body, p.held.is_half || p.held.is_atomic ? ");\n" : ";\n");
  }
}

// --- Atomics --------------------------------------------------------------------------------------------------------

static void put_atomic_call(tsri_wgsl *w, const tsri_ir_stmt *stmt, const wgsl_place *p) {
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
  tsri_wgsl_put(w, "%s(&", names[stmt->op]);
  put_element(w, p, 0);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) tsri_wgsl_put(w, ", %e", stmt->compare);
  tsri_wgsl_put(w, ", %e)", stmt->value);
}

// The weak exchange may fail although the values are equal: then it is repeated.
static void put_compare_exchange(tsri_wgsl *w, const tsri_ir_stmt *stmt, const wgsl_place *p) {
  tsri_wgsl_put_line(w, "loop {\n");
  w->indent++;
  tsri_wgsl_put(w, "%ilet x%u = ", p->id);
  put_atomic_call(w, stmt, p);
  tsri_wgsl_put(w, stmt->var ? ";\n%i%v = " : ";\n%i_ = ", stmt->var);
  tsri_wgsl_put(w, "x%u.old_value;\n", p->id);
  tsri_wgsl_put(w, "%iif (x%u.exchanged || x%u.old_value != %e) { break; }\n", p->id, p->id, stmt->compare);
  w->indent--;
  tsri_wgsl_put_line(w, "}\n");
}

void tsri_wgsl_put_atomic(tsri_wgsl *w, const tsri_ir_stmt *stmt) {
  uint32_t id = (uint32_t)(stmt - w->kernel->stmts) + w->kernel->expr_count;
  wgsl_place p = place_of(w, (tsri_ir_space)stmt->space, stmt->object, 1, id);
  put_index_let(w, &p, stmt->index);
  if (stmt->op == TSRI_ATOMIC_COMPARE_EXCHANGE) {
    put_compare_exchange(w, stmt, &p);
  } else {
    tsri_wgsl_put(w, stmt->var ? "%i%v = " : "%i", stmt->var);
    put_atomic_call(w, stmt, &p);
    tsri_builder_string(&w->body, ";\n");
  }
}
