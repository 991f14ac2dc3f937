// SPDX-License-Identifier: MIT
// Functions written from expansions (lang/lower/expand.h), for dialects that are text. Every expression of the expansion except leaves becomes a named value,
// in the same order. tsri_function_dialect has what differs between dialects.
#ifndef TSRI_LANG_EMIT_FUNCTION_H
#define TSRI_LANG_EMIT_FUNCTION_H

#include "core/builder.h"
#include "lang/lower/expand.h"

// `emitter` is the dialect's own state.
typedef struct tsri_function_dialect {
  // Whether a constant of this type is written in place; otherwise it becomes a named value. NULL: all are written in place.
  bool (*is_constant_in_place)(tsr_dtype dtype);
  // "fn name(a: f32, b: f32) -> f32 {", with the line's end.
  void (*put_head)(void *emitter, tsri_builder *out, const char *name, const tsri_expand_signature *of,
                   tsri_ir_type result);
  // "let n3 = "
  void (*put_declaration)(void *emitter, tsri_builder *out, tsri_ir_type type, uint32_t index);
  void (*put_constant)(void *emitter, tsri_builder *out, tsr_dtype dtype, uint64_t bits);
  // Writes the expression with $a, $b, $c for its operands, and requests the helpers that it names.
  void (*put_pattern)(void *emitter, tsri_builder *out, const tsri_ir_expr *expr, tsr_dtype operand);
  // True if a function of this name is requested for the first time.
  bool (*want)(void *emitter, const char *name);
  // Adds a whole function.
  void (*define)(void *emitter, const char *name, const tsri_builder *text);
  // "saturate($a)": limits the operand to 0 … 1. Replaces a relaxed MIN of a relaxed MAX of f32. NULL: the dialect has no such function.
  const char *saturate;
} tsri_function_dialect;

// Writes the function of this name and those it calls, unless they exist. False: no expansion has this name.
bool tsri_function_define(const tsri_function_dialect *dialect, void *emitter, const char *name,
                          tsri_expand_options options);

#endif
