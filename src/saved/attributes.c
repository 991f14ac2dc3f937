// SPDX-License-Identifier: MIT
// Tables of the fields of attribute sets, generated from operators.def. All fields consist of words of 8 bytes.
#include "saved/attributes.h"

#include <string.h>

#include "ops/operators.h"

typedef struct field {
  const char *name;
  char type;      // 'd': double, 'i': int64_t, 'u': uint64_t
  uint8_t words;  // how many
} field;

#define NUMBER(x)                    {#x, 'd', 1},
#define SIZE(x)                      {#x, 'i', 1},
#define SIZES(x)                     {#x, 'i', TSR_MAX_RANK},
#define AXIS(x)                      {#x, 'i', 1},
#define FLAG(x)                      {#x, 'i', 1},
#define SEED(x)                      {#x, 'u', 1},
#define TSRI_ATTRIBUTES(set, fields) static const field fields_of_##set[] = {fields{NULL, 0, 0}};
#include "ops/operators.def"
#undef NUMBER
#undef SIZE
#undef SIZES
#undef AXIS
#undef FLAG
#undef SEED

static const field no_fields[] = {{NULL, 0, 0}};
static const field scalar_fields[] = {{"count", 'i', 1}, {"values", 'd', TSRI_MAX_SCALARS}, {NULL, 0, 0}};

static const field *const sets[] = {
    no_fields,
#define TSRI_ATTRIBUTES(set, fields) fields_of_##set,
#include "ops/operators.def"
};

static const field *fields_of(const tsri_op *op) {
  if (op->kind == TSRI_OP_ELEMENTWISE) return scalar_fields;
  return op->attribute_bytes ? sets[op->attribute_set] : no_fields;
}

static bool is_zero(const uint64_t *words, int count) {
  bool is_all = true;
  for (int i = 0; i < count; i++) is_all = is_all && words[i] == 0;
  return is_all;
}

void tsri_saved_put_attributes(tsri_builder *to, const tsri_op *op, const void *attributes) {
  const uint64_t *words = attributes;
  uint32_t count = 0;
  for (const field *f = fields_of(op); words && f->name; words += f++->words) count += !is_zero(words, f->words);
  tsri_saved_put(to, count, 4);
  words = attributes;
  for (const field *f = fields_of(op); words && f->name; words += f++->words) {
    if (is_zero(words, f->words)) continue;
    tsri_saved_put_text(to, f->name, strlen(f->name));
    tsri_saved_put(to, (unsigned char)f->type, 1);
    tsri_saved_put(to, f->words, 1);
    for (int i = 0; i < f->words; i++) tsri_saved_put(to, words[i], 8);
  }
}

static bool is_named(const field *f, const char *name, size_t bytes) {
  return strlen(f->name) == bytes && memcmp(f->name, name, bytes) == 0;
}

// Reads one field. False: the operator has no such one.
static bool take_field(tsri_saved_reader *from, const tsri_op *op, uint64_t *words, const char *name, size_t bytes) {
  uint64_t type = tsri_saved_take(from, 1), count = tsri_saved_take(from, 1);
  for (const field *f = fields_of(op); f->name; words += f++->words) {
    if (!is_named(f, name, bytes)) continue;
    if (type != (unsigned char)f->type || count != f->words) return false;
    for (int i = 0; i < f->words; i++) words[i] = tsri_saved_take(from, 8);
    return true;
  }
  return false;
}

void tsri_saved_take_attributes(tsri_saved_reader *from, const tsri_op *op, void *attributes, char *bad) {
  enum { LEAST_BYTES = 4 + 2 };
  bad[0] = 0;
  uint32_t count = tsri_saved_take_count(from, LEAST_BYTES);
  for (uint32_t i = 0; i < count && !from->is_short; i++) {
    size_t bytes = 0;
    const char *name = tsri_saved_take_text(from, TSRI_SAVED_MOST_NAME, &bytes);
    if (from->is_short || take_field(from, op, attributes, name, bytes)) continue;
    memcpy(bad, name, bytes);
    bad[bytes] = 0;
    return;
  }
}
