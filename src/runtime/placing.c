// SPDX-License-Identifier: MIT
#include "runtime/placing.h"

#include <stdio.h>

#include "core/alloc.h"
#include "core/log.h"
#include "runtime/profile.h"

static bool fill(tsr_device *device, tsri_placing *placing) {
  return tsr_device_get_speed(device, &placing->there) == TSR_OK &&
         tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &placing->cpu) == TSR_OK &&
         tsr_device_get_speed(placing->cpu, &placing->here) == TSR_OK;
}

void tsri_placing_attach(tsr_device *device) {
  if (tsri_device_is_cpu(device)) return;
  tsri_placing *placing = tsri_calloc(1, sizeof *placing);
  if (placing && fill(device, placing)) {
    device->placing = placing;
    return;
  }
  tsri_log(TSR_LOG_WARN, "placement: %s; everything runs where its tensors are",
           placing ? tsr_last_error() : "no host memory");
  if (placing) tsr_device_release(placing->cpu);
  tsri_free(placing);
}

void tsri_placing_detach(tsr_device *device) {
  if (!device->placing) return;
  tsr_device_release(device->placing->cpu);
  tsri_free(device->placing);
  device->placing = NULL;
}

double tsri_work_ns(const tsri_work *work, const tsr_device_speed *speed) {
  return speed->run_ns + work->kernels * speed->kernel_ns + work->bytes * speed->byte_ns +
         work->multiply_adds * speed->multiply_add_ns;
}

void tsri_placing_note(tsr_device *device, const tsri_work *work, double there_ns, double here_ns,
                       uint64_t moved_bytes) {
  tsri_count(&device->counters.placements);
  tsri_log(TSR_LOG_INFO,
           "placement: %.0f kernels, %.3g bytes, %.3g multiply-adds: %.3g ms on %s, %.3g ms on the CPU, where they run",
           work->kernels, work->bytes, work->multiply_adds, there_ns * 1e-6, device->info.name, here_ns * 1e-6);
  if (!tsri_profiling()) return;
  tsri_profile_context context = {.operators = tsri_profile_intern("placement"), .label = tsri_profile_label()};
  tsri_profile_host(
      device->placing->cpu, 0,
      &(tsri_profile_work){
          .kind = TSR_PROFILE_MOVE, .name = device->info.name, .bytes = moved_bytes, .context = &context});
}
