// SPDX-License-Identifier: MIT
// `tessera devices`: every backend with its devices, or the reason why it has none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/device.h>
#include <tessera/version.h>

#include "commands.h"
#include "device_choice.h"
#include "json.h"
#include "report.h"
#include "size.h"
#include "trial.h"

static bool as_json, wants_test, is_verbose;
static device_choice wanted;

static const option_spec options[] = {
    OPTION_DEVICE(wanted, "all"),
    OPTION_BACKEND(wanted),
    {.name = "json", .help = "print JSON, with all that is known of each device", .flag = &as_json},
    {.name = "verbose",
     .letter = 'v',
     .help = "say of each backend without a device what was looked for and how to get one; of each device, its driver",
     .flag = &is_verbose},
    {.name = "test", .help = "open each device, test it, and show PASS or what went wrong", .flag = &wants_test},
};

// A device to show. `result` is NULL unless it was tested.
typedef struct entry {
  const tsr_backend_report *backend;
  const tsr_device_info *device;
  bool is_best;
  const trial *result;
} entry;

// Whether some device of the backend is selected. Without a selection, backends without devices are shown, too.
static bool is_shown(const tsr_backend_report *backend) {
  if (!device_choice_is_made(&wanted)) return true;
  for (int d = 0; d < backend->device_count; d++) {
    if (device_choice_takes(&wanted, backend, &backend->devices[d])) return true;
  }
  return false;
}

static bool is_best(const tsr_discovery *found, int backend, int device) {
  return backend == found->best_backend && device == found->best_device;
}

// The result of the device's test, or NULL if it was not tested. Results are in the order of the report.
static const trial *result_of(const tsr_discovery *found, const trial *results, int backend, int device) {
  for (int b = 0; b < backend; b++) device += found->backends[b].device_count;
  return results ? &results[device] : NULL;
}

// --- JSON ------------------------------------------------------------------------------------------------------

static const char *type_name(tsr_device_type type) {
  switch (type) {
    case TSR_DEVICE_CPU:
      return "cpu";
    case TSR_DEVICE_INTEGRATED_GPU:
      return "integrated_gpu";
    case TSR_DEVICE_DISCRETE_GPU:
      return "discrete_gpu";
    default:
      return "other";
  }
}

static void write_device(json_writer *json, const entry *shown) {
  const tsr_device_info *device = shown->device;
  json_begin_object(json, NULL);
  json_int(json, "index", device->index);
  json_text(json, "name", device->name);
  json_text(json, "driver", device->driver);
  json_text(json, "uuid", device->uuid);
  json_text(json, "pci", device->pci);
  json_text(json, "arch", device->arch);
  json_text(json, "type", type_name(device->type));
  json_bool(json, "software", device->is_software);
  json_bool(json, "unified_memory", device->has_unified_memory);
  json_int(json, "compute_units", device->compute_units);
  json_uint(json, "total_bytes", device->total_bytes);
  json_uint(json, "free_bytes", device->free_bytes);
  json_uint(json, "max_buffer_bytes", device->max_buffer_bytes);
  json_bool(json, "best", shown->is_best);
  if (shown->result) {
    json_begin_object(json, "test");
    json_bool(json, "passed", shown->result->has_passed);
    json_text(json, "message", shown->result->message);
    json_end_object(json);
  }
  json_end_object(json);
}

static void write_best(json_writer *json, const tsr_discovery *found) {
  if (found->best_backend < 0) {
    json_null(json, "best");
    return;
  }
  const tsr_backend_report *backend = &found->backends[found->best_backend];
  json_begin_object(json, "best");
  json_text(json, "backend", backend->name);
  json_int(json, "index", backend->devices[found->best_device].index);
  json_text(json, "name", backend->devices[found->best_device].name);
  json_end_object(json);
}

static void write_json(const tsr_discovery *found, const trial *results) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "version", tsr_version());
  json_begin_array(&json, "backends");
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    if (!is_shown(backend)) continue;
    json_begin_object(&json, NULL);
    json_text(&json, "name", backend->name);
    json_text(&json, "title", backend->title);
    json_text(&json, "status", tsr_status_name(backend->status));
    json_text(&json, "reason", backend->reason);
    json_text(&json, "plugin", backend->plugin_path);
    json_begin_array(&json, "devices");
    for (int d = 0; d < backend->device_count; d++) {
      if (!device_choice_takes(&wanted, backend, &backend->devices[d])) continue;
      entry shown = {backend, &backend->devices[d], is_best(found, b, d), result_of(found, results, b, d)};
      write_device(&json, &shown);
    }
    json_end_array(&json);
    json_end_object(&json);
  }
  json_end_array(&json);
  write_best(&json, found);
  json_end_object(&json);
  json_finish(&json);
}

// --- For people ------------------------------------------------------------------------------------------------

// Formats "cuda", or "cuda:1" if the backend has several devices.
static void format_place(const tsr_backend_report *backend, int index, char *text) {
  if (backend->device_count > 1) device_format(backend->name, index, text);
  else snprintf(text, DEVICE_TEXT_BYTES, "%s", backend->name);
}

// The first device in the report that is the same hardware (by UUID); NULL if that is the device itself, or if it has
// no UUID.
static const tsr_device_info *first_same(const tsr_discovery *found, const tsr_device_info *device,
                                         const tsr_backend_report **out_backend) {
  for (int b = 0; b < found->backend_count && *device->uuid; b++) {
    *out_backend = &found->backends[b];
    for (int d = 0; d < (*out_backend)->device_count; d++) {
      const tsr_device_info *other = &(*out_backend)->devices[d];
      if (other == device) return NULL;
      if (strcmp(other->uuid, device->uuid) == 0) return other;
    }
  }
  return NULL;
}

// Adds a line of text below the device or backend that it describes.
static void add_note(table *t, term_style style, const char *before, const char *text) {
  for (int i = 0; i < 2; i++) table_cell(t, TERM_PLAIN, "%s", "");
  table_span(t, style, "%s%s", before, text);
}

static void add_plugin(table *t, const tsr_backend_report *backend) {
  bool is_named = backend->device_count == 0 && backend->plugin_path && strstr(backend->reason, backend->plugin_path);
  if (backend->plugin_path && !is_named) add_note(t, TERM_DIM, "plug-in ", backend->plugin_path);
}

static void add_device(table *t, const tsr_discovery *found, const entry *shown) {
  char place[DEVICE_TEXT_BYTES], memory[SIZE_TEXT_BYTES];
  const tsr_device_info *device = shown->device;
  const tsr_backend_report *other = NULL;
  const tsr_device_info *same = first_same(found, device, &other);
  bool has_failed = shown->result && !shown->result->has_passed;

  format_place(shown->backend, device->index, place);
  table_cell(t, shown->is_best ? TERM_BOLD : TERM_PLAIN, "%s", place);
  table_cell(t, TERM_GOOD, "%s", shown->is_best ? "*" : "");
  table_cell(t, TERM_PLAIN, "%s", device->name);
  table_cell(t, TERM_PLAIN, "%s", size_format_memory(device->total_bytes, device->free_bytes, memory));
  table_cell(t, has_failed ? TERM_BAD : TERM_GOOD, "%s%s",
             !shown->result ? "ok"
             : has_failed   ? "FAILED"
                            : "PASS",
             device->is_software ? ", software" : "");
  if (has_failed) add_note(t, TERM_BAD, "", shown->result->message);
  if (same) {
    format_place(other, same->index, place);
    add_note(t, TERM_DIM, "same device as ", place);
  }
  if (is_verbose && *device->driver) add_note(t, TERM_DIM, "driver ", device->driver);
}

// The length of the reason's first clause: only --verbose prints the rest, in brackets or after a semicolon.
static int first_clause(const char *reason) {
  const char *bracket = strstr(reason, " ("), *semicolon = strchr(reason, ';');
  const char *end = reason + strlen(reason);
  if (bracket) end = bracket;
  if (semicolon && semicolon < end) end = semicolon;
  return (int)(end - reason);
}

static void add_absent(table *t, const tsr_backend_report *backend) {
  const char *reason = *backend->reason ? backend->reason : "no device";
  table_cell(t, TERM_DIM, "%s", backend->name);
  table_cell(t, TERM_PLAIN, "%s", "");
  table_span(t, TERM_DIM, "%.*s", is_verbose ? (int)strlen(reason) : first_clause(reason), reason);
}

static void add_backend(table *t, const tsr_discovery *found, const trial *results, int b) {
  const tsr_backend_report *backend = &found->backends[b];
  if (backend->device_count == 0) add_absent(t, backend);
  for (int d = 0; d < backend->device_count; d++) {
    if (!device_choice_takes(&wanted, backend, &backend->devices[d])) continue;
    entry shown = {backend, &backend->devices[d], is_best(found, b, d), result_of(found, results, b, d)};
    add_device(t, found, &shown);
  }
  add_plugin(t, backend);
}

// There are devices, but the settings exclude all of them: prints the error that a program would get.
static void print_no_best(void) {
  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) == TSR_OK) {
    report_text("Best device: %s, which is opened when named and not listed", tsr_device_backend(device));
  } else {
    report_text("Best device: none. %s (see 'tessera config')", tsr_last_error());
  }
  tsr_device_release(device);
}

static void print_best(const tsr_discovery *found) {
  if (found->best_backend >= 0) {
    char place[DEVICE_TEXT_BYTES];
    const tsr_backend_report *backend = &found->backends[found->best_backend];
    format_place(backend, backend->devices[found->best_device].index, place);
    report_text("Best device: %s", place);
  } else if (trial_device_count(found) > 0) {
    print_no_best();
  } else {
    report_text("Best device: none. 'tessera devices --verbose' says what each backend needs.");
  }
}

static bool has_absent(const tsr_discovery *found) {
  for (int b = 0; b < found->backend_count; b++) {
    if (found->backends[b].device_count == 0) return true;
  }
  return false;
}

static int print_table(const tsr_discovery *found, const trial *results) {
  static const table_column columns[] = {
      {.heading = "Backend", .narrowest = 8},  // the mark of the best device follows without a gap
      {.heading = "", .gap = 2},
      {.heading = "Device", .gap = 2, .narrowest = 16},
      {.heading = "Memory", .gap = 2, .narrowest = 9},
      {.heading = "Status"},
  };
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int b = 0; b < found->backend_count; b++) {
    if (is_shown(&found->backends[b])) add_backend(&t, found, results, b);
  }
  int exit_code = report_table(&t);
  if (device_choice_is_made(&wanted)) return exit_code;
  printf("\n");
  print_best(found);
  if (!is_verbose && found->best_backend >= 0 && has_absent(found)) {
    report_text("'tessera devices --verbose' says what was looked for and how to get the others.");
  }
  return exit_code;
}

// --- The command -----------------------------------------------------------------------------------------------

static int judge(const tsr_discovery *found, const trial *results) {
  int count = trial_device_count(found);
  if (count == 0) {
    fprintf(stderr, "tessera: there is no device to test\n");
    return EXIT_NO_DEVICE;
  }
  int exit_code = EXIT_DONE;
  for (int i = 0; i < count; i++) {
    if (results[i].status == TSR_ERR_CONFIG) {  // says nothing about the device
      fprintf(stderr, "tessera: %s\n", results[i].message);
      return EXIT_ERROR;
    }
    if (!results[i].has_passed) exit_code = EXIT_NO;
  }
  return exit_code;
}

static int show(const tsr_discovery *found, const trial *results) {
  int exit_code = EXIT_DONE;
  if (as_json) {
    write_json(found, results);
  } else {
    exit_code = print_table(found, results);
  }
  return exit_code == EXIT_DONE && results ? judge(found, results) : exit_code;
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  tsr_discovery *found = NULL;
  int exit_code = device_choice_read(&wanted, "devices");
  if (exit_code != EXIT_DONE) return exit_code;
  if (tsr_discover(&found) != TSR_OK) return report_error();
  exit_code = device_choice_check(&wanted, found);
  trial *results = wants_test && exit_code == EXIT_DONE ? trial_run_all(found) : NULL;
  if (exit_code == EXIT_DONE) exit_code = wants_test && !results ? report_no_memory() : show(found, results);
  free(results);
  tsr_discovery_release(found);
  return exit_code;
}

const tool_command command_devices = {
    .spec = {.name = "devices",
             .summary = "list this machine's devices, and why others are missing",
             .description = "Lists every backend with its devices, or with the reason why it has none; --verbose "
                            "says more. The best device, marked with *, is the one that programs get unless "
                            "they ask for another. Devices emulated on the CPU are marked 'software'; they "
                            "are used only when named.\n"
                            "\n"
                            "With --test each device is opened and computes a little: the exit code is 1 if "
                            "any of them fails, 4 if there is none.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .example = "tessera devices --test"},
    .run = run,
};
