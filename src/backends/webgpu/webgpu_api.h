// SPDX-License-Identifier: MIT
// What the WebGPU backend asks of WebGPU: one table of functions, filled twice.
//
//   native.c   by a webgpu.h library (Dawn, wgpu-native) opened at run time
//   browser    by functions that JavaScript provides, on navigator.gpu
//
// Everything else of the backend (memory, staging, batches, events, kernels) is above this table and the same in both.
// Arguments are numbers, pointers and flat structs of 32-bit words and characters, so that a few lines of JavaScript can
// read them from the memory of a WebAssembly module. Objects are opaque pointers; JavaScript may use any number but 0.
//
// Rules:
// - A status is a tsr_status. If it is not TSR_OK, error_text() gives the library's own words.
// - `timeout_ms` is how long a call may wait: a double, INFINITY for ever. TSR_ERR_TIMEOUT leaves what was asked for
//   running. In the browser a call that waits suspends the WebAssembly stack.
// - Calls on one device are made by one thread at a time.
// - After a loss every call on the device answers TSR_ERR_DEVICE_LOST, except those that release something.
// - Sizes and offsets of copies are multiples of 4; those of bindings of 256 (offset) and 4 (size).
#ifndef TSRI_WEBGPU_API_H
#define TSRI_WEBGPU_API_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/status.h>

typedef struct tsri_wgpu_device tsri_wgpu_device;
typedef struct tsri_wgpu_buffer tsri_wgpu_buffer;
typedef struct tsri_wgpu_program tsri_wgpu_program;

enum { TSRI_WGPU_TEXT_BYTES = 128, TSRI_WGPU_MAX_BINDINGS = 40 };

// Features of WebGPU that we use.
enum {
  TSRI_WGPU_F16 = 1u << 0,        // shader-f16
  TSRI_WGPU_SUBGROUPS = 1u << 1,  // subgroups
  TSRI_WGPU_TIMES = 1u << 2       // timestamp-query
};

enum { TSRI_WGPU_GPU = 0, TSRI_WGPU_INTEGRATED = 1, TSRI_WGPU_SOFTWARE = 2 };

// An adapter: 32-bit words and texts that end in NUL. Byte counts that do not fit a word are given in units of 256.
typedef struct tsri_wgpu_adapter {
  uint32_t features;                    // bits TSRI_WGPU_…
  uint32_t kind;                        // TSRI_WGPU_GPU, …
  uint32_t max_buffer_pages;            // maxBufferSize / 256
  uint32_t max_binding_pages;           // maxStorageBufferBindingSize / 256
  uint32_t max_storage_buffers;         // per stage
  uint32_t max_group_items;             // maxComputeInvocationsPerWorkgroup
  uint32_t max_group_size[3];           // maxComputeWorkgroupSizeX, Y, Z
  uint32_t max_groups;                  // per dimension
  uint32_t shared_bytes;                // maxComputeWorkgroupStorageSize
  uint32_t storage_alignment;           // minStorageBufferOffsetAlignment
  uint32_t uniform_alignment;           // minUniformBufferOffsetAlignment
  uint32_t subgroup_min, subgroup_max;  // 0: unknown
  char name[TSRI_WGPU_TEXT_BYTES];      // "SwiftShader Device (LLVM 16.0.0)"
  char vendor[TSRI_WGPU_TEXT_BYTES];    // "google"
  char driver[TSRI_WGPU_TEXT_BYTES];    // library and what it runs on: "Dawn on Vulkan"
} tsri_wgpu_adapter;

typedef enum tsri_wgpu_buffer_kind {
  TSRI_WGPU_STORAGE,  // storage; copied from and to
  TSRI_WGPU_UNIFORM,  // uniform; copied to
  TSRI_WGPU_READBACK  // copied to, then read by `read`
} tsri_wgpu_buffer_kind;

// A buffer in a dispatch.
typedef struct tsri_wgpu_binding {
  tsri_wgpu_buffer *buffer;
  size_t offset, bytes;
} tsri_wgpu_binding;

typedef struct tsri_wgpu_api {
  // Makes WebGPU usable. `library` is the file to open, or NULL for the usual names; JavaScript ignores it. A failure is
  // what people read in `tessera devices`.
  tsr_status (*start)(const char *library);
  void (*stop)(void);
  // What failed last, as text that ends in NUL.
  void (*error_text)(char *text, size_t text_bytes);

  uint32_t (*adapter_count)(void);
  tsr_status (*adapter_info)(uint32_t index, tsri_wgpu_adapter *out_adapter);

  // Opens a device with all of the adapter's limits and features.
  tsr_status (*device_open)(uint32_t index, double timeout_ms, tsri_wgpu_device **out_device);
  void (*device_close)(tsri_wgpu_device *device);
  // TSR_OK, or what went wrong since the last call: an error that nobody asked for (TSR_ERR_INTERNAL,
  // TSR_ERR_OUT_OF_MEMORY), or TSR_ERR_DEVICE_LOST.
  tsr_status (*device_check)(tsri_wgpu_device *device);

  // `kind` is a tsri_wgpu_buffer_kind. TSR_ERR_OUT_OF_MEMORY if there is no room.
  tsr_status (*buffer_create)(tsri_wgpu_device *device, uint32_t kind, size_t bytes, tsri_wgpu_buffer **out_buffer);
  void (*buffer_destroy)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer);

  // A compute pipeline of WGSL text. Bindings of group 0: storage buffers 0 to storage_count - 1, of which those with
  // their bit in `read_only` (low word first) are read-only; then a uniform buffer with a dynamic offset.
  // TSR_ERR_BUILD with the compiler's messages.
  tsr_status (*program_create)(tsri_wgpu_device *device, const char *text, size_t text_bytes, const char *entry,
                               uint32_t storage_count, const uint32_t read_only[2], uint32_t uniform_bytes,
                               tsri_wgpu_program **out_program);
  void (*program_destroy)(tsri_wgpu_device *device, tsri_wgpu_program *program);

  // Writes `bytes` before the commands that are recorded next, and after all that were submitted; commands recorded but
  // not yet submitted may see it. `data` is read before the call returns.
  tsr_status (*write)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, const void *data,
                      size_t bytes);

  // Recorded: they run in this order once `submit` is called. `copy` needs two different buffers.
  tsr_status (*copy)(tsri_wgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                     size_t src_offset, size_t bytes);
  tsr_status (*dispatch)(tsri_wgpu_device *device, tsri_wgpu_program *program, const tsri_wgpu_binding *storage,
                         uint32_t storage_count, tsri_wgpu_buffer *uniform, size_t uniform_offset, uint32_t groups_x,
                         uint32_t groups_y, uint32_t groups_z);
  // Hands what was recorded to the device. Submissions are numbered 1, 2, … (wrapping at 2^32).
  tsr_status (*submit)(tsri_wgpu_device *device, uint32_t *out_number);
  // Waits until submission `number` is done. 0 ms: asks only. TSR_ERR_TIMEOUT: not yet.
  tsr_status (*wait)(tsri_wgpu_device *device, uint32_t number, double timeout_ms);

  // Copies `bytes` at `offset` (both any number) of a READBACK buffer to host memory once all that was submitted is done.
  tsr_status (*read)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                     double timeout_ms);
} tsri_wgpu_api;

// The table in use. Tests put entries of their own into it to see what a failing library does.
extern tsri_wgpu_api tsri_wgpu;

#endif
