// SPDX-License-Identifier: MIT
// Random valid kernels give the same results on the WebGPU device as in plain C.
//
// They have more buffers than WebGPU can bind, so each kernel runs several times: with all inputs and a few of the
// outputs; the stores to the other outputs are removed.
//
// WGSL permits a device to flush f32 numbers below 2^-126 to 0, and SwiftShader does it; then the CPU that runs the
// plain C code is set to do the same. Our own fma, which replaces the device's if that rounds twice, keeps denormals.
#include <stdlib.h>

#include "backends/webgpu/fixture.h"
#include "lang/random_denormals.h"

enum { SUBGROUP_SIZE = 32 };

// --- A part of a kernel ---------------------------------------------------------------------------------------------

// The kernel with only the buffers listed in `kept`; it does not load from the others.
typedef struct part {
  tsri_kernel kernel;
  tsri_ir_array buffers[RANDOM_MAX_BUFFERS];
  tsri_ir_expr *exprs;
  tsri_ir_stmt *stmts;
  uint32_t from[RANDOM_MAX_BUFFERS];  // index of the buffer in the whole kernel
} part;

static void part_init(part *p, const tsri_kernel *whole, uint32_t kept) {
  uint32_t place[RANDOM_MAX_BUFFERS] = {0}, count = 0;
  for (uint32_t i = 0; i < whole->buffer_count; i++) {
    if (!(kept >> i & 1)) continue;
    p->buffers[count] = whole->buffers[i];
    p->from[count] = i;
    place[i] = count++;
  }
  p->exprs = malloc(whole->expr_count * sizeof *p->exprs);
  p->stmts = malloc(whole->stmt_count * sizeof *p->stmts);
  CHECK(p->exprs && p->stmts);
  memcpy(p->exprs, whole->exprs, whole->expr_count * sizeof *p->exprs);
  memcpy(p->stmts, whole->stmts, whole->stmt_count * sizeof *p->stmts);
  for (uint32_t i = 1; i < whole->expr_count; i++) {
    tsri_ir_expr *x = &p->exprs[i];
    if (x->kind == TSRI_EXPR_LOAD && x->space == TSRI_SPACE_BUFFER) x->object = place[x->object];
  }
  for (uint32_t i = 1; i < whole->stmt_count; i++) {
    tsri_ir_stmt *s = &p->stmts[i];
    if ((s->kind != TSRI_STMT_STORE && s->kind != TSRI_STMT_ATOMIC) || s->space != TSRI_SPACE_BUFFER) continue;
    if (kept >> s->object & 1) {
      s->object = place[s->object];
    } else {
      uint32_t next = s->next;
      *s = (tsri_ir_stmt){.kind = TSRI_STMT_NONE, .next = next};
    }
  }
  p->kernel = *whole;
  p->kernel.buffer_count = count;
  p->kernel.buffers = p->buffers;
  p->kernel.exprs = p->exprs;
  p->kernel.stmts = p->stmts;
}

static void run_part(const fixture *f, random_case *c, uint32_t kept, bool flushes) {
  part p;
  part_init(&p, c->kernel, kept);
  fixture_kernel k = fixture_emit(f, &p.kernel);
  fixture_bound bound[RANDOM_MAX_BUFFERS];
  for (uint32_t i = 0; i < p.kernel.buffer_count; i++) {
    size_t bytes = random_case_bytes(c, p.from[i]);
    bound[i] = (fixture_bound){fixture_buffer(f, bytes, c->inputs + c->offsets[p.from[i]]), bytes, 0};
  }
  fixture_launch(f, &k, c->random.groups, 1, 1, bound, c->params);
  for (uint32_t i = 0; i < p.kernel.buffer_count; i++) {
    unsigned char *is = malloc(bound[i].bytes);
    CHECK(is);
    fixture_read(f, bound[i].buffer, 0, is, bound[i].bytes);
    // Twice the tolerance of the other backends: they use the C library's functions, ours are within 3 ULP.
    random_case_compare(c, p.from[i], "WebGPU", is, flushes, 2);
    free(is);
    f->backend->buffer_destroy(f->device, bound[i].buffer);
  }
  f->backend->program_destroy(f->device, k.program);
  tsri_emitted_deinit(&k.code);
  free(p.exprs);
  free(p.stmts);
}

static void run_parts(const fixture *f, random_case *c, bool flushes) {
  uint32_t most = webgpu_device_of(f->device)->adapter.max_storage_buffers, inputs = 0, input_count = 0;
  for (uint32_t i = 0; i < c->kernel->buffer_count; i++) {
    if (c->kernel->buffers[i].access != TSRI_ACCESS_IN) continue;
    inputs |= 1u << i;
    input_count++;
  }
  CHECK(input_count < most);
  uint32_t kept = inputs, kept_count = input_count;
  for (uint32_t i = 0; i < c->kernel->buffer_count; i++) {
    if (inputs >> i & 1) continue;
    kept |= 1u << i;
    kept_count++;
    bool is_last = kept >> (i + 1) == 0 && i + 1 == c->kernel->buffer_count;
    if (kept_count < most && !is_last) continue;
    run_part(f, c, kept, flushes);
    kept = inputs;
    kept_count = input_count;
  }
}

// Opens the device and finds out how it treats denormals. `corrects`: quotients are corrected even if the device divides
// exactly. `shuffles`: with the device's subgroups, if it has them.
static fixture open_for_random(bool corrects, bool shuffles, random_denormals *out_denormals) {
  fixture f = fixture_open();
  f.emit.subgroup_size = SUBGROUP_SIZE;
  if (shuffles && f.limits.has_subgroup_shuffle) {
    f.emit.subgroups = f.emit.subgroup_shuffle = true;
    f.emit.subgroup_size = f.limits.subgroup_size;
  }
  if (corrects) f.emit.exact_divide = false;
  *out_denormals = measure_denormals(&f);
  const char *missing = emit_device_c.missing() ? emit_device_c.missing() : denormals_missing(*out_denormals);
  if (missing) {
    fixture_close(&f);
    SKIP(missing);
  }
  return f;
}

static int run_seed(const fixture *f, uint64_t seed, random_denormals denormals) {
  random_case c;
  random_case_init(&c, seed, RANDOM_SUBGROUPS);
  bool fits = c.random.items <= f->limits.max_group_size;
  if (fits) {
    random_case_run_plain(&c, f->emit.subgroup_size, denormals);
    run_parts(f, &c, random_denormals_any(denormals));
  }
  random_case_deinit(&c);
  return fits;
}

// `from`: the first seed, unless TSR_RANDOM_SEED names it.
static void run_seeds(bool shuffles, uint64_t from, uint64_t standard) {
  random_denormals denormals;
  fixture f = open_for_random(false, shuffles, &denormals);
  uint64_t count = random_case_count(standard), first = random_case_first_seed(from);
  int done = 0;
  for (uint64_t seed = first; seed < first + count; seed++) done += run_seed(&f, seed, denormals);
  printf("  %d kernels\n", done);
  fixture_close(&f);
}

// Other kernels in each test: SwiftShader compiles one for a second.
TEST(random_kernels_agree_in_plain_c_and_webgpu) { run_seeds(false, 1, 4); }
TEST(random_kernels_with_the_subgroups_of_the_device_agree_in_plain_c_and_webgpu) { run_seeds(true, 5, 4); }

static void run_listed(bool corrects, const uint64_t *seeds, int count) {
  random_denormals denormals;
  fixture f = open_for_random(corrects, false, &denormals);
  for (int i = 0; i < count; i++) run_seed(&f, seeds[i], denormals);
  fixture_close(&f);
}

// Seeds of kernels that use denormals: in an fma whose result is a normal number (12, 29), keeps its sign (50) or is a
// divisor (109); in log (25); in a product before an fma (23); in a quotient that is divided by 0 (8).
TEST(random_kernels_that_meet_denormals_agree_in_plain_c_and_webgpu) {
  run_listed(false, (const uint64_t[]){8, 12, 23, 25, 29, 50, 109}, 7);
}

// Those of these seeds whose denormals meet a quotient.
TEST(random_kernels_with_corrected_quotients_agree_in_plain_c_and_webgpu) {
  run_listed(true, (const uint64_t[]){8, 109}, 2);
}
