// SPDX-License-Identifier: MIT
// Every kernel in kernels/ as HIP, compiled for AMD's GPUs: by hipcc for those that Debian's ROCm knows, by a newer clang for
// those that came later, with the device library of that ROCm. A sample of the kernels, unless TSR_TEST_SAMPLE=1.
//
// Compilers take minutes for all kernels, so the program is cut into parts, and the assembly of each part is kept in the folder
// that TSR_TEST_HIP_CACHE names, under the hash of its text and of the command: a part without changes is not compiled again.
//
// What the compilers say of registers and LDS is checked: a kernel that keeps registers in memory fails, but in checked mode. With
// TSR_TEST_REGISTERS=<file>, a table of all kernels, or of those that TSR_TEST_KERNELS names, is added to that file
// (docs/notes/rocm-registers.md is made of it).
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/emit_program.h"
#include "support/test.h"

typedef enum gpu_units { NO_UNITS, F16_UNITS, ALL_UNITS } gpu_units;

typedef struct gpu {
  const char *name, *library;  // library: the newest of the same kind that the device library knows, in its spelling
  uint32_t wave;
  gpu_units units;
} gpu;

static const gpu gfx906 = {"gfx906", NULL, 64, NO_UNITS}, gfx908 = {"gfx908", NULL, 64, F16_UNITS},
                 gfx90a = {"gfx90a", NULL, 64, ALL_UNITS}, gfx1030 = {"gfx1030", NULL, 32, NO_UNITS},
                 gfx942 = {"gfx942", "940", 64, ALL_UNITS}, gfx1100 = {"gfx1100", "1030", 32, ALL_UNITS},
                 gfx1201 = {"gfx1201", "1030", 32, ALL_UNITS};

static const tsr_fragment_size sizes[] = {{TSR_F16, 16, 16, 16}, {TSR_BF16, 16, 16, 16}};

static tsri_emit_options options_of(const gpu *g) {
  tsri_emit_options options = *tsri_emitter_find("hip")->defaults;
  options.subgroup_size = g->wave;
  options.fragments = sizes;
  options.fragment_count = (uint32_t)g->units;
  return options;
}

// --- Compilers ------------------------------------------------------------------------------------------------------

#define BITCODE "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
#define LINK    " -Xclang -mlink-builtin-bitcode -Xclang " BITCODE "/"

// NULL if the compiler is installed, otherwise a sentence that says what is missing.
static const char *missing_for(const gpu *g) {
  if (!emit_has_program("hipcc")) return "there is no hipcc here (Debian: hipcc libamdhip64-dev rocm-device-libs)";
  if (g->library && !emit_has_program("clang++-19")) return "there is no clang++-19 here, which knows this GPU";
  if (g->library && !emit_command("test -f " BITCODE "/ocml.bc")) return "there is no " BITCODE "/ocml.bc";
  return NULL;
}

// Writes assembly beside `path`.
static bool compile(const gpu *g, const char *path, const char *level, const char *options) {
  if (!g->library) {
    return emit_command(
        "hipcc -S --cuda-device-only --offload-arch=%s %s %s -Wno-unused -Wno-unused-command-line-argument "
        "-x hip %s -o %s.s",
        g->name, level, options, path, path);
  }
  return emit_command(
      "clang++-19 -S --cuda-device-only --offload-arch=%s %s %s -w -nogpulib --rocm-path=/usr -x hip %s "
      "-o %s.s" LINK "ocml.bc" LINK "ockl.bc" LINK "oclc_daz_opt_off.bc" LINK "oclc_unsafe_math_off.bc" LINK
      "oclc_finite_only_off.bc" LINK "oclc_correctly_rounded_sqrt_on.bc" LINK "oclc_abi_version_500.bc" LINK
      "oclc_wavefrontsize64_%s.bc" LINK "oclc_isa_version_%s.bc",
      g->name, level, options, path, path, g->wave == 64 ? "on" : "off", g->library);
}

// The text of <path>.s, which the caller frees; NULL: there is no such file.
static char *read_assembly(const char *path) {
  char name[1100];
  size_t bytes = 0;
  snprintf(name, sizeof name, "%s.s", path);
  return emit_read_file(name, &bytes);
}

// --- Kept assembly --------------------------------------------------------------------------------------------------

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text) { return hash_more(hash, text, strlen(text) + 1); }

// Size and date of the compiler: another version compiles anew.
static uint64_t hash_compiler(uint64_t hash, const gpu *g) {
  static const char *const files[] = {"/usr/bin/hipcc", "/usr/bin/clang++-15"};
  struct stat facts;
  for (int i = 0; i < 2; i++) {
    const char *file = g->library ? "/usr/bin/clang++-19" : files[i];
    if (stat(file, &facts) != 0) continue;
    hash = hash_more(hash, &facts.st_size, sizeof facts.st_size);
    hash = hash_more(hash, &facts.st_mtime, sizeof facts.st_mtime);
  }
  return hash;
}

// The assembly of `text`, which the caller frees. The test fails if the text does not compile.
static char *assembly_of(const gpu *g, const char *text, const char *level, const char *options) {
  const char *folder = getenv("TSR_TEST_HIP_CACHE");
  uint64_t hash = hash_compiler(UINT64_C(0xcbf29ce484222325), g);
  hash = hash_text(hash_text(hash_text(hash_text(hash, g->name), level), options), text);
  char path[128], kept[1024];
  snprintf(kept, sizeof kept, "%s/%s-%016llx", folder ? folder : "", g->name, (unsigned long long)hash);
  char *assembly = folder ? read_assembly(kept) : NULL;
  if (assembly) return assembly;
  CHECK(emit_write("all.hip", text, path, sizeof path));
  if (!compile(g, path, level, options)) test_fail(__FILE__, __LINE__, "%s:\n%s", g->name, emit_log());
  assembly = read_assembly(path);
  CHECK(assembly);
  // Write to a file named after this process, then rename it: two processes may store the same assembly at once.
  long process = (long)getpid();
  if (folder && !emit_command("mkdir -p %s && cp %s.s %s.%ld && mv %s.%ld %s.s", folder, path, kept, process, kept,
                              process, kept)) {
    printf("%s could not be written: %s\n", kept, emit_log());
  }
  return assembly;
}

// --- Registers ------------------------------------------------------------------------------------------------------

// The metadata of one kernel at the end of the assembly. Its entries are in alphabetical order.
typedef struct usage {
  char name[160];
  unsigned lds, scratch, sgpr, sgpr_spills, vgpr, vgpr_spills;
} usage;

static unsigned number_after(const char *from, const char *word) {
  const char *found = strstr(from, word);
  CHECK(found);
  return (unsigned)strtoul(found + strlen(word), NULL, 10);
}

static const char *next_kernel(const char *from, usage *out) {
  const char *at = strstr(from, ".group_segment_fixed_size:");
  if (!at) return NULL;
  const char *name = strstr(at, ".name:");
  while (name && strncmp(name + 6 + strspn(name + 6, " "), "tsrk_", 5) != 0) name = strstr(name + 6, ".name:");
  CHECK(name);
  name += 6 + strspn(name + 6, " ");
  snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(name, "\n"), name);
  out->lds = number_after(at, ".group_segment_fixed_size:");
  out->scratch = number_after(at, ".private_segment_fixed_size:");
  out->sgpr = number_after(at, ".sgpr_count:");
  out->sgpr_spills = number_after(at, ".sgpr_spill_count:");
  out->vgpr = number_after(at, ".vgpr_count:");
  out->vgpr_spills = number_after(at, ".vgpr_spill_count:");
  return strstr(at, ".vgpr_spill_count:");
}

// The variant of a kernel of the program, "softmax<T=f32, WG=64>": the comment that its text begins with. Returns whether it is in
// checked mode, in which it takes one buffer more.
static bool variant_of(const char *program, const char *entry, char *out, size_t out_bytes) {
  char call[170];
  snprintf(call, sizeof call, " %s(", entry);
  const char *at = strstr(program, call);
  CHECK(at);
  const char *report = strstr(at, "*report_b");
  bool is_checked = report && report < strchr(at, '{');
  while (at > program && strncmp(at, "// ", 3) != 0) at--;
  snprintf(out, out_bytes, "%.*s%s", (int)strcspn(at + 3, "(") - 1, at + 3, is_checked ? " checked" : "");
  return is_checked;
}

// Variants that operators launch only where there are matrix units. Without them their fragments are loops.
static bool needs_units(const char *variant) {
  bool is_attention = strncmp(variant, "attention_tiles<", 16) == 0 || strncmp(variant, "attention_gradient<", 19) == 0;
  bool is_product = strncmp(variant, "matmul_fragments<", 17) == 0 || strncmp(variant, "product_units<", 14) == 0;
  bool is_conv = strncmp(variant, "conv_units<", 11) == 0;
  return is_product || is_conv || (is_attention && strstr(variant, "W=u32"));
}

// Products of quantised weights for which clang 19 keeps some 30 of 256 registers in memory on gfx11 and gfx12 (docs/notes/rocm-registers.md).
static bool is_quantised(const char *variant) {
  return strncmp(variant, "product_pairs<", 14) == 0 || strncmp(variant, "product_units<", 14) == 0;
}

// Of all parts of a program.
typedef struct totals {
  usage most;
  uint32_t count, spilling, scratch;
} totals;

static void add_usage(const gpu *g, const char *program, const char *assembly, totals *sum) {
  const char *path = getenv("TSR_TEST_REGISTERS");
  FILE *table = path ? fopen(path, "a") : NULL;
  usage u;
  for (const char *at = strstr(assembly, "amdhsa.kernels:"); at && (at = next_kernel(at, &u)) != NULL; sum->count++) {
    char variant[512];
    bool is_checked = variant_of(program, u.name, variant, sizeof variant);
    if (u.vgpr_spills) printf("%s: %s keeps %u registers in memory\n", g->name, variant, u.vgpr_spills);
    if (!is_checked && u.vgpr > sum->most.vgpr) sum->most = u;
    // Tests of every index need registers, and are not for speed. Attention of f64 holds a row of 64 sums, 128 registers, and loads
    // as many at once.
    bool is_slow = is_checked || (g->units == NO_UNITS && needs_units(variant)) ||
                   ((g == &gfx1100 || g == &gfx1201) && is_quantised(variant));
    bool is_f64 = strncmp(variant, "attention<", 10) == 0 && strstr(variant, "A=f64");
    sum->spilling += u.vgpr_spills > 0 && !is_slow && !is_f64;
    sum->scratch += u.scratch > 0;
    if (table) {
      fprintf(table, "%s | %s | %u | %u | %u | %u | %u | %u\n", g->name, variant, u.vgpr, u.vgpr_spills, u.sgpr,
              u.sgpr_spills, u.lds, u.scratch);
    }
    CHECK(u.lds <= 65536);
  }
  if (table) (void)fclose(table);
}

// --- Tests ----------------------------------------------------------------------------------------------------------

static bool tests_all(void) { return getenv("TSR_TEST_SAMPLE") != NULL; }

// Half of the sample for gfx90a, which has wavefronts of 64, and the other half for gfx1030, with those of 32; a tenth of it for the other GPUs: compilers take seconds for all of it.
// That tenth is compiled as for use: at -O1 clang 19 keeps 32 registers of some kernels in memory on gfx1100 and gfx1201 (conv_tiles for three axes) that it has room for at -O3.
static void compile_all_for(const gpu *g) {
  enum { PARTS = 24 };
  if (missing_for(g)) SKIP(missing_for(g));
  bool is_table = getenv("TSR_TEST_REGISTERS") != NULL, is_all = tests_all() || is_table,
       is_thorough = is_all || g == &gfx90a || g == &gfx1030;
  uint32_t one_in = is_all ? 0 : is_thorough ? 2 : 10;
  emit_part parts[PARTS] = {{.added = 0}};
  emit_program program = {.options = options_of(g),
                          .one_in = one_in,
                          .taken = g == &gfx1030,
                          .parts = parts,
                          .part_count = is_all ? PARTS : 1};
  totals sum = {.count = 0};
  emit_program_add_all(&program, "hip");
  for (uint32_t i = 0; i < program.part_count; i++) {
    if (!parts[i].text.data) continue;
    const char *level = is_all || !is_thorough ? "-O3" : "-O1";
    char *assembly = assembly_of(g, parts[i].text.data, level, program.build_options);
    add_usage(g, parts[i].text.data, assembly, &sum);
    free(assembly);
    free(parts[i].text.data);
  }
  printf("%s: %u kernels; most registers: %u, in %s; %u with memory of their own per item\n", g->name,
         (unsigned)sum.count, sum.most.vgpr, sum.most.name, (unsigned)sum.scratch);
  CHECK_EQ_UINT(sum.count, program.added);
  CHECK((sum.count >= 10 || getenv("TSR_TEST_KERNELS")) && sum.most.vgpr > 0);
  CHECK_EQ_UINT(sum.spilling, 0);
}

TEST(every_kernel_compiles_for_gfx906) { compile_all_for(&gfx906); }
TEST(every_kernel_compiles_for_gfx908) { compile_all_for(&gfx908); }
TEST(every_kernel_compiles_for_gfx90a) { compile_all_for(&gfx90a); }
TEST(every_kernel_compiles_for_gfx1030) { compile_all_for(&gfx1030); }
TEST(every_kernel_compiles_for_gfx942) { compile_all_for(&gfx942); }
TEST(every_kernel_compiles_for_gfx1100) { compile_all_for(&gfx1100); }
TEST(every_kernel_compiles_for_gfx1201) { compile_all_for(&gfx1201); }

// The assembly of one kernel, k, which the caller frees.
static char *compile_kernel(const gpu *g, const char *text, const char *args) {
  tsri_emit_options options = options_of(g);
  tsri_kernel *kernel = emit_kernel_of("k.tk", text, "k", args, false);
  tsri_emitted code;
  char path[128];
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("hip"), kernel, &options, &code));
  CHECK(emit_write("k.hip", code.data, path, sizeof path));
  if (!compile(g, path, "-O3", code.build_options))
    test_fail(__FILE__, __LINE__, "%s %s:\n%s", g->name, args, emit_log());
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
  char *assembly = read_assembly(path);
  CHECK(assembly);
  return assembly;
}

static void check_instruction(const gpu *g, const char *args, const char *instruction) {
  if (missing_for(g)) SKIP(missing_for(g));
  char all[64];
  snprintf(all, sizeof all, "%s SG=%u", args, (unsigned)g->wave);
  char *assembly = compile_kernel(g, emit_fragments_text, all);
  uint32_t count = 0;
  for (const char *at = assembly; (at = strstr(at, instruction)) != NULL; at++) count++;
  CHECK_EQ_UINT(count, 3);
  CHECK_STR_HAS(assembly, ".vgpr_spill_count: 0");
  CHECK_STR_HAS(assembly, ".private_segment_fixed_size: 0");
  CHECK_STR_HAS(assembly, ".amdhsa_float_denorm_mode_32 3");  // denormals are kept
  CHECK_STR_HAS(assembly, ".amdhsa_float_denorm_mode_16_64 3");
  free(assembly);
}

TEST(fragments_use_the_matrix_units_of_gfx908) { check_instruction(&gfx908, "T=f16", "v_mfma_f32_16x16x16f16"); }

TEST(fragments_use_the_matrix_units_of_gfx90a) {
  check_instruction(&gfx90a, "T=f16 C=1", "v_mfma_f32_16x16x16f16");
  if (tests_all()) check_instruction(&gfx90a, "T=bf16", "v_mfma_f32_16x16x16bf16_1k");
}

TEST(fragments_use_the_matrix_units_of_gfx942) {
  check_instruction(&gfx942, "T=f16", "v_mfma_f32_16x16x16_f16");
  if (tests_all()) check_instruction(&gfx942, "T=bf16 C=1", "v_mfma_f32_16x16x16_bf16");
}

TEST(fragments_use_the_matrix_units_of_gfx1100) {
  if (tests_all()) check_instruction(&gfx1100, "T=f16", "v_wmma_f32_16x16x16_f16");
  check_instruction(&gfx1100, "T=bf16 C=1", "v_wmma_f32_16x16x16_bf16");
}

TEST(fragments_use_the_matrix_units_of_gfx1201) {
  if (tests_all()) check_instruction(&gfx1201, "T=f16 C=1", "v_wmma_f32_16x16x16_f16");
  check_instruction(&gfx1201, "T=bf16", "v_wmma_f32_16x16x16_bf16");
}

// A product and a sum are rounded separately (no fma), and a division is rounded once, as the language requires.
static void check_arithmetic(const gpu *g) {
  if (missing_for(g)) SKIP(missing_for(g));
  static const char text[] =
      "kernel k<WG = 64>(in f32 a[], out f32 y[]) { u32 i = global.x; y[i] = a[i] * a[i + 1] + a[i] / a[i + 2]; }\n";
  char *assembly = compile_kernel(g, text, "");
  CHECK_STR_HAS(assembly, "v_div_fixup_f32");  // the end of a division that is rounded correctly
  CHECK_STR_HAS(assembly, "v_mul_f32");
  CHECK_STR_HAS(assembly, "v_add_f32");
  free(assembly);
}

TEST(gfx1030_computes_as_the_language_says) { check_arithmetic(&gfx1030); }
TEST(gfx942_computes_as_the_language_says) { check_arithmetic(&gfx942); }

// `instruction` reads `dtype` four at a time, followed in its line by `policy`: caches need not keep what it read.
static void check_once(const gpu *g, const char *dtype, const char *instruction, const char *policy) {
  if (missing_for(g)) SKIP(missing_for(g));
  char text[160];
  snprintf(text, sizeof text,
           "kernel k<WG = 64>(in %s a[], out %s y[]) { u32 i = global.x * 4; store4(y, i, load4_once(a, i)); }\n",
           dtype, dtype);
  char *assembly = compile_kernel(g, text, "");
  const char *load = strstr(assembly, instruction);
  CHECK(load);
  const char *found = strstr(load, policy);
  CHECK(found && found < load + strcspn(load, "\n"));
  free(assembly);
}

TEST(what_is_read_once_is_streamed) {
  check_once(&gfx90a, "f32", "global_load_dwordx4", " slc");
  if (!tests_all()) return;
  check_once(&gfx90a, "bf16", "global_load_dwordx2", " slc");
  check_once(&gfx942, "f64", "global_load_dwordx4", " nt");
  check_once(&gfx1100, "f16", "global_load_b64", " slc");
  check_once(&gfx1201, "i64", "global_load_b128", " th:TH_LOAD_NT");
}
