// SPDX-License-Identifier: MIT
// Convolutions by cuDNN: which layouts are accepted, whether results and gradients are right, and what happens where cuDNN fails. Runs with the fake library, and on a GPU.
#include <math.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "backends/common/contest.h"
#include "backends/cuda/fixture.h"
#include "backends/cuda/settle.h"
#include "runtime/native_op.h"

enum { CHANNELS = 16, SIDE = 6, KERNEL = 3, GROUPS = 1 };
// Of the convolutions that conv_of describes.
static int64_t image_count = 2, result_channels = 16;

// A convolution and its operands; which of them is written depends on its kind.
typedef struct trial {
  fixture f;
  tsri_native_op op;
  tsr_dtype dtype;
  size_t counts[3];  // x, w, y
  double *values[3];
} trial;

static bool takes(const trial *t) {
  tsr_device device = {.backend = t->f.backend, .handle = t->f.device};
  return tsri_device_takes(&device, &t->op);
}

// Packed strides of [outer, channels, axes], with channels last in memory or not.
static void strides_of(bool is_last, int64_t channels, const int64_t *axes, int64_t *outer, int64_t *channel,
                       int64_t *strides) {
  int64_t next = is_last ? channels : 1;
  for (int i = TSRI_CONV_AXES - 1; i >= 0; i--) {
    strides[i] = next;
    next *= axes[i];
  }
  *channel = is_last ? 1 : next;
  *outer = is_last ? next : next * channels;
}

// Over two axes if depth is 1, else over three, of which the first has `depth` positions, no padding and no stride.
static tsri_conv_op conv_of(int64_t depth, bool is_last, int64_t stride, bool is_transposed) {
  int64_t windows = (SIDE - 1) / stride + 1, taps = depth > 1 ? 2 : 1;
  tsri_conv_op c = {.images = image_count,
                    .groups = GROUPS,
                    .channels = CHANNELS,
                    .out_channels = result_channels,
                    .size = {depth, SIDE, SIDE},
                    .kernel = {taps, KERNEL, KERNEL},
                    .windows = {depth - taps + 1, windows, windows},
                    .stride = {1, stride, stride},
                    .dilation = {1, 1, 1},
                    .before = {0, 1, 1}};
  strides_of(is_last, CHANNELS, c.size, &c.x_image, &c.x_channel, c.x_axes);
  strides_of(is_last, CHANNELS, c.kernel, &c.w_out, &c.w_channel, c.w_axes);
  strides_of(is_last, result_channels, c.windows, &c.y_image, &c.y_channel, c.y_axes);
  c.w_group = result_channels * c.w_out;
  if (!is_transposed) return c;
  tsri_conv_op t = c;  // the convolution whose gradient by x is wanted, seen from its result
  t.is_transposed = true;
  t.channels = result_channels;
  t.out_channels = CHANNELS;
  t.w_out = c.w_channel;
  t.w_channel = c.w_out;
  t.w_group = result_channels * c.w_out;
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    t.size[i] = c.windows[i];
    t.windows[i] = c.size[i];
    t.x_axes[i] = c.y_axes[i];
    t.y_axes[i] = c.x_axes[i];
  }
  t.x_image = c.y_image;
  t.x_channel = c.y_channel;
  t.y_image = c.x_image;
  t.y_channel = c.x_channel;
  return t;
}

static tsri_place *place_of(trial *t, int operand) {
  tsri_conv_op *c = &t->op.is.conv;
  return (tsri_place *[]){&c->x, &c->w, &c->y}[operand];
}

static int64_t product_of(const int64_t *axes) { return axes[0] * axes[1] * axes[2]; }

static trial begin(fixture f, tsr_dtype dtype, tsri_native_kind kind, tsri_conv_op conv) {
  trial t = {.f = f, .op = {.kind = kind, .dtype = dtype, .result = dtype}, .dtype = dtype};
  const tsri_conv_op *c = &t.op.is.conv;
  t.op.is.conv = conv;
  t.counts[0] = (size_t)(c->images * c->channels * product_of(c->size));
  t.counts[1] = (size_t)(c->channels * c->out_channels * product_of(c->kernel));
  t.counts[2] = (size_t)(c->images * c->out_channels * product_of(c->windows));
  for (int i = 0; i < 3; i++) {
    void *stored = malloc(t.counts[i] * tsr_dtype_bytes(dtype));
    t.values[i] = malloc(t.counts[i] * sizeof(double));
    for (size_t j = 0; j < t.counts[i]; j++) t.values[i][j] = (double)(rand() % 17 - 8) / 8;
    CHECK_OK(tsr_convert(dtype, stored, TSR_F64, t.values[i], t.counts[i]));
    place_of(&t, i)->buffer = fixture_buffer(&t.f, t.counts[i] * tsr_dtype_bytes(dtype), NULL);
    fixture_write(&t.f, place_of(&t, i)->buffer, 0, stored, t.counts[i] * tsr_dtype_bytes(dtype));
    free(stored);
  }
  return t;
}

static void end(trial *t) {
  for (int i = 0; i < 3; i++) {
    t->f.backend->buffer_destroy(t->f.device, place_of(t, i)->buffer);
    free(t->values[i]);
  }
}

static void unravel(const int64_t *axes, int64_t at, int64_t *out) {
  for (int i = TSRI_CONV_AXES - 1; i >= 0; i--) {
    out[i] = at % axes[i];
    at /= axes[i];
  }
}

static int64_t place_at(const int64_t *index, const int64_t *strides) {
  return index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2];
}

// Where a window of the convolution itself reads a kernel element's factor. False: in the padding.
static bool reach(const tsri_conv_op *c, const int64_t *window, const int64_t *tap, int64_t *out) {
  const int64_t *size = c->is_transposed ? c->windows : c->size;
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    out[i] = window[i] * c->stride[i] + tap[i] - c->before[i];
    if (out[i] < 0 || out[i] >= size[i]) return false;
  }
  return true;
}

// Adds the products of one window and kernel element, of all channels, to what they are part of.
static void multiply_channels(const trial *t, int64_t image, const int64_t *window, const int64_t *tap,
                              const int64_t *at, double *sums) {
  const tsri_conv_op *c = &t->op.is.conv;
  const int64_t *in = c->is_transposed ? window : at, *out = c->is_transposed ? at : window;
  for (int64_t o = 0; o < c->out_channels; o++) {
    for (int64_t ch = 0; ch < c->channels; ch++) {
      int64_t x = image * c->x_image + ch * c->x_channel + place_at(in, c->x_axes);
      int64_t w = o * c->w_out + ch * c->w_channel + place_at(tap, c->w_axes);
      int64_t y = image * c->y_image + o * c->y_channel + place_at(out, c->y_axes);
      if (t->op.kind == TSRI_NATIVE_CONV_WEIGHT) sums[w] += t->values[0][x] * t->values[2][y];
      else sums[y] += t->values[0][x] * t->values[1][w];
    }
  }
}

// Adds all products to what they are part of: w if the kind is CONV_WEIGHT, else y.
static void multiply(const trial *t, double *sums) {
  const tsri_conv_op *c = &t->op.is.conv;
  const int64_t *windows = c->is_transposed ? c->size : c->windows;  // of the convolution itself
  int64_t window[TSRI_CONV_AXES], tap[TSRI_CONV_AXES], at[TSRI_CONV_AXES];
  for (int64_t n = 0; n < c->images; n++) {
    for (int64_t q = 0; q < product_of(windows); q++) {
      unravel(windows, q, window);
      for (int64_t k = 0; k < product_of(c->kernel); k++) {
        unravel(c->kernel, k, tap);
        if (reach(c, window, tap, at)) multiply_channels(t, n, window, tap, at, sums);
      }
    }
  }
}

static void compare(trial *t) {
  int result = t->op.kind == TSRI_NATIVE_CONV_WEIGHT ? 1 : 2;
  size_t count = t->counts[result], bytes = count * tsr_dtype_bytes(t->dtype);
  double *sums = calloc(count, sizeof *sums), *got = malloc(count * sizeof *got);
  void *stored = malloc(bytes);
  CHECK(takes(t));
  CHECK_OK(t->f.backend->run_op(t->f.queue, &t->op));
  fixture_read(&t->f, place_of(t, result)->buffer, 0, stored, bytes);
  CHECK_OK(tsr_convert(TSR_F64, got, t->dtype, stored, count));
  multiply(t, sums);
  double bound = t->dtype == TSR_F16 ? 2e-3 : 1e-2;
  for (size_t i = 0; i < count; i++) CHECK_NEAR(got[i], sums[i], bound * (1 + fabs(sums[i])));
  free(sums);
  free(got);
  free(stored);
}

// Every direction, both orders, with and without strides.
static void check_all(fixture f, tsr_dtype dtype, int64_t depth) {
  for (int i = 0; i < 4; i++) {
    bool is_last = i % 2 == 0;
    int64_t stride = i < 2 ? 1 : 2;
    trial trials[] = {begin(f, dtype, TSRI_NATIVE_CONV, conv_of(depth, is_last, stride, false)),
                      begin(f, dtype, TSRI_NATIVE_CONV, conv_of(depth, is_last, stride, true)),
                      begin(f, dtype, TSRI_NATIVE_CONV_WEIGHT, conv_of(depth, is_last, stride, false))};
    for (int j = 0; j < 3; j++) {
      compare(&trials[j]);
      end(&trials[j]);
    }
  }
}

// Small convolutions go to cuDNN, too, and are not timed.
static void no_timing(void) {
  tsri_cuda_least_conv = 1 << 14;
  tsri_cuda_timing = (cuda_timing){.least_work = INT64_MAX};
}

TEST(convolutions_and_gradients_have_the_right_elements) {
  no_timing();
  fixture f = fixture_open();
  check_all(f, TSR_BF16, 1);
  check_all(f, TSR_BF16, 3);
  CHECK_EQ_INT(fixture_fake->convolutions, 24);
  CHECK_EQ_INT(fixture_fake->last_proposal, 2);  // the first that gives the same bits each time in the memory there is
  fixture_close(&f);
}

TEST(a_gpu_computes_convolutions_and_gradients) {
  no_timing();
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  trial t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  bool is_there = takes(&t);
  end(&t);
  if (is_there) {
    for (int64_t depth = 1; depth <= 3; depth += 2) {
      check_all(f, TSR_BF16, depth);
      check_all(f, TSR_F16, depth);
    }
  }
  fixture_close(&f);
  if (!is_there) SKIP("there is no cuDNN here");
}

TEST(what_cudnn_cannot_read_is_left_to_kernels) {
  no_timing();
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  tsri_conv_op good = t.op.is.conv;
  CHECK(takes(&t));
  t.op.is.conv.x_image += 8;  // not packed
  CHECK(!takes(&t));
  t.op.is.conv = good;
  t.op.is.conv.w_channel = KERNEL * KERNEL;  // the weights have another order
  CHECK(!takes(&t));
  t.op.is.conv = good;
  t.op.is.conv.windows[1]--;  // more padding on one side
  CHECK(!takes(&t));
  t.op.is.conv = good;
  t.op.is.conv.size[0] = 2;  // more elements than windows reach, and not packed
  CHECK(!takes(&t));
  t.op.is.conv = good;
  t.op.is.conv.has_bias = true;  // which an operator of its own adds
  CHECK(!takes(&t));
  t.op.is.conv = good;
  tsri_cuda_least_conv = INT64_MAX;  // too little work
  CHECK(!takes(&t));
  tsri_cuda_least_conv = 1;
  t.op.is.conv = good;
  t.op.dtype = t.op.result = TSR_F16;  // the fake has no algorithm for it
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
}

// Whether a convolution of f32 goes to cuDNN; computes it if so.
static bool takes_f32(fixture f, int64_t stride, bool is_last, bool is_transposed) {
  trial t = begin(f, TSR_F32, TSRI_NATIVE_CONV, conv_of(1, is_last, stride, is_transposed));
  bool is_taken = takes(&t);
  if (is_taken) compare(&t);
  end(&t);
  return is_taken;
}

TEST(f32_without_tf32_is_convolved_without_matrix_units) {
  no_timing();
  image_count = 4, result_channels = 32;
  fixture f = fixture_open();
  CHECK(takes_f32(f, 1, false, false));
  CHECK_EQ_INT(fixture_fake->last_proposal, 3);
  CHECK(!takes_f32(f, 2, false, false));  // too few results for the fake's multiprocessors
  CHECK(!takes_f32(f, 1, true, false));   // cuDNN's kernels have channels before the axes
  CHECK(!takes_f32(f, 1, false, true));   // our tiles are faster
  fixture_close(&f);
  f = fixture_open_with(&(tsri_open_options){.tf32 = true, .timeout_ns = UINT64_MAX});
  CHECK(takes_f32(f, 2, true, true));
  CHECK_EQ_INT(fixture_fake->last_proposal, 2);
  fixture_close(&f);
}

// Whether a convolution with groups goes to cuDNN: with `channels` and `out_channels` for each group, forward or, with the same weights, transposed.
static bool takes_groups(fixture f, tsr_dtype dtype, int64_t depth, bool is_last, int64_t groups, int64_t channels,
                         int64_t out_channels, int64_t dilation) {
  tsri_conv_op conv = conv_of(depth, is_last, 1, false);
  conv.groups = groups;
  conv.channels = channels;
  conv.out_channels = out_channels;
  conv.dilation[1] = conv.dilation[2] = dilation;
  conv.before[1] = conv.before[2] = dilation;
  strides_of(is_last, groups * channels, conv.size, &conv.x_image, &conv.x_channel, conv.x_axes);
  strides_of(is_last, groups * out_channels, conv.windows, &conv.y_image, &conv.y_channel, conv.y_axes);
  strides_of(is_last, channels, conv.kernel, &conv.w_out, &conv.w_channel, conv.w_axes);
  conv.w_group = out_channels * conv.w_out;
  trial t = {.f = f, .op = {.kind = TSRI_NATIVE_CONV, .dtype = dtype, .result = dtype, .is.conv = conv}};
  return takes(&t);
}

TEST(depthwise_convolutions_are_left_to_kernels_unless_channels_are_last) {
  no_timing();
  tsri_cuda_least_conv = 1;
  fixture f = fixture_open_with(&(tsri_open_options){.tf32 = true, .timeout_ns = UINT64_MAX});
  CHECK(takes_groups(f, TSR_BF16, 1, true, 8, 1, 1, 1));
  CHECK(!takes_groups(f, TSR_BF16, 1, false, 8, 1, 1, 1));
  CHECK(!takes_groups(f, TSR_BF16, 1, true, 8, 1, 1, 2));  // dilation
  CHECK(!takes_groups(f, TSR_BF16, 3, true, 8, 1, 1, 1));  // three axes
  CHECK(!takes_groups(f, TSR_F32, 1, true, 8, 1, 1, 1));
  CHECK(!takes_groups(f, TSR_BF16, 1, true, 1, 1, 1, 1));  // a single channel
  fixture_close(&f);
}

TEST(groups_of_few_or_unaligned_channels_are_left_to_kernels) {
  no_timing();
  tsri_cuda_least_conv = 1;
  fixture f = fixture_open_with(&(tsri_open_options){.tf32 = true, .timeout_ns = UINT64_MAX});
  CHECK(takes_groups(f, TSR_BF16, 1, true, 4, 16, 24, 1));
  CHECK(takes_groups(f, TSR_BF16, 3, true, 4, 16, 24, 1));
  CHECK(!takes_groups(f, TSR_BF16, 1, true, 4, 24, 25, 1));
  CHECK(!takes_groups(f, TSR_BF16, 1, true, 2, 8, 64, 1));
  CHECK(takes_groups(f, TSR_F32, 1, true, 2, 20, 16, 1));
  CHECK(!takes_groups(f, TSR_F32, 1, true, 2, 48, 50, 1));
  CHECK(takes_groups(f, TSR_F32, 1, true, 2, 60, 50, 1));  // long sums
  fixture_close(&f);
}

// What evaluating a convolution of 4 x 32 x 16^2 to `made` channels adds to the fake's counts.
typedef struct counts {
  int convolutions, launches;
} counts;

static counts counts_of(tsr_device *device, const fake_cuda *fake, tsr_dtype dtype, int64_t made, int64_t groups,
                        bool has_bias) {
  tsr_tensor *x = tsr_contiguous(tsr_zeros(device, dtype, TSR_SHAPE(4, 32, 16, 16))),
             *w = tsr_contiguous(tsr_zeros(device, dtype, TSR_SHAPE(made, 32 / groups, 3, 3))),
             *bias = tsr_contiguous(tsr_zeros(device, dtype, TSR_SHAPE(made)));
  tsr_tensor *const operands[] = {x, w, bias};
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_evaluate(operands[i]));
  counts before = {fake->convolutions, fake->launches};
  CHECK_OK(tsr_evaluate(tsr_relu(
      tsr_conv(x, w, has_bias ? bias : NULL, &(tsr_conv_desc){.groups = groups, .padding = TSR_PADDING_SAME}))));
  return (counts){fake->convolutions - before.convolutions, fake->launches - before.launches};
}

TEST(convolutions_keep_the_order_of_x_where_cudnn_is_faster_so) {
  no_timing();
  fake_cuda *fake = fixture_use_fake();
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &device));
  tsr_scope *scope = tsr_scope_begin(device);
  static const struct {
    int64_t made, groups;
    bool has_bias;
    int launches;
  } cases[] = {{32, 1, false, 1},  // x is small: the only kernel is relu
               {30, 1, false, 1},  // channels that are not aligned
               {32, 2, false, 1},  // groups
               {32, 1, true, 1},   // the bias is added by relu's kernel
               {32, 2, true, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    counts found = counts_of(device, fake, TSR_BF16, cases[i].made, cases[i].groups, cases[i].has_bias);
    CHECK_EQ_INT(found.convolutions, 1);
    CHECK_EQ_INT(found.launches, cases[i].launches);
  }
  // x that is no packed tensor is copied to channels last, whatever the groups.
  tsr_tensor *x = tsr_contiguous(tsr_zeros(device, TSR_BF16, TSR_SHAPE(4, 32, 16, 17))),
             *w = tsr_contiguous(tsr_zeros(device, TSR_BF16, TSR_SHAPE(32, 16, 3, 3)));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(w));
  int before = fake->convolutions;
  CHECK_OK(tsr_evaluate(tsr_conv(tsr_slice(x, 3, 0, 16, 1), w, NULL, &(tsr_conv_desc){.groups = 2})));
  CHECK_EQ_INT(fake->convolutions - before, 1);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(channels_last_are_asked_for_where_they_are_worth_a_copy) {
  cuda_conv usual = {.dtype = TSR_BF16,
                     .axes = 2,
                     .images = 64,
                     .groups = 1,
                     .channels = 64,
                     .out_channels = 64,
                     .size = {1, 56, 56},
                     .kernel = {1, 3, 3},
                     .windows = {1, 56, 56}};
  cuda_conv c = usual;
  CHECK(!tsri_cuda_conv_prefers_first(&c));
  c.groups = 2;
  CHECK(tsri_cuda_conv_prefers_first(&c));
  c = usual, c.out_channels = 100;
  CHECK(tsri_cuda_conv_prefers_first(&c));
  c = usual, c.channels = 3;  // little to copy, and the order of a large result
  CHECK(!tsri_cuda_conv_prefers_first(&c));
  c = usual, c.dtype = TSR_F32, c.channels = 16;
  CHECK(tsri_cuda_conv_prefers_first(&c));
  c = usual, c.images = 2;
  CHECK(tsri_cuda_conv_prefers_first(&c));
}

// Groups are timed although there is one proposal that may be taken, and the fake takes longer for it than our tiles should.
TEST(groups_are_left_to_tiles_where_cudnn_turns_out_to_be_slower) {
  char folder[] = "/tmp/tessera-dnn-XXXXXX";
  fixture_use_cache(folder);
  no_timing();
  tsri_cuda_least_conv = 1;
  tsri_cuda_timing = (cuda_timing){.least_work = 1, .longest_ns = UINT64_MAX};
  fake_cuda *fake = fixture_use_fake();
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &device));
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_contiguous(tsr_zeros(device, TSR_BF16, TSR_SHAPE(1, 16, 4, 4))),
             *w = tsr_contiguous(tsr_zeros(device, TSR_BF16, TSR_SHAPE(16, 8, 3, 3)));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(w));
  for (int i = 0; i < 2; i++) {
    int before = fake->convolutions;
    CHECK_OK(tsr_evaluate(tsr_conv(x, w, NULL, &(tsr_conv_desc){.groups = 2})));
    CHECK((fake->convolutions > before) == (i == 0));
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
  fixture_remove_cache(folder);
}

static tsr_tensor *convolved_once(tsr_device *device, tsr_dtype dtype, int64_t groups, int64_t stride) {
  tsr_tensor *x = tsr_contiguous(tsr_zeros(device, dtype, TSR_SHAPE(4, 32, 16, 16))),
             *w = tsr_contiguous(tsr_zeros(device, dtype, TSR_SHAPE(32, 32 / groups, 3, 3)));
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(w));
  return tsr_conv_transpose(x, w, NULL, &(tsr_conv_desc){.groups = groups, .stride = {stride, stride}});
}

TEST(transposed_convolutions_of_f32_go_to_cudnn_as_convolutions) {
  no_timing();
  fake_cuda *fake = fixture_use_fake();
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda"}, &device));
  tsr_scope *scope = tsr_scope_begin(device);
  int before = fake->convolutions;
  CHECK_OK(tsr_evaluate(convolved_once(device, TSR_F32, 1, 1)));
  CHECK_EQ_INT(fake->convolutions - before, 1);
  before = fake->convolutions;
  CHECK_OK(tsr_evaluate(convolved_once(device, TSR_F32, 1, 2)));   // strides
  CHECK_OK(tsr_evaluate(convolved_once(device, TSR_F32, 4, 1)));   // groups
  CHECK_OK(tsr_evaluate(convolved_once(device, TSR_F32, 32, 1)));  // depthwise
  CHECK_EQ_INT(fake->convolutions - before, 0);
  int launches = fake->launches;
  CHECK_OK(tsr_evaluate(convolved_once(device, TSR_BF16, 32, 2)));
  CHECK_EQ_INT(fake->convolutions - before, 0);
  CHECK(fake->launches - launches <= 3);  // x and w are filled, and one kernel convolves
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(a_convolution_that_fails_is_left_to_kernels_from_then_on) {
  no_timing();
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  CHECK(takes(&t));
  fixture_fake->failing_convolutions = 1;
  CHECK_STATUS(f.backend->run_op(f.queue, &t.op), TSR_ERR_UNSUPPORTED);
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
}

TEST(without_memory_for_its_work_space_cudnn_is_not_used) {
  no_timing();
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  CHECK(takes(&t));
  fixture_fake->memory_bytes = 32 << 20;
  CHECK_STATUS(f.backend->run_op(f.queue, &t.op), TSR_ERR_UNSUPPORTED);
  end(&t);
  fixture_close(&f);
}

TEST(the_setting_native_and_a_missing_library_turn_cudnn_off) {
  no_timing();
  static const char *const none[] = {"libcudnn_that_is_not_there.so", NULL};
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cudnn", .timeout_ns = UINT64_MAX});
  trial t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
  f = fixture_open();
  tsri_cudnn_names = none;
  t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  CHECK(!takes(&t));
  CHECK_STATUS(f.backend->run_op(f.queue, &t.op), TSR_ERR_UNSUPPORTED);
  end(&t);
  fixture_close(&f);
}

TEST(a_large_convolution_runs_by_the_fastest_proposal) {
  char folder[] = "/tmp/tessera-dnn-XXXXXX";
  fixture_use_cache(folder);
  no_timing();
  tsri_cuda_timing = (cuda_timing){.least_work = 1, .longest_ns = UINT64_MAX};
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, TSRI_NATIVE_CONV, conv_of(1, true, 1, false));
  CHECK_OK(f.backend->run_op(f.queue, &t.op));
  CHECK_EQ_INT(fixture_fake->last_proposal, 3);
  // Two proposals, four rounds (the first only loads the kernels), then TSRI_DUEL_TURNS turns of the fastest against the first one. Each
  // measurement is one launch and then ten in a row. The last launch computes the result.
  CHECK_EQ_INT(fixture_fake->convolutions, (2 * 4 + 2 * TSRI_DUEL_TURNS) * (1 + 10) + 1);
  end(&t);
  fixture_close(&f);
  fixture_remove_cache(folder);
}
