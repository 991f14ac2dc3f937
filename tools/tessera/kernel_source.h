// SPDX-License-Identifier: MIT
// Functions shared by the `tessera kernel` commands: reading a file of kernels, and building one of them.
#ifndef TESSERA_TOOL_KERNEL_SOURCE_H
#define TESSERA_TOOL_KERNEL_SOURCE_H

#include <tessera/kernel.h>

#include "options.h"

enum { KERNEL_MAX_DEFINES = 32 };

// The selected kernel and its parameters: the values of -k, -D and --checked.
typedef struct kernel_choice {
  const char *kernel;
  option_list defines;
  bool is_checked;
} kernel_choice;

// The three options, for a command's list of options. `choice` is a static kernel_choice.
#define OPTION_KERNEL(choice)                                                                  \
  {                                                                                            \
    .name = "kernel", .letter = 'k', .value_name = "NAME", .help = "which kernel of the file", \
    .standard = "the only one", .text = &(choice).kernel                                       \
  }
#define OPTION_DEFINE(choice)                                                                       \
  {                                                                                                 \
    .name = "define", .letter = 'D', .value_name = "NAME=VALUE",                                    \
    .help = "a compile-time parameter, such as -DT=f32 or -DWG=128; may be given again for others", \
    .list = &(choice).defines                                                                       \
  }
#define OPTION_CHECKED(choice) \
  { .name = "checked", .help = "make an index out of range an error; slower", .flag = &(choice).is_checked }

// Reads a file of kernels; "-" is standard input. The caller frees the text. NULL after a message.
char *kernel_source_read(const char *path, size_t *out_bytes);

// Builds a kernel of the file. Returns EXIT_DONE, or another exit code after a message; then `*out_kernel` is NULL.
int kernel_source_build(const char *path, const kernel_choice *choice, tsr_kernel **out_kernel);

// Prints the last error of building, emitting or launching a kernel. Returns the matching exit code.
int kernel_source_report(void);

#endif
