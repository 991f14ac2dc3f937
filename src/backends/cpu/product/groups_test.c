// SPDX-License-Identifier: MIT
// Products of bf16 and bytes in groups: each instruction set that this processor has, against plain loops.
#include <math.h>

#include <tessera/dtype.h>

#include "backends/cpu/product/groups.h"
#include "ops/product.h"
#include "support/test.h"

enum { A, B, Y, OPERANDS };

typedef struct rig {
  tsri_device *device;
  tsri_buffer *buffers[OPERANDS];
} rig;

enum { BUFFER_BYTES = 1 << 20 };

static void *memory_of(const rig *r, int operand) { return tsri_cpu_buffer_host(NULL, r->buffers[operand]); }

// False: the processor lacks the unit.
static bool rig_open(rig *r, const char *simd, uint32_t unit, int threads) {
  tsri_limits limits;
  tsri_open_options options = {.threads = threads, .native = "all", .simd = simd};
  CHECK_OK(tsri_cpu_device_open(0, &options, &limits, &r->device));
  bool has_unit = (((const cpu_device *)r->device)->units & unit) == unit;
  if (!has_unit) tsri_cpu_device_close(r->device);
  for (int i = 0; i < OPERANDS && has_unit; i++) {
    CHECK_OK(tsri_cpu_buffer_create(r->device, BUFFER_BYTES, &r->buffers[i]));
  }
  return has_unit;
}

static void rig_close(rig *r) {
  for (int i = 0; i < OPERANDS; i++) tsri_cpu_buffer_destroy(r->device, r->buffers[i]);
  tsri_cpu_device_close(r->device);
}

typedef struct trial {
  int64_t m, n, k;
  bool is_a_turned, is_b_turned;
  int64_t gap;   // more elements from row to row than there are
  int64_t step;  // elements from one neighbour to the next; 0: 1
} trial;

// Around the sizes of tiles (14 and 32 rows, 32 columns), of units (2, 4, 32 and 64 along k) and of blocks of k (512 and 1024).
static const trial trials[] = {
    {.m = 1, .n = 2, .k = 1},
    {.m = 3, .n = 33, .k = 5},
    {.m = 14, .n = 32, .k = 512},
    {.m = 15, .n = 31, .k = 513, .gap = 1},
    {.m = 32, .n = 64, .k = 64, .is_b_turned = true},
    {.m = 33, .n = 65, .k = 67, .is_a_turned = true},
    {.m = 17, .n = 40, .k = 1025, .is_a_turned = true, .is_b_turned = true, .gap = 3},
    {.m = 200, .n = 90, .k = 63},
    {.m = 75, .n = 130, .k = 1030, .is_b_turned = true},
    {.m = 530, .n = 45, .k = 31},
    {.m = 130, .n = 40, .k = 128, .gap = 5},  // a is read where it lies
    {.m = 40, .n = 50, .k = 300, .step = 2},
    {.m = 33, .n = 7, .k = 515, .is_a_turned = true, .step = 3},
    {.m = 75, .n = 65, .k = 1030, .is_a_turned = true, .is_b_turned = true, .gap = 1, .step = 2},
    {.m = 100, .n = 33, .k = 3, .is_b_turned = true, .step = 2},
    {.m = 70, .n = 40, .k = 1},
    {.m = 70, .n = 40, .k = 7},
    {.m = 70, .n = 40, .k = 16},
    {.m = 100, .n = 7, .k = 16},
    {.m = 7, .n = 100, .k = 16, .is_b_turned = true},
    {.m = 70, .n = 7, .k = 1030},
    {.m = 70, .n = 23, .k = 1030, .is_b_turned = true},
    // Few rows: pieces of b, and its lines in place.
    {.m = 1, .n = 64, .k = 256},
    {.m = 5, .n = 291, .k = 700, .gap = 2},
    {.m = 17, .n = 70, .k = 2100, .is_a_turned = true},
    {.m = 64, .n = 95, .k = 1100},
    {.m = 16, .n = 32, .k = 512, .is_b_turned = true},
    {.m = 17, .n = 77, .k = 1037, .is_b_turned = true, .gap = 1},
    {.m = 50, .n = 100, .k = 1025, .is_a_turned = true, .is_b_turned = true},
};
enum { TRIALS = sizeof trials / sizeof trials[0] };

static tsri_layout layout(const trial *t, int64_t rows, int64_t columns, bool is_turned) {
  int64_t step = t->step ? t->step : 1, line = ((is_turned ? rows : columns) + t->gap) * step;
  tsri_layout l = {.shape = TSR_SHAPE(rows, columns)};
  l.strides[0] = is_turned ? step : line;
  l.strides[1] = is_turned ? line : step;
  return l;
}

static void multiply(const rig *r, tsr_dtype dtype, const trial *t) {
  tsri_layout a = layout(t, t->m, t->k, t->is_a_turned), b = layout(t, t->k, t->n, t->is_b_turned);
  tsri_native_op op;
  CHECK(tsri_product_describe(dtype, TSR_SHAPE(t->m, t->n), (const tsri_layout *[]){&a, &b}, 2, 1, 0, &op));
  op.is.product.a.at.buffer = r->buffers[A];
  op.is.product.b.at.buffer = r->buffers[B];
  op.is.product.y.buffer = r->buffers[Y];
  CHECK(tsri_cpu_has_op(r->device, &op));
  CHECK_OK(tsri_cpu_run_op((tsri_queue *)r->device, &op));
}

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static int64_t place(const tsri_layout *l, int64_t row, int64_t column) {
  return row * l->strides[0] + column * l->strides[1];
}

// --- Bytes ------------------------------------------------------------------------------------------------------------------

static void check_bytes(const rig *r, tsr_dtype dtype, const trial *t) {
  tsri_layout a = layout(t, t->m, t->k, t->is_a_turned), b = layout(t, t->k, t->n, t->is_b_turned);
  const uint8_t *left = memory_of(r, A), *right = memory_of(r, B), *got = memory_of(r, Y);
  multiply(r, dtype, t);
  for (int64_t i = 0; i < t->m * t->n; i += test_element_step()) {
    uint32_t sum = 0;
    for (int64_t k = 0; k < t->k; k++) sum += (uint32_t)left[place(&a, i / t->n, k)] * right[place(&b, k, i % t->n)];
    if (got[i] != (uint8_t)sum) FAIL("a product of bytes is wrong");
  }
}

static bool check_bytes_at(const char *simd, uint32_t unit) {
  rig r;
  uint32_t state = 1;
  if (!rig_open(&r, simd, unit, 2)) return false;
  for (int i = 0; i < BUFFER_BYTES; i++) {
    ((uint8_t *)memory_of(&r, A))[i] = (uint8_t)next(&state);
    ((uint8_t *)memory_of(&r, B))[i] = (uint8_t)next(&state);
  }
  for (int i = 0; i < TRIALS; i++) {
    check_bytes(&r, TSR_I8, &trials[i]);
    check_bytes(&r, TSR_U8, &trials[i]);
  }
  rig_close(&r);
  return true;
}

TEST(products_of_bytes_wrap_with_vnni) {
  if (!check_bytes_at("avx512_vnni", TSRI_CPU_VNNI)) SKIP("this processor has no AVX-512 VNNI");
}

TEST(products_of_bytes_wrap_with_amx) {
  if (!check_bytes_at("amx", TSRI_CPU_AMX)) SKIP("this processor has no AMX, or the system does not allow it");
}

// --- bf16 -------------------------------------------------------------------------------------------------------------------

static float widen(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

// Within the error of k roundings of f32 and one of bf16, whose last bit counts for a subnormal sum, too.
static void check_bf16(const rig *r, const trial *t) {
  tsri_layout a = layout(t, t->m, t->k, t->is_a_turned), b = layout(t, t->k, t->n, t->is_b_turned);
  const uint16_t *left = memory_of(r, A), *right = memory_of(r, B), *got = memory_of(r, Y);
  multiply(r, TSR_BF16, t);
  for (int64_t i = 0; i < t->m * t->n; i += test_element_step()) {
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < t->k; k++) {
      double x = (double)widen(left[place(&a, i / t->n, k)]) * (double)widen(right[place(&b, k, i % t->n)]);
      sum += x;
      magnitude += fabs(x);
    }
    double error = fabs((double)widen(got[i]) - sum);
    double bound = 0x1p-23 * (double)t->k * magnitude + 0x1p-8 * fabs(sum) + 0x1p-134;
    if (error <= bound) continue;
    printf("%d x %d x %d: element %d is %.9g, not %.9g\n", (int)t->m, (int)t->k, (int)t->n, (int)i,
           (double)widen(got[i]), sum);
    FAIL("a product of bf16 is wrong");
  }
}

// Numbers of all signs with `spread` exponents from `exponent` (as stored) on; one in eight is 0.
static void fill_bf16(const rig *r, int operand, uint32_t exponent, uint32_t spread) {
  uint32_t state = (uint32_t)operand + 7;
  uint16_t *to = memory_of(r, operand);
  for (int i = 0; i < BUFFER_BYTES / 2; i++) {
    uint32_t bits = next(&state);
    to[i] = (uint16_t)((bits & 0x807f) | (exponent + (bits >> 7) % spread) << 7);
    if (next(&state) % 8 == 0) to[i] = 0;
  }
}

static bool check_bf16_at(const char *simd, uint32_t unit) {
  rig r;
  if (!rig_open(&r, simd, unit, 2)) return false;
  fill_bf16(&r, A, 120, 8);
  fill_bf16(&r, B, 120, 8);
  for (int i = 0; i < TRIALS; i++) check_bf16(&r, &trials[i]);
  rig_close(&r);
  return true;
}

TEST(products_of_bf16_are_right_with_vdpbf16ps) {
  if (!check_bf16_at("avx512_bf16", TSRI_CPU_BF16)) SKIP("this processor has no AVX-512 BF16");
}

TEST(products_of_bf16_are_right_with_amx) {
  if (!check_bf16_at("amx", TSRI_CPU_AMX)) SKIP("this processor has no AMX, or the system does not allow it");
}

// Subnormal elements by large ones, and small ones whose products or sums are subnormal; first in some panels only.
static bool check_small_bf16_at(const char *simd, uint32_t unit) {
  static const struct { uint32_t a, b; } exponents[] = {{0, 230}, {230, 0}, {60, 66}, {1, 120}, {70, 80}};
  rig r;
  if (!rig_open(&r, simd, unit, 2)) return false;
  for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
    fill_bf16(&r, A, exponents[e].a, 3);
    fill_bf16(&r, B, exponents[e].b, 3);
    for (int i = 0; i < TRIALS; i++) check_bf16(&r, &trials[i]);
  }
  fill_bf16(&r, A, 120, 4);
  fill_bf16(&r, B, 120, 4);
  ((uint16_t *)memory_of(&r, A))[700] = 1;
  ((uint16_t *)memory_of(&r, B))[3] = 0x8003;
  for (int i = 0; i < TRIALS; i++) check_bf16(&r, &trials[i]);
  rig_close(&r);
  return true;
}

TEST(products_of_small_bf16_are_not_flushed_with_vdpbf16ps) {
  if (!check_small_bf16_at("avx512_bf16", TSRI_CPU_BF16)) SKIP("this processor has no AVX-512 BF16");
}

TEST(products_of_small_bf16_are_not_flushed_with_amx) {
  if (!check_small_bf16_at("amx", TSRI_CPU_AMX)) SKIP("this processor has no AMX, or the system does not allow it");
}

TEST(products_in_groups_have_the_same_bits_on_any_number_of_threads) {
  static const trial large[] = {{.m = 203, .n = 301, .k = 700},
                                {.m = 17, .n = 500, .k = 1000},
                                {.m = 17, .n = 490, .k = 1001, .is_b_turned = true}};
  static uint16_t alone[203 * 301];
  for (int i = 0; i < 6; i++) {
    const trial *t = &large[i / 2];
    for (int threads = 1; threads <= 4; threads++) {
      rig r;
      if (!rig_open(&r, "amx", TSRI_CPU_BF16, threads)) SKIP("this processor has no AVX-512 BF16");
      fill_bf16(&r, A, 120, 8);
      fill_bf16(&r, B, 120, 8);
      if (i % 2) ((uint16_t *)memory_of(&r, B))[40] = 2;  // one panel is exact
      multiply(&r, TSR_BF16, t);
      size_t bytes = (size_t)(t->m * t->n) * sizeof(uint16_t);
      if (threads == 1) memcpy(alone, memory_of(&r, Y), bytes);
      CHECK_BYTES(memory_of(&r, Y), alone, bytes);
      rig_close(&r);
    }
  }
}

#if TSRI_HAS_GROUPS
// The element of a panel for AMX: for each 64 bytes of k, 32 rows one after the other.
static uint16_t in_panels(const uint16_t *panels, int64_t k_count, int64_t line, int64_t k) {
  int64_t blocks = (k_count + 31) / 32;
  return panels[(line / 32 * blocks + k / 32) * 32 * 32 + line % 32 * 32 + k % 32];
}

// Packing needs AVX-512 alone, so it is checked on processors without AMX, too.
TEST(panels_of_a_for_amx_are_packed_from_any_steps) {
  static uint16_t from[1 << 18], panels[1 << 18];
  static const struct {
    int64_t lines, k, line_step, k_step;
  } cases[] = {{32, 32, 40, 1}, {33, 70, 75, 1},  {5, 16, 16, 1},    {40, 300, 1, 41},
               {7, 1, 1, 7},    {33, 513, 2, 67}, {20, 600, 1300, 2}};
  if (strcmp(tsri_cpu_simd_level(NULL), "avx512") != 0) SKIP("this processor has no AVX-512");
  for (int i = 0; i < 1 << 18; i++) from[i] = (uint16_t)(i * 7 + 1);
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    int64_t lines = cases[c].lines, k_count = cases[c].k;
    memset(panels, 0xff, sizeof panels);
    tsri_product_bf16_amx.pack_a(panels, lines, k_count, from, cases[c].line_step, cases[c].k_step);
    for (int64_t line = 0; line < (lines + 31) / 32 * 32; line++) {
      for (int64_t k = 0; k < (k_count + 31) / 32 * 32; k++) {
        bool is_there = line < lines && k < k_count;
        uint16_t wanted = is_there ? from[line * cases[c].line_step + k * cases[c].k_step] : 0;
        CHECK_EQ_INT(in_panels(panels, k_count, line, k), wanted);
      }
    }
  }
}
#endif

TEST(products_with_small_k_leave_the_tiles_of_amx_alone) {
  uint32_t units = TSRI_CPU_AMX | TSRI_CPU_VNNI;
  CHECK(tsri_product_groups_for(units, TSR_BF16, 7) == NULL);  // converted to f32
  CHECK(tsri_product_groups_for(units, TSR_I8, 15) == tsri_product_groups_for(TSRI_CPU_VNNI, TSR_I8, 15));
  CHECK(tsri_product_groups_for(units, TSR_BF16, 8) == tsri_product_groups_for(TSRI_CPU_AMX, TSR_BF16, 512));
}

TEST(a_level_includes_the_instructions_of_those_before_it) {
  uint32_t all = tsri_cpu_units("amx");
  CHECK_EQ_INT(tsri_cpu_units("avx512"), 0);
  CHECK_EQ_INT(tsri_cpu_units("baseline"), 0);
  CHECK_EQ_INT(tsri_cpu_units("avx512_vnni"), all & TSRI_CPU_VNNI);
  CHECK_EQ_INT(tsri_cpu_units("avx512_bf16"), all & (TSRI_CPU_VNNI | TSRI_CPU_BF16));
  CHECK_EQ_INT(tsri_cpu_units(NULL) & ~all, 0);
}
