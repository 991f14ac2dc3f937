// SPDX-License-Identifier: MIT
// A program as somebody might make set-user-ID: opens the backend that is named, or looks at every device ("all"), and
// prints whose rights it has, which settings do not come from the defaults, and why plug-ins are not used.
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>
#include <unistd.h>

static int print_settings(void) {
  tsr_config *config = NULL;
  if (tsr_config_load(&config) != TSR_OK) return 1;
  for (int i = 0; i < config->setting_count; i++) {
    const tsr_setting *setting = &config->settings[i];
    if (setting->source != TSR_FROM_DEFAULT) printf("%s comes from %s\n", setting->name, setting->place);
  }
  tsr_config_release(config);
  return 0;
}

static int print_backends(void) {
  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) return 1;
  for (int i = 0; i < found->backend_count; i++) {
    if (found->backends[i].plugin_path) printf("%s: %s\n", found->backends[i].name, found->backends[i].reason);
  }
  tsr_discovery_release(found);
  return 0;
}

int main(int argc, char **argv) {
  const char *backend = argc > 1 ? argv[1] : "all";
  printf("user %d, rights of user %d and group %d\n", (int)getuid(), (int)geteuid(), (int)getegid());
  if (print_settings() != 0) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  if (strcmp(backend, "all") == 0) return print_backends();
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend}, &device);
  if (status != TSR_OK) fprintf(stderr, "%s\n", tsr_last_error());
  tsr_device_release(device);
  return status != TSR_OK;
}
