// SPDX-License-Identifier: MIT
// Kernels that a pass of src/lang/lower has rewritten do what the originals do. Both run as lane bytecode on the CPU.
#include <stdlib.h>

#include "backends/cpu/lanes/lanes.h"
#include "core/alloc.h"
#include "lang/emit/lanes/lanes.h"
#include "lang/lower/checks.h"
#include "lang/lower/collectives.h"
#include "lang/lower/flat.h"
#include "lang/lower/heights.h"
#include "lang/lower/hide.h"
#include "lang/lower/lazy.h"
#include "lang/lower/pairs.h"
#include "lang/lower/storage.h"
#include "lang/lower/uniform_conditions.h"
#include "lang/random_case.h"
#include "support/test.h"

static void run_kernel(const tsri_kernel *kernel, const tsri_lanes_buffer *buffers, const void *params,
                       uint32_t groups) {
  uint32_t *words = NULL;
  size_t bytes = 0;
  tsri_lanes_program *program = NULL;
  CHECK_OK(tsri_lanes_compile(kernel, &words, &bytes));
  CHECK_OK(tsri_lanes_prepare(words, bytes, &program));
  tsri_lanes_launch launch = {.buffers = buffers,
                              .buffer_count = kernel->buffer_count,
                              .params = params,
                              .params_bytes = kernel->params_bytes,
                              .groups = {groups, 1, 1},
                              .threads = 1,
                              .simd = "baseline"};
  CHECK_OK(tsri_lanes_run(program, &launch));
  tsri_lanes_release(program);
  tsri_free(words);
}

// --- Checks -----------------------------------------------------------------------------------------------------------

// Runs a checked kernel k(in u32 x[4], inout u32 y[4]) as statements, and compares what the report says ("": nothing).
static void check_report(const char *body, const char *wanted, const uint32_t y_wanted[4]) {
  char text[600], says[256];
  snprintf(text, sizeof text,
           "kernel k(in u32 x[], inout u32 y[], i32 i, i64 l) {\n  if (global.x > 0) return;\n%s\n}\n", body);
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", "", true), *lowered = NULL;
  CHECK_OK(tsri_lower_checks(kernel, &lowered));
  CHECK(!lowered->is_checked);
  CHECK_EQ_UINT(lowered->buffer_count, 3);
  CHECK_EQ_UINT(lowered->params_bytes, kernel->params_bytes + 16);
  uint32_t x[4] = {10, 20, 30, 40}, y[4] = {1, 2, 3, 4}, report[TSRI_EMIT_REPORT_WORDS] = {0}, params[16] = {0};
  const tsri_lanes_buffer buffers[] = {{x, sizeof x}, {y, sizeof y}, {report, sizeof report}};
  const uint64_t counts[2] = {4, 4};
  const uint32_t given[4] = {(uint32_t)-3, 0, 5, 0x100};  // i, a gap, l
  tsri_emitted code = {.has_report = true};
  tsri_emit_params(kernel, &code, given, counts, params);
  run_kernel(lowered, buffers, params, 1);
  (void)tsri_emit_decode_report(kernel, report, says, sizeof says);
  if (wanted[0] ? !strstr(says, wanted) : says[0] != '\0') {
    test_fail(__FILE__, __LINE__, "%s\nwanted: %s\nis: %s", body, wanted, says);
  }
  for (int k = 0; k < 4; k++) CHECK_EQ_UINT(y[k], y_wanted[k]);
  tsri_kernel_release(lowered);
  tsri_kernel_release(kernel);
}

TEST(an_index_in_range_leaves_no_report) {
  check_report("y[0] = x[3] + y[1]; y[1] = 7;", "", (uint32_t[]){42, 7, 3, 4});
  check_report("store4(y, 0, load4(x, 0));", "", (uint32_t[]){10, 20, 30, 40});
}

TEST(a_load_out_of_range_gives_0_and_a_report) {
  check_report("y[0] = x[4] + 5;", "index 4 is outside buffer 'x' of 4 elements (test.tk:3:", (uint32_t[]){5, 2, 3, 4});
  check_report("y[0] = x[i];", "index -3 is outside buffer 'x'", (uint32_t[]){0, 2, 3, 4});
  check_report("y[0] = x[l];", "index 1099511627781 is outside buffer 'x'", (uint32_t[]){0, 2, 3, 4});
  check_report("y[0] = load4(x, y[1]).x;", "index 2", (uint32_t[]){0, 2, 3, 4});
  check_report("u32 t[3]; y[0] = t[y[2]];", "index 3 is outside local array 't' of 3", (uint32_t[]){0, 2, 3, 4});
}

TEST(a_store_out_of_range_does_nothing_but_a_report) {
  check_report("y[5] = 9; y[1] = 8;", "index 5 is outside buffer 'y'", (uint32_t[]){1, 8, 3, 4});
  check_report("u32 old = 6; old = atomic_add(y, 4 + old, 1); y[0] = old;", "index 10", (uint32_t[]){0, 2, 3, 4});
}

TEST(only_the_first_index_out_of_range_is_told) {
  check_report("y[0] = x[6]; y[1] = x[7];", "index 6", (uint32_t[]){0, 0, 3, 4});
}

// Loads in an operand that is not evaluated must not be checked.
TEST(checks_stand_under_the_conditions_of_their_access) {
  check_report("if (y[0] > 3 && x[9] == 0) y[1] = 7;", "", (uint32_t[]){1, 2, 3, 4});
  check_report("if (y[0] == 1 || x[9] == 0) y[1] = 7;", "", (uint32_t[]){1, 7, 3, 4});
  check_report("y[0] = y[1] == 2 ? x[1] : x[8];", "", (uint32_t[]){20, 2, 3, 4});
  check_report("u32 n = 0; while (n < 4 && x[n] < 35) n++; y[0] = n;", "", (uint32_t[]){3, 2, 3, 4});
  check_report("u32 n = 0; for (u32 k = 0; x[k] > 5; k++) { if (k == 2) continue; n += k; }\ny[0] = n;", "index 4",
               (uint32_t[]){4, 2, 3, 4});
}

TEST(any_allocation_may_fail) {
  const char *text = "kernel k(in u32 x[], out u32 y[]) { u32 n = 0; while (n < 9 && x[n] > 3) n++; y[x[n]] = n; }";
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", "", true), *lowered = NULL;
  (void)tsri_alloc_fail_at(UINT64_MAX, false);
  CHECK_OK(tsri_lower_checks(kernel, &lowered));
  uint64_t requests = tsri_alloc_fail_at(0, false);
  CHECK(requests >= 9);
  tsri_kernel_release(lowered);
  for (uint64_t nth = 1; nth <= requests; nth++) {
    (void)tsri_alloc_fail_at(nth, false);
    tsr_status status = tsri_lower_checks(kernel, &lowered);
    (void)tsri_alloc_fail_at(0, false);
    CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    CHECK(lowered == NULL);
  }
  tsri_kernel_release(kernel);
}

// --- Collectives ------------------------------------------------------------------------------------------------------

// y after a kernel k(in i32 x[], inout i32 y[]) whose body is given, of one work-group of `items` items; x[i] = i * i % 23 - 9.
static void check_collective(const char *body, uint32_t items, const int32_t *wanted) {
  enum { MOST = 48 };
  char text[400];
  snprintf(text, sizeof text, "kernel k<WG = %u>(in i32 x[], out i32 y[]) { i32 v = x[local.x];\n%s\n}\n",
           (unsigned)items, body);
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", "", false), *lowered = NULL;
  CHECK_OK(tsri_lower_collectives(kernel, (tsri_collectives_options){.subgroup_size = 8}, &lowered));
  int32_t x[MOST], y[MOST] = {0};
  for (int i = 0; i < MOST; i++) x[i] = i * i % 23 - 9;
  const tsri_lanes_buffer buffers[] = {{x, sizeof x}, {y, sizeof y}};
  run_kernel(lowered, buffers, NULL, 1);
  for (uint32_t i = 0; i < items; i++) {
    if (y[i] != wanted[i])
      test_fail(__FILE__, __LINE__, "%s\n%u items: y[%u] is %d, not %d", body, items, i, y[i], wanted[i]);
  }
  tsri_kernel_release(lowered);
  tsri_kernel_release(kernel);
}

// Work-groups of one item, of whole subgroups and of parts of one.
TEST(collectives_through_shared_memory_combine_every_item_once) {
  static const uint32_t sizes[] = {1, 5, 8, 16, 21, 40};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint32_t n = sizes[k];
    int32_t sums[48], runs[48], least[48], any[48], given[48], bits[48];
    for (uint32_t i = 0; i < n; i++) {
      uint32_t first = i & ~7u, end = first + 8 < n ? first + 8 : n, from = first | ((i ^ 3u) & 7u);
      sums[i] = runs[i] = any[i] = bits[i] = 0;
      least[i] = INT32_MAX;
      for (uint32_t j = 0; j < n; j++) {
        int32_t v = (int32_t)(j * j % 23) - 9;
        sums[i] += v;
        if (j >= first && j < end) runs[i] += v;
        if (v < least[i]) least[i] = v;
        if (j >= first && j < end && v == 3) any[i] = 1;
        if (j >= first && j < end && v > 0) bits[i] |= 1 << (j - first);
      }
      given[i] = from < n ? (int32_t)(from * from % 23) - 9 : 0;
    }
    check_collective("i32 s = group_sum(v); y[local.x] = s;", n, sums);
    check_collective("i32 s = subgroup_sum(v); y[local.x] = s;", n, runs);
    check_collective("i32 s = group_min(v); y[local.x] = s;", n, least);
    check_collective("bool s = subgroup_any(v == 3); y[local.x] = i32(s);", n, any);
    check_collective("i32 s = subgroup_shuffle_xor(v, 3); y[local.x] = s;", n, given);
    check_collective("u32 s = subgroup_ballot(v > 0); y[local.x] = i32(s);", n, bits);
    check_collective("i32 s = group_sum(v); s = group_min(v + s - s); y[local.x] = s;", n, least);
  }
}

// --- Storage ------------------------------------------------------------------------------------------------------------

enum { SMALL = TSRI_STORAGE_BYTES | TSRI_STORAGE_HALVES, OF_F16 = 1u << TSR_F16 | 1u << TSR_BF16 };

// Lane bytecode cannot convert the bits of f16 and bf16, so buffers of them stay here.
static const tsri_storage_lacks small_lacks = {SMALL & ~OF_F16, SMALL, SMALL};

// The contents of y after 8 items of a kernel k(in T x[], inout T y[]). y holds `before` at the start, and x the bytes 0xf0 to 0xff.
static void check_packed(const char *type, const char *body, const char *before, const char *wanted) {
  char text[400];
  snprintf(text, sizeof text, "kernel k<WG = 8>(in %s x[], inout %s y[]) { u32 i = local.x;\n%s\n}\n", type, type,
           body);
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", "", false), *lowered = NULL;
  CHECK_OK(tsri_lower_storage(kernel, small_lacks, &lowered));
  for (uint32_t i = 0; i < 2; i++) CHECK_EQ_INT(lowered->buffers[i].storage, TSR_U32);
  _Alignas(8) unsigned char x[16], y[17];
  for (int i = 0; i < 16; i++) x[i] = (unsigned char)(0xf0 + i);
  memcpy(y, before, sizeof y);
  const tsri_lanes_buffer buffers[] = {{x, sizeof x}, {y, 16}};
  run_kernel(lowered, buffers, NULL, 1);
  if (memcmp(y, wanted, 16) != 0) test_fail(__FILE__, __LINE__, "%s %s\ny is %.16s, not %s", type, body, y, wanted);
  tsri_kernel_release(lowered);
  tsri_kernel_release(kernel);
}

TEST(elements_in_words_are_stored_beside_others) {
  check_packed("u8", "y[i] = 65 + i;", "abcdefghijklmnop", "ABCDEFGHijklmnop");
  check_packed("u8", "if (i % 3 == 1) y[i + 5] = 65 + i;", "abcdefghijklmnop", "abcdefBhiEklHnop");
  check_packed("i16", "if (i == 2) y[i + 1] = 16961;", "abcdefghijklmnop", "abcdefABijklmnop");
  check_packed("u8", "store2(y, i * 2, u32x2(65, 66));", "abcdefghijklmnop", "ABABABABABABABAB");
  check_packed("u8", "if (i == 1) store4(y, 4, u32x4(65, 66, 67, 324));", "abcdefghijklmnop", "abcdABCDijklmnop");
  check_packed("i16", "if (i == 1) store4(y, 4, i32x4(16961, 17475, 18, 19));", "abcdefghijklmnop",
               "abcdefghABCD\x12\0\x13\0");
}

TEST(elements_in_words_are_loaded_with_their_sign) {
  check_packed("u8", "y[i] = x[i + 8] - 183;", "abcdefghijklmnop", "ABCDEFGHijklmnop");
  check_packed("i8", "y[i] = i8(i32(x[i + 8]) + 73);", "abcdefghijklmnop", "ABCDEFGHijklmnop");
  check_packed("i8", "y[i] = load4(x, 8).w < 0 && load2(x, 10).x == -6 ? 65 : 66;", "abcdefghijklmnop",
               "AAAAAAAAijklmnop");
  check_packed("i16", "i32 v = x[0]; if (i == 0) y[0] = i16(v == -3600 ? 16961 : 0);", "abcdefghijklmnop",
               "ABcdefghijklmnop");
  check_packed("bool", "y[i] = x[i] & y[0];", "abcdefghijklmnop", "\1\1\1\1\1\1\1\1ijklmnop");
}

TEST(a_shared_or_local_array_of_values_keeps_what_its_elements_can_hold) {
  check_packed("u8", "shared u8 s[8]; u8 t[2]; s[i] = u8(x[i] + 81 + 256); barrier(); t[1] = s[7 - i]; y[i] = t[1];",
               "abcdefghijklmnop", "HGFEDCBAijklmnop");
  check_packed("u8", "shared bool s[8]; s[i] = i < 4; barrier(); y[i] = s[7 - i] ? 65 : 66;", "abcdefghijklmnop",
               "BBBBAAAAijklmnop");
  check_packed("u8", "f16 t[2]; t[1] = 2049.0; y[i] = t[1] == 2048 ? 65 : 66;", "abcdefghijklmnop", "AAAAAAAAijklmnop");
}

// --- Pairs of words -------------------------------------------------------------------------------------------------------

// A kernel with i64 gives the same results after i64 has been replaced by pairs of words.
static void check_pairs(const char *body) {
  enum { COUNT = 24 };
  static const int64_t values[COUNT] = {0,
                                        1,
                                        -1,
                                        7,
                                        -7,
                                        INT64_MAX,
                                        INT64_MIN,
                                        INT64_C(1) << 32,
                                        (INT64_C(1) << 32) - 1,
                                        -(INT64_C(1) << 32),
                                        INT64_C(0x123456789abcdef),
                                        -INT64_C(0x7edcba987654321),
                                        INT64_C(0x80000000),
                                        -INT64_C(0x80000000),
                                        33,
                                        63,
                                        1000000007,
                                        INT64_C(-4294967297),
                                        INT64_C(0x1000001000000),
                                        INT64_C(0x1000001000001),
                                        INT64_C(0x7fffff8000000000),
                                        INT64_C(0x7fffffc000000000),
                                        10,
                                        -10};
  char text[600];
  snprintf(text, sizeof text,
           "kernel k<WG = %d>(in i64 x[], inout i64 y[], inout f32 f[], i64 n) {\n"
           "  shared i64 s[%d];\n  i64 a = x[local.x];\n  for (u32 j = 0; j < %d; j++) { i64 b = x[j]; u32 at = "
           "local.x * %d + j;\n%s\n}\n}\n",
           COUNT, COUNT, COUNT, COUNT, body);
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", "", false), *lowered = NULL;
  CHECK_OK(tsri_lower_pairs(kernel, &lowered));
  for (uint32_t i = 1; i < lowered->expr_count; i++) CHECK(lowered->exprs[i].type.dtype != TSR_I64);
  for (uint32_t i = 1; i < lowered->var_count; i++) CHECK(lowered->vars[i].type.dtype != TSR_I64);
  static int64_t y[2][COUNT * COUNT];
  static float f[2][COUNT * COUNT];
  int64_t n = -INT64_C(0x300000005);
  for (int i = 0; i < 2; i++) {
    memset(y[i], 7, sizeof y[i]);
    memset(f[i], 0, sizeof f[i]);
    const tsri_lanes_buffer buffers[] = {{(void *)values, sizeof values}, {y[i], sizeof y[i]}, {f[i], sizeof f[i]}};
    run_kernel(i ? lowered : kernel, buffers, &n, 1);
  }
  for (int i = 0; i < COUNT * COUNT; i++) {
    if (y[0][i] == y[1][i] && memcmp(&f[0][i], &f[1][i], sizeof f[0][i]) == 0) continue;
    test_fail(__FILE__, __LINE__, "%s\na %lld, b %lld: y is %lld, not %lld; f is %a, not %a", body,
              (long long)values[i / COUNT], (long long)values[i % COUNT], (long long)y[1][i], (long long)y[0][i],
              (double)f[1][i], (double)f[0][i]);
  }
  tsri_kernel_release(lowered);
  tsri_kernel_release(kernel);
}

TEST(pairs_of_words_add_multiply_and_shift_as_64_bits_do) {
  check_pairs("y[at] = a + b;");
  check_pairs("y[at] = a - b;");
  check_pairs("y[at] = a * b;");
  check_pairs("y[at] = -a ^ (b & n | ~a);");
  check_pairs("y[at] = a << u32(b);");
  check_pairs("y[at] = a >> u32(b);");
  check_pairs("y[at] = popcount(a) + 100 * clz(b) + 10000 * ctz(a);");
  check_pairs("y[at] = min(a, b) - max(a, n) + abs(b) * sign(a);");
}

TEST(pairs_of_words_divide_as_64_bits_do) {
  check_pairs("y[at] = a / b;");
  check_pairs("y[at] = a % b;");
  check_pairs("i64x2 v = i64x2(a, b) / i64x2(b, n); y[at] = v.x ^ v.y;");
}

TEST(pairs_of_words_compare_and_choose_as_64_bits_do) {
  check_pairs(
      "y[at] = i64(a < b) + 2 * i64(a <= b) + 4 * i64(a > b) + 8 * i64(a >= b) + 16 * i64(a == b) + 32 * i64(a != b);");
  check_pairs("y[at] = a < b && x[j] / 3 > n || b == 33 ? a / b : select(a > 5, b, n);");
  check_pairs("i64 s = 0; while (s < b % 9 && a + s != 3) s++; y[at] = s;");
  check_pairs("i64 t[3]; t[j % 3] = a; t[1] += b; y[at] = t[0] + t[1] - t[2];");
}

TEST(pairs_of_words_are_converted_as_64_bits_are) {
  check_pairs("f[at] = f32(a * 3 + b); y[at] = i64(bool(a)) + i64(u8(b)) + i64(i16(a)) + i64(i32(b)) + i64(u32(a));");
  check_pairs("f[at] = f32(bf16(a + b));");
  check_pairs("f32 v = bitcast<f32>(u32(a) ^ u32(b)) * (j % 2 == 0 ? 1.0 : 1e9); y[at] = i64(v);");
  check_pairs("y[at] = i64(f32(a) * 1.5) + i64(f32(b) / 4.0);");
}

TEST(pairs_of_words_lie_in_memory_as_64_bits_do) {
  check_pairs("if (j % 4 == 0) store4(y, at, load4(x, j) + i64x4(a));");
  check_pairs("s[23 - local.x] = a; barrier(); y[at] = s[i64(j)]; barrier();");
  check_pairs("i64x2 v = load2(x, j & ~1u); v.x = n; y[at] = v.x + v.y * 2;");
}

// --- Forms of statements and expressions --------------------------------------------------------------------------------

// y after a kernel k(in i32 x[], inout i32 y[]) of 8 items whose body is given, with x[i] = 3 * i and y[i] = -i, is the same
// before and after a pass.
static void check_form_kept(const char *body, const tsri_kernel *lowered, const tsri_kernel *kernel) {
  int32_t x[8], y[2][8];
  for (int run = 0; run < 2; run++) {
    for (int i = 0; i < 8; i++) x[i] = 3 * i, y[run][i] = -i;
    const tsri_lanes_buffer buffers[] = {{x, sizeof x}, {y[run], sizeof y[run]}};
    run_kernel(run ? lowered : kernel, buffers, NULL, 1);
  }
  for (int i = 0; i < 8; i++) {
    if (y[0][i] != y[1][i]) test_fail(__FILE__, __LINE__, "%s\ny[%d] is %d, not %d", body, i, y[1][i], y[0][i]);
  }
}

typedef tsr_status (*form_pass)(const tsri_kernel *kernel, tsri_kernel **out_kernel);

// The kernel as the pass leaves it, which the caller releases before `*out_kernel`; its results were compared.
static tsri_kernel *formed(form_pass pass, const char *body, tsri_kernel **out_kernel) {
  char text[600];
  snprintf(
      text, sizeof text,
      "kernel k<WG = 8>(in i32 x[], inout i32 y[]) {\n  shared i32 s[8];\n  u32 i = local.x; s[i] = x[i];\n%s\n}\n",
      body);
  tsri_kernel *lowered = NULL;
  *out_kernel = emit_kernel_of("test.tk", text, "k", "", false);
  CHECK_OK(pass(*out_kernel, &lowered));
  if (!lowered) test_fail(__FILE__, __LINE__, "the pass has left this as it is:\n%s", body);
  check_form_kept(body, lowered, *out_kernel);
  return lowered;
}

static tsr_status lower_heights_to_3(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  return tsri_lower_heights(kernel, 3, out_kernel);
}

static uint32_t height_of(const tsri_kernel *k, uint32_t expr) {
  uint32_t height = 0;
  for (uint32_t i = 0; i < tsri_ir_operands(&k->exprs[expr]); i++) {
    uint32_t below = height_of(k, k->exprs[expr].args[i]) + 1;
    if (below > height) height = below;
  }
  return height;
}

TEST(expressions_are_cut_to_a_height_under_their_conditions) {
  static const char *const bodies[] = {
      "y[i] = x[0] + x[1] * (x[2] - x[3] * (x[4] + x[5] * (x[6] - x[i])));",
      "y[i] = i < 4 ? x[i] + (x[1] + (x[2] + (x[3] + x[i + 4]))) : 7;",
      "if (i < 4 && x[i + 4] + (x[1] + (x[2] + (x[3] + 2))) > 30 || i == 7) y[i] = 5;",
      "for (u32 j = 0; j + (j + (j + (j + j * 2))) < 40 + i; j = j + (1 + (i & (1 + (i & 1)))) * 1) y[i] += x[j % 8];",
  };
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    tsri_kernel *kernel = NULL, *lowered = formed(lower_heights_to_3, bodies[k], &kernel);
    for (uint32_t i = 1; i < lowered->expr_count; i++)
      CHECK(height_of(lowered, i) <= 3 + 1);  // a loop's negated condition
    tsri_kernel_release(lowered);
    tsri_kernel_release(kernel);
  }
}

TEST(operands_that_may_go_unevaluated_become_branches_or_selections) {
  static const char *const bodies[] = {
      "y[i] = i < 4 ? x[i + 4] : x[i - 4];",
      "y[i] = i < 4 && x[i + 4] > 13 ? 1 : 2;",
      "y[i] = i > 5 || x[i + 2] > 13 || i == 0 ? i32(i) : -1;",
      "y[i] = i > 2 && i < 6 ? i32(i) * 2 : i32(i) - 5;",
      "u32 n = 0; while (n < 8 && x[n] < i32(i) * 2) n++; y[i] = i32(n);",
      "if (i % 4 == 0) { i32x4 v = i < 4 ? i32x4(1, 2, 3, 4) : load4(x, 4); store4(y, i, v); }",
      "i32x2 v = i < 4 ? i32x2(1, 2) : i32x2(3, i32(i)); y[i] = v.x * 10 + v.y;",
  };
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    tsri_kernel *kernel = NULL, *lowered = formed(tsri_lower_lazy, bodies[k], &kernel);
    for (uint32_t i = 1; i < lowered->expr_count; i++) {
      uint8_t kind = lowered->exprs[i].kind;
      CHECK(kind != TSRI_EXPR_AND_THEN && kind != TSRI_EXPR_OR_ELSE && kind != TSRI_EXPR_COND);
    }
    tsri_kernel_release(lowered);
    tsri_kernel_release(kernel);
  }
}

static bool has_barrier(const tsri_kernel *k, uint32_t first, bool is_in_if) {
  bool found = false;
  for (uint32_t i = first; i; i = k->stmts[i].next) {
    bool is_if = k->stmts[i].kind == TSRI_STMT_IF;
    found |= k->stmts[i].kind == TSRI_STMT_BARRIER && is_in_if;
    found |=
        has_barrier(k, k->stmts[i].body, is_in_if || is_if) || has_barrier(k, k->stmts[i].other, is_in_if || is_if);
  }
  return found;
}

TEST(barriers_leave_their_conditions) {
  static const char *const bodies[] = {
      "if (x[1] == 3) { y[i] = s[0]; barrier(); y[i] += s[7 - i]; } else { barrier(); y[i] = 9; }",
      ("for (u32 j = 0; j < 6; j++) { if (x[j] == 6) continue; barrier(); y[i] += s[(i + j) % 8]; barrier();\n"
       "  if (x[j] == 12) break; s[i] += i32(j); }"),
      "if (x[2] == 6) { for (u32 j = 0; j < 3; j++) { barrier(); s[i] = s[(i + 1) % 8]; barrier(); } } y[i] = s[i];",
      "u32 n = 0; while (true) { barrier(); n++; if (n == 3) { if (x[0] == 0) { barrier(); break; } } } y[i] = i32(n);",
  };
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    tsri_kernel *kernel = NULL, *lowered = formed(tsri_lower_flat, bodies[k], &kernel);
    CHECK(has_barrier(kernel, kernel->body, false) || k == 1);
    CHECK(!has_barrier(lowered, lowered->body, false));
    tsri_kernel_release(lowered);
    tsri_kernel_release(kernel);
  }
}

static bool is_load_for_all(const tsri_ir_expr *x) { return x->kind == TSRI_EXPR_LOAD && x->op == TSRI_LOAD_FOR_ALL; }

// Elements of a local array may be uniform by our analysis, but never by that of WGSL.
TEST(one_item_decides_conditions_that_wgsl_takes_for_varying) {
  static const char *const bodies[] = {
      "u32 a[2]; a[1] = 3; for (u32 j = 0; j < a[1]; j++) { barrier(); s[i] += s[0]; barrier(); } y[i] = s[i];",
      "u32 a[2]; a[1] = 3; barrier(); if (a[1] == 3) { y[i] = s[7 - i]; barrier(); s[i] = 1; } y[i] += s[i];",
      "u32 a[2]; a[1] = 2; u32 n = 0; while (true) { barrier(); n++; if (n > a[1]) break; } y[i] = i32(n);",
  };
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    tsri_kernel *kernel = NULL, *lowered = formed(tsri_lower_uniform_conditions, bodies[k], &kernel);
    uint32_t loads = 0;
    for (uint32_t i = 1; i < lowered->expr_count; i++) loads += is_load_for_all(&lowered->exprs[i]);
    CHECK_EQ_UINT(loads, 1);
    tsri_kernel_release(lowered);
    tsri_kernel_release(kernel);
  }
}

// --- Random kernels ---------------------------------------------------------------------------------------------------

// The memory after a run of `kernel` on the case's inputs. If the kernel has one buffer more than the case, that buffer is the report.
static unsigned char *memory_after(const random_case *c, const tsri_kernel *kernel,
                                   uint32_t report[TSRI_EMIT_REPORT_WORDS]) {
  unsigned char *memory = aligned_alloc(32, c->bytes);
  CHECK(memory);
  memcpy(memory, c->inputs, c->bytes);
  tsri_lanes_buffer buffers[RANDOM_MAX_BUFFERS + 1];
  uint32_t params[16 + 2 * RANDOM_MAX_BUFFERS];
  uint64_t counts[RANDOM_MAX_BUFFERS];
  for (uint32_t i = 0; i < c->random.buffer_count; i++) {
    buffers[i] = (tsri_lanes_buffer){memory + c->offsets[i], random_case_bytes(c, i)};
    counts[i] = c->random.buffers[i].count;
  }
  buffers[c->random.buffer_count] = (tsri_lanes_buffer){report, TSRI_EMIT_REPORT_WORDS * sizeof *report};
  tsri_emit_params(c->kernel, &(tsri_emitted){.has_report = true}, c->params, counts, params);
  run_kernel(kernel, buffers, params, c->random.groups);
  return memory;
}

static void check_same(const random_case *c, const tsri_kernel *lowered, const char *pass) {
  uint32_t report[TSRI_EMIT_REPORT_WORDS] = {0};
  unsigned char *wanted = memory_after(c, c->kernel, report), *is = memory_after(c, lowered, report);
  if (memcmp(wanted, is, c->bytes) != 0 || report[0] != 0) {
    test_fail(__FILE__, __LINE__, "seed %u: %s changes results\n%s", (unsigned)c->random.seed, pass, c->random.text);
  }
  free(wanted);
  free(is);
}

TEST(random_kernels_do_the_same_with_checks) {
  for (uint64_t seed = 1; seed <= random_case_count(12); seed++) {
    random_case c;
    random_case_init(&c, seed, RANDOM_F64 | RANDOM_SUBGROUPS);
    tsri_kernel *checked = emit_kernel_of("random.tk", c.random.text, c.random.name, "", true), *lowered = NULL;
    CHECK_OK(tsri_lower_checks(checked, &lowered));
    check_same(&c, lowered, "checks");
    tsri_kernel_release(lowered);
    tsri_kernel_release(checked);
    random_case_deinit(&c);
  }
}

static void check_collectives(tsri_collectives_options options) {
  for (uint64_t seed = 1; seed <= random_case_count(12); seed++) {
    random_case c;
    tsri_kernel *lowered = NULL;
    random_case_init(&c, seed, RANDOM_F64 | RANDOM_SUBGROUPS);
    CHECK_OK(tsri_lower_collectives(c.kernel, options, &lowered));
    for (uint32_t i = 1; i < lowered->stmt_count; i++) {
      const tsri_ir_stmt *s = &lowered->stmts[i];
      if (s->kind != TSRI_STMT_COLLECTIVE) continue;
      CHECK(tsr_dtype_bytes((tsr_dtype)lowered->exprs[s->value].type.dtype) <= options.hardware_bytes);
      CHECK(tsri_ir_collective_infos[s->op].scope == TSRI_SCOPE_SUBGROUP);
      CHECK(!options.has_only_shuffles || tsri_ir_collective_infos[s->op].arity == 2);
    }
    check_same(&c, lowered, "collectives");
    tsri_kernel_release(lowered);
    random_case_deinit(&c);
  }
}

TEST(random_kernels_do_the_same_with_collectives_through_shared_memory) {
  check_collectives((tsri_collectives_options){.subgroup_size = 32});
}

TEST(random_kernels_do_the_same_with_small_elements_in_words) {
  for (uint64_t seed = 1; seed <= random_case_count(24); seed++) {
    random_case c;
    tsri_kernel *lowered = NULL;
    random_case_init(&c, seed, RANDOM_F64 | RANDOM_SUBGROUPS);
    CHECK_OK(tsri_lower_storage(c.kernel, small_lacks, &lowered));
    check_same(&c, lowered, "storage");
    tsri_kernel_release(lowered);
    random_case_deinit(&c);
  }
}

TEST(random_kernels_do_the_same_with_pairs_of_words) {
  for (uint64_t seed = 1; seed <= random_case_count(24); seed++) {
    random_case c;
    tsri_kernel *plain = NULL, *lowered = NULL;
    random_case_init(&c, seed, RANDOM_SUBGROUPS);
    CHECK_OK(tsri_lower_collectives(c.kernel, (tsri_collectives_options){.subgroup_size = 32}, &plain));
    CHECK_OK(tsri_lower_pairs(plain, &lowered));
    check_same(&c, lowered, "pairs");
    tsri_kernel_release(lowered);
    tsri_kernel_release(plain);
    random_case_deinit(&c);
  }
}

static tsr_status lower_lazy_and_hide(const tsri_kernel *kernel, tsri_kernel **out_kernel) {
  tsri_kernel *plain = NULL;
  *out_kernel = NULL;
  tsr_status status = tsri_lower_lazy(kernel, &plain);
  if (status == TSR_OK) status = tsri_lower_hide(plain ? plain : kernel, true, out_kernel);
  tsri_kernel_release(plain);
  return status;
}

TEST(any_allocation_may_fail_in_any_form) {
  static const form_pass passes[] = {lower_heights_to_3, tsri_lower_lazy, lower_lazy_and_hide, tsri_lower_flat,
                                     tsri_lower_uniform_conditions};
  const char *text =
      "kernel k<WG = 8>(in f32 x[], out f32 y[]) { shared f32 s[8]; u32 a[2]; a[1] = 3; u32 n = 0;\n"
      "  while (n < a[1]) { barrier(); if (x[n] > 3 && x[n + 1] - (x[2] * (x[3] + x[n])) > 0) break; n++; }\n"
      "  y[n] = n < 2 ? x[n] - x[n] : 0.0; }";
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", "", false), *lowered = NULL;
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    (void)tsri_alloc_fail_at(UINT64_MAX, false);
    CHECK_OK(passes[i](kernel, &lowered));
    uint64_t requests = tsri_alloc_fail_at(0, false);
    CHECK(lowered != NULL && requests >= 9);
    tsri_kernel_release(lowered);
    for (uint64_t nth = 1; nth <= requests; nth++) {
      (void)tsri_alloc_fail_at(nth, false);
      tsr_status status = passes[i](kernel, &lowered);
      (void)tsri_alloc_fail_at(0, false);
      CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
      CHECK(lowered == NULL);
    }
  }
  tsri_kernel_release(kernel);
}

static void check_forms(form_pass pass, const char *name) {
  for (uint64_t seed = 1; seed <= random_case_count(24); seed++) {
    random_case c;
    tsri_kernel *plain = NULL, *lowered = NULL;
    random_case_init(&c, seed, RANDOM_F64 | RANDOM_SUBGROUPS);
    CHECK_OK(tsri_lower_collectives(c.kernel, (tsri_collectives_options){.subgroup_size = 32}, &plain));
    CHECK_OK(pass(plain, &lowered));
    if (lowered) check_same(&c, lowered, name);
    tsri_kernel_release(lowered);
    tsri_kernel_release(plain);
    random_case_deinit(&c);
  }
}

TEST(random_kernels_do_the_same_in_other_forms) {
  check_forms(lower_heights_to_3, "heights");
  check_forms(tsri_lower_lazy, "lazy");
  check_forms(lower_lazy_and_hide, "hide");
  check_forms(tsri_lower_flat, "flat");
  check_forms(tsri_lower_uniform_conditions, "uniform conditions");
}

// Runs all passes in turn, each on the result of the pass before.
TEST(random_kernels_do_the_same_after_one_pass_upon_another) {
  for (uint64_t seed = 1; seed <= random_case_count(24); seed++) {
    random_case c;
    tsri_kernel *made[8] = {NULL};
    random_case_init(&c, seed, RANDOM_SUBGROUPS);
    tsri_kernel *checked = emit_kernel_of("random.tk", c.random.text, c.random.name, "", true);
    CHECK_OK(tsri_lower_checks(checked, &made[0]));
    CHECK_OK(tsri_lower_collectives(made[0], (tsri_collectives_options){.subgroup_size = 32}, &made[1]));
    CHECK_OK(tsri_lower_storage(made[1], small_lacks, &made[2]));
    CHECK_OK(tsri_lower_pairs(made[2], &made[3]));
    static const form_pass forms[] = {tsri_lower_flat, tsri_lower_lazy, lower_heights_to_3,
                                      tsri_lower_uniform_conditions};
    const tsri_kernel *last = made[3];
    for (int i = 0; i < 4; i++) {
      CHECK_OK(forms[i](last, &made[4 + i]));
      if (made[4 + i]) last = made[4 + i];
    }
    check_same(&c, last, "all of them");
    for (int i = 8; i-- > 0;) tsri_kernel_release(made[i]);
    tsri_kernel_release(checked);
    random_case_deinit(&c);
  }
}

TEST(random_kernels_do_the_same_with_work_group_collectives_made_of_those_of_subgroups) {
  check_collectives((tsri_collectives_options){.subgroup_size = 32, .hardware_bytes = 8});
  check_collectives((tsri_collectives_options){.subgroup_size = 32, .hardware_bytes = 4});
}

TEST(random_kernels_do_the_same_with_collectives_made_of_shuffles) {
  check_collectives((tsri_collectives_options){.subgroup_size = 32, .hardware_bytes = 4, .has_only_shuffles = true});
}
