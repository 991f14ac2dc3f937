// SPDX-License-Identifier: MIT
// Settings: the table of settings with their types, the parsers, and the values in force.
//
// config_parse.c turns text into values and does nothing else, so that it can be fuzzed. config.c combines values from
// code, the environment and the file. config_public.c shows the result through <tessera/config.h>.
#ifndef TSRI_CONFIG_H
#define TSRI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/config.h>
#include <tessera/log.h>

#include "core/native.h"

// Lists of the words that a setting accepts: name, word, meaning.
#define TSRI_SIMD_LEVELS(X)                         \
  X(AUTO, auto, "the best the processor has")       \
  X(BASELINE, baseline, "what every processor has") \
  X(AVX2, avx2, "AVX2 and FMA")                     \
  X(AVX512, avx512, "AVX-512")                      \
  X(AVX512_VNNI, avx512_vnni, "products of bytes")  \
  X(AVX512_BF16, avx512_bf16, "products of bf16")   \
  X(AMX, amx, "the tiles of AMX")                   \
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
#define TSRI_JIT_WORDS(X) TSRI_SWITCH_WORDS(X) X(ALWAYS, always, 2)
#define TSRI_MIX_RULES(X)                        \
  X(MOVE, move, "to the more compatible device") \
  X(ERROR, error, "the operator fails")
#define TSRI_PLACEMENT_RULES(X)        \
  X(OFF, off, "where it is asked for") \
  X(MEASURED, measured, "where it is fastest")
#define TSRI_TUNE_MODES(X)                                                                 \
  X(AUTO, auto, "what was stored is used; proposals of vendors' libraries are timed once") \
  X(OFF, off, "nothing is timed, and nothing stored is used")                              \
  X(QUICK, quick, "each new kind of work is timed for up to 0.3 s, ten seconds in all")    \
  X(FULL, full, "each new kind of work is timed for up to 5 s")

// TSRI_LISTED(list) is the string "on, off, yes", made of such a list; settings.def uses it.
#define TSRI_LISTED(list)                     (&list(TSRI_LISTED_WORD)[2])
#define TSRI_LISTED_WORD(name, word, meaning) ", " #word
#define TSRI_SPACED_WORD(word, meaning)       " " #word

typedef enum tsri_mix_rule {
#define TSRI_X(name, word, meaning) TSRI_MIX_##name,
  TSRI_MIX_RULES(TSRI_X)
#undef TSRI_X
} tsri_mix_rule;

typedef enum tsri_placement_rule {
#define TSRI_X(name, word, meaning) TSRI_PLACEMENT_##name,
  TSRI_PLACEMENT_RULES(TSRI_X)
#undef TSRI_X
} tsri_placement_rule;
typedef enum tsri_tune_mode {
#define TSRI_X(name, word, meaning) TSRI_TUNE_MODE_##name,
  TSRI_TUNE_MODES(TSRI_X)
#undef TSRI_X
} tsri_tune_mode;

typedef enum tsri_setting_type {
  TSRI_TYPE_NAME,   // auto, a backend's name, or name:index
  TSRI_TYPE_INDEX,  // auto, or a number from 0
  TSRI_TYPE_NAMES,  // auto, or names separated by commas
  TSRI_TYPE_LIMIT,  // none, bytes, or a percentage
  TSRI_TYPE_BYTES,
  TSRI_TYPE_DURATION,  // none, or a time
  TSRI_TYPE_THREADS,
  TSRI_TYPE_SIMD,
  TSRI_TYPE_TUNE,
  TSRI_TYPE_LIBRARIES,  // all, none, or a comma-separated list of names or of -names
  TSRI_TYPE_SWITCH,
  TSRI_TYPE_JIT,  // a switch, or always
  TSRI_TYPE_MIX,
  TSRI_TYPE_LEVEL,
  TSRI_TYPE_FOLDERS,  // none, or text
  TSRI_TYPE_TEXT,     // none, or text
  TSRI_TYPE_MEGABYTES,
  TSRI_TYPE_PLACEMENT,
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

#define TSRI_CONFIG_FILE_BYTES    ((size_t)1 << 20)  // most bytes of a config file
#define TSRI_CONFIG_TEXT_BYTES    ((size_t)4096)     // most bytes of a value, and of a line of the file
#define TSRI_CONFIG_PROBLEM_BYTES 160
#define TSRI_CONFIG_QUOTE_BYTES   280
#define TSRI_CONFIG_UNKNOWN_BYTES 1024

typedef struct tsri_setting_value {
  bool is_set;          // false for "auto" and "none"
  bool has_index;       // NAME was given as name:index; the index is `number`
  uint64_t number;      // bytes, milliseconds, index, count, 0 or 1, tsri_mix_rule, tsr_log_level
  uint32_t millionths;  // LIMIT was given as a percentage: millionths of the device's memory; else 0
} tsri_setting_value;

// Parses one value. `clean` must have room for strlen(text) + 1 bytes; it gets the text without surrounding blanks,
// names in lower case, lists without blanks. Returns false if the text is not valid; `problem` then says why ("has the
// unknown unit \"GX\"").
bool tsri_setting_parse(tsri_setting_id id, const char *text, char *clean, tsri_setting_value *out_value,
                        char problem[TSRI_CONFIG_PROBLEM_BYTES]);

bool tsri_setting_find(const char *name, tsri_setting_id *out_id);

// The setting with the most similar name, or NULL. A prefix "TESSERA_" is ignored.
const char *tsri_setting_suggest(const char *name);

// Writes a sentence that says no setting has this name, suggests the most similar one and lists them all.
void tsri_setting_describe_unknown(const char *name, char out[TSRI_CONFIG_UNKNOWN_BYTES]);

// Writes the text for use between quotes in a message: cut off when long, with control characters and invalid UTF-8 as
// \xNN. Returns `out`.
char *tsri_config_quote(const char *text, char out[TSRI_CONFIG_QUOTE_BYTES]);

// One `name = value` of a config file. `column` is where the value starts, in characters from 1.
typedef struct tsri_config_line {
  tsri_setting_id id;
  const char *value;  // not terminated by 0
  size_t value_bytes;
  int line;
  int column;
} tsri_config_line;

// Parses the text of a config file and calls `visit` for each setting; a failure of `visit` ends the parsing. `path` is
// for messages.
//
// Errors: TSR_ERR_CONFIG ("path:line:column: …"), and those of `visit`.
tsr_status tsri_config_parse_file(const char *path, const char *text, size_t bytes,
                                  tsr_status (*visit)(const tsri_config_line *line, void *user), void *user);

// --- Values in force: config.c ---------------------------------------------------------------------------------------

typedef struct tsri_config_entry {
  tsr_config_source source;
  const char *text;   // as it was given
  const char *clean;  // as tsri_setting_parse cleaned it
  const char *place;  // "TESSERA_DEVICE", "/home/…/config:3", "code", "default"
  char *memory;       // allocation that the texts above point into; NULL if they are static
  tsri_setting_value value;
} tsri_config_entry;

// A memory limit: in bytes, or in millionths of the device's memory. Both 0: no limit.
typedef struct tsri_memory_limit {
  uint64_t bytes;
  uint32_t millionths;
} tsri_memory_limit;

// All values in force. The texts are static or belong to the entries, so the struct may be moved by assignment.
typedef struct tsri_config {
  const char *backend;   // lower case; NULL: auto
  int device;            // -1: not given
  const char *priority;  // "vulkan,cpu", lower case; NULL: the default order
  tsri_memory_limit memory_limit;
  uint64_t pool_bytes;
  uint64_t pending_bytes;
  uint64_t required_bytes;
  uint32_t timeout_ms;  // 0: none
  int threads;          // 0: all cores
  const char *simd;     // NULL: auto
  const char *native;   // "all", "none", "a,b" or "-a,-b", lower case; never NULL
  bool jit, jit_always;
  bool tf32;
  bool strict;
  bool eager;
  bool deterministic;
  tsri_tune_mode tune;
  bool checked;
  tsri_mix_rule mix;
  tsri_placement_rule placement;
  tsr_log_level log;
  // Folders separated by tsri_path_list_separator, some of which may be empty; NULL: none.
  const char *plugin_path;
  uint64_t cache_bytes;  // 0: nothing is kept
  const char *faults;    // NULL: none
  const char *profile;   // "off", "on" or a path; NULL: none
  bool profile_full;

  char *file;  // path of the file that was read; NULL: none
  tsri_config_entry entries[TSRI_SETTING_COUNT];
} tsri_config;

// Combines the values from code, environment, file and defaults, in that order of precedence. Every value is checked,
// even if another one takes precedence over it. Sets the log level, then logs variables that begin with TESSERA_ but
// are not settings.
//
// Ownership: the caller calls tsri_config_deinit, which accepts a zeroed struct and may be called twice.
// Threads:   any, if the C library allows getenv while another thread calls setenv.
// Errors:    TSR_ERR_CONFIG, TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY. Then `*out_config` is empty.
tsr_status tsri_config_resolve(tsri_config *out_config);
void tsri_config_deinit(tsri_config *config);

// The value in force, as tsri_setting_parse cleaned it; NULL for "auto" and "none". It lives as long as the config.
const char *tsri_config_text(const tsri_config *config, tsri_setting_id id);

// Where the value in force came from, for messages: "TESSERA_BACKEND", "/home/…/config:3", "code", "default".
const char *tsri_config_place(const tsri_config *config, tsri_setting_id id);

// The limit in bytes on a device with `total_bytes` of memory; 0: no limit. A percentage of an unknown size (0) is no
// limit.
uint64_t tsri_memory_limit_bytes(tsri_memory_limit limit, uint64_t total_bytes);

#endif
