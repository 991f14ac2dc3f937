// SPDX-License-Identifier: MIT
// The profiler: what is recorded on each device, how it is labelled and timed, what is dropped, and that it survives
// threads and missing memory.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include "core/alloc.h"
#include "runtime/profile/recorder.h"
#include "support/devices.h"
#include "support/test.h"

enum { ROWS = 8, COLUMNS = 16 };

static tsr_profile *end_profile(void) {
  tsr_profile *profile = NULL;
  CHECK_OK(tsr_profile_end(&profile));
  return profile;
}

static int count_records(const tsr_profile *profile) {
  tsr_profile_summary summary;
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  return summary.record_count;
}

static tsr_profile_record record_at(const tsr_profile *profile, int index) {
  tsr_profile_record record;
  CHECK_OK(tsr_profile_get_record(profile, index, &record));
  return record;
}

// How many records of this kind have `operators`; NULL: any.
static int count_kind(const tsr_profile *profile, tsr_profile_kind kind, const char *operators) {
  int count = 0;
  for (int i = 0; i < count_records(profile); i++) {
    tsr_profile_record record = record_at(profile, i);
    count += record.kind == kind && (!operators || strcmp(record.operators, operators) == 0);
  }
  return count;
}

static tsr_tensor *make_input(tsr_device *device) { return tsr_full(device, TSR_F32, TSR_SHAPE(ROWS, COLUMNS), 2); }

// Two kernels: relu(x * 3 + x) and its sum. The first is recorded in "outer/first", and everything runs in "outer".
static void step_with_labels(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_label_begin("outer");
  tsr_tensor *x = make_input(device);
  tsr_label_begin("first");
  tsr_tensor *y = tsr_keep(tsr_relu(tsr_add(tsr_mul_scalar(x, 3), x)));
  tsr_label_end();
  tsr_status status = tsr_evaluate(y);
  if (test_device_computes(device)) CHECK_OK(status);
  tsr_label_end();
  tsr_release(y);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(every_device_records_its_kernels_with_operators_labels_bytes_and_times) {
  CHECK_OK(tsr_profile_begin(NULL));
  test_on_every_device(step_with_labels);
  tsr_profile *profile = end_profile();
  tsr_profile_summary summary;
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  CHECK(summary.device_count >= 2);
  CHECK_EQ_INT(summary.dropped_count + summary.lost_count, 0);
  for (int d = 0; d < summary.device_count; d++) {
    tsr_profile_device device;
    CHECK_OK(tsr_profile_get_device(profile, d, &device));
    bool computes = strcmp(device.backend, "null") != 0 && strcmp(device.backend, "sample") != 0;
    if (!computes) continue;
    CHECK(device.has_clock);
    CHECK(device.bytes_per_second > 0 && device.operations_per_second > 0);
    CHECK(device.peak_bytes >= ROWS * COLUMNS * sizeof(float));
    int found = 0;
    for (int i = 0; i < summary.record_count; i++) {
      tsr_profile_record record = record_at(profile, i);
      if (record.device != d || record.kind != TSR_PROFILE_KERNEL || !strstr(record.operators, "relu")) continue;
      found++;
      CHECK_STR(record.operators, "mul_scalar add relu");
      CHECK_STR(record.label, "outer/first");
      CHECK_STR(record.result, "f32 8x16");
      CHECK_EQ_UINT(record.operations, 3 * ROWS * COLUMNS);
      CHECK_EQ_UINT(record.bytes, 2 * ROWS * COLUMNS * sizeof(float));
      CHECK_EQ_INT(record.clock, TSR_CLOCK_DEVICE);
      CHECK(record.duration_ns > 0 && record.share > 0);
      CHECK(record.start_ns + record.duration_ns <= summary.duration_ns);
    }
    CHECK_EQ_INT(found, 1);
  }
  tsr_profile_release(profile);
}

TEST(long_work_is_timed_each_time_and_short_work_now_and_then) {
  static const struct {
    uint64_t ns;
    int least, most;
  } rows[] = {{2000000, 990, 1000}, {200000, 123, 128}, {20000, 13, 16}, {5000, 4, 6}, {10, 2, 4}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    tsri_work_class work = {0};
    int timed = 0;
    for (int j = 0; j < 1000; j++) {
      if (!tsri_work_class_choose(&work, 12500)) continue;
      CHECK(j > 1 || timed == j);  // the first two are timed in any case
      timed++;
      tsri_work_class_add(&work, rows[i].ns);
    }
    CHECK(timed >= rows[i].least && timed <= rows[i].most);
    CHECK(work.mean_ns > (double)rows[i].ns * 0.999 && work.mean_ns < (double)rows[i].ns * 1.001);
  }
}

TEST(work_is_timed_the_more_seldom_the_longer_events_take_the_host) {
  tsri_lane lane = {0};
  uint64_t device_ns = tsri_timing_cost_ns(&lane);
  tsri_timing_cost_add(&lane, 40000);
  tsri_reading_cost_add(&lane, 900000, 3);
  CHECK_EQ_UINT(tsri_timing_cost_ns(&lane), device_ns + 40000 + 300000);
  tsri_timing_cost_add(&lane, 80040000);  // one long call, as with a full queue, changes the mean only a little
  CHECK_EQ_UINT(tsri_timing_cost_ns(&lane), device_ns + 40000 + 10000000 + 300000);
  tsri_timing_cost_add(&lane, 30000);
  tsri_reading_cost_add(&lane, 0, 0);  // nothing was read
  CHECK_EQ_UINT(tsri_timing_cost_ns(&lane), device_ns + 30000 + 300000);
}

TEST(work_whose_first_times_are_not_read_yet_is_timed_again_only_if_all_timing_stays_short) {
  tsri_lane lane = {.timing_ns = 1000000};
  tsri_work_class work = {.chosen = 2};
  CHECK(tsri_timing_is_affordable(&lane, &work, 1));  // one of the first two
  work.chosen = 3;
  CHECK(!tsri_timing_is_affordable(&lane, &work, 1000000 * (uint64_t)TSRI_TIMING_SHARE - 1));
  CHECK(tsri_timing_is_affordable(&lane, &work, 1000000 * (uint64_t)TSRI_TIMING_SHARE));
  work.timed = 2;
  CHECK(tsri_timing_is_affordable(&lane, &work, 1));
}

TEST(a_pause_grows_when_the_first_times_are_known_at_last) {
  enum { COST_NS = 100000, WORK_NS = 10000, UNREAD = 20, STEPS = 1000 };
  tsri_work_class work = {0};
  int timed = 0;
  for (int i = 0; i < STEPS; i++) {
    if (i == UNREAD) tsri_work_class_add(&work, WORK_NS), tsri_work_class_add(&work, WORK_NS);
    timed += tsri_work_class_choose(&work, COST_NS);
  }
  CHECK_EQ_INT(timed, 3);  // the first two, and one before their times were known; the next is due after 1,280
}

TEST(the_first_time_of_some_work_counts_no_more_once_there_is_a_second) {
  tsri_work_class work = {0};
  tsri_work_class_add(&work, 150000000);
  CHECK(work.mean_ns == 150000000);
  tsri_work_class_add(&work, 5000);
  CHECK(work.mean_ns == 5000);
  tsri_work_class_add(&work, 8000);
  CHECK(work.mean_ns == 6000);
}

enum { REPEATED = 200 };

// The same kernel again and again. Counts its records by clock, and checks that they follow one another.
// Returns the longest time that was measured.
static uint64_t count_clocks(tsr_device *device, bool is_full, int *out_clocks) {
  tsr_tensor *x = make_input(device);
  CHECK_OK(tsr_profile_begin(&(tsr_profile_desc){.is_full = is_full}));
  for (int i = 0; i < REPEATED; i++) {
    tsr_tensor *y = tsr_log1p(x);
    CHECK_OK(tsr_evaluate(y));
    tsr_release(y);
  }
  CHECK_OK(tsr_device_synchronize(device));
  tsr_profile *profile = end_profile();
  uint64_t end_ns = 0, longest_ns = 0;
  for (int i = 0; i < count_records(profile); i++) {
    tsr_profile_record record = record_at(profile, i);
    if (record.kind != TSR_PROFILE_KERNEL || strcmp(record.operators, "log1p") != 0) continue;
    out_clocks[record.clock]++;
    if (record.clock == TSR_CLOCK_DEVICE && record.duration_ns > longest_ns) longest_ns = record.duration_ns;
    CHECK(record.duration_ns > 0);
    CHECK(record.clock == TSR_CLOCK_HOST || record.start_ns + 2 >= end_ns);
    end_ns = record.start_ns + record.duration_ns;
  }
  tsr_profile_release(profile);
  tsr_release(x);
  return longest_ns;
}

TEST(work_that_comes_again_is_estimated_from_what_was_timed_unless_all_times_are_asked_for) {
  tsr_device *device = NULL;
  int sampled[3] = {0}, full[3] = {0};
  CHECK_OK(tsr_profile_begin(NULL));  // a device that is opened now has times
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = "opencl"}, &device);
  CHECK_OK(tsr_profile_end(NULL));
  if (status != TSR_OK) SKIP("no OpenCL device, whose work is timed by events");
  uint64_t longest_ns = count_clocks(device, false, sampled);
  CHECK_EQ_INT(sampled[TSR_CLOCK_DEVICE] + sampled[TSR_CLOCK_ESTIMATED], REPEATED);
  CHECK(sampled[TSR_CLOCK_DEVICE] >= 2);
  CHECK(sampled[TSR_CLOCK_ESTIMATED] > 0 ||
        longest_ns > 80000);  // on a busy machine the work may take so long that all of it is timed
  count_clocks(device, true, full);
  CHECK_EQ_INT(full[TSR_CLOCK_DEVICE], REPEATED);
  tsr_device_release(device);
}

TEST(work_without_a_label_has_none_even_if_it_runs_within_one) {
  tsr_device *device = test_open("cpu");
  CHECK_OK(tsr_profile_begin(NULL));
  tsr_tensor *x = make_input(device), *y = tsr_exp(x);
  tsr_label_begin("reading");
  CHECK_OK(tsr_evaluate(y));
  tsr_label_end();
  tsr_profile *profile = end_profile();
  for (int i = 0; i < count_records(profile); i++) {
    tsr_profile_record record = record_at(profile, i);
    if (strcmp(record.operators, "exp") == 0) CHECK_STR(record.label, "");
  }
  CHECK_EQ_INT(count_kind(profile, TSR_PROFILE_KERNEL, "exp"), 1);
  tsr_profile_release(profile);
  tsr_release(x);
  tsr_release(y);
  tsr_device_release(device);
}

TEST(cached_launches_have_operators_too) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = make_input(device);
  CHECK_OK(tsr_evaluate(x));
  for (int i = 0; i < 2; i++) {  // the second time its launch is cached, without a plan
    if (i == 1) CHECK_OK(tsr_profile_begin(NULL));
    tsr_tensor *y = tsr_sqrt(x), *z = tsr_neg(y);
    CHECK_OK(tsr_evaluate(z));
    tsr_release(y);
    tsr_release(z);
  }
  tsr_profile *profile = end_profile();
  CHECK(count_kind(profile, TSR_PROFILE_KERNEL, "sqrt neg") + count_kind(profile, TSR_PROFILE_KERNEL, "sqrt") >= 1);
  tsr_profile_release(profile);
  tsr_release(x);
  tsr_device_release(device);
}

static void capture_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = make_input(device);
  tsr_capture *capture = NULL;
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_sum(tsr_exp(x), NULL, 0, false);
  CHECK_OK(tsr_capture_end(&y, 1, &capture));
  int steps = tsr_capture_step_count(capture);
  CHECK_OK(tsr_profile_begin(&(tsr_profile_desc){.is_full = true}));
  CHECK_OK(tsr_capture_run(capture));
  CHECK_OK(tsr_capture_run(capture));
  tsr_profile *profile = end_profile();
  int work = 0;
  for (int i = 0; i < count_records(profile); i++) work += record_at(profile, i).kind <= TSR_PROFILE_FILL;
  CHECK_EQ_INT(work, 2 * steps);
  tsr_profile_release(profile);

  CHECK_OK(tsr_profile_begin(NULL));  // one record where the device runs it as one graph, else one a step
  CHECK_OK(tsr_capture_run(capture));
  profile = end_profile();
  int replays = count_kind(profile, TSR_PROFILE_REPLAY, NULL);
  CHECK(replays == 1 ||
        count_kind(profile, TSR_PROFILE_KERNEL, NULL) + count_kind(profile, TSR_PROFILE_NATIVE, NULL) > 0);
  tsr_profile_release(profile);
  tsr_capture_release(capture);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(replayed_captures_are_recorded_step_by_step_in_full_mode) { test_on_every_device(capture_on); }

TEST(copies_moves_builds_and_memory_are_recorded) {
  tsr_device *cpu = test_open("cpu"), *other = test_open("cpu");
  CHECK_OK(tsr_profile_begin(NULL));
  float values[COLUMNS] = {0};
  tsr_tensor *a = tsr_from_data(cpu, TSR_F32, TSR_SHAPE(COLUMNS), values, sizeof values);
  tsr_tensor *b = tsr_from_data(other, TSR_F32, TSR_SHAPE(COLUMNS), values, sizeof values);
  tsr_tensor *sum = tsr_atan2(a, b);  // inputs on two devices
  CHECK_OK(tsr_read(sum, values, sizeof values));
  tsr_buffer *large = NULL;
  CHECK_OK(tsr_buffer_create(cpu, 5 << 20, 0, &large));
  tsr_buffer_release(large);
  tsr_profile *profile = end_profile();
  CHECK_EQ_INT(count_kind(profile, TSR_PROFILE_MOVE, "atan2"), 1);
  CHECK(count_kind(profile, TSR_PROFILE_UPLOAD, NULL) >= 2);
  CHECK(count_kind(profile, TSR_PROFILE_DOWNLOAD, NULL) >= 1);
  CHECK(count_kind(profile, TSR_PROFILE_BUILD, NULL) >= 1);
  CHECK(count_kind(profile, TSR_PROFILE_ALLOCATION, NULL) >= 1);
  tsr_profile_release(profile);
  tsr_release(a);
  tsr_release(b);
  tsr_release(sum);
  tsr_device_release(cpu);
  tsr_device_release(other);
}

// --- Outputs -----------------------------------------------------------------------------------------------------------------

static char *read_back(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  static char text[1 << 19];
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  text[bytes] = 0;
  fclose(file);
  remove(path);
  return text;
}

static void check_output(const tsr_profile *profile, const char *end, const char *part) {
  char path[128];
  snprintf(path, sizeof path, "/tmp/tessera_profile_test_%llu%s", (unsigned long long)tsri_process_id(), end);
  CHECK_OK(tsr_profile_write(profile, path));
  CHECK(strstr(read_back(path), part) != NULL);
}

TEST(outputs_are_chosen_by_the_end_of_the_name) {
  CHECK_OK(tsr_profile_begin(NULL));
  tsr_device *device = test_open("cpu");
  tsr_label_begin("a \"quoted\" </script> label");
  step_with_labels(device);
  tsr_label_end();
  tsr_device_release(device);
  tsr_profile *profile = end_profile();
  check_output(profile, ".json", "\"traceEvents\":[");
  check_output(profile, ".json", "a \\\"quoted\\\" \\u003c/script>");
  check_output(profile, ".html", "\"kinds\":[\"kernel\",\"native\"");
  check_output(profile, ".html", "\\u003c/script> label");
  check_output(profile, ".txt", "mul_scalar add relu");
  char path[64];
  snprintf(path, sizeof path, "/tmp/tessera_profile_%llu", (unsigned long long)tsri_process_id());
  CHECK_OK(tsr_profile_write(profile, "/tmp/tessera_profile_%p"));
  CHECK(strstr(read_back(path), "Tessera profile of") != NULL);
  CHECK_STATUS(tsr_profile_write(profile, "/nowhere/at/all.json"), TSR_ERR_IO);
  CHECK_LAST_ERROR_HAS("/nowhere/at/all.json");
  tsr_profile_release(profile);
}

// As root, renaming a file onto /dev/null or /dev/stdout would replace them.
TEST(what_is_no_plain_file_is_written_into_and_stays) {
  CHECK_OK(tsr_profile_begin(NULL));
  tsr_profile *profile = end_profile();
  char target[64], link[64], pipe[64], got[64] = {0};
  unsigned long long number = (unsigned long long)tsri_process_id();
  snprintf(target, sizeof target, "/tmp/tessera_profile_target_%llu", number);
  snprintf(link, sizeof link, "/tmp/tessera_profile_link_%llu", number);
  snprintf(pipe, sizeof pipe, "/tmp/tessera_profile_pipe_%llu", number);
  CHECK_EQ_INT(symlink(target, link), 0);
  CHECK(!tsri_path_is_replaceable(link));
  CHECK_OK(tsr_profile_write(profile, link));
  CHECK(!tsri_path_is_replaceable(link));  // it is a link still
  CHECK(strstr(read_back(target), "Tessera profile of") != NULL);
  CHECK_EQ_INT(remove(link), 0);
  CHECK_EQ_INT(mkfifo(pipe, 0600), 0);
  int reader = open(pipe, O_RDONLY | O_NONBLOCK);
  CHECK_OK(tsr_profile_write(profile, pipe));
  CHECK(!tsri_path_is_replaceable(pipe));
  CHECK(read(reader, got, sizeof got - 1) > 0);
  CHECK_STR_HAS(got, "Tessera profile of");
  close(reader);
  CHECK_EQ_INT(remove(pipe), 0);
  CHECK(!tsri_path_is_replaceable("/dev/null"));
  CHECK(tsri_path_is_replaceable(target));
  CHECK_STATUS(tsr_profile_write(profile, ""), TSR_ERR_INVALID_ARGUMENT);
  tsr_profile_release(profile);
}

// --- Bounds ------------------------------------------------------------------------------------------------------------------

TEST(the_oldest_records_are_dropped_and_still_count) {
  enum { TIMES = 3000 };
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = make_input(device);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_profile_begin(&(tsr_profile_desc){.record_limit = 1}));
  for (int i = 0; i < TIMES; i++) {
    tsr_tensor *y = tsr_abs(x);
    CHECK_OK(tsr_evaluate(y));
    tsr_release(y);
  }
  tsr_profile *profile = end_profile();
  tsr_profile_summary summary;
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  CHECK(summary.record_count <= 1024 && summary.dropped_count >= TIMES - 1024);
  CHECK_STR(record_at(profile, summary.record_count - 1).operators, "abs");
  tsri_profile_total *rows = NULL;
  size_t row_count = 0;
  uint64_t count = 0;
  CHECK(tsri_profile_sum(profile, &rows, &row_count));
  for (size_t i = 0; i < row_count; i++) {
    if (strcmp(tsri_profile_text(rows[i].operators), "abs") == 0 && rows[i].kind == TSR_PROFILE_KERNEL)
      count += rows[i].count;
  }
  CHECK_EQ_UINT(count, TIMES);
  tsri_free(rows);
  tsr_profile_release(profile);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(memory_is_noted_before_the_work_that_takes_it) {
  enum { BYTES = 8 << 20 };
  tsr_device *device = test_open("cpu");
  CHECK_OK(tsr_profile_begin(NULL));
  tsr_tensor *y = tsr_full(device, TSR_F32, TSR_SHAPE(BYTES / 4), 0.5), *z = tsr_exp(y);
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_evaluate(z));
  tsr_release(y);
  tsr_release(z);
  tsr_profile *profile = end_profile();
  const tsri_profiled *seen = tsri_profile_device_at(profile, 0);
  int last = count_records(profile) - 1, i = 0;
  while (last > 0 && strcmp(record_at(profile, last).operators, "exp") != 0) last--;
  while (i < seen->curve.sample_count && seen->curve.samples[i].bytes < 2 * (uint64_t)BYTES) i++;
  CHECK(i < seen->curve.sample_count);
  CHECK(seen->curve.samples[i].at_ns <= record_at(profile, last).start_ns);
  tsr_profile_release(profile);
  tsr_device_release(device);
}

TEST(many_memory_samples_are_thinned_and_keep_the_peak) {
  enum { TIMES = 3 * TSRI_MEMORY_SAMPLES, PEAK = 1 << 20 };
  tsr_device *device = test_open("cpu");
  CHECK_OK(tsr_profile_begin(NULL));
  for (int i = 0; i < TIMES; i++) {
    tsr_buffer *buffer = NULL;
    CHECK_OK(tsr_buffer_create(device, i == TIMES / 2 ? PEAK : 256, 0, &buffer));
    tsr_buffer_release(buffer);
  }
  tsr_profile *profile = end_profile();
  const tsri_profiled *seen = tsri_profile_device_at(profile, 0);
  uint64_t most = 0;
  for (int i = 0; i < seen->curve.sample_count; i++) {
    if (seen->curve.samples[i].bytes > most) most = seen->curve.samples[i].bytes;
    CHECK(i == 0 || seen->curve.samples[i].at_ns >= seen->curve.samples[i - 1].at_ns);
  }
  CHECK(seen->curve.sample_count <= TSRI_MEMORY_SAMPLES && seen->curve.sample_count > TSRI_MEMORY_SAMPLES / 4);
  CHECK(most >= PEAK);
  CHECK_EQ_UINT(most, seen->curve.peak_bytes);
  CHECK_EQ_UINT(seen->curve.taken_count, TIMES);
  tsr_profile_release(profile);
  tsr_device_release(device);
}

TEST(begin_and_end_come_in_pairs) {
  tsr_profile *profile = NULL;
  CHECK(!tsr_profile_is_on());
  CHECK_STATUS(tsr_profile_end(&profile), TSR_ERR_INVALID_ARGUMENT);
  CHECK(profile == NULL);
  CHECK_OK(tsr_profile_begin(NULL));
  CHECK(tsr_profile_is_on());
  CHECK_STATUS(tsr_profile_begin(NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("on already");
  CHECK_OK(tsr_profile_end(NULL));
  CHECK(!tsr_profile_is_on());
  tsr_label_end();  // there is none
  for (int i = 0; i < 100; i++) tsr_label_begin("deep");
  for (int i = 0; i < 100; i++) tsr_label_end();
  CHECK_STATUS(tsr_profile_write(NULL, "x.json"), TSR_ERR_INVALID_ARGUMENT);
  tsr_profile_release(NULL);
}

// The setting has begun a session by itself when the program begins its own.
TEST(a_program_that_profiles_itself_goes_before_the_setting_and_its_file_has_that) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tessera_profile_set_%llu.txt", (unsigned long long)tsri_process_id());
  CHECK_OK(tsr_config_set("profile", path));
  tsr_device *device = test_open("cpu");
  CHECK(tsr_profile_is_on());
  CHECK_OK(tsr_profile_begin(NULL));
  CHECK_STATUS(tsr_profile_begin(NULL), TSR_ERR_INVALID_ARGUMENT);  // its own one is not given up
  tsr_label_begin("of the program");
  step_with_labels(device);
  tsr_label_end();
  tsr_profile_release(end_profile());
  CHECK(strstr(read_back(path), "of the program") != NULL);
  CHECK(!tsr_profile_is_on());
  CHECK_OK(tsr_config_set("profile", NULL));
  tsr_device_release(device);
}

TEST(a_device_that_is_opened_again_stays_the_same_one) {
  CHECK_OK(tsr_profile_begin(NULL));
  for (int i = 0; i < 3; i++) {
    tsr_device *device = test_open("cpu");
    step_with_labels(device);
    tsr_device_release(device);
  }
  tsr_profile *profile = end_profile();
  tsr_profile_summary summary;
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  CHECK_EQ_INT(summary.device_count, 1);
  CHECK_EQ_INT(count_kind(profile, TSR_PROFILE_KERNEL, "mul_scalar add relu"), 3);
  tsr_profile_release(profile);
}

// --- Threads and memory --------------------------------------------------------------------------------------------------------

static atomic_bool is_over;

static void *work_on(void *user) {
  tsr_device *device = user;
  while (!atomic_load(&is_over)) step_with_labels(device);
  return NULL;
}

static void threads_on(tsr_device *device) {
  enum { THREADS = 4, SESSIONS = 6 };
  if (!test_device_computes(device)) return;
  pthread_t threads[THREADS];
  atomic_store(&is_over, false);
  for (int i = 0; i < THREADS; i++) CHECK_EQ_INT(pthread_create(&threads[i], NULL, work_on, device), 0);
  for (int i = 0; i < SESSIONS; i++) {
    CHECK_OK(tsr_profile_begin(&(tsr_profile_desc){.is_full = i % 2}));
    step_with_labels(device);
    tsr_profile *profile = end_profile();
    CHECK(count_records(profile) > 0);
    tsr_profile_release(profile);
  }
  atomic_store(&is_over, true);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

TEST(sessions_begin_and_end_while_threads_work) { test_on_every_device(threads_on); }

// Whichever allocation fails, the program's results are right or it gets an error; the profiler loses at most some records.
TEST(missing_host_memory_costs_records_and_nothing_else) {
  tsr_device *device = test_open("cpu");
  step_with_labels(device);  // kernels are there
  for (uint64_t nth = 1; nth < 200; nth++) {
    tsr_profile *profile = NULL;
    tsri_alloc_fail_at(nth, false);
    tsr_status begun = tsr_profile_begin(NULL);
    tsr_scope *scope = tsr_scope_begin(device);
    tsr_label_begin("label");
    tsr_tensor *y = scope ? tsr_relu(make_input(device)) : NULL;
    float values[ROWS * COLUMNS];
    tsr_status status = scope ? tsr_read(y, values, sizeof values) : TSR_ERR_OUT_OF_MEMORY;
    tsr_label_end();
    if (begun == TSR_OK) CHECK_OK(tsr_profile_end(&profile));
    tsri_builder text = {0};
    if (profile) tsri_profile_write_report(profile, &text);
    if (profile) tsri_profile_write_trace(profile, &text);
    uint64_t made = tsri_alloc_fail_at(0, false);
    tsri_builder_deinit(&text);
    if (status == TSR_OK) CHECK_NEAR(values[0], 2, 0);
    else CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    if (scope) CHECK_OK(tsr_scope_end(scope));
    tsr_profile_release(profile);
    if (made < nth) break;
  }
  CHECK(!tsr_profile_is_on());
  tsr_device_release(device);
}

TEST(native_operators_have_names_and_costs) {
  tsri_native_op op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = TSR_BF16, .result = TSR_F32};
  op.is.product = (tsri_product_op){.m = 3, .n = 5, .k = 7, .batch_rank = 1, .batch_dims = {2}};
  CHECK_EQ_UINT(tsri_native_op_cost(&op).operations, 2 * 3 * 5 * 7 * 2);
  CHECK_EQ_UINT(tsri_native_op_cost(&op).bytes, 2 * (3 * 7 + 5 * 7) * 2 + 4 * 3 * 5 * 2);
  for (int kind = TSRI_NATIVE_NONE + 1; kind <= TSRI_NATIVE_CONV_WEIGHT; kind++) {
    CHECK(strcmp(tsri_native_kind_name((tsri_native_kind)kind), "native") != 0);
  }
}
