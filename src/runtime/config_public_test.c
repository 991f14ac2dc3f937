// SPDX-License-Identifier: MIT
// Tests of the settings as a caller sees them, through public headers only.
#include <tessera/config.h>

#include "support/test.h"

static void begin(void) {
  setenv("TESSERA_CONFIG", "/dev/null", 1);
  unsetenv("TESSERA_BACKEND");
  unsetenv("TESSERA_MEMORY_LIMIT");
  unsetenv("TESSERA_THREADS");
}

static const tsr_setting *find(const tsr_config *config, const char *name) {
  for (int i = 0; i < config->setting_count; i++) {
    if (strcmp(config->settings[i].name, name) == 0) return &config->settings[i];
  }
  test_fail(__FILE__, __LINE__, "there is no setting %s", name);
}

TEST(config_lists_every_setting_with_value_source_and_texts) {
  begin();
  setenv("TESSERA_MEMORY_LIMIT", " 2 GiB", 1);
  CHECK_OK(tsr_config_set("threads", "4"));
  tsr_config *config = NULL;
  CHECK_OK(tsr_config_load(&config));
  CHECK_STR(config->file, "/dev/null");
  for (int i = 0; i < config->setting_count; i++) {
    const tsr_setting *s = &config->settings[i];
    CHECK(s->name && s->variable && s->value && s->place && s->allowed && s->help);
  }

  const tsr_setting *limit = find(config, "memory_limit");
  CHECK_STR(limit->variable, "TESSERA_MEMORY_LIMIT");
  CHECK_STR(limit->value, " 2 GiB");  // exactly as it was given
  CHECK_EQ_INT(limit->source, TSR_FROM_ENVIRONMENT);
  CHECK_STR(limit->place, "TESSERA_MEMORY_LIMIT");
  const tsr_setting *threads = find(config, "threads");
  CHECK_STR(threads->value, "4");
  CHECK_EQ_INT(threads->source, TSR_FROM_CODE);
  CHECK_STR(threads->place, "code");
  const tsr_setting *backend = find(config, "backend");
  CHECK_STR(backend->value, "auto");
  CHECK_EQ_INT(backend->source, TSR_FROM_DEFAULT);
  CHECK_STR(backend->place, "default");
  tsr_config_release(config);
  CHECK_OK(tsr_config_set("threads", NULL));
}

TEST(config_with_a_wrong_value_is_an_error_and_no_config) {
  begin();
  setenv("TESSERA_THREADS", "lots", 1);
  tsr_config *config = (tsr_config *)&config;
  CHECK_STATUS(tsr_config_load(&config), TSR_ERR_CONFIG);
  CHECK(config == NULL);
  CHECK_LAST_ERROR_HAS("TESSERA_THREADS: \"lots\" is not a whole number; allowed: a whole number from 0 to 4096");
  unsetenv("TESSERA_THREADS");
}

TEST(config_calls_take_null) {
  CHECK_STATUS(tsr_config_load(NULL), TSR_ERR_INVALID_ARGUMENT);
  tsr_config_release(NULL);
}
