// SPDX-License-Identifier: MIT
// Where does the time go? Profiles a few steps of a network with labels, prints the longest piece of work, and writes
// a report to open in a browser.
//
//   20_profile [FILE]      FILE ends in .html (report), .json (trace for ui.perfetto.dev) or something else (table)
#include <stdio.h>
#include <string.h>

#include <tessera/tessera.h>

enum { BATCH = 256, INPUTS = 64, HIDDEN = 512, STEPS = 8 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// One step: labels name its parts. Operators belong to the label in which they are written, whenever they run.
static tsr_status step(tsr_device *device, tsr_tensor *w1, tsr_tensor *w2, int number) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_label_begin("step");
  tsr_label_begin("input");
  tsr_tensor *x = tsr_randn(device, TSR_F32, TSR_SHAPE(BATCH, INPUTS), (uint64_t)number);
  tsr_label_end();
  tsr_label_begin("network");
  tsr_tensor *hidden = tsr_relu(tsr_matmul(x, w1));
  tsr_tensor *y = tsr_softmax(tsr_matmul(hidden, w2), -1);
  tsr_label_end();
  tsr_label_begin("mean");
  tsr_tensor *mean = tsr_mean(y, TSR_AXES(0), false);
  tsr_status status = tsr_evaluate(mean);
  tsr_label_end();
  tsr_label_end();
  tsr_scope_end(scope);
  return status;
}

static tsr_status run_steps(tsr_device *device) {
  tsr_tensor *w1 = tsr_randn(device, TSR_F32, TSR_SHAPE(INPUTS, HIDDEN), 1000);
  tsr_tensor *w2 = tsr_randn(device, TSR_F32, TSR_SHAPE(HIDDEN, INPUTS), 1001);
  tsr_status status = TSR_OK;
  for (int i = 0; i < STEPS && status == TSR_OK; i++) status = step(device, w1, w2, i);
  tsr_release(w1);
  tsr_release(w2);
  return status;
}

// The records can be read one by one, too.
static tsr_status print_longest(const tsr_profile *profile) {
  tsr_profile_summary summary;
  tsr_profile_record longest = {.name = "", .operators = "", .label = ""};
  tsr_status status = tsr_profile_get_summary(profile, &summary);
  for (int i = 0; i < summary.record_count && status == TSR_OK; i++) {
    tsr_profile_record record;
    status = tsr_profile_get_record(profile, i, &record);
    if (record.kind <= TSR_PROFILE_NATIVE && record.duration_ns > longest.duration_ns) longest = record;
  }
  printf("%d records; the longest work was %s (%s) of label %s: %.3f ms\n", summary.record_count, longest.operators,
         longest.name, longest.label, (double)longest.duration_ns / 1e6);
  return status;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "-";
  tsr_device *device = NULL;
  tsr_profile *profile = NULL;
  // Before the device is opened: its limits are measured then, and it is asked for times of its own clock.
  tsr_status status = tsr_profile_begin(NULL);
  if (status == TSR_OK) status = tsr_device_open(NULL, &device);
  if (status == TSR_OK) status = run_steps(device);
  if (tsr_profile_end(&profile) != TSR_OK || status != TSR_OK) return fail();
  status = print_longest(profile);
  if (status == TSR_OK) status = tsr_profile_write(profile, path);
  tsr_profile_release(profile);
  tsr_device_release(device);
  if (status != TSR_OK) return fail();
  if (strcmp(path, "-") != 0) printf("written to %s\n", path);
  return 0;
}
