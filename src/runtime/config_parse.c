// SPDX-License-Identifier: MIT
// Parses one value, and a whole config file. Uses no files, environment or allocations, and no locale, so that "1.5G"
// means the same everywhere.
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/suggest.h"
#include "runtime/config.h"

enum { NAME_BYTES = 64, FRACTION_DIGITS = 6, MOST_THREADS = 4096, MOST_MEGABYTES = 1 << 20 };

const tsri_setting_info tsri_settings[TSRI_SETTING_COUNT] = {
#define TSRI_SETTING(id, name, type, fallback, allowed, help) \
  {#name, "TESSERA_" #id, TSRI_TYPE_##type, fallback, allowed, help},
#include "runtime/settings.def"
#undef TSRI_SETTING
};

static const char *const setting_names[] = {
#define TSRI_SETTING(id, name, type, fallback, allowed, help) #name,
#include "runtime/settings.def"
#undef TSRI_SETTING
};

static const char all_names[] =
#define TSRI_SETTING(id, name, type, fallback, allowed, help) ", " #name
#include "runtime/settings.def"
#undef TSRI_SETTING
    ;

// --- Letters -----------------------------------------------------------------------------------------------------

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool is_control(char c) { return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7F; }
static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same_word(const char *a, const char *b) {
  for (; *a && to_lower(*a) == to_lower(*b); a++) b++;
  return to_lower(*a) == to_lower(*b);
}

static bool is_name_letter(char c) {
  c = to_lower(c);
  return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '.';
}

// Number of bytes of the UTF-8 character at `text`, which is terminated by 0; 0 if it is not valid UTF-8.
static size_t utf8_bytes(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  size_t bytes = c[0] < 0x80 ? 1 : (c[0] >> 5) == 0x6 ? 2 : (c[0] >> 4) == 0xE ? 3 : (c[0] >> 3) == 0x1E ? 4 : 0;
  for (size_t i = 1; i < bytes; i++) {
    if ((c[i] & 0xC0) != 0x80) return 0;
  }
  return bytes;
}

char *tsri_config_quote(const char *text, char out[TSRI_CONFIG_QUOTE_BYTES]) {
  enum { MOST = 64 };  // bytes of `text` that are shown; each takes at most four in `out`
  size_t used = 0, at = 0;
  while (at < MOST && text[at]) {
    size_t bytes = utf8_bytes(text + at);
    if (bytes == 0 || is_control(text[at])) {
      used += (size_t)snprintf(out + used, 5, "\\x%02X", (unsigned)(unsigned char)text[at]);
      at++;
    } else {
      memcpy(out + used, text + at, bytes);
      used += bytes;
      at += bytes;
    }
  }
  memcpy(out + used, text[at] ? "…" : "", text[at] ? 4 : 1);
  return out;
}

// --- One value ---------------------------------------------------------------------------------------------------

typedef struct parse {
  char *text;  // the value without surrounding blanks; parsers clean it in place
  tsri_setting_value *value;
  char *problem;
} parse;

static bool TSRI_PRINTF(2, 3) refuse(parse *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->problem, TSRI_CONFIG_PROBLEM_BYTES, format, args);
  va_end(args);
  return false;
}

static bool accept(parse *p, uint64_t number) {
  p->value->is_set = true;
  p->value->number = number;
  return true;
}

// Whether the text is the word for "not given". It is then put into lower case, and the value stays unset.
static bool take_unset_word(parse *p, const char *word) {
  if (!same_word(p->text, word)) return false;
  memcpy(p->text, word, strlen(word));
  return true;
}

typedef struct word_choice {
  const char *word;
  int number;
} word_choice;

static bool parse_choice(parse *p, const word_choice *choices, size_t count) {
  const char *words[16];
  for (size_t i = 0; i < count; i++) {
    words[i] = choices[i].word;
    if (!same_word(p->text, words[i])) continue;
    memcpy(p->text, words[i], strlen(words[i]));
    return accept(p, (uint64_t)choices[i].number);
  }
  const char *nearest = tsri_text_nearest(p->text, words, count);
  if (nearest) return refuse(p, "is unknown (did you mean %s?)", nearest);
  return refuse(p, "is unknown");
}

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static bool parse_switch(parse *p) {
#define TSRI_X(name, word, number) {#word, number},
  static const word_choice choices[] = {TSRI_SWITCH_WORDS(TSRI_X)};
#undef TSRI_X
  return parse_choice(p, choices, COUNT_OF(choices));
}

static bool parse_jit(parse *p) {
#define TSRI_X(name, word, number) {#word, number},
  static const word_choice choices[] = {TSRI_JIT_WORDS(TSRI_X)};
#undef TSRI_X
  return parse_choice(p, choices, COUNT_OF(choices));
}

static bool parse_mix(parse *p) {
#define TSRI_X(name, word, meaning) {#word, TSRI_MIX_##name},
  static const word_choice choices[] = {TSRI_MIX_RULES(TSRI_X)};
#undef TSRI_X
  return parse_choice(p, choices, COUNT_OF(choices));
}

static bool parse_placement(parse *p) {
#define TSRI_X(name, word, meaning) {#word, TSRI_PLACEMENT_##name},
  static const word_choice choices[] = {TSRI_PLACEMENT_RULES(TSRI_X)};
#undef TSRI_X
  return parse_choice(p, choices, COUNT_OF(choices));
}

static bool parse_tune(parse *p) {
#define TSRI_X(name, word, meaning) {#word, TSRI_TUNE_MODE_##name},
  static const word_choice choices[] = {TSRI_TUNE_MODES(TSRI_X)};
#undef TSRI_X
  return parse_choice(p, choices, COUNT_OF(choices));
}

static bool parse_level(parse *p) {
#define TSRI_X(name, lower, text) {#lower, TSR_LOG_##name},
  static const word_choice choices[] = {TSR_LOG_LEVELS(TSRI_X)};
#undef TSRI_X
  return parse_choice(p, choices, COUNT_OF(choices));
}

static bool parse_simd(parse *p) {
#define TSRI_X(name, word, meaning) {#word, 0},
  static const word_choice choices[] = {TSRI_SIMD_LEVELS(TSRI_X)};
#undef TSRI_X
  if (!parse_choice(p, choices, COUNT_OF(choices))) return false;
  p->value->is_set = strcmp(p->text, "auto") != 0;
  return true;
}

static bool parse_whole(parse *p, uint64_t most) {
  uint64_t number = 0;
  if (p->text[0] == '-' && is_digit(p->text[1])) return refuse(p, "is negative");
  for (const char *c = p->text; *c; c++) {
    if (!is_digit(*c)) return refuse(p, "is not a whole number");
    unsigned digit = (unsigned)(*c - '0');
    if (number > (most - digit) / 10) return refuse(p, "is more than %llu", (unsigned long long)most);
    number = number * 10 + digit;
  }
  return accept(p, number);
}

static bool parse_index(parse *p) { return take_unset_word(p, "auto") || parse_whole(p, INT_MAX); }

static bool parse_threads(parse *p) { return parse_whole(p, MOST_THREADS); }

static bool parse_megabytes(parse *p) { return parse_whole(p, MOST_MEGABYTES); }

// "1.5 GiB" split into its parts. Integers instead of a double: no rounding, and no locale.
typedef struct quantity {
  uint64_t whole;
  uint32_t millionths;
  const char *unit;  // the rest of the text
} quantity;

static bool parse_fraction(parse *p, const char **at, uint32_t *out_millionths) {
  const char *c = *at;
  uint32_t scale = 1000000;
  *out_millionths = 0;
  if (!is_digit(*c)) return refuse(p, "has no digit after the point");
  for (; is_digit(*c); c++) {
    scale /= 10;
    if (scale == 0) return refuse(p, "has more than %d digits after the point", FRACTION_DIGITS);
    *out_millionths += scale * (uint32_t)(*c - '0');
  }
  *at = c;
  return true;
}

static bool parse_quantity(parse *p, quantity *out) {
  const char *c = p->text;
  *out = (quantity){0};
  if (*c == '-' && is_digit(c[1])) return refuse(p, "is negative");
  if (!is_digit(*c)) return refuse(p, "does not begin with a number");
  for (; is_digit(*c); c++) {
    unsigned digit = (unsigned)(*c - '0');
    if (out->whole > (UINT64_MAX - digit) / 10) return refuse(p, "is too large");
    out->whole = out->whole * 10 + digit;
  }
  if (*c == '.') {
    c++;
    if (!parse_fraction(p, &c, &out->millionths)) return false;
  }
  while (is_blank(*c)) c++;
  out->unit = c;
  return true;
}

typedef struct unit {
  const char *name;
  uint64_t size;
} unit;

// Converts the quantity to the smallest unit, rounded down. The largest unit times a million fits into 64 bits.
static bool scale_quantity(parse *p, const quantity *q, const unit *units, size_t unit_count, uint64_t *out_number) {
  for (size_t i = 0; i < unit_count; i++) {
    uint64_t size = units[i].size;
    if (!same_word(q->unit, units[i].name)) continue;
    if (size == 1 && q->millionths != 0) return refuse(p, "is not a whole number");
    uint64_t fraction = q->millionths * size / 1000000;
    if (q->whole > (UINT64_MAX - fraction) / size) return refuse(p, "is too large");
    *out_number = q->whole * size + fraction;
    return true;
  }
  if (!*q->unit) return refuse(p, "has no unit");
  char shown[TSRI_CONFIG_QUOTE_BYTES];
  return refuse(p, "has the unknown unit \"%.64s\"", tsri_config_quote(q->unit, shown));
}

static bool scale_bytes(parse *p, const quantity *q, uint64_t *out_bytes) {
  static const unit units[] = {
      {"", 1},
      {"B", 1},  //
      {"KB", 1000},
      {"K", 1ull << 10},
      {"KiB", 1ull << 10},  //
      {"MB", 1000000},
      {"M", 1ull << 20},
      {"MiB", 1ull << 20},  //
      {"GB", 1000000000},
      {"G", 1ull << 30},
      {"GiB", 1ull << 30},  //
      {"TB", 1000000000000},
      {"T", 1ull << 40},
      {"TiB", 1ull << 40},
  };
  return scale_quantity(p, q, units, COUNT_OF(units), out_bytes);
}

static bool parse_bytes(parse *p) {
  quantity q;
  uint64_t bytes = 0;
  if (!parse_quantity(p, &q) || !scale_bytes(p, &q, &bytes)) return false;
  return accept(p, bytes);
}

static bool accept_percent(parse *p, const quantity *q) {
  if (q->whole > 100 || (q->whole == 100 && q->millionths != 0)) return refuse(p, "is more than 100%%");
  if (q->millionths % 100 != 0) return refuse(p, "has more than 4 digits after the point");
  p->value->millionths = (uint32_t)q->whole * 10000 + q->millionths / 100;
  if (p->value->millionths == 0) return refuse(p, "leaves no memory (none means no limit)");
  return accept(p, 0);
}

static bool parse_limit(parse *p) {
  quantity q;
  uint64_t bytes = 0;
  if (take_unset_word(p, "none")) return true;
  if (!parse_quantity(p, &q)) return false;
  if (strcmp(q.unit, "%") == 0) return accept_percent(p, &q);
  if (!scale_bytes(p, &q, &bytes)) return false;
  if (bytes == 0) return refuse(p, "leaves no memory (none means no limit)");
  return accept(p, bytes);
}

static bool parse_duration(parse *p) {
  static const unit units[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}};
  quantity q;
  uint64_t ms = 0;
  if (take_unset_word(p, "none")) return true;
  if (!parse_quantity(p, &q) || !scale_quantity(p, &q, units, COUNT_OF(units), &ms)) return false;
  if (ms == 0) return refuse(p, "is shorter than 1ms (none means no limit)");
  if (ms > UINT32_MAX) return refuse(p, "is longer than 49 days (none means no limit)");
  return accept(p, ms);
}

// Checks the name of `bytes` bytes at `name`.
static bool check_name(parse *p, const char *name, size_t bytes) {
  if (bytes == 0) return refuse(p, "has an empty name in it");
  if (bytes >= NAME_BYTES) return refuse(p, "has a name of more than %d letters", NAME_BYTES - 1);
  for (size_t i = 0; i < bytes; i++) {
    if (!is_name_letter(name[i])) return refuse(p, "is not a name (letters, digits and _ - + . make names)");
  }
  if (name[0] == '-') return refuse(p, "is not a name (it begins with a '-')");
  return true;
}

static void make_lower(char *text) {
  for (; *text; text++) *text = to_lower(*text);
}

// "cuda" or "cuda:1". The index is stored in the value and removed from the text.
static bool parse_name(parse *p) {
  make_lower(p->text);
  if (take_unset_word(p, "auto")) return true;
  char *colon = strchr(p->text, ':');
  if (!check_name(p, p->text, colon ? (size_t)(colon - p->text) : strlen(p->text))) return false;
  if (!colon) return accept(p, 0);
  parse index = {.text = colon + 1, .value = p->value, .problem = p->problem};
  if (!colon[1]) return refuse(p, "has no index after the ':'");
  if (!parse_whole(&index, INT_MAX)) return false;
  p->value->has_index = true;
  *colon = 0;
  return strcmp(p->text, "auto") != 0 || refuse(p, "has an index beside auto");
}

// Iterates over "a,b,c": sets `*at` and `*out_bytes` to the next item, or returns false at the end. Start with `*at`
// NULL.
static bool next_item(const char *list, const char **at, size_t *out_bytes) {
  if (*at && !(*at)[*out_bytes]) return false;
  *at = *at ? *at + *out_bytes + 1 : list;
  *out_bytes = strcspn(*at, ",");
  return true;
}

static bool list_has(const char *list, size_t list_bytes, const char *name, size_t name_bytes) {
  const char *at = NULL;
  size_t bytes = 0;
  while (next_item(list, &at, &bytes) && at < list + list_bytes) {
    if (bytes == name_bytes && memcmp(at, name, bytes) == 0) return true;
  }
  return false;
}

// "Cuda , cpu" becomes "cuda,cpu".
static void tidy_list(char *text) {
  char *to = text;
  for (const char *from = text; *from; from++) {
    if (is_blank(*from)) {
      const char *next = from + strspn(from, " \t");
      if (*next == ',' || to == text || to[-1] == ',') continue;
    }
    *to++ = to_lower(*from);
  }
  *to = 0;
}

static bool check_list(parse *p, bool leaves_out) {
  const char *at = NULL;
  size_t bytes = 0;
  while (next_item(p->text, &at, &bytes)) {
    size_t dash = leaves_out && at[0] == '-';
    if (!check_name(p, at + dash, bytes - dash)) return false;
    if (list_has(p->text, (size_t)(at - p->text), at, bytes)) return refuse(p, "names %.*s twice", (int)bytes, at);
  }
  return true;
}

static bool parse_names(parse *p) {
  tidy_list(p->text);
  if (take_unset_word(p, "auto")) return true;
  if (!check_list(p, false)) return false;
  if (list_has(p->text, strlen(p->text), "auto", 4)) return refuse(p, "has auto beside other names");
  return accept(p, 0);
}

static bool check_libraries(parse *p, bool leaves_out) {
  const char *at = NULL;
  size_t bytes = 0;
  while (next_item(p->text, &at, &bytes)) {
    const char *name = at + leaves_out;
    size_t length = bytes - leaves_out;
    if (!tsri_native_is_known(name, length)) {
      return refuse(p, "names %.*s, which is none of the libraries", (int)length, name);
    }
  }
  return true;
}

static bool parse_libraries(parse *p) {
  tidy_list(p->text);
  if (strncmp(p->text, "all,-", 5) == 0) memmove(p->text, p->text + 4, strlen(p->text + 4) + 1);
  bool leaves_out = p->text[0] == '-';
  const char *at = NULL;
  size_t bytes = 0;
  while (next_item(p->text, &at, &bytes)) {
    if (bytes > 0 && (at[0] == '-') != leaves_out) return refuse(p, "mixes names to use with names to leave out");
  }
  if (!check_list(p, leaves_out)) return false;
  if (strcmp(p->text, "all") == 0 || strcmp(p->text, "none") == 0) return accept(p, 0);
  static const char *const alone[] = {"all", "none", "-all", "-none"};
  for (size_t i = 0; i < COUNT_OF(alone); i++) {
    if (list_has(p->text, strlen(p->text), alone[i], strlen(alone[i]))) {
      return refuse(p, "has %s where only names of libraries can be", alone[i]);
    }
  }
  return check_libraries(p, leaves_out) && accept(p, 0);
}

static bool parse_text(parse *p) { return take_unset_word(p, "none") || accept(p, 0); }

static bool (*const parsers[TSRI_TYPE_COUNT])(parse *p) = {
    [TSRI_TYPE_NAME] = parse_name,
    [TSRI_TYPE_INDEX] = parse_index,
    [TSRI_TYPE_NAMES] = parse_names,
    [TSRI_TYPE_LIMIT] = parse_limit,
    [TSRI_TYPE_BYTES] = parse_bytes,
    [TSRI_TYPE_DURATION] = parse_duration,
    [TSRI_TYPE_THREADS] = parse_threads,
    [TSRI_TYPE_SIMD] = parse_simd,
    [TSRI_TYPE_LIBRARIES] = parse_libraries,
    [TSRI_TYPE_SWITCH] = parse_switch,
    [TSRI_TYPE_MIX] = parse_mix,
    [TSRI_TYPE_LEVEL] = parse_level,
    [TSRI_TYPE_FOLDERS] = parse_text,
    [TSRI_TYPE_TEXT] = parse_text,
    [TSRI_TYPE_MEGABYTES] = parse_megabytes,
    [TSRI_TYPE_JIT] = parse_jit,
    [TSRI_TYPE_PLACEMENT] = parse_placement,
    [TSRI_TYPE_TUNE] = parse_tune,
};

// Returns the start of `text` without surrounding blanks, and sets `*bytes` to its length.
static const char *trim(const char *text, size_t *bytes) {
  while (*bytes > 0 && is_blank(text[*bytes - 1])) --*bytes;
  while (*bytes > 0 && is_blank(text[0])) {
    text++;
    --*bytes;
  }
  return text;
}

bool tsri_setting_parse(tsri_setting_id id, const char *text, char *clean, tsri_setting_value *out_value,
                        char problem[TSRI_CONFIG_PROBLEM_BYTES]) {
  parse p = {.text = clean, .value = out_value, .problem = problem};
  *out_value = (tsri_setting_value){0};
  *problem = 0;
  size_t bytes = strlen(text);
  const char *start = trim(text, &bytes);
  memcpy(clean, start, bytes);
  clean[bytes] = 0;
  if (bytes == 0) return refuse(&p, "is empty");
  if (bytes > TSRI_CONFIG_TEXT_BYTES) return refuse(&p, "is longer than %zu bytes", TSRI_CONFIG_TEXT_BYTES);
  for (const char *c = clean; *c; c++) {
    if (is_control(*c)) return refuse(&p, "has a control character in it (0x%02X)", (unsigned)(unsigned char)*c);
  }
  return parsers[tsri_settings[id].type](&p);
}

// --- Names of settings -------------------------------------------------------------------------------------------

bool tsri_setting_find(const char *name, tsri_setting_id *out_id) {
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    if (strcmp(name, setting_names[i]) != 0) continue;
    *out_id = (tsri_setting_id)i;
    return true;
  }
  return false;
}

const char *tsri_setting_suggest(const char *name) {
  static const char prefix[] = "tessera_";
  size_t i = 0;
  while (prefix[i] && to_lower(name[i]) == prefix[i]) i++;
  return tsri_text_nearest(prefix[i] ? name : name + i, setting_names, TSRI_SETTING_COUNT);
}

void tsri_setting_describe_unknown(const char *name, char out[TSRI_CONFIG_UNKNOWN_BYTES]) {
  char shown[TSRI_CONFIG_QUOTE_BYTES];
  const char *nearest = tsri_setting_suggest(name);
  snprintf(out, TSRI_CONFIG_UNKNOWN_BYTES, "there is no setting \"%s\"%s%s%s; allowed: %s",
           tsri_config_quote(name, shown), nearest ? " (did you mean " : "", nearest ? nearest : "",
           nearest ? "?)" : "", all_names + 2);
}

// --- The file ----------------------------------------------------------------------------------------------------

typedef struct config_reader {
  const char *path;
  int line;
  const char *start, *end;           // of the present line
  int lines_of[TSRI_SETTING_COUNT];  // the line in which each setting was given; 0: not given yet
  tsr_status (*visit)(const tsri_config_line *line, void *user);
  void *user;
} config_reader;

// The column of `at` in its line, in characters from 1.
static int column_of(const config_reader *r, const char *at) {
  int column = 1;
  for (const char *c = r->start; c < at; c++) column += ((unsigned char)*c & 0xC0) != 0x80;
  return column;
}

static tsr_status TSRI_PRINTF(3, 4) fail_at(const config_reader *r, const char *at, const char *format, ...) {
  char message[TSRI_ERROR_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return TSRI_FAIL(TSR_ERR_CONFIG, "%s:%d:%d: %s", r->path, r->line, column_of(r, at), message);
}

static tsr_status check_letters(const config_reader *r) {
  if ((size_t)(r->end - r->start) > TSRI_CONFIG_TEXT_BYTES) {
    return fail_at(r, r->start, "the line is longer than the %zu bytes allowed", TSRI_CONFIG_TEXT_BYTES);
  }
  for (const char *c = r->start; c < r->end; c++) {
    if (*c == 0) return fail_at(r, c, "a NUL byte; only UTF-8 text is allowed");
    if (is_control(*c)) {
      return fail_at(r, c, "a control character (0x%02X); only UTF-8 text is allowed", (unsigned)(unsigned char)*c);
    }
  }
  return TSR_OK;
}

// A '#' begins a comment only at the start of a line or after a blank, so that a path may contain one.
static const char *find_comment(const char *start, const char *end) {
  for (const char *c = start; c < end; c++) {
    if (*c == '#' && (c == start || is_blank(c[-1]))) return c;
  }
  return end;
}

static tsr_status read_name(const config_reader *r, const char *start, size_t bytes, tsri_setting_id *out_id) {
  char name[NAME_BYTES + 2];  // longer than any setting's name, so that a cut-off name matches none
  char problem[TSRI_CONFIG_UNKNOWN_BYTES];
  if (bytes > NAME_BYTES + 1) bytes = NAME_BYTES + 1;
  memcpy(name, start, bytes);
  name[bytes] = 0;
  if (tsri_setting_find(name, out_id)) return TSR_OK;
  tsri_setting_describe_unknown(name, problem);
  return fail_at(r, start, "%s", problem);
}

static tsr_status read_line(config_reader *r) {
  tsr_status status = check_letters(r);
  if (status != TSR_OK) return status;

  size_t bytes = (size_t)(find_comment(r->start, r->end) - r->start);
  const char *start = trim(r->start, &bytes);
  if (bytes == 0) return TSR_OK;
  const char *equals = memchr(start, '=', bytes);
  if (!equals || equals == start) return fail_at(r, start, "allowed is: name = value, such as backend = cpu");

  size_t name_bytes = (size_t)(equals - start);
  trim(start, &name_bytes);
  tsri_config_line line = {.line = r->line, .value_bytes = bytes - (size_t)(equals + 1 - start)};
  status = read_name(r, start, name_bytes, &line.id);
  if (status != TSR_OK) return status;
  const tsri_setting_info *info = &tsri_settings[line.id];
  if (r->lines_of[line.id]) {
    return fail_at(r, start, "%s is given twice, first in line %d; once is allowed", info->name, r->lines_of[line.id]);
  }
  r->lines_of[line.id] = r->line;

  line.value = trim(equals + 1, &line.value_bytes);
  line.column = column_of(r, line.value);
  if (line.value_bytes == 0) return fail_at(r, equals, "%s has no value; allowed: %s", info->name, info->allowed);
  if (line.value[0] == '"' || line.value[0] == '\'') {
    return fail_at(r, line.value, "%s: a value is written without quotes; allowed: %s", info->name, info->allowed);
  }
  return r->visit(&line, r->user);
}

static bool begins_with(const char *text, size_t bytes, const char *mark) {
  return bytes >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0;
}

tsr_status tsri_config_parse_file(const char *path, const char *text, size_t bytes,
                                  tsr_status (*visit)(const tsri_config_line *line, void *user), void *user) {
  if (bytes > TSRI_CONFIG_FILE_BYTES) {
    return TSRI_FAIL(TSR_ERR_CONFIG, "%s: larger than the 1 MiB allowed for a config file", path);
  }
  config_reader r = {.path = path, .line = 1, .start = text, .visit = visit, .user = user};
  if (begins_with(text, bytes, "\xFF\xFE") || begins_with(text, bytes, "\xFE\xFF")) {
    return fail_at(&r, text, "the file is UTF-16; only UTF-8 text is allowed");
  }
  if (begins_with(text, bytes, "\xEF\xBB\xBF")) r.start += 3;  // a byte order mark

  for (const char *end = text + bytes; r.start < end; r.line++) {
    const char *newline = memchr(r.start, '\n', (size_t)(end - r.start));
    const char *next = newline ? newline + 1 : end;
    r.end = newline ? newline : end;
    if (r.end > r.start && r.end[-1] == '\r') r.end--;
    tsr_status status = read_line(&r);
    if (status != TSR_OK) return status;
    r.start = next;
  }
  return TSR_OK;
}
