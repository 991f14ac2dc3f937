// SPDX-License-Identifier: MIT
// A table of texts with aligned columns.
//
// Nothing is printed until all cells are there, since each column is as wide as its widest text.
#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_COLUMNS = 16,
  SHORTEST_TEXT = 16,  // columns kept of a text that is shortened
  WANTED_LAST = 24,    // columns the last column gets before texts are shortened for it
  NARROWEST_LAST = 12  // with less, its lines are left to the terminal to break
};

void table_deinit(table *t) {
  for (int i = 0; i < t->cell_count; i++) free(t->cells[i].text);
  free(t->cells);
  t->cells = NULL;
  t->cell_count = t->cell_capacity = 0;
}

static char *format_text(const char *format, va_list values) {
  va_list again;
  va_copy(again, values);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, values);
  return text;
}

static bool grow(table *t) {
  if (t->cell_count < t->cell_capacity) return true;
  int capacity = t->cell_capacity ? 2 * t->cell_capacity : 64;
  table_text *cells = realloc(t->cells, (size_t)capacity * sizeof *cells);
  if (!cells) return false;
  t->cells = cells;
  t->cell_capacity = capacity;
  return true;
}

void table_cell(table *t, term_style style, const char *format, ...) {
  va_list values;
  va_start(values, format);
  char *raw = format_text(format, values);
  va_end(values);
  char *text = raw ? text_clean(raw) : NULL;
  free(raw);
  if (!text || !grow(t)) {
    free(text);
    t->is_out_of_memory = true;
    return;
  }
  t->cells[t->cell_count++] = (table_text){text, style};
}

void table_init(table *t, const table_column *columns, int column_count) {
  assert(column_count > 0 && column_count <= MAX_COLUMNS);
  *t = (table){.columns = columns, .column_count = column_count};
  for (int i = 0; i < column_count; i++) table_cell(t, TERM_BOLD, "%s", columns[i].heading);
}

static void measure(const table *t, int *widths) {
  for (int i = 0; i < t->cell_count; i++) {
    int column = i % t->column_count, width = text_width(t->cells[i].text);
    if (width > widths[column]) widths[column] = width;
  }
}

// Makes the columns fit `width` as far as they can.
static void squeeze(const table *t, int width, int *widths) {
  const int last = t->column_count - 1;
  int room = width;  // for the last column
  for (int column = 0; column < last; column++) room -= widths[column] + t->columns[column].gap;
  int wanted = widths[last] < WANTED_LAST ? widths[last] : WANTED_LAST;
  for (int column = 0; column < last && room < wanted; column++) {
    int spare = widths[column] - SHORTEST_TEXT;
    if (!t->columns[column].can_shorten || spare <= 0) continue;
    int taken = wanted - room < spare ? wanted - room : spare;
    widths[column] -= taken;
    room += taken;
  }
  if (room < widths[last] && room >= NARROWEST_LAST) widths[last] = room;
}

// Spaces are printed only once a text follows, so that no line ends in any.
typedef struct line {
  FILE *out;
  int pending;
  bool colour;
} line;

static void put(line *l, const char *text, int bytes, term_style style) {
  if (bytes == 0) return;
  fprintf(l->out, "%*s%s%.*s%s", l->pending, "", term_begin(style, l->colour), bytes, text, term_end(style, l->colour));
  l->pending = 0;
}

static bool put_cell(line *l, const table_column *column, int width, const char *text, term_style style) {
  char *fitting = column->can_shorten ? text_shorten(text, width) : NULL;
  if (column->can_shorten && !fitting) return false;
  const char *shown = fitting ? fitting : text;
  int spare = width - text_width(shown);
  if (spare < 0) spare = 0;
  if (column->is_right) l->pending += spare;
  put(l, shown, (int)strlen(shown), style);
  l->pending += column->gap + (column->is_right ? 0 : spare);
  free(fitting);
  return true;
}

// One row: the last column's text may take several lines.
static bool put_row(const table *t, FILE *out, const int *widths, bool colour, const table_text *cells) {
  const int last = t->column_count - 1;
  line l = {.out = out, .colour = colour};
  int indent = 0;
  for (int column = 0; column < last; column++) {
    if (!put_cell(&l, &t->columns[column], widths[column], cells[column].text, cells[column].style)) {
      return false;
    }
    indent += widths[column] + t->columns[column].gap;
  }
  if (t->columns[last].is_right) l.pending += widths[last] - text_width(cells[last].text);
  const char *text = cells[last].text;
  do {
    const char *next;
    int bytes = text_break(text, widths[last], &next);
    put(&l, text, bytes, cells[last].style);
    fputc('\n', out);
    l.pending = indent;
    text = next;
  } while (*text);
  return true;
}

bool table_print(const table *t, FILE *out, int width, bool colour) {
  if (t->is_out_of_memory) return false;
  assert(t->cell_count % t->column_count == 0);
  int widths[MAX_COLUMNS] = {0};
  measure(t, widths);
  if (width > 0) squeeze(t, width, widths);
  for (int i = 0; i < t->cell_count; i += t->column_count) {
    if (!put_row(t, out, widths, colour, &t->cells[i])) return false;
  }
  return true;
}
