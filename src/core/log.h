// SPDX-License-Identifier: MIT
// Writing to the log. Costs one atomic load if the level is switched off.
#ifndef TSRI_LOG_H
#define TSRI_LOG_H

#include <stdbool.h>
#include <tessera/log.h>

#include "core/error.h"

bool tsri_log_wants(tsr_log_level level);
void tsri_log(tsr_log_level level, const char *format, ...) TSRI_PRINTF(2, 3);
// Sets the level from the settings. A level set by tsr_set_log takes precedence.
void tsri_log_configure(tsr_log_level level);

#endif
