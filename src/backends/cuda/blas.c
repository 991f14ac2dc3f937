// SPDX-License-Identifier: MIT
// Opens cuBLASLt, or the library of the same form that the vendor's table names, and computes matrix products with it.
// Descriptors and algorithms are kept in a table of plans, so that a repeated product reuses them.
#include "backends/cuda/blas.h"

#include <string.h>

#include "backends/cuda/blas_plan.h"
#include "core/alloc.h"
#include "core/log.h"

#if defined(_WIN32)
static const char *const library_names[] = {"cublasLt64_13.dll", "cublasLt64_12.dll", "cublasLt64_11.dll", NULL};
#else
static const char *const library_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                                            "/usr/local/cuda/lib64/libcublasLt.so", NULL};
#endif
const char *const *tsri_cublaslt_names = library_names;

// --- Opening ----------------------------------------------------------------------------------------------------------

static const tsri_entry_point entries[] = {LT_ENTRY_POINTS(LT_ENTRY_OFFSET, "cublasLt"){NULL, 0}};

const lt_library tsri_cublaslt = {
    .title = "cuBLASLt",
    .names = &tsri_cublaslt_names,
    .entries = entries,
    .alloc_failed = LT_ALLOC_FAILED,
    .invalid_value = LT_INVALID_VALUE,
    .arch_mismatch = LT_ARCH_MISMATCH,
    .not_supported = LT_NOT_SUPPORTED,
    .compute_32f = LT_COMPUTE_32F,
    .compute_64f = LT_COMPUTE_64F,
    .compute_32i = LT_COMPUTE_32I,
    .compute_32f_fast_tf32 = LT_COMPUTE_32F_FAST_TF32,
    .as_is = 0,
    .transposed = 1,
    .transpose_a = LT_TRANSPOSE_A,
    .transpose_b = LT_TRANSPOSE_B,
    .epilogue = LT_EPILOGUE,
    .bias_pointer = LT_BIAS_POINTER,
    .batch_count = LT_BATCH_COUNT,
    .batch_stride = LT_BATCH_STRIDE,
    .algorithm_bytes = sizeof(lt_algorithm),
    .has_preferences = true,
};

// Opens the library. False: it is not there or does not start; the reason is logged.
static bool open_library(const cuda_device *device, cuda_blas *blas) {
  char trail[600] = "";
  const lt_library *library = blas->library;
  if (!tsri_cuda_open_library(*library->names, library->entries, &blas->lt, trail, sizeof trail)) {
    tsri_log(TSR_LOG_INFO, "%s: matrix products run without %s (%s)", device->vendor->name, library->title, trail);
    return false;
  }
  int code = blas->lt.Create(&blas->handle);
  if (code == LT_SUCCESS) return true;
  blas->handle = NULL;
  tsri_log(TSR_LOG_WARN, "%s: %s does not start on %s (code %d)", device->vendor->name, library->title, device->name,
           code);
  return false;
}

// Returns the record for the device's products, created at the first call. If the library cannot be opened, it still serves our own kernels. NULL: host memory
// is out.
static cuda_blas *blas_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->blas) device->blas = tsri_calloc(1, sizeof *device->blas);
  cuda_blas *blas = device->blas;
  if (blas && !blas->library) {
    blas->library = device->vendor->blas;
    tsri_mutex_init(&blas->lock);
    device->blas_has_failed = device->allows_blas && !open_library(device, blas);
  }
  tsri_mutex_unlock(&device->library_lock);
  return blas;
}

// --- Plans ------------------------------------------------------------------------------------------------------------

static int type_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_I8:
      return LT_R_8I;
    case TSR_I32:
      return LT_R_32I;
    case TSR_F64:
      return LT_R_64F;
    case TSR_F32:
      return LT_R_32F;
    case TSR_F16:
      return LT_R_16F;
    default:
      return LT_R_16BF;
  }
}

static int compute_type_of(const lt_library *library, tsr_dtype dtype, bool allows_tf32) {
  if (dtype == TSR_F64) return library->compute_64f;
  if (dtype == TSR_I8) return library->compute_32i;
  return dtype == TSR_F32 && allows_tf32 ? library->compute_32f_fast_tf32 : library->compute_32f;
}

static int make_layout(const cuda_blas *blas, const cuda_product *product, const cuda_matrix *matrix,
                       lt_layout *out_layout) {
  int32_t batch = (int32_t)product->batch;
  int type = type_of(matrix == &product->c || matrix == &product->d ? product->result : product->dtype);
  int code = blas->lt.LayoutCreate(out_layout, type, (uint64_t)matrix->rows, (uint64_t)matrix->cols, matrix->leading);
  if (code != LT_SUCCESS || batch == 1) return code;
  code = blas->lt.LayoutSet(*out_layout, blas->library->batch_count, &batch, sizeof batch);
  if (code != LT_SUCCESS) return code;
  return blas->lt.LayoutSet(*out_layout, blas->library->batch_stride, &matrix->batch_stride,
                            sizeof matrix->batch_stride);
}

static int set_bias(const cuda_blas *blas, lt_operation operation, cu_address bias) {
  return blas->lt.DescSet(operation, blas->library->bias_pointer, &bias, sizeof bias);
}

static int make_operation(const cuda_blas *blas, const cuda_product *product, bool allows_tf32,
                          lt_operation *out_operation) {
  enum { SOME_ADDRESS = 256 };  // replaced before each product
  const lt_library *library = blas->library;
  int32_t turn_a = product->a.is_transposed ? library->transposed : library->as_is;
  int32_t turn_b = product->b.is_transposed ? library->transposed : library->as_is;
  uint32_t epilogue = product->has_bias ? LT_EPILOGUE_BIAS : 0;
  if (product->activation == TSRI_ACTIVATION_RELU) epilogue |= LT_EPILOGUE_RELU;
  if (product->activation == TSRI_ACTIVATION_GELU_TANH) epilogue |= LT_EPILOGUE_GELU;
  if (epilogue == 0) epilogue = LT_EPILOGUE_DEFAULT;
  int scale_type = product->dtype == TSR_F64 ? LT_R_64F : product->dtype == TSR_I8 ? LT_R_32I : LT_R_32F;
  int code = blas->lt.DescCreate(out_operation, compute_type_of(library, product->dtype, allows_tf32), scale_type);
  if (code == LT_SUCCESS) code = blas->lt.DescSet(*out_operation, library->transpose_a, &turn_a, sizeof turn_a);
  if (code == LT_SUCCESS) code = blas->lt.DescSet(*out_operation, library->transpose_b, &turn_b, sizeof turn_b);
  if (code == LT_SUCCESS) code = blas->lt.DescSet(*out_operation, library->epilogue, &epilogue, sizeof epilogue);
  if (code == LT_SUCCESS && product->has_bias && library->needs_early_bias) {
    code = set_bias(blas, *out_operation, SOME_ADDRESS);
  }
  return code;
}

// If several work-groups share one sum (split-k), partial sums must stay in the compute type, so that they are not
// rounded.
static int set_preferences(const cuda_blas *blas, const cuda_product *product, lt_preference preference) {
  uint64_t workspace = BLAS_WORKSPACE_BYTES;
  uint32_t reductions = LT_REDUCE_INPLACE | LT_REDUCE_COMPUTE_TYPE;
  int code = blas->lt.PreferenceSet(preference, LT_MAX_WORKSPACE, &workspace, sizeof workspace);
  if (!blas->library->has_preferences) return code;
  if (code == LT_SUCCESS) code = blas->lt.PreferenceSet(preference, LT_REDUCTION_MASK, &reductions, sizeof reductions);
  for (int i = 0; i < 4 && code == LT_SUCCESS; i++) {
    const uint32_t *alignment = &product->alignments[i];
    code = blas->lt.PreferenceSet(preference, LT_MIN_ALIGNMENT_A + i, alignment, sizeof *alignment);
  }
  return code;
}

// Copies the library's array of proposals into lt_choice records. In the library's records the algorithm may take fewer
// bytes than in lt_choice (lt_library.algorithm_bytes); the other members follow it directly.
static void take_choices(const lt_library *library, const void *stored, int count, lt_choice *out_choices) {
  enum { REST_AT = offsetof(lt_choice, workspace_bytes), REST_BYTES = sizeof(lt_choice) - REST_AT };
  const unsigned char *at = stored;
  for (int i = 0; i < count; i++) {
    memcpy(&out_choices[i].algorithm, at, library->algorithm_bytes);
    memcpy((unsigned char *)&out_choices[i] + REST_AT, at + library->algorithm_bytes, REST_BYTES);
    at += library->algorithm_bytes + REST_BYTES;
  }
}

// Fills plan->proposals. The first one is the library's own choice.
static int find_proposals(const cuda_blas *blas, blas_plan *plan) {
  lt_preference preference = NULL;
  lt_choice stored[BLAS_PROPOSALS];
  int code = blas->lt.PreferenceCreate(&preference);
  if (code == LT_SUCCESS) code = set_preferences(blas, &plan->product, preference);
  if (code == LT_SUCCESS) {
    code = blas->lt.GetHeuristic(blas->handle, plan->operation, plan->a, plan->b, plan->c ? plan->c : plan->d, plan->d,
                                 preference, BLAS_PROPOSALS, stored, &plan->proposal_count);
  }
  if (preference) blas->lt.PreferenceDestroy(preference);
  if (code != LT_SUCCESS) return code;
  take_choices(blas->library, stored, plan->proposal_count, plan->proposals);
  return plan->proposal_count > 0 ? plan->proposals[0].state : blas->library->not_supported;
}

static void destroy_plan(const cuda_blas *blas, blas_plan *plan) {
  lt_layout layouts[] = {plan->a, plan->b, plan->c, plan->d};
  for (int i = 0; i < 4; i++) {
    if (layouts[i]) blas->lt.LayoutDestroy(layouts[i]);
  }
  if (plan->operation) blas->lt.DescDestroy(plan->operation);
  memset(plan, 0, sizeof *plan);
}

// Fills a plan for `product`. If the library has no algorithm for it, the plan remembers that as well.
static void make_plan(const cuda_device *device, const cuda_blas *blas, const cuda_product *product, blas_plan *plan) {
  destroy_plan(blas, plan);
  plan->is_used = true;
  plan->product = *product;
  plan->has_units = tsri_cuda_units_take(device, product);
  int code = make_operation(blas, product, device->allows_tf32, &plan->operation);
  if (code == LT_SUCCESS) code = make_layout(blas, product, &product->a, &plan->a);
  if (code == LT_SUCCESS) code = make_layout(blas, product, &product->b, &plan->b);
  if (code == LT_SUCCESS && product->has_c) code = make_layout(blas, product, &product->c, &plan->c);
  if (code == LT_SUCCESS) code = make_layout(blas, product, &product->d, &plan->d);
  if (code == LT_SUCCESS) code = find_proposals(blas, plan);
  plan->is_impossible = code != LT_SUCCESS;
  if (plan->is_impossible)
    tsri_log(TSR_LOG_DEBUG, "%s has nothing for a product (code %d)", blas->library->title, code);
}

static blas_plan *plan_for(const cuda_device *device, cuda_blas *blas, const cuda_product *product) {
  uint64_t mixed = UINT64_C(0xCBF29CE484222325);
  const unsigned char *bytes = (const unsigned char *)product;
  for (size_t i = 0; i < sizeof *product; i++) mixed = (mixed ^ bytes[i]) * UINT64_C(0x100000001B3);
  blas_plan *plan = &blas->plans[mixed % BLAS_PLAN_SLOTS];
  if (!plan->is_used || memcmp(&plan->product, product, sizeof *product) != 0) {
    make_plan(device, blas, product, plan);
  }
  return plan;
}

// --- Products -----------------------------------------------------------------------------------------------------------

static int launch_proposal(cuda_queue *queue, const cuda_blas *blas, const blas_plan *plan,
                           const cuda_product_memory *memory, const lt_choice *choice) {
  const float narrow[2] = {(float)memory->alpha, (float)memory->beta};
  const double wide[2] = {memory->alpha, memory->beta};
  const int32_t whole[2] = {(int32_t)memory->alpha, (int32_t)memory->beta};
  bool is_wide = plan->product.dtype == TSR_F64, is_whole = plan->product.dtype == TSR_I8, has_c = plan->product.has_c;
  const void *alpha = is_wide    ? (const void *)&wide[0]
                      : is_whole ? (const void *)&whole[0]
                                 : &narrow[0],
             *beta = is_wide    ? (const void *)&wide[1]
                     : is_whole ? (const void *)&whole[1]
                                : &narrow[1];
  void *d = (void *)(uintptr_t)memory->d;
  int code = LT_SUCCESS;
  if (plan->product.has_bias) code = set_bias(blas, plan->operation, memory->bias);
  if (code != LT_SUCCESS) return code;
  return blas->lt.Matmul(blas->handle, plan->operation, alpha, (const void *)(uintptr_t)memory->a, plan->a,
                         (const void *)(uintptr_t)memory->b, plan->b, beta,
                         has_c ? (const void *)(uintptr_t)memory->c : d, has_c ? plan->c : plan->d, d, plan->d,
                         &choice->algorithm,
                         (void *)(uintptr_t)tsri_cuda_take_workspace(queue, choice->workspace_bytes),
                         choice->workspace_bytes, queue->stream);
}

int tsri_cuda_blas_launch(cuda_queue *queue, cuda_blas *blas, const blas_plan *plan, const cuda_product_memory *memory,
                          int way) {
  if (plan->has_units && way == 0) {
    return tsri_cuda_units_multiply(queue, &blas->units, &plan->product, memory) ? LT_SUCCESS
                                                                                 : blas->library->not_supported;
  }
  const lt_choice *choice = &plan->proposals[way - plan->has_units];
  return choice->state == LT_SUCCESS ? launch_proposal(queue, blas, plan, memory, choice) : choice->state;
}

static tsr_status multiply(cuda_queue *queue, cuda_blas *blas, blas_plan *plan, const cuda_product_memory *memory) {
  if (!plan->is_settled) tsri_cuda_blas_settle(queue, blas, plan, memory);
  int code = tsri_cuda_blas_launch(queue, blas, plan, memory, plan->chosen);
  if (code != LT_SUCCESS && plan->has_units && plan->chosen == 0) {
    plan->has_units = false;  // our kernel does not run: way 0 is now the library's first proposal
    code = tsri_cuda_blas_launch(queue, blas, plan, memory, 0);
  }
  const lt_library *l = blas->library;
  if (code == LT_SUCCESS) return TSR_OK;
  if (code == l->not_supported || code == l->arch_mismatch || code == l->invalid_value) return TSR_ERR_UNSUPPORTED;
  return TSRI_FAIL(code == l->alloc_failed ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_LAUNCH,
                   "%s: a matrix product by %s failed (code %d)", queue->device->name, l->title, code);
}

// As tsri_cuda_multiply, by our own kernels: if the library is missing, or has no algorithm for the product.
static tsr_status multiply_by_own(cuda_queue *queue, cuda_blas *blas, const cuda_product *product,
                                  const cuda_product_memory *memory) {
  cuda_device *device = queue->device;
  bool is_for_halves = !memory->row_sums && tsri_cuda_halves_take(device, product);
  if (device->units_have_failed || !(is_for_halves || tsri_cuda_units_take(device, product)))
    return TSR_ERR_UNSUPPORTED;
  tsri_mutex_lock(&blas->lock);
  bool is_queued = is_for_halves ? tsri_cuda_halves_multiply(queue, &blas->halves, product, memory)
                                 : tsri_cuda_units_multiply(queue, &blas->units, product, memory);
  tsri_mutex_unlock(&blas->lock);
  if (!is_queued) device->units_have_failed = true;
  return is_queued ? TSR_OK : TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_cuda_multiply(cuda_queue *queue, const cuda_product *product, const cuda_product_memory *memory) {
  cuda_blas *blas = blas_of(queue->device);
  if (!blas) return TSR_ERR_UNSUPPORTED;
  if (memory->chain || memory->row_sums || !blas->handle) return multiply_by_own(queue, blas, product, memory);
  cu_result code = tsri_cuda_workspace(queue);
  if (code != CU_SUCCESS) {
    return CUDA_FAIL(queue->device, code, TSR_ERR_INTERNAL, "work space of %d bytes for %s", CUDA_WORKSPACE_BYTES,
                     blas->library->title);
  }
  tsri_mutex_lock(&blas->lock);
  blas_plan *plan = plan_for(queue->device, blas, product);
  tsr_status status = plan->is_impossible ? TSR_ERR_UNSUPPORTED : multiply(queue, blas, plan, memory);
  if (status == TSR_ERR_UNSUPPORTED) plan->is_impossible = true;
  tsri_mutex_unlock(&blas->lock);
  return status == TSR_ERR_UNSUPPORTED ? multiply_by_own(queue, blas, product, memory) : status;
}

bool tsri_cuda_multiply_group(cuda_queue *queue, const cuda_product *products, const cuda_product_memory *memories,
                              int count) {
  cuda_blas *blas = blas_of(queue->device);
  if (!blas) return false;
  tsri_mutex_lock(&blas->lock);
  bool works = tsri_cuda_units_multiply_group(queue, &blas->units, products, memories, count);
  tsri_mutex_unlock(&blas->lock);
  return works;
}

bool tsri_cuda_can_multiply(cuda_device *device, const cuda_product *product) {
  cuda_blas *blas = blas_of(device);
  if (!blas || !blas->handle) return false;
  tsri_mutex_lock(&blas->lock);
  bool is_possible = !plan_for(device, blas, product)->is_impossible;
  tsri_mutex_unlock(&blas->lock);
  return is_possible;
}

void tsri_cuda_blas_close(cuda_device *device) {
  cuda_blas *blas = device->blas;
  if (!blas) return;
  bool was_pushed = tsri_cuda_enter(device);
  for (int i = 0; i < BLAS_PLAN_SLOTS; i++) destroy_plan(blas, &blas->plans[i]);
  tsri_cuda_units_clear(device, &blas->units);
  tsri_cuda_halves_clear(device, &blas->halves);
  if (blas->handle) blas->lt.Destroy(blas->handle);
  tsri_cuda_leave(device, was_pushed);
  tsri_mutex_deinit(&blas->lock);
  tsri_free(blas);
  device->blas = NULL;
}
