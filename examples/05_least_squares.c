// SPDX-License-Identifier: MIT
// Least squares by QR on every device found: the cubic that fits 500 noisy points best, and how well the coefficients are known. Fails if a device finds
// another curve than the one the points were made from.
#include <math.h>
#include <stdio.h>

#include <tessera/tessera.h>

enum { POINTS = 500, TERMS = 4 };

static const float truth[TERMS] = {1.5f, -2, 0.5f, 3};  // of 1, t, t^2, t^3

// Columns 1, t, t^2, t^3 for t from -1 to 1.
static tsr_tensor *powers(tsr_tensor *t) {
  tsr_tensor *columns[TERMS];
  for (int i = 0; i < TERMS; i++) columns[i] = tsr_pow_scalar(t, i);
  return tsr_stack(columns, TERMS, 1);
}

// What both ways give: tsr_lstsq, and its steps by hand. The sums of squares of rows of the inverse of R tell how errors of the points
// spread to the coefficients.
static tsr_status fit(tsr_device *device, float *out_found, float *out_by_hand, float *out_spread) {
  tsr_tensor *a = powers(tsr_linspace(device, TSR_F32, -1, 1, POINTS));
  tsr_tensor *exact = tsr_matmul(a, tsr_from_data(device, TSR_F32, TSR_SHAPE(TERMS), truth, sizeof truth));
  tsr_tensor *b = tsr_add(exact, tsr_mul_scalar(tsr_randn(device, TSR_F32, TSR_SHAPE(POINTS), 7), 0.1));
  tsr_tensor *q = NULL, *r = NULL;
  tsr_status status = tsr_read(tsr_lstsq(a, b), out_found, TERMS * sizeof *out_found);
  if (status == TSR_OK) status = tsr_qr(a, false, &q, &r);
  if (status != TSR_OK) return status;
  tsr_tensor *x = tsr_triangular_solve(r, tsr_matmul(tsr_transpose(q, 0, 1), b), true, false, false);
  status = tsr_read(x, out_by_hand, TERMS * sizeof *out_by_hand);
  tsr_tensor *spread = tsr_mul_scalar(tsr_norm(tsr_inverse(r), 2, TSR_AXES(1), false), 0.1);
  return status == TSR_OK ? tsr_read(spread, out_spread, TERMS * sizeof *out_spread) : status;
}

// Prints the fit; returns whether a coefficient is too far away.
static int report(const char *backend, int index, const float *found, const float *by_hand, const float *spread) {
  int is_wrong = 0;
  printf("%-8s %d ", backend, index);
  for (int i = 0; i < TERMS; i++) {
    printf(" %7.4f +- %.4f", (double)found[i], (double)spread[i]);
    is_wrong |= !(fabsf(found[i] - truth[i]) < 5 * spread[i]) || !(fabsf(found[i] - by_hand[i]) < 1e-4f);
  }
  printf("%s\n", is_wrong ? "  WRONG" : "");
  return is_wrong;
}

static int visit(const char *backend, int index) {
  float found[TERMS], by_hand[TERMS], spread[TERMS];
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, &device);
  if (status == TSR_OK) {
    tsr_scope *scope = tsr_scope_begin(device);  // releases every tensor of the fit
    status = fit(device, found, by_hand, spread);
    tsr_scope_end(scope);
  }
  tsr_device_release(device);
  if (status == TSR_OK) return report(backend, index, found, by_hand, spread);
  printf("%-8s %d  %s: %s\n", backend, index, status == TSR_ERR_UNSUPPORTED ? "skipped" : "failed", tsr_last_error());
  return status != TSR_ERR_UNSUPPORTED;
}

int main(void) {
  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  int failures = 0;
  for (int i = 0; i < found->backend_count; i++) {
    for (int j = 0; j < found->backends[i].device_count; j++) failures += visit(found->backends[i].name, j);
  }
  tsr_discovery_release(found);
  return failures != 0;
}
