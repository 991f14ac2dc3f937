// SPDX-License-Identifier: MIT
// Libraries that are missing or unsuitable, the error messages for them, and the list of GPUs.
#include <string.h>

#include "backends/rocm/rocm.h"
#include "test.h"

extern const tsri_backend tsri_rocm_backend;

TEST(a_missing_runtime_gives_the_search_trail_and_says_what_to_install) {
  static const char *const names[] = {"libNoSuchHip.so.7", "/nowhere/libamdhip64.so", NULL};
  tsri_hip_names = names;
  CHECK_STATUS(tsri_rocm_backend.start(NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("no ROCm runtime here (");
  CHECK_LAST_ERROR_HAS("libNoSuchHip.so.7: not found; /nowhere/libamdhip64.so: not found");
  CHECK_LAST_ERROR_HAS("on a machine with an AMD GPU install");
}

// The names of other systems are not found here, so each message is the one that its users would read.
TEST(every_system_says_how_to_get_rocm_there) {
  static const char *const nowhere[] = {"libNoSuchHip.so.7", NULL};
  static const struct {
    rocm_system_id system;
    const char *searched, *hip, *hiprtc;
  } cases[] = {
      {ROCM_LINUX, "libNoSuchHip.so.7: not found", "Debian: libamdhip64-5", "hip-runtime-amd"},
      {ROCM_WINDOWS, "amdhip64_7.dll: not found; amdhip64_6.dll", "AMD's graphics driver", "AMD's HIP SDK for Windows"},
      {ROCM_MACOS, "libamdhip64.dylib: not found", "use the metal backend", "use the metal backend"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsri_rocm_system = &tsri_rocm_systems[cases[i].system];
    tsri_hip_names = cases[i].system == ROCM_LINUX ? nowhere : NULL;
    tsri_hiprtc_names = tsri_hip_names;
    CHECK_STATUS(tsri_rocm_load(), TSR_ERR_NOT_FOUND);
    CHECK_LAST_ERROR_HAS(cases[i].searched);
    CHECK_LAST_ERROR_HAS(cases[i].hip);
    CHECK_STATUS(tsri_hiprtc_load(), TSR_ERR_NOT_FOUND);
    CHECK_LAST_ERROR_HAS(cases[i].hiprtc);
  }
  tsri_rocm_system = &tsri_rocm_systems[ROCM_LINUX];
}

TEST(a_library_that_is_no_hip_is_named_with_what_it_lacks) {
  static const char *const names[] = {"libc.so.6", NULL};
  tsri_hip_names = names;
  CHECK_STATUS(tsri_rocm_backend.start(NULL), TSR_ERR_NOT_FOUND);
  CHECK_LAST_ERROR_HAS("libc.so.6: has no hipInit");
}

TEST(a_runtime_without_a_gpu_says_what_may_hide_it) {
  int count = 0;
  if (tsri_rocm_backend.start(NULL) != TSR_OK) SKIP("there is no libamdhip64 here (Debian: libamdhip64-5)");
  if (tsri_rocm_backend.device_count(&count) == TSR_OK) SKIP("there is an AMD GPU here");
  CHECK_LAST_ERROR_HAS("finds no GPU");
  CHECK_LAST_ERROR_HAS("/dev/kfd");
}

TEST(gpus_are_known_by_name_whatever_their_features) {
  CHECK_EQ_UINT(tsri_rocm_find_gfx("gfx90a:sramecc+:xnack-")->wave, 64);
  CHECK_EQ_UINT(tsri_rocm_find_gfx("gfx1100")->wave, 32);
  CHECK(tsri_rocm_find_gfx("gfx90a")->matrix == ROCM_MFMA && tsri_rocm_find_gfx("gfx908")->matrix == ROCM_MFMA_F16);
  CHECK(tsri_rocm_find_gfx("gfx1201")->matrix == ROCM_WMMA && tsri_rocm_find_gfx("gfx1030")->matrix == ROCM_NO_MATRIX);
  CHECK(!tsri_rocm_find_gfx("gfx90") && !tsri_rocm_find_gfx("gfx90ab") && !tsri_rocm_find_gfx(""));
}
