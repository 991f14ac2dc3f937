// SPDX-License-Identifier: MIT
// Loops cut into several launches give the same results as in one launch, wherever items stop, on every device.
#include "runtime/long_loops.h"

#include <math.h>

#include "lang/lang.h"
#include "support/devices.h"
#include "support/test.h"

enum { ITEMS = 128, GROUP = 16, N = 40 };

// Every kernel writes ITEMS words and takes a parameter n.
typedef struct sample {
  const char *what, *text;
} sample;

#define HEAD "kernel k<WG = 16>(inout u32 y[], u32 n) { u32 s = 7u * global.x; "
#define TAIL " y[global.x] = s; }"

static const sample samples[] = {
    {"one after the other",
     HEAD "for (u32 i = 0; i < n; i++) s = s * 5u + i; for (u32 j = 0; j < n; j++) s ^= s << 3u;" TAIL},
    {"nested",
     HEAD "for (u32 i = 0; i < n; i++) { s += i; for (u32 j = i; j < n; j++) s = s * 3u + j; s ^= 1u; }" TAIL},
    {"items of different length", HEAD "for (u32 i = 0; i < global.x % 50u; i++) s += i * i;" TAIL},
    {"break and continue", HEAD "for (u32 i = 0; i < 1000u; i++) { if (i % 3u == local.x % 3u) continue; if (i > n + "
                                "local.x) break; s += i; }" TAIL},
    {"under conditions", HEAD "if (global.x % 2u == 0u) { for (u32 i = 0; i < n; i++) s += i; } else { s += 5u; "
                              "for (u32 i = 0; i < 2u * n; i++) { if (i % 2u == 0u) { for (u32 j = 0; j < 3u; j++) s = "
                              "s * 3u + j; } } } s += 1u;" TAIL},
    {"loops that nobody counts",
     HEAD "while (s != 1u && s != 0u) { if (s % 2u == 0u) s = s / 2u; else s = (3u * s + 1u) % 9973u; "
          "if (s > 9000u) break; }" TAIL},
    {"local arrays, vectors, bool",
     HEAD "u32 t[5]; f32x4 v = f32x4(1.0, 2.0, 3.0, 4.0); bool up = true; "
          "for (u32 i = 0; i < n; i++) { t[i % 5u] += i + s; v = v * 1.5 + f32x4(f32(i)); up = !up; "
          "if (v.x > 1000.0) v = v * 0.001; } s = t[0] + t[1] * 3u + t[4] + bitcast<u32>(v.y) + u32(up);" TAIL},
    {"barriers and shared memory",
     "kernel k<WG = 16>(inout u32 y[], u32 n) { shared u32 t[16]; u32 s = global.x; for (u32 i = 0; i < n; i++) { "
     "t[local.x] = s; barrier(); s = t[(local.x + 1u) % 16u] + i; barrier(); }" TAIL},
    {"barriers after loops of different length",
     "kernel k<WG = 16>(inout u32 y[], u32 n) { shared u32 t[16]; u32 s = 0; for (u32 k = 0; k < 6u; k++) { "
     "for (u32 i = 0; i < local.x * 3u + k; i++) s = s * 3u + i; t[local.x] = s; barrier(); s += t[15u - local.x]; "
     "barrier(); }" TAIL},
    {"collectives",
     "kernel k<WG = 16>(inout u32 y[], u32 n) { u32 s = global.x; for (u32 i = local.x; i < 10u * n; i += 3u) s += i; "
     "s = group_sum(s) + s; for (u32 i = 0; i < n; i++) s += group_max(s ^ i) % 7u;" TAIL},
};

static const char wide_text[] =
    "kernel k<WG = 16>(inout u32 y[], u32 n) { i64 a = i64(global.x) << 40u; f64 b = 0.1; u32 s = 0; "
    "for (u32 i = 0; i < n; i++) { a = a * 3 + i64(i); b = b * 1.25 + f64(i); } "
    "s = u32(a >> 32u) ^ u32(a) ^ u32(bitcast<i64>(b) >> 20u);" TAIL;

// Returns what the kernel writes on a device that stops loops after `rounds` iterations; 0: never. `*out_launches` is
// the number of launches.
static void run(tsr_device *device, const char *text, uint32_t rounds, uint32_t *out, uint64_t *out_launches) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  tsri_built built;
  tsr_buffer *y = NULL;
  tsr_device_counters before, after;
  uint32_t kept = device->limits.max_loop_rounds, n = N, groups[3] = {ITEMS / GROUP, 1, 1};
  device->limits.max_loop_rounds = rounds;
  CHECK_OK(tsri_lang_parse("long_loops_test.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel));
  CHECK_OK(tsri_built_init(device, kernel, false, &built));
  CHECK((built.long_loops != NULL) == (rounds != 0));
  memset(out, 0, ITEMS * sizeof *out);
  CHECK_OK(tsr_buffer_create(device, ITEMS * sizeof *out, 0, &y));
  CHECK_OK(tsr_buffer_upload(y, 0, out, ITEMS * sizeof *out));
  tsri_argument argument = {.buffer = y, .element_count = ITEMS};
  CHECK_OK(tsr_device_get_counters(device, &before));
  CHECK_OK(tsri_built_launch(device, &built, groups, &argument, &n));
  CHECK_OK(tsr_device_get_counters(device, &after));
  CHECK_OK(tsr_buffer_download(y, 0, out, ITEMS * sizeof *out));
  *out_launches = after.launches - before.launches;
  tsr_buffer_release(y);
  tsri_built_deinit(device, &built);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  device->limits.max_loop_rounds = kept;
}

static void check_text(tsr_device *device, const char *what, const char *text) {
  static const uint32_t stops[] = {1, 7, 64};
  static uint32_t texts;
  uint32_t whole[ITEMS], cut[ITEMS], one_in = test_sample(3), turn = texts++;
  uint64_t launches = 0;
  run(device, text, 0, whole, &launches);
  CHECK_EQ_UINT(launches, 1);
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    if ((turn + i) % one_in != 0) continue;  // by default each text is tested with only some of the limits
    run(device, text, stops[i], cut, &launches);
    if (memcmp(whole, cut, sizeof cut) != 0 || (stops[i] == 1 && launches < 3)) {
      test_fail(__FILE__, __LINE__, "%s, %s, stopping after %u rounds: %llu launches, another result",
                device->backend->name, what, stops[i], (unsigned long long)launches);
    }
  }
}

static void check_device(tsr_device *device) {
  if (device->limits.max_group_size == 0) return;  // the device runs no kernels
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) check_text(device, samples[i].what, samples[i].text);
  if (tsr_device_has_dtype(device, TSR_F64) && tsr_device_has_dtype(device, TSR_I64)) {
    check_text(device, "64 bits", wide_text);
  }
}

TEST(items_that_stop_in_loops_go_on_as_if_they_had_not) {
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  if (sanitizers && strstr(sanitizers, "thread")) {
    SKIP(
        "items that stop all store the same word, which only this test does on the CPU, and the thread sanitizer "
        "reports it");
  }
  test_on_every_device(check_device);
}

TEST(a_loop_without_end_is_stopped_by_the_time_out) {
  tsr_device *device = NULL;
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  tsri_built built;
  tsr_buffer *y = NULL;
  static const char text[] = "kernel wait<WG = 1>(inout u32 y[]) { while (y[0] == 0u) y[1] = y[1] + 1u; }";
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .timeout_ms = 50}, &device));
  device->limits.max_loop_rounds = 100;
  CHECK_OK(tsri_lang_parse("long_loops_test.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel));
  CHECK_OK(tsri_built_init(device, kernel, false, &built));
  CHECK_OK(tsr_buffer_create(device, 8, 0, &y));
  CHECK_OK(tsr_buffer_fill(y, 0, 8, &(uint32_t){0}, 4));
  CHECK_STATUS(tsri_built_launch(device, &built, (const uint32_t[]){1, 1, 1},
                                 &(tsri_argument){.buffer = y, .element_count = 2}, NULL),
               TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("kernel wait: stopped after 50 ms (is there a loop that does not end?)");
  tsr_buffer_release(y);
  tsri_built_deinit(device, &built);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  tsr_device_release(device);
}

// --- Counting iterations ---------------------------------------------------------------------------------------------

static double rounds_of(const char *body) {
  char text[512];
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  const uint32_t groups[3] = {4, 1, 1}, n = 1000;
  snprintf(text, sizeof text, "kernel k<WG = 64>(in u32 x[], out u32 y[], u32 n) { u32 s = 0; %s y[global.x] = s; }",
           body);
  CHECK_OK(tsri_lang_parse("rounds.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel));
  double rounds = tsri_kernel_rounds(kernel, groups, &n);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  return rounds;
}

static void check_rounds(const char *body, double least, double most) {
  double rounds = rounds_of(body);
  if (!(rounds >= least && rounds <= most)) test_fail(__FILE__, __LINE__, "%s: %g rounds", body, rounds);
}

TEST(rounds_of_loops_that_count_are_known_before_the_launch) {
  check_rounds("s += 1u;", 0, 0);
  check_rounds("for (u32 i = 0; i < n; i++) s += x[i];", 1000, 1010);
  check_rounds("for (u32 i = local.x; i < n; i += 64u) s += x[i];", 15, 20);
  check_rounds("u32 m = n / 4u; for (u32 i = 0; i < m; i++) s += x[i];", 250, 1010);
  check_rounds("for (u32 i = 0; i < n; i++) for (u32 j = 0; j < 8u; j++) s += x[j];", 8000, 12000);
  check_rounds("for (u32 d = 1; d < n; d *= 2) s += x[d];", 10, 70);
  check_rounds("for (u32 i = 0; i + 30u < n; i += 10u) s += x[i];", 97, 110);
  check_rounds("u32 e = global.x; u32 row = e / n * n; for (u32 i = 0; i < e - row; i++) s += x[i];", 256, 300);
  check_rounds("u32 first = local.x * 4u; for (u32 i = first; i < min(first + 4u, n); i++) s += x[i];", 4, 8);
  check_rounds("for (u32 i = group.x; i < n; i += groups.x) s += x[i];", 250, 260);
  check_rounds("for (u32 i = 0; i < 40u && s != x[i]; i++) s += x[i];", 40, 50);
  check_rounds(
      "u32 first = 0u; u32 last = n; u32 stop = first + (last - first) / 4u * 4u;"
      "for (u32 i = first; i < stop; i += 4u) s += x[i];",
      250, 1010);
  check_rounds(
      "u32 first = min(group.x * 300u, n); u32 last = min(first + 300u, n); u32 stop = first + (last - first);"
      "for (u32 i = first; i < stop; i++) s += x[i];",
      300, 2100);
  check_rounds("for (u32 d = 32; d > 0; d /= 2) s += x[d];", 6, 70);
}

TEST(rounds_of_other_loops_may_be_any_number) {
  check_rounds("while (s < x[s]) s += 1u;", (double)INFINITY, (double)INFINITY);
  check_rounds("for (u32 i = 0; i < n; i++) { if (x[i] > 5u) i = 0; s += 1u; }", (double)INFINITY, (double)INFINITY);
  check_rounds("for (u32 i = 0; i < x[0]; i++) s += 1u;", (double)INFINITY, (double)INFINITY);
  check_rounds("u32 first = 0u; for (u32 i = first; i < first + 4u; i++) first += 1u;", (double)INFINITY,
               (double)INFINITY);
  check_rounds("for (u32 i = 0; i < n - 2000u; i++) s += 1u;", (double)INFINITY, (double)INFINITY);
  check_rounds(
      "u32 a = 1u; for (u32 k = 0; k < 2u; k++) { u32 b = k * n; u32 d = a - b; a = b + 1u;"
      "for (u32 i = 0; i < d; i++) s += 1u; }",
      (double)INFINITY, (double)INFINITY);
}

// --- Measuring --------------------------------------------------------------------------------------------------------

static void check_measured(tsr_device *device) {
  if (device->limits.max_group_size == 0) return;
  uint32_t kept = device->limits.max_loop_rounds;
  bool is_software = device->info.is_software;
  device->limits.max_loop_rounds = 0;
  device->info.is_software = true;  // so that the CPU is measured, too
  CHECK_OK(tsri_long_loops_measure(device));
  CHECK(device->limits.max_loop_rounds == 0 || device->limits.max_loop_rounds > 10000);
  if (is_software) CHECK_EQ_UINT(device->limits.max_loop_rounds, kept);
  device->info.is_software = is_software;
  device->limits.max_loop_rounds = kept;
}

TEST(a_driver_that_ends_loops_is_found_by_a_loop) { test_on_every_device(check_measured); }
