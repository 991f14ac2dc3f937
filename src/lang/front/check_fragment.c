// SPDX-License-Identifier: MIT
// Fragments: their declarations, and the functions that operate on them.
//
// A fragment is not a value: it can only be declared, and named as an argument of these functions. The indices of an array of
// fragments must be known at compile time, because a device keeps each fragment in its own registers.
#include <stdio.h>

#include "lang/front/check.h"

typedef struct fragment_op {
  const char *spelling;
  uint8_t least, most;  // arguments
  const char *form;
} fragment_op;

// The functions of fragments, in the order of the TSRI_STMT_FRAGMENT_ statements.
static const fragment_op ops[] = {
#define TSRI_X(name, spelling, least, most, form) {spelling, least, most, form},
    TSRI_IR_FRAGMENT_OPS(TSRI_X)
#undef TSRI_X
};

static tsri_ir_fragment *fragment_at(const tsri_checker *c, uint32_t id) {
  return (tsri_ir_fragment *)c->fragments.items + id;
}

// "fragment_left<f16, 16, 16, 16>"
typedef struct type_text {
  char text[64];
} type_text;

static type_text type_of(const tsri_ir_fragment *f) {
  type_text t;
  snprintf(t.text, sizeof t.text, "%s<%s, %u, %u, %u>", tsri_ir_role_spellings[f->role],
           tsr_dtype_name((tsr_dtype)f->dtype), f->m, f->n, f->k);
  return t;
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static bool check_size(tsri_checker *c, uint32_t node, uint8_t *out_size) {
  int64_t size = 0;
  if (!tsri_check_constant(c, node, "the size of a fragment", &size)) return false;
  bool is_power = size > 0 && (size & (size - 1)) == 0;
  if (is_power && size >= TSRI_IR_FRAGMENT_LEAST && size <= TSRI_IR_FRAGMENT_MOST) {
    *out_size = (uint8_t)size;
    return true;
  }
  tsri_diag_error(c->diag, tsri_ast_of(c, node)->pos, "a fragment's sizes are 8, 16 or 32, not %lld", (long long)size);
  return false;
}

static bool check_element(tsri_checker *c, uint32_t node, tsri_ir_fragment *f) {
  tsr_dtype dtype;
  uint8_t lanes;
  if (!tsri_check_type(c, node, &dtype, &lanes)) return false;
  bool is_sum = f->role == TSRI_ROLE_SUM;
  f->dtype = (uint8_t)dtype;
  if (lanes == 1 && (dtype == TSR_F32 || (!is_sum && (dtype == TSR_F16 || dtype == TSR_BF16)))) return true;
  tsri_diag_error(c->diag, tsri_ast_of(c, node)->pos,
                  is_sum ? "a sum has elements of type f32, not %.*s" : "a factor is f16, bf16 or f32, not %.*s",
                  TSRI_NAME(c, tsri_ast_of(c, node)->symbol));
  return false;
}

// Reads the parts <f16, 16, 16, 16> of a fragment's type. False, with an error, if they are not valid.
static bool check_parts(tsri_checker *c, const tsri_ast *type, tsri_ir_fragment *f) {
  uint32_t nodes[4] = {0}, count = 0;
  for (uint32_t node = type->a; node; node = tsri_ast_of(c, node)->next, count++) {
    if (count < 4) nodes[count] = node;
  }
  if (count == 0) return false;  // the parser has said why
  if (count != 4) {
    tsri_diag_error(c->diag, type->pos, "a fragment has a type of elements and three sizes: %s<f16, 16, 16, 16>",
                    tsri_ir_role_spellings[f->role]);
    return false;
  }
  bool ok = check_element(c, nodes[0], f);
  ok = check_size(c, nodes[1], &f->m) && ok;
  ok = check_size(c, nodes[2], &f->n) && ok;
  return check_size(c, nodes[3], &f->k) && ok;
}

static bool refuse_modifiers(tsri_checker *c, const tsri_ast *decl) {
  const char *wrong = decl->flags & TSRI_AST_IS_CONST ? "const" : decl->flags & TSRI_AST_IS_SHARED ? "shared" : NULL;
  if (wrong) tsri_diag_error(c->diag, decl->pos, "a fragment cannot be '%s'", wrong);
  if (decl->b) {
    tsri_diag_error(c->diag, decl->pos, "a fragment is not initialised by a value");
    tsri_diag_hint(c->diag, "sums start at 0; fragment_fill() and fragment_load() give a fragment its elements");
  }
  return !wrong && !decl->b;
}

static uint32_t add_fragments(tsri_checker *c, const tsri_ir_fragment *f, uint32_t count) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t id = tsri_item_array_add(&c->fragments);
    if (!id) {
      tsri_diag_error(c->diag, f->pos, "a kernel has at most %d fragments", TSRI_LANG_MAX_FRAGMENTS);
      return 0;
    }
    *fragment_at(c, id) = *f;
    if (i == 0) first = id;
  }
  return first;
}

static void append_zero(tsri_checker *c, uint32_t fragment, tsri_ir_pos pos) {
  fragment_at(c, fragment)->is_filled = true;
  tsri_append(c, (tsri_ir_stmt){.kind = TSRI_STMT_FRAGMENT_FILL,
                                .pos = pos,
                                .value = tsri_const_value(c, TSR_F32, 0, pos).expr,
                                .fragments = {fragment}});
}

void tsri_check_fragment(tsri_checker *c, const tsri_ast *decl) {
  const tsri_ast *type = tsri_ast_of(c, decl->a);
  tsri_ir_fragment f = {.name = tsri_names_at(&c->module->names, decl->symbol)->text,
                        .role = (uint8_t)(type->symbol - TSRI_SYM_FIRST_ROLE),
                        .pos = decl->pos};
  tsri_name_binding sized = {0};
  uint32_t count = 1, first = 0;
  bool ok = check_parts(c, type, &f);
  ok = refuse_modifiers(c, decl) && ok;
  ok = (!decl->c || tsri_check_sizes(c, decl, &sized, &count)) && ok;
  if (ok) first = add_fragments(c, &f, count);
  uint32_t id = tsri_bind(c, first ? TSRI_BIND_FRAGMENT : TSRI_BIND_BROKEN, decl->symbol, decl->pos);
  if (!first) return;
  tsri_name_binding *binding = tsri_name_binding_at(c, id);
  binding->object = first;
  binding->dim_count = sized.dim_count;
  for (int i = 0; i < TSRI_MAX_DIMS; i++) binding->dims[i] = sized.dims[i];
  for (uint32_t i = 0; f.role == TSRI_ROLE_SUM && i < count; i++) append_zero(c, first + i, decl->pos);
}

// --- Which fragment is meant ----------------------------------------------------------------------------------------

// Evaluates the index in one pair of brackets. False, with an error, if it is not a constant below `size`.
static bool check_place(tsri_checker *c, uint32_t node, uint32_t size, uint32_t *out_index) {
  int64_t index = 0;
  uint32_t errors = c->diag->error_count;
  if (!tsri_check_constant(c, node, "the index of a fragment", &index)) {
    if (c->diag->error_count != errors) tsri_diag_hint(c->diag, "'unroll for' makes a loop's variable a constant");
    return false;
  }
  if (index >= 0 && index < (int64_t)size) {
    *out_index = (uint32_t)index;
    return true;
  }
  tsri_diag_error(c->diag, tsri_ast_of(c, node)->pos, "index %lld is outside an array of %u fragments",
                  (long long)index, size);
  return false;
}

// The fragment that an argument names: x, x[1], x[1][2]. 0 after an error.
static uint32_t fragment_argument(tsri_checker *c, uint32_t node) {
  uint32_t brackets[TSRI_MAX_DIMS], count = 0;
  const tsri_ast *ast = tsri_ast_of(c, node);
  tsri_ir_pos pos = ast->pos;
  for (; ast->kind == TSRI_AST_INDEX && count < TSRI_MAX_DIMS; ast = tsri_ast_of(c, ast->a)) brackets[count++] = ast->b;
  uint32_t id = ast->kind == TSRI_AST_NAME ? tsri_lookup(c, ast->symbol) : 0;
  if (id && tsri_name_binding_at(c, id)->kind == TSRI_BIND_BROKEN) return 0;
  if (!id || tsri_name_binding_at(c, id)->kind != TSRI_BIND_FRAGMENT) {
    tsri_diag_error(c->diag, pos, "this is no fragment");
    tsri_diag_hint(c->diag, "a fragment is declared as in fragment_sum<f32, 16, 16, 16> x;");
    return 0;
  }
  tsri_name_binding binding = *tsri_name_binding_at(c, id);
  if (count != binding.dim_count) {
    tsri_diag_error(c->diag, pos, "'%.*s' takes %u ind%s here, not %u", TSRI_NAME(c, binding.symbol), binding.dim_count,
                    binding.dim_count == 1 ? "ex" : "ices", count);
    return 0;
  }
  uint32_t offset = 0;
  for (uint32_t i = 0; i < count; i++) {  // the last pair of brackets comes first in the list
    uint32_t index = 0;
    if (!check_place(c, brackets[count - 1 - i], binding.dims[i], &index)) return 0;
    offset = offset * binding.dims[i] + index;
  }
  return binding.object + offset;
}

// --- Operations -----------------------------------------------------------------------------------------------------

static void refuse_role(tsri_checker *c, tsri_ir_pos pos, uint32_t fragment, tsri_ir_role wanted) {
  type_text is = type_of(fragment_at(c, fragment));
  tsri_diag_error(c->diag, pos, "this is a %s, where a %s is wanted", is.text, tsri_ir_role_spellings[wanted]);
  tsri_diag_note(c->diag, fragment_at(c, fragment)->pos, "declared here");
}

static void check_multiply(tsri_checker *c, const tsri_ast *call) {
  static const tsri_ir_role roles[3] = {TSRI_ROLE_SUM, TSRI_ROLE_LEFT, TSRI_ROLE_RIGHT};
  tsri_ir_stmt stmt = {.kind = TSRI_STMT_FRAGMENT_MULTIPLY_ADD, .pos = call->pos};
  uint32_t node = call->a;
  bool ok = true;
  for (int i = 0; i < 3; i++, node = tsri_ast_of(c, node)->next) {
    uint32_t fragment = stmt.fragments[i] = fragment_argument(c, node);
    if (fragment && fragment_at(c, fragment)->role != roles[i]) {
      refuse_role(c, tsri_ast_of(c, node)->pos, fragment, roles[i]);
      fragment = 0;
    }
    ok = ok && fragment;
  }
  if (!ok) return;
  const tsri_ir_fragment *sum = fragment_at(c, stmt.fragments[0]), *left = fragment_at(c, stmt.fragments[1]),
                         *right = fragment_at(c, stmt.fragments[2]);
  bool fits = left->m == sum->m && right->m == sum->m && left->n == sum->n && right->n == sum->n && left->k == sum->k &&
              right->k == sum->k && left->dtype == right->dtype;
  if (!fits) {
    tsri_diag_error(c->diag, call->pos, "%s and %s cannot be multiplied into %s: sizes and factors' types are the same",
                    type_of(left).text, type_of(right).text, type_of(sum).text);
    return;
  }
  tsri_append(c, stmt);
}

static void check_fill(tsri_checker *c, const tsri_ast *call) {
  uint32_t fragment = fragment_argument(c, call->a);
  tsri_check_operand value;
  tsri_check_args(c, tsri_ast_of(c, call->a)->next, &value, 1, TSR_F32);
  value = tsri_assignable(c, value, TSR_F32, 1, "the value");
  if (!fragment || value.kind != TSRI_OPERAND_VALUE) return;
  fragment_at(c, fragment)->is_filled = true;
  tsri_append(c, (tsri_ir_stmt){
                     .kind = TSRI_STMT_FRAGMENT_FILL, .pos = call->pos, .value = value.expr, .fragments = {fragment}});
}

// Checks the array argument of fragment_load and fragment_store. False, with an error, if they cannot use it.
static bool check_array(tsri_checker *c, const tsri_check_operand *arg, const tsri_ir_fragment *f, bool is_load) {
  if (arg->kind == TSRI_OPERAND_ERROR) return false;
  if (arg->kind != TSRI_OPERAND_ARRAY) {
    tsri_diag_error(c->diag, arg->pos, "the second argument is the name of an array");
    return false;
  }
  const tsri_name_binding binding = *tsri_name_binding_at(c, arg->binding);
  tsr_dtype storage = (tsr_dtype)tsri_array_at(c, binding.space, binding.object)->storage;
  if (binding.space == TSRI_SPACE_LOCAL) {
    tsri_diag_error(c->diag, arg->pos, "fragments lie in buffers and shared arrays; '%.*s' is one item's own",
                    TSRI_NAME(c, binding.symbol));
    return false;
  }
  bool is_packed = is_load && storage == TSR_U32 && f->dtype != TSR_F32;
  if (storage != (tsr_dtype)f->dtype && !is_packed) {
    tsri_diag_error(c->diag, arg->pos, "'%.*s' has elements of type %s, this is a %s", TSRI_NAME(c, binding.symbol),
                    tsr_dtype_name(storage), type_of(f).text);
    if (f->dtype != TSR_F32) {
      tsri_diag_hint(c->diag, "an array of u32 may hold two elements of %s in a word",
                     tsr_dtype_name((tsr_dtype)f->dtype));
    }
    return false;
  }
  if (!is_load) return tsri_check_writable(c, arg->binding, arg->pos);
  if (binding.space != TSRI_SPACE_BUFFER || binding.access != TSRI_ACCESS_OUT) return true;
  tsri_diag_error(c->diag, arg->pos, "'%.*s' may only be written", TSRI_NAME(c, binding.symbol));
  return false;
}

// Checks the last argument, by_columns: whether the matrix is column-major in memory. False, with an error, if it is not a bool known at compile time.
static bool check_order(tsri_checker *c, tsri_check_operand arg, uint8_t *out_by_columns) {
  tsri_check_operand value = tsri_need_bool(c, arg, "by_columns");
  if (value.kind != TSRI_OPERAND_VALUE) return false;
  if (!tsri_is_const(c, &value)) {
    tsri_diag_error(c->diag, arg.pos, "whether a fragment lies by columns must be known at compile time");
    return false;
  }
  *out_by_columns = tsri_const_bits(c, &value) != 0;
  return true;
}

// A factor is loaded by rows or by columns, always the same: devices hold the two in different ways.
static bool check_same_order(tsri_checker *c, tsri_ir_fragment *f, bool by_columns, tsri_ir_pos pos) {
  if (f->role != TSRI_ROLE_SUM && f->is_loaded && f->by_columns != by_columns) {
    tsri_diag_error(c->diag, pos, "'%s' is loaded by %s here and by %s elsewhere", f->name,
                    by_columns ? "columns" : "rows", by_columns ? "rows" : "columns");
    tsri_diag_hint(c->diag, "declare one fragment for each");
    return false;
  }
  f->is_loaded = true;
  f->by_columns = by_columns;
  return true;
}

// Checks an offset or a stride, and converts it to u32.
static tsri_check_operand check_distance(tsri_checker *c, tsri_check_operand arg, const tsri_ir_fragment *f,
                                         const char *what) {
  tsri_check_operand value = tsri_assignable(c, arg, TSR_U32, 1, what);
  uint32_t step = 16u / (uint32_t)tsr_dtype_bytes((tsr_dtype)f->dtype);
  if (value.kind != TSRI_OPERAND_VALUE || !tsri_is_const(c, &value) || tsri_const_bits(c, &value) % step == 0) {
    return value;
  }
  tsri_diag_error(c->diag, arg.pos, "%s of elements of %s is a multiple of %u: 16 bytes", what,
                  tsr_dtype_name((tsr_dtype)f->dtype), step);
  return tsri_error_operand(arg.pos);
}

static void check_memory(tsri_checker *c, const tsri_ast *call, bool is_load, uint32_t count) {
  uint32_t fragment = fragment_argument(c, call->a);
  tsri_check_operand args[4] = {0};
  tsri_check_args(c, tsri_ast_of(c, call->a)->next, args, 4, TSR_U32);
  if (!fragment) return;
  if (!is_load && fragment_at(c, fragment)->role != TSRI_ROLE_SUM) {
    refuse_role(c, call->pos, fragment, TSRI_ROLE_SUM);
    return;
  }
  tsri_ir_fragment f = *fragment_at(c, fragment);
  uint8_t by_columns = 0;
  bool ok = check_array(c, &args[0], &f, is_load);
  tsri_check_operand offset = check_distance(c, args[1], &f, "the offset");
  tsri_check_operand stride = check_distance(c, args[2], &f, "the stride");
  ok = (count < 5 || check_order(c, args[3], &by_columns)) && ok;
  if (!ok || offset.kind != TSRI_OPERAND_VALUE || stride.kind != TSRI_OPERAND_VALUE) return;
  if (is_load && !check_same_order(c, fragment_at(c, fragment), by_columns, call->pos)) return;
  const tsri_name_binding *binding = tsri_name_binding_at(c, args[0].binding);
  tsri_ir_array *array = tsri_array_at(c, binding->space, binding->object);
  array->is_loaded = array->is_loaded || is_load;
  array->is_stored = array->is_stored || !is_load;
  array->is_wide = true;
  tsri_append(c, (tsri_ir_stmt){.kind = is_load ? TSRI_STMT_FRAGMENT_LOAD : TSRI_STMT_FRAGMENT_STORE,
                                .op = by_columns,
                                .space = binding->space,
                                .pos = call->pos,
                                .object = binding->object,
                                .index = offset.expr,
                                .value = stride.expr,
                                .fragments = {fragment}});
}

void tsri_check_fragments_given(tsri_checker *c) {
  for (uint32_t i = 1; i < c->stmts.count; i++) {
    tsri_ir_stmt stmt = *tsri_stmt_at(c, i);
    for (int k = 1; stmt.kind == TSRI_STMT_FRAGMENT_MULTIPLY_ADD && k < 3; k++) {
      const tsri_ir_fragment *f = fragment_at(c, stmt.fragments[k]);
      if (f->is_loaded || f->is_filled) continue;
      tsri_diag_error(c->diag, stmt.pos, "'%s' is multiplied but never loaded", f->name);
      tsri_diag_hint(c->diag, "fragment_load() or fragment_fill() it first");
    }
  }
}

tsri_check_operand tsri_check_fragment_call(tsri_checker *c, const tsri_ast *call) {
  uint32_t number = call->symbol - TSRI_SYM_FIRST_FRAGMENT_OP, count = 0;
  const fragment_op *op = &ops[number];
  for (uint32_t node = call->a; node; node = tsri_ast_of(c, node)->next) count++;
  if (count < op->least || count > op->most) {
    tsri_diag_error(c->diag, call->pos, "%s() takes %u%s arguments, not %u", op->spelling, op->least,
                    op->most > op->least ? " or 5" : "", count);
    tsri_diag_hint(c->diag, "%s", op->form);
    return tsri_error_operand(call->pos);
  }
  if (c->is_const_only) {
    tsri_diag_error(c->diag, call->pos, "this is not known at compile time");
    return tsri_error_operand(call->pos);
  }
  switch (call->symbol) {
    case TSRI_SYM_FRAGMENT_FILL:
      check_fill(c, call);
      break;
    case TSRI_SYM_FRAGMENT_MULTIPLY_ADD:
      check_multiply(c, call);
      break;
    default:
      check_memory(c, call, call->symbol == TSRI_SYM_FRAGMENT_LOAD, count);
  }
  return (tsri_check_operand){.kind = TSRI_OPERAND_VOID, .pos = call->pos};
}
