// SPDX-License-Identifier: MIT
#include "ops/call.h"

#include "ops/ops_testing.h"

TEST(an_empty_tensors_missing_buffer_is_an_error_that_names_it) {
  begin();
  tsri_call call;
  tsri_call_init(&call, dev, "op_scan", "scan_lines", TSRI_WITH(TSRI_TYPE("T", TSR_F32), TSRI_TYPE("A", TSR_F32)));
  tsri_call_buffer(&call, "x", NULL, TSR_F32);
  tsri_call_word(&call, "n", 3);
  CHECK_STATUS(tsri_call_items(&call, 1), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("kernel scan_lines: there is no buffer for 'x'");
  finish();
}
