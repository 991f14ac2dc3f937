// SPDX-License-Identifier: MIT
// OpenCL devices: discovery, device information, opening and closing.
//
// Every open device has its own context that contains only this device, so the driver never moves buffers between
// devices. (With NVIDIA's driver, a kernel that crashes still breaks all contexts of the process on its GPU, and no
// new one can be created.)
#include "backends/opencl/opencl.h"

#if TSRI_HAS_OPENCL

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/log.h"

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };

typedef struct found_device {
  cl_platform_id platform;
  cl_device_id id;
  int rank;  // lower is better
} found_device;

// No lock is needed: the core calls the discovery entries from one thread at a time. Once devices were found, the list
// never changes, so an index means the same device until the process ends.
static found_device found[MOST_DEVICES];
static int found_count;

// --- Asking ---------------------------------------------------------------------------------------------------------

// Returns a number about a device, or 0 if the driver does not know it.
static uint64_t ask_number(cl_device_id id, cl_device_info what) {
  union {
    cl_uint narrow;
    cl_ulong wide;
  } value = {.wide = 0};
  size_t bytes = 0;
  if (tsri_cl.GetDeviceInfo(id, what, sizeof value, &value, &bytes) != CL_SUCCESS) return 0;
  return bytes == sizeof value.narrow ? value.narrow : value.wide;
}

// Returns a text about a device, without the spaces that some drivers put around names; empty if the driver does not
// know it. Longer texts are cut.
static void ask_text(cl_device_id id, cl_device_info what, char *text, size_t text_bytes) {
  text[0] = '\0';
  size_t bytes = 0;
  if (tsri_cl.GetDeviceInfo(id, what, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0) return;
  char *whole = tsri_malloc(bytes);
  if (whole && tsri_cl.GetDeviceInfo(id, what, bytes, whole, NULL) == CL_SUCCESS) {
    whole[bytes - 1] = '\0';
    char *start = whole + strspn(whole, " ");
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ') start[--length] = '\0';
    snprintf(text, text_bytes, "%s", start);
  }
  tsri_free(whole);
}

static void ask_platform(cl_platform_id platform, cl_platform_info what, char *text, size_t text_bytes) {
  if (tsri_cl.GetPlatformInfo(platform, what, text_bytes, text, NULL) != CL_SUCCESS) text[0] = '\0';
  text[text_bytes - 1] = '\0';
}

static bool has_extension(cl_device_id id, const char *name) {
  char list[8192];
  ask_text(id, CL_DEVICE_EXTENSIONS, list, sizeof list);
  size_t length = strlen(name);
  for (const char *at = strstr(list, name); at; at = strstr(at + length, name)) {
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  }
  return false;
}

// --- Quirks: what cannot be asked -----------------------------------------------------------------------------------

enum {
  IS_SOFTWARE = 1,       // a CPU, although its driver reports a GPU
  KEEPS_NO_BINARIES = 2  // reading a program's binary takes longer than the cache saves
};

static const struct quirk {
  const char *platform, *device;  // substrings of the names; "" matches every name
  unsigned flags;
} quirk_table[] = {
    // PoCL 3.1 compiles the kernel again to return its binary, in 240 ms; with PoCL's own cache our cache would save
    // only 45 ms.
    {"Portable Computing Language", "", KEEPS_NO_BINARIES},
    {"", "llvmpipe", IS_SOFTWARE},     // Mesa's rusticl, or clvk on lavapipe
    {"", "SwiftShader", IS_SOFTWARE},  // clvk
};

static bool has_quirk(const found_device *device, unsigned flag) {
  char platform[TSR_NAME_BYTES], name[TSR_NAME_BYTES];
  unsigned flags = 0;
  ask_platform(device->platform, CL_PLATFORM_NAME, platform, sizeof platform);
  ask_text(device->id, CL_DEVICE_NAME, name, sizeof name);
  for (size_t i = 0; i < sizeof quirk_table / sizeof quirk_table[0]; i++) {
    const struct quirk *quirk = &quirk_table[i];
    if (strstr(platform, quirk->platform) && strstr(name, quirk->device)) flags |= quirk->flags;
  }
  return (flags & flag) != 0;
}

// --- Finding --------------------------------------------------------------------------------------------------------

// Returns why the device cannot be used, or NULL if it can.
static const char *why_unusable(cl_device_id id) {
  char version[64];
  int major = 0, minor = 0;
  ask_text(id, CL_DEVICE_VERSION, version, sizeof version);
  if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2) return "does not say its OpenCL version";
  if (major < 1 || (major == 1 && minor < 2)) return "knows only OpenCL 1.1 or older, and 1.2 is needed";
  if (!ask_number(id, CL_DEVICE_AVAILABLE)) return "is not available";
  if (!ask_number(id, CL_DEVICE_COMPILER_AVAILABLE)) return "comes without a compiler";
  return NULL;
}

static int rank_of(const found_device *device) {
  uint64_t type = ask_number(device->id, CL_DEVICE_TYPE);
  if ((type & CL_DEVICE_TYPE_CPU) || has_quirk(device, IS_SOFTWARE)) return 4;
  if (type & CL_DEVICE_TYPE_GPU) return ask_number(device->id, CL_DEVICE_HOST_UNIFIED_MEMORY) ? 1 : 0;
  return type & CL_DEVICE_TYPE_ACCELERATOR ? 2 : 3;
}

// Inserts the device behind all devices of the same or a better rank.
static void insert(found_device device) {
  int at = found_count++;
  for (; at > 0 && found[at - 1].rank > device.rank; at--) found[at] = found[at - 1];
  found[at] = device;
}

static void list_platform(cl_platform_id platform, char *refused, size_t refused_bytes) {
  cl_device_id ids[MOST_DEVICES];
  cl_uint count = 0;
  if (tsri_cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &count) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < count && i < MOST_DEVICES && found_count < MOST_DEVICES; i++) {
    const char *reason = why_unusable(ids[i]);
    if (reason) {
      char name[TSR_NAME_BYTES];
      ask_text(ids[i], CL_DEVICE_NAME, name, sizeof name);
      snprintf(refused, refused_bytes, "%s %s", name, reason);
      tsri_log(TSR_LOG_INFO, "opencl: leaving out %s", refused);
      continue;
    }
    found_device device = {.platform = platform, .id = ids[i]};
    device.rank = rank_of(&device);
    insert(device);
  }
}

tsr_status tsri_opencl_device_count(int *out_count) {
  if (found_count == 0) {
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    char refused[2 * TSR_NAME_BYTES] = "it lists no device";
    cl_int code = tsri_cl.GetPlatformIDs(MOST_PLATFORMS, platforms, &count);
    if (code != CL_SUCCESS || count == 0) {
      return TSRI_FAIL(TSR_ERR_UNAVAILABLE,
                       "the OpenCL library is there but finds no driver (OpenCL %d %s); install the GPU maker's or, "
                       "for the CPU, pocl-opencl-icd (files in /etc/OpenCL/vendors name the drivers)",
                       code, tsri_opencl_code_name(code));
    }
    for (cl_uint i = 0; i < count && i < MOST_PLATFORMS; i++) list_platform(platforms[i], refused, sizeof refused);
    if (found_count == 0) {
      return TSRI_FAIL(TSR_ERR_UNAVAILABLE, "an OpenCL driver is there but has no usable device: %s", refused);
    }
  }
  *out_count = found_count;
  return TSR_OK;
}

void tsri_opencl_stop(void) { found_count = 0; }

// --- Facts ----------------------------------------------------------------------------------------------------------

// Formats the UUID as 8-4-4-4-12 hexadecimal digits, as CUDA and Vulkan do.
static void ask_uuid(cl_device_id id, char *text, size_t text_bytes) {
  cl_uchar b[CL_UUID_SIZE_KHR];
  if (tsri_cl.GetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof b, b, NULL) != CL_SUCCESS) return;
  snprintf(text, text_bytes, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
           b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

// `name` is the marketing name, also on drivers that report it separately; `arch` is the compilation target.
static void ask_names(cl_device_id id, tsr_device_info *info) {
  char version[64];
  int major = 0, minor = 0;
  ask_text(id, CL_DEVICE_NAME, info->name, sizeof info->name);
  ask_text(id, CL_DEVICE_VERSION, version, sizeof version);
  if (sscanf(version, "OpenCL %d.%d", &major, &minor) == 2) {
    snprintf(info->arch, sizeof info->arch, "OpenCL %d.%d", major, minor);
  }
  if (has_extension(id, "cl_nv_device_attribute_query")) {
    snprintf(info->arch, sizeof info->arch, "%u.%u", (unsigned)ask_number(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV),
             (unsigned)ask_number(id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
  } else if (has_extension(id, "cl_amd_device_attribute_query")) {
    char board[TSR_NAME_BYTES];
    ask_text(id, CL_DEVICE_BOARD_NAME_AMD, board, sizeof board);
    snprintf(info->arch, sizeof info->arch, "%.31s", info->name);  // "gfx90a"
    if (board[0]) memcpy(info->name, board, sizeof board);
  }
}

// OpenCL does not report free memory. The estimate is the total minus what this process uses here; if the device
// shares the host's memory, at most what the host has free.
static uint64_t estimate_free(uint64_t total, uint64_t used, bool shares_host_memory) {
  uint64_t left = total > used ? total - used : 0, host_total = 0, host_free = 0;
  if (shares_host_memory) tsri_memory_size(&host_total, &host_free);
  return host_total > 0 && host_free < left ? host_free : left;
}

tsr_status tsri_opencl_device_info(int index, tsr_device_info *out_info) {
  const found_device *device = &found[index];
  cl_device_id id = device->id;
  uint64_t type = ask_number(id, CL_DEVICE_TYPE);
  char platform[TSR_NAME_BYTES], version[TSR_NAME_BYTES];
  *out_info = (tsr_device_info){.index = index, .type = TSR_DEVICE_OTHER};
  ask_names(id, out_info);
  ask_platform(device->platform, CL_PLATFORM_NAME, platform, sizeof platform);
  ask_text(id, CL_DRIVER_VERSION, version, sizeof version);
  snprintf(out_info->driver, sizeof out_info->driver, "%.70s %.50s", platform, version);
  if (has_extension(id, "cl_khr_device_uuid")) ask_uuid(id, out_info->uuid, sizeof out_info->uuid);
  out_info->has_unified_memory = ask_number(id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  if (type & CL_DEVICE_TYPE_CPU) out_info->type = TSR_DEVICE_CPU;
  else if (type & CL_DEVICE_TYPE_GPU) {
    out_info->type = out_info->has_unified_memory ? TSR_DEVICE_INTEGRATED_GPU : TSR_DEVICE_DISCRETE_GPU;
  }
  out_info->is_software = (type & CL_DEVICE_TYPE_CPU) || has_quirk(device, IS_SOFTWARE);
  out_info->compute_units = (int)ask_number(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  out_info->total_bytes = ask_number(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  out_info->max_buffer_bytes = ask_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out_info->free_bytes = estimate_free(out_info->total_bytes, 0, out_info->has_unified_memory);
  return TSR_OK;
}

tsr_status tsri_opencl_memory_info(tsri_device *device, uint64_t *out_free, uint64_t *out_total) {
  const opencl_device *ocl_device = (const opencl_device *)device;
  *out_total = ocl_device->total_bytes;
  *out_free =
      estimate_free(ocl_device->total_bytes, atomic_load(&ocl_device->used_bytes), ocl_device->shares_host_memory);
  return TSR_OK;
}

// --- Opening --------------------------------------------------------------------------------------------------------

// The float types that have the property `flag`: bit 0 for f16, bit 1 for f32, bit 2 for f64.
static uint8_t ask_floats(cl_device_id id, cl_device_fp_config flag) {
  return (uint8_t)((ask_number(id, CL_DEVICE_HALF_FP_CONFIG) & flag ? 1u : 0) |
                   (ask_number(id, CL_DEVICE_SINGLE_FP_CONFIG) & flag ? 2u : 0) |
                   (ask_number(id, CL_DEVICE_DOUBLE_FP_CONFIG) & flag ? 4u : 0));
}

// NVIDIA's compiler takes PTX in OpenCL C. Its driver reports no subgroups, but has the shuffles of PTX, and for compute capability 8.0 and more conversions
// to f16 and bf16 and the instructions of matrix units (lang/emit/c/fragment_cuda.c): all are in PTX 7.0, the first version that knows such a GPU. A
// driver that refuses matrix units gets loops (runtime/program.c).
static void add_ptx(cl_device_id id, tsri_limits *limits) {
  if (!has_extension(id, "cl_nv_device_attribute_query")) return;
  if (ask_number(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV) < 8) return;
  limits->subgroup_size = 32;
  limits->has_ptx = limits->has_subgroups = limits->has_subgroup_shuffle = limits->groups_progress = true;
  limits->fragments[limits->fragment_count++] = (tsr_fragment_size){TSR_F16, 16, 16, 16};
  limits->fragments[limits->fragment_count++] = (tsr_fragment_size){TSR_BF16, 16, 16, 16};
}

// Sub-buffers must begin at multiples of CL_DEVICE_MEM_BASE_ADDR_ALIGN, which is given in bits: 128 bytes or more.
static tsri_limits limits_of(cl_device_id id) {
  const uint32_t always = 1u << TSR_BOOL | 1u << TSR_U8 | 1u << TSR_I8 | 1u << TSR_I16 | 1u << TSR_I32 | 1u << TSR_I64 |
                          1u << TSR_U32 | 1u << TSR_F32;
  tsri_limits limits = {
      .buffer_alignment = (size_t)ask_number(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8,
      .max_buffer_bytes = ask_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
      .binds_whole_buffers = true,  // buffer.c says why
      .max_group_size = (uint32_t)ask_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE),
      .shared_bytes = (uint32_t)ask_number(id, CL_DEVICE_LOCAL_MEM_SIZE),
      .dtype_storage = always | 1u << TSR_F16 | 1u << TSR_BF16,  // f16 is loaded by vload_half, bf16 as 16-bit
                                                                 // integers
      .dtype_arithmetic = always,
      .has_exact_divide = (ask_floats(id, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) & 2) != 0,
      .has_exact_fma = (ask_floats(id, CL_FP_FMA) & 2) != 0,
      .keeps_denormals = ask_floats(id, CL_FP_DENORM),
      .keeps_nan = ask_floats(id, CL_FP_INF_NAN),
      .rounds_to_even = ask_floats(id, CL_FP_ROUND_TO_NEAREST),
      .longest_launch_ns = UINT64_C(1000000000),
      .reads_directly = true,
  };
  limits.has_storage16 = limits.has_storage8 = limits.has_i16 = limits.has_i8 = true;
  if (ask_number(id, CL_DEVICE_TYPE) &
      // Measured with PoCL 3.1 and kernels of 12 to 40 operators: 1.1 to 1.3 MiB each.
      CL_DEVICE_TYPE_CPU) {
    limits.program_bytes = 1 << 20;
    limits.program_bytes_per_code = 32;
  }
  if (limits.buffer_alignment < 128) limits.buffer_alignment = 128;
  if (limits.max_group_size == 0) limits.max_group_size = 1;
  // OpenCL defines no limit. NVIDIA's grids are limited to 65535 along y and z, and global ids must stay below 2^32.
  limits.max_groups[0] = UINT32_MAX / limits.max_group_size;
  limits.max_groups[1] = limits.max_groups[2] = 65535;
  if (ask_number(id, CL_DEVICE_DOUBLE_FP_CONFIG)) {
    limits.dtype_storage |= 1u << TSR_F64;
    limits.dtype_arithmetic |= 1u << TSR_F64;
  }
  if (has_extension(id, "cl_khr_fp16")) limits.dtype_arithmetic |= 1u << TSR_F16;
  add_ptx(id, &limits);
  return limits;
}

// Called by drivers with their own messages, from any thread.
static void CL_CALLBACK on_notice(const char *text, const void *data, size_t bytes, void *user) {
  (void)data;
  (void)bytes;
  (void)user;
  tsri_log(TSR_LOG_DEBUG, "opencl: the driver says: %s", text);
}

static void describe(opencl_device *device, const found_device *from, const tsr_device_info *info) {
  char platform[TSR_NAME_BYTES];
  ask_platform(from->platform, CL_PLATFORM_VERSION, platform, sizeof platform);
  device->id = from->id;
  device->total_bytes = info->total_bytes;
  device->shares_host_memory = info->has_unified_memory;
  device->keeps_no_binaries = has_quirk(from, KEEPS_NO_BINARIES);
  memcpy(device->name, info->name, sizeof device->name);
  snprintf(device->key, sizeof device->key, "%s\n%s\n%s\n%s", info->name, info->arch, info->driver, platform);
}

static tsr_status create_objects(opencl_device *device) {
  cl_int code = CL_SUCCESS;
  device->context = tsri_cl.CreateContext(NULL, 1, &device->id, on_notice, NULL, &code);
  tsri_mutex_init(&device->pinned_lock);
  if (code == CL_SUCCESS) device->setup = tsri_cl.CreateCommandQueue(device->context, device->id, 0, &code);
  if (code == CL_SUCCESS) device->probe = tsri_cl.CreateBuffer(device->context, CL_MEM_READ_WRITE, 4, NULL, &code);
  if (code == CL_SUCCESS) return TSR_OK;
  if (tsri_opencl_may_mean_loss(code)) {
    return TSRI_FAIL(
        TSR_ERR_DEVICE_LOST,
        "%s cannot be opened: OpenCL %d %s; if a kernel crashed on it, this driver needs the program to be "
        "started again",
        device->name, code, tsri_opencl_code_name(code));
  }
  return OPENCL_FAIL(NULL, code, TSR_ERR_UNAVAILABLE, "no context on %s", device->name);
}

tsr_status tsri_opencl_device_open(int index, const tsri_open_options *options, tsri_limits *out_limits,
                                   tsri_device **out_device) {
  tsr_device_info info;
  tsr_status status = tsri_opencl_device_info(index, &info);
  if (status != TSR_OK) return status;
  opencl_device *device = tsri_calloc(1, sizeof *device);
  if (!device) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "opencl: no host memory for the device's record");
  describe(device, &found[index], &info);
  device->has_times = options->profiling;
  device->timeout_ns = options->timeout_ns ? options->timeout_ns : UINT64_MAX;
  status = create_objects(device);
  if (status != TSR_OK) {
    tsri_opencl_device_close((tsri_device *)device);
    return status;
  }
  *out_limits = limits_of(device->id);
  *out_device = (tsri_device *)device;
  return TSR_OK;
}

// Accepts a partly initialised device.
void tsri_opencl_device_close(tsri_device *device) {
  opencl_device *ocl_device = (opencl_device *)device;
  if (ocl_device->probe) tsri_cl.ReleaseMemObject(ocl_device->probe);
  if (ocl_device->setup) tsri_cl.ReleaseCommandQueue(ocl_device->setup);
  if (ocl_device->context) tsri_cl.ReleaseContext(ocl_device->context);
  tsri_free(ocl_device);
}

#endif
