// SPDX-License-Identifier: MIT
// `tessera version`: prints the versions of the program and of the library that it runs with.
#include <stdio.h>
#include <string.h>
#include <tessera/version.h>

#include "commands.h"
#include "json.h"

#define DIGITS_OF(number) #number
#define DIGITS(number)    DIGITS_OF(number)

static const char built_for[] = DIGITS(TSR_VERSION_MAJOR) "." DIGITS(TSR_VERSION_MINOR) "." DIGITS(TSR_VERSION_PATCH);

static bool as_json;

static const option_spec options[] = {
    {.name = "json", .help = "print JSON", .flag = &as_json},
};

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  if (as_json) {
    json_writer json;
    json_init(&json, stdout);
    json_begin_object(&json, NULL);
    json_text(&json, "program", built_for);
    json_text(&json, "library", tsr_version());
    json_end_object(&json);
    json_finish(&json);
    return EXIT_DONE;
  }
  printf("tessera %s\n", built_for);
  if (strcmp(built_for, tsr_version()) != 0) printf("libtessera %s\n", tsr_version());
  return EXIT_DONE;
}

const tool_command command_version = {
    .spec = {.name = "version",
             .summary = "show the version",
             .description = "Shows the version of the program and, where it is another one, that "
                            "of the library it found.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .example = "tessera version --json"},
    .run = run,
};
