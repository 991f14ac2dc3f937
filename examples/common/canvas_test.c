// SPDX-License-Identifier: MIT
// Unit tests of the canvas. The tested file is included, because it belongs to programs and to no library.
#include "support/test.h"

#include "canvas.c"  // NOLINT(bugprone-suspicious-include)

static uint32_t colour_at(const canvas *c, int x, int y) {
  const unsigned char *pixel = c->pixels + 3 * (y * c->width + x);
  return (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
}

TEST(an_area_has_its_colour_and_its_neighbours_keep_theirs) {
  canvas c;
  CHECK(canvas_init(&c, 8, 6, 0x102030));
  canvas_fill(&c, 2, 1, 3, 2, 0xFF8000);
  for (int y = 0; y < 6; y++) {
    for (int x = 0; x < 8; x++) {
      bool is_inside = x >= 2 && x < 5 && y >= 1 && y < 3;
      CHECK_EQ_UINT(colour_at(&c, x, y), is_inside ? 0xFF8000 : 0x102030);
    }
  }
  canvas_deinit(&c);
}

TEST(a_frame_lies_outside_its_area) {
  canvas c;
  CHECK(canvas_init(&c, 9, 9, 0));
  canvas_frame(&c, 3, 3, 3, 3, 2, 0xFFFFFF);
  for (int i = 0; i < 9; i++) CHECK_EQ_UINT(colour_at(&c, i, 4), i == 1 || i == 2 || i == 6 || i == 7 ? 0xFFFFFF : 0);
  CHECK_EQ_UINT(colour_at(&c, 1, 1), 0xFFFFFF);
  canvas_deinit(&c);
}

TEST(what_lies_outside_is_not_drawn) {
  canvas c;
  CHECK(canvas_init(&c, 20, 10, 0xFFFFFF));
  canvas_fill(&c, -100, -100, 50, 50, 0);
  canvas_line(&c, -50, -50, -20, -20, 5, 0);
  canvas_line(&c, 40, 3, 90, 3, 3, 0);
  canvas_text(&c, 500, 500, 12, 0, "outside");
  for (int i = 0; i < 200; i++) CHECK_EQ_UINT(colour_at(&c, i % 20, i / 20), 0xFFFFFF);
  canvas_line(&c, -1000, 5.5f, 1000, 5.5f, 1, 0);  // from one side to the other
  CHECK_EQ_UINT(colour_at(&c, 0, 5), 0);
  CHECK_EQ_UINT(colour_at(&c, 19, 5), 0);
  canvas_deinit(&c);
}

TEST(text_is_as_wide_as_it_says) {
  canvas c;
  const char *text = "Loss 0.25, 98 % (qj)";
  int width = (int)canvas_text_width(16, text), last = 0;
  CHECK(canvas_init(&c, width + 20, 40, 0xFFFFFF));
  canvas_text(&c, 2, 10, 16, 0, text);
  for (int i = 0; i < c.width * c.height; i++) {
    if (colour_at(&c, i % c.width, i / c.width) != 0xFFFFFF && i % c.width > last) last = i % c.width;
  }
  CHECK(last >= width && last <= width + 4);
  canvas_deinit(&c);
}

TEST(every_character_of_the_font_draws_something) {
  for (int code = '%'; code < 128; code++) {
    if (!glyphs[code]) continue;
    canvas c;
    CHECK(canvas_init(&c, 24, 24, 0xFFFFFF));
    canvas_text(&c, 4, 4, 12, 0, (char[]){(char)code, '\0'});
    int dark = 0;
    for (int i = 0; i < 24 * 24; i++) dark += colour_at(&c, i % 24, i / 24) != 0xFFFFFF;
    CHECK(dark >= 2);
    canvas_deinit(&c);
  }
}
