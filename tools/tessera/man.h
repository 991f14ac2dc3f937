// SPDX-License-Identifier: MIT
// The manual page of the whole program, made from the same declarations as the help of each command.
#ifndef TESSERA_TOOL_MAN_H
#define TESSERA_TOOL_MAN_H

#include "commands.h"

// Prints tessera(1) in roff's man macros on standard output.
void man_print(const command_spec *program, const command_list *commands);

#endif
