// SPDX-License-Identifier: MIT
// Which queued commands may still use a piece of memory, by track (runtime/track.h).
//
// Kept only while a device has more than one track: with one, the order of its commands is enough, and every field stays 0.
// Memory in use is guarded by the device's queue_lock; free memory by the pool's lock.
#ifndef TSRI_RUNTIME_USAGE_H
#define TSRI_RUNTIME_USAGE_H

#include <stdint.h>

enum { TSRI_MAX_TRACKS = 8 };

typedef struct tsri_usage {
  uint32_t readers;                // bit t: track t has read the memory since it was last written
  uint32_t writer;                 // the track of the last write
  uint64_t written;                // number of the command that wrote it; 0: none is known
  uint64_t read[TSRI_MAX_TRACKS];  // number of the last command that read it, for each track in `readers`
} tsri_usage;

static inline void tsri_usage_read_by(tsri_usage *usage, uint32_t track, uint64_t number) {
  if (!(usage->readers >> track & 1u) || usage->read[track] < number) usage->read[track] = number;
  usage->readers |= 1u << track;
}

// Makes `into` the usage of both pieces of memory, which become one. Both are free: the next command writes to them, so it waits
// for readers and writers alike.
static inline void tsri_usage_join(tsri_usage *into, const tsri_usage *from) {
  if (from->written) tsri_usage_read_by(into, from->writer, from->written);
  for (uint32_t t = 0; from->readers >> t; t++) {
    if (from->readers >> t & 1u) tsri_usage_read_by(into, t, from->read[t]);
  }
}

#endif
