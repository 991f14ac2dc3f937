// SPDX-License-Identifier: MIT
// The log. Nothing is logged unless tsr_set_log or TESSERA_LOG asks for it.
#ifndef TESSERA_LOG_H
#define TESSERA_LOG_H

#include <tessera/export.h>
#include <tessera/status.h>

// name, lower-case name, what is logged at this level in addition to those before it.
#define TSR_LOG_LEVELS(X)                                               \
  X(OFF, off, "nothing")                                                \
  X(ERROR, error, "failures that no call reports otherwise")            \
  X(WARN, warn, "things that work but not as wished")                   \
  X(INFO, info, "implicit moves, fall-backs, devices that were chosen") \
  X(PLAN, plan, "what was fused and scheduled")                         \
  X(DEBUG, debug, "each allocation, build and library that is opened")

typedef enum tsr_log_level {
#define TSRI_X(name, lower, text) TSR_LOG_##name,
  TSR_LOG_LEVELS(TSRI_X)
#undef TSRI_X
      TSR_LOG_LEVEL_COUNT
} tsr_log_level;

// Receives one line without a newline. Called on the thread that logs, one call at a time. It must not call the
// library.
typedef void (*tsr_log_fn)(tsr_log_level level, const char *line, void *user);

// Sends lines up to `level` to `fn`; `fn` NULL means standard error. Takes precedence over TESSERA_LOG.
//
// Threads: any; lines already being written may still reach the old function.
TSR_API void tsr_set_log(tsr_log_level level, tsr_log_fn fn, void *user);

#endif
