// SPDX-License-Identifier: MIT
// Splits text into tokens. Accepts any bytes.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/front/front.h"

typedef struct lexer {
  tsri_module *module;
  tsri_diag *diag;
  tsri_item_array *tokens;
  const char *text;
  uint32_t at, end;  // `text[end]` is 0
  uint32_t line, line_start;
} lexer;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static tsri_ir_pos pos_at(const lexer *lex, uint32_t offset) {
  uint32_t column = offset - lex->line_start + 1;
  return TSRI_IR_POS(lex->line, column > 4095 ? 4095 : column);
}

static tsri_token *add_token(lexer *lex, int kind, uint32_t begin) {
  uint32_t index = tsri_item_array_add(lex->tokens);
  tsri_token *token = (tsri_token *)lex->tokens->items + index;
  token->kind = (uint8_t)kind;
  token->pos = pos_at(lex, begin);
  token->offset = begin;
  token->bytes = lex->at - begin;
  return token;
}

static void start_line(lexer *lex) {
  uint32_t line = tsri_item_array_add(&lex->module->source.lines);
  ((uint32_t *)lex->module->source.lines.items)[line] = lex->at;
  lex->line++;
  lex->line_start = lex->at;
}

static void skip_comment(lexer *lex) {
  tsri_ir_pos pos = pos_at(lex, lex->at);
  lex->at += 2;
  while (lex->at < lex->end) {
    if (lex->text[lex->at] == '*' && lex->text[lex->at + 1] == '/') {
      lex->at += 2;
      return;
    }
    if (lex->text[lex->at++] == '\n') start_line(lex);
  }
  tsri_diag_error(lex->diag, pos, "this comment has no end");
  tsri_diag_hint(lex->diag, "close it with */");
}

static void skip_space(lexer *lex) {
  for (;;) {
    char c = lex->text[lex->at];
    if (c == '\n') {
      lex->at++;
      start_line(lex);
    } else if (c == ' ' || c == '\t' || c == '\r') {
      lex->at++;
    } else if (c == '/' && lex->text[lex->at + 1] == '/') {
      while (lex->at < lex->end && lex->text[lex->at] != '\n') lex->at++;
    } else if (c == '/' && lex->text[lex->at + 1] == '*') {
      skip_comment(lex);
    } else {
      return;
    }
  }
}

static void lex_name(lexer *lex) {
  uint32_t begin = lex->at;
  while (is_letter(lex->text[lex->at]) || is_digit(lex->text[lex->at])) lex->at++;
  uint32_t symbol = tsri_names_intern(&lex->module->names, lex->text + begin, lex->at - begin);
  add_token(lex, TSRI_TOK_NAME, begin)->symbol = symbol;
}

// Exact for mantissas up to 2^53 times powers of ten up to 10^22. Others use strtod, which needs the locale's decimal
// point.
static double real_of(const char *text, uint32_t bytes) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  uint64_t mantissa = 0;
  int exponent = 0, point = 0, written = 0;
  bool is_simple = true;
  uint32_t i = 0;
  for (; i < bytes && (is_digit(text[i]) || text[i] == '.'); i++) {
    if (text[i] == '.') {
      point = 1;
    } else {
      is_simple = is_simple && mantissa < (1ull << 53) / 10 - 1;
      if (is_simple) mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
      exponent -= point;
    }
  }
  if (i < bytes && (text[i] == 'e' || text[i] == 'E')) {
    int sign = text[i + 1] == '-' ? -1 : 1;
    for (i += text[i + 1] == '-' || text[i + 1] == '+' ? 2 : 1; i < bytes && is_digit(text[i]); i++) {
      if (written < 100000) written = written * 10 + (text[i] - '0');
    }
    exponent += sign * written;
  }
  if (is_simple && exponent >= -22 && exponent <= 22) {
    return exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
  }
  char copy[400];
  const char *point_text = localeconv()->decimal_point;
  size_t used = 0;
  for (i = 0; i < bytes && used < sizeof copy - 8; i++) {
    if (text[i] == '.') {
      for (const char *p = point_text; *p && used < sizeof copy - 8; p++) copy[used++] = *p;
    } else {
      copy[used++] = text[i];
    }
  }
  copy[used] = 0;
  return strtod(copy, NULL);
}

static uint32_t digit_value(char c) {
  if (is_digit(c)) return (uint32_t)(c - '0');
  if (c >= 'a' && c <= 'f') return (uint32_t)(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return (uint32_t)(c - 'A' + 10);
  return 99;
}

static uint64_t lex_whole(lexer *lex, uint32_t base, bool *out_fits) {
  uint64_t value = 0;
  for (*out_fits = true; digit_value(lex->text[lex->at]) < base; lex->at++) {
    uint32_t digit = digit_value(lex->text[lex->at]);
    if (value > ((uint64_t)INT64_MAX - digit) / base) *out_fits = false;
    value = value * base + digit;
  }
  return value;
}

// Skips the digits and exponent of a decimal number. Returns true if it has a fraction or an exponent.
static bool skip_decimal(lexer *lex) {
  const char *text = lex->text;
  bool is_real = false;
  while (is_digit(text[lex->at])) lex->at++;
  if (text[lex->at] == '.') {
    is_real = true;
    lex->at++;
    while (is_digit(text[lex->at])) lex->at++;
  }
  char sign = text[lex->at] == 'e' || text[lex->at] == 'E' ? text[lex->at + 1] : 'x';
  if (is_digit(sign) || ((sign == '+' || sign == '-') && is_digit(text[lex->at + 2]))) {
    is_real = true;
    lex->at += 2;
    while (is_digit(text[lex->at])) lex->at++;
  }
  return is_real;
}

static void check_number_end(lexer *lex, uint32_t begin) {
  if (!is_letter(lex->text[lex->at]) && !is_digit(lex->text[lex->at])) return;
  while (is_letter(lex->text[lex->at]) || is_digit(lex->text[lex->at])) lex->at++;
  uint32_t shown = lex->at - begin > 40 ? 40 : lex->at - begin;
  tsri_diag_error(lex->diag, pos_at(lex, begin), "'%.*s' is no number", (int)shown, lex->text + begin);
  tsri_diag_hint(lex->diag, "numbers are written 12, 0xFF, 0b101, 12u, 1.5, 1e-3 or 1.5f");
}

static void lex_number(lexer *lex) {
  uint32_t begin = lex->at;
  const char *text = lex->text;
  char second = text[begin] == '0' ? text[begin + 1] : ' ';
  uint32_t base = second == 'x' || second == 'X' ? 16 : second == 'b' || second == 'B' ? 2 : 10;
  if (base != 10) {
    lex->at += 2;
  } else if (skip_decimal(lex) || text[lex->at] == 'f') {
    double value = real_of(text + begin, lex->at - begin);
    bool has_suffix = text[lex->at] == 'f';
    lex->at += has_suffix;
    check_number_end(lex, begin);
    tsri_token *token = add_token(lex, TSRI_TOK_FLOAT, begin);
    token->real = value;
    token->suffix = has_suffix ? TSRI_SUFFIX_F : TSRI_SUFFIX_NONE;
    return;
  } else {
    lex->at = begin;
  }
  bool fits;
  uint32_t digits = lex->at;
  uint64_t value = lex_whole(lex, base, &fits);
  bool has_suffix = lex->at > digits && text[lex->at] == 'u';
  if (lex->at == digits && !is_letter(text[lex->at])) {
    tsri_diag_error(lex->diag, pos_at(lex, begin), "a number needs digits after '%.2s'", text + begin);
  }
  lex->at += has_suffix;
  check_number_end(lex, begin);
  if (!fits) tsri_diag_error(lex->diag, pos_at(lex, begin), "this number is too large: the largest is 2^63 - 1");
  tsri_token *token = add_token(lex, TSRI_TOK_INT, begin);
  token->integer = fits ? value : 0;
  token->suffix = has_suffix ? TSRI_SUFFIX_U : TSRI_SUFFIX_NONE;
}

static void lex_string(lexer *lex) {
  uint32_t begin = lex->at++;
  while (lex->at < lex->end && lex->text[lex->at] != '"' && lex->text[lex->at] != '\n') lex->at++;
  if (lex->text[lex->at] == '"') {
    lex->at++;
  } else {
    tsri_diag_error(lex->diag, pos_at(lex, begin), "this text has no closing quote on its line");
  }
  add_token(lex, TSRI_TOK_STRING, begin);
}

typedef struct long_operator {
  char text[4];
  uint8_t kind, op;
} long_operator;

// An operator that begins with another one comes before it.
static const long_operator long_operators[] = {
    {"<<=", TSRI_TOK_ASSIGN_OP, TSRI_OP_SHL},
    {">>=", TSRI_TOK_ASSIGN_OP, TSRI_OP_SHR},
    {"<<", TSRI_TOK_SHL, 0},
    {">>", TSRI_TOK_SHR, 0},
    {"<=", TSRI_TOK_LE, 0},
    {">=", TSRI_TOK_GE, 0},
    {"==", TSRI_TOK_EQ, 0},
    {"!=", TSRI_TOK_NE, 0},
    {"&&", TSRI_TOK_AND_AND, 0},
    {"||", TSRI_TOK_OR_OR, 0},
    {"++", TSRI_TOK_PLUS_PLUS, 0},
    {"--", TSRI_TOK_MINUS_MINUS, 0},
    {"->", TSRI_TOK_ARROW, 0},
    {"+=", TSRI_TOK_ASSIGN_OP, TSRI_OP_ADD},
    {"-=", TSRI_TOK_ASSIGN_OP, TSRI_OP_SUB},
    {"*=", TSRI_TOK_ASSIGN_OP, TSRI_OP_MUL},
    {"/=", TSRI_TOK_ASSIGN_OP, TSRI_OP_DIV},
    {"%=", TSRI_TOK_ASSIGN_OP, TSRI_OP_REM},
    {"&=", TSRI_TOK_ASSIGN_OP, TSRI_OP_AND},
    {"|=", TSRI_TOK_ASSIGN_OP, TSRI_OP_OR},
    {"^=", TSRI_TOK_ASSIGN_OP, TSRI_OP_XOR},
};

static bool lex_long_operator(lexer *lex) {
  const char *text = lex->text + lex->at;
  if (!strchr("=<>&|+-", text[1]) || !text[1]) return false;
  for (size_t i = 0; i < sizeof long_operators / sizeof *long_operators; i++) {
    const long_operator *candidate = &long_operators[i];
    size_t length = candidate->text[2] ? 3 : 2;
    if (strncmp(text, candidate->text, length) != 0) continue;
    uint32_t begin = lex->at;
    lex->at += (uint32_t)length;
    add_token(lex, candidate->kind, begin)->op = candidate->op;
    return true;
  }
  return false;
}

// #include and #define: reports an error and skips the line.
static void lex_directive(lexer *lex) {
  tsri_diag_error(lex->diag, pos_at(lex, lex->at), "there is no preprocessor");
  tsri_diag_hint(lex->diag,
                 "write const u32 N = 16; or a compile-time parameter: kernel k<N = 16>(…); a file is whole");
  while (lex->at < lex->end && lex->text[lex->at] != '\n') lex->at++;
}

// A character literal such as 'a': reports an error and makes a token for the number 0, so that the rest can be parsed.
static void lex_character(lexer *lex) {
  uint32_t begin = lex->at++;
  tsri_diag_error(lex->diag, pos_at(lex, begin), "there are no characters");
  tsri_diag_hint(lex->diag, "write the number: 65 for 'A'");
  while (lex->at < lex->end && lex->text[lex->at] != '\'' && lex->text[lex->at] != '\n') lex->at++;
  if (lex->text[lex->at] == '\'') lex->at++;
  add_token(lex, TSRI_TOK_INT, begin);
}

static void lex_bad_byte(lexer *lex) {
  unsigned char c = (unsigned char)lex->text[lex->at];
  if (c == '#') {
    lex_directive(lex);
    return;
  }
  if (c == '\'') {
    lex_character(lex);
    return;
  }
  tsri_ir_pos pos = pos_at(lex, lex->at);
  if (c >= 32 && c < 127) {
    tsri_diag_error(lex->diag, pos, "'%c' has no meaning here", c);
  } else if (c < 128) {
    tsri_diag_error(lex->diag, pos, "a byte of value %u has no meaning here", c);
  } else {
    tsri_diag_error(lex->diag, pos, "a character outside ASCII may stand only in comments and texts");
  }
  // Skips the rest of such bytes, so that they are reported only once.
  while (lex->at < lex->end && (unsigned char)lex->text[lex->at] >= 128) lex->at++;
  if (c < 128) lex->at++;
}

static void lex_one(lexer *lex) {
  char c = lex->text[lex->at];
  if (is_letter(c)) {
    lex_name(lex);
  } else if (is_digit(c) || (c == '.' && is_digit(lex->text[lex->at + 1]))) {
    lex_number(lex);
  } else if (c == '"') {
    lex_string(lex);
  } else if (lex_long_operator(lex)) {
    return;
  } else if (c && strchr("+-*/%&|^~!<>=?:;,.(){}[]", c)) {
    lex->at++;
    add_token(lex, c, lex->at - 1);
  } else {
    lex_bad_byte(lex);
  }
}

bool tsri_lex(tsri_module *module, tsri_diag *diag, tsri_item_array *out_tokens) {
  size_t bytes = module->source.bytes;
  if (!tsri_item_array_init(&module->source.lines, sizeof(uint32_t), (uint32_t)(bytes / 32 + 16), UINT32_MAX))
    return false;
  if (!tsri_item_array_init(out_tokens, sizeof(tsri_token), (uint32_t)(bytes / 3 + 16), UINT32_MAX)) return false;
  lexer lex = {
      .module = module, .diag = diag, .tokens = out_tokens, .text = module->source.text, .end = (uint32_t)bytes};
  if (bytes >= 3 && memcmp(lex.text, "\xEF\xBB\xBF", 3) == 0) lex.at = 3;
  uint32_t start = lex.at;
  start_line(&lex);
  lex.line_start = start;
  for (skip_space(&lex); lex.at < lex.end && !diag->is_full; skip_space(&lex)) lex_one(&lex);
  add_token(&lex, TSRI_TOK_END, lex.at);
  return !out_tokens->has_failed && !module->source.lines.has_failed && !module->names.pool.has_failed;
}
