// SPDX-License-Identifier: MIT
// The picture of `tessera demo`: on the left a contact sheet of unseen digits, on the right the loss of each step and the accuracy of each epoch.
#include "demo_sheet.h"

#include <math.h>
#include <stdio.h>

#include "canvas.h"
#include "digits.h"
#include "image.h"
#include "report.h"

enum {
  MARGIN = 32,
  HEADER = 92,  // height of the title
  COLUMNS = 12,
  ROWS = 6,        // of unseen digits in their order
  WRONG_ROWS = 2,  // of those that were misread
  SCALE = 2,
  DIGIT = DIGITS_SIDE * SCALE,
  CELL_WIDTH = DIGIT + 8,
  CELL_HEIGHT = DIGIT + 26,
  SECTION = 30,  // height of a heading
  SHEET_WIDTH = COLUMNS * CELL_WIDTH,
  CHART_WIDTH = 430,
  CHART_LEFT = MARGIN + SHEET_WIDTH + 70,
  WIDTH = CHART_LEFT + CHART_WIDTH + MARGIN,
  HEIGHT = HEADER + 2 * SECTION + (ROWS + WRONG_ROWS) * CELL_HEIGHT + MARGIN,
  LOSS_HEIGHT = 310,
  ACCURACY_HEIGHT = 240,
  TEXT_BYTES = 128
};

static const uint32_t background = 0xFAF9F6, card = 0xFFFFFF, text_colour = 0x22252A, faint = 0x7A7F87, grid = 0xE4E2DC,
                      blue = 0x2563C9, light_blue = 0xB9CDF0, green = 0x2E8B57, red = 0xD0342C;

// A text whose middle is at x.
static void centred(canvas *c, float x, float y, float size, uint32_t colour, const char *text) {
  canvas_text(c, x - canvas_text_width(size, text) / 2, y, size, colour, text);
}

// A text that ends at x.
static void right_aligned(canvas *c, float x, float y, float size, uint32_t colour, const char *text) {
  canvas_text(c, x - canvas_text_width(size, text), y, size, colour, text);
}

// --- Digits ------------------------------------------------------------------------------------------------------------------

static void draw_digit(canvas *c, int x, int y, const float *image, int label, int predicted) {
  char text[TEXT_BYTES];
  bool is_right = label == predicted;
  snprintf(text, sizeof text, is_right ? "%d" : "%d, is %d", predicted, label);
  canvas_image(c, x, y, SCALE, image, DIGITS_SIDE, DIGITS_SIDE, card, 0x1B1D22);
  canvas_frame(c, x, y, DIGIT, DIGIT, is_right ? 1 : 2, is_right ? grid : red);
  centred(c, (float)x + DIGIT / 2.0f, (float)(y + DIGIT + 7), 9, is_right ? green : red, text);
}

// Draws the first `most` digits, of all or of the misread ones.
static void draw_digits(canvas *c, int y, int most, bool only_wrong, const demo_training *t,
                        const demo_digits *digits) {
  int drawn = 0;
  for (int i = 0; i < demo_tried_count(t) && drawn < most; i++) {
    int label = digits->test_labels[i], predicted = t->predicted[i];
    if (only_wrong && label == predicted) continue;
    int column = drawn % COLUMNS, row = drawn / COLUMNS;
    draw_digit(c, MARGIN + column * CELL_WIDTH, y + row * CELL_HEIGHT, digits->test_images + i * DIGITS_PIXELS, label,
               predicted);
    drawn++;
  }
}

static void draw_contact_sheet(canvas *c, const demo_training *t, const demo_digits *digits) {
  char text[TEXT_BYTES];
  int tried = demo_tried_count(t), wrong = tried - demo_right_count(t, digits), y = HEADER;
  canvas_text(c, MARGIN, (float)y, 11, faint, "Digits that it has never seen, and what it reads");
  y += SECTION;
  draw_digits(c, y, COLUMNS * ROWS, false, t, digits);
  y += ROWS * CELL_HEIGHT;
  int most = COLUMNS * WRONG_ROWS;
  if (wrong == 0) snprintf(text, sizeof text, "It misread none of %d", tried);
  else if (wrong <= most) snprintf(text, sizeof text, "All that it misread, of %d", tried);
  else snprintf(text, sizeof text, "%d of the %d that it misread, of %d", most, wrong, tried);
  canvas_text(c, MARGIN, (float)y + 4, 11, faint, text);
  draw_digits(c, y + SECTION, most, true, t, digits);
}

// --- Charts --------------------------------------------------------------------------------------------------------------------

typedef struct chart {
  canvas *c;
  float left, top, width, height;
  float low, high;  // values at the bottom and at the top
} chart;

static float chart_y(const chart *ch, float value) {
  float part = (value - ch->low) / (ch->high - ch->low);
  return ch->top + ch->height * (1 - (part < 0 ? 0 : part > 1 ? 1 : part));
}

static void draw_grid_line(const chart *ch, float value, const char *label) {
  float y = chart_y(ch, value);
  canvas_fill(ch->c, (int)ch->left, (int)y, (int)ch->width, 1, grid);
  right_aligned(ch->c, ch->left - 8, y - 4, 9, faint, label);
}

// What the horizontal axis begins and ends with.
static void draw_range(const chart *ch, int first, int last, const char *unit) {
  char text[TEXT_BYTES];
  float y = ch->top + ch->height + 8;
  snprintf(text, sizeof text, "%s %d", unit, first);
  canvas_text(ch->c, ch->left, y, 9, faint, text);
  snprintf(text, sizeof text, "%d", last);
  if (last > first) right_aligned(ch->c, ch->left + ch->width, y, 9, faint, text);
}

static void draw_curve(const chart *ch, const float *values, int count, float thickness, uint32_t colour) {
  float step = count > 1 ? ch->width / (float)(count - 1) : 0;
  for (int i = 0; i + 1 < count; i++) {
    canvas_line(ch->c, ch->left + step * (float)i, chart_y(ch, values[i]), ch->left + step * (float)(i + 1),
                chart_y(ch, values[i + 1]), thickness, colour);
  }
}

// On a logarithmic scale, with a line for each power of ten; each step, and a mean in which older steps count less and less.
static void draw_loss(canvas *c, const demo_training *t) {
  static float exact[DEMO_EPOCHS_MOST * DEMO_BATCHES], smooth[DEMO_EPOCHS_MOST * DEMO_BATCHES];
  chart ch = {c, CHART_LEFT, HEADER + SECTION, CHART_WIDTH, LOSS_HEIGHT, 0, 1};
  float least = 0, most = 0, mean = 0;
  for (int i = 0; i < t->step_count; i++) {
    exact[i] = log10f(fmaxf(t->losses[i], 1e-4f));
    mean = i == 0 ? exact[0] : 0.92f * mean + 0.08f * exact[i];
    smooth[i] = mean;
    least = fminf(least, exact[i]);
    most = fmaxf(most, exact[i]);
  }
  ch.low = floorf(least);
  ch.high = most + 0.1f;
  canvas_text(c, ch.left, ch.top - SECTION, 11, faint, "Loss of each step");
  for (int decade = (int)ch.low; (float)decade <= ch.high; decade++) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.*f", decade < 0 ? -decade : 0, pow(10, decade));
    draw_grid_line(&ch, (float)decade, text);
  }
  draw_range(&ch, 1, t->step_count, "step");
  draw_curve(&ch, exact, t->step_count, 1, light_blue);
  draw_curve(&ch, smooth, t->step_count, 2.2f, blue);
}

static void draw_accuracy(canvas *c, const demo_training *t) {
  static const float lines[] = {80, 90, 95, 98, 99, 99.9f};
  // Errors on a logarithmic scale, so that 98 % and 99 % are well apart; 99.9 % and more are the top.
  chart ch = {c, CHART_LEFT, HEADER + SECTION + LOSS_HEIGHT + 80, CHART_WIDTH, ACCURACY_HEIGHT, -log10f(40), 1};
  float values[DEMO_EPOCHS_MOST];
  canvas_text(c, ch.left, ch.top - SECTION, 11, faint, "Unseen digits read right after each epoch, in %");
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.3g", (double)lines[i]);
    draw_grid_line(&ch, -log10f(fmaxf(100 - lines[i], 0.1f)), text);
  }
  for (int i = 0; i < t->epoch_count; i++) {
    values[i] = -log10f(fmaxf((float)(100 - 100 * t->epochs[i].accuracy), 0.1f));
  }
  draw_range(&ch, 1, t->epoch_count, "epoch");
  draw_curve(&ch, values, t->epoch_count, 2.2f, green);
  float step = t->epoch_count > 1 ? ch.width / (float)(t->epoch_count - 1) : 0;
  for (int i = 0; i < t->epoch_count; i++) {
    float x = ch.left + step * (float)i, y = chart_y(&ch, values[i]);
    canvas_line(c, x, y, x, y, 8, green);
  }
}

// --- The whole -------------------------------------------------------------------------------------------------------------------

static void draw_title(canvas *c, const demo_training *t, const demo_digits *digits, const char *device) {
  char text[TEXT_BYTES + TSR_NAME_BYTES];
  int tried = demo_tried_count(t);
  snprintf(text, sizeof text, "%.2f %% of %d unseen digits read right",
           tried > 0 ? 100.0 * demo_right_count(t, digits) / tried : 0, tried);
  canvas_text(c, MARGIN, 26, 20, text_colour, text);
  snprintf(text, sizeof text, "A network of %lld parameters, trained by Tessera in %.1f s: %d steps of %d digits on %s",
           (long long)t->parameter_count, t->seconds, t->step_count, DEMO_BATCH, device);
  canvas_text(c, MARGIN, 58, 11, faint, text);
}

bool demo_sheet_write(const char *path, const demo_training *training, const demo_digits *digits, const char *device) {
  canvas c;
  bool is_written = canvas_init(&c, WIDTH, HEIGHT, background);
  if (is_written) {
    draw_title(&c, training, digits, device);
    draw_contact_sheet(&c, training, digits);
    draw_loss(&c, training);
    draw_accuracy(&c, training);
    is_written = image_write(path, &(image_data){c.pixels, WIDTH, HEIGHT, 3});
  } else {
    report_no_memory();
  }
  canvas_deinit(&c);
  return is_written;
}
