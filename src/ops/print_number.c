// SPDX-License-Identifier: MIT
// Number formats: a first pass over all elements determines the widths, a second one writes each element.
#include "ops/print_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/digits.h"

enum { PRECISION = 8 };  // most digits after the point

static bool is_float(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) == TSR_KIND_FLOAT; }

static double load_float(tsr_dtype dtype, const void *element) {
  double value = 0;
  tsr_convert(TSR_F64, &value, dtype, element, 1);
  return value;
}

static int64_t load_int(tsr_dtype dtype, const void *element) {
  int64_t value = 0;
  tsr_convert(TSR_I64, &value, dtype, element, 1);
  return value;
}

// Writes an integer, padded to `width` characters; returns the length as snprintf does.
static int print_int(char *text, size_t bytes, int width, tsr_dtype dtype, const void *element) {
  int64_t value = load_int(dtype, element);
  if (dtype == TSR_U64) return snprintf(text, bytes, "%*" PRIu64, width, (uint64_t)value);
  return snprintf(text, bytes, "%*" PRId64, width, value);
}

static int larger(int a, int b) { return a > b ? a : b; }

// --- Writing digits --------------------------------------------------------------------------------------------------

typedef struct number_writer {
  char *text;
  int length;
} number_writer;

static void put(number_writer *w, char c) { w->text[w->length++] = c; }

static void put_repeated(number_writer *w, char c, int count) {
  for (int i = 0; i < count; i++) put(w, c);
}

static void put_word(number_writer *w, const char *word) {
  while (*word) put(w, *word++);
}

static int int_length(const tsri_digits *d) { return d->is_negative + (d->exponent < 0 ? 1 : d->exponent + 1); }

static int fraction_length(const tsri_digits *d) { return larger(d->count - 1 - d->exponent, 0); }

// The digit at 10^place; 0 outside of the stored digits.
static char digit_at(const tsri_digits *d, int place) {
  int i = d->exponent - place;
  return i >= 0 && i < d->count ? d->digits[i] : '0';
}

// Writes positional notation: "-12.5", "0.03", "7."
static void put_positional(number_writer *w, const tsri_digits *d) {
  if (d->is_negative) put(w, '-');
  for (int place = larger(d->exponent, 0); place >= 0; place--) put(w, digit_at(d, place));
  put(w, '.');
  for (int i = 1; i <= fraction_length(d); i++) put(w, digit_at(d, -i));
}

static int exponent_length(const tsri_digits *d) { return d->exponent <= -100 || d->exponent >= 100 ? 3 : 2; }

static void put_exponent(number_writer *w, int exponent, int digits) {
  put(w, 'e');
  put(w, exponent < 0 ? '-' : '+');
  int magnitude = exponent < 0 ? -exponent : exponent;
  if (digits > 2 || magnitude >= 100) put(w, (char)('0' + magnitude / 100));
  put(w, (char)('0' + magnitude / 10 % 10));
  put(w, (char)('0' + magnitude % 10));
}

// Writes scientific notation: "-1.50e+08". With fraction_digits 0 the point is kept: "1.e+08".
static void put_exponential(number_writer *w, const tsri_digits *d, int fraction_digits, int exponent_digits) {
  if (d->is_negative) put(w, '-');
  put(w, d->digits[0]);
  put(w, '.');
  for (int i = 1; i <= fraction_digits; i++) put(w, i < d->count ? d->digits[i] : '0');
  put_exponent(w, d->exponent, exponent_digits);
}

static const char *odd_name(double value) { return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

// --- First pass: the format ------------------------------------------------------------------------------------------

static tsri_digit_bounds exponential_bounds(int least, int most) {
  return (tsri_digit_bounds){false, least < 0 ? -1 : least + 1,
                             most + 1};  // the bounds count the digit before the point, too
}

typedef struct float_survey {
  size_t finite_count, odd_count;
  bool has_minus_infinity;
  // Smallest and largest magnitude of the elements that are not 0; both 0 if there is none.
  double least, most;
} float_survey;

static float_survey survey_floats(tsr_dtype dtype, const unsigned char *data, size_t count) {
  float_survey found = {0};
  for (size_t i = 0; i < count; i++) {
    double value = load_float(dtype, data + i * tsr_dtype_bytes(dtype)), magnitude = fabs(value);
    if (!isfinite(value)) {
      found.odd_count++;
      if (isinf(value) && value < 0) found.has_minus_infinity = true;
      continue;
    }
    found.finite_count++;
    if (magnitude == 0) continue;
    if (found.least == 0 || magnitude < found.least) found.least = magnitude;
    if (magnitude > found.most) found.most = magnitude;
  }
  return found;
}

// a / b, rounded to the dtype of the elements as NumPy does, which matters for ratios near 1000.
static double ratio_in(tsr_dtype dtype, double a, double b) {
  double ratio = a / b;
  unsigned char element[8];
  tsr_convert(dtype, element, TSR_F64, &ratio, 1);
  return load_float(dtype, element);
}

static bool needs_exponents(tsr_dtype dtype, const float_survey *found) {
  if (found->least == 0) return false;
  return found->most >= 1e8 || found->least < 1e-4 ||
         !(ratio_in(dtype, found->most, found->least) <= 1000);  // f8 has no large ratios
}

static void fit_exponential(tsri_number_format *format, double value) {
  tsri_digits d;
  tsri_digits_of(value, format->dtype, exponential_bounds(-1, PRECISION), &d);
  format->left = larger(format->left, 1 + d.is_negative);
  format->fraction_digits = larger(format->fraction_digits, d.count - 1);
  format->exponent_digits = larger(format->exponent_digits, exponent_length(&d));
}

static void fit_positional(tsri_number_format *format, double value) {
  tsri_digits d;
  tsri_digits_of(value, format->dtype, (tsri_digit_bounds){true, -1, PRECISION}, &d);
  format->left = larger(format->left, int_length(&d));
  format->right = larger(format->right, fraction_length(&d));
}

// Widens the format for nan and inf, which take the place of the complete number, including the point.
static void fit_odd(tsri_number_format *format, const float_survey *found) {
  int widest = (int)strlen(found->has_minus_infinity ? "-inf" : "nan");
  format->left = larger(format->left, widest - format->right - 1);
}

static void init_float(tsri_number_format *format, const unsigned char *data, size_t count) {
  float_survey found = survey_floats(format->dtype, data, count);
  format->is_exponential = needs_exponents(format->dtype, &found);
  for (size_t i = 0; i < count; i++) {
    double value = load_float(format->dtype, data + i * tsr_dtype_bytes(format->dtype));
    if (!isfinite(value)) continue;
    if (format->is_exponential) fit_exponential(format, value);
    else fit_positional(format, value);
  }
  if (format->is_exponential) format->right = format->fraction_digits + 2 + format->exponent_digits;
  if (found.odd_count > 0) fit_odd(format, &found);
}

static void init_int(tsri_number_format *format, const unsigned char *data, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const unsigned char *element = data + i * tsr_dtype_bytes(format->dtype);
    format->left = larger(format->left, print_int(NULL, 0, 0, format->dtype, element));
  }
}

void tsri_number_format_init(tsri_number_format *format, tsr_dtype dtype, const void *data, size_t count) {
  *format = (tsri_number_format){.dtype = dtype};
  if (dtype == TSR_BOOL) format->left = (int)strlen("False");
  else if (is_float(dtype)) init_float(format, data, count);
  else init_int(format, data, count);
}

// --- Second pass: the text -------------------------------------------------------------------------------------------

static void write_float(const tsri_number_format *format, double value, number_writer *w) {
  tsri_digits d;
  if (!isfinite(value)) {
    const char *name = odd_name(value);
    put_repeated(w, ' ', format->left + 1 + format->right - (int)strlen(name));
    put_word(w, name);
  } else if (format->is_exponential) {
    int digits = format->fraction_digits;
    tsri_digits_of(value, format->dtype, exponential_bounds(digits, digits), &d);
    put_repeated(w, ' ', format->left - 1 - d.is_negative);
    put_exponential(w, &d, digits, format->exponent_digits);
  } else {
    // At least 0 digits after the point: so a large number shows all its digits before the point, rather than zeros after its shortest unique digits.
    tsri_digits_of(value, format->dtype, (tsri_digit_bounds){true, 0, PRECISION}, &d);
    put_repeated(w, ' ', format->left - int_length(&d));
    put_positional(w, &d);
    put_repeated(w, ' ', format->right - fraction_length(&d));
  }
}

static const char *bool_word(const void *element) { return load_int(TSR_BOOL, element) ? "True" : "False"; }

int tsri_number_write(const tsri_number_format *format, const void *element, char *text) {
  if (format->dtype == TSR_BOOL) {
    return snprintf(text, TSRI_NUMBER_BYTES, "%*s", format->left, bool_word(element));
  }
  if (!is_float(format->dtype)) {
    return print_int(text, TSRI_NUMBER_BYTES, format->left, format->dtype, element);
  }
  number_writer w = {text, 0};
  write_float(format, load_float(format->dtype, element), &w);
  text[w.length] = 0;
  return w.length;
}

// Writes "1.5e-05", "1e+16".
static void write_exponential_alone(const tsri_digits *d, number_writer *w) {
  if (d->is_negative) put(w, '-');
  put(w, d->digits[0]);
  if (d->count > 1) put(w, '.');
  for (int i = 1; i < d->count; i++) put(w, d->digits[i]);
  put_exponent(w, d->exponent, 2);
}

static void write_float_alone(tsr_dtype dtype, double value, number_writer *w) {
  if (!isfinite(value)) {
    put_word(w, odd_name(value));
    return;
  }
  tsri_digits d;
  tsri_digits_of(value, dtype, TSRI_SHORTEST, &d);
  if (value != 0 && (fabs(value) < 1e-4 || fabs(value) >= 1e16)) {
    write_exponential_alone(&d, w);
    return;
  }
  put_positional(w, &d);
  if (fraction_length(&d) == 0) put(w, '0');
}

int tsri_number_write_alone(tsr_dtype dtype, const void *element, char *text) {
  if (dtype == TSR_BOOL) return snprintf(text, TSRI_NUMBER_BYTES, "%s", bool_word(element));
  if (!is_float(dtype)) return print_int(text, TSRI_NUMBER_BYTES, 0, dtype, element);
  number_writer w = {text, 0};
  write_float_alone(dtype, load_float(dtype, element), &w);
  text[w.length] = 0;
  return w.length;
}
