// SPDX-License-Identifier: MIT
#include "ops/ops_testing.h"

// Three boxes: the second covers half of what it and the first cover together, the third lies apart.
TEST(a_better_box_suppresses_what_it_overlaps) {
  begin();
  tsr_tensor *boxes = list(TSR_F32, TSR_SHAPE(1, 3, 4), 0, 0, 2, 2, 0, 0, 2, 1, 5, 5, 6, 6);
  tsr_tensor *scores = list(TSR_F32, TSR_SHAPE(1, 1, 3), 0.8, 0.9, 0.1);
  CHECK_VALUES(tsr_nms(boxes, scores, &(tsr_nms_desc){.overlap = 0.4}), TSR_I32, TSR_SHAPE(2, 3), 0, 0, 0, 1, 0, 0, 2);
  // Equal to the limit is not above it.
  CHECK_VALUES(tsr_nms(boxes, scores, NULL), TSR_I32, TSR_SHAPE(3, 3), 0, 0, 0, 1, 0, 0, 0, 0, 0, 2);
  CHECK_VALUES(tsr_nms(boxes, scores, &(tsr_nms_desc){.drops_low = true, .least = 0.5, .most = 1}), TSR_I32,
               TSR_SHAPE(1, 3), 0, 0, 0, 1);
  finish();
}

TEST(nms_refuses_what_does_not_fit) {
  begin();
  tsr_tensor *boxes = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 3, 4)),
             *scores = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 2));
  CHECK_FAILS(tsr_nms(boxes, scores, NULL), TSR_ERR_SHAPE, "boxes are 1x3x4, scores are 1x1x2");
  CHECK_FAILS(tsr_nms(boxes, tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 3)), &(tsr_nms_desc){.overlap = 2}),
              TSR_ERR_INVALID_ARGUMENT, "overlap 2");
  finish();
}
