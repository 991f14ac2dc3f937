// SPDX-License-Identifier: MIT
// The option --profile, the same for every command that runs work on a device.
#ifndef TESSERA_TOOL_PROFILE_OPTION_H
#define TESSERA_TOOL_PROFILE_OPTION_H

#include "options.h"

extern const char *profile_path;  // NULL: not given

#define OPTION_PROFILE                                                                                        \
  {                                                                                                           \
    .name = "profile", .value_name = "FILE",                                                                  \
    .help =                                                                                                   \
        "record what runs: name.json is a trace for Perfetto, name.html a report, any other file a table; - " \
        "prints the table",                                                                                   \
    .text = &profile_path                                                                                     \
  }

// Begins to profile if the option was given. The result is written when the program ends. Returns an exit code.
int profile_option_apply(void);

#endif
