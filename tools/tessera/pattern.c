// SPDX-License-Identifier: MIT
// Name patterns, as --op takes them.
#include "pattern.h"

#include <string.h>

bool pattern_matches(const char *pattern, const char *text) {
  if (*pattern == '\0') return *text == '\0';
  if (*pattern == '*') return pattern_matches(pattern + 1, text) || (*text && pattern_matches(pattern, text + 1));
  return *text && (*pattern == '?' || *pattern == *text) && pattern_matches(pattern + 1, text + 1);
}

bool pattern_next(const char **list, char *out, size_t bytes) {
  if (!*list || !**list) return false;
  size_t length = strcspn(*list, ",");
  size_t kept = length < bytes ? length : bytes - 1;
  memcpy(out, *list, kept);
  out[kept] = '\0';
  *list += length + ((*list)[length] == ',');
  return true;
}

bool pattern_list_matches(const char *list, const char *text) {
  char part[128];
  if (!list) return true;
  while (pattern_next(&list, part, sizeof part)) {
    if (pattern_matches(part, text)) return true;
  }
  return false;
}
