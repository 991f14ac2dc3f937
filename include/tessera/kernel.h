// SPDX-License-Identifier: MIT
// User-defined kernels: written once in Tessera's kernel language (docs/kernel-language.md), run on every device.
#ifndef TESSERA_KERNEL_H
#define TESSERA_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/device.h>
#include <tessera/tensor.h>

// A kernel with fixed compile-time parameters. It belongs to no device. Reference-counted.
typedef struct tsr_kernel tsr_kernel;

typedef struct tsr_kernel_desc {
  const char *source;          // text in the kernel language
  size_t source_bytes;         // 0: `source` is terminated by 0
  const char *file_name;       // for messages; NULL: "kernel"
  const char *kernel;          // name of a kernel in the text; NULL: the only one
  const char *const *defines;  // compile-time parameters: "T=f32", "WG=128"
  int define_count;
  bool is_checked;  // an index out of range is an error instead of undefined behaviour; slower
  // A file to read the text from, instead of `source`. Messages name it unless `file_name` is set.
  const char *path;
  // Text that fills the kernel's hooks: "fill blur.load(f32 scale) { … }"; NULL: none.
  const char *fills;
} tsr_kernel_desc;

// Parses, checks and specialises a kernel. The program for a device is built, and kept, when the kernel is first
// launched there.
//
// Ownership: caller releases `*out_kernel`; the texts are copied.
// Threads:   any.
// Errors:    TSR_ERR_BUILD (the text has mistakes; the message lists them like a compiler, with file, line, column and
//            hints), TSR_ERR_NOT_FOUND (no such kernel), TSR_ERR_INVALID_ARGUMENT (NULL, an invalid define, both
//            `source` and `path`), TSR_ERR_IO (`path` cannot be opened or read; the message has the path and the
//            reason), TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
TSR_API tsr_status tsr_kernel_build(const tsr_kernel_desc *desc, tsr_kernel **out_kernel);

// Reference counting. Both accept NULL. A kernel holds references to the devices it was launched on.
TSR_API tsr_kernel *tsr_kernel_retain(tsr_kernel *kernel);
TSR_API void tsr_kernel_release(tsr_kernel *kernel);

// The name, such as "rms_norm<T=f32, WG=256>"; empty for NULL. Valid as long as the kernel.
TSR_API const char *tsr_kernel_name(const tsr_kernel *kernel);

// Work items per work-group in x, y and z; zeros for NULL. Does nothing if `out_size` is NULL.
TSR_API void tsr_kernel_group_size(const tsr_kernel *kernel, uint32_t out_size[3]);

// Run-time parameters.
typedef enum tsr_access { TSR_ACCESS_NONE, TSR_ACCESS_IN, TSR_ACCESS_OUT, TSR_ACCESS_INOUT } tsr_access;
typedef struct tsr_kernel_param {
  const char *name;   // valid as long as the kernel
  tsr_access access;  // TSR_ACCESS_NONE: a scalar
  tsr_dtype dtype;    // of the elements, or of the scalar
} tsr_kernel_param;
TSR_API int tsr_kernel_param_count(const tsr_kernel *kernel);

// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, or an index out of range).
TSR_API tsr_status tsr_kernel_get_param(const tsr_kernel *kernel, int index, tsr_kernel_param *out_param);

// The number of work-groups to launch.
typedef struct tsr_grid {
  uint32_t x, y, z;  // if one of them is 0, nothing runs
} tsr_grid;

// The number of work-groups for this many work items in each direction, rounded up: the kernel must check its bounds.
TSR_API tsr_grid tsr_grid_for(const tsr_kernel *kernel, uint64_t items_x, uint64_t items_y, uint64_t items_z);

// An argument of a launch: a tensor for a buffer, a number for a scalar.
typedef enum tsr_arg_kind { TSR_ARG_TENSOR, TSR_ARG_INT, TSR_ARG_FLOAT } tsr_arg_kind;
typedef struct tsr_arg {
  tsr_arg_kind kind;
  tsr_tensor *tensor;  // TSR_ARG_TENSOR: borrowed for the call
  int64_t integer;     // TSR_ARG_INT: for integer and bool scalars; must fit
  double real;         // TSR_ARG_FLOAT: for float scalars, which also accept TSR_ARG_INT
  // Name of the parameter, borrowed for the call. NULL: arguments are in the order of the parameter list.
  const char *name;
} tsr_arg;
TSR_API tsr_arg tsr_arg_tensor(tsr_tensor *tensor);
TSR_API tsr_arg tsr_arg_int(int64_t value);
TSR_API tsr_arg tsr_arg_float(double value);

// Adds a parameter's name to an argument: tsr_arg_named("x", tsr_arg_tensor(x)).
TSR_API tsr_arg tsr_arg_named(const char *name, tsr_arg arg);

// Launches the kernel on the device of its tensors. Arguments are in the order of its parameter list (that of
// tsr_kernel_get_param: the kernel's own parameters, then those of its fills), or all have names and are in any order.
// The launch is queued and may still be running on return; reading a result waits.
//
// A tensor for a buffer with storage type T must have dtype T. The kernel sees its elements in row-major order: an `in`
// tensor that is not contiguous is copied first; an `out` or `inout` tensor must be contiguous. An `in` tensor that
// shares memory with an output is also copied first, so that the kernel reads its old elements. Two outputs must not
// overlap. `in` tensors on another device than the outputs are moved there, like the inputs of operators.
//
// Threads: any.
// Errors:  TSR_ERR_INVALID_ARGUMENT (number or kind of arguments, a name that is unknown, missing or given twice, a
//          number that does not fit, outputs that overlap or are not contiguous; the message names the kernel and the
//          parameter), TSR_ERR_DTYPE, the error of a failed tensor, TSR_ERR_UNSUPPORTED (the device lacks something;
//          the message says what), TSR_ERR_BUILD (the device's compiler failed; the message has its log),
//          TSR_ERR_LAUNCH (checked mode: "kernel blur: index 70 is outside buffer 'x' of 64 elements (blur.tk:7:20)"),
//          TSR_ERR_OUT_OF_MEMORY. TSR_ERR_LAUNCH and TSR_ERR_TIMEOUT may also be returned by a later wait.
TSR_API tsr_status tsr_kernel_launch(tsr_kernel *kernel, tsr_grid grid, const tsr_arg *args, int arg_count);

// Checks a whole text: every kernel in it, with every type its parameters may have. Writes errors and warnings, like
// those of a compiler, to `log`: at most `log_bytes`, including the terminating 0. `*out_bytes` (may be NULL) is the
// size of the whole log, including the terminating 0.
//
// Errors: TSR_ERR_BUILD (the text has mistakes), TSR_ERR_INVALID_ARGUMENT, TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_kernel_check(const char *source, size_t source_bytes, const char *file_name, char *log,
                                    size_t log_bytes, size_t *out_bytes);

// Translates the kernel to a device's own language ("opencl", "cuda", "hip", "metal", "c", …), for debugging.
//
// Writes at most `text_bytes` to `text`, including the terminating 0. `*out_bytes` (may be NULL) is the size of the
// whole text, including the terminating 0.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (no such dialect: the message lists them; or one that is not text),
//         TSR_ERR_UNSUPPORTED.
TSR_API tsr_status tsr_kernel_emit(const tsr_kernel *kernel, const char *dialect, char *text, size_t text_bytes,
                                   size_t *out_bytes);

#endif
