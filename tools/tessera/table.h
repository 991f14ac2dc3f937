// SPDX-License-Identifier: MIT
// A table of texts with aligned columns, for people; scripts get JSON.
#ifndef TESSERA_TOOL_TABLE_H
#define TESSERA_TOOL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "term.h"
#include "text.h"

typedef struct table_column {
  const char *heading;
  int gap;           // spaces after the column
  bool is_right;     // numbers: aligned at the right
  bool can_shorten;  // texts may lose their middle where the table is wider than the terminal
} table_column;

typedef struct table_text {
  char *text;
  term_style style;
} table_text;

typedef struct table {
  const table_column *columns;  // borrowed
  int column_count;
  table_text *cells;  // row after row; the headings are the first
  int cell_count, cell_capacity;
  bool is_out_of_memory;
} table;

void table_init(table *t, const table_column *columns, int column_count);
void table_deinit(table *t);

// Adds the next cell; a row is complete when each column has one. The text is made safe to print (text_clean).
void table_cell(table *t, term_style style, const char *format, ...) TEXT_FORMAT(3, 4);

// Prints headings and rows. If the table is wider than `width` columns (0: no limit), texts that may be are shortened,
// and the last column continues on further lines.
//
// Returns false if memory ran out while the table was filled or printed.
bool table_print(const table *t, FILE *out, int width, bool colour);

#endif
