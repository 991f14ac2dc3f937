// SPDX-License-Identifier: MIT
// Conditions and loops in which lanes go different ways, by hand and by chance.
#include <stdarg.h>

#include "backends/cpu/lanes/lanes_testing.h"

enum { COUNT = 777 };

typedef struct flow_params {
  uint32_t n, u;
} flow_params;

// kernel k<WG>(in i32 x[], inout i32 y[], u32 n, u32 u) { <body> } over COUNT items.
static void check_body(const char *body, const char *args) {
  char text[4096];
  snprintf(text, sizeof text,
           "kernel k<WG = 64>(in i32 x[], inout i32 y[], u32 n, u32 u) {\n  u32 i = global.x;\n  %s\n}\n", body);
  static int32_t x[COUNT], y[COUNT];
  uint64_t seed = 5;
  for (int i = 0; i < COUNT; i++) {
    x[i] = (int32_t)(next_random(&seed) % 200) - 100;
    y[i] = (int32_t)(next_random(&seed) % 1000);
  }
  test_buffer buffers[2] = {{x, sizeof x}, {y, sizeof y}};
  flow_params params = {.n = COUNT, .u = 5};
  for (int wg = 0; wg < 3; wg++) {
    static const uint32_t sizes[] = {64, 1, 256};
    char all[64];
    snprintf(all, sizeof all, "WG=%u %s", sizes[wg], args ? args : "");
    check_text(text, all, buffers, &params, (uint32_t[]){(COUNT + sizes[wg] - 1) / sizes[wg], 1, 1}, 0);
  }
}

TEST(lanes_past_the_end_store_nothing) {
  check_body("if (i < n) y[i] = x[i] + 1;", NULL);
  check_body("if (i >= n) return; y[i] = x[i] + 1;", NULL);
  check_body("if (n > i && i >= 3u) y[i] = x[i] * 2;", NULL);
  check_body("if (!(i >= n || i < 300)) y[i] = x[i] * 2;", NULL);
}

TEST(lanes_take_their_own_branch) {
  check_body("if (i < n) { if (x[i] > 0) y[i] = 1; else y[i] = 2; }", NULL);
  check_body("if (i < n) { i32 v = x[i]; if (v > 0) v = v * 2; else if (v < -50) v = 7; y[i] = v; }", NULL);
  check_body(
      "if (i < n) { i32 v = 3; if (x[i] % 2 == 0) { if (x[i] % 3 == 0) v = 6; else v = 2; v += 100; } y[i] = v; }",
      NULL);
  check_body(
      "if (i < n) { bool c = x[i] > 0; i32 v = 0; if (c) { c = false; v = 1; } else { c = true; v = 2; } y[i] = c ? v "
      ": -v; }",
      NULL);
}

TEST(lanes_leave_loops_one_by_one) {
  check_body("if (i < n) { i32 v = x[i]; while (v > 0) v -= 7; y[i] = v; }", NULL);
  check_body("if (i < n) { i32 s = 0; for (i32 k = 0; k < x[i]; k++) s += k; y[i] = s; }", NULL);
  check_body("if (i < n) { i32 s = 0; for (i32 k = 0; k < 50; k++) { if (k * 3 > x[i]) break; s += k; } y[i] = s; }",
             NULL);
  check_body(
      "if (i < n) { i32 s = 0; for (i32 k = 0; k < 50; k++) { if ((k + x[i]) % 3 == 0) continue; s += k; } y[i] = s; }",
      NULL);
  check_body(
      "if (i < n) { i32 s = 0; for (i32 k = 0; k < 40; k++) { if (x[i] > k) { if (k % 2 == 0) continue; s += 1; if (s "
      "> 9) break; } else { if (k > 30) break; s += 3; } s += 100; } y[i] = s; }",
      NULL);
  check_body(
      "if (i < n) { i32 s = 0; for (i32 a = 0; a < 9; a++) { for (i32 b = a; b < 9; b++) { if (a * b > x[i]) break; s "
      "+= b; } if (s > 50) continue; s += 1; } y[i] = s; }",
      NULL);
}

TEST(values_from_left_rounds_stay) {
  check_body(
      "if (i < n) { i32 last = -1; i32 k = 0; while (true) { last = k * x[i]; if (k > x[i]) break; k += 3; } y[i] = "
      "last + k; }",
      NULL);
  check_body(
      "if (i < n) { u32 j = i; for (u32 k = 0; k < 9; k++) { j = i + k; if (x[i] < i32(k) * 10) break; } y[i] = "
      "i32(j); }",
      NULL);
  check_body("if (i < n) { u32 k = i; while (k < n && x[k] < 50) k += 7; y[i] = i32(k); }", NULL);
  check_body("if (i < n) { i32 s = 0; u32 k = i; for (; k < n; k += 64) { s += x[k]; if (s > 100) break; } y[i] = s; }",
             NULL);
  check_body(
      "if (i < n) { i32 s = 0; u32 k = i; for (; k < n; k += 64) { s += x[k]; if (s > 100) break; } y[i] = s + i32(k); "
      "}",
      NULL);
}

TEST(uniform_branches_and_loops_jump) {
  check_body(
      "if (i < n) { i32 s = 0; for (u32 k = 0; k < u; k++) { if (k == 3) break; s += x[(i + k) % n]; } y[i] = s; }",
      NULL);
  check_body(
      "if (i < n) { i32 s = 0; for (u32 k = 0; k < u; k++) { if (k % 2 == 0) continue; s += x[(i + k) % n]; } y[i] = "
      "s; }",
      NULL);
  check_body("i32 s = 0; if (u > 3) s = 4; else s = 5; if (i < n) y[i] = s + (u > 100 ? 1 : x[i]);", NULL);
  check_body(
      "if (i < n) { i32 s = 0; while (s < 20) { if (u == 5) break; s++; } for (u32 k = 0; k < u; k++) { if (x[i] > 0) "
      "{ if (k == 2) break; s += 10; } s += 1; } y[i] = s; }",
      NULL);
}

TEST(choices_load_only_where_wanted) {
  check_body("if (i < n) y[i] = i > 0 ? x[i - 1] : 7;", NULL);
  check_body("if (i < n) y[i] = i == 0 ? 7 : x[i - 1];", NULL);
  check_body("if (i < n) y[i] = i + 1 < n ? x[i + 1] : x[0];", NULL);
  check_body("if (i < n) y[i] = i + 1 < n && x[i + 1] > 0 ? 1 : 0;", NULL);
  check_body("if (i < n) y[i] = i + 1 >= n || x[i + 1] > 0 ? 1 : 0;", NULL);
  check_body("if (i < n) y[i] = x[i] > 0 ? (x[i] > 50 ? x[n - 1 - i] : x[i] * 2) : (u == 5 ? x[i / 2] : 3);", NULL);
  check_body(
      "if (i < n) { bool b = x[i] > 0 && y[i] > 500; bool c = x[i] < -50 || x[n - 1 - i] > 50; y[i] = (b ? 1 : 0) + (c "
      "? 2 : 0); }",
      NULL);
}

TEST(counters_run_down_and_by_strides) {
  check_body("if (i < n) { i32 s = 0; for (u32 k = i; k < n; k += 3) s += x[k]; y[i] = s; }", NULL);
  check_body("i32 s = 0; for (i32 k = i32(i); k >= 0; k -= 5) if (k < i32(n)) s += x[k]; if (i < n) y[i] = s;", NULL);
  check_body("if (i < n) y[n - 1 - i] = x[i] + x[(i * 3) % n];", NULL);
  check_body("u32 j = n - 1 - i; if (j < n) y[j] = x[j] - 1;", NULL);
  check_body("for (u32 k = i; k < n; k += groups.x * WG) y[k] = x[k] ^ 5;", NULL);
  check_body("u32 k = group.x * WG + local.x; if (k < n) y[k] = x[k] + i32(local.x);", NULL);
  check_body("u32 k = group.x * WG + local.x; if (k < n) y[k] = x[k] + 9;", NULL);
}

TEST(a_group_in_three_dimensions_knows_its_ids) {
  const char *text =
      "kernel k<WG = 5, WG_Y = 3, WG_Z = 2>(out u32 y[], in f32 a[], out f32 b[], u32 w, u32 h, u32 d) {\n"
      "  u32 x = global.x, r = global.y, p = global.z;\n"
      "  if (x >= w || r >= h || p >= d) return;\n"
      "  u32 at = (p * h + r) * w + x;\n"
      "  y[at] = local.x + 10 * local.y + 100 * local.z + 1000 * group.x + 10000 * group.y + 100000 * group.z;\n"
      "  b[at] = a[(p * h + r) * w + (w - 1 - x)] + a[x] + a[r * w] + a[p] * 2;\n}";
  enum { W = 13, H = 7, D = 5 };
  static uint32_t y[W * H * D];
  static float a[W * H * D], b[W * H * D];
  for (int i = 0; i < W * H * D; i++) a[i] = (float)(i * 7 % 31);
  test_buffer buffers[3] = {{y, sizeof y}, {a, sizeof a}, {b, sizeof b}};
  check_text(text, NULL, buffers, (uint32_t[]){W, H, D}, (uint32_t[]){3, 3, 3}, 0);
}

TEST(indices_that_wrap_around_are_right) {
  // u32 arithmetic below 0 and back; a stride of -1 in u32.
  check_body("u32 j = i - 5; if (j < n) y[j] = x[j] + 1;", NULL);
  check_body("if (i < n) { u32 j = i * 4294967295 + (n - 1); y[j] = x[i]; }", NULL);
  check_body("i32 j = i32(i) - 5; if (j >= 0 && j < i32(n)) y[j] = x[j] + 1;", NULL);
  check_body("i64 j = i64(i) * 2; if (j < i64(n)) y[j] = x[j] + 1;", NULL);
  check_body("i64 j = i64(n) - 1 - i64(i); if (j >= 0) y[j] = x[j] + 1;", NULL);
}

// --- Kernels by chance ---

typedef struct writer {
  char *text;
  size_t length, bytes;
  uint64_t seed;
  int loops, vars;
  int named, names;  // variables declared in the blocks around; all so far
  int visible[64];
} writer;

static uint32_t pick(writer *w, uint32_t count) { return next_random(&w->seed) % count; }

static void put(writer *w, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(w->text + w->length, w->bytes - w->length, format, args);
  va_end(args);
  w->length += (size_t)length;
  CHECK(w->length < w->bytes);
}

static void put_expr(writer *w, int depth);

static void put_bool(writer *w, int depth) {
  static const char *const orders[] = {"<", "<=", ">", ">=", "==", "!="};
  uint32_t kind = depth > 0 ? pick(w, 6) : 0;
  if (kind < 4) {
    put(w, "(");
    put_expr(w, depth - 1);
    put(w, " %s ", orders[pick(w, 6)]);
    put_expr(w, depth - 1);
    put(w, ")");
  } else if (kind == 4) {
    put(w, "(");
    put_bool(w, depth - 1);
    put(w, pick(w, 2) ? " && " : " || ");
    put_bool(w, depth - 1);
    put(w, ")");
  } else {
    put(w, "!");
    put_bool(w, depth - 1);
  }
}

static void put_leaf(writer *w) {
  const char *loop = w->loops > 0 ? "k0" : "u";
  switch (pick(w, 12)) {
    case 8:
      put(w, "(i + %s < n ? x[i + %s] : 3)", loop, loop);
      break;
    case 9:
      put(w, "(i >= %s ? x[i - %s] : 4)", loop, loop);
      break;
    case 10:
      put(w, "x[n - 1 - i]");
      break;
    case 11:
      if (w->named > 0) {
        put(w, "w%d", w->visible[pick(w, (uint32_t)w->named)]);
        break;
      }
      put(w, "x[i]");
      break;
    case 0:
      put(w, "i32(%d)", (int)pick(w, 100) - 50);
      break;
    case 1:
      put(w, "i32(i)");
      break;
    case 2:
      put(w, "i32(u)");
      break;
    case 3:
      if (w->loops > 0) {
        put(w, "i32(k%u)", pick(w, (uint32_t)w->loops));
        break;
      }
      put(w, "i32(group.x)");
      break;
    default:
      put(w, "v%u", pick(w, (uint32_t)w->vars));
      break;
  }
}

static void put_expr(writer *w, int depth) {
  static const char *const operators[] = {"+", "-", "*", "/", "%", "&", "|", "^"};
  if (depth <= 0) {
    put_leaf(w);
    return;
  }
  switch (pick(w, 8)) {
    case 0:
    case 1:
      put_leaf(w);
      break;
    case 2:
      put(w, "x[u32(");
      put_expr(w, depth - 1);
      put(w, ") %% n]");
      break;
    case 3:
      put(w, "(");
      put_bool(w, depth - 1);
      put(w, " ? ");
      put_expr(w, depth - 1);
      put(w, " : ");
      put_expr(w, depth - 1);
      put(w, ")");
      break;
    case 4:
      put(w, "max(");
      put_expr(w, depth - 1);
      put(w, ", ");
      put_expr(w, depth - 1);
      put(w, ")");
      break;
    default:
      put(w, "(");
      put_expr(w, depth - 1);
      put(w, " %s ", operators[pick(w, 8)]);
      put_expr(w, depth - 1);
      put(w, ")");
      break;
  }
}

static void put_block(writer *w, int depth);

static void put_loop(writer *w, int depth) {
  int number = w->loops;
  put(w, "for (u32 k%d = %s; k%d < %s; k%d += %s) {\n", number, pick(w, 3) ? "0" : "i % 4", number,
      pick(w, 2) ? "u" : "u32(x[i] & 7)", number, pick(w, 3) ? "1" : "2");
  w->loops++;
  put_block(w, depth - 1);
  w->loops--;
  put(w, "}\n");
}

static void put_statement(writer *w, int depth) {
  switch (depth > 0 ? pick(w, 9) : 0) {
    case 1:
    case 2:
      put(w, "if ");
      put(w, "(");
      put_bool(w, 2);
      put(w, ") {\n");
      put_block(w, depth - 1);
      if (pick(w, 2)) {
        put(w, "} else {\n");
        put_block(w, depth - 1);
      }
      put(w, "}\n");
      break;
    case 3:
      if (w->loops < 3) {
        put_loop(w, depth);
        break;
      }
      put(w, "v0 += 1;\n");
      break;
    case 4:
      if (w->loops > 0) {
        put(w, "if (");
        put_bool(w, 1);
        put(w, ") %s;\n", pick(w, 2) ? "break" : "continue");
        break;
      }
      put(w, "v1 += v0;\n");
      break;
    case 5:
      put(w, "y[i] = v%u;\n", pick(w, (uint32_t)w->vars));
      break;
    case 6:
      put(w, "t[u32(v%u) %% 3] = v%u; v%u += t[%u];\n", pick(w, (uint32_t)w->vars), pick(w, (uint32_t)w->vars),
          pick(w, (uint32_t)w->vars), pick(w, 3));
      break;
    default:
      put(w, "v%u %s ", pick(w, (uint32_t)w->vars), pick(w, 2) ? "=" : "+=");
      put_expr(w, 3);
      put(w, ";\n");
      break;
  }
}

// Declares a variable that is assigned once, now and then.
static void put_name(writer *w) {
  if (pick(w, 2) || w->named >= 64) return;
  put(w, "i32 w%d = ", w->names);
  put_expr(w, 2);
  put(w, ";\n");
  w->visible[w->named++] = w->names++;
}

static void put_block(writer *w, int depth) {
  int named = w->named;
  put_name(w);
  for (uint32_t i = 0, count = 1 + pick(w, 4); i < count; i++) put_statement(w, depth);
  w->named = named;
}

TEST(kernels_by_chance_agree_with_the_reference) {
  static char body[1 << 16], text[(1 << 16) + 512];
  static int32_t x[COUNT], y[COUNT];
  for (int round = 0; round < test_rounds(400); round++) {
    writer w = {.text = body, .bytes = sizeof body, .seed = (uint64_t)round * 977 + 3, .vars = 4};
    put_block(&w, 4);
    // In a line, and in two dimensions.
    const char *head = round % 3 == 0
                           ? "kernel k<WG = 8, WG_Y = 6>(in i32 x[], inout i32 y[], u32 n, u32 u) {\n"
                             "  u32 i = global.y * (groups.x * WG) + global.x;\n"
                           : "kernel k<WG = 48>(in i32 x[], inout i32 y[], u32 n, u32 u) {\n  u32 i = global.x;\n";
    snprintf(text, sizeof text,
             "%s  i32 t[3];\n"
             "  i32 v0 = 0, v1 = 1, v2 = i32(i), v3 = i32(u);\n  if (i >= n) return;\n%s\n"
             "  y[i] = v0 ^ (v1 * 3) ^ (v2 * 5) ^ (v3 * 7) ^ t[1];\n}\n",
             head, body);
    uint64_t seed = (uint64_t)round;
    for (int i = 0; i < 200; i++) {
      x[i] = (int32_t)next_random(&seed) % 200;
      y[i] = i;
    }
    test_buffer buffers[2] = {{x, 200 * 4}, {y, 200 * 4}};
    flow_params params = {.n = 200, .u = (uint32_t)round % 6};
    tsri_kernel *kernel = kernel_of(text, NULL, round % 4 == 0);
    check_against_reference(kernel, buffers, &params, (uint32_t[]){5, 1, 1}, 0);
    tsri_kernel_release(kernel);
  }
}
