// SPDX-License-Identifier: MIT
// Decimal digits of a binary floating-point number, exactly: no printf, no locale, no rounding on the way.
#ifndef TSRI_DIGITS_H
#define TSRI_DIGITS_H

#include <stdbool.h>

#include <tessera/dtype.h>

#define TSRI_DIGITS_MAX 40

// The number is d.ddd… x 10^exponent, negated if `is_negative` (which -0 is). 0 is the one digit "0".
typedef struct tsri_digits {
  bool is_negative;
  int exponent;
  int count;                     // 1 to TSRI_DIGITS_MAX
  char digits[TSRI_DIGITS_MAX];  // '0' to '9', no 0 at the end
} tsri_digits;

// How many digits there are to be: all of them counted, or those behind the point. -1 sets no bound.
typedef struct tsri_digit_bounds {
  bool behind_point;
  int least, most;
} tsri_digit_bounds;

#define TSRI_SHORTEST ((tsri_digit_bounds){false, -1, -1})

// The shortest digits that read back as `value`, a finite number of float type `dtype`, held as a double; the closest
// to it among those. `most` cuts them, rounding the exact value, ties to even; `least` goes on with the exact value's
// digits where the shortest would end. (NumPy's rule; the bound `least` is reached unless 0s would follow.)
void tsri_digits_of(double value, tsr_dtype dtype, tsri_digit_bounds bounds, tsri_digits *out_digits);

#endif
