// SPDX-License-Identifier: MIT
// A CPU device that was used before fork() works in the child (docs/architecture.md, "Threads").
#include <sys/wait.h>
#include <unistd.h>

#include "support/devices.h"
#include "support/test.h"

// Products, element-wise work and a sum, each large enough for several threads.
static tsr_status compute(tsr_device *device, float *out_sum) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(600, 600), 0.5), *y = tsr_sqrt(tsr_matmul(x, x));
  tsr_status status = tsr_read(tsr_sum(y, NULL, 0, false), out_sum, sizeof *out_sum);
  tsr_status ended = tsr_scope_end(scope);
  return status != TSR_OK ? status : ended;
}

// Exit status of a child that computes on `device` and expects `sum`; -1 if it was ended by a signal.
static int compute_in_child(tsr_device *device, float sum) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    float result = 0;
    alarm(120);  // ends a child that hangs
    _exit(compute(device, &result) == TSR_OK && result == sum ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(a_cpu_device_that_was_used_before_fork_works_in_the_child_and_in_the_parent) {
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  if (sanitizers && strstr(sanitizers, "thread")) {
    SKIP("the thread sanitizer ends a forked process that creates threads");
  }
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .threads = 4}, &device));
  float sum = 0, again = 0;
  CHECK_OK(compute(device, &sum));
  for (int i = 0; i < 3; i++) CHECK_EQ_INT(compute_in_child(device, sum), 0);
  CHECK_OK(compute(device, &again));
  CHECK(again == sum);
  tsr_device_release(device);
}
