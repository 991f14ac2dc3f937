// SPDX-License-Identifier: MIT
// Measures the limits of a device, with which the profile compares the work: bytes per second of copies within the device, and f32 operations per second.
// The latter are measured with a matrix product on a device that runs work at once (the CPU), else with a kernel that only multiplies and
// adds. Takes some milliseconds, and half a second at most.
#include "lang/lang.h"
#include "runtime/native_op.h"
#include "runtime/profile/recorder.h"
#include "runtime/program.h"

enum { ENOUGH_NS = 2000000, LONG_NS = 50000000, ITEMS = 1 << 16, CHAINS = 8, MOST_ROUNDS = 8192, SIDE = 512 };

// Queues the work `times` times.
typedef tsr_status (*probe)(void *user, int times);

static uint64_t time_once(tsr_device *device, probe work, void *user, int times, tsr_status *status) {
  uint64_t start_ns = tsri_clock_ns();
  *status = work(user, times);
  if (*status == TSR_OK) *status = tsri_device_wait(device);
  return tsri_clock_ns() - start_ns;
}

// Seconds that the work takes once. Queues it more and more often until the total time is long enough to be measured.
static double time_work(tsr_device *device, probe work, void *user) {
  enum { MOST_TIMES = 64 };
  tsr_status status = work(user, 1);  // the first one may build something
  if (status == TSR_OK) status = tsri_device_wait(device);
  for (int times = 1; status == TSR_OK; times *= 4) {
    uint64_t ns = time_once(device, work, user, times, &status);
    if (status != TSR_OK || (ns < ENOUGH_NS && times < MOST_TIMES)) continue;
    // The best of three: other programs may run, too. Emulated devices take so long that once is enough.
    for (int i = 0; i < 2 && status == TSR_OK && ns < LONG_NS; i++) {
      uint64_t again = time_once(device, work, user, times, &status);
      if (again < ns) ns = again;
    }
    return (double)ns * 1e-9 / times;
  }
  return 0;
}

typedef struct copy_probe {
  tsr_buffer *from, *to;
} copy_probe;

static tsr_status queue_copies(void *user, int times) {
  const copy_probe *copy = user;
  tsr_status status = TSR_OK;
  for (int i = 0; i < times && status == TSR_OK; i++) {
    status = tsri_buffer_copy(copy->to, 0, copy->from, 0, copy->from->bytes);
  }
  return status;
}

static double measure_bytes(tsr_device *device) {
  bool is_large = device->info.type == TSR_DEVICE_DISCRETE_GPU && device->info.total_bytes >> 33 > 0;
  size_t bytes = (size_t)(is_large ? 128 : 32) << 20;  // more than caches hold
  copy_probe copy = {0};
  tsr_status status = tsr_buffer_create(device, bytes, 0, &copy.from);
  if (status == TSR_OK) status = tsr_buffer_create(device, bytes, 0, &copy.to);
  double seconds = status == TSR_OK ? time_work(device, queue_copies, &copy) : 0;
  tsr_buffer_release(copy.from);
  tsr_buffer_release(copy.to);
  return seconds > 0 ? 2.0 * (double)bytes / seconds : 0;
}

// --- Operations ----------------------------------------------------------------------------------------------------------------

static const char text[] =
    "kernel multiply_add<WG = 64>(out f32 y[], u32 rounds, f32 a, f32 b) {\n"
    "  f32 x0 = f32(global.x), x1 = 1, x2 = 2, x3 = 3, x4 = 4, x5 = 5, x6 = 6, x7 = 7;\n"
    "  for (u32 i = 0; i < rounds; i++) {\n"
    "    x0 = fma(x0, a, b); x1 = fma(x1, a, b); x2 = fma(x2, a, b); x3 = fma(x3, a, b);\n"
    "    x4 = fma(x4, a, b); x5 = fma(x5, a, b); x6 = fma(x6, a, b); x7 = fma(x7, a, b);\n"
    "  }\n"
    "  y[global.x] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;\n"
    "}\n";

typedef struct kernel_probe {
  tsr_device *device;
  const tsri_built *built;
  tsr_buffer *y;
  struct {
    uint32_t rounds;
    float a, b;
  } params;
} kernel_probe;

static tsr_status queue_kernels(void *user, int times) {
  const kernel_probe *kernel = user;
  const uint32_t groups[3] = {ITEMS / 64, 1, 1};
  tsri_argument argument = {.buffer = kernel->y, .element_count = ITEMS};
  tsr_status status = TSR_OK;
  for (int i = 0; i < times && status == TSR_OK; i++) {
    status = tsri_built_launch(kernel->device, kernel->built, groups, &argument, &kernel->params);
  }
  return status;
}

static double time_rounds(tsr_device *device, const tsri_built *built) {
  kernel_probe kernel = {.device = device, .built = built, .params = {.rounds = 1, .a = 0.999f, .b = 0.001f}};
  double seconds = 0, rate = 0;
  if (tsr_buffer_create(device, ITEMS * sizeof(float), 0, &kernel.y) != TSR_OK) return 0;
  for (; kernel.params.rounds <= MOST_ROUNDS; kernel.params.rounds *= 8) {
    seconds = time_work(device, queue_kernels, &kernel);
    if (seconds <= 0) break;
    rate = 2.0 * CHAINS * ITEMS * kernel.params.rounds / seconds;
    if (seconds > ENOUGH_NS * 1e-9 / 4) break;
  }
  tsr_buffer_release(kernel.y);
  return rate;
}

static double measure_kernel(tsr_device *device) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  tsri_built built = {0};
  double rate = 0;
  if (device->limits.max_group_size == 0 || !device->backend->dialect) return 0;
  tsr_status status = tsri_lang_parse("multiply_add", text, sizeof text - 1, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel);
  if (status == TSR_OK) status = tsri_built_compile(device, kernel, false, &built);
  if (status == TSR_OK) rate = time_rounds(device, &built);
  (void)tsri_device_wait(device);
  tsri_built_deinit(device, &built);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  return rate;
}

typedef struct product_probe {
  tsr_device *device;
  tsri_native_op op;
  tsr_buffer *buffers[3];  // y, a, b
} product_probe;

static tsr_status queue_products(void *user, int times) {
  const product_probe *product = user;
  tsr_status status = TSR_OK;
  for (int i = 0; i < times && status == TSR_OK; i++) {
    status = tsri_device_run_op(product->device, &product->op, product->buffers, 3);
  }
  return status;
}

static double measure_product(tsr_device *device) {
  product_probe product = {.device = device, .op = {.kind = TSRI_NATIVE_PRODUCT, .dtype = TSR_F32, .result = TSR_F32}};
  tsri_product_op *op = &product.op.is.product;
  const float one = 1;
  op->m = op->n = op->k = SIDE;
  op->a.row = op->b.row = SIDE;
  op->a.column = op->b.column = 1;
  op->alpha = 1;
  tsr_status status = tsri_device_takes(device, &product.op) ? TSR_OK : TSR_ERR_UNSUPPORTED;
  for (int i = 0; i < 3 && status == TSR_OK; i++) {
    size_t bytes = (size_t)SIDE * SIDE * sizeof(float);
    status = tsr_buffer_create(device, bytes, 0, &product.buffers[i]);
    if (status == TSR_OK) status = tsr_buffer_fill(product.buffers[i], 0, bytes, &one, sizeof one);
  }
  if (status == TSR_OK) {
    tsri_place_bind(&op->y, product.buffers[0]);
    tsri_place_bind(&op->a.at, product.buffers[1]);
    tsri_place_bind(&op->b.at, product.buffers[2]);
  }
  double seconds = status == TSR_OK ? time_work(device, queue_products, &product) : 0;
  for (int i = 0; i < 3; i++) tsr_buffer_release(product.buffers[i]);
  return seconds > 0 ? 2.0 * SIDE * SIDE * SIDE / seconds : 0;
}

void tsri_profile_measure(tsr_device *device, double *out_bytes, double *out_operations) {
  *out_bytes = measure_bytes(device);
  *out_operations = device->limits.runs_at_once ? measure_product(device) : 0;
  if (*out_operations == 0) *out_operations = measure_kernel(device);
  (void)tsri_pool_trim(device->pool);
  // The measurement is not the program's work, so it must not show in the counters.
  atomic_store(&device->counters.launches, 0);
  atomic_store(&device->counters.uploads, 0);
  atomic_store(&device->counters.downloads, 0);
}
