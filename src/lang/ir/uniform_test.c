// SPDX-License-Identifier: MIT
#include "lang/lang_testing.h"

TEST(a_barrier_under_a_varying_condition_is_refused) {
  CHECK_REFUSED(IN_KERNEL("if (local.x < 4) barrier();"),
                "t.tk:2:18: error: barrier() stands where not all items of a group arrive\n    if (local.x < 4) "
                "barrier();\n                     ^\n"
                "t.tk:2:13: note: this condition may differ between the items of a group: it depends on local.x\n");
  CHECK_REFUSED(IN_KERNEL("u32 i = global.x; if (i < n) z[0] = group_sum(a);"),
                "error: group_sum() stands where not all items");
  CHECK_REFUSED(IN_KERNEL("u32 i = global.x; if (i < n) z[0] = group_sum(a);"), "it depends on 'i'");
  CHECK_REFUSED(IN_KERNEL("if (x[local.x] > 0) { } else barrier();"), "barrier() stands where");
  CHECK_REFUSED(IN_KERNEL("bool v = local.x < 4 && group_any(q); if (v) h[0] = 1;"), "group_any() stands where");
  CHECK_REFUSED(IN_KERNEL("z[0] = local.x < 4 ? subgroup_sum(a) : 0;"), "subgroup_sum() stands where");
}

TEST(a_barrier_under_a_uniform_condition_is_fine) {
  CHECK_FORM(IN_KERNEL("if (n > 4) barrier();"), "barrier");
  CHECK_FORM(IN_KERNEL("if (x[group.x] > 0) barrier();"), "barrier");
  CHECK_FORM(IN_KERNEL("for (u32 i = 0; i < n; i++) { if (i == 3) break; barrier(); }"), "barrier");
  CHECK_FORM(IN_KERNEL("f32 s = group_max(x[local.x]); if (s > 0) barrier();"), "barrier");
  CHECK_FORM(IN_KERNEL("if (group_any(local.x < n)) barrier();"), "barrier");
  CHECK_FORM(IN_KERNEL("f32 t[4]; t[n] = a; if (t[2] > 0) barrier();"), "barrier");
  CHECK_FORM(IN_KERNEL("if (local.x < 4) z[local.x] = 1; barrier();"), "barrier");
}

TEST(memory_that_others_write_is_not_uniform) {
  CHECK_REFUSED(IN_KERNEL("if (z[0] > 0) barrier();"), "it depends on an element of 'z'");
  CHECK_REFUSED(IN_KERNEL("shared f32 t[1]; t[0] = a; barrier(); if (t[0] > 0) barrier();"),
                "it depends on an element of 't'");
  CHECK_REFUSED(IN_KERNEL("i32 old = atomic_add(h, 0, 1); if (old == 0) barrier();"), "it depends on 'old'");
  CHECK_REFUSED(IN_KERNEL("f32 s = subgroup_sum(a); if (s > 0) barrier();"), "it depends on 's'");
}

TEST(a_variable_assigned_by_some_items_is_not_uniform) {
  CHECK_REFUSED(IN_KERNEL("u32 v = 0; if (local.x == 0) v = 1; if (v == 1) barrier();"), "it depends on 'v'");
  CHECK_REFUSED(IN_KERNEL("u32 v = 0; for (u32 i = 0; i < local.x; i++) v++; if (v > 2) barrier();"),
                "it depends on 'v'");
  CHECK_REFUSED(IN_KERNEL("f32 t[2]; if (local.x == 0) t[0] = 1; if (t[0] > 0) barrier();"),
                "it depends on an element of 't'");
  CHECK_REFUSED(
      IN_KERNEL("u32 v = 0; u32 w = 0; for (u32 i = 0; i < 9; i++) { if (w == 1) barrier(); w = v; v = local.x; }"),
      "it depends on 'w'");
}

TEST(items_that_leave_a_loop_early_are_missed_in_it) {
  CHECK_REFUSED(IN_KERNEL("for (u32 i = local.x; i < n; i += WG) barrier();"),
                "note: the number of rounds of this loop may differ between the items of a group: it depends on 'i'");
  CHECK_REFUSED(IN_KERNEL("while (true) { barrier(); if (x[local.x] > 0) break; }"),
                "note: some items of a group may leave the loop here");
  CHECK_REFUSED(IN_KERNEL("for (u32 i = 0; i < n; i++) { if (local.x == i) continue; barrier(); }"),
                "note: some items of a group may go on to the next round here");
  CHECK_FORM(IN_KERNEL("while (true) { if (x[local.x] > 0) break; } barrier();"), "barrier");
  CHECK_FORM(IN_KERNEL("for (u32 i = 0; i < n; i++) { barrier(); if (local.x == i) continue; z[i] = 1; }"), "barrier");
}

TEST(an_early_return_before_a_barrier_gets_its_hint) {
  CHECK_REFUSED(IN_KERNEL("if (global.x >= n) return;\nbarrier();"),
                "t.tk:3:1: error: barrier() stands where not all items of a group arrive");
  CHECK_REFUSED(IN_KERNEL("if (global.x >= n) return;\nbarrier();"),
                "hint: predicate the store instead of returning early");
  CHECK_FORM(IN_KERNEL("if (group.x >= n) return; barrier();"), "barrier");
  CHECK_REFUSED(IN_KERNEL("for (u32 i = 0; i < 4; i++) { if (local.x == i) return; }\nbarrier();"),
                "note: some items of a group may return here");
}

TEST(values_are_uniform_among_the_items_that_compute_them) {
  // After the return only some items are left, but all of them run the same number of iterations.
  CHECK_FORM(IN_KERNEL("if (global.x >= n) return; for (u32 i = 0; i < 3; i++) z[i] = 1;"), "loop (i_1 < 3u)");
  CHECK_FORM(IN_KERNEL("if (global.x >= n) return; for (u32 i = 0; i < 3; i++) { if (local.x == 2) break; z[i] = 1; }"),
             "loop ~(i_1 < 3u)");
}
