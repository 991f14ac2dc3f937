#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything that is printed for people fits the terminal's width, and is the same on a terminal, in a pipe and without colour.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"
cd "$work"

model="--hidden 64 --intermediate 64 --layers 2 --vocabulary 100 --heads 2"
commands=(devices "devices --verbose" "devices --test" config "estimate $model" "check --list" "check --device cpu --quick --sample 40"
  "bench --list" "bench --device cpu --size 1000 --repeat 1 --min-time 0.001" "bench --device cpu --op matmul,add --dtype bool"
  "demo --device cpu --epochs 0.02" "version" "" "help kernel run" "help check" "help bench")

claim "in a pipe no line is wider than 80 columns"
for command in "${commands[@]}"; do
  # shellcheck disable=SC2086  # several words
  "$TSR_TEST_PROGRAM" $command >out 2>err || true
  out=$(<out)
  fits 80
done

claim "COLUMNS makes it narrower or wider"
for command in devices "devices --verbose" "check --device cpu --quick --sample 40" "demo --device cpu --epochs 0.02"; do
  # shellcheck disable=SC2086
  COLUMNS=64 expect 0 $command
  fits 64
done
COLUMNS=400 expect 0 devices --verbose
[[ $(grep -c '^cuda ' out) -eq 1 && $(grep -A1 '^cuda ' out | tail -n 1) != " "* ]] || fail "there is room for the reason on one line"

claim "on a terminal of 80 columns no line is wider, in colour and without"
for command in "${commands[@]}"; do
  on_terminal "stty cols 80; NO_COLOR=1 TERM=xterm '$TSR_TEST_PROGRAM' $command 2>/dev/null || true"
  out=$(tr '\r' '\n' <<<"$out") # the line of progress is printed over itself
  fits 80
done

# same COMMAND: numbers that change from run to run aside
same() {
  # shellcheck disable=SC2086
  expect 0 $1
  sed 's/[0-9][0-9.]*/N/g;s/  */ /g' out >piped
  on_terminal "stty cols 80; NO_COLOR=1 TERM=xterm '$TSR_TEST_PROGRAM' $1"
  tr -d '\r' <<<"$out" | sed 's/[0-9][0-9.]*/N/g;s/  */ /g' >plain
  on_terminal "stty cols 80; unset NO_COLOR; TERM=xterm '$TSR_TEST_PROGRAM' $1"
  tr -d '\r' <<<"$out" | sed 's/\x1b\[[0-9;]*m//g;s/[0-9][0-9.]*/N/g;s/  */ /g' >coloured
  cmp -s piped plain || fail "'tessera $1' looks different in a pipe: $(diff piped plain)"
  cmp -s piped coloured || fail "'tessera $1' looks different in colour: $(diff piped coloured)"
}
claim "a terminal of 80 columns shows the same lines as a pipe, with colour or without"
for command in devices "devices --verbose" config "check --list" "bench --list" "help demo"; do same "$command"; done

claim "the first screen has one line for each backend and no loader's message"
expect 0 devices --device cpu
expect 0 devices
lacks "$out" "cannot open shared object"
for backend in cuda rocm metal vulkan opencl webgpu cpu; do
  ((1 == $(grep -Ec "^$backend(:[0-9]+)?( |\$)" out))) || [[ -n $(grep -E "^$backend:1 " out) ]] || fail "$backend has not one line"
done

claim "the list of make's targets fits, too"
out=$(make -C "$TSR_TEST_SOURCE_DIR" --no-print-directory help)
has "$out" "make run"
fits 80

claim "the demo's programs have room beside the longest name of a device"
"$TSR_TEST_PROGRAM" demo --device cpu --epochs 0.02 >out
grep -Eq ' [0-9.]+ (ms|us) +[0-9.]+ (ms|us) ' out || fail "there is no program"
while IFS= read -r line; do
  title=$(sed 's/^[^ ]* *//;s/  .*//' <<<"$line")
  ((${#title} <= 29)) || fail "'$title' needs two lines beside 'vulkan:0'"
done < <(grep -E ' [0-9.]+ (ms|us) +[0-9.]+ (ms|us) ' out)

claim "--verbose has the whole reason: what was looked for, and how to get it"
expect 0 devices --json
/usr/bin/python3 -c '
import json, sys
print("\n".join(b["reason"] for b in json.load(open("out"))["backends"] if b["reason"]))' >reasons
COLUMNS=2000 expect 0 devices --verbose
while IFS= read -r reason; do has "$out" "$reason"; done <reasons
