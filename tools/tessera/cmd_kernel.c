// SPDX-License-Identifier: MIT
// `tessera kernel`: the commands for files of kernels; each is in its own file.
#include "cmd_kernel.h"

static const tool_command *const commands[] = {
    &command_kernel_check,
    &command_kernel_emit,
    &command_kernel_run,
};

const tool_command command_kernel = {
    .spec = {.name = "kernel",
             .summary = "check, translate and run kernels",
             .description = "For kernels in Tessera's own language, written once and run on every device "
                            "(docs/kernel-language.md).\n"
                            "\n"
                            "'tessera help kernel COMMAND' shows the options of each command.",
             .argument_name = "COMMAND [...]",
             .example = "tessera kernel check blur.tk"},
    .commands = {commands, sizeof commands / sizeof commands[0]},
};
