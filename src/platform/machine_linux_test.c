// SPDX-License-Identifier: MIT
// The machine's size on Linux, read from made-up folders: plain hardware, containers with both versions of control
// groups, invalid files.
#include "support/test.h"

#if !defined(__linux__)
TEST(machine_files_of_linux) { SKIP("this system is not Linux"); }
#else

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/machine_linux.h"

#define GIB (UINT64_C(1) << 30)

static char root[64];

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw) {
  (void)stat, (void)type, (void)ftw;
  return remove(path);
}

static void remove_machine(void) {
  if (root[0]) nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  root[0] = 0;
}

// Creates a new, empty machine and removes the old one; the last one is removed at exit.
static void new_machine(void) {
  static bool is_registered;
  remove_machine();
  if (!is_registered) atexit(remove_machine);
  is_registered = true;
  snprintf(root, sizeof root, "/tmp/tessera-machine-XXXXXX");
  CHECK(mkdtemp(root) != NULL);
}

static void put_bytes(const char *path, const void *data, size_t bytes) {
  char full[512];
  snprintf(full, sizeof full, "%s%s", root, path);
  for (char *at = full + strlen(root) + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(full, 0700);
    *at = '/';
  }
  FILE *file = fopen(full, "w");
  CHECK(file != NULL);
  fwrite(data, 1, bytes, file);
  fclose(file);
}

static void put(const char *path, const char *text) { put_bytes(path, text, strlen(text)); }

// 16 GiB of memory, 12 of them available.
static void put_meminfo(void) {
  put("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\n");
}

static void check_memory(uint64_t wanted_total, uint64_t wanted_free) {
  uint64_t total = 1, free_bytes = 1;
  tsri_linux_memory_size(root, &total, &free_bytes);
  CHECK_EQ_UINT(total, wanted_total);
  CHECK_EQ_UINT(free_bytes, wanted_free);
}

TEST(memory_without_control_groups_is_the_machines) {
  new_machine();
  put_meminfo();
  check_memory(16 * GIB, 12 * GIB);
}

TEST(memory_without_proc_is_unknown) {
  new_machine();
  check_memory(0, 0);
}

TEST(memory_of_an_old_kernel_falls_back_on_memfree) {
  new_machine();
  put("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1048576 kB\n");
  check_memory(16 * GIB, 1 * GIB);
}

TEST(memory_v2_limit_is_respected) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/memory.max", "4294967296\n");
  put("/sys/fs/cgroup/memory.current", "1073741824\n");
  check_memory(4 * GIB, 3 * GIB);
}

TEST(memory_v2_max_is_no_limit) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "0::/a\n");
  put("/sys/fs/cgroup/a/memory.max", "max\n");
  put("/sys/fs/cgroup/a/memory.current", "1073741824\n");
  check_memory(16 * GIB, 12 * GIB);
}

TEST(memory_v2_takes_the_tightest_of_nested_limits) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "0::/pod/box/task\n");
  // 8 GiB, of which 7 are used, also by other containers.
  put("/sys/fs/cgroup/pod/memory.max", "8589934592\n");
  put("/sys/fs/cgroup/pod/memory.current", "7516192768\n");
  put("/sys/fs/cgroup/pod/box/memory.max", "4294967296\n");  // 4 GiB, of which 1 is used
  put("/sys/fs/cgroup/pod/box/memory.current", "1073741824\n");
  put("/sys/fs/cgroup/pod/box/task/memory.max", "max\n");
  check_memory(4 * GIB, 1 * GIB);
}

TEST(memory_counts_idle_page_cache_as_free) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/memory.max", "4294967296\n");
  put("/sys/fs/cgroup/memory.current", "4294967296\n");
  put("/sys/fs/cgroup/memory.stat", "anon 1073741824\nfile 3221225472\ninactive_file 2147483648\n");
  check_memory(4 * GIB, 2 * GIB);
}

TEST(memory_v1_limit_is_respected_at_every_level) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "12:pids:/x\n5:memory:/docker/box\n3:cpu,cpuacct:/docker/box\n0::/ignored\n");
  put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2147483648\n");
  put("/sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "1073741824\n");
  put("/sys/fs/cgroup/memory/docker/box/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/docker/box/memory.usage_in_bytes", "1000\n");
  check_memory(2 * GIB, 1 * GIB);
}

TEST(memory_v1_path_of_the_host_falls_back_on_the_mounts_root) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "5:memory:/docker/0123456789\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2147483648\n");
  put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 5\ntotal_inactive_file 1073741824\n");
  check_memory(2 * GIB, 1 * GIB);
}

TEST(memory_path_outside_the_name_space_is_read_at_the_root) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "0::/../../elsewhere\n");
  put("/sys/fs/cgroup/memory.max", "1073741824\n");
  put("/sys/memory.max", "1024\n");  // where following ".." would lead
  check_memory(1 * GIB, 1 * GIB);
}

TEST(memory_use_above_the_limit_leaves_nothing) {
  new_machine();
  put_meminfo();
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/memory.max", "1073741824\n");
  put("/sys/fs/cgroup/memory.current", "2147483648\n");
  check_memory(1 * GIB, 0);
}

TEST(cpus_without_quota_are_those_of_the_affinity) {
  new_machine();
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 12);
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 0), 1);
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/cpu.max", "max 100000\n");
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 12);
}

TEST(cpus_v2_quota_is_rounded_up) {
  new_machine();
  put("/proc/self/cgroup", "0::/box\n");
  put("/sys/fs/cgroup/box/cpu.max", "250000 100000\n");
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 3);
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 2), 2);
  put("/sys/fs/cgroup/box/cpu.max", "1000 100000\n");
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 1);
}

TEST(cpus_v2_takes_the_tightest_of_nested_quotas) {
  new_machine();
  put("/proc/self/cgroup", "0::/pod/box\n");
  put("/sys/fs/cgroup/pod/cpu.max", "400000 100000\n");
  put("/sys/fs/cgroup/pod/box/cpu.max", "600000 100000\n");
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 4);
}

TEST(cpus_v1_quota_is_found_under_either_mount_name) {
  const char *const mounts[] = {"cpu", "cpu,cpuacct"};
  for (int i = 0; i < 2; i++) {
    char path[128];
    new_machine();
    put("/proc/self/cgroup", "4:cpu,cpuacct:/box\n");
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/box/cpu.cfs_quota_us", mounts[i]);
    put(path, "150000\n");
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/box/cpu.cfs_period_us", mounts[i]);
    put(path, "100000\n");
    CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 2);
  }
}

TEST(cpus_v1_quota_of_minus_one_is_no_limit) {
  new_machine();
  put("/proc/self/cgroup", "4:cpuset:/other\n5:cpu:/\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK_EQ_INT(tsri_linux_cpu_count(root, 12), 12);
}

TEST(cpu_names_come_from_the_key_their_architecture_uses) {
  static const struct {
    const char *cpuinfo, *name;
  } table[] = {
      {"processor\t: 0\nvendor_id\t: X\nmodel\t\t: 85\nmodel name\t: Some(R) CPU @ 2.00GHz\ncpu MHz\t: 1\n",
       "Some(R) CPU @ 2.00GHz"},
      {"processor\t: 0\nBogoMIPS\t: 108.00\nModel\t\t: Raspberry Pi 4\n", "Raspberry Pi 4"},
      {"processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"},
      {"processor\t: 0\ncpu MHz\t\t: 2000\n", ""},
      {"model name", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    char name[64] = "unchanged";
    new_machine();
    put("/proc/cpuinfo", table[i].cpuinfo);
    tsri_linux_cpu_name(root, name, sizeof name);
    CHECK_STR(name, table[i].name);
  }
}

TEST(cpu_name_is_cut_to_its_memory) {
  char name[5];
  new_machine();
  put("/proc/cpuinfo", "model name : ABCDEFGH\n");
  tsri_linux_cpu_name(root, name, sizeof name);
  CHECK_STR(name, "ABCD");
  tsri_linux_cpu_name(root, NULL, 0);
}

// Every file that is read contains every kind of invalid text in turn: no crash, and plausible numbers.
TEST(nonsense_in_any_file_does_no_harm) {
  static const char *const paths[] = {"/proc/meminfo",
                                      "/proc/cpuinfo",
                                      "/proc/self/cgroup",
                                      "/sys/fs/cgroup/cpu.max",
                                      "/sys/fs/cgroup/memory.max",
                                      "/sys/fs/cgroup/memory.current",
                                      "/sys/fs/cgroup/memory.stat"};
  static const char *const nonsense[] = {"",
                                         "\n",
                                         "\n\n:::\n",
                                         "0",
                                         "0 0",
                                         "max",
                                         "max max",
                                         "-1",
                                         "99999999999999999999999999",
                                         "1 ",
                                         " ",
                                         "0:",
                                         "0::",
                                         "0::x",
                                         "0::/a/b/..",
                                         "::/",
                                         "MemTotal:",
                                         "MemTotal: kB",
                                         "MemTotal: 99999999999999999999 kB\n",
                                         "inactive_file 99999999999999999999\n",
                                         "model name",
                                         "\xff\xfe\x80"};
  static char long_text[40000];
  memset(long_text, 'a', sizeof long_text);
  memcpy(long_text, "0::/", 4);
  for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
    for (size_t n = 0; n <= sizeof nonsense / sizeof nonsense[0]; n++) {
      new_machine();
      put_meminfo();
      put("/proc/self/cgroup", "0::/\n");
      put("/sys/fs/cgroup/memory.max", "4294967296\n");
      put("/sys/fs/cgroup/memory.current", "1073741824\n");
      bool is_long = n == sizeof nonsense / sizeof nonsense[0];
      put_bytes(paths[p], is_long ? long_text : nonsense[n], is_long ? sizeof long_text : strlen(nonsense[n]));
      uint64_t total = 0, free_bytes = 0;
      char name[64];
      tsri_linux_memory_size(root, &total, &free_bytes);
      tsri_linux_cpu_name(root, name, sizeof name);
      CHECK(free_bytes <= total);
      CHECK(tsri_linux_cpu_count(root, 8) >= 1);
    }
  }
}

TEST(zero_bytes_in_files_end_them) {
  new_machine();
  put_bytes("/proc/meminfo", "MemTotal: 1024\0 kB\nMemAvailable: 5 kB\n", 38);
  put_bytes("/proc/self/cgroup", "0::/a\0b\n", 8);
  check_memory(1024 * 1024, 0);
}

#endif
