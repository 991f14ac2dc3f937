// SPDX-License-Identifier: MIT
// A table of texts with aligned columns, for people; scripts use JSON.
#ifndef TESSERA_TOOL_TABLE_H
#define TESSERA_TOOL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "term.h"
#include "text.h"

typedef struct table_column {
  const char *heading;
  int gap;           // spaces after the column
  bool is_right;     // right-aligned, for numbers
  int narrowest;     // if the table is too wide, the column may shrink to this width and break its texts into lines; 0:
                     // never
  bool is_optional;  // left out if it does not fit even at its narrowest width
} table_column;

typedef struct table_text {
  char *text;
  term_style style;
  bool spans;  // replaces all following cells of its row
} table_text;

typedef struct table {
  const table_column *columns;  // borrowed
  int column_count;
  table_text *cells;  // row by row; the headings come first
  int cell_count, cell_capacity;
  bool is_out_of_memory;
} table;

void table_init(table *t, const table_column *columns, int column_count);
void table_deinit(table *t);

// Adds the next cell; a row is complete when each column has one. The text is made safe to print (text_clean).
void table_cell(table *t, term_style style, const char *format, ...) TEXT_FORMAT(3, 4);

// Adds a text that takes the rest of the row, independent of the columns' widths: a sentence instead of numbers.
void table_span(table *t, term_style style, const char *format, ...) TEXT_FORMAT(3, 4);

// Prints headings and rows. If the table is wider than `width` columns (0: no limit), the columns that may shrink
// become narrower, and their texts continue on further lines: broken between words, and within a word that is wider
// than its column.
//
// Returns false if memory ran out while the table was filled.
bool table_print(const table *t, FILE *out, int width, bool colour);

#endif
