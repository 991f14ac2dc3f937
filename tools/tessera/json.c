// SPDX-License-Identifier: MIT
// Writes JSON, indented by two spaces.
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "text.h"

void json_init(json_writer *json, FILE *out) { *json = (json_writer){.out = out}; }

void json_finish(json_writer *json) {
  assert(json->depth == 0 && json->is_done);
  fputc('\n', json->out);
}

static void put_string(FILE *out, const char *text) {
  fputc('"', out);
  while (*text) {
    uint32_t code;
    int length = text_decode(text, &code);
    if (code == '"' || code == '\\') {
      fprintf(out, "\\%c", (int)code);
    } else if (code == '\n') {
      fputs("\\n", out);
    } else if (code == '\t') {
      fputs("\\t", out);
    } else if (code < 0x20 || (code == TEXT_INVALID && length == 1)) {
      fprintf(out, "\\u%04" PRIx32, code);
    } else {
      fwrite(text, 1, (size_t)length, out);
    }
    text += length;
  }
  fputc('"', out);
}

static void new_line(json_writer *json) { fprintf(json->out, "\n%*s", 2 * json->depth, ""); }

// Writes what precedes a value: comma, line break, key.
static void begin_value(json_writer *json, const char *key) {
  if (json->depth == 0) {
    assert(!key && !json->is_done);
    return;
  }
  const int level = json->depth - 1;
  assert(json->is_array[level] == !key);
  if (json->has_member[level]) fputc(',', json->out);
  json->has_member[level] = true;
  new_line(json);
  if (key) {
    put_string(json->out, key);
    fputs(": ", json->out);
  }
}

static void end_value(json_writer *json) {
  if (json->depth == 0) json->is_done = true;
}

static void begin_nested(json_writer *json, const char *key, bool is_array) {
  begin_value(json, key);
  assert(json->depth < JSON_MAX_DEPTH);
  fputc(is_array ? '[' : '{', json->out);
  json->is_array[json->depth] = is_array;
  json->has_member[json->depth] = false;
  json->depth++;
}

static void end_nested(json_writer *json, bool is_array) {
  assert(json->depth > 0 && json->is_array[json->depth - 1] == is_array);
  json->depth--;
  if (json->has_member[json->depth]) new_line(json);
  fputc(is_array ? ']' : '}', json->out);
  end_value(json);
}

void json_begin_object(json_writer *json, const char *key) { begin_nested(json, key, false); }
void json_end_object(json_writer *json) { end_nested(json, false); }
void json_begin_array(json_writer *json, const char *key) { begin_nested(json, key, true); }
void json_end_array(json_writer *json) { end_nested(json, true); }

static void put_word(json_writer *json, const char *key, const char *word) {
  begin_value(json, key);
  fputs(word, json->out);
  end_value(json);
}

void json_text(json_writer *json, const char *key, const char *value) {
  if (!value) {
    json_null(json, key);
    return;
  }
  begin_value(json, key);
  put_string(json->out, value);
  end_value(json);
}

void json_int(json_writer *json, const char *key, int64_t value) {
  begin_value(json, key);
  fprintf(json->out, "%" PRId64, value);
  end_value(json);
}

void json_uint(json_writer *json, const char *key, uint64_t value) {
  begin_value(json, key);
  fprintf(json->out, "%" PRIu64, value);
  end_value(json);
}

void json_bool(json_writer *json, const char *key, bool value) { put_word(json, key, value ? "true" : "false"); }

void json_null(json_writer *json, const char *key) { put_word(json, key, "null"); }

void json_real(json_writer *json, const char *key, double value) {
  if (!isfinite(value)) {
    json_null(json, key);
    return;
  }
  char digits[40];
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (strtod(digits, NULL) == value) break;
  }
  put_word(json, key, digits);
}
