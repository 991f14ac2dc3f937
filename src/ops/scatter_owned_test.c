// SPDX-License-Identifier: MIT
// Which scatters are computed by few launches. Their results are compared in device_order_test.c.
#include "ops/scatter_owned.h"
#include "ops/scatter_words.h"

#include "support/devices.h"
#include "support/test.h"

static tsri_layout layout_of(tsr_shape shape) {
  tsri_layout layout;
  CHECK_OK(tsri_layout_init("test", shape, TSR_F32, &layout, NULL));
  return layout;
}

// Whether rows of a list of n are scattered by owners. column_step: how far apart in memory the source's columns are.
static bool takes_list(tsr_device *device, int combination, int64_t size, int64_t inner, int64_t n,
                       int64_t column_step) {
  tsri_layout x = layout_of(TSR_SHAPE(size, inner)), list = layout_of(TSR_SHAPE(n, inner)), source = list;
  list.strides[0] = 1;
  list.strides[1] = 0;
  source.strides[0] *= column_step;
  source.strides[1] *= column_step;
  const tsri_scatter s = {device, TSR_F32, combination, 0, &x, &list, &source};
  tsri_scatter_sizes sizes;
  tsri_owned_cut cut;
  return tsri_scatter_find_sizes(&s, &sizes) && tsri_scatter_owned_cut(&s, &sizes, &cut);
}

static void check_lists(tsr_device *device) {
  if (!test_device_computes(device) || !tsri_call_tuning(device)->reduce_wide) return;
  enum { SUM = TSRI_COMBINE_SUM, REPLACE = TSRI_COMBINE_REPLACE };
  CHECK(takes_list(device, SUM, 5808, 32, 512, 1));
  CHECK(takes_list(device, SUM, 100, 7, 6400, 1));
  CHECK(!takes_list(device, SUM, 100, 7, 6500, 1));
  CHECK(takes_list(device, SUM, 32768, 56, 8192, 1));
  CHECK(!takes_list(device, SUM, 32768, 56, 8193, 1));
  CHECK(!takes_list(device, SUM, 5808, 32, 512, 2));
  CHECK(!takes_list(device, SUM, 5808, 1, 512, 1));
  CHECK(takes_list(device, REPLACE, 1000001, 1, 16384, 1));
  CHECK(!takes_list(device, REPLACE, 1000001, 1, 16385, 1));
  CHECK(!takes_list(device, REPLACE, 5808, 32, 512, 1));
}

TEST(rows_of_short_lists_and_puts_have_owners) { test_on_every_device(check_lists); }

static bool takes_rows(tsr_device *device, int combination, int64_t rows, int64_t size, int64_t n) {
  tsri_layout x = layout_of(TSR_SHAPE(rows, size)), indices = layout_of(TSR_SHAPE(rows, n));
  const tsri_scatter s = {device, TSR_F32, combination, 1, &x, &indices, &indices};
  tsri_scatter_sizes sizes;
  tsri_words_cut cut;
  return tsri_scatter_find_sizes(&s, &sizes) && tsri_scatter_words_cut(&s, &sizes, &cut);
}

static void check_rows(tsr_device *device) {
  if (!test_device_computes(device) || !tsri_call_tuning(device)->reduce_wide) return;
  CHECK(takes_rows(device, TSRI_COMBINE_LARGEST, 72584, 32, 64));
  CHECK(takes_rows(device, TSRI_COMBINE_REPLACE, 1000, 3001, 170));
  CHECK(!takes_rows(device, TSRI_COMBINE_SUM, 72584, 32, 64));
  CHECK(!takes_rows(device, TSRI_COMBINE_REPLACE, 10, 3001, 170));
  CHECK(!takes_rows(device, TSRI_COMBINE_SMALLEST, 1000, 8193, 170));
}

TEST(rows_of_extremes_and_of_replaced_elements_are_in_shared_memory) { test_on_every_device(check_rows); }
