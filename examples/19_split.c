// SPDX-License-Identifier: MIT
// One batch on two devices at the same time, from one thread: the best device of the machine and the CPU. Each gets its share of the rows, and the results are joined.
//
//   19_split [SHARE]      rows for the best device, in percent (50)
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { DEVICES = 2, ROWS = 600, COLUMNS = 256 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// `user` has the weights, one tensor on each device.
static tsr_tensor *layer(tsr_tensor *part, tsr_device *device, int index, void *user) {
  tsr_tensor **weights = user;
  printf("%lld rows on %s\n", (long long)tsr_tensor_shape(part).dims[0], tsr_device_backend(device));
  return tsr_relu(tsr_matmul(part, weights[index]));
}

static tsr_status run(tsr_device *const *devices, double share) {
  tsr_scope *scope = tsr_scope_begin(NULL);
  tsr_tensor *weights[DEVICES];
  weights[0] =
      tsr_sub(tsr_eye(devices[0], TSR_F32, COLUMNS, COLUMNS, 0), tsr_eye(devices[0], TSR_F32, COLUMNS, COLUMNS, 1));
  weights[1] = tsr_to(weights[0], devices[1]);
  tsr_tensor *x = tsr_reshape(tsr_arange(devices[0], TSR_F32, 0, ROWS * COLUMNS, 1), TSR_SHAPE(ROWS, COLUMNS));
  tsr_tensor *y = tsr_split_batch(x, devices, DEVICES, (double[]){share, 100 - share}, layer, weights);
  tsr_tensor *whole = tsr_relu(tsr_matmul(x, weights[0]));
  bool is_equal = false;
  tsr_status status = tsr_equal(y, whole, &is_equal);
  if (status == TSR_OK) printf("the result is %s on one device\n", is_equal ? "the same as" : "NOT the one");
  tsr_scope_end(scope);
  return status == TSR_OK && !is_equal ? TSR_ERR_INTERNAL : status;
}

int main(int argc, char **argv) {
  tsr_device *devices[DEVICES] = {NULL};
  tsr_status status = tsr_device_open(NULL, &devices[0]);
  if (status == TSR_OK) status = tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &devices[1]);
  if (status == TSR_OK) status = run(devices, argc > 1 ? atof(argv[1]) : 50);
  for (int i = 0; i < DEVICES; i++) tsr_device_release(devices[i]);
  return status == TSR_OK ? 0 : fail();
}
