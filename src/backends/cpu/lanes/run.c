// SPDX-License-Identifier: MIT
// Executes a launch: checks its arguments, divides it into blocks, and lets threads take these, a chunk at a time.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/jit/jit.h"
#include "backends/cpu/lanes/program.h"
#include "core/alloc.h"
#include "core/error.h"
#include "lang/ir/index_fault.h"
#include "platform/parallel.h"
#include "platform/platform.h"

// --- One thread's registers and memory --------------------------------------------------------------------------------

enum { LINE = 64 };

static size_t to_line(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

// Each register is one cache line longer than needed: if registers were 4096 bytes apart, loads would wait for stores to other registers with the same low address bits.
static size_t reg_bytes(const lane_work *work, size_t value_bytes) { return to_line(work->lanes * value_bytes) + LINE; }

typedef struct carver {
  char *memory;  // NULL: only the size is computed
  size_t bytes;
} carver;

static void *carve(carver *c, size_t bytes) {
  void *at = c->memory ? c->memory + c->bytes : NULL;
  c->bytes += to_line(bytes);
  return at;
}

static void carve_registers(const tsri_lanes_program *p, carver *c, lane_work *work) {
  uint32_t first_8 = p->scalar_count + p->reg4_count, count = first_8 + p->reg8_count;
  for (uint32_t i = 0; i < count; i++) {
    void *at = i < p->scalar_count ? NULL : carve(c, reg_bytes(work, i < first_8 ? 4 : 8));
    if (!c->memory) continue;
    work->reg[i] = work->home[i] = at ? at : work->scalars + i;
    work->steps[i] = (lane_steps){.x = 1, .y = p->group[0]};
  }
}

static void carve_arrays(const tsri_lanes_program *p, carver *c, lane_work *work) {
  for (uint32_t i = 0; i < p->shared_count + p->local_count; i++) {
    const lane_array_info *info = &p->arrays[p->buffer_count + i];
    size_t bytes = (size_t)info->count * (i < p->shared_count ? info->element_bytes : info->value_bytes * p->lanes);
    void *at = carve(c, bytes);
    if (c->memory) work->arrays[p->buffer_count + i] = (lane_array){.memory = at, .count = info->count};
  }
}

// Divides a thread's memory into its parts, for work->lanes lanes. Without memory, only computes the size.
static size_t lay_out(const tsri_lanes_program *p, char *memory, lane_work *work) {
  carver c = {.memory = memory};
  size_t registers = (size_t)p->scalar_count + p->reg4_count + p->reg8_count;
  work->reg = carve(&c, registers * sizeof(void *));
  work->home = carve(&c, registers * sizeof(void *));
  work->steps = carve(&c, registers * sizeof(lane_steps));
  work->scalars = carve(&c, ((size_t)p->scalar_count + LANE_KEPT_SCALARS) * sizeof(uint64_t));
  work->saves = carve(&c, (p->save_count + 1) * sizeof(lane_set));
  work->arrays = carve(&c, ((size_t)p->buffer_count + p->shared_count + p->local_count + 1) * sizeof(lane_array));
  carve_arrays(p, &c, work);
  work->cleared_bytes = c.bytes;
  work->value_scratch = carve(&c, reg_bytes(work, 8));
  work->index_scratch = carve(&c, reg_bytes(work, 8));
  work->mask_scratch = carve(&c, reg_bytes(work, 4));
  carve_registers(p, &c, work);
  return c.bytes;
}

// Bytes of all lane_works that are kept between launches, by all programs.
static _Atomic size_t kept_bytes;

// Whether a lane_work may be kept: it is not large, and not too many bytes are kept already.
static bool may_keep(size_t bytes) {
  const size_t most_each = (size_t)4 << 20, most = (size_t)128 << 20;
  if (bytes > most_each) return false;
  if (atomic_fetch_add(&kept_bytes, bytes) + bytes <= most) return true;
  atomic_fetch_sub(&kept_bytes, bytes);
  return false;
}

static void destroy_work(lane_work *work) {
  if (!work) return;
  if (work->is_kept) atomic_fetch_sub(&kept_bytes, work->bytes);
  tsri_free(work);
}

static lane_work *create_work(const tsri_lanes_program *p, uint32_t lanes) {
  lane_work sizes = {.lanes = lanes};
  size_t bytes = lay_out(p, NULL, &sizes);
  char *block = tsri_malloc(to_line(sizeof(lane_work)) + bytes + LINE);
  if (!block) return NULL;
  lane_work *work = (lane_work *)(void *)block;
  char *memory = block + to_line(sizeof *work);
  memory += (size_t)(-(uintptr_t)memory) % LINE;
  // Does not clear the registers, which are most of the memory: a launch with few elements touches only their first bytes.
  *work = (lane_work){.lanes = lanes};
  memset(memory, 0, sizes.cleared_bytes);
  lay_out(p, memory, work);
  // Registers of large blocks (most_lanes) are mostly not touched, so they take no physical memory.
  work->bytes = lanes > p->lanes ? bytes / lanes * p->lanes : bytes;
  work->is_kept = may_keep(work->bytes);
  for (uint32_t i = 0; i < p->const_count; i++) {
    work->scalars[TSRI_LANE_PLACES + p->param_count + i] =
        p->consts[2 * (size_t)i] | (uint64_t)p->consts[2 * (size_t)i + 1] << 32;
  }
  return work;
}

// Takes a lane_work that an earlier launch of the program has kept, since most kernels are launched repeatedly. If it has room for too few lanes (after a
// launch with few elements), it is replaced.
static lane_work *take_work(const tsri_lanes_program *p, uint32_t lanes) {
  struct lane_work *_Atomic *spare = ((tsri_lanes_program *)(uintptr_t)p)->spare;
  for (int i = 0; i < LANE_SPARE_WORKS; i++) {
    if (!atomic_load_explicit(&spare[i], memory_order_relaxed)) continue;
    lane_work *work = atomic_exchange(&spare[i], NULL);
    if (work && work->lanes >= lanes) return work;
    destroy_work(work);
  }
  return create_work(p, lanes);
}

static void give_work(const tsri_lanes_program *p, lane_work *work) {
  struct lane_work *_Atomic *spare = ((tsri_lanes_program *)(uintptr_t)p)->spare;
  for (int i = 0; work->is_kept && i < LANE_SPARE_WORKS; i++) {
    lane_work *none = NULL;
    if (atomic_compare_exchange_strong(&spare[i], &none, work)) return;
  }
  destroy_work(work);
}

void tsri_lanes_drop_works(tsri_lanes_program *p) {
  for (int i = 0; i < LANE_SPARE_WORKS; i++) destroy_work(atomic_exchange(&p->spare[i], NULL));
}

// --- Ending early -----------------------------------------------------------------------------------------------------

bool tsri_lanes_stop(lane_exec *x, tsr_status status, const lane_insn *insn, int64_t index, uint64_t count) {
  int expected = TSR_OK;
  lane_launch *launch = x->launch;
  if (atomic_compare_exchange_strong(&launch->status, &expected, (int)status) && insn) {
    launch->fault_insn = (uint32_t)(insn - x->program->insns);
    launch->fault_index = index;
    launch->fault_count = count;
  }
  return false;
}

bool tsri_lanes_may_go_on(lane_exec *x) {
  lane_launch *launch = x->launch;
  if (atomic_load_explicit(&launch->status, memory_order_relaxed) != TSR_OK) return false;
  if (launch->deadline_ns != 0 && tsri_clock_ns() > launch->deadline_ns) {
    return tsri_lanes_stop(x, TSR_ERR_TIMEOUT, NULL, 0, 0);
  }
  return true;
}

static tsr_status report_fault(const lane_launch *launch) {
  const tsri_lanes_program *p = launch->program;
  const lane_insn *insn = &p->insns[launch->fault_insn];
  const lane_array_info *array = &p->arrays[insn->a];
  const char *kind = insn->a < p->buffer_count                     ? "buffer"
                     : insn->a < p->buffer_count + p->shared_count ? "shared array"
                                                                   : "local array";
  tsri_index_fault fault = {.kernel = p->name,
                            .file = p->file,
                            .kind = kind,
                            .array = array->name,
                            .dim_count = array->dim_count,
                            .dims = array->dims,
                            .index = launch->fault_index,
                            .count = launch->fault_count,
                            .lanes = TSRI_LANE_WIDE_OF(insn->flags),
                            .pos = insn->f};
  char text[512];
  tsri_index_fault_text(&fault, text, sizeof text);
  return TSRI_FAIL(TSR_ERR_LAUNCH, "%s", text);
}

static tsr_status report(const lane_launch *launch) {
  const tsri_lanes_program *p = launch->program;
  switch (atomic_load(&launch->status)) {
    case TSR_OK:
      return TSR_OK;
    case TSR_ERR_LAUNCH:
      return report_fault(launch);
    default:  // TSR_ERR_TIMEOUT
      return TSRI_FAIL(TSR_ERR_TIMEOUT, "kernel %s: stopped after %" PRIu64 " ms (is there a loop that does not end?)",
                       p->name, launch->given->timeout_ns / 1000000);
  }
}

// --- Threads ----------------------------------------------------------------------------------------------------------

// A parameter of 4 or 8 bytes.
static void copy_param(uint64_t *to, const char *from, uint32_t bytes) {
  if (bytes == sizeof(uint32_t)) memcpy(to, from, sizeof(uint32_t));
  else memcpy(to, from, sizeof(uint64_t));
}

static void bind(lane_exec *x) {
  const tsri_lanes_program *p = x->program;
  for (uint32_t i = 0; i < p->param_count; i++) {
    const uint32_t *param = p->params + (size_t)i * TSRI_LANE_PARAM_WORDS;
    copy_param(&x->work->scalars[TSRI_LANE_PLACES + i], (const char *)x->launch->given->params + param[0], param[1]);
  }
  for (uint32_t i = 0; i < p->buffer_count; i++) x->work->arrays[i] = x->launch->buffers[i];
  for (int i = 0; i < 3; i++) x->work->scalars[TSRI_LANE_PLACE_GROUPS + i] = x->launch->given->groups[i];
  // Clear saved sets: programs that we compile save a set before they restore it, but others may not, and whatever they restore must fit the registers.
  for (uint32_t i = 0; i < p->save_count; i++) x->work->saves[i] = (lane_set){.n = 0};
}

// Sets the registers of places and the set of lanes for the block at `at`.
static void enter_block(lane_exec *x, const uint64_t at[3]) {
  const tsri_lanes_program *p = x->program;
  const lane_launch *launch = x->launch;
  uint64_t *places = x->work->scalars;
  for (int i = 0; i < 3; i++) {
    uint64_t step = i == 0 && p->is_merged ? launch->block_lanes : p->group[i];
    places[TSRI_LANE_PLACE_GROUP + i] = (uint32_t)at[i];
    places[TSRI_LANE_PLACE_FIRST + i] = (uint32_t)(at[i] * step);
  }
  uint32_t n = p->is_merged ? launch->block_lanes : p->lanes;
  if (p->is_merged) {
    uint64_t left = launch->items_x - at[0] * launch->block_lanes;
    if (left < n) n = (uint32_t)left;
  }
  x->set = (lane_set){.n = n};
}

// Runs the blocks `first` to `last` - 1. False: the launch has ended.
static bool run_range(lane_exec *x, uint64_t first, uint64_t last) {
  const lane_launch *launch = x->launch;
  uint64_t at[3] = {0};
  if (first > 0) {  // a division takes as long as a small kernel
    at[0] = first % launch->blocks[0];
    at[1] = first / launch->blocks[0] % launch->blocks[1];
    at[2] = first / launch->blocks[0] / launch->blocks[1];
  }
  if (!tsri_lanes_may_go_on(x)) return false;
  for (uint64_t i = first; i < last; i++) {
    enter_block(x, at);
    if (!tsri_lanes_exec(x)) return false;
    if (--x->fuel == 0) {
      x->fuel = LANE_FUEL;
      if (!tsri_lanes_may_go_on(x)) return false;
    }
    if (++at[0] < launch->blocks[0]) continue;
    at[0] = 0;
    if (++at[1] < launch->blocks[1]) continue;
    at[1] = 0;
    at[2]++;
  }
  return true;
}

// Runs the remaining blocks of a share. False: the launch has ended.
static bool run_share(lane_exec *x, lane_share *share) {
  const lane_launch *launch = x->launch;
  for (;;) {
    uint64_t first = atomic_fetch_add_explicit(&share->next, launch->chunk, memory_order_relaxed);
    if (first >= share->last) return true;
    uint64_t last = share->last - first < launch->chunk ? share->last : first + launch->chunk;
    if (!run_range(x, first, last)) return false;
  }
}

// Runs a thread's share, then blocks of other shares. A thread has the same share in every launch of the same size, since what it read the last time may still
// be in its core's caches.
static void run_blocks(lane_exec *x, uint32_t thread) {
  const lane_launch *launch = x->launch;
  if (launch->share_count == 0) {
    run_range(x, 0, launch->block_count);
    return;
  }
  for (uint32_t i = 0; i < launch->share_count; i++) {
    if (!run_share(x, &launch->shares[(thread + i) % launch->share_count])) return;
  }
}

// Part 0 has its registers from the caller. If there is no memory for those of another part, it leaves its share of the work to the others.
static void run_thread(void *user, int thread) {
  lane_launch *launch = user;
  const tsri_lanes_program *p = launch->program;
  lane_exec x = {
      .program = p,
      .launch = launch,
      .isa = launch->isa,
      .math = launch->math,
      .jit = launch->jit,
      .work = thread == 0 ? launch->first_work : take_work(p, launch->work_lanes),
      .group_x = p->is_merged ? launch->block_lanes : p->group[0],
      .group_xy = p->is_merged ? launch->block_lanes : p->group[0] * p->group[1],
      .fuel = LANE_FUEL,
      .is_checked = p->is_checked,
  };
  if (!x.work) return;
  bind(&x);
  run_blocks(&x, (uint32_t)thread);
  if (x.jit) tsri_jit_count(&x);
  if (launch->has_streams) launch->isa->fence();
  give_work(p, x.work);
}

// --- The launch -------------------------------------------------------------------------------------------------------

static bool count_fits(const uint32_t groups[3]) { return (double)groups[0] * groups[1] * groups[2] < 0x1p62; }

static tsr_status check_launch(const tsri_lanes_program *p, const tsri_lanes_launch *given) {
  if (given->buffer_count != p->buffer_count) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s: takes %u buffers, %u were given", p->name, p->buffer_count,
                     given->buffer_count);
  }
  if (given->params_bytes != p->params_bytes) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s: takes %u bytes of parameters, %u were given", p->name,
                     p->params_bytes, given->params_bytes);
  }
  if (!count_fits(given->groups)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s: %u x %u x %u groups are too many", p->name, given->groups[0],
                     given->groups[1], given->groups[2]);
  }
  for (uint32_t i = 0; i < p->buffer_count; i++) {
    // A buffer that this specialisation never accesses may be a stand-in with elements of another size.
    bool is_used = p->arrays[i].is_loaded || p->arrays[i].is_stored;
    if (is_used && ((uintptr_t)given->buffers[i].memory & (p->arrays[i].element_bytes - 1u)) != 0) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "kernel %s: buffer '%s' is not aligned to its elements of %u bytes",
                       p->name, p->arrays[i].name, p->arrays[i].element_bytes);
    }
  }
  return TSR_OK;
}

static bool overlap(const tsri_lanes_buffer *a, const tsri_lanes_buffer *b) {
  const char *a_first = a->memory, *b_first = b->memory;
  return a_first < b_first + b->bytes && b_first < a_first + a->bytes;
}

// Non-temporal stores are used if a launch reads and writes more bytes than this, much more than the caches hold.
enum { STREAM_BYTES = 48 << 20 };

static void set_buffers(lane_launch *launch) {
  const tsri_lanes_program *p = launch->program;
  const tsri_lanes_buffer *given = launch->given->buffers;
  uint64_t total = 0;
  launch->may_alias_memory = true;
  for (uint32_t i = 0; i < p->buffer_count; i++) {
    launch->buffers[i] = (lane_array){.memory = given[i].memory, .count = given[i].bytes >> p->arrays[i].element_shift};
    total += given[i].bytes;
    for (uint32_t k = 0; p->arrays[i].is_stored && k < p->buffer_count; k++) {
      if (k != i && overlap(&given[i], &given[k])) launch->may_alias_memory = false;
    }
  }
  for (uint32_t i = 0; i < p->buffer_count; i++) {
    const lane_array_info *info = &p->arrays[i];
    launch->buffers[i].is_streamed = total >= STREAM_BYTES && given[i].bytes >= STREAM_BYTES / 8 && info->is_stored &&
                                     !info->is_loaded && info->element_bytes == info->value_bytes;
    launch->has_streams = launch->has_streams || launch->buffers[i].is_streamed;
  }
}

// Chooses the lanes of a block, at most `most`. If there are few blocks, their number becomes a multiple of the number of threads.
static uint32_t even_lanes(uint64_t items, int threads, uint32_t most) {
  enum { LEAST_LANES = 256, MANY_ROUNDS = 16, UNIT = 64 };
  if (threads == 1 || most <= LEAST_LANES) return most;
  uint64_t rounds = items / ((uint64_t)threads * most) + 1;
  if (rounds > MANY_ROUNDS) return most;
  uint64_t blocks = rounds * (uint64_t)threads, lanes = ((items + blocks - 1) / blocks + UNIT - 1) / UNIT * UNIT;
  return lanes < LEAST_LANES ? LEAST_LANES : lanes < most ? (uint32_t)lanes : most;
}

#if defined(__wasm__)
static uint32_t most_lanes(const lane_launch *launch, int threads) {
  (void)threads;
  return launch->program->lanes;
}
#else
// Whether every buffer has an element for each item: then loads refer to the buffer and need no register.
static bool has_element_for_each_item(const lane_launch *launch) {
  const tsri_lanes_program *p = launch->program;
  for (uint32_t i = 0; i < p->buffer_count; i++) {
    uint64_t count = launch->buffers[i].count;
    if (count > launch->items_x || count + p->group[0] <= launch->items_x) return false;
  }
  return launch->may_alias_memory;
}

// The most lanes of a block. If compiled code needs no registers in memory, blocks are larger than p->lanes, since each block costs some 80 ns besides its
// lanes, a tenth of the time of a sum of two arrays. The code may be interpreted after all: LARGE_WORK limits the registers needed then. With several threads
// each gets some blocks.
static uint32_t most_lanes(const lane_launch *launch, int threads) {
  enum { LARGE_WORK = 2 << 20, MOST = 1 << 16, BLOCKS_PER_THREAD = 8, SCRATCH_BYTES = 20 };
  const tsri_lanes_program *p = launch->program;
  bool may_be_large = launch->items_x > p->lanes && launch->jit && launch->jit->is_one_run && !p->has_loop;
  if (!may_be_large || p->local_count > 0 || !has_element_for_each_item(launch)) return p->lanes;
  uint64_t lane_bytes = SCRATCH_BYTES + 4 * (uint64_t)p->reg4_count + 8 * (uint64_t)p->reg8_count;
  uint64_t most = LARGE_WORK / lane_bytes, share = launch->items_x / ((uint64_t)threads * BLOCKS_PER_THREAD);
  if (most > MOST) most = MOST;
  if (threads > 1 && most > share) most = share;
  return most > p->lanes ? (uint32_t)(most / 64 * 64) : p->lanes;
}
#endif

static double count_items(const tsri_lanes_program *p, const uint32_t groups[3]) {
  return (double)p->group[0] * p->group[1] * p->group[2] * groups[0] * groups[1] * groups[2];
}

// Chooses how many threads to use, and how the launch is divided.
static int plan(lane_launch *launch) {
  // Work per thread (interpreted or compiled) that takes some microseconds. For less, waking another thread gains little, and waiting for it costs much if
  // other programs use the cores.
  enum { COST_PER_THREAD = 100000, COMPILED_COST_PER_THREAD = 600000, CHUNKS_PER_THREAD = 8 };
  const tsri_lanes_program *p = launch->program;
  const uint32_t *groups = launch->given->groups;
  double worth = count_items(p, groups) * p->cost / (launch->jit ? COMPILED_COST_PER_THREAD : COST_PER_THREAD);
  int threads = launch->given->threads > 1 ? launch->given->threads : 1;
  if (worth < threads) threads = worth < 2 ? 1 : (int)worth;

  uint32_t most = p->lanes;
  launch->block_lanes = most;
  launch->items_x = (uint64_t)groups[0] * p->group[0];
  for (int i = 0; i < 3; i++) launch->blocks[i] = groups[i];
  if (p->is_merged) {
    most = most_lanes(launch, threads);
    launch->block_lanes = even_lanes(launch->items_x, threads, most);
    launch->blocks[0] =
        launch->items_x <= launch->block_lanes ? 1 : (launch->items_x + launch->block_lanes - 1) / launch->block_lanes;
  }
  // Local arrays have an element for each lane of a block, so blocks have few lanes then.
  enum { FEW_LANES = 256 };
  launch->work_lanes = p->is_merged && p->local_count == 0 && launch->items_x <= FEW_LANES ? FEW_LANES : most;
  launch->block_count = launch->blocks[0] * launch->blocks[1] * launch->blocks[2];
  if (launch->block_count < (uint64_t)threads) threads = (int)launch->block_count;
  if (threads < 1) threads = 1;
  launch->chunk = threads == 1 ? launch->block_count : launch->block_count / ((uint64_t)threads * CHUNKS_PER_THREAD);
  if (launch->chunk == 0) launch->chunk = 1;
  return threads;
}

static void cut_shares(lane_launch *launch, int threads, lane_share *shares) {
  uint32_t count = threads < LANE_MOST_SHARES ? (uint32_t)threads : LANE_MOST_SHARES;
  uint64_t each = launch->block_count / count, more = launch->block_count % count, at = 0;
  for (uint32_t i = 0; i < count; i++) {
    atomic_init(&shares[i].next, at);
    at += each + (i < more);
    shares[i].last = at;
  }
  launch->shares = shares;
  launch->share_count = count;
}

void tsri_lanes_engine_init(const char *simd, bool allow_sleef, bool allow_jit, tsri_lanes_engine *out_engine) {
  *out_engine = (tsri_lanes_engine){.isa = tsri_lanes_isa_for(simd),
                                    .math = tsri_lane_math_for(simd, allow_sleef),
                                    .jit_slot = allow_jit ? tsri_jit_slot_of(simd) : -1};
}

// Counts the work items of launches before the kernel is compiled. False: there are now enough to compile it.
static bool is_interpreted_yet(const tsri_lanes_program *p, const tsri_lanes_launch *given,
                               const tsri_lanes_engine *engine) {
  lane_jit_slot *slot = &((tsri_lanes_program *)(uintptr_t)p)->jit[engine->jit_slot];
  if (atomic_load_explicit(&slot->was_tried, memory_order_relaxed) || p->has_loop) return false;
  double items = count_items(p, given->groups);
  if (items > engine->interpreted_items) return false;
  uint32_t before = atomic_fetch_add_explicit(&slot->interpreted_items, (uint32_t)items, memory_order_relaxed);
  return before + items <= engine->interpreted_items;
}

static struct lane_jit *find_code(const tsri_lanes_program *p, const tsri_lanes_launch *given,
                                  const tsri_lanes_engine *engine) {
  if (engine->jit_slot < 0) return NULL;
  if (engine->interpreted_items > 0 && is_interpreted_yet(p, given, engine)) return NULL;
  return tsri_jit_at(p, engine->jit_slot);
}

// Sets each field separately, except `buffers`, which set_buffers fills: clearing the whole record takes as long as a small kernel.
static void begin(lane_launch *launch, const tsri_lanes_program *program, const tsri_lanes_launch *given) {
  tsri_lanes_engine found;
  const tsri_lanes_engine *engine = given->engine;
  if (!engine) {
    tsri_lanes_engine_init(given->simd, given->allow_sleef, given->allow_jit, &found);
    engine = &found;
  }
  launch->program = program;
  launch->given = given;
  launch->isa = engine->isa;
  launch->math = engine->math;
  launch->jit = find_code(program, given, engine);
  launch->has_streams = false;
  launch->deadline_ns = given->timeout_ns != 0 ? tsri_clock_ns() + given->timeout_ns : 0;
  launch->shares = NULL;
  launch->share_count = 0;
  atomic_init(&launch->status, TSR_OK);
}

tsr_status tsri_lanes_run(const tsri_lanes_program *program, const tsri_lanes_launch *launch) {
  tsr_status status = check_launch(program, launch);
  if (status != TSR_OK) return status;
  if (launch->groups[0] == 0 || launch->groups[1] == 0 || launch->groups[2] == 0) return TSR_OK;

  lane_launch shared;
  begin(&shared, program, launch);
  set_buffers(&shared);
  int threads = plan(&shared);
  // Before any thread begins, so that a launch which fails for lack of memory has stored nothing.
  shared.first_work = take_work(program, shared.work_lanes);
  if (!shared.first_work)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its registers", program->name);
  if (threads == 1) {
    run_thread(&shared, 0);
  } else {
    lane_share shares[LANE_MOST_SHARES];
    cut_shares(&shared, threads, shares);
    tsri_parallel(threads, threads, run_thread, &shared);
  }
  return report(&shared);
}
