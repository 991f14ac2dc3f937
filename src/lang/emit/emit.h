// SPDX-License-Identifier: MIT
// From the checked form (ir.h) to what a device's compiler takes: one emitter per dialect.
//
//   const tsri_emitter *emitter = tsri_emitter_find("opencl");
//   tsri_emit_options options = *emitter->defaults;
//   options.subgroups = device_has_subgroups;
//   tsri_emitted code;
//   tsri_emit_kernel(emitter, kernel, &options, &code);
//   …
//   tsri_emitted_deinit(&code);
//
// What the launcher passes, in this order:
//   1. The kernel's buffers, in the order of the parameter list. One that is read or written several elements at a
//      time (tsri_ir_array.is_wide) must begin at a multiple of lanes * element size, unless `wide_unaligned`.
//   2. In checked mode, one buffer more: the report, TSRI_EMIT_REPORT_WORDS 32-bit words, zeroed before the launch.
//   3. The parameter block: tsri_emitted.params_bytes of 32-bit words, as one struct by value (OpenCL, CUDA, HIP) or as
//      a constant buffer (Metal); not there if the size is 0. tsri_emit_params fills it: the kernel's parameters, and
//      in checked mode two words per buffer with its element count.
//
// Texts of several kernels (of one dialect and the same options, WGSL aside) may stand one after the other in one program,
// provided that the kernels' names differ. The same kernel and options always give the same text.
#ifndef TSRI_LANG_EMIT_H
#define TSRI_LANG_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/device.h>
#include <tessera/status.h>

#include "core/builder.h"
#include "lang/ir/ir.h"

// The dialects: name, name for people, form of the code, file suffix. A new dialect needs one line here and one file that defines tsri_emit_<name> and
// tsri_emit_defaults_<name>.
#define TSRI_DIALECTS(X)             \
  X(opencl, "OpenCL C", TEXT, ".cl") \
  X(cuda, "CUDA C++", TEXT, ".cu")   \
  X(hip, "HIP C++", TEXT, ".hip")    \
  X(metal, "Metal", TEXT, ".metal")  \
  X(c, "plain C", TEXT, ".c")        \
  X(spirv, "SPIR-V", WORDS, ".spv")  \
  X(wgsl, "WGSL", TEXT, ".wgsl")     \
  X(lanes, "lane bytecode", WORDS, ".lanes")

typedef enum tsri_emit_form {
  TSRI_EMIT_TEXT,  // source text
  TSRI_EMIT_WORDS  // 32-bit words
} tsri_emit_form;

// What the device can do. An emitter's `defaults` are valid for every device that the dialect supports.
typedef struct tsri_emit_options {
  bool f64;                          // double precision; without it a kernel that needs f64 is refused
  bool f16;                          // OpenCL: cl_khr_fp16; others convert in hardware anyway
  bool subgroups, subgroup_shuffle;  // subgroup operations in hardware; without both they go through shared memory
  bool exact_divide;                 // the device's f32 division and square root can be rounded correctly (OpenCL:
                                     // CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT); without it they are expanded
  bool ptx;                          // OpenCL: NVIDIA's compiler, which takes PTX, for compute capability 8.0 or more.
                                     // Shuffles and conversions to f16 and bf16 are its instructions
  bool exact_quotient;               // its f32 division alone is rounded correctly
  bool near_quotient, near_exp2,
      near_root;           // which of its f32 division, exp2 and roots expansions may use (lower/expand.h)
  bool exact_products;     // its f32 products and differences round to even and keep subnormal numbers
  bool wide_unaligned;     // wide buffers may begin anywhere: several elements are then read one by one
  bool no_alias;           // no two buffers of a launch overlap: pointers are marked so
  bool as_function;        // CUDA, HIP: a device function that other code calls, instead of a kernel
  bool flat_barriers;      // barriers must not be under conditions, even if all items take the same branch (PoCL)
  uint32_t subgroup_size;  // a power of two, 1 to 128; with `subgroups`, the hardware's size

  // SPIR-V: features that a Vulkan device has or lacks. `f16` there means arithmetic that rounds to nearest and keeps
  // denormals.
  bool i64;  // 64-bit integers; without them they are lowered to words, which is not possible together with f64
  bool storage16, storage8;  // buffers of 16-bit and 8-bit elements; without them these are accessed as words
  bool i16, i8;              // values of these sizes, so that shared arrays can be as small
  bool exact_fma;            // fma rounds once; without it, fma is expanded
  bool quirks;               // avoid instructions that some drivers' compilers (gallivm, SwiftShader) get wrong
  uint8_t keeps_denormals, keeps_nan, rounds_to_even;  // can be promised: bit 0 for f16, 1 for f32, 2 for f64

  // Sizes of fragment products that the hardware has; others are lowered to loops. Borrowed.
  const tsr_fragment_size *fragments;
  uint32_t fragment_count;
} tsri_emit_options;

#define TSRI_EMIT_ENTRY_BYTES 96
#define TSRI_EMIT_MAX_BYTES   (64u << 20)  // of code

typedef struct tsri_emitted {
  void *data;                         // text (NUL-terminated) or words; released by tsri_emitted_deinit
  size_t data_bytes;                  // without the NUL
  char entry[TSRI_EMIT_ENTRY_BYTES];  // name of the function to launch
  char build_options[128];  // the device's compiler needs these for the promised results ("-fmad=false"); may be ""
  uint32_t buffer_count;    // including the report
  uint32_t params_bytes;    // including the element counts; a multiple of 4
  uint32_t local[3];        // items per group
  uint32_t shared_bytes;    // per group: shared arrays, and what group operations need
  bool has_report;          // checked mode
} tsri_emitted;

typedef struct tsri_emitter {
  const char *name;   // "opencl", as tsri_backend.dialect
  const char *title;  // "OpenCL C"
  tsri_emit_form form;
  const char *suffix;  // ".cl"
  const tsri_emit_options *defaults;

  // Fills data, data_bytes, entry and build_options of `out`, and adds to shared_bytes; tsri_emit_kernel has done the rest.
  // Any thread. Errors as tsri_emit_kernel.
  tsr_status (*emit)(const struct tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                     tsri_emitted *out);
} tsri_emitter;

#define TSRI_X(name, title, form, suffix)                                             \
  extern const tsri_emit_options tsri_emit_defaults_##name;                           \
  tsr_status tsri_emit_##name(const tsri_emitter *emitter, const tsri_kernel *kernel, \
                              const tsri_emit_options *options, tsri_emitted *out);
TSRI_DIALECTS(TSRI_X)
#undef TSRI_X

// Whether a dialect can use matrix units for the kernel's fragments, all of which are in `options->fragments`.
typedef bool (*tsri_fragment_test)(const tsri_kernel *kernel, const tsri_emit_options *options);
bool tsri_emit_fragments_spirv(const tsri_kernel *kernel, const tsri_emit_options *options);
bool tsri_emit_fragments_cuda(const tsri_kernel *kernel, const tsri_emit_options *options);
bool tsri_emit_fragments_opencl(const tsri_kernel *kernel, const tsri_emit_options *options);
bool tsri_emit_fragments_hip(const tsri_kernel *kernel, const tsri_emit_options *options);
bool tsri_emit_fragments_metal(const tsri_kernel *kernel, const tsri_emit_options *options);
bool tsri_emit_fragments_wgsl(const tsri_kernel *kernel, const tsri_emit_options *options);

// The emitters of this library (dialects.c; in the browser dialects_wasm.c), in the order of TSRI_DIALECTS; the entry after the last has no name.
// tsri_emitter_names: their names, each after a blank.
extern const tsri_emitter tsri_emitters[];
extern const char tsri_emitter_names[];

// Returns the fragment test of the emitter's dialect; NULL: it has no fragments.
tsri_fragment_test tsri_emit_fragment_test(const tsri_emitter *emitter);

// NULL if there is none of that name; then tsr_last_error() lists the names.
const tsri_emitter *tsri_emitter_find(const char *name);

// Writes the kernel in the emitter's dialect. `options` NULL: the emitter's defaults.
//
// Ownership: caller calls tsri_emitted_deinit on `out`, which a failure leaves empty.
// Threads:   any.
// Errors:    TSR_ERR_UNSUPPORTED (the dialect or the device lacks something the kernel needs, or the kernel is too
//            large or nested too deep), TSR_ERR_INVALID_ARGUMENT (options), TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_emit_kernel(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                            tsri_emitted *out);
void tsri_emitted_deinit(tsri_emitted *emitted);  // accepts an empty one

// Returns the kernel with its fragments written as loops (lang.h, tsri_kernel_lower_fragments). `*out_kernel` is NULL
// if the kernel has no fragments or this device has hardware for all of them. tsri_emit_kernel calls it by itself; call
// it first if you analyse the kernel's loops.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose arrays and names it uses.
// Errors:    TSR_ERR_UNSUPPORTED (the group is no whole number of subgroups), TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_emit_lower(const tsri_emitter *emitter, const tsri_kernel *kernel, const tsri_emit_options *options,
                           tsri_kernel **out_kernel);

// Fills the `emitted->params_bytes` of a launch from the kernel's own parameter block (`kernel->params_bytes`; NULL if
// that is 0) and, in checked mode, the element count of each buffer.
void tsri_emit_params(const tsri_kernel *kernel, const tsri_emitted *emitted, const void *params,
                      const uint64_t *element_counts, void *out_words);

// Problems that occur while an emitter writes a kernel.
typedef struct tsri_emit_trouble {
  int depth;  // the dialect's limit, if statements or expressions are nested deeper than that; 0: they are not
  bool is_too_long, is_out_of_memory;
} tsri_emit_trouble;

// Converts the problems to a status with a message; TSR_OK if there were none.
tsr_status tsri_emit_verdict(const tsri_emitter *emitter, const tsri_kernel *kernel, tsri_emit_trouble trouble);

// As tsri_emit_verdict, for a dialect that is text: `text` moves to `out` or, in case of problems, is freed. `depth`: see tsri_emit_trouble.
tsr_status tsri_emit_finish(const tsri_emitter *emitter, const tsri_kernel *kernel, int depth, tsri_builder *text,
                            tsri_emitted *out);

// --- Checked mode ---------------------------------------------------------------------------------------------------

// The layout of the report after a launch. Arrays are numbered: buffers first, then shared, then local arrays.
enum {
  TSRI_EMIT_REPORT_FLAG,  // 0: every index was in range
  TSRI_EMIT_REPORT_POS,   // tsri_ir_pos
  TSRI_EMIT_REPORT_ARRAY,
  TSRI_EMIT_REPORT_INDEX,                               // low word, high word; signed
  TSRI_EMIT_REPORT_COUNT = TSRI_EMIT_REPORT_INDEX + 2,  // low word, high word: elements of the array
  TSRI_EMIT_REPORT_LANES = TSRI_EMIT_REPORT_COUNT + 2,  // elements that were accessed at once
  TSRI_EMIT_REPORT_WORDS
};

// Formats the report as a sentence: "kernel rms_norm: index 70 is outside buffer 'x' of 64 elements (norm.tk:7:20)". Returns false and an empty text if all
// indices were in range.
bool tsri_emit_decode_report(const tsri_kernel *kernel, const uint32_t words[TSRI_EMIT_REPORT_WORDS], char *text,
                             size_t text_bytes);

#endif
