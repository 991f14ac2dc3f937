// SPDX-License-Identifier: MIT
// Opening devices for tests.
#include "support/devices.h"

#include "support/test.h"

tsr_device *test_open(const char *backend) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend}, &device));
  return device;
}

tsr_device *test_open_with_faults(const char *backend, const char *faults) {
  CHECK_OK(tsr_config_set("faults", faults));
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend}, &device);
  CHECK_OK(tsr_config_set("faults", NULL));
  CHECK_OK(status);
  return device;
}

static void use_plugins(void) {
  const char *folder = getenv("TSR_TEST_PLUGIN_DIR");
  if (folder) CHECK_OK(tsr_config_set("plugin_path", folder));
}

int test_open_all(tsr_device **devices, int most) {
  int count = 0;
  tsr_discovery *found = NULL;
  use_plugins();
  CHECK_OK(tsr_discover(&found));
  for (int i = 0; i < found->backend_count; i++) {
    const tsr_backend_report *report = &found->backends[i];
    for (int j = 0; j < report->device_count && count < most; j++) {
      CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = report->name, .index = j}, &devices[count++]));
    }
  }
  tsr_discovery_release(found);
  if (count < most) devices[count++] = test_open("null");
  return count;
}

void test_on_every_device(void (*body)(tsr_device *device)) {
  enum { MOST = 32 };
  tsr_device *devices[MOST];
  int count = test_open_all(devices, MOST);
  for (int i = 0; i < count; i++) {
    printf("  on %s\n", tsr_device_backend(devices[i]));
    body(devices[i]);
    tsr_device_release(devices[i]);
  }
}
