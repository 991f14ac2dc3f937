// SPDX-License-Identifier: MIT
// The arguments of `tessera kernel run`: numbers for scalars, a small notation for buffers.
//
//   [DTYPE:]SHAPE[=CONTENTS][>FILE]     f32:4x3=arange   64=rand:7   4=1,2,3,4   '512x512=out>image.png'
//   @FILE                               raw bytes, as many elements as there are
#ifndef TESSERA_TOOL_KERNEL_ARG_H
#define TESSERA_TOOL_KERNEL_ARG_H

#include <stdbool.h>
#include <tessera/kernel.h>

#define KERNEL_ARG_MESSAGE_BYTES 512

typedef struct kernel_arg {
  tsr_kernel_param param;
  tsr_arg value;       // of a scalar; of a buffer, once it is on a device, its tensor: one reference
  tsr_shape shape;     // of a buffer
  void *data;          // its elements at first
  size_t bytes;        // of them
  const char *output;  // the file that gets its elements afterwards; NULL: none
} kernel_arg;

// Reads one argument for a parameter. `text` must live as long as `out_arg`. False, with what is wrong and what is
// allowed in `message` (empty where it has been told already); `out_arg` is then to be deinitialised as well.
bool kernel_arg_parse(const char *text, const tsr_kernel_param *param, kernel_arg *out_arg, char *message);
void kernel_arg_deinit(kernel_arg *arg);

// "in f32 x[]", "u32 n"
void kernel_arg_describe(const tsr_kernel_param *param, char *text, size_t text_bytes);

// Puts a buffer's elements on the device; nothing for a scalar. False: tsr_last_error().
bool kernel_arg_upload(kernel_arg *arg, tsr_device *device);

// What came of a buffer: printed, or written to its file. Nothing for what the kernel only reads. Returns an exit code.
int kernel_arg_show(const kernel_arg *arg);

#endif
