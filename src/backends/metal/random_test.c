// SPDX-License-Identifier: MIT
// Random valid kernels give the same results with Metal as in plain C.
#include "backends/metal/fixture.h"

#include "backends/common/random_testing.h"

enum { FEW = 3 };  // the stand-in takes a quarter of a second to compile one

TEST(random_kernels_agree_in_plain_c_and_metal) {
  fixture f = fixture_open();
  run_random_kernels(&f, 1, FEW);
  fixture_close(&f);
}

TEST(random_kernels_agree_in_plain_c_and_metal_without_simd_groups) {
  fixture f = fixture_open();
  f.emit = (tsri_emit_options){.f16 = true, .exact_divide = true, .subgroup_size = 16};
  run_random_kernels(&f, 1, FEW);
  fixture_close(&f);
}
