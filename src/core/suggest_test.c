// SPDX-License-Identifier: MIT
// Tests of the nearest word.
#include "core/suggest.h"

#include "support/test.h"

static const char *const words[] = {"devices", "config", "estimate", "version", "memory_limit", "log"};
#define WORD_COUNT (sizeof words / sizeof words[0])

static const struct {
  const char *text, *nearest;
} cases[] = {
    {"devices", "devices"},            // the word itself
    {"device", "devices"},             // a letter missing
    {"devicess", "devices"},           // a letter too many
    {"devixes", "devices"},            // a wrong letter
    {"deviecs", "devices"},            // two letters swapped
    {"DEVICES", "devices"},            // letter case
    {"memory-limit", "memory_limit"},  // '-' instead of '_'
    {"memorylimt", "memory_limit"},    // two mistakes in a long word
    {"mem", "memory_limit"},           // a beginning
    {"est", "estimate"},
    {"lgo", "log"},
    {"verison", "version"},
    {"xyz", NULL},
    {"lxx", NULL},  // two mistakes in a short word
    {"de", NULL},   // too short to be a beginning
    {"", NULL},
    {"devicesdevicesdevicesdevicesdevicesdevicesdevicesdevices", NULL},
};

TEST(nearest_word_is_found_within_a_third_of_mistakes) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CHECK_STR(tsri_text_nearest(cases[i].text, words, WORD_COUNT), cases[i].nearest);
  }
}

TEST(nearest_word_is_the_first_of_equally_near_ones) {
  const char *const pair[] = {"bat", "cat"};
  CHECK_STR(tsri_text_nearest("rat", pair, 2), "bat");
  CHECK_STR(tsri_text_nearest("ca", pair, 2), "cat");
}

TEST(nearest_of_no_words_is_none) { CHECK_STR(tsri_text_nearest("log", words, 0), NULL); }

TEST(nearest_word_passes_over_one_too_long_to_compare) {
  const char *const pair[] = {"a_word_that_is_much_longer_than_any_that_can_be_compared_here", "log"};
  CHECK_STR(tsri_text_nearest("log", pair, 2), "log");
}
