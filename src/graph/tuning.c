// SPDX-License-Identifier: MIT
// The tuning table: one column per kind of device, and overrides per dialect and from the environment.
#include "graph/tuning.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "graph/node.h"
#include "platform/trust.h"

typedef enum device_kind { KIND_LANES, KIND_SOFT, KIND_GPU, KIND_COUNT } device_kind;

static const tsri_tuning tables[KIND_COUNT] = {
    [KIND_LANES] =
        {
#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning) .name = (lanes),
#include "graph/tuning.def"
        },
    [KIND_SOFT] =
        {
#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning) .name = (soft),
#include "graph/tuning.def"
        },
    [KIND_GPU] =
        {
#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning) .name = (gpu),
#include "graph/tuning.def"
        },
};

typedef struct tuning_field {
  const char *name, *tries;  // values to try, separated by blanks
  size_t offset;
} tuning_field;

static const tuning_field fields[] = {
#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning) {#name, tries, offsetof(tsri_tuning, name)},
#include "graph/tuning.def"
};

static int *field_of(tsri_tuning *tuning, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0) {
      return (int *)(void *)((char *)tuning + fields[i].offset);
    }
  }
  return NULL;
}

bool tsri_tuning_change(tsri_tuning *tuning, const char *changes) {
  for (const char *at = changes; *at;) {
    size_t length = strcspn(at, "=");
    int *field = field_of(tuning, at, length);
    if (!field || at[length] != '=') return false;
    char *end = NULL;
    long value = strtol(at + length + 1, &end, 10);
    if (end == at + length + 1 || (*end && *end != ',') || value < 0 || value > INT_MAX) return false;
    *field = (int)value;
    at = *end ? end + 1 : end;
  }
  return true;
}

static device_kind kind_of(const tsr_device *device) {
  const char *dialect = device->backend->dialect;
  if (!dialect || strcmp(dialect, "lanes") == 0) return KIND_LANES;
  return device->info.is_software ? KIND_SOFT : KIND_GPU;
}

// Per-dialect overrides of the GPU column of tuning.def.
static const struct {
  const char *dialect, *changes;
} by_dialect[] = {
    // row_group, select_group: NVIDIA's OpenCL driver (580) limits kernels that keep rows in registers, and radix_first, to work-groups of 256 items.
    // product_alignment: here and on Vulkan, matrix fragments load lines that begin at multiples of 16 bytes in vectors of eight elements. bf16
    // 2538 x 9186 x 3226 takes 843 us with aligned copies and 2620 us without (Vulkan: 893 and 1315).
    // matmul_split_tiles: 1000 x 1000 with k = 4096 in f32 takes 213 us in 64 large tiles whose sums are split, and 313 us in small tiles (Vulkan: 310 and
    // 290). matmul_skinny: 8 x 13824 with k = 5120 in f32 takes 92 us in tiles and 236 us without; 4 rows take 91 and 74 us. Through WebGPU, 8 rows take 153 us
    // in tiles and 119 us without. scan_items: running sums of 10,000 rows of 10,000 take 207 us with 8 elements per item and 217 us with 16 (CUDA: 206 and
    // 204). scan_once: a cumsum of 10^8 f32 takes 228 us in one pass and 306 us in two; one of 10^7 f32 takes 37 and 44 us; but one of 10^7 bf16, which the
    // second-level cache holds, takes 35 us in one pass and 27 to 30 in two.
    {"opencl",
     "row_group=256,select_group=256,product_alignment=16,matmul_split_tiles=64,matmul_skinny=4,scan_items=8,"
     "scan_once=12"},
    // Vulkan, measured on an H200.
    // matmul_m, matmul_inside: 4096^3 in f32 takes 3.3 to 3.5 ms with tiles of 64 rows, 3.7 ms with 128 rows, and 3.9 ms if strips are then also loaded without
    // bounds checks.
    // scan_items: running sums of 10,000 rows of 10,000 take 216 us with 8 elements per item and 229 us with 16.
    // radix_items: sorts of 2 * 10^7 elements take 989 us with 8 elements per item and 1182 us with 16.
    // reduce_wide: a sum of 7 rows of 3,000,001 f32 takes 27.6 us in quads and 32.2 us element by element (CUDA: 29.4 and 26.9).
    // channel_reads: var over axis 0 of 20000 x 5000 takes 114 us with four quads loaded ahead and 122 us with two. On CUDA it takes 125 and 105 us, because
    // four need more registers.
    // quant_units: 8 rows of f16 times 4096 x 4096 weights of q8_0 took 150 us by matrix units and 54 us without; 64 rows took 119 us by matrix units (88 in
    // bf16) and 115 us with a decoded copy; 512 rows took 441 and 582 us.
    {"spirv",
     "matmul_m=64,matmul_inside=0,quant_units=33,scan_items=8,scan_once=12,radix_items=8,radix_teams=2,product_"
     "alignment=16,"
     "reduce_wide=2,channel_reads=4"},
    // WebGPU, measured on an H200.
    // matmul_steps, matmul_m, matmul_inside: 4096^3 in f32 took 5.0 ms with 4 unrolled steps, 4.0 ms with 8, 3.85 ms with 8 and tiles of 64 rows, and 3.45 ms
    // with bounds checks as well. 4097^3 took 3.9 ms without bounds checks and 5.0 ms with them.
    // quant_rows: q8_0 takes 46.5 us without a row of x in registers and 53.9 us with it.
    // product_alignment: elements of 16 bits are loaded as words of two if lines begin at multiples of 16 bytes (matmul_padded.c).
    // scan_items: running sums of 10,000 rows of 10,000 take 256 us with 8 elements per item and 330 us with 16.
    // radix_items: sorts of 2 * 10^7 elements take 1026 us with 8 elements per item and 1231 us with 16.
    // copy_tile: transposing copies in tiles of 32 and of 64 take, in us: 60,000 x 500 f32 72 and 88, bf16 46 and 76; 8000 x 5000 f32 94 and 115, bf16 59 and
    // 101, i64 181 and 226; but 4097 x 4099 f32 60 and 55 (bf16 57 and 103). On Vulkan, tiles of both sizes take 68.
    // row_pairs: rms_norm of 20,000 rows of bf16 of odd length takes, in pairs and element by element, in us: 4,097 elements 196 and 459, 1,023 elements 97 and
    // 206, 257 elements 94 and 151, 77 elements 259 and 251, 41 elements 298 and 249. Elsewhere pairs are slower: Vulkan takes 165 in pairs and 132 element by
    // element, CUDA 167 and 127, OpenCL 143 and 124.
    // select_reads, select_ahead, select_group: the first 50 of 1000 x 50257 take 120 us with groups of 256 that load 16 elements at a time; 136 us with 8,
    // also if the next 8 are loaded before these are used; and 167 us with groups of 1,024. On Vulkan they take 130 us with 16, 106 with 8, and 90 with the
    // next 8.
    {"wgsl",
     "matmul_m=64,matmul_inside=2,quant_rows=0,quant_units=33,product_alignment=16,scan_items=8,scan_once=12,radix_"
     "items=8,"
     "copy_tile=32,"
     "reduce_wide=2,channel_reads=4,row_pairs=128,select_group=1024,select_reads=16,select_ahead=0"},
    // CUDA, measured on an H200.
    // gemv_group: 14336 rows of 4096 bf16 take 30.7 us with a warp per row and 31.8 us with 128 items per row. In f32, and in other dialects, a warp is no
    // faster. gemv_once_mib: a matrix of 117 MB takes 29.4 us if it is loaded past the first-level cache, and 30.2 us otherwise; one of 34 MB, which the
    // second-level cache (50 MB) holds, takes 11.1 and 8.3 us. product_alignment, conv_channels_last: cuBLASLt and cuDNN have fast kernels only for aligned
    // lines and for channels last. scan_once: a cumsum of 10^8 f32 takes 227 us in one pass with 12 quads per item, 241 us with 8, 256 us with 6, and 316 us in
    // two passes; through Vulkan 230, 243, 258 and 348; through WebGPU 244, 249, 268 and 361. row_dense: rows of 5,000 bf16 are normalised in 299 us by groups
    // of 512; through OpenCL, which has the same compiler, in 331 us by groups of 256. Softmax of 2000 rows of 12,000 bf16 takes 36 us by groups of 512 whose
    // items keep up to 32 elements, and 61 us in spans; 1000 rows of 24,000 f32 take 69 us with up to 64 elements per item, and 82 us in spans.
    {"cuda",
     "gemv_group=32,gemv_unroll=8,gemv_once_mib=56,product_alignment=16,conv_channels_last=1,scan_once=12,row_dense="
     "512,"
     "matmul_split_tiles=64,matmul_skinny=4"},
    // HIP. Not measured on an AMD GPU. gemv_once_mib: larger than the second-level cache of any. row_dense: as on CUDA. quant_rows: q8_0 with a row of x in
    // registers needs 251 registers on gfx1100, so that few work-groups fit on a core.
    {"hip", "gemv_once_mib=56,row_dense=512,quant_rows=0"},
};

void tsri_tuning_init(const tsr_device *device, tsri_tuning *out_tuning) {
  device_kind kind = kind_of(device);
  const char *changes = tsri_environment("TSR_TUNE");
  *out_tuning = tables[kind];
  for (size_t i = 0; kind == KIND_GPU && i < sizeof by_dialect / sizeof by_dialect[0]; i++) {
    if (strcmp(device->backend->dialect, by_dialect[i].dialect) == 0) {
      tsri_tuning_change(out_tuning, by_dialect[i].changes);
    }
  }
  if (!device->limits.groups_progress) out_tuning->scan_once = 0;
  if (kind != KIND_LANES && changes && !tsri_tuning_change(out_tuning, changes)) {
    tsri_log(TSR_LOG_WARN, "TSR_TUNE: \"%s\" is not a list of name=number with names of tuning.def", changes);
  }
  int subgroup_size = tsr_device_subgroup_size(device);
  if (out_tuning->reduce_team > subgroup_size) out_tuning->reduce_team = subgroup_size;
}

// --- Tuning of single launches --------------------------------------------------------------------------------------

#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning)                         \
  _Static_assert((int)TSRI_ENTRY_##name < TSRI_TUNING_BITS || sizeof(tries) == 1, \
                 #name " has a bit in tsri_tuning_asked");
#define TSRI_TUNE_SET(name, changes) \
  _Static_assert((int)TSRI_ENTRY_##name < TSRI_TUNING_BITS, #name " has a bit in tsri_tuning_asked");
#include "graph/tuning.def"
_Static_assert((int)TSRI_ENTRY_threads < TSRI_TUNING_BITS, "threads has a bit in tsri_tuning_asked");
_Thread_local uint64_t tsri_tuning_asked;
static _Thread_local const tsri_tuning *used;

void tsri_tuning_use(const tsri_tuning *tuning) { used = tuning; }

const tsri_tuning *tsri_tuning_of(const tsr_device *device) {
  return used ? used : &tsri_graph_of((tsr_device *)(uintptr_t)device)->tuning;
}

static const struct {
  tsri_tuning_entry entry;
  const char *changes;
} sets[] = {
#define TSRI_TUNE_SET(name, changes) {TSRI_ENTRY_##name, changes},
#include "graph/tuning.def"
};

static bool try_set(tsri_tuning_entry entry, int number, char *out_changes, size_t bytes) {
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    if (sets[i].entry != entry || number-- > 0) continue;
    snprintf(out_changes, bytes, "%s", sets[i].changes);
    return true;
  }
  return false;
}

bool tsri_tuning_try(const tsri_tuning *tuning, tsri_tuning_entry entry, int number, char *out_changes, size_t bytes) {
  const tuning_field *field = &fields[entry];
  int now = *(const int *)(const void *)((const char *)tuning + field->offset);
  if (now == 0) return false;
  for (const char *at = field->tries; *at; at += strspn(at, " ")) {
    char *end = NULL;
    long value = strtol(at, &end, 10);
    at = end;
    if (value == now || number-- > 0) continue;
    snprintf(out_changes, bytes, "%s=%ld", field->name, value);
    return true;
  }
  return try_set(entry, number, out_changes, bytes);
}
