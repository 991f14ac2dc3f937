// SPDX-License-Identifier: MIT
// `tessera kernel run`: runs a kernel with arguments from the command line, and shows the results.
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/config.h>
#include <tessera/kernel.h>

#include "bench_time.h"
#include "cmd_kernel.h"
#include "device_choice.h"
#include "kernel_arg.h"
#include "kernel_source.h"
#include "profile_option.h"
#include "report.h"

enum { MAX_ARGUMENTS = 96 };  // the limits of the language: 32 buffers and 64 scalars

static const char name[] = "kernel run";
static const char *groups_text, *items_text, *timeout, *defines[KERNEL_MAX_DEFINES];
static device_choice wanted;
static uint64_t repeat;
static kernel_choice choice = {.defines = {.texts = defines, .max = KERNEL_MAX_DEFINES}};

static const option_spec options[] = {
    OPTION_KERNEL(choice),
    OPTION_DEFINE(choice),
    OPTION_CHECKED(choice),
    {.name = "items",
     .value_name = "X[,Y[,Z]]",
     .help = "how many work items, rounded up to whole groups",
     .text = &items_text},
    {.name = "groups", .value_name = "X[,Y[,Z]]", .help = "how many groups, instead", .text = &groups_text},
    OPTION_DEVICE(wanted, "the best one"),
    OPTION_BACKEND(wanted),
    OPTION_PROFILE,
    {.name = "timeout", .value_name = "TIME", .help = "give up after so long, such as 500ms or 30s", .text = &timeout},
    {.name = "repeat",
     .value_name = "N",
     .help = "launch it N times, one after the other on the same buffers, and print the median of the times",
     .count = &repeat},
};

// A kernel with its arguments and device.
typedef struct kernel_run {
  tsr_kernel *kernel;
  tsr_device *device;
  tsr_grid grid;
  kernel_arg args[MAX_ARGUMENTS];
  int arg_count;
} kernel_run;

// --- Before ---------------------------------------------------------------------------------------------------------

static bool parse_sizes(const char *text, uint64_t sizes[3]) {
  sizes[0] = sizes[1] = sizes[2] = 1;
  for (int i = 0; i < 3; i++) {
    char *end = NULL;
    errno = 0;
    if (!isdigit((unsigned char)*text)) return false;
    sizes[i] = strtoull(text, &end, 10);
    if (errno == ERANGE || (*end != '\0' && *end != ',')) return false;
    if (*end == '\0') return true;
    text = end + 1;
  }
  return false;
}

static int choose_grid(kernel_run *run) {
  uint64_t sizes[3];
  if (!groups_text == !items_text) {
    return report_usage(name, "say how much to run, by one of --items X[,Y[,Z]] and --groups X[,Y[,Z]]");
  }
  const char *option = groups_text ? "--groups" : "--items", *text = groups_text ? groups_text : items_text;
  if (!parse_sizes(text, sizes)) {
    return report_usage(name, "%s takes one to three whole numbers separated by commas, not '%s'", option, text);
  }
  if (items_text) {
    run->grid = tsr_grid_for(run->kernel, sizes[0], sizes[1], sizes[2]);
    return EXIT_DONE;
  }
  for (int i = 0; i < 3; i++) {
    if (sizes[i] > UINT32_MAX) return report_usage(name, "--groups: %s is too large", text);
  }
  run->grid = (tsr_grid){(uint32_t)sizes[0], (uint32_t)sizes[1], (uint32_t)sizes[2]};
  return EXIT_DONE;
}

static int report_count(const kernel_run *run, int given) {
  char list[1024] = "";
  size_t used = 0;
  for (int i = 0; i < tsr_kernel_param_count(run->kernel) && used < sizeof list; i++) {
    tsr_kernel_param param;
    char text[160];
    if (tsr_kernel_get_param(run->kernel, i, &param) != TSR_OK) break;
    kernel_arg_describe(&param, text, sizeof text);
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", text);
  }
  return report_usage(name, "%s takes %d arguments (%s), %d given", tsr_kernel_name(run->kernel),
                      tsr_kernel_param_count(run->kernel), list, given);
}

static int parse_arguments(kernel_run *run, int count, char **texts) {
  if (count != tsr_kernel_param_count(run->kernel)) return report_count(run, count);
  for (int i = 0; i < count; i++) {
    tsr_kernel_param param;
    char message[KERNEL_ARG_MESSAGE_BYTES] = "", text[160];
    if (tsr_kernel_get_param(run->kernel, i, &param) != TSR_OK) return report_error();
    bool is_good = kernel_arg_parse(texts[i], &param, &run->args[run->arg_count++], message);
    kernel_arg_describe(&param, text, sizeof text);
    if (!is_good && message[0]) return report_usage(name, "argument %d, %s: %s", i + 1, text, message);
    if (!is_good) return EXIT_ERROR;  // already reported
  }
  return EXIT_DONE;
}

static int open_device(kernel_run *run) {
  if (timeout && tsr_config_set("timeout", timeout) != TSR_OK) return report_usage(name, "%s", tsr_last_error());
  return device_choice_open(&wanted, &run->device);
}

// --- The run --------------------------------------------------------------------------------------------------------

// Launches the kernel and waits for its end, since some errors are only reported then.
static tsr_status launch_once(const kernel_run *run, tsr_grid grid, double *out_ns) {
  tsr_arg values[MAX_ARGUMENTS];
  for (int i = 0; i < run->arg_count; i++) values[i] = run->args[i].value;
  double start = bench_now_ns();
  tsr_status status = tsr_kernel_launch(run->kernel, grid, values, run->arg_count);
  if (status == TSR_OK) status = tsr_device_synchronize(run->device);
  *out_ns = bench_now_ns() - start;
  return status;
}

static void print_time(const kernel_run *run, double *times, int count) {
  tsr_device_info info = {0};
  tsr_device_get_info(run->device, &info);
  bench_sort(times, count);
  printf("%s on %s (%s): %.4g ms, median of %d\n", tsr_kernel_name(run->kernel), tsr_device_backend(run->device),
         info.name, bench_quantile(times, count, 0.5) * 1e-6, count);
}

static int launch(const kernel_run *run) {
  if (repeat > INT_MAX) return report_usage(name, "--repeat takes at most %d", INT_MAX);
  int count = repeat ? (int)repeat : 1;
  double unused = 0, *times = calloc((size_t)count, sizeof *times);
  if (!times) return report_no_memory();
  tsr_status status =
      launch_once(run, (tsr_grid){0, 0, 0}, &unused);  // an empty launch, which builds the kernel, so that the times
                                                       // do not include that
  for (int i = 0; i < count && status == TSR_OK; i++) status = launch_once(run, run->grid, &times[i]);
  if (status == TSR_OK && repeat) print_time(run, times, count);
  free(times);
  return status == TSR_OK ? EXIT_DONE : kernel_source_report();
}

static int run_kernel(kernel_run *run, int count, char **texts) {
  int exit_code = device_choice_read(&wanted, name);
  if (exit_code == EXIT_DONE) exit_code = choose_grid(run);
  if (exit_code == EXIT_DONE) exit_code = parse_arguments(run, count, texts);
  if (exit_code == EXIT_DONE) exit_code = open_device(run);
  for (int i = 0; i < run->arg_count && exit_code == EXIT_DONE; i++) {
    if (!kernel_arg_upload(&run->args[i], run->device)) exit_code = report_error();
  }
  if (exit_code == EXIT_DONE) exit_code = launch(run);
  for (int i = 0; i < run->arg_count && exit_code == EXIT_DONE; i++) exit_code = kernel_arg_show(&run->args[i]);
  return exit_code;
}

static int run(int argument_count, char **arguments) {
  if (argument_count == 0) return report_usage(name, "missing: FILE");
  static kernel_run state;
  int exit_code = kernel_source_build(arguments[0], &choice, &state.kernel);
  if (exit_code == EXIT_DONE) exit_code = run_kernel(&state, argument_count - 1, arguments + 1);
  for (int i = 0; i < state.arg_count; i++) kernel_arg_deinit(&state.args[i]);
  tsr_kernel_release(state.kernel);
  tsr_device_release(state.device);
  return exit_code;
}

const tool_command command_kernel_run = {
    .spec = {.name = "kernel run",
             .summary = "run a kernel with arguments given here",
             .description =
                 "Builds a kernel of the file ('-' is standard input), runs it on one device and prints the "
                 "buffers it wrote. There is one argument for each parameter, in their order: a number for a "
                 "scalar; for a buffer\n"
                 "\n"
                 "[DTYPE:]SHAPE=CONTENTS, such as 16=zeros, f32:4x3=arange or 8=rand:7\n"
                 "\n"
                 "where DTYPE, if given, is the parameter's, and CONTENTS are zeros, ones, arange (0, 1, 2, ...), "
                 "rand or rand:SEED (floats from 0 to 1, integers from 0 to 99), numbers separated by commas (one "
                 "alone for every element), or @FILE (raw bytes). @FILE without a shape has as many elements as "
                 "there are in it. A buffer that is only written may have the contents 'out', or none: it begins "
                 "with zeros.\n"
                 "\n"
                 "'>FILE' after it writes what a buffer holds afterwards to a file instead of printing it: raw "
                 "bytes, or an image of u8 if the name ends in .png (HEIGHTxWIDTH or HEIGHTxWIDTHx3), .pgm "
                 "(HEIGHTxWIDTH) or .ppm (HEIGHTxWIDTHx3). "
                 "Quote it for the shell.",
             .options = options,
             .option_count = sizeof options / sizeof options[0],
             .argument_name = "FILE ARGUMENT ...",
             .argument_max = MAX_ARGUMENTS + 1,
             .example = "A kernel saxpy(in f32 x[], inout f32 y[], f32 a, u32 n) on 8 elements:\n"
                        "tessera kernel run saxpy.tk --items 8 8=arange 8=ones 2.5 8\n"
                        "\n"
                        "A picture, on the CPU and timed:\n"
                        "tessera kernel run julia.tk --device cpu --repeat 10 --items 640,480 \\\n"
                        "    '480x640=out>julia.png' 640 480 -0.8 0.156"},
    .run = run,
};
