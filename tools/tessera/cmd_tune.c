// SPDX-License-Identifier: MIT
// `tessera tune`: finds the fastest way to run operators on a device, and shows or forgets what is known.
#include <stdio.h>
#include <tessera/tessera.h>

#include "bench_rows.h"
#include "commands.h"
#include "device_choice.h"
#include "interrupt.h"
#include "json.h"
#include "pattern.h"
#include "progress.h"
#include "report.h"

static const char name[] = "tune";
static const char *pattern;
static device_choice wanted;
static bool is_full, shows, clears, as_json;

static const option_spec options[] = {
    OPTION_DEVICE(wanted, "the best one"),
    OPTION_BACKEND(wanted),
    {.name = "op",
     .value_name = "PATTERN",
     .help = "only the operators whose name matches; * and ? stand for others, a comma separates several",
     .standard = "all that tessera bench --list shows",
     .text = &pattern},
    {.name = "full", .help = "try each for up to five seconds, instead of 0.3", .flag = &is_full},
    {.name = "show", .help = "print what is known, and time nothing", .flag = &shows},
    {.name = "clear", .help = "forget what is known, and time nothing", .flag = &clears},
    {.name = "json", .help = "print JSON", .flag = &as_json},
};

// --- What is known ------------------------------------------------------------------------------------------------------

typedef struct counts {
  int known, faster, bad;
} counts;

static void count_one(void *context, const tsr_tuned *tuned) {
  counts *c = context;
  c->known += !tuned->is_bad;
  c->faster += !tuned->is_bad && tuned->choice[0];
  c->bad += tuned->is_bad;
}

static void write_one(void *context, const tsr_tuned *tuned) {
  json_writer *json = context;
  json_begin_object(json, NULL);
  json_text(json, "work", tuned->work);
  json_text(json, "choice", tuned->choice);
  json_real(json, "usual_us", tuned->usual_us);
  json_real(json, "chosen_us", tuned->chosen_us);
  json_bool(json, "bad", tuned->is_bad);
  json_end_object(json);
}

static void add_one(void *context, const tsr_tuned *tuned) {
  table *t = context;
  table_cell(t, TERM_PLAIN, "%s", tuned->work);
  table_cell(t, TERM_DIM, "%.1f", tuned->usual_us);
  if (tuned->is_bad) table_cell(t, TERM_BAD, "wrong");
  else table_cell(t, TERM_BOLD, "%.1f", tuned->chosen_us);
  table_cell(t, TERM_PLAIN, "%s", tuned->choice[0] ? tuned->choice : "the usual way");
}

static tsr_status print_json(tsr_device *device) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "backend", tsr_device_backend(device));
  json_begin_array(&json, "tuned");
  tsr_status status = tsr_tuned_each(device, write_one, &json);
  json_end_array(&json);
  json_end_object(&json);
  json_finish(&json);
  return status;
}

static int print_known(tsr_device *device) {
  static const table_column columns[] = {
      {.heading = "Work", .gap = 2, .narrowest = 24},
      {.heading = "Usual us", .gap = 2, .is_right = true},
      {.heading = "Best us", .gap = 2, .is_right = true},
      {.heading = "By", .narrowest = 16},
  };
  counts c = {0};
  if (as_json) return print_json(device) == TSR_OK ? EXIT_DONE : report_error();
  if (tsr_tuned_each(device, count_one, &c) != TSR_OK) return report_error();
  if (c.known + c.bad == 0) {
    report_text("Nothing is known yet; `tessera tune` finds out.");
    return EXIT_DONE;
  }
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  if (tsr_tuned_each(device, add_one, &t) != TSR_OK) return report_error();
  int exit_code = report_table(&t);
  report_text("%d kinds of work, %d of them faster than the usual way; %d ways are wrong or failed.", c.known, c.faster,
              c.bad);
  return exit_code;
}

// --- Tuning -------------------------------------------------------------------------------------------------------------

static bool is_asked_for(const bench_row *row) {
  return row->make && row->rows > 0 && pattern_list_matches(pattern, row->name);
}

// Runs the operator once on a tensor of this size, which tunes its kinds of work. A size that the device has no memory for is passed over.
static void tune_row(const bench_row *row, tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols) {
  bench_case c;
  double ns;
  if (bench_case_init(&c, row, device, dtype, rows, cols) == TSR_OK) (void)bench_case_sample(&c, 1, &ns);
  bench_case_deinit(&c);
}

static int tune_all(tsr_device *device) {
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16};
  enum { DTYPES = 2, SIZES = 3, SMALLER = 8 };  // sizes by steps of 8 x 8
  int chosen = 0, done = 0;
  interrupt_catch();
  for (int i = 0; i < bench_row_count; i++) chosen += is_asked_for(&bench_rows[i]);
  if (chosen == 0) return report_usage(name, "no operator matches '%s'; 'tessera bench --list' shows them", pattern);
  for (int i = 0; i < bench_row_count && !interrupt_is_noted(); i++) {
    const bench_row *row = &bench_rows[i];
    if (!is_asked_for(row)) continue;
    int64_t rows = row->rows, cols = row->cols;
    for (int size = 0; size < SIZES && rows > 0 && !interrupt_is_noted(); size++) {
      progress_show("%d of %d: %s %lld x %lld", done + 1, chosen, row->name, (long long)rows, (long long)cols);
      for (int d = 0; d < DTYPES; d++) tune_row(row, device, dtypes[d], rows, cols);
      rows = rows > SMALLER ? rows / SMALLER : rows;
      cols = cols > SMALLER ? cols / SMALLER : cols;
    }
    done++;
  }
  progress_end();
  return interrupt_is_noted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int work_on(tsr_device *device) {
  if (clears && tsr_tuned_clear(device) != TSR_OK) return report_error();
  if (clears) return EXIT_DONE;
  int exit_code = shows ? EXIT_DONE : tune_all(device);
  if (exit_code == EXIT_USAGE) return exit_code;
  int printed = print_known(device);
  return exit_code == EXIT_DONE ? printed : exit_code;
}

static int run(int argument_count, char **arguments) {
  (void)argument_count;
  (void)arguments;
  tsr_device *device = NULL;
  int exit_code = device_choice_read(&wanted, name);
  if (exit_code != EXIT_DONE) return exit_code;
  if (shows && clears) return report_usage(name, "--show and --clear exclude each other");
  if (tsr_config_set("tune", is_full ? "full" : "quick") != TSR_OK) return report_error();
  exit_code = device_choice_open(&wanted, &device);
  if (exit_code != EXIT_DONE) return exit_code;
  exit_code = work_on(device);
  tsr_device_release(device);
  return exit_code;
}

const tool_command command_tune = {
    .spec =
        {.name = name,
         .summary = "find the fastest way to run operators on a device",
         .description =
             "Runs the operators of `tessera bench` on tensors of several sizes in f32 and bf16, times other ways to "
             "compute each "
             "(group and tile sizes, native operators or kernels, numbers of threads), and keeps the fastest on disk: "
             "programs on this device use it from then on, unless TESSERA_TUNE is off. A way that fails or gives "
             "another "
             "result than the usual one is not used, and not tried again.\n"
             "\n"
             "Programs tune their own work by themselves with TESSERA_TUNE=quick or full.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .example = "tessera tune --device cpu --op 'sum*,softmax'"},
    .run = run,
};
