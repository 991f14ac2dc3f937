// SPDX-License-Identifier: MIT
// `tessera demo`: runs the same small programs on every device, with their times and their difference from plain C.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#include "bench_progress.h"
#include "bench_time.h"
#include "commands.h"
#include "demo_image.h"
#include "demo_programs.h"
#include "device_choice.h"
#include "image.h"
#include "json.h"
#include "report.h"

static const char name[] = "demo";
static const char *image_path;
static device_choice wanted;
static bool as_json;

static const option_spec options[] = {
    OPTION_DEVICE(wanted, "every device found"),
    OPTION_BACKEND(wanted),
    {.name = "image",
     .value_name = "FILE",
     .help = "where to write the picture, .png or .ppm",
     .standard = "tessera-demo.png, with --json none",
     .text = &image_path},
    {.name = "json", .help = "print JSON", .flag = &as_json},
};

enum { MESSAGE_BYTES = 512, WARM_RUNS = 3 };

// The outcome of one program on one device.
typedef struct outcome {
  tsr_status status;
  char message[MESSAGE_BYTES];
  double first_ns, again_ns;  // the first run, which builds kernels; then the best of a few
  uint64_t kernels;           // launched by one run
  double difference;          // the largest difference from the reference; infinite if a result is NaN
} outcome;

typedef struct visit {
  char backend[TSR_NAME_BYTES];
  int index;
  char device_name[TSR_NAME_BYTES];
  bool is_software;
  tsr_status status;  // of opening the device
  char message[MESSAGE_BYTES];
  outcome outcomes[DEMO_PROGRAM_COUNT];
} visit;

// --- Running --------------------------------------------------------------------------------------------------------------

static double largest_difference(const float *result, const double *expected, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = (double)result[i] - expected[i];
    if (difference < 0) difference = -difference;
    if (!(difference <= largest)) largest = difference;  // also true for NaN
    if (isnan(largest)) return INFINITY;
  }
  return largest;
}

static tsr_status run_once(tsr_device *device, const demo_program *program, const float *inputs, float *result,
                           double *out_ns, uint64_t *out_kernels) {
  tsr_device_counters before = {0}, after = {0};
  tsr_device_get_counters(device, &before);
  tsr_scope *scope = tsr_scope_begin(device);
  double start = bench_now_ns();
  tsr_status status = program->run(device, inputs, result);
  *out_ns = bench_now_ns() - start;
  tsr_scope_end(scope);
  tsr_device_get_counters(device, &after);
  *out_kernels = after.launches - before.launches;
  return status;
}

static void run_program(tsr_device *device, int number, const demo_data *data, float *result, outcome *out) {
  const demo_program *program = &demo_programs[number];
  out->status = run_once(device, program, data->inputs, result, &out->first_ns, &out->kernels);
  for (int i = 0; i < WARM_RUNS && out->status == TSR_OK; i++) {
    double ns = 0;
    out->status = run_once(device, program, data->inputs, result, &ns, &out->kernels);
    if (i == 0 || ns < out->again_ns) out->again_ns = ns;
  }
  if (out->status == TSR_OK) out->difference = largest_difference(result, data->expected[number], program->count);
  else snprintf(out->message, sizeof out->message, "%s", tsr_last_error());
}

static bool has_passed(const visit *v, int number) {
  return v->status == TSR_OK && v->outcomes[number].status == TSR_OK &&
         v->outcomes[number].difference <= demo_programs[number].bound;
}

static size_t largest_result(void) {
  size_t most = 0;
  for (int i = 0; i < DEMO_PROGRAM_COUNT; i++) {
    if (demo_programs[i].count > most) most = demo_programs[i].count;
  }
  return most;
}

// `image` receives the picture if the device computed it.
static void run_device(const demo_data *data, visit *v, float *result, float *image, bool *has_image) {
  tsr_device *device = NULL;
  v->status = device_open_exactly(v->backend, v->index, &device);
  if (v->status != TSR_OK) {
    snprintf(v->message, sizeof v->message, "%s", tsr_last_error());
    return;
  }
  for (int i = 0; i < DEMO_PROGRAM_COUNT; i++) {
    bench_progress("%s:%d: %s", v->backend, v->index, demo_programs[i].what);
    run_program(device, i, data, result, &v->outcomes[i]);
    if (i == DEMO_IMAGE_PROGRAM && has_passed(v, i) && !*has_image) {
      memcpy(image, result, demo_programs[i].count * sizeof *image);
      *has_image = true;
    }
  }
  tsr_device_release(device);
}

// --- Which devices --------------------------------------------------------------------------------------------------------

typedef struct visit_list {
  visit *items;
  int count;
} visit_list;

static void describe(const tsr_backend_report *backend, const tsr_device_info *info, visit *v) {
  snprintf(v->backend, sizeof v->backend, "%s", backend->name);
  snprintf(v->device_name, sizeof v->device_name, "%s", info->name);
  v->index = info->index;
  v->is_software = info->is_software;
}

// Fills `items`, unless it is NULL, with the selected devices, and returns how many there are.
static int list_devices(const tsr_discovery *found, visit *items) {
  int count = 0;
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    for (int d = 0; d < backend->device_count; d++) {
      if (!device_choice_takes(&wanted, backend, &backend->devices[d])) continue;
      if (items) describe(backend, &backend->devices[d], &items[count]);
      count++;
    }
  }
  return count;
}

static int choose_devices(const tsr_discovery *found, visit_list *list) {
  int exit_code = device_choice_check(&wanted, found);
  if (exit_code != EXIT_DONE) return exit_code;
  list->count = list_devices(found, NULL);
  list->items = calloc((size_t)list->count + 1, sizeof *list->items);
  if (!list->items) return report_no_memory();
  list_devices(found, list->items);
  if (list->count == 0 && wanted.backend[0]) {  // an unlisted backend, such as null
    visit *v = &list->items[list->count++];
    memcpy(v->backend, wanted.backend, sizeof v->backend);
    v->index = wanted.index < 0 ? 0 : wanted.index;
  }
  return EXIT_DONE;
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

static void write_outcome(json_writer *json, const visit *v, int number) {
  const demo_program *program = &demo_programs[number];
  const outcome *o = &v->outcomes[number];
  json_begin_object(json, NULL);
  json_text(json, "name", program->name);
  json_text(json, "what", program->what);
  json_text(json, "status", tsr_status_name(o->status));
  json_text(json, "message", o->message);
  if (o->status == TSR_OK) {
    json_real(json, "first_ms", o->first_ns / 1e6);
    json_real(json, "again_ms", o->again_ns / 1e6);
    json_uint(json, "kernels", o->kernels);
    json_real(json, "difference", o->difference);
  }
  json_real(json, "bound", program->bound);
  json_text(json, "bound_reason", program->why);
  json_bool(json, "passed", has_passed(v, number));
  json_end_object(json);
}

static void write_visit(json_writer *json, const visit *v) {
  json_begin_object(json, NULL);
  json_text(json, "backend", v->backend);
  json_int(json, "index", v->index);
  json_text(json, "name", v->device_name);
  json_bool(json, "software", v->is_software);
  json_text(json, "status", tsr_status_name(v->status));
  json_text(json, "message", v->message);
  json_begin_array(json, "programs");
  for (int i = 0; i < DEMO_PROGRAM_COUNT && v->status == TSR_OK; i++) write_outcome(json, v, i);
  json_end_array(json);
  json_end_object(json);
}

static void write_json(const tsr_discovery *found, const visit_list *list, const char *image) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "version", tsr_version());
  json_begin_array(&json, "devices");
  for (int i = 0; i < list->count; i++) write_visit(&json, &list->items[i]);
  json_end_array(&json);
  json_begin_array(&json, "absent");
  for (int b = 0; b < found->backend_count; b++) {
    if (found->backends[b].device_count > 0) continue;
    json_begin_object(&json, NULL);
    json_text(&json, "backend", found->backends[b].name);
    json_text(&json, "reason", found->backends[b].reason);
    json_end_object(&json);
  }
  json_end_array(&json);
  json_text(&json, "image", image);
  json_end_object(&json);
  json_finish(&json);
}

// --- For people -------------------------------------------------------------------------------------------------------------

static void add_outcome(table *t, const visit *v, int number) {
  char text[BENCH_TIME_TEXT_BYTES];
  const outcome *o = &v->outcomes[number];
  table_cell(t, TERM_PLAIN, "%s", demo_programs[number].what);
  if (o->status != TSR_OK) {
    table_span(t, TERM_BAD, "%s", o->message);
    return;
  }
  table_cell(t, TERM_PLAIN, "%s", bench_format_ns(o->first_ns, text));
  table_cell(t, TERM_BOLD, "%s", bench_format_ns(o->again_ns, text));
  table_cell(t, TERM_PLAIN, "%llu", (unsigned long long)o->kernels);
  bool is_right = has_passed(v, number);
  table_cell(t, is_right ? TERM_GOOD : TERM_BAD, "%.2g%s", o->difference, is_right ? "" : ", too large");
}

static int print_visits(const visit_list *list) {
  static const table_column columns[] = {
      {.heading = "Device", .gap = 2},
      {.heading = "Program", .gap = 2, .narrowest = 12},
      {.heading = "First run", .gap = 2, .is_right = true},
      {.heading = "Again", .gap = 2, .is_right = true},
      {.heading = "Kernels", .gap = 2, .is_right = true},
      {.heading = "Difference"},
  };
  table t;
  char place[DEVICE_TEXT_BYTES];
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < list->count; i++) {
    const visit *v = &list->items[i];
    for (int p = 0; p < (v->status == TSR_OK ? DEMO_PROGRAM_COUNT : 1); p++) {
      if (p == 0) table_cell(&t, TERM_BOLD, "%s", device_format(v->backend, v->index, place));
      else table_cell(&t, TERM_PLAIN, "%s", "");
      if (v->status == TSR_OK) {
        add_outcome(&t, v, p);
      } else {
        table_span(&t, TERM_BAD, "%s", v->message);
      }
    }
  }
  return report_table(&t);
}

static void print_notes(const char *image) {
  printf("\n");
  report_text(
      "Each program is the same C code on every device. The first run builds its kernels; 'Again' includes "
      "copying the inputs in and the result out. Difference: the largest from plain C in f64.");
  if (image) report_text("The picture that the kernel made: %s", image);
}

// --- The command --------------------------------------------------------------------------------------------------------------

static int judge(const visit_list *list) {
  int passed = 0, failed = 0;
  for (int i = 0; i < list->count; i++) {
    const visit *v = &list->items[i];
    for (int p = 0; p < DEMO_PROGRAM_COUNT; p++) {
      if (has_passed(v, p)) passed++;
      else if (v->status != TSR_OK || v->outcomes[p].status != TSR_ERR_UNSUPPORTED) failed++;
    }
  }
  if (failed > 0) return EXIT_NO;
  if (passed > 0) return EXIT_DONE;
  fprintf(stderr, "tessera: there is no device that runs kernels\n");
  return EXIT_NO_DEVICE;
}

static int run_and_show(const tsr_discovery *found, visit_list *list) {
  demo_data data;
  bool has_image = false;
  float *result = malloc(2 * largest_result() * sizeof *result), *image = result ? result + largest_result() : NULL;
  bench_progress("computing the right answers in plain C");
  bool is_ready = demo_data_init(&data) && result;
  for (int i = 0; i < list->count && is_ready; i++) run_device(&data, &list->items[i], result, image, &has_image);
  bench_progress_end();
  demo_data_deinit(&data);

  const char *path = image_path || as_json ? image_path : "tessera-demo.png";
  int exit_code = is_ready ? EXIT_DONE : report_no_memory();
  if (is_ready && path && has_image && !demo_image_write(path, image)) exit_code = EXIT_ERROR;
  free(result);
  if (exit_code != EXIT_DONE) return exit_code;
  const char *written = has_image ? path : NULL;
  if (as_json) write_json(found, list, written);
  else exit_code = print_visits(list);
  if (!as_json) print_notes(written);
  return exit_code == EXIT_DONE ? judge(list) : exit_code;
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  tsr_discovery *found = NULL;
  visit_list list = {0};
  int exit_code = device_choice_read(&wanted, name);
  if (exit_code != EXIT_DONE) return exit_code;
  if (image_path && !image_takes(image_path, 3)) {
    return report_usage(name, "--image takes the name of a file that ends in .png or .ppm, not '%s'", image_path);
  }
  if (tsr_discover(&found) != TSR_OK) return report_error();
  exit_code = choose_devices(found, &list);
  if (exit_code == EXIT_DONE && !as_json && !device_choice_is_made(&wanted)) {
    exit_code = command_devices.run(0, NULL);
    printf("\n");
    fflush(stdout);
  }
  if (exit_code == EXIT_DONE) exit_code = run_and_show(found, &list);
  free(list.items);
  tsr_discovery_release(found);
  return exit_code;
}

const tool_command command_demo = {
    .spec = {.name = name,
             .summary = "run the same small programs on every device found",
             .description =
                 "Lists the devices, unless one is named, and runs four programs on each: a chain of element-wise "
                 "operators, which becomes "
                 "one kernel; a matrix product with bias and activation; softmax; and a kernel written in Tessera's "
                 "kernel language, which makes a picture of the Mandelbrot set. The table shows how long the first run "
                 "and a later one took, how many kernels were launched, and the largest difference from "
                 "the same in plain C.\n"
                 "\n"
                 "The exit code is 1 if a difference is too large or a program fails, 4 if no device runs kernels. A "
                 "device that cannot run a program is shown with the reason.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .example = "tessera demo --device cpu --image mandelbrot.png"},
    .run = run,
};
