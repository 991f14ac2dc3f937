// SPDX-License-Identifier: MIT
// Loops of like rounds: that they are found, that they give what the reference gives to the last bit, and that what only
// looks like one does too.
#include "backends/cpu/lanes/lanes_testing.h"
#include "backends/cpu/lanes/program.h"

// Counts the loops of the kernel that the program runs in rounds (EXEC_…_ROUNDS).
static int rounds_in(const char *text, const char *args) {
  tsri_lanes_program *program = program_from(text, args, false);
  int count = 0;
  for (uint32_t i = 0; i < program->insn_count; i++) {
    uint16_t op = program->insns[i].op;
    count += op == EXEC_NARROW_ROUNDS || op == EXEC_LT_ROUNDS;
  }
  tsri_lanes_release(program);
  return count;
}

enum { MOST_ELEMENTS = 40000 };
static _Alignas(64) unsigned char memory_a[MOST_ELEMENTS * 8], memory_b[MOST_ELEMENTS * 8], memory_y[4096 * 8];

// Numbers of both signs with fractions, that fit every type; for floats also infinities and NaN if `has_corners`.
static void fill(tsr_dtype dtype, void *memory, bool has_corners) {
  static const double corners[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0};
  uint64_t seed = 5;
  size_t bytes = tsr_dtype_bytes(dtype);
  for (size_t i = 0; i < MOST_ELEMENTS; i++) {
    double value = (double)(next_random(&seed) % 2000) / 16 - (dtype == TSR_U8 || dtype == TSR_U32 ? 0 : 60);
    if (has_corners && next_random(&seed) % 512 == 0) value = corners[next_random(&seed) % 5];
    CHECK_OK(tsr_convert(dtype, (char *)memory + i * bytes, TSR_F64, &value, 1));
  }
}

// Under a sanitizer the reference takes long: a kernel runs with every third of its parameters, the next one with others.
static size_t parameter_step(void) { return test_rounds(10) < 10 ? 3 : 1; }

// Whether a test takes this step with this type: under a sanitizer each type has every other step, the next type the others.
static bool takes(int type, int step) { return parameter_step() == 1 || (type + step) % 2 == 0; }

static const uint32_t lengths[] = {0, 1, 255, 256, 257, 767, 768, 1100, 5000};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

// Computes y[0 .. count) from a (and b) with the kernel: by the reference and at every SIMD level.
static void check_kernel(const char *text, const char *args, tsr_dtype dtype, const uint32_t *params,
                         const uint32_t groups[3]) {
  size_t bytes = MOST_ELEMENTS * tsr_dtype_bytes(dtype);
  memset(memory_y, 0, sizeof memory_y);
  test_buffer buffers[3] = {{memory_a, bytes}, {memory_b, bytes}, {memory_y, sizeof memory_y}};
  check_text(text, args, buffers, params, groups, 0);
}

static const struct {
  const char *name;
  tsr_dtype dtype;
} types[] = {{"f32", TSR_F32}, {"f64", TSR_F64}, {"i32", TSR_I32}, {"u32", TSR_U32},
             {"i64", TSR_I64}, {"f16", TSR_F16}, {"u8", TSR_U8}};
enum { TYPES = sizeof types / sizeof types[0] };
static const char *const steps[] = {"acc + v", "v + acc", "max(acc, v)", "min(acc, v)", "max(v, acc)", "acc * v"};
enum { STEPS = sizeof steps / sizeof steps[0] };

static const char *compute_name(const char *name) {
  return strcmp(name, "f16") == 0 ? "f32" : strcmp(name, "u8") == 0 ? "u32" : name;
}

TEST(a_group_reduces_a_row_in_rounds) {
  for (int type = 0; type < TYPES; type++) {
    fill(types[type].dtype, memory_a, true);
    for (int step = 0; step < STEPS; step++) {
      if (!takes(type, step)) continue;
      const char *value = compute_name(types[type].name);
      char text[512];
      snprintf(text, sizeof text,
               "kernel k<WG = 256>(in %s a[], in %s b[], out %s y[], u32 m) { %s acc = 1; for (u32 r = local.x; r < m; "
               "r += WG) { %s v = a[group.x * m + r]; acc = %s; } y[global.x] = acc; }",
               types[type].name, types[type].name, value, value, value, steps[step]);
      CHECK_EQ_INT(rounds_in(text, NULL), 1);
      for (size_t i = (size_t)step % parameter_step(); i < LENGTHS; i += parameter_step()) {
        check_kernel(text, NULL, types[type].dtype, &lengths[i], (uint32_t[]){2, 1, 1});
      }
    }
  }
}

TEST(items_reduce_columns_in_rounds) {
  for (int type = 0; type < TYPES; type++) {
    fill(types[type].dtype, memory_a, true);
    for (int step = 0; step < STEPS; step++) {
      if (!takes(type, step)) continue;
      const char *value = compute_name(types[type].name);
      char text[512];
      snprintf(text, sizeof text,
               "kernel k<WG = 64>(in %s a[], in %s b[], out %s y[], u32 n, u32 m) { u32 i = global.x; if (i < n) { %s "
               "acc = 1; for (u32 r = 0; r < m; r++) { %s v = a[r * n + i]; acc = %s; } y[i] = acc; } }",
               types[type].name, types[type].name, value, value, value, steps[step]);
      CHECK_EQ_INT(rounds_in(text, NULL), 1);
      bool takes_both = parameter_step() == 1;
      if (takes_both || step % 4 < 2)
        check_kernel(text, NULL, types[type].dtype, (uint32_t[]){1000, 37}, (uint32_t[]){16, 1, 1});
      if (takes_both || step % 4 >= 2)
        check_kernel(text, NULL, types[type].dtype, (uint32_t[]){70, 500}, (uint32_t[]){2, 1, 1});
    }
  }
}

#define ROW_HEAD "kernel k<WG = 128>(in f32 a[], in f32 b[], out f32 y[], u32 m, u32 s) { f32 acc = 0; "
#define ROW_TAIL " y[global.x] = acc; }"

TEST(what_stands_before_the_step_is_done_in_rounds_too) {
  static const char *const loops[] = {
      "for (u32 r = local.x; r < m; r += WG) acc += a[r] * b[r];",
      "for (u32 r = local.x; r < m; r += WG) acc = fma(a[r], b[r], acc);",
      "for (u32 r = local.x; r < m; r += WG) acc += a[r] * a[r];",
      "for (u32 r = local.x; r < m; r += WG) { f32 d = a[r] - 1.5; acc += d * d * b[r]; }",
      "for (u32 r = local.x; r < m; r += WG) acc += sqrt(abs(a[r])) + floor(b[r]);",
      "for (u32 r = local.x; r < m; r += WG) acc = max(acc, abs(a[r]));",
      "for (i32 r = i32(local.x); r < i32(m); r += 128) acc += a[r];",
      "for (i32 r = i32(local.x); r <= i32(m) - 1; r += 128) acc += a[r];",
      "for (u32 r = local.x; r < m; r += WG) acc += a[r * 3];",
      "for (u32 r = local.x; r < m; r += WG) acc += a[r * s + 7] * b[r];",
      "for (u32 r = local.x; r < m; r += 40) acc += a[r];",
      "u32 p = 3 + group.x * s, q = 9 * s; for (u32 r = local.x; r < m; r += WG) acc = acc + a[p + r * s] * b[q + r * "
      "s];",
      "u32 p = 3 + group.x * s, q = 9 * s; for (u32 r = 0; r < m; r += 7) acc = acc + a[p + r + local.x] * b[q + r * s "
      "+ "
      "local.x] - a[q * r + local.x * 2];",
      "for (u32 r = 0; r < m; r++) acc += a[r + local.x] * b[local.x];",
      "for (i32 r = 0; r < i32(m); r += 2) acc += a[local.x * 16 + u32(r) * s];",
      "f32 other = 0; for (u32 r = local.x; r < m; r += WG) { acc += a[r]; other = max(other, b[r]); } acc += other;",
      "f32 before = 0; for (u32 r = local.x; r < m; r += WG) { f32 v = a[r]; acc += v * before; before = v; }",
      "for (u32 r = local.x; r < m; r += WG) acc += acc;",
      "for (u32 r = local.x; r < m; r += WG) acc = acc * 0.5 + a[r];",
  };
  static const uint32_t params[][2] = {{0, 3}, {127, 2}, {640, 2}, {900, 3}, {4000, 1}};
  fill(TSR_F32, memory_a, false);
  fill(TSR_F32, memory_b, false);
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", ROW_HEAD, loops[i], ROW_TAIL);
    if (!strstr(loops[i], "acc += acc")) CHECK_EQ_INT(rounds_in(text, NULL), 1);
    for (size_t k = i % parameter_step(); k < sizeof params / sizeof params[0]; k += parameter_step()) {
      check_kernel(text, NULL, TSR_F32, params[k], (uint32_t[]){2, 1, 1});
    }
  }
}

TEST(loops_that_are_no_such_rounds_are_right) {
  static const char *const loops[] = {
      "for (u32 r = local.x; r < m; r += WG) { if (a[r] > 100) break; acc += a[r]; }",
      "for (u32 r = local.x; r < m; r += WG) acc += a[r] * f32(r);",
      "for (u32 r = local.x; r < m; r += r / 2 + 1) acc += a[r];",
      "for (u32 r = local.x; r < m; r += WG) acc += a[r * r % 64];",
      "u32 end = m; for (u32 r = local.x; r < end; r += WG) { acc += a[r]; end -= 1; }",
      "for (u32 r = m; r > local.x; r--) acc += a[r];",
      "u32 at = 0; for (u32 r = local.x; r < m; r += WG) { acc += a[at + local.x]; at = at * 3 % 50; }",
      "f32 v = 0; for (u32 r = local.x; r < m; r += WG) { acc += v; v = a[r]; }",
  };
  fill(TSR_F32, memory_a, false);
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", ROW_HEAD, loops[i], ROW_TAIL);
    for (uint32_t m = 3; m < 3000; m = m * 3 + 1) {
      check_kernel(text, NULL, TSR_F32, (uint32_t[]){m, 1}, (uint32_t[]){1, 1, 1});
    }
  }
}

TEST(indices_that_wrap_around_are_right) {
  fill(TSR_I32, memory_a, false);
  static const char *const loops[] = {
      "for (u32 r = 100 + local.x; r < m; r += WG) acc += a[r + off];",
      "for (u32 r = 0; r < m; r++) acc += a[r * off + 4000 + local.x];",
      "for (i32 r = -3000; r < i32(m); r += 100) acc += a[u32(3000 + r) + local.x];",
  };
  static const uint32_t params[][3][2] = {{{900, 0u - 100u}, {165, 0u - 90u}, {2000, 0u - 1u}},
                                          {{20, 0u - 200u}, {5, 0xffffff00u}, {40, 0u - 3u}},
                                          {{0, 0}, {500, 0}, {0u - 100u, 0}}};
  for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "kernel k<WG = 64>(in i32 a[], in i32 b[], out i32 y[], u32 m, u32 off) { i32 acc = 0; %s y[global.x] = "
             "acc; }",
             loops[i]);
    CHECK_EQ_INT(rounds_in(text, NULL), 1);
    for (int k = 0; k < 3; k++) check_kernel(text, NULL, TSR_I32, params[i][k], (uint32_t[]){1, 1, 1});
  }
}

TEST(many_rounds_are_done_and_end_in_time) {
  fill(TSR_F32, memory_a, false);
  const char *text = ROW_HEAD "for (u32 r = local.x; r < m; r += WG) acc += a[r];" ROW_TAIL;
  check_kernel(text, NULL, TSR_F32, (uint32_t[]){MOST_ELEMENTS, 0}, (uint32_t[]){1, 1, 1});
  const char *endless = ROW_HEAD "for (u32 r = 0; r < 0xfffffff0u; r++) acc += a[local.x + s];" ROW_TAIL;
  CHECK_EQ_INT(rounds_in(endless, NULL), 1);
  tsri_lanes_program *program = program_from(endless, NULL, false);
  tsri_lanes_buffer buffers[3] = {{memory_a, 4096}, {memory_b, 4096}, {memory_y, 4096}};
  tsri_lanes_launch launch = {.buffers = buffers,
                              .buffer_count = 3,
                              .params = (uint32_t[]){1, 0},
                              .params_bytes = 8,
                              .groups = {1, 1, 1},
                              .threads = 1,
                              .timeout_ns = 20000000};
  CHECK_STATUS(tsri_lanes_run(program, &launch), TSR_ERR_TIMEOUT);
  tsri_lanes_release(program);
}
