#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Colour: on a terminal only, and not where NO_COLOR or TERM=dumb asks for none.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

escape=$'\x1b'
export TERM=xterm

claim "there is no colour in a pipe or file"
for command in "" devices config "devices --help"; do
  # shellcheck disable=SC2086  # several words
  expect 0 $command
  lacks "$out" "$escape"
done

claim "there is on a terminal"
on_terminal "'$TSR_TEST_PROGRAM' devices"
has "$out" "${escape}[1mBackend${escape}[0m"
on_terminal "'$TSR_TEST_PROGRAM' --help"
has "$out" "${escape}[1mNAME${escape}[0m"

claim "an empty NO_COLOR changes nothing"
NO_COLOR='' on_terminal "'$TSR_TEST_PROGRAM' devices"
has "$out" "$escape"

claim "NO_COLOR and TERM=dumb keep it away"
NO_COLOR=1 on_terminal "'$TSR_TEST_PROGRAM' devices"
lacks "$out" "$escape"
TERM=dumb on_terminal "'$TSR_TEST_PROGRAM' devices"
lacks "$out" "$escape"

claim "JSON has none, on a terminal too"
on_terminal "'$TSR_TEST_PROGRAM' devices --json"
lacks "$out" "$escape"
