// SPDX-License-Identifier: MIT
// What `tessera demo` shows of its training.
#include "demo_view.h"

#include <stdio.h>
#include <string.h>

#include "bench_time.h"
#include "digits.h"
#include "progress.h"
#include "term.h"

enum { BAR = 32, SHOWN_MOST = 8, WIDE = DIGITS_SIDE / 2, HIGH = DIGITS_SIDE / 4, GAP = 2 };

void demo_view_step(const demo_training *training, int steps) {
  static double last_ns;
  double now = bench_now_ns();
  if (now - last_ns < 5e7) return;  // 20 times a second
  last_ns = now;
  char bar[BAR + 1];
  int full = BAR * training->step_count / steps;
  memset(bar, '.', BAR);
  memset(bar, '#', (size_t)full);
  bar[BAR] = '\0';
  progress_show("[%s] step %d of %d  loss %.4f", bar, training->step_count, steps,
                (double)training->losses[training->step_count - 1]);
}

void demo_view_epoch(const demo_training *training, int steps) {
  const demo_epoch *epoch = &training->epochs[training->epoch_count - 1];
  progress_end();
  printf("epoch %d/%d  loss %.4f  %6.2f %% of %d unseen digits  %5.1f s\n", training->epoch_count,
         (steps + DEMO_BATCHES - 1) / DEMO_BATCHES, epoch->loss, 100 * epoch->accuracy, epoch->tried, epoch->seconds);
  fflush(stdout);
}

// A character covers 2 pixels across and 4 down, and is about as dark as these are.
static char character_at(const float *image, int column, int row) {
  static const char ramp[] = " .:-=+*#%@";
  float sum = 0;
  for (int y = 0; y < 4; y++) {
    for (int x = 0; x < 2; x++) sum += image[(4 * row + y) * DIGITS_SIDE + 2 * column + x];
  }
  int level = (int)(sum / 8 * 1.6f * 10);
  return ramp[level > 9 ? 9 : level];
}

// The first digits, of which the last ones are replaced by misread ones, at most two.
static int choose(const demo_training *t, const demo_digits *digits, int most, int *out_chosen) {
  int tried = demo_tried_count(t), count = most < tried ? most : tried, wrong = 0;
  for (int i = 0; i < count; i++) out_chosen[i] = i;
  for (int i = count; i < tried && wrong < 2 && wrong < count; i++) {
    if (t->predicted[i] != digits->test_labels[i]) out_chosen[count - ++wrong] = i;
  }
  return count;
}

void demo_view_digits(const demo_training *training, const demo_digits *digits) {
  int chosen[SHOWN_MOST], fit = term_columns() / (WIDE + GAP);
  int count = choose(training, digits, fit < SHOWN_MOST ? fit : SHOWN_MOST, chosen);
  printf("\n");
  for (int row = 0; row < HIGH; row++) {
    char line[SHOWN_MOST * (WIDE + GAP) + 1];
    int used = 0;
    for (int i = 0; i < count; i++) {
      const float *image = digits->test_images + (size_t)chosen[i] * DIGITS_PIXELS;
      for (int column = 0; column < WIDE; column++) line[used++] = character_at(image, column, row);
      for (int gap = 0; gap < GAP; gap++) line[used++] = ' ';
    }
    while (used > 0 && line[used - 1] == ' ') used--;
    printf("%.*s\n", used, line);
  }
  for (int i = 0; i < count; i++) {
    int label = digits->test_labels[chosen[i]], read = training->predicted[chosen[i]];
    char text[WIDE + 1];
    bool is_right = label == read;
    snprintf(text, sizeof text, is_right ? "    reads %d" : "reads %d, is %d", read, label);
    const char *begin = term_begin(is_right ? TERM_GOOD : TERM_BAD, term_has_colour());
    printf("%s%s%s%*s", begin, text, *begin ? term_end(TERM_GOOD, true) : "",
           i + 1 < count ? WIDE + GAP - (int)strlen(text) : 0, "");
  }
  printf("\n");
}
