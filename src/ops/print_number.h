// SPDX-License-Identifier: MIT
// Formats elements like NumPy: one common format for all that are shown, then each element in that format.
//
// The rules are those of NumPy's default options (precision 8, no suppression, floatmode "maxprec"), version 1.21 and
// later. bf16, which NumPy does not have, follows the rules of its other floats. The decimal point is always '.'.
#ifndef TSRI_PRINT_NUMBER_H
#define TSRI_PRINT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include <tessera/dtype.h>

// Always enough for one number with its padding and the terminating 0.
#define TSRI_NUMBER_BYTES 64

typedef struct tsri_number_format {
  tsr_dtype dtype;
  bool is_exponential;
  // Characters before the decimal point, including the sign; the whole width if there is no point.
  int left;
  int right;            // characters after the point, including the exponent
  int fraction_digits;  // digits after the point in exponential form
  int exponent_digits;
} tsri_number_format;

// Sets `*format` to one in which all `count` elements at `data` are shown in columns. `data` need not be aligned.
void tsri_number_format_init(tsri_number_format *format, tsr_dtype dtype, const void *data, size_t count);

// Writes the element, padded to the format's width; returns the length. `text` has room for TSRI_NUMBER_BYTES.
int tsri_number_write(const tsri_number_format *format, const void *element, char *text);

// Writes the element of a tensor of rank 0: all its digits, no padding. Returns the length.
int tsri_number_write_alone(tsr_dtype dtype, const void *element, char *text);

#endif
