// SPDX-License-Identifier: MIT
// The functions that the WebGPU backend needs from WebGPU: one table with two implementations.
//
//   native.c   a webgpu.h library (Dawn, wgpu-native), opened at run time
//   browser    functions in JavaScript that call navigator.gpu
//
// The rest of the backend (memory, staging, batches, events, kernels) uses this table and is the same for both.
// Arguments are numbers, pointers and flat structs of 32-bit words and characters, so that JavaScript can easily read
// them from the memory of a WebAssembly module. Objects are opaque pointers; JavaScript may use any number but 0.
//
// Rules:
// - A status is a tsr_status. If it is not TSR_OK, error_text() returns the library's message.
// - `timeout_ms` limits how long a call may wait: a double, INFINITY for no limit. After TSR_ERR_TIMEOUT the request
//   is still running. In the browser a waiting call suspends the WebAssembly stack.
// - Calls on one device come from one thread at a time.
// - After the device is lost, every call on it returns TSR_ERR_DEVICE_LOST, except those that release something.
// - Sizes and offsets of copies are multiples of 4. Offsets of bindings are multiples of 256, their sizes of 4.
#ifndef TSRI_WEBGPU_API_H
#define TSRI_WEBGPU_API_H

#include <stdbool.h>
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

// Square subgroup matrices of this side, of f16 with sums of f32.
enum { TSRI_WGPU_MATRIX_16 = 1u << 0, TSRI_WGPU_MATRIX_8 = 1u << 1 };

enum { TSRI_WGPU_GPU = 0, TSRI_WGPU_INTEGRATED = 1, TSRI_WGPU_SOFTWARE = 2 };

// An adapter, as 32-bit words and NUL-terminated texts. Byte counts that may exceed a word are in units of 256 bytes.
typedef struct tsri_wgpu_adapter {
  uint32_t features;                    // bits TSRI_WGPU_…
  uint32_t kind;                        // TSRI_WGPU_GPU, …
  uint32_t max_buffer_pages;            // maxBufferSize / 256
  uint32_t max_binding_pages;           // maxStorageBufferBindingSize / 256
  uint32_t max_storage_buffers;         // per shader stage
  uint32_t max_group_items;             // maxComputeInvocationsPerWorkgroup
  uint32_t max_group_size[3];           // maxComputeWorkgroupSizeX, Y, Z
  uint32_t max_groups;                  // per dimension
  uint32_t shared_bytes;                // maxComputeWorkgroupStorageSize
  uint32_t storage_alignment;           // minStorageBufferOffsetAlignment
  uint32_t uniform_alignment;           // minUniformBufferOffsetAlignment
  uint32_t subgroup_min, subgroup_max;  // 0: unknown
  char name[TSRI_WGPU_TEXT_BYTES];      // "SwiftShader Device (LLVM 16.0.0)"
  char vendor[TSRI_WGPU_TEXT_BYTES];    // "google"
  char driver[TSRI_WGPU_TEXT_BYTES];    // the library and the interface it uses: "Dawn on Vulkan"
} tsri_wgpu_adapter;

typedef enum tsri_wgpu_buffer_kind {
  TSRI_WGPU_STORAGE,  // storage; source and destination of copies
  TSRI_WGPU_UNIFORM,  // uniform; destination of copies
  TSRI_WGPU_READBACK  // destination of copies; `read` reads it
} tsri_wgpu_buffer_kind;

// A buffer range bound in a dispatch.
typedef struct tsri_wgpu_binding {
  tsri_wgpu_buffer *buffer;
  size_t offset, bytes;
} tsri_wgpu_binding;

typedef struct tsri_wgpu_api {
  // Prepares WebGPU. `library` is the file to open, or NULL for the usual names; JavaScript ignores it. If it fails,
  // `tessera devices` prints the message.
  tsr_status (*start)(const char *library);
  void (*stop)(void);
  // Copies the message of the last failure, as a NUL-terminated text.
  void (*error_text)(char *text, size_t text_bytes);

  uint32_t (*adapter_count)(void);
  tsr_status (*adapter_info)(uint32_t index, tsri_wgpu_adapter *out_adapter);

  // Opens a device with all the adapter's limits and features; with subgroup matrices, if it has them, only if wants_matrices.
  tsr_status (*device_open)(uint32_t index, bool wants_matrices, double timeout_ms, tsri_wgpu_device **out_device);
  void (*device_close)(tsri_wgpu_device *device);
  // Returns TSR_OK, or what went wrong since the last call: an uncaptured error (TSR_ERR_INTERNAL,
  // TSR_ERR_OUT_OF_MEMORY), or TSR_ERR_DEVICE_LOST.
  tsr_status (*device_check)(tsri_wgpu_device *device);

  // `kind` is a tsri_wgpu_buffer_kind. Fails with TSR_ERR_OUT_OF_MEMORY if memory is out.
  tsr_status (*buffer_create)(tsri_wgpu_device *device, uint32_t kind, size_t bytes, tsri_wgpu_buffer **out_buffer);
  void (*buffer_destroy)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer);

  // Builds a compute pipeline from WGSL. Bindings of group 0: the storage buffers 0 to storage_count - 1, read-only
  // where the bit in `read_only` (low word first) is set; then a uniform buffer with a dynamic offset. Fails with
  // TSR_ERR_BUILD and the compiler's messages.
  tsr_status (*program_create)(tsri_wgpu_device *device, const char *text, size_t text_bytes, const char *entry,
                               uint32_t storage_count, const uint32_t read_only[2], uint32_t uniform_bytes,
                               tsri_wgpu_program **out_program);
  void (*program_destroy)(tsri_wgpu_device *device, tsri_wgpu_program *program);

  // Writes `bytes` after everything that was submitted, and before the commands that are recorded next. Commands that
  // are recorded but not submitted yet may see it, too. `data` is read before the call returns.
  tsr_status (*write)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, const void *data,
                      size_t bytes);

  // Recorded; they run in this order after `submit`. `copy` needs two different buffers.
  tsr_status (*copy)(tsri_wgpu_device *device, tsri_wgpu_buffer *dst, size_t dst_offset, tsri_wgpu_buffer *src,
                     size_t src_offset, size_t bytes);
  tsr_status (*dispatch)(tsri_wgpu_device *device, tsri_wgpu_program *program, const tsri_wgpu_binding *storage,
                         uint32_t storage_count, tsri_wgpu_buffer *uniform, size_t uniform_offset, uint32_t groups_x,
                         uint32_t groups_y, uint32_t groups_z);
  // Passes the recorded commands to the device. Submissions are numbered 1, 2, … (wrapping at 2^32).
  tsr_status (*submit)(tsri_wgpu_device *device, uint32_t *out_number);
  // Waits until submission `number` is done. With 0 ms it only checks. TSR_ERR_TIMEOUT: not done yet.
  tsr_status (*wait)(tsri_wgpu_device *device, uint32_t number, double timeout_ms);

  // When all submitted work is done, copies `bytes` at `offset` of a READBACK buffer to host memory. Any size and
  // offset will do.
  tsr_status (*read)(tsri_wgpu_device *device, tsri_wgpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                     double timeout_ms);

  // --- Optional: time stamps of the device. NULL: there are none. ---

  // Makes room for `count` stamps. TSR_ERR_UNSUPPORTED: the device has none.
  tsr_status (*times_open)(tsri_wgpu_device *device, uint32_t count);
  // Recorded: stamp `slot` becomes the time at which all commands before it are done.
  tsr_status (*time_write)(tsri_wgpu_device *device, uint32_t slot);
  // Reads the stamps from 0 to the highest one written, in nanoseconds of the device's clock, after all submitted work is done.
  tsr_status (*times_read)(tsri_wgpu_device *device, uint64_t *out_ns, double timeout_ms);

  // --- Optional: subgroup matrices. NULL: there are none. ---

  // Returns the sizes of subgroup matrices that the device has: bits TSRI_WGPU_MATRIX_…
  uint32_t (*matrices)(tsri_wgpu_device *device);
} tsri_wgpu_api;

// The table in use. Tests replace entries to simulate a failing library.
extern tsri_wgpu_api tsri_wgpu;

#endif
