// SPDX-License-Identifier: MIT
// A picture in memory to draw on.
#include "canvas.h"

#include <stdlib.h>
#include <string.h>

#include "line.h"

bool canvas_init(canvas *c, int width, int height, uint32_t colour) {
  *c = (canvas){malloc((size_t)width * (size_t)height * 3), width, height};
  if (c->pixels) canvas_fill(c, 0, 0, width, height, colour);
  return c->pixels != NULL;
}

void canvas_deinit(canvas *c) { free(c->pixels); }

// --- Areas and lines ----------------------------------------------------------------------------------------------------------

static float mix_channel(uint32_t from, uint32_t to, float part, int shift) {
  float a = (float)(from >> shift & 0xFF), b = (float)(to >> shift & 0xFF);
  return a + (b - a) * part + 0.5f;
}

uint32_t canvas_mix(uint32_t from, uint32_t to, float part) {
  uint32_t mixed = 0;
  for (int shift = 0; shift < 24; shift += 8) mixed |= (uint32_t)mix_channel(from, to, part, shift) << shift;
  return mixed;
}

void canvas_blend(canvas *c, int x, int y, uint32_t colour, float part) {
  if (x < 0 || y < 0 || x >= c->width || y >= c->height) return;
  unsigned char *pixel = c->pixels + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
  uint32_t old = (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
  uint32_t mixed = canvas_mix(old, colour, part);
  for (int i = 0; i < 3; i++) pixel[i] = (unsigned char)(mixed >> (16 - 8 * i));
}

void canvas_fill(canvas *c, int x, int y, int width, int height, uint32_t colour) {
  for (int row = y; row < y + height; row++) {
    for (int column = x; column < x + width; column++) canvas_blend(c, column, row, colour, 1);
  }
}

void canvas_frame(canvas *c, int x, int y, int width, int height, int thickness, uint32_t colour) {
  int outer = width + 2 * thickness;
  canvas_fill(c, x - thickness, y - thickness, outer, thickness, colour);
  canvas_fill(c, x - thickness, y + height, outer, thickness, colour);
  canvas_fill(c, x - thickness, y, thickness, height, colour);
  canvas_fill(c, x + width, y, thickness, height, colour);
}

void canvas_line(canvas *c, float from_x, float from_y, float to_x, float to_y, float thickness, uint32_t colour) {
  int left = 0, right = 0, top = 0, bottom = 0;
  float radius = thickness / 2;
  line_pixels(from_x, to_x, radius, c->width, &left, &right);
  line_pixels(from_y, to_y, radius, c->height, &top, &bottom);
  line_point from = {from_x, from_y}, to = {to_x, to_y};
  for (int y = top; y <= bottom; y++) {
    for (int x = left; x <= right; x++) {
      float cover = line_cover((float)x + 0.5f, (float)y + 0.5f, from, to, radius);
      if (cover > 0) canvas_blend(c, x, y, colour, cover);
    }
  }
}

void canvas_image(canvas *c, int x, int y, int scale, const float *image, int width, int height, uint32_t paper,
                  uint32_t ink) {
  for (int row = 0; row < height; row++) {
    for (int column = 0; column < width; column++) {
      uint32_t colour = canvas_mix(paper, ink, image[row * width + column]);
      canvas_fill(c, x + column * scale, y + row * scale, scale, scale, colour);
    }
  }
}

// --- Text ---------------------------------------------------------------------------------------------------------------------

// Each character is a list of lines: points as two digits each, x to the right and y down, where capitals reach from 0 to 8 and
// descenders to a, which is 10. A space lifts the pen.
static const char *const glyphs[128] = {
    ['%'] = "5008 1021120110 4657483746",
    ['\''] = "0002",
    ['('] = "20030629",
    [')'] = "00232609",
    ['+'] = "0545 2327",
    [','] = "180a",
    ['-'] = "0535",
    ['.'] = "0808",
    ['/'] = "4008",
    ['0'] = "104051574818070110",
    ['1'] = "123038 1858",
    ['2'] = "01104051530858",
    ['3'] = "01104051534424 445557481807",
    ['4'] = "48400656",
    ['5'] = "50000413435457481807",
    ['6'] = "514010010718485755441405",
    ['7'] = "005028",
    ['8'] = "14030110405153441405071848575544",
    ['9'] = "071848575140100103144453",
    [':'] = "0404 0808",
    ['='] = "0444 0646",
    ['?'] = "011030414325 2828",
    ['A'] = "083068 1555",
    ['B'] = "08004051534404 4455574808",
    ['C'] = "5140100107184857",
    ['D'] = "00305256380800",
    ['E'] = "50000858 0444",
    ['F'] = "500008 0444",
    ['G'] = "51401001071848575434",
    ['H'] = "0008 5058 0454",
    ['I'] = "0008",
    ['J'] = "4047381807",
    ['K'] = "0008 5005 2358",
    ['L'] = "000848",
    ['M'] = "0800346068",
    ['N'] = "08005850",
    ['O'] = "104051574818070110",
    ['P'] = "08004051534404",
    ['Q'] = "104051574818070110 3658",
    ['R'] = "08004051534404 2458",
    ['S'] = "514010010314445557481807",
    ['T'] = "0060 3038",
    ['U'] = "000718485750",
    ['V'] = "003860",
    ['W'] = "0028426880",
    ['X'] = "0058 5008",
    ['Y'] = "003460 3438",
    ['Z'] = "00500858",
    ['a'] = "4348 4433130407183847",
    ['b'] = "0008 0413334447381807",
    ['c'] = "4433130407183847",
    ['d'] = "4048 4433130407183847",
    ['e'] = "06464433130407183847",
    ['f'] = "30201118 0333",
    ['g'] = "43493a1a09 4433130407183847",
    ['h'] = "0008 0413334448",
    ['i'] = "0308 0101",
    ['j'] = "13190a 1111",
    ['k'] = "0008 4306 1548",
    ['l'] = "0008",
    ['m'] = "0308 0413233438 3443536468",
    ['n'] = "0308 0413334448",
    ['o'] = "133344473818070413",
    ['p'] = "030a 0413334447381807",
    ['q'] = "434a 4433130407183847",
    ['r'] = "0308 05142333",
    ['s'] = "44331304153647381807",
    ['t'] = "11172838 0333",
    ['u'] = "0307183847 4348",
    ['v'] = "032843",
    ['w'] = "0318345863",
    ['x'] = "0348 4308",
    ['y'] = "0328 431a",
    ['z'] = "03430848",
};

enum { UNITS = 8, GAP = 2, SPACE = 3 };  // height of capitals, between two characters, a space's width

static int unit_of(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

static const char *glyph_of(char character) {
  unsigned char code = (unsigned char)character;
  return code < sizeof glyphs / sizeof glyphs[0] ? glyphs[code] : NULL;
}

static int glyph_width(const char *glyph) {
  int width = 0;
  for (const char *at = glyph; *at; at += *at == ' ' ? 1 : 2) {
    if (*at != ' ' && unit_of(*at) > width) width = unit_of(*at);
  }
  return width;
}

static void draw_glyph(canvas *c, float x, float y, float unit, uint32_t colour, const char *glyph) {
  for (const char *at = glyph; at[0] && at[1]; at += at[2] == ' ' ? 3 : 2) {
    if (!at[2] || at[2] == ' ') continue;  // the end of a line
    canvas_line(c, x + unit * (float)unit_of(at[0]), y + unit * (float)unit_of(at[1]), x + unit * (float)unit_of(at[2]),
                y + unit * (float)unit_of(at[3]), unit * 1.1f, colour);
  }
}

void canvas_text(canvas *c, float x, float y, float size, uint32_t colour, const char *text) {
  float unit = size / UNITS;
  for (; *text; text++) {
    const char *glyph = glyph_of(*text);
    if (glyph) draw_glyph(c, x, y, unit, colour, glyph);
    x += unit * (float)(GAP + (glyph ? glyph_width(glyph) : SPACE));
  }
}

float canvas_text_width(float size, const char *text) {
  int units = 0;
  for (const char *at = text; *at; at++) {
    const char *glyph = glyph_of(*at);
    units += (glyph ? glyph_width(glyph) : SPACE) + (at[1] ? GAP : 0);
  }
  return size / UNITS * (float)units;
}
