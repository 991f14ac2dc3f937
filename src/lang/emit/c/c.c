// SPDX-License-Identifier: MIT
// The C-family emitters: OpenCL C, CUDA C++, HIP C++, Metal and plain C, from one walk over the checked form.
//
// The body is written first, which shows what it uses. Then the text is put together: prelude, helpers, the parameter struct, the function's head with its
// declarations, the body. In plain C the kernel is a function
//
// int tsrk_name(const tsr_launch *launch, uint64_t first, uint64_t last)
//
// that runs groups [first, last) of a launch (tsr_launch has the layout of tsri_host_launch). It returns 0, or 1 if memory ran out.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"

// --- Names ----------------------------------------------------------------------------------------------------------

void tsri_c_put_name(tsri_builder *out, const char *name, const char *kind, uint32_t index) {
  tsri_builder_add(out, "%.*s_%s%" PRIu32, TSRI_C_MAX_NAME, name, kind, index);
}

void tsri_c_put_array(void *emitter, tsri_builder *out, tsri_ir_space space, uint32_t object) {
  static const char *const kinds[] = {"b", "s", "l"};
  const tsri_c_emitter *e = emitter;
  if (tsri_c_is(e, TSRI_C_PLAIN) && space == TSRI_SPACE_SHARED) tsri_builder_string(out, "tsr_state->");
  if (e->has_groups && space == TSRI_SPACE_LOCAL) tsri_builder_string(out, "tsr_item->");
  tsri_c_put_name(out, tsri_ir_array_of(e->kernel, space, object)->name, kinds[space], object);
}

void tsri_c_put_var(void *emitter, tsri_builder *out, uint32_t var) {
  tsri_c_emitter *e = emitter;
  e->vars_used[var] = 1;
  if (e->has_groups) tsri_builder_string(out, "tsr_item->");
  tsri_c_put_name(out, e->kernel->vars[var].name, "", var);
}

// --- Declarations ---------------------------------------------------------------------------------------------------

// Writes arrays as members or variables, "  f32 tile_s0[64];". `words` are written before the type.
static void put_arrays(tsri_builder *out, const tsri_ir_array *arrays, uint32_t count, const char *indent,
                       const char *words, const char *kind) {
  for (uint32_t i = 0; i < count; i++) {
    tsri_builder_add(out, "%s%s%s ", indent, words, tsri_c_elements[arrays[i].storage].type);
    tsri_c_put_name(out, arrays[i].name, kind, i);
    tsri_builder_add(out, "[%" PRIu32 "];\n", arrays[i].count ? arrays[i].count : 1);
  }
}

static void put_shared(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  put_arrays(out, e->kernel->shared, e->kernel->shared_count, indent, e->spell->shared, "s");
}

static void put_declarations(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  const tsri_kernel *kernel = e->kernel;
  for (uint32_t i = 1; i < kernel->var_count; i++) {
    if (!e->vars_used[i]) continue;
    tsri_builder_add(out, "%s%s ", indent, tsri_c_type(e, kernel->vars[i].type).text);
    tsri_c_put_name(out, kernel->vars[i].name, "", i);
    tsri_builder_string(out, ";\n");
  }
  put_arrays(out, kernel->locals, kernel->local_count, indent, "", "l");
}

// Writes the scalars, which are read from the words of the parameter block. $0 is a scalar's word, $1 its two words as
// a 64-bit number.
static void put_scalars(tsri_c_emitter *e, tsri_builder *out) {
  static const char *const values[TSR_DTYPE_COUNT] = {
      [TSR_BOOL] = "$0 != 0u",        [TSR_U32] = "$0",      [TSR_I32] = "(i32)$0",
      [TSR_F32] = "tsr_from_f32($0)", [TSR_I64] = "(i64)$1", [TSR_F64] = "tsr_from_f64($1)"};
  const char *words = tsri_c_is(e, TSRI_C_PLAIN) ? "tsr_w" : "tsr_p.w";
  for (uint32_t i = 0; i < e->kernel->param_count; i++) {
    const tsri_ir_param *param = &e->kernel->params[i];
    if (!e->params_used[i]) continue;
    uint32_t at = param->offset / 4;
    tsri_c_name word = tsri_c_named("%s[%" PRIu32 "]", words, at);
    tsri_c_name wide = tsri_c_named("((u64)%s | (u64)%s[%" PRIu32 "] << 32)", word.text, words, at + 1);
    tsri_builder_add(out, "  const %s ", tsr_dtype_name((tsr_dtype)param->type.dtype));
    tsri_c_put_name(out, param->name, "p", i);
    tsri_builder_string(out, " = ");
    const tsri_hole holes[] = {{"$0", word.text}, {"$1", wide.text}, {NULL, NULL}};
    tsri_c_expand(e, out, values[param->type.dtype], param->type, holes);
    tsri_builder_string(out, ";\n");
  }
}

void tsri_c_put_id(const tsri_c_emitter *e, tsri_builder *out, tsri_ir_id id, uint32_t axis) {
  static const char *const letters[] = {"x", "y", "z"};
  const uint32_t *size = e->kernel->group_size, steps[] = {1, size[0], size[0] * size[1]};
  const char place[] = {e->spell->axes[axis], '\0'};
  tsri_c_name below = tsri_c_named("%" PRIu32 "u", steps[axis]), items = tsri_c_named("%" PRIu32 "u", size[axis]);
  const tsri_hole holes[] = {
      {"$#", place}, {"$l", letters[axis]}, {"$below", below.text}, {"$size", items.text}, {NULL, NULL}};
  tsri_template_put(out, e->spell->ids[id], holes, 1);
}

// Declares the ids that the body uses as constants of the function.
static void put_ids(tsri_c_emitter *e, tsri_builder *out) {
  if (e->uses_lid) e->ids_used |= 7u << (3 * TSRI_ID_LOCAL);
  for (uint32_t i = 0; i < 3 * (TSRI_ID_GLOBAL + 1); i++) {
    if (!(e->ids_used >> i & 1)) continue;
    tsri_builder_add(out, "  const u32 %s_%c = ", tsri_ir_id_infos[i / 3].spelling, "xyz"[i % 3]);
    tsri_c_put_id(e, out, (tsri_ir_id)(i / 3), i % 3);
    tsri_builder_string(out, ";\n");
  }
  const uint32_t *size = e->kernel->group_size;
  if (e->uses_lid) {
    tsri_builder_add(out, "  const u32 tsr_lid = local_x + %" PRIu32 "u * (local_y + %" PRIu32 "u * local_z);\n",
                     size[0], size[1]);
  }
}

// --- The function on a device ---------------------------------------------------------------------------------------

// "const f32 *restrict x_b0", preceded by the word for the address space (except in plain C).
static void put_buffer(const tsri_c_emitter *e, tsri_builder *out, uint32_t index) {
  const tsri_ir_array *buffer = &e->kernel->buffers[index];
  tsri_builder_add(out, "%s%s%s *%s", e->spell->space[TSRI_SPACE_BUFFER], buffer->is_stored ? "" : "const ",
                   tsri_c_elements[buffer->storage].type, e->options->no_alias ? e->spell->no_alias : "");
  tsri_c_put_name(out, buffer->name, "b", index);
}

static void put_parameters(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  bool is_metal = tsri_c_is(e, TSRI_C_METAL);
  uint32_t buffers = e->kernel->buffer_count, count = buffers + (emitted->params_bytes > 0);
  for (uint32_t i = 0; i < count; i++) {
    tsri_builder_string(out, i ? ",\n    " : "\n    ");
    if (i < buffers) put_buffer(e, out, i);
    else tsri_template_put(out, e->spell->params, (const tsri_hole[]){{"$entry", emitted->entry}, {NULL, NULL}}, 1);
    if (is_metal) tsri_builder_add(out, " [[buffer(%" PRIu32 ")]]", i);
  }
  if (!is_metal) return;
  tsri_builder_string(out, count ? ",\n" : "\n");
  tsri_builder_string(out,
                      "    uint3 tsr_group [[threadgroup_position_in_grid]],\n"
                      "    uint3 tsr_groups [[threadgroups_per_grid]],\n"
                      "    uint3 tsr_local [[thread_position_in_threadgroup]]");
}

static void put_head(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  tsri_c_name sizes[5];
  for (int i = 0; i < 3; i++) sizes[i] = tsri_c_named("%" PRIu32, e->kernel->group_size[i]);
  uint32_t resident = e->kernel->resident_groups;
  sizes[3] = tsri_c_named("%" PRIu32, e->items);
  sizes[4] = resident > 1 ? tsri_c_named(", %" PRIu32, resident) : tsri_c_named("%s", "");
  const tsri_hole holes[] = {{"$0", sizes[0].text}, {"$1", sizes[1].text}, {"$2", sizes[2].text},
                             {"$n", sizes[3].text}, {"$r", sizes[4].text}, {NULL, NULL}};
  if (e->options->as_function) tsri_builder_string(out, "TSR_FN void ");
  else tsri_template_put(out, e->spell->head, holes, 1);
  tsri_builder_add(out, "%s(", emitted->entry);
}

static void put_device_function(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  put_head(e, out, emitted);
  put_parameters(e, out, emitted);
  tsri_builder_string(out, ") {\n");
  if (e->spell->begin && !e->options->as_function) tsri_builder_string(out, e->spell->begin);
  put_shared(e, out, "  ");
  put_ids(e, out);
  put_scalars(e, out);
  put_declarations(e, out, "  ");
  tsri_c_put_fragments(e, out);
  tsri_builder_append(out, &e->body);
  tsri_builder_string(out, "}\n");
}

// --- The function in plain C ----------------------------------------------------------------------------------------

static void put_plain_types(tsri_c_emitter *e, tsri_builder *out) {
  if (e->has_groups) {
    tsri_builder_string(out, "  typedef struct {\n    u32 tsr_none;\n");
    put_declarations(e, out, "    ");
    tsri_builder_string(out, "  } tsr_item_t;\n");
  }
  tsri_builder_string(out, "  typedef struct {\n    u32 tsr_none;\n");
  put_shared(e, out, "    ");
  if (e->has_groups) tsri_builder_add(out, "    tsr_item_t items[%" PRIu32 "];\n", e->items);
  tsri_builder_string(out, "  } tsr_state_t;\n");
}

static void put_plain_buffers(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  for (uint32_t i = 0; i < e->kernel->buffer_count; i++) {
    const tsri_ir_array *buffer = &e->kernel->buffers[i];
    tsri_builder_string(out, "  ");
    put_buffer(e, out, i);
    tsri_builder_add(out, " = (%s%s *)tsr_run->buffers[%" PRIu32 "];\n  (void)", buffer->is_stored ? "" : "const ",
                     tsri_c_elements[buffer->storage].type, i);
    tsri_c_put_name(out, buffer->name, "b", i);
    tsri_builder_string(out, ";\n");
  }
  if (emitted->params_bytes > 0)
    tsri_builder_string(out, "  const u32 *tsr_w = (const u32 *)tsr_run->params;\n  (void)tsr_w;\n");
}

static void put_plain_function(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  tsri_builder_add(out, "int %s(const tsr_launch *tsr_run, u64 tsr_first, u64 tsr_last);\n", emitted->entry);
  tsri_builder_add(out, "int %s(const tsr_launch *tsr_run, u64 tsr_first, u64 tsr_last) {\n", emitted->entry);
  put_plain_types(e, out);
  put_plain_buffers(e, out, emitted);
  put_scalars(e, out);
  if (!e->has_groups) put_declarations(e, out, "  ");
  tsri_builder_string(out,
                      "  tsr_state_t *tsr_state = (tsr_state_t *)malloc(sizeof *tsr_state);\n"
                      "  if (!tsr_state) return 1;\n"
                      "  for (u64 tsr_g = tsr_first; tsr_g < tsr_last; tsr_g++) {\n"
                      "    const u32 tsr_at[3] = {(u32)(tsr_g % tsr_run->groups[0]),\n"
                      "                           (u32)(tsr_g / tsr_run->groups[0] % tsr_run->groups[1]),\n"
                      "                           (u32)(tsr_g / tsr_run->groups[0] / tsr_run->groups[1])};\n"
                      "    (void)tsr_at;\n");
  tsri_builder_append(out, &e->body);
  tsri_builder_string(out, "  }\n  free(tsr_state);\n  return 0;\n}\n");
}

// --- Putting it together --------------------------------------------------------------------------------------------

static void put_prelude(tsri_c_emitter *e, tsri_builder *out) {
  bool is_opencl = tsri_c_is(e, TSRI_C_OPENCL), has_f64 = is_opencl && e->uses_f64;
  tsri_builder_add(out, "// %.200s (%.200s), written by Tessera for %s\n", e->kernel->variant, e->kernel->file,
                   e->emitter->title);
  if (has_f64) tsri_builder_string(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (is_opencl && e->uses_subgroups && !e->options->ptx) {
    tsri_builder_string(out,
                        "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
                        "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n"
                        "#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable\n");
  }
  tsri_builder_string(out, e->spell->prelude);
  if (has_f64) tsri_builder_string(out, "#ifndef tsr_has_f64\n#define tsr_has_f64\ntypedef double f64;\n#endif\n");
}

static void put_build_options(const tsri_c_emitter *e, tsri_emitted *out) {
  bool is_loopless = e->spell->loopless && !tsri_ir_has_loop(e->kernel);
  snprintf(out->build_options, sizeof out->build_options, "%s%s", e->spell->build_options,
           is_loopless ? e->spell->loopless : "");
  if (!tsri_c_is(e, TSRI_C_OPENCL)) return;
  snprintf(out->build_options, sizeof out->build_options, "-cl-std=%s%s",
           e->uses_subgroups && !e->options->ptx ? "CL3.0" : "CL1.2",
           e->options->exact_divide ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

// Analyses the kernel and marks its statements. False: no memory.
static bool analyse(tsri_c_emitter *e) {
  e->stmt_flags = tsri_calloc(e->kernel->stmt_count + 1, 1);
  e->vars_used = tsri_calloc(e->kernel->var_count + 1, 1);
  e->params_used = tsri_calloc(e->kernel->param_count + 1, 1);
  if (!e->stmt_flags || !e->vars_used || !e->params_used) return false;
  bool is_collected = tsri_ir_mark(e->kernel, TSRI_C_MAX_DEPTH, e->stmt_flags);
  e->has_groups = tsri_c_is(e, TSRI_C_PLAIN) && is_collected;
  return true;
}

static void put_all(tsri_c_emitter *e, tsri_emitted *out, tsri_builder *text, tsri_builder *function) {
  if (tsri_c_is(e, TSRI_C_PLAIN)) {
    e->indent = 2;
    tsri_c_put_group_block(e, e->kernel->body);
    put_plain_function(e, function, out);
  } else {
    tsri_c_put_block(e, e->kernel->body);
    put_device_function(e, function, out);
  }
  put_prelude(e, text);
  tsri_builder_append(text, &e->helpers);
  if (out->params_bytes > 0 && !tsri_c_is(e, TSRI_C_PLAIN)) {
    tsri_builder_add(text, "typedef struct { u32 w[%" PRIu32 "]; } %s_params;\n", out->params_bytes / 4, out->entry);
  }
  tsri_builder_append(text, function);
}

static tsr_status emit_with(const tsri_c_spelling *spell, const tsri_emitter *emitter, const tsri_kernel *kernel,
                            const tsri_emit_options *options, tsri_emitted *out) {
  tsri_c_emitter e = {
      .emitter = emitter, .kernel = kernel, .options = options, .spell = spell, .lacks = tsri_lacks_of(emitter->name)};
  tsri_lacks_add(&e.lacks, true, options->exact_divide, options->exact_quotient);  // fma always rounds once
  if (options->f16 || options->ptx) e.lacks.rounding &= ~(1u << TSR_F16);
  if (options->ptx) e.lacks.rounding &= ~(1u << TSR_BF16);
  e.items = kernel->group_size[0] * kernel->group_size[1] * kernel->group_size[2];
  e.subgroup = tsri_c_named("%" PRIu32 "u", options->subgroup_size);
  e.uses_f64 = (kernel->needs & TSRI_NEEDS_F64) != 0;
  snprintf(out->entry, sizeof out->entry, "tsrk_%s", kernel->name);

  tsri_builder text = {.most_bytes = TSRI_EMIT_MAX_BYTES}, function = text;
  e.body = e.helpers = text;
  if (analyse(&e)) put_all(&e, out, &text, &function);
  else text.has_failed = true;
  tsri_builder_deinit(&function);
  tsri_builder_deinit(&e.helpers);
  tsri_builder_deinit(&e.body);
  tsri_free(e.names.items);
  tsri_free(e.stmt_flags);
  tsri_free(e.vars_used);
  tsri_free(e.params_used);
  put_build_options(&e, out);
  return tsri_emit_finish(emitter, kernel, e.is_too_deep ? TSRI_C_MAX_DEPTH : 0, &text, out);
}

// --- The emitters ---------------------------------------------------------------------------------------------------

#define EMITTER(dialect, spelling)                                                       \
  tsr_status tsri_emit_##dialect(const tsri_emitter *emitter, const tsri_kernel *kernel, \
                                 const tsri_emit_options *options, tsri_emitted *out) {  \
    return emit_with(&spelling, emitter, kernel, options, out);                          \
  }

EMITTER(opencl, tsri_c_opencl)
EMITTER(cuda, tsri_c_cuda)
EMITTER(hip, tsri_c_hip)
EMITTER(metal, tsri_c_metal)
EMITTER(c, tsri_c_plain)

// Subgroups are warps in CUDA, wavefronts of the data-centre GPUs in HIP, and SIMD groups in Metal. OpenCL devices may lack them.
const tsri_emit_options tsri_emit_defaults_opencl = {
    .f64 = true, .exact_divide = true, .flat_barriers = true, .subgroup_size = 8};
const tsri_emit_options tsri_emit_defaults_cuda = {
    .f64 = true, .f16 = true, .subgroups = true, .subgroup_shuffle = true, .exact_divide = true, .subgroup_size = 32};
const tsri_emit_options tsri_emit_defaults_hip = {
    .f64 = true, .f16 = true, .subgroups = true, .subgroup_shuffle = true, .exact_divide = true, .subgroup_size = 64};
const tsri_emit_options tsri_emit_defaults_metal = {
    .f16 = true, .subgroups = true, .subgroup_shuffle = true, .exact_divide = true, .subgroup_size = 32};
const tsri_emit_options tsri_emit_defaults_c = {.f64 = true, .exact_divide = true, .subgroup_size = 8};
