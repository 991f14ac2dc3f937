// SPDX-License-Identifier: MIT
// The program `tessera`: finds the command and runs it. The commands are in cmd_*.c.
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "help.h"
#include "report.h"
#include "suggest.h"
#include "term.h"

static const tool_command *const commands[] = {
#define COMMAND_X(name) &command_##name,
    COMMANDS(COMMAND_X)
#undef COMMAND_X
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static bool wants_version;

static const option_spec program_options[] = {
    {.name = "version", .help = "show the version", .flag = &wants_version},
};

static const command_spec program = {
    .summary = "tensors on any device: what this machine has",
    .description =
        "Shows the devices that Tessera can use here and why others are missing, the settings in "
        "force, and how much memory a model needs. Settings come from TESSERA_* variables and a "
        "file ('tessera config'). Colour is used on a terminal, unless NO_COLOR is set.\n"
        "\n"
        "'tessera help COMMAND' shows the options of a command.",
    .options = program_options,
    .option_count = 1,
    .argument_name = "COMMAND [...]",
    .example = "tessera devices",
};

static void print_program_help(void) {
  int columns = 0;
  for (int i = 0; i < COMMAND_COUNT; i++) {
    int length = (int)strlen(commands[i]->spec.name);
    if (length > columns) columns = length;
  }
  help_print_start(&program);
  printf("\n");
  help_heading("COMMANDS");
  for (int i = 0; i < COMMAND_COUNT; i++) {
    help_term(commands[i]->spec.name, columns, commands[i]->spec.summary);
  }
  help_print_end(&program);
}

// The command of that name; NULL, with a message, if there is none.
static const tool_command *find_command(const char *name) {
  const char *names[COMMAND_COUNT];
  for (int i = 0; i < COMMAND_COUNT; i++) {
    names[i] = commands[i]->spec.name;
    if (strcmp(name, names[i]) == 0) return commands[i];
  }
  const char *nearest = tsri_text_nearest(name, names, COMMAND_COUNT);
  if (nearest) {
    report_usage(NULL, "'%s' is not a command. Did you mean '%s'?", name, nearest);
  } else {
    report_usage(NULL, "'%s' is not a command; 'tessera help' lists them", name);
  }
  return NULL;
}

static int run_help(int argument_count, char **arguments) {
  if (argument_count == 0) {
    print_program_help();
    return EXIT_DONE;
  }
  const tool_command *asked = find_command(arguments[0]);
  if (!asked) return EXIT_USAGE;
  help_print(&asked->spec);
  return EXIT_DONE;
}

// Here and not in a file of its own, since it needs the table.
const tool_command command_help = {
    .spec = {.name = "help",
             .summary = "show the help of a command",
             .description = "Shows the same as 'tessera COMMAND --help', or without a command as "
                            "'tessera --help'.",
             .argument_name = "[COMMAND]",
             .argument_max = 1,
             .example = "tessera help estimate"},
    .run = run_help,
};

static int run_command(int argc, char **argv) {
  const tool_command *chosen = find_command(argv[0]);
  if (!chosen) return EXIT_USAGE;
  int argument_count = 0;
  char message[OPTIONS_MESSAGE_BYTES];
  switch (options_parse(&chosen->spec, argc, argv, &argument_count, message)) {
    case OPTIONS_WRONG:
      return report_usage(chosen->spec.name, "%s", message);
    case OPTIONS_HELP:
      help_print(&chosen->spec);
      return EXIT_DONE;
    default:
      return chosen->run(argument_count, argv + 1);
  }
}

// `tessera` alone, or with an option before any command.
static int run_program(int argc, char **argv) {
  int argument_count = 0;
  char message[OPTIONS_MESSAGE_BYTES];
  options_outcome outcome = options_parse(&program, argc, argv, &argument_count, message);
  if (outcome == OPTIONS_WRONG) return report_usage(NULL, "%s", message);
  if (outcome == OPTIONS_OK && wants_version) return command_version.run(0, NULL);
  print_program_help();
  return EXIT_DONE;
}

int main(int argc, char **argv) {
  term_init();
  bool has_command = argc > 1 && argv[1][0] != '-';
  int exit_code = has_command ? run_command(argc - 1, argv + 1) : run_program(argc, argv);
  return report_output(exit_code);
}
