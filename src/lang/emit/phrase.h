// SPDX-License-Identifier: MIT
// Text with names and expressions of a kernel in it, in the manner of printf: tsri_phrase_put(…, "if (%b) {\n", condition).
//
// %s  text: const char *            %v  a variable's name: uint32_t
// %u  a number: uint32_t            %a  an array's name: tsri_ir_space, uint32_t
// %c  a character: int              %e  an expression, in brackets if it needs them: uint32_t
// %i  the current indentation       %b  an expression without outer brackets: uint32_t
#ifndef TSRI_LANG_EMIT_PHRASE_H
#define TSRI_LANG_EMIT_PHRASE_H

#include <stdarg.h>

#include "core/builder.h"
#include "lang/ir/ir.h"

// How a dialect writes these parts; `emitter` is its own state.
typedef struct tsri_phrase_dialect {
  void (*put_var)(void *emitter, tsri_builder *out, uint32_t var);
  void (*put_array)(void *emitter, tsri_builder *out, tsri_ir_space space, uint32_t object);
  void (*put_expr)(void *emitter, tsri_builder *out, uint32_t expr, bool is_bare);
  int (*indentation)(const void *emitter);
} tsri_phrase_dialect;

// Indents by `steps` steps of two blanks, at most 40.
void tsri_phrase_indent(tsri_builder *out, int steps);

void tsri_phrase_put(const tsri_phrase_dialect *dialect, void *emitter, tsri_builder *out, const char *format,
                     va_list args);

#endif
