// SPDX-License-Identifier: MIT
// A layer of a language model with quantised weights, on every device found: gate * up of a feed-forward block in f32 and in two formats of blocks that GGUF
// files have. Prints the bytes of the weights and the error of the layer, and fails if a device computes other numbers than the weights stand for.
#include <stdio.h>

#include <tessera/tessera.h>

enum { TOKENS = 3, SIZE = 256, HIDDEN = 512 };

static const struct {
  const char *name;
  tsr_quant_format format;
  double most_error;  // of the layer, relative
} formats[] = {{"q8_0", TSR_QUANT_Q8_0, 0.02}, {"q4_K", TSR_QUANT_Q4_K, 0.2}};

// The square root of the mean square of a - b, divided by that of b.
static tsr_status distance(tsr_tensor *a, tsr_tensor *b, double *out_distance) {
  tsr_tensor *off = tsr_mean(tsr_square(tsr_sub(a, b)), NULL, 0, false);
  return tsr_item(tsr_sqrt(tsr_div(off, tsr_mean(tsr_square(b), NULL, 0, false))), out_distance);
}

// Weights are [outputs, inputs], as model files have them. In a program they come from such a file: tsr_from_data(device, TSR_U8, shape, bytes, …).
static tsr_status try_format(int i, tsr_tensor *x, tsr_tensor *gate, tsr_tensor *up) {
  tsr_quant_format format = formats[i].format;
  tsr_tensor *wanted = tsr_swiglu(tsr_linear(x, gate, NULL, NULL), tsr_linear(x, up, NULL, NULL));
  tsr_tensor *gate_blocks = tsr_quantize(gate, format), *up_blocks = tsr_quantize(up, format);
  tsr_tensor *y = tsr_swiglu(tsr_matmul_quantized(x, gate_blocks, format), tsr_matmul_quantized(x, up_blocks, format));
  tsr_tensor *decoded = tsr_swiglu(tsr_linear(x, tsr_dequantize(gate_blocks, format, TSR_F32), NULL, NULL),
                                   tsr_linear(x, tsr_dequantize(up_blocks, format, TSR_F32), NULL, NULL));
  double error = 0, off = 0;
  tsr_status status = distance(y, wanted, &error);
  if (status == TSR_OK) status = distance(y, decoded, &off);
  if (status != TSR_OK) return status;
  long long bytes = 2 * (long long)tsr_tensor_count(gate_blocks);
  bool is_right = off < 1e-4 && error < formats[i].most_error;
  printf("  %s: %7lld bytes, %4.1f%% of f32, error %.4f%s\n", formats[i].name, bytes,
         100.0 * (double)bytes / (2.0 * HIDDEN * SIZE * sizeof(float)), error, is_right ? "" : "  WRONG");
  return is_right ? TSR_OK : TSR_ERR_INTERNAL;
}

static tsr_status try_formats(tsr_device *device) {
  tsr_tensor *x = tsr_randn(device, TSR_F32, TSR_SHAPE(TOKENS, SIZE), 1);
  tsr_tensor *gate = tsr_mul_scalar(tsr_randn(device, TSR_F32, TSR_SHAPE(HIDDEN, SIZE), 2), 0.05);
  tsr_tensor *up = tsr_mul_scalar(tsr_randn(device, TSR_F32, TSR_SHAPE(HIDDEN, SIZE), 3), 0.05);
  tsr_status status = TSR_OK;
  for (int i = 0; i < 2 && status == TSR_OK; i++) status = try_format(i, x, gate, up);
  return status;
}

static int visit(const char *backend, int index) {
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, &device);
  printf("%s %d\n", backend, index);
  if (status == TSR_OK) {
    tsr_scope *scope = tsr_scope_begin(device);  // releases every tensor
    status = try_formats(device);
    tsr_scope_end(scope);
  }
  tsr_device_release(device);
  if (status != TSR_OK) printf("  %s: %s\n", status == TSR_ERR_UNSUPPORTED ? "skipped" : "failed", tsr_last_error());
  return status != TSR_OK && status != TSR_ERR_UNSUPPORTED;
}

int main(void) {
  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  int failures = 0;
  for (int i = 0; i < found->backend_count; i++) {
    for (int j = 0; j < found->backends[i].device_count; j++) failures += visit(found->backends[i].name, j);
  }
  tsr_discovery_release(found);
  return failures != 0;
}
