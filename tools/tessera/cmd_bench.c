// SPDX-License-Identifier: MIT
// `tessera bench`: measures how fast a device runs operators, and compares it with the limits of the machine.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#include "bench_compare.h"
#include "bench_measure.h"
#include "bench_time.h"
#include "bench_tuned.h"
#include "commands.h"
#include "device_choice.h"
#include "image.h"
#include "json.h"
#include "pattern.h"
#include "profile_option.h"
#include "progress.h"
#include "report.h"

static const char name[] = "bench";
static const char *pattern, *size_text, *dtype_text;
static device_choice wanted;
static uint64_t repeat;
static double least_seconds = 0.2;
static bool as_json, wants_list, takes_turns, compares, compares_tuned;
static const char *chart_path;

static const option_spec options[] = {
    OPTION_DEVICE(wanted, "the best one"),
    OPTION_BACKEND(wanted),
    OPTION_PROFILE,
    {.name = "op",
     .value_name = "PATTERN",
     .help = "only the rows whose name matches; * and ? stand for others, a comma separates several",
     .standard = "all",
     .text = &pattern},
    {.name = "size",
     .value_name = "N|RxC",
     .help = "elements of the first input, or its rows and columns (N alone: a square of about as many)",
     .standard = "each row's own",
     .text = &size_text},
    {.name = "dtype", .value_name = "D", .help = "element type", .standard = "f32", .text = &dtype_text},
    {.name = "repeat",
     .value_name = "N",
     .help = "samples to take of each row, at most 1000",
     .standard = "11 or more, fewer if they are slow",
     .count = &repeat},
    {.name = "min-time",
     .value_name = "SECONDS",
     .help = "how long to measure each row at least",
     .standard = "0.2",
     .real = &least_seconds},
    {.name = "turns",
     .help = "take one sample of one row for each line on standard input, and print its nanoseconds",
     .flag = &takes_turns},
    {.name = "compare", .help = "time the same work on every device, beside the CPU", .flag = &compares},
    {.name = "tuned",
     .help = "time each row as it is tuned beside the usual way, in turns; the exit code is 1 if one is slower",
     .flag = &compares_tuned},
    {.name = "chart",
     .value_name = "FILE",
     .help = "with --compare: write a chart, as .png or .ppm",
     .text = &chart_path},
    {.name = "json", .help = "print JSON, with all figures of each row", .flag = &as_json},
    {.name = "list", .help = "show what there is to time, and do nothing", .flag = &wants_list},
};

// --- What was asked for -------------------------------------------------------------------------------------------------

// Rows with the same name differ only in size, so with --size one of them is enough.
static bool is_repeated(int number) {
  return size_text && number > 0 && strcmp(bench_rows[number].name, bench_rows[number - 1].name) == 0;
}

// Selects the rows to time, in their order. `rows` has room for all of them.
static int choose_rows(const bench_row **rows) {
  int count = 0;
  for (int i = 0; i < bench_row_count; i++) {
    if (pattern_list_matches(pattern, bench_rows[i].name) && !is_repeated(i)) rows[count++] = &bench_rows[i];
  }
  return count;
}

static int64_t side_of_square(int64_t elements) {
  int64_t side = 1;
  while ((side + 1) * (side + 1) <= elements) side++;
  return side;
}

static bool parse_number(const char *text, char **out_end, int64_t *out_number) {
  errno = 0;
  if (!isdigit((unsigned char)*text)) return false;
  long long number = strtoll(text, out_end, 10);
  *out_number = number;
  return errno == 0 && number > 0 && number <= (long long)1 << 32;
}

static int parse_size(bench_plan *plan) {
  char *end = NULL;
  if (!size_text) return EXIT_DONE;
  bool is_good = parse_number(size_text, &end, &plan->rows);
  if (is_good && *end == 'x') {
    is_good = parse_number(end + 1, &end, &plan->cols) && plan->rows <= ((int64_t)1 << 32) / plan->cols;
  } else if (is_good) {
    plan->cols = plan->rows = side_of_square(plan->rows);
  }
  if (is_good && *end == '\0') return EXIT_DONE;
  return report_usage(name, "--size takes a number of elements or ROWSxCOLUMNS, up to 2^32 elements, not '%s'",
                      size_text);
}

static int read_plan(bench_plan *plan) {
  *plan =
      (bench_plan){.dtype = TSR_F32, .repeats = repeat, .least_ns = least_seconds * 1e9, .takes_turns = takes_turns};
  int exit_code = device_choice_read(&wanted, name);
  if (exit_code == EXIT_DONE) exit_code = parse_size(plan);
  if (exit_code != EXIT_DONE) return exit_code;
  if (dtype_text && tsr_dtype_parse(dtype_text, &plan->dtype) != TSR_OK) {
    return report_usage(name, "--dtype: %s", tsr_last_error());
  }
  return EXIT_DONE;
}

// --- JSON ---------------------------------------------------------------------------------------------------------------

static void write_optional(json_writer *json, const char *key, double value) {
  if (value > 0) json_real(json, key, value);
  else json_null(json, key);
}

static void write_row(json_writer *json, const bench_result *r) {
  json_begin_object(json, NULL);
  json_text(json, "name", r->row->name);
  json_text(json, "what", r->row->what);
  json_int(json, "rows", r->rows);
  json_int(json, "cols", r->cols);
  json_text(json, "dtype", tsr_dtype_name(r->dtype));
  json_text(json, "status", tsr_status_name(r->status));
  json_text(json, "message", r->message);
  json_int(json, "samples", r->samples);
  json_int(json, "steps", r->steps);
  write_optional(json, "median_ns", r->median_ns);
  write_optional(json, "best_ns", r->best_ns);
  write_optional(json, "low_ns", r->low_ns);
  write_optional(json, "high_ns", r->high_ns);
  write_optional(json, "bytes", r->bytes);
  write_optional(json, "flops", r->flops);
  write_optional(json, "gb_s", bench_gb_s(r));
  write_optional(json, "gflop_s", bench_gflop_s(r));
  json_text(json, "bound", bench_bound_name(r->bound));
  write_optional(json, "limit", r->limit);
  write_optional(json, "share", r->share);
  json_end_object(json);
}

static void write_limits(json_writer *json, const bench_limits *limits) {
  json_begin_array(json, "limits");
  for (int i = 0; i < BENCH_BOUND_COUNT; i++) {
    if (limits->best[i] <= 0) continue;
    json_begin_object(json, NULL);
    json_text(json, "bound", bench_bound_name((bench_bound)i));
    json_text(json, "unit", bench_bound_unit((bench_bound)i));
    json_real(json, "best", limits->best[i]);
    json_end_object(json);
  }
  json_end_array(json);
}

static void write_json(const bench_limits *limits, const tsr_device_info *info, const bench_result *results,
                       int count) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "version", tsr_version());
  json_text(&json, "backend", tsr_device_backend(limits->device));
  json_int(&json, "device", info->index);
  json_text(&json, "device_name", info->name);
  json_bool(&json, "software", info->is_software);
  if (limits->threads) json_int(&json, "threads", limits->threads);
  else json_null(&json, "threads");
  json_begin_array(&json, "rows");
  for (int i = 0; i < count; i++) write_row(&json, &results[i]);
  json_end_array(&json);
  write_limits(&json, limits);
  json_end_object(&json);
  json_finish(&json);
}

// --- For people ---------------------------------------------------------------------------------------------------------

static void add_figure(table *t, double value, const char *unit) {
  if (value <= 0) table_cell(t, TERM_DIM, "-");
  else table_cell(t, TERM_PLAIN, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

static void add_size(table *t, int64_t rows, int64_t cols) {
  if (rows == 0) table_cell(t, TERM_DIM, "-");
  else if (cols == 1) table_cell(t, TERM_PLAIN, "%lld", (long long)rows);
  else table_cell(t, TERM_PLAIN, "%lldx%lld", (long long)rows, (long long)cols);
}

static void add_row(table *t, const bench_result *r) {
  char time[BENCH_TIME_TEXT_BYTES];
  table_cell(t, TERM_PLAIN, "%s", r->row->name);
  add_size(t, r->rows, r->cols);
  if (r->status != TSR_OK) {
    table_span(t, TERM_BAD, "%s", r->message);
    return;
  }
  table_cell(t, TERM_BOLD, "%s", bench_format_ns(r->median_ns, time));
  table_cell(t, TERM_PLAIN, "%.0f %%", 50 * (r->high_ns - r->low_ns) / r->median_ns);
  add_figure(t, bench_gb_s(r), "");
  add_figure(t, bench_gflop_s(r), "");
  if (r->share <= 0) table_cell(t, TERM_DIM, "-");
  else table_cell(t, TERM_PLAIN, "%.0f %%", 100 * r->share);
  table_cell(t, TERM_DIM, "%s", r->row->what);
}

static void print_limits(const bench_limits *limits) {
  char text[512] = "";
  size_t used = 0;
  for (int i = 0; i < BENCH_BOUND_COUNT && used < sizeof text; i++) {
    if (limits->best[i] <= 0) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %.*f %s",
                             used ? "," : "Measured limits:", bench_bound_name((bench_bound)i),
                             limits->best[i] < 100 ? 1 : 0, limits->best[i], bench_bound_unit((bench_bound)i));
  }
  if (used == 0) return;
  printf("\n");
  report_text("%s", text);
}

static int print_results(const bench_limits *limits, const tsr_device_info *info, const bench_result *results,
                         int count) {
  static const table_column columns[] = {
      {.heading = "Row", .gap = 2},
      {.heading = "Size", .gap = 2, .is_right = true},
      {.heading = "Median", .gap = 2, .is_right = true},
      {.heading = "+-", .gap = 2, .is_right = true},
      {.heading = "GB/s", .gap = 2, .is_right = true},
      {.heading = "GFLOP/s", .gap = 2, .is_right = true},
      {.heading = "Of limit", .gap = 2, .is_right = true},
      {.heading = "What", .narrowest = 24, .is_optional = true},
  };
  char threads[32] = "";
  if (limits->threads)
    snprintf(threads, sizeof threads, ", %d thread%s", limits->threads, limits->threads == 1 ? "" : "s");
  report_text("%s:%d: %s, %s%s", tsr_device_backend(limits->device), info->index, info->name,
              tsr_dtype_name(results[0].dtype), threads);
  printf("\n");
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < count; i++) add_row(&t, &results[i]);
  int exit_code = report_table(&t);
  print_limits(limits);
  return exit_code;
}

static int print_list(const bench_row *const *rows, int count) {
  static const table_column columns[] = {{.heading = "Row", .gap = 2},
                                         {.heading = "Size", .gap = 2, .is_right = true},
                                         {.heading = "What", .narrowest = 20}};
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < count; i++) {
    table_cell(&t, TERM_PLAIN, "%s", rows[i]->name);
    add_size(&t, rows[i]->rows, rows[i]->cols);
    table_cell(&t, TERM_PLAIN, "%s", rows[i]->what);
  }
  return report_table(&t);
}

// --- The command --------------------------------------------------------------------------------------------------------

// A device may lack something, such as a dtype; any other failure is an error.
static int judge(const bench_result *results, int count) {
  int timed = 0;
  for (int i = 0; i < count; i++) {
    tsr_status status = results[i].status;
    if (status == TSR_OK) timed++;
    else if (status != TSR_ERR_UNSUPPORTED && status != TSR_ERR_DTYPE) return EXIT_ERROR;
  }
  return timed > 0 ? EXIT_DONE : EXIT_NO;
}

static int measure_and_show(const bench_plan *plan, bench_limits *limits, const bench_row *const *rows, int count) {
  int exit_code = EXIT_DONE;
  tsr_device_info info;
  if (tsr_device_get_info(plan->device, &info) != TSR_OK) return report_error();
  bench_result *results = calloc((size_t)count, sizeof *results);
  if (!results) return report_no_memory();
  for (int i = 0; i < count; i++) {
    progress_show("%d of %d: %s", i + 1, count, rows[i]->name);
    bench_measure(plan, rows[i], limits, &results[i]);
  }
  progress_end();
  if (as_json) write_json(limits, &info, results, count);
  else exit_code = print_results(limits, &info, results, count);
  if (exit_code == EXIT_DONE) exit_code = judge(results, count);
  free(results);
  return exit_code;
}

static int run_rows(bench_plan *plan, const bench_row *const *rows, int count) {
  int exit_code = device_choice_open(&wanted, &plan->device);
  if (exit_code != EXIT_DONE) return exit_code;
  bench_limits limits;
  tsr_status status = bench_limits_init(&limits, plan->device);
  exit_code = status == TSR_OK ? measure_and_show(plan, &limits, rows, count) : report_error();
  bench_limits_deinit(&limits);
  tsr_device_release(plan->device);
  return exit_code;
}

// --- Comparing devices -----------------------------------------------------------------------------------------------

static void add_comparison(table *t, const compare_result *result, int d, int w) {
  char time[BENCH_TIME_TEXT_BYTES];
  const compare_device *device = &result->devices[d];
  const compare_cell *cell = &device->cells[w];
  table_cell(t, TERM_PLAIN, "%s", d == 0 ? compare_works[w].name : "");
  table_cell(t, TERM_PLAIN, "%lld", (long long)(cell->n ? cell->n : compare_works[w].large));
  table_cell(t, TERM_PLAIN, "%s", device->name);
  if (device->status != TSR_OK || cell->status != TSR_OK) {
    table_span(t, TERM_BAD, "%s", device->status != TSR_OK ? device->message : cell->message);
    return;
  }
  table_cell(t, TERM_BOLD, "%s", bench_format_ns(cell->ns, time));
  double ratio = compare_ratio(result, d, w);
  table_cell(t, TERM_PLAIN, "%.*f", ratio < 0.0995 ? 4 : ratio < 9.995 ? 2 : 0, ratio);
  if (device->is_cpu) table_cell(t, TERM_DIM, "-");
  else if (cell->faster_from == 0) table_cell(t, TERM_PLAIN, "never");
  else table_cell(t, TERM_PLAIN, "n = %lld", (long long)cell->faster_from);
  table_cell(t, TERM_DIM, "%s", d == 0 ? compare_works[w].what : "");
}

static int print_comparison(const compare_result *result) {
  static const table_column columns[] = {
      {.heading = "Work", .gap = 2},
      {.heading = "n", .gap = 2, .is_right = true},
      {.heading = "Device", .gap = 2},
      {.heading = "Time", .gap = 2, .is_right = true},
      {.heading = "x CPU", .gap = 2, .is_right = true},
      {.heading = "Faster from", .gap = 2, .is_right = true},
      {.heading = "What", .narrowest = 20, .is_optional = true},
  };
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int w = 0; w < COMPARE_WORKS; w++) {
    for (int d = 0; d < result->count; d++) add_comparison(&t, result, d, w);
  }
  int exit_code = report_table(&t);
  printf("\n");
  report_text(
      "'Faster from' is the smallest n from which on the device is faster than the CPU; below it the CPU is. What was "
      "measured is kept for TESSERA_PLACEMENT=measured.");
  return exit_code;
}

static void write_comparison(const compare_result *result) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_begin_array(&json, "devices");
  for (int d = 0; d < result->count; d++) {
    const compare_device *device = &result->devices[d];
    json_begin_object(&json, NULL);
    json_text(&json, "device", device->name);
    json_text(&json, "device_name", device->full_name);
    json_bool(&json, "software", device->is_software);
    json_text(&json, "status", tsr_status_name(device->status));
    json_text(&json, "message", device->message);
    json_real(&json, "run_ns", device->speed.run_ns);
    json_real(&json, "kernel_ns", device->speed.kernel_ns);
    json_real(&json, "byte_ns", device->speed.byte_ns);
    json_real(&json, "multiply_add_ns", device->speed.multiply_add_ns);
    json_real(&json, "copied_byte_ns", device->speed.copied_byte_ns);
    json_begin_array(&json, "works");
    for (int w = 0; w < COMPARE_WORKS; w++) {
      json_begin_object(&json, NULL);
      json_text(&json, "name", compare_works[w].name);
      json_int(&json, "n", device->cells[w].n);
      json_text(&json, "status", tsr_status_name(device->cells[w].status));
      write_optional(&json, "ns", device->cells[w].ns);
      write_optional(&json, "times_cpu", compare_ratio(result, d, w));
      json_int(&json, "faster_from", device->cells[w].faster_from);
      json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
  }
  json_end_array(&json);
  json_end_object(&json);
  json_finish(&json);
}

static int compare(void) {
  static compare_result result;
  if (chart_path && (!image_is_name(chart_path) || !image_takes(chart_path, 3))) {
    return report_usage(name, "--chart takes the name of a .png or .ppm file, not '%s'", chart_path);
  }
  int exit_code = device_choice_read(&wanted, name);
  if (exit_code == EXIT_DONE) exit_code = compare_run(&result, &wanted, least_seconds * 0.15e9);
  if (exit_code != EXIT_DONE) return exit_code;
  if (as_json) write_comparison(&result);
  else exit_code = print_comparison(&result);
  if (exit_code == EXIT_DONE && chart_path && !compare_draw(&result, chart_path)) exit_code = EXIT_ERROR;
  return exit_code;
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  bench_plan plan;
  if (chart_path && !compares) return report_usage(name, "--chart is for --compare");
  if (compares) return compare();
  int exit_code = read_plan(&plan);
  if (exit_code != EXIT_DONE) return exit_code;
  const bench_row **rows = calloc((size_t)bench_row_count, sizeof *rows);
  if (!rows) return report_no_memory();
  int count = choose_rows(rows);
  if (count == 0) exit_code = report_usage(name, "no row is called '%s'; --list shows them", pattern);
  else if (wants_list) exit_code = print_list(rows, count);
  else if (takes_turns && count > 1) exit_code = report_usage(name, "--turns is for one row; --op chooses it");
  else if (compares_tuned) exit_code = bench_tuned_run(&plan, &wanted, rows, count, as_json);
  else exit_code = run_rows(&plan, rows, count);
  free(rows);
  return exit_code;
}

const tool_command command_bench = {
    .spec =
        {.name = name,
         .summary = "time operators on a device, beside the machine's limits",
         .description =
             "Times each row of a list on one device: operators on large tensors, and what it costs to record, plan, "
             "compile and launch. A row is warmed up, then sampled; the table shows the median, half the distance "
             "between the quartiles, the bytes and operations per second, and their share of what the machine can "
             "do at most.\n"
             "\n"
             "That limit is measured in the same run, before and after each row. On the CPU it is a plain C loop "
             "with as many threads, arrays and bytes, the better of ordinary stores and stores past the "
             "caches; on other devices a copy within the device; for matmul the rate of f32 multiply-adds. Bytes "
             "are those of the inputs and of the result, each counted once.\n"
             "\n"
             "A step records an operator and queues its kernels; a sample is several steps and one wait for the "
             "device.\n"
             "\n"
             "With --compare seven works run at growing sizes on every device, software ones too: the table has the "
             "time of the largest size, how many times as fast as the CPU that is, and from which size on the "
             "device is faster. It measures one captured run and the wait for it, in about ten seconds a device, and "
             "keeps each device's "
             "speed for TESSERA_PLACEMENT=measured.\n"
             "\n"
             "With --tuned each row is timed with what 'tessera tune' has stored and without, in turns. A row that "
             "lost four of five turns by 3 % or more is timed again on three devices with tuning and three without; it "
             "is slower if each of the first is slower than each of the second.\n"
             "\n"
             "With --turns a row waits for a line on standard input before each sample, so that another program can be "
             "timed in between: a GPU that gets hot is slow for both.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .example = "tessera bench --op 'sum*,softmax' --size 1000x1000"},
    .run = run,
};
