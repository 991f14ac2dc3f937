// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

TEST(unstack_gives_views_without_the_axis) {
  begin();
  tsr_tensor *parts[3] = {NULL}, *x = count_up(TSR_F32, TSR_SHAPE(2, 3));
  CHECK_OK(tsr_unstack(x, 1, 3, parts));
  CHECK_VALUES(parts[2], TSR_F32, TSR_SHAPE(2), 0, 2, 5);
  CHECK_OK(tsr_assign(parts[0], list(TSR_F32, TSR_SHAPE(2), 70, 80)));
  CHECK_VALUES(x, TSR_F32, TSR_SHAPE(2, 3), 0, 70, 1, 2, 80, 4, 5);
  CHECK_STATUS(tsr_unstack(x, 1, 2, parts), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("unstack: 2 parts, axis 1 has 3 elements");
  CHECK_STATUS(tsr_unstack(x, 1, 3, NULL), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

TEST(meshgrid_runs_down_first_and_across_first_with_xy) {
  begin();
  tsr_tensor *grids[2] = {NULL};
  tsr_tensor *lists[2] = {list(TSR_I32, TSR_SHAPE(2), 1, 2), list(TSR_F32, TSR_SHAPE(3), 5, 6, 7)};
  CHECK_OK(tsr_meshgrid(lists, 2, false, grids));
  CHECK_VALUES(grids[0], TSR_I32, TSR_SHAPE(2, 3), 0, 1, 1, 1, 2, 2, 2);
  CHECK_VALUES(grids[1], TSR_F32, TSR_SHAPE(2, 3), 0, 5, 6, 7, 5, 6, 7);
  CHECK_OK(tsr_meshgrid(lists, 2, true, grids));
  CHECK_VALUES(grids[0], TSR_I32, TSR_SHAPE(3, 2), 0, 1, 2, 1, 2, 1, 2);
  CHECK_OK(tsr_meshgrid(lists, 1, true, grids));
  CHECK_VALUES(grids[0], TSR_I32, TSR_SHAPE(2), 0, 1, 2);
  lists[1] = tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 2));
  CHECK_STATUS(tsr_meshgrid(lists, 2, false, grids), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("meshgrid: tensor 1 is 2x2; a list is wanted");
  CHECK_STATUS(tsr_meshgrid(lists, 9, false, grids), TSR_ERR_INVALID_ARGUMENT);
  finish();
}

TEST(diag_makes_a_matrix_of_a_list_and_a_list_of_a_matrix) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2), NAN, INFINITY);
  CHECK_VALUES(tsr_diag(x, 0), TSR_F32, TSR_SHAPE(2, 2), 0, NAN, 0, 0, INFINITY);
  CHECK_VALUES(tsr_diag(list(TSR_I32, TSR_SHAPE(2), 1, 2), -1), TSR_I32, TSR_SHAPE(3, 3), 0, 0, 0, 0, 1, 0, 0, 0, 2, 0);
  CHECK_VALUES(tsr_diag(count_up(TSR_I32, TSR_SHAPE(2, 3)), 1), TSR_I32, TSR_SHAPE(2), 0, 1, 5);
  CHECK_FAILS(tsr_diag(tsr_zeros(dev, TSR_F32, TSR_SHAPE(2, 2, 2)), 0), TSR_ERR_SHAPE,
              "diag: takes a list or a matrix, not 2x2x2");
  CHECK_FAILS(tsr_diag(x, INT64_MIN), TSR_ERR_UNSUPPORTED, "diag: 2 elements at offset -9223372036854775808");
  finish();
}

TEST(flip_axes_reverses_those_named_or_all) {
  begin();
  tsr_tensor *x = count_up(TSR_I32, TSR_SHAPE(2, 3));
  CHECK_VALUES(tsr_flip_axes(x, NULL, 0), TSR_I32, TSR_SHAPE(2, 3), 0, 5, 4, 3, 2, 1, 0);
  CHECK_VALUES(tsr_flip_axes(x, (int[]){-1}, 1), TSR_I32, TSR_SHAPE(2, 3), 0, 2, 1, 0, 5, 4, 3);
  CHECK_FAILS(tsr_flip_axes(x, (int[]){0, -2}, 2), TSR_ERR_SHAPE, "flip_axes: axis 0 is named twice");
  finish();
}
