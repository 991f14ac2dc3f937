// SPDX-License-Identifier: MIT
// Number formats. The expected texts are those of NumPy 1.24; bf16 follows the same rules.
#include "ops/print_number.h"

#include <locale.h>
#include <math.h>

#include "support/test.h"

enum { MOST = 4 };

// The numbers in one format, between brackets, like a row that NumPy prints.
static const char *row_of(tsr_dtype dtype, int count, const double *values) {
  static char row[MOST * TSRI_NUMBER_BYTES + 8];
  unsigned char data[MOST * 8];
  tsri_number_format format;
  CHECK_OK(tsr_convert(dtype, data, TSR_F64, values, (size_t)count));
  tsri_number_format_init(&format, dtype, data, (size_t)count);
  size_t length = 0;
  for (int i = 0; i < count; i++) {
    char number[TSRI_NUMBER_BYTES];
    int written = tsri_number_write(&format, data + (size_t)i * tsr_dtype_bytes(dtype), number);
    CHECK_EQ_INT(written, strlen(number));
    length += (size_t)snprintf(row + length, sizeof row - length, "%c%s", i == 0 ? '[' : ' ', number);
  }
  snprintf(row + length, sizeof row - length, "]");
  return row;
}

typedef struct row_case {
  tsr_dtype dtype;
  int count;
  double values[MOST];
  const char *wanted;
} row_case;

static void check_rows(const row_case *rows, size_t count) {
  for (size_t i = 0; i < count; i++) CHECK_STR(row_of(rows[i].dtype, rows[i].count, rows[i].values), rows[i].wanted);
}

TEST(floats_line_up_at_the_point) {
  static const row_case rows[] = {
      {TSR_F32, 3, {0.1, 1, 2.25}, "[0.1  1.   2.25]"},
      {TSR_F32, 3, {-1.5, 0, 3}, "[-1.5  0.   3. ]"},
      {TSR_F64, 2, {1.0 / 3, 2.0 / 3}, "[0.33333333 0.66666667]"},
      {TSR_F64, 2, {1.23456789012, 123.5}, "[  1.23456789 123.5       ]"},
      {TSR_F64, 2, {9.999999999, 1}, "[10.  1.]"},
      {TSR_F64, 2, {0.0, -0.0}, "[ 0. -0.]"},
      {TSR_F32, 1, {99999992}, "[99999992.]"},
      {TSR_F16, 1, {65504}, "[65504.]"},
      {TSR_BF16, 3, {3.140625, 100, -0.5}, "[  3.14 100.    -0.5 ]"},
      {TSR_F8_E4M3, 3, {3.25, 104, -0.5}, "[  3.2 104.   -0.5]"},
      {TSR_F8_E5M2, 2, {1.75, -57344}, "[ 1.8e+00 -5.7e+04]"},
      {TSR_U64, 2, {18446744073709549568.0, 7}, "[18446744073709549568                    7]"},
      {TSR_U16, 2, {65535, 7}, "[65535     7]"},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

TEST(floats_far_apart_have_exponents) {
  static const row_case rows[] = {
      {TSR_F32, 2, {1, 1000}, "[   1. 1000.]"},
      {TSR_F32, 2, {1, 1001}, "[1.000e+00 1.001e+03]"},
      {TSR_F32, 2, {1e-5, 1}, "[1.e-05 1.e+00]"},
      {TSR_F32, 2, {1e8, 1}, "[1.e+08 1.e+00]"},
      {TSR_F32, 1, {0.0001}, "[1.e-04]"},  // the f32 nearest to 0.0001 is a little less
      {TSR_F64, 1, {0.0001}, "[0.0001]"},
      {TSR_F16, 2, {65504, 0.1}, "[6.55e+04 1.00e-01]"},
      {TSR_F16, 2, {6e-8, 1}, "[6.e-08 1.e+00]"},
      {TSR_F64, 2, {5e-324, 1.7976931348623157e308}, "[4.94065646e-324 1.79769313e+308]"},
      {TSR_F64, 1, {1e23}, "[1.e+23]"},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

TEST(nan_and_infinity_fit_the_columns) {
  const row_case rows[] = {
      {TSR_F64, 3, {(double)NAN, 1, -(double)INFINITY}, "[ nan   1. -inf]"},
      {TSR_F64, 2, {(double)NAN, (double)INFINITY}, "[nan inf]"},
      {TSR_F32, 1, {-(double)INFINITY}, "[-inf]"},
      {TSR_F64, 3, {(double)NAN, 1e300, -1e-300}, "[     nan  1.e+300 -1.e-300]"},
      {TSR_BF16, 2, {(double)NAN, 0.5}, "[nan 0.5]"},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

TEST(integers_and_truth_values_are_right_aligned) {
  static const row_case rows[] = {
      {TSR_I8, 3, {-5, 10, 127}, "[ -5  10 127]"},
      {TSR_U32, 2, {4294967295, 0}, "[4294967295          0]"},
      {TSR_I64, 2, {-9223372036854775808.0, 9223372036854775808.0}, "[-9223372036854775808  9223372036854775807]"},
      {TSR_BOOL, 2, {1, 0}, "[ True False]"},
      {TSR_BOOL, 1, {1}, "[ True]"},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static const char *alone(tsr_dtype dtype, double value) {
  static char text[TSRI_NUMBER_BYTES];
  unsigned char element[8];
  CHECK_OK(tsr_convert(dtype, element, TSR_F64, &value, 1));
  int written = tsri_number_write_alone(dtype, element, text);
  CHECK_EQ_INT(written, strlen(text));
  return text;
}

TEST(a_number_alone_shows_all_its_digits) {
  CHECK_STR(alone(TSR_F64, 1.0 / 3), "0.3333333333333333");
  CHECK_STR(alone(TSR_F64, 1e15), "1000000000000000.0");
  CHECK_STR(alone(TSR_F64, 1e16), "1e+16");
  CHECK_STR(alone(TSR_F64, 0.0001), "0.0001");
  CHECK_STR(alone(TSR_F64, 1e-5), "1e-05");
  CHECK_STR(alone(TSR_F64, 5e-324), "5e-324");
  CHECK_STR(alone(TSR_F64, -1.7976931348623157e308), "-1.7976931348623157e+308");
  CHECK_STR(alone(TSR_F64, -0.0), "-0.0");
  CHECK_STR(alone(TSR_F64, -0.00012345678901234567), "-0.00012345678901234567");
  CHECK_STR(alone(TSR_F32, 1.0 / 3), "0.33333334");
  CHECK_STR(alone(TSR_F32, 123456789), "123456790.0");
  CHECK_STR(alone(TSR_F32, 0.0001), "1e-04");
  CHECK_STR(alone(TSR_F16, 65504), "65500.0");
  CHECK_STR(alone(TSR_F16, 1.0 / 3), "0.3333");
  CHECK_STR(alone(TSR_BF16, 3.14159), "3.14");
  CHECK_STR(alone(TSR_BF16, 1e30), "1e+30");
  CHECK_STR(alone(TSR_F32, (double)NAN), "nan");
  CHECK_STR(alone(TSR_F16, -(double)INFINITY), "-inf");
  CHECK_STR(alone(TSR_BOOL, 1), "True");
  CHECK_STR(alone(TSR_I16, -32768), "-32768");
}

TEST(the_point_stays_a_point_in_every_locale) {
  const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
  bool is_set = false;
  for (int i = 0; i < 4 && !is_set; i++) is_set = setlocale(LC_ALL, names[i]) != NULL;
  const double values[] = {0.5, 1234.5678};
  char row[MOST * TSRI_NUMBER_BYTES + 8], one[TSRI_NUMBER_BYTES];
  snprintf(row, sizeof row, "%s", row_of(TSR_F32, 2, values));
  snprintf(one, sizeof one, "%s", alone(TSR_F64, 2.5));
  setlocale(LC_ALL, "C");
  CHECK_STR(row, "[5.0000000e-01 1.2345677e+03]");
  CHECK_STR(one, "2.5");
  if (!is_set) SKIP("no locale with a decimal comma is installed");
}
