// SPDX-License-Identifier: MIT
// Stores the measured speed of a device on disk.
#include "runtime/speed.h"

#include <math.h>
#include <string.h>

#include "backends/common/disk_cache.h"
#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"
#include "runtime/device.h"

#include <tessera/version.h>

char *tsri_speed_path(const tsr_device *device) {
  tsri_cache_key key;
  int threads = tsri_cpu_count();
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, tsr_version());
  tsri_cache_key_add_text(&key, device->backend->name);
  tsri_cache_key_add_text(&key, device->info.name);
  tsri_cache_key_add_text(&key, device->info.driver);
  tsri_cache_key_add_text(&key, device->info.uuid);
  tsri_cache_key_add(&key, &threads, sizeof threads);
  tsri_cache_key_add(&key, &device->info.index, sizeof device->info.index);
  return tsri_cache_path("speed", &key);
}

static bool is_sane(const tsr_device_speed *speed) {
  const double parts[5] = {speed->run_ns, speed->kernel_ns, speed->byte_ns, speed->multiply_add_ns,
                           speed->copied_byte_ns};
  bool is_all = true;
  for (int i = 0; i < 5; i++) is_all = is_all && isfinite(parts[i]) && parts[i] >= 0;
  return is_all;
}

static bool load_kept(const char *path, tsr_device_speed *out_speed) {
  size_t bytes = 0;
  void *data = path ? tsri_cache_load(path, &bytes) : NULL;
  bool is_good = data && bytes == sizeof *out_speed;
  if (is_good) memcpy(out_speed, data, sizeof *out_speed);
  tsri_free(data);
  return is_good && is_sane(out_speed);
}

void tsri_speed_keep(const tsr_device *device, const tsr_device_speed *speed) {
  char *path = tsri_speed_path(device);
  if (path) (void)tsri_cache_store(path, speed, sizeof *speed);
  tsri_free(path);
}

tsr_status tsr_device_get_speed(tsr_device *device, tsr_device_speed *out_speed) {
  tsr_status status = tsri_device_check("device_get_speed", device);
  if (status == TSR_OK && !out_speed)
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "device_get_speed: out_speed is NULL");
  if (status != TSR_OK) return status;
  *out_speed = (tsr_device_speed){0};
  char *path = tsri_speed_path(device);
  bool is_there = load_kept(path, out_speed);
  tsri_free(path);
  if (is_there) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "device_get_speed: %s has not been measured; 'tessera bench --compare' does it",
                   device->info.name);
}
