// SPDX-License-Identifier: MIT
// The option --profile: sets the setting of that name.
#include "profile_option.h"

#include <string.h>
#include <tessera/config.h>

#include "commands.h"
#include "report.h"

const char *profile_path;

int profile_option_apply(void) {
  if (!profile_path) return EXIT_DONE;
  tsr_status status = tsr_config_set("profile", strcmp(profile_path, "-") == 0 ? "on" : profile_path);
  return status == TSR_OK ? EXIT_DONE : report_error();
}
