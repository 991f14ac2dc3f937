// SPDX-License-Identifier: MIT
// `tessera config`: prints every setting, its value and its origin.
#include <stdio.h>
#include <tessera/config.h>

#include "commands.h"
#include "json.h"
#include "report.h"

static bool as_json;

static const option_spec options[] = {
    {.name = "json", .help = "print JSON, with each setting's variable and the values it may have", .flag = &as_json},
};

static const char *source_name(tsr_config_source source) {
  switch (source) {
    case TSR_FROM_CODE:
      return "code";
    case TSR_FROM_ENVIRONMENT:
      return "environment";
    case TSR_FROM_FILE:
      return "file";
    default:
      return "default";
  }
}

static void print_json(const tsr_config *config) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "file", config->file);
  json_begin_array(&json, "settings");
  for (int i = 0; i < config->setting_count; i++) {
    const tsr_setting *setting = &config->settings[i];
    json_begin_object(&json, NULL);
    json_text(&json, "name", setting->name);
    json_text(&json, "variable", setting->variable);
    json_text(&json, "value", setting->value);
    json_text(&json, "source", source_name(setting->source));
    json_text(&json, "place", setting->place);
    json_text(&json, "allowed", setting->allowed);
    json_text(&json, "help", setting->help);
    json_end_object(&json);
  }
  json_end_array(&json);
  json_end_object(&json);
  json_finish(&json);
}

static int print_table(const tsr_config *config) {
  static const table_column columns[] = {
      {.heading = "Setting", .gap = 2},
      {.heading = "Value", .gap = 2, .narrowest = 12},
      {.heading = "From", .gap = 2, .narrowest = 12},
      {.heading = "Meaning", .narrowest = 20},
  };
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < config->setting_count; i++) {
    const tsr_setting *setting = &config->settings[i];
    term_style style = setting->source == TSR_FROM_DEFAULT ? TERM_PLAIN : TERM_BOLD;
    table_cell(&t, style, "%s", setting->name);
    table_cell(&t, style, "%s", *setting->value ? setting->value : "-");
    table_cell(&t, style, "%s", setting->place);
    table_cell(&t, TERM_DIM, "%s", setting->help);
  }
  int exit_code = report_table(&t);
  printf("\n");
  report_text("Config file: %s", config->file ? config->file : "none");
  return exit_code;
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  tsr_config *config = NULL;
  if (tsr_config_load(&config) != TSR_OK) return report_error();
  int exit_code = EXIT_DONE;
  if (as_json) {
    print_json(config);
  } else {
    exit_code = print_table(config);
  }
  tsr_config_release(config);
  return exit_code;
}

const tool_command command_config = {
    .spec = {.name = "config",
             .summary = "show every setting, its value and where it came from",
             .description = "A setting is taken from its variable (TESSERA_ and its name in capitals), else "
                            "from the config file (a line 'name = value'), else it has its default.\n"
                            "\n"
                            "A value that is not allowed is an error (exit code 3); the message names the "
                            "variable or line and what is allowed.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .example = "TESSERA_MEMORY_LIMIT=2GiB tessera config"},
    .run = run,
};
