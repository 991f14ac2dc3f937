// SPDX-License-Identifier: MIT
// Settings: the values in force, and where each of them came from. docs/configuration.md lists all settings.
//
// Precedence, highest first: tsr_device_desc, tsr_config_set, TESSERA_* variables, the config file, the default.
// tsr_discover and tsr_device_open read variables and file again at each call.
#ifndef TESSERA_CONFIG_H
#define TESSERA_CONFIG_H

#include <tessera/export.h>
#include <tessera/status.h>

typedef enum tsr_config_source {
  TSR_FROM_DEFAULT,
  TSR_FROM_FILE,
  TSR_FROM_ENVIRONMENT,
  TSR_FROM_CODE
} tsr_config_source;

typedef struct tsr_setting {
  const char *name;      // "memory_limit", as in the file and in tsr_config_set
  const char *variable;  // "TESSERA_MEMORY_LIMIT"
  const char *value;     // the value in force, as it was given; empty if there is none
  tsr_config_source source;
  const char *place;    // "TESSERA_MEMORY_LIMIT", "/etc/…/config:3", "code" or "default"
  const char *allowed;  // the values it accepts, in words
  const char *help;     // one sentence
} tsr_setting;

typedef struct tsr_config {
  int setting_count;
  const tsr_setting *settings;
  const char *file;  // path of the config file that was read, or NULL
} tsr_config;

// Returns all settings with their present values.
//
// Ownership: caller releases with tsr_config_release (which accepts NULL).
// Errors:    TSR_ERR_CONFIG (the first invalid value or line; the message names the variable or file:line, and what is
//            allowed), TSR_ERR_IO, TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_OUT_OF_MEMORY. Then `*out_config` is NULL.
TSR_API tsr_status tsr_config_load(tsr_config **out_config);
TSR_API void tsr_config_release(tsr_config *config);

// Sets a value from code, which takes precedence over variables and file. `value` NULL removes it again.
//
// Threads: any; takes effect at the next tsr_device_open or tsr_discover.
// Errors:  TSR_ERR_CONFIG (unknown name: the message suggests the most similar one; invalid value: it says what is
//          allowed), TSR_ERR_INVALID_ARGUMENT (`name` is NULL), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_config_set(const char *name, const char *value);

#endif
