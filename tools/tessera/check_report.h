// SPDX-License-Identifier: MIT
// Prints the results of `tessera check`, for people and as JSON, and the list of operators.
#ifndef TESSERA_TOOL_CHECK_REPORT_H
#define TESSERA_TOOL_CHECK_REPORT_H

#include "check_run.h"
#include "json.h"

// The results of one device.
int check_print(const check_run *run, double seconds);
void check_write(json_writer *json, const check_run *run, double seconds);

// The operators that match the pattern. Returns an exit code.
int check_print_list(const char *pattern);
void check_write_list(json_writer *json, const char *pattern);

#endif
