// SPDX-License-Identifier: MIT
#include "ops/promote.h"

#include "support/test.h"

static tsr_dtype at(int dtype) { return (tsr_dtype)dtype; }

TEST(promotion_does_not_depend_on_order) {
  for (int a = 0; a < TSR_DTYPE_COUNT; a++) {
    CHECK_EQ_INT(tsri_promote(at(a), at(a)), a);
    CHECK_EQ_INT(tsri_promote(at(a), TSR_BOOL), a);
    for (int b = 0; b < TSR_DTYPE_COUNT; b++) CHECK_EQ_INT(tsri_promote(at(a), at(b)), tsri_promote(at(b), at(a)));
  }
}

TEST(a_promoted_dtype_is_reached_again_from_either_input) {
  for (int a = 0; a < TSR_DTYPE_COUNT; a++) {
    for (int b = 0; b < TSR_DTYPE_COUNT; b++) {
      tsr_dtype both = tsri_promote(at(a), at(b));
      CHECK_EQ_INT(tsri_promote(both, at(a)), both);
      CHECK_EQ_INT(tsri_promote(both, at(b)), both);
    }
  }
}

TEST(integers_that_meet_keep_every_value) {
  CHECK_EQ_INT(tsri_promote(TSR_U8, TSR_I8), TSR_I16);
  CHECK_EQ_INT(tsri_promote(TSR_U32, TSR_I32), TSR_I64);
  CHECK_EQ_INT(tsri_promote(TSR_U32, TSR_I64), TSR_I64);
  CHECK_EQ_INT(tsri_promote(TSR_F16, TSR_BF16), TSR_F32);
  CHECK_EQ_INT(tsri_promote(TSR_I64, TSR_F16), TSR_F16);
  CHECK_EQ_INT(tsri_promote(TSR_U16, TSR_I16), TSR_I32);
  CHECK_EQ_INT(tsri_promote(TSR_U16, TSR_U64), TSR_U64);
  CHECK_EQ_INT(tsri_promote(TSR_U64, TSR_I8), TSR_I64);  // the one pair that no integer dtype holds
  CHECK_EQ_INT(tsri_promote(TSR_F8_E4M3, TSR_F8_E5M2), TSR_F16);
  CHECK_EQ_INT(tsri_promote(TSR_F8_E4M3, TSR_BF16), TSR_BF16);
  CHECK_EQ_INT(tsri_promote(TSR_F8_E5M2, TSR_I64), TSR_F8_E5M2);
}

TEST(callers_can_ask_for_the_promoted_dtype) {
  tsr_dtype both = TSR_BOOL;
  CHECK_OK(tsr_dtype_promote(TSR_U8, TSR_I8, &both));
  CHECK_EQ_INT(both, TSR_I16);
  CHECK_STATUS(tsr_dtype_promote(TSR_I4, TSR_I8, &both), TSR_ERR_DTYPE);
  CHECK_STATUS(tsr_dtype_promote(TSR_I8, at(-1), &both), TSR_ERR_DTYPE);
  CHECK_STATUS(tsr_dtype_promote(TSR_I8, TSR_I8, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_EQ_INT(both, TSR_I16);
}

TEST(sums_of_small_integers_are_i32) {
  CHECK_EQ_INT(tsri_promote_sum(TSR_BOOL), TSR_I32);
  CHECK_EQ_INT(tsri_promote_sum(TSR_U8), TSR_I32);
  CHECK_EQ_INT(tsri_promote_sum(TSR_U32), TSR_U32);
  CHECK_EQ_INT(tsri_promote_sum(TSR_I64), TSR_I64);
  CHECK_EQ_INT(tsri_promote_sum(TSR_BF16), TSR_BF16);
}

// One row of the documented table: "| **u8** | u8 | u8 | i16 | …".
static void check_row(char *line, int row) {
  int column = 0;
  for (char *cell = strtok(line, "|* \n"); cell; cell = strtok(NULL, "|* \n"), column++) {
    tsr_dtype wanted = column == 0 ? at(row) : tsri_promote(at(row), at(column - 1));
    CHECK_STR(cell, tsr_dtype_name(wanted));
  }
  CHECK_EQ_INT(column, TSR_DTYPE_COUNT + 1);
}

TEST(the_documented_table_is_the_one_in_the_code) {
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  if (!source) SKIP("TSR_TEST_SOURCE_DIR is not set, so the documentation is not found");
  char path[1024], line[512];
  snprintf(path, sizeof path, "%s/docs/type-promotion.md", source);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  int rows = 0;
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "| **", 4) == 0 && rows < TSR_DTYPE_COUNT) check_row(line, rows++);
  }
  fclose(file);
  CHECK_EQ_INT(rows, TSR_DTYPE_COUNT);
}
