// SPDX-License-Identifier: MIT
// `tessera run`: runs any program with the profiler on, which prints its report when the program ends.
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "commands.h"
#include "process.h"
#include "profile_option.h"
#include "report.h"

static bool is_full;

static int run(int argument_count, char **arguments) {
  if (argument_count == 0) return report_usage("run", "missing: PROGRAM, and its arguments");
  arguments[argument_count] = NULL;  // the end of argv, or an argument that was moved forwards
  bool is_set = process_set("TESSERA_PROFILE", profile_path && strcmp(profile_path, "-") != 0 ? profile_path : "on") &&
                (!is_full || process_set("TESSERA_PROFILE_FULL", "on"));
  if (!is_set) return report_no_memory();
  int exit_code = process_become(arguments);
  if (exit_code >= 0) return exit_code;
  report_usage("run", "'%s' cannot be run: %s", arguments[0], strerror(errno));
  return EXIT_ERROR;
}

static const option_spec options[] = {
    OPTION_PROFILE,
    {.name = "full", .help = "run captures step by step, so that each of their kernels is timed", .flag = &is_full},
};

const tool_command command_run = {
    .spec = {.name = "run",
             .summary = "run any program and report what it did on which device",
             .description =
                 "Runs a program that uses Tessera, in any language, and prints a report on standard error when it "
                 "ends: what ran on which device and how long, how much memory each device needed, what was moved, "
                 "which devices were not chosen and why, and what a device could not do.\n"
                 "\n"
                 "It does the same as TESSERA_PROFILE=on before the command. A program that opens no device "
                 "prints no report. The exit code is that of the program.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .argument_name = "PROGRAM [ARGUMENT ...]",
             .argument_max = INT_MAX,
             .ends_at_argument = true,
             .example = "tessera run ./my_program --steps 10\n"
                        "tessera run --profile report.html python3 train.py"},
    .run = run,
};
