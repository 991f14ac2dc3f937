// SPDX-License-Identifier: MIT
// How much of a pixel a line covers, for all that draws here.
#ifndef TESSERA_EXAMPLES_LINE_H
#define TESSERA_EXAMPLES_LINE_H

#include <math.h>

typedef struct line_point {
  float x, y;
} line_point;

// The part of the pixel around (x, y) that a line from a to b with round ends covers, from 0 to 1. `radius` is half the line's width. The
// edge is as soft as a pixel is wide, so that nothing is covered beyond radius + 0.5.
static inline float line_cover(float x, float y, line_point a, line_point b, float radius) {
  float dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  float along = length > 0 ? ((x - a.x) * dx + (y - a.y) * dy) / length : 0;
  along = along < 0 ? 0 : along > 1 ? 1 : along;
  dx = a.x + along * dx - x;
  dy = a.y + along * dy - y;
  float squared = dx * dx + dy * dy, reach = radius + 0.5f;
  if (squared >= reach * reach) return 0;
  float cover = reach - sqrtf(squared);
  return cover > 1 ? 1 : cover;
}

// The pixels that a line may cover along one axis, from the coordinates of its ends, cut to an image of `size` pixels; empty if first > last.
static inline void line_pixels(float a, float b, float radius, int size, int *out_first, int *out_last) {
  float low = (a < b ? a : b) - radius - 1, high = (a < b ? b : a) + radius + 1;
  *out_first = low > 0 ? (int)fminf(low, (float)size) : 0;
  *out_last = high < 0 ? -1 : (int)fminf(high, (float)(size - 1));
}

#endif
