// SPDX-License-Identifier: MIT
#include "graph/embedded.h"

#include "core/alloc.h"
#include "lang/lang.h"
#include "support/test.h"

TEST(a_kernel_file_is_found_by_its_name) {
  size_t bytes = 0;
  const char *text = tsri_embedded_text("op_index", &bytes);
  CHECK(text != NULL);
  CHECK_EQ_UINT(strlen(text), bytes);
  CHECK_STR_HAS(text, "SPDX-License-Identifier: MIT");
  CHECK(tsri_embedded_text("op_index", NULL) == text);
  CHECK(tsri_embedded_text("no_such_file", NULL) == NULL);
  CHECK(tsri_embedded_text("", NULL) == NULL);
}

TEST(every_embedded_kernel_is_correct_for_every_type) {
  for (const tsri_embedded_file *file = tsri_embedded_files; file->name; file++) {
    tsri_module *module = NULL;
    CHECK_OK(tsri_lang_parse(file->name, file->text, file->bytes, NULL, &module));
    char *log = NULL;
    CHECK_OK(tsri_lang_check(module, &log));
    if (log && strncmp(file->name, "op_", 3) == 0) CHECK_STR(log, "");  // our own kernels give no warnings either
    tsri_free(log);
    tsri_module_release(module);
  }
}
