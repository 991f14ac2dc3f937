// SPDX-License-Identifier: MIT
// Converts a binary floating-point number to decimal digits exactly: without printf, locale or intermediate rounding.
#ifndef TSRI_DIGITS_H
#define TSRI_DIGITS_H

#include <stdbool.h>

#include <tessera/dtype.h>

#define TSRI_DIGITS_MAX 40

// The number is d.ddd… x 10^exponent, negated if `is_negative` (also for -0). 0 has the single digit "0".
typedef struct tsri_digits {
  bool is_negative;
  int exponent;
  int count;                     // 1 to TSRI_DIGITS_MAX
  char digits[TSRI_DIGITS_MAX];  // '0' to '9', without trailing zeros
} tsri_digits;

// Bounds for the number of digits: of all digits, or of those after the decimal point. -1: no bound.
typedef struct tsri_digit_bounds {
  bool behind_point;
  int least, most;
} tsri_digit_bounds;

#define TSRI_SHORTEST ((tsri_digit_bounds){false, -1, -1})

// The shortest digits that read back as `value`, a finite number of float type `dtype` given as a double; of several,
// those closest to it. `most` limits them: the exact value is rounded there, ties to even. `least` extends them by
// digits of the exact value; fewer are given only if the rest are zeros. (These are NumPy's rules.)
void tsri_digits_of(double value, tsr_dtype dtype, tsri_digit_bounds bounds, tsri_digits *out_digits);

#endif
