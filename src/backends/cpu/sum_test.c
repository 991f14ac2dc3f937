// SPDX-License-Identifier: MIT
// The CPU's own sum of rows: in the documented order to the last bit, at every SIMD level, on any number of threads.
#include <math.h>

#include "backends/cpu/cpu.h"
#include "support/test.h"

enum { GROUP_BYTES = 256, ROUNDS = 64, PARTS = 16, LEAST_BLOCK = 1 << 16, MOST_BLOCKS = 256 };
enum { MOST_ROWS = 300, MOST_ELEMENTS = 1 << 20 };

// The documented order of additions. Of a block: GROUP partial sums, of elements with equal i % GROUP, which start at 0 again after each ROUNDS rounds and are added to
// totals; the totals start with the elements after the last whole round. The totals with equal i % PARTS are added up, and then halves are added to each other until
// one number is left. The sums of a row's blocks are added in the same way.
#define DEFINE_WANTED(name, real)                                                                   \
  static real name##_of_block(const real *block, int64_t count) {                                   \
    enum { GROUP = GROUP_BYTES / sizeof(real) };                                                    \
    real totals[GROUP] = {0}, parts[PARTS] = {0};                                                   \
    int64_t whole = count / GROUP * GROUP;                                                          \
    for (int64_t i = whole; i < count; i++) totals[i - whole] += block[i];                          \
    for (int64_t at = 0; at < whole; at += ROUNDS * GROUP) {                                        \
      real lanes[GROUP] = {0};                                                                      \
      for (int64_t i = at; i < whole && i < at + ROUNDS * GROUP; i++) lanes[i % GROUP] += block[i]; \
      for (int i = 0; i < GROUP; i++) totals[i] += lanes[i];                                        \
    }                                                                                               \
    for (int i = 0; i < GROUP; i++) parts[i % PARTS] += totals[i];                                  \
    for (int half = PARTS / 2; half > 0; half /= 2) {                                               \
      for (int i = 0; i < half; i++) parts[i] += parts[i + half];                                   \
    }                                                                                               \
    return parts[0];                                                                                \
  }                                                                                                 \
  static real name(const real *row, int64_t columns) {                                              \
    real sums[MOST_BLOCKS];                                                                         \
    int64_t block = LEAST_BLOCK, count = 0;                                                         \
    while (block * MOST_BLOCKS < columns) block += LEAST_BLOCK;                                     \
    if (columns <= block) return name##_of_block(row, columns);                                     \
    for (int64_t at = 0; at < columns; at += block) {                                               \
      sums[count++] = name##_of_block(row + at, columns - at < block ? columns - at : block);       \
    }                                                                                               \
    return name##_of_block(sums, count);                                                            \
  }
DEFINE_WANTED(wanted_f32, float)
DEFINE_WANTED(wanted_f64, double)

typedef struct rig {
  tsri_device *device;
  tsri_queue *queue;
  tsri_buffer *in, *out;
} rig;

static void rig_open(rig *bench_rig, int threads, const char *simd) {
  tsri_limits limits;
  tsri_open_options options = {.threads = threads, .native = "all", .simd = simd};
  CHECK_OK(tsri_cpu_device_open(0, &options, &limits, &bench_rig->device));
  CHECK_OK(tsri_cpu_queue_create(bench_rig->device, &bench_rig->queue));
  CHECK_OK(tsri_cpu_buffer_create(bench_rig->device, MOST_ELEMENTS * sizeof(double), &bench_rig->in));
  CHECK_OK(tsri_cpu_buffer_create(bench_rig->device, (MOST_ROWS + 2) * sizeof(double), &bench_rig->out));
}

static void rig_close(rig *bench_rig) {
  tsri_cpu_buffer_destroy(bench_rig->device, bench_rig->in);
  tsri_cpu_buffer_destroy(bench_rig->device, bench_rig->out);
  tsri_cpu_queue_destroy(bench_rig->queue);
  tsri_cpu_device_close(bench_rig->device);
}

// Rows begin one element into their memory, results one into theirs.
static tsri_native_op sum_of(const rig *bench_rig, tsr_dtype dtype, int64_t rows, int64_t columns, int64_t stride) {
  size_t element = tsr_dtype_bytes(dtype);
  tsri_native_op op = {.kind = TSRI_NATIVE_SUM, .dtype = dtype, .result = dtype};
  op.is.sum = (tsri_sum_op){.rows = rows,
                            .columns = columns,
                            .step = stride,
                            .stride = 1,
                            .from = {bench_rig->in, element},
                            .to = {bench_rig->out, element}};
  return op;
}

static double fraction(uint32_t i) { return (double)(i * 2654435761u % 100003u) / 4099 - 12; }

#define DEFINE_CHECK(name, real, wanted, dtype)                                                        \
  static void name(const rig *r, int64_t rows, int64_t columns, int64_t stride) {                      \
    real *in = tsri_cpu_buffer_host(r->device, r->in), *out = tsri_cpu_buffer_host(r->device, r->out); \
    for (uint32_t i = 0; i < MOST_ELEMENTS; i++) in[i] = (real)fraction(i);                            \
    for (int64_t i = 0; i < rows + 2; i++) out[i] = 77;                                                \
    tsri_native_op op = sum_of(r, dtype, rows, columns, stride);                                       \
    CHECK_OK(tsri_cpu_run_op(r->queue, &op));                                                          \
    for (int64_t i = 0; i < rows; i++) {                                                               \
      real sum = wanted(in + 1 + i * stride, columns);                                                 \
      CHECK(memcmp(&out[1 + i], &sum, sizeof sum) == 0);                                               \
    }                                                                                                  \
    CHECK(out[0] == 77 && out[rows + 1] == 77);                                                        \
  }
DEFINE_CHECK(check_f32, float, wanted_f32, TSR_F32)
DEFINE_CHECK(check_f64, double, wanted_f64, TSR_F64)

TEST(rows_are_summed_in_the_documented_order_at_every_level) {
  static const char *const levels[] = {"baseline", "neon", "avx2", "avx512"};
  static const int64_t columns[] = {0,   1,    15,   31,   255,   256,   257,   511,
                                    512, 1000, 4096, 5003, 16384, 65536, 65537, 150000};
  for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
    rig bench_rig;
    rig_open(&bench_rig, 1, levels[level]);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
      check_f32(&bench_rig, 5, columns[i], columns[i] + 3);
      check_f64(&bench_rig, 5, columns[i], columns[i] + 3);
      check_f32(&bench_rig, 8, columns[i], 64);  // rows overlap
    }
    rig_close(&bench_rig);
  }
}

TEST(results_do_not_depend_on_the_number_of_threads) {
  for (int threads = 1; threads <= 5; threads++) {
    rig bench_rig;
    rig_open(&bench_rig, threads, NULL);
    check_f32(&bench_rig, 299, 3333, 3334);
    check_f64(&bench_rig, 299, 3333, 3334);
    check_f32(&bench_rig, 3, 200000, 200000);  // fewer rows than threads
    check_f64(&bench_rig, 1, 1000000, 1000000);
    check_f32(&bench_rig, 200, 70000, 3);  // rows overlap, each of two blocks
    check_f32(&bench_rig, 0, 4096, 4096);
    check_f64(&bench_rig, 200, 4096, 0);  // one row again and again
    rig_close(&bench_rig);
  }
}

// Rows whose elements have a step: continuing each other as one line, with a gap between them, and overlapping.
TEST(rows_with_a_step_have_the_sums_of_their_elements_packed) {
  enum { ROWS = 777, COLUMNS = 61, STEP = 2 };
  static const int64_t row_steps[] = {COLUMNS * STEP, COLUMNS * STEP + 5, 3};
  static float packed[COLUMNS];
  for (int threads = 1; threads <= 3; threads++) {
    for (size_t k = 0; k < sizeof row_steps / sizeof row_steps[0]; k++) {
      rig bench_rig;
      rig_open(&bench_rig, threads, NULL);
      float *in = tsri_cpu_buffer_host(bench_rig.device, bench_rig.in),
            *out = tsri_cpu_buffer_host(bench_rig.device, bench_rig.out);
      for (uint32_t i = 0; i < MOST_ELEMENTS; i++) in[i] = (float)fraction(i);
      tsri_native_op op = sum_of(&bench_rig, TSR_F32, ROWS, COLUMNS, row_steps[k]);
      op.is.sum.stride = STEP;
      CHECK_OK(tsri_cpu_run_op(bench_rig.queue, &op));
      for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLUMNS; j++) packed[j] = in[1 + i * row_steps[k] + j * STEP];
        float sum = wanted_f32(packed, COLUMNS);
        CHECK(memcmp(&out[1 + i], &sum, sizeof sum) == 0);
      }
      rig_close(&bench_rig);
    }
  }
}

TEST(a_row_has_at_most_256_blocks) {
  enum { COLUMNS = LEAST_BLOCK * MOST_BLOCKS + 5 };
  rig bench_rig;
  rig_open(&bench_rig, 2, NULL);
  tsri_cpu_buffer_destroy(bench_rig.device, bench_rig.in);
  CHECK_OK(tsri_cpu_buffer_create(bench_rig.device, (COLUMNS + 1) * sizeof(float), &bench_rig.in));
  float *in = tsri_cpu_buffer_host(bench_rig.device, bench_rig.in),
        *out = tsri_cpu_buffer_host(bench_rig.device, bench_rig.out);
  for (uint32_t i = 0; i <= COLUMNS; i++) in[i] = (float)fraction(i);
  tsri_native_op op = sum_of(&bench_rig, TSR_F32, 1, COLUMNS, COLUMNS);
  CHECK_OK(tsri_cpu_run_op(bench_rig.queue, &op));
  float sum = wanted_f32(in + 1, COLUMNS);
  CHECK(memcmp(&out[1], &sum, sizeof sum) == 0);
  rig_close(&bench_rig);
}

TEST(zeros_have_no_sign_and_what_is_no_number_comes_through) {
  rig bench_rig;
  rig_open(&bench_rig, 1, NULL);
  for (int64_t columns = 40; columns < 2000; columns += 611) {
    float *in = tsri_cpu_buffer_host(bench_rig.device, bench_rig.in),
          *out = tsri_cpu_buffer_host(bench_rig.device, bench_rig.out);
    for (int64_t i = 0; i < 4 * columns; i++) in[1 + i] = -0.0f;
    in[1 + 2 * columns - 1] = NAN;
    in[1 + 2 * columns] = INFINITY;
    in[1 + 3 * columns] = INFINITY;
    in[1 + 4 * columns - 1] = -INFINITY;
    tsri_native_op op = sum_of(&bench_rig, TSR_F32, 4, columns, columns);
    CHECK_OK(tsri_cpu_run_op(bench_rig.queue, &op));
    CHECK(out[1] == 0 && !signbit(out[1]));
    CHECK(isnan(out[2]));
    CHECK(isinf(out[3]) && out[3] > 0);
    CHECK(isnan(out[4]));
  }
  rig_close(&bench_rig);
}
