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

// Planes of images, few and many, whose rows are whole quads or not: on GPUs one kernel resizes both axes, with several planes for each work item.
static void check_planes(tsr_device *device, tsr_dtype dtype, tsr_resize_desc desc, int64_t planes, int64_t rows,
                         int64_t columns) {
  enum { N0 = 70, N1 = 41, MOST = 6 * 128 * 132 };
  static float is[MOST], wanted[MOST];
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu), *other = tsr_scope_begin(device);
  int64_t count = planes * rows * columns;
  float *const found[2] = {is, wanted};
  CHECK(count <= MOST);
  for (int i = 0; i < 2; i++) {
    tsr_device *on = i ? cpu : device;
    tsr_tensor *x = tsr_cast(tsr_randint(on, TSR_I32, TSR_SHAPE(planes, N0, N1), 0, 200, 3), dtype);
    tsr_tensor *y = tsr_cast(tsr_resize(x, TSR_SHAPE(rows, columns), &desc), TSR_F32);
    CHECK_OK(tsr_read(y, found[i], (size_t)count * sizeof(float)));
  }
  double bound = dtype == TSR_F16 ? 1e-3 : 1e-6;
  for (int64_t i = 0; i < count; i++) CHECK_NEAR(is[i], wanted[i], bound * (1 + (double)wanted[i]));
  CHECK_OK(tsr_scope_end(other));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

static void planes_on(tsr_device *device) {
  static const int64_t sizes[][3] = {{5, 128, 132}, {6, 125, 131}, {1, 128, 132},
                                     {3, 33, 17},   {3, 33, 90},   {2, 90, 20}};
  static const tsr_dtype dtypes[] = {TSR_F32, TSR_U8, TSR_F16};
  if (!test_device_computes(device)) return;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    tsr_resize_desc desc = {.coordinates = i % 2 ? TSR_RESIZE_ALIGN_CORNERS : TSR_RESIZE_HALF_PIXEL};
    check_planes(device, dtypes[i % 3], desc, sizes[i][0], sizes[i][1], sizes[i][2]);
    desc.mode = TSR_RESIZE_LINEAR;
    check_planes(device, dtypes[i % 3], desc, sizes[i][0], sizes[i][1], sizes[i][2]);
  }
}

TEST(both_axes_of_planes_are_resized_as_one_after_the_other) { test_on_every_device(planes_on); }

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
