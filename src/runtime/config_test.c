// SPDX-License-Identifier: MIT
// The values in force: where they come from, which source takes precedence, which values are refused, and running out
// of memory.
#include "runtime/config.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "support/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

// --- A clean environment ---------------------------------------------------------------------------------------------

static char folder[64];  // created for each test

static void forget_environment(void) {
  static const char *const others[] = {"TESSERA_CONFIG", "TESSERA_BAKEND", "TESSERA_ZZZ", "XDG_CONFIG_HOME", "HOME"};
  for (size_t i = 0; i < COUNT_OF(others); i++) unsetenv(others[i]);
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    unsetenv(tsri_settings[i].variable);
    CHECK_OK(tsr_config_set(tsri_settings[i].name, NULL));
  }
}

static const char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_bytes(const char *name, const char *text, size_t bytes) {
  FILE *file = fopen(path_of(name), "wb");
  CHECK(file != NULL);
  size_t written = fwrite(text, 1, bytes, file);
  fclose(file);
  CHECK_EQ_UINT(written, bytes);
}

static void write_text(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }

static void begin(void) {
  tsri_alloc_fail_at(0, false);
  forget_environment();
  snprintf(folder, sizeof folder, "/tmp/tessera-config-XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
}

static void end(void) {
  static const char *const names[] = {
      "config", "xdg/tessera/config", "xdg/tessera", "xdg", ".config/tessera/config", ".config/tessera", ".config"};
  for (size_t i = 0; i < COUNT_OF(names); i++) remove(path_of(names[i]));
  CHECK_EQ_INT(rmdir(folder), 0);
  forget_environment();
}

// Writes a file and lets TESSERA_CONFIG name it.
static void begin_with_file(const char *text) {
  begin();
  write_text("config", text);
  setenv("TESSERA_CONFIG", path_of("config"), 1);
}

static tsri_config resolved(void) {
  tsri_config config;
  CHECK_OK(tsri_config_resolve(&config));
  return config;
}

static void check_empty(const tsri_config *config) {
  static const tsri_config empty;
  CHECK_BYTES(config, &empty, sizeof empty);
}

// --- Values in force -------------------------------------------------------------------------------------------------

TEST(defaults_hold_where_nothing_is_set) {
  begin();
  tsri_config c = resolved();
  CHECK_STR(c.backend, NULL);
  CHECK_EQ_INT(c.device, -1);
  CHECK_STR(c.priority, NULL);
  CHECK_EQ_UINT(c.memory_limit.bytes, 0);
  CHECK_EQ_UINT(c.memory_limit.millionths, 0);
  CHECK_EQ_UINT(c.pool_bytes, 0);
  CHECK_EQ_UINT(c.required_bytes, 0);
  CHECK_EQ_UINT(c.timeout_ms, 0);
  CHECK_EQ_INT(c.threads, 0);
  CHECK_STR(c.simd, NULL);
  CHECK_STR(c.native, "all");
  CHECK(c.jit && !c.tf32 && !c.strict && !c.eager && !c.deterministic && !c.checked);
  CHECK_EQ_INT(c.mix, TSRI_MIX_MOVE);
  CHECK_EQ_INT(c.log, TSR_LOG_OFF);
  CHECK_STR(c.plugin_path, NULL);
  CHECK_STR(c.faults, NULL);
  CHECK_STR(c.file, NULL);
  for (int i = 0; i < TSRI_SETTING_COUNT; i++) {
    CHECK_STR(tsri_config_place(&c, (tsri_setting_id)i), "default");
    CHECK_EQ_INT(c.entries[i].source, TSR_FROM_DEFAULT);
  }
  tsri_config_deinit(&c);
  check_empty(&c);
  tsri_config_deinit(&c);  // a second call is allowed
  end();
}

TEST(every_setting_reaches_its_field) {
  begin_with_file(
      "backend = CUDA\ndevice = 2\npriority = vulkan, CPU\nmemory_limit = 80%\npool_bytes = 1MiB\nrequired_bytes = 2G\n"
      "timeout = 30s\nthreads = 4\nsimd = avx2\njit = off\nnative = all,-sleef\ntf32 = on\nstrict = yes\neager = "
      "1\ndeterministic = true\nchecked = on\nmix = error\n"
      "log = error\nplugin_path = /a:/B\nfaults = alloc:3\n");
  tsri_config c = resolved();
  CHECK_STR(c.backend, "cuda");
  CHECK_EQ_INT(c.device, 2);
  CHECK_STR(c.priority, "vulkan,cpu");
  CHECK_EQ_UINT(c.memory_limit.bytes, 0);
  CHECK_EQ_UINT(c.memory_limit.millionths, 800000);
  CHECK_EQ_UINT(c.pool_bytes, 1 << 20);
  CHECK_EQ_UINT(c.required_bytes, UINT64_C(2) << 30);
  CHECK_EQ_UINT(c.timeout_ms, 30000);
  CHECK_EQ_INT(c.threads, 4);
  CHECK_STR(c.simd, "avx2");
  CHECK_STR(c.native, "-sleef");
  CHECK(!c.jit && c.tf32 && c.strict && c.eager && c.deterministic && c.checked);
  CHECK_EQ_INT(c.mix, TSRI_MIX_ERROR);
  CHECK_EQ_INT(c.log, TSR_LOG_ERROR);
  CHECK_STR(c.plugin_path, "/a:/B");
  CHECK_STR(c.faults, "alloc:3");
  CHECK_STR(c.file, path_of("config"));
  CHECK_STR(tsri_config_place(&c, TSRI_SETTING_PRIORITY), path_of("config:3"));
  CHECK_STR(c.entries[TSRI_SETTING_PRIORITY].text, "vulkan, CPU");
  tsri_config_deinit(&c);
  end();
}

TEST(an_index_in_the_backends_name_is_the_device_unless_a_stronger_source_says_another) {
  begin_with_file("backend = cuda:1\n");
  tsri_config c = resolved();
  CHECK_STR(c.backend, "cuda");
  CHECK_EQ_INT(c.device, 1);
  CHECK_STR(c.entries[TSRI_SETTING_BACKEND].text, "cuda:1");
  tsri_config_deinit(&c);
  setenv("TESSERA_DEVICE", "2", 1);
  c = resolved();
  CHECK_EQ_INT(c.device, 2);
  tsri_config_deinit(&c);
  setenv("TESSERA_BACKEND", "Vulkan:2", 1);  // both give the same index
  c = resolved();
  CHECK_STR(c.backend, "vulkan");
  CHECK_EQ_INT(c.device, 2);
  tsri_config_deinit(&c);
  setenv("TESSERA_BACKEND", "vulkan:3", 1);
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("TESSERA_BACKEND: \"vulkan:3\" and TESSERA_DEVICE: \"2\" name two devices");
  check_empty(&c);
  end();
}

TEST(code_wins_over_environment_over_file_over_default) {
  begin();
  tsri_config c = resolved();
  CHECK_EQ_INT(c.threads, 0);
  tsri_config_deinit(&c);

  write_text("config", "threads = 1\n");
  setenv("TESSERA_CONFIG", path_of("config"), 1);
  c = resolved();
  CHECK_EQ_INT(c.threads, 1);
  CHECK_EQ_INT(c.entries[TSRI_SETTING_THREADS].source, TSR_FROM_FILE);
  tsri_config_deinit(&c);

  setenv("TESSERA_THREADS", "2", 1);
  c = resolved();
  CHECK_EQ_INT(c.threads, 2);
  CHECK_STR(tsri_config_place(&c, TSRI_SETTING_THREADS), "TESSERA_THREADS");
  tsri_config_deinit(&c);

  CHECK_OK(tsr_config_set("threads", "3"));
  c = resolved();
  CHECK_EQ_INT(c.threads, 3);
  CHECK_STR(tsri_config_place(&c, TSRI_SETTING_THREADS), "code");
  CHECK_EQ_INT(c.entries[TSRI_SETTING_THREADS].source, TSR_FROM_CODE);
  tsri_config_deinit(&c);

  CHECK_OK(tsr_config_set("threads", NULL));
  setenv("TESSERA_THREADS", "", 1);  // an empty variable counts as not set
  c = resolved();
  CHECK_EQ_INT(c.threads, 1);
  tsri_config_deinit(&c);
  end();
}

TEST(config_outlives_what_it_was_read_from) {
  begin();
  setenv("TESSERA_BACKEND", "cuda", 1);
  CHECK_OK(tsr_config_set("simd", "avx2"));
  tsri_config c = resolved();
  setenv("TESSERA_BACKEND", "xxxx", 1);
  CHECK_OK(tsr_config_set("simd", NULL));
  tsri_config moved = c;
  CHECK_STR(moved.backend, "cuda");
  CHECK_STR(moved.simd, "avx2");
  tsri_config_deinit(&moved);
  end();
}

TEST(memory_limit_in_per_cent_is_of_the_device) {
  CHECK_EQ_UINT(tsri_memory_limit_bytes((tsri_memory_limit){0}, 1000), 0);
  CHECK_EQ_UINT(tsri_memory_limit_bytes((tsri_memory_limit){.bytes = 5}, 1000), 5);
  CHECK_EQ_UINT(tsri_memory_limit_bytes((tsri_memory_limit){.millionths = 800000}, 1000), 800);
  CHECK_EQ_UINT(tsri_memory_limit_bytes((tsri_memory_limit){.millionths = 800000}, 0), 0);
  CHECK_EQ_UINT(tsri_memory_limit_bytes((tsri_memory_limit){.millionths = 1000000}, UINT64_MAX), UINT64_MAX);
  CHECK_EQ_UINT(tsri_memory_limit_bytes((tsri_memory_limit){.millionths = 333333}, 3000001), 999999);
}

// --- Which file --------------------------------------------------------------------------------------------------

TEST(file_is_found_by_variable_then_xdg_then_home) {
  begin();
  char xdg[256], home[256];
  snprintf(xdg, sizeof xdg, "%s", path_of("xdg"));
  snprintf(home, sizeof home, "%s", folder);
  CHECK_EQ_INT(mkdir(xdg, 0700), 0);
  CHECK_EQ_INT(mkdir(path_of("xdg/tessera"), 0700), 0);
  CHECK_EQ_INT(mkdir(path_of(".config"), 0700), 0);
  CHECK_EQ_INT(mkdir(path_of(".config/tessera"), 0700), 0);
  write_text("config", "threads = 1\n");
  write_text("xdg/tessera/config", "threads = 2\n");
  write_text(".config/tessera/config", "threads = 3\n");

  const struct {
    const char *named, *xdg, *home;
    int threads;
  } cases[] = {
      {path_of("config"), xdg, home, 1}, {"", xdg, home, 2},          {NULL, xdg, home, 2}, {NULL, NULL, home, 3},
      {NULL, "relative", home, 3},       {NULL, NULL, NULL, 0},       {NULL, NULL, "", 0},  {NULL, "/nowhere", home, 0},
      {NULL, NULL, "/nowhere", 0},       {"/dev/null", xdg, home, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    forget_environment();
    if (cases[i].named) setenv("TESSERA_CONFIG", cases[i].named, 1);
    if (cases[i].xdg) setenv("XDG_CONFIG_HOME", cases[i].xdg, 1);
    if (cases[i].home) setenv("HOME", cases[i].home, 1);
    tsri_config c = resolved();
    CHECK_EQ_INT(c.threads, cases[i].threads);
    tsri_config_deinit(&c);
  }
  end();
}

TEST(named_file_that_is_missing_is_an_error_that_names_the_variable) {
  begin();
  setenv("TESSERA_CONFIG", "/nowhere/at/all", 1);
  tsri_config c;
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("TESSERA_CONFIG: /nowhere/at/all: No such file");
  CHECK_LAST_ERROR_HAS("allowed: the path of a config file");
  check_empty(&c);
  setenv("TESSERA_CONFIG", folder, 1);
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("this is a folder; allowed: a config file");
  end();
}

TEST(file_that_may_not_be_read_is_an_io_error) {
  if (geteuid() == 0) SKIP("root may read every file");
  begin_with_file("threads = 1\n");
  CHECK_EQ_INT(chmod(path_of("config"), 0), 0);
  tsri_config c;
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_IO);
  CHECK_LAST_ERROR_HAS("config: cannot be opened: Permission denied");
  end();
}

TEST(file_whose_reading_fails_is_an_io_error) {
  if (access("/proc/self/mem", R_OK) != 0) SKIP("there is no /proc/self/mem, a file that opens but cannot be read");
  begin();
  setenv("TESSERA_CONFIG", "/proc/self/mem", 1);
  tsri_config c;
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_IO);
  CHECK_LAST_ERROR_HAS("/proc/self/mem: cannot be read: ");
  check_empty(&c);
  end();
}

TEST(file_over_one_mebibyte_is_refused) {
  begin();
  size_t bytes = 3 << 20;
  char *text = malloc(bytes);
  CHECK(text != NULL);
  memset(text, '\n', bytes);
  write_bytes("config", text, bytes);
  free(text);
  setenv("TESSERA_CONFIG", path_of("config"), 1);
  tsri_config c;
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("larger than the 1 MiB allowed");
  end();
}

TEST(file_of_many_lines_is_read_to_its_end) {
  begin();
  size_t bytes = 100000;
  char *text = malloc(bytes + 32);
  CHECK(text != NULL);
  memset(text, '\n', bytes);
  int length = snprintf(text + bytes, 32, "threads = 7");
  write_bytes("config", text, bytes + (size_t)length);
  free(text);
  setenv("TESSERA_CONFIG", path_of("config"), 1);
  tsri_config c = resolved();
  CHECK_EQ_INT(c.threads, 7);
  CHECK_STR(tsri_config_place(&c, TSRI_SETTING_THREADS), path_of("config:100001"));
  tsri_config_deinit(&c);
  end();
}

// --- Invalid values --------------------------------------------------------------------------------------------------

// One invalid value for each setting that can have one.
static const struct {
  tsri_setting_id id;
  const char *value, *problem;
} wrong[] = {
    {TSRI_SETTING_BACKEND, "cu da", "is not a name"},
    {TSRI_SETTING_DEVICE, "-1", "is negative"},
    {TSRI_SETTING_PRIORITY, "cpu,,cuda", "has an empty name in it"},
    {TSRI_SETTING_MEMORY_LIMIT, "2GX", "has the unknown unit \"GX\""},
    {TSRI_SETTING_POOL_BYTES, "some", "does not begin with a number"},
    {TSRI_SETTING_PENDING_BYTES, "many", "does not begin with a number"},
    {TSRI_SETTING_REQUIRED_BYTES, "10%", "has the unknown unit \"%\""},
    {TSRI_SETTING_TIMEOUT, "30", "has no unit"},
    {TSRI_SETTING_THREADS, "many", "is not a whole number"},
    {TSRI_SETTING_SIMD, "avx22", "is unknown (did you mean avx2?)"},
    {TSRI_SETTING_NATIVE, "a,-b", "mixes names to use with names to leave out"},
    {TSRI_SETTING_JIT, "maybe", "is unknown"},
    {TSRI_SETTING_TF32, "maybe", "is unknown"},
    {TSRI_SETTING_STRICT, "onn", "is unknown (did you mean on?)"},
    {TSRI_SETTING_EAGER, "oof", "is unknown (did you mean off?)"},
    {TSRI_SETTING_DETERMINISTIC, "perhaps", "is unknown"},
    {TSRI_SETTING_CHECKED, "of", "is unknown (did you mean on?)"},
    {TSRI_SETTING_MIX, "stir", "is unknown"},
    {TSRI_SETTING_PLACEMENT, "guessed", "is unknown"},
    {TSRI_SETTING_CACHE_MB, "much", "is not a whole number"},
    {TSRI_SETTING_TUNE, "fully", "is unknown (did you mean full?)"},
    {TSRI_SETTING_LOG, "loud", "is unknown"},
    {TSRI_SETTING_PLUGIN_PATH, "/a\x01", "has a control character"},
    {TSRI_SETTING_FAULTS, "a\x01", "has a control character"},
    {TSRI_SETTING_PROFILE, "a\x01", "has a control character"},
    {TSRI_SETTING_PROFILE_FULL, "oof", "is unknown (did you mean off?)"},
    {TSRI_SETTING_WEBGPU_LIB, "lib\x01", "has a control character"},
};

// Whether the last error is `before: "value" problem; allowed: …`.
static void check_refusal(size_t i, const char *before) {
  char shown[TSRI_CONFIG_QUOTE_BYTES], wanted[512];
  snprintf(wanted, sizeof wanted, "%s: \"%s\" %s", before, tsri_config_quote(wrong[i].value, shown), wrong[i].problem);
  CHECK_LAST_ERROR_HAS(wanted);
  snprintf(wanted, sizeof wanted, "; allowed: %s", tsri_settings[wrong[i].id].allowed);
  CHECK_LAST_ERROR_HAS(wanted);
}

TEST(wrong_variable_is_an_error_with_its_name_and_what_is_allowed) {
  CHECK_EQ_INT(COUNT_OF(wrong), TSRI_SETTING_COUNT);
  begin();
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    const tsri_setting_info *info = &tsri_settings[wrong[i].id];
    setenv(info->variable, wrong[i].value, 1);
    tsri_config c;
    CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
    check_refusal(i, info->variable);
    check_empty(&c);
    unsetenv(info->variable);
  }
  end();
}

TEST(wrong_value_from_code_is_refused_and_changes_nothing) {
  begin();
  CHECK_OK(tsr_config_set("threads", "5"));
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    char before[64];
    snprintf(before, sizeof before, "tsr_config_set: %s", tsri_settings[wrong[i].id].name);
    CHECK_STATUS(tsr_config_set(tsri_settings[wrong[i].id].name, wrong[i].value), TSR_ERR_CONFIG);
    check_refusal(i, before);
  }
  tsri_config c = resolved();
  CHECK_EQ_INT(c.threads, 5);
  tsri_config_deinit(&c);
  CHECK_STATUS(tsr_config_set("threads", ""), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("tsr_config_set: threads: \"\" is empty; allowed: a whole number");
  CHECK_STATUS(tsr_config_set("thread", "1"), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("tsr_config_set: there is no setting \"thread\" (did you mean threads?); allowed: backend, ");
  CHECK_STATUS(tsr_config_set("", "1"), TSR_ERR_CONFIG);
  CHECK_STATUS(tsr_config_set(NULL, "1"), TSR_ERR_INVALID_ARGUMENT);
  end();
}

TEST(wrong_value_in_the_file_is_an_error_with_its_place) {
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    const char *name = tsri_settings[wrong[i].id].name;
    // The file's parser refuses control characters before it looks at values.
    if (strchr(wrong[i].value, 1)) continue;
    char text[256], before[512];
    snprintf(text, sizeof text, "# x\n  %s = %s\n", name, wrong[i].value);
    begin_with_file(text);
    tsri_config c;
    CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
    snprintf(before, sizeof before, "%s:2:%d: %s", path_of("config"), (int)strlen(name) + 6, name);
    check_refusal(i, before);
    check_empty(&c);
    end();
  }
}

TEST(first_wrong_line_is_the_one_reported) {
  begin_with_file("threads = 2\ndevice = x\nnonsense\n");
  tsri_config c;
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("config:2:10: device: \"x\" is not a whole number");
  end();
}

TEST(wrong_value_is_an_error_even_where_another_wins) {
  begin_with_file("threads = x\n");
  setenv("TESSERA_THREADS", "2", 1);
  tsri_config c;
  CHECK_STATUS(tsri_config_resolve(&c), TSR_ERR_CONFIG);
  CHECK_LAST_ERROR_HAS("config:1:11: threads: \"x\"");
  end();
}

// --- The log -----------------------------------------------------------------------------------------------------

typedef struct heard {
  int count;
  char lines[2048];
} heard;

static void hear(tsr_log_level level, const char *line, void *user) {
  heard *h = user;
  size_t used = strlen(h->lines);
  h->count += level == TSR_LOG_WARN;
  snprintf(h->lines + used, sizeof h->lines - used, "%s\n", line);
}

TEST(unknown_variable_is_logged_with_a_suggestion) {
  begin();
  heard h = {0};
  tsr_set_log(TSR_LOG_WARN, hear, &h);
  setenv("TESSERA_CONFIG", "/dev/null", 1);
  setenv("TESSERA_THREADS", "2", 1);
  tsri_config c = resolved();
  tsri_config_deinit(&c);
  CHECK_STR(strstr(h.lines, "TESSERA_CONFIG"), NULL);
  CHECK_STR(strstr(h.lines, "TESSERA_THREADS"), NULL);

  h = (heard){0};
  setenv("TESSERA_BAKEND", "cuda", 1);
  setenv("TESSERA_ZZZ", "1", 1);
  c = resolved();
  tsri_config_deinit(&c);
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
  CHECK_STR_HAS(h.lines,
                "the variable TESSERA_BAKEND is none of ours and is ignored (did you mean TESSERA_BACKEND?)\n");
  CHECK_STR_HAS(h.lines, "the variable TESSERA_ZZZ is none of ours and is ignored\n");
  end();
}

// --- Lack of memory ----------------------------------------------------------------------------------------------

// Runs `scenario` with the 1st, 2nd, … allocation failing, until it succeeds.
static void sweep(tsr_status (*scenario)(void), uint64_t at_least) {
  for (uint64_t nth = 1;; nth++) {
    CHECK(nth < 1000);
    tsri_alloc_fail_at(nth, false);
    tsr_status status = scenario();
    tsri_alloc_fail_at(0, false);
    if (status == TSR_OK) {
      CHECK(nth > at_least);
      return;
    }
    CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    CHECK_LAST_ERROR_HAS("no host memory");
  }
}

static tsr_status resolve_once(void) {
  tsri_config c;
  tsr_status status = tsri_config_resolve(&c);
  if (status != TSR_OK) check_empty(&c);
  tsri_config_deinit(&c);
  return status;
}

static tsr_status load_once(void) {
  tsr_config *config = NULL;
  tsr_status status = tsr_config_load(&config);
  CHECK((status == TSR_OK) == (config != NULL));
  tsr_config_release(config);
  return status;
}

static tsr_status set_once(void) { return tsr_config_set("priority", "cpu,cuda"); }

TEST(lack_of_memory_at_any_point_is_a_status_and_leaks_nothing) {
  char text[8192] = "threads = 1\nbackend = cpu\nnative = none\n";
  size_t used = strlen(text);
  memset(text + used, '\n', sizeof text - used - 1);  // more than one read returns
  begin_with_file(text);
  setenv("TESSERA_THREADS", "2", 1);
  setenv("TESSERA_PLUGIN_PATH", "/a", 1);
  CHECK_OK(tsr_config_set("threads", "3"));
  CHECK_OK(tsr_config_set("simd", "avx2"));
  sweep(resolve_once, 9);
  sweep(load_once, 10);
  unsetenv("TESSERA_CONFIG");
  setenv("XDG_CONFIG_HOME", folder, 1);
  sweep(resolve_once, 4);
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", folder, 1);
  sweep(resolve_once, 4);
  sweep(set_once, 2);
  end();
}

// --- Threads -----------------------------------------------------------------------------------------------------

enum { THREAD_COUNT = 8, ROUND_COUNT = 200 };

static void *set_and_resolve(void *user) {
  bool *is_right = user;
  static const char *const values[] = {"cpu", "cuda,cpu", NULL, "vulkan"};
  for (int i = 0; i < ROUND_COUNT; i++) {
    tsri_config c;
    if (tsr_config_set("priority", values[i % 4]) != TSR_OK || tsri_config_resolve(&c) != TSR_OK) return NULL;
    bool is_known = !c.priority;
    for (int j = 0; j < 4; j++) is_known |= values[j] && c.priority && strcmp(c.priority, values[j]) == 0;
    tsri_config_deinit(&c);
    if (!is_known) return NULL;
  }
  *is_right = true;
  return NULL;
}

TEST(threads_may_set_and_resolve_at_once) {
  begin_with_file("threads = 1\n");
  pthread_t threads[THREAD_COUNT];
  bool is_right[THREAD_COUNT] = {false};
  for (int i = 0; i < THREAD_COUNT; i++) {
    CHECK_EQ_INT(pthread_create(&threads[i], NULL, set_and_resolve, &is_right[i]), 0);
  }
  for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREAD_COUNT; i++) CHECK(is_right[i]);
  end();
}
