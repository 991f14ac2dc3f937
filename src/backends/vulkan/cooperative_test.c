// SPDX-License-Identifier: MIT
#include "backends/vulkan/cooperative.h"

#include "support/test.h"

#if TSRI_HAS_VULKAN

TEST(the_largest_matrix_that_sums_in_f32_is_chosen) {
  const uint32_t h = VULKAN_COMPONENT_F16, s = VULKAN_COMPONENT_F32, subgroup = VULKAN_SCOPE_SUBGROUP;
  vulkan_cooperative_properties list[] = {
      {.m = 16, .n = 8, .k = 16, .a = h, .b = h, .c = s, .result = s, .scope = subgroup},
      {.m = 16, .n = 16, .k = 16, .a = h, .b = h, .c = s, .result = s, .scope = subgroup},
      {.m = 16, .n = 16, .k = 32, .a = h, .b = h, .c = h, .result = h, .scope = subgroup},
      {.m = 32, .n = 32, .k = 32, .a = h, .b = h, .c = s, .result = s, .scope = 2},
      {.m = 64, .n = 16, .k = 16, .a = h, .b = h, .c = s, .result = s, .scope = subgroup},
  };
  vulkan_matrix got = tsri_vulkan_choose_matrix(list, 5, h);
  CHECK(got.m == 16 && got.n == 16 && got.k == 16);
  CHECK_EQ_UINT(tsri_vulkan_choose_matrix(list, 5, VULKAN_COMPONENT_BF16).m, 0);
}

#endif
