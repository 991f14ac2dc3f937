// SPDX-License-Identifier: MIT
// The commands of `tessera kernel`.
#ifndef TESSERA_TOOL_CMD_KERNEL_H
#define TESSERA_TOOL_CMD_KERNEL_H

#include "commands.h"

extern const tool_command command_kernel_check;
extern const tool_command command_kernel_emit;
extern const tool_command command_kernel_run;

#endif
