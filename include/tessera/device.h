// SPDX-License-Identifier: MIT
// Devices: finding, choosing and opening them.
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/dtype.h>
#include <tessera/export.h>
#include <tessera/status.h>

// An open device. Reference-counted: see tsr_device_retain.
typedef struct tsr_device tsr_device;

#define TSR_NAME_BYTES 128

typedef enum tsr_device_type {
  TSR_DEVICE_CPU,
  TSR_DEVICE_INTEGRATED_GPU,
  TSR_DEVICE_DISCRETE_GPU,
  TSR_DEVICE_OTHER
} tsr_device_type;

// What is known about a device without opening it. Unknown numbers are 0, unknown texts are empty.
typedef struct tsr_device_info {
  int index;                    // number of the device in its backend
  char name[TSR_NAME_BYTES];    // "Intel Xeon, 2 cores, AVX-512"
  char driver[TSR_NAME_BYTES];  // name and version of the driver
  char uuid[37];                // id of the hardware, the same for every driver that reports it
  char arch[32];                // SIMD level on a CPU ("avx512"), compute capability on CUDA ("9.0"), …
  tsr_device_type type;
  bool is_software;         // a GPU interface emulated on the CPU; opened only if its backend is named
  bool has_unified_memory;  // host and device share memory
  int compute_units;        // cores or multiprocessors
  uint64_t total_bytes;
  uint64_t free_bytes;        // at the time of the call
  uint64_t max_buffer_bytes;  // largest single buffer
  char pci[16];               // address on the PCI bus, as lspci prints it ("0000:1b:00.0"); CUDA only
} tsr_device_info;

// The result of discovery for one backend.
typedef struct tsr_backend_report {
  const char *name;   // "cuda"
  const char *title;  // "CUDA"
  tsr_status status;  // TSR_OK if it started, even if it has no device
  // Why there is no device: details follow in brackets, advice follows "; ". Empty if there is a device.
  const char *reason;
  const char *plugin_path;  // file of a plug-in; NULL for a built-in backend
  int device_count;
  const tsr_device_info *devices;  // `device_count` of them
} tsr_backend_report;

// A snapshot: it does not change when devices are added or removed later.
typedef struct tsr_discovery {
  int backend_count;
  const tsr_backend_report *backends;  // built-in ones in priority order, then plug-ins
  // The device that tsr_device_open(NULL, …) would choose: an index into `backends`, and one into that backend's
  // devices. Both are -1 if there is none.
  int best_backend;
  int best_device;
} tsr_discovery;

// Lists every backend, with its devices or the reason why it has none. A backend that fails to start does not affect
// the others.
//
// Ownership: caller releases with tsr_discovery_release.
// Threads:   any.
// Errors:    TSR_ERR_CONFIG (an invalid setting), TSR_ERR_OUT_OF_MEMORY. Then `*out_discovery` is NULL.
TSR_API tsr_status tsr_discover(tsr_discovery **out_discovery);
TSR_API void tsr_discovery_release(tsr_discovery *discovery);

// A switch. With TSR_DEFAULT the settings decide (environment, then file).
typedef enum tsr_switch { TSR_DEFAULT, TSR_ON, TSR_OFF } tsr_switch;

// How to open a device. Fields that are 0 take their value from the settings (docs/configuration.md).
typedef struct tsr_device_desc {
  // Name of a backend or plug-in, in any case: "cuda", "cpu"; "cuda:1" also gives the index. NULL or "auto": the best
  // backend by priority.
  const char *backend;
  // Number of the device in that backend. With 0, a later device may be chosen to satisfy `required_bytes`.
  int index;
  uint64_t memory_limit;    // most bytes the memory pool may hold
  uint64_t pool_bytes;      // bytes the pool allocates when the device is opened
  uint64_t required_bytes;  // open only a device with this many bytes free
  uint32_t timeout_ms;      // longest wait, in milliseconds, before TSR_ERR_TIMEOUT
  int threads;              // CPU backend: most threads for one operator
  tsr_switch tf32;          // matmul may round f32 inputs to tf32 (mixed precision)
  tsr_switch strict;        // a fallback to the host is an error
  tsr_switch checked;       // an index out of range in gather, scatter and the like is an error (ops.h, "Indexing")
} tsr_device_desc;

// Opens a device; `desc` NULL means all defaults. If the caller named no backend, a device that cannot be opened or
// fails its self-test is skipped and logged at `warn`. If the caller named it, or in strict mode, its failure is
// returned.
//
// Each call returns a new device with its own memory pool.
//
// Ownership: caller releases `*out_device`.
// Threads:   any.
// Errors:    TSR_ERR_UNAVAILABLE (no such backend or index, or no usable device: the message gives the reason for each
//            backend), TSR_ERR_OUT_OF_MEMORY (`required_bytes`: the message lists the devices and their free memory),
//            TSR_ERR_CONFIG, TSR_ERR_INVALID_ARGUMENT. Then `*out_device` is NULL.
TSR_API tsr_status tsr_device_open(const tsr_device_desc *desc, tsr_device **out_device);

// Reference counting. Tensors and buffers hold a reference to their device, so it outlives them. Both accept NULL.
//
// The last release waits for queued work, at most as long as the device's time-out. Work that takes longer cannot be
// cancelled: the device is then not closed, which is logged at `warn`, and everything it holds stays until its work has
// ended and another device is opened, or until the process ends. That includes memory imported through DLPack, whose
// deleter is called then.
TSR_API tsr_device *tsr_device_retain(tsr_device *device);
TSR_API void tsr_device_release(tsr_device *device);

// The name of the device's backend, and its properties; the free memory is determined again.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL), those of the driver.
TSR_API const char *tsr_device_backend(const tsr_device *device);
TSR_API tsr_status tsr_device_get_info(tsr_device *device, tsr_device_info *out_info);

// Whether kernels on the device can compute with this dtype, directly or in a wider one. If not, tensors of the dtype
// can be created, viewed, copied and moved there, but operators on them fail with TSR_ERR_UNSUPPORTED. False for NULL.
TSR_API bool tsr_device_has_dtype(const tsr_device *device, tsr_dtype dtype);

// A product of matrix fragments of a kernel: m x k times k x n, factors of this dtype, sums in f32.
typedef struct tsr_fragment_size {
  tsr_dtype dtype;
  int m, n, k;
} tsr_fragment_size;

// The products of fragments that the device's matrix units compute, the largest first. Kernels may use other sizes too, on any device; those are computed by loops
// (docs/kernel-language.md, "Matrix fragments").
//
// Fills at most `capacity` of `sizes`, which may be NULL: then only counts. Returns how many there are; 0 for NULL.
TSR_API int tsr_device_get_fragments(const tsr_device *device, tsr_fragment_size *sizes, int capacity);

// The number of work items that together hold a fragment on the device, a power of two; kernels see it as `subgroup_size`. The work-group of a kernel with
// fragments must have a multiple of this number of items. 0 for NULL and for a device that runs no kernels.
TSR_API int tsr_device_subgroup_size(const tsr_device *device);

// Waits until all work queued on the device is done.
//
// Errors: TSR_ERR_TIMEOUT, TSR_ERR_DEVICE_LOST, or the status of work that failed after being queued.
TSR_API tsr_status tsr_device_synchronize(tsr_device *device);

// Whether the last wait for the device ended with TSR_ERR_TIMEOUT: the device may hang. Further waits still take up to the time-out, but releasing the last reference
// does not wait for it again (see tsr_device_retain). Until the work has ended, tsr_device_open skips the device unless the caller names its backend. Other
// devices are not affected. False for NULL.
TSR_API bool tsr_device_is_overdue(const tsr_device *device);

// The self-test of a device: uploads a few bytes, fills and copies some of them on the device, downloads and compares
// them. tsr_device_open does this once.
//
// Errors: TSR_ERR_INTERNAL (the message has the bytes that differ), or the status of the call that failed.
TSR_API tsr_status tsr_device_test(tsr_device *device);

// Sets the order in which tsr_device_open tries backends, such as "vulkan,cpu". Backends that are not named follow in
// the default order. NULL restores the order of the settings.
//
// Threads: any; takes effect at the next tsr_device_open or tsr_discover.
// Errors:  TSR_ERR_INVALID_ARGUMENT (no backend has such a name; the message lists the names).
TSR_API tsr_status tsr_set_priority(const char *backends);

// What a device has done since it was opened.
typedef struct tsr_device_counters {
  uint64_t launches;        // kernels and native operators that ran; 1 for operators of a capture that share a launch
  uint64_t uploads;         // copies from the host
  uint64_t downloads;       // copies to the host
  uint64_t explicit_moves;  // copies from another device by tsr_to and tsr_buffer_copy
  uint64_t placements;      // graphs and loaded captures of this device that ran on the CPU instead (TESSERA_PLACEMENT)
  uint64_t implicit_moves;  // tensors moved here because an operator had inputs on several devices
  uint64_t fallbacks;       // operators run on the host because this device could not
} tsr_device_counters;
TSR_API tsr_status tsr_device_get_counters(const tsr_device *device, tsr_device_counters *out_counters);

#endif
