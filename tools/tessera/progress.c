// SPDX-License-Identifier: MIT
// A progress line on the terminal, removed at the end.
#include "progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "term.h"

#if defined(_WIN32)
#include <io.h>
bool progress_has_terminal(void) { return _isatty(_fileno(stderr)) != 0; }
#else
#include <unistd.h>
bool progress_has_terminal(void) {
  const char *kind = getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind && *kind && strcmp(kind, "dumb") != 0;
}
#endif

static bool is_shown;

void progress_show(const char *format, ...) {
  if (!progress_has_terminal()) return;
  char line[80];  // what fits on a line of 80 columns without wrapping
  int columns = term_columns();
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof line, format, values);
  va_end(values);
  fprintf(stderr, "\r\x1b[K%.*s", columns - 1, line);
  fflush(stderr);
  is_shown = true;
}

void progress_end(void) {
  if (!is_shown) return;
  fputs("\r\x1b[K", stderr);
  fflush(stderr);
  is_shown = false;
}
