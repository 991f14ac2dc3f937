// SPDX-License-Identifier: MIT
// The kernel language's front end: text to checked form (ir.h). docs/kernel-language.md describes the language.
//
//   tsri_module *module = NULL;
//   tsri_kernel *kernel = NULL;
//   tsri_lang_parse("norm.tk", text, bytes, NULL, &module);
//   tsri_lang_specialise(module, "rms_norm", (tsri_lang_arg[]){{.name = "T", .is_type = true, .dtype = TSR_F16}}, 1,
//                        NULL, NULL, &kernel);
//
// Errors: TSR_ERR_BUILD, with the diagnostics as the message of tsr_last_error() (cut at TSRI_ERROR_BYTES). The whole
// text comes through `out_log`:
//
//   norm.tk:7:20: error: barrier() stands where not all items of a group arrive
//       if (i < n) barrier();
//                  ^
//   hint: …
#ifndef TSRI_LANG_LANG_H
#define TSRI_LANG_LANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/dtype.h>
#include <tessera/status.h>

#include "lang/ir/ir.h"

// Limits on what is read; each has an error of its own.
#define TSRI_LANG_MAX_BYTES     (1u << 20)  // of source text
#define TSRI_LANG_MAX_ERRORS    20          // reported per run, and as many warnings
#define TSRI_LANG_MAX_DEPTH     200         // of nested expressions, blocks and calls
#define TSRI_LANG_MAX_NODES     (1u << 18)  // expressions and statements of one kernel after inlining
#define TSRI_LANG_MAX_STEPS     (1u << 22)  // statements, expressions and calls looked at for one kernel
#define TSRI_LANG_MAX_CHECK     (1u << 25)  // the same for all kernels of a file with all their types
#define TSRI_LANG_MAX_GENERICS  32          // compile-time parameters
#define TSRI_LANG_MAX_ARGUMENTS 64          // of a function
#define TSRI_LANG_MAX_HOOKS     16          // of a kernel
#define TSRI_LANG_MAX_FRAGMENTS 256         // of a kernel
#define TSRI_LANG_MAX_GROUP     1024        // items in a group
#define TSRI_LANG_MAX_SHARED    (1u << 18)  // bytes of shared arrays; a warning from 16 KiB
#define TSRI_LANG_MAX_LOCAL     (1u << 14)  // bytes of one local array
#define TSRI_LANG_MAX_LOCALS    (1u << 18)  // of all of a kernel
#define TSRI_LANG_DEFAULT_GROUP 64          // group size of a kernel without the parameter WG

// A parsed file. Immutable: any thread may use it.
typedef struct tsri_module tsri_module;

// --- What a module offers ---------------------------------------------------------------------------------------------

// A compile-time parameter.
typedef struct tsri_lang_generic {
  const char *name;
  bool is_type;
  bool has_default;
  uint32_t allowed;  // is_type: bit (1u << tsr_dtype) for each it may be
  tsr_dtype dtype;   // is_type: the default
  int64_t value;     // else: the default
} tsri_lang_generic;

// A run-time parameter as declared.
typedef struct tsri_lang_argument {
  const char *name;
  bool is_buffer;
  tsri_ir_access access;  // buffers
  int generic;            // index of the type parameter that is its type; -1: `dtype` is
  tsr_dtype dtype;
} tsri_lang_argument;

typedef struct tsri_lang_kernel_info {
  const char *name;
  tsri_ir_pos pos;
  uint32_t generic_count, argument_count;
  const tsri_lang_generic *generics;
  const tsri_lang_argument *arguments;
} tsri_lang_kernel_info;

// Reads and parses a file of kernels: syntax, names of kernels and functions, constants. Types inside kernels and
// functions are checked by tsri_lang_specialise; after a syntax error they are checked at once, as by tsri_lang_check, so
// that one mistake hides no other.
//
// Ownership: caller releases `*out_module` with tsri_module_release and `*out_log` with tsri_free; `text` is copied.
//            `out_log` may be NULL; it gets errors and warnings, or NULL where there were none.
// Threads:   any.
// Errors:    TSR_ERR_BUILD (mistakes in the text), TSR_ERR_OUT_OF_MEMORY. Then `*out_module` is NULL.
tsr_status tsri_lang_parse(const char *file_name, const char *text, size_t bytes, char **out_log,
                           tsri_module **out_module);
// With a text of fillings for the kernels' hooks, which counts as the end of the file; in messages it is called "fills".
tsr_status tsri_lang_parse_filled(const char *file_name, const char *text, size_t text_bytes, const char *fills,
                                  char **out_log, tsri_module **out_module);
void tsri_module_release(tsri_module *module);  // takes NULL; kernels made from it stay valid

// Kernels in the order of the file. Borrowed from the module. `find`: NULL if there is none of that name.
uint32_t tsri_module_kernel_count(const tsri_module *module);
const tsri_lang_kernel_info *tsri_module_kernel(const tsri_module *module, uint32_t index);
const tsri_lang_kernel_info *tsri_module_find(const tsri_module *module, const char *kernel_name);

// --- From module to kernel ------------------------------------------------------------------------------------------

// A value for a compile-time parameter.
typedef struct tsri_lang_arg {
  const char *name;
  bool is_type;
  tsr_dtype dtype;     // is_type
  int64_t value;       // else
  const char *unread;  // a text that is neither a type nor a number, for the message; NULL: none
} tsri_lang_arg;

typedef struct tsri_lang_options {
  bool checked;  // the emitted code checks every index
} tsri_lang_options;

// Checks one kernel with its compile-time parameters given and makes its checked form. Parameters that are not given
// take their defaults. `kernel_name` NULL: the only kernel of the module. `options` NULL: all defaults.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release and `*out_log` (may be NULL) with tsri_free.
// Threads:   any; several at once on one module.
// Errors:    TSR_ERR_BUILD (mistakes in the kernel), TSR_ERR_NOT_FOUND (no such kernel: the message lists them),
//            TSR_ERR_INVALID_ARGUMENT (a parameter unknown, missing or not allowed), TSR_ERR_OUT_OF_MEMORY. Then
//            `*out_kernel` is NULL.
tsr_status tsri_lang_specialise(const tsri_module *module, const char *kernel_name, const tsri_lang_arg *args,
                                size_t arg_count, const tsri_lang_options *options, char **out_log,
                                tsri_kernel **out_kernel);
void tsri_kernel_release(tsri_kernel *kernel);  // takes NULL

// The words that a sliced kernel finds after the original's parameter block.
typedef struct tsri_kernel_slice_params {
  uint32_t first[3];   // group at which the slice begins
  uint32_t groups[3];  // of the whole launch
} tsri_kernel_slice_params;

// The same kernel, to be launched in slices: it computes what the original does in those groups of the whole launch.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose arrays and names it uses.
// Errors:    TSR_ERR_UNSUPPORTED (too many parameters), TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_kernel_slice(const tsri_kernel *kernel, tsri_kernel **out_kernel);

// The same kernel for a device on which loops end after a number of rounds: an item stops before it has gone through
// `rounds` of them and goes on in the next launch with the same arguments. It has one buffer more, after the others: u32, one
// word that is set to 1 where an item has stopped (the launcher sets it to 0 before), then tsri_kernel_resume_words for each
// group of the launch. One u32 parameter more, after the others: 0 in the first launch, 1 in those that go on.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose names it uses.
// Errors:    TSR_ERR_UNSUPPORTED (too many parameters or buffers), TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_kernel_resume(const tsri_kernel *kernel, uint32_t rounds, tsri_kernel **out_kernel);
uint64_t tsri_kernel_resume_words(const tsri_kernel *kernel);  // of the original

// The same kernel with its fragments written as loops, for subgroups of so many items (a power of two): each item keeps the
// elements of a sum that are its own, and the rows and columns of the factors that they need, in local arrays. `has_fma`:
// sums are made by fma.
//
// Ownership: caller releases `*out_kernel` with tsri_kernel_release, before `kernel`, whose arrays and names it uses.
// Errors:    TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
tsr_status tsri_kernel_lower_fragments(const tsri_kernel *kernel, uint32_t subgroup_size, bool has_fma,
                                       tsri_kernel **out_kernel);

// How many rounds the loops of an item go through in this launch, at most; infinity if the kernel does not tell.
double tsri_kernel_rounds(const tsri_kernel *kernel, const uint32_t groups[3], const void *params);

// Checks every kernel of the module: each type parameter takes each type it may have in turn (the others their default
// or first one). Sizes take their defaults, or 1. Goes on with the next kernel after the first specialisation with errors;
// a mistake in a function that several kernels call is told once.
//
// Ownership: caller releases `*out_log` (may be NULL) with tsri_free; NULL in it: nothing to tell.
// Errors:    TSR_ERR_BUILD, TSR_ERR_OUT_OF_MEMORY. The log has a line with the specialisation before its errors.
tsr_status tsri_lang_check(const tsri_module *module, char **out_log);

// Reads "T=f16" or "WG=128" as on a command line. `storage` receives the name, which `out_arg` points to; it may point into
// `text` as well. A value that is neither a type nor a number is refused by tsri_lang_specialise, which knows the kernel.
//
// Errors: TSR_ERR_INVALID_ARGUMENT.
tsr_status tsri_lang_arg_parse(const char *text, char *storage, size_t storage_bytes, tsri_lang_arg *out_arg);

#endif
