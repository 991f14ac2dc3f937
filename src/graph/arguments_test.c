// SPDX-License-Identifier: MIT
#include "graph/arguments.h"

#include "lang/lang.h"
#include "support/test.h"

static tsri_kernel *kernel_of(const char *text) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  CHECK_OK(tsri_lang_parse("t.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel));
  tsri_module_release(module);
  return kernel;
}

static const char text[] =
    "kernel k(in f32 x[], out f32 y[], u32 n, f32 scale, u32 d1, u32 d2, i64 far) { y[n] = x[d1]; }";

TEST(arguments_go_to_their_parameters_in_any_order) {
  tsri_kernel *kernel = kernel_of(text);
  tsri_arguments args;
  tsri_arguments_init(&args, kernel);
  tsri_arguments_word(&args, "far", -5);
  tsri_arguments_words(&args, "d", 1, (const int64_t[]){7, -1}, 2);
  tsri_arguments_real(&args, "scale", 0.5);
  tsri_arguments_buffer(&args, "y", (tsri_argument){.element_count = 2});
  tsri_arguments_buffer(&args, "x", (tsri_argument){.element_count = 1});
  tsri_arguments_word(&args, "n", 3);
  CHECK_OK(tsri_arguments_check(&args));
  CHECK_EQ_UINT(args.buffers[0].element_count, 1);
  CHECK_EQ_UINT(args.buffers[1].element_count, 2);
  const uint32_t *words = (const uint32_t *)args.params;
  float scale;
  int64_t far;
  memcpy(&scale, words + 1, sizeof scale);
  memcpy(&far, (const char *)args.params + kernel->params[4].offset, sizeof far);
  CHECK(words[0] == 3 && scale == 0.5f && words[2] == 7 && words[3] == UINT32_MAX && far == -5);
  tsri_kernel_release(kernel);
}

TEST(names_that_are_unknown_missing_or_given_twice_are_errors_with_the_kernels_name) {
  tsri_kernel *kernel = kernel_of(text);
  tsri_arguments args;
  tsri_arguments_init(&args, kernel);
  tsri_arguments_word(&args, "m", 1);
  CHECK_STATUS(tsri_arguments_check(&args), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("k has no parameter 'm'");
  tsri_arguments_init(&args, kernel);
  tsri_arguments_buffer(&args, "n", (tsri_argument){.element_count = 1});
  CHECK_STATUS(tsri_arguments_check(&args), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("k has no buffer 'n'");
  tsri_arguments_init(&args, kernel);
  tsri_arguments_word(&args, "n", 1);
  tsri_arguments_word(&args, "n", 1);
  CHECK_STATUS(tsri_arguments_check(&args), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("k: parameter 'n' is given twice");
  tsri_arguments_init(&args, kernel);
  tsri_arguments_buffer(&args, "x", (tsri_argument){.element_count = 1});
  CHECK_STATUS(tsri_arguments_check(&args), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("k: buffer 'y' is not given");
  tsri_arguments_buffer(&args, "y", (tsri_argument){.element_count = 1});
  CHECK_STATUS(tsri_arguments_check(&args), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("k: parameter 'n' is not given");
  tsri_kernel_release(kernel);
}
