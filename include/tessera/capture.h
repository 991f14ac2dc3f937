// SPDX-License-Identifier: MIT
// Captures: run some operators once, then run them again and again on new inputs, without recording and planning them
// again.
//
//   tsr_capture_begin(device);
//   tsr_tensor *y = tsr_relu(tsr_add(tsr_matmul(x, w), b));
//   tsr_capture_end(&y, 1, &step);            // has run once: y can be read
//   tsr_write(x, next, sizeof next);
//   tsr_capture_run(step);                    // computes y again, from the present elements of x
#ifndef TESSERA_CAPTURE_H
#define TESSERA_CAPTURE_H

#include <tessera/device.h>
#include <tessera/tensor.h>

// The work that was queued between begin and end, with a reference to every buffer it uses. Reference-counted.
typedef struct tsr_capture tsr_capture;

// Begins a capture: until tsr_capture_end, the operators and kernel launches of the calling thread on `device` are
// captured and also run. Creating tensors from host memory, reading and writing are allowed, but are not captured.
// Operators recorded before are inputs and not part of the capture: if they have not run yet, they run when they are
// needed, and are not repeated.
//
// Threads: one capture at a time per thread; operators that other threads record are not captured. Operators that this
//          thread records are captured even if another thread makes them run before tsr_capture_end. A capture that is
//          open when its thread ends is discarded.
// Errors:  TSR_ERR_INVALID_ARGUMENT (NULL, or a capture is open already), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_capture_begin(tsr_device *device);

// Computes `outputs` (tensors of the device) and ends the capture. Without outputs, the capture has only what ran until
// here. Whatever this returns, the thread is not capturing any more.
//
// Ownership: caller releases `*out_capture`, which holds references to all buffers it reads and writes. If
//            `out_capture` is NULL, the capture is discarded.
// Errors:    TSR_ERR_INVALID_ARGUMENT (no capture is open, an output of another device), TSR_ERR_UNSUPPORTED (a step
//            cannot be repeated: a move between devices, a step on the host, a kernel in checked mode), and those of
//            tsr_evaluate. Then `*out_capture` is NULL.
TSR_API tsr_status tsr_capture_end(tsr_tensor *const *outputs, int output_count, tsr_capture **out_capture);

// Queues the captured work again, as one submission if the device supports that. Does not wait. It reads the present
// elements of its inputs, so write to them before (tsr_write, tsr_assign), and overwrites every tensor computed in the
// capture; operators that were recorded on the present elements of those run first. Random operators give the same
// numbers again, because their seed is part of the capture.
//
// Threads: any; runs of one capture follow each other.
// Errors:  TSR_ERR_DEVICE_LOST, TSR_ERR_LAUNCH, those of running pending operators.
TSR_API tsr_status tsr_capture_run(tsr_capture *capture);

// The number of kernels, fills, copies and native operators in the capture; 0 for NULL.
TSR_API int tsr_capture_step_count(const tsr_capture *capture);

// Memory of a capture's intermediate results, which the capture keeps as long as it lives. Results that are not needed at the same time share memory.
typedef struct tsr_capture_memory {
  uint64_t unshared_bytes;  // what they would take if none shared any
  uint64_t bytes;           // what they take
} tsr_capture_memory;

// Errors: TSR_ERR_INVALID_ARGUMENT (NULL).
TSR_API tsr_status tsr_capture_get_memory(const tsr_capture *capture, tsr_capture_memory *out_memory);

// --- Captures in files -------------------------------------------------------------------------------------------------
//
//   tsr_capture_save(step, &(tsr_save_desc){.path = "net.tsr", .inputs = &(tsr_named_tensor){"x", x}, .input_count = 1,
//                                           .outputs = &(tsr_named_tensor){"y", y}, .output_count = 1});
//
// and in another program, on any device of any machine, without the code that made it:
//
//   tsr_capture_load(device, &(tsr_load_desc){.path = "net.tsr"}, &net);
//   tsr_write(tsr_capture_input(net, "x"), next, sizeof next);
//   tsr_capture_run(net);
//   tsr_read(tsr_capture_output(net, "y"), result, sizeof result);
//
// docs/captures.md says what is in such a file, which operators it may have, and what later versions read.

// A tensor and the name that a file gives it: 1 to 255 bytes without a 0.
typedef struct tsr_named_tensor {
  const char *name;
  tsr_tensor *tensor;
} tsr_named_tensor;

typedef struct tsr_save_desc {
  const char *path;
  // Tensors that the capture reads and does not compute; views of them are allowed. Their elements are not saved.
  const tsr_named_tensor *inputs;
  int input_count;
  // Tensors that the capture computes, or views of them; inputs, too.
  const tsr_named_tensor *outputs;
  int output_count;
} tsr_save_desc;

// Writes the operators of a capture to a file: those that its outputs need, launches of kernels, and assignments. All other tensors that these
// read, such as weights, are saved with their present elements. The file is written beside `path` and then put in its place, so that it is either whole or as
// it was before.
//
// Ownership: the description is borrowed for the call.
// Threads:   any; nothing may write to tensors of the capture meanwhile.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, a name that is empty, too long or there twice, a tensor that is no part of the capture, an input that it
//            computes), TSR_ERR_UNSUPPORTED (two optimisers that update the same tensors, or steps that no operator recorded; the message
//            says which), TSR_ERR_IO, TSR_ERR_OUT_OF_MEMORY, those of tsr_evaluate.
//            Then a file that was there before is unchanged.
TSR_API tsr_status tsr_capture_save(tsr_capture *capture, const tsr_save_desc *desc);

typedef struct tsr_load_desc {
  const char *path;     // the file; NULL: its bytes are at `data`
  const void *data;     // the bytes of a file; NULL if `path` is given
  size_t data_bytes;    // the number of bytes at `data`
  uint64_t most_bytes;  // no tensor of the file may be larger; 0: any size
  // Refuses a file that contains user-defined kernels. Such a kernel may read and write any memory of the process, so load a file with one only if you trust
  // its author.
  bool refuses_kernels;
} tsr_load_desc;

// Reads a file and captures its operators on `device`, where they are planned and fused again. As after tsr_capture_end, they have run once, here with inputs of
// zeros. Everything in the file is checked before it is used; a file that is damaged or was made by a later version is refused.
//
// Ownership: caller releases `*out_capture`. The description is borrowed for the call.
// Threads:   any that is not capturing.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, both or none of `path` and `data`, a file that is damaged, a thread that is capturing),
//            TSR_ERR_UNSUPPORTED (a later version of the format, an operator that this library does not have, `refuses_kernels`, and those of
//            tsr_capture_end), TSR_ERR_NOT_FOUND and TSR_ERR_IO (the file), TSR_ERR_OUT_OF_MEMORY (also `most_bytes`), those of operators.
//            Then `*out_capture` is NULL.
TSR_API tsr_status tsr_capture_load(tsr_device *device, const tsr_load_desc *desc, tsr_capture **out_capture);

// The number and names of the inputs and outputs of a capture that was loaded from a file; other captures have none. A name is valid as long as the capture;
// it is empty if the index is out of range.
TSR_API int tsr_capture_input_count(const tsr_capture *capture);
TSR_API int tsr_capture_output_count(const tsr_capture *capture);
TSR_API const char *tsr_capture_input_name(const tsr_capture *capture, int index);
TSR_API const char *tsr_capture_output_name(const tsr_capture *capture, int index);

// The tensor of an input, to write to, or of an output, to read: a view that belongs to the caller or the caller's scope. A failed tensor if there is no
// such name: TSR_ERR_NOT_FOUND, and the message has the most similar one.
TSR_API tsr_tensor *tsr_capture_input(const tsr_capture *capture, const char *name);
TSR_API tsr_tensor *tsr_capture_output(const tsr_capture *capture, const char *name);

// Reference counting. Both accept NULL.
TSR_API tsr_capture *tsr_capture_retain(tsr_capture *capture);
TSR_API void tsr_capture_release(tsr_capture *capture);

#endif
