// SPDX-License-Identifier: MIT
// Tables and small queries of the checked form.
#include "lang/ir/ir.h"

const tsri_ir_op_info tsri_ir_op_infos[TSRI_OP_COUNT] = {
#define TSRI_X(name, spelling, arity, rule, is_operator, meaning) \
  {#name, spelling, arity, TSRI_RULE_##rule, is_operator, meaning},
    TSRI_IR_OPS(TSRI_X)
#undef TSRI_X
};

const tsri_ir_collective_info tsri_ir_collective_infos[TSRI_COLLECTIVE_COUNT] = {
#define TSRI_X(name, spelling, scope, arity, rule, meaning) \
  {#name, spelling, TSRI_SCOPE_##scope, arity, TSRI_RULE_##rule, meaning},
    TSRI_IR_COLLECTIVES(TSRI_X)
#undef TSRI_X
};

const tsri_ir_atomic_info tsri_ir_atomic_infos[TSRI_ATOMIC_COUNT] = {
#define TSRI_X(name, spelling, operands, meaning) {#name, spelling, operands, meaning},
    TSRI_IR_ATOMICS(TSRI_X)
#undef TSRI_X
};

const tsri_ir_id_info tsri_ir_id_infos[TSRI_ID_COUNT] = {
#define TSRI_X(name, spelling, has_axis, uniform, meaning) {#name, spelling, has_axis, uniform, meaning},
    TSRI_IR_IDS(TSRI_X)
#undef TSRI_X
};

const char *const tsri_ir_role_spellings[TSRI_ROLE_COUNT] = {
#define TSRI_X(name, spelling, rows, cols, meaning) spelling,
    TSRI_IR_ROLES(TSRI_X)
#undef TSRI_X
};

uint32_t tsri_ir_fragment_rows(const tsri_ir_fragment *fragment) {
  switch (fragment->role) {
#define TSRI_X(name, spelling, rows, cols, meaning) \
  case TSRI_ROLE_##name:                            \
    return fragment->rows;
    TSRI_IR_ROLES(TSRI_X)
#undef TSRI_X
    default:
      return 0;
  }
}

uint32_t tsri_ir_fragment_cols(const tsri_ir_fragment *fragment) {
  switch (fragment->role) {
#define TSRI_X(name, spelling, rows, cols, meaning) \
  case TSRI_ROLE_##name:                            \
    return fragment->cols;
    TSRI_IR_ROLES(TSRI_X)  // NOLINT(bugprone-branch-clone): roles with the same size
#undef TSRI_X
    default:
      return 0;
  }
}

tsr_dtype tsri_ir_compute_dtype(tsr_dtype storage) {
  switch (storage) {
    case TSR_F16:
    case TSR_BF16:
    case TSR_F8_E4M3:
    case TSR_F8_E5M2:
      return TSR_F32;
    case TSR_I8:
    case TSR_I16:
      return TSR_I32;
    case TSR_U8:
    case TSR_U16:
      return TSR_U32;
    default:
      return storage;
  }
}

const char *tsri_ir_type_name(tsri_ir_type type) {
  static const char *const names[TSR_DTYPE_COUNT][3] = {
#define TSRI_X(name, lower, bytes, kind, text) {#lower, #lower "x2", #lower "x4"},
      TSR_DTYPES(TSRI_X)
#undef TSRI_X
  };
  if (type.dtype >= TSR_DTYPE_COUNT) return "?";
  return names[type.dtype][type.lanes == 4 ? 2 : type.lanes == 2 ? 1 : 0];
}

const tsri_ir_array *tsri_ir_array_of(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object) {
  switch (space) {
    case TSRI_SPACE_BUFFER:
      return &kernel->buffers[object];
    case TSRI_SPACE_SHARED:
      return &kernel->shared[object];
    default:
      return &kernel->locals[object];
  }
}

bool tsri_ir_shares_buffers(const tsri_kernel *kernel) {
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    if (kernel->buffers[i].is_loaded && kernel->buffers[i].is_stored) return true;
  }
  return false;
}

uint32_t tsri_ir_plain_operands(const tsri_ir_expr *x) {
  switch (x->kind) {
    case TSRI_EXPR_OP:
      return tsri_ir_op_infos[x->op].arity;
    case TSRI_EXPR_CONVERT:
    case TSRI_EXPR_BITCAST:
    case TSRI_EXPR_SPLAT:
    case TSRI_EXPR_EXTRACT:
    case TSRI_EXPR_LOAD:
      return 1;
    case TSRI_EXPR_INSERT:
      return 2;
    case TSRI_EXPR_VECTOR:
      return x->type.lanes;
    default:
      return 0;
  }
}

uint32_t tsri_ir_operands(const tsri_ir_expr *x) {
  if (x->kind == TSRI_EXPR_COND) return 3;
  bool is_lazy = x->kind == TSRI_EXPR_AND_THEN || x->kind == TSRI_EXPR_OR_ELSE;
  return is_lazy ? 2 : tsri_ir_plain_operands(x);
}

uint32_t tsri_ir_access_lanes(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object) {
  uint32_t most = 0;
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    const tsri_ir_expr *x = &kernel->exprs[i];
    bool is_access = x->kind == TSRI_EXPR_LOAD && x->space == space && x->object == object;
    if (is_access && x->type.lanes > most) most = x->type.lanes;
  }
  for (uint32_t i = 1; i < kernel->stmt_count; i++) {
    const tsri_ir_stmt *s = &kernel->stmts[i];
    bool is_access = s->kind == TSRI_STMT_STORE && s->space == space && s->object == object;
    if (is_access && kernel->exprs[s->value].type.lanes > most) most = kernel->exprs[s->value].type.lanes;
  }
  return most;
}

bool tsri_ir_has_loop(const tsri_kernel *kernel) {
  for (uint32_t i = 1; i < kernel->stmt_count; i++) {
    if (kernel->stmts[i].kind == TSRI_STMT_LOOP) return true;
  }
  return false;
}
