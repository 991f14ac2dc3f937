// SPDX-License-Identifier: MIT
// The WGSL emitter: declarations, the entry point's head, and the module around the body.
#include "lang/emit/wgsl/wgsl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

// --- Names and types ------------------------------------------------------------------------------------------------

#define MAX_NAME 40  // of a source name; longer ones are cut, and stay distinct by the number after them

// Writes a name. WGSL does not allow names that begin with two underscores.
void tsri_wgsl_put_name(tsri_builder *out, const char *name, const char *kind, uint32_t index) {
  tsri_builder_add(out, "%s%.*s_%s%" PRIu32, name[0] == '_' ? "u" : "", MAX_NAME, name, kind, index);
}

void tsri_wgsl_put_array(tsri_wgsl *w, tsri_builder *out, tsri_ir_space space, uint32_t object) {
  static const char *const kinds[] = {"b", "s", "l"};
  tsri_wgsl_put_name(out, tsri_ir_array_of(w->kernel, space, object)->name, kinds[space], object);
}

const char *tsri_wgsl_type(tsri_ir_type type) {
  static const char *const names[4][3] = {{"f32", "vec2<f32>", "vec4<f32>"},
                                          {"i32", "vec2<i32>", "vec4<i32>"},
                                          {"u32", "vec2<u32>", "vec4<u32>"},
                                          {"bool", "vec2<bool>", "vec4<bool>"}};
  static const uint8_t rows[TSR_DTYPE_COUNT] = {[TSR_F32] = 0, [TSR_I32] = 1, [TSR_U32] = 2, [TSR_BOOL] = 3};
  return names[rows[type.dtype]][type.lanes >> 1];
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static const char *buffer_element(const tsri_wgsl *w, uint32_t index) {
  tsri_wgsl_array held = w->buffers[index];
  tsr_dtype storage = (tsr_dtype)w->kernel->buffers[index].storage;
  if (held.is_atomic) return storage == TSR_I32 ? "atomic<i32>" : "atomic<u32>";
  if (held.has_halves) return "f16";
  if (held.is_half) return held.lanes == 4 ? "vec4<f16>" : held.lanes == 2 ? "vec2<f16>" : "f16";
  return tsri_wgsl_type((tsri_ir_type){(uint8_t)storage, held.lanes});
}

static bool is_read_only(const tsri_kernel *k, uint32_t index) { return k->buffers[index].access == TSRI_ACCESS_IN; }

static void put_buffers(tsri_wgsl *w, tsri_builder *out) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 0; i < k->buffer_count; i++) {
    tsri_builder_add(out, "@group(0) @binding(%" PRIu32 ") var<storage, %s> ", i,
                     is_read_only(k, i) ? "read" : "read_write");
    tsri_wgsl_put_array(w, out, TSRI_SPACE_BUFFER, i);
    tsri_builder_add(out, ": array<%s>;\n", buffer_element(w, i));
  }
  uint32_t words = TSRI_WGSL_SYSTEM_WORDS + k->params_bytes / 4;
  tsri_builder_add(out, "@group(0) @binding(%" PRIu32 ") var<uniform> tsr_p: array<vec4<u32>, %" PRIu32 ">;\n",
                   k->buffer_count, (words + 3) / 4);
}

static void put_shared(tsri_wgsl *w, tsri_builder *out) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 0; i < k->shared_count; i++) {
    tsr_dtype dtype = (tsr_dtype)k->shared[i].storage;
    const char *element = tsri_wgsl_type((tsri_ir_type){(uint8_t)dtype, 1});
    if (w->shared[i].is_atomic) element = dtype == TSR_I32 ? "atomic<i32>" : "atomic<u32>";
    if (w->shared[i].has_halves || w->shared[i].is_half) element = "f16";
    tsri_builder_string(out, "var<workgroup> ");
    tsri_wgsl_put_array(w, out, TSRI_SPACE_SHARED, i);
    tsri_builder_add(out, ": array<%s, %" PRIu32 ">;\n", element,
                     k->shared[i].count * (w->shared[i].has_halves ? 2 : 1));
  }
}

// --- The entry point ------------------------------------------------------------------------------------------------

static void put_head(const tsri_wgsl *w, tsri_builder *out, const char *entry) {
  const uint32_t *size = w->kernel->group_size;
  tsri_builder_add(out, "@compute @workgroup_size(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")\nfn %s(", size[0], size[1],
                   size[2], entry);
  tsri_builder_string(
      out,
      "@builtin(workgroup_id) tsr_wid: vec3<u32>, @builtin(num_workgroups) tsr_nwg: vec3<u32>,\n    "
      "@builtin(local_invocation_id) tsr_local: vec3<u32>, @builtin(local_invocation_index) tsr_lid: u32) {\n");
  // Work-groups beyond those of the launch return at once (the dispatch may have more, see TSRI_WGSL_FOLD).
  tsri_builder_string(
      out,
      "  var tsr_group = tsr_wid;\n  if (tsr_p[0].w != 0u) {\n"
      "    let n = (tsr_wid.z * tsr_nwg.y + tsr_wid.y) * tsr_nwg.x + tsr_wid.x;\n"
      "    tsr_group = vec3<u32>(n, 0u, 0u);\n    if (tsr_p[0].w == 2u) {\n      let row = n / tsr_p[0].x;\n"
      "      let plane = row / tsr_p[0].y;\n"
      "      tsr_group = vec3<u32>(n - row * tsr_p[0].x, row - plane * tsr_p[0].y, plane);\n    }\n"
      "    if ((tsr_group.x >= tsr_p[0].x) | (tsr_group.z >= tsr_p[0].z)) { return; }\n  }\n");
  tsri_builder_add(out,
                   "  let tsr_global = tsr_group * vec3<u32>(%" PRIu32 "u, %" PRIu32 "u, %" PRIu32 "u) + tsr_local;\n",
                   size[0], size[1], size[2]);
}

static void put_param(tsri_wgsl *w, tsri_builder *out, uint32_t index) {
  const tsri_ir_param *param = &w->kernel->params[index];
  uint32_t word = TSRI_WGSL_SYSTEM_WORDS + param->offset / 4;
  char text[32];
  snprintf(text, sizeof text, "tsr_p[%" PRIu32 "].%c", word / 4, "xyzw"[word % 4]);
  tsri_builder_string(out, "  let ");
  tsri_wgsl_put_name(out, param->name, "p", index);
  switch (param->type.dtype) {
    case TSR_BOOL:
      tsri_builder_add(out, " = %s != 0u;\n", text);
      break;
    case TSR_U32:
      tsri_builder_add(out, " = %s;\n", text);
      break;
    default:
      tsri_builder_add(out, " = bitcast<%s>(%s);\n", param->type.dtype == TSR_I32 ? "i32" : "f32", text);
      break;
  }
}

static void put_variables(tsri_wgsl *w, tsri_builder *out) {
  const tsri_kernel *k = w->kernel;
  for (uint32_t i = 0; i < k->param_count; i++) put_param(w, out, i);
  for (uint32_t i = 1; i < k->var_count; i++) {
    tsri_builder_string(out, "  var ");
    tsri_wgsl_put_name(out, k->vars[i].name, "", i);
    tsri_builder_add(out, ": %s;\n", tsri_wgsl_type(k->vars[i].type));
  }
  for (uint32_t i = 0; i < k->local_count; i++) {
    tsri_builder_string(out, "  var ");
    tsri_wgsl_put_array(w, out, TSRI_SPACE_LOCAL, i);
    tsri_builder_add(out, ": array<%s, %" PRIu32 ">;\n", tsri_wgsl_type((tsri_ir_type){k->locals[i].storage, 1}),
                     k->locals[i].count);
  }
}

// Whether the text uses the type f16.
static bool has_halves(const tsri_wgsl *w) {
  bool has = w->kernel->fragment_count > 0;
  for (uint32_t i = 0; i < w->kernel->buffer_count; i++) has = has || w->buffers[i].is_half;
  return has;
}

static void assemble(tsri_wgsl *w, tsri_builder *out, const char *entry) {
  tsri_builder declarations = {0}, function = {0};
  tsri_wgsl_plan_arrays(w);
  tsri_wgsl_plan_rounded(w);
  tsri_wgsl_put_block(w, w->kernel->body);

  if (has_halves(w)) tsri_builder_string(out, "enable f16;\n");
  // Switches off WGSL's check of uniformity: our own analysis ensures that all items of a subgroup arrive.
  if (w->has_shuffles) tsri_builder_string(out, "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n");
  tsri_wgsl_put_fragment_directives(w, out);
  put_buffers(w, &declarations);
  put_shared(w, &declarations);
  put_head(w, &function, entry);
  put_variables(w, &function);
  tsri_wgsl_put_fragments(w, &function);
  const tsri_builder *parts[] = {&declarations, &w->helpers, &function, &w->body};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) tsri_builder_append(out, parts[i]);
  tsri_builder_string(out, "}\n");
  tsri_free(declarations.text);
  tsri_free(function.text);
}

// --- The emitter ----------------------------------------------------------------------------------------------------

static bool init(tsri_wgsl *w, const tsri_kernel *kernel, const tsri_emit_options *options) {
  *w = (tsri_wgsl){.kernel = kernel, .options = options, .lacks = tsri_lacks_of("wgsl")};
  tsri_lacks_add(&w->lacks, options->exact_fma, options->exact_divide, options->exact_quotient);
  w->body.most_bytes = w->helpers.most_bytes = TSRI_EMIT_MAX_BYTES;
  w->buffers = tsri_calloc(kernel->buffer_count + 1u, sizeof *w->buffers);
  w->shared = tsri_calloc(kernel->shared_count + 1u, sizeof *w->shared);
  w->is_rounded = tsri_calloc(kernel->expr_count + 1u, sizeof *w->is_rounded);
  return tsri_tree_init(&w->tree, kernel) && w->buffers && w->shared && w->is_rounded;
}

static void deinit(tsri_wgsl *w) {
  tsri_free(w->helpers.text);
  tsri_free(w->body.text);
  tsri_free(w->names.items);
  tsri_free(w->buffers);
  tsri_free(w->shared);
  tsri_free(w->is_rounded);
  tsri_tree_deinit(&w->tree);
}

tsr_status tsri_emit_wgsl(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                          tsri_emitted *out) {
  tsri_wgsl w;
  tsri_builder text = {.most_bytes = TSRI_EMIT_MAX_BYTES};
  uint64_t read_only = 0;
  snprintf(out->entry, sizeof out->entry, "tsrk_%.*s", (int)sizeof out->entry - 6, kernel->name);
  for (uint32_t i = 0; i < kernel->buffer_count; i++) read_only |= (uint64_t)is_read_only(kernel, i) << i;
  snprintf(out->build_options, sizeof out->build_options, "read_only=0x%" PRIx64, read_only);
  bool is_ready = init(&w, kernel, options);
  if (is_ready) assemble(&w, &text, out->entry);
  text.has_failed |= !is_ready || w.is_out_of_memory;
  deinit(&w);
  return tsri_emit_finish(emitter, kernel, w.is_too_deep ? TSRI_WGSL_MAX_DEPTH : 0, &text, out);
}

// Valid for every WebGPU device.
const tsri_emit_options tsri_emit_defaults_wgsl = {.subgroup_size = 32};
