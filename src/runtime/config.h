// SPDX-License-Identifier: MIT
// Settings: the list with its types, the parsers, and the values in force.
//
// config_parse.c turns text into values and touches nothing else, so that it can be fuzzed; config.c reads code values,
// environment and file; config_public.c shows the result through <tessera/config.h>.
#ifndef TSRI_CONFIG_H
#define TSRI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/config.h>
#include <tessera/log.h>

#include "core/native.h"

// Words a setting may be one of: name, word, what it means.
#define TSRI_SIMD_LEVELS(X)                         \
  X(AUTO, auto, "the best the processor has")       \
  X(BASELINE, baseline, "what every processor has") \
  X(AVX2, avx2, "AVX2 and FMA")                     \
  X(AVX512, avx512, "AVX-512")                      \
  X(NEON, neon, "Arm's vector instructions")
#define TSRI_SWITCH_WORDS(X) \
  X(ON, on, 1)               \
  X(OFF, off, 0)             \
  X(YES, yes, 1)             \
  X(NO, no, 0)               \
  X(TRUE, true, 1)           \
  X(FALSE, false, 0)         \
  X(ONE, 1, 1)               \
  X(ZERO, 0, 0)
#define TSRI_MIX_RULES(X)                        \
  X(MOVE, move, "to the more compatible device") \
  X(ERROR, error, "the operator fails")

// "on, off, yes" out of such a list, for the texts in settings.def.
#define TSRI_LISTED(list)                     (&list(TSRI_LISTED_WORD)[2])
#define TSRI_LISTED_WORD(name, word, meaning) ", " #word
#define TSRI_SPACED_WORD(word, meaning)       " " #word

typedef enum tsri_mix_rule {
#define TSRI_X(name, word, meaning) TSRI_MIX_##name,
  TSRI_MIX_RULES(TSRI_X)
#undef TSRI_X
} tsri_mix_rule;

typedef enum tsri_setting_type {
  TSRI_TYPE_NAME,   // auto, one name, or name:index
  TSRI_TYPE_INDEX,  // auto, or 0 …
  TSRI_TYPE_NAMES,  // auto, or names by comma
  TSRI_TYPE_LIMIT,  // none, bytes, or per cent
  TSRI_TYPE_BYTES,
  TSRI_TYPE_DURATION,  // none, or a time
  TSRI_TYPE_THREADS,
  TSRI_TYPE_SIMD,
  TSRI_TYPE_LIBRARIES,  // all, none, names by comma, or -names by comma
  TSRI_TYPE_SWITCH,
  TSRI_TYPE_MIX,
  TSRI_TYPE_LEVEL,
  TSRI_TYPE_FOLDERS,  // none, or text
  TSRI_TYPE_TEXT,     // none, or text
  TSRI_TYPE_COUNT
} tsri_setting_type;

typedef enum tsri_setting_id {
#define TSRI_SETTING(id, name, type, fallback, allowed, help) TSRI_SETTING_##id,
#include "runtime/settings.def"
#undef TSRI_SETTING
  TSRI_SETTING_COUNT
} tsri_setting_id;

typedef struct tsri_setting_info {
  const char *name;
  const char *variable;
  tsri_setting_type type;
  const char *fallback;  // the default
  const char *allowed;
  const char *help;
} tsri_setting_info;

extern const tsri_setting_info tsri_settings[TSRI_SETTING_COUNT];

// --- Parsing: config_parse.c -------------------------------------------------------------------------------------

#define TSRI_CONFIG_FILE_BYTES    ((size_t)1 << 20)  // largest file
#define TSRI_CONFIG_TEXT_BYTES    ((size_t)4096)     // longest value, and longest line of the file
#define TSRI_CONFIG_PROBLEM_BYTES 160
#define TSRI_CONFIG_QUOTE_BYTES   280
#define TSRI_CONFIG_UNKNOWN_BYTES 1024

typedef struct tsri_setting_value {
  bool is_set;          // false for "auto" and "none"
  bool has_index;       // NAME given as name:index; the index is `number`
  uint64_t number;      // bytes, milliseconds, index, count, 0 or 1, tsri_mix_rule, tsr_log_level
  uint32_t millionths;  // LIMIT given in per cent: of the device's memory; else 0
} tsri_setting_value;

// Reads one value. `clean` has room for strlen(text) + 1 bytes and receives the text without blanks around it; names
// are in lower case there and lists without blanks. False: `problem` says why ("has the unknown unit \"GX\"").
bool tsri_setting_parse(tsri_setting_id id, const char *text, char *clean, tsri_setting_value *out_value,
                        char problem[TSRI_CONFIG_PROBLEM_BYTES]);

bool tsri_setting_find(const char *name, tsri_setting_id *out_id);

// The setting that `name` was probably meant to be, or NULL. "TESSERA_" before it is passed over.
const char *tsri_setting_suggest(const char *name);

// A sentence on a name that no setting has, with the nearest and all that there are.
void tsri_setting_describe_unknown(const char *name, char out[TSRI_CONFIG_UNKNOWN_BYTES]);

// The text between quotes for a message: cut when long, control characters and broken UTF-8 as \xNN. Returns `out`.
char *tsri_config_quote(const char *text, char out[TSRI_CONFIG_QUOTE_BYTES]);

// One `name = value` of a file; the column (in characters, from 1) is where the value starts.
typedef struct tsri_config_line {
  tsri_setting_id id;
  const char *value;  // not ended by 0
  size_t value_bytes;
  int line;
  int column;
} tsri_config_line;

// Goes through the text of a config file and hands each setting to `visit`, whose failure ends it. `path` is for
// messages.
//
// Errors: TSR_ERR_CONFIG ("path:line:column: …"), and what `visit` returns.
tsr_status tsri_config_parse_file(const char *path, const char *text, size_t bytes,
                                  tsr_status (*visit)(const tsri_config_line *line, void *user), void *user);

// --- What is in force: config.c ----------------------------------------------------------------------------------

typedef struct tsri_config_entry {
  tsr_config_source source;
  const char *text;   // as given
  const char *clean;  // as the parser left it
  const char *place;  // "TESSERA_DEVICE", "/home/…/config:3", "code", "default"
  char *memory;       // what these point into, unless it is static
  tsri_setting_value value;
} tsri_config_entry;

// A memory limit: bytes, or a part of the device's memory in millionths; both 0 for none.
typedef struct tsri_memory_limit {
  uint64_t bytes;
  uint32_t millionths;
} tsri_memory_limit;

// All values. Texts are owned by the entries or static: the struct may be moved by assignment.
typedef struct tsri_config {
  const char *backend;   // lower case; NULL: auto
  int device;            // -1: not given
  const char *priority;  // "vulkan,cpu", lower case; NULL: the usual order
  tsri_memory_limit memory_limit;
  uint64_t pool_bytes;
  uint64_t required_bytes;
  uint32_t timeout_ms;  // 0: none
  int threads;          // 0: all cores
  const char *simd;     // NULL: auto
  const char *native;   // "all", "none", "a,b" or "-a,-b", lower case; never NULL
  bool jit;
  bool tf32;
  bool strict;
  bool eager;
  bool checked;
  tsri_mix_rule mix;
  tsr_log_level log;
  const char *plugin_path;  // folders by tsri_path_list_separator, some perhaps empty; NULL: none
  const char *faults;       // NULL: none

  char *file;  // the file that was read; NULL: none
  tsri_config_entry entries[TSRI_SETTING_COUNT];
} tsri_config;

// Reads code values, environment, file and defaults, in that order of precedence; every value given is checked, also
// one that another wins over. Sets the log level and then logs variables that begin with TESSERA_ and are no setting.
//
// Ownership: caller calls tsri_config_deinit, which takes a zeroed or already emptied struct too.
// Threads:   any, as far as the C library lets getenv run beside setenv.
// Errors:    TSR_ERR_CONFIG, TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY. Then `*out_config` is empty.
tsr_status tsri_config_resolve(tsri_config *out_config);
void tsri_config_deinit(tsri_config *config);

// The value in force as the parser left it; NULL for "auto" and "none". It lives as long as the config.
const char *tsri_config_text(const tsri_config *config, tsri_setting_id id);

// Where the value in force came from, for messages: "TESSERA_BACKEND", "/home/…/config:3", "code", "default".
const char *tsri_config_place(const tsri_config *config, tsri_setting_id id);

// The limit on a device with `total_bytes`; 0: none. A part of an unknown size (0) is no limit.
uint64_t tsri_memory_limit_bytes(tsri_memory_limit limit, uint64_t total_bytes);

#endif
