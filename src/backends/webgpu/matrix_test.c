// SPDX-License-Identifier: MIT
// Subgroup matrices: which ones an adapter has, when a device is opened with them, and the kernels that use them. No device of
// the tests has any, so kernels are compiled by Dawn for its null backend. matrix_run_test.c runs them with the matrices' functions
// written out.
#include <stdlib.h>

#include "backends/webgpu/fixture.h"
#include "backends/webgpu/native.h"
#include "graph/embedded.h"
#include "lang/emit/wgsl/wgsl.h"
#include "lang/emit_case.h"

// --- What an adapter has --------------------------------------------------------------------------------------------

TEST(sizes_are_those_of_f16_with_sums_of_f32) {
  static const wgpu_matrix_config configs[] = {
      {WGPU_MATRIX_F32, WGPU_MATRIX_F32, 8, 8, 8},    {WGPU_MATRIX_F16, WGPU_MATRIX_F16, 16, 16, 16},
      {WGPU_MATRIX_F16, WGPU_MATRIX_F32, 16, 8, 16},  {WGPU_MATRIX_F16, WGPU_MATRIX_F32, 8, 8, 8},
      {WGPU_MATRIX_F16, WGPU_MATRIX_F32, 16, 16, 16}, {WGPU_MATRIX_F16, WGPU_MATRIX_F32, 32, 32, 32}};
  CHECK_EQ_UINT(tsri_wgpu_matrix_sides(configs, 0), 0);
  CHECK_EQ_UINT(tsri_wgpu_matrix_sides(configs, 3), 0);
  CHECK_EQ_UINT(tsri_wgpu_matrix_sides(configs, 4), TSRI_WGPU_MATRIX_8);
  CHECK_EQ_UINT(tsri_wgpu_matrix_sides(configs + 4, 2), TSRI_WGPU_MATRIX_16);
  CHECK_EQ_UINT(tsri_wgpu_matrix_sides(configs, 6), TSRI_WGPU_MATRIX_16 | TSRI_WGPU_MATRIX_8);
}

// --- Compiled by Dawn -----------------------------------------------------------------------------------------------

// Dawn wants groups of whole subgroups of the largest size, which is 128 on the null backend.
enum { NULL_ITEMS = 128 };

static tsri_wgpu_device *open_null(void) {
  tsri_wgpu_device *device = NULL;
  fixture f = fixture_open();
  fixture_close(&f);
  if (tsri_wgpu.device_open(WGPU_NULL_INDEX, true, 10000, &device) != TSR_OK) SKIP("Dawn has no null backend here");
  return device;
}

static void compile_text(tsri_wgpu_device *device, const char *text, const char *entry, uint32_t buffers,
                         uint64_t read_only, uint32_t uniform_bytes) {
  tsri_wgpu_program *program = NULL;
  tsr_status status =
      tsri_wgpu.program_create(device, text, strlen(text), entry, buffers,
                               (uint32_t[]){(uint32_t)read_only, (uint32_t)(read_only >> 32)}, uniform_bytes, &program);
  if (status != TSR_OK) {
    char words[1200];
    tsri_wgpu.error_text(words, sizeof words);
    test_fail(__FILE__, __LINE__, "%s\n%s", words, text);
  }
  tsri_wgpu.program_destroy(device, program);
}

TEST(dawn_takes_the_kernel_that_tests_matrices) {
  tsri_wgpu_device *device = open_null();
  for (int side = 8; side <= 16; side += 8) {
    char text[4096];
    CHECK(tsri_webgpu_matrix_probe(side, NULL_ITEMS, text, sizeof text) < sizeof text);
    compile_text(device, text, "probe", 1, 0, 64);
  }
  tsri_wgpu.device_close(device);
}

static tsri_emitted emit_for_units(const tsri_kernel *kernel, int side, uint32_t subgroup_size) {
  tsr_fragment_size size = {TSR_F16, side, side, side};
  tsri_emit_options options = tsri_emit_defaults_wgsl;
  options.f16 = options.subgroups = options.subgroup_shuffle = options.exact_fma = true;
  options.subgroup_size = subgroup_size;
  options.fragments = &size;
  options.fragment_count = 1;
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, &options, &code));
  CHECK_STR_HAS(code.data, "enable chromium_experimental_subgroup_matrix;");
  return code;
}

static void compile_kernel(tsri_wgpu_device *device, const char *source, const char *name, const char *args, int side) {
  tsri_kernel *kernel = emit_kernel_of("test.tk", source, name, args, false);
  tsri_emitted code = emit_for_units(kernel, side, strstr(args, "SG=128") ? 128 : 32);
  uint64_t read_only = strtoull(code.build_options + strlen("read_only="), NULL, 16);
  uint32_t uniform_bytes = (TSRI_WGSL_SYSTEM_WORDS * 4 + code.params_bytes + 15) / 16 * 16;
  compile_text(device, code.data, code.entry, code.buffer_count, read_only, uniform_bytes);
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(dawn_takes_fragments_of_buffers_and_shared_memory) {
  tsri_wgpu_device *device = open_null();
  compile_kernel(device, emit_fragments_text, "k", "T=f16 WG=128", 16);
  compile_kernel(device, emit_fragments_text, "k", "T=f16 WG=128 C=1", 16);
  tsri_wgpu.device_close(device);
}

// Edges, tails, transposed factors, wide and narrow accesses, and tiles of both sizes, in the 16 KiB of shared memory that
// the null backend has.
static const char *const product_args[] = {
    "Y=f16 WIDE_A=1 WIDE_B=1 WIDE_Y=1 EDGES=0 TAIL=0",
    "Y=f16 WIDE_A=1 WIDE_B=1 WIDE_Y=1 EDGES=0 TAIL=0 A_COLUMNS=1 B_COLUMNS=1",
    "Y=f32 WIDE_A=1 WIDE_B=1 WIDE_Y=1",
    "Y=f16 WIDE_A=1 WIDE_B=1 A_COLUMNS=1 B_COLUMNS=1 SCALED=1",
    "Y=f16 WA=i16 WB=i16",
    "Y=f32 WA=i16 WB=i16 A_COLUMNS=1 B_COLUMNS=1 TAIL=0",
    "Y=f32 WIDE_A=1 WB=i16 A_COLUMNS=1 SPLIT=1",
};

TEST(dawn_takes_the_product_in_its_variants) {
  static const char *const tiles[] = {
      "M=16 N=16 K=16 PART_M=32 PART_N=32 BM=64 BN=64 DEPTH=16",
      "M=16 N=16 K=16 PART_M=16 PART_N=32 BM=32 BN=64 DEPTH=32",
      "M=8 N=8 K=8 PART_M=32 PART_N=32 BM=64 BN=64 DEPTH=32",
      "M=8 N=8 K=8 PART_M=16 PART_N=32 BM=32 BN=64 DEPTH=32",
      "M=8 N=8 K=8 PART_M=8 PART_N=16 BM=16 BN=32 DEPTH=64",
  };
  tsri_wgpu_device *device = open_null();
  const char *source = tsri_embedded_text("op_product", NULL);
  for (size_t i = 0; i < sizeof product_args / sizeof *product_args; i++) {
    for (size_t j = 0; j < sizeof tiles / sizeof *tiles; j++) {
      char args[240];
      snprintf(args, sizeof args, "T=f16 E=f16 SG=32 %s %s", product_args[i], tiles[j]);
      compile_kernel(device, source, "matmul_fragments", args, j < 2 ? 16 : 8);
    }
  }
  tsri_wgpu.device_close(device);
}

// The smallest heads: with larger ones, shared memory is more than the null backend has.
TEST(dawn_takes_attention_by_matrices) {
  static const char *const args = "T=f16 F=f16 X=u32 W=u32 E=f32 DEPTH=16 SIZE=16 ROWS=16 COLS=32 SG=128 WG=128";
  tsri_wgpu_device *device = open_null();
  const char *source = tsri_embedded_text("op_attention_tiles", NULL);
  compile_kernel(device, source, "attention_tiles", args, 16);
  compile_kernel(device, source, "attention_gradient", args, 16);
  tsri_wgpu.device_close(device);
}

// --- Opening a device -----------------------------------------------------------------------------------------------

// A device that has everything: Dawn's null backend, with the results that its kernels would have on such a GPU.
static struct {
  tsri_wgpu_api saved;
  uint32_t sides, wrong;  // of the matrices that there are, and of those that multiply wrongly
  bool has_half;
  char text[4096];                // of the program that ran last
  int opened_plain, opened_with;  // devices that are open
  tsri_wgpu_device *with[4];
} pretended;

static tsr_status pretend_info(uint32_t index, tsri_wgpu_adapter *out_adapter) {
  tsr_status status = pretended.saved.adapter_info(index, out_adapter);
  out_adapter->features |= TSRI_WGPU_F16 | TSRI_WGPU_SUBGROUPS;
  out_adapter->subgroup_min = out_adapter->subgroup_max = NULL_ITEMS;
  return status;
}

static tsr_status pretend_open(uint32_t index, bool wants_matrices, double timeout_ms, tsri_wgpu_device **out_device) {
  (void)index;
  tsr_status status = pretended.saved.device_open(WGPU_NULL_INDEX, wants_matrices, timeout_ms, out_device);
  if (status != TSR_OK) return status;
  if (wants_matrices) pretended.with[pretended.opened_with++] = *out_device;
  else pretended.opened_plain++;
  return TSR_OK;
}

static void pretend_close(tsri_wgpu_device *device) {
  bool is_with = pretended.opened_with > 0 && pretended.with[pretended.opened_with - 1] == device;
  if (is_with) pretended.opened_with--;
  else pretended.opened_plain--;
  pretended.saved.device_close(device);
}

static uint32_t pretend_matrices(tsri_wgpu_device *device) {
  (void)device;
  return pretended.sides;
}

static tsr_status pretend_program(tsri_wgpu_device *device, const char *text, size_t text_bytes, const char *entry,
                                  uint32_t storage_count, const uint32_t read_only[2], uint32_t uniform_bytes,
                                  tsri_wgpu_program **out_program) {
  snprintf(pretended.text, sizeof pretended.text, "%s", text);
  return pretended.saved.program_create(device, text, text_bytes, entry, storage_count, read_only, uniform_bytes,
                                        out_program);
}

static tsr_status pretend_read(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, void *data,
                               size_t bytes, double timeout_ms) {
  static const uint32_t halves[] = {0x3c00,     0x3c02,     0x7c00,     0x0002,     0x0001,     0x03fc,
                                    0xfc00,     0x7bff,     0x3f800000, 0x33800000, 0xb87fc000, 0x7f800000,
                                    0xc77fe000, 0x38000000, 0x80000000, 0x3eaaa000};
  tsr_status status = pretended.saved.read(device, buffer, offset, data, bytes, timeout_ms);
  uint32_t *words = data;
  if (strstr(pretended.text, "subgroup_matrix")) {
    bool is_16 = strstr(pretended.text, "const S = 16u;") != NULL;
    uint32_t bit = is_16 ? TSRI_WGPU_MATRIX_16 : TSRI_WGPU_MATRIX_8;
    words[0] = (is_16 ? 512u : 128u) - (pretended.wrong & bit ? 1u : 0u);
  } else if (strstr(pretended.text, "subgroupShuffle")) {
    words[0] = 256;
  } else if (strstr(pretended.text, "enable f16;") && pretended.has_half) {
    memcpy(words, halves, sizeof halves);
  }
  return status;
}

// Opens such a device and returns the side of its fragments. out_with: whether it was opened with subgroup matrices.
static int side_of_pretended(uint32_t sides, uint32_t wrong, bool has_half, const char *native, bool *out_with) {
  fixture f = fixture_open();
  int count = 0;
  tsri_device *device = NULL;
  tsri_limits limits = {0};
  pretended.saved = tsri_wgpu;
  pretended.sides = sides;
  pretended.wrong = wrong;
  pretended.has_half = has_half;
  tsri_wgpu.adapter_info = pretend_info;
  tsri_wgpu.device_open = pretend_open;
  tsri_wgpu.device_close = pretend_close;
  tsri_wgpu.matrices = pretend_matrices;
  tsri_wgpu.program_create = pretend_program;
  tsri_wgpu.read = pretend_read;
  CHECK_OK(f.backend->device_count(&count));
  CHECK_OK(
      f.backend->device_open(0, &(tsri_open_options){.native = native, .timeout_ns = UINT64_MAX}, &limits, &device));
  CHECK_EQ_INT(pretended.opened_plain + pretended.opened_with, 1);  // the other one is closed
  *out_with = pretended.opened_with == 1;
  f.backend->device_close(device);
  CHECK_EQ_INT(pretended.opened_plain + pretended.opened_with, 0);
  tsri_wgpu = pretended.saved;
  CHECK_OK(f.backend->device_count(&count));
  fixture_close(&f);
  CHECK(limits.has_subgroups && limits.subgroup_size == NULL_ITEMS);
  CHECK_EQ_UINT(limits.fragment_count, *out_with ? 1 : 0);
  const tsr_fragment_size *s = &limits.fragments[0];
  CHECK(limits.fragment_count == 0 || (s->dtype == TSR_F16 && s->m == s->n && s->m == s->k));
  return limits.fragment_count ? s->m : 0;
}

TEST(a_device_has_fragments_if_its_matrices_multiply_as_they_should) {
  const uint32_t both = TSRI_WGPU_MATRIX_16 | TSRI_WGPU_MATRIX_8;
  bool with = false;
  tsri_wgpu.device_close(open_null());
  CHECK_EQ_INT(side_of_pretended(both, 0, true, NULL, &with), 16);
  CHECK_EQ_INT(side_of_pretended(TSRI_WGPU_MATRIX_8, 0, true, "all", &with), 8);
  CHECK_EQ_INT(side_of_pretended(both, TSRI_WGPU_MATRIX_16, true, NULL, &with), 8);
  CHECK_EQ_INT(side_of_pretended(both, both, true, NULL, &with), 0);
  CHECK_EQ_INT(side_of_pretended(0, 0, true, NULL, &with), 0);
  CHECK_EQ_INT(side_of_pretended(both, 0, false, NULL, &with), 0);
  CHECK_EQ_INT(side_of_pretended(both, 0, true, "-subgroup_matrix", &with), 0);
  CHECK_EQ_INT(side_of_pretended(both, 0, true, "none", &with), 0);
}
