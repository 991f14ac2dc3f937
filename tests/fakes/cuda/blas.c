// SPDX-License-Identifier: MIT
// cuBLASLt's part of the stand-in: products of f32, f64 and i8, and of f16 with results in f32, element by element. It refuses other types, and products of i8
// unless the elements of both factors are neighbours along k. It proposes three algorithms, which differ only in the time that they claim to take; the
// second is the fastest.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/blas_api.h"
#include "fakes/cuda/stream.h"

#define EXPORT __attribute__((visibility("default")))

enum { PROPOSALS = 3 };
static const int proposal_us[PROPOSALS] = {30, 10, 20};

struct lt_handle_tag {
  int none;
};

struct lt_operation_tag {
  int compute_type, scale_type;
  int32_t turn_a, turn_b;
  uint32_t epilogue;
  cu_address bias;
};

struct lt_layout_tag {
  int type;
  int64_t rows, cols, leading, batch_stride;
  int32_t batch;
};

struct lt_preference_tag {
  uint32_t alignments[4];
};

void fake_count_plan(int step) {
  fake_lock();
  fake_state()->live_plans += step;
  fake_unlock();
}

EXPORT int cublasLtCreate(lt_handle *handle) {
  if (fake_enter()) return 1;
  *handle = calloc(1, sizeof **handle);
  fake_count_plan(1);
  return LT_SUCCESS;
}

EXPORT int cublasLtDestroy(lt_handle handle) {
  free(handle);
  fake_count_plan(-1);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatmulDescCreate(lt_operation *operation, int compute_type, int scale_type) {
  *operation = calloc(1, sizeof **operation);
  (*operation)->compute_type = compute_type;
  (*operation)->scale_type = scale_type;
  fake_count_plan(1);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatmulDescDestroy(lt_operation operation) {
  free(operation);
  fake_count_plan(-1);
  return LT_SUCCESS;
}

static int take(void *to, size_t room, const void *value, size_t bytes) {
  if (room != bytes) return LT_INVALID_VALUE;
  memcpy(to, value, bytes);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatmulDescSetAttribute(lt_operation operation, int attribute, const void *value, size_t bytes) {
  switch (attribute) {
    case LT_TRANSPOSE_A:
      return take(&operation->turn_a, sizeof operation->turn_a, value, bytes);
    case LT_TRANSPOSE_B:
      return take(&operation->turn_b, sizeof operation->turn_b, value, bytes);
    case LT_EPILOGUE:
      return take(&operation->epilogue, sizeof operation->epilogue, value, bytes);
    case LT_BIAS_POINTER:
      return take(&operation->bias, sizeof operation->bias, value, bytes);
    default:
      return LT_INVALID_VALUE;
  }
}

EXPORT int cublasLtMatrixLayoutCreate(lt_layout *layout, int type, uint64_t rows, uint64_t cols, int64_t leading) {
  if (leading < (int64_t)rows) return LT_INVALID_VALUE;
  *layout = calloc(1, sizeof **layout);
  **layout = (struct lt_layout_tag){
      .type = type, .rows = (int64_t)rows, .cols = (int64_t)cols, .leading = leading, .batch = 1};
  fake_count_plan(1);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatrixLayoutDestroy(lt_layout layout) {
  free(layout);
  fake_count_plan(-1);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatrixLayoutSetAttribute(lt_layout layout, int attribute, const void *value, size_t bytes) {
  if (attribute == LT_BATCH_COUNT) return take(&layout->batch, sizeof layout->batch, value, bytes);
  if (attribute == LT_BATCH_STRIDE) return take(&layout->batch_stride, sizeof layout->batch_stride, value, bytes);
  return LT_INVALID_VALUE;
}

EXPORT int cublasLtMatmulPreferenceCreate(lt_preference *preference) {
  *preference = calloc(1, sizeof **preference);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatmulPreferenceDestroy(lt_preference preference) {
  free(preference);
  return LT_SUCCESS;
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(lt_preference preference, int attribute, const void *value,
                                                size_t bytes) {
  int index = attribute - LT_MIN_ALIGNMENT_A;
  if (index < 0 || index > 3) return bytes == 8 || bytes == 4 ? LT_SUCCESS : LT_INVALID_VALUE;
  return take(&preference->alignments[index], sizeof preference->alignments[index], value, bytes);
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_operation operation, lt_layout a, lt_layout b,
                                          lt_layout c, lt_layout d, lt_preference preference, int wanted,
                                          lt_choice *choices, int *count) {
  (void)handle;
  (void)b;
  (void)c;
  *count = 0;
  bool is_whole = a->type == LT_R_8I;
  bool is_half = a->type == LT_R_16F && d->type == LT_R_32F;
  if (a->type != LT_R_32F && a->type != LT_R_64F && !is_whole && !is_half) return LT_NOT_SUPPORTED;
  if (is_whole && (!operation->turn_a || operation->turn_b || d->type != LT_R_32I)) return LT_NOT_SUPPORTED;
  if (is_whole != (operation->compute_type == LT_COMPUTE_32I)) return LT_INVALID_VALUE;
  for (int i = 0; i < 4; i++) {
    if (preference->alignments[i] == 0 || preference->alignments[i] > 256) return LT_INVALID_VALUE;
  }
  int64_t inner = operation->turn_a ? a->rows : a->cols, rows = operation->turn_a ? a->cols : a->rows;
  int64_t inner_b = operation->turn_b ? b->cols : b->rows, cols = operation->turn_b ? b->rows : b->cols;
  if (inner != inner_b || rows != d->rows || cols != d->cols) return LT_INVALID_VALUE;
  for (; *count < wanted && *count < PROPOSALS; (*count)++) {
    choices[*count] = (lt_choice){.algorithm.data[0] = (uint64_t)*count, .workspace_bytes = 1024};
  }
  return LT_SUCCESS;
}

static double from_half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 ? -size : size;
}

static double get(const struct lt_layout_tag *layout, const void *memory, int64_t batch, int64_t row, int64_t col) {
  int64_t at = batch * layout->batch_stride + row + col * layout->leading;
  if (layout->type == LT_R_8I) return ((const int8_t *)memory)[at];
  if (layout->type == LT_R_16F) return from_half(((const uint16_t *)memory)[at]);
  return layout->type == LT_R_64F ? ((const double *)memory)[at] : (double)((const float *)memory)[at];
}

static double finish(const struct lt_operation_tag *operation, double value) {
  if (operation->epilogue & LT_EPILOGUE_RELU) return value > 0 ? value : 0;
  if (operation->epilogue & LT_EPILOGUE_GELU) {
    return 0.5 * value * (1 + tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
  }
  return value;
}

EXPORT int cublasLtMatmul(lt_handle handle, lt_operation operation, const void *alpha, const void *a,
                          lt_layout a_layout, const void *b, lt_layout b_layout, const void *beta, const void *c,
                          lt_layout c_layout, void *d, lt_layout d_layout, const lt_algorithm *algorithm,
                          void *workspace, size_t workspace_bytes, cu_stream stream) {
  if (!handle || !algorithm || !workspace || workspace_bytes != 1024) return LT_INVALID_VALUE;
  if (fake_enter()) return 13;
  bool is_wide = d_layout->type == LT_R_64F, is_whole = d_layout->type == LT_R_32I;
  double factor = is_wide ? *(const double *)alpha : is_whole ? *(const int32_t *)alpha : (double)*(const float *)alpha;
  double share = is_wide ? *(const double *)beta : is_whole ? *(const int32_t *)beta : (double)*(const float *)beta;
  const void *bias = (const void *)(uintptr_t)operation->bias;
  struct lt_layout_tag bias_layout = {.type = d_layout->type, .leading = 1};
  int64_t inner = operation->turn_a ? a_layout->rows : a_layout->cols;
  fake_lock();
  fake_run_stream(stream);
  fake_spend(proposal_us[algorithm->data[0]]);
  fake_state()->products++;
  fake_state()->last_proposal = (int)algorithm->data[0];
  for (int64_t batch = 0; batch < d_layout->batch && !fake_state()->is_idle; batch++) {
    for (int64_t i = 0; i < d_layout->rows; i++) {
      for (int64_t j = 0; j < d_layout->cols; j++) {
        double sum = 0;
        for (int64_t l = 0; l < inner; l++) {
          sum += get(a_layout, a, batch, operation->turn_a ? l : i, operation->turn_a ? i : l) *
                 get(b_layout, b, batch, operation->turn_b ? j : l, operation->turn_b ? l : j);
        }
        sum *= factor;
        if (share != 0) sum += share * get(c_layout, c, batch, i, j);
        if (operation->epilogue & LT_EPILOGUE_BIAS) sum += get(&bias_layout, bias, 0, i, 0);
        sum = finish(operation, sum);
        int64_t at = batch * d_layout->batch_stride + i + j * d_layout->leading;
        if (is_wide) ((double *)d)[at] = sum;
        else if (is_whole) ((int32_t *)d)[at] = (int32_t)sum;
        else ((float *)d)[at] = (float)sum;
      }
    }
  }
  fake_unlock();
  return LT_SUCCESS;
}
