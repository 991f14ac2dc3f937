// SPDX-License-Identifier: MIT
// Functions written from expansions (lang/lower/expand.h).
#include <inttypes.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"
#include "lang/emit/function.h"

static bool is_constant_in_place(tsr_dtype dtype) {
  (void)dtype;
  return true;
}

static void put_head(void *emitter, tsri_builder *out, const char *name, const tsri_expand_signature *of,
                     tsri_ir_type result) {
  tsri_builder_add(out, "TSR_FN %s %s(", tsri_c_type(emitter, result), name);
  for (uint32_t i = 0; i < of->arity; i++) {
    tsri_builder_add(out, "%s%s %c", i ? ", " : "", tsri_c_type(emitter, of->operand), "abc"[i]);
  }
  tsri_builder_string(out, ") {\n");
}

static void put_declaration(void *emitter, tsri_builder *out, tsri_ir_type type, uint32_t index) {
  tsri_builder_add(out, "const %s n%" PRIu32 " = ", tsri_c_type(emitter, type), index);
}

static void put_constant(void *emitter, tsri_builder *out, tsr_dtype dtype, uint64_t bits) {
  tsri_c_put_const(emitter, out, dtype, bits);
}

static void put_pattern(void *emitter, tsri_builder *out, const tsri_ir_expr *n, tsr_dtype from) {
  tsr_dtype to = (tsr_dtype)n->type.dtype;
  bool is_loose = n->lane == 1;
  switch (n->kind) {
    case TSRI_EXPR_BITCAST:
      tsri_c_expand(emitter, out, tsri_c_bitcast_pattern(to, from), to == TSR_F32 || to == TSR_F64 ? to : from);
      break;
    case TSRI_EXPR_CONVERT:
      tsri_c_expand(emitter, out, tsri_c_convert_pattern(emitter, (tsr_dtype)n->dtype, from, is_loose), from);
      break;
    default:
      tsri_c_expand(emitter, out, tsri_c_op_pattern(emitter, (tsri_ir_op)n->op, from, is_loose), from);
  }
}

static bool want(void *emitter, const char *name) { return tsri_c_want(emitter, name); }

static void define(void *emitter, const char *name, const tsri_builder *text) { tsri_c_define(emitter, name, text); }

static const tsri_function_dialect dialect = {is_constant_in_place, put_head, put_declaration, put_constant,
                                              put_pattern,          want,     define};

void tsri_c_define_expansion(tsri_c_emitter *e, const char *name) {
  tsri_expand_options options = {.fma = true, .trusts_nan = true, .remainder = true};
  (void)tsri_function_define(&dialect, e, name, options);
}
