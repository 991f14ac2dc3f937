// SPDX-License-Identifier: MIT
// Fuzz target: the config file's parser and every value's.
//
// Beyond not crashing: a value that is accepted, cleaned, is accepted again as the same value; a refusal has a problem;
// what a file says lies inside its text.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/native.h"
#include "runtime/config.h"

static void must(int holds) {
  if (!holds) abort();
}

typedef struct file_text {
  const char *start, *end;
} file_text;

static void parse_value(tsri_setting_id id, const char *text);

static tsr_status check_line(const tsri_config_line *line, void *user) {
  const file_text *file = user;
  must(line->id < TSRI_SETTING_COUNT && line->line >= 1 && line->column >= 1);
  must(line->value >= file->start && line->value_bytes > 0);
  must(line->value_bytes <= (size_t)(file->end - line->value));
  char value[4097];
  must(line->value_bytes < sizeof value);
  memcpy(value, line->value, line->value_bytes);
  value[line->value_bytes] = 0;
  must(strlen(value) == line->value_bytes);
  parse_value(line->id, value);
  return TSR_OK;
}

static void parse_value(tsri_setting_id id, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *clean = malloc(bytes), *again = malloc(bytes);  // just enough, so that a byte too many is noticed
  must(clean && again);
  char problem[TSRI_CONFIG_PROBLEM_BYTES];
  tsri_setting_value value, value_again;
  if (tsri_setting_parse(id, text, clean, &value, problem)) {
    must(tsri_setting_parse(id, clean, again, &value_again, problem));
    must(strcmp(clean, again) == 0 && value.is_set == value_again.is_set && value.millionths == value_again.millionths);
    must(value.has_index ? !value_again.has_index
                         : value.number == value_again.number);  // "cuda:1" is cleaned to "cuda"
    if (id == TSRI_SETTING_NATIVE) (void)tsri_native_allows(clean, "cublaslt");
  } else {
    must(problem[0] != 0);
  }
  free(clean);
  free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  char *text = malloc(bytes + 1);
  must(text != NULL);
  if (bytes > 0) memcpy(text, data, bytes);
  text[bytes] = 0;
  char *file = malloc(bytes);  // without the final 0
  must(file || bytes == 0);
  if (bytes > 0) memcpy(file, data, bytes);
  file_text span = {file, file ? file + bytes : NULL};
  tsr_status status = tsri_config_parse_file("config", file ? file : "", bytes, check_line, &span);
  must(status == TSR_OK || status == TSR_ERR_CONFIG);

  for (int i = 0; i < TSRI_SETTING_COUNT; i++) parse_value((tsri_setting_id)i, text);
  char shown[TSRI_CONFIG_QUOTE_BYTES], unknown[TSRI_CONFIG_UNKNOWN_BYTES];
  must(strlen(tsri_config_quote(text, shown)) < sizeof shown);
  tsri_setting_describe_unknown(text, unknown);
  free(text);
  free(file);
  return 0;
}
