// SPDX-License-Identifier: MIT
// A parsed file: reading it, the kernels it offers, and the checks that need no compile-time parameters.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/front/check.h"

// --- What kernels offer ---------------------------------------------------------------------------------------------

static uint32_t chain_length(const tsri_module *module, uint32_t first) {
  uint32_t count = 0;
  for (uint32_t node = first; node; node = tsri_ast_at(module, node)->next) count++;
  return count;
}

static tsr_dtype first_dtype(uint32_t allowed) {
  uint32_t dtype = 0;
  if (allowed & (1u << TSR_F32)) return TSR_F32;
  while (dtype + 1 < TSR_DTYPE_COUNT && !(allowed & (1u << dtype))) dtype++;
  return (tsr_dtype)dtype;
}

static void describe_type(tsri_checker *c, const tsri_ast *ast, tsri_lang_generic *out) {
  out->allowed = ast->b;
  out->dtype = first_dtype(ast->b);
  uint8_t lanes;
  tsr_dtype dtype;
  if (ast->a && tsri_check_type(c, ast->a, &dtype, &lanes)) {
    if (!(ast->b & (1u << dtype))) {
      tsri_diag_error(c->diag, tsri_ast_of(c, ast->a)->pos, "the default %s is not one that '%.*s' may be",
                      tsr_dtype_name(dtype), TSRI_NAME(c, ast->symbol));
    }
    out->dtype = dtype;
  }
  tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_TYPE, ast->symbol, ast->pos))->storage = (uint8_t)out->dtype;
}

// A default value may use the file's constants and the parameters before it.
static void describe_size(tsri_checker *c, const tsri_ast *ast, tsri_lang_generic *out) {
  out->value = 1;
  if (ast->a) tsri_check_constant(c, ast->a, "a default", &out->value);
  tsri_check_operand value = {.kind = TSRI_OPERAND_INT, .pos = ast->pos, .integer = out->value};
  if (ast->c) value = tsri_const_value(c, TSR_BOOL, out->value != 0, ast->pos);
  tsri_name_binding_at(c, tsri_bind(c, TSRI_BIND_CONST, ast->symbol, ast->pos))->value = value;
  out->value = ast->a ? out->value : 0;
}

static void describe_generics(tsri_checker *c, uint32_t first, tsri_lang_generic *out) {
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next, out++) {
    const tsri_ast *ast = tsri_ast_of(c, node);
    *out = (tsri_lang_generic){
        .name = tsri_names_at(&c->module->names, ast->symbol)->text, .is_type = ast->op, .has_default = ast->a != 0};
    if (ast->op) {
      describe_type(c, ast, out);
    } else {
      describe_size(c, ast, out);
    }
  }
}

static int generic_index(const tsri_checker *c, uint32_t first, uint32_t symbol) {
  int index = 0;
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next, index++) {
    if (tsri_ast_of(c, node)->symbol == symbol) return index;
  }
  return -1;
}

static void check_argument(tsri_checker *c, const tsri_ast *ast, uint8_t lanes) {
  bool is_array = ast->flags & TSRI_AST_IS_ARRAY;
  if (is_array && !ast->op) {
    tsri_diag_error(c->diag, ast->pos, "say whether the buffer '%.*s' is in, out or inout", TSRI_NAME(c, ast->symbol));
  } else if (!is_array && ast->op) {
    tsri_diag_error(c->diag, ast->pos, "only buffers are in, out or inout");
    tsri_diag_hint(c->diag, "for a buffer, write %.*s[]", TSRI_NAME(c, ast->symbol));
  } else if (lanes > 1) {
    tsri_diag_error(c->diag, ast->pos, "parameters are single values and buffers of them, not vectors");
    if (is_array) tsri_diag_hint(c->diag, "read several elements at once with load2(x, i) or load4(x, i)");
  }
}

// A list of kernel arguments under construction: the kernel's own, then those of its hooks' fillings.
typedef struct argument_list {
  tsri_lang_argument *next;
  uint32_t buffers, scalars;
} argument_list;

static void describe_arguments(tsri_checker *c, uint32_t first, uint32_t generics, argument_list *list) {
  for (uint32_t node = first; node; node = tsri_ast_of(c, node)->next, list->next++) {
    const tsri_ast *ast = tsri_ast_of(c, node);
    bool is_array = ast->flags & TSRI_AST_IS_ARRAY;
    tsr_dtype dtype;
    uint8_t lanes;
    if (tsri_check_type(c, ast->a, &dtype, &lanes)) check_argument(c, ast, lanes);
    *list->next = (tsri_lang_argument){.name = tsri_names_at(&c->module->names, ast->symbol)->text,
                                       .is_buffer = is_array,
                                       .access = ast->op ? (tsri_ir_access)(ast->op - 1) : TSRI_ACCESS_IN,
                                       .dtype = dtype};
    list->next->generic = generic_index(c, generics, tsri_ast_of(c, ast->a)->symbol);
    tsri_bind(c, TSRI_BIND_BROKEN, ast->symbol, ast->pos);  // reports an error if the name is declared twice
    *(is_array ? &list->buffers : &list->scalars) += 1;
    if (list->buffers == TSRI_LANG_MAX_BUFFERS + 1 && is_array) {
      tsri_diag_error(c->diag, ast->pos, "a kernel has at most %d buffers", TSRI_LANG_MAX_BUFFERS);
    }
    if (list->scalars == TSRI_LANG_MAX_PARAMS + 1 && !is_array) {
      tsri_diag_error(c->diag, ast->pos, "a kernel has at most %d scalars", TSRI_LANG_MAX_PARAMS);
    }
  }
}

static void describe_kernel(tsri_checker *c, uint32_t node, tsri_lang_kernel_info *out) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  tsri_frame frame = {.function = node, .first_binding = c->bindings.count};
  uint32_t scope = tsri_scope_open(c);
  c->frame = &frame;
  out->name = tsri_names_at(&c->module->names, ast->symbol)->text;
  out->pos = ast->pos;
  describe_generics(c, ast->a, (tsri_lang_generic *)out->generics);
  argument_list list = {.next = (tsri_lang_argument *)out->arguments};
  describe_arguments(c, ast->b, ast->a, &list);
  for (uint32_t hook = ast->d; hook; hook = tsri_ast_of(c, hook)->next) {
    const tsri_ast *hook_ast = tsri_ast_of(c, hook);
    if (hook_ast->a) describe_arguments(c, tsri_ast_of(c, hook_ast->a)->b, ast->a, &list);
    tsri_bind(c, TSRI_BIND_BROKEN, hook_ast->symbol, hook_ast->pos);
  }
  c->frame = NULL;
  tsri_scope_close(c, scope);
}

// --- Fillings of hooks ----------------------------------------------------------------------------------------------

static uint32_t find_hook(const tsri_checker *c, uint32_t kernel, uint32_t symbol) {
  for (uint32_t hook = tsri_ast_of(c, kernel)->d; hook; hook = tsri_ast_of(c, hook)->next) {
    if (tsri_ast_of(c, hook)->symbol == symbol) return hook;
  }
  return 0;
}

static void no_such_hook(tsri_checker *c, const tsri_ast *fill, uint32_t kernel) {
  char list[256] = "";
  for (uint32_t hook = tsri_ast_of(c, kernel)->d; hook; hook = tsri_ast_of(c, hook)->next) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, " %.*s", TSRI_NAME(c, tsri_ast_of(c, hook)->symbol));
  }
  tsri_diag_error(c->diag, fill->pos, "kernel %.*s has no hook '%.*s'", TSRI_NAME(c, tsri_ast_of(c, kernel)->symbol),
                  TSRI_NAME(c, fill->symbol));
  tsri_diag_hint(c->diag, list[0] ? "it has:%s" : "it has none%s", list);
}

// Links a filling to its hook.
static void link_fill(tsri_checker *c, uint32_t node) {
  tsri_ast *fill = tsri_ast_at(c->module, node);
  const tsri_ast *name = tsri_ast_of(c, fill->a);
  uint32_t binding = name->symbol ? tsri_lookup(c, name->symbol) : 0;
  const tsri_name_binding *found = tsri_name_binding_at(c, binding);
  if (!fill->c || (binding && found->kind == TSRI_BIND_BROKEN)) return;  // already reported
  if (!binding || found->kind != TSRI_BIND_KERNEL) {
    tsri_diag_error(c->diag, name->pos, "there is no kernel '%.*s'", TSRI_NAME(c, name->symbol));
    return;
  }
  uint32_t hook = find_hook(c, found->node, fill->symbol);
  if (!hook) {
    no_such_hook(c, fill, found->node);
  } else if (tsri_ast_of(c, hook)->a) {
    tsri_diag_error(c->diag, fill->pos, "the hook '%.*s' is filled twice", TSRI_NAME(c, fill->symbol));
    tsri_diag_note(c->diag, tsri_ast_of(c, tsri_ast_of(c, hook)->a)->pos, "the first filling");
  } else {
    tsri_ast_at(c->module, hook)->a = node;
    fill->d = tsri_ast_of(c, hook)->d;
  }
}

static void link_fills(tsri_checker *c) {
  for (uint32_t node = c->module->items; node; node = tsri_ast_of(c, node)->next) {
    if (tsri_ast_of(c, node)->kind == TSRI_AST_FILL) link_fill(c, node);
  }
}

// --- All kernels ----------------------------------------------------------------------------------------------------

// Number of arguments of a kernel, including those of its hooks' fillings.
static uint32_t argument_count(const tsri_module *module, const tsri_ast *kernel) {
  uint32_t count = chain_length(module, kernel->b);
  for (uint32_t hook = kernel->d; hook; hook = tsri_ast_at(module, hook)->next) {
    uint32_t fill = tsri_ast_at(module, hook)->a;
    if (fill) count += chain_length(module, tsri_ast_at(module, fill)->b);
  }
  return count;
}

// Allocates one block of memory for all descriptions.
static bool allocate_infos(tsri_module *module) {
  uint32_t generics = 0, arguments = 0;
  for (uint32_t node = module->items; node; node = tsri_ast_at(module, node)->next) {
    const tsri_ast *ast = tsri_ast_at(module, node);
    if (ast->kind != TSRI_AST_KERNEL) continue;
    module->kernel_count++;
    generics += chain_length(module, ast->a);
    arguments += argument_count(module, ast);
  }
  size_t bytes = module->kernel_count * sizeof(tsri_lang_kernel_info) + generics * sizeof(tsri_lang_generic) +
                 arguments * sizeof(tsri_lang_argument);
  module->info_memory = tsri_calloc(1, bytes);
  if (!module->info_memory) return false;
  module->kernels = module->info_memory;
  tsri_lang_generic *generic = (tsri_lang_generic *)(module->kernels + module->kernel_count);
  tsri_lang_argument *argument = (tsri_lang_argument *)(generic + generics);
  uint32_t kernel = 0;
  for (uint32_t node = module->items; node; node = tsri_ast_at(module, node)->next) {
    const tsri_ast *ast = tsri_ast_at(module, node);
    if (ast->kind != TSRI_AST_KERNEL) continue;
    tsri_lang_kernel_info *info = &module->kernels[kernel++];
    info->generic_count = chain_length(module, ast->a);
    info->argument_count = argument_count(module, ast);
    info->generics = generic;
    info->arguments = argument;
    generic += info->generic_count;
    argument += info->argument_count;
  }
  return true;
}

bool tsri_module_finish(tsri_module *module, tsri_diag *diag) {
  tsri_checker c;
  bool ok = tsri_checker_init(&c, module, diag);
  c.is_const_only = true;
  if (ok) link_fills(&c);
  ok = ok && allocate_infos(module);
  uint32_t kernel = 0;
  for (uint32_t node = ok ? module->items : 0; node; node = tsri_ast_at(module, node)->next) {
    const tsri_ast *ast = tsri_ast_at(module, node);
    uint32_t binding = ast->symbol ? tsri_lookup(&c, ast->symbol) : 0;
    if (ast->kind == TSRI_AST_STATIC_ASSERT) tsri_check_assert(&c, node);
    if (ast->kind == TSRI_AST_DECL && binding && binding < c.file_bindings) tsri_file_constant(&c, binding);
    if (ast->kind == TSRI_AST_KERNEL) describe_kernel(&c, node, &module->kernels[kernel++]);
  }
  ok = ok && !tsri_checker_has_failed(&c);
  tsri_checker_deinit(&c);
  return ok;
}

// --- Life -----------------------------------------------------------------------------------------------------------

// The text of a file, and fillings that were given separately.
typedef struct given_text {
  const char *file, *text, *fills;  // `fills` NULL: none
  size_t text_bytes, fills_bytes;
} given_text;

// A newline separates the two.
static size_t all_bytes(const given_text *given) {
  return given->text_bytes + (given->fills ? 1 + given->fills_bytes : 0);
}

static uint32_t line_count(const char *text, size_t bytes) {
  uint32_t count = 1;
  for (size_t i = 0; i < bytes; i++) count += text[i] == '\n';
  return count;
}

// Copies file name, source and names into one block.
static bool copy_text(tsri_module *module, const given_text *given, char **out_store) {
  size_t name_bytes = strlen(given->file) + 1, bytes = all_bytes(given);
  module->text = tsri_malloc(name_bytes + bytes + 1 + bytes + 2);
  if (!module->text) return false;
  memcpy(module->text, given->file, name_bytes);
  char *to = module->text + name_bytes;
  if (given->text_bytes) memcpy(to, given->text, given->text_bytes);
  if (given->fills) {
    to[given->text_bytes] = '\n';
    if (given->fills_bytes) memcpy(to + given->text_bytes + 1, given->fills, given->fills_bytes);
    module->source.fills_line = line_count(given->text, given->text_bytes) + 1;
  }
  module->text[name_bytes + bytes] = 0;
  module->source.file = module->text;
  module->source.text = module->text + name_bytes;
  module->source.bytes = bytes;
  *out_store = module->text + name_bytes + bytes + 1;
  return true;
}

// False: memory is out. Errors in the text are reported to `diag`.
static bool read_module(tsri_module *module, const given_text *given, tsri_diag *diag) {
  char *store = NULL;
  tsri_item_array tokens = {0};
  if (!copy_text(module, given, &store) || !tsri_names_init(&module->names, store)) return false;
  bool ok = tsri_lex(module, diag, &tokens);
  module->has_lost_text = diag->error_count > 0;
  ok = ok && tsri_item_array_init(&module->nodes, sizeof(tsri_ast), tokens.count + 16, UINT32_MAX);
  if (ok) tsri_parse(module, diag, (const tsri_token *)tokens.items + 1);
  tsri_item_array_deinit(&tokens);
  ok = ok && !module->nodes.has_failed;
  bool is_broken = diag->error_count > 0;
  if (ok && !diag->is_full) ok = tsri_module_finish(module, diag);
  if (ok && is_broken && !diag->is_full) ok = tsri_check_all(module, diag);
  return ok && !diag->text.has_failed;
}

void tsri_module_release(tsri_module *module) {
  if (!module) return;
  tsri_item_array_deinit(&module->source.lines);
  tsri_item_array_deinit(&module->nodes);
  tsri_names_deinit(&module->names);
  tsri_free(module->info_memory);
  tsri_free(module->text);
  tsri_free(module);
}

tsr_status tsri_lang_parse(const char *file_name, const char *text, size_t bytes, char **out_log,
                           tsri_module **out_module) {
  return tsri_lang_parse_filled(file_name, text, bytes, NULL, out_log, out_module);
}

tsr_status tsri_lang_parse_filled(const char *file_name, const char *text, size_t text_bytes, const char *fills,
                                  char **out_log, tsri_module **out_module) {
  *out_module = NULL;
  if (out_log) *out_log = NULL;
  given_text given = {file_name, text, fills, text_bytes, fills ? strlen(fills) : 0};
  size_t bytes = all_bytes(&given);
  if (bytes > TSRI_LANG_MAX_BYTES) {
    tsri_diag diag = {.source = &(tsri_source){.file = file_name}};
    tsri_diag_error(&diag, 0, "the file has %zu bytes, the most is %u", bytes, TSRI_LANG_MAX_BYTES);
    return tsri_diag_finish(&diag, !diag.text.has_failed, out_log);
  }
  tsri_module *module = tsri_calloc(1, sizeof *module);
  if (!module) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory to read it", file_name);
  tsri_diag diag = {.source = &module->source};
  bool ok = read_module(module, &given, &diag);
  tsr_status status = tsri_diag_finish(&diag, ok, out_log);
  if (status == TSR_OK) {
    *out_module = module;
  } else {
    tsri_module_release(module);
  }
  return status;
}

uint32_t tsri_module_kernel_count(const tsri_module *module) { return module->kernel_count; }

const tsri_lang_kernel_info *tsri_module_kernel(const tsri_module *module, uint32_t index) {
  return index < module->kernel_count ? &module->kernels[index] : NULL;
}

const tsri_lang_kernel_info *tsri_module_find(const tsri_module *module, const char *kernel_name) {
  for (uint32_t i = 0; i < module->kernel_count; i++) {
    if (strcmp(module->kernels[i].name, kernel_name) == 0) return &module->kernels[i];
  }
  return NULL;
}
