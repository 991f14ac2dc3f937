// SPDX-License-Identifier: MIT
#include "lang/emit/phrase.h"

#include <inttypes.h>
#include <string.h>

typedef struct phrase_writer {
  const tsri_phrase_dialect *dialect;
  void *emitter;
  tsri_builder *out;
} phrase_writer;

void tsri_phrase_indent(tsri_builder *out, int steps) {
  enum { MOST_STEPS = 40 };
  tsri_builder_repeat(out, ' ', 2 * (size_t)(steps < MOST_STEPS ? steps : MOST_STEPS));
}

// Writes a part that is a name or an expression of the kernel; `number` is its index.
static void put_part(const phrase_writer *w, char letter, tsri_ir_space space, uint32_t number) {
  if (letter == 'v') w->dialect->put_var(w->emitter, w->out, number);
  else if (letter == 'a') w->dialect->put_array(w->emitter, w->out, space, number);
  else if (letter == 'u') tsri_builder_add(w->out, "%" PRIu32, number);
  else w->dialect->put_expr(w->emitter, w->out, number, letter == 'b');
}

void tsri_phrase_put(const tsri_phrase_dialect *dialect, void *emitter, tsri_builder *out, const char *format,
                     va_list args) {
  const phrase_writer w = {dialect, emitter, out};
  for (const char *p = format; *p; p++) {
    size_t plain = strcspn(p, "%");
    tsri_builder_put(out, p, plain);
    p += plain;
    if (!*p) break;
    char letter = *++p;
    tsri_ir_space space = letter == 'a' ? (tsri_ir_space)va_arg(args, int) : TSRI_SPACE_BUFFER;
    if (letter == 'i') tsri_phrase_indent(out, dialect->indentation(emitter));
    else if (letter == 's') tsri_builder_string(out, va_arg(args, const char *));
    else if (letter == 'c') tsri_builder_add(out, "%c", va_arg(args, int));
    else put_part(&w, letter, space, va_arg(args, uint32_t));
  }
}
