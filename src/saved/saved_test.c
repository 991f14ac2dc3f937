// SPDX-License-Identifier: MIT
// Captures in files: what was saved computes the same elsewhere, and a file that is damaged is refused.
#include <sys/stat.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include "core/alloc.h"
#include "ops/operators.h"
#include "runtime/device.h"
#include "runtime/speed.h"
#include "saved/again.h"
#include "saved/format.h"
#include "saved/names.h"
#include "saved/place.h"
#include "support/devices.h"
#include "support/seeds.h"
#include "support/test.h"

static char folder[64];

static const char *path_of(const char *name) {
  static char path[128];
  if (!folder[0]) {
    snprintf(folder, sizeof folder, "/tmp/tessera-saved-XXXXXX");
    CHECK(mkdtemp(folder));
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

__attribute__((destructor)) static void remove_folder(void) {
  if (!folder[0]) return;
  (void)remove(path_of("net.tsr"));
  (void)rmdir(folder);
}

typedef tsr_tensor *(*model)(tsr_tensor *x);

// Captures model(x) on a device and saves it with the names "x" and "y".
static tsr_status save_to(tsr_device *device, model network, tsr_tensor *x, tsr_tensor **out_y, const char *path) {
  tsr_capture *step = NULL;
  tsr_status status = tsr_capture_begin(device);
  *out_y = network(x);
  if (status == TSR_OK) status = tsr_capture_end(out_y, 1, &step);
  if (status == TSR_OK) {
    status = tsr_capture_save(step, &(tsr_save_desc){.path = path,
                                                     .inputs = &(tsr_named_tensor){"x", x},
                                                     .input_count = 1,
                                                     .outputs = &(tsr_named_tensor){"y", *out_y},
                                                     .output_count = 1});
  }
  tsr_capture_release(step);
  return status;
}

static tsr_capture *load_from(tsr_device *device, const char *path) {
  tsr_capture *net = NULL;
  CHECK_OK(tsr_capture_load(device, &(tsr_load_desc){.path = path}, &net));
  return net;
}

enum { MOST = 4096 };

// The elements of a tensor as f64. A device without f64 is not asked for one: what cannot run stays pending, and would be in the way of captures.
static int read_all(tsr_tensor *tensor, double *out) {
  int count = (int)tsr_tensor_count(tensor);
  CHECK(count <= MOST);
  if (tsr_device_has_dtype(tsr_tensor_device(tensor), TSR_F64)) {
    CHECK_OK(tsr_read(tsr_cast(tensor, TSR_F64), out, (size_t)count * sizeof *out));
    return count;
  }
  float narrow[MOST];
  CHECK_OK(tsr_read(tsr_cast(tensor, TSR_F32), narrow, (size_t)count * sizeof *narrow));
  for (int i = 0; i < count; i++) out[i] = narrow[i];
  return count;
}

static void check_same(tsr_tensor *is, tsr_tensor *wanted, double bound) {
  static double a[MOST], b[MOST];
  char text[TSR_SHAPE_TEXT_BYTES], other[TSR_SHAPE_TEXT_BYTES];
  CHECK_STR(tsr_shape_format(tsr_tensor_shape(is), text, sizeof text),
            tsr_shape_format(tsr_tensor_shape(wanted), other, sizeof other));
  int count = read_all(wanted, b);
  CHECK_EQ_INT(read_all(is, a), count);
  for (int i = 0; i < count; i++) CHECK_NEAR(a[i], b[i], bound * (1 + (b[i] < 0 ? -b[i] : b[i])));
}

// --- Networks ----------------------------------------------------------------------------------------------------------

static tsr_tensor *weights(tsr_tensor *x, tsr_shape shape, uint64_t seed) {
  tsr_tensor *w = tsr_randn(tsr_tensor_device(x), TSR_F32, shape, seed);
  return w;
}

static tsr_tensor *dense(tsr_tensor *x) {
  tsr_tensor *hidden = tsr_linear(x, weights(x, TSR_SHAPE(16, 8), 1), weights(x, TSR_SHAPE(16), 2),
                                  &(tsr_linear_desc){.activation = TSR_ACTIVATION_GELU});
  tsr_tensor *logits = tsr_add(tsr_matmul(hidden, weights(x, TSR_SHAPE(16, 3), 3)),
                               tsr_full(tsr_tensor_device(x), TSR_F32, TSR_SHAPE(3), 0.5));
  return tsr_softmax(logits, -1);
}

static tsr_tensor *images(tsr_tensor *x) {
  tsr_tensor *in = tsr_reshape(x, TSR_SHAPE(1, 2, 4, 4));
  tsr_tensor *a = tsr_relu(tsr_conv(in, weights(x, TSR_SHAPE(4, 2, 3, 3), 1), weights(x, TSR_SHAPE(4), 2),
                                    &(tsr_conv_desc){.padding = TSR_PADDING_SAME, .stride = {2, 1}}));
  tsr_tensor *last = tsr_conv(tsr_permute(in, (int[]){0, 2, 3, 1}, 4), weights(x, TSR_SHAPE(4, 2, 1, 1), 3), NULL,
                              &(tsr_conv_desc){.channels_last = true});
  tsr_tensor *up =
      tsr_conv_transpose(a, weights(x, TSR_SHAPE(4, 2, 2, 2), 4), NULL, &(tsr_conv_desc){.stride = {2, 2}});
  tsr_tensor *m = tsr_max_pool(up, &(tsr_pool_desc){.size = {2, 3}, .stride = {2, 2}, .rounds_up = true});
  tsr_tensor *v = tsr_avg_pool(
      last,
      &(tsr_pool_desc){.size = {3, 3}, .before = {1, 1}, .after = {1, 1}, .stride = {1, 1}, .channels_last = true});
  tsr_tensor *p = tsr_lp_pool(up, &(tsr_pool_desc){.output = {3, 3}});
  tsr_tensor *w = tsr_cast(tsr_argmax_pool(up, NULL), TSR_F32);
  tsr_tensor *columns = tsr_col2im(tsr_im2col(in, TSR_SHAPE(2, 2), NULL), TSR_SHAPE(4, 4), TSR_SHAPE(2, 2), NULL);
  tsr_tensor *parts[6] = {m, v, p, w, columns, a};
  for (int i = 0; i < 6; i++) parts[i] = tsr_reshape(parts[i], TSR_SHAPE(-1));
  return tsr_concat(parts, 6, 0);
}

static tsr_tensor *transformer(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *in = tsr_reshape(x, TSR_SHAPE(1, 4, 8)), *sum = NULL, *normed = NULL;
  tsr_tensor *heads = tsr_permute(tsr_reshape(in, TSR_SHAPE(1, 4, 2, 4)), (int[]){0, 2, 1, 3}, 4);
  tsr_tensor *mask = tsr_cast(tsr_tril(tsr_ones(device, TSR_I32, TSR_SHAPE(4, 4)), 0), TSR_BOOL);
  tsr_tensor *turned = tsr_rope(heads, tsr_arange(device, TSR_I32, 0, 4, 1), NULL);
  tsr_tensor *seen = tsr_attention(turned, turned, heads, mask, NULL);
  tsr_tensor *causal = tsr_attention(turned, turned, heads, NULL, &(tsr_attention_desc){.causal = true, .softcap = 5});
  tsr_tensor *joined = tsr_reshape(tsr_permute(tsr_add(seen, causal), (int[]){0, 2, 1, 3}, 4), TSR_SHAPE(1, 4, 8));
  CHECK_OK(tsr_add_rms_norm(joined, in, weights(x, TSR_SHAPE(8), 5), 1e-5, &sum, &normed));
  tsr_tensor *gated = tsr_swiglu(tsr_matmul(normed, weights(x, TSR_SHAPE(8, 8), 6)), normed);
  return tsr_layer_norm(tsr_add(gated, sum), weights(x, TSR_SHAPE(8), 7), NULL, 1e-5);
}

static tsr_tensor *indexing(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *rows = tsr_reshape(x, TSR_SHAPE(4, 8)), *values = NULL, *order = NULL, *most = NULL;
  tsr_tensor *at = tsr_from_data(device, TSR_I32, TSR_SHAPE(3), (int32_t[]){2, 0, -1}, 12);
  CHECK_OK(tsr_topk(rows, 3, 1, true, &values, &order));
  CHECK_OK(tsr_cummax(rows, 1, &most, NULL));
  tsr_tensor *i8_rows = tsr_cast(tsr_randint(device, TSR_I32, TSR_SHAPE(3, 16), -100, 100, 5), TSR_I8);
  tsr_tensor *parts[] = {
      tsr_index_select(rows, 0, at),
      tsr_embedding(rows, at),
      tsr_take(x, at),
      tsr_gather(rows, 1, order),
      values,
      most,
      tsr_sort(rows, 0, true),
      tsr_cumsum(rows, 0),
      tsr_pad(rows, (int64_t[]){1, 0}, (int64_t[]){0, 2}, 2, 3),
      tsr_scatter_add(rows, 1, order, values),
      tsr_eye(device, TSR_F32, 3, 4, -1),
      tsr_eye(device, TSR_F32, 3, 4, 2),
      tsr_rand(device, TSR_F32, TSR_SHAPE(5), 9),
      tsr_dropout(x, 0.5, 9),
      tsr_cast(tsr_argmax(rows, (int[]){1}, 1, false), TSR_F32),
      tsr_mean(tsr_transpose(rows, 0, 1), (int[]){0}, 1, true),
      tsr_var(rows, NULL, 0, false, 1),
      tsr_logsumexp(rows, (int[]){1}, 1, false),
      tsr_cast(tsr_all(tsr_gt_scalar(rows, 0), (int[]){0}, 1, false), TSR_F32),
      tsr_cast(tsr_isclose(rows, tsr_flip(rows, 0), 1e-3, 0, false), TSR_F32),
      tsr_matmul_quantized(tsr_reshape(x, TSR_SHAPE(1, 32)),
                           tsr_quantize(tsr_reshape(x, TSR_SHAPE(1, 32)), TSR_QUANT_Q8_0), TSR_QUANT_Q8_0),
      tsr_matmul_channels(tsr_reshape(x, TSR_SHAPE(2, 16)), i8_rows, tsr_ones(device, TSR_F32, TSR_SHAPE(3))),
      tsr_cast(tsr_searchsorted(tsr_cumsum(tsr_abs(x), 0), x, false), TSR_F32),
      tsr_embedding_bag(rows, tsr_reshape(at, TSR_SHAPE(1, 3)), NULL, NULL),
      tsr_fft(tsr_reshape(x, TSR_SHAPE(16, 2)), NULL, 0),
      tsr_irfft(tsr_rfft(tsr_reshape(x, TSR_SHAPE(4, 8)), (int[]){0}, 1), 0, (int[]){0}, 1),
      tsr_where(tsr_lt_scalar(rows, 0), tsr_neg(rows), tsr_clamp(rows, 0, 0.5)),
      tsr_interp(x, tsr_linspace(device, TSR_F32, -1, 1, 5), tsr_linspace(device, TSR_F32, 0, 2, 5)),
  };
  int count = (int)(sizeof parts / sizeof parts[0]);
  for (int i = 0; i < count; i++) parts[i] = tsr_reshape(parts[i], TSR_SHAPE(-1));
  return tsr_concat(parts, count, 0);
}

// All in one row.
static tsr_tensor *joined(tsr_tensor **parts, int count) {
  for (int i = 0; i < count; i++) parts[i] = tsr_reshape(parts[i], TSR_SHAPE(-1));
  return tsr_concat(parts, count, 0);
}

static tsr_tensor *matrices(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *rows = tsr_reshape(x, TSR_SHAPE(8, 4)), *q = NULL, *r = NULL, *u = NULL, *s = NULL, *vt = NULL;
  tsr_tensor *all_q = NULL, *all_r = NULL, *values = NULL;
  tsr_tensor *square = tsr_add(tsr_matmul(tsr_transpose(rows, 0, 1), rows), tsr_eye(device, TSR_F32, 4, 4, 0));
  CHECK_OK(tsr_qr(rows, false, &q, &r));
  CHECK_OK(tsr_qr(rows, true, &all_q, &all_r));
  CHECK_OK(tsr_svd(rows, false, &u, &s, &vt));
  CHECK_OK(tsr_eigh(square, &values, NULL));
  tsr_tensor *factor = tsr_cholesky(square, false);
  tsr_tensor *parts[] = {factor,
                         tsr_triangular_solve(factor, tsr_transpose(rows, 0, 1), false, false, false),
                         tsr_solve(square, tsr_transpose(rows, 0, 1)),
                         tsr_det(square),
                         tsr_inverse(square),
                         tsr_matmul(q, r),
                         tsr_matmul(all_q, all_r),
                         s,
                         values,
                         tsr_cdist(rows, square)};
  return joined(parts, sizeof parts / sizeof parts[0]);
}

static tsr_tensor *pictures(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *in = tsr_reshape(x, TSR_SHAPE(1, 2, 4, 4)), *normed = NULL;
  tsr_tensor *mean = tsr_zeros(device, TSR_F32, TSR_SHAPE(2)), *variance = tsr_ones(device, TSR_F32, TSR_SHAPE(2));
  tsr_tensor *regions = tsr_from_data(device, TSR_F32, TSR_SHAPE(1, 4), (float[]){0, 0, 3, 2}, 16);
  tsr_tensor *image = tsr_from_data(device, TSR_I32, TSR_SHAPE(1), (int32_t[]){0}, 4);
  CHECK_OK(tsr_batch_norm_train(in, mean, variance, weights(x, TSR_SHAPE(2), 1), weights(x, TSR_SHAPE(2), 2), 0.1, 1e-5,
                                &normed));
  tsr_tensor *parts[] = {
      tsr_resize(in, TSR_SHAPE(7, 3), &(tsr_resize_desc){.mode = TSR_RESIZE_LINEAR}),
      tsr_resize(in, TSR_SHAPE(2, 9), &(tsr_resize_desc){.mode = TSR_RESIZE_CUBIC, .excludes_outside = true}),
      tsr_resize(in, TSR_SHAPE(8, 8), NULL),
      tsr_roi_align(in, regions, image, &(tsr_roi_desc){.rows = 2, .columns = 3}), normed};
  return joined(parts, sizeof parts / sizeof parts[0]);
}

// The step of a small network of all kinds of layers: gradients by its weights.
static tsr_tensor *training(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  tsr_tensor *w[] = {weights(x, TSR_SHAPE(4, 2, 3, 3), 1), weights(x, TSR_SHAPE(4), 2), weights(x, TSR_SHAPE(8), 3),
                     weights(x, TSR_SHAPE(8), 4), weights(x, TSR_SHAPE(8, 5), 5)};
  enum { COUNT = sizeof w / sizeof w[0] };
  tsr_tensor *gradients[COUNT], *mean = tsr_zeros(device, TSR_F32, TSR_SHAPE(4)), *normed = NULL;
  tsr_tensor *variance = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  tsr_tensor *labels = tsr_from_data(device, TSR_I32, TSR_SHAPE(4), (int32_t[]){1, 0, 4, 2}, 16);
  CHECK_OK(tsr_grad_begin());
  for (int i = 0; i < COUNT; i++) CHECK_OK(tsr_grad_watch(w[i]));
  tsr_tensor *maps =
      tsr_conv(tsr_reshape(x, TSR_SHAPE(1, 2, 4, 4)), w[0], NULL, &(tsr_conv_desc){.padding = TSR_PADDING_SAME});
  CHECK_OK(tsr_batch_norm_train(maps, mean, variance, w[1], NULL, 0.1, 1e-5, &normed));
  tsr_tensor *pooled = tsr_max_pool(tsr_relu(normed), &(tsr_pool_desc){.size = {2, 1}});
  tsr_tensor *halves = tsr_mul_scalar(tsr_reshape(pooled, TSR_SHAPE(1, 4, 8)), 0.5);
  tsr_tensor *rows = tsr_layer_norm(halves, w[2], w[3], 1e-5);
  tsr_tensor *heads = tsr_permute(tsr_reshape(rows, TSR_SHAPE(1, 4, 2, 4)), (int[]){0, 2, 1, 3}, 4);
  tsr_tensor *seen = tsr_attention(heads, heads, heads, NULL, &(tsr_attention_desc){.causal = true});
  tsr_tensor *found = tsr_reshape(tsr_permute(seen, (int[]){0, 2, 1, 3}, 4), TSR_SHAPE(1, 4, 8));
  tsr_tensor *back = tsr_reshape(tsr_add(halves, found), TSR_SHAPE(4, 8));
  tsr_tensor *loss = tsr_cross_entropy(tsr_matmul(back, w[4]), labels, 1, NULL);
  CHECK_OK(tsr_grad(loss, NULL, w, COUNT, gradients));
  CHECK_OK(tsr_grad_end());
  return joined(gradients, COUNT);
}

// Gradients of roi_align: of means, and of largest points.
static tsr_tensor *regions(tsr_tensor *x) {
  tsr_device *device = tsr_tensor_device(x);
  const float corners[2][4] = {{0.3f, 0.1f, 2.9f, 3.2f}, {1, 0.5f, 3.7f, 2}};
  tsr_tensor *boxes = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 4), corners, sizeof corners);
  tsr_tensor *numbers = tsr_zeros(device, TSR_I32, TSR_SHAPE(2)), *gradients[2];
  for (int i = 0; i < 2; i++) {
    tsr_tensor *image = tsr_mul_scalar(tsr_reshape(x, TSR_SHAPE(1, 2, 4, 4)), i + 1);
    CHECK_OK(tsr_grad_begin());
    CHECK_OK(tsr_grad_watch(image));
    tsr_tensor *parts = tsr_roi_align(image, boxes, numbers,
                                      &(tsr_roi_desc){.rows = 2, .columns = 3, .points = 2, .takes_max = i == 1});
    tsr_tensor *loss = tsr_sum(tsr_mul(parts, weights(x, TSR_SHAPE(2, 2, 2, 3), 5)), NULL, 0, false);
    CHECK_OK(tsr_grad(loss, NULL, &image, 1, &gradients[i]));
    CHECK_OK(tsr_grad_end());
  }
  return joined(gradients, 2);
}

// Recurrent layers with and without options, one of which reads the states of another.
static tsr_tensor *sequences(tsr_tensor *x) {
  tsr_tensor *in = tsr_reshape(x, TSR_SHAPE(4, 2, 4)), *parts[7];
  tsr_tensor *inner = weights(x, TSR_SHAPE(12, 3), 2), *bias = weights(x, TSR_SHAPE(12), 3);
  tsr_recurrent_desc options = {.bias_hidden = bias, .cell = weights(x, TSR_SHAPE(2, 3), 4), .reverse = true};
  CHECK_OK(tsr_lstm(in, weights(x, TSR_SHAPE(12, 4), 1), inner, &options, &parts[0], &parts[1], &parts[2]));
  CHECK_OK(tsr_gru(parts[0], weights(x, TSR_SHAPE(9, 3), 5), tsr_slice(inner, 0, 0, 9, 1), NULL, &parts[3], &parts[4]));
  options = (tsr_recurrent_desc){.hidden = parts[4], .relu = true};
  CHECK_OK(tsr_rnn(in, weights(x, TSR_SHAPE(3, 4), 6), tsr_slice(inner, 0, 0, 3, 1), &options, &parts[5], &parts[6]));
  return joined(parts, 7);
}

static const struct {
  const char *name;
  model network;
} models[] = {{"dense", dense},       {"images", images},     {"transformer", transformer},
              {"indexing", indexing}, {"matrices", matrices}, {"pictures", pictures},
              {"training", training}, {"regions", regions},   {"sequences", sequences}};
enum { MODELS = sizeof models / sizeof models[0] };

static void fill_input(float *values, int count, float step) {
  for (int i = 0; i < count; i++) values[i] = step * (float)((i * 7) % 11 - 5);
}

static tsr_tensor *make_input(tsr_device *device, float step, model network) {
  float values[32];
  fill_input(values, 32, step);
  return tsr_from_data(device, TSR_F32, network == dense ? TSR_SHAPE(4, 8) : TSR_SHAPE(32), values, sizeof values);
}

// --- What was saved computes the same ------------------------------------------------------------------------------------

static const char *saved_where;  // the backend on which models are saved; NULL: the device under test

static void check_model(tsr_device *device, tsr_device *writer, int number) {
  model network = models[number].network;
  float next[32];
  fill_input(next, 32, 0.21f);
  tsr_tensor *x = make_input(writer, 0.1f, network), *y = NULL;
  CHECK_OK(save_to(writer, network, x, &y, path_of("net.tsr")));
  test_keep_seed(path_of("net.tsr"), models[number].name);
  tsr_capture *net = load_from(device, path_of("net.tsr"));
  CHECK_EQ_INT(tsr_capture_input_count(net), 1);
  CHECK_STR(tsr_capture_output_name(net, 0), "y");
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_write(tsr_capture_input(net, "x"), next, sizeof next));
    CHECK_OK(tsr_capture_run(net));
    tsr_tensor *wanted = network(make_input(writer, 0.21f, network));
    check_same(tsr_capture_output(net, "y"), wanted, 2e-5);
    fill_input(next, 32, 0.21f);
  }
  tsr_capture_release(net);
}

// Compilers of GPU interfaces take seconds for all kernels: there, the first model stands for the others, unless all cases are asked for.
static int model_count(const tsr_device *device) {
  return strcmp(device->backend->name, "cpu") == 0 || test_sample(2) == 1 ? MODELS : 1;
}

static void round_trip_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_device *writer = saved_where ? test_open(saved_where) : tsr_device_retain(device);
  for (int i = 0; i < model_count(device); i++) check_model(device, writer, i);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(writer);
}

TEST(a_saved_capture_computes_the_same_on_every_device) {
  saved_where = NULL;
  test_on_every_device(round_trip_on);
}

TEST(a_capture_saved_on_the_cpu_computes_the_same_on_every_other_device) {
  saved_where = "cpu";
  test_on_every_device(round_trip_on);
}

static void to_cpu_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_device *cpu = test_open("cpu");
  for (int i = 0; i < model_count(device); i++) check_model(cpu, device, i);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(a_capture_saved_on_any_device_computes_the_same_on_the_cpu) { test_on_every_device(to_cpu_on); }

// Norms of f16 whose results, and whose gradients so far, are f32 on GPUs.
static tsr_tensor *norms_of_halves(tsr_tensor *x) {
  tsr_tensor *in = tsr_cast(tsr_reshape(x, TSR_SHAPE(1, 4, 8)), TSR_F16), *gradients[2];
  tsr_tensor *weight = tsr_cast(weights(x, TSR_SHAPE(8), 1), TSR_F16);
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(in));
  CHECK_OK(tsr_grad_watch(weight));
  tsr_tensor *normed = tsr_layer_norm(tsr_group_norm(in, 2, NULL, NULL, 1e-5), weight, NULL, 1e-5);
  tsr_tensor *loss = tsr_sum(tsr_cast(tsr_mul(normed, in), TSR_F32), NULL, 0, false);
  CHECK_OK(tsr_grad(loss, NULL, (tsr_tensor *[]){in, weight}, 2, gradients));
  CHECK_OK(tsr_grad_end());
  for (int i = 0; i < 2; i++) gradients[i] = tsr_cast(gradients[i], TSR_F32);
  return joined(gradients, 2);
}

static void halves_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = make_input(device, 0.1f, norms_of_halves), *y = NULL;
  float values[32];
  fill_input(values, 32, 0.1f);
  CHECK_OK(save_to(device, norms_of_halves, x, &y, path_of("net.tsr")));
  for (int i = 0; i < 2; i++) {
    tsr_capture *net = load_from(i ? cpu : device, path_of("net.tsr"));
    CHECK_OK(tsr_write(tsr_capture_input(net, "x"), values, sizeof values));
    CHECK_OK(tsr_capture_run(net));
    check_same(tsr_capture_output(net, "y"), norms_of_halves(x), 4e-3);
    tsr_capture_release(net);
  }
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(norms_of_16_bits_are_saved_with_dtypes_of_their_own) { test_on_every_device(halves_on); }

TEST(a_capture_that_was_loaded_can_be_saved_again) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  tsr_tensor *x = make_input(cpu, 0.1f, indexing), *y = NULL;
  CHECK_OK(save_to(cpu, indexing, x, &y, path_of("net.tsr")));
  tsr_capture *net = load_from(cpu, path_of("net.tsr"));
  tsr_tensor *in = tsr_capture_input(net, "x"), *out = tsr_capture_output(net, "y");
  CHECK_OK(tsr_capture_save(net, &(tsr_save_desc){.path = path_of("net.tsr"),
                                                  .inputs = &(tsr_named_tensor){"a", in},
                                                  .input_count = 1,
                                                  .outputs = &(tsr_named_tensor){"b", out},
                                                  .output_count = 1}));
  tsr_capture *second = load_from(cpu, path_of("net.tsr"));
  float values[32];
  fill_input(values, 32, 0.1f);
  CHECK_OK(tsr_write(tsr_capture_input(second, "a"), values, sizeof values));
  CHECK_OK(tsr_capture_run(second));
  check_same(tsr_capture_output(second, "b"), y, 0);
  CHECK_STATUS(tsr_error(tsr_capture_output(second, "y")), TSR_ERR_NOT_FOUND);
  CHECK_STATUS(tsr_error(tsr_capture_input(second, "aa")), TSR_ERR_NOT_FOUND);
  tsr_capture_release(second);
  tsr_capture_release(net);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

// --- State, kernels --------------------------------------------------------------------------------------------------

static void state_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  float one[2] = {1, 2}, total[2];
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), one, sizeof one);
  tsr_tensor *sum = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), (float[]){10, 20}, sizeof one);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(tsr_assign(sum, tsr_add(sum, x)));
  tsr_tensor *y = tsr_mul_scalar(sum, 2);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  tsr_named_tensor outputs[] = {{"y", y}, {"sum", sum}};
  CHECK_OK(tsr_capture_save(step, &(tsr_save_desc){.path = path_of("net.tsr"),
                                                   .inputs = &(tsr_named_tensor){"x", x},
                                                   .input_count = 1,
                                                   .outputs = outputs,
                                                   .output_count = 2}));
  tsr_capture *net = load_from(device, path_of("net.tsr"));
  CHECK_OK(tsr_read(tsr_capture_output(net, "sum"), total, sizeof total));
  CHECK_NEAR(total[0], 11, 0);  // as it was when it was saved, although loading has run it
  CHECK_OK(tsr_write(tsr_capture_input(net, "x"), (float[]){100, 200}, sizeof one));
  for (int i = 0; i < 2; i++) CHECK_OK(tsr_capture_run(net));
  CHECK_OK(tsr_read(tsr_capture_output(net, "y"), total, sizeof total));
  CHECK_NEAR(total[1], 2 * (22 + 400), 0);
  tsr_capture_release(net);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(a_saved_capture_keeps_what_it_assigns) { test_on_every_device(state_on); }

static const char kernel_text[] =
    "kernel blend<T, WG = 64>(in T x[], inout T y[], u32 n, f32 by) {\n"
    "  u32 i = group.x * WG + local.x;\n"
    "  if (i < n) { y[i] = y[i] + x[i] * T(by); }\n"
    "}\n";

static void kernel_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_kernel *kernel = NULL;
  tsr_capture *step = NULL, *net = NULL;
  float values[4] = {1, 2, 3, 4}, result[4];
  CHECK_OK(tsr_kernel_build(
      &(tsr_kernel_desc){.source = kernel_text, .defines = (const char *[]){"T=f32"}, .define_count = 1}, &kernel));
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(4), values, sizeof values);
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_full(device, TSR_F32, TSR_SHAPE(4), 10);
  tsr_arg args[] = {tsr_arg_tensor(tsr_neg(x)), tsr_arg_tensor(y), tsr_arg_int(4), tsr_arg_float(0.5)};
  CHECK_OK(tsr_kernel_launch(kernel, tsr_grid_for(kernel, 4, 1, 1), args, 4));
  tsr_tensor *z = tsr_square(y);
  CHECK_OK(tsr_capture_end(&z, 1, &step));
  CHECK_OK(tsr_capture_save(step, &(tsr_save_desc){.path = path_of("net.tsr"),
                                                   .inputs = &(tsr_named_tensor){"x", x},
                                                   .input_count = 1,
                                                   .outputs = &(tsr_named_tensor){"z", z},
                                                   .output_count = 1}));
  CHECK_STATUS(tsr_capture_load(device, &(tsr_load_desc){.path = path_of("net.tsr"), .refuses_kernels = true}, &net),
               TSR_ERR_UNSUPPORTED);
  net = load_from(device, path_of("net.tsr"));
  for (int i = 0; i < 2; i++) {  // the capture fills y with 10 each time
    CHECK_OK(tsr_write(tsr_capture_input(net, "x"), values, sizeof values));
    CHECK_OK(tsr_capture_run(net));
    CHECK_OK(tsr_read(tsr_capture_output(net, "z"), result, sizeof result));
    CHECK_NEAR(result[3], 64, 1e-4);
  }
  tsr_capture_release(net);
  tsr_capture_release(step);
  tsr_kernel_release(kernel);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(kernels_of_users_travel_as_text_and_are_built_where_they_run) { test_on_every_device(kernel_on); }

// --- What is refused ---------------------------------------------------------------------------------------------------

static unsigned char *file_bytes;
static size_t file_size;

static void read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file);
  static unsigned char bytes[1 << 18];
  file_size = fread(bytes, 1, sizeof bytes, file);
  file_bytes = bytes;
  fclose(file);
}

static void make_file(tsr_device *device, model network) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *y = NULL;
  CHECK_OK(save_to(device, network, make_input(device, 0.1f, network), &y, path_of("net.tsr")));
  read_file(path_of("net.tsr"));
  CHECK_OK(tsr_scope_end(scope));
}

static tsr_status load_bytes(tsr_device *device, const void *data, size_t bytes, uint64_t most) {
  tsr_capture *net = NULL;
  tsr_load_desc desc = {.data = data, .data_bytes = bytes, .most_bytes = most};
  tsr_status status = tsr_capture_load(device, &desc, &net);
  CHECK((status == TSR_OK) == (net != NULL));
  tsr_capture_release(net);
  return status;
}

TEST(a_file_with_any_byte_changed_or_missing_is_refused) {
  tsr_device *cpu = test_open("cpu");
  make_file(cpu, dense);
  CHECK_OK(load_bytes(cpu, file_bytes, file_size, 0));
  for (size_t i = 0; i < file_size; i++) {
    if (i >= 40 && i < 64) continue;  // reserved
    file_bytes[i] ^= 0x10;
    CHECK(load_bytes(cpu, file_bytes, file_size, 0) != TSR_OK);
    file_bytes[i] ^= 0x10;
  }
  for (size_t size = 0; size < file_size; size++) {
    CHECK_STATUS(load_bytes(cpu, file_bytes, size, 0), TSR_ERR_INVALID_ARGUMENT);
  }
  file_bytes[8] = TSRI_SAVED_VERSION + 1;
  CHECK_STATUS(load_bytes(cpu, file_bytes, file_size, 0), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("version 3 of the format");
  tsr_device_release(cpu);
}

TEST(a_file_that_is_no_capture_is_named) {
  tsr_device *cpu = test_open("cpu");
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  char path[1024];
  tsr_capture *net = NULL;
  if (!source) SKIP("the source folder is not here");
  snprintf(path, sizeof path, "%s/README.md", source);
  CHECK_STATUS(tsr_capture_load(cpu, &(tsr_load_desc){.path = path}, &net), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("/README.md: this is not the file of a capture");
  CHECK(!net && strncmp(tsr_last_error(), "capture_load: ", 14) == 0 && strstr(tsr_last_error_place(), "load.c"));
  tsr_device_release(cpu);
}

TEST(files_of_the_first_version_are_read) {
  static const char *const seeds[] = {"add", "assign", "attention", "conv", "index", "softmax"};
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  char path[1024];
  if (!source) SKIP("the source folder is not here");
  tsr_device *cpu = test_open("cpu");
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/saved/%s", source, seeds[i]);
    read_file(path);
    CHECK_EQ_INT(file_bytes[8], 1);
    CHECK_OK(load_bytes(cpu, file_bytes, file_size, 0));
  }
  tsr_device_release(cpu);
}

static void seal(unsigned char *data, size_t bytes) {
  uint64_t sum = tsri_saved_checksum(TSRI_SAVED_CHECKSUM_START, data, 32);
  sum = tsri_saved_checksum(sum, data + 64, bytes - 64);
  for (int i = 0; i < 8; i++) data[32 + i] = (unsigned char)(sum >> 8 * i);
}

// Files whose checksum is right: what they say is checked, too. Fuzzing (tests/fuzz/saved_fuzz.c) goes on from here.
TEST(a_wrong_description_with_the_right_checksum_does_no_harm) {
  tsr_device *cpu = test_open("cpu");
  uint64_t random = 1;
  static unsigned char copy[1 << 18];
  int loaded = 0, rounds = 400;
  for (int m = 0; m < MODELS; m++) {
    make_file(cpu, models[m].network);
    for (int i = 0; i < rounds; i++) {
      memcpy(copy, file_bytes, file_size);
      for (int k = 0; k <= i % 3; k++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        copy[64 + (random >> 33) % (file_size - 64)] ^= (unsigned char)(1u << (random >> 29 & 7u));
      }
      seal(copy, file_size);
      loaded += load_bytes(cpu, copy, file_size, 1 << 16) == TSR_OK;
    }
  }
  CHECK(loaded > 0);  // those whose changed bytes are elements
  tsr_device_release(cpu);
}

TEST(tensors_larger_than_allowed_are_refused) {
  tsr_device *cpu = test_open("cpu");
  make_file(cpu, dense);
  CHECK_STATUS(load_bytes(cpu, file_bytes, file_size, 100), TSR_ERR_OUT_OF_MEMORY);
  CHECK_OK(load_bytes(cpu, file_bytes, file_size, 4096));
  tsr_device_release(cpu);
}

// A row of operators.def whose kernel cannot be saved is in this list, with the reason.
TEST(every_operator_can_be_saved_but_these) {
  static const char *const others[] = {
      "nms"};  // how many boxes it finds depends on their elements, so no capture can have it
  for (int i = 0; i < TSRI_OPERATOR_COUNT; i++) {
    bool is_other = false, is_known = true;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
      is_other = is_other || strcmp(tsri_operators[i].name, others[k]) == 0;
    }
    for (int body = 0; body < TSRI_BODY_COUNT; body++) {
      const tsri_op *op = &tsri_operators[i].bodies[body];
      is_known = is_known && (op->kind != TSRI_OP_KERNEL || !op->run || tsri_again_is_known(op));
      CHECK(op->kind != TSRI_OP_KERNEL || !op->run || tsri_saved_body_of(op) == body);
    }
    if (is_known == is_other) printf("%s\n", tsri_operators[i].name);
    CHECK(is_known != is_other);
  }
}

TEST(what_cannot_be_saved_says_why_and_leaves_the_file_as_it_was) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  tsr_capture *step = NULL;
  tsr_tensor *x = make_input(cpu, 0.1f, images), *other = make_input(cpu, 1, images), *y = NULL;
  make_file(cpu, dense);
  size_t before = file_size;
  CHECK_OK(tsr_capture_begin(cpu));
  y = tsr_sum(tsr_matmul(tsr_reshape(x, TSR_SHAPE(4, 8)), tsr_reshape(x, TSR_SHAPE(8, 4))), NULL, 0, false);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  tsr_named_tensor named[] = {{"x", x}, {"x", x}, {"other", other}, {"", x}, {"y", y}};
  tsr_save_desc desc = {
      .path = path_of("net.tsr"), .inputs = named, .input_count = 2, .outputs = &named[4], .output_count = 1};
  CHECK_STATUS(tsr_capture_save(step, &desc), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("two inputs");
  desc.inputs = &named[2], desc.input_count = 1;
  CHECK_STATUS(tsr_capture_save(step, &desc), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("'other' is no part");
  desc.inputs = &named[3];
  CHECK_STATUS(tsr_capture_save(step, &desc), TSR_ERR_INVALID_ARGUMENT);
  desc.inputs = &named[4];
  CHECK_STATUS(tsr_capture_save(step, &desc), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("computed by the capture");
  desc.inputs = named, desc.path = "/nowhere/at/all.tsr";
  CHECK_STATUS(tsr_capture_save(step, &desc), TSR_ERR_IO);
  read_file(path_of("net.tsr"));
  CHECK_EQ_INT(file_size, before);
  CHECK_OK(load_bytes(cpu, file_bytes, file_size, 0));
  tsr_capture *none = NULL;
  CHECK_STATUS(tsr_capture_load(cpu, &(tsr_load_desc){.path = path_of("none.tsr")}, &none), TSR_ERR_NOT_FOUND);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST(intermediates_of_a_capture_share_memory_by_lifetime) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  tsr_capture *step = NULL;
  tsr_capture_memory memory;
  tsr_tensor *y = tsr_ones(cpu, TSR_F32, TSR_SHAPE(64, 64)), *w = tsr_ones(cpu, TSR_F32, TSR_SHAPE(64, 64));
  CHECK_OK(tsr_capture_begin(cpu));
  for (int i = 0; i < 8; i++) {
    tsr_tensor *next = tsr_matmul(y, w);
    tsr_release(y);
    y = next;
  }
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  CHECK_OK(tsr_capture_get_memory(step, &memory));
  CHECK(memory.unshared_bytes >= 8 * 64 * 64 * sizeof(float));
  CHECK(memory.bytes <= memory.unshared_bytes / 2);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(saving_and_loading_survive_every_failed_allocation) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *first = tsr_scope_begin(cpu);
  CHECK_OK(tsr_evaluate(dense(make_input(cpu, 0.1f, dense))));  // kernels are built before allocations fail
  CHECK_OK(tsr_scope_end(first));
  bool has_failed = true;
  for (uint64_t n = 1; has_failed && n < 5000; n += n < 200 ? 1 : 7) {
    tsr_scope *scope = tsr_scope_begin(cpu);
    tsr_tensor *x = make_input(cpu, 0.1f, dense), *y = NULL;
    tsr_capture *net = NULL;
    tsri_alloc_fail_at(n, false);
    tsr_status status = save_to(cpu, dense, x, &y, path_of("net.tsr"));
    if (status == TSR_OK) status = tsr_capture_load(cpu, &(tsr_load_desc){.path = path_of("net.tsr")}, &net);
    has_failed = tsri_alloc_fail_at(0, false) >= n;
    CHECK((status == TSR_OK) == (net != NULL));
    tsr_capture_release(net);
    CHECK_OK(tsr_scope_end(scope));
  }
  CHECK(!has_failed);
  tsr_device_release(cpu);
}

// --- Placement -------------------------------------------------------------------------------------------------------

static tsr_tensor *one_product(tsr_tensor *x) { return tsr_matmul(x, x); }

static tsr_capture *captured_product(tsr_device *device, int64_t n) {
  tsr_capture *capture = NULL;
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(n, n)), *y = NULL;
  CHECK_OK(tsr_capture_begin(device));
  y = one_product(x);
  CHECK_OK(tsr_capture_end(&y, 1, &capture));
  return capture;
}

TEST(the_work_of_a_capture_is_counted_from_its_operators) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  tsr_capture *capture = captured_product(cpu, 32);
  tsri_work work = tsri_work_of(capture);
  CHECK_NEAR(work.multiply_adds, 32 * 32 * 32, 0);
  CHECK_NEAR(work.bytes, 3 * 32 * 32 * 4, 0);
  tsr_device_speed slow = {.run_ns = 100, .multiply_add_ns = 1}, fast = {.run_ns = 40000, .multiply_add_ns = 0.01};
  CHECK(tsri_work_ns(&work, &slow) < tsri_work_ns(&work, &fast));
  work.multiply_adds *= 1000;
  CHECK(tsri_work_ns(&work, &slow) > tsri_work_ns(&work, &fast));
  tsr_capture_release(capture);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

// Opens the device again with placement on and loads the file for it, with stored speeds by which a run takes `cpu_ns` on the CPU and 1 ms on the device. Returns the
// number of placements.
static uint64_t load_placed(tsr_device *device, double cpu_ns, const char *backend) {
  tsr_device *cpu = test_open("cpu"), *placed = NULL;
  tsr_device_counters counters;
  tsri_speed_keep(device, &(tsr_device_speed){.run_ns = 1e6});
  tsri_speed_keep(cpu, &(tsr_device_speed){.run_ns = cpu_ns});
  CHECK_OK(tsr_config_set("placement", "measured"));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = device->backend->name, .index = device->info.index}, &placed));
  CHECK_OK(tsr_config_set("placement", NULL));
  tsr_capture *net = load_from(placed, path_of("net.tsr"));
  CHECK_STR(tsr_device_backend(tsr_tensor_device(tsr_capture_input(net, "x"))), backend);
  CHECK_OK(tsr_device_get_counters(placed, &counters));
  tsr_capture_release(net);
  tsr_device_release(placed);
  tsr_device_release(cpu);
  return counters.placements;
}

static void placed_on(tsr_device *device) {
  if (!test_device_computes(device) || strcmp(device->backend->name, "cpu") == 0) return;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *y = NULL;
  CHECK_OK(save_to(device, tsr_neg, make_input(device, 0.1f, tsr_neg), &y, path_of("net.tsr")));
  CHECK(load_placed(device, 1e3, "cpu") > 0);
  CHECK_EQ_UINT(load_placed(device, 1e9, device->backend->name), 0);
  CHECK_OK(tsr_scope_end(scope));
}

TEST(a_capture_goes_to_the_cpu_if_that_was_measured_to_be_faster) {
  char home[] = "/tmp/tessera-speed-XXXXXX", command[128];
  CHECK(mkdtemp(home) && setenv("XDG_CACHE_HOME", home, 1) == 0);
  test_on_every_device(placed_on);
  snprintf(command, sizeof command, "rm -r %s", home);
  CHECK(system(command) == 0);
}

TEST(the_speed_of_a_device_is_measured_and_kept) {
  char home[] = "/tmp/tessera-speed-XXXXXX", command[128];
  CHECK(mkdtemp(home) && setenv("XDG_CACHE_HOME", home, 1) == 0);
  tsr_device *cpu = test_open("cpu");
  tsr_device_speed is, kept;
  CHECK_STATUS(tsr_device_get_speed(cpu, &kept), TSR_ERR_NOT_FOUND);
  CHECK_OK(tsr_device_measure_speed(cpu, &is));
  CHECK(is.run_ns + is.kernel_ns > 0 && is.byte_ns > 0 && is.multiply_add_ns > 0);
  CHECK_OK(tsr_device_get_speed(cpu, &kept));
  CHECK_BYTES(&kept, &is, sizeof is);
  tsr_device_release(cpu);
  snprintf(command, sizeof command, "rm -r %s", home);
  CHECK(system(command) == 0);
}
