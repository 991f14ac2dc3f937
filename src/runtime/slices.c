// SPDX-License-Identifier: MIT
// Cuts long launches into slices: estimates their work, and runs and times the slices.
#include "runtime/slices.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"

// --- What a launch may cost -----------------------------------------------------------------------------------------

enum {
  ELEMENT_STEPS = 64,  // how often loops use each element of a buffer, at most
  INNER_STEPS = 8,     // assumed iterations of a loop inside another: mostly a small constant
  MOST_DEPTH = 4,
  MOST_NESTING = 64,  // deeper blocks are ignored
  FIRST_SHARE = 256,  // the first slice has this fraction of the work-groups
  GROWTH = 8          // a slice is at most this many times as large as the one before
};

// An amount of work that a small GPU, or a device emulated on the CPU, does in about a tenth of a second.
static const double worth_of_hardware = 0x1p36, worth_of_software = 0x1p25;

// The nesting depth of loops, at most MOST_DEPTH.
static int loop_depth(const tsri_kernel *kernel, uint32_t first, int nesting) {
  int deepest = 0;
  if (nesting > MOST_NESTING) return 0;
  for (uint32_t i = first; i; i = kernel->stmts[i].next) {
    const tsri_ir_stmt *stmt = &kernel->stmts[i];
    if (stmt->kind != TSRI_STMT_LOOP && stmt->kind != TSRI_STMT_IF) continue;
    int body = loop_depth(kernel, stmt->body, nesting + 1), other = loop_depth(kernel, stmt->other, nesting + 1);
    int depth = (body > other ? body : other) + (stmt->kind == TSRI_STMT_LOOP);
    if (depth > deepest) deepest = depth;
  }
  return deepest < MOST_DEPTH ? deepest : MOST_DEPTH;
}

// Steps in one iteration of an outermost loop; 0 if there is no loop.
static double round_steps(const tsri_kernel *kernel) {
  int depth = loop_depth(kernel, kernel->body, 0);
  double steps = depth > 0 ? 1 : 0;
  for (int i = 1; i < depth; i++) steps *= INNER_STEPS;
  return steps;
}

// The largest integer among the parameters, taken as the greatest number of iterations of a loop.
static double largest_param(const tsri_kernel *kernel, const void *params) {
  double largest = 1;
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    const char *at = (const char *)params + kernel->params[i].offset;
    int64_t value = 0;
    uint32_t low = 0;
    memcpy(&low, at, sizeof low);
    if (kernel->params[i].type.dtype == TSR_I64) memcpy(&value, at, sizeof value);
    if (kernel->params[i].type.dtype == TSR_U32) value = low;
    if (kernel->params[i].type.dtype == TSR_I32) value = (int32_t)low;
    if ((double)value > largest) largest = (double)value;
  }
  return largest;
}

double tsri_slicer_work(const tsri_slicer *slicer, const tsri_kernel *kernel, const uint32_t groups[3],
                        const tsri_argument *arguments, const void *params) {
  double items = 1, elements = 0;
  for (int i = 0; i < 3; i++) items *= (double)groups[i] * kernel->group_size[i];
  if (slicer->round_steps == 0) return items;
  for (uint32_t i = 0; i < kernel->buffer_count; i++) elements += (double)arguments[i].element_count;
  double most = items * largest_param(kernel, params), used = ELEMENT_STEPS * elements;
  double rounds = most < used ? most : used;
  return (rounds > items ? rounds : items) * slicer->round_steps;
}

static float rate_of(const tsri_slicer *slicer) {
  uint32_t bits = atomic_load_explicit(&slicer->rate, memory_order_relaxed);
  float rate;
  memcpy(&rate, &bits, sizeof rate);
  return rate;
}

static void keep_rate(tsri_slicer *slicer, double rate) {
  float value = (float)rate;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  atomic_store_explicit(&slicer->rate, bits, memory_order_relaxed);
}

bool tsri_slicer_cuts(const tsri_slicer *slicer, double work) {
  if (work < slicer->worth) return false;
  float rate = rate_of(slicer);
  return rate == 0 || (double)rate * work > (double)slicer->limit_ns;
}

// --- Life -----------------------------------------------------------------------------------------------------------

tsr_status tsri_slicer_create(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                              tsri_slicer **out_slicer) {
  *out_slicer = NULL;
  if (device->limits.longest_launch_ns == 0) return TSR_OK;
  tsri_slicer *slicer = tsri_calloc(1, sizeof *slicer);
  if (!slicer) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", kernel->variant);
  slicer->limit_ns = device->limits.longest_launch_ns;
  slicer->worth = device->info.is_software ? worth_of_software : worth_of_hardware;
  slicer->round_steps = round_steps(kernel);
  slicer->wide_unaligned = wide_unaligned;
  atomic_init(&slicer->rate, 0);
  tsri_mutex_init(&slicer->lock);
  *out_slicer = slicer;
  return TSR_OK;
}

void tsri_slicer_destroy(tsr_device *device, tsri_slicer *slicer) {
  if (!slicer) return;
  tsri_built_deinit(device, &slicer->built);
  tsri_kernel_release(slicer->kernel);
  tsri_mutex_deinit(&slicer->lock);
  tsri_free(slicer);
}

// Builds the sliced program when the first launch is cut.
static tsr_status find_program(tsr_device *device, tsri_slicer *slicer, const tsri_kernel *kernel) {
  tsri_mutex_lock(&slicer->lock);
  tsr_status status = slicer->kernel ? TSR_OK : tsri_kernel_slice(kernel, &slicer->kernel);
  if (status == TSR_OK && !slicer->built.program) {
    status = tsri_built_compile(device, slicer->kernel, slicer->wide_unaligned, &slicer->built);
  }
  tsri_mutex_unlock(&slicer->lock);
  return status;
}

// --- Launching ------------------------------------------------------------------------------------------------------

typedef struct cutting {
  tsr_device *device;
  const tsri_built *built;
  const tsri_argument *arguments;
  int axis;  // the axis that is cut: the longest
  uint32_t groups[3];
  tsri_kernel_slice_params *slice;  // points into `block`
  const void *block;
} cutting;

// Runs `count` work-groups of the axis from `first` on; `*out_ns` is the time they took.
static tsr_status run_slice(const cutting *c, uint32_t first, uint32_t count, uint64_t *out_ns) {
  uint32_t groups[3] = {c->groups[0], c->groups[1], c->groups[2]};
  groups[c->axis] = count;
  c->slice->first[c->axis] = first;
  uint64_t start = tsri_clock_ns();
  tsr_status status = tsri_built_launch(c->device, c->built, groups, c->arguments, c->block);
  if (status == TSR_OK) status = tsri_device_wait(c->device);
  *out_ns = tsri_clock_ns() - start;
  return status;
}

uint32_t tsri_slicer_next(uint32_t count, uint64_t ns, uint64_t limit_ns) {
  double fits = (double)limit_ns / 2 / ((double)ns + 1) * count;
  if (fits > (double)count * GROWTH) fits = (double)count * GROWTH;
  return fits < 1 ? 1 : fits > (double)UINT32_MAX ? UINT32_MAX : (uint32_t)fits;
}

static tsr_status run_slices(const cutting *c, tsri_slicer *slicer, double work) {
  uint32_t all = c->groups[c->axis], first = 0, count = all / FIRST_SHARE > 0 ? all / FIRST_SHARE : 1, slices = 0;
  uint64_t total_ns = 0;
  tsr_status status = tsri_device_wait(c->device);  // so that earlier work is not measured
  while (first < all && status == TSR_OK) {
    uint64_t ns = 0;
    if (count > all - first) count = all - first;
    status = run_slice(c, first, count, &ns);
    first += count;
    total_ns += ns;
    slices++;
    count = tsri_slicer_next(count, ns, slicer->limit_ns);
  }
  if (status != TSR_OK) return status;
  keep_rate(slicer, (double)total_ns / work);
  tsri_log(TSR_LOG_DEBUG, "%s: %u slices, %.3f s", c->built->kernel->variant, slices, (double)total_ns * 1e-9);
  return TSR_OK;
}

tsr_status tsri_slicer_launch(tsr_device *device, tsri_slicer *slicer, const tsri_kernel *kernel,
                              const uint32_t groups[3], const tsri_argument *arguments, const void *params,
                              double work) {
  tsr_status status = find_program(device, slicer, kernel);
  if (status != TSR_OK) return status;
  uint64_t block[TSRI_LANG_MAX_PARAMS];
  cutting c = {.device = device, .built = &slicer->built, .arguments = arguments, .block = block};
  memcpy(c.groups, groups, sizeof c.groups);
  if (kernel->params_bytes) memcpy(block, params, kernel->params_bytes);
  tsri_kernel_slice_params *slice = (tsri_kernel_slice_params *)((char *)block + kernel->params_bytes);
  *slice = (tsri_kernel_slice_params){.groups = {groups[0], groups[1], groups[2]}};
  c.slice = slice;
  for (int i = 1; i < 3; i++) {
    if (groups[i] > groups[c.axis]) c.axis = i;
  }
  return run_slices(&c, slicer, work);
}
