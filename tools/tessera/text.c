// SPDX-License-Identifier: MIT
// The width of UTF-8 text in terminal columns.
//
// Widths come from the two short lists below and not from wcwidth(), whose results depend on the locale.
#include "text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct code_range {
  uint32_t first, last;
} code_range;

// Marks drawn over the preceding character, and characters that are not drawn.
static const code_range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x0610, 0x061A}, {0x064B, 0x065F}, {0x0900, 0x0902},
    {0x093C, 0x093C}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},   {0x20D0, 0x20FF}, {0x3099, 0x309A}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

// East Asian wide and full-width characters, and emoji.
static const code_range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},   {0x26A1, 0x26A1},
    {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

#define RANGE_COUNT(ranges) ((int)(sizeof(ranges) / sizeof((ranges)[0])))

static bool is_in(uint32_t code, const code_range *ranges, int count) {
  for (int i = 0; i < count; i++) {
    if (code >= ranges[i].first && code <= ranges[i].last) return true;
  }
  return false;
}

static int code_width(uint32_t code) {
  if (is_in(code, combining, RANGE_COUNT(combining))) return 0;
  return is_in(code, wide, RANGE_COUNT(wide)) ? 2 : 1;
}

int text_decode(const char *text, uint32_t *out_code) {
  const unsigned char *byte = (const unsigned char *)text;
  *out_code = TEXT_INVALID;
  if (byte[0] < 0x80) {
    *out_code = byte[0];
    return 1;
  }
  int length = byte[0] >= 0xF0 ? 4 : byte[0] >= 0xE0 ? 3 : 2;
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};  // a smaller code has a shorter form
  if (byte[0] < 0xC2 || byte[0] > 0xF4) return 1;

  uint32_t code = byte[0] & (0xFFu >> (length + 1));
  for (int i = 1; i < length; i++) {
    if ((byte[i] & 0xC0) != 0x80) return 1;  // also ends at the final NUL
    code = code << 6 | (byte[i] & 0x3Fu);
  }
  bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest[length] || code > 0x10FFFF || is_surrogate) return 1;
  *out_code = code;
  return length;
}

int text_width_of(const char *text, int bytes) {
  int width = 0;
  for (const char *end = text + bytes; text < end;) {
    uint32_t code;
    text += text_decode(text, &code);
    width += code_width(code);
  }
  return width;
}

int text_width(const char *text) { return text_width_of(text, (int)strlen(text)); }

static bool is_control(uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

char *text_clean(const char *text) {
  char *clean = malloc(strlen(text) + 1);
  if (!clean) return NULL;
  char *end = clean;
  while (*text) {
    uint32_t code;
    int length = text_decode(text, &code);
    if (code == '\n' || code == '\r' || code == '\t') {
      *end++ = ' ';
    } else if (is_control(code) || (code == TEXT_INVALID && length == 1)) {
      *end++ = '?';
    } else {
      memcpy(end, text, (size_t)length);
      end += length;
    }
    text += length;
  }
  *end = '\0';
  return clean;
}

int text_bytes_within(const char *text, int columns) {
  const char *at = text;
  while (*at) {
    uint32_t code;
    int length = text_decode(at, &code);
    columns -= code_width(code);
    if (columns < 0) break;
    at += length;
  }
  return (int)(at - text);
}

int text_break(const char *text, int columns, const char **out_next) {
  const char *at = text, *last_space = NULL;
  int width = 0;
  while (*at && *at != '\n') {
    uint32_t code;
    int length = text_decode(at, &code);
    if (code == ' ') last_space = at;
    width += code_width(code);
    if (width > columns && last_space) {
      *out_next = last_space + 1;
      return (int)(last_space - text);
    }
    at += length;
  }
  *out_next = *at ? at + 1 : at;
  return (int)(at - text);
}

void text_print_wrapped(FILE *out, const char *text, int indent, int columns) {
  for (bool is_first = true; is_first || *text; is_first = false) {
    const char *next;
    int bytes = text_break(text, columns, &next);
    fprintf(out, "%*s%.*s\n", is_first || bytes == 0 ? 0 : indent, "", bytes, text);
    text = next;
  }
}
