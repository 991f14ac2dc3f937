// SPDX-License-Identifier: MIT
// Evaluates the setting `native`.
#include "core/native.h"

#include <string.h>

bool tsri_native_is_known(const char *library, size_t bytes) {
  static const char *const known[] = {
#define TSRI_X(word, meaning) #word,
      TSRI_NATIVE_LIBRARIES(TSRI_X)
#undef TSRI_X
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i]) == bytes && memcmp(known[i], library, bytes) == 0) return true;
  }
  return false;
}

bool tsri_native_allows(const char *native, const char *library) {
  if (strcmp(native, "all") == 0) return true;
  bool excludes = native[0] == '-';
  size_t length = strlen(library);
  for (const char *at = native; *at;) {
    const char *name = excludes ? at + 1 : at;
    size_t bytes = strcspn(name, ",");
    if (bytes == length && memcmp(name, library, length) == 0) return !excludes;
    at = name + bytes + (name[bytes] == ',');
  }
  return excludes;
}
