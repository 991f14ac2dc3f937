// SPDX-License-Identifier: MIT
// `tessera check`: the conformance run, which compares every operator with a plain reference on each device.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "check_report.h"
#include "commands.h"
#include "device_choice.h"
#include "interrupt.h"
#include "pattern.h"
#include "profile_option.h"
#include "report.h"

static const char *pattern, *dtype_name, *part_text;
static device_choice wanted;
static uint64_t seed = 1, sample = 1;
static bool is_quick, is_large, is_grad, with_software, as_json, wants_list;

static const option_spec options[] = {
    OPTION_DEVICE(wanted, "every device that is no software"),
    OPTION_BACKEND(wanted),
    OPTION_PROFILE,
    {.name = "all", .help = "devices emulated on the CPU, too", .flag = &with_software},
    {.name = "op",
     .value_name = "PATTERN",
     .help =
         "only these operators ('log*'), or cases ('add/f32/*'); * and ? stand for others, a comma separates several",
     .text = &pattern},
    {.name = "dtype", .value_name = "D", .help = "only inputs of this dtype", .text = &dtype_name},
    {.name = "seed", .value_name = "S", .help = "other random inputs", .standard = "1", .count = &seed},
    {.name = "quick", .help = "a part of the cases, under a minute on two cores", .flag = &is_quick},
    {.name = "large", .help = "all cases, tensors of millions of elements too", .flag = &is_large},
    {.name = "sample",
     .value_name = "N",
     .help = "one case in N, chosen by the seed, and at least one of each operator",
     .standard = "1",
     .count = &sample},
    {.name = "part",
     .value_name = "I/N",
     .help = "part I of N, so that N processes share the work",
     .text = &part_text},
    {.name = "grad",
     .help = "gradients instead: against differences in f64 on the CPU, elsewhere against the CPU's",
     .flag = &is_grad},
    {.name = "list", .help = "list the operators instead, with dtypes and bounds", .flag = &wants_list},
    {.name = "json", .help = "print JSON, with every failure", .flag = &as_json},
};

// The devices and options to check, and the outcome.
typedef struct choice {
  int visited;
  bool has_failed;
  json_writer *json;  // NULL: print for people
  check_options options;
} choice;

// --- Devices ----------------------------------------------------------------------------------------------------------

static int check_one(choice *chosen, const char *name, int index) {
  check_run run = {.options = &chosen->options, .backend = name, .index = index};
  chosen->visited++;
  if (device_open_exactly(name, index, &run.device) != TSR_OK) return report_error();
  double start = bench_now_ns();
  int exit_code = check_run_all(&run) ? EXIT_DONE : report_no_memory();
  double seconds = (bench_now_ns() - start) * 1e-9;
  if (exit_code == EXIT_DONE && chosen->json) check_write(chosen->json, &run, seconds);
  if (exit_code == EXIT_DONE && !chosen->json) exit_code = check_print(&run, seconds);
  if (exit_code == EXIT_DONE && run.is_interrupted) exit_code = EXIT_INTERRUPTED;
  if (exit_code == EXIT_DONE && !check_has_passed(&run)) chosen->has_failed = true;
  tsr_device_release(run.device);
  check_run_deinit(&run);
  return exit_code;
}

// Software devices are checked only if they are named.
static bool is_chosen(const tsr_backend_report *report, const tsr_device_info *device) {
  if (!device_choice_takes(&wanted, report, device)) return false;
  return wanted.backend[0] || with_software || !device->is_software;
}

static int check_devices(choice *chosen, const tsr_discovery *found) {
  int exit_code = EXIT_DONE;
  for (int b = 0; b < found->backend_count && exit_code == EXIT_DONE; b++) {
    const tsr_backend_report *report = &found->backends[b];
    for (int d = 0; d < report->device_count && exit_code == EXIT_DONE; d++) {
      if (is_chosen(report, &report->devices[d])) exit_code = check_one(chosen, report->name, report->devices[d].index);
    }
  }
  return exit_code;
}

// An unlisted backend, such as null, has one device.
static int check_chosen(choice *chosen, const tsr_discovery *found) {
  if (device_choice_is_unlisted(&wanted, found))
    return check_one(chosen, wanted.backend, wanted.index < 0 ? 0 : wanted.index);
  int exit_code = check_devices(chosen, found);
  if (exit_code != EXIT_DONE || chosen->visited > 0) return exit_code;
  fprintf(stderr, "tessera: there is no device to check but software ones; --all takes these, too\n");
  return EXIT_NO_DEVICE;
}

// --- The command ------------------------------------------------------------------------------------------------------

static const char *level_name(check_level level) {
  return level == CHECK_QUICK ? "quick" : level == CHECK_LARGE ? "large" : "usual";
}

static int run_json(choice *chosen, const tsr_discovery *found) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "version", tsr_version());
  json_uint(&json, "seed", chosen->options.seed);
  json_text(&json, "level", level_name(chosen->options.level));
  json_uint(&json, "sample", chosen->options.sample);
  json_bool(&json, "grad", chosen->options.is_grad);
  json_begin_array(&json, "devices");
  chosen->json = &json;
  int exit_code = check_chosen(chosen, found);
  chosen->json = NULL;
  json_end_array(&json);
  json_bool(&json, "ok", exit_code == EXIT_DONE && !chosen->has_failed);
  json_end_object(&json);
  json_finish(&json);
  return exit_code;
}

static int run_list(void) {
  if (!as_json) return check_print_list(pattern);
  json_writer json;
  json_init(&json, stdout);
  check_write_list(&json, pattern);
  json_finish(&json);
  return EXIT_DONE;
}

static bool means_something(const char *part) {
  for (int i = 0; i < check_op_count(); i++) {
    if (check_means(part, check_op_at(i))) return true;
  }
  return false;
}

// Whether each part of --op matches an operator; otherwise prints which part does not. A misspelt name in a list would silently leave an operator unchecked.
static bool all_mean_something(void) {
  const char *list = pattern;
  char part[CHECK_ID_BYTES];
  if (list && !*list) return report_usage("check", "--op is empty; --list shows the operators"), false;
  while (pattern_next(&list, part, sizeof part)) {
    if (means_something(part)) continue;
    report_usage("check", "there is no operator '%s'; --list shows them", part);
    return false;
  }
  return true;
}

// Reads "2/3"; no text means 1/1.
static bool read_part(uint64_t *out_part, uint64_t *out_parts) {
  char *slash = NULL, *end = NULL;
  *out_part = *out_parts = 1;
  if (!part_text) return true;
  unsigned long long part = strtoull(part_text, &slash, 10);
  unsigned long long parts = *slash == '/' ? strtoull(slash + 1, &end, 10) : 0;
  bool is_right = end && end != slash + 1 && *end == '\0' && part_text[0] != '-' && part >= 1 && part <= parts;
  *out_part = part;
  *out_parts = parts;
  if (!is_right) report_usage("check", "--part takes I/N with I from 1 to N, such as 1/2, not '%s'", part_text);
  return is_right;
}

// Reads the options that the parser leaves as text. False, with a message, if one is wrong.
static bool read_choice(choice *chosen) {
  *chosen = (choice){0};
  chosen->options = (check_options){.seed = seed,
                                    .sample = sample,
                                    .pattern = pattern,
                                    .dtype = TSR_DTYPE_COUNT,
                                    .is_quiet = as_json,
                                    .is_grad = is_grad};
  if (!read_part(&chosen->options.part, &chosen->options.parts)) return false;
  chosen->options.level = is_large ? CHECK_LARGE : is_quick ? CHECK_QUICK : CHECK_USUAL;
  if (device_choice_read(&wanted, "check") != EXIT_DONE) return false;
  if (dtype_name && tsr_dtype_parse(dtype_name, &chosen->options.dtype) != TSR_OK) {
    report_usage("check", "%s", tsr_last_error());
    return false;
  }
  return all_mean_something();
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  choice chosen;
  if (!read_choice(&chosen)) return EXIT_USAGE;
  if (wants_list) return run_list();
  tsr_discovery *found = NULL;
  interrupt_catch();
  if (tsr_discover(&found) != TSR_OK) return report_error();
  int exit_code = device_choice_check(&wanted, found);
  if (exit_code == EXIT_DONE) exit_code = as_json ? run_json(&chosen, found) : check_chosen(&chosen, found);
  tsr_discovery_release(found);
  return exit_code == EXIT_DONE && chosen.has_failed ? EXIT_NO : exit_code;
}

const tool_command command_check = {
    .spec =
        {.name = "check",
         .summary = "compare every operator with a plain reference, on each device",
         .description =
             "Runs every operator with every dtype it takes on many shapes: empty ones, single elements, primes, "
             "views, broadcasts, large ones. Results are compared with a plain implementation in f64, or in "
             "integers; how large an error may be is in one table (--list --json), with the reason.\n"
             "\n"
             "With --grad the gradients of all operators are compared in place of their results, over the same shapes, "
             "views and broadcasts: in f64 on the CPU with central differences along a random direction, and second "
             "derivatives, too; in other dtypes and on other devices with those of the CPU in f64.\n"
             "\n"
             "Inputs are random and repeatable: they depend on the seed and on the name of the case. A failure "
             "shows the command that repeats just it. The exit code is 1 if any case fails, or if a gap that is "
             "listed as known passes.\n"
             "\n"
             "While it runs, a line on standard error says how far it is: on a terminal it is replaced, elsewhere "
             "there is one every five seconds. Ctrl-C and SIGTERM, as of timeout(1), end the run after the current "
             "case, with the results until then; the exit code is then 130.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .example = "tessera check --device cpu --op 'soft*'\ntessera check --op add/f32/transposed --seed 7"},
    .run = run,
};
