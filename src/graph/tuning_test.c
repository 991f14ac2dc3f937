// SPDX-License-Identifier: MIT
#include "graph/tuning.h"

#include "runtime/device.h"

#include "support/test.h"

TEST(entries_change_by_name) {
  tsri_tuning tuning = {.copy_tile = 32, .copy_rows = 8};
  CHECK(tsri_tuning_change(&tuning, "copy_tile=64"));
  CHECK_EQ_INT(tuning.copy_tile, 64);
  CHECK(tsri_tuning_change(&tuning, "copy_rows=4,copy_tile=16"));
  CHECK_EQ_INT(tuning.copy_rows, 4);
  CHECK_EQ_INT(tuning.copy_tile, 16);
  CHECK(tsri_tuning_change(&tuning, ""));
}

TEST(a_change_that_is_no_good_is_refused) {
  tsri_tuning tuning = {0};
  CHECK(!tsri_tuning_change(&tuning, "copy_tiles=64"));
  CHECK(!tsri_tuning_change(&tuning, "copy_tile"));
  CHECK(!tsri_tuning_change(&tuning, "copy_tile="));
  CHECK(!tsri_tuning_change(&tuning, "copy_tile=1x"));
  CHECK(!tsri_tuning_change(&tuning, "copy_tile=-1"));
}

TEST(groups_wait_for_each_other_only_on_devices_known_to_let_them_go_on) {
  static const tsri_backend backend = {.dialect = "spirv"};
  tsr_device device = {.backend = &backend};
  tsri_tuning tuning;
  tsri_tuning_init(&device, &tuning);
  CHECK_EQ_INT(tuning.scan_once, 0);
  device.limits.groups_progress = true;
  tsri_tuning_init(&device, &tuning);
  CHECK(tuning.scan_once > 0);
}
