// SPDX-License-Identifier: MIT
// libhipblaslt: by plain loops on the CPU, or by cuBLASLt on a real NVIDIA GPU. As hipBLASLt does, it proposes nothing for a
// bias without an address, and refuses numbers that are only cuBLASLt's.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/rocm/blas_lt_api.h"
#include "standins/hip/product.h"

enum { INTERNAL_ERROR = 6 };
// hipBLASLt is not told how addresses are aligned, but cuBLASLt is, and proposes other algorithms accordingly. So cuBLASLt is asked for addresses that
// are multiples of FULL_ALIGNMENT, as the CUDA backend asks where a product reads and writes whole tensors, and for one algorithm for each of the loose
// alignments, which is taken where an address needs it. 0 is the size of an element.
enum { MOST_CHOICES = 16, FULL_ALIGNMENT = 256 };
static const uint32_t loose_alignments[] = {16, 0};
enum { LOOSE_CHOICES = sizeof loose_alignments / sizeof loose_alignments[0] };

static lt_entries cublas;  // cuBLASLt's, on a real GPU

#define HIPLT(name, parameters) \
  EXPORT int name parameters;   \
  EXPORT int name parameters

// hipBLASLt's objects: what was set, and on a real GPU cuBLASLt's object.
typedef struct operation_record {
  lt_operation real;
  int compute_type, scale_type;
  int32_t turn_a, turn_b;
  uint32_t epilogue;
  const void *bias;
  // cuBLASLt's proposals, to which the 16 bytes of hipBLASLt's algorithms give the number, and behind them one for each of loose_alignments.
  lt_choice choices[MOST_CHOICES + LOOSE_CHOICES];
} operation_record;

typedef struct layout_record {
  lt_layout real;
  int type;
  int64_t rows, cols, leading, stride;
  int32_t batch;
} layout_record;

typedef struct preference_record {
  uint64_t workspace_bytes;
} preference_record;

typedef struct handle_record {
  lt_handle real;
} handle_record;

// hipBLASLt's form of lt_choice.
typedef struct hip_choice {
  hiplt_algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} hip_choice;

_Static_assert(sizeof(hip_choice) == 56, "as hipblaslt.h has it");

static bool is_real(void) { return standin_hip_beside()->is_real; }

// cuBLASLt's status code as hipBLASLt's.
static int status_of(int code) {
  switch (code) {
    case LT_SUCCESS:
      return LT_SUCCESS;
    case LT_ALLOC_FAILED:
      return HIPLT_ALLOC_FAILED;
    case LT_INVALID_VALUE:
      return HIPLT_INVALID_VALUE;
    case LT_ARCH_MISMATCH:
      return HIPLT_ARCH_MISMATCH;
    case LT_NOT_SUPPORTED:
      return HIPLT_NOT_SUPPORTED;
    default:
      return INTERNAL_ERROR;
  }
}

static int take(void *to, size_t room, const void *value, size_t bytes) {
  if (room != bytes) return HIPLT_INVALID_VALUE;
  memcpy(to, value, bytes);
  return LT_SUCCESS;
}

// --- Handles --------------------------------------------------------------------------------------------------------

static void open_cublas(void) {
  void *library = standin_hip_open(
      (const char *const[]){"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so", NULL});
#define STANDIN_ENTRY(name, exported, parameters) standin_hip_find(library, exported, &cublas.name);
  LT_ENTRY_POINTS(STANDIN_ENTRY, "cublasLt")
#undef STANDIN_ENTRY
}

HIPLT(hipblasLtCreate, (handle_record * *handle)) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (is_real()) pthread_once(&once, open_cublas);
  if (standin_hip_beside()->enter()) return INTERNAL_ERROR;
  *handle = calloc(1, sizeof **handle);
  return is_real() ? status_of(cublas.Create(&(*handle)->real)) : LT_SUCCESS;
}

HIPLT(hipblasLtDestroy, (handle_record * handle)) {
  int code = is_real() ? status_of(cublas.Destroy(handle->real)) : LT_SUCCESS;
  free(handle);
  return code;
}

// --- Operations -----------------------------------------------------------------------------------------------------

static int cuda_compute_type(int type) {
  switch (type) {
    case HIPLT_COMPUTE_32F:
      return LT_COMPUTE_32F;
    case HIPLT_COMPUTE_64F:
      return LT_COMPUTE_64F;
    case HIPLT_COMPUTE_32I:
      return LT_COMPUTE_32I;
    case HIPLT_COMPUTE_32F_FAST_TF32:
      return LT_COMPUTE_32F_FAST_TF32;
    default:
      return -1;
  }
}

HIPLT(hipblasLtMatmulDescCreate, (operation_record * *operation, int compute_type, int scale_type)) {
  int compute = cuda_compute_type(compute_type);
  if (compute < 0) return HIPLT_INVALID_VALUE;
  operation_record *o = *operation = calloc(1, sizeof *o);
  *o = (operation_record){.compute_type = compute_type,
                          .scale_type = scale_type,
                          .turn_a = HIPLT_AS_IS,
                          .turn_b = HIPLT_AS_IS,
                          .epilogue = LT_EPILOGUE_DEFAULT};
  return is_real() ? status_of(cublas.DescCreate(&o->real, compute, scale_type)) : LT_SUCCESS;
}

HIPLT(hipblasLtMatmulDescDestroy, (operation_record * operation)) {
  int code = is_real() ? status_of(cublas.DescDestroy(operation->real)) : LT_SUCCESS;
  free(operation);
  return code;
}

static int set_turn(operation_record *o, int cuda_attribute, int32_t *turn, const void *value, size_t bytes) {
  int code = take(turn, sizeof *turn, value, bytes);
  int32_t is_turned = *turn == HIPLT_TRANSPOSED;
  if (*turn != HIPLT_AS_IS && !is_turned) return HIPLT_INVALID_VALUE;
  if (code || !is_real()) return code;
  return status_of(cublas.DescSet(o->real, cuda_attribute, &is_turned, sizeof is_turned));
}

static int set_same(operation_record *o, int cuda_attribute, void *to, size_t room, const void *value, size_t bytes) {
  int code = take(to, room, value, bytes);
  if (code || !is_real()) return code;
  return status_of(cublas.DescSet(o->real, cuda_attribute, value, bytes));
}

HIPLT(hipblasLtMatmulDescSetAttribute, (operation_record * o, int attribute, const void *value, size_t bytes)) {
  switch (attribute) {
    case HIPLT_TRANSPOSE_A:
      return set_turn(o, LT_TRANSPOSE_A, &o->turn_a, value, bytes);
    case HIPLT_TRANSPOSE_B:
      return set_turn(o, LT_TRANSPOSE_B, &o->turn_b, value, bytes);
    case HIPLT_EPILOGUE:
      return set_same(o, LT_EPILOGUE, &o->epilogue, sizeof o->epilogue, value, bytes);
    case HIPLT_BIAS_POINTER:
      return set_same(o, LT_BIAS_POINTER, &o->bias, sizeof o->bias, value, bytes);
    default:
      return HIPLT_INVALID_VALUE;
  }
}

// --- Layouts and preferences ----------------------------------------------------------------------------------------

HIPLT(hipblasLtMatrixLayoutCreate, (layout_record * *layout, int type, uint64_t rows, uint64_t cols, int64_t leading)) {
  if (leading < (int64_t)rows) return HIPLT_INVALID_VALUE;
  layout_record *l = *layout = calloc(1, sizeof *l);
  *l = (layout_record){.type = type, .rows = (int64_t)rows, .cols = (int64_t)cols, .leading = leading, .batch = 1};
  return is_real() ? status_of(cublas.LayoutCreate(&l->real, type, rows, cols, leading)) : LT_SUCCESS;
}

HIPLT(hipblasLtMatrixLayoutDestroy, (layout_record * layout)) {
  int code = is_real() ? status_of(cublas.LayoutDestroy(layout->real)) : LT_SUCCESS;
  free(layout);
  return code;
}

HIPLT(hipblasLtMatrixLayoutSetAttribute, (layout_record * l, int attribute, const void *value, size_t bytes)) {
  bool is_count = attribute == HIPLT_BATCH_COUNT;
  if (!is_count && attribute != HIPLT_BATCH_STRIDE) return HIPLT_INVALID_VALUE;
  int code =
      is_count ? take(&l->batch, sizeof l->batch, value, bytes) : take(&l->stride, sizeof l->stride, value, bytes);
  if (code || !is_real()) return code;
  return status_of(cublas.LayoutSet(l->real, is_count ? LT_BATCH_COUNT : LT_BATCH_STRIDE, value, bytes));
}

HIPLT(hipblasLtMatmulPreferenceCreate, (preference_record * *preference)) {
  *preference = calloc(1, sizeof **preference);
  return LT_SUCCESS;
}

HIPLT(hipblasLtMatmulPreferenceDestroy, (preference_record * preference)) {
  free(preference);
  return LT_SUCCESS;
}

HIPLT(hipblasLtMatmulPreferenceSetAttribute,
      (preference_record * preference, int attribute, const void *value, size_t bytes)) {
  if (attribute != HIPLT_MAX_WORKSPACE) return HIPLT_INVALID_VALUE;
  return take(&preference->workspace_bytes, sizeof preference->workspace_bytes, value, bytes);
}

// --- Proposals ------------------------------------------------------------------------------------------------------

typedef struct layouts {
  const layout_record *a, *b, *c, *d;
} layouts;

static uint32_t bytes_of(int type) { return type == LT_R_8I ? 1 : type == LT_R_16F || type == LT_R_16BF ? 2 : 4; }

// Asks cuBLASLt for up to `wanted` proposals for addresses that are multiples of `alignment`, of an element's size if that is 0.
static int ask_cublas(const handle_record *handle, const operation_record *o, const layouts *l, uint64_t workspace,
                      uint32_t alignment, int wanted, lt_choice *choices, int *count) {
  lt_preference preference = NULL;
  uint32_t reductions = LT_REDUCE_INPLACE | LT_REDUCE_COMPUTE_TYPE;
  *count = 0;
  int code = cublas.PreferenceCreate(&preference);
  if (code == LT_SUCCESS) code = cublas.PreferenceSet(preference, LT_MAX_WORKSPACE, &workspace, sizeof workspace);
  if (code == LT_SUCCESS) code = cublas.PreferenceSet(preference, LT_REDUCTION_MASK, &reductions, sizeof reductions);
  for (int i = 0; i < 4 && code == LT_SUCCESS; i++) {
    uint32_t least = alignment ? alignment : bytes_of(i < 2 ? l->a->type : l->d->type);
    code = cublas.PreferenceSet(preference, LT_MIN_ALIGNMENT_A + i, &least, sizeof least);
  }
  if (code == LT_SUCCESS) {
    code = cublas.GetHeuristic(handle->real, o->real, l->a->real, l->b->real, l->c->real, l->d->real, preference,
                               wanted, choices, count);
  }
  if (preference) (void)cublas.PreferenceDestroy(preference);
  return status_of(code);
}

static int propose_real(const handle_record *handle, operation_record *o, const layouts *l, uint64_t workspace,
                        int wanted, hip_choice *choices, int *count) {
  if (standin_hip_beside()->enter()) return INTERNAL_ERROR;
  int code = ask_cublas(handle, o, l, workspace, FULL_ALIGNMENT, wanted, o->choices, count);
  if (code) return code;
  for (int i = 0; i < LOOSE_CHOICES; i++) {
    lt_choice *choice = &o->choices[MOST_CHOICES + i];
    int found = 0;
    (void)ask_cublas(handle, o, l, workspace, loose_alignments[i], 1, choice, &found);
    if (found == 0) choice->state = LT_NOT_SUPPORTED;
  }
  for (int i = 0; i < *count; i++) {
    choices[i] =
        (hip_choice){.workspace_bytes = o->choices[i].workspace_bytes, .state = status_of(o->choices[i].state)};
    memcpy(choices[i].algorithm.data, &i, sizeof i);
  }
  return LT_SUCCESS;
}

// hipBLASLt has nothing for f64. Its products of bytes have sums in i32.
static bool is_known(const operation_record *o, const layouts *l) {
  bool is_whole = l->a->type == LT_R_8I;
  if (l->a->type == LT_R_64F || l->a->type != l->b->type || l->c->type != l->d->type) return false;
  if ((o->epilogue & LT_EPILOGUE_BIAS) && !o->bias) return false;
  return o->compute_type == (is_whole ? HIPLT_COMPUTE_32I : HIPLT_COMPUTE_32F) &&
         o->scale_type == (is_whole ? LT_R_32I : LT_R_32F) && (l->d->type == LT_R_32I) == is_whole;
}

HIPLT(hipblasLtMatmulAlgoGetHeuristic,
      (handle_record * handle, operation_record *o, layout_record *a, layout_record *b, layout_record *c,
       layout_record *d, preference_record *preference, int wanted, hip_choice *choices, int *count)) {
  const layouts l = {a, b, c, d};
  *count = 0;
  if (wanted < 1) return HIPLT_INVALID_VALUE;
  if (!is_known(o, &l)) return HIPLT_NOT_SUPPORTED;
  if (wanted > MOST_CHOICES) wanted = MOST_CHOICES;
  if (is_real()) return propose_real(handle, o, &l, preference->workspace_bytes, wanted, choices, count);
  choices[0] = (hip_choice){.state = LT_SUCCESS};
  *count = 1;
  return LT_SUCCESS;
}

// --- Products -------------------------------------------------------------------------------------------------------

// The algorithm for these addresses: the one that was proposed, or the one for what they are multiples of.
static const lt_choice *choice_for(const operation_record *o, const hiplt_algorithm *algorithm, const void *a,
                                   const void *b, const void *c, const void *d) {
  uintptr_t all = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d;
  int number = 0;
  memcpy(&number, algorithm->data, sizeof number);
  if (all % FULL_ALIGNMENT == 0) return &o->choices[number];
  return &o->choices[MOST_CHOICES + (all % loose_alignments[0] != 0)];
}

HIPLT(hipblasLtMatmul,
      (handle_record * handle, operation_record *o, const void *alpha, const void *a, layout_record *la, const void *b,
       layout_record *lb, const void *beta, const void *c, layout_record *lc, void *d, layout_record *ld,
       const hiplt_algorithm *algorithm, void *workspace, size_t workspace_bytes, cu_stream stream)) {
  if (!algorithm || !a || !b || !c || !d) return HIPLT_INVALID_VALUE;
  if (is_real()) {
    const lt_choice *choice = choice_for(o, algorithm, a, b, c, d);
    if (choice->state != LT_SUCCESS || choice->workspace_bytes > workspace_bytes) {
      return HIPLT_NOT_SUPPORTED;
    }
    if (standin_hip_beside()->enter()) return INTERNAL_ERROR;
    return status_of(cublas.Matmul(handle->real, o->real, alpha, a, la->real, b, lb->real, beta, c, lc->real, d,
                                   ld->real, &choice->algorithm, workspace, workspace_bytes, stream));
  }
  bool is_turned = o->turn_a == HIPLT_TRANSPOSED;
  standin_product product = {
      .m = ld->rows,
      .n = ld->cols,
      .k = is_turned ? la->rows : la->cols,
      .batch = ld->batch,
      .alpha = standin_hip_factor(alpha, o->scale_type),
      .beta = standin_hip_factor(beta, o->scale_type),
      .a = {a, la->type, is_turned, la->leading, la->stride},
      .b = {b, lb->type, o->turn_b == HIPLT_TRANSPOSED, lb->leading, lb->stride},
      .c = {c, lc->type, false, lc->leading, lc->stride},
      .d = d,
      .d_leading = ld->leading,
      .d_stride = ld->stride,
      .bias = o->epilogue & LT_EPILOGUE_BIAS ? o->bias : NULL,
      .epilogue = o->epilogue,
  };
  return standin_hip_multiply(stream, &product) ? INTERNAL_ERROR : LT_SUCCESS;
}
