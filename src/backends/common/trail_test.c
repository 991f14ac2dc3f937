// SPDX-License-Identifier: MIT
#include "backends/common/trail.h"

#include "support/test.h"

TEST(a_trail_names_each_library_once_with_what_the_loader_said) {
  char trail[200] = "";
  tsri_trail_add(trail, sizeof trail, "liba.so.1",
                 "liba.so.1: cannot open shared object file: No such file or directory");
  tsri_trail_add(trail, sizeof trail, "liba.so", "libb.so: cannot open shared object file: No such file or directory");
  tsri_trail_add(trail, sizeof trail, "/x/liba.so", "/x/liba.so: file too short");
  CHECK_STR(trail,
            "liba.so.1: not found; liba.so: libb.so: cannot open shared object file: No such file or directory; "
            "/x/liba.so: file too short");
}

TEST(a_trail_that_does_not_fit_is_cut) {
  char trail[12] = "";
  tsri_trail_add(trail, sizeof trail, "liba.so", "wrong machine");
  tsri_trail_add(trail, sizeof trail, "libb.so", "wrong machine");
  CHECK_STR(trail, "liba.so: wr");
}
