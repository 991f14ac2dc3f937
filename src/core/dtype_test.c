// SPDX-License-Identifier: MIT
// Names, sizes and kinds of element types.
#include <tessera/dtype.h>

#include "support/test.h"

TEST(every_dtype_is_found_by_its_own_name) {
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    tsr_dtype found = TSR_DTYPE_COUNT;
    CHECK_OK(tsr_dtype_parse(tsr_dtype_name((tsr_dtype)i), &found));
    CHECK_EQ_INT(found, i);
    CHECK(tsr_dtype_text((tsr_dtype)i)[0] != 0);
  }
}

TEST(dtype_numbers_names_and_sizes_are_the_abi) {
  static const struct {
    tsr_dtype dtype;
    const char *name;
    int number, bytes;
    tsr_dtype_kind kind;
  } table[] = {
      {TSR_BOOL, "bool", 0, 1, TSR_KIND_BOOL},
      {TSR_U8, "u8", 1, 1, TSR_KIND_UINT},
      {TSR_I8, "i8", 2, 1, TSR_KIND_INT},
      {TSR_I16, "i16", 3, 2, TSR_KIND_INT},
      {TSR_I32, "i32", 4, 4, TSR_KIND_INT},
      {TSR_I64, "i64", 5, 8, TSR_KIND_INT},
      {TSR_U32, "u32", 6, 4, TSR_KIND_UINT},
      {TSR_F16, "f16", 7, 2, TSR_KIND_FLOAT},
      {TSR_BF16, "bf16", 8, 2, TSR_KIND_FLOAT},
      {TSR_F32, "f32", 9, 4, TSR_KIND_FLOAT},
      {TSR_F64, "f64", 10, 8, TSR_KIND_FLOAT},
      {TSR_U16, "u16", 11, 2, TSR_KIND_UINT},
      {TSR_U64, "u64", 12, 8, TSR_KIND_UINT},
      {TSR_F8_E4M3, "f8_e4m3", 13, 1, TSR_KIND_FLOAT},
      {TSR_F8_E5M2, "f8_e5m2", 14, 1, TSR_KIND_FLOAT},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    CHECK_EQ_INT(table[i].dtype, table[i].number);
    CHECK_STR(tsr_dtype_name(table[i].dtype), table[i].name);
    CHECK_EQ_INT(tsr_dtype_bytes(table[i].dtype), table[i].bytes);
    CHECK_EQ_INT(tsr_dtype_kind_of(table[i].dtype), table[i].kind);
  }
}

TEST(packed_dtypes_have_half_a_byte) {
  tsr_dtype found = TSR_F32;
  CHECK_OK(tsr_dtype_parse("i4", &found));
  CHECK_EQ_INT(found, TSR_I4);
  CHECK_EQ_INT(TSR_I4, 64);
  CHECK_EQ_INT(TSR_U4, 65);
  CHECK_EQ_INT(tsr_dtype_bits(TSR_U4), 4);
  CHECK_EQ_INT(tsr_dtype_bytes(TSR_U4), 0);
  CHECK_EQ_INT(tsr_dtype_bits(TSR_F64), 64);
  CHECK_EQ_INT(tsr_dtype_kind_of(TSR_I4), TSR_KIND_INT);
  CHECK_EQ_INT(tsr_dtype_kind_of(TSR_U4), TSR_KIND_UINT);
  CHECK_STR(tsr_dtype_name(TSR_U4), "u4");
}

TEST(a_number_that_is_no_dtype_has_no_bytes) {
  const int wrong[] = {-1, TSR_DTYPE_COUNT, 1000};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    CHECK_STR(tsr_dtype_name((tsr_dtype)wrong[i]), "?");
    CHECK_EQ_INT(tsr_dtype_bytes((tsr_dtype)wrong[i]), 0);
    CHECK_EQ_INT(tsr_dtype_kind_of((tsr_dtype)wrong[i]), TSR_KIND_BOOL);
    CHECK(tsr_dtype_text((tsr_dtype)wrong[i]) != NULL);
  }
}

TEST(parse_lists_the_names_when_it_finds_none) {
  tsr_dtype dtype = TSR_I16;
  CHECK_STATUS(tsr_dtype_parse("float", &dtype), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS(
      "\"float\" is none of bool, u8, i8, i16, i32, i64, u32, f16, bf16, f32, f64, u16, u64, f8_e4m3, f8_e5m2, i4, u4");
  CHECK_STATUS(tsr_dtype_parse("", &dtype), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_dtype_parse("F32", &dtype), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_dtype_parse(NULL, &dtype), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("name is NULL");
  CHECK_STATUS(tsr_dtype_parse("f32", NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_EQ_INT(dtype, TSR_I16);
}
