// SPDX-License-Identifier: MIT
// Unit tests of the digits that are drawn. The tested file is included, because it belongs to programs and to no library.
#include "support/test.h"

#include "digits.c"  // NOLINT(bugprone-suspicious-include)

static float difference(const float *a, const float *b) {
  float sum = 0;
  for (int i = 0; i < DIGITS_PIXELS; i++) sum += fabsf(a[i] - b[i]);
  return sum;
}

static float ink_of(const float *pixels) {
  float sum = 0;
  for (int i = 0; i < DIGITS_PIXELS; i++) sum += pixels[i];
  return sum;
}

TEST(each_style_of_each_digit_differs_from_every_other) {
  static float clean[DIGITS_KINDS * DIGITS_STYLES][DIGITS_PIXELS];
  for (int i = 0; i < DIGITS_KINDS * DIGITS_STYLES; i++) {
    digits_draw_clean(i / DIGITS_STYLES, i % DIGITS_STYLES, clean[i]);
    CHECK(ink_of(clean[i]) > 20);
    for (int j = 0; j < i; j++) CHECK(difference(clean[i], clean[j]) > 8);
  }
}

TEST(clean_digits_keep_away_from_the_border) {
  float pixels[DIGITS_PIXELS];
  for (int i = 0; i < DIGITS_KINDS * DIGITS_STYLES; i++) {
    digits_draw_clean(i / DIGITS_STYLES, i % DIGITS_STYLES, pixels);
    for (int at = 0; at < DIGITS_SIDE; at++) {
      CHECK_EQ_INT(pixels[at], 0);
      CHECK_EQ_INT(pixels[(DIGITS_SIDE - 1) * DIGITS_SIDE + at], 0);
      CHECK_EQ_INT(pixels[at * DIGITS_SIDE], 0);
      CHECK_EQ_INT(pixels[at * DIGITS_SIDE + DIGITS_SIDE - 1], 0);
    }
  }
}

TEST(pixels_are_from_0_to_1_and_every_image_has_ink) {
  float pixels[DIGITS_PIXELS];
  for (uint64_t number = 0; number < 1000; number++) {
    int digit = digits_draw(7, number, 1, pixels);
    CHECK(digit >= 0 && digit < DIGITS_KINDS);
    for (int i = 0; i < DIGITS_PIXELS; i++) CHECK(pixels[i] >= 0 && pixels[i] <= 1);
    CHECK(ink_of(pixels) > 8);
  }
}

TEST(all_digits_occur_about_equally_often) {
  int counts[DIGITS_KINDS] = {0};
  float pixels[DIGITS_PIXELS];
  for (uint64_t number = 0; number < 2000; number++) counts[digits_draw(3, number, 1, pixels)]++;
  for (int i = 0; i < DIGITS_KINDS; i++) CHECK(counts[i] > 140 && counts[i] < 260);
}

TEST(the_same_seed_and_number_give_the_same_image_in_any_order) {
  float one[DIGITS_PIXELS], many[5 * DIGITS_PIXELS];
  int32_t labels[5];
  digits_draw_many(11, 100, 5, 1, many, labels);
  for (int i = 4; i >= 0; i--) {
    CHECK_EQ_INT(digits_draw(11, 100 + (uint64_t)i, 1, one), labels[i]);
    CHECK_BYTES(one, many + i * DIGITS_PIXELS, sizeof one);
  }
}

TEST(other_seeds_and_numbers_give_other_images) {
  float images[20][DIGITS_PIXELS];
  for (int i = 0; i < 20; i++) {
    digits_draw((uint64_t)i / 10, (uint64_t)i % 10, 1, images[i]);
    for (int j = 0; j < i; j++) CHECK(difference(images[i], images[j]) > 8);
  }
}

TEST(a_turned_and_shifted_digit_keeps_most_of_its_ink_inside) {
  float pixels[DIGITS_PIXELS];
  pen p = make_pen(0.3f, 0.3f, 22, 1.15f, 17, 17);
  p.radius = 1.6f;
  p.ink = 1;
  for (int i = 0; i < DIGITS_KINDS * DIGITS_STYLES; i++) {
    memset(pixels, 0, sizeof pixels);
    draw_style(&p, &styles[i / DIGITS_STYLES][i % DIGITS_STYLES], 7, 1, pixels);
    float border = 0;
    for (int at = 0; at < DIGITS_SIDE; at++) {
      border += pixels[at] + pixels[(DIGITS_SIDE - 1) * DIGITS_SIDE + at] + pixels[at * DIGITS_SIDE] +
                pixels[at * DIGITS_SIDE + DIGITS_SIDE - 1];
    }
    CHECK(border < 0.12f * ink_of(pixels));
  }
}

TEST(without_variety_all_images_of_a_style_are_alike) {
  static float images[DIGITS_KINDS * DIGITS_STYLES * 20][DIGITS_PIXELS];
  int seen = 0, count = sizeof images / sizeof images[0];
  for (int i = 0; i < count; i++) {
    digits_draw(5, (uint64_t)i, 0, images[seen]);
    int same = 0;
    while (same < seen && memcmp(images[same], images[seen], sizeof images[0]) != 0) same++;
    if (same == seen) seen++;
  }
  CHECK_EQ_INT(seen, DIGITS_KINDS * DIGITS_STYLES);
}
