// SPDX-License-Identifier: MIT
// Unit tests of the reference's numbers, which the conformance run relies on.
#include <math.h>

#include "support/test.h"

#include "check_number.c"  // NOLINT(bugprone-suspicious-include)

static double converted(tsr_dtype to, tsr_dtype from, check_value value) { return check_convert(to, from, value).real; }

TEST(rounding_goes_to_the_nearest_and_ties_to_even) {
  CHECK(check_round(TSR_F16, 2049) == 2048);
  CHECK(check_round(TSR_F16, 2051) == 2052);
  CHECK(check_round(TSR_F16, 65519.99) == 65504);
  CHECK(isinf(check_round(TSR_F16, 65520)));
  CHECK(check_round(TSR_F16, ldexp(1, -25)) == 0);
  CHECK(check_round(TSR_F16, ldexp(3, -26)) == ldexp(1, -24));
  CHECK(check_round(TSR_BF16, 257) == 256);
  CHECK(check_round(TSR_BF16, 259) == 260);
  CHECK(check_round(TSR_F32, 16777217) == 16777216);
  CHECK(check_round(TSR_F32, 0.1) == (double)0.1f);
  CHECK(signbit(check_round(TSR_F16, -1e-30)));
  CHECK(isnan(check_round(TSR_F16, NAN)));
}

TEST(every_f16_and_bf16_goes_there_and_back) {
  const tsr_dtype dtypes[] = {TSR_F16, TSR_BF16};
  for (int d = 0; d < 2; d++) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
      uint16_t element[4] = {(uint16_t)bits}, back[4] = {0};  // as wide as the widest dtype
      check_value value = check_decode(dtypes[d], element);
      check_encode(dtypes[d], value, back);
      if (!isnan(value.real)) CHECK_EQ_UINT(back[0], element[0]);
      if (!isnan(value.real)) CHECK(check_round(dtypes[d], value.real) == value.real);
    }
  }
}

TEST(conversions_agree_with_the_library) {
  static const double numbers[] = {0,     -0.0, 0.5,   -1.5, 127.9, 128,   -129, 255.5,   65519,
                                   65520, 1e10, -1e10, 3e38, 1e-40, 1e300, NAN,  INFINITY};
  for (int to = 0; to < TSR_DTYPE_COUNT; to++) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      unsigned char wanted[8] = {0}, is[8] = {0};
      CHECK_OK(tsr_convert((tsr_dtype)to, wanted, TSR_F64, &numbers[i], 1));
      check_encode((tsr_dtype)to, check_convert((tsr_dtype)to, TSR_F64, (check_value){.real = numbers[i]}), is);
      if (check_is_float((tsr_dtype)to) && isnan(check_decode((tsr_dtype)to, wanted).real)) {
        CHECK(isnan(check_decode((tsr_dtype)to, is).real));
        continue;
      }
      CHECK_BYTES(is, wanted, tsr_dtype_bytes((tsr_dtype)to));
    }
  }
}

TEST(large_integers_round_once) {
  int64_t above_half = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1;  // just above the midpoint of two bf16 numbers
  CHECK(converted(TSR_BF16, TSR_I64, (check_value){.whole = above_half}) == ldexp(1, 62) + ldexp(1, 55));
  CHECK(converted(TSR_BF16, TSR_I64, (check_value){.whole = above_half - 1}) == ldexp(1, 62));
  CHECK(converted(TSR_F32, TSR_I64, (check_value){.whole = INT64_C(9007199791611905)}) ==
        (double)(float)INT64_C(9007199791611905));
  CHECK(converted(TSR_F64, TSR_I64, (check_value){.whole = INT64_MAX}) == 9223372036854775808.0);
}

TEST(ulp_is_the_distance_to_the_neighbour) {
  CHECK(check_ulp(TSR_F32, 1) == ldexp(1, -23));
  CHECK(check_ulp(TSR_F32, 1.99) == ldexp(1, -23));
  CHECK(check_ulp(TSR_F32, 0) == ldexp(1, -149));
  CHECK(check_ulp(TSR_F64, 0) == ldexp(1, -1074));
  CHECK(check_ulp(TSR_F16, 1e9) == 32);  // the same as for its largest number
  CHECK(check_max(TSR_F16) == 65504);
}

TEST(integers_keep_their_low_bits) {
  CHECK_EQ_INT(check_wrap(TSR_I8, 200), -56);
  CHECK_EQ_INT(check_wrap(TSR_U8, -1), 255);
  CHECK_EQ_INT(check_wrap(TSR_U32, -1), 4294967295);
  CHECK_EQ_INT(check_wrap(TSR_BOOL, 256), 1);
  CHECK_EQ_INT(check_least(TSR_I64), INT64_MIN);
  CHECK_EQ_INT(check_most(TSR_I16), 32767);
  CHECK_EQ_INT(check_least(TSR_U8), 0);
}
