// SPDX-License-Identifier: MIT
#include "lang/emit_case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/status.h>

#include "core/alloc.h"
#include "support/test.h"

const char emit_fragments_text[] =
    "kernel k<T: f16 | bf16 | f32, B: u32 | f32 = u32, bool C = 0, SG = 32, WG = 64>(in T a[], in B b[], in f32 c[], "
    "out f32 y[]) {\n"
    "  shared T tile[512];\n"
    "  fragment_left<T, 16, 16, 16> l, m;\n  fragment_right<T, 16, 16, 16> r, s;\n  fragment_sum<f32, 16, 16, 16> "
    "t;\n"
    "  for (u32 i = local.x; i < 512; i += WG) tile[i] = a[i];\n  barrier();\n"
    "  fragment_load(l, a, 0, 16, C);\n  fragment_load(r, b, 0, 16, C);\n  fragment_load(t, c, 0, 16, C);\n"
    "  fragment_load(m, tile, local.x / SG * 256, 16, C);\n  fragment_load(s, tile, 0, 16, C);\n"
    "  fragment_multiply_add(t, l, s);\n  fragment_multiply_add(t, m, r);\n  fragment_fill(l, c[0]);\n"
    "  fragment_multiply_add(t, l, r);\n  fragment_store(t, y, 0, 16, C);\n}\n";

static tsri_kernel *specialise(const tsri_module *module, const char *kernel_name, const tsri_lang_arg *args,
                               size_t count, bool checked) {
  tsri_kernel *kernel = NULL;
  char *log = NULL;
  tsri_lang_options options = {.checked = checked};
  tsr_status status = tsri_lang_specialise(module, kernel_name, args, count, &options, &log, &kernel);
  if (status != TSR_OK) test_fail(__FILE__, __LINE__, "%s:\n%s", kernel_name, log ? log : tsr_last_error());
  tsri_free(log);
  return kernel;
}

static tsri_module *parse(const char *file_name, const char *text, size_t bytes) {
  tsri_module *module = NULL;
  char *log = NULL;
  if (tsri_lang_parse(file_name, text, bytes, &log, &module) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s\n%s", log ? log : tsr_last_error(), text);
  }
  tsri_free(log);
  return module;
}

tsri_kernel *emit_kernel_of(const char *file_name, const char *text, const char *kernel_name, const char *args,
                            bool checked) {
  tsri_module *module = parse(file_name, text, strlen(text));
  enum { MOST_ARGS = 24 };
  tsri_lang_arg list[MOST_ARGS];
  char names[MOST_ARGS][32], copy[320];
  size_t count = 0;
  snprintf(copy, sizeof copy, "%s", args);
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "), count++) {
    CHECK(count < MOST_ARGS);
    CHECK_OK(tsri_lang_arg_parse(word, names[count], sizeof names[count], &list[count]));
  }
  tsri_kernel *kernel = specialise(module, kernel_name, list, count, checked);
  tsri_module_release(module);
  return kernel;
}

// --- kernels/ -------------------------------------------------------------------------------------------------------

typedef struct visitor {
  void (*visit)(const tsri_kernel *kernel, void *context);
  void *context;
  uint32_t count;
} visitor;

static tsr_dtype first_allowed(const tsri_lang_generic *generic) {
  if (generic->has_default) return generic->dtype;
  if (generic->allowed >> TSR_F32 & 1) return TSR_F32;
  for (uint32_t dtype = 0; dtype < TSR_DTYPE_COUNT; dtype++) {
    if (generic->allowed >> dtype & 1) return (tsr_dtype)dtype;
  }
  return TSR_F32;
}

static void visit_with(visitor *v, const tsri_module *module, const tsri_lang_kernel_info *info, uint32_t changed,
                       tsr_dtype dtype, bool is_first) {
  tsri_lang_arg args[8];
  size_t count = 0;
  for (uint32_t i = 0; i < info->generic_count && count < 8; i++) {
    const tsri_lang_generic *generic = &info->generics[i];
    if (!generic->is_type && !generic->has_default) args[count++] = (tsri_lang_arg){.name = generic->name, .value = 1};
    if (!generic->is_type) continue;
    args[count++] =
        (tsri_lang_arg){.name = generic->name, .is_type = true, .dtype = i == changed ? dtype : first_allowed(generic)};
  }
  for (int checked = 0; checked < (is_first ? 2 : 1); checked++) {
    tsri_kernel *kernel = specialise(module, info->name, args, count, checked != 0);
    v->visit(kernel, v->context);
    v->count++;
    tsri_kernel_release(kernel);
  }
}

static void visit_module(visitor *v, const tsri_module *module) {
  for (uint32_t k = 0; k < tsri_module_kernel_count(module); k++) {
    const tsri_lang_kernel_info *info = tsri_module_kernel(module, k);
    bool is_first = true;
    for (uint32_t i = 0; i < info->generic_count; i++) {
      if (!info->generics[i].is_type) continue;
      for (uint32_t dtype = 0; dtype < TSR_DTYPE_COUNT; dtype++) {
        if (!(info->generics[i].allowed >> dtype & 1)) continue;
        visit_with(v, module, info, i, (tsr_dtype)dtype, is_first);
        is_first = false;
      }
    }
    if (is_first) visit_with(v, module, info, UINT32_MAX, TSR_F32, true);
  }
}

static int is_kernel_file(const struct dirent *entry) {
  size_t bytes = strlen(entry->d_name);
  return bytes > 3 && strcmp(entry->d_name + bytes - 3, ".tk") == 0;
}

uint32_t emit_each_kernel(void (*visit)(const tsri_kernel *kernel, void *context), void *context) {
  visitor v = {visit, context, 0};
  const char *top = getenv("TSR_TEST_SOURCE_DIR");
  char folder[512];
  snprintf(folder, sizeof folder, "%s/kernels", top ? top : ".");
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, is_kernel_file, alphasort);
  for (int i = 0; i < count; i++) {
    char path[1024];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    char *text = emit_read_file(path, &bytes);
    CHECK(text);
    tsri_module *module = parse(entries[i]->d_name, text, bytes);
    visit_module(&v, module);
    tsri_module_release(module);
    free(text);
    free(entries[i]);
  }
  free(entries);
  return v.count;
}

bool emit_sample_takes(emit_sample *sample, const tsri_kernel *kernel) {
  bool is_first = strcmp(sample->last_kernel, kernel->name) != 0;
  snprintf(sample->last_kernel, sizeof sample->last_kernel, "%s", kernel->name);
  return sample->visited++ % test_sample(12) == 0 || is_first;
}

void emit_append(emit_text *program, const tsri_emitted *code, const char *entry) {
  const char *text = code->data;
  size_t length = strlen(code->entry);
  for (const char *found; (found = strstr(text, code->entry)) != NULL; text = found + length) {
    char *before = strndup(text, (size_t)(found - text));
    emit_add_text(program, before ? before : "");
    emit_add_text(program, entry);
    free(before);
  }
  emit_add_text(program, text);
}
