// SPDX-License-Identifier: MIT
// The machine's size on Linux, as far as this process may use it: /proc for the hardware, control groups (v2, and v1 on
// older systems) for the limits of a container.
//
// A limit applies to all groups below the one it is set on, so every level from the process's own group to the root is
// read. Inside a container the path in /proc/self/cgroup may be the host's, which is not mounted: its levels are then
// missing, and the walk ends at the root of the mount, which is the container's own group.
#include "platform/machine_linux.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/platform.h"

const char *const tsri_library_suffix = ".so";

enum { PATH_BYTES = 4096, TEXT_BYTES = 16384 };

// --- Reading small files ---------------------------------------------------------------------------------------------

// Reads the start of the file root + path into `text`, terminated by 0. False if it cannot be read.
static bool read_text(const char *root, const char *path, char *text, size_t text_bytes) {
  char full[PATH_BYTES];
  int length = snprintf(full, sizeof full, "%s%s", root, path);
  if (length < 0 || (size_t)length >= sizeof full) return false;
  FILE *file = fopen(full, "re");
  if (!file) return false;
  size_t got = fread(text, 1, text_bytes - 1, file);
  bool is_read = ferror(file) == 0;
  fclose(file);
  text[got] = 0;
  return is_read;
}

// Parses digits only: "max", "-1" and an empty text are not numbers. Numbers that are too large become UINT64_MAX.
static bool parse_u64(const char *text, const char **out_end, uint64_t *out_value) {
  if (*text < '0' || *text > '9') return false;
  char *end = NULL;
  *out_value = strtoull(text, &end, 10);
  if (out_end) *out_end = end;
  return true;
}

static const char *skip_blanks(const char *text) { return text + strspn(text, " \t"); }

// Reads the number in the file `folder`/`name`.
static bool read_number(const char *root, const char *folder, const char *name, uint64_t *out_value) {
  char path[PATH_BYTES], text[64];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (length < 0 || (size_t)length >= sizeof path) return false;
  return read_text(root, path, text, sizeof text) && parse_u64(skip_blanks(text), NULL, out_value);
}

// The text after `key` in the line that begins with it, or NULL.
static const char *after_key(const char *text, const char *key) {
  size_t length = strlen(key);
  for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    if (strncmp(line, key, length) == 0) return skip_blanks(line + length);
  }
  return NULL;
}

static bool number_after_key(const char *text, const char *key, uint64_t *out_value) {
  const char *at = after_key(text, key);
  return at && parse_u64(at, NULL, out_value);
}

// --- Control groups --------------------------------------------------------------------------------------------------

// One way in which a controller may be mounted: its name in /proc/self/cgroup, and the folder of its groups.
typedef struct hierarchy {
  const char *controller;  // "" for v2
  const char *mount;
} hierarchy;

// Called with the folder of each group, from the process's own up to the root.
typedef void (*visit_group)(const char *root, const char *folder, void *user);

// Whether a line "3:cpu,cpuacct:/path" belongs to the controller. `list` is the text between the two colons.
static bool list_has(const char *list, const char *list_end, const char *controller) {
  size_t length = strlen(controller);
  if (length == 0) return list == list_end;
  for (const char *item = list; item < list_end;) {
    size_t item_length = strcspn(item, ",:");
    if (item_length == length && memcmp(item, controller, length) == 0) return true;
    item += item_length + 1;
  }
  return false;
}

// The path in a line of /proc/self/cgroup if the line belongs to the controller, else NULL.
static const char *line_path(const char *line, const char *controller) {
  size_t line_length = strcspn(line, "\n");
  const char *list = memchr(line, ':', line_length);
  if (!list) return NULL;
  list++;
  const char *list_end = memchr(list, ':', (size_t)(line + line_length - list));
  return list_end && list_has(list, list_end, controller) ? list_end + 1 : NULL;
}

// Copies the process's path in the controller's hierarchy ("/user.slice/a"). A path that leaves the mount ("/../x": the
// group is outside of our namespace) is replaced by its root.
static bool group_path(const char *groups, const char *controller, char *path, size_t path_bytes) {
  for (const char *line = groups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    const char *found = line_path(line, controller);
    if (!found) continue;
    size_t length = strcspn(found, "\n");
    if (length >= path_bytes || (length > 0 && found[0] != '/')) return false;
    memcpy(path, found, length);
    path[length] = 0;
    if (strstr(path, "..")) path[0] = 0;
    return true;
  }
  return false;
}

static void each_group(const char *root, const char *groups, const hierarchy *in, visit_group visit, void *user) {
  char path[PATH_BYTES / 2], folder[PATH_BYTES];
  if (!group_path(groups, in->controller, path, sizeof path)) return;
  for (;;) {
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') path[--length] = 0;
    snprintf(folder, sizeof folder, "%s%s", in->mount, path);
    visit(root, folder, user);
    char *last = strrchr(path, '/');
    if (!last) return;
    *last = 0;
  }
}

static void each_group_of(const char *root, const hierarchy *list, size_t count, visit_group visit, void *user) {
  char groups[TEXT_BYTES];
  if (!read_text(root, "/proc/self/cgroup", groups, sizeof groups)) return;
  for (size_t i = 0; i < count; i++) each_group(root, groups, &list[i], visit, user);
}

// --- Processors ------------------------------------------------------------------------------------------------------

static const hierarchy cpu_hierarchies[] = {
    {"", "/sys/fs/cgroup"},
    {"cpu", "/sys/fs/cgroup/cpu"},
    {"cpu", "/sys/fs/cgroup/cpu,cpuacct"},
};

// v2: "QUOTA PERIOD" in microseconds, or "max PERIOD".
static bool read_cpu_max(const char *root, const char *folder, uint64_t *out_quota, uint64_t *out_period) {
  char path[PATH_BYTES], text[128];
  int length = snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (length < 0 || (size_t)length >= sizeof path || !read_text(root, path, text, sizeof text)) return false;
  const char *end = NULL;
  return parse_u64(text, &end, out_quota) && parse_u64(skip_blanks(end), NULL, out_period);
}

static bool read_cfs_quota(const char *root, const char *folder, uint64_t *out_quota, uint64_t *out_period) {
  return read_number(root, folder, "cpu.cfs_quota_us", out_quota) &&
         read_number(root, folder, "cpu.cfs_period_us", out_period);
}

static void limit_cpus(const char *root, const char *folder, void *user) {
  uint64_t *count = user, quota = 0, period = 0;
  if (!read_cpu_max(root, folder, &quota, &period) && !read_cfs_quota(root, folder, &quota, &period)) return;
  if (quota == 0 || period == 0) return;
  uint64_t allowed = quota / period + (quota % period != 0);
  if (allowed < *count) *count = allowed;
}

int tsri_linux_cpu_count(const char *root, int affinity_count) {
  uint64_t count = affinity_count > 0 ? (uint64_t)affinity_count : 1;
  each_group_of(root, cpu_hierarchies, sizeof cpu_hierarchies / sizeof cpu_hierarchies[0], limit_cpus, &count);
  return (int)count;
}

// The kernel refuses a set smaller than its own, so try larger sets until it accepts one.
static int affinity_count(void) {
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t *set = CPU_ALLOC((size_t)cpus);
    if (!set) return 1;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
    int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

void tsri_prefer_large_pages(void *memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

int tsri_cpu_count(void) { return tsri_linux_cpu_count("", affinity_count()); }

// The keys differ by architecture: x86, Raspberry Pi and other boards, older ARM, MIPS, POWER, RISC-V. "cpu" must be
// the whole key: "cpu MHz" is another one.
static const char *cpu_words(const char *text) {
  static const char *const keys[] = {"model name", "Model", "Hardware", "cpu model", "cpu", "uarch"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const char *at = after_key(text, keys[i]);
    if (at && *at == ':') return skip_blanks(at + 1);
  }
  return "";
}

void tsri_linux_cpu_name(const char *root, char *name, size_t name_bytes) {
  if (name_bytes == 0) return;
  name[0] = 0;
  char text[TEXT_BYTES];
  if (!read_text(root, "/proc/cpuinfo", text, sizeof text)) return;
  const char *words = cpu_words(text);
  size_t length = strcspn(words, "\n");
  if (length > name_bytes - 1) length = name_bytes - 1;
  memcpy(name, words, length);
  name[length] = 0;
}

void tsri_cpu_name(char *name, size_t name_bytes) { tsri_linux_cpu_name("", name, name_bytes); }

// --- Memory ----------------------------------------------------------------------------------------------------------

static const hierarchy memory_hierarchies[] = {
    {"", "/sys/fs/cgroup"},
    {"memory", "/sys/fs/cgroup/memory"},
};

typedef struct memory_size {
  uint64_t total, free;
} memory_size;

// Page cache that has not been used recently counts as used memory, but the kernel reclaims it before an allocation
// fails.
static uint64_t reclaimable_bytes(const char *root, const char *folder) {
  char path[PATH_BYTES], text[TEXT_BYTES];
  int length = snprintf(path, sizeof path, "%s/memory.stat", folder);
  if (length < 0 || (size_t)length >= sizeof path || !read_text(root, path, text, sizeof text)) return 0;
  uint64_t bytes = 0;
  if (!number_after_key(text, "total_inactive_file ", &bytes)) number_after_key(text, "inactive_file ", &bytes);
  return bytes;
}

static void limit_memory(const char *root, const char *folder, void *user) {
  memory_size *size = user;
  uint64_t limit = 0, used = 0;
  if (!read_number(root, folder, "memory.max", &limit) && !read_number(root, folder, "memory.limit_in_bytes", &limit)) {
    return;
  }
  if (limit < size->total) size->total = limit;
  if (!read_number(root, folder, "memory.current", &used) &&
      !read_number(root, folder, "memory.usage_in_bytes", &used)) {
    return;
  }
  uint64_t reclaimable = reclaimable_bytes(root, folder);
  used = used > reclaimable ? used - reclaimable : 0;
  uint64_t left = limit > used ? limit - used : 0;
  if (left < size->free) size->free = left;
}

static uint64_t kib_to_bytes(uint64_t kib) { return kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024; }

// Kernels before 3.14 have no MemAvailable; use MemFree, a lower bound.
static bool read_meminfo(const char *root, memory_size *out_size) {
  char text[TEXT_BYTES];
  uint64_t total = 0, available = 0;
  if (!read_text(root, "/proc/meminfo", text, sizeof text)) return false;
  if (!number_after_key(text, "MemTotal:", &total)) return false;
  if (!number_after_key(text, "MemAvailable:", &available)) number_after_key(text, "MemFree:", &available);
  *out_size = (memory_size){.total = kib_to_bytes(total), .free = kib_to_bytes(available)};
  return true;
}

void tsri_linux_memory_size(const char *root, uint64_t *out_total, uint64_t *out_free) {
  memory_size size = {0};
  if (read_meminfo(root, &size)) {
    each_group_of(root, memory_hierarchies, sizeof memory_hierarchies / sizeof memory_hierarchies[0], limit_memory,
                  &size);
  }
  *out_total = size.total;
  *out_free = size.free < size.total ? size.free : size.total;
}

void tsri_memory_size(uint64_t *out_total, uint64_t *out_free) { tsri_linux_memory_size("", out_total, out_free); }

bool tsri_allow_tile_registers(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  enum {
    REQUEST_STATE = 0x1023,
    TILE_DATA = 18
  };  // ARCH_REQ_XCOMP_PERM and the number of the state, which older headers lack
  return syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
#else
  return false;
#endif
}
