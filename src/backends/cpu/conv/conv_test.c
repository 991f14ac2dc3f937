// SPDX-License-Identifier: MIT
// Native convolutions against a plain loop in f64: dtypes, SIMD levels, strides, layouts, and sizes beyond each block.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/dtype.h>

#include "backends/cpu/conv/conv.h"
#include "backends/cpu/rows/rows_testing.h"

enum { MOST = 1 << 17, AXES = TSRI_CONV_AXES };
enum { X, W, BIAS, Y, OPERANDS };

typedef struct rig {
  cpu_device *device;
  tsri_buffer *buffers[OPERANDS];
  tsr_dtype dtype;
  double *values[OPERANDS];  // as the dtype holds them
} rig;

static void rig_open(rig *r, int threads, const char *simd, tsr_dtype dtype) {
  r->device = open_device(threads, simd);
  r->dtype = dtype;
  uint32_t state = 3;
  for (int i = 0; i < OPERANDS; i++) {
    CHECK_OK(tsri_cpu_buffer_create((tsri_device *)r->device, MOST * tsr_dtype_bytes(dtype), &r->buffers[i]));
    r->values[i] = malloc(MOST * sizeof(double));
    CHECK(r->values[i] != NULL);
    for (int k = 0; k < MOST; k++) r->values[i][k] = (double)(random_word(&state) & 0xffff) / 65536 - 0.5;
    void *memory = tsri_cpu_buffer_host(NULL, r->buffers[i]);
    CHECK_OK(tsr_convert(dtype, memory, TSR_F64, r->values[i], MOST));
    CHECK_OK(tsr_convert(TSR_F64, r->values[i], dtype, memory, MOST));
  }
}

static void rig_close(rig *r) {
  for (int i = 0; i < OPERANDS; i++) {
    tsri_cpu_buffer_destroy((tsri_device *)r->device, r->buffers[i]);
    free(r->values[i]);
  }
  close_device(r->device);
}

// --- Cases ------------------------------------------------------------------------------------------------------------

// Sizes of a convolution; the rest of its description follows from them.
typedef struct conv_shape {
  int64_t images, groups, channels, out, size[AXES], kernel[AXES], stride[AXES], dilation[AXES], before[AXES],
      after[AXES];
  bool is_transposed, is_last, has_bias;
  tsri_activation activation;
} conv_shape;

static int64_t or_one(int64_t value) { return value ? value : 1; }

// Strides of [image, channel, axes …], or with channels last. Returns the count of elements.
static int64_t lay(int64_t images, int64_t channels, const int64_t *sizes, bool is_last, int64_t *image,
                   int64_t *channel, int64_t *axes) {
  int64_t step = is_last ? channels : 1;
  for (int i = AXES - 1; i >= 0; i--) {
    axes[i] = step;
    step *= sizes[i];
  }
  *channel = is_last ? 1 : step;
  *image = is_last ? step : step * channels;
  return images * *image;
}

static tsri_conv_op describe(const conv_shape *s) {
  tsri_conv_op op = {.is_transposed = s->is_transposed,
                     .has_bias = s->has_bias,
                     .images = s->images,
                     .groups = or_one(s->groups),
                     .channels = s->channels,
                     .out_channels = s->out,
                     .bias_step = 2,
                     .activation = s->activation};
  int64_t w_first = 0, w_second = 0;
  for (int i = 0; i < AXES; i++) {
    op.size[i] = or_one(s->size[i]);
    op.kernel[i] = or_one(s->kernel[i]);
    op.stride[i] = or_one(s->stride[i]);
    op.dilation[i] = or_one(s->dilation[i]);
    op.before[i] = s->before[i];
    int64_t reach = (op.kernel[i] - 1) * op.dilation[i] + 1, pads = s->before[i] + s->after[i];
    op.windows[i] = s->is_transposed ? (op.size[i] - 1) * op.stride[i] + reach - pads
                                     : (op.size[i] + pads - reach) / op.stride[i] + 1;
  }
  int64_t in = op.groups * op.channels, out = op.groups * op.out_channels;
  CHECK(lay(op.images, in, op.size, s->is_last, &op.x_image, &op.x_channel, op.x_axes) <= MOST);
  CHECK(lay(op.images, out, op.windows, s->is_last, &op.y_image, &op.y_channel, op.y_axes) <= MOST);
  // The weight is [out, channel of a group, axes …]; transposed: [channel, out of a group, axes …].
  CHECK(lay(s->is_transposed ? in : out, s->is_transposed ? op.out_channels : op.channels, op.kernel, false, &w_first,
            &w_second, op.w_axes) <= MOST);
  op.w_out = s->is_transposed ? w_second : w_first;
  op.w_channel = s->is_transposed ? w_first : w_second;
  op.w_group = w_first * (s->is_transposed ? op.channels : op.out_channels);
  return op;
}

static double activated(double x, tsri_activation activation) {
  if (activation == TSRI_ACTIVATION_RELU) return x > 0 ? x : 0;
  return activation == TSRI_ACTIVATION_GELU ? x * (1 + erf(x / sqrt(2))) / 2 : x;
}

// Along one axis: the position in x of the factor of kernel element k in result p; -1: there is none, since it is in the padding.
static int64_t source(const tsri_conv_op *op, int axis, int64_t p, int64_t k) {
  int64_t at = op->is_transposed ? p + op->before[axis] - k * op->dilation[axis]
                                 : p * op->stride[axis] + k * op->dilation[axis] - op->before[axis];
  if (op->is_transposed) at = at >= 0 && at % op->stride[axis] == 0 ? at / op->stride[axis] : -1;
  return at >= 0 && at < op->size[axis] ? at : -1;
}

// One element of the result; `out_magnitude` is the sum of its terms' magnitudes.
static double expected(const rig *r, const tsri_conv_op *op, int64_t image, int64_t group, int64_t out,
                       const int64_t *p, double *out_magnitude) {
  double sum = op->has_bias ? r->values[BIAS][(group * op->out_channels + out) * op->bias_step] : 0,
         magnitude = fabs(sum);
  for (int64_t k0 = 0; k0 < op->kernel[0]; k0++) {
    for (int64_t k1 = 0; k1 < op->kernel[1]; k1++) {
      for (int64_t k2 = 0; k2 < op->kernel[2]; k2++) {
        int64_t a = source(op, 0, p[0], k0), b = source(op, 1, p[1], k1), c = source(op, 2, p[2], k2);
        if (a < 0 || b < 0 || c < 0) continue;
        const double *x = r->values[X] + image * op->x_image + group * op->channels * op->x_channel +
                          a * op->x_axes[0] + b * op->x_axes[1] + c * op->x_axes[2];
        const double *w = r->values[W] + group * op->w_group + out * op->w_out + k0 * op->w_axes[0] +
                          k1 * op->w_axes[1] + k2 * op->w_axes[2];
        for (int64_t channel = 0; channel < op->channels; channel++) {
          double term = x[channel * op->x_channel] * w[channel * op->w_channel];
          sum += term;
          magnitude += fabs(term);
        }
      }
    }
  }
  *out_magnitude = magnitude;
  return activated(sum, op->activation);
}

static double tolerance(tsr_dtype dtype, double magnitude) {
  double sums = dtype == TSR_F64 ? 0x1p-48 : 0x1p-19, unit = dtype == TSR_F16    ? 0x1p-10
                                                             : dtype == TSR_BF16 ? 0x1p-7
                                                                                 : 0;
  return magnitude * (sums + unit);
}

static void run(const rig *r, const conv_shape *s) {
  tsri_native_op op = {.kind = TSRI_NATIVE_CONV, .dtype = r->dtype, .result = r->dtype, .is.conv = describe(s)};
  op.is.conv.x.buffer = r->buffers[X];
  op.is.conv.w.buffer = r->buffers[W];
  op.is.conv.bias.buffer = r->buffers[BIAS];
  op.is.conv.y.buffer = r->buffers[Y];
  memset(tsri_cpu_buffer_host(NULL, r->buffers[Y]), 0xff, MOST * tsr_dtype_bytes(r->dtype));  // NaN
  CHECK(tsri_cpu_has_conv(&op.is.conv));
  CHECK_OK(tsri_cpu_conv(r->device, &op));
  CHECK_OK(tsr_convert(TSR_F64, r->values[Y], r->dtype, tsri_cpu_buffer_host(NULL, r->buffers[Y]), MOST));
}

// Looks at `most` elements of the result, all over it.
static void check(const rig *r, const conv_shape *s, int64_t most) {
  tsri_conv_op op = describe(s);
  run(r, s);
  int64_t count = op.images * op.groups * op.out_channels * op.windows[0] * op.windows[1] * op.windows[2];
  int64_t step = count > most ? count / most : 1;
  for (int64_t i = 0; i < count; i += step) {
    int64_t rest = i, p[AXES];
    for (int axis = AXES - 1; axis >= 0; axis--) {
      p[axis] = rest % op.windows[axis];
      rest /= op.windows[axis];
    }
    int64_t channel = rest % (op.groups * op.out_channels), image = rest / (op.groups * op.out_channels);
    double magnitude = 0;
    double wanted = expected(r, &op, image, channel / op.out_channels, channel % op.out_channels, p, &magnitude);
    double got = r->values[Y][image * op.y_image + channel * op.y_channel + p[0] * op.y_axes[0] + p[1] * op.y_axes[1] +
                              p[2] * op.y_axes[2]];
    if (!(fabs(got - wanted) <= tolerance(r->dtype, magnitude))) {
      test_fail(__FILE__, __LINE__, "%s: %lld channels, kernel %lldx%lldx%lld, element %lld is %g, not %g",
                tsr_dtype_name(r->dtype), (long long)op.channels, (long long)op.kernel[0], (long long)op.kernel[1],
                (long long)op.kernel[2], (long long)i, got, wanted);
    }
  }
}

#define PAD1 .before = {0, 1, 1}, .after = {0, 1, 1}
static const conv_shape shapes[] = {
    {.images = 3, .channels = 5, .out = 17, .size = {1, 14, 14}, .kernel = {1, 3, 3}, PAD1, .has_bias = true},
    {.images = 2,
     .channels = 3,
     .out = 33,
     .size = {1, 9, 40},
     .kernel = {1, 3, 3},
     PAD1,
     .activation = TSRI_ACTIVATION_RELU},
    {.images = 1,
     .channels = 2,
     .out = 3,
     .size = {1, 40, 50},
     .kernel = {1, 5, 4},
     .stride = {1, 2, 3},
     .before = {0, 2, 1}},
    {.images = 2,
     .channels = 2,
     .out = 4,
     .size = {1, 20, 21},
     .kernel = {1, 3, 3},
     .dilation = {1, 3, 2},
     .stride = {1, 1, 2}},
    {.images = 2,
     .channels = 30,
     .out = 9,
     .size = {1, 6, 7},
     .kernel = {1, 3, 3},
     PAD1,
     .is_last = true,
     .has_bias = true},
    {.images = 2, .channels = 300, .out = 5, .size = {1, 5, 5}, .kernel = {1, 1, 1}, .has_bias = true},
    {.images = 1, .channels = 4, .out = 6, .size = {1, 9, 9}, .kernel = {1, 1, 1}, .stride = {1, 2, 2}},
    {.images = 1,
     .channels = 2,
     .out = 3,
     .size = {9, 10, 11},
     .kernel = {3, 2, 3},
     .stride = {2, 1, 1},
     .before = {1, 0, 1}},
    {.images = 1, .channels = 1, .out = 2, .size = {1, 30, 30}, .kernel = {1, 17, 19}, .has_bias = true},
    {.images = 1,
     .channels = 2,
     .out = 3,
     .size = {1, 1, 3000},
     .kernel = {1, 1, 7},
     .before = {0, 0, 3},
     .after = {0, 0, 3}},
    {.images = 2, .channels = 3, .out = 4, .size = {1, 70, 1}, .kernel = {1, 5, 1}, .stride = {1, 3, 1}},
    {.images = 3, .groups = 4, .channels = 3, .out = 5, .size = {1, 8, 7}, .kernel = {1, 3, 2}, .has_bias = true},
    {.images = 2, .groups = 19, .channels = 1, .out = 1, .size = {1, 12, 12}, .kernel = {1, 3, 3}, PAD1},
    {.images = 2,
     .groups = 6,
     .channels = 1,
     .out = 2,
     .size = {1, 12, 12},
     .kernel = {1, 3, 3},
     PAD1,
     .is_last = true},
    // Kernels larger than the result.
    {.images = 5, .channels = 7, .out = 19, .size = {1, 16, 16}, .kernel = {1, 14, 14}, .has_bias = true},
    {.images = 3, .channels = 40, .out = 40, .size = {1, 9, 9}, .kernel = {1, 7, 7}, .stride = {1, 1, 2}},
    {.images = 4, .channels = 6, .out = 16, .size = {1, 28, 28}, .kernel = {1, 13, 13}, PAD1, .dilation = {1, 2, 2}},
    {.images = 2,
     .channels = 3,
     .out = 600,
     .size = {1, 1, 12},
     .kernel = {1, 1, 11},
     .activation = TSRI_ACTIVATION_GELU},
    {.images = 2, .groups = 3, .channels = 20, .out = 4, .size = {1, 7, 7}, .kernel = {1, 6, 7}, .is_last = true},
    {.images = 300, .channels = 1, .out = 2, .size = {1, 1, 40}, .kernel = {1, 1, 38}},
    {.images = 1, .channels = 2, .out = 2, .size = {1, 33, 33}, .kernel = {1, 17, 18}, .before = {0, 0, 1}},
    // Transposed.
    {.is_transposed = true,
     .images = 2,
     .channels = 5,
     .out = 17,
     .size = {1, 14, 13},
     .kernel = {1, 3, 3},
     PAD1,
     .has_bias = true},
    {.is_transposed = true,
     .images = 2,
     .channels = 3,
     .out = 4,
     .size = {1, 7, 8},
     .kernel = {1, 3, 5},
     .stride = {1, 2, 3}},
    {.is_transposed = true,
     .images = 2,
     .channels = 3,
     .out = 4,
     .size = {1, 5, 6},
     .kernel = {1, 1, 2},
     .stride = {1, 2, 4},
     .has_bias = true},
    {.is_transposed = true,
     .images = 1,
     .channels = 3,
     .out = 4,
     .size = {1, 9, 6},
     .kernel = {1, 3, 3},
     .stride = {1, 4, 2},
     .dilation = {1, 2, 3}},
    {.is_transposed = true,
     .images = 1,
     .channels = 2,
     .out = 3,
     .size = {4, 5, 6},
     .kernel = {3, 2, 3},
     .stride = {2, 1, 2},
     .before = {1, 0, 1},
     .is_last = true},
    {.is_transposed = true,
     .images = 2,
     .groups = 3,
     .channels = 2,
     .out = 4,
     .size = {1, 6, 6},
     .kernel = {1, 4, 4},
     .stride = {1, 2, 2},
     PAD1},
};
#undef PAD1
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static const char *const levels[] = {"baseline", "avx2", NULL};

TEST(convolutions_are_sums_of_products_at_every_simd_level) {
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
    rig r;
    rig_open(&r, 2, levels[i], TSR_F32);
    for (int j = 0; j < SHAPES; j++) check(&r, &shapes[j], 1000);
    rig_close(&r);
  }
}

TEST(convolutions_of_every_float_are_rounded_once) {
  static const tsr_dtype dtypes[] = {TSR_F64, TSR_F16, TSR_BF16};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    rig r;
    rig_open(&r, 2, NULL, dtypes[i]);
    for (int j = 0; j < SHAPES; j++) check(&r, &shapes[j], 300);
    rig_close(&r);
  }
}

TEST(convolutions_have_the_same_bits_on_any_number_of_threads) {
  static float alone[MOST];
  rig one, three;
  rig_open(&one, 1, NULL, TSR_F32);
  rig_open(&three, 3, NULL, TSR_F32);
  for (int j = 0; j < SHAPES; j++) {
    run(&one, &shapes[j]);
    memcpy(alone, tsri_cpu_buffer_host(NULL, one.buffers[Y]), sizeof alone);
    run(&three, &shapes[j]);
    CHECK(memcmp(alone, tsri_cpu_buffer_host(NULL, three.buffers[Y]), sizeof alone) == 0);
  }
  rig_close(&one);
  rig_close(&three);
}

TEST(windows_that_are_spread_far_are_left_to_the_kernel) {
  conv_shape s = {.images = 1, .channels = 1, .out = 1, .size = {1, 300, 300}, .kernel = {1, 2, 2}};
  tsri_conv_op op = describe(&s);
  CHECK(tsri_cpu_has_conv(&op));
  op.dilation[1] = op.dilation[2] = 50000;
  CHECK(!tsri_cpu_has_conv(&op));
  op = describe(&s);
  op.stride[1] = INT32_MAX;
  CHECK(!tsri_cpu_has_conv(&op));
}
