// SPDX-License-Identifier: MIT
// A table of texts with aligned columns.
//
// Nothing is printed until all cells are known, since each column is as wide as its widest text.
#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 16 };

// How a table is printed: the width of each column, which columns are left out, and the total width.
typedef struct layout {
  int widths[MAX_COLUMNS];
  bool is_left_out[MAX_COLUMNS];
  int limit;  // largest width of the whole table; 0: no limit
} layout;

void table_deinit(table *t) {
  for (int i = 0; i < t->cell_count; i++) free(t->cells[i].text);
  free(t->cells);
  t->cells = NULL;
  t->cell_count = t->cell_capacity = 0;
}

// --- Filling ------------------------------------------------------------------------------------------------------------

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

// Adds a cell. Frees `raw`, which may be NULL.
static void add(table *t, char *raw, term_style style, bool spans) {
  char *text = raw ? text_clean(raw) : NULL;
  free(raw);
  if (!text || !grow(t)) {
    free(text);
    t->is_out_of_memory = true;
    return;
  }
  t->cells[t->cell_count++] = (table_text){text, style, spans};
}

void table_cell(table *t, term_style style, const char *format, ...) {
  va_list values;
  va_start(values, format);
  add(t, format_text(format, values), style, false);
  va_end(values);
}

void table_span(table *t, term_style style, const char *format, ...) {
  va_list values;
  va_start(values, format);
  add(t, format_text(format, values), style, true);
  va_end(values);
  while (!t->is_out_of_memory && t->cell_count % t->column_count != 0) table_cell(t, TERM_PLAIN, "%s", "");
}

void table_init(table *t, const table_column *columns, int column_count) {
  assert(column_count > 0 && column_count <= MAX_COLUMNS);
  *t = (table){.columns = columns, .column_count = column_count};
  for (int i = 0; i < column_count; i++) table_cell(t, TERM_BOLD, "%s", columns[i].heading);
}

// --- Widths -------------------------------------------------------------------------------------------------------------

static void measure(const table *t, layout *l) {
  for (int i = 0; i < t->cell_count; i++) {
    int column = i % t->column_count, width = text_width(t->cells[i].text);
    if (t->cells[i].spans) i += t->column_count - column - 1;
    else if (width > l->widths[column]) l->widths[column] = width;
  }
}

static int total_width(const table *t, const layout *l) {
  int total = 0, gap = 0;
  for (int column = 0; column < t->column_count; column++) {
    if (l->is_left_out[column]) continue;
    total += gap + l->widths[column];
    gap = t->columns[column].gap;
  }
  return total;
}

// The widest column that can still become narrower, or -1.
static int widest_to_shrink(const table *t, const layout *l) {
  int widest = -1;
  for (int column = 0; column < t->column_count; column++) {
    int narrowest = t->columns[column].narrowest;
    if (l->is_left_out[column] || narrowest == 0 || l->widths[column] <= narrowest) continue;
    if (widest < 0 || l->widths[column] > l->widths[widest]) widest = column;
  }
  return widest;
}

static bool shrink(const table *t, layout *l) {
  int column = 0;
  while (total_width(t, l) > l->limit && column >= 0) {
    column = widest_to_shrink(t, l);
    if (column >= 0) l->widths[column]--;
  }
  return total_width(t, l) <= l->limit;
}

// Makes the table fit: first with narrower columns, then without the optional columns, the last one first.
static void squeeze(const table *t, layout *l) {
  layout natural = *l;
  for (int column = t->column_count - 1; column >= 0 && !shrink(t, l); column--) {
    if (!t->columns[column].is_optional) continue;
    natural.is_left_out[column] = true;
    *l = natural;
  }
}

// --- Printing -----------------------------------------------------------------------------------------------------------

// A line being printed. Spaces are only printed when a text follows, so that no line ends with spaces.
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

// How many bytes of `text` go on one line of a cell. A word wider than the cell is cut, if possible after a slash.
static int take_line(const char *text, int width, const char **out_next) {
  int bytes = text_break(text, width, out_next), fitting = text_bytes_within(text, width);
  if (fitting >= bytes || fitting == 0) return bytes;
  for (int i = fitting; i > 1; i--) {
    if (text[i - 1] != '/') continue;
    fitting = i;
    break;
  }
  *out_next = text + fitting;
  return fitting;
}

// Prints one line of a cell and moves `*text` to the rest.
static void put_cell(line *l, const table_column *column, int width, const char **text, const table_text *cell) {
  bool is_right = column->is_right && !cell->spans;
  const char *next;
  int bytes = take_line(*text, width, &next), spare = width - text_width_of(*text, bytes);
  if (spare < 0) spare = 0;
  if (is_right) l->pending += spare;
  put(l, *text, bytes, cell->style);
  l->pending += column->gap + (is_right ? 0 : spare);
  *text = next;
}

// The width of a cell: that of its column or, for a cell that spans the rest of the row, what is left of the table's
// width.
static int cell_width(const table *t, const layout *l, const table_text *cell, int column, int begin) {
  if (!cell->spans) return l->widths[column];
  int end = l->limit ? l->limit : total_width(t, l);
  int width = text_width(cell->text);
  return l->limit && width > end - begin && end - begin > 0 ? end - begin : width;
}

// Prints one line of the row. Returns false when nothing is left to print.
static bool put_line(const table *t, const layout *l, FILE *out, bool colour, const table_text *cells,
                     const char **texts) {
  line to = {.out = out, .colour = colour};
  int begin = 0;
  bool has_more = false;
  for (int column = 0; column < t->column_count; column++) {
    if (l->is_left_out[column]) continue;
    int width = cell_width(t, l, &cells[column], column, begin);
    put_cell(&to, &t->columns[column], width, &texts[column], &cells[column]);
    has_more = has_more || *texts[column];
    if (cells[column].spans) break;
    begin += width + t->columns[column].gap;
  }
  fputc('\n', out);
  return has_more;
}

bool table_print(const table *t, FILE *out, int width, bool colour) {
  if (t->is_out_of_memory) return false;
  assert(t->cell_count % t->column_count == 0);
  layout l = {.limit = width};
  measure(t, &l);
  if (width > 0) squeeze(t, &l);
  for (int i = 0; i < t->cell_count; i += t->column_count) {
    const char *texts[MAX_COLUMNS];
    for (int column = 0; column < t->column_count; column++) texts[column] = t->cells[i + column].text;
    while (put_line(t, &l, out, colour, &t->cells[i], texts)) continue;
  }
  return true;
}
