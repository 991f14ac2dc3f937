// SPDX-License-Identifier: MIT
// The parts of cuSOLVER and cuBLAS in the stand-in: factors by the plain methods of factors.h, in f32 and f64.
#include <stdlib.h>

#include "backends/cuda/solver_api.h"
#include "fakes/cuda/stream.h"
#include "fakes/factors.h"

#define EXPORT         __attribute__((visibility("default")))
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)

enum { WORK = 16 };  // elements that every function asks for

struct solver_handle_tag {
  cu_stream stream;
};

struct trsm_handle_tag {
  cu_stream stream;
};

struct solver_jacobi_tag {
  int none;
};

EXPORT int cusolverDnCreate(solver_handle *handle) {
  if (fake_enter()) return 1;
  *handle = calloc(1, sizeof **handle);
  fake_count_plan(1);
  return SOLVER_SUCCESS;
}

EXPORT int cusolverDnDestroy(solver_handle handle) {
  free(handle);
  fake_count_plan(-1);
  return SOLVER_SUCCESS;
}

EXPORT int cusolverDnSetStream(solver_handle handle, cu_stream stream) {
  handle->stream = stream;
  return SOLVER_SUCCESS;
}

EXPORT int cusolverDnCreateGesvdjInfo(solver_jacobi *options) {
  *options = calloc(1, sizeof **options);
  fake_count_plan(1);
  return SOLVER_SUCCESS;
}

EXPORT int cusolverDnDestroyGesvdjInfo(solver_jacobi options) {
  free(options);
  fake_count_plan(-1);
  return SOLVER_SUCCESS;
}

EXPORT int cublasCreate_v2(trsm_handle *handle) {
  if (fake_enter()) return 1;
  *handle = calloc(1, sizeof **handle);
  fake_count_plan(1);
  return SOLVER_SUCCESS;
}

EXPORT int cublasDestroy_v2(trsm_handle handle) {
  free(handle);
  fake_count_plan(-1);
  return SOLVER_SUCCESS;
}

EXPORT int cublasSetStream_v2(trsm_handle handle, cu_stream stream) {
  handle->stream = stream;
  return SOLVER_SUCCESS;
}

// Runs what is queued before the factorisation. Returns whether the call fails; else the state is locked until finish().
static bool begin(cu_stream stream) {
  if (fake_enter()) return true;
  fake_lock();
  fake_run_stream(stream);
  fake_state()->factors++;
  return false;
}

static int finish(void) {
  fake_unlock();
  return SOLVER_SUCCESS;
}

static int ask(int *count) {
  *count = WORK;
  return SOLVER_SUCCESS;
}

static void *memory(cu_address address) { return (void *)(uintptr_t)address; }

#define REAL         float
#define SOLVER(name) JOIN(cusolverDnS, name, )
#define BLAS(name)   JOIN(cublasS, name, _v2)
#define OWN(name)    JOIN(name, _, f32)
#include "fakes/cuda/solver.inc"
#undef REAL
#undef SOLVER
#undef BLAS
#undef OWN

#define REAL         double
#define SOLVER(name) JOIN(cusolverDnD, name, )
#define BLAS(name)   JOIN(cublasD, name, _v2)
#define OWN(name)    JOIN(name, _, f64)
#include "fakes/cuda/solver.inc"
