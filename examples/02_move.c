// SPDX-License-Identifier: MIT
// The same function on every device found: bytes go in, come back, and are compared; then a tensor travels through all of them.
#include <stdio.h>
#include <string.h>

#include <tessera/tessera.h>

// Works on any device.
static tsr_status round_trip(tsr_device *device, const unsigned char *data, size_t bytes, int *out_is_same) {
  unsigned char back[256];
  tsr_buffer *buffer = NULL;
  tsr_status status = tsr_buffer_create(device, bytes, /*alignment=*/0, &buffer);
  if (status == TSR_OK) status = tsr_buffer_upload(buffer, 0, data, bytes);
  if (status == TSR_OK) status = tsr_buffer_download(buffer, 0, back, bytes);
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  *out_is_same = status == TSR_OK && memcmp(back, data, bytes) == 0;
  tsr_buffer_release(buffer);
  return status;
}

static int visit(const char *backend, int index, tsr_tensor **travelling) {
  tsr_device *device = NULL;
  if (tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, &device) != TSR_OK) {
    printf("%-8s %d  cannot be opened: %s\n", backend, index, tsr_last_error());
    return 1;
  }
  unsigned char data[256];
  int is_same = 0;
  for (int i = 0; i < 256; i++) data[i] = (unsigned char)i;
  tsr_status status = round_trip(device, data, sizeof data, &is_same);

  tsr_tensor *here = *travelling ? tsr_to(*travelling, device) : tsr_arange(device, TSR_I32, 0, 5, 1);
  tsr_release(*travelling);
  *travelling = here;
  if (status == TSR_OK) status = tsr_error(here);
  printf("%-8s %d  %s\n", backend, index,
         status != TSR_OK ? tsr_last_error()
         : is_same        ? "same bytes"
                          : "DIFFERENT BYTES");
  tsr_device_release(device);  // the tensor keeps the device open
  return status != TSR_OK || !is_same;
}

int main(void) {
  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  int failures = 0;
  tsr_tensor *travelling = NULL;
  for (int i = 0; i < found->backend_count; i++) {
    for (int j = 0; j < found->backends[i].device_count; j++)
      failures += visit(found->backends[i].name, j, &travelling);
  }
  if (travelling) {
    int32_t values[5] = {0};
    if (tsr_read(travelling, values, sizeof values) != TSR_OK || values[4] != 4) failures++;
    printf("the tensor arrived as %d %d %d %d %d\n", values[0], values[1], values[2], values[3], values[4]);
  }
  tsr_release(travelling);
  tsr_discovery_release(found);
  return failures != 0;
}
