// SPDX-License-Identifier: MIT
// Prints messages on standard error, and texts and tables on standard output in the terminal's width.
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tessera/status.h>

#include "commands.h"

int report_error(void) {
  const char *message = tsr_last_error();
  fprintf(stderr, "tessera: %s\n", *message ? message : tsr_status_text(TSR_ERR_INTERNAL));
  return EXIT_ERROR;
}

int report_no_memory(void) {
  fputs("tessera: out of memory\n", stderr);
  return EXIT_ERROR;
}

int report_usage(const char *command, const char *format, ...) {
  fprintf(stderr, "tessera%s%s: ", command ? " " : "", command ? command : "");
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  return EXIT_USAGE;
}

void report_text(const char *format, ...) {
  char text[4096];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  text_print_wrapped(stdout, text, 0, term_columns());
}

int report_table(table *t) {
  bool is_printed = table_print(t, stdout, term_columns(), term_has_colour());
  table_deinit(t);
  return is_printed ? EXIT_DONE : report_no_memory();
}

int report_output(int exit_code) {
  errno = 0;
  bool is_flushed = fflush(stdout) == 0;
  if (is_flushed && !ferror(stdout)) return exit_code;
  // An earlier write may have failed, and its reason is lost.
  fprintf(stderr, "tessera: the output could not be written%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
  return EXIT_ERROR;
}
