// SPDX-License-Identifier: MIT
// Any bytes as a file of kernels: read, check, specialise with several types, print. Nothing may crash or leak, and
// what comes out must keep the promises of ir.h.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "lang/lang.h"

// Operands come first; a tree is used once.
static void check_exprs(const tsri_kernel *kernel) {
  for (uint32_t i = 1; i < kernel->expr_count; i++) {
    const tsri_ir_expr *expr = &kernel->exprs[i];
    if (expr->kind == TSRI_EXPR_OP) {
      for (uint32_t j = 0; j < tsri_ir_op_infos[expr->op].arity; j++) {
        if (expr->args[j] == 0 || expr->args[j] >= i) abort();
      }
    }
    if (expr->kind == TSRI_EXPR_VAR && (expr->object == 0 || expr->object >= kernel->var_count)) abort();
    if (expr->kind == TSRI_EXPR_SCALAR && expr->object >= kernel->param_count) abort();
  }
}

static void check_block(const tsri_kernel *kernel, uint32_t first, uint32_t depth, uint32_t *seen) {
  if (depth > 600) abort();
  for (uint32_t id = first; id; id = kernel->stmts[id].next) {
    const tsri_ir_stmt *stmt = &kernel->stmts[id];
    if (id >= kernel->stmt_count || ++*seen > kernel->stmt_count) abort();
    if (stmt->kind == TSRI_STMT_ASSIGN) {
      if (stmt->var == 0 || stmt->var >= kernel->var_count || stmt->value == 0) abort();
      tsri_ir_type a = kernel->vars[stmt->var].type, b = kernel->exprs[stmt->value].type;
      if (a.dtype != b.dtype || a.lanes != b.lanes) abort();
    }
    if ((stmt->kind == TSRI_STMT_BARRIER || stmt->kind == TSRI_STMT_COLLECTIVE) && !stmt->is_uniform) abort();
    check_block(kernel, stmt->body, depth + 1, seen);
    check_block(kernel, stmt->other, depth + 1, seen);
  }
}

static void specialise(const tsri_module *module, const tsri_lang_kernel_info *info, tsr_dtype dtype, int64_t size) {
  tsri_lang_arg args[8];
  size_t count = 0;
  for (uint32_t i = 0; i < info->generic_count && count < 8; i++) {
    const tsri_lang_generic *generic = &info->generics[i];
    if (generic->has_default && !generic->is_type) continue;
    args[count++] = (tsri_lang_arg){.name = generic->name, .is_type = generic->is_type, .dtype = dtype, .value = size};
  }
  tsri_kernel *kernel = NULL;
  char *log = NULL;
  tsr_status status =
      tsri_lang_specialise(module, info->name, args, count, &(tsri_lang_options){.checked = size & 1}, &log, &kernel);
  if ((status == TSR_OK) != (kernel != NULL)) abort();
  if (kernel) {
    uint32_t seen = 0;
    check_exprs(kernel);
    check_block(kernel, kernel->body, 0, &seen);
    tsri_free(tsri_ir_print(kernel));
  }
  tsri_kernel_release(kernel);
  tsri_free(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  tsri_module *module = NULL;
  char *log = NULL;
  tsr_status status = tsri_lang_parse("fuzz.tk", (const char *)data, bytes, &log, &module);
  if ((status == TSR_OK) != (module != NULL)) abort();
  tsri_free(log);
  if (!module) return 0;
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_U8, TSR_I64, TSR_BOOL};
  for (uint32_t i = 0; i < tsri_module_kernel_count(module) && i < 4; i++) {
    for (size_t j = 0; j < sizeof dtypes / sizeof *dtypes; j++) {
      specialise(module, tsri_module_kernel(module, i), dtypes[j], (int64_t)j + 1);
    }
  }
  tsri_module_release(module);
  return 0;
}
