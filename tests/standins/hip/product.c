// SPDX-License-Identifier: MIT
// Products element by element, in f64, rounded once to the type of the result.
#include "standins/hip/product.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- The stand-in for HIP -------------------------------------------------------------------------------------------

void standin_hip_find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  if (!symbol) fprintf(stderr, "stand-in: no %s\n", name);
  memcpy(out_function, &symbol, sizeof symbol);
}

static standin_beside beside;

static void find_all(void) {
  bool (*has_gpu)(void) = NULL;
  void *hip = standin_hip_open((const char *const[]){"libamdhip64.so.6", NULL});
  standin_hip_find(hip, "standin_hip_enter", &beside.enter);
  standin_hip_find(hip, "standin_hip_is_recording", &beside.is_recording);
  standin_hip_find(hip, "standin_hip_queue", &beside.queue);
  standin_hip_find(hip, "standin_hip_has_gpu", &has_gpu);
  beside.is_real = has_gpu();
}

const standin_beside *standin_hip_beside(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
  return &beside;
}

// --- Elements -------------------------------------------------------------------------------------------------------

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double from_half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                               : ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
  return bits >> 15 ? -size : size;
}

static double get(const standin_matrix *m, int64_t batch, int64_t row, int64_t col) {
  int64_t at = batch * m->stride + (m->is_turned ? col + row * m->leading : row + col * m->leading);
  switch (m->type) {
    case LT_R_16F:
      return from_half(((const uint16_t *)m->memory)[at]);
    case LT_R_32F:
      return (double)((const float *)m->memory)[at];
    case LT_R_64F:
      return ((const double *)m->memory)[at];
    case LT_R_8I:
      return ((const int8_t *)m->memory)[at];
    case LT_R_32I:
      return ((const int32_t *)m->memory)[at];
    default:
      return (double)from_bits((uint32_t)((const uint16_t *)m->memory)[at] << 16);
  }
}

// Rounds to the nearest number with `digits` binary digits, ties to even; below 2^lowest to a multiple of 2^(lowest - digits + 1).
static double rounded(double x, int digits, int lowest) {
  int exponent = 0;
  if (x == 0 || !isfinite(x)) return x;
  (void)frexp(x, &exponent);
  int unit = (exponent - 1 > lowest ? exponent - 1 : lowest) - digits + 1;
  return ldexp(nearbyint(ldexp(x, -unit)), unit);
}

static uint16_t to_half(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  double size = fabs(rounded(x, 11, -14));
  if (isnan(x)) return 0x7e00;
  if (size >= 65536) return (uint16_t)(sign | 0x7c00);
  if (size < ldexp(1, -14)) return (uint16_t)(sign | (unsigned)ldexp(size, 24));
  int exponent = 0;
  double fraction = frexp(size, &exponent);
  return (uint16_t)(sign | ((unsigned)(exponent + 14) << 10) | ((unsigned)ldexp(fraction, 11) & 1023));
}

static void put(void *memory, int type, int64_t at, double value) {
  float narrow = (float)(type == LT_R_32F ? value : rounded(value, 8, -126));
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if (type == LT_R_32F) ((float *)memory)[at] = narrow;
  else if (type == LT_R_64F) ((double *)memory)[at] = value;
  else if (type == LT_R_32I) ((int32_t *)memory)[at] = (int32_t)value;
  else if (type == LT_R_16F) ((uint16_t *)memory)[at] = to_half(value);
  else ((uint16_t *)memory)[at] = (uint16_t)(bits >> 16);
}

double standin_hip_factor(const void *factor, int type) {
  if (type == LT_R_64F) return *(const double *)factor;
  return type == LT_R_32I ? *(const int32_t *)factor : (double)*(const float *)factor;
}

// --- Products -------------------------------------------------------------------------------------------------------

static double activated(uint32_t epilogue, double x) {
  if (epilogue & LT_EPILOGUE_RELU) return x < 0 ? 0 : x;
  if (epilogue & LT_EPILOGUE_GELU) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

static void multiply(const standin_product *p) {
  const standin_matrix bias = {.memory = p->bias, .type = p->c.type, .leading = 1};
  for (int64_t z = 0; z < p->batch; z++) {
    for (int64_t j = 0; j < p->n; j++) {
      for (int64_t i = 0; i < p->m; i++) {
        double sum = 0;
        for (int64_t l = 0; l < p->k; l++) sum += get(&p->a, z, i, l) * get(&p->b, z, l, j);
        sum = p->alpha * sum + (p->beta != 0 ? p->beta * get(&p->c, z, i, j) : 0);
        if (p->bias) sum += get(&bias, 0, i, 0);
        put(p->d, p->c.type, z * p->d_stride + i + j * p->d_leading, activated(p->epilogue, sum));
      }
    }
  }
}

// A product that waits for its turn. A graph may run it again, so what was recorded is kept until the process ends.
typedef struct waiting_product {
  standin_product product;
  bool is_recorded;
  struct waiting_product *next;
} waiting_product;

static waiting_product *recorded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void run_waiting(void *user) {
  waiting_product *w = user;
  multiply(&w->product);
  if (!w->is_recorded) free(w);
}

int standin_hip_multiply(cu_stream stream, const standin_product *product) {
  waiting_product *w = calloc(1, sizeof *w);
  w->product = *product;
  w->is_recorded = beside.is_recording(stream);
  if (w->is_recorded) {
    pthread_mutex_lock(&lock);
    w->next = recorded;
    recorded = w;
    pthread_mutex_unlock(&lock);
  }
  int code = beside.queue(stream, run_waiting, w);
  if (code && !w->is_recorded) free(w);
  return code;
}
