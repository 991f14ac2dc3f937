// SPDX-License-Identifier: MIT
// On the CPU, results have the same bits whatever the number of threads (docs/architecture.md, "Threads").
#include "support/devices.h"
#include "support/test.h"

static tsr_tensor *noise(tsr_device *device, tsr_shape shape, uint64_t seed) {
  return tsr_randn(device, TSR_F32, shape, seed);
}

static tsr_tensor *chain(tsr_device *device) {
  tsr_tensor *x = noise(device, TSR_SHAPE(1000003), 1);
  return tsr_gelu(tsr_add_scalar(tsr_mul(tsr_exp(x), tsr_tanh(x)), 0.25));
}

static tsr_tensor *whole_sum(tsr_device *device) {
  return tsr_sum(noise(device, TSR_SHAPE(3000017), 2), NULL, 0, false);
}

static tsr_tensor *sum_of_columns(tsr_device *device) {
  return tsr_sum(noise(device, TSR_SHAPE(5003, 301), 3), (int[]){0}, 1, false);
}

static tsr_tensor *mean_of_outer_and_inner(tsr_device *device) {
  return tsr_mean(noise(device, TSR_SHAPE(61, 37, 509), 4), (int[]){0, 2}, 2, false);
}

static tsr_tensor *var_of_rows(tsr_device *device) {
  return tsr_var(noise(device, TSR_SHAPE(211, 4099), 5), (int[]){1}, 1, false, 1);
}

static tsr_tensor *argmax_of_all(tsr_device *device) {
  return tsr_argmax(noise(device, TSR_SHAPE(1000003), 6), NULL, 0, false);
}

static tsr_tensor *softmax_of_rows(tsr_device *device) {
  return tsr_softmax(noise(device, TSR_SHAPE(301, 1021), 7), 1);
}

static tsr_tensor *cumsum_along_rows(tsr_device *device) {
  return tsr_cumsum(noise(device, TSR_SHAPE(7, 100003), 8), 1);
}

static tsr_tensor *product(tsr_device *device) {
  return tsr_matmul(noise(device, TSR_SHAPE(201, 333), 9), noise(device, TSR_SHAPE(333, 255), 10));
}

static tsr_tensor *product_with_long_k(tsr_device *device) {
  return tsr_matmul(noise(device, TSR_SHAPE(9, 20011), 11), noise(device, TSR_SHAPE(20011, 11), 12));
}

static tsr_tensor *layer(tsr_device *device) {
  tsr_tensor *product = tsr_matmul(noise(device, TSR_SHAPE(65, 400), 13), noise(device, TSR_SHAPE(400, 300), 14));
  return tsr_relu(tsr_add(product, noise(device, TSR_SHAPE(300), 15)));
}

static tsr_tensor *product_with_vector(tsr_device *device) {
  return tsr_matmul(noise(device, TSR_SHAPE(3001, 1003), 16), noise(device, TSR_SHAPE(1003, 1), 17));
}

static tsr_tensor *added_by_index(tsr_device *device) {
  tsr_tensor *indices = tsr_randint(device, TSR_I32, TSR_SHAPE(40000, 5), 0, 50, 18);
  return tsr_scatter_add(noise(device, TSR_SHAPE(50, 5), 19), 0, indices, noise(device, TSR_SHAPE(40000, 5), 20));
}

static tsr_tensor *attention(tsr_device *device) {
  tsr_tensor *q = noise(device, TSR_SHAPE(2, 3, 150, 16), 22), *k = noise(device, TSR_SHAPE(2, 3, 300, 16), 23);
  return tsr_attention(q, k, k, NULL, &(tsr_attention_desc){.causal = true});
}

static tsr_tensor *gradient_of_attention(tsr_device *device) {
  tsr_tensor *x = noise(device, TSR_SHAPE(2, 3, 150, 16), 24), *gradient = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_attention(x, x, x, NULL, &(tsr_attention_desc){.causal = true});
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.cotangent = noise(device, TSR_SHAPE(2, 3, 150, 16), 25)}, &x, 1, &gradient));
  tsr_grad_end();
  return gradient;
}

static tsr_tensor *sorted(tsr_device *device) { return tsr_sort(noise(device, TSR_SHAPE(5, 50021), 21), 1, false); }

static const struct {
  const char *name;
  tsr_tensor *(*make)(tsr_device *device);
} cases[] = {
    {"chain", chain},
    {"attention", attention},
    {"gradient_of_attention", gradient_of_attention},
    {"whole_sum", whole_sum},
    {"sum_of_columns", sum_of_columns},
    {"mean_of_outer_and_inner", mean_of_outer_and_inner},
    {"var_of_rows", var_of_rows},
    {"argmax_of_all", argmax_of_all},
    {"softmax_of_rows", softmax_of_rows},
    {"cumsum_along_rows", cumsum_along_rows},
    {"product", product},
    {"product_with_long_k", product_with_long_k},
    {"layer", layer},
    {"product_with_vector", product_with_vector},
    {"added_by_index", added_by_index},
    {"sorted", sorted},
};
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct bits {
  void *data;
  size_t bytes;
} bits;

static bits run_case(int index, int threads) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .threads = threads}, &device));
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *result = cases[index].make(device);
  CHECK_OK(tsr_error(result));
  bits b = {.bytes = (size_t)tsr_tensor_count(result) * tsr_dtype_bytes(tsr_tensor_dtype(result))};
  b.data = malloc(b.bytes);
  CHECK(b.data != NULL);
  CHECK_OK(tsr_read(result, b.data, b.bytes));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
  return b;
}

TEST(results_have_the_same_bits_on_any_number_of_threads) {
  static const int counts[] = {3, 2, 8};
  size_t count = test_is_sanitized() ? 1 : sizeof counts / sizeof counts[0];  // a race shows at any of them
  for (int i = 0; i < CASES; i++) {
    bits alone = run_case(i, 1);
    for (size_t k = 0; k < count; k++) {
      bits together = run_case(i, counts[k]);
      if (together.bytes != alone.bytes || memcmp(together.data, alone.data, alone.bytes) != 0) {
        printf("%s differs on %d threads\n", cases[i].name, counts[k]);
        FAIL("results depend on the number of threads");
      }
      free(together.data);
    }
    free(alone.data);
  }
}
