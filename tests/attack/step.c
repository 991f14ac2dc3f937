// SPDX-License-Identifier: MIT
// Formats steps as text.
#include "attack/step.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STEP_X(name) #name,
static const char *const unary_names[] = {UNARY_OPS(STEP_X)};
static const char *const binary_names[] = {BINARY_OPS(STEP_X)};
static const char *const reduce_names[] = {REDUCE_OPS(STEP_X)};
#undef STEP_X
#define STEP_X(name) #name "_scalar",
static const char *const scalar_names[] = {SCALAR_OPS(STEP_X)};
#undef STEP_X
#define STEP_X(name, makes) #name,
static const char *const kind_names[] = {STEP_KINDS(STEP_X)};
#undef STEP_X
#define STEP_X(name, makes) STEP_##makes,
static const step_makes kind_makes[] = {STEP_KINDS(STEP_X)};
#undef STEP_X

const char *step_name(const step *s) {
  switch (s->kind) {
    case STEP_unary:
      return unary_names[s->op];
    case STEP_binary:
      return binary_names[s->op];
    case STEP_scalar:
      return scalar_names[s->op];
    case STEP_reduce:
      return reduce_names[s->op];
    default:
      return kind_names[s->kind];
  }
}

step_makes step_makes_what(const step *s) { return kind_makes[s->kind]; }

typedef struct line {
  char *text;
  size_t bytes, used;
  bool has_argument;
} line;

static void put(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(line *l, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(l->text + l->used, l->bytes - l->used, format, values);
  va_end(values);
  if (length > 0) l->used += (size_t)length;
  if (l->used >= l->bytes) l->used = l->bytes - 1;
}

static void next(line *l) {
  if (l->has_argument) put(l, ", ");
  l->has_argument = true;
}

static void put_axes(line *l, const step *s) {
  next(l);
  put(l, "axes {");
  for (int i = 0; i < s->axis_count; i++) put(l, "%s%d", i ? ", " : "", s->axes[i]);
  put(l, "}");
}

static void put_shape(line *l, const step *s) {
  char text[TSR_SHAPE_TEXT_BYTES];
  next(l);
  put(l, "%s", tsr_shape_format(s->shape, text, sizeof text));
}

static void put_numbers(line *l, const step *s, int count) {
  for (int i = 0; i < count; i++) {
    next(l);
    put(l, "%lld", (long long)s->numbers[i]);
  }
}

static void put_number_arguments(line *l, const step *s) {
  switch (s->kind) {
    case STEP_slice:
      put_numbers(l, s, 3);
      return;
    case STEP_full:
    case STEP_eye:
    case STEP_arange:
    case STEP_repeat:
    case STEP_roll:
    case STEP_tril:
    case STEP_triu:
    case STEP_one_hot:
    case STEP_to:
    case STEP_import:
      put_numbers(l, s, s->kind == STEP_import ? 4 : s->kind == STEP_arange || s->kind == STEP_eye ? 3 : 1);
      return;
    case STEP_pad:
      put_numbers(l, s, 2 * s->axis_count);
      next(l);
      put(l, "%g", s->real);
      return;
    case STEP_scalar:
      next(l);
      put(l, "%.17g", s->real);
      return;
    case STEP_clamp:
      next(l);
      put(l, "%.17g, %.17g", s->real, s->real2);
      return;
    default:
      return;
  }
}

static bool has_shape(step_kind kind) {
  return kind == STEP_from_data || kind == STEP_full || kind == STEP_reshape || kind == STEP_expand ||
         kind == STEP_tile || kind == STEP_import;
}

static bool has_dtype(step_kind kind) {
  return kind == STEP_cast || kind == STEP_from_data || kind == STEP_full || kind == STEP_arange || kind == STEP_eye ||
         kind == STEP_one_hot || kind == STEP_import;
}

void step_print(const step *s, int at, char *text, size_t text_bytes) {
  line l = {.text = text, .bytes = text_bytes};
  if (step_makes_what(s) != STEP_NOTHING || s->kind == STEP_import) put(&l, "t%d = ", at);
  put(&l, "tsr_%s(", step_name(s));
  for (int i = 0; i < s->input_count; i++) {
    next(&l);
    put(&l, "t%d", s->inputs[i]);
  }
  if (has_dtype(s->kind)) {
    next(&l);
    put(&l, "%s", tsr_dtype_name(s->dtype));
  }
  if (has_shape(s->kind)) put_shape(&l, s);
  if (s->axis_count > 0) put_axes(&l, s);
  put_number_arguments(&l, s);
  if (s->kind == STEP_reduce || s->kind == STEP_sort || s->kind == STEP_argsort) {
    next(&l);
    put(&l, "%s", s->flag ? "true" : "false");
  }
  if (s->kind == STEP_from_data || s->kind == STEP_write || s->kind == STEP_import) {
    next(&l);
    put(&l, "elements(%llu)", (unsigned long long)s->seed);
  }
  put(&l, ");");
}
