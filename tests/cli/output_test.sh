#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Output that cannot be written is noticed: exit code 3 and a message.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

# lost ARGUMENT...: runs with standard output as the caller left it.
lost() {
  local code=0
  "$TSR_TEST_PROGRAM" "$@" 2>"$work/err" || code=$?
  err=$(<"$work/err")
  [[ $code -eq 3 ]] || fail "'tessera $*' exits with $code, not 3"
  has "$err" "tessera: the output could not be written"
}

for command in devices "devices --json" config version --help; do
  claim "'tessera $command' with standard output closed"
  # shellcheck disable=SC2086  # several words
  lost $command >&-
done

if [[ -w /dev/full ]]; then
  claim "'tessera devices' to a disk that is full"
  lost devices >/dev/full
fi

claim "a reader that goes early is no crash"
code=0
{ "$TSR_TEST_PROGRAM" devices --json 2>"$work/err" || code=$?; [[ $code -eq 0 || $code -eq 3 || $code -eq 141 ]]; } |
  head -c 1 >/dev/null || fail "the program ends otherwise"

claim "standard input and error may be closed"
expect 0 version <&-
"$TSR_TEST_PROGRAM" version >"$work/out" 2>&- || fail "the program ends otherwise"
