// SPDX-License-Identifier: MIT
// Opens cuBLASLt and computes matrix products with it. Descriptors and algorithms are kept in a table of plans, so
// that a repeated product reuses them.
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

#define TSRI_ENTRY(entry, exported, parameters) {exported, offsetof(cuda_blas, lt.entry)},
static const tsri_entry_point entries[] = {CUBLASLT_ENTRY_POINTS(TSRI_ENTRY){NULL, 0}};
#undef TSRI_ENTRY

static cuda_blas *open_blas(const cuda_device *device) {
  char trail[600] = "";
  cuda_blas *blas = tsri_calloc(1, sizeof *blas);
  if (!blas) return NULL;
  if (!tsri_cuda_open_library(tsri_cublaslt_names, entries, blas, trail, sizeof trail)) {
    tsri_log(TSR_LOG_INFO, "cuda: matrix products run without cuBLASLt (%s)", trail);
  } else {
    int code = blas->lt.Create(&blas->handle);
    if (code == LT_SUCCESS) {
      tsri_mutex_init(&blas->lock);
      return blas;
    }
    tsri_log(TSR_LOG_WARN, "cuda: cuBLASLt does not start on %s (code %d)", device->name, code);
  }
  tsri_free(blas);
  return NULL;
}

static cuda_blas *blas_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->blas && !device->blas_has_failed) {
    device->blas = open_blas(device);
    device->blas_has_failed = !device->blas;
  }
  cuda_blas *blas = device->blas;
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

static int compute_type_of(tsr_dtype dtype, bool allows_tf32) {
  if (dtype == TSR_F64) return LT_COMPUTE_64F;
  if (dtype == TSR_I8) return LT_COMPUTE_32I;
  return dtype == TSR_F32 && allows_tf32 ? LT_COMPUTE_32F_FAST_TF32 : LT_COMPUTE_32F;
}

static int make_layout(const cuda_blas *blas, const cuda_product *product, const cuda_matrix *matrix,
                       lt_layout *out_layout) {
  int32_t batch = (int32_t)product->batch;
  int type = type_of(matrix == &product->c || matrix == &product->d ? product->result : product->dtype);
  int code = blas->lt.LayoutCreate(out_layout, type, (uint64_t)matrix->rows, (uint64_t)matrix->cols, matrix->leading);
  if (code != LT_SUCCESS || batch == 1) return code;
  code = blas->lt.LayoutSet(*out_layout, LT_BATCH_COUNT, &batch, sizeof batch);
  if (code != LT_SUCCESS) return code;
  return blas->lt.LayoutSet(*out_layout, LT_BATCH_STRIDE, &matrix->batch_stride, sizeof matrix->batch_stride);
}

static int make_operation(const cuda_blas *blas, const cuda_product *product, bool allows_tf32,
                          lt_operation *out_operation) {
  int32_t turn_a = (int32_t)product->a.is_transposed, turn_b = (int32_t)product->b.is_transposed;
  uint32_t epilogue = product->has_bias ? LT_EPILOGUE_BIAS : 0;
  if (product->activation == TSRI_ACTIVATION_RELU) epilogue |= LT_EPILOGUE_RELU;
  if (product->activation == TSRI_ACTIVATION_GELU_TANH) epilogue |= LT_EPILOGUE_GELU;
  if (epilogue == 0) epilogue = LT_EPILOGUE_DEFAULT;
  int scale_type = product->dtype == TSR_F64 ? LT_R_64F : product->dtype == TSR_I8 ? LT_R_32I : LT_R_32F;
  int code = blas->lt.DescCreate(out_operation, compute_type_of(product->dtype, allows_tf32), scale_type);
  if (code == LT_SUCCESS) code = blas->lt.DescSet(*out_operation, LT_TRANSPOSE_A, &turn_a, sizeof turn_a);
  if (code == LT_SUCCESS) code = blas->lt.DescSet(*out_operation, LT_TRANSPOSE_B, &turn_b, sizeof turn_b);
  if (code == LT_SUCCESS) code = blas->lt.DescSet(*out_operation, LT_EPILOGUE, &epilogue, sizeof epilogue);
  return code;
}

// Fills plan->proposals. The first one is cuBLASLt's own choice. If several work-groups share one sum (split-k),
// partial sums must stay in the compute type, so that they are not rounded.
static int find_proposals(const cuda_blas *blas, blas_plan *plan) {
  lt_preference preference = NULL;
  uint64_t workspace = CUDA_WORKSPACE_BYTES;
  uint32_t reductions = LT_REDUCE_INPLACE | LT_REDUCE_COMPUTE_TYPE;
  int code = blas->lt.PreferenceCreate(&preference);
  if (code == LT_SUCCESS) code = blas->lt.PreferenceSet(preference, LT_MAX_WORKSPACE, &workspace, sizeof workspace);
  if (code == LT_SUCCESS) code = blas->lt.PreferenceSet(preference, LT_REDUCTION_MASK, &reductions, sizeof reductions);
  for (int i = 0; i < 4 && code == LT_SUCCESS; i++) {
    const uint32_t *alignment = &plan->product.alignments[i];
    code = blas->lt.PreferenceSet(preference, LT_MIN_ALIGNMENT_A + i, alignment, sizeof *alignment);
  }
  if (code == LT_SUCCESS) {
    code = blas->lt.GetHeuristic(blas->handle, plan->operation, plan->a, plan->b, plan->c ? plan->c : plan->d, plan->d,
                                 preference, BLAS_PROPOSALS, plan->proposals, &plan->proposal_count);
  }
  if (preference) blas->lt.PreferenceDestroy(preference);
  if (code != LT_SUCCESS) return code;
  return plan->proposal_count > 0 ? plan->proposals[0].state : LT_NOT_SUPPORTED;
}

static void destroy_plan(const cuda_blas *blas, blas_plan *plan) {
  lt_layout layouts[] = {plan->a, plan->b, plan->c, plan->d};
  for (int i = 0; i < 4; i++) {
    if (layouts[i]) blas->lt.LayoutDestroy(layouts[i]);
  }
  if (plan->operation) blas->lt.DescDestroy(plan->operation);
  memset(plan, 0, sizeof *plan);
}

// Fills a plan for `product`. If cuBLASLt has no algorithm for it, the plan remembers that as well.
static void make_plan(const cuda_blas *blas, const cuda_product *product, bool allows_tf32, blas_plan *plan) {
  destroy_plan(blas, plan);
  plan->is_used = true;
  plan->product = *product;
  int code = make_operation(blas, product, allows_tf32, &plan->operation);
  if (code == LT_SUCCESS) code = make_layout(blas, product, &product->a, &plan->a);
  if (code == LT_SUCCESS) code = make_layout(blas, product, &product->b, &plan->b);
  if (code == LT_SUCCESS && product->has_c) code = make_layout(blas, product, &product->c, &plan->c);
  if (code == LT_SUCCESS) code = make_layout(blas, product, &product->d, &plan->d);
  if (code == LT_SUCCESS) code = find_proposals(blas, plan);
  plan->is_impossible = code != LT_SUCCESS;
  if (plan->is_impossible) tsri_log(TSR_LOG_DEBUG, "cuda: cuBLASLt has nothing for a product (code %d)", code);
}

static blas_plan *plan_for(cuda_blas *blas, const cuda_product *product, bool allows_tf32) {
  uint64_t mixed = UINT64_C(0xCBF29CE484222325);
  const unsigned char *bytes = (const unsigned char *)product;
  for (size_t i = 0; i < sizeof *product; i++) mixed = (mixed ^ bytes[i]) * UINT64_C(0x100000001B3);
  blas_plan *plan = &blas->plans[mixed % BLAS_PLAN_SLOTS];
  if (!plan->is_used || memcmp(&plan->product, product, sizeof *product) != 0) {
    make_plan(blas, product, allows_tf32, plan);
  }
  return plan;
}

// --- Products -----------------------------------------------------------------------------------------------------------

int tsri_cuda_blas_launch(cuda_queue *queue, const cuda_blas *blas, const blas_plan *plan,
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
  if (plan->product.has_bias) {
    code = blas->lt.DescSet(plan->operation, LT_BIAS_POINTER, &memory->bias, sizeof memory->bias);
  }
  if (code != LT_SUCCESS) return code;
  return blas->lt.Matmul(blas->handle, plan->operation, alpha, (const void *)(uintptr_t)memory->a, plan->a,
                         (const void *)(uintptr_t)memory->b, plan->b, beta,
                         has_c ? (const void *)(uintptr_t)memory->c : d, has_c ? plan->c : plan->d, d, plan->d,
                         &choice->algorithm, (void *)(uintptr_t)queue->workspace, choice->workspace_bytes,
                         queue->stream);
}

static tsr_status multiply(cuda_queue *queue, const cuda_blas *blas, blas_plan *plan,
                           const cuda_product_memory *memory) {
  if (!plan->is_settled) tsri_cuda_blas_settle(queue, blas, plan, memory);
  int code = tsri_cuda_blas_launch(queue, blas, plan, memory, &plan->proposals[plan->chosen]);
  if (code == LT_SUCCESS) return TSR_OK;
  if (code == LT_NOT_SUPPORTED || code == LT_ARCH_MISMATCH || code == LT_INVALID_VALUE) return TSR_ERR_UNSUPPORTED;
  return TSRI_FAIL(code == LT_ALLOC_FAILED ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_LAUNCH,
                   "%s: a matrix product by cuBLASLt failed (code %d)", queue->device->name, code);
}

tsr_status tsri_cuda_multiply(cuda_queue *queue, const cuda_product *product, const cuda_product_memory *memory) {
  cuda_blas *blas = blas_of(queue->device);
  if (!blas) return TSR_ERR_UNSUPPORTED;
  cu_result code = tsri_cuda_workspace(queue);
  if (code != CU_SUCCESS) {
    return CUDA_FAIL(queue->device, code, TSR_ERR_INTERNAL, "work space of %d bytes for cuBLASLt",
                     CUDA_WORKSPACE_BYTES);
  }
  tsri_mutex_lock(&blas->lock);
  blas_plan *plan = plan_for(blas, product, queue->device->allows_tf32);
  tsr_status status = plan->is_impossible ? TSR_ERR_UNSUPPORTED : multiply(queue, blas, plan, memory);
  if (status == TSR_ERR_UNSUPPORTED) plan->is_impossible = true;
  tsri_mutex_unlock(&blas->lock);
  return status;
}

void tsri_cuda_blas_close(cuda_device *device) {
  cuda_blas *blas = device->blas;
  if (!blas) return;
  bool was_pushed = tsri_cuda_enter(device);
  for (int i = 0; i < BLAS_PLAN_SLOTS; i++) destroy_plan(blas, &blas->plans[i]);
  blas->lt.Destroy(blas->handle);
  tsri_cuda_leave(device, was_pushed);
  tsri_mutex_deinit(&blas->lock);
  tsri_free(blas);
  device->blas = NULL;
}
