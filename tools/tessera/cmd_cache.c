// SPDX-License-Identifier: MIT
// `tessera cache`: what is kept on disk between processes; lists, trims and clears it.
#include <stdio.h>
#include <tessera/cache.h>

#include "commands.h"
#include "json.h"
#include "report.h"
#include "size.h"

static bool as_json;
static uint64_t most_mb;

// --- list ----------------------------------------------------------------------------------------------------------------

static void print_json(const tsr_cache_list *list) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "folder", list->folder);
  json_text(&json, "reason", list->reason);
  json_int(&json, "bytes", (int64_t)list->bytes);
  json_int(&json, "limit_bytes", (int64_t)list->limit_bytes);
  json_begin_array(&json, "files");
  for (int i = 0; i < list->file_count; i++) {
    json_begin_object(&json, NULL);
    json_text(&json, "name", list->files[i].name);
    json_int(&json, "bytes", (int64_t)list->files[i].bytes);
    json_real(&json, "age_seconds", list->files[i].age_seconds);
    json_end_object(&json);
  }
  json_end_array(&json);
  json_end_object(&json);
  json_finish(&json);
}

static void add_age(table *t, double seconds) {
  if (seconds < 3600) table_cell(t, TERM_PLAIN, "%.0f min", seconds / 60);
  else if (seconds < 48 * 3600.0) table_cell(t, TERM_PLAIN, "%.0f h", seconds / 3600);
  else table_cell(t, TERM_PLAIN, "%.0f days", seconds / (24 * 3600.0));
}

static int print_files(const tsr_cache_list *list) {
  static const table_column columns[] = {{.heading = "File", .gap = 2, .narrowest = 20},
                                         {.heading = "Size", .gap = 2, .is_right = true},
                                         {.heading = "Last used", .is_right = true}};
  char text[SIZE_TEXT_BYTES];
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < list->file_count; i++) {
    table_cell(&t, TERM_PLAIN, "%s", list->files[i].name);
    table_cell(&t, TERM_PLAIN, "%s", size_format(list->files[i].bytes, text));
    add_age(&t, list->files[i].age_seconds);
  }
  return report_table(&t);
}

static int print_list(const tsr_cache_list *list) {
  char is[SIZE_TEXT_BYTES], most[SIZE_TEXT_BYTES];
  int exit_code = list->file_count > 0 ? print_files(list) : EXIT_DONE;
  if (list->file_count > 0) printf("\n");
  if (!list->folder[0]) report_text("There is no cache folder: neither XDG_CACHE_HOME nor HOME names one.");
  else if (list->reason[0]) report_text("%s is not used: %s", list->folder, list->reason);
  else if (list->limit_bytes == 0) report_text("%s: nothing is kept (cache_mb is 0)", list->folder);
  else
    report_text("%s: %d file%s, %s of at most %s", list->folder, list->file_count, list->file_count == 1 ? "" : "s",
                size_format(list->bytes, is), size_format(list->limit_bytes, most));
  return exit_code;
}

static int run_list(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  tsr_cache_list *list = NULL;
  int exit_code = EXIT_DONE;
  if (tsr_cache_list_load(&list) != TSR_OK) return report_error();
  if (as_json) print_json(list);
  else exit_code = print_list(list);
  tsr_cache_list_release(list);
  return exit_code;
}

// --- trim, clear -----------------------------------------------------------------------------------------------------

static int trim_to(uint64_t bytes) {
  char text[SIZE_TEXT_BYTES];
  uint64_t removed = 0;
  if (tsr_cache_trim(bytes, &removed) != TSR_OK) return report_error();
  report_text("%s removed", size_format(removed, text));
  return EXIT_DONE;
}

static int run_trim(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  tsr_cache_list *list = NULL;
  if (tsr_cache_list_load(&list) != TSR_OK) return report_error();
  uint64_t bytes = most_mb ? most_mb << 20 : list->limit_bytes;
  tsr_cache_list_release(list);
  return trim_to(bytes);
}

static int run_clear(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  return trim_to(0);
}

// --- Commands --------------------------------------------------------------------------------------------------------

static const option_spec list_options[] = {
    {.name = "json", .help = "print JSON, with all files", .flag = &as_json},
};

static const option_spec trim_options[] = {
    {.name = "to",
     .value_name = "MB",
     .help = "what may be left",
     .standard = "the setting cache_mb",
     .count = &most_mb},
};

static const tool_command command_cache_list = {
    .spec = {.name = "cache list",
             .summary = "show the files, the one that was used last first",
             .description = "Shows every file with its size and when it was last used, within a day; then the folder, "
                            "and why it is not used if that is so.",
             .options = list_options,
             .option_count = sizeof list_options / sizeof list_options[0],
             .example = "tessera cache list"},
    .run = run_list,
};

static const tool_command command_cache_trim = {
    .spec = {.name = "cache trim",
             .summary = "remove the files that have not been used for the longest time",
             .description = "Removes files until no more is left than the setting cache_mb allows, or --to. The "
                            "library does so itself whenever it adds a file.",
             .options = trim_options,
             .option_count = sizeof trim_options / sizeof trim_options[0],
             .example = "tessera cache trim --to 100"},
    .run = run_trim,
};

static const tool_command command_cache_clear = {
    .spec = {.name = "cache clear",
             .summary = "remove all files",
             .description = "Removes all files of the cache. Programs are built again when they are needed.",
             .example = "tessera cache clear"},
    .run = run_clear,
};

static const tool_command *const commands[] = {
    &command_cache_list,
    &command_cache_trim,
    &command_cache_clear,
};

const tool_command command_cache = {
    .spec = {.name = "cache",
             .summary = "list, trim and clear what is kept on disk",
             .description = "Programs that devices have built are kept in $XDG_CACHE_HOME/tessera, or "
                            "~/.cache/tessera, so that the next process need not build them. Nothing there is needed. "
                            "Only files and folders that nobody else can write are used.\n"
                            "\n"
                            "'tessera help cache COMMAND' shows the options of each command.",
             .argument_name = "COMMAND [...]",
             .example = "tessera cache list"},
    .commands = {commands, sizeof commands / sizeof commands[0]},
};
