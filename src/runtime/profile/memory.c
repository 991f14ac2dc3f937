// SPDX-License-Identifier: MIT
// The memory curve: how much of a device's pool is in use over time.
//
// Reading the clock takes longer than all the rest, so a change of the memory in use gets the time of the newest work that was queued before it. The clock is
// read only after READ_EVERY changes without work in between.
#include "core/alloc.h"
#include "runtime/pool_state.h"
#include "runtime/profile/recorder.h"

bool tsri_memory_curve_init(tsri_memory_curve *curve, uint64_t begin_ns) {
  *curve = (tsri_memory_curve){.begin_ns = begin_ns, .sample_stride = 1};
  curve->samples = tsri_malloc(TSRI_MEMORY_SAMPLES * sizeof *curve->samples);
  return curve->samples != NULL;
}

// Halves the number of samples: each then stands for twice as many changes, and has the larger of two byte counts.
static void thin_samples(tsri_memory_curve *curve) {
  for (int i = 0; i < TSRI_MEMORY_SAMPLES / 2; i++) {
    tsri_memory_sample *two = &curve->samples[2 * i];
    curve->samples[i] = two[1].bytes > two[0].bytes ? two[1] : two[0];
  }
  curve->sample_count = TSRI_MEMORY_SAMPLES / 2;
  curve->sample_stride *= 2;
}

static void add_sample(tsri_memory_curve *curve, uint64_t at_ns, uint64_t bytes) {
  if (curve->samples_merged > 0 && curve->samples_merged < curve->sample_stride) {
    tsri_memory_sample *last = &curve->samples[curve->sample_count - 1];
    if (bytes > last->bytes) *last = (tsri_memory_sample){at_ns, bytes};
    curve->samples_merged++;
    return;
  }
  if (curve->sample_count == TSRI_MEMORY_SAMPLES) thin_samples(curve);
  curve->samples[curve->sample_count++] = (tsri_memory_sample){at_ns, bytes};
  curve->samples_merged = 1;
}

// Begins a new sample, for a change that is later than the newest sample.
static void begin_sample(tsri_memory_curve *curve, uint64_t at_ns, uint64_t bytes) {
  curve->at_ns = at_ns;
  curve->changes = 1;
  add_sample(curve, at_ns, bytes);
}

// NULL: no session is on, or host memory is out.
static tsri_memory_curve *attach(tsr_device *device) {
  tsri_profiled *profiled = tsri_profiled_find(device);
  device->memory_curve = profiled ? &profiled->curve : NULL;
  return device->memory_curve;
}

void tsri_profile_memory(tsr_device *device, uint64_t in_use_bytes, uint64_t taken) {
  enum { READ_EVERY = 8 };
  if (tsri_thread_is_mute()) return;
  tsri_memory_curve *curve = device->memory_curve ? device->memory_curve : attach(device);
  if (!curve) return;
  curve->taken_count += taken > 0;
  curve->taken_bytes += taken;
  if (in_use_bytes > curve->peak_bytes) curve->peak_bytes = in_use_bytes;
  uint64_t worked_ns = atomic_load_explicit(&curve->worked_ns, memory_order_relaxed);
  if (worked_ns > curve->at_ns) {
    begin_sample(curve, worked_ns, in_use_bytes);
  } else if (curve->sample_count == 0 || ++curve->changes > READ_EVERY) {
    begin_sample(curve, tsri_since(curve->begin_ns, tsri_clock_ns()), in_use_bytes);
  } else {
    tsri_memory_sample *last = &curve->samples[curve->sample_count - 1];
    if (in_use_bytes > last->bytes) last->bytes = in_use_bytes;
  }
}

void tsri_memory_curve_detach(tsr_device *device) {
  if (!device->pool) return;
  tsri_mutex_lock(&device->pool->lock);
  device->memory_curve = NULL;
  tsri_mutex_unlock(&device->pool->lock);
}
