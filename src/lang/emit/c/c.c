// SPDX-License-Identifier: MIT
// The C-family emitters: OpenCL C, CUDA C++, HIP C++, Metal and plain C from one walk over the checked form.
//
// The body is written first, which tells what it uses; then the whole is put together: prelude, helpers, the parameter
// struct, the function's head with its declarations, the body. Plain C is a function
//
//   int tsrk_name(const tsr_launch *launch, uint64_t first, uint64_t last)
//
// that runs groups [first, last) of a launch (tsr_launch has the layout of tsri_host_launch) and returns 0, or 1 if
// there was no memory.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"

// --- Names ----------------------------------------------------------------------------------------------------------

void tsri_c_put_name(tsri_builder *out, const char *name, const char *kind, uint32_t index) {
  tsri_builder_add(out, "%.*s_%s%" PRIu32, TSRI_C_MAX_NAME, name, kind, index);
}

void tsri_c_put_array(tsri_c_emitter *e, tsri_builder *out, tsri_ir_space space, uint32_t object) {
  static const char *const kinds[] = {"b", "s", "l"};
  bool is_plain = tsri_c_is(e, TSRI_C_PLAIN);
  if (is_plain && space == TSRI_SPACE_SHARED) tsri_builder_string(out, "tsr_state->");
  if (e->has_groups && space == TSRI_SPACE_LOCAL) tsri_builder_string(out, "tsr_item->");
  tsri_c_put_name(out, tsri_ir_array_of(e->kernel, space, object)->name, kinds[space], object);
}

void tsri_c_put_var(tsri_c_emitter *e, tsri_builder *out, uint32_t var) {
  e->vars_used[var] = 1;
  if (e->has_groups) tsri_builder_string(out, "tsr_item->");
  tsri_c_put_name(out, e->kernel->vars[var].name, "", var);
}

// --- Declarations ---------------------------------------------------------------------------------------------------

// A member or a variable: "  f32 sum_7;".
static void put_declarations(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  const tsri_kernel *kernel = e->kernel;
  for (uint32_t i = 1; i < kernel->var_count; i++) {
    if (!e->vars_used[i]) continue;
    tsri_builder_add(out, "%s%s ", indent, tsri_c_type(e, kernel->vars[i].type));
    tsri_c_put_name(out, kernel->vars[i].name, "", i);
    tsri_builder_string(out, ";\n");
  }
  for (uint32_t i = 0; i < kernel->local_count; i++) {
    const tsri_ir_array *array = &kernel->locals[i];
    tsri_builder_add(out, "%s%s ", indent, tsri_c_mem_type((tsr_dtype)array->storage));
    tsri_c_put_name(out, array->name, "l", i);
    tsri_builder_add(out, "[%" PRIu32 "];\n", array->count ? array->count : 1);
  }
}

static void put_shared(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  const tsri_kernel *kernel = e->kernel;
  for (uint32_t i = 0; i < kernel->shared_count; i++) {
    const tsri_ir_array *array = &kernel->shared[i];
    tsri_builder_add(out, "%s%s%s ", indent, e->spell->shared, tsri_c_mem_type((tsr_dtype)array->storage));
    tsri_c_put_name(out, array->name, "s", i);
    tsri_builder_add(out, "[%" PRIu32 "];\n", array->count ? array->count : 1);
  }
}

static const char *words_name(const tsri_c_emitter *e) { return tsri_c_is(e, TSRI_C_PLAIN) ? "tsr_w" : "tsr_p.w"; }

// Scalars, read from the words of the parameter block.
static void put_scalars(tsri_c_emitter *e, tsri_builder *out) {
  const char *words = words_name(e);
  for (uint32_t i = 0; i < e->kernel->param_count; i++) {
    const tsri_ir_param *param = &e->kernel->params[i];
    if (!e->params_used[i]) continue;
    tsr_dtype dtype = (tsr_dtype)param->type.dtype;
    char word[64], wide[160];
    uint32_t at = param->offset / 4;
    snprintf(word, sizeof word, "%s[%" PRIu32 "]", words, at);
    snprintf(wide, sizeof wide, "((u64)%s | (u64)%s[%" PRIu32 "] << 32)", word, words, at + 1);
    tsri_builder_add(out, "  const %s ", tsr_dtype_name(dtype));
    tsri_c_put_name(out, param->name, "p", i);
    tsri_builder_string(out, " = ");
    if (dtype == TSR_F32 || dtype == TSR_F64) tsri_c_expand(e, out, "tsr_from_$t", dtype);
    if (dtype == TSR_I32 || dtype == TSR_I64) tsri_builder_add(out, "(%s)", tsr_dtype_name(dtype));
    const char *value = tsr_dtype_bytes(dtype) == 8 ? wide : word;
    if (dtype == TSR_F32 || dtype == TSR_F64) {
      tsri_builder_add(out, "(%s);\n", value);
    } else {
      tsri_builder_add(out, "%s%s;\n", value, dtype == TSR_BOOL ? " != 0u" : "");
    }
  }
}

// The ids that the body names, as constants.
static void put_ids(tsri_c_emitter *e, tsri_builder *out) {
  static const char letters[] = "xyz";
  const char *const spellings[] = {e->spell->group, e->spell->groups, e->spell->local};
  const uint32_t *size = e->kernel->group_size;
  if (e->uses_lid) e->ids_used |= 7u << (3 * TSRI_ID_LOCAL);
  for (uint32_t id = TSRI_ID_GROUP; id <= TSRI_ID_LOCAL; id++) {
    for (uint32_t axis = 0; axis < 3; axis++) {
      if (!(e->ids_used >> (3 * id + axis) & 1)) continue;
      tsri_builder_add(out, "  const u32 %s_%c = ", tsri_ir_id_infos[id].spelling, letters[axis]);
      for (const char *p = spellings[id]; *p; p++) tsri_builder_put(out, *p == '#' ? &e->spell->axes[axis] : p, 1);
      tsri_builder_string(out, ";\n");
    }
  }
  for (uint32_t axis = 0; axis < 3; axis++) {
    if (!(e->ids_used >> (3 * TSRI_ID_GLOBAL + axis) & 1)) continue;
    tsri_builder_add(out, "  const u32 global_%c = group_%c * %" PRIu32 "u + local_%c;\n", letters[axis], letters[axis],
                     size[axis], letters[axis]);
  }
  if (e->uses_lid) {
    tsri_builder_add(out, "  const u32 tsr_lid = local_x + %" PRIu32 "u * (local_y + %" PRIu32 "u * local_z);\n",
                     size[0], size[1]);
  }
}

// --- The function on a device ---------------------------------------------------------------------------------------

static void put_attributes(tsri_c_emitter *e, tsri_builder *out) {
  const uint32_t *size = e->kernel->group_size;
  switch (e->spell->bit) {
    case TSRI_C_OPENCL:
      tsri_builder_add(out,
                       "__kernel __attribute__((reqd_work_group_size(%" PRIu32 ", %" PRIu32 ", %" PRIu32 "))) void ",
                       size[0], size[1], size[2]);
      break;
    case TSRI_C_METAL:
      tsri_builder_add(out, "[[kernel, max_total_threads_per_threadgroup(%" PRIu32 ")]] void ", e->items);
      break;
    default:
      tsri_builder_add(out, "extern \"C\" __global__ void __launch_bounds__(%" PRIu32 ") ", e->items);
      break;
  }
}

static void put_parameter(tsri_c_emitter *e, tsri_builder *out, uint32_t *number, const char *declaration) {
  tsri_builder_string(out, *number ? ",\n    " : "\n    ");
  tsri_builder_string(out, declaration);
  if (tsri_c_is(e, TSRI_C_METAL)) tsri_builder_add(out, " [[buffer(%" PRIu32 ")]]", *number);
  ++*number;
}

static void put_parameters(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  const tsri_kernel *kernel = e->kernel;
  const char *space = e->spell->space[TSRI_SPACE_BUFFER];
  uint32_t number = 0;
  for (uint32_t i = 0; i < kernel->buffer_count; i++) {
    const tsri_ir_array *buffer = &kernel->buffers[i];
    char text[160];
    snprintf(text, sizeof text, "%s%s%s *%s%.*s_b%" PRIu32, space, buffer->is_stored ? "" : "const ",
             tsri_c_mem_type((tsr_dtype)buffer->storage), e->options->no_alias ? e->spell->no_alias : "",
             TSRI_C_MAX_NAME, buffer->name, i);
    put_parameter(e, out, &number, text);
  }
  char text[TSRI_EMIT_ENTRY_BYTES + 64];
  if (emitted->params_bytes > 0) {
    bool is_metal = tsri_c_is(e, TSRI_C_METAL);
    snprintf(text, sizeof text, "%s%s_params %stsr_p", is_metal ? "constant " : "", emitted->entry,
             is_metal ? "&" : "");
    put_parameter(e, out, &number, text);
  }
  if (tsri_c_is(e, TSRI_C_METAL)) {
    tsri_builder_string(out, number ? ",\n" : "\n");
    tsri_builder_string(out,
                        "    uint3 tsr_group [[threadgroup_position_in_grid]],\n"
                        "    uint3 tsr_groups [[threadgroups_per_grid]],\n"
                        "    uint3 tsr_local [[thread_position_in_threadgroup]]");
  }
}

static void put_device_function(tsri_c_emitter *e, tsri_builder *out, const tsri_emitted *emitted) {
  put_attributes(e, out);
  tsri_builder_add(out, "%s(", emitted->entry);
  put_parameters(e, out, emitted);
  tsri_builder_string(out, ") {\n");
  put_shared(e, out, "  ");
  put_ids(e, out);
  put_scalars(e, out);
  put_declarations(e, out, "  ");
  tsri_c_put_fragments(e, out, "  ");
  tsri_builder_put(out, e->body.text ? e->body.text : "", e->body.bytes);
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
    const char *constant = buffer->is_stored ? "" : "const ", *type = tsri_c_mem_type((tsr_dtype)buffer->storage);
    tsri_builder_add(out, "  %s%s *%s", constant, type, e->options->no_alias ? e->spell->no_alias : "");
    tsri_c_put_name(out, buffer->name, "b", i);
    tsri_builder_add(out, " = (%s%s *)tsr_run->buffers[%" PRIu32 "];\n  (void)", constant, type, i);
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
  tsri_builder_put(out, e->body.text ? e->body.text : "", e->body.bytes);
  tsri_builder_string(out, "  }\n  free(tsr_state);\n  return 0;\n}\n");
}

// --- Putting it together --------------------------------------------------------------------------------------------

static void put_prelude(tsri_c_emitter *e, tsri_builder *out) {
  tsri_builder_add(out, "// %.200s (%.200s), written by Tessera for %s\n", e->kernel->variant, e->kernel->file,
                   e->emitter->title);
  if (e->uses_f64 && tsri_c_is(e, TSRI_C_OPENCL))
    tsri_builder_string(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (e->uses_subgroups && tsri_c_is(e, TSRI_C_OPENCL)) {
    tsri_builder_string(out,
                        "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
                        "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n");
  }
  tsri_builder_string(out, e->spell->prelude);
  if (e->uses_f64 && tsri_c_is(e, TSRI_C_OPENCL)) {
    tsri_builder_string(out, "#ifndef tsr_has_f64\n#define tsr_has_f64\ntypedef double f64;\n#endif\n");
  }
}

static void put_build_options(const tsri_c_emitter *e, tsri_emitted *out) {
  snprintf(out->build_options, sizeof out->build_options, "%s", e->spell->build_options);
  if (!tsri_c_is(e, TSRI_C_OPENCL)) return;
  snprintf(out->build_options, sizeof out->build_options, "-cl-std=%s%s", e->uses_subgroups ? "CL3.0" : "CL1.2",
           e->options->exact_divide ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
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
  tsri_builder_put(text, e->helpers.text ? e->helpers.text : "", e->helpers.bytes);
  if (out->params_bytes > 0 && !tsri_c_is(e, TSRI_C_PLAIN)) {
    tsri_builder_add(text, "typedef struct { u32 w[%" PRIu32 "]; } %s_params;\n", out->params_bytes / 4, out->entry);
  }
  tsri_builder_put(text, function->text ? function->text : "", function->bytes);
}

static tsr_status check_texts(const tsri_c_emitter *e, const tsri_builder *text, const tsri_builder *function) {
  const tsri_builder *const texts[] = {text, function, &e->body, &e->helpers};
  tsri_emit_trouble trouble = {.depth = e->is_too_deep ? TSRI_C_MAX_DEPTH : 0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    trouble.is_out_of_memory |= texts[i]->has_failed;
    trouble.is_too_long |= texts[i]->is_full;
  }
  return tsri_emit_verdict(e->emitter, e->kernel, trouble);
}

static tsr_status emit_with(const tsri_c_spelling *spell, const tsri_emitter *emitter, const tsri_kernel *kernel,
                            const tsri_emit_options *options, tsri_emitted *out) {
  tsri_c_emitter e = {
      .emitter = emitter, .kernel = kernel, .options = options, .spell = spell, .lacks = tsri_lacks_of(emitter->name)};
  tsri_lacks_add(&e.lacks, true, options->exact_divide);  // fma always rounds once
  if (options->f16) e.lacks.rounding &= ~(1u << TSR_F16);
  e.items = kernel->group_size[0] * kernel->group_size[1] * kernel->group_size[2];
  e.uses_f64 = (kernel->needs & TSRI_NEEDS_F64) != 0;
  snprintf(out->entry, sizeof out->entry, "tsrk_%s", kernel->name);

  tsri_builder text = {.most_bytes = TSRI_EMIT_MAX_BYTES}, function = text;
  e.body = e.helpers = text;
  if (tsri_c_analyse(&e)) {
    put_all(&e, out, &text, &function);
  } else {
    text.has_failed = true;
  }
  tsr_status status = check_texts(&e, &text, &function);
  if (status == TSR_OK) {
    out->data = text.text;
    out->data_bytes = text.bytes;
    put_build_options(&e, out);
    text.text = NULL;
  }
  tsri_free(text.text);
  tsri_free(function.text);
  tsri_free(e.helpers.text);
  tsri_free(e.body.text);
  tsri_free(e.names.items);
  tsri_free(e.stmt_flags);
  tsri_free(e.vars_used);
  tsri_free(e.params_used);
  return status;
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

// Subgroups: a warp on CUDA, a wavefront of the data-centre chips on HIP, a SIMD group on Apple's. OpenCL devices need
// not have them.
const tsri_emit_options tsri_emit_defaults_opencl = {
    .f64 = true, .exact_divide = true, .flat_barriers = true, .subgroup_size = 8};
const tsri_emit_options tsri_emit_defaults_cuda = {
    .f64 = true, .f16 = true, .subgroups = true, .subgroup_shuffle = true, .exact_divide = true, .subgroup_size = 32};
const tsri_emit_options tsri_emit_defaults_hip = {
    .f64 = true, .f16 = true, .subgroups = true, .subgroup_shuffle = true, .exact_divide = true, .subgroup_size = 64};
const tsri_emit_options tsri_emit_defaults_metal = {
    .f16 = true, .subgroups = true, .subgroup_shuffle = true, .exact_divide = true, .subgroup_size = 32};
const tsri_emit_options tsri_emit_defaults_c = {.f64 = true, .exact_divide = true, .subgroup_size = 8};
