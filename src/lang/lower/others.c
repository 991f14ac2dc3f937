// SPDX-License-Identifier: MIT
#include "lang/lower/others.h"

#include "core/error.h"
#include "lang/lang.h"
#include "lang/lower/others_build.h"

// By expression of the original: whether it is a conversion to the type of the array that it is stored in, which the store repeats anyway.
typedef struct stored_conversions {
  bool *is_idle;
} stored_conversions;

static tsr_dtype storage_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_U64:
      return TSR_I64;
    case TSR_U16:
      return TSR_I16;
    case TSR_F8_E4M3:
    case TSR_F8_E5M2:
      return TSR_U8;
    default:
      return dtype;
  }
}

static const tsri_ir_expr *original(const hoister *h, uint32_t index) { return &h->w.from->exprs[index]; }

static bool is_float(uint32_t dtype) { return tsr_dtype_kind_of((tsr_dtype)dtype) == TSR_KIND_FLOAT; }

// --- Expressions ----------------------------------------------------------------------------------------------------------

static uint32_t low_half(const other_writer *p, uint32_t a) {
  return calc(p, TSRI_OP_AND, TSR_U32, a, constant(p, TSR_U32, 0xffff));
}

static uint32_t to_u16(const other_writer *p, uint32_t from, uint32_t a, bool is_idle) {
  uint32_t word = from == TSR_U32 ? a : convert(p, TSR_U32, a);
  if (is_float(from)) return calc(p, TSRI_OP_MIN, TSR_U32, word, constant(p, TSR_U32, 0xffff));
  return is_idle ? word : low_half(p, word);
}

static uint32_t to_f8(const other_writer *p, uint32_t from, uint32_t a, tsr_dtype dtype, bool is_idle) {
  uint32_t value = from == TSR_F64 ? tsri_f64_to_odd_f32(p, a) : a;
  return is_idle ? value : tsri_f8_decoded(p, tsri_f8_encoded(p, value, dtype), dtype);
}

// Returns 0 if the conversion stays as it is.
static uint32_t conversion(const other_writer *p, uint32_t index) {
  const tsri_ir_expr *x = original(p->h, index);
  const stored_conversions *stored = p->h->context;
  uint32_t from = original(p->h, x->a)->type.dtype, a = p->h->places[x->a];
  tsr_dtype to = (tsr_dtype)x->dtype;
  if (to == TSR_U16) return to_u16(p, from, a, stored->is_idle[index]);
  if (is_f8(to)) return to_f8(p, from, a, to, stored->is_idle[index]);
  if (to == TSR_U64 && is_float(from)) return tsri_u64_from_float(p, (tsr_dtype)from, a);
  if (to == TSR_U64) return from == TSR_I64 ? a : convert(p, TSR_I64, a);
  if (from == TSR_U64 && is_float(to)) return tsri_u64_to_float(p, to, a);
  return from == TSR_U64 && to == TSR_I64 ? a : 0;
}

static uint32_t lower_expr(hoister *h, uint32_t index, list *before) {
  const tsri_ir_expr *x = original(h, index);
  other_writer p = {h, before, x->type.lanes};
  if (x->kind == TSRI_EXPR_CONVERT) return conversion(&p, index);
  if (x->kind == TSRI_EXPR_BITCAST) {
    bool is_same = storage_of((tsr_dtype)original(h, x->a)->type.dtype) == storage_of((tsr_dtype)x->type.dtype);
    return is_same ? h->places[x->a] : 0;
  }
  if (x->kind != TSRI_EXPR_OP || original(h, x->a)->type.dtype != TSR_U64) return 0;
  return tsri_u64_operation(&p, (tsri_ir_op)x->op, h->places[x->a], h->places[x->b]);
}

static uint32_t lower_load(hoister *h, tsri_ir_expr x, list *before) {
  tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(h->w.from, (tsri_ir_space)x.space, x.object)->storage;
  other_writer p = {h, before, x.type.lanes};
  if (storage != TSR_U16 && !is_f8(storage)) return 0;
  x.type.dtype = storage == TSR_U16 ? TSR_I32 : TSR_U32;
  uint32_t loaded = put(&h->w, x);
  return storage == TSR_U16 ? low_half(&p, bits_as(&p, TSR_U32, loaded)) : tsri_f8_decoded(&p, loaded, storage);
}

// --- Statements -----------------------------------------------------------------------------------------------------------

// Minimum and maximum of u64 are those of i64 after a mapping that keeps the order.
static void lower_collective(hoister *h, tsri_ir_stmt s, list *to) {
  bool is_long = original(h, h->original->value)->type.dtype == TSR_U64;
  bool is_ordered = s.op == TSRI_COLLECTIVE_GROUP_MIN || s.op == TSRI_COLLECTIVE_GROUP_MAX ||
                    s.op == TSRI_COLLECTIVE_SUBGROUP_MIN || s.op == TSRI_COLLECTIVE_SUBGROUP_MAX;
  other_writer p = {h, to, 1};
  if (is_long && is_ordered) s.value = tsri_u64_flipped(&p, s.value);
  append(&h->w, to, put_stmt(&h->w, s));
  if (!is_long || !is_ordered) return;
  assign(&h->w, to, s.var, tsri_u64_flipped(&p, variable(&h->w, s.var, (tsri_ir_type){TSR_I64, 1})));
}

static void lower_stmt(hoister *h, tsri_ir_stmt s, list *to) {
  if (s.kind == TSRI_STMT_COLLECTIVE) {
    lower_collective(h, s, to);
    return;
  }
  if (s.kind == TSRI_STMT_STORE) {
    tsr_dtype storage = (tsr_dtype)tsri_ir_array_of(h->w.from, (tsri_ir_space)s.space, s.object)->storage;
    other_writer p = {h, to, original(h, h->original->value)->type.lanes};
    if (storage == TSR_U16) s.value = bits_as(&p, TSR_I32, s.value);
    if (is_f8(storage)) s.value = tsri_f8_encoded(&p, s.value, storage);
  }
  append(&h->w, to, put_stmt(&h->w, s));
}

// --- The kernel -----------------------------------------------------------------------------------------------------------

static void change_storage(tsri_ir_array *arrays, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) arrays[i].storage = (uint8_t)storage_of((tsr_dtype)arrays[i].storage);
}

static void make_signed(tsri_ir_type *type) {
  if (type->dtype == TSR_U64) type->dtype = TSR_I64;
}

static void find_stored_conversions(const tsri_kernel *k, bool *is_idle) {
  for (uint32_t i = 1; i < k->stmt_count; i++) {
    const tsri_ir_stmt *s = &k->stmts[i];
    if (s->kind != TSRI_STMT_STORE) continue;
    uint8_t storage = tsri_ir_array_of(k, (tsri_ir_space)s->space, s->object)->storage;
    const tsri_ir_expr *value = &k->exprs[s->value];
    is_idle[s->value] |= value->kind == TSRI_EXPR_CONVERT && value->dtype == storage;
  }
}

static void change_types(hoister *h) {
  const tsri_kernel *k = h->w.from;
  const stored_conversions *stored = h->context;
  for (uint32_t i = 1; i < k->expr_count; i++) {
    tsri_ir_expr *x = &h->w.exprs[i];
    make_signed(&x->type);
    if (x->kind == TSRI_EXPR_LOAD) x->dtype = (uint8_t)storage_of((tsr_dtype)x->dtype);
  }
  for (uint32_t i = 1; i < k->var_count; i++) make_signed(&h->vars[i].type);
  for (uint32_t i = 0; i < k->param_count; i++) make_signed(&h->params[i].type);
  change_storage(h->buffers, k->buffer_count);
  change_storage(h->shared, k->shared_count);
  change_storage(h->locals, k->local_count);
  find_stored_conversions(k, stored->is_idle);
}

static bool has_other(const tsri_ir_array *arrays, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (storage_of((tsr_dtype)arrays[i].storage) != (tsr_dtype)arrays[i].storage) return true;
  }
  return false;
}

static bool has_others(const tsri_kernel *k) {
  if (has_other(k->buffers, k->buffer_count) || has_other(k->shared, k->shared_count) ||
      has_other(k->locals, k->local_count)) {
    return true;
  }
  for (uint32_t i = 1; i < k->expr_count; i++) {
    const tsri_ir_expr *x = &k->exprs[i];
    bool is_conversion = x->kind == TSRI_EXPR_CONVERT && storage_of((tsr_dtype)x->dtype) != (tsr_dtype)x->dtype;
    if (is_conversion || x->type.dtype == TSR_U64) return true;
  }
  for (uint32_t i = 1; i < k->var_count; i++) {
    if (k->vars[i].type.dtype == TSR_U64) return true;
  }
  for (uint32_t i = 0; i < k->param_count; i++) {
    if (k->params[i].type.dtype == TSR_U64) return true;
  }
  return false;
}

// Sets is_uniform of new variables and expressions; emitters rely on it that a uniform variable gets only uniform values. A new variable that is assigned once
// gets its value's flag; one that is assigned in both branches of a choice has its flag already. Values of variables and operands come before the expressions
// that use them.
static void spread_uniform(tsri_kernel *made, const tsri_kernel *from, uint32_t *values) {
  tsri_ir_expr *exprs = (tsri_ir_expr *)made->exprs;
  tsri_ir_var *vars = (tsri_ir_var *)made->vars;
  for (uint32_t i = 1; i < made->stmt_count; i++) {
    const tsri_ir_stmt *s = &made->stmts[i];
    if (s->kind == TSRI_STMT_ASSIGN) values[s->var] = values[s->var] ? UINT32_MAX : s->value;
  }
  for (uint32_t i = from->expr_count; i < made->expr_count; i++) {
    tsri_ir_expr *x = &exprs[i];
    if (x->kind == TSRI_EXPR_LOAD) continue;  // as in the original
    x->is_uniform = true;
    if (x->kind == TSRI_EXPR_VAR) {
      bool is_new = x->object >= from->var_count && values[x->object] != UINT32_MAX;
      if (is_new) vars[x->object].is_uniform = exprs[values[x->object]].is_uniform;
      x->is_uniform = vars[x->object].is_uniform;
    }
    for (uint32_t k = 0; k < tsri_ir_operands(x); k++) x->is_uniform &= exprs[x->args[k]].is_uniform;
  }
}

static tsr_status no_memory(const tsri_kernel *kernel) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to make it fit for devices", kernel->variant);
}

tsr_status tsri_lower_others(tsri_kernel **kernel) {
  static const tsri_hoist_pass pass = {.expr = lower_expr, .load = lower_load, .stmt = lower_stmt};
  tsri_kernel *from = *kernel, *made = NULL;
  if (!has_others(from)) return TSR_OK;
  stored_conversions stored = {tsri_calloc(from->expr_count + 1u, sizeof *stored.is_idle)};
  if (!stored.is_idle) return no_memory(from);
  tsr_status status = tsri_hoist(from, &pass, change_types, &stored, &made);
  tsri_free(stored.is_idle);
  if (status != TSR_OK) return status;
  uint32_t *values = tsri_calloc(made->var_count + 1u, sizeof *values);
  if (!values) {
    tsri_kernel_release(made);
    return no_memory(from);
  }
  spread_uniform(made, from, values);
  tsri_free(values);
  made->base = from;
  *kernel = made;
  return TSR_OK;
}
