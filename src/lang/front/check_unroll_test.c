// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

TEST(an_unrolled_loop_repeats_its_body_with_a_constant) {
  CHECK_FORM(IN_KERNEL("unroll for (u32 i = 0; i < 3; i++) y[i] = x[i + 1];"),
             "y[0u] = x[1u]\n  y[1u] = x[2u]\n  y[2u] = x[3u]");
  CHECK_FORM(IN_KERNEL("unroll for (i32 i = 6; i > 0; i -= 4) h[0] = i;"), "h[0u] = 6\n  h[0u] = 2");
  CHECK_FORM(IN_KERNEL("h[1] = 9; unroll for (u32 i = 4; i < 4; i++) h[0] = 1;"), "h[1u] = 9");
}

TEST(unrolled_loops_nest_and_choose_branches) {
  CHECK_FORM(IN_KERNEL("unroll for (u32 i = 0; i < 2; i++) { unroll for (u32 j = i; j < 2; j++) y[i * 2 + j] = a; }"),
             "y[0u] = a\n  y[1u] = a\n  y[3u] = a");
  CHECK_FORM(IN_KERNEL("unroll for (u32 i = 0; i < 2; i++) if (i == 1) h[i] = m;"), "h[1u] = m");
}

TEST(a_variable_may_be_called_unroll) { CHECK_FORM(IN_KERNEL("i32 unroll = 2; h[0] = unroll;"), "unroll_1 = 2"); }

TEST(what_cannot_be_unrolled_is_refused) {
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = 0; i < n; i++) y[i] = a;"),
                "error: the condition of an 'unroll for' must be known at compile time");
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = n; i < 4; i++) y[i] = a;"),
                "error: the first value of an 'unroll for' must be known at compile time");
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = 0; i < 4; i += n) y[i] = a;"),
                "error: the step of an 'unroll for' must be known at compile time");
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = 0; i < 4; z[0] = a) y[i] = a;"),
                "error: the step of an 'unroll for' changes its variable and nothing else");
  CHECK_REFUSED(IN_KERNEL("unroll for (;;) y[0] = a;"), "error: 'unroll for' declares one variable with a value");
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = 0; i < 1000; i++) y[i] = a;"),
                "error: an 'unroll for' of more than 256 rounds");
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = 0; i < 4; i++) i = 3;"), "error: 'i' cannot be assigned to");
  CHECK_REFUSED(IN_KERNEL("unroll for (u32 i = 0; i < 4; i++) { if (q) return; }"),
                "error: there is a 'return' in an 'unroll for'");
  CHECK_REFUSED(IN_KERNEL("while (q) { unroll for (u32 i = 0; i < 4; i++) { if (i32(i) == m) break; } }"),
                "hint: an 'unroll for' runs all its rounds");
}
