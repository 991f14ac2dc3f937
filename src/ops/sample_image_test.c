// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(the_grid_of_the_identity_reads_an_image_as_it_is) {
  for (int corners = 0; corners < 2; corners++) {
    begin();
    tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 1, 3, 4)),
               *theta = list(TSR_F32, TSR_SHAPE(1, 2, 3), 1, 0, 0, 0, 1, 0);
    tsr_tensor *grid = tsr_affine_grid(theta, TSR_SHAPE(1, 1, 3, 4), corners);
    CHECK_VALUES(tsr_grid_sample(x, grid, &(tsr_grid_desc){.align_corners = corners}), TSR_F32, TSR_SHAPE(1, 1, 3, 4),
                 1e-5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    finish();
  }
}

// The first number of a point is across, the second down.
TEST(points_of_a_grid_are_across_and_down) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 1, 2, 2)), *grid = list(TSR_F32, TSR_SHAPE(1, 1, 2, 2), 1, -1, -1, 1);
  CHECK_VALUES(tsr_grid_sample(x, grid, &(tsr_grid_desc){.align_corners = true}), TSR_F32, TSR_SHAPE(1, 1, 1, 2), 0, 1,
               2);
  finish();
}

TEST(beyond_an_image_there_are_zeros_its_border_or_its_mirror) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1, 1, 1, 3), 1, 2, 3);
  tsr_tensor *grid = list(TSR_F32, TSR_SHAPE(1, 1, 3, 2), 2, 0, NAN, 0, 1e30, 0);
  tsr_grid_desc desc = {.align_corners = true};  // NaN counts as -1
  CHECK_VALUES(tsr_grid_sample(x, grid, &desc), TSR_F32, TSR_SHAPE(1, 1, 1, 3), 0, 0, 1, 0);
  desc.padding = TSR_GRID_BORDER;
  CHECK_VALUES(tsr_grid_sample(x, grid, &desc), TSR_F32, TSR_SHAPE(1, 1, 1, 3), 0, 3, 1, 3);
  desc.padding = TSR_GRID_REFLECTION;
  CHECK_VALUES(tsr_slice(tsr_grid_sample(x, grid, &desc), 3, 0, 2, 1), TSR_F32, TSR_SHAPE(1, 1, 1, 2), 0, 2, 1);
  finish();
}

TEST(grids_that_do_not_fit_are_refused) {
  begin();
  tsr_tensor *x = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 1, 4, 4)),
             *grid = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 3, 3, 2));
  tsr_tensor *solid = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 2, 2, 2)),
             *points = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 1, 1, 3));
  CHECK_FAILS(tsr_grid_sample(x, grid, NULL), TSR_ERR_SHAPE, "x is 2x1x4x4, the grid is 1x3x3x2");
  CHECK_FAILS(tsr_grid_sample(solid, points, &(tsr_grid_desc){.mode = TSR_GRID_CUBIC}), TSR_ERR_UNSUPPORTED,
              "cubic takes two sizes");
  CHECK_FAILS(tsr_affine_grid(grid, TSR_SHAPE(1, 1, 2, 2), false), TSR_ERR_SHAPE, "theta is 1x3x3x2");
  finish();
}

// A region of one element's size in a plane that rises by 1 across: its middle.
TEST(regions_are_read_between_elements) {
  begin();
  tsr_tensor *x = tsr_expand(list(TSR_F32, TSR_SHAPE(1, 1, 1, 5), 0, 1, 2, 3, 4), TSR_SHAPE(1, 1, 5, 5));
  tsr_tensor *regions = list(TSR_F32, TSR_SHAPE(1, 4), 1.25, 1, 2.25, 2), *images = list(TSR_I32, TSR_SHAPE(1), 0);
  CHECK_VALUES(tsr_roi_align(x, regions, images, NULL), TSR_F32, TSR_SHAPE(1, 1, 1, 1), 1e-6, 1.25);
  CHECK_VALUES(tsr_roi_align(x, regions, images, &(tsr_roi_desc){.not_aligned = true}), TSR_F32, TSR_SHAPE(1, 1, 1, 1),
               1e-6, 1.75);
  CHECK_FAILS(tsr_roi_align(x, regions, regions, NULL), TSR_ERR_DTYPE, "images are integers, not f32");
  CHECK_FAILS(tsr_roi_align(x, tsr_squeeze(regions, 0), images, NULL), TSR_ERR_SHAPE, "regions are [4]");
  CHECK_FAILS(tsr_roi_align(x, regions, images, &(tsr_roi_desc){.points = -1}), TSR_ERR_INVALID_ARGUMENT, "-1 points");
  finish();
}

TEST(pixel_shuffle_spreads_channels_and_unshuffle_gathers_them) {
  begin();
  tsr_tensor *x = list(TSR_I32, TSR_SHAPE(1, 4, 1, 2), 1, 2, 10, 20, 100, 200, 1000, 2000);
  tsr_tensor *y = tsr_pixel_shuffle(x, 2);
  CHECK_VALUES(y, TSR_I32, TSR_SHAPE(1, 1, 2, 4), 0, 1, 10, 2, 20, 100, 1000, 200, 2000);
  CHECK_VALUES(tsr_pixel_unshuffle(y, 2), TSR_I32, TSR_SHAPE(1, 4, 1, 2), 0, 1, 2, 10, 20, 100, 200, 1000, 2000);
  CHECK_FAILS(tsr_pixel_shuffle(x, 3), TSR_ERR_SHAPE, "the factor 3 does not divide 1x4x1x2");
  CHECK_FAILS(tsr_pixel_unshuffle(x, 2), TSR_ERR_SHAPE, "does not divide");
  CHECK_FAILS(tsr_pixel_shuffle(x, 0), TSR_ERR_INVALID_ARGUMENT, "a factor of 0");
  finish();
}
