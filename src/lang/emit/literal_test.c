// SPDX-License-Identifier: MIT
// Tests that literals of floats read back as the same number, in any locale.
#include "lang/emit/literal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "support/test.h"

static uint32_t next_bits(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state;
}

static float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The text without brackets, with the point that strtod wants in this locale.
static double read_back(const char *text) {
  char copy[64];
  const char *point = localeconv()->decimal_point;
  snprintf(copy, sizeof copy, "%s", text + (text[0] == '('));
  for (char *p = copy; *p; p++) {
    if (*p == '.') *p = point[0];
  }
  return strtod(copy, NULL);
}

static void check_f32(uint32_t bits) {
  float value = as_float(bits);
  tsri_builder plain = {0}, shortest = {0};
  tsri_literal_f32(&plain, bits);
  tsri_literal_shortest_f32(&shortest, value);
  CHECK(strchr(plain.text, ',') == NULL && strchr(shortest.text, ',') == NULL);
  CHECK(strchr(plain.text, 'f') != NULL);
  CHECK((float)read_back(plain.text) == value);
  CHECK((float)read_back(shortest.text) == value);
  tsri_builder_deinit(&plain);
  tsri_builder_deinit(&shortest);
}

static void check_f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  if (!isfinite(value)) return;
  tsri_builder text = {0};
  tsri_literal_f64(&text, bits);
  CHECK(read_back(text.text) == value);
  tsri_builder_deinit(&text);
}

static void check_many(void) {
  static const uint32_t some[] = {0,          0x3F800000, 0x3F000000, 0xBF99999A, 1,
                                  0x7F7FFFFF, 0xFF7FFFFF, 0x4B800001, 0x00800000};
  uint32_t state = 7;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) check_f32(some[i]);
  for (int i = 0; i < 5000; i++) {
    uint32_t bits = next_bits(&state);
    if (isfinite(as_float(bits))) check_f32(bits);
    check_f64((uint64_t)bits << 32 | next_bits(&state));
  }
}

TEST(literals_read_back_as_the_same_number) { check_many(); }

TEST(a_locale_with_a_comma_changes_nothing) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
  bool is_set = false;
  for (int i = 0; i < 4 && !is_set; i++) is_set = setlocale(LC_ALL, names[i]) != NULL;
  if (!is_set) SKIP("no locale with a decimal comma is installed");
  check_many();
  setlocale(LC_ALL, "C");
}

TEST(numbers_of_few_digits_stay_short) {
  tsri_builder text = {0};
  tsri_literal_f32(&text, 0x3F000000);
  tsri_builder_string(&text, " ");
  tsri_literal_f32(&text, 0xC0200000);
  tsri_builder_string(&text, " ");
  tsri_literal_shortest_f32(&text, 1.5F);
  CHECK_STR(text.text, "0.5f (-2.5f) 1.5");
  tsri_builder_deinit(&text);
}
