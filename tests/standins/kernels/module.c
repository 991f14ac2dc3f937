// SPDX-License-Identifier: MIT
// Kernel text to a shared object by clang, kept in a folder by the hash of everything that it depends on.
#include "standins/kernels/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standins/kernels/compiler.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER_OPTIONS "-fsanitize=address -mllvm -asan-use-after-return=never"
#else
#define SANITIZER_OPTIONS ""
#endif

// The processor decides how f16 is converted and what a fused multiply-add is: without these instructions each would be a
// call of a function.
#if defined(__x86_64__)
#define PROCESSOR_OPTIONS "-mf16c -mfma -mavx2"
#else
#define PROCESSOR_OPTIONS ""
#endif

// Without optimising: most kernels of a test run once, over few elements.
#define OPTIONS                                                                                         \
  "-c -x c++ -std=c++17 -O0 -w -fPIC -fno-exceptions -fno-rtti -ffp-contract=off -fno-strict-aliasing " \
  "-fno-math-errno "                                                                                    \
  "-fvisibility=hidden " PROCESSOR_OPTIONS " " SANITIZER_OPTIONS

// --- Text -----------------------------------------------------------------------------------------------------------

typedef struct text {
  char *data;
  size_t bytes, capacity;
} text;

static void add_bytes(text *t, const char *part, size_t bytes) {
  if (t->bytes + bytes + 1 > t->capacity) {
    t->capacity = 2 * (t->bytes + bytes + 1);
    char *grown = realloc(t->data, t->capacity);
    if (!grown) abort();  // a test without memory proves nothing
    t->data = grown;
  }
  memcpy(t->data + t->bytes, part, bytes);
  t->bytes += bytes;
  t->data[t->bytes] = '\0';
}

static void add(text *t, const char *part) { add_bytes(t, part, strlen(part)); }

static bool read_file(const char *path, text *out) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  char part[4096];
  for (size_t bytes; (bytes = fread(part, 1, sizeof part, file)) > 0;) add_bytes(out, part, bytes);
  fclose(file);
  return true;
}

static bool write_file(const char *path, const text *t) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool is_written = fwrite(t->data, 1, t->bytes, file) == t->bytes;
  return fclose(file) == 0 && is_written;
}

// --- Places ---------------------------------------------------------------------------------------------------------

static const char *variable_or(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && value[0] ? value : otherwise;
}

// STANDIN_INCLUDE and STANDIN_CACHE come from the build.
static const char *include_folder(void) { return variable_or("TSR_STANDIN_INCLUDE", STANDIN_INCLUDE); }
static const char *cache_folder(void) { return variable_or("TSR_STANDIN_CACHE", STANDIN_CACHE); }

static bool is_on_path(const char *name) {
  if (strchr(name, '/')) return access(name, X_OK) == 0;
  const char *path = variable_or("PATH", "/usr/bin:/bin");
  while (*path) {
    int bytes = (int)strcspn(path, ":");
    char file[1024];
    snprintf(file, sizeof file, "%.*s/%s", bytes, path, name);
    if (access(file, X_OK) == 0) return true;
    path += bytes + (path[bytes] == ':');
  }
  return false;
}

// Versions from 17 on have _Float16 and __bf16 as values on x86-64.
static const char *compiler(void) {
  static const char *const names[] = {"clang-19", "clang-22", "clang-21", "clang-20", "clang-18", "clang-17"};
  const char *chosen = variable_or("TSR_STANDIN_CLANG", NULL);
  if (chosen) return is_on_path(chosen) ? chosen : NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (is_on_path(names[i])) return names[i];
  }
  return NULL;
}

const char *standin_missing(void) {
  return compiler() ? NULL : "there is no clang 17 or newer here to compile kernel text (Debian: clang-19)";
}

// --- What is compiled -----------------------------------------------------------------------------------------------

// The name behind a mark of a kernel: `void`, perhaps __launch_bounds__(…), the name, a bracket. NULL: it is none.
static const char *kernel_name(const char *mark, size_t *out_bytes) {
  static const char bounds[] = "__launch_bounds__(";
  const char *name = strstr(mark, "void ");
  if (!name) return NULL;
  name += strlen("void ");
  name += strspn(name, " \n");
  if (strncmp(name, bounds, strlen(bounds)) == 0) {
    name += strcspn(name, ")") + 1;
    name += strspn(name, " \n");
  }
  *out_bytes = strcspn(name, "( \n");
  return *out_bytes > 0 ? name : NULL;
}

// The text, then a list of its kernels with a function of one signature for each.
static text make_source(const standin_source *source, bool is_metal) {
  text all = {0}, list = {0};
  add(&all, is_metal ? "#include <metal_stdlib>\n#line 1\n" : "#include <hip/hip_runtime.h>\n#line 1\n");
  add(&all, source->text);
  add(&list, "extern \"C\" __attribute__((visibility(\"default\"))) const standin_entry standin_entries[] = {\n");
  const char *mark = is_metal ? "[[kernel" : "__global__";
  for (const char *found = source->text; (found = strstr(found, mark)) != NULL;) {
    size_t bytes = 0;
    found += strlen(mark);
    const char *name = kernel_name(found, &bytes);
    if (!name) continue;
    char part[1024];
    snprintf(
        part, sizeof part,
        "\nstatic void standin_call_%.*s(void *const *a, const standin_item *item) { standin_enter(%.*s, a, item); }",
        (int)bytes, name, (int)bytes, name);
    add(&all, part);
    snprintf(part, sizeof part, "  {\"%.*s\", standin_call_%.*s, standin_arguments(%.*s)},\n", (int)bytes, name,
             (int)bytes, name, (int)bytes, name);
    add(&list, part);
  }
  add(&all, "\n");
  add(&all, list.data);
  add(&all, "  {nullptr, nullptr, 0}};\n");
  free(list.data);
  return all;
}

// --- The cache ------------------------------------------------------------------------------------------------------

static uint64_t hash_more(uint64_t hash, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  return (hash ^ 0x100) * UINT64_C(0x100000001b3);
}

// Of the headers: what was compiled with others is not used.
static uint64_t hash_headers(uint64_t hash) {
  static const char *const names[] = {"standin_item.h", "metal_stdlib", "hip/hip_runtime.h"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[1024];
    text header = {0};
    snprintf(path, sizeof path, "%s/%s", include_folder(), names[i]);
    if (read_file(path, &header)) hash = hash_more(hash, header.data, header.bytes);
    free(header.data);
  }
  return hash;
}

// Two hashes from different beginnings, so that no two texts of a tree meet.
static void name_of(const text *source, const char *options, char *out, size_t out_bytes) {
  uint64_t hashes[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
  for (int i = 0; i < 2; i++) {
    uint64_t hash = hash_headers(hashes[i]);
    hash = hash_more(hash, compiler(), strlen(compiler()));
    hash = hash_more(hash, OPTIONS, strlen(OPTIONS));
    hash = hash_more(hash, options, strlen(options));
    hashes[i] = hash_more(hash, source->data, source->bytes);
  }
  snprintf(out, out_bytes, "%s/%016llx%016llx", cache_folder(), (unsigned long long)hashes[0],
           (unsigned long long)hashes[1]);
}

static void make_folder(const char *path) {
  char part[1024];
  snprintf(part, sizeof part, "%s", path);
  for (char *p = part + 1; *p; p++) {
    if (*p != '/') continue;
    *p = '\0';
    (void)mkdir(part, 0777);
    *p = '/';
  }
  (void)mkdir(part, 0777);
}

// --- The compiler ---------------------------------------------------------------------------------------------------

enum { MOST_OPTIONS = STANDIN_MOST_ARGUMENTS - 10 };

static int split(char *options, char **arguments, int count) {
  for (char *word = strtok_r(options, " ", &options); word && count < MOST_OPTIONS;
       word = strtok_r(NULL, " ", &options))
    arguments[count++] = word;
  return count;
}

// Clang starts itself once more if it is told to link, which takes longer than both. The linker is not told of libm, whose
// script it would read each time: load() makes its functions known.
static bool compile_and_link(const char *stem, const text *source, const char *more, const char *messages) {
  char input[1200], object[1200], output[1200], include[1100], fixed[] = OPTIONS;
  char *more_copy = strdup(more), *arguments[MOST_OPTIONS + 10] = {(char *)(uintptr_t)compiler()};
  snprintf(input, sizeof input, "%s.cc", stem);
  snprintf(object, sizeof object, "%s.o", stem);
  snprintf(output, sizeof output, "%s.tmp", stem);
  snprintf(include, sizeof include, "-I%s", include_folder());
  int count = split(fixed, arguments, 1);
  count = split(more_copy, arguments, count);
  arguments[count++] = include;
  arguments[count++] = "-o";
  arguments[count++] = object;
  arguments[count++] = input;
  char *const link[] = {"ld", "-shared", "-o", output, object, NULL};
  bool is_built = write_file(input, source) && standin_run_compiler(arguments, messages) == 0 &&
                  standin_run_program(link, messages) == 0;
  (void)unlink(input), (void)unlink(object);
  free(more_copy);
  return is_built;
}

// Compiles into files of this process's own, of which the last gets its name: two processes may do the same at once.
static bool compile(const text *source, const char *more, const char *library, char *log, size_t log_bytes) {
  static int number;
  char stem[1100], output[1200], messages[1200];
  snprintf(stem, sizeof stem, "%s.%ld.%d", library, (long)getpid(), __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED));
  snprintf(output, sizeof output, "%s.tmp", stem);
  snprintf(messages, sizeof messages, "%s.log", stem);
  make_folder(cache_folder());
  bool is_built = compile_and_link(stem, source, more, messages) && rename(output, library) == 0;
  text said = {0};
  if (!is_built) {
    bool was_started = read_file(messages, &said) && said.bytes > 0;
    snprintf(log, log_bytes, "%s", was_started ? said.data : "the compiler could not be run");
  }
  free(said.data);
  (void)unlink(messages), (void)unlink(output);
  return is_built;
}

// --- Modules --------------------------------------------------------------------------------------------------------

static standin_module *load(const char *library, char *log, size_t log_bytes) {
  standin_module *module = calloc(1, sizeof *module);
  if (!module) abort();
  (void)dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  module->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *entries_symbol = module->library ? dlsym(module->library, "standin_entries") : NULL;
  void *bind_symbol = module->library ? dlsym(module->library, "standin_bind") : NULL;
  if (!entries_symbol || !bind_symbol) {
    snprintf(log, log_bytes, "%s", dlerror());
    standin_release(module);
    return NULL;
  }
  standin_shared (*bind)(const standin_item *) = NULL;
  memcpy(&bind, &bind_symbol, sizeof bind);
  module->shared = bind(standin_current());
  const standin_entry *entries = entries_symbol;
  while (entries[module->kernel_count].name) module->kernel_count++;
  module->kernels = calloc(module->kernel_count + 1, sizeof *module->kernels);
  if (!module->kernels) abort();
  for (uint32_t i = 0; i < module->kernel_count; i++)
    module->kernels[i] = (standin_kernel){entries[i].name, entries[i].call, entries[i].argument_count, module};
  return module;
}

standin_module *standin_build(const standin_source *source, char *log, size_t log_bytes) {
  const char *missing = standin_missing(), *options = source->options ? source->options : "";
  if (missing) {
    snprintf(log, log_bytes, "%s", missing);
    return NULL;
  }
  char library[1024];
  text all = make_source(source, strcmp(source->dialect, "metal") == 0);
  name_of(&all, options, library, sizeof library - 3);
  strcat(library, ".so");
  bool is_there = access(library, R_OK) == 0 || compile(&all, options, library, log, log_bytes);
  free(all.data);
  return is_there ? load(library, log, log_bytes) : NULL;
}

void standin_release(standin_module *module) {
  if (!module) return;
  if (module->library) dlclose(module->library);
  free(module->kernels);
  free(module);
}

const standin_kernel *standin_find(const standin_module *module, const char *name) {
  for (uint32_t i = 0; i < module->kernel_count; i++) {
    if (strcmp(module->kernels[i].name, name) == 0) return &module->kernels[i];
  }
  return NULL;
}

uint32_t standin_argument_count(const standin_kernel *kernel) { return kernel->argument_count; }
