// SPDX-License-Identifier: MIT
// Settings: what is in force and where each value came from. docs/configuration.md lists them all.
//
// Order: tsr_device_desc, tsr_config_set, TESSERA_* variables, the config file, the default. Variables and file are
// read anew by tsr_discover and tsr_device_open.
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
  const char *value;     // in force, spelt as it was given; empty where there is none
  tsr_config_source source;
  const char *place;    // "TESSERA_MEMORY_LIMIT", "/etc/…/config:3", "code" or "default"
  const char *allowed;  // what the value may be, in words
  const char *help;     // one sentence
} tsr_setting;

typedef struct tsr_config {
  int setting_count;
  const tsr_setting *settings;
  const char *file;  // the config file that was read, or NULL
} tsr_config;

// All settings as they are now.
//
// Ownership: caller releases with tsr_config_release (which takes NULL).
// Errors:    TSR_ERR_CONFIG (the first bad value or line; the message names variable or file:line, and what is allowed),
//            TSR_ERR_IO, TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_OUT_OF_MEMORY. Then `*out_config` is NULL.
TSR_API tsr_status tsr_config_load(tsr_config **out_config);
TSR_API void tsr_config_release(tsr_config *config);

// Sets a value from code, over variables and file; `value` NULL takes it back.
//
// Threads: any; takes effect at the next tsr_device_open or tsr_discover.
// Errors:  TSR_ERR_CONFIG (unknown name: the nearest is suggested; bad value: what is allowed),
//          TSR_ERR_INVALID_ARGUMENT (`name` is NULL), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_config_set(const char *name, const char *value);

#endif
