// SPDX-License-Identifier: MIT
// Makes one kernel from a module by fixing its compile-time parameters.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/suggest.h"
#include "lang/front/check.h"
#include "lang/front/foreign.h"
#include "lang/lower/others.h"

// --- Compile-time parameters ----------------------------------------------------------------------------------------

static const tsri_lang_arg *find_arg(const tsri_lang_arg *args, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(args[i].name, name) == 0) return &args[i];
  }
  return NULL;
}

static tsr_status wrong_type(const tsri_lang_kernel_info *info, const tsri_lang_generic *generic,
                             const tsri_lang_arg *arg) {
  char list[128] = "", number[24];
  for (uint32_t i = 0; i < TSR_DTYPE_COUNT; i++) {
    size_t used = strlen(list);
    if (generic->allowed & (1u << i)) snprintf(list + used, sizeof list - used, " %s", tsr_dtype_name((tsr_dtype)i));
  }
  snprintf(number, sizeof number, "%lld", (long long)arg->value);
  const char *word = arg->unread ? arg->unread : arg->is_type ? tsr_dtype_name(arg->dtype) : number;
  const tsri_foreign *foreign = tsri_foreign_find(word, strlen(word));
  bool is_foreign = foreign && foreign->kind == TSRI_FOREIGN_TYPE;
  return TSRI_FAIL(
      TSR_ERR_INVALID_ARGUMENT, "kernel %s: its compile-time parameter %s%s cannot be %s%s%s%s; it may be:%s",
      info->name, generic->name, arg->is_type || arg->unread ? "" : " is a type and", word,
      is_foreign ? " (here it is called " : "", is_foreign ? foreign->ours : "", is_foreign ? ")" : "", list);
}

static tsr_status check_arg(const tsri_lang_kernel_info *info, const tsri_lang_generic *generic,
                            const tsri_lang_arg *arg) {
  if (!arg && !generic->has_default) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s: its compile-time parameter %s is not given (%s)", info->name,
                     generic->name, generic->is_type ? "a type, as in T=f32" : "a number");
  }
  if (!arg) return TSR_OK;
  if (!generic->is_type && (arg->is_type || arg->unread)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s: its compile-time parameter %s is a number, not %s",
                     info->name, generic->name, arg->unread ? arg->unread : tsr_dtype_name(arg->dtype));
  }
  if (!generic->is_type) return TSR_OK;
  bool is_type = arg->is_type && !arg->unread && (unsigned)arg->dtype < TSR_DTYPE_COUNT;
  return is_type && (generic->allowed & (1u << arg->dtype)) ? TSR_OK : wrong_type(info, generic, arg);
}

static tsr_status unknown_arg(const tsri_lang_kernel_info *info, const char *name) {
  char list[256] = "";
  for (uint32_t i = 0; i < info->generic_count; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, " %s", info->generics[i].name);
  }
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s has no compile-time parameter %s; it has:%s", info->name, name,
                   list[0] ? list : " none");
}

static tsr_status check_args(const tsri_lang_kernel_info *info, const tsri_lang_arg *args, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bool is_known = false;
    for (uint32_t j = 0; j < info->generic_count && !is_known; j++) {
      is_known = strcmp(info->generics[j].name, args[i].name) == 0;
    }
    if (!is_known) return unknown_arg(info, args[i].name);
  }
  for (uint32_t j = 0; j < info->generic_count; j++) {
    tsr_status status = check_arg(info, &info->generics[j], find_arg(args, count, info->generics[j].name));
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

enum { MOST_RESIDENT = 32 };

static void set_group_size(tsri_checker *c, const tsri_ast *generic, int64_t value) {
  static const uint32_t most[3] = {TSRI_LANG_MAX_GROUP, TSRI_LANG_MAX_GROUP, 64};
  uint32_t axis = generic->symbol - TSRI_SYM_WG;
  if (value < 1 || value > (int64_t)most[axis]) {
    tsri_diag_error(c->diag, generic->pos, "%.*s is %lld: a group has 1 to %u items along that axis",
                    TSRI_NAME(c, generic->symbol), (long long)value, most[axis]);
    return;
  }
  c->group_size[axis] = (uint32_t)value;
  if (c->group_size[0] * c->group_size[1] * c->group_size[2] > TSRI_LANG_MAX_GROUP) {
    tsri_diag_error(c->diag, generic->pos, "a group of %ux%ux%u items is too large: %d at most", c->group_size[0],
                    c->group_size[1], c->group_size[2], TSRI_LANG_MAX_GROUP);
    tsri_diag_hint(c->diag, "256 run on every device");
  }
}

static void set_resident_groups(tsri_checker *c, const tsri_ast *generic, int64_t value) {
  if (value < 1 || value > MOST_RESIDENT) {
    tsri_diag_error(c->diag, generic->pos, "RESIDENT is %lld: 1 to %d groups", (long long)value, MOST_RESIDENT);
    return;
  }
  c->resident_groups = (uint32_t)value;
}

static void bind_generics(tsri_checker *c, const tsri_ast *kernel, const tsri_lang_kernel_info *info,
                          const tsri_lang_arg *args, size_t arg_count, char *variant) {
  const tsri_lang_generic *generic = info->generics;
  // The work-group's size along y and z is 1, and along x the default, unless a parameter sets it.
  for (uint32_t node = kernel->a; node; node = tsri_ast_of(c, node)->next, generic++) {
    const tsri_ast *ast = tsri_ast_of(c, node);
    const tsri_lang_arg *arg = find_arg(args, arg_count, generic->name);
    size_t used = strlen(variant);
    const char *before = node == kernel->a ? "<" : ", ";
    if (generic->is_type) {
      tsr_dtype dtype = arg ? arg->dtype : generic->dtype;
      tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_TYPE, ast->symbol, ast->pos))->storage = (uint8_t)dtype;
      snprintf(variant + used, TSRI_VARIANT_BYTES - used, "%s%s=%s", before, generic->name, tsr_dtype_name(dtype));
      continue;
    }
    int64_t value = arg ? arg->value : 0;
    if (!arg && ast->a) tsri_check_constant(c, ast->a, "a default", &value);
    tsri_check_operand bound = {.kind = TSRI_OPERAND_INT, .pos = ast->pos, .integer = value};
    if (ast->c) bound = tsri_const_value(c, TSR_BOOL, value != 0, ast->pos);
    tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_CONST, ast->symbol, ast->pos))->value = bound;
    snprintf(variant + used, TSRI_VARIANT_BYTES - used, "%s%s=%lld", before, generic->name, (long long)value);
    if (tsri_sym_in(ast->symbol, TSRI_SYM_WG, TSRI_SYM_WG_Z)) set_group_size(c, ast, value);
    if (ast->symbol == TSRI_SYM_RESIDENT) set_resident_groups(c, ast, value);
  }
  size_t used = strlen(variant);
  if (kernel->a) snprintf(variant + used, TSRI_VARIANT_BYTES - used, ">");
}

// --- Run-time parameters --------------------------------------------------------------------------------------------

static void bind_buffer(tsri_checker *c, const tsri_ast *ast, tsr_dtype dtype) {
  uint32_t object = tsri_item_array_add(&c->arrays[TSRI_SPACE_BUFFER]);
  uint8_t access = ast->op ? (uint8_t)(ast->op - 1) : TSRI_ACCESS_IN;
  *tsri_array_at(c, TSRI_SPACE_BUFFER, object) =
      (tsri_ir_array){.name = tsri_names_at(&c->module->names, ast->symbol)->text,
                      .storage = (uint8_t)dtype,
                      .declared = (uint8_t)dtype,
                      .access = access,
                      .pos = ast->pos};
  tsri_name_binding *binding = tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_ARRAY, ast->symbol, ast->pos));
  binding->space = TSRI_SPACE_BUFFER;
  binding->access = access;
  binding->object = object;
  binding->dim_count = 1;
}

static void bind_scalar(tsri_checker *c, const tsri_ast *ast, tsr_dtype dtype, uint32_t *params_bytes) {
  uint32_t object = tsri_item_array_add(&c->params);
  tsri_ir_type type = {(uint8_t)tsri_ir_compute_dtype(dtype), 1};
  uint32_t bytes = tsr_dtype_bytes((tsr_dtype)type.dtype) == 8 ? 8 : 4;
  *params_bytes = (*params_bytes + bytes - 1) / bytes * bytes;
  *((tsri_ir_param *)c->params.items + object) =
      (tsri_ir_param){.name = tsri_names_at(&c->module->names, ast->symbol)->text,
                      .declared = (uint8_t)dtype,
                      .type = type,
                      .offset = *params_bytes,
                      .pos = ast->pos};
  *params_bytes += bytes;
  tsri_name_binding *binding = tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_SCALAR, ast->symbol, ast->pos));
  binding->object = object;
  binding->type = type;
}

static void bind_params(tsri_checker *c, uint32_t first, uint32_t *params_bytes) {
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next) {
    const tsri_ast *ast = tsri_ast_of(c, node);
    tsr_dtype dtype;
    uint8_t lanes;
    if (!tsri_check_type(c, ast->a, &dtype, &lanes)) continue;
    if (ast->flags & TSRI_AST_IS_ARRAY) {
      bind_buffer(c, ast, dtype);
    } else {
      bind_scalar(c, ast, dtype, params_bytes);
    }
  }
}

// Binds hooks, which are called like functions, and the parameters of their fillings.
static void bind_hooks(tsri_checker *c, const tsri_ast *kernel, uint32_t *params_bytes) {
  for (uint32_t hook = kernel->d; hook; hook = tsri_ast_of(c, hook)->next) {
    const tsri_ast *ast = tsri_ast_of(c, hook);
    if (ast->a) bind_params(c, tsri_ast_of(c, ast->a)->b, params_bytes);
    tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_FUNCTION, ast->symbol, ast->pos))->node = hook;
  }
  c->kernel_bindings = c->bindings.count;
}

// --- The finished kernel --------------------------------------------------------------------------------------------

static uint32_t dtype_needs(uint32_t dtype, bool in_buffer) {
  switch (dtype) {
    case TSR_F64:
      return TSRI_NEEDS_F64;
    case TSR_I64:
    case TSR_U64:
      return TSRI_NEEDS_I64;
    case TSR_F16:
      return TSRI_NEEDS_F16;
    case TSR_BF16:
      return TSRI_NEEDS_BF16;
    case TSR_I16:
    case TSR_U16:
      return TSRI_NEEDS_INT16;
    case TSR_BOOL:
      return in_buffer ? TSRI_NEEDS_INT8 : 0;
    case TSR_I8:
    case TSR_U8:
    case TSR_F8_E4M3:
    case TSR_F8_E5M2:
      return TSRI_NEEDS_INT8;
    default:
      return 0;
  }
}

static uint32_t find_needs(const tsri_checker *c) {
  uint32_t needs = 0;
  for (uint32_t space = 0; space < 3; space++) {
    for (uint32_t i = 1; i < c->arrays[space].count; i++) {
      needs |= dtype_needs(tsri_array_at(c, space, i)->storage, space == TSRI_SPACE_BUFFER);
    }
  }
  for (uint32_t i = 1; i < c->params.count; i++)
    needs |= dtype_needs(((tsri_ir_param *)c->params.items)[i].type.dtype, false);
  for (uint32_t i = 1; i < c->exprs.count; i++) {
    const tsri_ir_expr *expr = tsri_expr_at(c, i);
    if (expr->kind == TSRI_EXPR_CONST)
      continue;  // a constant of this type needs nothing by itself; the expression
                 // that uses it does
    needs |= dtype_needs(expr->type.dtype, false);
    if (expr->kind == TSRI_EXPR_ID && expr->op >= TSRI_ID_SUBGROUP_SIZE) needs |= TSRI_NEEDS_SUBGROUPS;
  }
  for (uint32_t i = 1; i < c->stmts.count; i++) {
    const tsri_ir_stmt *stmt = tsri_stmt_at(c, i);
    if (stmt->kind == TSRI_STMT_BARRIER) needs |= TSRI_NEEDS_BARRIER;
    if (stmt->kind == TSRI_STMT_ATOMIC) needs |= TSRI_NEEDS_ATOMICS;
    if (stmt->kind == TSRI_STMT_ASSIGN) needs |= dtype_needs(tsri_var_at(c, stmt->var)->type.dtype, false);
    if (stmt->kind >= TSRI_STMT_FRAGMENT_FIRST) needs |= TSRI_NEEDS_SUBGROUPS;
    if (stmt->kind != TSRI_STMT_COLLECTIVE) continue;
    bool is_group = tsri_ir_collective_infos[stmt->op].scope == TSRI_SCOPE_GROUP;
    needs |= TSRI_NEEDS_BARRIER | (is_group ? TSRI_NEEDS_GROUP_OPS : TSRI_NEEDS_SUBGROUPS);
  }
  return needs;
}

static uint32_t find_shared_bytes(tsri_checker *c) {
  uint64_t total = 0;
  tsri_ir_pos pos = 0;
  for (uint32_t i = 1; i < c->arrays[TSRI_SPACE_SHARED].count; i++) {
    const tsri_ir_array *array = tsri_array_at(c, TSRI_SPACE_SHARED, i);
    total += ((uint64_t)array->count * tsr_dtype_bytes((tsr_dtype)array->storage) + 15) / 16 * 16;
    pos = array->pos;
  }
  if (total > TSRI_LANG_MAX_SHARED) {
    tsri_diag_error(c->diag, pos, "the shared arrays take %llu bytes: %u at most", (unsigned long long)total,
                    TSRI_LANG_MAX_SHARED);
    return 0;
  }
  if (total > 16384) {
    tsri_diag_warning(c->diag, pos, "the shared arrays take %llu bytes", (unsigned long long)total);
    tsri_diag_hint(c->diag, "every device has 16384; WebGPU's default is no more");
  }
  return (uint32_t)total;
}

// Allocates pieces from one block of memory. If `base` is NULL, it only measures the size.
typedef struct cutter {
  char *base;
  size_t used;
} cutter;

static void *cut(cutter *k, const void *from, size_t bytes) {
  void *place = k->base ? k->base + k->used : NULL;
  if (place && from && bytes) memcpy(place, from, bytes);
  k->used += (bytes + 7) / 8 * 8;
  return place;
}

static const char *cut_text(cutter *k, const char *text) {
  if (text == tsri_temp_name || text == tsri_flag_name) return text;
  size_t bytes = strlen(text) + 1;
  char *place = k->base ? k->base + k->used : NULL;
  if (place) memcpy(place, text, bytes);
  k->used += bytes;
  return place;
}

// Copies an item array without its item 0: arrays and params count from 0 in the kernel.
static void *cut_pool(cutter *k, const tsri_item_array *pool) {
  return cut(k, (const char *)pool->items + pool->item_bytes, (size_t)(pool->count - 1) * pool->item_bytes);
}

static void cut_names(cutter *k, const tsri_checker *c, tsri_kernel *kernel) {
  tsri_ir_array *lists[3] = {NULL, NULL, NULL};
  if (k->base) {
    lists[0] = (tsri_ir_array *)kernel->buffers;
    lists[1] = (tsri_ir_array *)kernel->shared;
    lists[2] = (tsri_ir_array *)kernel->locals;
  }
  for (uint32_t space = 0; space < 3; space++) {
    for (uint32_t i = 1; i < c->arrays[space].count; i++) {
      const char *name = cut_text(k, tsri_array_at(c, space, i)->name);
      if (k->base) lists[space][i - 1].name = name;
    }
  }
  for (uint32_t i = 1; i < c->params.count; i++) {
    const char *name = cut_text(k, ((tsri_ir_param *)c->params.items)[i].name);
    if (k->base) ((tsri_ir_param *)kernel->params)[i - 1].name = name;
  }
  for (uint32_t i = 1; i < c->fragments.count; i++) {
    const char *name = cut_text(k, ((tsri_ir_fragment *)c->fragments.items)[i].name);
    if (k->base) ((tsri_ir_fragment *)kernel->fragments)[i - 1].name = name;
  }
  for (uint32_t i = 1; i < c->vars.count; i++) {
    const char *name = cut_text(k, tsri_var_at(c, i)->name);
    if (k->base) ((tsri_ir_var *)kernel->vars)[i].name = name;
  }
  if (k->base) ((tsri_ir_var *)kernel->vars)[0].name = tsri_temp_name;
}

// Copies the kernel into the block at `base`, or measures the size if that is NULL.
static size_t lay_out(char *base, const tsri_checker *c, const tsri_kernel *head, uint32_t symbol) {
  cutter k = {.base = base};
  tsri_kernel *kernel = cut(&k, head, sizeof *head), measured;
  if (!kernel) kernel = &measured;
  kernel->buffers = cut_pool(&k, &c->arrays[TSRI_SPACE_BUFFER]);
  kernel->shared = cut_pool(&k, &c->arrays[TSRI_SPACE_SHARED]);
  kernel->locals = cut_pool(&k, &c->arrays[TSRI_SPACE_LOCAL]);
  kernel->params = cut_pool(&k, &c->params);
  kernel->fragments = cut_pool(&k, &c->fragments);
  kernel->vars = cut(&k, c->vars.items, (size_t)c->vars.count * sizeof(tsri_ir_var));
  kernel->exprs = cut(&k, c->exprs.items, (size_t)c->exprs.count * sizeof(tsri_ir_expr));
  kernel->stmts = cut(&k, c->stmts.items, (size_t)c->stmts.count * sizeof(tsri_ir_stmt));
  kernel->name = cut_text(&k, tsri_names_at(&c->module->names, symbol)->text);
  kernel->variant = cut_text(&k, head->variant);
  kernel->file = cut_text(&k, head->file);
  cut_names(&k, c, kernel);
  return k.used;
}

// Renumbers references, since arrays and params count from 0 in the kernel.
static void renumber(tsri_kernel *kernel) {
  tsri_ir_expr *exprs = (tsri_ir_expr *)kernel->exprs;
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    if (exprs[i].kind == TSRI_EXPR_LOAD || exprs[i].kind == TSRI_EXPR_SCALAR) exprs[i].object--;
  }
  tsri_ir_stmt *stmts = (tsri_ir_stmt *)kernel->stmts;
  for (uint32_t i = 1; i < kernel->stmt_count; i++) {
    uint8_t kind = stmts[i].kind;
    bool is_fragment = kind == TSRI_STMT_FRAGMENT_LOAD || kind == TSRI_STMT_FRAGMENT_STORE;
    if (kind == TSRI_STMT_STORE || kind == TSRI_STMT_CLEAR || kind == TSRI_STMT_ATOMIC || is_fragment)
      stmts[i].object--;
    for (int k = 0; k < 3; k++) {
      if (stmts[i].fragments[k]) stmts[i].fragments[k]--;
    }
  }
}

static tsri_kernel *finish_kernel(const tsri_checker *c, tsri_kernel *head, uint32_t symbol) {
  head->buffer_count = c->arrays[TSRI_SPACE_BUFFER].count - 1;
  head->shared_count = c->arrays[TSRI_SPACE_SHARED].count - 1;
  head->local_count = c->arrays[TSRI_SPACE_LOCAL].count - 1;
  head->param_count = c->params.count - 1;
  head->fragment_count = c->fragments.count - 1;
  head->var_count = c->vars.count;
  head->expr_count = c->exprs.count;
  head->stmt_count = c->stmts.count;
  head->needs = find_needs(c);
  for (int axis = 0; axis < 3; axis++) head->group_size[axis] = c->group_size[axis];
  head->resident_groups = c->resident_groups;
  char *block = tsri_malloc(lay_out(NULL, c, head, symbol));
  if (!block) return NULL;
  lay_out(block, c, head, symbol);
  tsri_kernel *kernel = (tsri_kernel *)block;
  renumber(kernel);
  return kernel;
}

void tsri_kernel_release(tsri_kernel *kernel) {
  if (kernel) tsri_kernel_release(kernel->base);
  tsri_free(kernel);
}

// --- The call -------------------------------------------------------------------------------------------------------

static uint32_t kernel_node(const tsri_module *module, const tsri_lang_kernel_info *info) {
  const tsri_lang_kernel_info *candidate = module->kernels;
  for (uint32_t node = module->items; node; node = tsri_ast_at(module, node)->next) {
    if (tsri_ast_at(module, node)->kind == TSRI_AST_KERNEL && candidate++ == info) return node;
  }
  return 0;
}

bool tsri_check_kernel(tsri_checker *c, uint32_t node, const tsri_lang_kernel_info *info, const tsri_lang_arg *args,
                       size_t arg_count, tsri_kernel *head, char out_variant[TSRI_VARIANT_BYTES]) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  tsri_frame frame = {.function = node, .first_binding = c->bindings.count};
  tsri_stmt_list body = {0, 0};
  uint32_t scope = tsri_scope_open(c), errors = c->diag->error_count;
  c->frame = &frame;
  c->block = &body;
  snprintf(out_variant, TSRI_VARIANT_BYTES, "%s", info->name);
  c->is_const_only = true;
  bind_generics(c, ast, info, args, arg_count, out_variant);
  c->is_const_only = false;
  head->params_bytes = 0;
  bind_params(c, ast->b, &head->params_bytes);
  bind_hooks(c, ast, &head->params_bytes);
  if (c->diag->error_count == errors) tsri_check_body(c, ast->c);
  tsri_check_is_over(c);
  tsri_scope_close(c, scope);
  head->shared_bytes = find_shared_bytes(c);
  head->body = body.first;
  bool ok = !tsri_checker_has_failed(c);
  bool is_whole = c->diag->error_count == errors && !(ast->flags & TSRI_AST_IS_BROKEN);
  if (ok && is_whole) tsri_check_fragments_given(c);
  if (ok && is_whole) ok = tsri_check_uniform(c, body.first);
  c->frame = NULL;
  c->block = NULL;
  return ok;
}

// Checks into `c`, and makes the kernel if there were no errors. False: memory is out.
static bool build(tsri_checker *c, const tsri_lang_kernel_info *info, const tsri_lang_arg *args, size_t arg_count,
                  tsri_kernel *head, tsri_kernel **out_kernel) {
  uint32_t node = kernel_node(c->module, info);
  char variant[TSRI_VARIANT_BYTES];
  if (!tsri_check_kernel(c, node, info, args, arg_count, head, variant)) return false;
  if (c->diag->error_count) return true;
  head->variant = variant;
  *out_kernel = finish_kernel(c, head, tsri_ast_of(c, node)->symbol);
  return *out_kernel != NULL;
}

static tsr_status find_kernel(const tsri_module *module, const char *name, const tsri_lang_kernel_info **out_info) {
  *out_info = name ? tsri_module_find(module, name) : module->kernel_count == 1 ? module->kernels : NULL;
  if (*out_info) return TSR_OK;
  const char *names[64];
  char list[256] = "";
  uint32_t count = module->kernel_count < 64 ? module->kernel_count : 64;
  for (uint32_t i = 0; i < count; i++) {
    size_t used = strlen(list);
    names[i] = module->kernels[i].name;
    snprintf(list + used, sizeof list - used, " %s", names[i]);
  }
  if (!count) return TSRI_FAIL(TSR_ERR_NOT_FOUND, "%s: there is no kernel in it", module->source.file);
  if (!name) return TSRI_FAIL(TSR_ERR_NOT_FOUND, "%s: say which kernel:%s", module->source.file, list);
  const char *nearest = tsri_text_nearest(name, names, count);
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "%s: there is no kernel %s%s%s%s; it has:%s", module->source.file, name,
                   nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "", list);
}

tsr_status tsri_lang_specialise(const tsri_module *module, const char *kernel_name, const tsri_lang_arg *args,
                                size_t arg_count, const tsri_lang_options *options, char **out_log,
                                tsri_kernel **out_kernel) {
  *out_kernel = NULL;
  if (out_log) *out_log = NULL;
  const tsri_lang_kernel_info *info = NULL;
  tsr_status status = find_kernel(module, kernel_name, &info);
  if (status == TSR_OK) status = check_args(info, args, arg_count);
  if (status != TSR_OK) return status;
  tsri_diag diag = {.source = &module->source};
  tsri_checker checker;
  tsri_kernel head = {.is_checked = options && options->checked, .file = module->source.file};
  bool ok = tsri_checker_init(&checker, module, &diag);
  checker.is_checked = head.is_checked;
  ok = ok && build(&checker, info, args, arg_count, &head, out_kernel);
  tsri_checker_deinit(&checker);
  ok = ok && !diag.text.has_failed;
  if (ok && *out_kernel) ok = tsri_lower_others(out_kernel) == TSR_OK;
  if (!ok) {
    tsri_kernel_release(*out_kernel);
    *out_kernel = NULL;
  }
  return tsri_diag_finish(&diag, ok, out_log);
}

// --- Parameters as text ---------------------------------------------------------------------------------------------

tsr_status tsri_lang_arg_parse(const char *text, char *storage, size_t storage_bytes, tsri_lang_arg *out_arg) {
  const char *equals = strchr(text, '=');
  size_t name_bytes = equals ? (size_t)(equals - text) : 0;
  if (!equals || name_bytes == 0 || name_bytes + 1 > storage_bytes || !equals[1]) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "\"%s\" is no compile-time parameter: write T=f32 or WG=128", text);
  }
  memcpy(storage, text, name_bytes);
  storage[name_bytes] = 0;
  *out_arg = (tsri_lang_arg){.name = storage};
  const char *value = equals + 1;
  if ((*value >= '0' && *value <= '9') || *value == '-') {
    char *end;
    out_arg->value = strtoll(value, &end, 0);
    if (*end) out_arg->unread = value;
    return TSR_OK;
  }
  if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
    out_arg->value = value[0] == 't';
    return TSR_OK;
  }
  out_arg->is_type = true;
  for (uint32_t i = 0; i < TSR_DTYPE_COUNT; i++) {
    if (strcmp(value, tsr_dtype_name((tsr_dtype)i)) != 0) continue;
    out_arg->dtype = (tsr_dtype)i;
    return TSR_OK;
  }
  out_arg->unread = value;
  return TSR_OK;
}
