// SPDX-License-Identifier: MIT
// `tessera demo`: lists the devices, trains a network before the user's eyes, and runs it on all of them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#include "commands.h"
#include "demo_result.h"
#include "demo_sheet.h"
#include "demo_view.h"
#include "device_choice.h"
#include "file.h"
#include "image.h"
#include "interrupt.h"
#include "profile_option.h"
#include "progress.h"
#include "report.h"
#include "size.h"

static const char name[] = "demo";
static const char *image_path;
static device_choice wanted;
static bool as_json, is_quiet;
static double seconds = 60, epochs = 8;
static uint64_t seed = 1;

static const option_spec options[] = {
    OPTION_DEVICE(wanted, "trains on the best, runs on all"),
    OPTION_BACKEND(wanted),
    OPTION_PROFILE,
    {.name = "seconds",
     .value_name = "N",
     .help = "how long it may take, about; it comes to an end in order, with less training",
     .standard = "60",
     .real = &seconds},
    {.name = "epochs",
     .value_name = "N",
     .help = "how often the network sees all digits to learn from; 0.1 is a tenth of them, 100 is the most",
     .standard = "8",
     .real = &epochs},
    {.name = "seed",
     .value_name = "N",
     .help = "other digits and other first parameters; the same seed gives the same training",
     .standard = "1",
     .count = &seed},
    {.name = "image",
     .value_name = "FILE",
     .help = "where to write the picture, .png or .ppm",
     .standard = "tessera-demo.png, with --json none",
     .text = &image_path},
    {.name = "quiet", .letter = 'q', .help = "print the results only", .flag = &is_quiet},
    {.name = "json", .help = "print JSON", .flag = &as_json},
};

static int step_count(void) { return (int)ceil(epochs * DEMO_BATCHES); }

// The part of the time that training may take; the rest is for the other devices.
static const double training_part = 0.7;

static bool is_talkative(void) { return !as_json && !is_quiet; }

// --- Which devices --------------------------------------------------------------------------------------------------------

static void describe(const tsr_backend_report *backend, const tsr_device_info *info, demo_visit *v) {
  snprintf(v->backend, sizeof v->backend, "%s", backend->name);
  snprintf(v->device_name, sizeof v->device_name, "%s", info->name);
  v->index = info->index;
  v->is_software = info->is_software;
}

// Fills `visits`, unless it is NULL, with the selected devices, and returns how many there are.
static int list_devices(const tsr_discovery *found, demo_visit *visits) {
  int count = 0;
  for (int b = 0; b < found->backend_count; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    for (int d = 0; d < backend->device_count; d++) {
      if (!device_choice_takes(&wanted, backend, &backend->devices[d])) continue;
      if (visits) describe(backend, &backend->devices[d], &visits[count]);
      count++;
    }
  }
  return count;
}

static int choose_devices(demo_result *result) {
  int exit_code = device_choice_check(&wanted, result->found);
  if (exit_code != EXIT_DONE) return exit_code;
  size_t most = (size_t)list_devices(result->found, NULL) + 1;
  result->visits = calloc(most, sizeof *result->visits);
  result->attempts = calloc(most, sizeof *result->attempts);
  result->attempt_visits = calloc(most, sizeof *result->attempt_visits);
  if (!result->visits || !result->attempts || !result->attempt_visits) return report_no_memory();
  result->visit_count = list_devices(result->found, result->visits);
  if (result->visit_count == 0 && wanted.backend[0]) {  // an unlisted backend, such as null
    demo_visit *v = &result->visits[result->visit_count++];
    memcpy(v->backend, wanted.backend, sizeof v->backend);
    v->index = wanted.index < 0 ? 0 : wanted.index;
  }
  return EXIT_DONE;
}

// Without --device the settings decide what to train on. If they leave no device, says why, as other commands do.
static int check_best(const tsr_discovery *found) {
  tsr_device *device = NULL;
  if (device_choice_is_made(&wanted) || found->best_backend >= 0) return EXIT_DONE;
  int exit_code = device_choice_open(&wanted, &device);
  tsr_device_release(device);
  return exit_code;
}

static bool is_best(const tsr_discovery *found, const demo_visit *v) {
  if (found->best_backend < 0) return false;
  const tsr_backend_report *backend = &found->backends[found->best_backend];
  return strcmp(backend->name, v->backend) == 0 && backend->devices[found->best_device].index == v->index;
}

// Which devices to train on, one after the other until it succeeds: the best, then the others. Those emulated on the CPU are slow, so that they
// are tried only when named.
static int order_candidates(const demo_result *result, int *out_order) {
  int count = 0;
  for (int i = 0; i < result->visit_count; i++) {
    if (is_best(result->found, &result->visits[i])) out_order[count++] = i;
  }
  for (int i = 0; i < result->visit_count; i++) {
    const demo_visit *v = &result->visits[i];
    if (!is_best(result->found, v) && (!v->is_software || device_choice_is_made(&wanted))) out_order[count++] = i;
  }
  return count;
}

// --- Training ---------------------------------------------------------------------------------------------------------------

static void print_training(const demo_visit *v) {
  char place[DEVICE_TEXT_BYTES];
  report_text("Learning to read digits on %s%s%s%s", device_format(v->backend, v->index, place),
              *v->device_name ? " (" : "", v->device_name, *v->device_name ? ")" : "");
  fflush(stdout);
}

// Trains on the device of a visit; true if that came to an end, early or not.
static bool attempt(demo_result *result, int visit, const demo_budget *budget, tsr_params **out_params) {
  demo_visit *v = &result->visits[visit];
  demo_training *t = &result->attempts[result->attempt_count];
  tsr_device *device = NULL;
  result->attempt_visits[result->attempt_count++] = visit;
  if (is_talkative()) print_training(v);
  t->end = DEMO_FAILED;
  t->status = device_open_exactly(v->backend, v->index, &device);
  if (t->status == TSR_OK) {
    demo_training_desc desc = {.device = device,
                               .digits = result->digits,
                               .budget = budget,
                               .budget_part = training_part,
                               .seed = seed,
                               .steps = step_count(),
                               .on_step = is_talkative() ? demo_view_step : NULL,
                               .on_epoch = is_talkative() ? demo_view_epoch : NULL};
    demo_train(&desc, t, out_params);
  } else {
    snprintf(t->message, sizeof t->message, "%s", tsr_last_error());
  }
  progress_end();
  tsr_device_release(device);
  return t->end != DEMO_FAILED;
}

static void print_failure(const demo_result *result, bool is_last) {
  char place[DEVICE_TEXT_BYTES];
  const demo_visit *v = demo_result_trained_on(result);
  fflush(stdout);
  fprintf(stderr, "tessera: training on %s failed: %s\n", device_format(v->backend, v->index, place),
          result->attempts[result->attempt_count - 1].message);
  if (is_last) return;
  fprintf(stderr, "tessera: going on with the next device\n");
}

// Trains on the first candidate that can. NULL if none can.
static tsr_params *train(demo_result *result, const demo_budget *budget, int *order) {
  tsr_params *params = NULL;
  int count = order_candidates(result, order);
  for (int i = 0; i < count; i++) {
    if (attempt(result, order[i], budget, &params)) return params;
    print_failure(result, i + 1 == count);
    if (interrupt_is_noted()) break;
  }
  return NULL;
}

// How much of the device's memory a step took at most.
static void print_memory(const tsr_grad_memory *memory) {
  char start[SIZE_TEXT_BYTES], forward[SIZE_TEXT_BYTES], backward[SIZE_TEXT_BYTES];
  report_text(
      "A step takes at most %s of memory in the forward pass and %s in the backward pass; %s of that are "
      "parameters, optimiser and digits",
      size_format(memory->forward_bytes, forward), size_format(memory->backward_bytes, backward),
      size_format(memory->start_bytes, start));
}

static void print_outcome(const demo_result *result) {
  char place[DEVICE_TEXT_BYTES];
  const demo_training *t = demo_result_training(result);
  const demo_visit *v = demo_result_trained_on(result);
  int tried = demo_tried_count(t), right = demo_right_count(t, result->digits);
  if (!is_quiet) printf("\n");
  report_text("%.2f %% of %d unseen digits read right, after %d step%s in %.1f s on %s", 100.0 * right / tried, tried,
              t->step_count, t->step_count == 1 ? "" : "s", t->seconds, device_format(v->backend, v->index, place));
  if (t->end == DEMO_TIME_OVER) {
    report_text("The training was cut short to end within %g s; --seconds gives it more.", seconds);
  } else if (t->end == DEMO_INTERRUPTED) {
    report_text("The training was interrupted.");
  }
  if (!is_quiet) print_memory(&t->memory);
  fflush(stdout);
}

// --- The other devices ------------------------------------------------------------------------------------------------------

// Devices emulated on the CPU come last, because they may take long.
static void visit_all(demo_result *result, const demo_reference *reference, const demo_budget *budget) {
  char place[DEVICE_TEXT_BYTES];
  for (int software = 0; software < 2; software++) {
    for (int i = 0; i < result->visit_count; i++) {
      demo_visit *v = &result->visits[i];
      if (v->is_software != (software == 1)) continue;
      device_format(v->backend, v->index, place);
      v->is_skipped = demo_budget_is_over(budget, 1);
      if (v->is_skipped) {
        snprintf(v->message, sizeof v->message, "skipped: %s; 'tessera demo --device %s' runs it alone",
                 interrupt_is_noted() ? "interrupted" : "the time is over", place);
      } else {
        if (is_talkative()) progress_show("%s: running both networks", place);
        demo_visit_run(reference, v);
      }
    }
  }
  progress_end();
}

static void skip_all(demo_result *result) {
  for (int i = 0; i < result->visit_count; i++) {
    result->visits[i].is_skipped = true;
    snprintf(result->visits[i].message, sizeof result->visits[i].message, "skipped: no network was trained");
  }
}

static int run_on_all(demo_result *result, const tsr_params *trained, const demo_budget *budget) {
  demo_reference reference;
  tsr_status status = demo_reference_init(&reference, trained, result->digits->test_images);
  if (status == TSR_OK) visit_all(result, &reference, budget);
  else if (status == TSR_ERR_OUT_OF_MEMORY) report_no_memory();
  else report_error();
  demo_reference_deinit(&reference);
  return status == TSR_OK ? EXIT_DONE : EXIT_ERROR;
}

static void print_notes(void) {
  report_text(
      "Both are the same C code on every device. The first run builds kernels; 'Again' includes copying in and out. "
      "Difference: the largest from the CPU, as a part of the largest result.");
}

// --- The command --------------------------------------------------------------------------------------------------------------

// The exit code for a run in which no device could train.
static int judge_failure(const demo_result *result) {
  bool has_unsupported_only = true;
  for (int i = 0; i < result->attempt_count; i++) {
    has_unsupported_only = has_unsupported_only && result->attempts[i].status == TSR_ERR_UNSUPPORTED;
  }
  if (has_unsupported_only) {
    fprintf(stderr,
            "tessera: there is no device that runs kernels; 'tessera devices --verbose' says what is missing\n");
    return EXIT_NO_DEVICE;
  }
  fprintf(stderr, "tessera: no device could train; 'tessera devices --test' tests each, --device names another one\n");
  return EXIT_NO;
}

static int judge(const demo_result *result) {
  const demo_training *t = demo_result_training(result);
  if (t->end == DEMO_INTERRUPTED || interrupt_is_noted()) return EXIT_INTERRUPTED;
  int failed = result->attempt_count - 1;
  if (t->end == DEMO_DONE && t->step_count >= DEMO_ACCURACY_STEPS &&
      demo_right_count(t, result->digits) < DEMO_ACCURACY * demo_tried_count(t)) {
    fprintf(stderr, "tessera: fewer than %g %% were read right; more epochs (--epochs) may help\n",
            100 * DEMO_ACCURACY);
    failed++;
  }
  for (int i = 0; i < result->visit_count; i++) {
    const demo_visit *v = &result->visits[i];
    for (int p = 0; p < DEMO_PROGRAM_COUNT && !v->is_skipped; p++) {
      bool is_unsupported = v->status == TSR_OK && v->outcomes[p].status == TSR_ERR_UNSUPPORTED;
      if (!demo_visit_has_passed(v, p) && !is_unsupported) failed++;
    }
  }
  return failed > 0 ? EXIT_NO : EXIT_DONE;
}

static const char *picture_path(void) { return image_path || as_json ? image_path : "tessera-demo.png"; }

static bool write_picture(demo_result *result) {
  const char *path = picture_path();
  char place[DEVICE_TEXT_BYTES];
  const demo_visit *v = demo_result_trained_on(result);
  device_format(v->backend, v->index, place);
  if (path && !demo_sheet_write(path, demo_result_training(result), result->digits, place)) return false;
  result->image = path;
  return true;
}

// After the training: the picture, the other devices.
static int show(demo_result *result, const tsr_params *trained, const demo_budget *budget) {
  if (is_talkative()) demo_view_digits(demo_result_training(result), result->digits);
  if (!as_json) print_outcome(result);
  if (!write_picture(result)) return EXIT_ERROR;
  if (result->image && !as_json) report_text("Digits and loss as a picture: %s", result->image);
  fflush(stdout);
  int exit_code = run_on_all(result, trained, budget);
  if (exit_code != EXIT_DONE || as_json) return exit_code;
  printf("\n");
  exit_code = demo_result_print_visits(result);
  if (!is_quiet) {
    printf("\n");
    print_notes();
  }
  return exit_code;
}

static int run_and_show(demo_result *result, const demo_budget *budget) {
  int *order = calloc((size_t)result->visit_count + 1, sizeof *order);
  demo_digits digits;
  bool is_ready = demo_digits_init(&digits, seed, step_count()) && order;
  result->digits = &digits;
  tsr_params *trained = is_ready ? train(result, budget, order) : NULL;
  int exit_code = is_ready ? EXIT_DONE : report_no_memory();
  if (trained) exit_code = show(result, trained, budget);
  else skip_all(result);
  result->seconds = demo_budget_elapsed(budget);
  if (is_ready && as_json) demo_result_write_json(result);
  if (is_ready && exit_code == EXIT_DONE) exit_code = trained ? judge(result) : judge_failure(result);
  tsr_params_release(trained);
  demo_digits_deinit(&digits);
  free(order);
  return exit_code;
}

// Creates the file of the picture before the training: if that fails, the user should learn it now and not after a minute.
static int run_with_picture(demo_result *result, const demo_budget *budget) {
  const char *path = picture_path();
  if (path && !file_write(path, "", 0, "", 0)) return EXIT_ERROR;
  int exit_code = run_and_show(result, budget);
  if (path && !result->image) remove(path);
  return exit_code;
}

static int check_options(void) {
  int exit_code = device_choice_read(&wanted, name);
  if (exit_code != EXIT_DONE) return exit_code;
  if (epochs > DEMO_EPOCHS_MOST) return report_usage(name, "--epochs takes a number up to %d", DEMO_EPOCHS_MOST);
  if (image_path && !image_takes(image_path, 3)) {
    return report_usage(name, "--image takes the name of a file that ends in .png or .ppm, not '%s'", image_path);
  }
  return EXIT_DONE;
}

static int run(int argument_count, char **arguments) {
  (void)argument_count, (void)arguments;
  tsr_discovery *found = NULL;
  int exit_code = check_options();
  if (exit_code != EXIT_DONE) return exit_code;
  demo_budget budget = demo_budget_begin(seconds);
  if (tsr_discover(&found) != TSR_OK) return report_error();
  demo_result result = {.found = found, .seed = seed};
  exit_code = check_best(found);
  if (exit_code == EXIT_DONE) exit_code = choose_devices(&result);
  if (exit_code == EXIT_DONE && is_talkative() && !device_choice_is_made(&wanted)) {
    exit_code = command_devices.run(0, NULL);
    printf("\n");
    fflush(stdout);
  }
  if (exit_code == EXIT_DONE) exit_code = run_with_picture(&result, &budget);
  free(result.visits);
  free(result.attempts);
  free(result.attempt_visits);
  tsr_discovery_release(found);
  return exit_code;
}

const tool_command command_demo = {
    .spec =
        {.name = name,
         .summary = "train a network to read digits, and run it on every device",
         .description =
             "Lists the devices, unless one is named, and trains a small convolutional network on the best one. It "
             "learns to read digits that are drawn for the run (nothing is downloaded), and is tried on digits that "
             "it has not seen. A picture shows some of them with what the network reads, and how it learned.\n"
             "\n"
             "Then the trained network and a block of a transformer run on every device. The table shows how long "
             "the first run and a later one took, how many kernels were launched, and the largest difference from "
             "the CPU.\n"
             "\n"
             "If a device fails, the reason is shown and the next one is used. Ctrl-C ends the training and shows "
             "what there is; a second one ends the program. The exit code is 1 if something failed, a difference is "
             "too "
             "large, or fewer than 98 % are read right after a training of four epochs or more; 4 if no device runs "
             "kernels.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .example = "tessera demo --device cpu --seconds 30 --image digits.png"},
    .run = run,
};
