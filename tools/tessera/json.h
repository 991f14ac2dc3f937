// SPDX-License-Identifier: MIT
// Writes JSON (RFC 8259), indented by two spaces. Asserts that the caller's nesting is correct: each begin has its
// end, values in an object have a key, values in an array have none.
#ifndef TESSERA_TOOL_JSON_H
#define TESSERA_TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 16

typedef struct json_writer {
  FILE *out;
  int depth;
  bool is_array[JSON_MAX_DEPTH];
  bool has_member[JSON_MAX_DEPTH];
  bool is_done;  // the outermost value is complete
} json_writer;

// Write errors are recorded in `out` (ferror).
void json_init(json_writer *json, FILE *out);

// Asserts that one complete value was written, and ends the line.
void json_finish(json_writer *json);

// `key` is NULL in an array and for the outermost value.
void json_begin_object(json_writer *json, const char *key);
void json_end_object(json_writer *json);
void json_begin_array(json_writer *json, const char *key);
void json_end_array(json_writer *json);

// Invalid UTF-8 becomes U+FFFD; a NULL text becomes null.
void json_text(json_writer *json, const char *key, const char *value);
void json_int(json_writer *json, const char *key, int64_t value);
void json_uint(json_writer *json, const char *key, uint64_t value);
void json_bool(json_writer *json, const char *key, bool value);
void json_null(json_writer *json, const char *key);

// The shortest number that reads back as the same double; null for NaN and infinities, which JSON does not have.
void json_real(json_writer *json, const char *key, double value);

#endif
