// SPDX-License-Identifier: MIT
// Writes a kernel as lane bytecode: statements first (emit/lanes/stmt.c), then the tables around them.
#include "lang/emit/lanes/lanes.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "lang/emit/lanes/build.h"

// --- Putting the parts together ---------------------------------------------------------------------------------------

typedef struct code_layout {
  uint32_t *words;  // NULL: only computes sizes
  uint32_t at;      // next free word
  uint32_t text_at, text_bytes;
} code_layout;

static uint32_t place_words(code_layout *l, const void *from, size_t count) {
  uint32_t at = l->at;
  if (l->words && count > 0) memcpy(l->words + at, from, count * sizeof(uint32_t));
  l->at += (uint32_t)count;
  return at;
}

static uint32_t place_text(code_layout *l, const char *text) {
  uint32_t at = l->text_bytes;
  size_t bytes = strlen(text ? text : "") + 1;
  if (l->words) memcpy((char *)(l->words + l->text_at) + at, text ? text : "", bytes);
  l->text_bytes += (uint32_t)bytes;
  return at;
}

static void place_array(code_layout *l, const tsri_ir_array *array) {
  uint32_t flags = (array->is_loaded ? TSRI_LANE_ARRAY_LOADED : 0) | (array->is_stored ? TSRI_LANE_ARRAY_STORED : 0);
  uint32_t kind = array->storage | flags << 8 | (uint32_t)array->dim_count << 16;
  uint32_t entry[TSRI_LANE_ARRAY_WORDS] = {kind, array->count, place_text(l, array->name)};
  memcpy(entry + 3, array->dims, sizeof array->dims);
  place_words(l, entry, TSRI_LANE_ARRAY_WORDS);
}

static void place_arrays(code_layout *l, const tsri_kernel *kernel) {
  for (uint32_t i = 0; i < kernel->buffer_count; i++) place_array(l, &kernel->buffers[i]);
  for (uint32_t i = 0; i < kernel->shared_count; i++) place_array(l, &kernel->shared[i]);
  for (uint32_t i = 0; i < kernel->local_count; i++) place_array(l, &kernel->locals[i]);
}

static void place_params(code_layout *l, const tsri_kernel *kernel) {
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    const tsri_ir_param *param = &kernel->params[i];
    uint32_t entry[TSRI_LANE_PARAM_WORDS] = {param->offset, lane_bytes((tsr_dtype)param->type.dtype)};
    place_words(l, entry, TSRI_LANE_PARAM_WORDS);
  }
}

static void place_consts(code_layout *l, const lane_builder *b) {
  for (uint32_t i = 0; i < b->const_count; i++) {
    uint32_t entry[2] = {(uint32_t)b->consts[i], (uint32_t)(b->consts[i] >> 32)};
    place_words(l, entry, 2);
  }
}

// Fills the program, or with `words` NULL computes its length. The text is at the end.
static void place_all(code_layout *l, const lane_builder *b, uint32_t text_at) {
  const tsri_kernel *kernel = b->kernel;
  uint32_t h[TSRI_LANE_HEADER_WORDS] = {0};
  l->at = TSRI_LANE_HEADER_WORDS;
  l->text_at = text_at;
  h[TSRI_LANE_H_MAGIC] = TSRI_LANE_MAGIC;
  h[TSRI_LANE_H_VERSION] = TSRI_LANE_VERSION;
  h[TSRI_LANE_H_FLAGS] = (kernel->is_checked ? TSRI_LANE_CHECKED : 0) | (b->plan.is_merged ? TSRI_LANE_MERGED : 0);
  for (int i = 0; i < 3; i++) h[TSRI_LANE_H_GROUP_X + i] = kernel->group_size[i];
  h[TSRI_LANE_H_NAME] = place_text(l, kernel->name);
  h[TSRI_LANE_H_FILE] = place_text(l, kernel->file);
  h[TSRI_LANE_H_PARAMS_BYTES] = kernel->params_bytes;
  h[TSRI_LANE_H_PARAMS] = kernel->param_count;
  h[TSRI_LANE_H_PARAMS_AT] = l->at;
  place_params(l, kernel);
  h[TSRI_LANE_H_CONSTS] = b->const_count;
  h[TSRI_LANE_H_CONSTS_AT] = l->at;
  place_consts(l, b);
  h[TSRI_LANE_H_SCALARS] = b->pools[TSRI_LANE_SCALAR].count;
  h[TSRI_LANE_H_REGS_4] = b->pools[TSRI_LANE_REG_4].count;
  h[TSRI_LANE_H_REGS_8] = b->pools[TSRI_LANE_REG_8].count;
  h[TSRI_LANE_H_SAVES] = b->max_saves;
  h[TSRI_LANE_H_BUFFERS] = kernel->buffer_count;
  h[TSRI_LANE_H_SHARED] = kernel->shared_count;
  h[TSRI_LANE_H_LOCALS] = kernel->local_count;
  h[TSRI_LANE_H_ARRAYS_AT] = l->at;
  place_arrays(l, kernel);
  h[TSRI_LANE_H_INSNS] = b->insn_count;
  h[TSRI_LANE_H_INSNS_AT] = place_words(l, b->insns, (size_t)b->insn_count * TSRI_LANE_INSN_WORDS);
  h[TSRI_LANE_H_TEXT_AT] = text_at;
  h[TSRI_LANE_H_TEXT_BYTES] = l->text_bytes;
  h[TSRI_LANE_H_COST] = b->cost;
  h[TSRI_LANE_H_WORDS] = text_at + (l->text_bytes + 3) / 4;
  if (l->words) memcpy(l->words, h, sizeof h);
}

static tsr_status finish(const lane_builder *b, uint32_t **out_words, size_t *out_bytes) {
  code_layout sizes = {0};
  place_all(&sizes, b, 0);
  uint32_t text_at = sizes.at, count = text_at + (sizes.text_bytes + 3) / 4;
  code_layout l = {.words = tsri_calloc(count, sizeof(uint32_t))};
  if (!l.words) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory for its bytecode", b->kernel->name);
  place_all(&l, b, text_at);
  *out_words = l.words;
  *out_bytes = count * sizeof(uint32_t);
  return TSR_OK;
}

// --- The compiler -----------------------------------------------------------------------------------------------------

static tsr_status check_limits(const lane_builder *b) {
  const tsri_kernel *kernel = b->kernel;
  if (b->has_failed) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "kernel %s: no host memory to compile it", kernel->name);
  for (int i = TSRI_LANE_SCALAR; i <= TSRI_LANE_REG_8; i++) {
    if (b->pools[i].count > TSRI_LANE_MAX_REGS) {
      return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel %s: has %u values alive at once; the CPU takes up to %u",
                       kernel->name, b->pools[i].count, TSRI_LANE_MAX_REGS);
    }
  }
  if (b->insn_count > TSRI_LANE_MAX_INSNS || b->const_count > TSRI_LANE_MAX_REGS ||
      b->max_saves > TSRI_LANE_MAX_SAVES) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel %s: is too large for the CPU (%u instructions)", kernel->name,
                     b->insn_count);
  }
  return TSR_OK;
}

static void deinit(lane_builder *b) {
  lane_plan_deinit(&b->plan);
  tsri_free(b->insns);
  tsri_free(b->consts);
  tsri_free(b->vars);
  tsri_free(b->hoisted_at);
  for (int i = 0; i < TSRI_LANE_KINDS; i++) {
    tsri_free(b->pools[i].refs);
    tsri_free(b->pools[i].is_alias);
    tsri_free(b->pools[i].free_list[0]);
    tsri_free(b->pools[i].free_list[1]);
  }
}

tsr_status tsri_lanes_compile(const tsri_kernel *kernel, uint32_t **out_words, size_t *out_bytes) {
  *out_words = NULL;
  *out_bytes = 0;
  lane_builder b = {.kernel = kernel, .weight = 1};
  b.vars = tsri_calloc((size_t)kernel->var_count + 1, sizeof *b.vars);
  b.hoisted_at = tsri_calloc((size_t)kernel->expr_count + 1, 1);
  b.has_failed = !lane_plan_init(&b.plan, kernel) || !b.vars || !b.hoisted_at;
  if (!b.has_failed) {
    lane_block(&b, kernel->body);
    lane_emit(&b, TSRI_LANE_END, 0, 0, (lane_words){0});
  }
  tsr_status status = check_limits(&b);
  if (status == TSR_OK) status = finish(&b, out_words, out_bytes);
  deinit(&b);
  return status;
}
