// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(bit_cast_keeps_bits) {
  begin();
  CHECK_VALUES(tsr_bit_cast(list(TSR_F32, TSR_SHAPE(2), 1, -2), TSR_U32), TSR_U32, TSR_SHAPE(2), 0, 0x3F800000,
               0xC0000000);
  CHECK_VALUES(tsr_bit_cast(list(TSR_F16, TSR_SHAPE(1), 1), TSR_I16), TSR_I16, TSR_SHAPE(1), 0, 0x3C00);
  CHECK_VALUES(tsr_bit_cast(list(TSR_BOOL, TSR_SHAPE(4), 1, 0, 1, 1), TSR_U8), TSR_U8, TSR_SHAPE(4), 0, 1, 0, 1, 1);
  finish();
}

TEST(bit_cast_to_another_size_changes_the_last_axis) {
  begin();
  tsr_tensor *bytes = tsr_bit_cast(list(TSR_U32, TSR_SHAPE(2, 1), 0x04030201, 0x08070605), TSR_U8);
  CHECK_VALUES(bytes, TSR_U8, TSR_SHAPE(2, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8);
  CHECK_VALUES(tsr_bit_cast(tsr_slice(bytes, 0, 1, 2, 1), TSR_I16), TSR_I16, TSR_SHAPE(1, 2), 0, 0x0605, 0x0807);
  CHECK_VALUES(tsr_bit_cast(tsr_transpose(bytes, 0, 1), TSR_I16), TSR_I16, TSR_SHAPE(4, 1), 0, 0x0501, 0x0602, 0x0703,
               0x0804);
  CHECK_FAILS(tsr_bit_cast(tsr_slice(bytes, 1, 0, 3, 1), TSR_F32), TSR_ERR_SHAPE,
              "bit_cast: rows of u8 2x3 are no whole number of f32");
  CHECK_FAILS(tsr_bit_cast(tsr_zeros(dev, TSR_F64, TSR_SCALAR), TSR_F32), TSR_ERR_SHAPE, "bit_cast: ");
  CHECK_FAILS(tsr_bit_cast(bytes, TSR_BOOL), TSR_ERR_DTYPE, "bits do not become bool");
  CHECK_EMPTY(tsr_bit_cast(tsr_zeros(dev, TSR_F32, TSR_SHAPE(3, 0)), TSR_I64), TSR_I64, TSR_SHAPE(3, 0));
  finish();
}
