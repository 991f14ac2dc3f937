// SPDX-License-Identifier: MIT
// Uses an installed Tessera: header and library must be of one version, and a device must open.
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>

int main(void) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, "%d.%d.%d", TSR_VERSION_MAJOR, TSR_VERSION_MINOR, TSR_VERSION_PATCH);
  if (strcmp(tsr_version(), wanted) != 0) {
    fprintf(stderr, "the header is %s, the library %s\n", wanted, tsr_version());
    return 1;
  }

  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  tsr_device_release(device);
  printf("outside: tessera %s works\n", tsr_version());
  return 0;
}
