// SPDX-License-Identifier: MIT
// The SPIR-V emitter: analyses what the kernel uses, declares it, and puts the module together around the body.
#include "lang/emit/spirv/spirv.h"
#include "lang/lower/narrow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

// --- What the kernel uses -------------------------------------------------------------------------------------------

// Elements per vector in the declaration of a shared array: as many as accesses have, if any, unless the last vector would reach past the array's end.
static uint32_t shared_lanes(const tsri_kernel *k, uint32_t object) {
  uint32_t most = k->shared[object].is_wide ? tsri_ir_access_lanes(k, TSRI_SPACE_SHARED, object) : 0;
  return most > 0 && k->shared[object].count % most == 0 ? most : 1;
}

static void plan_arrays(tsri_spv *s) {
  const tsri_kernel *k = s->kernel;
  for (uint32_t i = 0; i < k->buffer_count; i++) {
    tsri_spv_plan_array(s, TSRI_SPACE_BUFFER, i, tsri_ir_access_lanes(k, TSRI_SPACE_BUFFER, i));
  }
  for (uint32_t i = 0; i < k->shared_count; i++) tsri_spv_plan_array(s, TSRI_SPACE_SHARED, i, shared_lanes(k, i));
  for (uint32_t i = 0; i < k->local_count; i++) tsri_spv_plan_array(s, TSRI_SPACE_LOCAL, i, 1);
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static tsri_spv_id array_type(tsri_spv *s, tsri_spv_id element, uint32_t count) {
  tsri_spv_id length = tsri_spv_u32(s, count), id = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, SPV_OP_TYPE_ARRAY, id, element, length);
  return id;
}

// Declares struct { T words[…]; } as a block, and decorates `array` with its stride.
static tsri_spv_id block_type(tsri_spv *s, tsri_spv_id array, uint32_t stride) {
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_DECORATE(s, array, SPV_DECORATION_ARRAY_STRIDE, stride);
  SPV_PUT(&s->globals, SPV_OP_TYPE_STRUCT, id, array);
  SPV_DECORATE(s, id, SPV_DECORATION_BLOCK);
  SPV_PUT(&s->decorations, SPV_OP_MEMBER_DECORATE, id, 0, SPV_DECORATION_OFFSET, 0);
  return id;
}

static tsri_spv_id buffer_type(tsri_spv *s, tsri_spv_kind kind, uint32_t lanes) {
  tsri_spv_id *slot = &s->buffer_types[kind][lanes == 4 ? 2 : lanes - 1];
  if (*slot) return *slot;
  tsri_spv_id element = tsri_spv_type_id(s, tsri_spv_make_type(kind, lanes)), array = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, SPV_OP_TYPE_RUNTIME_ARRAY, array, element);
  *slot = block_type(s, array, tsri_spv_kind_bytes(kind) * lanes);
  return *slot;
}

static tsri_spv_id declare_buffer(tsri_spv *s, uint32_t binding, tsri_spv_kind kind, uint32_t lanes) {
  tsri_spv_id id = tsri_spv_variable(s, SPV_CLASS_STORAGE_BUFFER, buffer_type(s, kind, lanes));
  SPV_DECORATE(s, id, SPV_DECORATION_DESCRIPTOR_SET, 0);
  SPV_DECORATE(s, id, SPV_DECORATION_BINDING, binding);
  if (kind == SPV_U8) tsri_spv_need(s, SPV_CAPABILITY_STORAGE_8BIT);
  if (kind == SPV_U16 || kind == SPV_F16) tsri_spv_need(s, SPV_CAPABILITY_STORAGE_16BIT);
  return id;
}

// A buffer must be coherent for the items of a group to see each other's stores after a barrier.
static void declare_buffers(tsri_spv *s) {
  const tsri_kernel *k = s->kernel;
  for (uint32_t i = 0; i < k->buffer_count; i++) {
    tsri_spv_array *array = &s->buffers[i];
    array->variable = declare_buffer(s, i, (tsri_spv_kind)array->kind, array->lanes);
    bool is_shared = tsri_spv_is_common(s, TSRI_SPACE_BUFFER, i);
    if (k->buffers[i].access == TSRI_ACCESS_IN) SPV_DECORATE(s, array->variable, SPV_DECORATION_NON_WRITABLE);
    if (is_shared && !s->is_vulkan_model) SPV_DECORATE(s, array->variable, SPV_DECORATION_COHERENT);
    SPV_DECORATE(s, array->variable, s->options->no_alias ? SPV_DECORATION_RESTRICT : SPV_DECORATION_ALIASED);
  }
}

static void declare_shared(tsri_spv *s) {
  for (uint32_t i = 0; i < s->kernel->shared_count; i++) {
    tsri_spv_array *array = &s->shared[i];
    tsri_spv_kind kind = (tsri_spv_kind)array->kind;
    uint32_t count = s->kernel->shared[i].count;
    tsri_spv_id element = tsri_spv_type_id(s, tsri_spv_make_type(kind, array->lanes));
    tsri_spv_id type = array_type(s, element, count / array->lanes);
    array->variable = tsri_spv_variable(s, SPV_CLASS_WORKGROUP, type);
    if (kind == SPV_U8) tsri_spv_need(s, SPV_CAPABILITY_INT8);
    if (kind == SPV_U16) tsri_spv_need(s, SPV_CAPABILITY_INT16);
    s->shared_bytes += (count * tsri_spv_kind_bytes(kind) + 15u) & ~15u;
  }
}

static void declare_locals(tsri_spv *s) {
  for (uint32_t i = 0; i < s->kernel->local_count; i++) {
    tsri_spv_array *array = &s->locals_held[i];
    tsri_spv_id element = tsri_spv_type_id(s, tsri_spv_make_type((tsri_spv_kind)array->kind, 1));
    tsri_spv_id type = array_type(s, element, s->kernel->locals[i].count);
    array->variable = tsri_spv_variable(s, SPV_CLASS_FUNCTION, type);
    s->local_zeros[i] = SPV_GLOBAL(s, SPV_OP_CONSTANT_NULL, type);
  }
}

static void declare_params(tsri_spv *s, const tsri_emitted *out) {
  if (out->params_bytes == 0) return;
  if (out->params_bytes > TSRI_SPV_PUSH_BYTES) {
    s->params = declare_buffer(s, out->buffer_count, SPV_U32, 1);
    SPV_DECORATE(s, s->params, SPV_DECORATION_NON_WRITABLE);
    return;
  }
  tsri_spv_id word = tsri_spv_type_id(s, tsri_spv_make_type(SPV_U32, 1));
  tsri_spv_id block = block_type(s, array_type(s, word, out->params_bytes / 4), 4);
  s->params = tsri_spv_variable(s, SPV_CLASS_PUSH_CONSTANT, block);
}

// --- The module -----------------------------------------------------------------------------------------------------

typedef struct capability_info {
  uint32_t number;
  const char *extension;
} capability_info;

static const capability_info capabilities[SPV_CAPABILITY_COUNT] = {
#define TSRI_X(name, number, extension) {number, extension},
    TSRI_SPV_CAPABILITIES(TSRI_X)
#undef TSRI_X
};

static void put_capabilities(tsri_spv *s, tsri_builder *out) {
  enum { MOST_WORDS = 16 };
  const char *last = "";
  for (uint32_t i = 0; i < SPV_CAPABILITY_COUNT; i++) {
    if (s->capabilities & 1u << i) SPV_PUT(out, SPV_OP_CAPABILITY, capabilities[i].number);
  }
  for (uint32_t i = 0; i < SPV_CAPABILITY_COUNT; i++) {
    const char *extension = capabilities[i].extension;
    uint32_t words[MOST_WORDS];
    if (!(s->capabilities & 1u << i) || !extension[0] || strcmp(extension, last) == 0) continue;
    tsri_spv_put_op(out, SPV_OP_EXTENSION, words, tsri_spv_pack_text(extension, words, MOST_WORDS));
    last = extension;
  }
}

static void put_entry_point(const tsri_spv *s, tsri_builder *out, tsri_spv_id main, const char *name) {
  enum { MOST_NAME = 64 };
  uint32_t words[2 + MOST_NAME + SPV_BUILTIN_COUNT] = {SPV_EXECUTION_MODEL_COMPUTE, main};
  size_t count = 2 + tsri_spv_pack_text(name, words + 2, MOST_NAME);
  for (uint32_t i = 0; i < SPV_BUILTIN_COUNT; i++) {
    if (s->builtins[i]) words[count++] = s->builtins[i];
  }
  tsri_spv_put_op(out, SPV_OP_ENTRY_POINT, words, count);
}

// Float behaviour that a device can promise, for floats of 16, 32 and 64 bits.
typedef struct promise {
  uint32_t mode;
  tsri_spv_capability capability;
  uint8_t widths;  // bit 0 for 16 bits, 1 for 32, 2 for 64
} promise;

enum { PROMISES = 3 };

static promise promise_of(const tsri_emit_options *options, int index) {
  const promise all[PROMISES] = {
      {SPV_MODE_DENORM_PRESERVE, SPV_CAPABILITY_DENORM_PRESERVE, options->keeps_denormals},
      {SPV_MODE_SIGNED_ZERO_INF_NAN_PRESERVE, SPV_CAPABILITY_SIGNED_ZERO_INF_NAN_PRESERVE, options->keeps_nan},
      {SPV_MODE_ROUNDING_RTE, SPV_CAPABILITY_ROUNDING_MODE_RTE, options->rounds_to_even}};
  return all[index];
}

static void put_modes(const tsri_spv *s, tsri_builder *out, tsri_spv_id main) {
  const uint32_t *local = s->kernel->group_size;
  SPV_PUT(out, SPV_OP_EXECUTION_MODE, main, SPV_MODE_LOCAL_SIZE, local[0], local[1], local[2]);
  for (int i = 0; i < 3 * PROMISES; i++) {
    promise p = promise_of(s->options, i % PROMISES);
    uint32_t width = (uint32_t)i / PROMISES;
    if (p.widths >> width & 1) SPV_PUT(out, SPV_OP_EXECUTION_MODE, main, p.mode, 16u << width);
  }
}

static void assemble(tsri_spv *s, const char *entry, tsri_builder *out) {
  enum { LOGICAL = 0, GLSL450 = 1, VULKAN = 3 };
  tsri_spv_id main = tsri_spv_new_id(s), type = tsri_spv_new_id(s);
  uint32_t library[1 + 4] = {s->glsl};
  if (!s->is_ended) tsri_spv_put_op(&s->code, SPV_OP_RETURN, NULL, 0);
  tsri_spv_put(out, SPV_WORDS(SPV_MAGIC, SPV_VERSION_1_3, 0, s->next_id, 0));
  put_capabilities(s, out);
  tsri_spv_put_op(out, SPV_OP_EXT_INST_IMPORT, library, 1 + tsri_spv_pack_text("GLSL.std.450", library + 1, 4));
  SPV_PUT(out, SPV_OP_MEMORY_MODEL, LOGICAL, s->is_vulkan_model ? VULKAN : GLSL450);
  put_entry_point(s, out, main, entry);
  put_modes(s, out, main);
  tsri_builder_append(out, &s->decorations);
  SPV_PUT(out, SPV_OP_TYPE_VOID, s->void_type);
  SPV_PUT(out, SPV_OP_TYPE_FUNCTION, type, s->void_type);
  tsri_builder_append(out, &s->globals);
  SPV_PUT(out, SPV_OP_FUNCTION, s->void_type, main, 0, type);
  SPV_PUT(out, SPV_OP_LABEL, s->first_block);
  tsri_builder_append(out, &s->locals);
  tsri_builder_append(out, &s->code);
  tsri_spv_put_op(out, SPV_OP_FUNCTION_END, NULL, 0);
  tsri_builder_append(out, &s->functions);
}

// --- The emitter ----------------------------------------------------------------------------------------------------

static bool init(tsri_spv *s, const tsri_kernel *kernel, const tsri_emit_options *options) {
  *s = (tsri_spv){.kernel = kernel, .options = options, .lacks = tsri_lacks_of("spirv"), .next_id = 1};
  s->decorations.most_bytes = s->globals.most_bytes = s->locals.most_bytes = s->code.most_bytes =
      s->functions.most_bytes = TSRI_EMIT_MAX_BYTES;
  tsri_lacks_add(&s->lacks, options->exact_fma, options->exact_divide, options->exact_quotient);
  uint32_t items = kernel->group_size[0] * kernel->group_size[1] * kernel->group_size[2];
  s->is_vulkan_model = kernel->fragment_count > 0;
  s->native_subgroups = options->subgroups && options->subgroup_shuffle && items % options->subgroup_size == 0;
  s->glsl = tsri_spv_new_id(s);
  s->void_type = tsri_spv_new_id(s);
  s->first_block = s->block = tsri_spv_new_id(s);
  tsri_spv_need(s, SPV_CAPABILITY_SHADER);
  for (int i = 0; i < PROMISES; i++) {
    if (promise_of(options, i).widths) tsri_spv_need(s, promise_of(options, i).capability);
  }
  s->buffers = tsri_calloc(kernel->buffer_count + 1u, sizeof *s->buffers);
  s->shared = tsri_calloc(kernel->shared_count + 1u, sizeof *s->shared);
  s->locals_held = tsri_calloc(kernel->local_count + 1u, sizeof *s->locals_held);
  s->local_zeros = tsri_calloc(kernel->local_count + 1u, sizeof *s->local_zeros);
  s->fragments = tsri_calloc(kernel->fragment_count + 1u, sizeof *s->fragments);
  s->vars = tsri_calloc(kernel->var_count + 1u, sizeof *s->vars);
  s->ids = tsri_calloc(kernel->expr_count + 1u, sizeof *s->ids);
  bool has_tree = tsri_tree_init(&s->tree, kernel);
  if (options->keeps_nan & 2) s->narrow = tsri_narrow_find(kernel);
  return s->buffers && s->shared && s->locals_held && s->local_zeros && s->fragments && s->vars && s->ids && has_tree;
}

static void deinit(tsri_spv *s) {
  tsri_builder *lists[] = {&s->decorations, &s->globals, &s->locals, &s->code, &s->functions};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) tsri_builder_deinit(lists[i]);
  tsri_free(s->known);
  tsri_free(s->buffers);
  tsri_free(s->shared);
  tsri_free(s->locals_held);
  tsri_free(s->local_zeros);
  tsri_free(s->fragments);
  tsri_free(s->vars);
  tsri_free(s->ids);
  tsri_free(s->narrow);
  tsri_tree_deinit(&s->tree);
}

static tsr_status lacks(const tsri_kernel *kernel, const char *what) {
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel %s needs %s, which this device does not have in SPIR-V", kernel->name,
                   what);
}

tsr_status tsri_emit_spirv(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                           tsri_emitted *out) {
  if ((kernel->needs & TSRI_NEEDS_I64) && !options->i64) return lacks(kernel, "i64");
  tsri_spv s;
  tsri_builder words = {.most_bytes = TSRI_EMIT_MAX_BYTES};
  snprintf(out->entry, sizeof out->entry, "%s", kernel->name);
  if (init(&s, kernel, options)) {
    plan_arrays(&s);
    declare_buffers(&s);
    declare_params(&s, out);
    declare_shared(&s);
    declare_locals(&s);
    tsri_spv_declare_fragments(&s);
    tsri_spv_stmts(&s, kernel->body);
    assemble(&s, out->entry, &words);
  } else {
    s.is_out_of_memory = true;
  }
  deinit(&s);
  out->shared_bytes = s.shared_bytes;
  words.has_failed |= s.is_out_of_memory;
  tsr_status status = tsri_emit_finish(emitter, kernel, s.is_too_deep ? TSRI_SPV_MAX_DEPTH : 0, &words, out);
  return status == TSR_OK && s.missing ? lacks(kernel, s.missing) : status;
}

// Valid for every Vulkan 1.1 device: no small or 64-bit types, no promises about floats beyond IEEE's + - *.
const tsri_emit_options tsri_emit_defaults_spirv = {.subgroup_size = 32, .exact_fma = true};
