// SPDX-License-Identifier: MIT
// Every kernel in kernels/ passes the check with every type it allows.
#include <dirent.h>

#include "lang/lang_testing.h"

static void check_file(const char *folder, const char *name) {
  char path[1024];
  CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  static char text[65536];
  size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);
  tsri_module *module = NULL;
  char *log = NULL;
  CHECK_OK(tsri_lang_parse(name, text, bytes, NULL, &module));
  CHECK_OK(tsri_lang_check(module, &log));
  bool is_library = strncmp(name, "fn_", 3) == 0;  // contains only functions, which the check warns about
  if (log && is_library) CHECK_STR_HAS(log, "warning: there is no kernel in it");
  if (log && !is_library) test_fail(__FILE__, __LINE__, "%s has warnings:\n%s", name, log);
  tsri_free(log);
  tsri_module_release(module);
}

TEST(kernels_that_ship_are_right_for_every_type_and_without_warnings) {
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  char folder[900];
  snprintf(folder, sizeof folder, "%s/kernels", source ? source : ".");
  DIR *dir = opendir(folder);
  if (!dir) SKIP("the source folder is not here");
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 3, ".tk") != 0) continue;
    check_file(folder, entry->d_name);
    count++;
  }
  closedir(dir);
  CHECK(count >= 8);
}
