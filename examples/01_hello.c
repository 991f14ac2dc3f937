// SPDX-License-Identifier: MIT
// The first program: open the best device, make a tensor, look at it in other shapes, read it back.
#include <stdio.h>

#include <tessera/tessera.h>

int main(void) {
  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) {  // the best device here; TESSERA_BACKEND and the like are honoured
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  tsr_scope *scope = tsr_scope_begin(device);  // tensors made below belong to the scope

  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 12, 1);
  tsr_tensor *grid = tsr_reshape(x, TSR_SHAPE(3, 4));                    // a view: nothing is copied
  tsr_tensor *every_other = tsr_slice(grid, /*axis=*/1, 0, TSR_END, 2);  // columns 0 and 2
  tsr_tensor *mirrored = tsr_flip(tsr_transpose(every_other, 0, 1), /*axis=*/1);
  tsr_print(grid, stdout);
  tsr_print(mirrored, stdout);

  float values[2 * 3];
  tsr_status status = tsr_read(mirrored, values, sizeof values);
  if (status == TSR_OK) printf("first value: %g\n", values[0]);
  else fprintf(stderr, "%s\n", tsr_last_error());

  // A wrong call gives a failed tensor that remembers why; what is made of it fails the same way.
  tsr_tensor *wrong = tsr_transpose(tsr_reshape(x, TSR_SHAPE(5, 5)), 0, 1);
  if (tsr_error(wrong) != TSR_OK) printf("as expected: %s\n", tsr_last_error());

  tsr_scope_end(scope);
  tsr_device_release(device);
  return status != TSR_OK;
}
