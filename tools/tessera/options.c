// SPDX-License-Identifier: MIT
// Parses command-line options that are declared in a list.
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"
#include "text.h"

enum { MAX_OPTIONS = 32 };

typedef struct parser {
  const command_spec *command;
  int argc;
  char **argv;
  int at;  // index of the argument being read
  bool is_given[MAX_OPTIONS];
  char *message;
} parser;

TEXT_FORMAT(2, 3)
static options_outcome wrong(parser *p, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(p->message, OPTIONS_MESSAGE_BYTES, format, values);
  va_end(values);
  return OPTIONS_WRONG;
}

static const option_spec *find_option(const parser *p, const char *name, size_t length) {
  for (int i = 0; i < p->command->option_count; i++) {
    const option_spec *option = &p->command->options[i];
    if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) return option;
  }
  return NULL;
}

static const option_spec *find_letter(const parser *p, char letter) {
  for (int i = 0; i < p->command->option_count; i++) {
    if (p->command->options[i].letter == letter) return &p->command->options[i];
  }
  return NULL;
}

// `given` is the option with its dashes, without its value.
static options_outcome unknown_option(parser *p, const char *given) {
  const char *names[MAX_OPTIONS + 1];
  size_t count = 0;
  for (int i = 0; i < p->command->option_count; i++) names[count++] = p->command->options[i].name;
  names[count++] = "help";
  const char *nearest = tsri_text_nearest(given + strspn(given, "-"), names, count);
  if (!nearest) {
    return wrong(p, "'%s' is not an option; --help lists them", given);
  }
  return wrong(p, "'%s' is not an option. Did you mean '--%s'?", given, nearest);
}

static options_outcome read_count(parser *p, const option_spec *option, const char *value) {
  char *end = NULL;
  errno = 0;
  unsigned long long number = strtoull(value, &end, 10);
  bool is_number = isdigit((unsigned char)value[0]) && *end == '\0';  // strtoull would accept "-1" and " 1"
  if (!is_number || number == 0) {
    return wrong(p, "--%s takes a whole number from 1, not '%s'", option->name, value);
  }
  if (errno == ERANGE) return wrong(p, "--%s: %s is too large", option->name, value);
  *option->count = number;
  return OPTIONS_OK;
}

static options_outcome read_real(parser *p, const option_spec *option, const char *value) {
  char *end = NULL;
  double number = strtod(value, &end);
  bool is_number = value[0] != '\0' && !isspace((unsigned char)value[0]) && *end == '\0';
  if (!is_number || !isfinite(number) || number <= 0) {
    return wrong(p, "--%s takes a number above 0, not '%s'", option->name, value);
  }
  *option->real = number;
  return OPTIONS_OK;
}

static options_outcome read_list(parser *p, const option_spec *option, const char *value) {
  option_list *list = option->list;
  if (list->count >= list->max) return wrong(p, "--%s is given more than %d times", option->name, list->max);
  list->texts[list->count++] = value;
  return OPTIONS_OK;
}

// The value attached to the option, or the next argument. NULL if there is none: a value cannot begin with "--".
static const char *take_value(parser *p, const char *attached) {
  if (attached) return attached;
  if (p->at + 1 >= p->argc || strncmp(p->argv[p->at + 1], "--", 2) == 0) return NULL;
  return p->argv[++p->at];
}

static options_outcome read_value(parser *p, const option_spec *option, const char *attached) {
  p->is_given[option - p->command->options] = true;
  if (option->flag) {
    if (attached) return wrong(p, "--%s takes no value", option->name);
    *option->flag = true;
    return OPTIONS_OK;
  }
  const char *value = take_value(p, attached);
  if (!value) return wrong(p, "--%s needs a value: --%s %s", option->name, option->name, option->value_name);
  if (option->count) return read_count(p, option, value);
  if (option->real) return read_real(p, option, value);
  if (option->list) return read_list(p, option, value);
  *option->text = value;
  return OPTIONS_OK;
}

// Reads "-k NAME" or "-kNAME".
static options_outcome read_letter(parser *p) {
  const char *given = p->argv[p->at];
  const option_spec *option = find_letter(p, given[1]);
  return option ? read_value(p, option, given[2] ? given + 2 : NULL) : unknown_option(p, given);
}

static options_outcome read_option(parser *p) {
  char *given = p->argv[p->at];
  if (strcmp(given, "-h") == 0 || strcmp(given, "--help") == 0) return OPTIONS_HELP;
  if (given[1] != '-') return read_letter(p);
  char *equals = strchr(given, '=');
  size_t length = equals ? (size_t)(equals - given) : strlen(given);
  const option_spec *option = find_option(p, given + 2, length - 2);
  if (option) return read_value(p, option, equals ? equals + 1 : NULL);
  if (equals) *equals = '\0';
  return unknown_option(p, given);
}

// A single dash is an argument, and so is a negative number.
static bool is_option(const char *given) {
  if (given[0] != '-' || given[1] == '\0') return false;
  const char *digits = given + (given[1] == '.' ? 2 : 1);
  return !isdigit((unsigned char)*digits);
}

static options_outcome check_required(parser *p) {
  char missing[OPTIONS_MESSAGE_BYTES / 2] = "";
  size_t used = 0;
  for (int i = 0; i < p->command->option_count; i++) {
    const option_spec *option = &p->command->options[i];
    if (!option->is_required || p->is_given[i] || used >= sizeof missing) continue;
    used += (size_t)snprintf(missing + used, sizeof missing - used, "%s--%s %s", used ? ", " : "", option->name,
                             option->value_name);
  }
  return used ? wrong(p, "missing: %s", missing) : OPTIONS_OK;
}

options_outcome options_parse(const command_spec *command, int argc, char **argv, int *out_argument_count,
                              char *message) {
  assert(command->option_count <= MAX_OPTIONS);
  parser p = {.command = command, .argc = argc, .argv = argv, .message = message};
  bool options_ended = false;
  *out_argument_count = 0;
  for (p.at = 1; p.at < argc; p.at++) {
    char *given = argv[p.at];
    if (!options_ended && strcmp(given, "--") == 0) {
      options_ended = true;
    } else if (!options_ended && is_option(given)) {
      options_outcome outcome = read_option(&p);
      if (outcome != OPTIONS_OK) return outcome;
    } else if (*out_argument_count >= command->argument_max) {
      return wrong(&p, "unexpected argument '%s'; --help shows what is allowed", given);
    } else {
      options_ended = options_ended || command->ends_at_argument;
      argv[++*out_argument_count] = given;  // never overwrites an argument that was not read yet
    }
  }
  return check_required(&p);
}
