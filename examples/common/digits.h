// SPDX-License-Identifier: MIT
// Draws digits as if by hand, so that there is something to learn without downloading anything.
//
// Each of the ten digits has a few styles (a 7 with and without a bar, a closed and an open 4, the bars of a display). A drawn one is a
// style with its points moved a little, turned, slanted, scaled, shifted, drawn with a pen of some width and ink, on grainy paper.
#ifndef TESSERA_EXAMPLES_DIGITS_H
#define TESSERA_EXAMPLES_DIGITS_H

#include <stdint.h>

enum { DIGITS_KINDS = 10, DIGITS_STYLES = 3, DIGITS_SIDE = 28, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE };

// Draws image `number` of an endless sequence, the one that belongs to `seed`: DIGITS_PIXELS numbers from 0 (paper) to 1 (ink), row by
// row. `variety` says how much images of a style differ: 1 is as much as can still be read, 0 is not at all. The same seed, number and
// variety give the same image, whatever was drawn before. Returns the digit, 0 to 9.
int digits_draw(uint64_t seed, uint64_t number, float variety, float *out_pixels);

// Draws a digit as its style is meant: upright, in the middle, on clean paper. `style` is from 0 to DIGITS_STYLES - 1.
void digits_draw_clean(int digit, int style, float *out_pixels);

// Draws images `first`, `first` + 1, … of the sequence, and stores their digits in out_labels.
void digits_draw_many(uint64_t seed, uint64_t first, int count, float variety, float *out_pixels, int32_t *out_labels);

#endif
