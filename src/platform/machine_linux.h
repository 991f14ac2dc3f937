// SPDX-License-Identifier: MIT
// How machine_linux.c reads /proc and /sys, with the root folder as a parameter so that tests can show it
// machines that are not there.
//
// `root` is put before each absolute path: "" for the machine itself. Files that are missing or make no sense
// count as "no limit".
#ifndef TSRI_MACHINE_LINUX_H
#define TSRI_MACHINE_LINUX_H

#include <stddef.h>
#include <stdint.h>

// First words of /proc/cpuinfo that name the processor, cut to `name_bytes`; empty if there are none.
void tsri_linux_cpu_name(const char *root, char *name, size_t name_bytes);

// `affinity_count` limited by the control groups' CPU quota, rounded up. At least 1.
int tsri_linux_cpu_count(const char *root, int affinity_count);

// /proc/meminfo limited by the control groups, each level up to the root. 0 if unknown. free <= total.
void tsri_linux_memory_size(const char *root, uint64_t *out_total, uint64_t *out_free);

#endif
