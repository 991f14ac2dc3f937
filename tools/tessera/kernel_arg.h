// SPDX-License-Identifier: MIT
// The arguments of `tessera kernel run`: numbers for scalars, a short notation for buffers.
//
//   [DTYPE:]SHAPE[=CONTENTS][>FILE]     f32:4x3=arange   64=rand:7   4=1,2,3,4   '512x512=out>image.png'
//   @FILE                               raw bytes, as many elements as the file has
#ifndef TESSERA_TOOL_KERNEL_ARG_H
#define TESSERA_TOOL_KERNEL_ARG_H

#include <stdbool.h>
#include <tessera/kernel.h>

#define KERNEL_ARG_MESSAGE_BYTES 512

typedef struct kernel_arg {
  tsr_kernel_param param;
  tsr_arg value;       // a scalar's value; for a buffer on a device its tensor, with one reference
  tsr_shape shape;     // of a buffer
  void *data;          // the buffer's initial elements
  size_t bytes;        // size of `data`
  const char *output;  // file to which the elements are written afterwards; NULL: none
} kernel_arg;

// Reads one argument for a parameter. `text` must live as long as `out_arg`. False: `message` says what is wrong and
// what is allowed; it is empty if the error was already printed. Call kernel_arg_deinit in any case.
bool kernel_arg_parse(const char *text, const tsr_kernel_param *param, kernel_arg *out_arg, char *message);
void kernel_arg_deinit(kernel_arg *arg);

// Formats "in f32 x[]" or "u32 n".
void kernel_arg_describe(const tsr_kernel_param *param, char *text, size_t text_bytes);

// Copies a buffer's elements to the device; does nothing for a scalar. False: see tsr_last_error().
bool kernel_arg_upload(kernel_arg *arg, tsr_device *device);

// Prints a buffer's elements after the run, or writes them to its file. Does nothing for a buffer that the kernel only
// reads. Returns an exit code.
int kernel_arg_show(const kernel_arg *arg);

#endif
