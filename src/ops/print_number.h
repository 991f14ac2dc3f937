// SPDX-License-Identifier: MIT
// Elements as NumPy prints them: one format for all that are shown, then each written in it.
//
// The rules are those of NumPy's default options (precision 8, no suppression, floatmode "maxprec"), version 1.21 and
// later; bf16, which NumPy has not, follows the rules of its other floats. The decimal point is always '.'.
#ifndef TSRI_PRINT_NUMBER_H
#define TSRI_PRINT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include <tessera/dtype.h>

// Always enough for one number with its padding and a final 0.
#define TSRI_NUMBER_BYTES 64

typedef struct tsri_number_format {
  tsr_dtype dtype;
  bool is_exponential;
  int left;             // characters before the point, sign included; the whole width where there is no point
  int right;            // behind it, exponent included
  int fraction_digits;  // behind the point in exponential form
  int exponent_digits;
} tsri_number_format;

// The format that shows all `count` elements at `data` in columns. `data` need not be aligned.
void tsri_number_format_init(tsri_number_format *format, tsr_dtype dtype, const void *data, size_t count);

// Writes the element padded to the format's width; returns the length. `text` has TSRI_NUMBER_BYTES.
int tsri_number_write(const tsri_number_format *format, const void *element, char *text);

// Writes an element that stands alone, as a tensor of rank 0 is shown: all its digits, no padding. Returns the length.
int tsri_number_write_alone(tsr_dtype dtype, const void *element, char *text);

#endif
