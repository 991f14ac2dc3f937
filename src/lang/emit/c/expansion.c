// SPDX-License-Identifier: MIT
// Functions written from expansions (lang/lower/expand.h).
#include <inttypes.h>

#include "lang/emit/c/c.h"
#include "lang/emit/function.h"

static void put_head(void *emitter, tsri_builder *out, const char *name, const tsri_expand_signature *of,
                     tsri_ir_type result) {
  tsri_builder_add(out, "TSR_FN %s %s(", tsri_c_type(emitter, result).text, name);
  for (uint32_t i = 0; i < of->arity; i++) {
    tsri_builder_add(out, "%s%s %c", i ? ", " : "", tsri_c_type(emitter, of->operand).text, "abc"[i]);
  }
  tsri_builder_string(out, ") {\n");
}

static void put_declaration(void *emitter, tsri_builder *out, tsri_ir_type type, uint32_t index) {
  tsri_builder_add(out, "const %s n%" PRIu32 " = ", tsri_c_type(emitter, type).text, index);
}

static void put_pattern(void *emitter, tsri_builder *out, const tsri_ir_expr *x, tsr_dtype from) {
  tsri_c_pattern pattern = tsri_c_pattern_of(emitter, x, from, x->lane == 1);
  tsri_c_expand_pattern(emitter, out, pattern, NULL);
}

void tsri_c_define_expansion(tsri_c_emitter *e, const char *name) {
  static const tsri_function_dialect dialect = {NULL,        put_head,    put_declaration, tsri_c_put_const,
                                                put_pattern, tsri_c_want, tsri_c_define,   NULL};
  tsri_expand_options options = {.fma = true, .trusts_nan = true, .remainder = true};
  (void)tsri_function_define(&dialect, e, name, options);
}
