// SPDX-License-Identifier: MIT
// Opens cuSOLVER and cuBLAS, and factors the matrices of a batch with them, one by one.
#include "backends/cuda/solver.h"

#include <limits.h>
#include <string.h>

#include "backends/cuda/solver_api.h"
#include "core/alloc.h"
#include "core/log.h"

#if defined(_WIN32)
static const char *const solver_names[] = {"cusolver64_12.dll", "cusolver64_11.dll", NULL};
static const char *const blas_names[] = {"cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll", NULL};
#else
static const char *const solver_names[] = {"libcusolver.so.12", "libcusolver.so.11",
                                           "/usr/local/cuda/lib64/libcusolver.so", NULL};
static const char *const blas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                         "/usr/local/cuda/lib64/libcublas.so", NULL};
#endif
const char *const *tsri_cusolver_names = solver_names, *const *tsri_cublas_names = blas_names;

#define TSRI_ENTRY(name, exported, parameters) int(CUDA_CALL * name) parameters;
typedef struct solver_entries {
  CUSOLVER_ENTRY_POINTS(TSRI_ENTRY)
} solver_entries;

typedef struct trsm_entries {
  CUBLAS_ENTRY_POINTS(TSRI_ENTRY)
} trsm_entries;

typedef struct dtype_entries {
  CUSOLVER_DTYPE_ENTRY_POINTS(TSRI_ENTRY)
  trsm_fn trsm;
} dtype_entries;
#undef TSRI_ENTRY

struct cuda_solver {
  solver_entries solver;
  trsm_entries blas;
  dtype_entries f32, f64;
  solver_handle handle;
  trsm_handle blas_handle;
  solver_jacobi jacobi;
  tsri_mutex lock;  // a handle has one stream at a time
};

// --- Opening ------------------------------------------------------------------------------------------------------------

#define TSRI_ENTRY(entry, exported, parameters) {exported, offsetof(cuda_solver, solver.entry)},
#define TSRI_DTYPE_ENTRY(entry, exported, parameters)         \
  {"cusolverDnS" exported, offsetof(cuda_solver, f32.entry)}, \
      {"cusolverDnD" exported, offsetof(cuda_solver, f64.entry)},
static const tsri_entry_point solver_list[] = {CUSOLVER_ENTRY_POINTS(TSRI_ENTRY)
                                                   CUSOLVER_DTYPE_ENTRY_POINTS(TSRI_DTYPE_ENTRY){NULL, 0}};
#undef TSRI_ENTRY
#undef TSRI_DTYPE_ENTRY

#define TSRI_ENTRY(entry, exported, parameters) {exported, offsetof(cuda_solver, blas.entry)},
static const tsri_entry_point blas_list[] = {
    CUBLAS_ENTRY_POINTS(TSRI_ENTRY){"cublasStrsm_v2", offsetof(cuda_solver, f32.trsm)},
    {"cublasDtrsm_v2", offsetof(cuda_solver, f64.trsm)},
    {NULL, 0}};
#undef TSRI_ENTRY

static void close_handles(cuda_solver *s) {
  if (s->jacobi) s->solver.JacobiDestroy(s->jacobi);
  if (s->blas_handle) s->blas.Destroy(s->blas_handle);
  if (s->handle) s->solver.Destroy(s->handle);
}

static cuda_solver *open_solver(const cuda_device *device) {
  char trail[800] = "";
  cuda_solver *s = tsri_calloc(1, sizeof *s);
  if (!s) return NULL;
  if (!tsri_cuda_open_library(tsri_cusolver_names, solver_list, s, trail, sizeof trail) ||
      !tsri_cuda_open_library(tsri_cublas_names, blas_list, s, trail, sizeof trail)) {
    tsri_log(TSR_LOG_INFO, "cuda: matrices are factored without cuSOLVER (%s)", trail);
    tsri_free(s);
    return NULL;
  }
  int code = s->solver.Create(&s->handle);
  if (code == SOLVER_SUCCESS) code = s->blas.Create(&s->blas_handle);
  if (code == SOLVER_SUCCESS) code = s->solver.JacobiCreate(&s->jacobi);
  if (code == SOLVER_SUCCESS) {
    tsri_mutex_init(&s->lock);
    return s;
  }
  tsri_log(TSR_LOG_WARN, "cuda: cuSOLVER does not start on %s (code %d)", device->name, code);
  close_handles(s);
  tsri_free(s);
  return NULL;
}

static cuda_solver *solver_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->solver && !device->solver_has_failed) {
    bool was_pushed = tsri_cuda_enter(device);
    device->solver = open_solver(device);
    device->solver_has_failed = !device->solver;
    tsri_cuda_leave(device, was_pushed);
  }
  cuda_solver *s = device->solver;
  tsri_mutex_unlock(&device->library_lock);
  return s;
}

void tsri_cuda_solver_close(cuda_device *device) {
  cuda_solver *s = device->solver;
  if (!s) return;
  bool was_pushed = tsri_cuda_enter(device);
  close_handles(s);
  tsri_cuda_leave(device, was_pushed);
  tsri_mutex_deinit(&s->lock);
  tsri_free(s);
  device->solver = NULL;
}

// --- What is taken ------------------------------------------------------------------------------------------------------

// When the libraries are used. One call of them factors one matrix, while our kernels factor all matrices of a batch at once. Milliseconds for one f32 matrix
// of n x n on an H200; in each column first our kernels, then the library (a single figure: our kernels):
//
// n      Cholesky      LU            QR            eigenvalues    singular values
// 64      0.07          0.12          0.28          0.6   0.8      0.7   1.1
// 128     0.18  0.10    0.30  0.21    0.64         13.4   1.5     13.7   2.8
// 512     1.81  0.36    2.30  0.88    4.5   1.9    60.5   4.8     68.8  18.2
// 2048   29.5   1.87   31.3   4.61   88    10.4   422    30.3    530   286
//
// A triangle of 500 x 500 and 500 columns takes 0.08 ms by our kernel and 0.14 by cuBLAS; one of 1000 x 1000 and 1,000 columns 0.24 and 0.26.
//
// Our kernels take hardly longer for a batch than for one matrix, so the libraries are used only for small batches: for matrices of at least `least` rows and
// columns, in batches of at most max(`few`, size / `each`).
static const struct {
  int64_t least, each, few;
} worth[TSRI_FACTORS] = {[TSRI_FACTOR_CHOLESKY] = {128, 64, 1},
                         [TSRI_FACTOR_LU] = {256, 256, 1},
                         [TSRI_FACTOR_QR] = {256, 256, 1},
                         [TSRI_FACTOR_EIGH] = {65, 256, 8},
                         [TSRI_FACTOR_SVD] = {65, 2048, 3}};

static bool takes_factor(const tsri_native_op *op) {
  const tsri_factor_op *factor = &op->is.factor;
  int64_t size = factor->m < factor->n ? factor->m : factor->n;
  if (op->parts != 0 || factor->m > INT_MAX || factor->n > INT_MAX || factor->columns > INT_MAX) return false;
  int64_t most = size / worth[factor->kind].each, few = worth[factor->kind].few;
  return size >= worth[factor->kind].least && factor->batch <= (most > few ? most : few);
}

static bool takes_solve(const tsri_solve_op *op) {
  enum { LEAST = 1025, EACH = 256 };  // our kernel (op_whole.tk) takes no more rows
  bool is_row_major = op->column == 1 && op->row >= op->m, is_column_major = op->row == 1 && op->column >= op->m;
  if (!is_row_major && !is_column_major) return false;
  if (op->n > INT_MAX || op->row > INT_MAX || op->column > INT_MAX) return false;
  return op->m >= LEAST && op->batch <= (op->m + EACH - 1) / EACH;
}

bool tsri_cuda_has_solver(cuda_device *device, const tsri_native_op *op) {
  if (!device->allows_solver || device->solver_has_failed) return false;
  bool is_taken = op->kind == TSRI_NATIVE_FACTOR ? takes_factor(op) : takes_solve(&op->is.solve);
  return is_taken && solver_of(device) != NULL;
}

// --- Running ------------------------------------------------------------------------------------------------------------

typedef struct solver_job {
  cuda_queue *queue;
  cuda_solver *solver;
  const dtype_entries *call;
  const tsri_native_op *op;
  int64_t element;                    // bytes
  cu_address tau, work, unused_info;  // in the queue's work space
  int work_count;                     // elements
} solver_job;

static cu_address at(const solver_job *job, tsri_place place, int64_t elements) {
  return cuda_address_of(place.buffer, place.offset) + (cu_address)(elements * job->element);
}

static cu_address number_at(tsri_place place, int64_t index) {
  return cuda_address_of(place.buffer, place.offset) + (cu_address)index * sizeof(int32_t);
}

// Sets job->work_count. The addresses are those of the first matrix.
static int measure(solver_job *job) {
  const tsri_factor_op *op = &job->op->is.factor;
  const dtype_entries *call = job->call;
  solver_handle handle = job->solver->handle;
  int m = (int)op->m, n = (int)op->n, k = m < n ? m : n, *count = &job->work_count, more = 0, code = SOLVER_SUCCESS;
  cu_address a = at(job, op->a, 0);
  switch (op->kind) {
    case TSRI_FACTOR_CHOLESKY:
      return call->PotrfSize(handle, SOLVER_UPPER, n, a, n, count);
    case TSRI_FACTOR_LU:
      return call->GetrfSize(handle, m, n, a, m, count);
    case TSRI_FACTOR_QR:
      code = call->GeqrfSize(handle, m, n, a, m, count);
      if (code == SOLVER_SUCCESS)
        code = call->OrgqrSize(handle, m, (int)op->columns, k, at(job, op->q, 0), m, a, &more);
      if (more > *count) *count = more;
      return code;
    case TSRI_FACTOR_EIGH:
      return call->SyevdSize(handle, SOLVER_VECTORS, SOLVER_UPPER, n, a, n, at(job, op->s, 0), count);
    default:
      return call->GesvdjSize(handle, SOLVER_VECTORS, 0, n, n, a, n, at(job, op->s, 0), at(job, op->u, 0), n,
                              at(job, op->v, 0), n, count, job->solver->jacobi);
  }
}

// Divides the queue's workspace for cuSOLVER: tau, an info word that nobody reads, work. Replaces it by a larger one if it is too small.
static tsr_status prepare(solver_job *job) {
  enum { ALIGNMENT = 256 };
  cuda_queue *queue = job->queue;
  int64_t tau_bytes = (job->op->is.factor.n * job->element + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  size_t bytes = (size_t)(tau_bytes + ALIGNMENT + job->work_count * job->element);
  if (queue->solver_bytes < bytes) {
    if (queue->solver_work) (void)queue->cu->MemFree(queue->solver_work);  // waits for queued work
    queue->solver_work = 0;
    queue->solver_bytes = 0;
    cu_result code = queue->cu->MemAlloc(&queue->solver_work, bytes);
    if (code != CU_SUCCESS) {
      queue->solver_work = 0;
      return CUDA_FAIL(queue->device, code, TSR_ERR_INTERNAL, "work space of %zu bytes for cuSOLVER", bytes);
    }
    queue->solver_bytes = bytes;
  }
  tsri_cuda_use_scratch(queue, queue->solver_work, queue->solver_bytes);
  job->tau = queue->solver_work;
  job->unused_info = job->tau + (cu_address)tau_bytes;
  job->work = job->unused_info + ALIGNMENT;
  return TSR_OK;
}

// Frees the workspace if it is large. MemFree waits until the factorisations are done.
static void finish(cuda_queue *queue) {
  enum { KEPT_BYTES = 256 << 20 };
  if (queue->solver_bytes <= KEPT_BYTES) return;
  (void)queue->cu->MemFree(queue->solver_work);
  queue->solver_work = 0;
  queue->solver_bytes = 0;
}

static int factor_qr(const solver_job *job, int64_t b) {
  const tsri_factor_op *op = &job->op->is.factor;
  int m = (int)op->m, n = (int)op->n, k = m < n ? m : n, columns = (int)op->columns;
  cu_address a = at(job, op->a, b * op->m * op->n), q = at(job, op->q, b * op->m * op->columns);
  int code = job->call->Geqrf(job->solver->handle, m, n, a, m, job->tau, job->work, job->work_count, job->unused_info);
  if (code != SOLVER_SUCCESS) return code;
  code = job->queue->cu->MemcpyDtoDAsync(q, a, (size_t)(op->m * k * job->element), job->queue->stream);
  if (code != CU_SUCCESS) return code;
  return job->call->Orgqr(job->solver->handle, m, columns, k, q, m, job->tau, job->work, job->work_count,
                          job->unused_info);
}

static int factor_one(const solver_job *job, int64_t b) {
  const tsri_factor_op *op = &job->op->is.factor;
  const dtype_entries *call = job->call;
  solver_handle handle = job->solver->handle;
  int m = (int)op->m, n = (int)op->n;
  int64_t count = op->m * op->n, least = m < n ? m : n;
  cu_address a = at(job, op->a, b * count);
  switch (op->kind) {
    case TSRI_FACTOR_CHOLESKY:
      return call->Potrf(handle, SOLVER_UPPER, n, a, n, job->work, job->work_count, number_at(op->info, b));
    case TSRI_FACTOR_LU:
      return call->Getrf(handle, m, n, a, m, job->work, number_at(op->rows, b * least), job->unused_info);
    case TSRI_FACTOR_QR:
      return factor_qr(job, b);
    case TSRI_FACTOR_EIGH:
      return call->Syevd(handle, SOLVER_VECTORS, SOLVER_UPPER, n, a, n, at(job, op->s, b * n), job->work,
                         job->work_count, number_at(op->info, b));
    default:
      return call->Gesvdj(handle, SOLVER_VECTORS, 0, n, n, a, n, at(job, op->s, b * n), at(job, op->u, b * count), n,
                          at(job, op->v, b * count), n, job->work, job->work_count, number_at(op->info, b),
                          job->solver->jacobi);
  }
}

// cuBLAS is column-major, so it sees our row-major x as its transpose, n x m, and solves with the triangular matrix on the right. A row-major
// triangular matrix is passed as it is in memory.
static int solve_one(const solver_job *job, int64_t b) {
  const tsri_solve_op *op = &job->op->is.solve;
  const float one = 1;
  const double wide_one = 1;
  bool is_row_major = op->column == 1 && op->row >= op->m;
  int uplo = op->is_upper != is_row_major ? SOLVER_UPPER : SOLVER_LOWER;
  return job->call->trsm(job->solver->blas_handle, TRSM_RIGHT, uplo, is_row_major ? TRSM_NOT_TURNED : TRSM_TURNED,
                         op->is_unit ? TRSM_UNIT : 0, (int)op->n, (int)op->m,
                         job->op->dtype == TSR_F64 ? (const void *)&wide_one : (const void *)&one,
                         at(job, op->l, b * op->batch_step), (int)(is_row_major ? op->row : op->column),
                         at(job, op->x, b * op->m * op->n), (int)op->n);
}

static tsr_status fail(const solver_job *job, int code, bool is_out) {
  return TSRI_FAIL(is_out ? TSR_ERR_OUT_OF_MEMORY : TSR_ERR_LAUNCH, "%s: factoring a matrix by %s failed (code %d)",
                   job->queue->device->name, job->op->kind == TSRI_NATIVE_SOLVE ? "cuBLAS" : "cuSOLVER", code);
}

static tsr_status factor_all(solver_job *job) {
  int code = job->solver->solver.SetStream(job->solver->handle, job->queue->stream);
  if (code == SOLVER_SUCCESS) code = measure(job);
  if (code != SOLVER_SUCCESS) return fail(job, code, code == SOLVER_ALLOC_FAILED);
  tsr_status status = prepare(job);
  if (status != TSR_OK) return status;
  for (int64_t b = 0; b < job->op->is.factor.batch && code == SOLVER_SUCCESS; b++) code = factor_one(job, b);
  finish(job->queue);
  return code == SOLVER_SUCCESS ? TSR_OK : fail(job, code, code == SOLVER_ALLOC_FAILED);
}

static tsr_status solve_all(const solver_job *job) {
  int code = job->solver->blas.SetStream(job->solver->blas_handle, job->queue->stream);
  for (int64_t b = 0; b < job->op->is.solve.batch && code == SOLVER_SUCCESS; b++) code = solve_one(job, b);
  return code == SOLVER_SUCCESS ? TSR_OK : fail(job, code, code == TRSM_ALLOC_FAILED);
}

tsr_status tsri_cuda_solve(cuda_queue *queue, const tsri_native_op *op) {
  cuda_solver *s = solver_of(queue->device);
  if (!s) return TSR_ERR_UNSUPPORTED;
  if (queue->is_recording) return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "cuSOLVER is not recorded in graphs");
  solver_job job = {.queue = queue, .solver = s, .call = op->dtype == TSR_F64 ? &s->f64 : &s->f32, .op = op};
  job.element = (int64_t)tsr_dtype_bytes(op->dtype);
  tsri_mutex_lock(&s->lock);
  tsr_status status = op->kind == TSRI_NATIVE_SOLVE ? solve_all(&job) : factor_all(&job);
  tsri_mutex_unlock(&s->lock);
  return status;
}
