// SPDX-License-Identifier: MIT
// Open devices, with a backend made for the test: what the core guarantees to backends.
#include "runtime/device.h"

#include <pthread.h>
#include <tessera/dlpack.h>

#include "ops/dlpack_abi.h"
#include "runtime/registry.h"
#include "support/devices.h"
#include "support/test.h"

extern const tsri_backend tsri_null_backend;

static atomic_int closed_count;
static void count_close(tsri_device *device) {
  atomic_fetch_add(&closed_count, 1);
  tsri_null_backend.device_close(device);
}

// A device of the null backend with some entries replaced.
static tsr_device *open_changed(const tsri_backend *table) {
  tsr_device_release(test_open("null"));  // starts the backend
  tsr_device *device = NULL;
  tsri_open_request request = {.backend = table, .info = {.name = "Changed"}, .timeout_ns = UINT64_MAX};
  CHECK_OK(tsri_device_create(&request, &device));
  return device;
}

static void *release_device(void *device) {
  tsr_device_release(device);
  return NULL;
}

TEST(devices_are_not_closed_while_others_are_being_found) {
  tsri_backend table = tsri_null_backend;
  table.device_close = count_close;
  tsr_device *device = open_changed(&table);
  pthread_t thread;
  tsri_registry_hold();
  CHECK(pthread_create(&thread, NULL, release_device, device) == 0);
  tsri_sleep_ns(30000000);
  CHECK_EQ_INT(closed_count, 0);
  tsri_registry_unlock();
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_EQ_INT(closed_count, 1);
}

static tsr_status refuse_import(tsri_device *device, void *memory, size_t bytes, tsri_buffer **out_buffer) {
  (void)device;
  (void)memory;
  (void)bytes;
  (void)out_buffer;
  return TSR_ERR_UNSUPPORTED;
}

TEST(memory_a_device_refuses_to_import_is_copied) {
  tsri_backend table = tsri_null_backend;
  table.buffer_import = refuse_import;
  tsr_device *device = open_changed(&table), *cpu = test_open("cpu");
  tsr_tensor *base = tsr_arange(cpu, TSR_I32, 0, 4, 1), *mirrored = tsr_flip(base, 0), *taken = NULL;
  struct DLManagedTensor *managed = NULL;
  int32_t values[4];
  CHECK_OK(tsr_to_dlpack(mirrored, &managed));
  tsr_release(mirrored);
  tsr_release(base);
  CHECK_OK(tsr_from_dlpack(device, managed, &taken));
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(cpu, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);  // freed at once
  CHECK_OK(tsr_read(taken, values, sizeof values));
  for (int i = 0; i < 4; i++) CHECK_EQ_INT(values[i], 3 - i);
  tsr_release(taken);
  tsr_device_release(device);
  tsr_device_release(cpu);
}
