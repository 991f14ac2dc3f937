// SPDX-License-Identifier: MIT
// Long loops: measures the driver's limit, and launches until every work item has finished.
#include "runtime/long_loops.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "lang/lang.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

enum {
  PROBE_ROUNDS = 1 << 17,
  // Iterations left for saving and restoring the items' state, and for leaving nested loops.
  MARGIN = 4096,
  STATE_BYTES = 1 << 25  // for saved items in one launch, unless a single work-group needs more
};

struct tsri_long_loops {
  uint32_t rounds;  // iterations that an item may make in one launch
  bool wide_unaligned;
  tsri_mutex lock;                // guards the fields below
  tsri_kernel *sliced, *resumed;  // NULL: not created yet
  tsri_built built;
};

// --- Measuring --------------------------------------------------------------------------------------------------------

// A compiler cannot compute the result without running all iterations.
static const char probe_text[] =
    "kernel count_rounds<WG = 1>(out u32 y[], u32 n) {\n"
    "  u32 s = 0;\n"
    "  for (u32 i = 0; i < n; i++) s = (s ^ i) * 1664525u + 1013904223u;\n"
    "  y[0] = s;\n}\n";

// The number of iterations that give `result`; PROBE_ROUNDS + 1 if none does.
static uint32_t rounds_of(uint32_t result) {
  uint32_t s = 0, last = PROBE_ROUNDS + 1;
  for (uint32_t i = 0; i < PROBE_ROUNDS; i++) {
    s = (s ^ i) * 1664525u + 1013904223u;
    if (s == result) last = i + 1;
  }
  return last;
}

static tsr_status run_probe(tsr_device *device, const tsri_kernel *kernel, uint32_t *out_result) {
  const uint32_t rounds = PROBE_ROUNDS, groups[3] = {1, 1, 1};
  tsri_built built = {0};
  tsr_buffer *y = NULL;
  tsr_status status = tsri_built_compile(device, kernel, false, &built);
  if (status == TSR_OK) status = tsr_buffer_create(device, sizeof *out_result, 0, &y);
  tsri_argument argument = {.buffer = y, .element_count = 1};
  if (status == TSR_OK) status = tsri_built_launch(device, &built, groups, &argument, &rounds);
  if (status == TSR_OK) status = tsr_buffer_download(y, 0, out_result, sizeof *out_result);
  tsr_buffer_release(y);
  tsri_built_deinit(device, &built);
  return status;
}

tsr_status tsri_long_loops_measure(tsr_device *device) {
  if (!device->info.is_software || device->limits.max_group_size == 0 || !device->backend->dialect) return TSR_OK;
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  uint32_t result = 0;
  tsr_status status = tsri_lang_parse("count_rounds", probe_text, sizeof probe_text - 1, NULL, &module);
  if (status == TSR_OK) status = tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel);
  if (status == TSR_OK) status = run_probe(device, kernel, &result);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  if (status != TSR_OK) return status;
  uint32_t rounds = rounds_of(result);
  if (rounds > PROBE_ROUNDS || rounds <= 2 * MARGIN) {
    return TSRI_FAIL(TSR_ERR_INTERNAL, "self-test of %s failed: a loop of %d rounds gives %u", device->backend->name,
                     PROBE_ROUNDS, result);
  }
  atomic_store(&device->counters.launches, 0);  // the probe is not a launch of the program
  if (rounds == PROBE_ROUNDS) return TSR_OK;
  device->limits.max_loop_rounds = rounds;
  tsri_log(TSR_LOG_DEBUG, "%s: the driver ends loops after %u rounds; longer ones take several launches",
           device->info.name, rounds);
  return TSR_OK;
}

// --- Life -------------------------------------------------------------------------------------------------------------

tsr_status tsri_long_loops_create(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                                  tsri_long_loops **out_loops) {
  *out_loops = NULL;
  uint32_t most = device->limits.max_loop_rounds;
  if (most == 0 || !tsri_ir_has_loop(kernel)) return TSR_OK;
  tsri_long_loops *loops = tsri_calloc(1, sizeof *loops);
  if (!loops) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", kernel->variant);
  loops->rounds = most > 2 * MARGIN ? most - MARGIN : most;
  loops->wide_unaligned = wide_unaligned;
  tsri_mutex_init(&loops->lock);
  *out_loops = loops;
  return TSR_OK;
}

void tsri_long_loops_destroy(tsr_device *device, tsri_long_loops *loops) {
  if (!loops) return;
  tsri_built_deinit(device, &loops->built);
  tsri_kernel_release(loops->resumed);
  tsri_kernel_release(loops->sliced);
  tsri_mutex_deinit(&loops->lock);
  tsri_free(loops);
}

bool tsri_long_loops_cuts(const tsri_long_loops *loops, const tsri_kernel *kernel, const uint32_t groups[3],
                          const void *params) {
  return !(tsri_kernel_rounds(kernel, groups, params) <= loops->rounds);
}

// Builds the program when the first launch needs it. It is sliced first, so that a launch can be cut into parts whose
// saved state fits into STATE_BYTES.
static tsr_status find_program(tsr_device *device, tsri_long_loops *loops, const tsri_kernel *kernel) {
  tsr_status status = TSR_OK;
  tsri_mutex_lock(&loops->lock);
  if (!loops->sliced) status = tsri_kernel_slice(kernel, &loops->sliced);
  if (status == TSR_OK && !loops->resumed) status = tsri_kernel_resume(loops->sliced, loops->rounds, &loops->resumed);
  if (status == TSR_OK && !loops->built.program) {
    status = tsri_built_compile(device, loops->resumed, loops->wide_unaligned, &loops->built);
  }
  tsri_mutex_unlock(&loops->lock);
  return status;
}

// --- Launching --------------------------------------------------------------------------------------------------------

typedef struct loop_cutting {
  tsr_device *device;
  const tsri_built *built;
  tsri_argument arguments[TSRI_LANG_MAX_BUFFERS];
  tsr_buffer *state;
  uint64_t block[TSRI_LANG_MAX_PARAMS];
  tsri_kernel_slice_params *slice;  // points into `block`
  uint32_t *again;                  // points into `block`; not 0: items restore their saved state
  uint64_t start_ns;                // when the first launch began
} loop_cutting;

// The device's time-out holds for all launches together, so that a loop without end is stopped.
static tsr_status check_time(const loop_cutting *c) {
  uint64_t limit = c->device->timeout_ns;
  if (limit == UINT64_MAX || tsri_clock_ns() - c->start_ns < limit) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_TIMEOUT, "kernel %s: stopped after %llu ms (is there a loop that does not end?)",
                   c->built->kernel->name, (unsigned long long)(limit / 1000000));
}

// Reads whether an item has stopped. The copy goes to staging memory, not to the stack: after a time-out the driver may still write to it when this
// function has returned.
static tsr_status read_report(const loop_cutting *c, uint32_t *out_stopped) {
  uint32_t *report = tsri_stage_create(sizeof *report);
  if (!report)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its report", c->built->kernel->name);
  tsr_status status = tsr_buffer_download(c->state, 0, report, sizeof *report);
  if (status == TSR_OK) *out_stopped = *report;
  tsri_stage_release(c->device, report, status);
  return status;
}

// Launches one part repeatedly until no work item reports that it has stopped early.
static tsr_status run_part(loop_cutting *c, const uint32_t groups[3]) {
  uint32_t has_stopped = 0, none = 0;
  *c->again = 0;
  do {
    tsr_status status = tsr_buffer_fill(c->state, 0, sizeof none, &none, sizeof none);
    if (status == TSR_OK) status = tsri_built_launch(c->device, c->built, groups, c->arguments, c->block);
    if (status == TSR_OK) status = read_report(c, &has_stopped);
    if (status == TSR_OK && has_stopped) status = check_time(c);
    if (status != TSR_OK) return status;
    *c->again = 1;
  } while (has_stopped);
  return TSR_OK;
}

// Runs the launch in parts of at most part[0] * part[1] * part[2] work-groups.
static tsr_status run_parts(loop_cutting *c, const uint32_t groups[3], const uint32_t part[3]) {
  tsr_status status = TSR_OK;
  uint32_t *first = c->slice->first, now[3];
  for (first[2] = 0; first[2] < groups[2] && status == TSR_OK; first[2] += part[2]) {
    for (first[1] = 0; first[1] < groups[1] && status == TSR_OK; first[1] += part[1]) {
      for (first[0] = 0; first[0] < groups[0] && status == TSR_OK; first[0] += part[0]) {
        for (int i = 0; i < 3; i++) now[i] = groups[i] - first[i] < part[i] ? groups[i] - first[i] : part[i];
        status = run_part(c, now);
      }
    }
  }
  return status;
}

static tsr_status launch(tsr_device *device, tsri_long_loops *loops, const tsri_kernel *kernel,
                         const uint32_t groups[3], const tsri_argument *arguments, const void *params) {
  tsr_status status = find_program(device, loops, kernel);
  if (status != TSR_OK) return status;
  uint64_t words = tsri_kernel_resume_words(loops->sliced), most_bytes = STATE_BYTES;
  if (device->limits.max_binding_bytes && device->limits.max_binding_bytes < most_bytes) {
    most_bytes = device->limits.max_binding_bytes;
  }
  uint64_t fits = (most_bytes / 4 - 1) / words;
  uint32_t part[3];
  uint64_t count = 1;
  for (int i = 0; i < 3; i++) {
    uint64_t most = fits / count > 0 ? fits / count : 1;
    part[i] = groups[i] < most ? groups[i] : (uint32_t)most;
    count *= part[i];
  }
  loop_cutting c = {.device = device, .built = &loops->built, .start_ns = tsri_clock_ns()};
  uint64_t state_words = 1 + words * count;
  status = tsr_buffer_create(device, (size_t)state_words * 4, 0, &c.state);
  if (status != TSR_OK) return status;
  memcpy(c.arguments, arguments, kernel->buffer_count * sizeof *arguments);
  c.arguments[kernel->buffer_count] = (tsri_argument){.buffer = c.state, .element_count = state_words};
  if (kernel->params_bytes) memcpy(c.block, params, kernel->params_bytes);
  c.slice = (tsri_kernel_slice_params *)(void *)((char *)c.block + kernel->params_bytes);
  *c.slice = (tsri_kernel_slice_params){.groups = {groups[0], groups[1], groups[2]}};
  c.again = (uint32_t *)(void *)((char *)c.block + loops->sliced->params_bytes);
  status = run_parts(&c, groups, part);
  tsr_buffer_release(c.state);
  return status;
}

// --- In a capture -----------------------------------------------------------------------------------------------------

// A launch that a tape repeats. The tape holds the buffers; whoever holds the tape holds the kernel.
typedef struct taped_launch {
  tsri_long_loops *loops;
  const tsri_kernel *kernel;
  uint32_t groups[3];
  tsri_argument arguments[TSRI_LANG_MAX_BUFFERS];
  uint64_t params[TSRI_LANG_MAX_PARAMS];
} taped_launch;

static tsr_status launch_again(tsr_device *device, void *work) {
  const taped_launch *t = work;
  return launch(device, t->loops, t->kernel, t->groups, t->arguments, t->params);
}

static tsr_status tape_launch(tsr_device *device, tsri_long_loops *loops, const tsri_kernel *kernel,
                              const uint32_t groups[3], const tsri_argument *arguments, const void *params) {
  taped_launch *t = tsri_calloc(1, sizeof *t);
  if (!t) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to capture its launch", kernel->variant);
  *t = (taped_launch){.loops = loops, .kernel = kernel, .groups = {groups[0], groups[1], groups[2]}};
  memcpy(t->arguments, arguments, kernel->buffer_count * sizeof *arguments);
  if (kernel->params_bytes) memcpy(t->params, params, kernel->params_bytes);
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    bool is_written = kernel->buffers[i].access != TSRI_ACCESS_IN;
    (is_written ? tsri_tape_writes : tsri_tape_uses)(device, arguments[i].buffer);
  }
  tsri_tape_calls(device, t, launch_again, tsri_free);
  return TSR_OK;
}

tsr_status tsri_long_loops_launch(tsr_device *device, tsri_long_loops *loops, const tsri_kernel *kernel,
                                  const uint32_t groups[3], const tsri_argument *arguments, const void *params) {
  tsri_tape *tape = tsri_tape_now();
  tsri_taping before = tsri_tape_enter(0);
  tsr_status status = launch(device, loops, kernel, groups, arguments, params);
  tsri_tape_leave(before);
  if (status == TSR_OK && tape) status = tape_launch(device, loops, kernel, groups, arguments, params);
  return status;
}
