// SPDX-License-Identifier: MIT
// Random valid kernels give the same results with ROCm as in plain C, in wavefronts of 32 and of 64.
#include "backends/rocm/fixture.h"

#include "backends/common/random_testing.h"

enum { FEW = 3 };  // the stand-in takes a quarter of a second to compile one

static void run_as(const char *switches) {
  fixture f = fixture_open_as(switches);
  run_random_kernels(&f, 1, FEW);
  fixture_close(&f);
}

TEST(random_kernels_agree_in_plain_c_and_rocm) { run_as("gfx=gfx1100"); }
TEST(random_kernels_agree_in_plain_c_and_rocm_with_wavefronts_of_64) { run_as("gfx=gfx90a"); }
