// SPDX-License-Identifier: MIT
#include "lang/ir/index_fault.h"

#include "support/test.h"

static const uint32_t dims[] = {3, 4, 5};

static void check_fault(uint32_t dim_count, int64_t index, uint32_t lanes, const char *wanted) {
  tsri_index_fault fault = {.kernel = "blur",
                            .file = "blur.tk",
                            .kind = "local array",
                            .array = "t",
                            .dim_count = dim_count,
                            .dims = dims,
                            .index = index,
                            .count = dim_count == 3 ? 60 : 12,
                            .lanes = lanes,
                            .pos = TSRI_IR_POS(2, 9)};
  char text[256];
  tsri_index_fault_text(&fault, text, sizeof text);
  CHECK_STR(text, wanted);
}

TEST(a_fault_names_the_dimension_whose_index_is_out_of_range) {
  check_fault(2, TSRI_IR_BAD_INDEX(1, 4), 1,
              "kernel blur: index 4 is outside dimension 2 of local array 't' of 3x4 elements (blur.tk:2:9)");
  check_fault(3, TSRI_IR_BAD_INDEX(2, -1), 1,
              "kernel blur: index -1 is outside dimension 3 of local array 't' of 3x4x5 elements (blur.tk:2:9)");
  check_fault(2, TSRI_IR_BAD_INDEX(0, TSRI_IR_BAD_INDEX_MOST), 1,
              "kernel blur: index 268435455 (or more) is outside dimension 1 of local array 't' of 3x4 elements "
              "(blur.tk:2:9)");
}

TEST(a_fault_of_a_flat_index_says_index_and_size) {
  check_fault(1, 12, 1, "kernel blur: index 12 is outside local array 't' of 12 elements (blur.tk:2:9)");
  check_fault(1, (int64_t)TSRI_IR_BAD_INDEX(1, 4), 1,
              "kernel blur: index 2684354564 is outside local array 't' of 12 elements (blur.tk:2:9)");
  check_fault(1, 13, 4,
              "kernel blur: index 13 is no multiple of the 4 elements accessed in local array 't' of 12 elements "
              "(blur.tk:2:9)");
  check_fault(2, UINT32_MAX, 1,
              "kernel blur: index 4294967295 is outside local array 't' of 3x4 elements (blur.tk:2:9)");
}
