// SPDX-License-Identifier: MIT
// Diagnostics as text: place, message, the source line, a caret, notes and hints.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lang/front/front.h"

#define MESSAGE_BYTES 512
#define WINDOW_BYTES  120  // bytes of a long line shown before and after the caret

static bool is_continuation(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

// The length of the UTF-8 character at `at`, or 0 if the bytes are not a valid character.
static size_t character_bytes(const char *text, size_t at, size_t end) {
  unsigned char first = (unsigned char)text[at];
  size_t count = first < 0x80                    ? 1
                 : first >= 0xC2 && first < 0xE0 ? 2
                 : first >= 0xE0 && first < 0xF0 ? 3
                 : first >= 0xF0 && first < 0xF5 ? 4
                                                 : 0;
  if (count == 0 || at + count > end) return 0;
  for (size_t i = 1; i < count; i++) {
    if (!is_continuation(text[at + i])) return 0;
  }
  return count;
}

// Writes a source line. Bytes that are not printable text appear as '?'; tabs stay.
static void put_line(tsri_builder *out, const char *text, size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    size_t count = character_bytes(text, i, end);
    bool is_control = count == 1 && ((unsigned char)text[i] < 32 || text[i] == 127) && text[i] != '\t';
    if (count == 0 || is_control) {
      tsri_builder_put(out, "?", 1);
      i++;
    } else {
      tsri_builder_put(out, text + i, count);
      i += count;
    }
  }
}

// Writes spaces for as many columns as put_line would use; tabs stay tabs.
static void put_space(tsri_builder *out, const char *text, size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    size_t count = character_bytes(text, i, end);
    tsri_builder_put(out, text[i] == '\t' ? "\t" : " ", 1);
    i += count ? count : 1;
  }
}

static void line_range(const tsri_source *source, uint32_t line, size_t *out_begin, size_t *out_end) {
  const uint32_t *starts = source->lines.items;
  *out_begin = line < source->lines.count ? starts[line] : source->bytes;
  size_t end = *out_begin;
  while (end < source->bytes && source->text[end] != '\n' && source->text[end] != '\r') end++;
  *out_end = end;
}

// Writes the source line of `pos` and a caret below the position.
static void put_excerpt(tsri_builder *out, const tsri_source *source, tsri_ir_pos pos) {
  size_t begin, end;
  line_range(source, TSRI_IR_LINE(pos), &begin, &end);
  size_t caret = begin + TSRI_IR_COLUMN(pos) - 1;
  if (caret > end) caret = end;
  size_t from = begin, to = end;
  if (caret - begin > WINDOW_BYTES) {
    from = caret - WINDOW_BYTES;
    while (from < caret && is_continuation(source->text[from])) from++;
  }
  if (end - caret > WINDOW_BYTES) {
    to = caret + WINDOW_BYTES;
    while (to > caret && is_continuation(source->text[to])) to--;
  }
  tsri_builder_add(out, "    %s", from > begin ? "…" : "");
  put_line(out, source->text, from, to);
  tsri_builder_add(out, "%s\n    %s", to < end ? "…" : "", from > begin ? " " : "");
  put_space(out, source->text, from, caret);
  tsri_builder_add(out, "^\n");
}

// The column in characters, not bytes, as editors count it.
static uint32_t column_of(const tsri_source *source, tsri_ir_pos pos) {
  size_t begin, end;
  line_range(source, TSRI_IR_LINE(pos), &begin, &end);
  uint32_t column = 1;
  for (size_t i = begin; i < end && i < begin + TSRI_IR_COLUMN(pos) - 1; column++) {
    size_t count = character_bytes(source->text, i, end);
    i += count ? count : 1;
  }
  return column;
}

static void put_message(tsri_diag *diag, tsri_ir_pos pos, const char *kind, const char *format, va_list args) {
  char message[MESSAGE_BYTES];
  if (vsnprintf(message, sizeof message, format, args) < 0) message[0] = 0;
  if (!pos) {
    tsri_builder_add(&diag->text, "%s: %s: %s\n", diag->source->file, kind, message);
    return;
  }
  uint32_t line = TSRI_IR_LINE(pos), fills = diag->source->fills_line;
  bool is_fill = fills && line >= fills;
  tsri_builder_add(&diag->text, "%s:%u:%u: %s: %s\n", is_fill ? "fills" : diag->source->file,
                   is_fill ? line - fills + 1 : line, column_of(diag->source, pos), kind, message);
  put_excerpt(&diag->text, diag->source, pos);
}

// Whether an error at this position was reported already: an inlined function has the same error at each call, a
// kernel with each type.
static bool was_reported(const tsri_ir_pos *reported, uint32_t count, tsri_ir_pos pos) {
  for (uint32_t i = 0; i < count; i++) {
    if (reported[i] == pos) return true;
  }
  return false;
}

static void put_context(tsri_diag *diag) {
  if (diag->context) tsri_builder_add(&diag->text, "%s\n", diag->context);
  diag->context = NULL;
}

void tsri_diag_error(tsri_diag *diag, tsri_ir_pos pos, const char *format, ...) {
  diag->is_muted = diag->is_full || was_reported(diag->reported, diag->error_count, pos);
  if (diag->is_muted) return;
  if (diag->error_count == TSRI_LANG_MAX_ERRORS) {
    tsri_builder_add(&diag->text, "%s: too many errors, the rest is not shown\n", diag->source->file);
    diag->is_full = diag->is_muted = true;
    return;
  }
  diag->reported[diag->error_count++] = pos;
  put_context(diag);
  va_list args;
  va_start(args, format);
  put_message(diag, pos, "error", format, args);
  va_end(args);
}

void tsri_diag_warning(tsri_diag *diag, tsri_ir_pos pos, const char *format, ...) {
  bool is_last = diag->warning_count == TSRI_LANG_MAX_ERRORS;
  diag->is_muted = diag->is_full || is_last || was_reported(diag->warned, diag->warning_count, pos);
  if (diag->is_muted) return;
  diag->warned[diag->warning_count++] = pos;
  put_context(diag);
  va_list args;
  va_start(args, format);
  put_message(diag, pos, "warning", format, args);
  va_end(args);
}

void tsri_diag_note(tsri_diag *diag, tsri_ir_pos pos, const char *format, ...) {
  if (diag->is_muted) return;
  va_list args;
  va_start(args, format);
  put_message(diag, pos, "note", format, args);
  va_end(args);
}

void tsri_diag_hint(tsri_diag *diag, const char *format, ...) {
  if (diag->is_muted) return;
  char message[MESSAGE_BYTES];
  va_list args;
  va_start(args, format);
  if (vsnprintf(message, sizeof message, format, args) < 0) message[0] = 0;
  va_end(args);
  tsri_builder_add(&diag->text, "hint: %s\n", message);
}

tsr_status tsri_diag_finish(tsri_diag *diag, bool ok, char **out_log) {
  tsr_status status = TSR_OK;
  if (!ok) {
    status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to compile it", diag->source->file);
  } else if (diag->error_count) {
    status = TSRI_FAIL(TSR_ERR_BUILD, "%s", diag->text.text);
  }
  if (out_log && ok) {
    *out_log = diag->text.text;
  } else {
    tsri_builder_deinit(&diag->text);
  }
  return status;
}
