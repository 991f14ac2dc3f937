// SPDX-License-Identifier: MIT
// The four small programs that `tessera demo` runs on every device, and their results in plain C.
#include "demo_programs.h"

#include <stdlib.h>
#include <string.h>

enum {
  CHAIN_COUNT = 1000000,
  LAYER_ROWS = 256,
  LAYER_IN = 256,
  LAYER_OUT = 256,
  SOFTMAX_ROWS = 512,
  SOFTMAX_COLS = 1000,
  LAYER_X_COUNT = LAYER_ROWS * LAYER_IN,
  LAYER_W_COUNT = LAYER_IN * LAYER_OUT,
  LAYER_COUNT = LAYER_ROWS * LAYER_OUT,
  SOFTMAX_COUNT = SOFTMAX_ROWS * SOFTMAX_COLS,
  IMAGE_COUNT = DEMO_IMAGE_WIDTH * DEMO_IMAGE_HEIGHT,
  INPUT_COUNT = 2 * CHAIN_COUNT  // the largest number of inputs that a program takes
};

// --- Plain C ------------------------------------------------------------------------------------------------------------

// e to the x for |x| up to 700: 2^k times a power series of the rest.
static double plain_exp(double x) {
  const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  int k = (int)(x / (ln2_high + ln2_low) + (x < 0 ? -0.5 : 0.5));
  double rest = (x - k * ln2_high) - k * ln2_low, term = 1, sum = 1;
  for (int i = 1; i < 20; i++) {
    term *= rest / i;
    sum += term;
  }
  for (; k > 0; k--) sum *= 2;
  for (; k < 0; k++) sum /= 2;
  return sum;
}

static double plain_sigmoid(double x) { return 1 / (1 + plain_exp(-x)); }
static double plain_tanh(double x) { return 2 * plain_sigmoid(2 * x) - 1; }

static double plain_gelu_tanh(double x) {
  const double sqrt_2_over_pi = 0.79788456080286535588;
  return 0.5 * x * (1 + plain_tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

// --- A chain of element-wise operators: one kernel --------------------------------------------------------------------------

static tsr_status run_chain(tsr_device *device, const float *inputs, float *out_result) {
  size_t bytes = CHAIN_COUNT * sizeof(float);
  tsr_tensor *a = tsr_from_data(device, TSR_F32, TSR_SHAPE(CHAIN_COUNT), inputs, bytes);
  tsr_tensor *b = tsr_from_data(device, TSR_F32, TSR_SHAPE(CHAIN_COUNT), inputs + CHAIN_COUNT, bytes);
  tsr_tensor *gate = tsr_sigmoid(tsr_sub_scalar(tsr_mul_scalar(a, 3), 0.5));
  tsr_tensor *y = tsr_add(tsr_mul(gate, tsr_tanh(b)), tsr_relu(tsr_sub(a, b)));
  return tsr_read(y, out_result, bytes);
}

static void expect_chain(const float *inputs, double *out_result) {
  for (int i = 0; i < CHAIN_COUNT; i++) {
    double a = inputs[i], b = inputs[CHAIN_COUNT + i], rest = a - b;
    out_result[i] = plain_sigmoid(a * 3 - 0.5) * plain_tanh(b) + (rest > 0 ? rest : 0);
  }
}

// --- A layer: matmul, bias and activation -------------------------------------------------------------------------------------

static tsr_status run_layer(tsr_device *device, const float *inputs, float *out_result) {
  const float *w_data = inputs + LAYER_X_COUNT, *b_data = w_data + LAYER_W_COUNT;
  tsr_tensor *x =
      tsr_from_data(device, TSR_F32, TSR_SHAPE(LAYER_ROWS, LAYER_IN), inputs, sizeof(float) * LAYER_X_COUNT);
  tsr_tensor *w = tsr_from_data(device, TSR_F32, TSR_SHAPE(LAYER_IN, LAYER_OUT), w_data, sizeof(float) * LAYER_W_COUNT);
  tsr_tensor *b = tsr_from_data(device, TSR_F32, TSR_SHAPE(LAYER_OUT), b_data, sizeof(float) * LAYER_OUT);
  tsr_tensor *y = tsr_gelu_tanh(tsr_add(tsr_matmul(x, w), b));
  return tsr_read(y, out_result, sizeof(float) * LAYER_COUNT);
}

static void expect_layer(const float *inputs, double *out_result) {
  const float *w = inputs + LAYER_X_COUNT, *b = w + LAYER_W_COUNT;
  for (size_t row = 0; row < LAYER_ROWS; row++) {
    double *y = out_result + row * LAYER_OUT;
    for (size_t col = 0; col < LAYER_OUT; col++) y[col] = b[col];
    for (size_t k = 0; k < LAYER_IN; k++) {
      double x = inputs[row * LAYER_IN + k];
      for (size_t col = 0; col < LAYER_OUT; col++) y[col] += x * w[k * LAYER_OUT + col];
    }
    for (size_t col = 0; col < LAYER_OUT; col++) y[col] = plain_gelu_tanh(y[col]);
  }
}

// --- Softmax --------------------------------------------------------------------------------------------------------------------

static tsr_status run_softmax(tsr_device *device, const float *inputs, float *out_result) {
  size_t bytes = sizeof(float) * SOFTMAX_COUNT;
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(SOFTMAX_ROWS, SOFTMAX_COLS), inputs, bytes);
  return tsr_read(tsr_softmax(tsr_mul_scalar(x, 4), 1), out_result, bytes);
}

static void expect_softmax(const float *inputs, double *out_result) {
  for (size_t row = 0; row < SOFTMAX_ROWS; row++) {
    const float *x = inputs + row * SOFTMAX_COLS;
    double *y = out_result + row * SOFTMAX_COLS, sum = 0;
    for (int i = 0; i < SOFTMAX_COLS; i++) sum += y[i] = plain_exp(4.0 * x[i]);  // at most e^8: no overflow
    for (int i = 0; i < SOFTMAX_COLS; i++) y[i] /= sum;
  }
}

// --- A kernel of one's own: the Mandelbrot set ------------------------------------------------------------------------------------

// The whole Mandelbrot set, at an aspect ratio of three to two.
static const float image_left = -2.4f, image_top = -1.2f, image_step = 2.4f / DEMO_IMAGE_HEIGHT;

static const char image_text[] =
    "// How many rounds of z = z^2 + c stay within the circle of radius 2.\n"
    "kernel mandelbrot<WG = 16, WG_Y = 16>(out f32 rounds[], u32 width, u32 height, f32 left, f32 top, f32 step, u32 "
    "limit) {\n"
    "  u32 px = global.x, py = global.y;\n"
    "  if (px < width && py < height) {\n"
    "    f32 cx = left + f32(px) * step, cy = top + f32(py) * step, x = 0, y = 0;\n"
    "    u32 round = 0;\n"
    "    while (round < limit && x * x + y * y <= 4) {\n"
    "      f32 next = x * x - y * y + cx;\n"
    "      y = 2 * x * y + cy;\n"
    "      x = next;\n"
    "      round++;\n"
    "    }\n"
    "    rounds[py * width + px] = f32(round);\n"
    "  }\n"
    "}\n";

static tsr_status launch_image(tsr_kernel *kernel, tsr_tensor *rounds) {
  const tsr_arg args[] = {tsr_arg_tensor(rounds),        tsr_arg_int(DEMO_IMAGE_WIDTH), tsr_arg_int(DEMO_IMAGE_HEIGHT),
                          tsr_arg_float(image_left),     tsr_arg_float(image_top),      tsr_arg_float(image_step),
                          tsr_arg_int(DEMO_IMAGE_ROUNDS)};
  tsr_grid grid = tsr_grid_for(kernel, DEMO_IMAGE_WIDTH, DEMO_IMAGE_HEIGHT, 1);
  return tsr_kernel_launch(kernel, grid, args, sizeof args / sizeof args[0]);
}

static tsr_status run_image(tsr_device *device, const float *inputs, float *out_result) {
  (void)inputs;
  tsr_kernel *kernel = NULL;
  tsr_status status = tsr_kernel_build(&(tsr_kernel_desc){.source = image_text, .file_name = "mandelbrot.tk"}, &kernel);
  tsr_tensor *rounds = tsr_zeros(device, TSR_F32, TSR_SHAPE(DEMO_IMAGE_HEIGHT, DEMO_IMAGE_WIDTH));
  if (status == TSR_OK) status = launch_image(kernel, rounds);
  if (status == TSR_OK) status = tsr_read(rounds, out_result, sizeof(float) * IMAGE_COUNT);
  tsr_kernel_release(kernel);
  return status;
}

// Rounding the f64 result of two f32 numbers to f32 gives the result of f32 arithmetic. So each step rounds as the
// kernel does, and no compiler can fuse two steps to a multiply-add.
static float plain_multiply(float a, float b) { return (float)((double)a * b); }
static float plain_add(float a, float b) { return (float)((double)a + b); }

static int count_rounds(float cx, float cy) {
  float x = 0, y = 0;
  for (int round = 0; round < DEMO_IMAGE_ROUNDS; round++) {
    float xx = plain_multiply(x, x), yy = plain_multiply(y, y);
    if (!(plain_add(xx, yy) <= 4)) return round;
    y = plain_add(plain_multiply(2 * x, y), cy);
    x = plain_add(plain_add(xx, -yy), cx);
  }
  return DEMO_IMAGE_ROUNDS;
}

static void expect_image(const float *inputs, double *out_result) {
  (void)inputs;
  for (int py = 0; py < DEMO_IMAGE_HEIGHT; py++) {
    float cy = plain_add(image_top, plain_multiply((float)py, image_step));
    for (int px = 0; px < DEMO_IMAGE_WIDTH; px++) {
      float cx = plain_add(image_left, plain_multiply((float)px, image_step));
      out_result[py * DEMO_IMAGE_WIDTH + px] = count_rounds(cx, cy);
    }
  }
}

// --- All of them ----------------------------------------------------------------------------------------------------------------

const demo_program demo_programs[DEMO_PROGRAM_COUNT] = {
    {"chain", "8 element-wise ops, 10^6", "values up to 5, a few roundings of 2^-24 of that", 4e-6, CHAIN_COUNT,
     run_chain, expect_chain},
    {"layer", "gelu(x w + b), 256x256", "256 products up to 4 in a row, each sum rounded", 2e-4, LAYER_COUNT, run_layer,
     expect_layer},
    {"softmax", "softmax(4x), 512 rows of 1000", "values up to 0.02, exp and sum within a few roundings", 1e-7,
     SOFTMAX_COUNT, run_softmax, expect_softmax},
    {"kernel", "Mandelbrot, a user's kernel", "the language rounds every operation alike on all devices", 0,
     IMAGE_COUNT, run_image, expect_image},
};

bool demo_data_init(demo_data *data) {
  memset(data, 0, sizeof *data);
  data->inputs = malloc(INPUT_COUNT * sizeof *data->inputs);
  if (!data->inputs) return false;
  uint64_t state = 1;
  for (int i = 0; i < INPUT_COUNT; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    data->inputs[i] = (float)(state >> 40) / (float)(1 << 22) - 2;  // 24 bits: exact
  }
  for (int i = 0; i < DEMO_PROGRAM_COUNT; i++) {
    data->expected[i] = malloc(demo_programs[i].count * sizeof *data->expected[i]);
    if (!data->expected[i]) return false;
    demo_programs[i].expect(data->inputs, data->expected[i]);
  }
  return true;
}

void demo_data_deinit(demo_data *data) {
  free(data->inputs);
  for (int i = 0; i < DEMO_PROGRAM_COUNT; i++) free(data->expected[i]);
}
