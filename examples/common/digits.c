// SPDX-License-Identifier: MIT
// Draws digits as if by hand: strokes, a random pen that draws them, and paper with grain.
#include "digits.h"

#include <math.h>
#include <string.h>

#include "line.h"

// --- Styles -----------------------------------------------------------------------------------------------------------------

enum { POINTS_MOST = 13, STROKES_MOST = 3, WIDTH = 100, HEIGHT = 140, SPAN_PARTS = 4 };

// Points from the top left, in a box of WIDTH by HEIGHT. A curve passes through its points smoothly; otherwise lines connect them.
typedef struct stroke {
  int count;
  int is_curve;
  line_point points[POINTS_MOST];
} stroke;

typedef struct style {
  stroke strokes[STROKES_MOST];  // a count of 0 ends the list
} style;

#define LINES(n, ...)     \
  {                       \
    n, 0, { __VA_ARGS__ } \
  }
#define CURVE(n, ...)     \
  {                       \
    n, 1, { __VA_ARGS__ } \
  }

static const style styles[DIGITS_KINDS][DIGITS_STYLES] = {
    {{{CURVE(9, {50, 5}, {19, 28}, {12, 70}, {19, 112}, {50, 135}, {81, 112}, {88, 70}, {81, 28}, {50, 5})}},
     {{CURVE(9, {62, 8}, {34, 18}, {14, 62}, {20, 115}, {46, 134}, {76, 112}, {88, 62}, {78, 20}, {56, 12})}},
     {{CURVE(9, {50, 5}, {19, 28}, {12, 70}, {19, 112}, {50, 135}, {81, 112}, {88, 70}, {81, 28}, {50, 5}),
       LINES(2, {72, 38}, {28, 102})}}},
    {{{LINES(2, {50, 5}, {50, 135})}},
     {{LINES(3, {24, 38}, {54, 5}, {54, 135})}},
     {{LINES(3, {26, 34}, {52, 5}, {52, 135}), LINES(2, {24, 135}, {80, 135})}}},
    {{{CURVE(7, {15, 36}, {28, 12}, {55, 5}, {82, 22}, {80, 56}, {50, 96}, {14, 133}), LINES(2, {14, 133}, {88, 133})}},
     {{CURVE(10, {18, 30}, {46, 5}, {80, 20}, {77, 60}, {48, 102}, {24, 128}, {14, 118}, {30, 108}, {60, 126},
             {90, 128})}},
     {{LINES(6, {15, 8}, {85, 8}, {85, 70}, {15, 70}, {15, 132}, {85, 132})}}},
    {{{CURVE(5, {18, 22}, {46, 5}, {78, 20}, {74, 52}, {44, 66}),
       CURVE(5, {44, 66}, {80, 80}, {86, 110}, {52, 135}, {14, 118})}},
     {{LINES(3, {18, 8}, {82, 8}, {44, 58}), CURVE(5, {44, 58}, {78, 72}, {86, 104}, {52, 135}, {14, 120})}},
     {{LINES(4, {15, 8}, {85, 8}, {85, 132}, {15, 132}), LINES(2, {30, 70}, {85, 70})}}},
    {{{LINES(4, {66, 135}, {66, 5}, {10, 92}, {92, 92})}},
     {{LINES(3, {24, 8}, {16, 78}, {88, 78}), LINES(2, {68, 36}, {64, 135})}},
     {{LINES(3, {15, 8}, {15, 70}, {85, 70}), LINES(2, {85, 8}, {85, 132})}}},
    {{{LINES(3, {82, 8}, {26, 8}, {20, 62}), CURVE(6, {20, 62}, {52, 52}, {82, 72}, {82, 108}, {54, 134}, {14, 122})}},
     {{CURVE(8, {84, 10}, {44, 8}, {24, 30}, {40, 58}, {72, 74}, {84, 104}, {56, 134}, {16, 126})}},
     {{LINES(6, {85, 8}, {15, 8}, {15, 70}, {85, 70}, {85, 132}, {15, 132})}}},
    {{{CURVE(9, {76, 8}, {40, 32}, {16, 84}, {26, 124}, {56, 134}, {84, 108}, {70, 78}, {42, 76}, {20, 100})}},
     {{LINES(2, {60, 5}, {18, 88}),
       CURVE(8, {18, 88}, {20, 122}, {50, 135}, {80, 122}, {84, 94}, {56, 74}, {28, 82}, {18, 98})}},
     {{LINES(6, {85, 8}, {15, 8}, {15, 132}, {85, 132}, {85, 70}, {15, 70})}}},
    {{{LINES(3, {12, 8}, {88, 8}, {40, 135})}},
     {{LINES(3, {12, 8}, {88, 8}, {44, 135}), LINES(2, {32, 72}, {82, 72})}},
     {{LINES(2, {12, 24}, {14, 8}), LINES(2, {14, 8}, {86, 8}), CURVE(4, {86, 8}, {62, 52}, {50, 92}, {46, 135})}}},
    {{{CURVE(13, {50, 66}, {22, 44}, {26, 14}, {50, 5}, {74, 14}, {78, 44}, {50, 66}, {16, 94}, {22, 126}, {50, 136},
             {78, 126}, {84, 94}, {50, 66})}},
     {{CURVE(11, {80, 26}, {52, 5}, {22, 24}, {34, 54}, {68, 82}, {82, 112}, {50, 135}, {18, 112}, {34, 82}, {68, 52},
             {80, 26})}},
     {{LINES(5, {15, 8}, {85, 8}, {85, 132}, {15, 132}, {15, 8}), LINES(2, {15, 70}, {85, 70})}}},
    {{{CURVE(9, {82, 42}, {60, 68}, {28, 62}, {16, 34}, {42, 6}, {74, 14}, {84, 52}, {78, 100}, {48, 134})}},
     {{CURVE(7, {80, 38}, {66, 64}, {34, 66}, {16, 38}, {34, 10}, {66, 10}, {80, 38}), LINES(2, {82, 8}, {78, 135})}},
     {{LINES(6, {85, 70}, {15, 70}, {15, 8}, {85, 8}, {85, 132}, {15, 132})}}},
};

// --- Random numbers ------------------------------------------------------------------------------------------------------------

// A generator of 64-bit numbers that scrambles a counter (splitmix64), so that any place of any sequence is found at once.
static uint64_t scramble(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static uint64_t next_bits(uint64_t *state) { return scramble(*state += UINT64_C(0x9E3779B97F4A7C15)); }

static float next_below(uint64_t *state, float most) {
  return most * (float)(next_bits(state) >> 40) / (float)(1 << 24);
}

static float next_around(uint64_t *state, float middle, float reach) {
  return middle - reach + next_below(state, 2 * reach);
}

// --- The pen -------------------------------------------------------------------------------------------------------------------

typedef struct pen {
  float xx, xy, yx, yy, x0, y0;  // from the box of the styles to pixels: x' = xx x + xy y + x0, y' = yx x + yy y + y0
  float radius;                  // in pixels
  float ink;                     // from 0 to 1
} pen;

static line_point moved(const pen *p, line_point from) {
  return (line_point){p->xx * from.x + p->xy * from.y + p->x0, p->yx * from.x + p->yy * from.y + p->y0};
}

// Where strokes meet, the darker one stays.
static void draw_line(const pen *p, line_point a, line_point b, float *pixels) {
  int left = 0, right = 0, top = 0, bottom = 0;
  line_pixels(a.x, b.x, p->radius, DIGITS_SIDE, &left, &right);
  line_pixels(a.y, b.y, p->radius, DIGITS_SIDE, &top, &bottom);
  for (int y = top; y <= bottom; y++) {
    for (int x = left; x <= right; x++) {
      float dark = p->ink * line_cover((float)x + 0.5f, (float)y + 0.5f, a, b, p->radius);
      float *pixel = &pixels[y * DIGITS_SIDE + x];
      if (dark > *pixel) *pixel = dark;
    }
  }
}

// A point on the smooth curve (Catmull-Rom) between b and c, whose neighbours are a and d.
static line_point on_curve(line_point a, line_point b, line_point c, line_point d, float t) {
  float wa = ((2 - t) * t - 1) * t, wb = (3 * t - 5) * t * t + 2, wc = ((4 - 3 * t) * t + 1) * t, wd = (t - 1) * t * t;
  return (line_point){(wa * a.x + wb * b.x + wc * c.x + wd * d.x) / 2, (wa * a.y + wb * b.y + wc * c.y + wd * d.y) / 2};
}

static void draw_curve(const pen *p, const line_point *points, int count, float *pixels) {
  for (int i = 0; i + 1 < count; i++) {
    line_point before = points[i > 0 ? i - 1 : 0], after = points[i + 2 < count ? i + 2 : count - 1], from = points[i];
    for (int part = 1; part <= SPAN_PARTS; part++) {
      line_point to = on_curve(before, points[i], points[i + 1], after, (float)part / SPAN_PARTS);
      draw_line(p, from, to, pixels);
      from = to;
    }
  }
}

// Each point is moved by up to `wobble` units of the box. Equal points are moved alike, so that strokes which meet still do.
static line_point wobbled(line_point point, float wobble, uint64_t salt) {
  uint64_t state = scramble(salt + (uint64_t)(point.x * 1000 + point.y));
  float x = next_around(&state, point.x, wobble);
  return (line_point){x, next_around(&state, point.y, wobble)};
}

static void draw_style(const pen *p, const style *drawn, float wobble, uint64_t salt, float *pixels) {
  for (int s = 0; s < STROKES_MOST && drawn->strokes[s].count > 0; s++) {
    const stroke *line = &drawn->strokes[s];
    line_point points[POINTS_MOST];
    for (int i = 0; i < line->count; i++) points[i] = moved(p, wobbled(line->points[i], wobble, salt));
    if (line->is_curve) draw_curve(p, points, line->count, pixels);
    for (int i = 0; i + 1 < line->count && !line->is_curve; i++) draw_line(p, points[i], points[i + 1], pixels);
  }
}

// --- Images --------------------------------------------------------------------------------------------------------------------

// `angle` in radians; `slant` leans the top to the right; the box's middle comes to (x, y), its height is `height` pixels.
static pen make_pen(float angle, float slant, float height, float aspect, float x, float y) {
  float scale = height / HEIGHT, c = cosf(angle) * scale, s = sinf(angle) * scale;
  pen p = {.xx = c * aspect, .xy = -c * slant - s, .yx = s * aspect, .yy = -s * slant + c};
  p.x0 = x - p.xx * WIDTH / 2 - p.xy * HEIGHT / 2;
  p.y0 = y - p.yx * WIDTH / 2 - p.yy * HEIGHT / 2;
  return p;
}

// Grain: a number around 0 per pixel, the sum of three even ones; and rarely a speck.
static void add_noise(float strength, uint64_t *state, float *pixels) {
  for (int i = 0; i < DIGITS_PIXELS; i++) {
    uint64_t bits = next_bits(state);
    float sum = (float)(bits & 0xFFFF) + (float)(bits >> 16 & 0xFFFF) + (float)(bits >> 32 & 0xFFFF);
    float value = pixels[i] + strength * (sum / 65535 - 1.5f);
    if (bits >> 55 == 0) value += 0.5f;
    pixels[i] = value < 0 ? 0 : value > 1 ? 1 : value;
  }
}

int digits_draw(uint64_t seed, uint64_t number, float variety, float *out_pixels) {
  uint64_t state = scramble(scramble(seed) + number);
  int digit = (int)(next_bits(&state) % DIGITS_KINDS), which = (int)(next_bits(&state) % DIGITS_STYLES);
  float angle = next_around(&state, 0, 0.3f * variety), slant = next_around(&state, 0.1f, 0.2f * variety);
  float height = next_around(&state, 18.5f, 3.5f * variety), aspect = next_around(&state, 0.95f, 0.2f * variety);
  float x = next_around(&state, DIGITS_SIDE / 2.0f, 3 * variety);
  float y = next_around(&state, DIGITS_SIDE / 2.0f, 3 * variety);
  pen p = make_pen(angle, slant, height, aspect, x, y);
  p.radius = next_around(&state, 1.05f, 0.55f * variety);
  p.ink = 1 - next_below(&state, 0.4f * variety);
  float wobble = next_below(&state, 7 * variety), noise = next_below(&state, 0.3f * variety);
  memset(out_pixels, 0, DIGITS_PIXELS * sizeof *out_pixels);
  draw_style(&p, &styles[digit][which], wobble, next_bits(&state), out_pixels);
  if (noise > 0) add_noise(noise, &state, out_pixels);
  return digit;
}

void digits_draw_clean(int digit, int which, float *out_pixels) {
  pen p = make_pen(0, 0, 20, 1, DIGITS_SIDE / 2.0f, DIGITS_SIDE / 2.0f);
  p.radius = 1.2f;
  p.ink = 1;
  memset(out_pixels, 0, DIGITS_PIXELS * sizeof *out_pixels);
  draw_style(&p, &styles[digit][which], 0, 0, out_pixels);
}

void digits_draw_many(uint64_t seed, uint64_t first, int count, float variety, float *out_pixels, int32_t *out_labels) {
  for (int i = 0; i < count; i++) {
    out_labels[i] = digits_draw(seed, first + (uint64_t)i, variety, out_pixels + (size_t)i * DIGITS_PIXELS);
  }
}
