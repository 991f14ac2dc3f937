// SPDX-License-Identifier: MIT
// Wrong and right arguments for every public function, and what its answers must be.
//
// cmake/list_calls.cmake writes a call of every function the public headers declare; here is where its arguments come from. What only
// a caller can get wrong (a pointer to nothing, a length beyond the memory it describes) is not tried: such calls are
// undefined in C whatever the library does.
#ifndef TESSERA_ATTACK_GARBAGE_H
#define TESSERA_ATTACK_GARBAGE_H

#include <tessera/tessera.h>

enum { GARBAGE_TENSORS = 24, GARBAGE_LIST = 64, GARBAGE_BYTES = 4096, GARBAGE_OUTS = 4 };

// An argument that receives objects, and how they are released.
typedef struct garbage_out {
  void *objects[GARBAGE_LIST];
  void (*release)(void *object);
} garbage_out;

typedef struct garbage {
  uint64_t random;
  bool is_plain;  // all arguments are NULL and 0

  tsr_device *devices[2];  // the CPU with little memory, and the null device
  tsr_tensor *tensors[GARBAGE_TENSORS];
  tsr_buffer *buffers[2];
  tsr_kernel *kernel;
  tsr_capture *capture;
  FILE *file;

  // The call in progress.
  const char *function;
  char text[2048];  // its arguments
  bool is_null_kernel;
  garbage_out outs[GARBAGE_OUTS];
  int out_count;
  _Alignas(64) unsigned char memory[GARBAGE_OUTS][GARBAGE_BYTES];
  int memory_count;
  int ints[GARBAGE_LIST];
  int64_t sizes[2][GARBAGE_LIST];
  int sizes_count;
  tsr_tensor *list[GARBAGE_LIST];
  tsr_arg args[GARBAGE_LIST];
  void *given_block;               // a DLPack struct that the call may consume
  void (*give_back)(void *block);  // what frees it if it does not
  char complaint[512];             // what was wrong with an answer; empty: nothing
} garbage;

typedef struct garbage_call {
  const char *name;
  void (*call)(garbage *g);
} garbage_call;

extern const garbage_call garbage_calls[];  // written by cmake/list_calls.cmake
extern const int garbage_call_count;

// Opens devices and makes objects. False with the reason in tsr_last_error().
bool garbage_init(garbage *g, uint64_t seed);
void garbage_deinit(garbage *g);

// Calls one function, checks the answer and puts everything back in order. False: see `complaint`.
bool garbage_do(garbage *g, const garbage_call *call);

// --- Arguments, by type and name --------------------------------------------------------------------------------------------

#define GARBAGE_VALUES(X)                                                    \
  X(int, int)                                                                \
  X(bool, bool)                                                              \
  X(size_t, size_t)                                                          \
  X(int64_t, int64_t)                                                        \
  X(uint64_t, uint64_t)                                                      \
  X(double, double)                                                          \
  X(tsr_dtype, tsr_dtype)                                                    \
  X(tsr_status, tsr_status)                                                  \
  X(tsr_log_level, tsr_log_level)                                            \
  X(tsr_log_fn, tsr_log_fn)                                                  \
  X(tsr_shape, tsr_shape)                                                    \
  X(tsr_grid, tsr_grid)                                                      \
  X(tsr_arg, tsr_arg)                                                        \
  X(tsr_device *, tsr_device_p)                                              \
  X(const tsr_device *, const_tsr_device_p)                                  \
  X(tsr_tensor *, tsr_tensor_p)                                              \
  X(const tsr_tensor *, const_tsr_tensor_p)                                  \
  X(tsr_buffer *, tsr_buffer_p)                                              \
  X(const tsr_buffer *, const_tsr_buffer_p)                                  \
  X(tsr_kernel *, tsr_kernel_p)                                              \
  X(const tsr_kernel *, const_tsr_kernel_p)                                  \
  X(tsr_capture *, tsr_capture_p)                                            \
  X(const tsr_capture *, const_tsr_capture_p)                                \
  X(tsr_scope *, tsr_scope_p)                                                \
  X(tsr_config *, tsr_config_p)                                              \
  X(tsr_discovery *, tsr_discovery_p)                                        \
  X(tsr_tensor *const *, tsr_tensor_p_const_p)                               \
  X(const char *, const_char_p)                                              \
  X(char *, char_p)                                                          \
  X(const void *, const_void_p)                                              \
  X(void *, void_p)                                                          \
  X(const int *, const_int_p)                                                \
  X(const int64_t *, const_int64_t_p)                                        \
  X(const tsr_arg *, const_tsr_arg_p)                                        \
  X(const tsr_device_desc *, const_tsr_device_desc_p)                        \
  X(const tsr_kernel_desc *, const_tsr_kernel_desc_p)                        \
  X(const tsr_transformer_desc *, const_tsr_transformer_desc_p)              \
  X(FILE *, FILE_p)                                                          \
  X(struct DLManagedTensor *, struct_DLManagedTensor_p)                      \
  X(struct DLManagedTensorVersioned *, struct_DLManagedTensorVersioned_p)    \
  X(tsr_tensor **, tsr_tensor_p_p)                                           \
  X(tsr_buffer **, tsr_buffer_p_p)                                           \
  X(tsr_device **, tsr_device_p_p)                                           \
  X(tsr_kernel **, tsr_kernel_p_p)                                           \
  X(tsr_capture **, tsr_capture_p_p)                                         \
  X(tsr_config **, tsr_config_p_p)                                           \
  X(tsr_discovery **, tsr_discovery_p_p)                                     \
  X(struct DLManagedTensor **, struct_DLManagedTensor_p_p)                   \
  X(struct DLManagedTensorVersioned **, struct_DLManagedTensorVersioned_p_p) \
  X(bool *, bool_p)                                                          \
  X(size_t *, size_t_p)                                                      \
  X(int64_t *, int64_t_p)                                                    \
  X(double *, double_p)                                                      \
  X(uint32_t *, uint32_t_p)                                                  \
  X(uint64_t *, uint64_t_p)                                                  \
  X(tsr_shape *, tsr_shape_p)                                                \
  X(tsr_dtype *, tsr_dtype_p)                                                \
  X(tsr_device_info *, tsr_device_info_p)                                    \
  X(tsr_device_counters *, tsr_device_counters_p)                            \
  X(tsr_memory_stats *, tsr_memory_stats_p)                                  \
  X(tsr_memory_estimate *, tsr_memory_estimate_p)                            \
  X(tsr_kernel_param *, tsr_kernel_param_p)

#define GARBAGE_X(type, name) type give_##name(garbage *g, const char *parameter);
GARBAGE_VALUES(GARBAGE_X)
#undef GARBAGE_X

// --- Answers, by type -------------------------------------------------------------------------------------------------------

#define GARBAGE_ANSWERS(X)          \
  X(tsr_status, tsr_status)         \
  X(tsr_tensor *, tsr_tensor_p)     \
  X(tsr_buffer *, tsr_buffer_p)     \
  X(tsr_device *, tsr_device_p)     \
  X(tsr_kernel *, tsr_kernel_p)     \
  X(tsr_capture *, tsr_capture_p)   \
  X(tsr_scope *, tsr_scope_p)       \
  X(const char *, const_char_p)     \
  X(char *, char_p)                 \
  X(void *, void_p)                 \
  X(int, int)                       \
  X(bool, bool)                     \
  X(size_t, size_t)                 \
  X(int64_t, int64_t)               \
  X(tsr_dtype, tsr_dtype)           \
  X(tsr_dtype_kind, tsr_dtype_kind) \
  X(tsr_shape, tsr_shape)           \
  X(tsr_grid, tsr_grid)             \
  X(tsr_arg, tsr_arg)

#define GARBAGE_X(type, name) void take_##name(garbage *g, type answer);
GARBAGE_ANSWERS(GARBAGE_X)
#undef GARBAGE_X

#endif
