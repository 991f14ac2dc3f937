// SPDX-License-Identifier: MIT
#include "backends/common/trail.h"

#include <stdio.h>
#include <string.h>

void tsri_trail_add(char *trail, size_t trail_bytes, const char *name, const char *reason) {
  size_t used = strlen(trail), name_length = strlen(name);
  // The text of dlopen begins with the library's name; do not print it twice.
  if (strncmp(reason, name, name_length) == 0 && reason[name_length] == ':') reason += name_length + 1;
  while (*reason == ' ') reason++;
  if (strcmp(reason, "cannot open shared object file: No such file or directory") == 0) reason = "not found";
  snprintf(trail + used, trail_bytes - used, "%s%s: %s", used ? "; " : "", name, reason);
}
