// SPDX-License-Identifier: MIT
// A picture computed again and again: two waves are added, captured once, and run for each moment without recording anew.
//
//   04_capture [MOMENTS]
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { POINTS = 64 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// A number from 0 to 1 for each point at `moment`, which is a tensor of one element.
static tsr_tensor *waves(tsr_device *device, tsr_tensor *moment) {
  tsr_tensor *x = tsr_linspace(device, TSR_F32, 0, 12, POINTS);
  tsr_tensor *there = tsr_sin(tsr_add(x, moment)), *back = tsr_cos(tsr_sub(tsr_mul_scalar(x, 0.5), moment));
  return tsr_add_scalar(tsr_mul_scalar(tsr_add(there, back), 0.25), 0.5);
}

static tsr_status show(tsr_device *device, int moments) {
  float now = 0, heights[POINTS];
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *moment = tsr_from_data(device, TSR_F32, TSR_SHAPE(1), &now, sizeof now), *y = NULL;
  tsr_capture *step = NULL;
  tsr_status status = tsr_capture_begin(device);
  if (status == TSR_OK) {
    y = waves(device, moment);
    status = tsr_capture_end(&y, 1, &step);  // has run once, for moment 0
  }
  for (int i = 0; i < moments && status == TSR_OK; i++) {
    now = (float)i * 0.3f;
    status = tsr_write(moment, &now, sizeof now);
    if (status == TSR_OK) status = tsr_capture_run(step);  // reads the moment that is there now
    if (status == TSR_OK) status = tsr_read(y, heights, sizeof heights);
    for (int p = 0; p < POINTS && status == TSR_OK; p++) putchar(" .:-=+*#%@"[(int)(heights[p] * 9.99f)]);
    putchar('\n');
  }
  tsr_capture_release(step);
  tsr_scope_end(scope);
  return status;
}

int main(int argc, char **argv) {
  tsr_device *device = NULL;
  int moments = argc > 1 ? atoi(argv[1]) : 12;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_status status = show(device, moments);
  if (status != TSR_OK) return fail();
  tsr_device_release(device);
  return 0;
}
