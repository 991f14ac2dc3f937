// SPDX-License-Identifier: MIT
// The program `tessera`: finds the command and runs it. The commands are in cmd_*.c.
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "help.h"
#include "man.h"
#include "profile_option.h"
#include "report.h"
#include "suggest.h"
#include "term.h"

static const tool_command *const all_commands[] = {
#define COMMAND_X(name) &command_##name,
    COMMANDS(COMMAND_X)
#undef COMMAND_X
};
static const command_list top = {all_commands, sizeof all_commands / sizeof all_commands[0]};

enum { MAX_COMMANDS = 32 };  // in one list

static bool wants_version, wants_manual;

static const option_spec program_options[] = {
    {.name = "version", .help = "show the version", .flag = &wants_version},
};

static const command_spec program = {
    .summary = "tensors on any device: what this machine has, and kernels",
    .description =
        "Shows the devices that Tessera can use here and why others are missing, the settings in "
        "force, and how much memory a model needs; checks and runs kernels. Settings come from TESSERA_* variables and "
        "a "
        "file ('tessera config'). Colour is used on a terminal, unless NO_COLOR is set.\n"
        "\n"
        "'tessera help COMMAND' shows the options of a command.",
    .options = program_options,
    .option_count = 1,
    .argument_name = "COMMAND [...]",
    .example = "tessera devices",
};

// Returns "run" for the command "kernel run".
static const char *last_word(const tool_command *command) {
  const char *space = strrchr(command->spec.name, ' ');
  return space ? space + 1 : command->spec.name;
}

static void print_help(const command_spec *spec, const command_list *list) {
  int columns = 0;
  for (int i = 0; i < list->count; i++) {
    int length = (int)strlen(last_word(list->items[i]));
    if (length > columns) columns = length;
  }
  help_print_start(spec);
  if (list->count > 0) {
    printf("\n");
    help_heading("COMMANDS");
  }
  for (int i = 0; i < list->count; i++) help_term(last_word(list->items[i]), columns, list->items[i]->spec.summary);
  help_print_end(spec);
}

// The command of that name; NULL, with a message, if there is none. `parent` NULL: the program itself.
static const tool_command *find_command(const tool_command *parent, const char *name) {
  const command_list *list = parent ? &parent->commands : &top;
  const char *parent_name = parent ? parent->spec.name : NULL;
  const char *names[MAX_COMMANDS] = {0};
  for (int i = 0; i < list->count; i++) {
    names[i] = last_word(list->items[i]);
    if (strcmp(name, names[i]) == 0) return list->items[i];
  }
  const char *nearest = tsri_text_nearest(name, names, (size_t)list->count);
  if (nearest) {
    report_usage(parent_name, "'%s' is not a command. Did you mean '%s'?", name, nearest);
  } else {
    report_usage(parent_name, "'%s' is not a command; 'tessera help%s%s' lists them", name, parent ? " " : "",
                 parent ? parent_name : "");
  }
  return NULL;
}

static int run_help(int argument_count, char **arguments) {
  if (wants_manual) {
    man_print(&program, &top);
    return EXIT_DONE;
  }
  const tool_command *asked = NULL;
  for (int i = 0; i < argument_count; i++) {
    if (asked && asked->commands.count == 0) {
      return report_usage("help", "unexpected argument '%s'; --help shows what is allowed", arguments[i]);
    }
    asked = find_command(asked, arguments[i]);
    if (!asked) return EXIT_USAGE;
  }
  print_help(asked ? &asked->spec : &program, asked ? &asked->commands : &top);
  return EXIT_DONE;
}

static const option_spec help_options[] = {
    {.name = "man", .help = "print the manual page of the whole program, for man -l", .flag = &wants_manual},
};

// It is here and not in its own file, because it needs the table of commands.
const tool_command command_help = {
    .spec = {.name = "help",
             .summary = "show the help of a command",
             .description = "Shows the same as 'tessera COMMAND --help', or without a command as "
                            "'tessera --help'.",
             .options = help_options,
             .option_count = 1,
             .argument_name = "[COMMAND [COMMAND]]",
             .argument_max = 2,
             .example = "tessera help estimate"},
    .run = run_help,
};

static int run_command(const tool_command *parent, int argc, char **argv) {
  const tool_command *chosen = find_command(parent, argv[0]);
  if (!chosen) return EXIT_USAGE;
  if (chosen->commands.count > 0 && argc > 1 && argv[1][0] != '-') return run_command(chosen, argc - 1, argv + 1);
  int argument_count = 0;
  char message[OPTIONS_MESSAGE_BYTES];
  options_outcome outcome = options_parse(&chosen->spec, argc, argv, &argument_count, message);
  if (outcome == OPTIONS_WRONG) return report_usage(chosen->spec.name, "%s", message);
  if (outcome == OPTIONS_OK && chosen->run) {
    int exit_code = profile_option_apply();
    return exit_code == EXIT_DONE ? chosen->run(argument_count, argv + 1) : exit_code;
  }
  print_help(&chosen->spec, &chosen->commands);
  return EXIT_DONE;
}

// `tessera` alone, or with an option before a command.
static int run_program(int argc, char **argv) {
  int argument_count = 0;
  char message[OPTIONS_MESSAGE_BYTES];
  options_outcome outcome = options_parse(&program, argc, argv, &argument_count, message);
  if (outcome == OPTIONS_WRONG) return report_usage(NULL, "%s", message);
  if (outcome == OPTIONS_OK && wants_version) return command_version.run(0, NULL);
  print_help(&program, &top);
  return EXIT_DONE;
}

int main(int argc, char **argv) {
  term_init();
  bool has_command = argc > 1 && argv[1][0] != '-';
  int exit_code = has_command ? run_command(NULL, argc - 1, argv + 1) : run_program(argc, argv);
  return report_output(exit_code);
}
