#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where the system refuses threads the program uses fewer, and ends as usual.
set -euo pipefail
source "$(dirname "$0")/lib.bash"

if [ -n "${TSR_TEST_SANITIZE:-}" ]; then
  echo "SKIPPED cli.thread_limits: sanitizers create threads of their own"
  exit 77
fi

# Root may always create processes, so this needs a user without rights.
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=64999 --regid=64999 --clear-groups)
if ! (cd / && "${as_user[@]}" "$TSR_TEST_PROGRAM" version >/dev/null 2>&1); then
  echo "SKIPPED cli.thread_limits: a user without rights cannot start the program from here"
  exit 77
fi

claim "a user who may have one process: one thread, no message, the usual results"
code=0
out=$(
  cd /
  ulimit -u 1
  # Without PoCL, which ends the process when it gets no thread.
  exec env OCL_ICD_VENDORS=/nonexistent TESSERA_THREADS=8 HOME=/ "${as_user[@]}" "$TSR_TEST_PROGRAM" check --backend cpu --op exp,sum,matmul --quick 2>&1
) || code=$?
[[ $code -eq 0 ]] || fail "exits with $code"
