// SPDX-License-Identifier: MIT
// What a run of `tessera check` says on standard error while it runs.
#ifndef TESSERA_TOOL_CHECK_PROGRESS_H
#define TESSERA_TOOL_CHECK_PROGRESS_H

#include "check_run.h"

// Call it when a case begins. On a terminal one line is replaced, which progress_end() removes; elsewhere there is a line every five seconds, so that a run that is
// killed has said how far it came.
void check_progress_show(check_run *run);

#endif
