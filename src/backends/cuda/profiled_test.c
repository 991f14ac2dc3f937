// SPDX-License-Identifier: MIT
// What recording a launch costs the host, on the stand-in for NVIDIA's driver: counted, since times differ from machine to machine.
#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"
#include "core/alloc.h"

enum { LAUNCHES = 4000, SHAPES = 64 };

// Launches kernels on tensors of many shapes in turns, without a wait: few of them are timed. Returns how often host memory was asked for.
static uint64_t requests_of_launches(tsr_tensor *const *x) {
  (void)tsri_alloc_fail_at(UINT64_MAX, false);  // counts, and fails none
  for (int i = 0; i < LAUNCHES; i++) {
    tsr_tensor *y = tsr_exp(x[i % SHAPES]);
    CHECK_OK(tsr_evaluate(y));
    tsr_release(y);
  }
  return tsri_alloc_fail_at(0, false);
}

// Records are kept in chunks of 1,024, the tables of a session are made once, and each shape is timed twice, with two events and their record.
TEST(recording_a_launch_that_is_not_timed_asks_for_no_host_memory) {
  enum { CHUNKS_AND_TABLES = 40, TIMED = 2 * SHAPES, EACH = 3 };
  tsr_device *device = NULL;
  tsr_profile *profile = NULL;
  tsr_profile_summary summary;
  fixture_use_fake();
  CHECK_OK(tsr_profile_begin(NULL));  // a device that is opened now has times
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &device));
  CHECK_OK(tsr_profile_end(NULL));
  tsr_tensor *x[SHAPES];
  for (int i = 0; i < SHAPES; i++) {
    x[i] = tsr_full(device, TSR_F32, TSR_SHAPE(16 + i), 0.5);
    CHECK_OK(tsr_evaluate(x[i]));
  }
  (void)requests_of_launches(x);
  CHECK_OK(tsr_device_synchronize(device));
  uint64_t off = requests_of_launches(x);
  CHECK_OK(tsr_device_synchronize(device));
  CHECK_OK(tsr_profile_begin(NULL));
  uint64_t on = requests_of_launches(x);
  CHECK_OK(tsr_device_synchronize(device));
  CHECK_OK(tsr_profile_end(&profile));
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  CHECK(summary.record_count >= LAUNCHES);
  CHECK(on <= off + CHUNKS_AND_TABLES + TIMED * EACH);
  tsr_profile_release(profile);
  for (int i = 0; i < SHAPES; i++) tsr_release(x[i]);
  tsr_device_release(device);
}
