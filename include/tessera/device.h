// SPDX-License-Identifier: MIT
// Devices: finding them, choosing one, opening it.
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/dtype.h>
#include <tessera/export.h>
#include <tessera/status.h>

// An open device. Counted: see tsr_device_retain.
typedef struct tsr_device tsr_device;

#define TSR_NAME_BYTES 128

typedef enum tsr_device_type {
  TSR_DEVICE_CPU,
  TSR_DEVICE_INTEGRATED_GPU,
  TSR_DEVICE_DISCRETE_GPU,
  TSR_DEVICE_OTHER
} tsr_device_type;

// What is known of a device without opening it. Unknown numbers are 0, unknown texts empty.
typedef struct tsr_device_info {
  int index;                    // within its backend
  char name[TSR_NAME_BYTES];    // "Intel Xeon, 2 cores, AVX-512"
  char driver[TSR_NAME_BYTES];  // driver and its version
  char uuid[37];                // the hardware's own id, the same whichever driver reports it
  char arch[32];                // SIMD level on a CPU ("avx512"), compute capability on CUDA ("9.0"), …
  tsr_device_type type;
  bool is_software;         // a GPU interface emulated on the CPU: chosen only when named
  bool has_unified_memory;  // host and device share memory
  int compute_units;        // cores or multiprocessors
  uint64_t total_bytes;
  uint64_t free_bytes;        // at the time of asking
  uint64_t max_buffer_bytes;  // largest single buffer
  char pci[16];               // place on the PCI bus, as lspci prints it ("0000:1b:00.0"); known to CUDA
} tsr_device_info;

// One backend as discovery found it.
typedef struct tsr_backend_report {
  const char *name;         // "cuda"
  const char *title;        // "CUDA"
  tsr_status status;        // TSR_OK if it started, even with no device
  const char *reason;       // no device: why; (details) and how to get one after "; ". Empty if there is one
  const char *plugin_path;  // file of a plug-in; NULL for a built-in backend
  int device_count;
  const tsr_device_info *devices;  // `device_count` of them
} tsr_backend_report;

// A snapshot: later changes on the machine do not show in it.
typedef struct tsr_discovery {
  int backend_count;
  const tsr_backend_report *backends;  // built-in ones in priority order, then plug-ins
  int best_backend;                    // what tsr_device_open(NULL, …) would choose: an index into `backends`,
  int best_device;                     // and one into its devices; -1 and -1 if there is none
} tsr_discovery;

// Lists every backend, with its devices or the reason why it has none. A backend that fails to start
// does not disturb the others.
//
// Ownership: caller releases with tsr_discovery_release.
// Threads:   any.
// Errors:    TSR_ERR_CONFIG (a bad setting), TSR_ERR_OUT_OF_MEMORY. Then `*out_discovery` is NULL.
TSR_API tsr_status tsr_discover(tsr_discovery **out_discovery);
TSR_API void tsr_discovery_release(tsr_discovery *discovery);

// A choice the caller may leave open: the configuration (environment, then file) then decides.
typedef enum tsr_switch { TSR_DEFAULT, TSR_ON, TSR_OFF } tsr_switch;

// How to open a device. The zero value is the sensible default; what is left zero comes from the
// configuration (docs/configuration.md).
typedef struct tsr_device_desc {
  const char *
      backend;  // "cuda", "cpu", a plug-in's name, in any case; "cuda:1" has the index in it; NULL or "auto": best by priority
  int index;                // which device of that backend, from 0; at 0 `required_bytes` may pass on to a later one
  uint64_t memory_limit;    // most bytes the memory pool may hold
  uint64_t pool_bytes;      // bytes the pool takes at once when the device opens
  uint64_t required_bytes;  // choose only a device with this many bytes free
  uint32_t timeout_ms;      // longest wait before TSR_ERR_TIMEOUT
  int threads;              // CPU backend: most threads to use for one operator
  tsr_switch tf32;          // mixed precision: may matmul round f32 inputs to tf32
  tsr_switch strict;        // any fall-back is an error
  tsr_switch checked;       // an index out of range in gather, scatter and their like is an error (ops.h, "Indexing")
} tsr_device_desc;

// Opens a device; `desc` NULL means all defaults. A device whose opening or self-test fails is passed
// over when the choice was ours (logged at `warn`), and is the error when it was named.
//
// Each call gives a device of its own, with its own memory pool.
//
// Ownership: caller releases `*out_device`.
// Threads:   any.
// Errors:    TSR_ERR_UNAVAILABLE (no such backend or index, or nothing usable: the message gives each
//            backend's reason), TSR_ERR_OUT_OF_MEMORY (`required_bytes`: the message names each device with
//            what it has free), TSR_ERR_CONFIG, TSR_ERR_INVALID_ARGUMENT. Then `*out_device` is NULL.
TSR_API tsr_status tsr_device_open(const tsr_device_desc *desc, tsr_device **out_device);

// Counted reference; tensors and buffers hold one each, so a device outlives what lives on it.
// Both take NULL.
//
// The last release waits for queued work, no longer than the device's time-out. Work that takes longer cannot be ended:
// the device is then given up, which is logged at `warn`, and all it holds stays until its work has ended and another
// device is opened, or until the process ends. That includes memory imported through DLPack, whose deleter is called then.
TSR_API tsr_device *tsr_device_retain(tsr_device *device);
TSR_API void tsr_device_release(tsr_device *device);

// The device's backend name and facts; free memory is asked anew.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL), or what the driver says.
TSR_API const char *tsr_device_backend(const tsr_device *device);
TSR_API tsr_status tsr_device_get_info(tsr_device *device, tsr_device_info *out_info);

// Whether kernels on the device can compute with this dtype, as stored or in a wider one. Without it, tensors of the
// dtype can be made, viewed, copied and moved there; operators on them fail with TSR_ERR_UNSUPPORTED. False for NULL.
TSR_API bool tsr_device_has_dtype(const tsr_device *device, tsr_dtype dtype);

// Waits until all work queued on the device is done.
//
// Errors: TSR_ERR_TIMEOUT, TSR_ERR_DEVICE_LOST, or the status of work that failed after being queued.
TSR_API tsr_status tsr_device_synchronize(tsr_device *device);

// Copies in, fills, copies back and compares a few bytes on the device, and runs the tiny kernel where the device
// runs kernels. tsr_device_open does this once.
//
// Errors: TSR_ERR_INTERNAL with what came out instead, or the status of the call that failed.
TSR_API tsr_status tsr_device_test(tsr_device *device);

// Sets the order in which tsr_device_open tries backends, such as "vulkan,cpu"; backends that are not named
// come after those that are, in the usual order. NULL returns to the configured order.
//
// Threads: any; takes effect at the next tsr_device_open or tsr_discover.
// Errors:  TSR_ERR_INVALID_ARGUMENT (a name no backend has; the message lists the names).
TSR_API tsr_status tsr_set_priority(const char *backends);

// What a device did without being told to, counted since it was opened.
typedef struct tsr_device_counters {
  uint64_t launches;        // programs and native operators run
  uint64_t uploads;         // copies from the host
  uint64_t downloads;       // copies to the host
  uint64_t explicit_moves;  // tsr_to and tsr_buffer_copy arriving from another device
  uint64_t implicit_moves;  // tensors moved here because an operator had inputs on two devices
  uint64_t fallbacks;       // operators done on the host because this device could not
} tsr_device_counters;
TSR_API tsr_status tsr_device_get_counters(const tsr_device *device, tsr_device_counters *out_counters);

#endif
