// SPDX-License-Identifier: MIT
// `tessera kernel emit`: translates a kernel to the language of a device.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/kernel.h>

#include "cmd_kernel.h"
#include "file.h"
#include "kernel_source.h"
#include "report.h"

static const char *dialect, *output, *defines[KERNEL_MAX_DEFINES];
static kernel_choice choice = {.defines = {.texts = defines, .max = KERNEL_MAX_DEFINES}};

static const option_spec options[] = {
    {.name = "dialect", .value_name = "D", .help = "the language to write", .is_required = true, .text = &dialect},
    OPTION_KERNEL(choice),
    OPTION_DEFINE(choice),
    OPTION_CHECKED(choice),
    {.name = "output",
     .letter = 'o',
     .value_name = "FILE",
     .help = "where to write it",
     .standard = "standard output",
     .text = &output},
};

// The library knows its dialects: its error message for an unknown one lists them.
static void format_dialects(char *text, size_t text_bytes) {
  tsr_kernel *kernel = NULL;
  tsr_kernel_build(&(tsr_kernel_desc){.source = "kernel k(out u32 y[]) { y[0] = 0; }"}, &kernel);
  tsr_kernel_emit(kernel, "", NULL, 0, NULL);
  const char *known = strstr(tsr_last_error(), "known: ");
  snprintf(text, text_bytes, "%s", known ? known + strlen("known: ") : "");
  tsr_kernel_release(kernel);
}

static int write_text(const tsr_kernel *kernel, char *text, size_t bytes) {
  if (tsr_kernel_emit(kernel, dialect, text, bytes, NULL) != TSR_OK) return kernel_source_report();
  if (output) return file_write(output, "", 0, text, bytes - 1) ? EXIT_DONE : EXIT_ERROR;
  fputs(text, stdout);
  return EXIT_DONE;
}

static int emit(const tsr_kernel *kernel) {
  size_t bytes = 0;
  if (tsr_kernel_emit(kernel, dialect, NULL, 0, &bytes) != TSR_OK) return kernel_source_report();
  char *text = malloc(bytes);
  if (!text) return report_no_memory();
  int exit_code = write_text(kernel, text, bytes);
  free(text);
  return exit_code;
}

static int run(int argument_count, char **arguments) {
  if (argument_count == 0) return report_usage("kernel emit", "missing: FILE");
  tsr_kernel *kernel = NULL;
  int exit_code = kernel_source_build(arguments[0], &choice, &kernel);
  if (exit_code == EXIT_DONE) exit_code = emit(kernel);
  tsr_kernel_release(kernel);
  return exit_code;
}

const tool_command command_kernel_emit = {
    .spec = {.name = "kernel emit",
             .summary = "show a kernel in the language of a device",
             .description = "Builds a kernel of the file ('-' is standard input) and writes it as a device's "
                            "compiler gets it. 'ir' is the checked form that all others are made of, 'lanes' "
                            "what the CPU runs, 'x86' and 'arm64' the machine code that runs of its instructions "
                            "become on such a processor, whatever this one is.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .argument_name = "FILE",
             .argument_max = 1,
             .example = "tessera kernel emit --dialect opencl softmax.tk -DT=f16",
             .more_heading = "DIALECTS",
             .format_more = format_dialects},
    .run = run,
};
