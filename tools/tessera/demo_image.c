// SPDX-License-Identifier: MIT
// The image of `tessera demo`: colours for the iterations of each pixel, written as an image file.
#include "demo_image.h"

#include <stdlib.h>

#include "demo_programs.h"
#include "image.h"
#include "report.h"

// Colours go from dark blue over white and yellow to dark red, and repeat; the set itself is black.
static void colour_of(float rounds, unsigned char *out_pixel) {
  static const unsigned char stops[][3] = {{0, 7, 100}, {32, 107, 203}, {237, 255, 255}, {255, 170, 0}, {90, 10, 20}};
  enum { STOPS = sizeof stops / sizeof stops[0], ROUNDS_PER_STOP = 8 };
  int whole = (int)rounds, stop = whole / ROUNDS_PER_STOP % STOPS, part = whole % ROUNDS_PER_STOP;
  const unsigned char *from = stops[stop], *to = stops[(stop + 1) % STOPS];
  for (int i = 0; i < 3; i++) {
    int mixed = (from[i] * (ROUNDS_PER_STOP - part) + to[i] * part) / ROUNDS_PER_STOP;
    out_pixel[i] = rounds >= DEMO_IMAGE_ROUNDS ? 0 : (unsigned char)mixed;
  }
}

bool demo_image_write(const char *path, const float *rounds) {
  size_t count = (size_t)DEMO_IMAGE_WIDTH * DEMO_IMAGE_HEIGHT;
  unsigned char *pixels = malloc(count * 3);
  if (!pixels) {
    report_no_memory();
    return false;
  }
  for (size_t i = 0; i < count; i++) colour_of(rounds[i], pixels + 3 * i);
  image_data picture = {pixels, DEMO_IMAGE_WIDTH, DEMO_IMAGE_HEIGHT, 3};
  bool is_written = image_write(path, &picture);
  free(pixels);
  return is_written;
}
