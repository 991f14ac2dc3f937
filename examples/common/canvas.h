// SPDX-License-Identifier: MIT
// A picture in memory to draw on: areas, lines, text and images, for charts and contact sheets.
#ifndef TESSERA_EXAMPLES_CANVAS_H
#define TESSERA_EXAMPLES_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

// A colour is 0xRRGGBB. Places are in pixels from the top left; what lies outside is not drawn.
typedef struct canvas {
  unsigned char *pixels;  // red, green and blue of each pixel, row by row
  int width, height;
} canvas;

// False if host memory is out. Call canvas_deinit in any case.
bool canvas_init(canvas *c, int width, int height, uint32_t colour);
void canvas_deinit(canvas *c);

// Mixes the colour into one pixel: `part` 0 leaves it as it is, 1 replaces it.
void canvas_blend(canvas *c, int x, int y, uint32_t colour, float part);

void canvas_fill(canvas *c, int x, int y, int width, int height, uint32_t colour);

// A frame around the area, outside of it.
void canvas_frame(canvas *c, int x, int y, int width, int height, int thickness, uint32_t colour);

// A line with round ends. From a point to itself it is a dot.
void canvas_line(canvas *c, float from_x, float from_y, float to_x, float to_y, float thickness, uint32_t colour);

// Text in a plain font of lines. (x, y) is the top left of its capitals, `size` their height. Characters that the font lacks are left out.
void canvas_text(canvas *c, float x, float y, float size, uint32_t colour, const char *text);

// The width that canvas_text takes.
float canvas_text_width(float size, const char *text);

// An image of numbers from 0 (`paper`) to 1 (`ink`), row by row. Each is drawn as a square of `scale` pixels.
void canvas_image(canvas *c, int x, int y, int scale, const float *image, int width, int height, uint32_t paper,
                  uint32_t ink);

// The colour between two others: 0 is `from`, 1 is `to`.
uint32_t canvas_mix(uint32_t from, uint32_t to, float part);

#endif
