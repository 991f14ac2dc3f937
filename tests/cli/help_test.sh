#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Help: everywhere, complete, on standard output.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

claim "the program alone, --help, -h and help show the same help"
expect 0
whole=$out
is_empty "$err" "standard error"
for arguments in --help -h help; do
  expect 0 "$arguments"
  [[ $out == "$whole" ]] || fail "'tessera $arguments' shows something else"
done

claim "it lists the commands, the options and the exit codes, and has an example"
for part in NAME USAGE COMMANDS OPTIONS "EXIT CODES" EXAMPLE \
  "devices  " "config  " "tune  " "estimate  " "version  " "help  " "--version" \
  "0  success" "1  " "2  " "3  " "4  "; do
  has "$whole" "$part"
done

claim "each command has its help, under --help, -h and help COMMAND"
for command in devices config estimate tune version help; do
  expect 0 "$command" --help
  shown=$out
  has "$out" "tessera $command - "
  for part in NAME USAGE DESCRIPTION OPTIONS "-h, --help" "EXIT CODES" "4  " EXAMPLE; do
    has "$out" "$part"
  done
  is_empty "$err" "standard error"
  expect 0 "$command" -h
  [[ $out == "$shown" ]] || fail "'tessera $command -h' shows something else"
  expect 0 help "$command"
  [[ $out == "$shown" ]] || fail "'tessera help $command' shows something else"
done

claim "options are shown with their defaults, and those that must be given as such"
expect 0 estimate --help
has "$out" "(default: 4096)"
has "$out" "(default: as many as heads)"
has "$out" "(required)"
expect 0 devices --help
has "$out" "--json"
has "$out" "--test"

claim "no line is wider than 80 columns, and none ends in a space"
for command in "" devices config estimate version help; do
  # shellcheck disable=SC2086  # no argument for the empty one
  expect 0 $command --help
  while IFS= read -r line; do
    ((${#line} <= 80)) || fail "this line is wider than 80: $line"
    [[ $line != *" " ]] || fail "this line ends in a space: $line"
  done <<<"$out"
done
