// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(resize_takes_the_nearest_element_of_any_dtype) {
  begin();
  tsr_tensor *x = list(TSR_U8, TSR_SHAPE(1, 4), 10, 20, 30, 40);
  CHECK_VALUES(tsr_resize(x, TSR_SHAPE(8), NULL), TSR_U8, TSR_SHAPE(1, 8), 0, 10, 10, 20, 20, 30, 30, 40, 40);
  CHECK_VALUES(tsr_resize(x, TSR_SHAPE(2, 2), NULL), TSR_U8, TSR_SHAPE(2, 2), 0, 10, 30, 10, 30);
  finish();
}

// Half pixels: what PyTorch calls align_corners = False. The numbers are PyTorch's.
TEST(resize_is_linear_between_half_pixels_unless_corners_are_aligned) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(4), 1, 2, 3, 4);
  tsr_resize_desc desc = {.mode = TSR_RESIZE_LINEAR};
  CHECK_VALUES(tsr_resize(x, TSR_SHAPE(6), &desc), TSR_F32, TSR_SHAPE(6), 1e-6, 1, 1.5, 2.166667, 2.833333, 3.5, 4);
  desc.coordinates = TSR_RESIZE_ALIGN_CORNERS;
  CHECK_VALUES(tsr_resize(x, TSR_SHAPE(7), &desc), TSR_F32, TSR_SHAPE(7), 1e-6, 1, 1.5, 2, 2.5, 3, 3.5, 4);
  finish();
}

TEST(a_tie_goes_where_the_rounding_says) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(6), 0, 1, 2, 3, 4, 5);
  tsr_resize_desc desc = {.rounding = TSR_RESIZE_ROUND_PREFER_FLOOR};
  // Positions of 6 in 9: element 1 is at 0.5, 4 at 2.5, 7 at 4.5.
  CHECK_VALUES(tsr_resize(x, TSR_SHAPE(9), &desc), TSR_F32, TSR_SHAPE(9), 0, 0, 0, 1, 2, 2, 3, 4, 4, 5);
  desc.rounding = TSR_RESIZE_ROUND_PREFER_CEIL;
  CHECK_VALUES(tsr_resize(x, TSR_SHAPE(9), &desc), TSR_F32, TSR_SHAPE(9), 0, 0, 1, 1, 2, 3, 3, 4, 5, 5);
  finish();
}

// The position of the last element, 4,999,998.5, is no f32.
TEST(positions_of_long_axes_are_exact) {
  enum { N = 5000000 };
  begin();
  tsr_tensor *x = tsr_arange(dev, TSR_F64, 0, N, 1), *y = tsr_resize(x, TSR_SHAPE(N / 2), NULL);
  CHECK_VALUES(tsr_slice(y, 0, N / 2 - 2, N / 2, 1), TSR_F64, TSR_SHAPE(2), 0, N - 4, N - 2);
  finish();
}

TEST(resize_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(0, 4));
  CHECK_FAILS(tsr_resize(x, TSR_SHAPE(2, 2), NULL), TSR_ERR_SHAPE, "none of 0 grows");
  CHECK_FAILS(tsr_resize(x, TSR_SHAPE(1, 1, 1), NULL), TSR_ERR_SHAPE, "the last axes of 0x4 become 1x1x1");
  CHECK_FAILS(tsr_resize(x, TSR_SHAPE(-1), NULL), TSR_ERR_SHAPE, "resize");
  CHECK_FAILS(tsr_resize(x, TSR_SHAPE(2), &(tsr_resize_desc){.mode = (tsr_resize_mode)9}), TSR_ERR_INVALID_ARGUMENT,
              "no mode 9");
  CHECK_FAILS(tsr_resize(x, TSR_SHAPE(2), &(tsr_resize_desc){.scale = {-1}}), TSR_ERR_INVALID_ARGUMENT, "scale -1");
  finish();
}
