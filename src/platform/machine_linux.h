// SPDX-License-Identifier: MIT
// How machine_linux.c reads /proc and /sys. The root folder is a parameter, so that tests can simulate other machines.
//
// `root` is put before each absolute path; "" is the machine itself. A file that is missing or invalid means "no
// limit".
#ifndef TSRI_MACHINE_LINUX_H
#define TSRI_MACHINE_LINUX_H

#include <stddef.h>
#include <stdint.h>

// The processor's name from /proc/cpuinfo, cut to `name_bytes`; empty if there is none.
void tsri_linux_cpu_name(const char *root, char *name, size_t name_bytes);

// `affinity_count`, limited by the CPU quota of the control groups, rounded up. At least 1.
int tsri_linux_cpu_count(const char *root, int affinity_count);

// The sizes in /proc/meminfo, limited by the control groups of every level up to the root. 0 if unknown. free <= total.
void tsri_linux_memory_size(const char *root, uint64_t *out_total, uint64_t *out_free);

#endif
