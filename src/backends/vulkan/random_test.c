// SPDX-License-Identifier: MIT
// Random valid kernels give the same results on the Vulkan device as in plain C, with the device's features and
// without them.
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

#include "backends/common/random_testing.h"

// Other kernels in each test: drivers that are the CPU compile one for half a second.
TEST(random_kernels_agree_in_plain_c_and_vulkan) {
  fixture f = fixture_open();
  run_random_kernels(&f, 1, 6);
  fixture_close(&f);
}

TEST(random_kernels_agree_in_plain_c_and_vulkan_without_features) {
  fixture f = fixture_open();
  // keeps_nan and quirks stay as they are: without the promise to keep NaN, drivers turn x * 0 into 0, and a
  // compiler's bugs do not go away with a feature.
  f.emit = (tsri_emit_options){.subgroup_size = 16, .keeps_nan = f.limits.keeps_nan, .quirks = f.limits.has_quirks};
  run_random_kernels(&f, 7, 6);
  fixture_close(&f);
}

#endif
