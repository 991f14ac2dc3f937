// SPDX-License-Identifier: MIT
// `tessera kernel check`: prints every mistake in files of kernels, as a compiler does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/kernel.h>

#include "cmd_kernel.h"
#include "kernel_source.h"
#include "report.h"

enum { MAX_FILES = 4096 };

// Returns the whole log of a check and stores its status in `*out_status`. The caller frees the log; NULL if memory is
// out.
static char *check(const char *text, size_t bytes, const char *name, tsr_status *out_status) {
  size_t log_bytes = 0;
  tsr_kernel_check(text, bytes, name, NULL, 0, &log_bytes);
  char *log = calloc(log_bytes + 1, 1);
  if (log) *out_status = tsr_kernel_check(text, bytes, name, log, log_bytes + 1, NULL);
  return log;
}

static int check_file(const char *path) {
  size_t bytes = 0;
  tsr_status status = TSR_OK;
  char *text = kernel_source_read(path, &bytes);
  if (!text) return EXIT_ERROR;
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  char *log = check(text, bytes, name, &status);
  free(text);
  if (!log) return report_no_memory();
  fputs(log, stderr);
  bool is_told = log[0] != 0;
  free(log);
  if (status == TSR_OK) return EXIT_DONE;
  return is_told && status == TSR_ERR_BUILD ? EXIT_NO : kernel_source_report();
}

static int run(int argument_count, char **arguments) {
  if (argument_count == 0) return report_usage("kernel check", "missing: FILE");
  int exit_code = EXIT_DONE;
  for (int i = 0; i < argument_count; i++) {
    int result = check_file(arguments[i]);
    if (result > exit_code) exit_code = result;
  }
  return exit_code;
}

const tool_command command_kernel_check = {
    .spec = {.name = "kernel check",
             .summary = "find the mistakes in files of kernels",
             .description = "Checks every kernel of each file ('-' is standard input), with every type that its "
                            "compile-time parameters may have. Errors and warnings go to standard error, with "
                            "file, line, column and a hint; there is no output where nothing is wrong. "
                            "A file without a kernel gets a warning.",
             .argument_name = "FILE ...",
             .argument_max = MAX_FILES,
             .example = "tessera kernel check *.tk"},
    .run = run,
};
