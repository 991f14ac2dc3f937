// SPDX-License-Identifier: MIT
// Factors the matrices of a batch. Each matrix is factored by one thread; the matrices are distributed over our own threads.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/lapack/lapack.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/strided.h"
#include "platform/parallel.h"

// Multiplications in the whole batch, approximately. With fewer, the portable kernels take only microseconds, less than opening the library.
enum { LEAST_WORK = 1 << 13 };

// gesdd asks for about 7 n^2 elements, whose number is an int.
enum { MOST_SINGULAR = 16384 };

// Workspace up to this size stays allocated for the next operator. Larger matrices take so long that allocating memory again does not matter.
enum { KEPT_BYTES = 16 << 20 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// --- What is taken ---------------------------------------------------------------------------------------------------

static bool takes_factor(const tsri_factor_op *op) {
  if (op->m > INT_MAX || op->n > INT_MAX || op->columns > INT_MAX) return false;
  bool is_spectral = op->kind == TSRI_FACTOR_SVD || op->kind == TSRI_FACTOR_EIGH;
  if (is_spectral && op->n > MOST_SINGULAR) return false;
  return (double)op->batch * (double)op->m * (double)op->n * (double)least(op->m, op->n) >= LEAST_WORK;
}

// Whether the operator is supported: the rows or the columns of the triangular matrices must be contiguous.
static bool takes_solve(const tsri_solve_op *op) {
  bool is_row_major = op->m == 1 || (op->column == 1 && op->row >= op->m);
  bool is_column_major = op->row == 1 && op->column >= op->m;
  if (!is_row_major && !is_column_major) return false;
  if (op->m > INT_MAX || op->n > INT_MAX || op->row > INT_MAX || op->column > INT_MAX) return false;
  return (double)op->batch * (double)op->m * (double)op->m * (double)op->n >= LEAST_WORK;
}

bool tsri_cpu_has_lapack(const cpu_device *device, const tsri_native_op *op) {
  bool is_factor = op->kind == TSRI_NATIVE_FACTOR;
  if (!device->allow_lapack) return false;
  if (is_factor && op->is.factor.kind == TSRI_FACTOR_LU && !(op->parts & TSRI_FACTOR_ORDERED)) return false;
  if (is_factor ? !takes_factor(&op->is.factor) : !takes_solve(&op->is.solve)) return false;
  return tsri_lapack_for(op->dtype) != NULL;
}

// --- A batch ---------------------------------------------------------------------------------------------------------

typedef struct lapack_job {
  const tsri_lapack *lapack;
  const tsri_native_op *op;
  int64_t batch;
  size_t element;  // bytes
  int parts;
  char *scratch;  // scratch_bytes for each part
  size_t scratch_bytes;
  int work_count;  // elements of LAPACK's work space, which also holds the exchanges of LU
} lapack_job;

// Address of matrix `b` of those at `place`, of `count` elements each.
static char *matrix_at(const lapack_job *job, tsri_place place, int64_t b, int64_t count) {
  return tsri_cpu_place(place) + (size_t)(b * count) * job->element;
}

static int32_t *number_at(tsri_place place, int64_t index) { return (int32_t *)(void *)tsri_cpu_place(place) + index; }

static bool is_finite(tsr_dtype dtype, const void *x, int64_t count) {
  bool is_all = true;
  if (dtype == TSR_F64) {
    for (int64_t i = 0; i < count; i++) is_all &= fabs(((const double *)x)[i]) <= 1.7976931348623157e308;
  } else {
    for (int64_t i = 0; i < count; i++) is_all &= fabsf(((const float *)x)[i]) <= 3.40282347e38f;
  }
  return is_all;
}

static void fill_nan(tsr_dtype dtype, void *x, int64_t count) {
  if (dtype == TSR_F64) {
    for (int64_t i = 0; i < count; i++) ((double *)x)[i] = (double)NAN;
  } else {
    for (int64_t i = 0; i < count; i++) ((float *)x)[i] = NAN;
  }
}

// --- One matrix ------------------------------------------------------------------------------------------------------

// Checks for NaN itself: OpenBLAS (0.3.21) may overlook a NaN.
static void factor_cholesky(const lapack_job *job, int64_t b) {
  const tsri_factor_op *op = &job->op->is.factor;
  int n = (int)op->n, info = 0;
  char *a = matrix_at(job, op->a, b, op->n * op->n);
  for (int64_t j = 0; j < op->n && info == 0; j++) {
    if (!is_finite(job->op->dtype, a + (size_t)(j * op->n) * job->element, j + 1)) info = 1;
  }
  if (info == 0) job->lapack->potrf("U", &n, a, &n, &info, 1);
  *number_at(op->info, b) = info;
}

static void order_rows(const int *exchanges, int count, int64_t m, int32_t *rows, int32_t *odd) {
  for (int64_t i = 0; i < m; i++) rows[i] = (int32_t)i;
  *odd = 0;
  for (int i = 0; i < count; i++) {
    int other = exchanges[i] - 1;
    if (other == i) continue;
    int32_t row = rows[i];
    rows[i] = rows[other];
    rows[other] = row;
    *odd = 1 - *odd;
  }
}

// LAPACK's search for a pivot does not expect NaN: factors of such a matrix are NaN, without exchanges.
static void factor_lu(const lapack_job *job, int64_t b, void *scratch) {
  const tsri_factor_op *op = &job->op->is.factor;
  int m = (int)op->m, n = (int)op->n, info = 0, *exchanges = scratch;
  char *a = matrix_at(job, op->a, b, op->m * op->n);
  int count = m < n ? m : n;
  if (is_finite(job->op->dtype, a, op->m * op->n)) {
    job->lapack->getrf(&m, &n, a, &m, exchanges, &info);
  } else {
    fill_nan(job->op->dtype, a, op->m * op->n);
    count = 0;
  }
  order_rows(exchanges, count, op->m, number_at(op->rows, b * op->m), number_at(op->odd, b));
}

static void factor_qr(const lapack_job *job, int64_t b, char *scratch) {
  const tsri_factor_op *op = &job->op->is.factor;
  int m = (int)op->m, n = (int)op->n, columns = (int)op->columns, k = m < n ? m : n, info = 0;
  char *a = matrix_at(job, op->a, b, op->m * op->n), *q = matrix_at(job, op->q, b, op->m * op->columns);
  char *tau = scratch, *work = scratch + (size_t)k * job->element;
  job->lapack->geqrf(&m, &n, a, &m, tau, work, &job->work_count, &info);
  memcpy(q, a, (size_t)m * (size_t)k * job->element);
  job->lapack->orgqr(&m, &columns, &k, q, &m, tau, work, &job->work_count, &info);
}

static void factor_symmetric(const lapack_job *job, int64_t b, char *scratch) {
  const tsri_factor_op *op = &job->op->is.factor;
  int n = (int)op->n, info = 1, number_count = 3 + 5 * n;
  char *a = matrix_at(job, op->a, b, op->n * op->n), *work = scratch + (size_t)number_count * sizeof(double);
  if (is_finite(job->op->dtype, a, op->n * op->n)) {
    job->lapack->syevd("V", "U", &n, a, &n, matrix_at(job, op->s, b, op->n), work, &job->work_count,
                       (int *)(void *)scratch, &number_count, &info, 1, 1);
  }
  *number_at(op->info, b) = info;
}

static void factor_singular(const lapack_job *job, int64_t b, char *scratch) {
  const tsri_factor_op *op = &job->op->is.factor;
  int n = (int)op->n, info = 1;
  int64_t count = op->n * op->n;
  char *a = matrix_at(job, op->a, b, count), *turned = scratch + (size_t)(8 * op->n) * sizeof(double);
  if (is_finite(job->op->dtype, a, count)) {
    job->lapack->gesdd("A", &n, &n, a, &n, matrix_at(job, op->s, b, op->n), matrix_at(job, op->u, b, count), &n, turned,
                       &n, turned + (size_t)count * job->element, &job->work_count, (int *)(void *)scratch, &info, 1);
    tsri_layout to = {.shape = TSR_SHAPE(op->n, op->n), .strides = {op->n, 1}, .count = count}, from = to;
    from.strides[0] = 1;
    from.strides[1] = op->n;
    tsri_strided_copy(matrix_at(job, op->v, b, count), &to, turned, &from, job->element);
  }
  *number_at(op->info, b) = info;
}

// BLAS is column-major, so it sees our row-major b and x as their transposes, n x m, and the system as x l = b with the triangular matrix l on the right, transposed
// if it is row-major.
static void solve(const lapack_job *job, int64_t b) {
  const tsri_solve_op *op = &job->op->is.solve;
  const float one = 1;
  const double wide_one = 1;
  bool is_row_major = op->m == 1 || op->column == 1;
  int m = (int)op->m, n = (int)op->n, step = is_row_major ? (int)op->row : (int)op->column;
  if (step < m) step = m;  // a single row has any stride
  const char *uplo = op->is_upper != is_row_major ? "U" : "L";
  job->lapack->trsm("R", uplo, is_row_major ? "N" : "T", op->is_unit ? "U" : "N", &n, &m,
                    job->op->dtype == TSR_F64 ? (const void *)&wide_one : (const void *)&one,
                    tsri_cpu_place(op->l) + (size_t)(b * op->batch_step) * job->element, &step,
                    matrix_at(job, op->x, b, op->m * op->n), &n, 1, 1, 1, 1);
}

static void run_one(const lapack_job *job, int64_t b, char *scratch) {
  if (job->op->kind == TSRI_NATIVE_SOLVE) {
    solve(job, b);
    return;
  }
  switch (job->op->is.factor.kind) {
    case TSRI_FACTOR_CHOLESKY:
      factor_cholesky(job, b);
      break;
    case TSRI_FACTOR_LU:
      factor_lu(job, b, scratch);
      break;
    case TSRI_FACTOR_QR:
      factor_qr(job, b, scratch);
      break;
    case TSRI_FACTOR_EIGH:
      factor_symmetric(job, b, scratch);
      break;
    default:
      factor_singular(job, b, scratch);
  }
}

static void run_part(void *user, int part) {
  const lapack_job *job = user;
  int64_t first = job->batch * part / job->parts, last = job->batch * (part + 1) / job->parts;
  for (int64_t b = first; b < last; b++) run_one(job, b, job->scratch + (size_t)part * job->scratch_bytes);
}

// --- Work space ------------------------------------------------------------------------------------------------------

// Converts a number of elements that LAPACK returned as a float or double, which may have been rounded down.
static int count_of(tsr_dtype dtype, const void *told) {
  double count = dtype == TSR_F64 ? *(const double *)told : (double)*(const float *)told;
  return (int)(count * 1.0000002) + 1;
}

static int qr_work(const lapack_job *job) {
  const tsri_factor_op *op = &job->op->is.factor;
  int m = (int)op->m, n = (int)op->n, columns = (int)op->columns, k = m < n ? m : n, info = 0, ask = -1;
  double told = 0, unused = 0;
  job->lapack->geqrf(&m, &n, &unused, &m, &unused, &told, &ask, &info);
  int first = count_of(job->op->dtype, &told);
  job->lapack->orgqr(&m, &columns, &k, &unused, &m, &unused, &told, &ask, &info);
  int second = count_of(job->op->dtype, &told);
  return first > second ? first : second;
}

static int singular_work(const lapack_job *job) {
  int n = (int)job->op->is.factor.n, info = 0, ask = -1, number = 0;
  double told = 0, unused = 0;
  job->lapack->gesdd("A", &n, &n, &unused, &n, &unused, &unused, &n, &unused, &n, &told, &ask, &number, &info, 1);
  return count_of(job->op->dtype, &told);
}

// Sets the work space of one matrix: integers first, which take no more room than as many doubles.
static void measure(lapack_job *job) {
  const tsri_factor_op *op = &job->op->is.factor;
  int64_t n = op->n, elements = 0;
  size_t numbers = 0;
  if (job->op->kind == TSRI_NATIVE_SOLVE || op->kind == TSRI_FACTOR_CHOLESKY) return;
  if (op->kind == TSRI_FACTOR_LU) {
    numbers = (size_t)least(op->m, n);
  } else if (op->kind == TSRI_FACTOR_QR) {
    job->work_count = qr_work(job);
    elements = least(op->m, n) + job->work_count;
  } else if (op->kind == TSRI_FACTOR_EIGH) {
    job->work_count = (int)(1 + 6 * n + 2 * n * n);
    numbers = (size_t)(3 + 5 * n);
    elements = job->work_count;
  } else {
    job->work_count = singular_work(job);
    numbers = (size_t)(8 * n);
    elements = n * n + job->work_count;
  }
  job->scratch_bytes = numbers * sizeof(double) + (size_t)elements * job->element;
  job->scratch_bytes = (job->scratch_bytes + 63) / 64 * 64;
}

tsr_status tsri_cpu_lapack(cpu_device *device, const tsri_native_op *op) {
  bool is_solve = op->kind == TSRI_NATIVE_SOLVE;
  int64_t m = is_solve ? op->is.solve.m : op->is.factor.m, n = is_solve ? op->is.solve.n : op->is.factor.n;
  lapack_job job = {.lapack = tsri_lapack_for(op->dtype), .op = op};
  job.batch = is_solve ? op->is.solve.batch : op->is.factor.batch;
  job.element = tsr_dtype_bytes(op->dtype);
  measure(&job);
  uint64_t work = (uint64_t)(job.batch * m * n * least(m, n));
  job.parts = (int)least(tsri_cpu_threads(device, work / (1 << 16)), job.batch);
  size_t bytes = job.scratch_bytes * (size_t)job.parts;
  bool is_kept = bytes <= KEPT_BYTES;
  if (bytes > 0) {
    job.scratch = is_kept ? tsri_cpu_scratch(device, bytes) : tsri_aligned_alloc(bytes);
    if (!job.scratch) {
      return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no memory for LAPACK's work space of %zu bytes", bytes);
    }
  }
  tsri_lapack_begin();
  tsri_parallel(job.parts, job.parts, run_part, &job);
  tsri_lapack_end();
  if (!is_kept) tsri_aligned_free(job.scratch);
  return TSR_OK;
}
