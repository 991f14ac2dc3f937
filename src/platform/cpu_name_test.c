// SPDX-License-Identifier: MIT
// Short names of processors.
#include "platform/platform.h"
#include "support/test.h"

static const char *short_name(const char *full) {
  static char name[128];
  tsri_cpu_short_name(full, name, sizeof name);
  return name;
}

TEST(short_names_keep_maker_and_model) {
  CHECK_STR(short_name("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"), "Intel Xeon Platinum 8375C");
  CHECK_STR(short_name("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz"), "Intel Xeon E5-2690 v4");
  CHECK_STR(short_name("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz"), "Intel Core i7-8650U");
  CHECK_STR(short_name("13th Gen Intel(R) Core(TM) i9-13900K"), "13th Gen Intel Core i9-13900K");
  CHECK_STR(short_name("AMD EPYC 7763 64-Core Processor"), "AMD EPYC 7763");
  CHECK_STR(short_name("AMD Ryzen 7 5800U with Radeon Graphics         "), "AMD Ryzen 7 5800U");
  CHECK_STR(short_name("Apple M2 Pro"), "Apple M2 Pro");
}

TEST(short_names_are_never_empty_where_the_name_is_not) {
  CHECK_STR(short_name("CPU @ 2.0GHz"), "CPU @ 2.0GHz");
  CHECK_STR(short_name(""), "");
}

TEST(short_names_are_cut_to_their_memory) {
  char name[8];
  tsri_cpu_short_name("AMD EPYC 7763 64-Core Processor", name, sizeof name);
  CHECK_STR(name, "AMD EPY");
  char one[1] = {'x'};
  tsri_cpu_short_name("AMD", one, sizeof one);
  CHECK_EQ_INT(one[0], 0);
  tsri_cpu_short_name("AMD", NULL, 0);
}
