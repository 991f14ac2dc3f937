// SPDX-License-Identifier: MIT
// Functions shared by the `tessera kernel` commands: reading a file of kernels, and building one of them.
#include "kernel_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "file.h"
#include "report.h"

enum { MOST_BYTES = 1 << 20 };  // the limit of the language

char *kernel_source_read(const char *path, size_t *out_bytes) { return file_read(path, MOST_BYTES, out_bytes); }

int kernel_source_report(void) {
  switch (tsr_last_error_status()) {
    case TSR_ERR_BUILD: {  // print it as a compiler does
      const char *message = tsr_last_error();
      size_t length = strlen(message);
      fprintf(stderr, "%s%s", message, length > 0 && message[length - 1] == '\n' ? "" : "\n");
      return EXIT_NO;
    }
    case TSR_ERR_LAUNCH:
      report_error();
      return EXIT_NO;
    case TSR_ERR_NOT_FOUND:
    case TSR_ERR_INVALID_ARGUMENT:
      report_error();
      return EXIT_USAGE;
    default:
      return report_error();
  }
}

int kernel_source_build(const char *path, const kernel_choice *choice, tsr_kernel **out_kernel) {
  *out_kernel = NULL;
  bool is_file = strcmp(path, "-") != 0;
  size_t bytes = 0;
  char *text = is_file ? NULL : kernel_source_read(path, &bytes);
  if (!text && !is_file) return EXIT_ERROR;
  tsr_kernel_desc desc = {
      .source = text,
      .source_bytes = bytes,
      .path = is_file ? path : NULL,
      .file_name = is_file ? path : "standard input",
      .kernel = choice->kernel,
      .defines = choice->defines.texts,
      .define_count = choice->defines.count,
      .is_checked = choice->is_checked,
  };
  tsr_status status = tsr_kernel_build(&desc, out_kernel);
  free(text);
  return status == TSR_OK ? EXIT_DONE : kernel_source_report();
}
