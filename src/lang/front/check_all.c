// SPDX-License-Identifier: MIT
// Checks every kernel of a file with every type that its type parameters allow.
//
// One checker is used for all of them: the file's names are bound once and its constants evaluated once, so that the
// time grows linearly with the text and not quadratically.
#include <stdio.h>
#include <string.h>

#include "lang/front/check.h"

typedef struct all_check {
  tsri_checker checker;
  uint64_t steps;  // steps of all kernels so far
} all_check;

// Checks one specialisation: type parameter number `turn` is `dtype`, the others have their default or first type.
// False: memory is out.
static bool check_one(all_check *all, uint32_t node, const tsri_lang_kernel_info *info, uint32_t turn,
                      tsr_dtype dtype) {
  tsri_checker *c = &all->checker;
  tsri_lang_arg args[TSRI_LANG_MAX_GENERICS];
  size_t count = 0;
  char what[160] = "", context[240], variant[TSRI_VARIANT_BYTES];
  for (uint32_t i = 0; i < info->generic_count; i++) {
    const tsri_lang_generic *generic = &info->generics[i];
    if (generic->has_default && i != turn) continue;
    args[count++] = (tsri_lang_arg){
        .name = generic->name, .is_type = generic->is_type, .dtype = i == turn ? dtype : generic->dtype, .value = 1};
    size_t used = strlen(what);
    if (generic->is_type) {
      snprintf(what + used, sizeof what - used, " %s=%s", generic->name, tsr_dtype_name(args[count - 1].dtype));
    }
  }
  snprintf(context, sizeof context, "in kernel %s with%s:", info->name, what);
  tsri_kernel head = {0};
  c->diag->context = what[0] ? context : NULL;
  tsri_checker_reset(c);
  bool ok = tsri_check_kernel(c, node, info, args, count, &head, variant);
  c->diag->context = NULL;
  all->steps += 16u + 4u * info->generic_count + c->steps + c->exprs.count + c->stmts.count;
  return ok;
}

// Whether another specialisation may be checked. Reports an error if the limit of steps is reached.
static bool may_go_on(all_check *all, tsri_ir_pos pos) {
  tsri_diag *diag = all->checker.diag;
  if (diag->is_full) return false;
  if (all->steps <= TSRI_LANG_MAX_CHECK) return true;
  tsri_diag_error(diag, pos,
                  "from here on nothing was checked: the kernels before have more than %u operations with all types",
                  TSRI_LANG_MAX_CHECK);
  tsri_diag_hint(diag, "split the file, or say which types a parameter may have: T: f32 | f16");
  return false;
}

// Checks the kernel with each type of each parameter, until an error is found. False: memory is out, or the limit of
// steps is reached.
static bool check_types(all_check *all, uint32_t node, const tsri_lang_kernel_info *info) {
  const tsri_diag *diag = all->checker.diag;
  uint32_t errors = diag->error_count;
  bool has_types = false;
  for (uint32_t i = 0; i < info->generic_count; i++) {
    const tsri_lang_generic *generic = &info->generics[i];
    for (uint32_t dtype = 0; generic->is_type && dtype < TSR_DTYPE_COUNT; dtype++) {
      if (!(generic->allowed & (1u << dtype))) continue;
      has_types = true;
      if (!may_go_on(all, info->pos) || !check_one(all, node, info, i, (tsr_dtype)dtype)) return false;
      if (diag->error_count != errors) return true;
    }
  }
  return has_types || (may_go_on(all, info->pos) && check_one(all, node, info, UINT32_MAX, TSR_F32));
}

bool tsri_check_all(const tsri_module *module, tsri_diag *diag) {
  all_check all = {.steps = 0};
  bool goes_on = tsri_checker_init(&all.checker, module, diag);
  bool ok = goes_on;
  all.checker.is_trial = true;
  const tsri_lang_kernel_info *info = module->kernels;
  for (uint32_t node = module->items; node && goes_on; node = tsri_ast_at(module, node)->next) {
    if (tsri_ast_at(module, node)->kind == TSRI_AST_KERNEL) goes_on = check_types(&all, node, info++);
  }
  ok = ok && !tsri_checker_has_failed(&all.checker);
  tsri_checker_deinit(&all.checker);
  return ok;
}

tsr_status tsri_lang_check(const tsri_module *module, char **out_log) {
  if (out_log) *out_log = NULL;
  tsri_diag diag = {.source = &module->source};
  bool ok = tsri_check_all(module, &diag);
  if (!module->kernel_count) {
    tsri_diag_warning(&diag, 0, "there is no kernel in it");
    tsri_diag_hint(&diag, "kernel name(in f32 x[], out f32 y[], u32 n) { … }");
  }
  return tsri_diag_finish(&diag, ok && !diag.text.has_failed, out_log);
}
