// SPDX-License-Identifier: MIT
// The chart of `tessera bench --compare`: a bar for each device and work, on a logarithmic scale around the CPU.
#include <math.h>
#include <stdio.h>

#include "bench_compare.h"
#include "canvas.h"
#include "image.h"
#include "report.h"

enum {
  MARGIN = 32,
  HEADER = 84,
  LABELS = 130,  // width of the names of works
  CHART = 620,
  FIGURES = 90,  // room for a bar's number
  BAR = 16,
  GAP = 18,     // between works
  LEGEND = 26,  // height of a device's line in the legend
  TEXT_BYTES = 320
};

static const uint32_t background = 0xFAF9F6, text_colour = 0x22252A, faint = 0x7A7F87, grid_colour = 0xE4E2DC;
static const uint32_t colours[] = {0x7A7F87, 0x2563C9, 0x2E8B57, 0xD0342C, 0xB8860B, 0x7B3FA0, 0x0E8A99, 0xC2577D};

static uint32_t colour_of(int device) { return colours[device % (int)(sizeof colours / sizeof colours[0])]; }

// Decades to the left and to the right of the CPU.
typedef struct scale {
  double least, most;
} scale;

static scale find_scale(const compare_result *result) {
  scale s = {-1, 1};
  for (int d = 0; d < result->count; d++) {
    for (int w = 0; w < COMPARE_WORKS; w++) {
      double ratio = compare_ratio(result, d, w);
      if (ratio <= 0) continue;
      s.least = fmin(s.least, floor(log10(ratio)));
      s.most = fmax(s.most, ceil(log10(ratio)));
    }
  }
  return s;
}

static float x_of(const scale *s, double logarithm) {
  return (float)(MARGIN + LABELS + CHART * (logarithm - s->least) / (s->most - s->least));
}

static void format_ratio(double ratio, char *text, size_t bytes) {
  snprintf(text, bytes, ratio < 0.1 ? "%.3fx" : ratio < 10 ? "%.2fx" : ratio < 100 ? "%.1fx" : "%.0fx", ratio);
}

static void draw_grid(canvas *c, const scale *s, int top, int bottom) {
  char text[32];
  for (int decade = (int)s->least; decade <= (int)s->most; decade++) {
    float x = x_of(s, decade);
    canvas_line(c, x, (float)top, x, (float)bottom, decade == 0 ? 2.0f : 1.0f, decade == 0 ? faint : grid_colour);
    snprintf(text, sizeof text, "%gx", pow(10, decade));
    canvas_text(c, x - canvas_text_width(11, text) / 2, (float)top - 18, 11, faint, text);
  }
}

static void draw_bar(canvas *c, const scale *s, int y, double ratio, uint32_t colour) {
  char text[32];
  if (ratio <= 0) return;
  float from = x_of(s, 0), to = x_of(s, log10(ratio)), left = fminf(from, to), right = fmaxf(from, to);
  canvas_fill(c, (int)left, y, (int)(right - left) + 1, BAR - 4, colour);
  format_ratio(ratio, text, sizeof text);
  canvas_text(c, right + 6, (float)y + 1, 10, text_colour, text);
}

// Devices that could be measured; the CPU itself is the line at 1.
static int bar_count(const compare_result *result) {
  int count = 0;
  for (int d = 1; d < result->count; d++) count += result->devices[d].status == TSR_OK;
  return count;
}

static void draw_works(canvas *c, const compare_result *result, const scale *s, int top) {
  int bars = bar_count(result), height = bars * BAR + GAP;
  for (int w = 0; w < COMPARE_WORKS; w++) {
    int y = top + w * height;
    char text[64];
    snprintf(text, sizeof text, "%s %lld", compare_works[w].name, (long long)compare_works[w].large);
    canvas_text(c, MARGIN, (float)y + (float)(bars * BAR - 12) / 2, 12, text_colour, text);
    for (int d = 1; d < result->count; d++) {
      if (result->devices[d].status != TSR_OK) continue;
      draw_bar(c, s, y, compare_ratio(result, d, w), colour_of(d));
      y += BAR;
    }
  }
}

static void draw_legend(canvas *c, const compare_result *result, int top) {
  char text[TEXT_BYTES];
  for (int d = 0; d < result->count; d++) {
    const compare_device *device = &result->devices[d];
    if (device->status != TSR_OK) continue;
    canvas_fill(c, MARGIN, top, 14, 14, colour_of(d));
    snprintf(text, sizeof text, "%s: %s%s%s", device->name, device->full_name, device->is_software ? ", software" : "",
             device->is_cpu ? " (1x)" : "");
    canvas_text(c, MARGIN + 24, (float)top + 1, 12, text_colour, text);
    top += LEGEND;
  }
}

bool compare_draw(const compare_result *result, const char *path) {
  canvas c;
  scale s = find_scale(result);
  int chart_top = HEADER + 24, chart_height = COMPARE_WORKS * (bar_count(result) * BAR + GAP);
  int height = chart_top + chart_height + (bar_count(result) + 1) * LEGEND + 2 * MARGIN;
  bool is_drawn = canvas_init(&c, MARGIN + LABELS + CHART + FIGURES + MARGIN, height, background);
  if (is_drawn) {
    canvas_text(&c, MARGIN, MARGIN - 4, 20, text_colour, "Speed relative to the CPU");
    canvas_text(&c, MARGIN, MARGIN + 26, 12, faint, "one run and the wait for it, f32. Longer to the right is faster");
    draw_grid(&c, &s, chart_top, chart_top + chart_height - GAP / 2);
    draw_works(&c, result, &s, chart_top + GAP / 2);
    draw_legend(&c, result, chart_top + chart_height + MARGIN / 2);
    image_data picture = {c.pixels, (size_t)c.width, (size_t)c.height, 3};
    is_drawn = image_write(path, &picture);
  } else {
    (void)report_no_memory();
  }
  canvas_deinit(&c);
  return is_drawn;
}
